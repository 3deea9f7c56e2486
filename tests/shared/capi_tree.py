# SPDX-License-Identifier: MIT
"""The functions of libzarrcore for trees, as methods that raise LibraryError."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from capi_documents import LibraryError

READ_WRITE, CREATE = 1, 16
KINDS = {0: "unreadable", 1: "group", 2: "array"}


def ints(values: Any) -> Any:
    return (ctypes.c_int64 * max(len(values), 1))(*values)


class Tree:
    """A store; paths are strings."""

    def __init__(self, api: Any, error_of: Any, where: Path | int, flags: int = READ_WRITE | CREATE) -> None:
        self.api, self.error_of = api, error_of
        self.pointer = (
            where if isinstance(where, int) else self.get(api.open_store, os.fsencode(where), flags)
        )

    def check(self, function: Any, *args: Any) -> None:
        error = self.error_of()
        status = function(*args, error)
        assert status == error.status
        if status != 0:
            raise LibraryError(status, error.message.decode())

    def get(self, function: Any, *args: Any) -> int:
        out = ctypes.c_void_p()
        try:
            self.check(function, *args, ctypes.byref(out))
        except LibraryError:
            assert out.value is None
            raise
        return out.value or 0

    def text(self, function: Any, *args: Any) -> Any:
        pointer = self.get(function, self.pointer, *args)
        try:
            return json.loads(ctypes.string_at(pointer).decode())
        finally:
            self.api.free(pointer)

    def close(self) -> None:
        self.api.release_store(self.pointer)

    def group(self, path: str) -> Tree:
        return Tree(self.api, self.error_of, self.get(self.api.open_group, self.pointer, path.encode()))

    def create_array(self, path: str, document: Any) -> None:
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.api.release(self.get(self.api.create_array, self.pointer, path.encode(), text))

    def create_group(self, path: str, document: Any = None) -> None:
        text = document if isinstance(document, bytes | None) else json.dumps(document).encode()
        self.check(self.api.create_group, self.pointer, path.encode(), text)

    def erase(self, path: str) -> None:
        self.check(self.api.erase, self.pointer, path.encode())

    def resize(self, path: str, *shape: int) -> None:
        self.check(self.api.resize, self.pointer, path.encode(), len(shape), ints(shape))

    def append(self, path: str, values: np.ndarray, axis: int = 0) -> None:
        values = np.ascontiguousarray(values)
        type_, memory = values.dtype.str.encode(), values.ctypes.data
        rest = (values.ndim, ints(values.shape), memory, values.nbytes, None, 1, 0)
        self.check(self.api.append, self.pointer, path.encode(), axis, type_, *rest)

    def document(self, path: str) -> Any:
        return self.text(self.api.get_document, path.encode())

    def attribute(self, path: str, name: str | None = None) -> Any:
        return self.text(self.api.get_attribute, path.encode(), None if name is None else name.encode())

    def set_attribute(self, path: str, name: str | None, value: Any) -> None:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        encoded = None if name is None else name.encode(errors="surrogateescape")
        self.check(self.api.set_attribute, self.pointer, path.encode(), encoded, text)

    def delete_attribute(self, path: str, name: str) -> None:
        self.check(self.api.delete_attribute, self.pointer, path.encode(), name.encode())

    @contextlib.contextmanager
    def nodes(self, path: str = "", flags: int = 0) -> Iterator[int]:
        pointer = self.get(self.api.list, self.pointer, path.encode(), flags)
        try:
            yield pointer
        finally:
            self.api.free_nodes(pointer)

    def list(self, path: str = "", flags: int = 0) -> dict[str, tuple[str, Any]]:
        with self.nodes(path, flags) as found:
            names = [self.api.node_name(found, i).decode() for i in range(self.api.count_nodes(found))]
            texts = [self.api.node_document(found, i) for i in range(len(names))]
            kinds = [KINDS[self.api.node_kind(found, i)] for i in range(len(names))]
        documents = [None if text is None else json.loads(text) for text in texts]
        return dict(zip(names, zip(kinds, documents, strict=True), strict=True))

    @contextlib.contextmanager
    def array(self, path: str) -> Iterator[int]:
        handle = self.get(self.api.open_array, self.pointer, path.encode())
        try:
            yield handle
        finally:
            self.api.release(handle)

    def read(self, path: str) -> np.ndarray:
        with self.array(path) as handle:
            return self.values(handle)

    def values(self, handle: int) -> np.ndarray:
        shape = ints([0] * 8)
        ndim = self.api.ndim(handle)
        self.api.shape(handle, shape)
        out = np.empty(list(shape)[:ndim], np.dtype(self.api.typestr(handle).decode()))
        self.check(self.api.read, handle, None, None, None, out.ctypes.data, None, 1)
        return out

    def write(self, path: str, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values)
        with self.array(path) as handle:
            self.check(self.api.write, handle, None, None, None, values.ctypes.data, None, 1, 0)
