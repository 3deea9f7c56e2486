"""Memory that callers give to be read into: arrays of NumPy and of others, and plain buffers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

_OF_CPU = {1, 3, 11, 13}  # of DLPack: the CPU's, and pinned or managed memory of CUDA and ROCm


def memory_of(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return the memory of `out` as an array: no copy, whatever kind of object it is.

    Bytes, such as shared memory, are taken as items of `dtype`, in C order.  A TypeError is raised for what
    has no memory of its own on this machine's CPU.
    """
    array = getattr(out, "_data", out)  # zarr-python hands in a buffer object around the array
    if isinstance(array, np.ndarray):
        return array
    found = _array_of(out)
    if found is None:
        raise TypeError(f"out: expected a numpy array or other memory of the CPU, got {type(out).__name__}")
    if found.dtype == dtype or found.ndim != 1 or found.itemsize != 1 or found.dtype.kind not in "uib":
        return found
    if dtype.hasobject or found.nbytes != prod(shape) * dtype.itemsize or not found.flags.c_contiguous:
        expected = f"{prod(shape) * dtype.itemsize} bytes without gaps for items of {dtype}"
        raise ValueError(f"out: expected {expected}, got {found.nbytes} bytes")
    return found.view(dtype).reshape(shape) if found.size else np.empty(shape, dtype)


def is_memory(out: Any) -> bool:
    """Return whether an object is one piece of memory, and no sequence of several."""
    return isinstance(out, np.ndarray | bytearray | memoryview) or hasattr(out, "__dlpack__")


def _array_of(out: Any) -> np.ndarray | None:
    """Return an array over the memory of another object, or None."""
    if hasattr(out, "__dlpack__"):
        return _of_dlpack(out)
    if hasattr(out, "__array_interface__"):
        return np.asarray(out)
    try:
        return np.asarray(memoryview(out))
    except (TypeError, ValueError):
        return None


def _of_dlpack(out: Any) -> np.ndarray | None:
    """Return an array over memory that is offered by the protocol DLPack, if that is the CPU's."""
    try:
        if out.__dlpack_device__()[0] not in _OF_CPU:
            return None
        found: np.ndarray = np.from_dlpack(out)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return None
    if found.flags.writeable:
        return found
    # Many libraries cannot say in this protocol that memory may be written to.  If the object converts to an
    # array of the very same memory, that array knows.
    other = np.asarray(out)
    is_same = other.ctypes.data == found.ctypes.data and other.strides == found.strides
    return other if is_same and other.shape == found.shape else found
