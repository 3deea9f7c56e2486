# SPDX-License-Identifier: MIT
"""Filters: differences, byte shuffle, bits without gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrcore._core import kernels as _flat
from zarrcore._typed import NamedTuple
from zarrcore.kernels._memory import (
    around,
    bytes_of,
    check_out,
    checked_axis,
    dense_bytes_of,
    flat_out,
    in_native_order,
    index_of,
    ndarray_of,
    only_out,
    refuse_references,
)
from zarrcore.kernels._sharing import by_rows, check_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from zarrcore.kernels._memory import Casting

# --- differences ----------------------------------------------------------------------------------

_DIFFERENCES = "bBhHiIlLqQfd"
"""Type characters of integers, float32 and float64."""


@around(_flat.delta_encode, [f"{char}->{char}" for char in _DIFFERENCES])
def delta_encode(
    x: ArrayLike,
    /,
    out: np.ndarray | None = None,
    *,
    axis: int = -1,
    casting: Casting = "equiv",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Return the differences of neighbours along an axis; the first item stays as it is.

    Parameters
    ----------
    x : array_like
        Integers of any size, float32 or float64.
    out : ndarray, optional
        Of the shape and type of ``x``, which it may overlap.
    axis : int, optional
        Default: the last one.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}, optional
        Which conversions are allowed, of ``x`` to ``dtype`` and of the result to ``out``, as in NumPy.
    dtype : data type, optional
        What ``x`` is converted to first; default: its own.
    threads : int, optional
        The most threads to use for several rows; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    ndarray
        ``out``, or a new array, of the type of ``x`` in the machine's byte order.  Integers wrap around.

    Raises
    ------
    TypeError
        If ``x`` or ``out`` has another type.
    ValueError
        If ``out`` has another shape or is read-only.

    Notes
    -----
    The ``delta`` filter of Zarr v2 for items stored as they are, like ``numpy.diff`` with the first item in
    front.  ``delta_encode.ufunc`` is the :class:`numpy.ufunc` "(n)->(n)".  The GIL is released from 4 KiB on.

    Examples
    --------
    >>> delta_encode(np.array([10, 12, 15], dtype="u1"))
    array([10,  2,  3], dtype=uint8)
    """
    return _delta(_flat.delta_encode, x, out, axis, _Conversion(casting, dtype), threads)


@around(_flat.delta_decode, [f"{char}->{char}" for char in _DIFFERENCES])
def delta_decode(
    x: ArrayLike,
    /,
    out: np.ndarray | None = None,
    *,
    axis: int = -1,
    casting: Casting = "equiv",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Return the running sums along an axis: the inverse of :func:`delta_encode`.

    Parameters, exceptions and thread rule are those of :func:`delta_encode`.

    Notes
    -----
    Floating-point numbers are added from the first to the last, so that the bits are those of
    ``numpy.cumsum``.  ``delta_decode.ufunc`` is the :class:`numpy.ufunc` "(n)->(n)".

    Examples
    --------
    >>> delta_decode(np.array([10, 2, 3], dtype="u1"))
    array([10, 12, 15], dtype=uint8)
    """
    return _delta(_flat.delta_decode, x, out, axis, _Conversion(casting, dtype), threads)


class _Conversion(NamedTuple):
    """The conversions that a caller allows and asks for."""

    casting: Casting
    dtype: DTypeLike | None

    @property
    def is_asked_for(self) -> bool:
        return self.dtype is not None or self.casting not in ("no", "equiv")


def _delta(
    ufunc: np.ufunc, x: Any, out: np.ndarray | None, axis: int, conversion: _Conversion, threads: int | None
) -> Any:
    asked = conversion.is_asked_for
    if threads is None and axis == -1 and not asked and _is_plain(x, out):
        return ufunc(x) if out is None else ufunc(x, out)
    if not hasattr(x, "__array_ufunc__"):
        x = np.asanyarray(x)
    out = only_out(out)
    if isinstance(x, np.ndarray) and not asked:
        axis = _check_differences(x, axis, out)
    options: dict[str, Any] = {} if axis in (-1, np.ndim(x) - 1) else {"axis": axis}
    if conversion.dtype is not None:
        options["signature"] = (conversion.dtype,) * 2
    return ufunc(x, out=out, threads=threads, casting=conversion.casting if asked else "equiv", **options)


def _is_plain(x: Any, out: Any) -> bool:
    """Return a row and another one to write to; more checks would take as long as the work on few numbers."""
    if type(x) is not np.ndarray or x.ndim != 1 or x.dtype.char not in _DIFFERENCES:
        return False
    return out is None or (
        type(out) is np.ndarray and out.dtype == x.dtype and out.shape == x.shape and out.flags.writeable
    )


def _check_differences(x: np.ndarray, axis: Any, out: Any) -> int:
    """Return the axis, if x has one, and the types and shapes are such that differences can be formed."""
    if x.dtype.char not in _DIFFERENCES:
        raise TypeError(f"x: expected integers, float32 or float64, got {x.dtype}")
    at = checked_axis(x, "x", axis)
    if out is not None:
        same = in_native_order(ndarray_of(out, "out").dtype) == x.dtype.newbyteorder("=")
        check_out(out, x.shape, out.dtype if same else x.dtype, may_repeat=True)
    return at


# --- shuffle --------------------------------------------------------------------------------------

_OF_BYTES = [f"B{np.dtype(np.intp).char}->B"]


@around(_flat.shuffle, _OF_BYTES)
def shuffle(
    x: Any,
    /,
    itemsize: int | None = None,
    out: NDArray[np.uint8] | None = None,
    *,
    threads: int | None = None,
) -> Any:
    """Return all first bytes of the items, then all second bytes, and so on, for each row.

    Parameters
    ----------
    x : array_like or bytes-like
        Items of any type without references; the last dimension is a row.
    itemsize : int, optional
        Bytes of one item, which divide those of a row.  Default: the item size of ``x``.
    out : ndarray of uint8, optional
        Of the shape of the result.
    threads : int, optional
        The most threads to use for several rows; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    ndarray of uint8
        ``out``, or a new array; the last dimension counts the bytes of a row.

    Raises
    ------
    TypeError
        If ``x`` has no bytes or ``out`` is not of type uint8.
    ValueError
        If ``itemsize`` does not divide the bytes of a row, or ``out`` has another shape or is read-only.

    Notes
    -----
    The ``shuffle`` filter of Zarr v2, as in blosc and HDF5.  Item sizes of 2, 4, 8 and 16 bytes are moved in
    vector registers.  ``shuffle.ufunc`` is the :class:`numpy.ufunc` "(n),()->(n)" over bytes.  The GIL is
    released from 4 KiB on.

    Examples
    --------
    >>> shuffle(np.array([0x0102, 0x0304], dtype=">u2"))
    array([1, 3, 2, 4], dtype=uint8)
    """
    if threads is None:
        shuffled = _flat.quick_shuffle(x, itemsize, out, False)
        if shuffled is not None:
            return shuffled
    return _shuffled(_flat.shuffle, x, itemsize, out, threads)


@around(_flat.unshuffle, _OF_BYTES)
def unshuffle(
    x: Any,
    /,
    itemsize: int,
    out: NDArray[np.uint8] | None = None,
    *,
    threads: int | None = None,
) -> Any:
    """Return the items whose sorted bytes are `x`: the inverse of :func:`shuffle`.

    Parameters, exceptions and thread rule are those of :func:`shuffle`; ``itemsize`` is needed.

    Examples
    --------
    >>> unshuffle(bytes([1, 3, 2, 4]), 2).view(">u2")
    array([258, 772], dtype='>u2')
    """
    if threads is None and itemsize is not None:
        items = _flat.quick_shuffle(x, itemsize, out, True)
        if items is not None:
            return items
    return _shuffled(_flat.unshuffle, x, index_of(itemsize, "itemsize"), out, threads)


@around(_flat.bitshuffle, _OF_BYTES)
def bitshuffle(
    x: Any,
    /,
    itemsize: int | None = None,
    out: NDArray[np.uint8] | None = None,
    *,
    threads: int | None = None,
) -> Any:
    """Return the lowest bits of all items, then all second bits, and so on, for each row.

    Parameters and exceptions are those of :func:`shuffle`; ``itemsize`` is at most 255.

    Notes
    -----
    Bit ``k`` of byte ``b`` of item ``i`` becomes bit ``i % 8`` of byte ``i // 8`` of row ``8 * b + k``, as
    blosc and the HDF5 filter of this name do in each of their blocks.  Of a number of items that 8 does not
    divide, those after the last eight stay as they are.  ``bitshuffle.ufunc`` is the :class:`numpy.ufunc`
    "(n),()->(n)" over bytes.  The GIL is released from 4 KiB on.

    Examples
    --------
    >>> bitshuffle(np.array([1, 0, 0, 0, 0, 0, 0, 3], "u1"))
    array([129, 128,   0,   0,   0,   0,   0,   0], dtype=uint8)
    """
    return _shuffled(_flat.bitshuffle, x, itemsize, out, threads)


@around(_flat.bitunshuffle, _OF_BYTES)
def bitunshuffle(
    x: Any,
    /,
    itemsize: int,
    out: NDArray[np.uint8] | None = None,
    *,
    threads: int | None = None,
) -> Any:
    """Return the items whose sorted bits are `x`: the inverse of :func:`bitshuffle`.

    Parameters, exceptions and thread rule are those of :func:`bitshuffle`; ``itemsize`` is needed.

    Examples
    --------
    >>> bitunshuffle(bytes([129, 128, 0, 0, 0, 0, 0, 0]), 1).tolist()
    [1, 0, 0, 0, 0, 0, 0, 3]
    """
    return _shuffled(_flat.bitunshuffle, x, index_of(itemsize, "itemsize"), out, threads)


def _shuffled(ufunc: np.ufunc, x: Any, itemsize: int | None, out: Any, threads: int | None) -> Any:
    rows, size = _rows_of_bytes(x)
    divisor = _divisor(size if itemsize is None else itemsize)
    out = only_out(out)
    if out is not None and isinstance(rows, np.ndarray):
        check_out(out, rows.shape, np.dtype(np.uint8), may_repeat=True)
    return ufunc(rows, divisor, out=out, threads=threads, casting="no")


def _divisor(itemsize: Any) -> np.intp:
    """Return the argument in the form that the loops take; they refuse numbers that do not divide a row."""
    size = index_of(itemsize, "itemsize")
    if not 1 <= size <= np.iinfo(np.intp).max:
        raise ValueError(f"itemsize: expected the bytes of one item, got {size}")
    return np.intp(size)


def _rows_of_bytes(x: Any) -> tuple[Any, int]:
    """Return the last dimension as bytes, and how many make up one item."""
    if not hasattr(x, "__array_ufunc__"):
        x = np.asarray(x) if isinstance(x, list | tuple | int | float) else dense_bytes_of(x, "x")
    if x.dtype == np.uint8 and x.ndim:
        return x, 1
    if not isinstance(x, np.ndarray):
        raise TypeError(f"x: expected items of type uint8 in a {type(x).__name__}, got {x.dtype}")
    refuse_references(x.dtype, "x")
    if not x.ndim or not x.itemsize or (x.size and x.strides[-1] != x.itemsize):
        x = np.ascontiguousarray(x)
    if not x.size or not x.itemsize:
        return np.empty((*x.shape[:-1], x.shape[-1] * x.itemsize), np.uint8), max(x.itemsize, 1)
    return x.view(np.uint8), x.itemsize


# --- bits -----------------------------------------------------------------------------------------

_BIT_ORDERS = ("little", "big")


def pack_bits(
    x: ArrayLike,
    /,
    out: NDArray[np.uint8] | None = None,
    *,
    first_bit: int = 0,
    last_bit: int | None = None,
    bitorder: Literal["little", "big"] = "little",
    threads: int | None = None,
) -> NDArray[np.uint8]:
    """Pack the bits of each item without gaps.

    Parameters
    ----------
    x : array_like
        Booleans (one bit each) or integers, in C order.
    out : ndarray of uint8, optional
        1-d and C-contiguous, as long as the result.
    first_bit, last_bit : int, optional
        The bits of an integer that are kept, counted from the lowest; default: all.
    bitorder : {"little", "big"}, optional
        Whether the first bit is the lowest or the highest of a byte; "big" is for booleans only.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    ndarray of uint8
        ``out``, or a new array.  Unused bits of the last byte are 0.

    Raises
    ------
    TypeError
        If ``x`` has other items, or ``out`` is not of type uint8.
    ValueError
        If there are no such bits, or ``out`` has another shape or is read-only.

    Notes
    -----
    The bytes of the ``packbits`` codec of Zarr v3 without its padding byte, and with ``bitorder="big"`` of
    the ``packbits`` filter of Zarr v2.  The GIL is released.

    Examples
    --------
    >>> pack_bits(np.array([True, False, True]))
    array([5], dtype=uint8)
    >>> pack_bits(np.array([1, 2, 3], dtype="u1"), last_bit=3)
    array([33,  3], dtype=uint8)
    """
    if threads is None and first_bit == 0 and last_bit is None and bitorder in _BIT_ORDERS:
        flags = _flat.quick_pack_flags(x, out, bitorder == "big")
        if flags is not None:
            return flags
    items = np.asarray(x)
    width = _kept_bits(items.dtype, "x", first_bit, last_bit, bitorder)
    items = np.ascontiguousarray(items, items.dtype.newbyteorder("="))
    nbytes = _packed_size(items.size, width)
    packed = flat_out(out, nbytes, np.dtype(np.uint8))
    source = bytes_of(items, "x").copy() if np.may_share_memory(items, packed) else bytes_of(items, "x")
    size, one_bit = items.itemsize, items.dtype == np.bool_

    def pack(start: int, stop: int) -> None:
        part, room = source[start * size : stop * size], packed[_packed_place(start, stop, width)]
        _flat.pack_bits(part, room, size, first_bit, width, one_bit, bitorder == "big")

    _by_eights(pack, items.size, items.nbytes, threads)
    return packed


def unpack_bits(
    buf: Any,
    /,
    dtype: DTypeLike,
    count: int,
    out: np.ndarray | None = None,
    *,
    first_bit: int = 0,
    last_bit: int | None = None,
    bitorder: Literal["little", "big"] = "little",
    threads: int | None = None,
) -> np.ndarray:
    """Unpack items from their packed bits: the inverse of :func:`pack_bits`.

    Parameters
    ----------
    buf : bytes-like or ndarray
        Exactly the bytes that ``count`` items make up.
    dtype : data type
        Of the items: boolean or integer.
    count : int
        The number of items.
    out : ndarray, optional
        1-d and C-contiguous, of that type in the machine's byte order and that length.
    first_bit, last_bit, bitorder, threads
        As for :func:`pack_bits`.

    Returns
    -------
    ndarray
        ``out``, or a new 1-d array.  Bits that were not kept are 0; above the kept ones a signed integer
        repeats the highest of them.

    Raises
    ------
    TypeError
        If ``buf`` has no buffer, or ``dtype`` or the type of ``out`` is another one.
    ValueError
        If ``buf`` has another size, there are no such bits, or ``out`` has another shape or is read-only.

    Examples
    --------
    >>> unpack_bits(bytes([33, 3]), "i1", 3, last_bit=3)
    array([1, 2, 3], dtype=int8)
    """
    if (
        threads is None
        and (dtype is bool or dtype is np.bool_)
        and first_bit == 0
        and last_bit is None
        and bitorder in _BIT_ORDERS
    ):
        flags = _flat.quick_unpack_flags(buf, count, out, bitorder == "big")
        if flags is not None:
            return flags
    native = _items_type(dtype)
    width = _kept_bits(native, "dtype", first_bit, last_bit, bitorder)
    n = index_of(count, "count")
    if n < 0:
        raise ValueError(f"count: expected 0 or more, got {n}")
    packed = dense_bytes_of(buf, "buf")
    if packed.size != _packed_size(n, width):
        raise ValueError(f"buf: expected {_packed_size(n, width)} bytes for {n} items, got {packed.size}")
    items = flat_out(out, n, native)
    if np.may_share_memory(items, packed):
        packed = packed.copy()
    room, size, one_bit = bytes_of(items, "out"), native.itemsize, native == np.bool_

    def unpack(start: int, stop: int) -> None:
        part, to = packed[_packed_place(start, stop, width)], room[start * size : stop * size]
        _flat.unpack_bits(part, to, size, first_bit, width, one_bit, bitorder == "big", native.kind == "i")

    _by_eights(unpack, n, items.nbytes, threads)
    return items


def _by_eights(call: Callable[[int, int], None], n: int, nbytes: int, threads: int | None) -> None:
    """Call with pieces of n items; packed, each begins with a whole byte."""
    check_threads(threads)
    by_rows(lambda eights: call(8 * eights.start, min(8 * eights.stop, n)), -(-n // 8), nbytes, threads)


def _packed_place(start: int, stop: int, width: int) -> slice:
    """Return the byte range of the packed items from start, a multiple of 8, to stop."""
    return slice(start * width // 8, _packed_size(stop, width))


def _items_type(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        return in_native_order(np.dtype(dtype))
    except TypeError as error:
        raise TypeError(f"dtype: {error}") from None


def _kept_bits(dtype: np.dtype[Any], name: str, first_bit: int, last_bit: int | None, bitorder: str) -> int:
    """Return the number of bits kept of each item; `name` is the argument that determines the items."""
    if dtype.kind not in "biu":
        raise TypeError(f"{name}: expected booleans or integers, got {dtype}")
    if bitorder not in _BIT_ORDERS:
        raise ValueError(f'bitorder: expected "little" or "big", got {bitorder!r}')
    if bitorder == "big" and dtype.kind != "b":
        raise ValueError(f'bitorder: "big" is for booleans, the items are {dtype}')
    bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
    first = index_of(first_bit, "first_bit")
    last = bits - 1 if last_bit is None else index_of(last_bit, "last_bit")
    if not 0 <= first <= last < bits:
        raise ValueError(f"expected 0 <= first_bit <= last_bit < {bits}, got {first} and {last}")
    return last - first + 1


def _packed_size(items: int, width: int) -> int:
    return -(-items * width // 8)
