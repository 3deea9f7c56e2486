# SPDX-License-Identifier: MIT
"""Filling and comparing with a fill value against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore import kernels

STRUCT = np.dtype([("a", ">i4"), ("b", "<f8")])
FIELDS = np.dtype([("a", "S3"), ("b", "u1", (2,)), ("c", [("d", ">f4")], (1,))])
VALUES = [
    ("?", True),
    ("i1", -3),
    ("<u2", 7),
    (">u2", 258),
    ("<f2", 1.5),
    (">f4", float("nan")),
    ("<f8", -0.0),
    (">i8", -(2**63)),
    ("<u8", 2**64 - 1),
    ("<c8", 1 - 2j),
    (">c16", complex("nan+1j")),
    ("<U3", "ab"),
    ("S5", b"xyz"),
    ("V3", b"abc"),
    ("V100", bytes(range(100))),
    ("V3000", bytes(3000)),
    ("<M8[s]", np.datetime64("2020-01-01", "s")),
    (">m8[ms]", np.timedelta64("NaT", "ms")),
    (STRUCT, (5, 2.5)),
    (FIELDS, (b"ab", (7, 8), [(1.5,)])),
    (FIELDS, (b"", 7, (1.5,))),
]
VIEWS = [np.s_[:], np.s_[::2, ::-1], np.s_[..., 3], np.s_[3:3], np.s_[::-2, 1:, ::2], np.s_[0, 0, 0:1]]


def bits(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize(("type_", "value"), VALUES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_fill(type_, value, view, order):
    dtype = np.dtype(type_)
    array = np.zeros((5, 6, 7), dtype=dtype, order=order)
    expected = array.copy(order="K")
    expected[view] = np.array(value, dtype=dtype)
    kernels.fill(array[view], value)
    assert bits(array) == bits(expected)
    assert kernels.equals_fill(array[view], value)


@pytest.mark.parametrize(("type_", "value"), VALUES)
@pytest.mark.parametrize("view", VIEWS)
def test_one_bit_makes_the_difference(type_, value, view):
    dtype = np.dtype(type_)
    array = np.zeros((5, 6, 7), dtype=dtype)
    kernels.fill(array, value)
    part = array[view]
    rng = np.random.default_rng(1)
    for _ in range(min(part.size, 5)):
        at = tuple(rng.integers(0, n) for n in part.shape)
        item = part[at : at + 1] if isinstance(at, int) else part[tuple(slice(i, i + 1) for i in at)]
        keep = item.copy()
        changed = bytearray(bits(item))
        changed[rng.integers(len(changed))] ^= 1
        item[...] = np.frombuffer(bytes(changed), dtype=dtype).reshape(item.shape)
        if bits(item) == bytes(changed):  # NumPy drops what lies between fields
            assert not kernels.equals_fill(part, value)
        item[...] = keep
    assert kernels.equals_fill(part, value)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 70), st.integers(0, 2000), st.data())
def test_raw_items_of_every_size(size, n, data):
    item = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8).tobytes()
    value = np.frombuffer(item, dtype=f"V{size}")[0]
    shift = data.draw(st.integers(0, 3))
    raw = np.zeros(n * size + shift, dtype=np.uint8)
    array = raw[shift:].view(f"V{size}")
    kernels.fill(array, value)
    assert raw[shift:].tobytes() == item * n
    assert kernels.equals_fill(array, value)
    if n:
        raw[shift + data.draw(st.integers(0, n * size - 1))] ^= 0x40
        assert not kernels.equals_fill(array, value)


def test_gaps_between_fields_are_zero():
    dtype = np.dtype([("a", "u1"), ("b", "i4"), ("c", "S2")], align=True)
    array = np.full(5 * dtype.itemsize, 0xAA, "u1").view(dtype)
    kernels.fill(array, (1, 2, b"x"))
    assert array.tobytes() == bytes([1, 0, 0, 0, 2, 0, 0, 0, ord("x"), 0, 0, 0]) * 5
    assert kernels.equals_fill(array, (1, 2, b"x"))


def test_nan_payloads_stay():
    payload = np.array([0x7FA00001], dtype="u4").view("f4")[0]
    array = np.zeros(100, dtype="f4")
    kernels.fill(array, payload)
    assert set(array.view("u4")) == {0x7FA00001}
    assert kernels.equals_fill(array, payload)
    assert not kernels.equals_fill(array, np.float32("nan"))
    assert kernels.equals_fill(array, np.float32("nan"), nan_equal=True)


FLOATS = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("fill", [0.0, -0.0, 1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("n", [0, 1, 7, 255, 256, 257, 5000])
def test_floats_by_value(type_, fill, n):
    array = np.full(2 * n, fill, dtype=type_)
    if fill == 0:
        array[::3] = -0.0
    for x in (array, array[::2], array[::-1], array.reshape(2, n).T):
        assert kernels.equals_fill(x, fill, nan_equal=True)
    for other in (0.0, 2.0, float("nan"), -float("inf")):
        if n and not np.array_equal(np.array(other), np.array(fill), equal_nan=True):
            changed = array.copy()
            changed[n] = other
            assert not kernels.equals_fill(changed, fill, nan_equal=True)
            assert not kernels.equals_fill(changed.reshape(2, n).T, fill, nan_equal=True)


@pytest.mark.parametrize("type_", ["<c8", ">c16"])
def test_complex_by_value(type_):
    array = np.full((30, 40), complex("nan+0j"), dtype=type_)
    array.imag[::2] = -0.0
    assert kernels.equals_fill(array, complex("nan+0j"), nan_equal=True)
    assert kernels.equals_fill(array.T[::3], complex("nan+0j"), nan_equal=True)
    assert not kernels.equals_fill(array, complex("nan+0j"))
    array.imag[29, 39] = 1
    assert not kernels.equals_fill(array, complex("nan+0j"), nan_equal=True)


def test_every_float16():
    every = np.arange(65536, dtype="u2").view("f2")
    for fill in (0.0, 1.0, np.inf, np.nan):
        with np.errstate(invalid="ignore"):
            expected = np.isnan(every) if np.isnan(fill) else every == np.float16(fill)
        found = [kernels.equals_fill(every[i : i + 1], fill, nan_equal=True) for i in range(0, 65536, 13)]
        assert found == expected[::13].tolist()


@pytest.mark.parametrize("type_", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(
    "fill", [np.nan, 0.0, 1.5, complex(np.nan, 1), complex(np.nan, np.nan), complex(-0.0, 2)]
)
def test_one_other_number_anywhere(type_, fill):
    if type_[0] == "f" and isinstance(fill, complex):
        fill = fill.imag
    value = np.array(fill, type_)[()]
    floats = f"f{value.dtype.itemsize // (1 + (type_[0] == 'c'))}"
    others = np.array([0.0, -0.0, 1.5, 2, np.inf, -np.inf, np.nan, -np.nan], floats)
    for n in (1, 2, 3, 9, 40, 150):
        array = np.full(n, value)
        parts, wanted = array.view(floats), np.tile(np.array([value]).view(floats), n)
        assert kernels.equals_fill(array, value, nan_equal=True)
        for at in range(parts.size):
            for other in others:
                parts[at] = other
                equal = other == wanted[at] or (np.isnan(other) and np.isnan(wanted[at]))
                assert kernels.equals_fill(array, value, nan_equal=True) == equal
            parts[at] = wanted[at]


def test_broadcast_input():
    assert kernels.equals_fill(np.broadcast_to(np.float32(3), (1 << 40, 1 << 20)), 3)
    assert not kernels.equals_fill(np.broadcast_to(np.array([3, 3, 4], "i2"), (1 << 30, 3)), 3)


@pytest.mark.parametrize(
    ("type_", "value", "error"),
    [
        ("u1", 256, ValueError),
        ("u1", -1, ValueError),
        ("i4", 1.0, TypeError),
        ("i4", "1", TypeError),
        ("i4", None, TypeError),
        ("?", 1, TypeError),
        ("f4", 1j, TypeError),
        ("f4", "1.5", TypeError),
        ("f4", [1.0], ValueError),
        ("i4", np.zeros(3, "i4"), ValueError),
        ("U2", "abc", ValueError),
        ("U2", b"ab", TypeError),
        ("S2", b"abc", ValueError),
        ("V2", b"abc", ValueError),
        ("V2", 5, TypeError),
        ("M8[s]", 1.5, TypeError),
        ("V8", None, TypeError),
        ("f4", 2**200, ValueError),
        ("f8", 10**400, ValueError),
        (STRUCT, 1, TypeError),
        (STRUCT, (1,), ValueError),
        (STRUCT, (1.5, 2.5), TypeError),
        (STRUCT, (2**31, 2.5), ValueError),
        (STRUCT, np.array((1.5, 2.5), "f8,f8")[()], TypeError),
        (FIELDS, (b"abcd", [1, 2], ((1.0,),)), ValueError),
        (FIELDS, (b"abc", [1, 256], ((1.0,),)), ValueError),
        (FIELDS, (b"abc", [1, 2, 3], ((1.0,),)), ValueError),
        (FIELDS, (b"abc", [1, 2], ((1e39,),)), ValueError),
        ("O", None, TypeError),
    ],
)
def test_refuses_other_values(type_, value, error):
    array = np.zeros(3, dtype=type_)
    with pytest.raises(error, match="^out: items" if type_ == "O" else r"^value[:\[]"):
        kernels.fill(array, value)
    for axis in (None, 0):
        with pytest.raises(error, match="^x: items" if type_ == "O" else r"^fill[:\[]"):
            kernels.equals_fill(array, value, axis=axis)


def test_fill_refuses_targets():
    with pytest.raises(TypeError, match="ndarray"):
        kernels.fill([1, 2], 3)
    with pytest.raises(ValueError, match="read-only"):
        kernels.fill(np.broadcast_to(np.zeros(1), (3,)), 1)


ML_VALUES = [
    (
        "bfloat16",
        [1, 0.1, -2.5, np.inf, np.nan, True, np.float32(3)],
        [1e39, -(10**50), 1j, "1", None, [1.0]],
    ),
    ("float8_e4m3fn", [448, np.nan, 0.1], [1e6, np.inf]),
    ("float8_e5m2", [1.5, np.inf, np.nan], [1e6, 2**100]),
    ("float4_e2m1fn", [6, -0.5], [100, np.nan, np.inf]),
    ("int4", [7, -8, 3.0], [8, -9, 1.5, np.nan]),
    ("uint4", [15], [-1, 16]),
]


@pytest.mark.parametrize(("name", "good", "bad"), ML_VALUES)
def test_types_that_other_packages_added(name, good, bad):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    for value in good:
        array = np.zeros((3, 4), dtype)
        kernels.fill(array, value)
        assert array.tobytes() == np.array(value, dtype).tobytes() * 12
        kernels.fill(array[::2, ::-3], np.array(value, dtype)[()])
        assert kernels.equals_fill(array, value) and kernels.equals_fill(array.T, value, nan_equal=True)
        array[1, 2] = 0
        for nan_equal in (False, True):
            assert not kernels.equals_fill(array, value, nan_equal=nan_equal)
            rows = kernels.equals_fill(array, value, nan_equal=nan_equal, axis=1)
            assert rows.tolist() == [True, False, True]
    for value in bad:
        with pytest.raises((ValueError, TypeError), match="^value: "):
            kernels.fill(np.zeros(3, dtype), value)


def test_floats_that_other_packages_added_by_value():
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    array = np.array([[0x7FC0, 0xFFC1, 0x7F81], [0x8000, 0, 0x8000]], "u2").view(dtype)
    assert kernels.equals_fill(array[0], np.nan, nan_equal=True)
    assert kernels.equals_fill(array[1], 0, nan_equal=True) and not kernels.equals_fill(array[1], 0)
    assert kernels.equals_fill(array, 0, nan_equal=True, axis=-1).tolist() == [False, True]
    assert kernels.crc32c(array, axis=1).tolist() == [kernels.crc32c(row) for row in array]
