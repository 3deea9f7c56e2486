"""Stores: where the bytes of a Zarr hierarchy live."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "base": "Store",
    "byte_range": "ByteRequest OffsetByteRequest RangeByteRequest SuffixByteRequest resolve_range",
    "cached": "CacheStore",
    "fsspec": "FsspecStore",
    "local": "LocalStore",
    "logged": "LoggingStore",
    "memory": "GpuMemoryStore ManagedMemoryStore MemoryStore",
    "obstore": "ObjectStore",
    "path": "StoreLike StorePath make_store make_store_path",
    "references": "ReferenceStore",
    "validation": "normalize_path validate_key validate_prefix",
    "wrapper": "ReadOnlyStore WrapperStore",
    "zarr_python": "ZarrPythonStore",
    "zip": "ZipStore",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
