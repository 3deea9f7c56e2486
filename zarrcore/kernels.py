# SPDX-License-Identifier: MIT
"""Kernels on memory: byte order, transposition, fill values, checksums, shard indexes.

They take positional arrays and ``out=`` as NumPy's universal functions do and work for any strides, alignment
and byte order.  None of them keeps state, and all release the GIL when there is work enough to share, so that
any number of threads may call them at once.

>>> import numpy as np
>>> from zarrcore import kernels
>>> kernels.byteswap(np.array([1, 256], dtype="<u2"))
array([256,   1], dtype=uint16)
>>> hex(kernels.crc32c(b"123456789"))
'0xe3069283'
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrcore._core import kernels as _flat

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "SHARD_EMPTY",
    "byteswap",
    "copy_region",
    "crc32c",
    "equals_fill",
    "fill",
    "shard_index_pack",
    "shard_index_unpack",
    "transpose",
]

SHARD_EMPTY = 2**64 - 1
"""Offset and length that stand for an inner chunk which is not there."""

_FLOAT_BLOCK = 1 << 16  # floats compared at a time where they do not lie ready in memory


# --- checksums ------------------------------------------------------------------------------------


def crc32c(data: Any, value: int = 0) -> int:
    """CRC-32C (Castagnoli) of a buffer.

    Parameters
    ----------
    data : bytes-like or ndarray
        Contiguous bytes of any type.
    value : int, optional
        The checksum of what comes before ``data``, to continue from; 0 at the start.

    Returns
    -------
    int
        The checksum, 0 to 2**32 - 1.

    Raises
    ------
    TypeError
        If ``data`` has no buffer or ``value`` is no integer.
    ValueError
        If ``data`` is not C-contiguous or ``value`` does not fit into 32 bits.

    Notes
    -----
    RFC 3720, appendix B.4; the ``crc32c`` codec of Zarr v3 stores it in little-endian order behind the data.
    Uses the CRC instructions of the CPU.  The GIL is released from 4 KiB on.

    Examples
    --------
    >>> crc32c(b"6789", crc32c(b"12345")) == crc32c(b"123456789")
    True
    """
    return _flat.crc32c(data, value)


def _contiguous(data: Any) -> Any:
    """The buffer, if it is one and lies in one piece."""
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"data: expected a bytes-like object, got {type(data).__name__}") from None
    if not view.c_contiguous:
        raise ValueError("data: expected C-contiguous memory")
    return view


def _bytes_of(array: np.ndarray, name: str) -> NDArray[np.uint8]:
    """The memory of a C-contiguous array, whatever its type."""
    if array.dtype.hasobject or array.dtype.kind == "T":
        raise TypeError(f"{name}: items of {array.dtype} are references, not bytes")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name}: expected C-contiguous memory")
    return array.reshape(-1).view(np.uint8) if array.size and array.itemsize else np.empty(0, np.uint8)


# --- byte order -----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _words(dtype: np.dtype, offset: int = 0) -> tuple[tuple[int, int, int, bool], ...]:
    """(offset, size, count, native) of the words in one item that have a byte order."""
    if dtype.fields is not None:
        parts = (_words(field[0], offset + field[1]) for field in map(dtype.fields.__getitem__, dtype.names))
        return tuple(word for part in parts for word in part)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape, dtype=np.int64))
        starts = range(offset, offset + count * base.itemsize, base.itemsize) if base.itemsize else ()
        return tuple(word for start in starts for word in _words(base, start))
    if dtype.hasobject or dtype.kind == "T":
        raise TypeError(f"items of {dtype} are references, not bytes")

    size = _word_size(dtype)
    if size == 1:
        return ()
    if size not in (2, 4, 8):
        raise TypeError(f"{dtype} has words of {size} bytes; expected 1, 2, 4 or 8")
    return ((offset, size, dtype.itemsize // size, dtype.isnative),) if dtype.itemsize else ()


def _word_size(dtype: np.dtype) -> int:
    """Bytes that a change of byte order reverses together, in a type without fields."""
    if dtype.kind in "bS" or dtype.type is np.void:
        return 1
    if dtype.kind == "U":
        return 4
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def _copy(dst: np.ndarray, src: np.ndarray, words: Sequence[tuple[int, int, int, bool]]) -> None:
    """Copy with those words swapped: as one word size where they make up the item, else field by field."""
    if not words:
        _flat.copy(dst, src)
    elif len(words) == 1 and words[0][1] * words[0][2] == dst.dtype.itemsize:
        _flat.copy(dst, src, words[0][1])
    else:
        _flat.copy(dst, src, 0, np.array([word[:3] for word in words], dtype=np.uint32))


def _array(x: Any, name: str) -> np.ndarray:
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{name}: expected an ndarray, got {type(x).__name__}")
    return x


def _check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """``out`` if it has exactly that type and shape and can be written."""
    _array(out, "out")
    if out.dtype != dtype:
        raise TypeError(f"out: expected data type {dtype}, got {out.dtype}")
    if out.shape != shape:
        raise ValueError(f"out: expected shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ValueError("out: the array is read-only")
    return out


def _same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.ctypes.data == b.ctypes.data and a.strides == b.strides


def _apart(src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """``src``, or a copy of it where the two might overlap."""
    return src.copy() if np.may_share_memory(src, dst) else src


def byteswap(x: ArrayLike, /, out: np.ndarray | None = None) -> np.ndarray:
    """Reverse the bytes of each word, as :meth:`numpy.ndarray.byteswap` does.

    Parameters
    ----------
    x : array_like
        Any type without references.  Complex numbers are two words, strings of type U one for each character;
        booleans and raw bytes stay as they are; each field of a structured type is swapped by itself.
    out : ndarray, optional
        Of the shape and exactly the type of ``x``.  It may be ``x`` itself: then the bytes are swapped in
        place.

    Returns
    -------
    ndarray
        ``out``, or a new C-contiguous array, of the type of ``x``.

    Raises
    ------
    TypeError
        If the items are references or have words of more than 8 bytes, or ``out`` has another type.
    ValueError
        If ``out`` has another shape or is read-only.

    Notes
    -----
    The ``bytes`` codec of Zarr v3 with an ``endian`` other than the machine's.  One pass for any strides,
    with the shuffle instructions of the CPU where memory is contiguous.  The GIL is released from 4 KiB on.
    """
    x = np.asarray(x)
    words = _words(x.dtype)
    if out is None:
        out = np.empty(x.shape, dtype=x.dtype)
    else:
        _check_out(out, x.shape, x.dtype)
        if not words and _same_memory(x, out):
            return out
        if not _same_memory(x, out):
            x = _apart(x, out)
    _copy(out, x, words)
    return out


# --- regions --------------------------------------------------------------------------------------


def copy_region(dst: np.ndarray, src: np.ndarray, /) -> None:
    """``dst[...] = src`` where the two differ in strides and byte order only.

    Parameters
    ----------
    dst : ndarray
        Writeable, any strides.
    src : ndarray
        The same shape and, apart from byte order, the same type.  Any strides: a transposed, reversed or
        broadcast view is read where it lies.

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
    _array(dst, "dst")
    _array(src, "src")
    words = _differing_words(dst.dtype, src.dtype)
    if dst.shape != src.shape:
        raise ValueError(f"src: expected shape {dst.shape}, got {src.shape}")
    if not dst.flags.writeable:
        raise ValueError("dst: the array is read-only")
    _copy(dst, _apart(src, dst), words)


@lru_cache(maxsize=256)
def _differing_words(dst: np.dtype, src: np.dtype) -> tuple[tuple[int, int, int, bool], ...]:
    """The words that have another byte order in dst than in src."""
    if dst.newbyteorder("=") != src.newbyteorder("="):
        raise TypeError(f"src: expected data type {dst} (in either byte order), got {src}")
    pairs = zip(_words(dst), _words(src), strict=True)
    return tuple(to for to, source in pairs if to[3] != source[3])


def transpose(x: ArrayLike, /, order: Sequence[int], out: np.ndarray | None = None) -> np.ndarray:
    """Permute the dimensions in memory: dimension ``i`` of the result is dimension ``order[i]`` of ``x``.

    Parameters
    ----------
    x : array_like
        Any type without references, any strides.
    order : sequence of int
        Each of ``0 .. ndim - 1`` once.
    out : ndarray, optional
        Of the permuted shape; it may have the other byte order, which is then converted in the same pass.

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
    axes = tuple(operator.index(axis) for axis in order)
    if sorted(axes) != list(range(x.ndim)):
        raise ValueError(f"order: expected a permutation of 0..{x.ndim - 1}, got {axes}")
    permuted = x.transpose(axes)
    if out is None:
        out = np.empty(permuted.shape, dtype=x.dtype)
    elif not isinstance(out, np.ndarray) or out.shape != permuted.shape:
        _check_out(out, permuted.shape, out.dtype if isinstance(out, np.ndarray) else x.dtype)
    copy_region(out, permuted)
    return out


# --- fill values ----------------------------------------------------------------------------------


def fill(out: np.ndarray, /, value: Any) -> None:
    """Set every item of ``out`` to ``value``.

    Parameters
    ----------
    out : ndarray
        Writeable, any strides.
    value : scalar
        Must be representable: an integer that does not fit, a fraction for an integer type or a string that
        is too long is refused.  A NumPy scalar of the type of ``out`` keeps all its bits.

    Raises
    ------
    TypeError
        If ``value`` is of another kind than the items of ``out``, or these are references.
    ValueError
        If ``value`` does not fit or is no scalar, or ``out`` is read-only.

    Notes
    -----
    The GIL is released from 4 KiB on.
    """
    _array(out, "out")
    if not out.flags.writeable:
        raise ValueError("out: the array is read-only")
    _flat.fill(out, _item(value, out.dtype))


def equals_fill(x: ArrayLike, fill: Any, /, *, nan_equal: bool = False) -> bool:
    """Is every item of ``x`` equal to ``fill``?

    Parameters
    ----------
    x : array_like
        Any type without references, any strides.
    fill : scalar
        As for :func:`fill`.
    nan_equal : bool, optional
        Compare floating-point and complex numbers by value: every NaN equals every NaN and -0.0 equals 0.0.
        Otherwise, and for all other types, items are equal if all bits are.

    Returns
    -------
    bool
        True for an empty array.

    Raises
    ------
    TypeError, ValueError
        If ``fill`` is no value of the type of ``x``, as for :func:`fill`.

    Notes
    -----
    Decides whether a chunk need be stored at all.  Stops at the first block of memory with a difference.  The
    GIL is released from 4 KiB on.

    Examples
    --------
    >>> equals_fill(np.array([0.0, -0.0]), 0.0), equals_fill(np.array([0.0, -0.0]), 0.0, nan_equal=True)
    (False, True)
    """
    x = np.asarray(x)
    value = _item(fill, x.dtype)
    if not nan_equal or x.dtype.kind not in "fc":
        return _flat.equals_fill(x, value)
    return _equals_by_value(x, value)


def _equals_by_value(x: np.ndarray, value: np.ndarray) -> bool:
    """Compare floats in the machine's byte order, block by block where they have to be brought together."""
    native = x.dtype.newbyteorder("=")
    size = _word_size(native)
    if size not in (2, 4, 8):
        raise TypeError(f"{x.dtype} has words of {size} bytes; expected 2, 4 or 8")
    if x.size == 0:
        return True
    fill_bytes = value.astype(native, casting="equiv").reshape(-1).view(np.uint8)
    if x.flags.c_contiguous and x.dtype.isnative:
        return _flat.equals_fill_float(_bytes_of(x, "x"), size, fill_bytes)
    blocks = np.nditer(
        x,
        flags=["external_loop", "buffered"],
        op_flags=[["readonly", "contig", "nbo"]],
        op_dtypes=[native],
        casting="equiv",
        order="K",
        buffersize=_FLOAT_BLOCK,
    )
    return all(_flat.equals_fill_float(_bytes_of(block, "x"), size, fill_bytes) for block in blocks)


_ACCEPTED = {"b": "b", "f": "biuf", "c": "biufc", "U": "U", "S": "S", "M": "MUiu", "m": "mUiu", "V": "VSO"}
"""Kinds of value that an item of each kind can be made from (integers are handled apart)."""


def _item(value: Any, dtype: np.dtype) -> np.ndarray:
    """``value`` as a 0-d array of exactly that type, or the reason why not."""
    if dtype.hasobject or dtype.kind == "T":
        raise TypeError(f"items of {dtype} are references, not bytes")
    if isinstance(value, np.generic | np.ndarray) and value.dtype == dtype:
        item = np.asarray(value)
    elif dtype.kind in "iu":
        item = _integer_item(value, dtype)
    else:
        item = _converted_item(value, dtype)
    if item.ndim != 0:
        raise ValueError(f"expected a scalar, got an array of shape {item.shape}")
    return item


def _integer_item(value: Any, dtype: np.dtype) -> np.ndarray:
    try:
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"expected an integer for {dtype}, got {value!r}") from None
    try:
        return np.array(integer, dtype=dtype)
    except OverflowError:
        raise ValueError(f"{integer} does not fit into {dtype}") from None


def _converted_item(value: Any, dtype: np.dtype) -> np.ndarray:
    found = np.asarray(value) if dtype.kind != "V" or not isinstance(value, tuple) else None
    # Types that NumPy does not know itself (bfloat16, ...) have kind V and a scalar class of their own.
    kinds = "biufV" if dtype.kind == "V" and dtype.type is not np.void else _ACCEPTED[dtype.kind]
    if found is not None and found.dtype.kind not in kinds:
        raise TypeError(f"expected a value for {dtype}, got {value!r}")
    if found is not None and dtype.kind in "USV" and found.dtype.itemsize > dtype.itemsize:
        raise ValueError(f"{value!r} is too long for {dtype}")
    try:
        return np.array(value, dtype=dtype)
    except OverflowError as error:
        raise ValueError(f"{value!r} does not fit into {dtype}: {error}") from None


# --- shard index ----------------------------------------------------------------------------------


def _big_endian(byteorder: str) -> bool:
    if byteorder not in ("little", "big"):
        raise ValueError(f'byteorder: expected "little" or "big", got {byteorder!r}')
    return byteorder == "big"


def _unsigned(values: ArrayLike, name: str) -> NDArray[np.uint64]:
    """A flat uint64 array of what may be any integers >= 0."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, dtype=np.uint64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got {array.dtype}")
    if array.dtype.kind == "i" and array.min() < 0:
        raise ValueError(f"{name}: expected integers >= 0, got {array.min()}")
    return array.astype(np.uint64).reshape(-1)


def shard_index_pack(
    offsets: ArrayLike,
    nbytes: ArrayLike,
    /,
    *,
    byteorder: Literal["little", "big"] = "little",
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Pack offsets and lengths of inner chunks into the bytes of a shard index.

    Parameters
    ----------
    offsets, nbytes : array_like of int
        Place and length of each inner chunk in bytes, in C order, of the same size; both :data:`SHARD_EMPTY`
        where an inner chunk is not there.
    byteorder : {"little", "big"}, optional
        Of the stored 64-bit words.
    out : ndarray of uint8, optional
        16 bytes for each inner chunk, 1-d and C-contiguous.

    Returns
    -------
    ndarray of uint8
        ``out``, or a new array: the index without a checksum.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no integers, negative or of different size, or ``out`` does not fit.

    Notes
    -----
    The ``sharding_indexed`` codec of Zarr v3, "Binary shard format".  The GIL is released from 4 KiB on.

    Examples
    --------
    >>> shard_index_pack([0], [258]).tobytes().hex()
    '00000000000000000201000000000000'
    """
    big = _big_endian(byteorder)
    first, second = _unsigned(offsets, "offsets"), _unsigned(nbytes, "nbytes")
    if first.size != second.size:
        raise ValueError(f"nbytes: expected {first.size} lengths, as many as offsets, got {second.size}")
    size = 16 * first.size
    if out is None:
        out = np.empty(size, dtype=np.uint8)
    else:
        _check_out(out, (size,), np.dtype(np.uint8))
        if not out.flags.c_contiguous:
            raise ValueError("out: expected C-contiguous memory")
    _flat.shard_index_pack(np.stack((first, second), axis=1), big, out)
    return out


def shard_index_unpack(
    buf: Any,
    /,
    *,
    shard_nbytes: int,
    byteorder: Literal["little", "big"] = "little",
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Unpack a shard index and check every entry against the size of the shard.

    Parameters
    ----------
    buf : bytes-like or ndarray
        The index without its checksum, 16 bytes for each inner chunk.
    shard_nbytes : int
        Size of the shard in bytes.
    byteorder : {"little", "big"}, optional
        Of the stored 64-bit words.

    Returns
    -------
    offsets, nbytes : ndarray of uint64
        1-d, in C order of the inner chunks; both :data:`SHARD_EMPTY` where an inner chunk is not there.

    Raises
    ------
    TypeError
        If ``buf`` has no buffer.
    ValueError
        If ``buf`` is not a multiple of 16 bytes, or an entry reaches outside of the shard or is half empty.

    Notes
    -----
    The ``sharding_indexed`` codec of Zarr v3, "Binary shard format".  The GIL is released.

    Examples
    --------
    >>> shard_index_unpack(shard_index_pack([0, 10], [10, 5]), shard_nbytes=15)
    (array([ 0, 10], dtype=uint64), array([10,  5], dtype=uint64))
    """
    big = _big_endian(byteorder)
    size = operator.index(shard_nbytes)
    if not 0 <= size < 2**64:
        raise ValueError(f"shard_nbytes: expected an integer 0..2**64 - 1, got {shard_nbytes}")
    data = _bytes_of(buf, "buf") if isinstance(buf, np.ndarray) else np.frombuffer(_contiguous(buf), np.uint8)
    if len(data) % 16:
        raise ValueError(f"buf: expected 16 bytes for each inner chunk, got {len(data)} bytes")
    entries = _flat.shard_index_unpack(data, big, size)
    return entries[:, 0], entries[:, 1]
