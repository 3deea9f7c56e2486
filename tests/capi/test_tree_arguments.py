# SPDX-License-Identifier: MIT
"""Each function that libzarrcore alone has, with arguments that nobody would pass: a status, never a crash.

Functions of handles: test_arguments.py; functions of callbacks: test_callbacks.py.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import LONG, TYPE_NAMES, V3, LibraryError
from capi_tree import Tree, ints

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ARGUMENT = -2
STATUSES = range(-19, 1)
MAY_BE_NULL = {
    "create_array": {"out", "error"},
    "create_group": {"document", "error"},
    "get_attribute": {"name", "error"},
    "set_attribute": {"name", "error"},
    "append": {"strides", "error"},
    "set_watch": {"watch", "error"},
    "set_allocator": {"allocator", "error"},
}
OWNERS = ("free", "release", "retain")  # functions that take a pointer and return nothing
VALUES = np.ones((2, 4), "f4")
NUMBERS = {
    "ndim": 2,
    "axis": 0,
    "flags": 0,
    "threads": 1,
    "nbytes": VALUES.nbytes,
    "i": 0,
}


class Caller:
    """A tree with an array in it, and calls in which one argument is another than it should be."""

    def __init__(self, tree: Tree, nodes: int) -> None:
        self.tree, self.api, self.error, self.out = tree, tree.api, tree.error_of(), ctypes.c_void_p()
        self.good: dict[str, Any] = {
            "store": tree.pointer,
            "nodes": nodes,
            "path": b"g/a",
            "name": b"x",
            "document": b"{}",
            "text": b"1",
            "type": b"f4",
            "shape": ints((8, 4)),
            "count": ints(VALUES.shape),
            "memory": VALUES.ctypes.data,
            "strides": None,
            "error": self.error,
            "watch": None,
            "allocator": None,
            "out": ctypes.byref(self.out),
        } | NUMBERS
        # Functions of callbacks are given what the library hands over.
        self.functions = {
            function: names
            for function, names in self.api.own_arguments.items()
            if function != "open_callbacks" and not function.startswith("reply_")
        }

    def call(self, function: str, **changes: Any) -> Any:
        """Return what the function returns; what it hands out is released."""
        with contextlib.suppress(LibraryError):  # the one before may have erased or changed it
            self.tree.erase("g")
        with contextlib.suppress(LibraryError):
            self.tree.create_array("g/a", V3)
        self.out.value, self.error.message = None, b""
        arguments = {name: self.good[name] for name in self.functions[function]} | changes
        outcome = getattr(self.api, function)(*arguments.values())
        if self.out.value:
            self.release(function)
        return outcome

    def release(self, function: str) -> None:
        if function in ("open_store", "open_group"):
            self.api.release_store(self.out)
        elif function == "list":
            self.api.free_nodes(self.out)
        elif function.startswith("get_"):
            self.api.free(self.out)
        else:
            self.api.release(self.out)


@pytest.fixture
def caller(library: Any, error_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    monkeypatch.chdir(tmp_path)  # where open_store finds nothing of the project
    tree = Tree(library, error_of, tmp_path / "store")
    tree.create_array("g/a", V3)
    with tree.nodes("g") as nodes:
        yield Caller(tree, nodes)
    tree.close()


def test_null_for_each_pointer_of_each_function(caller: Caller) -> None:
    tried = 0
    for function, names in caller.functions.items():
        if function.startswith(OWNERS):
            getattr(caller.api, function)(None)
            continue
        restype = getattr(caller.api, function).restype
        for name in set(names) - set(NUMBERS) - {"strides"}:
            outcome = caller.call(function, **{name: None})
            tried += 1
            if name in MAY_BE_NULL.get(function, {"error"}):
                assert outcome != ARGUMENT or b"NULL" not in caller.error.message, (function, name)
            elif restype is ctypes.c_char_p:
                assert outcome is None, (function, name)
            else:
                assert outcome == (0 if function == "count_nodes" else ARGUMENT), (function, name)
        caller.call(function, **{name: 0 if name in NUMBERS else None for name in names})
    assert tried > 50


TEXTS: dict[str, list[bytes]] = {
    "path": [
        b"",
        b"/",
        b"a//b",
        b"..",
        b"g/a/",
        b"/g/a",
        b"\xff\xfe",
        b"g/\x01\n",
        b"%s%n%d",
        LONG,
        b"a/" * 30_000 + b"a",
    ],
    "name": [b"", b"\xff", b"%s%n", b"a/b", b'"', b"\\", LONG],
    "document": [
        b"",
        b"\0",
        b"nul",
        b"[]",
        b'"x"',
        b"{",
        b'{"a": 1e999}',
        b"\xff{}",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"zarr_format": 3, "node_type": "array"}',
        b'{"zarr_format": 18446744073709551616, "node_type": "group"}',
        b'{"zarr_format": 2, "shape": [' + b"1," * 70_000 + b"1]}",
    ],
    "text": [
        b"",
        b"nul",
        b"{",
        b"1 2",
        b"NaN",
        b"\xff",
        b'"\\ud800"',
        b"1" * 5_000,
        b"[" * 100_000,
        b'{"a":1,"a":2}',
    ],
    "type": TYPE_NAMES,
}
EXTREMES = (0, 1, -1, 65, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))


def hostile(name: str) -> list[Any]:
    """What nobody would pass.  `nbytes` is believed, and `memory`: a count has no more than is there."""
    if name in ("shape", "count"):
        return [ints(pair) for value in EXTREMES for pair in ((value, 4), (2, value), (value, value))]
    if name in NUMBERS and name != "nbytes":
        return [value for value in EXTREMES if -(2**31) <= value < 2**31]
    return TEXTS.get(name, [])


def test_hostile_arguments_of_each_function(caller: Caller) -> None:
    tried = 0
    for function, names in caller.functions.items():
        if function.startswith(OWNERS):
            continue
        call = getattr(caller.api, function)
        for name in names:
            for value in hostile(name):
                outcome = caller.call(function, **{name: value})
                tried += 1
                if call.restype is ctypes.c_int and function != "node_kind":
                    assert outcome in STATUSES, (function, name, value)
                    assert outcome == caller.error.status, (function, name, value)
                    assert (outcome == 0) == (caller.error.message == b""), (function, name, value)
                    caller.error.message.decode()
    assert tried > 300
    caller.call("get_document")
    assert caller.tree.document("g/a")["node_type"] == "array"


@pytest.mark.parametrize(
    "name", [b"\xff", b"a\nb", b"x" * 255, "\u00e9".encode(), b"con", b"a:b", b"~", b"*"]
)
def test_a_node_of_a_strange_name_is_found_again_or_refused(caller: Caller, name: bytes) -> None:
    """Nothing is made under another name than was asked for."""
    status = caller.api.create_group(caller.tree.pointer, b"s/" + name, None, caller.error)
    if status == 0:
        with caller.tree.nodes("s") as nodes:
            assert caller.api.count_nodes(nodes) == 1
            assert caller.api.node_name(nodes, 0) == name
        assert caller.api.erase(caller.tree.pointer, b"s/" + name, caller.error) == 0
    else:
        assert caller.error.message
