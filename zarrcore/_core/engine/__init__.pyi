from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from types import EllipsisType, TracebackType
from typing import Any, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

_Result = TypeVar("_Result")
_Dims = Sequence[tuple[int, int, int] | NDArray[np.integer[Any]]]
_Coords = Sequence[NDArray[np.integer[Any]]]
_Field = str | tuple[str, ...] | None

_C_API: object

# threads
def available_cpus() -> int: ...
def call_parallel(function: Callable[[int], object], n: int, threads: int = 0) -> None: ...
def close_collected(self: object) -> None: ...
def count(requests: int = 0, nbytes_read: int = 0, writes: int = 0, nbytes_written: int = 0) -> None: ...
def metrics() -> tuple[int, int, int, int, int, int, int, int]: ...
def is_ending() -> bool: ...
def is_in_call() -> bool: ...
def num_threads() -> int: ...
def set_num_threads(n: int | None) -> None: ...
def thread_number(threads: int | None) -> int: ...

@final
class Decoding:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

# codecs
def check_options(name: str, config: Mapping[str, Any]) -> None: ...
def decode_bytes(
    name: str, config: Mapping[str, Any], data: Buffer, max_size: int, threads: int = 1
) -> bytes: ...
def decode_into(name: str, config: Mapping[str, Any], data: Buffer, out: Buffer, threads: int = 1) -> int: ...
def encode_bytes(name: str, config: Mapping[str, Any], data: Buffer, threads: int = 1) -> bytes: ...
def encode_into(name: str, config: Mapping[str, Any], data: Buffer, out: Buffer, threads: int = 1) -> int: ...
def is_plain(data: object, *, writable: bool = False) -> bool: ...
def libraries() -> dict[str, str | None]: ...
def libraries_origin() -> str: ...

# keys
def change_item(
    values: MutableMapping[str, Any], key: str, change: Callable[[str, Any], _Result], value: object
) -> _Result: ...
def changes_below(scope: str) -> int: ...
def key_events(scope: str, key: str) -> int: ...
def note_loss() -> None: ...
def note_shape(place: Place, shape: Sequence[int], is_new: bool = False) -> None: ...
def real_path(path: str) -> str | None: ...
def shape_is_stale(place: Place, shape: Sequence[int]) -> bool: ...
def wait_for_writes(place: Place) -> bool: ...
def while_changing(
    scope: str,
    keys: Sequence[str],
    method: Callable[..., _Result],
    args: Iterable[Any],
    kwargs: Mapping[str, Any],
) -> _Result: ...

@final
class Place:
    @property
    def warns(self) -> bool: ...
    def __init__(
        self,
        scope: str,
        lock_file: str | None = None,
        root: str = "",
        warns: bool = False,
        sync: bool = False,
        makes: bool = False,
    ) -> None: ...

@final
class Owned(AbstractContextManager[bool]):
    def __init__(self, lock: Any, timeout: float) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(self, *_: object) -> None: ...

@final
class Held(AbstractContextManager[_Result]):
    def __init__(self, generator: Iterator[_Result]) -> None: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool: ...

@final
class KeyLock:
    def __init__(self, place: Place, key: str, array: str | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, *exc: object) -> None: ...

# files
def age_by_mtime(alone: bool) -> None: ...
def make_below(root: str, above: str, name: str, follow_symlinks: bool | str) -> None: ...
def open_below(
    root: str, path: str, flags: int, follow_symlinks: bool | str, writes: bool = False
) -> int: ...
def read_file(
    root: str, path: str, follow_symlinks: bool | str, most: int, marked: bool = False
) -> bytes | tuple[bytes, tuple[int, ...]] | EllipsisType | None: ...
def remove_file(path: str, root: str, follow_symlinks: bool | str, sync: bool = False) -> None: ...
def size_below(root: str, path: str, follow_symlinks: bool | str) -> int | None: ...
def which_below(root: str, above: str, names: list[str], follow_symlinks: bool | str) -> bytes: ...
def write_file(
    path: str,
    data: Buffer,
    sync: bool = False,
    is_new: bool = False,
    root: str | None = None,
    follow_symlinks: bool | str = "inside",
) -> bool: ...
def write_parts(
    path: str,
    nbytes: int,
    parts: Iterable[Buffer],
    sync: bool,
    root: str,
    follow_symlinks: bool | str,
) -> None: ...
def writer_lives(name: str) -> bool: ...

# sessions
def trust(kind: type) -> None: ...

@final
class OpenFile:
    def __init__(self, fd: int) -> None: ...

@final
class FileSpan:
    def __init__(self, file: OpenFile, offset: int, size: int) -> None: ...

# sources
@final
class LocalSource:
    documented: bytes | None
    def __init__(
        self,
        root: str | PathLike[str],
        fsync: bool = False,
        documents: bool = False,
        follow_symlinks: bool | str = "inside",
        page_cache: bool = True,
    ) -> None: ...
    def note_document(self, prefix: str, document: str, marked: bool) -> bool: ...

@final
class MemorySource:
    is_gone: Callable[[str], bool] | None
    def note_document(self, key: str) -> None: ...
    def __init__(
        self,
        values: dict[str, Any],
        is_gone: Callable[[str], bool] | None = None,
        kept: Callable[[bytes], Any] | None = None,
    ) -> None: ...

@final
class StoreSource:
    def note_document(self, key: str) -> None: ...
    def __init__(
        self,
        store: Any,
        suffix: Callable[[int], Any],
        is_gone: Callable[[str], bool] | None = None,
        waits: Callable[[], int] | None = None,
        most: int | None = None,
    ) -> None: ...

@final
class Feed:
    def answer(self, get: Callable[[str, Any, int | None], Any]) -> None: ...
    def lacking(self, n: int) -> int: ...

_Source = LocalSource | MemorySource | StoreSource

# chains
@final
class Shard:
    inner_shape: tuple[int, ...]
    inner: Chain
    index_location: str
    def __init__(self, *args: object, **kwargs: object) -> None: ...

@final
class Chain:
    links: tuple[Any, ...]
    shard: Shard | None
    order: tuple[int, ...] | None
    calls_python: bool
    def __init__(
        self,
        itemsize: int,
        links: Sequence[tuple[Any, ...]] = ...,
        *,
        shape: Sequence[int] | None = None,
        fill: bytes | None = None,
    ) -> None: ...
    def check_ndim(self, ndim: int) -> None: ...
    @property
    def itemsize(self) -> int: ...

# cache
def byte_limit(max_bytes: int) -> int: ...

@final
class ChunkCache:
    def __new__(cls, max_bytes: int) -> Self: ...
    def clear(self) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def max_bytes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def nchunks(self) -> int: ...
    @property
    def hits(self) -> int: ...
    @property
    def misses(self) -> int: ...

# results
def empty(shape: tuple[int, ...], dtype: np.dtype[Any], order: str = "C") -> NDArray[Any]: ...
def keep_results(most: int) -> None: ...
def kept_results() -> int: ...

# selections
def are_indices(array: Any, length: int) -> bool: ...
def basic_dims(
    key: Any, shape: Sequence[int]
) -> tuple[tuple[tuple[int, int, int], ...], tuple[int, ...], tuple[int, ...]] | None: ...

# masks
def mask_points(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]: ...

@final
class MaskPoints:
    mask: NDArray[np.bool_]
    count: int
    def __init__(self, mask: NDArray[np.bool_]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, d: int, /) -> NDArray[np.int64]: ...

# arrays
@final
class NativeArray:
    cache: ChunkCache | None
    source: _Source
    chain: Chain
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    path: str
    is_native: bool
    is_left: bool
    is_stale: bool
    def __init__(
        self,
        source: _Source,
        prefix: str,
        *,
        shape: Sequence[int],
        chunks: Sequence[int | tuple[int, ...]],
        key_encoding: tuple[str, str] = ("default", "/"),
        chain: Chain,
        dtype: Any,
        fill: bytes | None = None,
        path: str = "",
        missing_is_error: bool = False,
        cache: ChunkCache | None = None,
        scope: Callable[[], str | Place] | None = None,
    ) -> None: ...
    @property
    def noticed(self) -> Any: ...
    @property
    def block_shape(self) -> tuple[int, ...] | None: ...
    def chunk_key(self, chunk: Sequence[int]) -> str: ...
    def get(self, key: Any, threads: int = 0) -> Any: ...
    def put(self, key: Any, value: Any, write_empty: bool = False, threads: int = 0) -> bool: ...
    def read(
        self,
        dims: _Dims,
        out: NDArray[Any],
        threads: int = 0,
        field: _Field = None,
        token: object = None,
    ) -> None: ...
    def write(
        self,
        dims: _Dims,
        value: NDArray[Any],
        threads: int = 0,
        write_empty: bool = False,
        field: _Field = None,
    ) -> None: ...
    def read_points(
        self,
        coords: _Coords,
        out: NDArray[Any],
        threads: int = 0,
        field: _Field = None,
        token: object = None,
    ) -> None: ...
    def note_look(self) -> None: ...
    def confirm(self, now: bool = True) -> None: ...
    def write_points(
        self,
        coords: _Coords,
        value: NDArray[Any],
        threads: int = 0,
        write_empty: bool = False,
        field: _Field = None,
    ) -> None: ...
    def check_objects(self, selected: Sequence[Any], value: NDArray[Any], *, points: bool) -> None: ...
    def write_gathered(
        self,
        chunk: Sequence[int],
        blocks: Mapping[tuple[int, ...], tuple[NDArray[Any], NDArray[np.bool_] | None]],
        complete: bool,
        threads: int = 0,
        write_empty: bool = False,
    ) -> None: ...

# batches
def entangled(arrays: list[NDArray[Any]], most: int) -> list[tuple[int, int]]: ...
def get_many(
    requests: list[Any], outs: list[NDArray[Any]] | None = None, threads: int = 0
) -> list[NDArray[Any]] | None: ...
def prefetch(
    array: NativeArray,
    dims: _Dims,
    shape: Sequence[int],
    points: bool,
    threads: int = 0,
    token: object = None,
) -> None: ...
def box_of(
    array: NativeArray, parts: list[Any], place: type, store: object
) -> tuple[list[tuple[int, int, int]], tuple[int | None, ...]] | None: ...
def begins_of(
    array: NativeArray, parts: list[Any], place: type, store: object
) -> NDArray[np.int64] | None: ...
def list_stored(
    array: NativeArray, most: int, sizes: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]] | None: ...
def try_chunks(array: NativeArray, chunks: NDArray[np.int64], threads: int = 0) -> NDArray[np.int64]: ...
def read_parts(
    array: NativeArray, chunks: NDArray[np.int64], nbytes: int, last: bool, threads: int = 0
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def read_many(
    requests: list[tuple[NativeArray, Any, bool, NDArray[Any]]],
    threads: int = 0,
    numbers: Sequence[int] | None = None,
) -> None: ...
