"""Objects that are known as long as somebody else uses them.

What a signal handler raises in the callback of a weak reference is printed and forgotten: Ctrl-C would be
lost.  Those of :class:`weakref.WeakSet` are functions of Python; a method of a set handles no signals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import ref

__all__ = ["WeakSet"]

Item = TypeVar("Item")


class WeakSet(Generic[Item]):
    """A set that keeps nothing alive; other threads may change it while it is walked."""

    __slots__ = ("_refs",)

    def __init__(self) -> None:
        self._refs: set[ref[Item]] = set()

    def add(self, item: Item) -> None:
        self._refs.add(ref(item, self._refs.discard))

    def discard(self, item: Item) -> None:
        self._refs.discard(ref(item))

    def clear(self) -> None:
        self._refs.clear()

    def __iter__(self) -> Iterator[Item]:
        return iter([item for one in self._refs.copy() if (item := one()) is not None])

    def __len__(self) -> int:
        return len(self._refs)
