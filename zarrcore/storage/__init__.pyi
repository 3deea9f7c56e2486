# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.storage.base import Store as Store
from zarrcore.storage.byte_range import (
    ByteRequest as ByteRequest, OffsetByteRequest as OffsetByteRequest,
    RangeByteRequest as RangeByteRequest, SuffixByteRequest as SuffixByteRequest,
    resolve_range as resolve_range,
)
from zarrcore.storage.cached import CacheStore as CacheStore
from zarrcore.storage.fsspec import FsspecStore as FsspecStore
from zarrcore.storage.local import LocalStore as LocalStore
from zarrcore.storage.logged import LoggingStore as LoggingStore
from zarrcore.storage.memory import (
    GpuMemoryStore as GpuMemoryStore, ManagedMemoryStore as ManagedMemoryStore, MemoryStore as MemoryStore,
)
from zarrcore.storage.obstore import ObjectStore as ObjectStore
from zarrcore.storage.path import (
    StoreLike as StoreLike, StorePath as StorePath, make_store as make_store,
    make_store_path as make_store_path,
)
from zarrcore.storage.references import ReferenceStore as ReferenceStore
from zarrcore.storage.validation import (
    normalize_path as normalize_path, validate_key as validate_key, validate_prefix as validate_prefix,
)
from zarrcore.storage.wrapper import ReadOnlyStore as ReadOnlyStore, WrapperStore as WrapperStore
from zarrcore.storage.zarr_python import ZarrPythonStore as ZarrPythonStore
from zarrcore.storage.zip import ZipStore as ZipStore

__all__: list[str]
