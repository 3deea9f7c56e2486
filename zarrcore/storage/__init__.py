"""Stores: where the bytes of a Zarr hierarchy live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    resolve_range,
)
from zarrcore.storage.local import LocalStore
from zarrcore.storage.memory import ManagedMemoryStore, MemoryStore
from zarrcore.storage.path import StoreLike, StorePath, make_store, make_store_path
from zarrcore.storage.validation import normalize_path, validate_key, validate_prefix

if TYPE_CHECKING:
    from zarrcore.storage.fsspec import FsspecStore
    from zarrcore.storage.gpu import GpuMemoryStore
    from zarrcore.storage.obstore import ObjectStore
    from zarrcore.storage.wrapper import LoggingStore, ReadOnlyStore, WrapperStore
    from zarrcore.storage.zip import ZipStore

__all__ = [
    "ByteRequest",
    "FsspecStore",
    "GpuMemoryStore",
    "LocalStore",
    "LoggingStore",
    "ManagedMemoryStore",
    "MemoryStore",
    "ObjectStore",
    "OffsetByteRequest",
    "RangeByteRequest",
    "ReadOnlyStore",
    "Store",
    "StoreLike",
    "StorePath",
    "SuffixByteRequest",
    "WrapperStore",
    "ZipStore",
    "make_store",
    "make_store_path",
    "normalize_path",
    "resolve_range",
    "validate_key",
    "validate_prefix",
]

# Imported when first used: zipfile alone would cost as much as the rest of this package.
_LAZY = {
    "FsspecStore": "zarrcore.storage.fsspec",
    "GpuMemoryStore": "zarrcore.storage.gpu",
    "ObjectStore": "zarrcore.storage.obstore",
    "LoggingStore": "zarrcore.storage.wrapper",
    "ReadOnlyStore": "zarrcore.storage.wrapper",
    "WrapperStore": "zarrcore.storage.wrapper",
    "ZipStore": "zarrcore.storage.zip",
}


def _load(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
