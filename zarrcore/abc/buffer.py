"""The names of ``zarr.abc.buffer``."""

from zarrcore.compat.buffers import ArrayLike, Buffer, BufferPrototype, NDArrayLike, NDBuffer

__all__ = ["ArrayLike", "Buffer", "BufferPrototype", "NDArrayLike", "NDBuffer"]
