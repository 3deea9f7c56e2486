# SPDX-License-Identifier: MIT
"""Options and methods that every ufunc has, on those of zarrcore; what has no meaning NumPy refuses."""

from __future__ import annotations

import numpy as np
import pytest

from zarrcore import kernels

BYTES = np.arange(24, dtype="u1")
FIELDS = np.arange(12, dtype="<u4").reshape(3, 4)
BLOCKS = {
    "crc32c": (kernels.crc32c.ufunc, (FIELDS, np.uint32(0))),
    "delta_encode": (kernels.delta_encode.ufunc, (FIELDS,)),
    "delta_decode": (kernels.delta_decode.ufunc, (FIELDS,)),
    "equals_fill": (kernels.equals_fill.ufunc, (FIELDS, np.uint32(1))),
    "equals_fill_nan": (kernels.equals_fill.ufunc_nan_equal, (FIELDS.astype("f4"), np.float32(1))),
    "shuffle": (kernels.shuffle.ufunc, (BYTES.reshape(2, 12), np.intp(4))),
    "unshuffle": (kernels.unshuffle.ufunc, (BYTES.reshape(2, 12), np.intp(4))),
    "morton_encode": (kernels.morton_encode, (np.array([[0, 1], [3, 2]]), np.array([4, 4]))),
    "morton_decode": (kernels.morton_decode, (np.array([1, 14]), np.array([4, 4]))),
}


@pytest.fixture(params=list(BLOCKS))
def block(request: pytest.FixtureRequest) -> tuple[np.ufunc, tuple, np.ndarray]:
    ufunc, arguments = BLOCKS[request.param]
    return ufunc, arguments, ufunc(*arguments)


def test_out_of_blocks(block):
    ufunc, arguments, expected = block
    for out in (
        np.zeros_like(expected),
        np.zeros_like(expected, order="F"),
        np.repeat(expected, 2, -1)[..., ::2],
    ):
        out[...] = 0
        assert ufunc(*arguments, out=out) is out
        np.testing.assert_array_equal(out, expected)
        assert ufunc(*arguments, out=(out,)) is out
    with pytest.raises(ValueError):
        ufunc(*arguments, out=np.zeros((*expected.shape, 7), expected.dtype))
    locked = np.zeros_like(expected)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ufunc(*arguments, out=locked)


def test_other_memory_of_blocks(block):
    ufunc, (first, *rest), expected = block
    raw = np.zeros(first.nbytes + 1, "u1")
    unaligned = np.ndarray(first.shape, first.dtype, buffer=raw.data, offset=1)
    unaligned[...] = first
    wide = np.repeat(first, 3, axis=0)[::3]
    for x in (unaligned, wide, np.asfortranarray(first), first[::-1][::-1]):
        np.testing.assert_array_equal(ufunc(x, *rest), expected)
    assert ufunc(first[:0], *rest).shape == (0, *expected.shape[1:])
    np.testing.assert_array_equal(ufunc(first[1], *rest), expected[1])
    np.testing.assert_array_equal(ufunc(first[None, ::-1], *rest)[0, ::-1], expected)


def test_data_types_of_blocks(block):
    ufunc, arguments, expected = block
    signature = (*(x.dtype for x in arguments), expected.dtype)
    np.testing.assert_array_equal(ufunc(*arguments, signature=signature), expected)
    np.testing.assert_array_equal(ufunc(*arguments, casting="no"), expected)
    with pytest.raises(TypeError):
        ufunc(*arguments, signature=(np.dtype("S3"), *signature[1:]))
    with pytest.raises((TypeError, ValueError)):
        ufunc("text", *arguments[1:])


def test_methods_of_blocks(block):
    ufunc, arguments, _ = block
    for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            getattr(ufunc, method)(*arguments)
    with pytest.raises(TypeError):
        ufunc(*arguments, where=True)
    with pytest.raises(TypeError):
        ufunc()
    with pytest.raises(TypeError, match="unexpected"):
        ufunc(*arguments, nonsense=1)


@pytest.mark.parametrize("order", "<>")
def test_numbers_of_either_byte_order(order):
    x = FIELDS.astype(order + "i8")
    np.testing.assert_array_equal(kernels.delta_decode(kernels.delta_encode(x)), x)
    np.testing.assert_array_equal(kernels.chunk_index(x, 3), np.divmod(x, 3))
    np.testing.assert_array_equal(kernels.chunk_count(x, 3), -(-x // 3))
    encoded = kernels.morton_encode(x % 4, np.array([4] * 4, order + "i8"))
    np.testing.assert_array_equal(kernels.morton_decode(encoded, (4,) * 4), x % 4)
    floats = FIELDS.astype(order + "f4")
    assert kernels.equals_fill(floats - floats, 0, axis=1, nan_equal=True).all()


# --- element by element ---------------------------------------------------------------------------


def test_methods_of_chunk_count():
    count = kernels.chunk_count
    assert count.reduce([100, 7, 2]) == 8
    assert count.accumulate([100, 7, 2]).tolist() == [100, 15, 8]
    assert count.outer([10, 11], [5, 10]).tolist() == [[2, 1], [3, 2]]
    x = np.array([10, 20, 30])
    count.at(x, [0, 2, 2], 3)
    assert x.tolist() == [4, 20, 4]
    assert count.reduceat([100, 7, 50, 3], [0, 2]).tolist() == [15, 17]
    assert count(10, 3, dtype="u8").dtype == np.uint64
    assert count(10, 3, signature="ll->l") == 4
    assert count([10, 20], 3, where=[True, False], out=np.array([7, 7])).tolist() == [4, 7]
    with pytest.raises(TypeError):
        count(np.array([10]), 3, out=np.zeros(1, "i1"), casting="safe")
    assert count(np.array([10]), 3, out=np.zeros(1, "i2")).dtype == np.int16


def test_methods_of_chunk_index():
    index = kernels.chunk_index
    with pytest.raises(ValueError):
        index.reduce([1, 2])
    chunk, offset = index.outer([17], [5, 10])
    assert chunk.tolist() == [[3, 1]] and offset.tolist() == [[2, 7]]
    outs = np.full(3, 9), np.full(3, 9)
    assert index([5, 6, 7], 3, out=outs, where=[True, False, True]) == outs
    assert outs[0].tolist() == [1, 9, 2] and outs[1].tolist() == [2, 9, 1]
    assert index(np.zeros((0, 2), int), 3)[0].shape == (0, 2)
    assert [type(part) for part in index(17, 5)] == [np.int64] * 2
    x = np.arange(10)
    index(x[:-1], 3, x[1:], np.empty(9, int))
    assert x.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_methods_of_byteswap():
    swap = kernels.byteswap.ufunc
    for method in ("reduce", "accumulate", "outer", "reduceat"):
        with pytest.raises((ValueError, TypeError)):
            getattr(swap, method)(np.arange(3), [0])
    assert swap(np.arange(3, dtype="u2"), dtype="u2").tolist() == [0, 256, 512]
    assert swap(np.uint16(1)) == 256
    assert swap(np.zeros((2, 0, 3), "f8")).shape == (2, 0, 3)


def test_array_function_is_asked():
    class Wrapped(np.lib.mixins.NDArrayOperatorsMixin):
        def __init__(self, values):
            self.values = values

        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            plain = [x.values if isinstance(x, Wrapped) else x for x in inputs]
            found = getattr(ufunc, method)(*plain, **options)
            return tuple(map(Wrapped, found)) if isinstance(found, tuple) else Wrapped(found)

    x = np.arange(6, dtype="i4")
    assert kernels.byteswap(Wrapped(x)).values.tolist() == x.byteswap().tolist()
    assert kernels.delta_encode(Wrapped(x)).values.tolist() == [0, 1, 1, 1, 1, 1]
    chunk, offset = kernels.chunk_index(Wrapped(x), 4)
    assert chunk.values.tolist() == [0, 0, 0, 0, 1, 1] and offset.values.tolist() == [0, 1, 2, 3, 0, 1]
    assert kernels.morton_encode(Wrapped(np.array([1, 1])), (4, 4)).values == 3
