"""Run many requests to a store at the same time, each in its own thread."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from zarrcore._locks import Lock
from zarrcore.config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

_DEFAULT_CONCURRENCY = 64  # where ``async.concurrency`` sets no limit
_pool: tuple[int, int, ThreadPoolExecutor] | None = None  # process, number of threads, and they
_lock = Lock()


def concurrency() -> int:
    """Return the configured number of requests to a store at the same time."""
    return int(config.get("async.concurrency") or _DEFAULT_CONCURRENCY)


def side_by_side(call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Run ``call(item)`` for each item, at most ``async.concurrency`` of them at a time.

    The calls wait for a server rather than work; they must not use this function themselves.

    Returns
    -------
    list
        The results, in the order of the items.

    Raises
    ------
    Exception
        The first that a call raised; calls that had not begun by then are never made.
    """
    if len(items) < 2:
        return [call(item) for item in items]
    futures = [_threads().submit(call, item) for item in items]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def _threads() -> ThreadPoolExecutor:
    """Return the threads of this process, kept for the next call; after a fork the child makes its own."""
    global _pool
    count = concurrency()
    pool = _pool
    if pool is None or pool[:2] != (os.getpid(), count):
        from concurrent.futures import ThreadPoolExecutor

        with _lock:
            pool = _pool
            if pool is None or pool[:2] != (os.getpid(), count):
                pool = _pool = os.getpid(), count, ThreadPoolExecutor(count, "zarrcore-store")
    return pool[2]


def _renew_lock() -> None:
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
