# SPDX-License-Identifier: MIT
"""zarrcore_read_points and zarrcore_read_many: what NumPy selects, in any store, with what is pending."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_regions import Region, ints

import zarrcore
from zarrcore.storage import LoggingStore, MemoryStore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ARGUMENT, SIZE = -2, -5
SHAPE = (23, 30)


def numbers() -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype="f4").reshape(SHAPE)


def make(store: Any, **options: Any) -> zarrcore.Array:
    array = zarrcore.create_array(store, shape=SHAPE, **{"chunks": (8, 10), "dtype": "f4"} | options)
    array[...] = numbers().astype(array.dtype)
    return array


def read_points(
    api: Any, handle: int, points: Any, dtype: str = "f4", **given: Any
) -> tuple[int, np.ndarray]:
    table = np.array(points, "i8").reshape(-1, 2)
    out = np.full(len(table), -1, dtype)
    pointer = table.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
    nbytes, ndim = given.get("nbytes", out.nbytes), given.get("ndim", table.shape[1])
    arguments = (out.ctypes.data, nbytes, given.get("threads", 0), given.get("error"))
    return api.read_points(handle, np.dtype(dtype).str.encode(), ndim, len(table), pointer, *arguments), out


def region(handle: int, memory: np.ndarray, start: Any = None, step: Any = None, name: Any = None) -> Region:
    kind = memory.dtype.str if name is None else name
    shape, strides = ints(memory.shape), ints(memory.strides)
    pointer, nbytes = memory.ctypes.data, memory.nbytes
    return Region(
        handle, kind.encode(), memory.ndim, ints(start), ints(step), shape, pointer, nbytes, strides
    )


@pytest.mark.parametrize("options", [{}, {"shards": (16, 20)}, {"zarr_format": 2, "order": "F"}], ids=str)
@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2"])
def test_points(api: Any, tmp_path: Path, options: dict[str, Any], dtype: str) -> None:
    make(tmp_path, **options)
    handle, rng = api.handle(tmp_path), np.random.default_rng(0)
    points = np.stack([rng.integers(0, n, 500) for n in SHAPE], axis=1)
    status, out = read_points(api, handle, points, dtype)
    assert status == 0
    np.testing.assert_array_equal(out, numbers()[tuple(points.T)])
    assert read_points(api, handle, np.zeros((0, 2)), ndim=2)[0] == 0
    api.release(handle)


def test_points_have_what_is_pending(api: Any, tmp_path: Path) -> None:
    make(tmp_path)
    handle = api.handle(tmp_path)
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    assert api.region(handle, np.full((1, 2), -7, "f4"), (3, 4), write=True) == 0
    assert read_points(api, handle, [(3, 4), (3, 6), (3, 5)])[1].tolist() == [-7, 96, -7]
    api.release(handle)


def test_points_are_checked(api: Any, tmp_path: Path, error_of: Any) -> None:
    make(tmp_path)
    handle, error = api.handle(tmp_path), error_of()
    for wrong in [(23, 0), (-1, 0), (0, 30), (0, -(2**63)), (2**63 - 1, 0)]:
        status, out = read_points(api, handle, [(1, 1), wrong], error=error)
        assert (status, out.tolist()) == (ARGUMENT, [-1, -1])
        assert b"point 1: index" in error.message
    assert read_points(api, handle, [(1, 1)], nbytes=3)[0] == SIZE
    assert read_points(api, handle, [(1, 1)], ndim=3)[0] == ARGUMENT
    assert read_points(api, handle, [(1, 1)], threads=-1)[0] == ARGUMENT
    assert read_points(api, handle, [(1, 1)], dtype="S4")[0] == ARGUMENT
    one = (ctypes.c_int64 * 2)(1, 1)
    for n in (2**64 - 1, 2**63, 2**62):
        assert api.read_points(handle, b"f4", 2, n, one, one, 2**64 - 1, 1, None) < 0
    api.release(handle)


@pytest.mark.parametrize("store", ["local", "memory", "python"])
def test_many_regions_of_several_arrays(capi: Any, tmp_path: Path, store: str) -> None:
    places = {"local": tmp_path, "memory": MemoryStore(), "python": LoggingStore(MemoryStore())}
    group = zarrcore.create_group(places[store])
    arrays = [group.create_array(f"a{k}", shape=SHAPE, chunks=(8, 10), dtype="f4") for k in range(3)]
    for k, array in enumerate(arrays):
        array[...] = numbers() + k
    handles = [capi.from_python(id(array)) for array in arrays]
    assert capi.set_write_buffer(handles[2], 1 << 20, None) == 0
    assert capi.region(handles[2], np.full((1, 1), -7, "f4"), (0, 0), write=True) == 0
    memory = [
        np.zeros(shape, dtype)
        for shape, dtype in [((23, 30), "f4"), ((4, 5), "f4"), ((5, 0), "f4"), ((3, 3), "f8"), ((2, 2), "f4")]
    ]
    regions = (Region * 5)(
        region(handles[0], memory[0]),
        region(handles[1], memory[1], (20, 28), (-2, -3)),
        region(handles[0], memory[2]),
        region(handles[0], memory[3], (1, 1)),
        region(handles[2], memory[4]),
    )
    failed = ctypes.c_size_t(7)
    assert capi.read_many(regions, 5, 0, ctypes.byref(failed), None) == 0
    assert failed.value == 2**64 - 1
    np.testing.assert_array_equal(memory[0], numbers())
    np.testing.assert_array_equal(memory[1], (numbers() + 1)[20:13:-2, 28:15:-3])
    np.testing.assert_array_equal(memory[3], numbers()[1:4, 1:4])
    assert memory[4].tolist() == [[-7, 3], [32, 33]]
    for handle in handles:
        assert capi.close(handle, None) == 0


def test_which_of_many_failed(api: Any, tmp_path: Path, error_of: Any) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b")
    (tmp_path / "b" / "c" / "1" / "2").write_bytes(b"rubbish")
    handles, error = [api.handle(tmp_path / name) for name in "ab"], error_of()
    memory, failed = [np.zeros(SHAPE, "f4") for _ in range(3)], ctypes.c_size_t()

    def read(*regions: Region) -> int:
        return api.read_many((Region * len(regions))(*regions), len(regions), 0, ctypes.byref(failed), error)

    good, bad = region(handles[0], memory[0]), region(handles[1], memory[1])
    assert read(good, bad) < 0
    assert (failed.value, error.place, error.key) == (1, (1, 2), b"c/1/2")
    for wrong in (
        region(None, memory[2]),  # type: ignore[arg-type]
        region(handles[0], memory[2], (1, 1)),
        region(handles[0], memory[2], name="S4"),
        Region(handles[0], b"f4", 2**32 + 2, memory=memory[2].ctypes.data, nbytes=2**62),
        Region(handles[0], None, 2),
        region(handles[0], np.zeros(SHAPE, "f8"), (1, 1)),  # to be converted
    ):
        memory[0][...] = 0
        assert read(good, wrong) == ARGUMENT
        assert failed.value == 1
        assert not memory[0].any(), "nothing is read unless all is right"
    assert read(Region(handles[0], b"f4", 2, memory=memory[2].ctypes.data, nbytes=5)) == SIZE
    assert api.read_many((Region * 1)(good), 1, -1, None, error) == ARGUMENT
    assert api.read_many((Region * 1)(good), 2**63, 0, None, error) < 0
    for handle in handles:
        api.release(handle)
