# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.storage.base import ReadOnlyStore, Store, WrapperStore
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
from zarrcore.storage.logged import LoggingStore
from zarrcore.storage.memory import ManagedMemoryStore, MemoryStore
from zarrcore.storage.obstore import ObjectStore
from zarrcore.storage.path import StoreLike, StorePath, make_store, make_store_path
from zarrcore.storage.validation import normalize_path, validate_key, validate_prefix
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
