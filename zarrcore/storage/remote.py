"""What stores share whose values are fetched by another package: requests in parallel, and errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from threading import get_ident, main_thread
from time import perf_counter as clock
from time import sleep
from typing import TYPE_CHECKING, Any, Self, TypeVar

from zarrcore._extension import own_form
from zarrcore._locks import fresh_in_child
from zarrcore._patterns import pattern
from zarrcore._pools import Pool
from zarrcore.config import config
from zarrcore.errors import BaseZarrError, StoreError, masked, said
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange, described
from zarrcore.storage.files import (
    TO_NOTHING,
    directory_outside,
    is_special,
    leads_to_nothing,
    real_directory,
    version_of,
)
from zarrcore.storage.local_errors import require_directories_above
from zarrcore.storage.pinned import Changed, pinned
from zarrcore.storage.validation import is_document

if TYPE_CHECKING:
    from zarrcore._core.engine import Feed

T = TypeVar("T")
R = TypeVar("R")

_WRITES = 64  # at the same time, where no setting has a limit
_READS = 256
_pools: dict[int, Pool] = {}  # that of the last calls, by its number of threads
fresh_in_child(globals(), "_pools")
_MOST_SHOWN = 2000  # characters of an error, in which a server may have its whole page
_CODE = pattern(r"<Code>(\w{1,99})</Code>")


def concurrency() -> int:
    """Return the number of requests to a store at the same time, while values are held for them."""
    return int(config.given("async.write_concurrency") or config.given("async.concurrency") or _WRITES)


def reads_at_once() -> int:
    """Return the number of requests for values at the same time."""
    return int(config.given("async.concurrency") or _READS)


def in_parallel(call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Run ``call(item)`` for each item in a thread, at most ``async.concurrency`` of them at a time.

    The calls wait for a server rather than work; they must not use this function themselves.  The first that
    raises ends it; calls that had not begun by then are never made.
    """
    if len(items) < 2 and get_ident() != main_thread().ident:
        return [call(item) for item in items]
    return begun(call, items)()


def begun(call: Callable[[T], R], items: Sequence[T]) -> Callable[[], list[R]]:
    """Begin what :func:`in_parallel` does, and return what waits for the results."""
    futures = [_threads().submit(call, item) for item in items]

    def results() -> list[R]:
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    return results


def serve(feed: Feed, n: int, get: Callable[[str, Any, int | None], Any]) -> int:
    """Have at most n threads answer the requests of a feed with `get`; this does not wait for them.

    Return how many of them have not been at it before.
    """
    threads = _threads()
    lacking = feed.lacking(min(n, reads_at_once()))
    for _ in range(lacking):
        threads.submit(feed.answer, get)
    return lacking


def serve_near(
    feed: Feed,
    n: int,
    get: Callable[[str, Any, int | None], Any],
    few: int,
    slow: float,
    settle: Callable[[float | None], object],
) -> None:
    """Do what :func:`serve` does with a few threads, and with all if there is no answer in `slow` seconds.

    `settle` is called with how long the first answer has taken, or None if there was none in that time.
    """
    is_settled = False

    def noted(key: str, byte_range: Any, most: int | None) -> Any:
        nonlocal is_settled
        if is_settled:
            return get(key, byte_range, most)
        began = clock()
        value = get(key, byte_range, most)
        if not is_settled:
            is_settled = True
            settle(clock() - began)
        return value

    def watch(_: None) -> None:
        nonlocal is_settled
        sleep(slow)
        if not is_settled:
            is_settled = True
            settle(None)
            serve(feed, n, get)

    if serve(feed, few, noted) == few:  # the read has just begun
        _threads().submit(watch, None)


def interruptibly(call: Callable[[], R]) -> R:
    """Run a call that waits for a server and changes nothing; Ctrl-C ends the wait.

    Signals are answered by the main thread, so it waits for another one that waits for the server.
    """
    return in_parallel(lambda _: call(), (None,))[0]


def _threads() -> Pool:
    """Return the threads of this process, kept for the next call; after a fork the child makes its own."""
    wanted = reads_at_once()
    pool = _pools.get(wanted) or _pools.setdefault(wanted, Pool("zarrcore-store", wanted))
    for other in [*_pools] if len(_pools) > 1 else ():
        if other != wanted and (old := _pools.pop(other, None)) is not None:
            old.end()
    return pool


_UNREACHABLE = pattern(
    r"error sending request|(tcp|dns) .*error|[Cc]onnect(ion)?.* refused|[Cc]annot connect to host"
)


def is_unreachable(error: BaseException | None) -> bool:
    """Return whether an error says that there is no connection to a server, after all tries."""
    while error is not None:
        if isinstance(error, ConnectionError) or (
            isinstance(error, StoreError) and _UNREACHABLE.search(str(error))
        ):
            return True
        error = error.__cause__
    return False


class RemoteStore(Store):
    """A store that calls another package, whose exceptions it turns into errors that name the key."""

    _handled: type[Exception]  # an exception that the store handles itself

    def list(self) -> Iterator[str]:
        return own_form(self, "list_prefix", "")  # type: ignore[no-any-return]

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._copy_with_read_only(read_only)

    def _window(self) -> int:
        """Return how many bytes of a read may be on their way, or wait to be decoded."""
        limit = config.get("async.bytes_in_flight")
        return sys.maxsize if limit is None else int(limit)

    def _local_root(self) -> str | None:
        """Return the directory, if the values are files of this machine."""
        return None

    @property
    def _has_directories(self) -> bool:  # type: ignore[override]
        return self._local_root() is not None

    def _noticed(self, key: str) -> Any:
        root = self._local_root()
        return None if root is None else version_of(f"{root}/{key}")

    def _pinned(self, key: str) -> AbstractContextManager[Callable[[], Changed]]:
        root = self._local_root()
        return super()._pinned(key) if root is None else pinned(root, key)

    def _list_stored(self, prefix: str) -> Iterator[str]:
        root = self._local_root()
        if root is None:
            return self._keys_listed(prefix)
        from zarrcore.storage.local import LocalStore

        return LocalStore(root, follow_symlinks=True)._list_stored(prefix)

    def _refuse_hidden(self, key: str) -> None:
        """Refuse to take for absent what is there and cannot be read, of files of this machine.

        The packages do not tell the difference: a link to nothing, a directory, a file above.
        """
        root = self._local_root()
        if root is None:
            return
        path = f"{root}/{key}"
        if leads_to_nothing(path):
            raise StoreError(f"{self}: key {key!r}: {TO_NOTHING}", key=key)
        if not is_document(key):
            if os.path.isdir(path):
                raise StoreError(f"{self}: key {key!r}: a directory is in its place ({path})", key=key)
            require_directories_above(path, key)

    def _refuse_special(self, key: str) -> None:
        """Refuse to read what is no file on this machine: a FIFO never answers, a device never ends."""
        root = self._local_root()
        if root and is_special(f"{root}/{key}"):
            kind = "no regular file (a FIFO, socket or device)"
            raise StoreError(f"{self}: key {key!r}: expected a file, found {kind}", key=key)

    def _refuse_outside(self, keys: Iterable[str]) -> None:
        """Refuse to change what a symbolic link above it places outside of a root on this machine."""
        root = self._local_root()
        if not root or not os.path.isabs(root):
            return
        real_root = os.path.realpath(root)
        for above, key in {os.path.dirname(f"{root}/{key}"): key for key in keys}.items():
            target = directory_outside(above + "/", real_root)
            if target is not None:
                raise StoreError(
                    f"{self}: key {key!r} is not changed: a symbolic link leads to {target}, outside of the "
                    "store; open that directory as a store of its own",
                    key=key,
                )

    def _address(self, path: str) -> str:
        root = self._local_root()
        return super()._address(path) if root is None else real_directory(f"{root}/{path}")

    def _link_target(self, path: str) -> str | None:
        root = self._local_root()
        return None if root is None or not os.path.islink(f"{root}/{path}") else self._address(path)

    def _scope(self, path: str) -> str:
        return super()._scope(path) if self._local_root() is None else self._address(path)

    def _failures(self, key: str, part: ByteRange | None = None) -> _Failures:
        """Turn what the other package raises into an error that names the key, and the part of its value."""
        return _Failures(self, key, part)

    def _failed(self, key: str, error: BaseException, part: ByteRange | None = None) -> BaseException:
        if isinstance(error, BaseZarrError) or not isinstance(error, Exception):
            return error
        reason, _, rest = f"{type(error).__name__}: {said(error)}"[:_MOST_SHOWN].partition("\n")
        if code := _CODE.search(rest):  # by the server, in XML: there is no such bucket, for example
            reason = f"{reason.partition('<?xml')[0]}{code[1]}"
        if "performing PROPFIND" in reason:
            reason = f"this web server does not list what it has: {reason}"
        if isinstance(error, NotImplementedError):
            reason = "not possible on this filesystem"
        where = f"key {key!r}{'' if part is None else f', {described(part)}'}"
        return StoreError(masked(f"{self}: {where}: {reason}"), key=key)


class _Failures:
    """What `_failures` returns; a generator would take three times as long, for each of many small values."""

    __slots__ = ("_key", "_part", "_store")

    def __init__(self, store: RemoteStore, key: str, part: ByteRange | None) -> None:
        self._store, self._key, self._part = store, key, part

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None or isinstance(error, (BaseZarrError, MemoryError, self._store._handled)):
            return
        if isinstance(error, Exception):
            raise self._store._failed(self._key, error, self._part) from error


def lists_documents(store: Store) -> bool:
    """Return whether a web server lists what lies at the root of a store.

    Few can list, and the page of others may be anything; so what counts is that a metadata document is in it.
    It is asked once.
    """
    known: bool | None = vars(store).get("_lists_documents")
    if known is None:
        try:
            known = any(is_document(name) for name in store.list_dir(""))
        except (BaseZarrError, OSError):
            known = False
        vars(store)["_lists_documents"] = known
    return known
