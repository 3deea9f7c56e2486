"""Stores: where the bytes of a Zarr hierarchy live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._lazy import attach

if TYPE_CHECKING:
    from zarrcore.storage.base import Store
    from zarrcore.storage.byte_range import (
        ByteRequest,
        OffsetByteRequest,
        RangeByteRequest,
        SuffixByteRequest,
        resolve_range,
    )
    from zarrcore.storage.caching import CacheStore
    from zarrcore.storage.fsspec import FsspecStore
    from zarrcore.storage.gpu import GpuMemoryStore
    from zarrcore.storage.local import LocalStore
    from zarrcore.storage.memory import ManagedMemoryStore, MemoryStore
    from zarrcore.storage.obstore import ObjectStore
    from zarrcore.storage.path import StoreLike, StorePath, make_store, make_store_path
    from zarrcore.storage.validation import normalize_path, validate_key, validate_prefix
    from zarrcore.storage.wrapper import LoggingStore, ReadOnlyStore, WrapperStore
    from zarrcore.storage.zip import ZipStore

__all__ = [
    "ByteRequest",
    "CacheStore",
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

_load, __dir__ = attach(
    __name__,
    {
        "base": ("Store",),
        "byte_range": (
            "ByteRequest",
            "OffsetByteRequest",
            "RangeByteRequest",
            "SuffixByteRequest",
            "resolve_range",
        ),
        "caching": ("CacheStore",),
        "fsspec": ("FsspecStore",),
        "gpu": ("GpuMemoryStore",),
        "local": ("LocalStore",),
        "memory": ("ManagedMemoryStore", "MemoryStore"),
        "obstore": ("ObjectStore",),
        "path": ("StoreLike", "StorePath", "make_store", "make_store_path"),
        "validation": ("normalize_path", "validate_key", "validate_prefix"),
        "wrapper": ("LoggingStore", "ReadOnlyStore", "WrapperStore"),
        "zip": ("ZipStore",),
    },
)

if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
