"""What ``zarr.storage`` is while zarrcore is in zarr-python's place: stores whose methods are coroutines."""

from zarrcore.compat.faces import (
    FsspecStore,
    GpuMemoryStore,
    LocalStore,
    LoggingStore,
    ManagedMemoryStore,
    MemoryStore,
    ObjectStore,
    StorePath,
    WrapperStore,
    ZipStore,
)
from zarrcore.storage.path import StoreLike

__all__ = [
    "FsspecStore",
    "GpuMemoryStore",
    "LocalStore",
    "LoggingStore",
    "ManagedMemoryStore",
    "MemoryStore",
    "ObjectStore",
    "StoreLike",
    "StorePath",
    "WrapperStore",
    "ZipStore",
]
