"""Buffers, under the names of ``zarr.core.buffer``."""

from __future__ import annotations

from zarrcore.abc.buffer import ArrayLike, NDArrayLike
from zarrcore.buffer import Buffer, BufferPrototype, NDBuffer, cpu, default_buffer_prototype

__all__ = [
    "ArrayLike",
    "Buffer",
    "BufferPrototype",
    "NDArrayLike",
    "NDBuffer",
    "cpu",
    "default_buffer_prototype",
]
