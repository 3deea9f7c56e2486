"""Large values of object stores: fetched in parts, over several connections at once.

Servers and networks limit what one connection carries, to 50 to 100 MB/s with most object stores.  Where the
beginning of a value shows that nothing does, one connection is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter as clock
from typing import Any

import numpy as np

from zarrcore._typing import Buffer
from zarrcore.errors import StoreError
from zarrcore.storage import under_way
from zarrcore.storage.remote import reads_at_once
from zarrcore.storage.versions import strong

PART = 8 << 20  #: bytes that are fetched by one request
WORTH_IT = 2 * PART  #: bytes from which a value may be fetched in parts

#: bytes from which a value is put together here: NumPy has large pages for it, so that it takes half the time
LARGE = 4 << 20
FAST = 400e6  #: bytes a second of a connection that nothing but the two machines limits

_PIECE = 1 << 20  # bytes that are taken from a connection at a time
_ENOUGH = 8  # values that are fetched at once: with so many there are connections enough
_MOST = 16  # connections for one value
# A value without bytes has no part, and not every server knows what a range is.
_NO_PART = ("416 ", "non-partial response")


class NotInParts(Exception):
    """The value has to be fetched as a whole: it has no version, or was replaced meanwhile."""


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def connections_for_each(n: int) -> int:
    """Return how many connections each of n values may take that are fetched at once."""
    return 1 if n >= _ENOUGH else min(_MOST, reads_at_once() // max(n, 1))


def rest_of(package: Any, store: Any, path: str, first: Any, connections: int) -> Buffer:
    """Return a value whose first part is on its way.

    Parameters
    ----------
    package : module
        obstore.
    store, path
        The store of obstore, and the path in it.
    first : GetResult
        The answer to the request for the first ``PART`` bytes.
    connections : int
        How many requests may be under way at the same time.

    Raises
    ------
    NotInParts
        If parts of one version of the value are not available.
    """
    size, tag = int(first.meta["size"]), strong(first.meta["e_tag"])
    if tag is None or _is_in_loop():  # a loop runs no other one
        raise NotInParts
    value = np.empty(size, np.uint8)  # pages that nothing is put into take no memory

    def of_one_version(found: Any) -> Any:
        if strong(found.meta["e_tag"]) != tag:  # a server that ignores conditions
            raise NotInParts
        return found.stream(min_chunk_size=_PIECE)

    def options(start: int, stop: int) -> dict[str, Any]:
        return {"range": (start, stop), "if_match": tag}

    async def fetch_rest(begun: Any, n: int) -> None:
        limit = asyncio.Semaphore(connections)

        async def fill(start: int, stop: int, pieces: Any = None) -> None:
            async with limit:
                if pieces is None:
                    asked = options(start, stop)
                    pieces = of_one_version(await package.get_async(store, path, options=asked))
                room = Room(value[start:stop])
                async for piece in pieces:
                    room.put(piece)
                room.require_full()

        others = (fill(start, min(start + PART, size)) for start in range(PART, size, PART))
        with under_way.request():
            await asyncio.gather(fill(n, PART, begun), *others)

    with none_of(package):
        room, begun, start = Room(value[:PART]), first.stream(min_chunk_size=_PIECE), clock()
        room.put(next(begun, b""))
        if room.n < FAST * (clock() - start):
            try:
                asyncio.run(fetch_rest(begun, room.n))
            except under_way.Ending:
                raise NotInParts from None
        else:
            room.fill(begun)
            rest = package.get(store, path, options=options(PART, size))
            Room(value[PART:]).fill(of_one_version(rest))
    return package.Bytes(value)  # type: ignore[no-any-return]


def collected(package: Any, found: Any) -> Buffer:
    """Return the bytes of a large answer."""
    start, stop = found.range
    value = np.empty(stop - start, np.uint8)
    Room(value).fill(found.stream(min_chunk_size=_PIECE))
    return package.Bytes(value)  # type: ignore[no-any-return]


class Room:
    """Room for the bytes of an answer.

    Parameters
    ----------
    value : numpy.ndarray
        As many bytes as were announced.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self.n = 0  #: bytes that have come

    def put(self, piece: Buffer) -> None:
        """Put the next bytes in their place."""
        data = memoryview(piece)
        before, self.n = self.n, self.n + len(data)
        if self.n > len(self._value):
            raise StoreError(f"{len(self._value)} bytes were announced, more came")
        self._value[before : self.n] = data

    def fill(self, pieces: Iterable[Buffer]) -> None:
        """Put all bytes in their places."""
        for piece in pieces:
            self.put(piece)
        self.require_full()

    def require_full(self) -> None:
        """Raise a StoreError if bytes are missing."""
        if self.n != len(self._value):
            raise StoreError(f"{len(self._value)} bytes were announced, {self.n} came")


@contextmanager
def none_of(package: Any) -> Iterator[None]:
    """Raise NotInParts where the request for a part fails, and one for the whole value might not."""
    try:
        yield
    except (package.exceptions.PreconditionError, package.exceptions.NotSupportedError):
        raise NotInParts from None
    except package.exceptions.BaseError as error:
        if any(words in str(error) for words in _NO_PART):
            raise NotInParts from None
        raise
