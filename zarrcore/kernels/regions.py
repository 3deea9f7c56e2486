# SPDX-License-Identifier: MIT
"""Byte order and transposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._core import kernels as _flat
from zarrcore.kernels._memory import (
    PLAIN_TYPES,
    apart,
    around,
    broadcast_shape,
    check_out,
    copy,
    in_native_order,
    index_of,
    is_registered,
    ndarray_of,
    only_out,
    refuse_references,
    same_memory,
    words_of,
)
from zarrcore.kernels._sharing import by_rows, check_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from zarrcore.kernels._memory import Casting

Words = tuple[tuple[int, int, int, bool], ...]
"""What :func:`words_of` returns."""


@around(_flat.byteswap, [f"{char}->{char}" for char in PLAIN_TYPES])
@_flat.byteswap_quick_first
def byteswap(
    x: ArrayLike,
    /,
    out: np.ndarray | tuple[np.ndarray] | None = None,
    *,
    where: ArrayLike = True,
    casting: Casting = "no",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Reverse the bytes of each word, as :meth:`numpy.ndarray.byteswap` does.

    Parameters
    ----------
    x : array_like
        Any type without references.  Complex numbers are two words, strings of type U one for each character;
        booleans and raw bytes stay as they are; each field of a structured type is swapped by itself.
    out : ndarray, optional
        Of exactly the type of ``x``, and a shape that ``x`` can be broadcast to.  It may be ``x`` itself:
        then the bytes are swapped in place.
    where : array_like of bool, optional
        The items to swap; the others of ``out`` stay as they are.  Without ``out`` these have no value: a
        UserWarning, unless ``out=None`` is given.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}, optional
        Which conversions are allowed, of ``x`` to ``dtype`` and of the result to ``out``, as in NumPy.  By
        default none: the bytes of converted items are not those that were stored.
    dtype : data type, optional
        What ``x`` is converted to first; default: its own.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    ndarray
        ``out``, or a new array, of the type (and the byte order) of ``x``; a scalar for a scalar, unless it
        is text or of extended precision, since no scalar has such bytes.

    Raises
    ------
    TypeError
        If the items are references, or ``out`` has another type.
    ValueError
        If ``out`` has another shape or is read-only, or ``where`` does not fit.

    Notes
    -----
    The ``bytes`` codec of Zarr v3 with an ``endian`` other than the machine's.  ``byteswap.ufunc`` is the
    :class:`numpy.ufunc` under it (without structured types); used directly, it needs ``casting="no"`` to
    refuse an ``out`` of another type.  The GIL is released.

    Examples
    --------
    >>> byteswap(np.array([1, 256], dtype="<u2"))
    array([256,   1], dtype=uint16)
    """
    is_scalar = out is None and not isinstance(x, np.ndarray) and np.ndim(x) == 0
    if not hasattr(x, "__array_ufunc__") or isinstance(x, np.generic):
        x = np.asanyarray(x)
    target = only_out(out)
    check_threads(threads)
    if not isinstance(x, np.ndarray):
        return _swap_others(x, target, where)
    if dtype is not None or casting != "no":
        as_it = {} if dtype is None else {"signature": (dtype, dtype)}
        return _flat.byteswap(x, out=target, where=where, threads=threads, casting=casting, **as_it)
    refuse_references(x.dtype, "x")
    shape = x.shape if where is True else _masked_shape(x.shape, where)
    if target is not None:
        check_out(target, shape, x.dtype, may_repeat=True)
    elif x.ndim == 0 and where is True:
        target = np.empty_like(x)  # a scalar would not keep the bits of every boolean
    if x.dtype.fields is not None or is_registered(x.dtype):
        swapped = _swap_words(x, target, where, shape)
    else:
        swapped = _flat.byteswap(x, out=target, where=where, threads=threads, casting="no")
    return swapped[()] if is_scalar and x.dtype.char not in "UgG" else swapped


def _swap_others(x: Any, out: Any, where: ArrayLike) -> Any:
    """Return the object that overrides ``__array_ufunc__``; those of dask do not know ``casting``."""
    found, expected = getattr(out, "dtype", None), getattr(x, "dtype", None)
    if out is not None and found != expected:
        raise TypeError(f"out: expected data type {expected}, got {found}")
    options = {} if where is True else {"where": where}
    return _flat.byteswap(x, **options) if out is None else _flat.byteswap(x, out=out, **options)


def _masked_shape(shape: tuple[int, ...], where: ArrayLike) -> tuple[int, ...]:
    whole = broadcast_shape(shape, np.shape(where))
    if whole is None:
        raise ValueError(f"where: expected what fits to shape {shape}, got shape {np.shape(where)}")
    return whole


def _named(name: str, words: Callable[..., Words], *dtypes: np.dtype) -> Words:
    """Return the words of data types, with the argument that they come from in errors."""
    try:
        return words(*dtypes)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def _swap_words(
    x: np.ndarray, out: np.ndarray | None, where: ArrayLike, shape: tuple[int, ...]
) -> np.ndarray:
    """Types that the ufunc does not know: structured ones, and those that other packages registered."""
    words = _named("x", words_of, x.dtype)
    if out is None:
        out = np.empty_like(x, shape=shape)
    if where is not True or out.shape != x.shape:
        swapped = np.empty_like(x)
        copy(swapped, x, words)
        np.copyto(out, swapped, where=where)
        return out
    in_place = same_memory(x, out)
    if words or not in_place:
        copy(out, x if in_place else apart(x, out), words)
    return out


@_flat.copy_region_quick_first
def copy_region(dst: np.ndarray, src: np.ndarray, /, *, threads: int | None = None) -> None:
    """Copy ``src`` to ``dst``, which differ in strides and byte order only: ``dst[...] = src``.

    Parameters
    ----------
    dst : ndarray
        Writeable, any strides.
    src : ndarray
        The same shape and, apart from byte order, the same type.  Any strides: a transposed, reversed or
        broadcast view is read where it lies.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Raises
    ------
    TypeError
        If the types differ in more than byte order, or items are references.
    ValueError
        If the shapes differ or ``dst`` is read-only.

    Notes
    -----
    Byte swap, transposition and strides in one pass over the memory, in blocks of cache lines.  Bits are
    never changed (a signalling NaN stays one).  The GIL is released from 4 KiB on.

    Examples
    --------
    >>> out = np.zeros((2, 3), dtype="<u2")
    >>> copy_region(out, np.arange(6, dtype=">u2").reshape(3, 2).T)
    >>> out
    array([[0, 2, 4],
           [1, 3, 5]], dtype=uint16)
    """
    ndarray_of(dst, "dst")
    ndarray_of(src, "src")
    refuse_references(dst.dtype, "dst")
    refuse_references(src.dtype, "src")
    if dst.dtype.newbyteorder("=") != src.dtype.newbyteorder("="):
        raise TypeError(f"src: expected data type {dst.dtype} (in either byte order), got {src.dtype}")
    if dst.shape != src.shape:
        raise ValueError(f"src: expected shape {dst.shape}, got {src.shape}")
    if not dst.flags.writeable:
        raise ValueError("dst: the array is read-only")
    _copy(dst, src, threads, "src")


def _copy(dst: np.ndarray, src: np.ndarray, threads: int | None, name: str) -> None:
    """Do the same with arrays that fit; `name` is the argument that src comes from."""
    check_threads(threads)
    words = () if dst.dtype == src.dtype else _named(name, _differing_words, dst.dtype, src.dtype)
    src = apart(src, dst)
    if dst.ndim == 0:
        copy(dst, src, words)
    else:
        by_rows(lambda rows: copy(dst[rows], src[rows], words), dst.shape[0], dst.nbytes, threads)


@lru_cache(maxsize=256)
def _differing_words(dst: np.dtype, src: np.dtype) -> Words:
    """Return the words that have another byte order in dst than in src."""
    pairs = zip(words_of(dst), words_of(src), strict=True)
    return tuple(to for to, source in pairs if to[3] != source[3])


@_flat.transpose_quick_first
def transpose(
    x: ArrayLike,
    /,
    order: Sequence[int] | None = None,
    out: np.ndarray | None = None,
    *,
    threads: int | None = None,
) -> np.ndarray:
    """Permute the dimensions in memory: dimension ``i`` of the result is dimension ``order[i]`` of ``x``.

    Parameters
    ----------
    x : array_like
        Any type without references, any strides.
    order : sequence of int, optional
        Each of ``0 .. ndim - 1`` once, or counted from the last one: ``-1``, ``-2``...  Default: reversed.
    out : ndarray, optional
        Of the permuted shape; it may have the other byte order, which is then converted in the same pass.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    ndarray
        ``out``, or a new C-contiguous array.

    Raises
    ------
    TypeError
        If ``out`` has another type, or items are references.
    ValueError
        If ``order`` is no permutation, or ``out`` has another shape or is read-only.

    Notes
    -----
    The encoding direction of the ``transpose`` codec of Zarr v3.  Planes whose fast dimension changes are
    moved in blocks of 16 x 16 bytes inside the registers.  The GIL is released from 4 KiB on.

    Examples
    --------
    >>> transpose(np.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x = np.asarray(x)
    axes = _axes(order, x.ndim)
    refuse_references(x.dtype, "x")
    permuted = x.transpose(axes)
    if out is None:
        out = np.empty(permuted.shape, dtype=x.dtype)
    else:
        same = in_native_order(ndarray_of(out, "out").dtype) == x.dtype.newbyteorder("=")
        check_out(out, permuted.shape, out.dtype if same else x.dtype)
    _copy(out, permuted, threads, "x")
    return out


def _axes(order: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes counted from the first one."""
    try:
        given = tuple(range(ndim))[::-1] if order is None else tuple(order)
    except TypeError:
        raise TypeError(f"order: expected a sequence of integers, got {order!r}") from None
    given = tuple(index_of(axis, "order") for axis in given)
    axes = tuple(axis + ndim if axis < 0 else axis for axis in given)
    if sorted(axes) != list(range(ndim)):
        raise ValueError(f"order: expected a permutation of 0..{ndim - 1}, got {given}")
    return axes
