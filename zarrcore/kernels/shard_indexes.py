# SPDX-License-Identifier: MIT
"""The index of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrcore._core import kernels as _flat
from zarrcore.kernels._memory import apart, broadcast_shape, buffer_of, dense_bytes_of, flat_out, index_of
from zarrcore.kernels._sharing import PIECE_NBYTES, by_rows, check_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SHARD_EMPTY = 2**64 - 1
"""Offset and length that stand for an inner chunk which is not there."""


def _big_endian(byteorder: str) -> bool:
    if byteorder not in ("little", "big"):
        raise ValueError(f'byteorder: expected "little" or "big", got {byteorder!r}')
    return byteorder == "big"


def _unsigned(values: ArrayLike, name: str) -> NDArray[np.uint64]:
    """Return a flat uint64 array of what may be any integers >= 0."""
    array = np.asarray(values)
    if array.dtype == np.uint64:
        return array.reshape(-1)
    if array.dtype.kind in "fO" and not hasattr(values, "dtype"):
        array = _unsigned_integers(values, name)  # NumPy makes floats of [SHARD_EMPTY, 0]
    if array.size == 0:
        return np.empty(0, dtype=np.uint64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got {array.dtype}")
    if array.dtype.kind == "i" and array.min() < 0:
        raise ValueError(f"{name}: expected integers >= 0, got {array.min()}")
    return array.astype(np.uint64).reshape(-1)


def _unsigned_integers(values: Any, name: str) -> NDArray[np.uint64]:
    items = [index_of(item, name) for item in np.asarray(values, dtype=object).reshape(-1)]
    for item in items:
        if not 0 <= item <= SHARD_EMPTY:
            raise ValueError(f"{name}: expected integers 0..2**64 - 1, got {item}")
    return np.array(items, dtype=np.uint64)


def shard_index_pack(
    offsets: ArrayLike,
    nbytes: ArrayLike,
    /,
    *,
    byteorder: Literal["little", "big"] = "little",
    out: NDArray[np.uint8] | None = None,
    threads: int | None = None,
) -> NDArray[np.uint8]:
    """Pack offsets and lengths of inner chunks into the bytes of a shard index.

    Parameters
    ----------
    offsets, nbytes : array_like of int
        Place and length of each inner chunk in bytes, in C order, of shapes that broadcast or the same
        size; both :data:`SHARD_EMPTY` where an inner chunk is not there.
    byteorder : {"little", "big"}, optional
        Of the stored 64-bit words.
    out : ndarray of uint8, optional
        16 bytes for each inner chunk, 1-d and C-contiguous.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

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
    if out is None and threads is None and byteorder == "little":
        packed = _flat.quick_shard_index_pack(offsets, nbytes)
        if packed is not None:
            return packed
    big = _big_endian(byteorder)
    first, second = _unsigned(offsets, "offsets"), _unsigned(nbytes, "nbytes")
    shapes = np.shape(offsets), np.shape(nbytes)
    whole = broadcast_shape(*shapes)
    if whole is not None:
        first, second = (
            np.broadcast_to(column.reshape(shape), whole).reshape(-1)
            for column, shape in zip((first, second), shapes, strict=True)
        )
    if first.size != second.size:
        raise ValueError(f"nbytes: expected {first.size} lengths, as many as offsets, got {second.size}")
    packed = flat_out(out, 16 * first.size, np.dtype(np.uint8))
    check_threads(threads)
    columns = (apart(first, packed), apart(second, packed))

    def pack(rows: slice) -> None:
        entries = np.stack([column[rows] for column in columns], axis=1)
        _flat.shard_index_pack(entries, big, packed[16 * rows.start : 16 * rows.stop])

    by_rows(pack, first.size, packed.size, threads)
    return packed


def shard_index_unpack(
    buf: Any,
    /,
    *,
    shard_nbytes: int,
    byteorder: Literal["little", "big"] = "little",
    threads: int | None = None,
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
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

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
    size = index_of(shard_nbytes, "shard_nbytes")
    if not 0 <= size < 2**64:
        raise ValueError(f"shard_nbytes: expected an integer 0..2**64 - 1, got {shard_nbytes}")
    data = buf if type(buf) is bytes else dense_bytes_of(buf, "buf")
    if len(data) % 16:
        raise ValueError(f"buf: expected 16 bytes for each inner chunk, got {len(data)} bytes")
    check_threads(threads)
    entries = np.empty((len(data) // 16, 2), np.uint64)
    if len(data) < 2 * PIECE_NBYTES:
        _flat.shard_index_unpack(data, big, size, entries)
    else:
        _unpack_shared(buffer_of(data, "buf"), big, size, entries, threads)
    return entries[:, 0], entries[:, 1]


def _unpack_shared(
    data: NDArray[np.uint8], big: bool, size: int, entries: NDArray[np.uint64], threads: int | None
) -> None:
    def unpack(rows: slice) -> None:
        _flat.shard_index_unpack(data[16 * rows.start : 16 * rows.stop], big, size, entries[rows])

    try:
        by_rows(unpack, len(entries), len(data), threads)
    except ValueError:
        unpack(slice(0, len(entries)))  # names the first wrong entry by its number in the whole
        raise
