"""Coroutines that are run to their end; zarrcore.core.sync hands the names on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, TypeVar

from zarrcore.storage.loops import own_loop, run_to_end

__all__ = ["SyncMixin", "collect_aiterator", "sync"]

T = TypeVar("T")


def sync(
    coro: Coroutine[Any, Any, T] | T,
    loop: asyncio.AbstractEventLoop | None = None,
    timeout: float | None = None,
) -> T:
    """Return the result of a coroutine, run by an event loop in another thread.

    Methods of stores are coroutines in zarr-python; what those of zarrcore have returned is the result.

    Parameters
    ----------
    coro : coroutine or object
        What is run, or has been.
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
    if not isinstance(coro, Coroutine):
        return coro  # type: ignore[no-any-return]
    if asyncio._get_running_loop() is (loop or own_loop()):
        coro.close()
        raise RuntimeError("sync: the event loop that runs in this thread cannot be waited for in it")
    if loop is None:
        return run_to_end(lambda: coro, own_loop(), timeout=timeout)  # type: ignore[no-any-return]
    future = asyncio.run_coroutine_threadsafe(coro, loop)
    try:
        return future.result(timeout)  # type: ignore[no-any-return]
    except BaseException:
        future.cancel()
        raise


def collect_aiterator(data: AsyncIterator[T] | Iterable[T]) -> tuple[T, ...]:
    """Return all that an asynchronous iterator has, or what a method of a store of zarrcore has listed."""
    if isinstance(data, Iterable):
        return tuple(data)

    async def collect() -> tuple[T, ...]:
        return tuple([item async for item in data])

    return sync(collect())


class SyncMixin:
    """What classes of other packages derive from, or make, to wait for coroutines."""

    def _sync(self, coroutine: Coroutine[Any, Any, T] | T) -> T:
        return sync(coroutine)

    def _sync_iter(self, async_iterator: AsyncIterator[T] | Iterable[T]) -> list[T]:
        return list(collect_aiterator(async_iterator))
