# SPDX-License-Identifier: MIT
"""What the kernels take and return is what NumPy's functions would: gaps, scalars, where=, casting=, axes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from zarrcore import kernels

WIDE = np.arange(240, dtype="<i4").reshape(12, 20)
GAPS = {
    "every other": WIDE[0, ::2],
    "backwards": WIDE[0, ::-1],
    "transposed": WIDE.T,
    "box": WIDE[2:9, 3:7],
    "fortran": np.asfortranarray(WIDE),
    "memoryview": memoryview(bytes(range(200)))[::3],
    "no items": WIDE[:0, ::2],
}


# --- gaps between the bytes -----------------------------------------------------------------------


def c_order(data: object) -> bytes:
    return data.tobytes()  # type: ignore[attr-defined]


@pytest.mark.parametrize("gaps", GAPS)
def test_crc32c_takes_bytes_with_gaps(gaps):
    assert kernels.crc32c(GAPS[gaps], 7) == kernels.crc32c(c_order(GAPS[gaps]), 7)


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("codec", ["blosc", "gzip", "zlib", "zstd", "lz4"])
def test_codecs_take_bytes_with_gaps(codec, gaps):
    encode, decode = getattr(kernels, f"{codec}_encode"), getattr(kernels, f"{codec}_decode")
    raw = c_order(GAPS[gaps])
    packed = encode(GAPS[gaps])
    assert decode(packed, nbytes=len(raw)) == raw
    doubled = np.repeat(np.frombuffer(bytes(packed), "u1"), 2)[::2]
    assert decode(doubled, nbytes=len(raw)) == raw


def test_shuffle_bits_and_indexes_take_bytes_with_gaps():
    view = memoryview(bytes(range(48)))[::2]
    assert kernels.shuffle(view, 4).tolist() == kernels.shuffle(view.tobytes(), 4).tolist()
    assert kernels.unpack_bits(view, "u1", 48, last_bit=3).size == 48
    index = np.repeat(kernels.shard_index_pack([0, 8], [8, 2]), 2)[::2]
    assert kernels.shard_index_unpack(index, shard_nbytes=10)[1].tolist() == [8, 2]


# --- scalars, where= --------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [np.uint32(1), 5, np.float64(2), np.bool_(True)], ids=repr)
def test_byteswap_of_a_scalar_is_a_scalar(x):
    found, like_numpy = kernels.byteswap(x), np.negative(x) if x is not np.True_ else x
    assert isinstance(found, np.generic) and isinstance(like_numpy, np.generic)
    assert found == np.asarray(x).byteswap()[()]
    out = np.empty_like(np.asarray(x))
    assert kernels.byteswap(x, out=out) is out


def test_byteswap_of_one_text_is_an_array_since_it_is_no_text():
    assert kernels.byteswap(np.str_("ab")).tobytes() == np.array("ab").byteswap().tobytes()


def test_byteswap_of_a_record_is_a_record():
    record = np.array((1, 2), [("a", "<u2"), ("b", "u1")])[()]
    assert kernels.byteswap(record).tolist() == (256, 2) and isinstance(kernels.byteswap(record), np.void)


@pytest.mark.parametrize("n", [3, 5 << 20])
@pytest.mark.parametrize("swap", [kernels.byteswap, kernels.byteswap.ufunc], ids=["function", "ufunc"])
def test_where_without_out_warns(swap, n):
    x = np.arange(n, dtype="u8")
    with pytest.warns(UserWarning, match="'where' used without 'out'") as seen:
        swap(x, where=x > 1)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels.byteswap(x, out=None, where=x > 1)
        kernels.byteswap(x, out=x.copy(), where=x > 1)


# --- what ufuncs have -------------------------------------------------------------------------------

AROUND = ["byteswap", "crc32c", "equals_fill", "delta_encode", "delta_decode"]
AROUND += ["shuffle", "unshuffle", "bitshuffle", "bitunshuffle"]


@pytest.mark.parametrize("name", AROUND)
def test_functions_around_ufuncs_describe_themselves(name):
    function = getattr(kernels, name)
    for attribute in ("nin", "nout", "nargs", "signature", "identity"):
        assert getattr(function, attribute) == getattr(function.ufunc, attribute)
    assert function.ntypes == len(function.types) > 0
    units = {"M": "M8[s]", "m": "m8[s]", "S": "S1", "U": "U1", "V": "V1"}
    for spelled in function.types:
        inputs, output = spelled.split("->")
        given = [np.dtype(units.get(char, char)) for char in inputs]
        found = function.ufunc.resolve_dtypes((*given, None), casting="no")
        assert "".join(dtype.char for dtype in found) == inputs + output


def test_casting_and_dtype_are_those_of_numpy():
    x = np.array([1, 300, 5], "i2")
    assert kernels.delta_encode(x, dtype="i8", casting="safe").dtype == np.dtype("i8")
    assert kernels.delta_decode(x, dtype="f8", casting="safe").tolist() == [1.0, 301.0, 306.0]
    np.testing.assert_array_equal(kernels.byteswap(x, dtype="i4", casting="safe"), x.astype("i4").byteswap())
    np.testing.assert_array_equal(kernels.byteswap(x, casting="no", dtype="i2"), x.byteswap())
    out = np.empty(3, "i1")
    assert kernels.delta_encode(x, out=out, casting="unsafe") is out
    for refused in [
        lambda: kernels.delta_encode(x, dtype="i8"),
        lambda: kernels.byteswap(x, dtype="i4"),
        lambda: kernels.byteswap(x, dtype="i1", casting="safe"),
        lambda: kernels.delta_encode(x, out=np.empty(3, "i1"), casting="safe"),
    ]:
        with pytest.raises(TypeError, match="cast"):
            refused()


# --- signed and unsigned ----------------------------------------------------------------------------

LENGTHS = [1, 2, 3, 7, 2**31, 2**62, 2**63 - 1]


@pytest.mark.parametrize("length", [*LENGTHS, 2**63, 2**64 - 1])
def test_chunk_index_of_signed_by_unsigned(length):
    values = [0, 1, 2, 6, 7, 8, 2**63 - 1, -1, -2, -7, -8, -(2**63), -(2**63) + 1]
    chunk, offset = kernels.chunk_index(np.array(values, "i8"), np.uint64(length))
    assert (chunk.dtype, offset.dtype) == (np.dtype("i8"), np.dtype("u8"))
    assert list(zip(chunk.tolist(), offset.tolist(), strict=True)) == [divmod(v, length) for v in values]
    counts = kernels.chunk_count(np.array(values, "i8"), np.full(len(values), length, "u8"))
    assert counts.dtype == np.dtype("i8") and counts.tolist() == [-(-v // length) for v in values]


@pytest.mark.parametrize("length", LENGTHS)
def test_chunk_index_of_unsigned_by_signed(length):
    values = [0, 1, 6, 7, 8, 2**63 - 1, 2**63, 2**64 - 1]
    chunk, offset = kernels.chunk_index(np.array(values, "u8"), np.array([length]))
    assert (chunk.dtype, offset.dtype) == (np.dtype("u8"), np.dtype("i8"))
    assert list(zip(chunk.tolist(), offset.tolist(), strict=True)) == [divmod(v, length) for v in values]
    counts = kernels.chunk_count(np.array(values, "u8"), np.int64(length))
    assert counts.dtype == np.dtype("u8") and counts.tolist() == [-(-v // length) for v in values]


def test_chunk_lengths_of_the_other_kind_below_one():
    signed, unsigned = np.array([5, -5]), np.array([5, 0], "u8")
    with np.errstate(divide="raise"):
        for call, x, length in [
            (kernels.chunk_index, signed, np.uint64(0)),
            (kernels.chunk_count, signed, np.uint64(0)),
            (kernels.chunk_index, unsigned, np.array([0])),
            (kernels.chunk_count, unsigned, np.array([-3])),
        ]:
            with pytest.raises(FloatingPointError):
                call(x, length)
    with np.errstate(divide="ignore"):
        assert [part.tolist() for part in kernels.chunk_index(unsigned, np.array([-3]))] == [[0, 0], [0, 0]]


# --- axes, broadcasting -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["<u2", ">f8", "V3"])
def test_transpose_without_axes_and_with_negative_ones(dtype):
    x = np.frombuffer(bytes(range(240)), "u1")[: 24 * np.dtype(dtype).itemsize].view(dtype).reshape(2, 3, 4)
    for order in [None, (-1, 0, 1), (0, -1, -2), [-3, -2, -1]]:
        expected = np.transpose(x, order)
        found = kernels.transpose(x, order)
        assert found.shape == expected.shape and found.tobytes() == expected.tobytes()
    assert kernels.transpose(x).tobytes() == x.T.tobytes()
    for wrong in [(0, 1, -1, 2), (0, 1, -2), (0, 1, -4), (0, 0, 1)]:
        with pytest.raises(ValueError, match="^order: expected a permutation"):
            kernels.transpose(x, wrong)


def test_shard_index_pack_broadcasts():
    offsets = np.arange(6).reshape(2, 3) * 10
    expected = kernels.shard_index_pack(offsets, np.full((2, 3), 10))
    np.testing.assert_array_equal(kernels.shard_index_pack(offsets, 10), expected)
    np.testing.assert_array_equal(kernels.shard_index_pack(offsets, [10, 10, 10]), expected)
    by_rows = kernels.shard_index_pack([[1], [2]], [3, 4], byteorder="big").view(">u8").reshape(-1, 2)
    assert by_rows.tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]]
    with pytest.raises(ValueError, match="^nbytes: "):
        kernels.shard_index_pack([1, 2, 3], [1, 2])


# --- bit shuffle ------------------------------------------------------------------------------------


def bits_sorted(row: np.ndarray, itemsize: int) -> np.ndarray:
    """The definition, in NumPy."""
    items = row.reshape(-1, itemsize)
    whole = len(items) // 8 * 8
    bits = np.unpackbits(items[:whole], axis=1, bitorder="little")
    return np.concatenate([np.packbits(bits.T.reshape(-1), bitorder="little"), items[whole:].reshape(-1)])


@pytest.mark.parametrize("itemsize", [1, 2, 3, 4, 8, 16, 255])
@pytest.mark.parametrize("items", [0, 1, 7, 8, 9, 64, 1003])
def test_bitshuffle(itemsize, items):
    x = np.random.default_rng(items).integers(0, 256, (3, items * itemsize), "u1")
    mixed = kernels.bitshuffle(x, itemsize)
    for found, row in zip(mixed, x, strict=True):
        np.testing.assert_array_equal(found, bits_sorted(row, itemsize))
    np.testing.assert_array_equal(kernels.bitunshuffle(mixed, itemsize), x)
    spread = np.repeat(x, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(kernels.bitshuffle(spread, itemsize), mixed)
    here = x.copy()
    assert kernels.bitshuffle(here, itemsize, out=here) is here
    np.testing.assert_array_equal(here, mixed)


def test_bitshuffle_is_what_blosc_does():
    x = np.arange(64, dtype="<u4")
    stored = kernels.blosc_encode(x, clevel=0, shuffle="bitshuffle")
    packed = kernels.blosc_encode(x, clevel=9, shuffle="bitshuffle", cname="lz4")
    assert len(packed) < len(stored)
    np.testing.assert_array_equal(kernels.bitshuffle(x), bits_sorted(x.view("u1"), 4))


def test_bitshuffle_names_what_is_wrong():
    for itemsize, message in [(3, "divisor"), (0, "itemsize"), (256, "at most 255")]:
        with pytest.raises(ValueError, match=message):
            kernels.bitshuffle(np.zeros(2048, "u1"), itemsize)
