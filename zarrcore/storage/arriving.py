"""Reading through a network in an event loop, without a thread that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import local
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from zarrcore._awaited import NODES
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.storage import under_way
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange, as_request
from zarrcore.storage.place import StorePath
from zarrcore.storage.remote import reads_at_once
from zarrcore.storage.validation import is_document
from zarrcore.storage.wrapper import of_wrapped

T = TypeVar("T")
_Request = tuple[str, Any, int | None]  # key, byte range, and the most bytes of a whole value
_NAMES: Any = "names"  # in place of a byte range: the names below a prefix
_OF_A_NAME = 64  # bytes, about

_MOST_ROUNDS = 8  # of requests, each of which needs the answers to those before
_MOST_INLINE = 1 << 17  # bytes that are decoded in the thread of the event loop

_limits: WeakKeyDictionary[Any, tuple[int, asyncio.Semaphore]] = WeakKeyDictionary()


class Elsewhere(BaseException):  # past all that handles errors of stores
    """The call is to be made in a thread, with the store itself."""

    ends_the_call = True


class _Wanted(BaseException):
    ends_the_call = True

    def __init__(self, requests: list[_Request]) -> None:
        self.requests = requests


class Arrivals(Store, announces=False):
    """What has arrived of a store over a network for a call that is under way.

    A call is made again and again: it ends as soon as it asks for something that has not arrived, which is
    then awaited.  So each call plans without waiting, and only the last one decodes.

    Parameters
    ----------
    store : Store
        A store with coroutines ``_awaiting(key, byte_range, most, versions)`` and ``_await_names(prefix)``.
    """

    supports_writes = False
    _bounds_chunks = True
    _small_shard = of_wrapped("_small_shard")

    def __init__(self, store: Any) -> None:
        super().__init__(read_only=True)
        self._store = store
        self._call = local()

    @staticmethod
    def of(store: Store) -> Arrivals | None:
        """Return one for a store, if its values can be awaited."""
        return None if getattr(store, "_awaiting", None) is None else Arrivals(store)

    async def run(self, call: Callable[[], T], *, inline: bool = True) -> T:
        """Make a call that reads from this store; raise Elsewhere if that takes the store itself.

        Without `inline` it is made in a thread: what users wrote may run an event loop of its own, or block.
        """
        parts: dict[tuple[str, Any], Any] = {}
        versions: dict[str, str] = {}
        nbytes = 0
        for _ in range(_MOST_ROUNDS):
            try:
                if inline and nbytes <= _MOST_INLINE:
                    return self._made(call, parts)
                return await NODES.run(self._made, call, parts)
            except _Wanted as wanted:
                requests = list(dict.fromkeys(wanted.requests))
            found = await self._arrived(requests, versions)
            for (key, byte_range, _), value in zip(requests, found, strict=True):
                if isinstance(value, Elsewhere):
                    raise value
                parts[key, byte_range] = value
                nbytes += _nbytes(value)
        raise Elsewhere

    async def _arrived(self, requests: Sequence[_Request], versions: dict[str, str]) -> list[Any]:
        limit = _limit()

        async def fetch(request: _Request) -> Any:
            async with limit:
                try:
                    with under_way.request():
                        if request[1] is _NAMES:
                            return await self._store._await_names(request[0])
                        return await self._store._awaiting(*request, versions)
                except under_way.Ending:
                    return Elsewhere()

        if len(requests) == 1:
            return [await fetch(requests[0])]
        return await asyncio.gather(*map(fetch, requests))

    def _made(self, call: Callable[[], T], parts: dict[tuple[str, Any], Any]) -> T:
        with self._with(parts):
            return call()

    @contextmanager
    def _with(self, parts: dict[tuple[str, Any], Any]) -> Iterator[None]:
        before = getattr(self._call, "parts", None)
        self._call.parts = parts
        try:
            yield
        finally:
            self._call.parts = before

    def _take(self, requests: Sequence[_Request]) -> list[Any]:
        """Return what has arrived for some requests."""
        parts = getattr(self._call, "parts", None)
        if parts is None:  # a thread of the pool
            raise Elsewhere
        missing = [request for request in requests if request[:2] not in parts]
        if missing:
            raise _Wanted(missing)
        found = [parts[request[:2]] for request in requests]
        for value in found:
            if isinstance(value, Exception):
                raise value
        return found

    # --- the store as the engine and nodes see it ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        most = MAX_DOCUMENT_NBYTES if is_document(key) else None
        value = self._take([(key, as_request(byte_range), most)])[0]
        return bytes(value) if most is not None and value is not None else value

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        return self._take(
            [
                (key, as_request(byte_range), MAX_DOCUMENT_NBYTES if is_document(key) else None)
                for key, byte_range in key_ranges
            ]
        )

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        return self._take([(key, None, most) for key in keys])

    def set(self, key: str, value: Buffer) -> None:
        raise Elsewhere

    def delete(self, key: str) -> None:
        raise Elsewhere

    def list(self) -> Iterator[str]:
        raise Elsewhere

    @property
    def supports_listing(self) -> bool:  # type: ignore[override]
        if not self._store._awaits_names:
            raise Elsewhere
        return True

    def list_dir(self, prefix: str) -> Iterator[str]:
        if not self._store._awaits_names:
            raise Elsewhere
        return iter(self._take([(prefix, _NAMES, None)])[0])

    _notes = of_wrapped("_notes")
    _scope = of_wrapped("_scope")
    _address = of_wrapped("_address")
    _concurrent_requests = of_wrapped("_concurrent_requests")

    def __str__(self) -> str:
        return str(self._store)


async def awaited(
    place: StorePath, function: Callable[..., tuple[StorePath, T]], *args: Any, **kwargs: Any
) -> tuple[StorePath, T]:
    """Call a function that finds something at a place and returns where, and what.

    What it asks the store for is awaited; if that is not possible, Elsewhere is raised.
    """
    store = Arrivals.of(place.store)
    if store is None:
        raise Elsewhere
    found, what = await store.run(partial(function, StorePath(store, place.path), *args, **kwargs))
    if found.store is not store:  # it stands for another one, as that of an N5 container does
        raise Elsewhere
    return StorePath(place.store, found.path), what


def _nbytes(value: Any) -> int:
    if value is None or isinstance(value, Exception):
        return 0
    return len(value) * _OF_A_NAME if isinstance(value, tuple) else memoryview(value).nbytes


def _limit() -> asyncio.Semaphore:
    """Return what limits the requests of the running event loop."""
    loop, most = asyncio.get_running_loop(), reads_at_once()
    known = _limits.get(loop)
    if known is None or known[0] != most:
        known = _limits[loop] = most, asyncio.Semaphore(most)
    return known[1]
