"""Buffers, under the names that zarr-python uses; arrays are numpy arrays."""

from __future__ import annotations

import numpy as np

from zarrcore.buffer import Buffer, BufferPrototype, NDBuffer

__all__ = ["ArrayLike", "Buffer", "BufferPrototype", "NDArrayLike", "NDBuffer"]

ArrayLike = NDArrayLike = np.ndarray
