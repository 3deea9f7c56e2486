"""What stores share whose values are fetched by another package: requests in parallel, and errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeVar

from zarrcore._locks import Lock, forkable
from zarrcore.config import config
from zarrcore.errors import BaseZarrError, StoreError, masked
from zarrcore.storage.base import Store
from zarrcore.storage.files import real_directory

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


T = TypeVar("T")
R = TypeVar("R")

_WRITES = 64  # at the same time, where ``async.concurrency`` sets no limit
_READS = 256
_pool: tuple[int, int, ThreadPoolExecutor] | None = None  # process, number of threads, and they
_lock = forkable(Lock())


def concurrency() -> int:
    """Return the number of requests to a store at the same time, while values are held for them."""
    return int(config.get("async.concurrency") or _WRITES)


def reads_at_once() -> int:
    """Return the number of requests for values at the same time."""
    return int(config.get("async.concurrency") or _READS)


def in_parallel(call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Run ``call(item)`` for each item in a thread, at most ``async.concurrency`` of them at a time.

    The calls wait for a server rather than work; they must not use this function themselves.  The first that
    raises ends it; calls that had not begun by then are never made.
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
    wanted = os.getpid(), reads_at_once()
    with _lock:
        if _pool is None or _pool[:2] != wanted:
            from concurrent.futures import ThreadPoolExecutor

            _pool = *wanted, ThreadPoolExecutor(wanted[1], "zarrcore-store")
        return _pool[2]


class RemoteStore(Store):
    """A store that calls another package, whose exceptions it turns into errors that name the key."""

    _handled: type[Exception]  # an exception that the store handles itself

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._copy_with_read_only(read_only)

    def _local_root(self) -> str | None:
        """Return the directory, if the values are files of this machine."""
        return None

    def _address(self, path: str) -> str:
        root = self._local_root()
        return super()._address(path) if root is None else real_directory(f"{root}/{path}")

    def _scope(self, path: str) -> str:
        return super()._scope(path) if self._local_root() is None else self._address(path)

    @contextmanager
    def _failures(self, key: str) -> Iterator[None]:
        """Turn what the other package raises into an error that names the key."""
        try:
            yield
        except (BaseZarrError, MemoryError, self._handled):
            raise
        except Exception as error:
            raise self._failed(key, error) from error

    def _failed(self, key: str, error: BaseException) -> BaseException:
        if isinstance(error, BaseZarrError) or not isinstance(error, Exception):
            return error
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        if isinstance(error, NotImplementedError):
            reason = "not possible on this filesystem"
        return StoreError(masked(f"{self}: key {key!r}: {reason}"), key=key)
