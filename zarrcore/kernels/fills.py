# SPDX-License-Identifier: MIT
"""Fill values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._core import kernels as _flat
from zarrcore.kernels._item import item_of
from zarrcore.kernels._memory import (
    PLAIN_TYPES,
    around,
    as_plain_items,
    bytes_of,
    check_blocks,
    is_registered,
    ndarray_of,
    only_out,
    refuse_padding,
    refuse_references,
    word_size,
)
from zarrcore.kernels._sharing import by_rows, check_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_FLOAT_BLOCK = 1 << 16  # floats compared at a time where they do not lie ready in memory


@_flat.fill_quick_first
def fill(out: np.ndarray, /, value: Any, *, threads: int | None = None) -> None:
    """Set every item of ``out`` to ``value``.

    Parameters
    ----------
    out : ndarray
        Writeable, any strides.
    value : scalar
        Must be representable: a number that does not fit, a fraction for an integer type, a string that is
        too long or a date finer than the unit is refused, also as a part of a tuple for fields.  A NumPy
        scalar of the type of ``out`` keeps all its bits.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Raises
    ------
    TypeError
        If ``value`` is of another kind than the items of ``out``, or these are references.
    ValueError
        If ``value`` does not fit or is no scalar, or ``out`` is read-only.

    Notes
    -----
    The GIL is released from 4 KiB on.

    Examples
    --------
    >>> out = np.empty((2, 3), "i4")
    >>> fill(out[:, ::2], 7)
    >>> out[:, 0].tolist()
    [7, 7]
    """
    ndarray_of(out, "out")
    if not out.flags.writeable:
        raise ValueError("out: the array is read-only")
    refuse_references(out.dtype, "out")
    item = item_of(value, out.dtype, "value")
    check_threads(threads)
    if out.ndim == 0:
        _flat.fill(out, item)
    else:
        by_rows(lambda rows: _flat.fill(out[rows], item), out.shape[0], out.nbytes, threads)


@around(
    _flat.equals_fill_blocks,
    [f"{char}{char}->?" for char in PLAIN_TYPES if char not in "gG"],
    ufunc_nan_equal=_flat.equals_fill_blocks_nan_equal,
)
def equals_fill(
    x: ArrayLike,
    fill: Any,
    /,
    *,
    nan_equal: bool = False,
    axis: int | None = None,
    out: np.ndarray | None = None,
    threads: int | None = None,
) -> Any:
    """Return whether every item of ``x`` equals ``fill``.

    Parameters
    ----------
    x : array_like
        Any type without references, any strides.
    fill : scalar
        As for :func:`fill`.
    nan_equal : bool, optional
        Compare floating-point and complex numbers by value: every NaN equals every NaN and -0.0 equals 0.0
        (those of ml_dtypes too).
        Otherwise, and for all other types, items are equal if all bits are, those between fields included.
    axis : int, optional
        Ask for each block along that axis; default: for the whole array.
    out : ndarray of bool, optional
        For the answers along an axis.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    bool or ndarray of bool
        True where there is no item.

    Raises
    ------
    TypeError, ValueError
        If ``fill`` is no value of the type of ``x``, as for :func:`fill`, or ``x`` is of extended precision
        (``longdouble``), whose items have bytes that mean nothing.

    Notes
    -----
    Decides whether a chunk must be stored at all.  Stops at the first block of memory with a difference.  The
    GIL is released from 4 KiB on.  ``equals_fill.ufunc`` is the :class:`numpy.ufunc` "(n),()->()" that
    compares bits, ``equals_fill.ufunc_nan_equal`` the one that compares numbers.

    Examples
    --------
    >>> equals_fill(np.array([0.0, -0.0]), 0.0), equals_fill(np.array([0.0, -0.0]), 0.0, nan_equal=True)
    (False, True)
    >>> equals_fill(np.array([[0, 0], [0, 1]]), 0, axis=1)
    array([ True, False])
    """
    if axis is not None:
        operand: Any = x if hasattr(x, "__array_ufunc__") else np.asanyarray(x)
        refuse_references(operand.dtype, "x")
        refuse_padding(operand.dtype, "x")
        out = only_out(out)
        check_threads(threads)
        if isinstance(operand, np.ndarray):
            axis = check_blocks(operand, "x", axis, out, np.dtype(np.bool_))
        item = item_of(fill, operand.dtype, "fill")
        if is_registered(operand.dtype):  # types for which the ufuncs have no loops
            plain = _widened if nan_equal else as_plain_items
            operand, item = plain(operand), plain(item)
        by_value = nan_equal and operand.dtype.kind in "fc"
        ufunc = _flat.equals_fill_blocks_nan_equal if by_value else _flat.equals_fill_blocks
        where = {} if axis in (-1, operand.ndim - 1) else {"axis": axis}
        return ufunc(operand, item, out=out, threads=threads, casting="equiv", **where)
    if out is not None:
        raise ValueError("out: only for answers along an axis")
    equal = _flat.quick_equals_fill(x, fill, nan_equal) if threads is None else None
    if equal is not None:
        return equal
    x = np.asarray(x)
    refuse_references(x.dtype, "x")
    refuse_padding(x.dtype, "x")
    check_threads(threads)
    value = item_of(fill, x.dtype, "fill")
    numbers = _widened(value) if nan_equal else value
    compare = _equals_by_value if nan_equal and numbers.dtype.kind in "fc" else _flat.equals_fill
    if x.ndim == 0:
        return compare(x, value)
    answers: list[bool] = []

    def ask(rows: slice) -> None:
        if all(answers):  # else it is known already
            answers.append(compare(x[rows], value))

    by_rows(ask, x.shape[0], x.nbytes, threads)
    return all(answers)


def _widened(array: np.ndarray) -> np.ndarray:
    """Return the same numbers in a type of NumPy, if ml_dtypes has added theirs."""
    if not is_registered(array.dtype):
        return array
    from zarrcore.dtypes.mlcast import widened

    return widened(array)


def _equals_by_value(x: np.ndarray, value: np.ndarray) -> bool:
    """Compare floats in the machine's byte order, block by block where they have to be brought together."""
    native = _widened(value).dtype.newbyteorder("=")
    size = word_size(native)
    if x.size == 0:
        return True
    fill_bytes = value.astype(native).reshape(-1).view(np.uint8)
    if x.flags.c_contiguous and x.dtype == native:
        return _flat.equals_fill_float(bytes_of(x, "x"), size, fill_bytes)
    blocks: Any = np.nditer(  # type: ignore[call-overload]  # numpy's stubs know no "contig"
        x,
        flags=["external_loop", "buffered"],
        op_flags=[["readonly", "contig", "nbo"]],  # pyright: ignore[reportArgumentType]
        op_dtypes=[native],
        casting="safe",
        order="K",
        buffersize=_FLOAT_BLOCK,
    )
    return all(_flat.equals_fill_float(bytes_of(block, "x"), size, fill_bytes) for block in blocks)
