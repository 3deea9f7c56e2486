"""Base class of stores, requests for parts of values, and what a single place in a store can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from zarrcore.codecs.partial import ByteGetter, ByteSetter
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import (
    ByteRange,
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "ByteGetter",
    "ByteRequest",
    "ByteSetter",
    "OffsetByteRequest",
    "RangeByteRequest",
    "Store",
    "SuffixByteRequest",
    "SupportsDeleteSync",
    "SupportsGetSync",
    "SupportsSetSync",
    "SupportsSyncStore",
    "SyncByteGetter",
    "SyncByteSetter",
    "set_or_delete",
]


@runtime_checkable
class SupportsGetSync(Protocol):
    """A store that can be read; every store is synchronous here.

    Examples
    --------
    >>> isinstance(zarrcore.storage.MemoryStore(), SupportsGetSync)
    True
    """

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None: ...


@runtime_checkable
class SupportsSetSync(Protocol):
    """A store that can be written.

    Examples
    --------
    >>> isinstance(zarrcore.storage.MemoryStore(), SupportsSetSync)
    True
    """

    def set(self, key: str, value: Buffer) -> None: ...


@runtime_checkable
class SupportsDeleteSync(Protocol):
    """A store that keys can be removed from.

    Examples
    --------
    >>> isinstance(zarrcore.storage.MemoryStore(), SupportsDeleteSync)
    True
    """

    def delete(self, key: str) -> None: ...


@runtime_checkable
class SupportsSyncStore(SupportsGetSync, SupportsSetSync, SupportsDeleteSync, Protocol):
    """A store that can be read and written.

    Examples
    --------
    >>> isinstance(zarrcore.storage.MemoryStore(), SupportsSyncStore), isinstance({}, SupportsSyncStore)
    (True, False)
    """


SyncByteGetter = ByteGetter
SyncByteSetter = ByteSetter


def set_or_delete(byte_setter: ByteSetter, value: Buffer | None) -> None:
    """Store a value at a place, or remove what is there if the value is None.

    Parameters
    ----------
    byte_setter : ByteSetter
        The place.
    value : buffer or None
        What to store.

    Examples
    --------
    >>> from zarrcore.storage import make_store_path
    >>> place = make_store_path({"key": b"old"}, mode="a") / "key"
    >>> set_or_delete(place, None)
    >>> place.get() is None
    True
    """
    if value is None:
        byte_setter.delete()
    else:
        byte_setter.set(value)
