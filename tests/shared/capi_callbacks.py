# SPDX-License-Identifier: MIT
"""Stores of callbacks written in Python: a dict, and what tests put in the place of its functions."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

MISSING, EXISTS = -8, -19
NO_LIMIT = 2**64 - 1


class Request(ctypes.Structure):
    """struct zarrcore_request."""

    _fields_ = [
        ("key", ctypes.c_char_p),
        ("offset", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("reply", ctypes.c_void_p),
        ("status", ctypes.c_int),
    ]


POINTER, TEXT, SIZE, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
KINDS = {
    "get": ctypes.CFUNCTYPE(INT, POINTER, ctypes.POINTER(Request)),
    "get_ranges": ctypes.CFUNCTYPE(INT, POINTER, ctypes.POINTER(Request), SIZE),
    "put": ctypes.CFUNCTYPE(INT, POINTER, TEXT, POINTER, SIZE, INT, POINTER),
    "remove": ctypes.CFUNCTYPE(INT, POINTER, TEXT, POINTER),
    "list": ctypes.CFUNCTYPE(INT, POINTER, TEXT, POINTER),
    "close": ctypes.CFUNCTYPE(None, POINTER),
}


class Callbacks(ctypes.Structure):
    """struct zarrcore_callbacks."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("user", POINTER),
        ("name", TEXT),
        *KINDS.items(),
    ]


class Memory:
    """A dict, and which functions were called with which keys."""

    def __init__(self, api: Any, *, batches: bool = False, without: tuple[str, ...] = ()) -> None:
        self.api = api
        self.values: dict[str, bytes] = {}
        self.calls: list[tuple[str, Any]] = []
        self.lock = threading.Lock()
        self.closed = 0
        left_out = {*without, *(() if batches else ("get_ranges",))}
        self.functions = {name: kind() for name, kind in KINDS.items()}
        for name in KINDS.keys() - left_out:
            self.replace(name, getattr(self, name))

    def replace(self, name: str, function: Callable[..., Any]) -> None:
        """Put a function in the place of one, before the store is opened."""
        self.functions[name] = KINDS[name](function)

    def answer_by(self, get: Callable[[int, Any], int]) -> None:
        """Answer requests by a function in the place of `get`, those of `get_ranges` one by one."""

        def get_ranges(user: int, requests: Any, n: int) -> int:
            for i in range(n):
                requests[i].status = get(user, ctypes.pointer(requests[i]))
            return 0

        self.replace("get", get)
        if self.functions["get_ranges"]:
            self.replace("get_ranges", get_ranges)

    def callbacks(self, name: str | None = None, user: int = 1) -> Callbacks:
        text = None if name is None else name.encode()
        return Callbacks(ctypes.sizeof(Callbacks), 0, user, text, *self.functions.values())

    def open(self, error_of: Any, flags: int = 1, name: str | None = None) -> int:
        store, error, callbacks = ctypes.c_void_p(), error_of(), self.callbacks(name, id(self))
        status = self.api.open_callbacks(ctypes.byref(callbacks), flags, ctypes.byref(store), error)
        assert status == 0, error.message
        return store.value or 0

    def answer(self, request: Request) -> int:
        with self.lock:
            value = self.values.get(request.key.decode())
        if value is None:
            return MISSING
        if request.offset == NO_LIMIT:
            value = value[max(len(value) - request.nbytes, 0) :]
        else:
            value = value[request.offset : request.offset + request.nbytes]
        middle = len(value) // 2
        self.api.reply_bytes(request.reply, value[:middle], middle)
        return self.api.reply_bytes(request.reply, value[middle:], len(value) - middle)

    def get(self, user: int, request: Any) -> int:
        self.calls.append(("get", request.contents.key.decode()))
        return self.answer(request.contents)

    def get_ranges(self, user: int, requests: Any, n: int) -> int:
        self.calls.append(("get_ranges", n))
        for i in range(n):
            requests[i].status = self.answer(requests[i])
        return 0

    def put(self, user: int, key: bytes, data: int, n: int, is_new: int, reply: int) -> int:
        with self.lock:
            if is_new and key.decode() in self.values:
                return EXISTS
            self.values[key.decode()] = ctypes.string_at(data, n)
        return 0

    def remove(self, user: int, key: bytes, reply: int) -> int:
        with self.lock:
            self.values.pop(key.decode(), None)
        return 0

    def list(self, user: int, prefix: bytes, reply: int) -> int:
        start = prefix.decode()
        self.calls.append(("list", start))
        with self.lock:
            rest = {tuple(key[len(start) :].split("/", 1)) for key in self.values if key.startswith(start)}
        for name, below in sorted({(parts[0], len(parts) > 1) for parts in rest}):
            self.api.reply_name(reply, name.encode(), below)
        return 0

    def close(self, user: int) -> None:
        self.closed += 1
