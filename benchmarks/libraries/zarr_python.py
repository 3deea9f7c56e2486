"""zarr-python with one of its codec pipelines: batched (the default), fused, or zarrs in Rust."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numcodecs.blosc
import numpy as np
import zarr
from zarr.core.buffer import cpu
from zarr.errors import ZarrUserWarning
from zarr.storage import MemoryStore

from benchmarks.libraries.base import MEMBER, files


class ZarrPython:
    """zarr-python; everything but the pipeline keeps its default."""

    def __init__(self, threads: int, pipeline: str) -> None:
        if pipeline.startswith("zarrs."):
            import zarrs  # noqa: F401  (registers the pipeline)
        warnings.filterwarnings("ignore", category=ZarrUserWarning)  # consolidated metadata are no standard
        zarr.config.set({"codec_pipeline.path": pipeline})
        if threads:
            zarr.config.set({"threading.max_workers": threads, "codec_pipeline.max_workers": threads})
            numcodecs.blosc.set_nthreads(threads)

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        if not memory:
            return str(directory)
        return MemoryStore({key: cpu.Buffer.from_bytes(value) for key, value in files(directory).items()})

    def open(self, location: Any, *, writable: bool = False) -> Any:
        return zarr.open_array(location, mode="r+" if writable else "r")

    def read(self, array: Any, selection: Any = ...) -> Any:
        return array[selection]

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        array.get_basic_selection(..., out=cpu.NDBuffer.from_ndarray_like(out))
        return out

    def read_points(self, array: Any, coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.vindex[coordinates]

    def read_orthogonal(self, array: Any, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.oindex[indices]

    def read_mask(self, array: Any, mask: np.ndarray) -> np.ndarray:
        return array.vindex[mask]

    def write(self, array: Any, value: Any, selection: Any = ...) -> None:
        array[selection] = value

    def append(self, array: Any, rows: np.ndarray) -> Any:
        array.append(rows)
        return array

    def create_members(self, directory: Path, names: list[str], *, consolidated: bool) -> None:
        group = zarr.create_group(str(directory))
        for name in names:
            group.create_array(name, **MEMBER, compressors=None)
        if consolidated:
            zarr.consolidate_metadata(str(directory))

    def open_members(self, directory: Path, names: list[str], *, consolidated: bool) -> list[Any]:
        group = zarr.open_group(str(directory), mode="r", use_consolidated=consolidated)
        return [group[name] for name in names]

    def list_members(self, directory: Path, *, consolidated: bool) -> list[tuple[str, tuple[int, ...]]]:
        group = zarr.open_group(str(directory), mode="r", use_consolidated=consolidated)
        return [(name, array.shape) for name, array in group.arrays()]
