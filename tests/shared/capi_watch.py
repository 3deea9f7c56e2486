# SPDX-License-Identifier: MIT
"""Flags that cancel calls of libzarrcore, and functions that see their progress."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)


class Watch(ctypes.Structure):
    """struct zarrcore_watch."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("cancelled", ctypes.POINTER(ctypes.c_int)),
        ("progress", Progress),
        ("user", ctypes.c_void_p),
    ]


@contextlib.contextmanager
def watched(
    api: Any, flag: ctypes.c_int, progress: Callable[[int, int], int] | None = None
) -> Iterator[None]:
    """Have calls of this thread watched."""

    def report(user: int, done: int, expected: int) -> int:
        assert progress is not None
        return progress(done, expected)

    function = Progress(report) if progress is not None else Progress()
    assert api.set_watch(Watch(ctypes.sizeof(Watch), 0, ctypes.pointer(flag), function, None), None) == 0
    try:
        yield
    finally:
        assert api.set_watch(None, None) == 0
