"""How items lie in memory, for the chunk engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zarrcore._typed import NamedTuple
from zarrcore._validate import describe
from zarrcore.dtypes.base import ExtensionType, ZDType
from zarrcore.errors import DataTypeValidationError

SwapFields = tuple[tuple[int, int, int], ...]

MAX_SWAP_FIELDS = 2**16
"""Most fields of one item with a byte order, those inside arrays of structures counted each."""


class BitLayout(NamedTuple):
    """The bits of one item that mean something: the lowest `bits` of each of its `components`.

    Examples
    --------
    >>> from zarrcore.dtypes.layout import bit_layout
    >>> bit_layout(Int16())
    BitLayout(components=1, bits=16, signed=True)
    """

    components: int
    bits: int
    signed: bool


def bit_layout(zdtype: ZDType[Any, Any]) -> BitLayout | None:
    """Return the number of bits of the numbers of an item of `zdtype`; None if it has no numbers.

    Examples
    --------
    >>> from zarrcore.dtypes import Complex64, Int4
    >>> bit_layout(Int4()), bit_layout(Complex64())
    (BitLayout(components=1, bits=4, signed=True), BitLayout(components=2, bits=32, signed=False))
    """
    if isinstance(zdtype, ExtensionType):
        return BitLayout(zdtype.components, zdtype.bits, zdtype.signed)
    dtype = zdtype.to_native_dtype()
    if dtype.kind == "b":
        return BitLayout(1, 1, False)
    if dtype.kind not in "iufc":
        return None
    components = 2 if dtype.kind == "c" else 1
    return BitLayout(components, 8 * dtype.itemsize // components, dtype.kind == "i")


def scalar_to_bytes(zdtype: ZDType[Any, Any], scalar: object) -> bytes:
    """Return the bytes of one item in the in-memory dtype.

    Parameters
    ----------
    zdtype : ZDType
        A data type with items of fixed size.
    scalar : object
        A scalar as ``zdtype.cast_scalar`` returns it.

    Raises
    ------
    DataTypeValidationError
        If the items vary in length.

    Examples
    --------
    >>> from zarrcore.dtypes import Int16, scalar_to_bytes
    >>> scalar_to_bytes(Int16(endianness="big"), np.int16(1)).hex()
    '0001'
    """
    if zdtype.item_size is None:
        raise DataTypeValidationError(f"items of {zdtype} vary in length: they have no fixed bytes")
    dtype = zdtype.to_native_dtype()
    if dtype.subdtype is not None:
        return np.asarray(scalar, dtype=dtype.base).tobytes()
    reason = None
    try:
        item = np.array(scalar)
        if item.ndim == 0:
            # Only words are swapped or padding added: a conversion of types could change the bits of a NaN.
            return (item if item.dtype == dtype else np.array(item, dtype=dtype)).tobytes()
    except MemoryError:
        raise
    except Exception as error:  # of what a data type of a user has for a scalar
        reason = error
    raise DataTypeValidationError(f"{describe(scalar)} is no item of {describe(zdtype)}") from reason


def swap_fields(zdtype: ZDType[Any, Any]) -> SwapFields:
    """Return the words of one item of `zdtype` that have a byte order.

    Returns
    -------
    tuple of (offset, word, count)
        At byte `offset`, `count` words of `word` bytes each; ascending, without overlap.

    Examples
    --------
    >>> from zarrcore.dtypes import Complex128, swap_fields
    >>> swap_fields(Complex128())
    ((0, 8, 2),)
    """
    return tuple(_swap_fields(zdtype.to_native_dtype(), 0))


def check_swap_fields(zdtype: ZDType[Any, Any]) -> None:
    """Refuse structured types whose table of words would be too large to be meant."""
    count = _count(zdtype.to_native_dtype())
    if count > MAX_SWAP_FIELDS:
        raise DataTypeValidationError(
            f"an item has {count} fields with a byte order; {MAX_SWAP_FIELDS} are allowed"
        )


def _swap_fields(dtype: np.dtype[Any], offset: int) -> list[tuple[int, int, int]]:
    if dtype.subdtype is not None:
        return _swap_sub_array(dtype.base, math.prod(dtype.shape), offset)
    if dtype.names is not None:
        assert dtype.fields is not None
        fields = [dtype.fields[name] for name in dtype.names]  # pyright: ignore[reportArgumentType]
        return [word for field in fields for word in _swap_fields(field[0], offset + field[1])]
    size, count = _word(dtype)
    return [(offset, size, count)] if count else []


def _swap_sub_array(base: np.dtype[Any], length: int, offset: int) -> list[tuple[int, int, int]]:
    one = _swap_fields(base, offset)
    if len(one) == 1 and one[0][1] * one[0][2] == base.itemsize:
        return [(offset, one[0][1], one[0][2] * length)]
    step = base.itemsize
    return [(start + i * step, size, count) for i in range(length) for start, size, count in one]


def _count(dtype: np.dtype[Any]) -> int:
    """Return an upper bound of the number of entries of :func:`_swap_fields`, without making them."""
    if dtype.subdtype is not None:
        inner = _count(dtype.base)
        plain = dtype.base.names is None
        return inner if plain else inner * math.prod(dtype.shape)
    if dtype.names is not None:
        assert dtype.fields is not None
        return sum(_count(dtype.fields[name][0]) for name in dtype.names)  # pyright: ignore[reportArgumentType]
    return 1 if _word(dtype)[1] else 0


def _word(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Size and number of the words in an item of a plain dtype; none if it has no byte order."""
    size = dtype.itemsize
    if dtype.kind == "c":
        return size // 2, 2
    if dtype.kind == "U":
        return 4, size // 4
    if dtype.kind in "SOTb" or dtype.type is np.void:
        return 1, 0
    # Kinds "iufmM", and the types that packages add to NumPy ("V", but not void): one word an item.
    return size, int(size > 1)


def vary(items: np.ndarray, most: int) -> None:
    """Give `items` other values, numbers from 1 to `most` first, so that codecs can be tried on them."""
    dtype = items.dtype
    if dtype.names is not None:
        for name in dtype.names:
            vary(items[name], most)
    elif dtype.kind in "OT" and items.size:
        if dtype.kind == "T" or isinstance(items.flat[0], bytes):  # of other objects nothing is known
            items.flat[0] = "ab" if dtype.kind == "T" else b"ab"
    elif dtype.kind in "US":
        items[...] = "ab" if dtype.kind == "U" else b"ab"
    elif dtype.kind == "V" and dtype.isbuiltin != 2:  # the numbers of ml_dtypes are of the kind V, too
        items[...] = np.void(bytes(1 + i % 255 for i in range(dtype.itemsize)))
    elif dtype.kind != "O":
        numbers = np.arange(1, 1 + items.size) % ((1 if dtype.kind == "b" else most) + 1)
        items[...] = numbers.reshape(items.shape).astype("i8").astype(dtype)
