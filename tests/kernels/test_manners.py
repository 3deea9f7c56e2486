# SPDX-License-Identifier: MIT
"""What callers get wrong is named; items that overlap in part, extended precision, arrays like dask's."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore import kernels

X = np.arange(12, dtype="<u4").reshape(3, 4)
RECORDS = np.zeros(3, [("a", "<u2"), ("b", "<u4")])


def locked(x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


# --- arguments are named --------------------------------------------------------------------------

WITH_OUT = {
    "byteswap": (lambda **o: kernels.byteswap(X, **o), X),
    "byteswap_where": (lambda **o: kernels.byteswap(X, where=X > 3, **o), X),
    "byteswap_records": (lambda **o: kernels.byteswap(RECORDS, **o), RECORDS),
    "crc32c": (lambda **o: kernels.crc32c(X, axis=1, **o), np.zeros(3, "u4")),
    "crc32c_first_axis": (lambda **o: kernels.crc32c(X, axis=0, **o), np.zeros(4, "u4")),
    "delta_encode": (lambda **o: kernels.delta_encode(X, **o), X),
    "delta_decode_row": (lambda **o: kernels.delta_decode(X[0], **o), X[0]),
    "equals_fill": (lambda **o: kernels.equals_fill(X, 0, axis=1, **o), np.zeros(3, bool)),
    "shuffle": (lambda **o: kernels.shuffle(X, **o), np.zeros((3, 16), "u1")),
    "unshuffle": (lambda **o: kernels.unshuffle(X.view("u1"), 4, **o), np.zeros((3, 16), "u1")),
    "transpose": (lambda **o: kernels.transpose(X, (1, 0), **o), X.T.copy()),
    "pack_bits": (lambda **o: kernels.pack_bits(X, **o), np.zeros(48, "u1")),
}


@pytest.mark.parametrize("name", list(WITH_OUT))
def test_out_is_named(name):
    call, right = WITH_OUT[name]
    assert call(out=right.copy()) is not None
    for wrong, error in [
        (np.zeros(right.shape, "f2"), TypeError),
        (np.zeros(right.shape, np.dtypes.StringDType()), TypeError),
        ([0] * 12, TypeError),
        (np.zeros((*right.shape[:-1], 5), right.dtype), ValueError),
        (np.zeros((), right.dtype), ValueError),
        (locked(right), ValueError),
    ]:
        with pytest.raises(error, match="^out: "):
            call(out=wrong)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: kernels.byteswap(X, out=(X, X)), ValueError, "out: expected one array, got 2"),
        (lambda: kernels.byteswap(X, where=[True, False]), ValueError, "where: .* shape \\(2,\\)"),
        (lambda: kernels.copy_region(*[np.zeros(2, "T")] * 2), TypeError, "dst: .* references"),
        (lambda: kernels.copy_region(X, np.zeros(2, object)), TypeError, "src: .* references"),
        (lambda: kernels.copy_region(np.zeros(2, "<g"), np.zeros(2, ">g")), TypeError, "src: .* words of"),
        (lambda: kernels.delta_encode(np.zeros(3, "f2")), TypeError, "x: .* got float16"),
        (lambda: kernels.delta_encode(5), ValueError, "x: .* got a scalar"),
        (lambda: kernels.delta_encode(X, axis=2), ValueError, "axis: expected -2 to 1, got 2"),
        (lambda: kernels.delta_encode(X, axis=1.0), TypeError, "axis: "),
        (lambda: kernels.crc32c(X, axis=-3), ValueError, "axis: "),
        (lambda: kernels.crc32c(np.uint32(5), axis=0), ValueError, "data: .* got a scalar"),
        (lambda: kernels.equals_fill(X, 0, axis="a"), TypeError, "axis: "),
        (lambda: kernels.equals_fill(np.zeros(3, "g"), 0), TypeError, "x: .* words of"),
        (lambda: kernels.equals_fill(np.zeros((3, 2), "G"), 0, axis=1), TypeError, "x: .* words of"),
        (lambda: kernels.shuffle(b"abcd", -1), ValueError, "itemsize: .* got -1"),
        (lambda: kernels.unpack_bits(b"a", "nonsense", 3), TypeError, "dtype: .*nonsense"),
        (lambda: kernels.unpack_bits(b"a", "T", 3), TypeError, "dtype: expected booleans"),
        (lambda: kernels.fill(np.zeros(2, "M8[s]"), "soon"), ValueError, "value: .*'soon'"),
        (lambda: kernels.fill(RECORDS.copy(), (1,)), ValueError, "value: .*length 1"),
        (lambda: kernels.shard_index_pack([1.5, 2], [3, 4]), TypeError, "offsets: .* got 1.5"),
        (
            lambda: kernels.shard_index_pack([1, 2], [3, 2**64]),
            ValueError,
            "nbytes: .* got 18446744073709551616",
        ),
    ],
)
def test_others_are_named(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


@pytest.mark.parametrize("threads", [0, -5, "2", 1.0])
def test_threads_are_named_even_if_one_is_enough(threads):
    error = TypeError if isinstance(threads, str | float) else ValueError
    x = np.zeros(3, ">u2")
    for call in [
        lambda: kernels.byteswap(RECORDS, threads=threads),
        lambda: kernels.byteswap(x, where=True, threads=threads),
        lambda: kernels.transpose(np.array(5), (), threads=threads),
        lambda: kernels.copy_region(np.zeros(()), np.zeros(()), threads=threads),
        lambda: kernels.fill(np.zeros(()), 1, threads=threads),
        lambda: kernels.equals_fill(np.float64(1), 1, threads=threads),
        lambda: kernels.delta_encode(x, threads=threads),
        lambda: kernels.shuffle(x, 2, threads=threads),
        lambda: kernels.crc32c(x, axis=0, threads=threads),
        lambda: kernels.pack_bits(x, threads=threads),
        lambda: kernels.unpack_bits(b"a", bool, 5, threads=threads),
    ]:
        with pytest.raises(error, match="^threads: "):
            call()


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "u8"])
@pytest.mark.parametrize("n", [3_000_000, 3_000_005])
def test_bits_by_threads(dtype, n):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, n).astype(dtype)
    kept = {"bitorder": "big"} if dtype == "?" else {"first_bit": 1, "last_bit": 7}
    alone = kernels.pack_bits(x, threads=1, **kept)
    shared = kernels.pack_bits(x, threads=3, **kept)
    np.testing.assert_array_equal(shared, alone)
    expected = x if dtype == "?" else x & 254
    for threads in (1, 4, None):
        np.testing.assert_array_equal(
            kernels.unpack_bits(shared, dtype, n, threads=threads, **kept), expected
        )


def test_more_threads_than_an_int_counts():
    x = np.zeros(1 << 22, "u2")
    assert kernels.byteswap(x, threads=10**20).size == x.size


@pytest.mark.parametrize("name", ["blosc", "gzip", "zlib", "zstd", "lz4"])
def test_encoded_bytes_are_named(name):
    encode, decode = getattr(kernels, f"{name}_encode"), getattr(kernels, f"{name}_decode")
    packed = encode(X)
    for data, nbytes in [(packed[:-3], 48), (packed, 40), (packed, 56), (b"", 48), (b"\xff" * 40, 48)]:
        for room in ({"nbytes": nbytes}, {"out": bytearray(nbytes)}):
            with pytest.raises(ValueError, match=f"^codec '{name}': data: "):
                decode(data, **room)


# --- overlap --------------------------------------------------------------------------------------

WIDE = ["V5", "S3", "<U3", ">U2", "<c8", ">c16", "V9", "g", [("a", ">u2"), ("b", "<u4")]]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_items_that_overlap_in_part(data):
    """NumPy lets a loop read and write such items in turn: each has to be read before it is written."""
    dtype = np.dtype(data.draw(st.sampled_from(WIDE)))
    grain = 4 if dtype.kind == "U" else 1
    n = data.draw(st.integers(1, 6))

    def place() -> tuple[int, int]:
        stride = (dtype.itemsize + data.draw(st.integers(0, 4)) * grain) * data.draw(st.sampled_from([1, -1]))
        first = data.draw(st.integers(0, 24)) * grain
        return first - min(stride * (n - 1), 0), stride

    # Each four bytes are a character, so that every item is a string that exists.
    memory = np.arange(300, 400, dtype=dtype.byteorder.replace("|", "<") + "u4" if grain == 4 else "u4")
    memory, expected = memory.view("u1").copy(), memory.view("u1").copy()
    (start, stride), (to, step) = place(), place()
    x = np.ndarray((n,), dtype, memory, start, (stride,))
    swapped = x.copy().byteswap()
    np.ndarray((n,), dtype, expected, to, (step,))[...] = swapped
    kernels.byteswap(x, out=np.ndarray((n,), dtype, memory, to, (step,)))
    if dtype.fields is None:
        np.testing.assert_array_equal(memory, expected)
    else:
        assert np.ndarray((n,), dtype, memory, to, (step,)).tolist() == swapped.tolist()


# --- extended precision ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["<g", ">g", "<G", ">G"])
def test_extended_precision(dtype):
    x = np.zeros((3, 4), dtype)
    raw = np.random.default_rng(0).integers(0, 256, x.nbytes, "u1")
    x.reshape(-1).view("u1")[...] = raw
    for view in (x, x[::-1, ::2], x.T, x[:1, 0].reshape(())):
        swapped = kernels.byteswap(view)
        assert swapped.dtype == x.dtype and swapped.tobytes() == view.byteswap().tobytes()
    assert kernels.transpose(x, (1, 0)).tobytes() == x.T.tobytes()
    copy = np.zeros_like(x)
    kernels.copy_region(copy, x)
    assert copy.tobytes() == x.tobytes()
    rows = [kernels.crc32c(np.ascontiguousarray(row)) for row in x]
    assert kernels.crc32c(x, axis=1).tolist() == rows
    kernels.byteswap(copy, out=copy)
    assert copy.tobytes() == x.byteswap().tobytes()


# --- arrays that are asked ------------------------------------------------------------------------


class Asked:
    """Knows no option but those that arrays of dask know."""

    dtype = np.dtype("<u2")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, where=True):
        return ufunc, out, where


class Lazy(Asked):
    dtype = np.dtype("<u4")


def test_byteswap_asks_with_known_options_only():
    ufunc, out = kernels.byteswap.ufunc, Asked()
    assert kernels.byteswap(Asked()) == (ufunc, None, True)
    assert kernels.byteswap(Asked(), out=out, where=False) == (ufunc, (out,), False)
    with pytest.raises(TypeError, match="^out: expected data type uint16, got uint32"):
        kernels.byteswap(Asked(), out=Lazy())


def test_shuffle_of_what_cannot_be_viewed_as_bytes():
    with pytest.raises(TypeError, match="^x: expected items of type uint8 in a Lazy, got uint32"):
        kernels.shuffle(Lazy(), 4)


def test_dask():
    array = pytest.importorskip("dask.array")
    x = array.from_array(X, chunks=(2, 4))
    np.testing.assert_array_equal(kernels.byteswap(x).compute(), X.byteswap())
    np.testing.assert_array_equal(kernels.delta_decode(kernels.delta_encode(x)).compute(), X)
    np.testing.assert_array_equal(kernels.crc32c(x, axis=1).compute(), kernels.crc32c(X, axis=1))
    np.testing.assert_array_equal(kernels.chunk_count(x, 5).compute(), -(-X.astype(int) // 5))
    columns = (5, 6, 7, 8)
    np.testing.assert_array_equal(kernels.chunk_count(x, columns).compute(), -(-X.astype(int) // columns))


def test_dask_finds_out_types_by_itself():
    """It calls functions with zeros, one for each array, and passes everything else as it is."""
    array = pytest.importorskip("dask.array")
    x, raw = array.from_array(X, chunks=(2, 4)), X.view("u1")
    octets = array.from_array(raw, chunks=(2, 16))
    mixed = kernels.shuffle(X)
    for call in (kernels.shuffle, kernels.shuffle.ufunc):
        np.testing.assert_array_equal(call(octets, 4).compute(), mixed)
        np.testing.assert_array_equal(array.map_blocks(call, octets, 4).compute(), mixed)
        np.testing.assert_array_equal(array.apply_gufunc(call, "(n),()->(n)", octets, 4).compute(), mixed)
    np.testing.assert_array_equal(array.map_blocks(kernels.shuffle, x, chunks=(2, 16)).compute(), mixed)
    back = kernels.unshuffle(array.from_array(mixed, chunks=(1, 16)), 4)
    np.testing.assert_array_equal(back.compute(), raw)

    grid = np.array([4, 6, 5])
    points = np.array([[k % 4, k % 6, k % 5] for k in range(20)])
    codes = kernels.morton_encode(points, grid)
    lazy, lazy_codes = array.from_array(points, chunks=(7, 3)), array.from_array(codes, chunks=6)
    for shape in (grid, tuple(grid), array.from_array(grid)):
        np.testing.assert_array_equal(kernels.morton_encode(lazy, shape).compute(), codes)
        np.testing.assert_array_equal(kernels.morton_decode(lazy_codes, shape).compute(), points)
    applied = array.apply_gufunc(kernels.morton_encode, "(d),(d)->()", lazy, grid)
    np.testing.assert_array_equal(applied.compute(), codes)
    mapped = array.map_blocks(kernels.morton_encode, lazy, grid, drop_axis=1)
    np.testing.assert_array_equal(mapped.compute(), codes)
    applied = array.apply_gufunc(kernels.morton_decode, "(),(d)->(d)", lazy_codes, grid)
    np.testing.assert_array_equal(applied.compute(), points)

    both = array.apply_gufunc(kernels.chunk_index, "(),()->(),()", lazy, 3)
    for found, expected in zip(both, kernels.chunk_index(points, 3), strict=True):
        np.testing.assert_array_equal(found.compute(), expected)


def test_zeros_that_tools_try_functions_with():
    assert kernels.shuffle(np.zeros((1, 1), "u1"), 4).tolist() == [[0]]
    assert kernels.unshuffle(b"x", 8).tolist() == [ord("x")]
    assert kernels.morton_encode(np.zeros((1, 2), int), np.zeros(2, int)).tolist() == [0]
    assert kernels.morton_decode(np.zeros(1, int), np.zeros(2, int)).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="position 1 lies outside"):
        kernels.morton_encode([0, 1], (0, 0))
    with pytest.raises(ValueError, match="got 0"):
        kernels.morton_encode([0, 0], (4, 0))


# --- values that fit ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("f4", 1e300),
        ("f2", 1e6),
        ("f2", np.float64(-1e6)),
        ("c8", 1e300j),
        ("M8[s]", np.datetime64("2020-01-01T00:00:00.5")),
        ("M8[s]", "2020-01-01T00:00:00.5"),
        ("M8[D]", datetime.datetime(2020, 1, 1, 12)),
        ("M8[ns]", np.datetime64("9999-01-01")),
        ("m8[h]", np.timedelta64(90, "m")),
        ("m8[s]", datetime.timedelta(microseconds=1)),
    ],
)
def test_values_are_not_rounded_to_others(dtype, value):
    x = np.zeros(3, dtype)
    with pytest.raises(ValueError, match="^value: .* does not fit"):
        kernels.fill(x, value)
    with pytest.raises(ValueError, match="^fill: .* does not fit"):
        kernels.equals_fill(x, value)
    assert not x.view("u1").any()


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("f2", np.inf, np.inf),
        ("f4", 0.1, np.float32(0.1)),
        ("M8[ms]", "2020-01-01T00:00:00.5", np.datetime64("2020-01-01T00:00:00.500")),
        ("M8[s]", datetime.datetime(2020, 1, 1, 12), np.datetime64("2020-01-01T12:00:00")),
        (">M8[D]", datetime.date(2020, 1, 1), np.datetime64("2020-01-01")),
        ("m8[s]", datetime.timedelta(days=1), np.timedelta64(86400, "s")),
        ("m8[m]", np.timedelta64(2, "h"), np.timedelta64(120, "m")),
    ],
)
def test_values_that_fit(dtype, value, expected):
    x = np.zeros(3, dtype)
    kernels.fill(x, value)
    assert x.tolist() == np.full(3, expected, dtype).tolist()
    assert kernels.equals_fill(x, value)


def test_not_a_time():
    for value in ("NaT", "nat", np.datetime64("NaT", "s")):
        x = np.zeros(3, "M8[ms]")
        kernels.fill(x, value)
        assert np.isnat(x).all() and kernels.equals_fill(x, value)


def test_shard_index_of_a_list_with_gaps():
    """Which NumPy takes for floats."""
    packed = kernels.shard_index_pack([0, kernels.SHARD_EMPTY, 7], [7, kernels.SHARD_EMPTY, 1])
    offsets, nbytes = kernels.shard_index_unpack(packed, shard_nbytes=8)
    assert offsets.tolist() == [0, 2**64 - 1, 7] and nbytes.tolist() == [7, 2**64 - 1, 1]
