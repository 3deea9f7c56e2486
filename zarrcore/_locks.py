"""Locks that a fork does not break."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threading import Lock, RLock

    AnyLock = TypeVar("AnyLock", Lock, RLock)  # type: ignore[valid-type]

__all__ = ["forkable"]


def forkable(lock: AnyLock) -> AnyLock:
    """The lock, free in a child of a fork: the thread that held it is not there to release it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined]
    return lock
