# SPDX-License-Identifier: MIT
"""Calls on plain arrays take a short way; what comes out, or is refused, is that of the long one."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from zarrcore import kernels
from zarrcore._core import kernels as flat

QUICK = [name for name in dir(flat) if name.startswith("quick_")]
QUICK_FIRST = ["byteswap", "copy_region", "fill", "transpose"]
TYPES = [
    "?",
    "i1",
    "<u2",
    ">u2",
    "<i4",
    ">f4",
    "f2",
    "<f4",
    "<f8",
    "<i8",
    "u8",
    "<c8",
    ">c16",
    "M8[s]",
    "<m8[ms]",
]
OTHERS = ["g", "U2", "S3", "V4", [("a", "i4"), ("b", "u1")]]


class Derived(np.ndarray):
    """Not plain."""


@contextlib.contextmanager
def the_long_way() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in QUICK:
            patch.setattr(flat, name, lambda *args: None)
        for name in QUICK_FIRST:
            patch.setattr(kernels, name, getattr(kernels, name).__wrapped__)
        yield


def meaning(array: np.ndarray) -> object:
    """Its bytes; of long doubles, some of whose bytes mean nothing, their digits."""
    return repr(array.tolist()) if array.dtype.char == "g" else array.tobytes()


def outcome(call: Callable[[], object]) -> tuple:
    """The type, shape and bytes of a result, or the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = call()
    except Exception as error:
        return type(error), str(error)
    if isinstance(found, np.ndarray):
        return type(found), found.dtype, found.shape, meaning(found), found.flags.c_contiguous
    return type(found), found


def same(call: Callable[[], object]) -> tuple:
    short = outcome(call)
    with the_long_way():
        assert outcome(call) == short
    return short


def arrays(dtype: object, n: int = 24) -> Iterator[np.ndarray]:
    """Some of every shape and kind, that one may write to."""
    raw = np.random.default_rng(n).integers(0, 2 if dtype == "?" else 100, n * np.dtype(dtype).itemsize, "u1")
    whole = np.frombuffer(bytearray(raw.tobytes()), dtype)
    yield from (whole, whole.reshape(4, 6), whole.reshape(2, 3, 4), whole[:0], whole.reshape(24, 1, 1)[:0])
    yield from (whole[3].reshape(()), whole[::2], whole[::-1], whole.reshape(4, 6).T, whole.view(Derived))
    unaligned = np.zeros(whole.nbytes + 1, "u1")[1:]
    unaligned[:] = raw
    yield np.ndarray(whole.shape, dtype, buffer=unaligned.data)
    locked = whole.copy()
    locked.flags.writeable = False
    yield locked


def outs(x: np.ndarray, shape: tuple[int, ...] | None = None, dtype: object = None) -> Iterator[object]:
    """What a caller may give as `out` for a result, fit and unfit."""
    shape = x.shape if shape is None else shape
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    yield from (None, np.zeros(shape, dtype), np.zeros(shape, dtype, order="F"), np.zeros((*shape, 2), dtype))
    yield from (np.zeros(shape, dtype).view(Derived), np.zeros(shape, "S7"), [1, 2])
    if dtype.itemsize > 1 and dtype.fields is None and dtype.kind not in "SV":
        yield np.zeros(shape, dtype.newbyteorder("S"))
    locked = np.zeros(shape, dtype)
    locked.flags.writeable = False
    yield locked


def cleared(out: object) -> object:
    if isinstance(out, np.ndarray) and out.flags.writeable and out.dtype.kind != "S":
        out.view(np.ndarray)[...] = np.zeros((), out.dtype)
    return out


@pytest.mark.parametrize("dtype", TYPES + OTHERS, ids=str)
def test_byteswap(dtype):
    for x in arrays(dtype):
        for out in outs(x):
            same(lambda x=x, out=out: kernels.byteswap(x, out=cleared(out)))
        if x.flags.writeable:
            same(lambda x=x: (keep := x.copy(), kernels.byteswap(keep, out=keep))[1])


@pytest.mark.parametrize("dtype", TYPES + OTHERS, ids=str)
def test_transpose_and_copy(dtype):
    for x in arrays(dtype):
        order = tuple(range(x.ndim))[::-1]
        for out in outs(x, x.shape[::-1]):
            same(lambda x=x, order=order, out=out: kernels.transpose(x, order, out=cleared(out)))
        for wrong in ((0,), (0, 0), (1, 2), (0.0, 1.0), (True, 0), [1, 0], order[1:], (-1,) * x.ndim):
            same(lambda x=x, wrong=wrong: kernels.transpose(x, wrong))
        for dst in outs(x):
            same(lambda x=x, dst=dst: (kernels.copy_region(cleared(dst), x), dst)[1])


def test_transpose_and_copy_of_overlapping_memory():
    def moved(call: Callable[[np.ndarray], object]) -> np.ndarray:
        square = np.arange(100).reshape(10, 10)
        call(square)
        return square

    same(lambda: moved(lambda square: kernels.transpose(square, (1, 0), out=square)))
    same(lambda: moved(lambda square: kernels.copy_region(square[1:], square[:-1])))
    same(lambda: moved(lambda square: kernels.copy_region(square[::-1], square)))
    same(lambda: moved(lambda square: kernels.byteswap(square.reshape(-1)[:-1], out=square.reshape(-1)[1:])))


@pytest.mark.parametrize("dtype", TYPES + OTHERS, ids=str)
def test_shuffle(dtype):
    for x in arrays(dtype):
        for size in (None, 1, 2, 3, 4, 8, 0, -2, 10**30, 1.5, np.int64(4)):
            same(lambda x=x, size=size: kernels.shuffle(x, size))
            same(lambda x=x, size=size: kernels.unshuffle(x, size))
        for out in outs(x, (x.nbytes,), "u1"):
            same(lambda x=x, out=out: kernels.shuffle(x, out=cleared(out)))


def test_shuffle_in_place():
    for call in (kernels.shuffle, kernels.unshuffle):
        same(lambda call=call: call(x := np.arange(40, dtype="u1"), 4, out=x))
        same(lambda call=call: call((x := np.arange(41, dtype="u1"))[1:], 4, out=x[:-1]))


@pytest.mark.parametrize("dtype", ["?", "u1", "<i2", ">i2", "f4"])
def test_bits(dtype):
    for x in arrays(dtype):
        for bitorder in ("little", "big", "other"):
            size = -(-x.size * (1 if dtype == "?" else 8 * x.itemsize) // 8)
            for out in outs(x, (size,), "u1"):
                same(lambda x=x, o=bitorder, out=out: kernels.pack_bits(x, out=cleared(out), bitorder=o))
    packed = np.arange(5, dtype="u1")
    for buf in (packed, packed[::-1], packed.tobytes(), packed.view("i1"), packed.view(Derived)):
        for count in (40, 37, 33, 32, 41, -1, 10**30, 37.0, np.int64(37)):
            for kind in (bool, np.bool_, "?", int):
                same(lambda b=buf, n=count, kind=kind: kernels.unpack_bits(b, kind, n))
        for out in outs(packed, (40,), bool):
            same(lambda b=buf, out=out: kernels.unpack_bits(b, bool, 40, out=cleared(out), bitorder="big"))


VALUES = [
    0,
    1,
    -1,
    99,
    300,
    2**24,
    -(2**24),
    2**31,
    2**63,
    2**64 - 1,
    2**70,
    0.0,
    -0.0,
    1.5,
    1e30,
    1e300,
    float("nan"),
]
VALUES += [
    float("inf"),
    True,
    1j,
    "1",
    b"1",
    None,
    [1],
    np.float32(1.5),
    np.float64(2),
    np.int32(7),
    np.bool_(True),
]
VALUES += [np.datetime64(5, "s"), np.array(3), np.array([3]), np.uint8(99), np.float16(2), np.complex64(1j)]


@pytest.mark.parametrize("dtype", TYPES + OTHERS, ids=str)
def test_fill_values(dtype):
    for x in arrays(dtype):
        for value in VALUES:
            done = same(lambda x=x, value=value: (kernels.fill(x, value), x)[1])
            for nan_equal in (False, True):
                found = same(lambda x=x, v=value, n=nan_equal: kernels.equals_fill(x, v, nan_equal=n))
                if dtype == "g":  # its items have bytes that mean nothing
                    assert found[0] is TypeError
                    continue
                assert done[0] not in (np.ndarray, Derived) or nan_equal or found == (bool, True)


def test_large_arrays_go_the_long_way():
    large = np.zeros(32 << 20, "u1")
    assert flat.quick_shuffle(large, 1, None, False) is None
    assert flat.quick_shuffle(large[1:], 1, None, False) is not None


@pytest.mark.parametrize(
    "length", [1, 7, 2**40, 0, -3, True, 2.0, np.int64(7), np.array([1, 2, 3, 4, 5, 6])], ids=repr
)
def test_chunk_index_of_any_arrays(length):
    assert isinstance(kernels.chunk_index, np.ufunc)
    for dtype in ("<i8", ">i8", "i4", "u8", "f4"):
        for x in arrays(dtype):
            x = x[..., :6] if isinstance(length, np.ndarray) and x.ndim else x

            def quick(x=x):
                return kernels.chunk_index(x, length)

            def whole(x=x):
                return kernels.chunk_index(x, length, out=(None, None))

            with np.errstate(divide="ignore"):
                assert [outcome(lambda k=k: quick()[k]) for k in (0, 1)] == [
                    outcome(lambda k=k: whole()[k]) for k in (0, 1)
                ]


def test_shard_indexes():
    words = np.array([0, 5, 2**64 - 1, 7], "u8")
    for other in (
        words,
        words[::-1],
        words.reshape(2, 2),
        words[:3],
        words.astype(">u8"),
        words[:0],
        [1, 2, 3, 4],
    ):
        for pair in ((words, other), (other, words), (other, other)):
            same(lambda pair=pair: kernels.shard_index_pack(*pair))
    packed = kernels.shard_index_pack(words, words)
    assert packed.tobytes() == np.stack((words, words), axis=1).astype("<u8").tobytes()
