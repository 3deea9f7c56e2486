# SPDX-License-Identifier: MIT
"""Handles, regions and chunks: through the capsule, through libzarrcore, and as zarrcore itself reads."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore import codecs

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

SHAPE = (23, 17)

SHARDED = {"chunks": (3, 5), "shards": (12, 10)}
LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {"chunks": (5, 4), "compressors": None},
    "zstd": {"chunks": (5, 4)},
    "gzip-big": {
        "chunks": (7, 17),
        "compressors": codecs.GzipCodec(level=1),
        "serializer": codecs.BytesCodec(endian="big"),
    },
    "blosc-crc": {"chunks": (23, 3), "compressors": [codecs.BloscCodec(cname="lz4"), codecs.Crc32cCodec()]},
    "transposed": {"chunks": (6, 5), "filters": codecs.TransposeCodec(order=(1, 0))},
    "sharded": SHARDED,
    "sharded-transposed": SHARDED | {"filters": codecs.TransposeCodec(order=(1, 0))},
    "dots": {"chunks": (5, 4), "chunk_key_encoding": {"name": "v2", "separator": "."}},
    "v2": {"chunks": (5, 4), "zarr_format": 2},
    "v2-F": {"chunks": (5, 4), "zarr_format": 2, "order": "F"},
    "v2-slash": {"chunks": (5, 4), "zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
}


def make(path: Path, layout: str, dtype: str = "f8") -> tuple[zarrcore.Array, np.ndarray]:
    array = zarrcore.create_array(
        store=path, shape=SHAPE, dtype=dtype, fill_value=1 if dtype == "bool" else 3, **LAYOUTS[layout]
    )
    values = np.arange(np.prod(SHAPE)).reshape(SHAPE).astype(dtype)
    array[...] = values
    return array, values


@pytest.fixture
def opened(api: Any, request: pytest.FixtureRequest) -> Any:
    """Open a path; the handle is released at the end."""

    def open_handle(path: Path, **options: Any) -> int:
        handle = api.handle(path, **options)
        request.addfinalizer(lambda: api.release(handle))
        return handle

    return open_handle


def of_ndim(api: Any, handle: int, query: Callable[..., int]) -> tuple[int, ...]:
    out = (ctypes.c_int64 * 64)()
    assert query(handle, out) == 0
    return tuple(out[: api.ndim(handle)])


# ---- what an array is ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_queries(api: Any, opened: Any, layout: str, tmp_path: Path) -> None:
    array, _ = make(tmp_path, layout)
    handle = opened(tmp_path)
    assert of_ndim(api, handle, api.shape) == SHAPE
    assert of_ndim(api, handle, api.chunk_shape) == (array.shards or array.chunks)
    assert of_ndim(api, handle, api.inner_chunk_shape) == array.chunks
    assert api.is_sharded(handle) == (array.shards is not None)
    assert of_ndim(api, handle, api.grid_shape) == tuple(
        -(-n // c) for n, c in zip(SHAPE, array.shards or array.chunks, strict=True)
    )
    assert api.itemsize(handle) == 8
    assert api.typestr(handle).decode() == array.dtype.str
    assert (chr(api.kind(handle)), chr(api.byte_order(handle))) == ("f", array.dtype.str[0])
    fill = ctypes.c_double()
    assert api.fill_value(handle, ctypes.byref(fill), 8) == 0
    assert fill.value == 3
    assert api.fill_value(handle, ctypes.byref(fill), 7) == -5
    assert api.is_writable(handle) == 1


def test_chunk_boxes_and_keys(api: Any, opened: Any, tmp_path: Path) -> None:
    make(tmp_path, "zstd")
    handle = opened(tmp_path)
    start, shape = (ctypes.c_int64 * 2)(), (ctypes.c_int64 * 2)()
    chunk = (ctypes.c_int64 * 2)(4, 4)
    assert api.chunk_box(handle, chunk, start, shape) == 0
    assert (tuple(start), tuple(shape)) == ((20, 16), (5, 4))
    text, needed = ctypes.create_string_buffer(32), ctypes.c_size_t()
    assert api.chunk_key(handle, chunk, ctypes.cast(text, ctypes.c_char_p), 32, ctypes.byref(needed)) == 0
    assert text.value.endswith(b"c/4/4")
    assert needed.value == len(text.value) + 1
    assert api.chunk_key(handle, chunk, ctypes.cast(text, ctypes.c_char_p), 3, None) == -5
    assert api.chunk_box(handle, (ctypes.c_int64 * 2)(5, 0), start, shape) == -2
    assert api.chunk_box(handle, (ctypes.c_int64 * 2)(0, -1), start, shape) == -2


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "u8", "f2", "f4", "c8", "c16"])
@pytest.mark.parametrize("layout", ["gzip-big", "v2"])
def test_data_types(api: Any, opened: Any, dtype: str, layout: str, tmp_path: Path) -> None:
    array, values = make(tmp_path, layout, dtype)
    handle = opened(tmp_path)
    out = np.zeros(SHAPE, api.typestr(handle).decode())
    assert out.dtype == array.dtype
    assert api.region(handle, out) == 0
    np.testing.assert_array_equal(out, values)


# ---- regions ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_regions_are_read(api: Any, opened: Any, layout: str, tmp_path: Path) -> None:
    _, values = make(tmp_path, layout)
    handle = opened(tmp_path)
    whole = np.zeros(SHAPE)
    assert api.read(handle, None, None, None, whole.ctypes.data, None, 0, None) == 0
    np.testing.assert_array_equal(whole, values)
    for start, step, count in [
        ((2, 3), (3, 1), (6, 9)),
        ((22, 16), (-1, -2), (23, 8)),
        ((5, 0), (1, 16), (1, 2)),
    ]:
        out = np.full((count[1], count[0] * 2), -1.0).T[::2]  # strided, in Fortran order
        assert api.region(handle, out, start, step, threads=2) == 0
        at = [[s + t * k for k in range(n)] for s, t, n in zip(start, step, count, strict=True)]
        np.testing.assert_array_equal(out, values[np.ix_(*at)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_regions_are_written(api: Any, opened: Any, layout: str, tmp_path: Path) -> None:
    array, values = make(tmp_path, layout)
    handle = opened(tmp_path)
    block = np.random.default_rng(0).random((9, 8))
    assert api.region(handle, block[::-1], (11, 3), write=True, threads=2) == 0
    values[11:20, 3:11] = block[::-1]
    constant = np.broadcast_to(np.array(7.0), (4, 2))
    assert api.region(handle, constant, (0, 0), (2, 3), write=True) == 0
    values[0:8:2, 0:6:3] = 7
    np.testing.assert_array_equal(array[...], values)


def test_empty_regions_touch_nothing(api: Any, opened: Any, tmp_path: Path) -> None:
    make(tmp_path, "zstd")
    handle = opened(tmp_path)
    assert api.region(handle, np.empty((0, 4)), (23, 2)) == 0
    assert api.region(handle, np.empty((0, 4)), (23, 2), write=True) == 0


def test_arrays_without_dimensions(api: Any, opened: Any, tmp_path: Path) -> None:
    zarrcore.create_array(store=tmp_path, shape=(), dtype="f8")[...] = 1.5
    handle = opened(tmp_path)
    out = np.zeros(())
    assert api.region(handle, out) == 0
    assert out == 1.5


@pytest.mark.parametrize(
    ("start", "step", "count"),
    [
        ((-1, 0), None, (1, 1)),
        ((0, 17), None, (1, 1)),
        ((20, 0), None, (4, 1)),
        ((0, 0), (2, 1), (13, 1)),
        ((3, 0), (-1, 1), (5, 1)),
        ((0, 0), (0, 1), (2, 1)),
        ((0, 0), (1, -(2**63)), (1, 1)),
        ((0, 0), None, (-1, 1)),
        ((0, 0), (2**62, 1), (2**62, 1)),
        ((2**63 - 1, 0), None, (2, 1)),
    ],
)
def test_regions_that_leave_the_array(
    api: Any, opened: Any, error_of: Any, start: Any, step: Any, count: Any, tmp_path: Path
) -> None:
    make(tmp_path, "zstd")
    out, error = np.zeros(400), error_of()
    triple = [None if values is None else (ctypes.c_int64 * 2)(*values) for values in (start, step, count)]
    assert api.read(opened(tmp_path), *triple, out.ctypes.data, None, 0, error) == -2
    assert error.message.startswith(b"dimension ")
    assert not out.any()


def test_threads_share_a_handle(api: Any, opened: Any, tmp_path: Path) -> None:
    _, values = make(tmp_path, "sharded")
    handle = opened(tmp_path)
    results: list[bool] = []

    def work() -> None:
        out = np.zeros(SHAPE)
        for _ in range(20):
            api.retain(handle)
            ok = api.region(handle, out, threads=2) == 0 and (out == values).all()
            api.release(handle)
            results.append(bool(ok))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [True] * 80


# ---- single chunks ----


def load(api: Any, handle: int, chunk: Any) -> bytes:
    nbytes = ctypes.c_size_t()
    assert api.load_chunk(handle, chunk, 0, None, 0, ctypes.byref(nbytes), None) == 0
    data = ctypes.create_string_buffer(nbytes.value)
    assert api.load_chunk(handle, chunk, 0, data, nbytes.value, None, None) == 0
    return data.raw


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chunks_are_decoded_and_encoded(api: Any, opened: Any, layout: str, tmp_path: Path) -> None:
    array, values = make(tmp_path, layout)
    handle = opened(tmp_path)
    chunk = (ctypes.c_int64 * 2)(0, 0)
    decoded, bound, written = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t()
    assert api.chunk_sizes(handle, chunk, ctypes.byref(decoded), ctypes.byref(bound), None) == 0
    data = load(api, handle, chunk)
    assert len(data) <= bound.value
    shape = array.shards or array.chunks
    elements = np.zeros(shape)
    assert elements.nbytes == decoded.value
    assert api.decode_chunk(handle, chunk, data, len(data), elements.ctypes.data, elements.nbytes, None) == 0
    here = tuple(slice(0, min(n, m)) for n, m in zip(shape, SHAPE, strict=True))
    np.testing.assert_array_equal(elements[here], values[here])
    for capacity in (bound.value, len(data)):
        again = ctypes.create_string_buffer(capacity)
        args = (handle, chunk, elements.ctypes.data, elements.nbytes, again, capacity, ctypes.byref(written))
        assert api.encode_chunk(*args, None) == 0
        assert again.raw[: written.value] == data


def test_a_small_buffer_is_told_the_size(api: Any, opened: Any, error_of: Any, tmp_path: Path) -> None:
    make(tmp_path, "plain")
    chunk, elements, written, error = (
        (ctypes.c_int64 * 2)(0, 0),
        np.zeros((5, 4)),
        ctypes.c_size_t(),
        error_of(),
    )
    out = ctypes.create_string_buffer(159)
    args = (opened(tmp_path), chunk, elements.ctypes.data, elements.nbytes, out, 159, ctypes.byref(written))
    assert api.encode_chunk(*args, error) == -5
    assert written.value == 160
    assert out.raw == bytes(159)


@pytest.mark.parametrize("layout", ["sharded", "sharded-transposed"])
def test_inner_chunks_are_found(api: Any, opened: Any, extent_of: Any, layout: str, tmp_path: Path) -> None:
    _, values = make(tmp_path, layout)
    handle = opened(tmp_path)
    shard = (ctypes.c_int64 * 2)(1, 0)
    data, extent, elements = load(api, handle, shard), extent_of(), np.zeros((3, 5))
    for row in range(4):
        for column in range(2):
            inner = (ctypes.c_int64 * 2)(row, column)
            status = api.find_inner_chunk(handle, shard, inner, ctypes.byref(extent), None)
            assert status == 0
            part = data[extent.offset : extent.offset + extent.nbytes]
            assert (
                api.decode_inner_chunk(handle, part, len(part), elements.ctypes.data, elements.nbytes, None)
                == 0
            )
            box = values[12 + 3 * row : 15 + 3 * row, 5 * column : 5 * column + 5]
            np.testing.assert_array_equal(elements[: len(box)], box)
    entries = (extent_of * 8)()
    assert api.shard_index(handle, shard, entries, 8, None) == 0
    assert sum(entry.nbytes for entry in entries) < len(data)
    assert api.shard_index(handle, shard, entries, 7, None) == -2
    assert api.find_inner_chunk(handle, shard, (ctypes.c_int64 * 2)(4, 0), ctypes.byref(extent), None) == -2


def test_what_is_missing_is_said_to_be(
    api: Any, opened: Any, error_of: Any, extent_of: Any, tmp_path: Path
) -> None:
    array = zarrcore.create_array(store=tmp_path, shape=SHAPE, dtype="f8", **SHARDED)
    array[0:3, 0:5] = 1
    handle, error, extent = opened(tmp_path), error_of(), extent_of()
    at = ctypes.byref(extent)
    assert (
        api.find_inner_chunk(handle, (ctypes.c_int64 * 2)(0, 0), (ctypes.c_int64 * 2)(1, 1), at, error) == -8
    )
    assert (extent.offset, extent.nbytes) == (2**64 - 1, 2**64 - 1)
    assert (
        api.find_inner_chunk(handle, (ctypes.c_int64 * 2)(1, 1), (ctypes.c_int64 * 2)(0, 0), at, error) == -8
    )
    assert api.load_chunk(handle, (ctypes.c_int64 * 2)(1, 1), 0, None, 0, None, error) == -8
    assert error.place == (1, 1)


# ---- faults ----


def test_faults_are_reported_with_their_place(api: Any, opened: Any, error_of: Any, tmp_path: Path) -> None:
    make(tmp_path, "blosc-crc")
    (tmp_path / "c/0/2").write_bytes(b"these bytes are no chunk")
    error, out = error_of(), np.zeros(SHAPE)
    assert api.region(opened(tmp_path), out, error=error) == -4
    assert error.place == (0, 2)
    assert (error.status, error.codec) == (-4, b"crc32c")
    assert error.key.endswith(b"c/0/2")
    assert b"checksum" in error.message
    assert api.region(opened(tmp_path), out[:, :3], error=error) == 0
    assert (error.status, error.message, error.key, error.place) == (0, b"", b"", None)


def test_decoding_rubbish(api: Any, opened: Any, error_of: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for layout in ("zstd", "blosc-crc", "sharded", "v2"):
        array, _ = make(tmp_path / layout, layout)
        handle, error = opened(tmp_path / layout), error_of()
        out, chunk = np.zeros(array.shards or array.chunks), (ctypes.c_int64 * 2)(0, 0)
        good = load(api, handle, chunk)
        for _ in range(50):
            bad = bytearray(good[: rng.integers(0, len(good) + 1)])
            bad[: len(bad) // 2] = rng.bytes(len(bad) // 2)
            status = api.decode_chunk(handle, chunk, bytes(bad), len(bad), out.ctypes.data, out.nbytes, error)
            assert status == error.status
            assert status == 0 or error.message


def test_null_is_survived(api: Any, opened: Any, error_of: Any, tmp_path: Path) -> None:
    make(tmp_path, "sharded")
    handle, error = opened(tmp_path), error_of()
    out, chunk = np.zeros(SHAPE), (ctypes.c_int64 * 2)(0, 0)
    api.release(None)
    api.retain(None)
    assert (api.typestr(None), api.path(None)) == (None, None)
    numbers = (api.ndim, api.itemsize, api.kind, api.byte_order)
    assert [query(None) for query in numbers] == [-2] * 4
    assert (api.is_sharded(None), api.is_writable(None)) == (0, 0)  # in an `if`, an error would be true
    for query in (api.shape, api.chunk_shape, api.inner_chunk_shape, api.grid_shape):
        assert (query(None, chunk), query(handle, None)) == (-2, -2)
    assert (api.fill_value(None, None, 0), api.fill_value(handle, None, 8)) == (-2, -2)
    assert (api.chunk_box(None, chunk, None, None), api.chunk_box(handle, None, None, None)) == (-2, -2)
    assert api.chunk_box(handle, chunk, None, None) == 0
    for record in (None, error):
        assert api.read(None, None, None, None, out.ctypes.data, None, 0, record) == -2
        assert api.read(handle, None, None, None, None, None, 0, record) == -2
        assert api.read(handle, None, None, None, out.ctypes.data, None, -1, record) == -2
        assert api.write(None, None, None, None, out.ctypes.data, None, 0, 0, record) == -2
        assert api.write(handle, None, None, None, None, None, 0, 0, record) == -2
        assert api.write(handle, None, None, None, out.ctypes.data, None, 0, 64, record) == -2
        assert api.chunk_sizes(handle, None, None, None, record) == -2
        assert api.chunk_sizes(handle, chunk, None, None, record) == 0
        assert api.load_chunk(handle, chunk, 0, None, 8, None, record) == -2
        assert api.load_chunk(None, chunk, 0, None, 0, None, record) == -2
        assert api.decode_chunk(handle, chunk, None, 8, None, 0, record) == -2
        assert api.decode_inner_chunk(None, None, 0, None, 0, record) == -2
        assert api.encode_chunk(handle, chunk, None, 0, None, 0, None, record) == -2
        assert api.shard_index(handle, chunk, None, 8, record) == -2
        assert api.find_inner_chunk(handle, chunk, None, None, record) == -2
    assert api.chunk_key(None, chunk, None, 0, None) == -2
    assert api.chunk_key(handle, chunk, None, 0, None) == -5
    assert b"NULL" in error.message


def test_an_error_record_of_another_size_is_left_alone(api: Any, error_of: Any) -> None:
    for size in (4, 700):
        error = error_of()
        error.struct_size, error.message = size, b"as it was"
        assert api.read(None, None, None, None, None, None, 0, error) == -2
        assert (error.status, error.message) == (0, b"as it was")
    error = error_of()
    error.struct_size = 2**32 - 1  # of a newer header
    assert api.read(None, None, None, None, None, None, 0, error) == -2
    assert error.message == b"array is NULL"


def test_an_error_record_of_zero_bytes_is_filled(api: Any, error_of: Any) -> None:
    error = error_of()
    error.struct_size = 0
    assert api.read(None, None, None, None, None, None, 0, error) == -2
    assert (error.status, error.message) == (-2, b"array is NULL")


def test_arrays_opened_for_reading(api: Any, opened: Any, error_of: Any, tmp_path: Path) -> None:
    _, values = make(tmp_path, "zstd")
    handle, error = opened(tmp_path, writable=False), error_of()
    assert api.region(handle, values * 2, write=True, error=error) == -2
    assert b"reading only" in error.message
    assert api.is_writable(handle) == 0
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path)[...], values)


def test_the_number_of_threads(api: Any) -> None:
    assert api.set_num_threads(-1) == -2
    assert api.set_num_threads(3) == 0
    assert api.get_num_threads() == 3
    assert api.set_num_threads(100_000) == api.set_num_threads(513) == -2
    assert api.get_num_threads() == 3
    assert api.set_num_threads(512) == 0
    assert api.set_num_threads(0) == 0
    assert api.get_num_threads() >= 1


def test_shutdown_ends_the_threads(api: Any, opened: Any, tmp_path: Path) -> None:
    _, values = make(tmp_path, "zstd")
    handle, out = opened(tmp_path), np.zeros(SHAPE)
    for _ in range(3):
        assert api.shutdown() == 0
        assert api.region(handle, out, threads=4) == 0
        np.testing.assert_array_equal(out, values)
    assert api.shutdown() == 0


def test_memory_is_checked(api: Any, opened: Any, error_of: Any, tmp_path: Path) -> None:
    _, values = make(tmp_path, "zstd")
    handle, error = opened(tmp_path), error_of()
    out = np.full((4, 5), -1.0)
    start, count = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(4, 3)

    def read(type_: bytes, ndim: int, nbytes: int, strides: Any = None) -> int:
        memory = out.ctypes.data
        return api.read_as(handle, type_, ndim, start, None, count, memory, nbytes, strides, 0, error)

    for wrong in (b"S8", b"M8[s]", b"V8", b"", b"8", b"<f80"):
        assert read(wrong, 2, out.nbytes) == -2
        assert b"data type <f8" in error.message
    assert read(b"f8", 3, out.nbytes) == -2
    assert b"2 dimensions, the region 3" in error.message
    assert read(b"f8", 2, 4 * 3 * 8 - 1) == -5
    assert b"96 bytes" in error.message
    rows = (ctypes.c_int64 * 2)(40, 8)
    assert read(b"f8", 2, 3 * 40 + 3 * 8 - 1, rows) == -5
    assert read(b"f8", 2, 2**63, (ctypes.c_int64 * 2)(2**62, 8)) in (-5, -10)
    assert (out == -1).all()
    for right in (b"f8", b"=f8", b"<f8"):
        out[...] = -1
        assert read(right, 2, 3 * 40 + 3 * 8, rows) == 0
        np.testing.assert_array_equal(out[:, :3], values[2:6, 3:6])
        assert (out[:, 3:] == -1).all()
    out[...] = 7
    arguments = (start, None, count, out.ctypes.data)
    assert api.write_as(handle, b"c16", 2, *arguments, 192, None, 0, 0, error) == -2
    assert api.write_as(handle, b"f4", 2, *arguments, 47, None, 0, 0, error) == -5
    assert api.write_as(handle, b"f8", 2, *arguments, 95, None, 0, 0, error) == -5
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path)[...], values)
    assert api.write_as(handle, b"f8", 2, *arguments, 96, None, 0, 0, error) == 0
    assert (zarrcore.open_array(tmp_path)[2:6, 3:6] == 7).all()


def test_names(api: Any) -> None:
    assert api.version().decode() == zarrcore.__version__
    assert api.status_name(0) == b"success"
    known = [*range(-15, 1), -17, -18, -19]
    assert len({api.status_name(n) for n in known} - {b"unknown status"}) == len(known)
    assert {api.status_name(n) for n in (1, -16, -20, 2**31 - 1, -(2**31))} == {b"unknown status"}
