"""Threads for calls that may wait for coroutines of an event loop.

Not those of the loop itself: a coroutine that such a call waits for may need one of them, as every file of
zarr-python's LocalStore does, and none might be left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from os import getpid
from typing import Any, ParamSpec, TypeVar

from zarrcore.node import to_end_in
from zarrcore.storage.loops import WAITER, Waiter

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 64


class Threads:
    """Up to 64 threads, started when they are needed.

    Parameters
    ----------
    name : str
        Beginning of their names.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._executors: dict[int, ThreadPoolExecutor] = {}  # by process: none of the parent's are in a child

    async def run(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Make a call in one of the threads.  A task that is cancelled leaves it alone."""
        return await self._begin(call, *args, **options)

    async def run_until_cancelled(self, call: Callable[..., T], *args: Any) -> T:
        """Make a call that ends early when the token, its last argument, is cancelled, as the task may be."""
        token = Waiter()
        outer = WAITER.set(token)
        try:
            future = self._begin(call, *args, token)
        finally:
            WAITER.reset(outer)
        try:
            return await future
        except asyncio.CancelledError:
            token.cancelled = True
            raise

    async def run_to_end(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Make a call in one of the threads.  A task that is cancelled waits for its end."""
        return await to_end_in(self._threads(), call, *args, **options)

    def _begin(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> asyncio.Future[T]:
        work = partial(copy_context().run, call, *args, **options)
        return asyncio.get_running_loop().run_in_executor(self._threads(), work)

    def _threads(self) -> ThreadPoolExecutor:
        process = getpid()
        threads = self._executors.get(process)
        if threads is None:  # of two that are made at once, one is dropped, without a thread
            threads = self._executors.setdefault(process, ThreadPoolExecutor(_MOST, self._name))
        return threads


ENGINE = Threads("zarrcore-engine")
"""For calls of the engine, which may wait for stores."""

STORES = Threads("zarrcore-stores")
"""For calls of stores."""
