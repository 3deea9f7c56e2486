"""tensorstore, with chunks fetched by pread (its default) or through a memory map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorstore as ts

from benchmarks.libraries.base import files


class TensorStore:
    """tensorstore without fsync, which none of the others does by default; the cache is off by default."""

    def __init__(self, threads: int, file_io_mode: str) -> None:
        context: dict[str, Any] = {"file_io_sync": False}
        if file_io_mode != "default":
            context["file_io_mode"] = {"mode": file_io_mode}
        if threads:
            limit = {"limit": threads}
            context |= {"data_copy_concurrency": limit, "file_io_concurrency": limit}
        self._context = ts.Context(context)

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        driver = "zarr3" if (directory / "zarr.json").exists() else "zarr"
        if not memory:
            return {"driver": driver, "kvstore": {"driver": "file", "path": f"{directory}/"}}
        kvstore = {"driver": "memory", "path": f"{directory.name}/"}
        store = ts.KvStore.open(kvstore, context=self._context).result()
        for key, value in files(directory).items():
            store.write(key, value).result()
        return {"driver": driver, "kvstore": kvstore}

    def open(self, location: Any, *, writable: bool = False) -> Any:
        return ts.open(location, context=self._context, read=True, write=writable).result()

    def read(self, array: Any, selection: Any = ...) -> Any:
        return array[selection].read().result()

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        ts.array(out, context=self._context, copy=False, write=True).write(array).result()
        return out

    def read_points(self, array: Any, coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.vindex[coordinates].read().result()

    def read_orthogonal(self, array: Any, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.oindex[indices].read().result()

    def write(self, array: Any, value: Any, selection: Any = ...) -> None:
        array[selection].write(value).result()
