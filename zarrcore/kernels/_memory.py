# SPDX-License-Identifier: MIT
"""What the kernels need to know about an argument: its bytes, its words, whether it fits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._core import kernels as _flat

if TYPE_CHECKING:
    from typing import Literal, ParamSpec, Protocol, TypeVar

    from numpy.typing import NDArray

    Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class WithUfunc(Protocol[P, R_co]):
        """A function around a ufunc, which is its attribute."""

        ufunc: np.ufunc
        ufunc_nan_equal: np.ufunc  # of comparisons alone: by numbers, where the other one compares bits
        nin: int
        nout: int
        nargs: int
        ntypes: int
        types: list[str]
        signature: str | None
        identity: None

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


PLAIN_TYPES = "?bBhHiIlLqQefdgFDGMmSUV"
"""Type characters of all items without references."""


def around(
    ufunc: np.ufunc, types: list[str], **others: np.ufunc
) -> Callable[[Callable[P, R_co]], WithUfunc[P, R_co]]:
    """Give a function the ufunc that it is built around as an attribute, and the attributes of ufuncs.

    `others` are ufuncs under their names; `types` are spelled as `numpy.ufunc.types`, which does not know
    loops that take items in any byte order.
    """

    def decorate(function: Any) -> Any:
        vars(function).update(ufunc=ufunc, types=types, ntypes=len(types), **others)
        for name in ("nin", "nout", "nargs", "signature", "identity"):
            setattr(function, name, getattr(ufunc, name))
        return function

    return decorate


def dense_bytes_of(data: Any, name: str) -> NDArray[np.uint8]:
    """Return the bytes of an array or other buffer in C order: a copy where there are gaps between them."""
    if isinstance(data, np.ndarray):
        refuse_references(data.dtype, name)
        return bytes_of(np.ascontiguousarray(data), name)
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"{name}: expected a bytes-like object, got {type(data).__name__}") from None
    return buffer_of(view if view.c_contiguous else view.tobytes(), name)


def buffer_of(data: Any, name: str) -> NDArray[np.uint8]:
    """Return the bytes of a C-contiguous array or other buffer, read-only if it is."""
    if isinstance(data, np.ndarray):
        return bytes_of(data, name)
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"{name}: expected a bytes-like object, got {type(data).__name__}") from None
    if not view.c_contiguous:
        raise ValueError(f"{name}: expected C-contiguous memory")
    return np.frombuffer(view.cast("B"), np.uint8) if view.nbytes else np.empty(0, np.uint8)


def bytes_of(array: np.ndarray, name: str) -> NDArray[np.uint8]:
    """Return the memory of a C-contiguous array, whatever its type."""
    refuse_references(array.dtype, name)
    if not array.flags.c_contiguous:
        raise ValueError(f"{name}: expected C-contiguous memory")
    return array.reshape(-1).view(np.uint8) if array.size and array.itemsize else np.empty(0, np.uint8)


def refuse_references(dtype: np.dtype, name: str) -> None:
    """Items of Python objects and of strings of any length are not where the array is."""
    if dtype.hasobject or dtype.kind == "T":
        raise TypeError(f"{name}: items of {dtype} are references, not bytes")


@lru_cache(maxsize=256)
def words_of(dtype: np.dtype, offset: int = 0) -> tuple[tuple[int, int, int, bool], ...]:
    """Return (offset, size, count, native) of the words of one item that have a byte order."""
    if dtype.fields is not None:
        fields = [dtype.fields[name] for name in dtype.names or ()]  # pyright: ignore[reportArgumentType]
        parts = [words_of(field[0], offset + field[1]) for field in fields]
        return tuple(word for part in parts for word in part)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape, dtype=np.int64))
        starts = range(offset, offset + count * base.itemsize, base.itemsize) if base.itemsize else ()
        return tuple(word for start in starts for word in words_of(base, start))
    if dtype.hasobject or dtype.kind == "T":
        raise TypeError(f"items of {dtype} are references, not bytes")

    size = word_size(dtype)
    if size == 1:
        return ()
    if size not in (2, 4, 8):
        raise TypeError(f"{dtype} has words of {size} bytes; expected 1, 2, 4 or 8")
    return ((offset, size, dtype.itemsize // size, dtype.isnative),) if dtype.itemsize else ()


def in_native_order(dtype: np.dtype) -> np.dtype:
    """Return the type in the machine's byte order; strings of any length have none."""
    return dtype if dtype.kind == "T" else dtype.newbyteorder("=")


def refuse_padding(dtype: np.dtype, name: str) -> None:
    """Bits are not compared where some of them mean nothing: extended precision lies in 12 or 16 bytes."""
    if dtype.kind in "fc" and word_size(dtype) not in (1, 2, 4, 8):
        raise TypeError(f"{name}: {dtype} has words of {word_size(dtype)} bytes; expected 1, 2, 4 or 8")


FIRST_REGISTERED = 256
"""Type numbers from here on belong to types that other packages have registered."""


def is_registered(dtype: np.dtype) -> bool:
    """Has another package added the type (bfloat16, ...) to NumPy?"""
    return dtype.num >= FIRST_REGISTERED


def as_plain_items(x: Any) -> Any:
    """The same items, as raw bytes if another package added their type: the ufuncs have no loop for it."""
    registered = isinstance(x, np.ndarray) and is_registered(x.dtype)
    return x.view(np.dtype((np.void, x.dtype.itemsize))) if registered else x


def word_size(dtype: np.dtype) -> int:
    """Bytes that a change of byte order reverses together, in a type without fields."""
    if dtype.kind in "bS" or dtype.type is np.void:
        return 1
    if dtype.kind == "U":
        return 4
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def copy(dst: np.ndarray, src: np.ndarray, words: Sequence[tuple[int, int, int, bool]]) -> None:
    """Copy with those words swapped: as one word size where they make up the item, else field by field."""
    if not words:
        _flat.copy(dst, src)
    elif len(words) == 1 and words[0][1] * words[0][2] == dst.dtype.itemsize:
        _flat.copy(dst, src, words[0][1])
    else:
        _flat.copy(dst, src, 0, np.array([word[:3] for word in words], dtype=np.uint32))


def index_of(value: Any, name: str) -> int:
    """Return an integer argument."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {value!r}") from None


def ndarray_of(x: Any, name: str) -> np.ndarray:
    """Return ``x``, which must be an array, not something that can be converted to one."""
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{name}: expected an ndarray, got {type(x).__name__}")
    return x


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype, *, may_repeat: bool = False) -> np.ndarray:
    """Return ``out`` if it has that type and shape (of ufuncs it may repeat the result) and is writable."""
    array = ndarray_of(out, "out")
    if array.dtype != dtype:
        raise TypeError(f"out: expected data type {dtype}, got {array.dtype}")
    if array.shape != shape and not (may_repeat and broadcast_shape(array.shape, shape) == array.shape):
        raise ValueError(f"out: expected shape {shape}, got {array.shape}")
    if not array.flags.writeable:
        raise ValueError("out: the array is read-only")
    return array


def flat_out(out: Any, size: int, dtype: np.dtype) -> np.ndarray:
    """Return ``out``, or a new array without it, for that many items one after the other."""
    if out is None:
        return np.empty(size, dtype)
    if not check_out(out, (size,), dtype).flags.c_contiguous:
        raise ValueError("out: expected C-contiguous memory")
    return out  # type: ignore[no-any-return]


def only_out(out: Any) -> Any:
    """Return ``out`` in the forms that ufuncs take: alone or in a tuple."""
    if not isinstance(out, tuple):
        return out
    if len(out) != 1:
        raise ValueError(f"out: expected one array, got {len(out)}")
    return out[0]


def checked_axis(x: np.ndarray, name: str, axis: Any) -> int:
    """Return the axis, if `x` has it."""
    at = index_of(axis, "axis")
    if x.ndim == 0:
        raise ValueError(f"{name}: expected one dimension or more, got a scalar")
    if not -x.ndim <= at < x.ndim:
        raise ValueError(f"axis: expected {-x.ndim} to {x.ndim - 1}, got {at}")
    return at


def check_blocks(
    x: np.ndarray, name: str, axis: Any, out: Any, dtype: np.dtype, others: tuple[int, ...] = ()
) -> int:
    """Return the axis, if `x` has it, and `out` has room for one answer for each block along it."""
    at = checked_axis(x, name, axis)
    if out is not None:
        blocks = x.shape[: at % x.ndim] + x.shape[at % x.ndim + 1 :]
        check_out(out, (others and broadcast_shape(blocks, others)) or blocks, dtype, may_repeat=True)
    return at


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape that all can be broadcast to, or None."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Are the items of both, one by one, at the same place?"""
    return a.ctypes.data == b.ctypes.data and a.strides == b.strides


def apart(src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return ``src``, or a copy of it if the two might overlap."""
    return src.copy() if np.may_share_memory(src, dst) else src
