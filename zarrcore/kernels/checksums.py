# SPDX-License-Identifier: MIT
"""Checksums."""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrcore._core import kernels as _flat
from zarrcore.kernels._memory import (
    PLAIN_TYPES,
    around,
    as_plain_items,
    check_blocks,
    only_out,
    refuse_references,
)


@around(_flat.crc32c_blocks, [f"{char}I->I" for char in PLAIN_TYPES])
@_flat.crc32c_whole_first
def crc32c(
    data: Any,
    value: Any = 0,
    *,
    axis: int | None = None,
    out: np.ndarray | None = None,
    threads: int | None = None,
) -> Any:
    """Compute the CRC-32C (Castagnoli) of a buffer, or of each block of an array.

    Parameters
    ----------
    data : bytes-like or ndarray
        Bytes of any type, in C order; with gaps between them they are copied first.
    value : int or array_like, optional
        The checksum of what comes before ``data``, to continue from; 0 at the start.  Along an axis it may be
        an array of uint32, one for each block.
    axis : int, optional
        Compute a checksum for each block along that axis; default: one for all bytes.
    out : ndarray of uint32, optional
        For the checksums along an axis.
    threads : int, optional
        The most threads to use along an axis; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    int or ndarray of uint32
        The checksum, 0 to 2**32 - 1.

    Raises
    ------
    TypeError
        If ``data`` has no buffer or ``value`` is no integer.
    ValueError
        If ``value`` does not fit into 32 bits.

    Notes
    -----
    RFC 3720, appendix B.4; the ``crc32c`` codec of Zarr v3 stores it in little-endian order after the data.
    Uses the CRC instructions of the CPU.  The GIL is released from 4 KiB on.  ``crc32c.ufunc`` is the
    :class:`numpy.ufunc` "(n),()->()" over items of any type, as they lie in memory, and an initial value.

    Examples
    --------
    >>> crc32c(b"6789", crc32c(b"12345")) == crc32c(b"123456789")
    True
    >>> blocks = np.frombuffer(b"1234567891234567890", np.uint8)[:18].reshape(2, 9)
    >>> crc32c(blocks, axis=1).tolist() == [crc32c(block) for block in blocks]
    True
    """
    if axis is None:
        raise ValueError("out: only for checksums along an axis")
    out = only_out(out)
    if not hasattr(data, "__array_ufunc__"):
        data = np.asanyarray(data)
    if isinstance(data, np.ndarray):
        refuse_references(data.dtype, "data")
    initial = _initial(value)
    if isinstance(data, np.ndarray):
        axis = check_blocks(data, "data", axis, out, np.dtype(np.uint32), initial.shape)
        data = as_plain_items(data)
    where = {} if axis in (-1, np.ndim(data) - 1) else {"axis": axis}
    return _flat.crc32c_blocks(data, initial, out=out, threads=threads, casting="no", **where)


def _initial(value: Any) -> Any:
    """Initial values as uint32; integers of other types must fit."""
    values = np.asarray(value)
    if values.dtype == np.uint32:
        return values
    if values.dtype.kind not in "iu":
        raise TypeError(f"value: expected integers, got {values.dtype}")
    if values.size and not 0 <= int(values.min()) <= int(values.max()) < 2**32:
        raise ValueError(f"value: expected integers 0..2**32 - 1, got {value}")
    return values.astype(np.uint32)
