"""Buffers as zarr-python knows them: objects around bytes and around arrays.

zarrcore does not need them: stores take and return bytes-like objects, arrays are numpy arrays.  They are
here for scripts that wrap values for ``Store.set``, which every store takes, or look at ``BufferPrototype``.
"""

from __future__ import annotations

from zarrcore.buffer import cpu
from zarrcore.buffer.cpu import Buffer, BufferPrototype, NDBuffer, default_buffer_prototype

__all__ = ["Buffer", "BufferPrototype", "NDBuffer", "cpu", "default_buffer_prototype"]
