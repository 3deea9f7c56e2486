"""Locks: their one order, locks by name, and what keeps a fork from breaking them.

A thread that holds a lock takes only locks of a higher :class:`Rank`.  With the environment variable
``ZARRCORE_CHECK_LOCKS`` set, every lock made by :func:`lock` checks that (at the price that a signal between
two lines of the check may leave the lock held).  Locks are
taken by ``with`` statements alone: between ``acquire()`` and ``try`` a signal could end the thread's work and
leave the lock held.

Reading an array needs locks, but nothing else of :mod:`threading`, which is therefore left out.
"""

from __future__ import annotations

import os
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from threading import Lock, RLock
    from typing import TypeVar

    AnyLock = TypeVar("AnyLock", Lock, RLock)  # type: ignore[valid-type]
else:
    from _thread import RLock
    from _thread import allocate_lock as Lock

__all__ = ["KeyLocks", "Lock", "RLock", "Rank", "forkable", "lock"]


class Rank(IntEnum):
    """The order in which locks are taken."""

    GROWTH = 1
    """A writer's, while the array grows."""
    DOCUMENTS = 2
    """Of the metadata documents that this process changes."""
    PENDING = 3
    """A chunk's whose values an ArrayWriter gathers; a thread holds one of them at most."""
    CHUNK = 4
    """A key's, while its chunk is replaced; the locks by key of the C engine have the same rank."""
    TABLE = 5
    """Of a table in memory; nothing else happens while it is held."""


def lock(rank: Rank) -> RLock:  # type: ignore[valid-type]
    """Return a new lock; its owner may take it again, so that a signal handler cannot block its thread."""
    return RLock() if not _CHECKED else _Checked(rank)  # type: ignore[return-value]


_CHECKED = bool(os.environ.get("ZARRCORE_CHECK_LOCKS"))


class _Checked:
    """A lock that refuses to be taken out of order."""

    def __init__(self, rank: Rank) -> None:
        self._rank = rank
        self._lock = RLock()

    def __enter__(self) -> None:
        held = _held()
        if held and not self._is_owned() and not _may_follow(held[-1], self._rank):
            raise AssertionError(f"a lock of rank {self._rank!r} is taken while {held!r} are held")
        self._lock.__enter__()
        held.append(self._rank)

    def __exit__(self, *exception: Any) -> None:
        _held().pop()
        self._lock.__exit__(*exception)

    def _is_owned(self) -> bool:
        return self._lock._is_owned()  # type: ignore[attr-defined,no-any-return]

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]


def _may_follow(held: Rank, wanted: Rank) -> bool:
    """A store may write other chunks, of another array, while it is given one."""
    return held < wanted or held == wanted == Rank.CHUNK


def _held() -> list[Rank]:
    """Ranks of the locks that this thread holds."""
    if not hasattr(_THREAD, "held"):
        _THREAD.held = []
    return _THREAD.held  # type: ignore[no-any-return]


if _CHECKED:
    from threading import local

    _THREAD = local()


class KeyLocks:
    """Locks by name: two threads that ask for the same name get the same lock.

    A lock exists as long as somebody has it, so that the table is as large as the number of names in use.
    """

    def __init__(self) -> None:
        self._guard = lock(Rank.TABLE)
        self._locks: WeakValueDictionary[str, Any] = WeakValueDictionary()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        """Forget all locks: a child of a fork must not wait for a thread that it does not have."""
        self._guard = lock(Rank.TABLE)
        self._locks = WeakValueDictionary()

    def lock(self, name: str) -> RLock:  # type: ignore[valid-type]
        """The lock of a name, for a ``with`` statement."""
        with self._guard:
            found = self._locks.get(name)
            if found is None:
                found = self._locks[name] = lock(Rank.CHUNK)
            return found  # type: ignore[no-any-return]


def forkable(lock: AnyLock) -> AnyLock:
    """The lock, free in a child of a fork: the thread that held it is not there to release it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined]
    return lock
