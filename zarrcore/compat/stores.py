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
    """A store that can be read; every store is synchronous here."""

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None: ...


@runtime_checkable
class SupportsSetSync(Protocol):
    """A store that can be written."""

    def set(self, key: str, value: Buffer) -> None: ...


@runtime_checkable
class SupportsDeleteSync(Protocol):
    """A store that keys can be removed from."""

    def delete(self, key: str) -> None: ...


@runtime_checkable
class SupportsSyncStore(SupportsGetSync, SupportsSetSync, SupportsDeleteSync, Protocol):
    """A store that can be read and written."""


SyncByteGetter = ByteGetter
SyncByteSetter = ByteSetter


def set_or_delete(byte_setter: ByteSetter, value: Buffer | None) -> None:
    """Store a value at a place, or remove what is there if the value is None."""
    if value is None:
        byte_setter.delete()
    else:
        byte_setter.set(value)
