# SPDX-License-Identifier: MIT
# mypy: warn-unused-ignores
"""Right and wrong arguments, as mypy --strict sees them; an ignored error that is none is reported too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import zarrcore as zarr
from zarrcore.codecs import BytesCodec, GzipCodec, TransposeCodec
from zarrcore.storage import LocalStore, make_store
from zarrcore.typing import ChunksLike, CodecLike, DTypeLike, SelectionLike, ShapeLike, StoreLike, ValueLike


def right(shape: ShapeLike, dtype: DTypeLike, store: StoreLike, selection: SelectionLike) -> None:
    array = zarr.create_array(store, shape=shape, dtype=dtype)
    zarr.create_array("a.zarr", shape=100, dtype=np.float32, chunks=10)
    zarr.create_array(Path("a.zarr"), shape=[4, np.int64(6)], dtype="i4", chunks=(2, 3), shards="auto")
    zarr.create_array({}, shape=np.array([4, 6]), dtype=np.dtype(">i2"), chunks=[(2, 2), -1], shards=None)
    zarr.create_array(LocalStore("a"), data=[[1, 2], [3, 4]], shards={"shape": (4, 4)})
    zarr.create_array(
        {},
        shape=(3, 4),
        dtype={"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}},
        filters=[TransposeCodec(order=(1, 0))],
        serializer=BytesCodec(),
        compressors=["crc32c", {"name": "gzip", "configuration": {"level": 1}}],
        fill_value=datetime(2026, 1, 2),
        chunk_key_encoding={"name": "v2", "separator": "."},
        dimension_names=("x", None),
        order="F",
        config={"write_empty_chunks": True},
    )
    zarr.create(
        10,
        dtype=float,
        compressor={"id": "zlib", "level": 1},
        zarr_format=2,
        dimension_separator="/",
        store=None,
    )
    zarr.zeros((2, 3), dtype="u1", store="b.zarr", overwrite=True)
    zarr.full(3, 1 + 2j, dtype=complex)
    zarr.ones_like(np.arange(3), chunks=2, store={})
    zarr.from_array({}, data=array, chunks="keep", compressors=GzipCodec(), threads=4)
    zarr.open_array("a.zarr", mode="r+", shape=3, dtype="f8", cache_bytes=1 << 20)
    zarr.open_group("g.zarr", mode="w-", attributes={"a": [1, None]})
    zarr.save("s.zarr", np.arange(3), np.zeros(2), more=np.ones(1))
    zarr.copy_store({}, make_store(None), excludes="a.*", includes=["b"])

    values: ValueLike = [1, 2, 3]
    array[selection] = values
    array[1] = 2.5
    array[1, np.newaxis, ..., 2:8:-3] = np.arange(3)
    array[[1, 2], 0] = [date(2026, 1, 2)]
    array[np.array([True, False])] = b"bytes"
    array[[True, False]] = "text"
    array["field"] = {"x": 1}
    array[["field", "other"], 3] = (1, "a")
    array.vindex[[[0, 1], [2, 3]], [[0, 1], [2, 3]]] = None
    array.oindex[np.int64(3), array] = 1
    array.get_mask_selection(np.zeros((2, 2), bool), out=np.empty(0))
    array.set_block_selection((0, slice(1, 2)), 5)
    array.resize((3, 4))
    array.append([[1, 2]], axis=-1)
    array.read_many([slice(0, 3), (1, 2)], stack=True)
    zarr.read_many([(array, selection)])


def wrong(array: zarr.Array, chunks: ChunksLike, codecs: Sequence[CodecLike]) -> None:
    zarr.create_array(3, shape=4, dtype="i4")  # type: ignore[arg-type]
    zarr.create_array({}, shape=4.5, dtype="i4")  # type: ignore[arg-type]
    zarr.create_array({}, shape="4", dtype="i4")  # type: ignore[arg-type]
    zarr.create_array({}, shape=4, dtype=1.5)  # type: ignore[arg-type]
    zarr.create_array({}, shape=4, dtype="i4", chunks="large")  # type: ignore[arg-type]
    zarr.create_array({}, shape=4, dtype="i4", chunks=(1.5,))  # type: ignore[arg-type]
    zarr.create_array({}, shape=4, dtype="i4", compressors=3)  # type: ignore[arg-type]
    zarr.create_array({}, shape=4, dtype="i4", compressors=[np.dtype("i4")])  # type: ignore[list-item]
    zarr.create_array({}, shape=4, dtype="i4", order="A")  # type: ignore[arg-type]
    zarr.create_array({}, shape=4, dtype="i4", chunkz=3)  # type: ignore[call-arg]
    zarr.create_array({}, shape=4, dtype="i4", fill_value=object())  # type: ignore[arg-type]
    zarr.create(4, dimension_separator="-")  # type: ignore[arg-type]
    zarr.zeros(4, colour="red")  # type: ignore[call-arg]
    zarr.open_array("a.zarr", mode="rw")  # type: ignore[arg-type]
    zarr.open_array("a.zarr", chunkz=3)  # type: ignore[call-arg]
    zarr.save("a.zarr", [1, 2, 3])  # type: ignore[arg-type]
    zarr.from_array({}, data=array, threads="4")  # type: ignore[arg-type]
    array[1.5]  # type: ignore[index]
    array[[1.5]]  # type: ignore[index]
    array[1, 2.5] = 3  # type: ignore[index]
    array[0] = object()  # type: ignore[assignment]
    array[0] = {1, 2}  # type: ignore[assignment]
    array.read(1.5)  # type: ignore[arg-type]
    array.resize("large")  # type: ignore[arg-type]
    array.write(0, 1, threads=None)  # type: ignore[arg-type]


def groups(group: zarr.Group) -> None:
    group.require_array("a", shape=3, chunks=2, fill_value=0)
    group.require_array("a", shape=3, foo=3)  # type: ignore[call-arg]
    group.zeros(name="z", shape=(3, 4), chunks=False)
    group.zeros(name="z", shape=1.5)  # type: ignore[arg-type]
    group.require_group("b", attributes={"a": 1})
    group.require_group("b", colour="red")  # type: ignore[call-arg]
    assert_type(group.get("a"), zarr.Array | zarr.Group | None)
    assert_type(group.get("a", 3), zarr.Array | zarr.Group | int | None)
    group["a"] = [1, 2]
    group["a"] = object()  # type: ignore[assignment]


async def asynchronous(array: zarr.AsyncArray, group: zarr.AsyncGroup) -> Any:
    await array.setitem((0, slice(None)), 3)
    await array.setitem(0.5, 3)  # type: ignore[arg-type]
    await array.append([1])
    assert_type(await group.create_array("a", shape=3, dtype="i4"), zarr.AsyncArray)
    await group.create_array("a", shape=3, dtypes="i4")  # type: ignore[call-arg]
    return await array.getitem(np.s_[0:2])
