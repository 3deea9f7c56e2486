# SPDX-License-Identifier: MIT
"""Kernels on memory: byte order, transposition, chunk grids, fill values, filters, checksums, compression.

They look and feel like NumPy's universal functions.  Where a kernel works item by item, or block by block,
there is a real :class:`numpy.ufunc`: the name itself, or the ``ufunc`` attribute of a function that also
fixes its casting (a change of type between bytes and their checksum would be silent nonsense).  All take
positional arrays and ``out=``, any strides, alignment and byte order, keep no state, and release the GIL when
there is work enough to share: any number of threads may call them at once.

>>> import numpy as np
>>> from zarrcore import kernels
>>> kernels.byteswap(np.array([1, 256], dtype="<u2"))
array([256,   1], dtype=uint16)
>>> hex(kernels.crc32c(b"123456789"))
'0xe3069283'
>>> kernels.chunk_index([0, 99, 100], 100)
(array([0, 0, 1]), array([ 0, 99,  0]))
"""

from __future__ import annotations

from zarrcore._core.kernels import chunk_count, chunk_index, morton_decode, morton_encode, share_calls
from zarrcore.kernels._calls import share
from zarrcore.kernels.checksums import crc32c
from zarrcore.kernels.compression import (
    blosc_decode,
    blosc_encode,
    gzip_decode,
    gzip_encode,
    lz4_decode,
    lz4_encode,
    zlib_decode,
    zlib_encode,
    zstd_decode,
    zstd_encode,
)
from zarrcore.kernels.fills import equals_fill, fill
from zarrcore.kernels.filters import (
    bitshuffle,
    bitunshuffle,
    delta_decode,
    delta_encode,
    pack_bits,
    shuffle,
    unpack_bits,
    unshuffle,
)
from zarrcore.kernels.regions import byteswap, copy_region, transpose
from zarrcore.kernels.shard_indexes import SHARD_EMPTY, shard_index_pack, shard_index_unpack

share_calls(share)
del share, share_calls

__all__ = [
    "SHARD_EMPTY",
    "bitshuffle",
    "bitunshuffle",
    "blosc_decode",
    "blosc_encode",
    "byteswap",
    "chunk_count",
    "chunk_index",
    "copy_region",
    "crc32c",
    "delta_decode",
    "delta_encode",
    "equals_fill",
    "fill",
    "gzip_decode",
    "gzip_encode",
    "lz4_decode",
    "lz4_encode",
    "morton_decode",
    "morton_encode",
    "pack_bits",
    "shard_index_pack",
    "shard_index_unpack",
    "shuffle",
    "transpose",
    "unpack_bits",
    "unshuffle",
    "zlib_decode",
    "zlib_encode",
    "zstd_decode",
    "zstd_encode",
]
