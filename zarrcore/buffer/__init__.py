"""Buffers of zarr-python, which zarrcore does not need: see :mod:`zarrcore.compat.buffers`."""

from zarrcore.buffer import cpu
from zarrcore.compat.buffers import Buffer, BufferPrototype, NDBuffer, default_buffer_prototype

__all__ = ["Buffer", "BufferPrototype", "NDBuffer", "cpu", "default_buffer_prototype"]
