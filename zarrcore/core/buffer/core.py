"""The names of ``zarr.core.buffer.core``."""

from __future__ import annotations

from zarrcore.core.buffer import (
    ArrayLike,
    Buffer,
    BufferPrototype,
    NDArrayLike,
    NDBuffer,
    default_buffer_prototype,
)

__all__ = ["ArrayLike", "Buffer", "BufferPrototype", "NDArrayLike", "NDBuffer", "default_buffer_prototype"]
