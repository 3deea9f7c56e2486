"""Locks, and what keeps a fork from breaking them.

Reading an array needs locks, but nothing else of :mod:`threading`, which is therefore left out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Lock, RLock
    from typing import TypeVar

    AnyLock = TypeVar("AnyLock", Lock, RLock)  # type: ignore[valid-type]
else:
    from _thread import RLock
    from _thread import allocate_lock as Lock

__all__ = ["Lock", "RLock", "forkable"]


def forkable(lock: AnyLock) -> AnyLock:
    """The lock, free in a child of a fork: the thread that held it is not there to release it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined]
    return lock
