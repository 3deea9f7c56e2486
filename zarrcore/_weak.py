"""Objects that are known as long as somebody else uses them.

What a signal handler raises in the callback of a weak reference is printed and forgotten: Ctrl-C would be
lost.  Those of :class:`weakref.WeakSet` are functions of Python; a method of a set handles no signals.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import ref

__all__ = ["HAS_GIL", "WeakSet"]

HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()

Item = TypeVar("Item")


class WeakSet(Generic[Item]):
    """A set that keeps nothing alive, of a module; other threads may change it while it is walked."""

    __slots__ = ("__weakref__", "_at_fork", "_refs")

    def __init__(self) -> None:
        self._refs: dict[ref[Item], None] = {}
        self._at_fork: list[Item] = []
        if hasattr(os, "register_at_fork") and not HAS_GIL:
            os.register_at_fork(
                before=lambda: self._at_fork.extend(self),
                after_in_parent=self._at_fork.clear,
                after_in_child=self._renew,
            )

    def _renew(self) -> None:
        """Begin a child of a fork with a dictionary of its own: see `fresh_in_child` in _locks.py."""
        self._refs = {}
        for item in self._at_fork:
            self.add(item)
        self._at_fork.clear()

    def add(self, item: Item) -> None:
        self._refs[ref(item, self._refs.pop)] = None

    def discard(self, item: Item) -> None:
        self._refs.pop(ref(item), None)

    def __iter__(self) -> Iterator[Item]:
        return iter([item for one in [*self._refs] if (item := one()) is not None])

    def __len__(self) -> int:
        return len(self._refs)
