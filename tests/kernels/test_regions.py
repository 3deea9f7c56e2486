# SPDX-License-Identifier: MIT
"""Region copy, byte swap and transposition against NumPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore import kernels

STRUCT = np.dtype([("a", "<i4"), ("b", ">f8", (2, 2)), ("c", "S3"), ("d", [("e", ">u2"), ("f", "<c8")])])
NUMBERS = ["?", "i1", "<u2", ">u2", "<f2", "<i4", ">f4", "<i8", ">f8", "<c8", ">c8", "<c16", ">c16"]
BYTES = ["S3", "V1", "V7", "V16", "V40", "V64", "V100", "V300"]
TYPES = [*NUMBERS, "<M8[s]", ">m8[D]", "<U1", ">U5", *BYTES, STRUCT]


def bits(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def random_bytes(shape: tuple[int, ...], dtype: np.dtype, seed: int = 0) -> np.ndarray:
    n = int(np.prod(shape, dtype=int)) * dtype.itemsize
    raw = np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)
    return np.frombuffer(raw.tobytes(), dtype=dtype).reshape(shape)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype, *, writeable: bool) -> np.ndarray:
    """An array of that shape, with any order of axes, steps, directions and alignment."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    memory_shape = [shape[axis] * abs(steps[axis]) for axis in order]
    shift = draw(st.integers(0, 3))
    n = int(np.prod(memory_shape, dtype=int)) * dtype.itemsize
    raw = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 256, n + shift, dtype=np.uint8)
    # np.ndarray: unlike view() it accepts any alignment and size
    base = np.ndarray(memory_shape, dtype=dtype, buffer=raw.data, offset=shift)
    view = base.transpose(np.argsort(order))[(..., *(slice(None, None, step) for step in steps))]
    if not writeable and draw(st.booleans()):
        once = [draw(st.integers(0, 4)) == 0 and n > 0 for n in shape]
        view = np.broadcast_to(view[(..., *(slice(0, 1) if one else slice(None) for one in once))], shape)
    return view


shapes = (
    st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 17, 33]), max_size=4)
    .map(tuple)
    .filter(lambda shape: np.prod(shape, dtype=int) <= 6000)
)


@settings(max_examples=300, deadline=None)
@given(st.data(), shapes, st.sampled_from(TYPES))
def test_copy_region(data, shape, type_):
    dtype = np.dtype(type_)
    src = data.draw(views(shape, dtype, writeable=False))
    dst = data.draw(views(shape, dtype, writeable=True))
    expected = bits(src)
    kernels.copy_region(dst, src)
    assert bits(dst) == expected


@settings(max_examples=200, deadline=None)
@given(st.data(), shapes, st.sampled_from([t for t in TYPES if t is not STRUCT]))
def test_copy_region_to_other_byte_order(data, shape, type_):
    dtype = np.dtype(type_)
    src = data.draw(views(shape, dtype, writeable=False))
    dst = data.draw(views(shape, dtype.newbyteorder("S"), writeable=True))
    words = np.frombuffer(bits(src), dtype=src.dtype)
    kernels.copy_region(dst, src)
    assert bits(dst) == words.byteswap().tobytes()


@settings(max_examples=200, deadline=None)
@given(st.data(), shapes, st.sampled_from(TYPES))
def test_byteswap(data, shape, type_):
    src = data.draw(views(shape, np.dtype(type_), writeable=False))
    out = data.draw(views(shape, np.dtype(type_), writeable=True))
    expected = np.frombuffer(bits(src), dtype=src.dtype).byteswap().tobytes()
    new = kernels.byteswap(src)
    assert new.dtype == src.dtype and new.shape == shape and bits(new) == expected
    assert kernels.byteswap(src, out=out) is out
    assert bits(out) == expected


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::2], np.s_[::-1], np.s_[1:, ::3]])
def test_byteswap_in_place(type_, view):
    array = random_bytes((9, 14), np.dtype(type_)).copy()
    part = array[view]
    expected = array.copy()
    expected[view] = np.ascontiguousarray(part).byteswap()
    assert kernels.byteswap(part, out=part) is part
    assert bits(array) == bits(expected)


def test_byteswap_of_overlapping_memory():
    array = np.arange(100, dtype="<u4")
    expected = array[:-1].byteswap()
    kernels.byteswap(array[:-1], out=array[1:])
    np.testing.assert_array_equal(array[1:], expected)


def test_byteswap_registered_types():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    raw = np.arange(40, dtype="u2")
    assert bits(kernels.byteswap(raw.view(ml_dtypes.bfloat16))) == raw.byteswap().tobytes()
    small = np.arange(40, dtype="u1").view(ml_dtypes.float8_e4m3fn)
    assert bits(kernels.byteswap(small)) == bits(small)


def test_struct_fields_of_mixed_order():
    src = random_bytes((50,), STRUCT)
    native = np.dtype([("a", "=i4"), ("b", "=f8", (2, 2)), ("c", "S3"), ("d", [("e", "=u2"), ("f", "=c8")])])
    dst = np.zeros(50, dtype=native)
    kernels.copy_region(dst, src)
    little = sys.byteorder == "little"
    for got, raw, stored_little in [
        (dst["a"], src["a"], True),
        (dst["b"], src["b"], False),
        (dst["d"]["e"], src["d"]["e"], False),
        (dst["d"]["f"], src["d"]["f"], True),
    ]:
        assert bits(got) == bits(raw if stored_little == little else np.ascontiguousarray(raw).byteswap())
    assert bits(dst["c"]) == bits(src["c"])


def test_overlap_is_as_if_copied_first():
    array = np.arange(1000, dtype="i4")
    kernels.copy_region(array[1:], array[:-1])
    np.testing.assert_array_equal(array, np.concatenate([[0], np.arange(999)]))
    square = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    expected = square.T.copy()
    kernels.copy_region(square, square.T)
    np.testing.assert_array_equal(square, expected)


EDGES = [1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100]


@pytest.mark.parametrize("type_", ["u1", "<u2", ">u2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c16", "V3", "U3"])
def test_transpose_planes(type_):
    dtype = np.dtype(type_)
    for rows in EDGES:
        for columns in EDGES:
            x = random_bytes((rows, columns), dtype)
            out = np.empty((columns, rows), dtype=dtype.newbyteorder("S"))
            assert bits(kernels.transpose(x, (1, 0))) == bits(x.T)
            kernels.transpose(x, (1, 0), out=out)
            assert bits(out.byteswap()) == bits(x.T)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(TYPES))
def test_transpose_orders(data, type_):
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 8, 17]), min_size=1, max_size=5)))
    x = random_bytes(shape, np.dtype(type_))
    order = data.draw(st.permutations(range(len(shape))))
    result = kernels.transpose(x, order)
    assert result.flags.c_contiguous
    assert result.shape == x.transpose(order).shape
    assert bits(result) == bits(x.transpose(order))


def test_many_dimensions():
    x = random_bytes((2,) * 12 + (1,) * 20, np.dtype("u2"))
    order = tuple(range(31, -1, -1))
    assert bits(kernels.transpose(x, order)) == bits(x.transpose(order))


# --- refusals -------------------------------------------------------------------------------------


def read_only() -> np.ndarray:
    array = np.zeros(4)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("dst", "src", "error", "message"),
    [
        (np.zeros(4), np.zeros(5), ValueError, "shape"),
        (np.zeros(4), np.zeros((4, 1)), ValueError, "shape"),
        (np.zeros(4), np.zeros(4, "f4"), TypeError, "float64.*float32"),
        (np.zeros(4, "i4"), np.zeros(4, "u4"), TypeError, "int32"),
        (read_only(), np.zeros(4), ValueError, "read-only"),
        ([0, 0], np.zeros(2), TypeError, "dst: expected an ndarray"),
        (np.zeros(2), [0, 0], TypeError, "src: expected an ndarray"),
        (np.zeros(2, object), np.zeros(2, object), TypeError, "references"),
        (np.zeros(2, "g"), np.zeros(2, np.dtype("g").newbyteorder("S")), TypeError, "words of 16 bytes"),
    ],
)
def test_copy_region_refuses(dst, src, error, message):
    with pytest.raises(error, match=message):
        kernels.copy_region(dst, src)


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros(3, "u2"), ValueError, "shape"),
        (np.zeros(4, ">u2"), TypeError, "data type"),
        (np.zeros(4, "i2"), TypeError, "data type"),
        ([0] * 4, TypeError, "ndarray"),
    ],
)
def test_byteswap_refuses_out(out, error, message):
    with pytest.raises(error, match=message):
        kernels.byteswap(np.zeros(4, "<u2"), out=out)


@pytest.mark.parametrize("x", [np.array([None]), np.array(["a"], dtype=np.dtypes.StringDType())])
def test_byteswap_refuses_references(x):
    with pytest.raises(TypeError, match="^x: .*references"):
        kernels.byteswap(x)


@pytest.mark.parametrize("order", [(0,), (0, 0), (1, 2), (0, -2), (0, -3), (0, 1, 2), ()])
def test_transpose_refuses_order(order):
    with pytest.raises(ValueError, match="permutation"):
        kernels.transpose(np.zeros((2, 3)), order)


def test_transpose_refuses():
    for order in [(0.0, 1.0), "10", 5]:
        with pytest.raises(TypeError, match="order: expected"):
            kernels.transpose(np.zeros((2, 3)), order)
    with pytest.raises(TypeError, match="x: items"):
        kernels.transpose(np.array([[None]]), (1, 0))
    with pytest.raises(ValueError, match="out: the array is read-only"):
        kernels.transpose(np.zeros((1, 4)), (1, 0), out=read_only().reshape(4, 1))
    with pytest.raises(ValueError, match="out: expected shape"):
        kernels.transpose(np.zeros((2, 3)), (1, 0), out=np.zeros((2, 3)))
    with pytest.raises(TypeError, match="out: expected data type float64"):
        kernels.transpose(np.zeros((2, 3)), (1, 0), out=np.zeros((3, 2), "f4"))
    with pytest.raises(TypeError, match="ndarray"):
        kernels.transpose(np.zeros((2, 3)), (1, 0), out=[[0] * 2] * 3)
