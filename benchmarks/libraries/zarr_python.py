"""zarr-python with one of its codec pipelines: batched (the default), fused, or zarrs in Rust."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numcodecs.blosc
import numpy as np
import zarr
from zarr.core.buffer import cpu
from zarr.errors import ZarrUserWarning
from zarr.storage import MemoryStore

from benchmarks.libraries.base import files
from benchmarks.libraries.zarr_interface import ZarrInterface


class ZarrPython(ZarrInterface):
    """zarr-python; everything but the pipeline keeps its default."""

    package = zarr

    def __init__(self, threads: int, pipeline: str) -> None:
        if pipeline.startswith("zarrs."):
            if threads:
                os.environ["RAYON_NUM_THREADS"] = str(threads)  # zarrs starts a thread per core otherwise
            import zarrs  # noqa: F401  (registers the pipeline)
        elif pipeline.startswith("zarrcore."):
            from zarrcore.integrations.zarr_python import CodecPipeline  # noqa: F401  (without entry points)
        warnings.filterwarnings("ignore", category=ZarrUserWarning)  # consolidated metadata are no standard
        zarr.config.set({"codec_pipeline.path": pipeline})
        if threads:
            zarr.config.set({"threading.max_workers": threads, "codec_pipeline.max_workers": threads})
            numcodecs.blosc.set_nthreads(threads)

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        if not memory:
            return str(directory)
        return MemoryStore({key: cpu.Buffer.from_bytes(value) for key, value in files(directory).items()})

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        array.get_basic_selection(..., out=cpu.NDBuffer.from_ndarray_like(out))
        return out
