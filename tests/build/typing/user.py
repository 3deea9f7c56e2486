# SPDX-License-Identifier: MIT
# mypy: warn-unused-ignores
"""What a user writes, as mypy --strict sees it; an ignored error that is none is reported as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import zarrcore as zarr
from zarrcore import kernels
from zarrcore.codecs import BytesCodec, GzipCodec, ShardingCodec
from zarrcore.codecs import Zlib as numcodecs_zlib
from zarrcore.errors import ArrayNotFoundError, ChunkError
from zarrcore.storage import LocalStore, MemoryStore, Store, ZipStore


def arrays(store: Store) -> NDArray[np.float32]:
    array = zarr.create_array(
        store,
        name="temperature",
        shape=(365, 180),
        chunks=(1, 90),
        shards=(5, 90),
        dtype="float32",
        compressors=[GzipCodec(level=1)],
        fill_value=np.nan,
        dimension_names=("time", "lat"),
        attributes={"units": "K"},
    )
    assert_type(array, zarr.Array)
    assert_type(array.shape, tuple[int, ...])
    assert_type(array.chunks, tuple[int, ...])
    assert_type(array.shards, tuple[int, ...] | None)
    assert_type(array.ndim, int)
    array[:10] = 280.5
    array[3, ::-1] = np.arange(180)
    array.write((slice(None), 0), 1.0, threads=2)
    array.attrs["history"] = ["made"]
    array.resize((400, 180))

    out = np.empty((10, 180), dtype=np.float32)
    array.read(slice(0, 10), out=out, threads=4)
    array.oindex[[0, 3], :]
    array.vindex[[0, 1], [2, 3]] = 5
    for block in array:
        np.asarray(block)
    assert len(array) == array.shape[0]
    return out


def groups() -> Iterator[str]:
    root = zarr.open_group(MemoryStore(), mode="w")
    assert_type(root, zarr.Group)
    grid = root.create_group("grid", attributes={"resolution": 1.0})
    assert_type(grid.create_array("lat", shape=3, dtype="f8"), zarr.Array)
    grid["lon"] = np.arange(3)
    member = root["grid/lat"]
    assert_type(member, zarr.Array | zarr.Group)
    if isinstance(member, zarr.Array):
        yield member.path
    for name, array in grid.arrays():
        assert_type(array, zarr.Array)
        yield name
    assert_type(zarr.open("example.zarr", mode="r"), zarr.Array | zarr.Group)


def stores() -> None:
    with ZipStore("example.zip", mode="w") as archive:
        zarr.save(archive, np.arange(4))
    try:
        zarr.open_array(LocalStore("example.zarr"), mode="r")
    except (ArrayNotFoundError, ChunkError) as error:
        print(error)
    with zarr.config.set({"threading.max_workers": 4}):
        assert_type(zarr.open_array({}), zarr.Array)
    ShardingCodec(chunk_shape=(4,), codecs=(BytesCodec(),))
    ShardingCodec(chunk_shape=[4], codecs=[{"name": "bytes"}, "crc32c"], index_codecs=(BytesCodec(),))
    ShardingCodec(chunk_shape=4, codecs=iter([numcodecs_zlib(level=1)]), index_location="start")
    zarr.create_array({}, shape=4, dtype="i4", chunk=2)  # type: ignore[call-arg]


def numbers(x: NDArray[np.uint32]) -> None:
    out = np.empty_like(x)
    kernels.byteswap(x, out=out)
    kernels.byteswap(x, out=out, where=x > 3)
    assert_type(kernels.byteswap.ufunc, np.ufunc)
    kernels.delta_encode(x, out=out)
    kernels.shuffle(x.view(np.uint8), 4, out=out.view(np.uint8))
    kernels.copy_region(out, x, threads=2)
    kernels.fill(out, 7)
    kernels.crc32c(x)
    kernels.crc32c(b"123456789", 5)
    kernels.equals_fill(x, 0, axis=0)
    assert_type(kernels.equals_fill.ufunc, np.ufunc)
    assert_type(kernels.equals_fill.ufunc_nan_equal, np.ufunc)
    assert_type(kernels.chunk_index, np.ufunc)
    packed: bytes | NDArray[Any] = kernels.zstd_encode(x)
    kernels.zstd_decode(packed, out=out)


def mistakes(array: zarr.Array) -> None:
    print(zarr.open_arrays)  # type: ignore[attr-defined]
    print(zarr.codecs.Bytes)  # type: ignore[attr-defined]
    print(zarr.storage.Zip)  # type: ignore[attr-defined]
    print(array.shapes)  # type: ignore[attr-defined]
    array.read(..., thread=4)  # type: ignore[call-arg]
    kernels.byteswap(out=3)  # type: ignore[call-arg, arg-type]
    zarr.create_array({}, shapes=5, dtype="i4")  # type: ignore[call-arg]
