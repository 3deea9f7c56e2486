# SPDX-License-Identifier: MIT
"""The ufuncs behave as NumPy's own: casting, out=, where=, methods, subclasses, overlap."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore import kernels
from zarrcore._core import kernels as flat

UFUNCS = [
    kernels.bitshuffle.ufunc,
    kernels.bitunshuffle.ufunc,
    kernels.byteswap.ufunc,
    kernels.chunk_count,
    kernels.chunk_index,
    kernels.crc32c.ufunc,
    kernels.delta_decode.ufunc,
    kernels.delta_encode.ufunc,
    kernels.equals_fill.ufunc,
    kernels.equals_fill.ufunc_nan_equal,
    kernels.morton_decode,
    kernels.morton_encode,
    kernels.shuffle.ufunc,
    kernels.unshuffle.ufunc,
]
FIXED = "? i1 u1 <i2 >u2 <f2 >f4 <i8 >f8 <c8 >c16 l q M8[ms] >m8[D] <U3 >U1 S5 V7".split()


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_are_ufuncs_that_pickle(ufunc):
    assert isinstance(ufunc, np.ufunc) and ufunc.__doc__
    assert getattr(flat, ufunc.__name__) is ufunc
    assert pickle.loads(pickle.dumps(ufunc)) is ufunc


# --- byteswap -------------------------------------------------------------------------------------


def sample(dtype: str, n: int = 12) -> np.ndarray:
    if "U" in dtype:  # code points that exist
        return np.arange(300, 300 + n, dtype="u4").view("U1").astype(dtype)
    raw = np.random.default_rng(5).integers(0, 2 if dtype == "?" else 256, n * np.dtype(dtype).itemsize)
    return np.frombuffer(raw.astype("u1").tobytes(), dtype)


@pytest.mark.parametrize("dtype", FIXED)
def test_byteswap_keeps_the_type(dtype):
    x = sample(dtype)
    for view in (x, x[::2], x[::-3], x.reshape(3, 4).T, x[:0], x.reshape(2, 6)[:, 1:4]):
        found = kernels.byteswap.ufunc(view)
        assert found.dtype == x.dtype
        assert found.tobytes() == view.byteswap().tobytes()


@pytest.mark.parametrize("dtype", FIXED)
def test_byteswap_of_unaligned_memory(dtype):
    x = sample(dtype)
    raw = np.zeros(x.nbytes + 1, "u1")
    raw[1:] = np.frombuffer(x.tobytes(), "u1")
    view = np.ndarray(x.shape, x.dtype, buffer=raw, offset=1)
    assert kernels.byteswap(view).tobytes() == x.byteswap().tobytes()


def test_byteswap_where():
    x = np.arange(10, dtype=">u4")
    out = np.full(10, 7, ">u4")
    kernels.byteswap(x, out=out, where=x > 4)
    np.testing.assert_array_equal(out, np.where(x > 4, x.byteswap(), 7))
    struct = np.array([(1, 2), (3, 4)], [("a", "<u2"), ("b", "u1")])
    kept = struct.copy()
    kernels.byteswap(struct, out=kept, where=[True, False])
    assert kept.tolist() == [(256, 2), (3, 4)]


def test_byteswap_broadcasts_and_takes_tuples():
    x = np.arange(3, dtype="u2")
    out = np.empty((2, 3), "u2")
    assert kernels.byteswap(x, out=(out,)) is out
    assert (out == x.byteswap()).all()
    assert kernels.byteswap([1, 2]).tolist() == np.array([1, 2]).byteswap().tolist()


def test_byteswap_at():
    x = np.arange(5, dtype="u2")
    kernels.byteswap.ufunc.at(x, [1, 3])
    assert x.tolist() == [0, 256, 2, 768, 4]


@pytest.mark.parametrize(
    ("x", "out"),
    [("u4", "u2"), ("i1", "i4"), ("<u4", ">u4"), ("M8[s]", "M8[ms]"), ("U3", "U5"), ("S3", "V3")],
)
def test_byteswap_never_casts(x, out):
    with pytest.raises(TypeError):
        kernels.byteswap(np.zeros(3, x), out=np.zeros(3, out))
    with pytest.raises(TypeError):
        kernels.byteswap.ufunc(np.zeros(3, x), np.zeros(3, out), casting="no")


class Metres(np.ndarray):
    """A subclass that keeps its class."""


class Recorder:
    """Something that wants to be asked, as dask arrays do."""

    __array_priority__ = 1
    dtype = np.dtype("i4")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return ufunc, method, options.get("casting")


def test_subclasses_and_array_ufunc():
    x = np.arange(6, dtype="i4").view(Metres)
    assert type(kernels.byteswap(x)) is Metres
    assert type(kernels.delta_encode(x)) is Metres
    assert kernels.byteswap(Recorder()) == (kernels.byteswap.ufunc, "__call__", None)
    assert kernels.delta_decode(Recorder())[0] is kernels.delta_decode.ufunc
    assert kernels.chunk_index(Recorder(), 3)[0] is kernels.chunk_index
    masked = np.ma.array([1, 2], mask=[False, True])
    assert kernels.byteswap(masked).mask.tolist() == [False, True]


# --- chunk grids ----------------------------------------------------------------------------------

INT64 = st.integers(-(2**63), 2**63 - 1)
LENGTHS = st.one_of(st.integers(1, 20), st.integers(1, 2**63 - 1), st.integers(0, 62).map(lambda k: 2**k))


@settings(max_examples=200, deadline=None)
@given(st.lists(INT64, max_size=20), LENGTHS)
def test_chunk_index(values, length):
    x = np.array(values, "i8")
    chunk, offset = kernels.chunk_index(x, length)
    assert [int(v) for v in chunk] == [v // length for v in values]
    assert [int(v) for v in offset] == [v % length for v in values]
    counts = kernels.chunk_count(x, length)
    assert [int(v) for v in counts] == [-(-v // length) for v in values]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.one_of(LENGTHS, st.integers(1, 2**64 - 1)))
def test_chunk_index_unsigned(values, length):
    x = np.array(values, "u8")
    chunk, offset = kernels.chunk_index(x, np.uint64(length))
    assert chunk.dtype == offset.dtype == np.uint64
    found = [(int(c), int(o)) for c, o in zip(chunk, offset, strict=True)]
    assert found == [divmod(v, length) for v in values]
    assert [int(v) for v in kernels.chunk_count(x, np.uint64(length))] == [-(-v // length) for v in values]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 1000, 1024, 2**40 + 1, 2**63 - 1])
def test_chunk_index_edges(length):
    x = np.array([-(2**63), -(2**63) + 1, -length, -1, 0, 1, length - 1, length, 2**63 - 1], "i8")
    np.testing.assert_array_equal(kernels.chunk_index(x, length), np.divmod(x, length))
    assert [int(v) for v in kernels.chunk_count(x, length)] == [-(-int(v) // length) for v in x]
    each = np.full(x.size, length)
    np.testing.assert_array_equal(kernels.chunk_index(x, each), np.divmod(x, length))
    counts = kernels.chunk_count(x, length)
    np.testing.assert_array_equal(kernels.chunk_count(x[::-2], each[::-2]), counts[::-2])


def test_chunk_index_by_dimension():
    points = np.array([[5, 17], [12, 3]])
    chunk, offset = kernels.chunk_index(points, (10, 4))
    assert chunk.tolist() == [[0, 4], [1, 0]] and offset.tolist() == [[5, 1], [2, 3]]


def test_chunk_index_in_place_and_small_types():
    x = np.arange(100, dtype="i8")
    expected = np.divmod(x, 7)
    kernels.chunk_index(x, 7, x, np.empty_like(x))
    np.testing.assert_array_equal(x, expected[0])
    assert kernels.chunk_index(np.int16(20), np.int8(7))[0].dtype == np.int64
    assert kernels.chunk_index(np.arange(5, dtype=">i8"), 2)[0].tolist() == [0, 0, 1, 1, 2]
    assert kernels.chunk_count(np.zeros((0, 3), int), 5).shape == (0, 3)
    with pytest.raises(TypeError):
        kernels.chunk_index(1.5, 2)


@pytest.mark.parametrize("length", [0, -3, [0], [4, 0]])
def test_chunk_length_below_one(length):
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        kernels.chunk_index([5, 6], length)
    with np.errstate(divide="ignore"):
        assert kernels.chunk_index(5, 0) == (0, 0)
        assert kernels.chunk_count(5, -1) == 0


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_chunk_grid_raises_no_floating_point_exception(dtype):
    """The bits of 2047 * 2**52 are those of an infinite float; with one more they are a signalling NaN."""
    exponents = np.arange(2044, 2049, dtype="u8") << np.uint64(52)
    x = (exponents[:, None] + np.arange(8, dtype="u8")).reshape(-1).view(dtype)
    with np.errstate(all="raise"):
        for length in (2, 7, 1000, 2**50, 2**51):
            expected = [divmod(int(item), length) for item in x]
            chunk, offset = kernels.chunk_index(x, np.array(length, dtype))
            assert list(zip(chunk.tolist(), offset.tolist(), strict=True)) == expected
            count = kernels.chunk_count(x, np.array(length, dtype))
            assert count.tolist() == [number + (rest > 0) for number, rest in expected]


# --- Morton codes ---------------------------------------------------------------------------------


def morton_decode(code: int, shape: tuple[int, ...]) -> list[int]:
    """One bit of each dimension in turn, as long as it has bits left."""
    bits = [(n - 1).bit_length() for n in shape]
    out = [0] * len(shape)
    for level in range(max(bits, default=0)):
        for d, most in enumerate(bits):
            if level < most:
                out[d] |= (code & 1) << level
                code >>= 1
    return out


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6).map(tuple), st.data())
def test_morton(shape, data):
    bits = sum((n - 1).bit_length() for n in shape)
    codes = np.array(data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=20)), "i8")
    positions = kernels.morton_decode(codes, shape)
    assert positions.tolist() == [morton_decode(int(code), shape) for code in codes]
    inside = (positions < shape).all(axis=1)
    assert kernels.morton_encode(positions[inside], shape).tolist() == codes[inside].tolist()


def test_morton_whole_grids():
    for shape in [(4, 4, 4), (5, 3), (1, 7, 1), (300,), (2**31, 2**31), (1,), (2**62,), (1, 1)]:
        bits = sum((n - 1).bit_length() for n in shape)
        codes = np.arange(min(1000, 2**bits))
        found = kernels.morton_decode(codes, shape)
        assert found.tolist() == [morton_decode(int(code), shape) for code in codes]
        last = np.array(shape) - 1
        assert kernels.morton_decode(kernels.morton_encode(last, shape), shape).tolist() == last.tolist()


def test_morton_types_and_broadcasting():
    assert kernels.morton_encode(np.array([1, 2], "u1"), np.array([4, 4], "u2")).dtype == np.uint64
    assert kernels.morton_encode(np.array([1, 2], "i1"), (4, 4)).dtype == np.int64
    grids = np.array([[4, 4], [2, 8]])
    assert kernels.morton_encode([1, 1], grids).tolist() == [3, 3]
    assert kernels.morton_decode(np.arange(8)[:, None], grids).shape == (8, 2, 2)
    positions = np.zeros((5, 2), ">i4")
    assert kernels.morton_encode(positions, (4, 4)).tolist() == [0] * 5
    out = np.empty((4, 2), "i8", order="F")
    kernels.morton_decode(np.arange(4), (2, 2), out=out)
    assert out.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert kernels.morton_encode(np.zeros((0, 2), int), (4, 4)).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels.morton_encode([4, 0], (4, 4)), "position 4 lies outside"),
        (lambda: kernels.morton_encode([3, 0], (3, 4)), "position 3 lies outside"),
        (lambda: kernels.morton_encode([-1, 0], (4, 4)), "position -1 lies outside"),
        (lambda: kernels.morton_encode([0, 0], (4, 0)), "lengths of 1 or more, got 0"),
        (lambda: kernels.morton_encode([0, 0], (2**32, 2**32)), "64 bits"),
        (lambda: kernels.morton_encode([0] * 65, [1] * 65), "at most 64 dimensions"),
        (lambda: kernels.morton_decode(16, (4, 4)), "code 16 has more"),
        (lambda: kernels.morton_decode(-1, (4, 4)), "code -1 has more"),
    ],
)
def test_morton_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_morton_refuses_floats():
    with pytest.raises(TypeError):
        kernels.morton_encode([0.5, 0.5], (4, 4))


# --- blocks ---------------------------------------------------------------------------------------

package = pytest.importorskip("crc32c")


@pytest.mark.parametrize("dtype", FIXED)
def test_crc32c_blocks(dtype):
    x = sample(dtype, 60).reshape(5, 12)
    for blocks in (x, x[:, ::2], x[::-1, ::-1], x.T, x[:, :0], x[:0]):
        expected = [package.crc32c(block.tobytes()) for block in blocks]
        assert kernels.crc32c(blocks, axis=1).tolist() == expected
        assert kernels.crc32c.ufunc(blocks, 0).tolist() == expected
    assert kernels.crc32c(x, axis=0).tolist() == [package.crc32c(row.tobytes()) for row in x.T]


def test_crc32c_blocks_continue():
    x = sample("u1", 40).reshape(2, 20)
    first = kernels.crc32c(x[:, :7], axis=-1)
    out = np.zeros(2, np.uint32)
    assert kernels.crc32c(x[:, 7:], first, axis=-1, out=out) is out
    assert out.tolist() == kernels.crc32c(x, axis=-1).tolist()
    assert kernels.crc32c(np.zeros((2, 3000), "V3")[:, ::2], axis=1).size == 2
    big = np.zeros((2, 3), "V5000")
    assert kernels.crc32c(big[:, ::2], axis=1).tolist() == [package.crc32c(bytes(10000))] * 2


def test_crc32c_refuses():
    with pytest.raises(ValueError, match="value"):
        kernels.crc32c(np.zeros(3, "u1"), -1, axis=0)
    with pytest.raises(TypeError, match="value"):
        kernels.crc32c(np.zeros(3, "u1"), 1.5, axis=0)
    with pytest.raises(TypeError, match="value"):
        kernels.crc32c(b"abc", 1.5)
    with pytest.raises(TypeError, match="data: .*references"):
        kernels.crc32c(np.zeros(3, object), axis=0)
    with pytest.raises(TypeError):
        kernels.crc32c.ufunc(np.zeros(3, np.dtypes.StringDType()), 0)
    with pytest.raises(ValueError, match="out"):
        kernels.crc32c(b"abc", out=np.zeros(1, "u4"))


@pytest.mark.parametrize("dtype", FIXED)
def test_equals_fill_blocks(dtype):
    x = np.repeat(sample(dtype, 1), 60).reshape(5, 12)
    fill = x[0, 0]
    x[1, 4:5] = np.zeros(1, dtype) if fill != np.zeros(1, dtype)[0] else sample("?", 1)
    x[3, 11:] = x[1, 4]
    for blocks in (x, x[:, ::2], x[::-1], x.T, x[:, :0], x[:0]):
        expected = [block.tobytes() == np.full(block.shape, fill, dtype).tobytes() for block in blocks]
        assert kernels.equals_fill(blocks, fill, axis=1).tolist() == expected


@pytest.mark.parametrize("dtype", ["f2", "<f4", ">f8", "c8", ">c16"])
def test_equals_fill_blocks_nan_equal(dtype):
    x = np.full((3, 10), np.nan, dtype)
    x[1, 3] = 0
    for blocks in (x, x[:, 1::2]):
        assert kernels.equals_fill(blocks, np.nan, nan_equal=True, axis=1).tolist() == [True, False, True]
    zeros = np.array([[0.0, -0.0]], dtype)
    assert kernels.equals_fill(zeros, 0.0, nan_equal=True, axis=1).all()
    assert not kernels.equals_fill(zeros, 0.0, axis=1).any()


def test_equals_fill_out():
    out = np.zeros(2, bool)
    assert kernels.equals_fill(np.ones((2, 3)), 1, axis=1, out=out) is out and out.all()
    with pytest.raises(ValueError, match="out"):
        kernels.equals_fill(np.ones(2), 1, out=out)
    with pytest.raises(TypeError):
        kernels.equals_fill.ufunc(np.ones(3, "u4"), np.int16(1))


# --- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_threads_give_the_same(threads):
    x = np.random.default_rng(1).integers(0, 256, (1300, 4096), dtype="u1")
    words = x.view("<u4")
    expected = words.byteswap()
    np.testing.assert_array_equal(kernels.byteswap(words, threads=threads), expected)
    np.testing.assert_array_equal(kernels.transpose(words, (1, 0), threads=threads), words.T)
    np.testing.assert_array_equal(
        kernels.crc32c(words, axis=1, threads=threads), [package.crc32c(row.tobytes()) for row in x]
    )
    encoded = kernels.delta_encode(words, threads=threads)
    np.testing.assert_array_equal(kernels.delta_decode(encoded, threads=threads), words)
    mixed = kernels.shuffle(words, threads=threads)
    np.testing.assert_array_equal(kernels.unshuffle(mixed, 4, threads=threads), x)
    filled = np.zeros((1300, 1024), "<f4")
    kernels.fill(filled[:, 1:], np.nan, threads=threads)
    for nan_equal in (False, True):
        assert kernels.equals_fill(filled[:, 1:], np.nan, nan_equal=nan_equal, threads=threads)
        assert not kernels.equals_fill(filled, np.nan, nan_equal=nan_equal, threads=threads)
        filled[1299, 5] = 0
        assert not kernels.equals_fill(filled[:, 1:], np.nan, nan_equal=nan_equal, threads=threads)
        rows = kernels.equals_fill(filled[:, 1:], np.nan, nan_equal=nan_equal, axis=1, threads=threads)
        assert rows.tolist() == [True] * 1299 + [False]
        filled[1299, 5] = np.nan
    copy = words.copy()
    kernels.byteswap(copy, out=copy, threads=threads)
    np.testing.assert_array_equal(copy, expected)
    overlapping = words.reshape(-1).copy()
    kernels.byteswap(overlapping[:-1], out=overlapping[1:], threads=threads)
    np.testing.assert_array_equal(overlapping[1:], expected.reshape(-1)[:-1])


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_refused(threads):
    for n in (10, 3_000_000):
        with pytest.raises(ValueError, match="threads"):
            kernels.byteswap(np.zeros(n, "u4"), threads=threads)
        with pytest.raises(ValueError, match="threads"):
            kernels.fill(np.zeros(n, "u4"), 1, threads=threads)
        with pytest.raises(ValueError, match="threads"):
            kernels.equals_fill(np.zeros(n, "u4"), 1, threads=threads)


def test_call_parallel():
    from zarrcore._core import engine

    seen: list[int] = []
    engine.call_parallel(seen.append, 50, 3)
    assert sorted(seen) == list(range(50))

    def fail(i: int) -> None:
        raise KeyError(i)

    with pytest.raises(KeyError):
        engine.call_parallel(fail, 5)
    engine.call_parallel(fail, 0)
