# SPDX-License-Identifier: MIT
"""Calls of the typed functions of the C API with memory of NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

INTS = ctypes.POINTER(ctypes.c_int64)


class Region(ctypes.Structure):
    """struct zarrcore_region."""

    _fields_ = [
        ("array", ctypes.c_void_p),
        ("type", ctypes.c_char_p),
        ("ndim", ctypes.c_int64),
        ("start", INTS),
        ("step", INTS),
        ("count", INTS),
        ("memory", ctypes.c_void_p),
        ("nbytes", ctypes.c_size_t),
        ("strides", INTS),
    ]


def ints(values: Any) -> Any:
    """A C array of int64, or NULL."""
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*map(int, values))


def _arguments(
    handle: int, memory: np.ndarray, start: Any, step: Any, name: Any = None, nbytes: Any = None
) -> list[Any]:
    pointers = [ints(one) for one in (start, step, memory.shape)]
    size = memory.nbytes if nbytes is None else nbytes
    kind = memory.dtype.str if name is None else name
    return [handle, kind.encode(), memory.ndim, *pointers, memory.ctypes.data, size, ints(memory.strides), 0]


def read_as(
    api: Any, handle: int, memory: Any, start: Any = None, step: Any = None, *, error: Any = None, **more: Any
) -> int:
    """Read a region into an ndarray of any type and strides; `more`: `name` of another type, `nbytes`."""
    return api.read_as(*_arguments(handle, memory, start, step, **more), error)


def write_as(
    api: Any, handle: int, memory: Any, start: Any = None, step: Any = None, *, error: Any = None, **more: Any
) -> int:
    """Write a region from an ndarray of any type and strides."""
    return api.write_as(*_arguments(handle, memory, start, step, **more), 0, error)
