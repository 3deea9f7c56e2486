"""tensorstore, with chunks fetched by pread (its default) or through a memory map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorstore as ts

from benchmarks.libraries.base import MEMBER, files


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
        store.delete_range(ts.KvStore.KeyRange()).result()  # of the case before
        for key, value in files(directory).items():
            store.write(key, value).result()
        return {"driver": driver, "kvstore": kvstore}

    def open(self, location: Any, *, writable: bool = False) -> Any:
        return ts.open(location, context=self._context, read=True, write=writable).result()

    def read(self, array: Any, selection: Any = ...) -> Any:
        return array[selection].read().result()

    def read_boxes(self, array: Any, boxes: list[tuple[slice, ...]]) -> np.ndarray:
        with ts.Batch() as batch:
            reads = [array[box].read(batch=batch) for box in boxes]
        return np.stack([read.result() for read in reads])

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        ts.array(out, context=self._context, copy=False, write=True).write(array).result()
        return out

    def read_points(self, array: Any, coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.vindex[coordinates].read().result()

    def read_orthogonal(self, array: Any, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.oindex[indices].read().result()

    def read_mask(self, array: Any, mask: np.ndarray) -> np.ndarray:
        return array.vindex[mask]

    def write(self, array: Any, value: Any, selection: Any = ...) -> None:
        array[selection].write(value).result()

    def append(self, array: Any, rows: np.ndarray) -> Any:
        length = array.shape[0]
        longer = array.resize(exclusive_max=[length + len(rows), *array.shape[1:]]).result()
        longer[length:].write(rows).result()
        return longer

    def create_members(self, directory: Path, names: list[str], *, consolidated: bool) -> None:
        if consolidated:
            raise NotImplementedError("has no consolidated metadata")
        for name in names:
            ts.open(self._member(directory, name) | _NEW_MEMBER, context=self._context, create=True).result()

    def open_members(self, directory: Path, names: list[str], *, consolidated: bool) -> list[Any]:
        if consolidated:
            raise NotImplementedError("has no consolidated metadata")
        return [
            ts.open(self._member(directory, name), context=self._context, read=True).result()
            for name in names
        ]

    def list_members(self, directory: Path, *, consolidated: bool) -> list[tuple[str, tuple[int, ...]]]:
        raise NotImplementedError("has no groups")

    def _member(self, directory: Path, name: str) -> dict[str, Any]:
        return {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{directory}/{name}/"}}


_NEW_MEMBER = {
    "metadata": {
        "shape": MEMBER["shape"],
        "data_type": MEMBER["dtype"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": MEMBER["chunks"]}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
}
