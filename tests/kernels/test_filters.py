# SPDX-License-Identifier: MIT
"""Delta, shuffle and bits against a few lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore import kernels

NUMBERS = [f"{order}{kind}" for kind in ("i1", "u2", "i4", "u8", "i8", "f4", "f8") for order in "<>"]
SIZES = [0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 65, 100, 257, 1000]


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    native = np.dtype(dtype).newbyteorder("=")
    return rng.integers(info.min, info.max, shape, dtype=native, endpoint=True).astype(dtype)


def delta(x: np.ndarray) -> np.ndarray:
    native = x.astype(x.dtype.newbyteorder("="))
    out = native.copy()
    with np.errstate(over="ignore"):
        out[..., 1:] = native[..., 1:] - native[..., :-1]
    return out


def running(x: np.ndarray) -> np.ndarray:
    native = x.dtype.newbyteorder("=")
    return np.cumsum(x.astype(native), axis=-1, dtype=native)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", SIZES)
def test_delta(dtype, n):
    x = numbers(dtype, (3, n))
    x.flags.writeable = False
    for view in (x, x[1], x[:, ::2], x[::-1, ::-1], x[..., 1:], x[:0]):
        encoded = kernels.delta_encode(view)
        assert encoded.dtype.isnative
        assert encoded.tobytes() == delta(view).tobytes()
        assert kernels.delta_decode(view).tobytes() == running(view).tobytes()
        if x.dtype.kind != "f":
            np.testing.assert_array_equal(kernels.delta_decode(encoded), view)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_delta_of_unaligned_memory_in_place_and_along_axes(dtype):
    x = numbers(dtype, (4, 50))
    raw = np.zeros(x.nbytes + 1, "u1")
    view = np.ndarray(x.shape, x.dtype, buffer=raw, offset=1)
    view[:] = x
    assert kernels.delta_encode(view).tobytes() == delta(x).tobytes()
    np.testing.assert_array_equal(kernels.delta_encode(x, axis=0), delta(x.T).T)
    native = x.astype(x.dtype.newbyteorder("="))
    expected = delta(native)
    assert kernels.delta_encode(native, out=native) is native
    np.testing.assert_array_equal(native, expected)
    flat = expected.reshape(-1).copy()
    shifted = running(flat[:-1])
    kernels.delta_decode(flat[:-1], out=flat[1:])
    np.testing.assert_array_equal(flat[1:], shifted)
    swapped = np.empty(x.shape, x.dtype.newbyteorder("S"))
    kernels.delta_encode(x, out=swapped)
    np.testing.assert_array_equal(swapped, delta(x))


def test_delta_keeps_negative_zero():
    x = np.array([-0.0, -0.0])
    assert np.signbit(kernels.delta_decode(x)).all()


@pytest.mark.parametrize("dtype", ["f2", "c8", "?", "U3", "M8[s]", "O"])
def test_delta_refuses_types(dtype):
    with pytest.raises(TypeError):
        kernels.delta_encode(np.zeros(3, dtype))


def test_delta_refuses_out():
    with pytest.raises(TypeError):
        kernels.delta_encode(np.zeros(3, "i4"), out=np.zeros(3, "i8"))
    with pytest.raises(ValueError):
        kernels.delta_encode(np.zeros(3, "i4"), out=np.zeros(4, "i4"))


# --- shuffle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 100])
@pytest.mark.parametrize("n", SIZES)
def test_shuffle(size, n):
    x = np.random.default_rng(n).integers(0, 256, n * size, dtype="u1")
    x.flags.writeable = False
    mixed = kernels.shuffle(x, size)
    assert mixed.tobytes() == x.reshape(n, size).T.tobytes()
    assert kernels.unshuffle(mixed, size).tobytes() == x.tobytes()
    guarded = np.full(n * size + 64, 9, "u1")
    kernels.unshuffle(mixed, size, out=guarded[32 : 32 + n * size])
    assert (guarded[:32] == 9).all() and (guarded[32 + n * size :] == 9).all()
    kernels.shuffle(x, size, out=guarded[32 : 32 + n * size])
    assert (guarded[:32] == 9).all() and (guarded[32 + n * size :] == 9).all()


@pytest.mark.parametrize("dtype", ["<u2", ">f8", "c16", "U3", "M8[s]", "V5", [("a", "u1"), ("b", "<f4")]])
def test_shuffle_of_items(dtype):
    x = np.random.default_rng(1).integers(0, 256, 40 * np.dtype(dtype).itemsize, "u1").view(dtype)
    size = x.itemsize
    assert kernels.shuffle(x).tobytes() == x.view("u1").reshape(-1, size).T.tobytes()
    rows = x.reshape(4, 10)
    expected = [row.view("u1").reshape(-1, size).T.tobytes() for row in rows]
    assert [row.tobytes() for row in kernels.shuffle(rows)] == expected
    assert kernels.shuffle(rows.T).shape == (10, 4 * size)


def test_shuffle_of_buffers_strides_and_overlap():
    x = np.arange(64, dtype="u1")
    expected = x.reshape(16, 4).T.tobytes()
    for buf in (x, x.tobytes(), bytearray(x), memoryview(x.tobytes())):
        assert kernels.shuffle(buf, 4).tobytes() == expected
    wide = np.zeros(128, "u1")
    wide[::2] = x
    assert kernels.shuffle(wide[::2], 4).tobytes() == expected
    out = np.zeros(128, "u1")
    kernels.shuffle(x, 4, out=out[::2])
    assert out[::2].tobytes() == expected
    assert kernels.unshuffle(out[::2], 4).tobytes() == x.tobytes()
    for size in (2, 4, 7, 16):
        large = np.random.default_rng(size).integers(0, 256, (3, 7 * 160), dtype="u1")
        kept = large.copy()
        kernels.shuffle(large, size, out=large)
        np.testing.assert_array_equal(large, kernels.shuffle(kept, size))
        kernels.unshuffle(large, size, out=large)
        np.testing.assert_array_equal(large, kept)
    assert kernels.shuffle(b"", 4).size == 0
    assert kernels.shuffle(np.zeros((2, 0), "f4")).shape == (2, 0)


def test_shuffle_refuses():
    x = np.zeros(12, "u1")
    for size in (0, -4, 5, 24):
        with pytest.raises(ValueError, match="itemsize"):
            kernels.shuffle(x, size)
    with pytest.raises(TypeError):
        kernels.shuffle(x, 1.5)
    with pytest.raises(TypeError):
        kernels.shuffle(x, 4, out=np.zeros(12, "i1"))
    with pytest.raises(ValueError):
        kernels.shuffle(x, 4, out=np.zeros(11, "u1"))
    with pytest.raises(TypeError, match="references"):
        kernels.shuffle(np.zeros(3, object))
    with pytest.raises(TypeError, match="bytes-like"):
        kernels.unshuffle("text", 2)


# --- bits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bitorder", ["little", "big"])
@pytest.mark.parametrize("n", [*range(40), 63, 64, 65, 1000])
def test_flags(bitorder, n):
    x = np.random.default_rng(n).integers(0, 2, n).astype(bool)
    packed = kernels.pack_bits(x, bitorder=bitorder)
    assert packed.tobytes() == np.packbits(x, bitorder=bitorder).tobytes()
    found = kernels.unpack_bits(packed, bool, n, bitorder=bitorder)
    assert found.dtype == bool and found.tobytes() == x.tobytes()


def test_any_byte_but_zero_is_set():
    x = np.arange(256, dtype="u1").view(bool)
    assert kernels.pack_bits(x).tobytes() == np.packbits(x.view("u1") != 0, bitorder="little").tobytes()
    assert kernels.pack_bits(x[1:9]).tolist() == [255]


def bits_of(x: np.ndarray, first: int, last: int) -> np.ndarray:
    little = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).reshape(-1, 1)
    return np.unpackbits(little.view("u1"), axis=1, bitorder="little")[:, first : last + 1]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["u1", "i1", "<i2", ">u2", "<u4", ">i4", "<i8", ">u8"]), st.integers(0, 70), st.data())
def test_pack_bits(dtype, n, data):
    x = numbers(dtype, (n,), seed=n)
    bits = 8 * x.itemsize
    first = data.draw(st.integers(0, bits - 1))
    last = data.draw(st.integers(first, bits - 1))
    packed = kernels.pack_bits(x, first_bit=first, last_bit=last)
    expected = np.packbits(bits_of(x, first, last).reshape(-1), bitorder="little") if n else np.zeros(0, "u1")
    assert packed.tobytes() == expected.tobytes()
    found = kernels.unpack_bits(packed, dtype, n, first_bit=first, last_bit=last)
    kept = ((1 << (last - first + 1)) - 1) << first
    values = [int(v) & kept for v in x]
    if x.dtype.kind == "i":
        values = [v - (1 << (last + 1)) if v >> last & 1 else v for v in values]
    assert [int(v) for v in found] == values


def test_bits_out_and_buffers():
    x = np.arange(10, dtype=">u2").reshape(2, 5)
    out = np.zeros(5, "u1")
    assert kernels.pack_bits(x[:, ::-1], out=out, last_bit=3) is out
    back = np.zeros(10, "u2")
    for buf in (out, out.tobytes(), memoryview(out)):
        assert kernels.unpack_bits(buf, "u2", 10, out=back, last_bit=3) is back
        assert back.tolist() == [4, 3, 2, 1, 0, 9, 8, 7, 6, 5]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: kernels.pack_bits(np.zeros(3)), TypeError, "x: expected booleans or integers"),
        (lambda: kernels.pack_bits(np.zeros(3, "u1"), first_bit=8), ValueError, "first_bit"),
        (lambda: kernels.pack_bits(np.zeros(3, "u1"), first_bit=3, last_bit=2), ValueError, "first_bit"),
        (lambda: kernels.pack_bits(np.zeros(3, bool), last_bit=1), ValueError, "last_bit"),
        (lambda: kernels.pack_bits(np.zeros(3, "u1"), bitorder="big"), ValueError, "bitorder"),
        (lambda: kernels.pack_bits(np.zeros(3, bool), bitorder="up"), ValueError, "bitorder"),
        (lambda: kernels.pack_bits(np.zeros(3, bool), out=np.zeros(2, "u1")), ValueError, "out"),
        (lambda: kernels.pack_bits(np.zeros(3, bool), out=np.zeros(1, "i1")), TypeError, "out"),
        (lambda: kernels.pack_bits(np.zeros(9, bool), out=np.zeros(4, "u1")[::2]), ValueError, "contiguous"),
        (lambda: kernels.unpack_bits(b"ab", bool, 17), ValueError, "buf: expected 3 bytes"),
        (lambda: kernels.unpack_bits(b"ab", bool, 8), ValueError, "buf: expected 1 bytes"),
        (lambda: kernels.unpack_bits(b"", bool, -1), ValueError, "count"),
        (lambda: kernels.unpack_bits("ab", bool, 8), TypeError, "buf"),
        (lambda: kernels.unpack_bits(b"ab", "u1", "2"), TypeError, "count: expected an integer"),
        (lambda: kernels.pack_bits(np.zeros(3, "u1"), first_bit="0"), TypeError, "first_bit: expected"),
        (lambda: kernels.pack_bits(np.zeros(3, "u1"), last_bit=2.0), TypeError, "last_bit: expected"),
        (lambda: kernels.unpack_bits(b"a", "f4", 8), TypeError, "dtype: expected booleans or integers"),
        (lambda: kernels.unpack_bits(b"a", bool, 8, out=bytearray(8)), TypeError, "out"),
    ],
)
def test_bits_refuse(call, error, message):
    with pytest.raises(error, match=message):
        call()
