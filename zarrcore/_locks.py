"""Locks: their one order, and what keeps a fork from breaking them.

A thread that holds a lock takes only locks of a higher :class:`Rank`.  With the environment variable
``ZARRCORE_CHECK_LOCKS`` set, every lock made by :func:`lock` checks that (at the price that a signal between
two lines of the check may leave the lock held).  Locks are
taken by ``with`` statements alone: between ``acquire()`` and ``try`` a signal could end the thread's work and
leave the lock held.

Reading an array needs locks, but nothing else of :mod:`threading`, which is therefore left out.
"""

from __future__ import annotations

import os
import sys
from enum import IntEnum
from functools import wraps
from typing import TYPE_CHECKING, Any

from zarrcore._weak import HAS_GIL, WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from contextlib import AbstractContextManager
    from threading import RLock
    from typing import ParamSpec, TypeVar

    AnyLock = TypeVar("AnyLock")
    Params = ParamSpec("Params")
    Value = TypeVar("Value")
else:
    from _thread import RLock

__all__ = ["RLock", "Rank", "forkable", "fresh_in_child", "holding", "lock", "one_at_a_time", "ranked"]
__all__ += ["owning", "taking"]


class Rank(IntEnum):
    """The order in which locks are taken."""

    CREATION = 0
    """Of a place, while a node with values is made there, see nodes/reserved.py."""
    DOCUMENTS = 1
    """Of the metadata documents of one node, see nodes/copies.py."""
    PENDING = 2
    """That of a chunk whose values an ArrayWriter gathers; a thread holds one of them at most."""
    CHUNK = 3
    """That of a key, while its chunk is replaced: of the C engine, see engine.KeyLock."""
    TABLE = 4
    """Of a table in memory; nothing else happens while it is held."""


def lock(rank: Rank) -> Any:
    """Return a new lock; its owner may take it again, so that a signal handler cannot block its thread."""
    return ranked(RLock(), rank)


def ranked(lock: Any, rank: Rank) -> Any:
    """Return a lock that is taken in order, which is checked if ZARRCORE_CHECK_LOCKS is set."""
    return lock if not _CHECKED else _Checked(lock, rank)


_CHECKED = bool(os.environ.get("ZARRCORE_CHECK_LOCKS"))


class _Checked:
    """A lock that refuses to be taken out of order."""

    def __init__(self, lock: Any, rank: Rank) -> None:
        self._rank = rank
        self._lock = lock

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
        return hasattr(self._lock, "_is_owned") and self._lock._is_owned()

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()


def _may_follow(held: Rank, wanted: Rank) -> bool:
    """A store may write chunks of another array while it is given one; a change goes up to groups."""
    return held < wanted or held == wanted in (Rank.CREATION, Rank.DOCUMENTS, Rank.CHUNK)


def _held() -> list[Rank]:
    """Ranks of the locks that this thread holds."""
    if not hasattr(_THREAD, "held"):
        _THREAD.held = []
    return _THREAD.held  # type: ignore[no-any-return]


if _CHECKED:
    from threading import local

    _THREAD = local()


def holding(function: Callable[Params, Iterator[Value]]) -> Callable[Params, AbstractContextManager[Value]]:
    """Have a generator function return context managers, as ``contextlib.contextmanager`` does.

    For what holds locks or has others wait.  Signal handlers are called in functions of Python alone.  What
    they raise where those of contextlib begin and end leaves the generator as it is, with all locks, until it
    is collected; and who keeps the traceback, as IPython does, keeps the generator.  Here they are of C.
    """

    held: Callable[[Iterator[Value]], AbstractContextManager[Value]] | None = None

    @wraps(function)
    def made(*args: Params.args, **kwargs: Params.kwargs) -> AbstractContextManager[Value]:
        nonlocal held
        if held is None:
            from zarrcore._core.engine import Held

            held = Held
        return held(function(*args, **kwargs))

    return made


_forkable: WeakSet[Any] = WeakSet()


def forkable(lock: AnyLock) -> AnyLock:
    """Return the lock, free in a child of a fork: the thread that held it is not there to release it.

    Or another object that has the method ``_at_fork_reinit``, which is called in the child.
    """
    _forkable.add(lock)
    return lock


def _free_all() -> None:
    for lock in _forkable:
        lock._at_fork_reinit()


def fresh_in_child(module: dict[str, Any], *names: str, are_caches: bool = False) -> None:
    """Have the child of a fork begin with other dictionaries, empty ones, under some names of a module.

    They are not cleared: without a GIL CPython locks a dictionary while it is used, and hands that lock to a
    thread that waits, which need not be in the child.  With a GIL caches stay.
    """
    if hasattr(os, "register_at_fork") and not (are_caches and HAS_GIL):
        os.register_at_fork(after_in_child=lambda: module.update({name: {} for name in names}))


PATIENCE = 5.0
"""Seconds that a thread waits for another one where it can go on without it: a signal handler that has
interrupted that one may wait for this one."""

_at_work: dict[Any, RLock] = {}
fresh_in_child(globals(), "_at_work")


def taking(lock: Any, patience: float | None = None) -> AbstractContextManager[bool]:
    """Hold a lock that its thread may take again; the block gets False if it is not free within the patience.

    A generator would be code of Python, where a signal handler may leave the lock held.
    """
    from zarrcore._core.engine import Owned

    return Owned(lock, PATIENCE if patience is None else patience)


_LEAVES_LOCKS = sys.version_info[:2] == (3, 14)


def owning(lock: AnyLock) -> AnyLock | AbstractContextManager[bool]:
    """Return what holds a lock in a ``with`` statement that a signal handler may end as it begins.

    CPython 3.14, unlike those before and after it, calls handlers between ``__enter__`` and the beginning of
    the block, and does not call ``__exit__`` if they raise something: a lock is left held for good.
    """
    return taking(lock, -1) if _LEAVES_LOCKS and not isinstance(lock, _Checked) else lock


@holding
def one_at_a_time(key: Hashable, patience: float | None = -1) -> Iterator[bool]:
    """Hold a lock that is there as long as some thread works for the same key; as :func:`taking` does.

    Others wait without end by default.
    """
    table = _at_work  # the same to its end, as a child has another
    while True:
        lock: Any = table.setdefault(key, RLock())
        is_mine = lock._is_owned()
        with taking(lock, patience) as is_alone:
            if is_mine or not is_alone:
                yield is_alone
                return
            # The thread before has taken it out, and another one may have put in its own.
            if table.setdefault(key, lock) is lock:
                try:
                    yield True
                    return
                finally:
                    table.pop(key, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
