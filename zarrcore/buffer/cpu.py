"""The names of ``zarr.buffer.cpu``."""

from zarrcore.compat.buffers import (
    Buffer,
    BufferPrototype,
    NDBuffer,
    buffer_prototype,
    default_buffer_prototype,
)

__all__ = ["Buffer", "BufferPrototype", "NDBuffer", "buffer_prototype", "default_buffer_prototype"]
