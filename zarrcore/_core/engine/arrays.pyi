from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from zarrcore._core.engine.cache import ChunkCache
from zarrcore._core.engine.chains import Chain
from zarrcore._core.engine.sources import LocalSource, MemorySource, StoreSource

_Slice = tuple[int, int, int]

@final
class NativeArray:
    cache: ChunkCache | None
    source: LocalSource | MemorySource | StoreSource
    chain: Chain
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    path: str
    def __init__(
        self,
        source: LocalSource | MemorySource | StoreSource,
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
        scope: Callable[[], str] | None = None,
    ) -> None: ...
    is_native: bool
    @property
    def block_shape(self) -> tuple[int, ...] | None: ...
    def chunk_key(self, chunk: Sequence[int]) -> str: ...
    def write_gathered(
        self,
        chunk: Sequence[int],
        blocks: Mapping[tuple[int, ...], tuple[NDArray[Any], NDArray[np.bool_] | None]],
        complete: bool,
        threads: int = 0,
        write_empty: bool = False,
    ) -> None: ...
    def get(self, key: Any, threads: int = 0) -> Any: ...
    def read(
        self,
        dims: Sequence[_Slice | NDArray[np.integer[Any]]],
        out: NDArray[Any],
        threads: int = 0,
        field: str | tuple[str, ...] | None = None,
    ) -> None: ...
    def write(
        self,
        dims: Sequence[_Slice | NDArray[np.integer[Any]]],
        value: NDArray[Any],
        threads: int = 0,
        write_empty: bool = False,
        field: str | tuple[str, ...] | None = None,
    ) -> None: ...
    def read_points(
        self,
        coords: Sequence[NDArray[np.integer[Any]]],
        out: NDArray[Any],
        threads: int = 0,
        field: str | tuple[str, ...] | None = None,
    ) -> None: ...
    def write_points(
        self,
        coords: Sequence[NDArray[np.integer[Any]]],
        value: NDArray[Any],
        threads: int = 0,
        write_empty: bool = False,
        field: str | tuple[str, ...] | None = None,
    ) -> None: ...
