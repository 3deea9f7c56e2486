"""Large values of object stores: fetched in parts, over several connections at once.

Servers and networks limit what one connection carries, to 50 to 100 MB/s with most object stores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from zarrcore._typing import Buffer
from zarrcore.errors import StoreError
from zarrcore.storage.remote import reads_at_once
from zarrcore.storage.versions import strong

PART = 8 << 20  #: bytes that are fetched by one request
WORTH_IT = 2 * PART  #: bytes from which a value may be fetched in parts

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
    if tag is None or _is_in_loop():  # which runs no other one
        raise NotInParts
    value = np.empty(size, np.uint8)  # pages that nothing is put into take no memory

    async def fetch() -> None:
        limit = asyncio.Semaphore(connections)

        async def fill(start: int) -> None:
            stop = min(start + PART, size)
            async with limit:
                options = {"range": (start, stop), "if_match": tag}
                found = first if start == 0 else await package.get_async(store, path, options=options)
                if strong(found.meta["e_tag"]) != tag:  # a server that ignores conditions
                    raise NotInParts
                part = memoryview(await found.bytes_async())
            if len(part) != stop - start:
                raise StoreError(f"{stop - start} bytes were asked for at {start}, {len(part)} came")
            value[start:stop] = part

        await asyncio.gather(*map(fill, range(0, size, PART)))

    with none_of(package):
        asyncio.run(fetch())
    return memoryview(value).toreadonly()


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
