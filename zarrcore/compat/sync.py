"""Coroutines that are run to their end; zarrcore.core.sync hands the names on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from inspect import iscoroutine
from typing import Any, TypeVar

from zarrcore.storage.loops import own_loop, run_to_end

__all__ = ["SyncMixin", "collect_aiterator", "sync"]

T = TypeVar("T")


def sync(
    coro: Coroutine[Any, Any, T] | Any,
    loop: asyncio.AbstractEventLoop | None = None,
    timeout: float | None = None,
) -> T | Any:
    """Return the result of a coroutine, run by an event loop in another thread.

    Parameters
    ----------
    coro : coroutine
        What is run.  All else is returned: methods of stores, coroutines in zarr-python, have a result here.
    loop : asyncio.AbstractEventLoop, optional
        The loop, which runs in another thread.  Default: one of this package.
    timeout : float, optional
        Seconds to wait.

    Raises
    ------
    RuntimeError
        If the loop runs in this thread, which would wait for itself.
    TimeoutError
        After `timeout`.
    """
    if not iscoroutine(coro):
        return coro
    if asyncio._get_running_loop() is (loop or own_loop()):
        coro.close()
        raise RuntimeError("sync: the event loop that runs in this thread cannot be waited for in it")
    if loop is None:
        return run_to_end(lambda: coro, own_loop(), timeout=timeout)
    future = asyncio.run_coroutine_threadsafe(coro, loop)
    try:
        return future.result(timeout)
    except BaseException:
        future.cancel()
        raise


def collect_aiterator(data: AsyncIterator[T] | Iterable[T]) -> tuple[T, ...]:
    """Return all that an iterator has, asynchronous or not."""
    if isinstance(data, Iterable):
        return tuple(data)

    return sync(_collect_aiterator(data))


async def _collect_aiterator(data: AsyncIterator[T]) -> tuple[T, ...]:
    return tuple([item async for item in data])


class SyncMixin:
    """What classes of other packages derive from, or make, to wait for coroutines."""

    def _sync(self, coroutine: Coroutine[Any, Any, T] | Any) -> T | Any:
        return sync(coroutine)

    def _sync_iter(self, async_iterator: AsyncIterator[T] | Iterable[T]) -> list[T]:
        return list(collect_aiterator(async_iterator))
