# SPDX-License-Identifier: MIT
"""ZARRCORE_LOCKS: what processes write to one chunk, append and change is not lost, in C and in Python."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import SHARDS, V3, changed
from capi_tree import READ_WRITE, Tree

import zarrcore
from zarrcore.storage import LocalStore

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks"),
]

LOCKS, PROCESSES, TIMES = 32, 3, 30


def in_processes(*works: Callable[[], None]) -> None:
    """Do each in a child of its own, all at once."""
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            try:
                work()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(works)


@pytest.fixture
def open_tree(library: Any, error_of: Any, tmp_path: Path) -> Callable[[], Tree]:
    Tree(library, error_of, tmp_path / "store").close()
    return lambda: Tree(library, error_of, tmp_path / "store", READ_WRITE | LOCKS)


def make(tree: Tree, document: Any = V3) -> None:
    tree.create_array("a", changed(document, "shape", [64, 4]) | {"attributes": {}})


@pytest.mark.parametrize("sharded", [False, True])
def test_no_part_of_a_chunk_is_lost(open_tree: Any, tmp_path: Path, sharded: bool) -> None:
    """Each process has every n-th row; the last one is Python."""
    grid = {"name": "regular", "configuration": {"chunk_shape": [64, 4]}}
    shards = [changed_inner(SHARDS)] if sharded else V3["codecs"]
    tree = open_tree()
    make(tree, V3 | {"chunk_grid": grid, "codecs": shards})
    tree.close()

    def write(first: int) -> None:
        tree = open_tree()
        with tree.array("a") as handle:
            for row in range(first, 64, PROCESSES):
                values = np.full((1, 4), row + 1, "f4")
                assert tree.api.region(handle, values, (row, 0), write=True) == 0

    def write_in_python() -> None:
        array = zarrcore.open_array(LocalStore(tmp_path / "store", locks="file"), path="a")
        for row in range(PROCESSES - 1, 64, PROCESSES):
            array[row] = row + 1

    in_processes(*(lambda n=n: write(n) for n in range(PROCESSES - 1)), write_in_python)
    expected = np.repeat(np.arange(1, 65, dtype="f4"), 4).reshape(64, 4)
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path / "store", path="a")[...], expected)


def changed_inner(shards: Any) -> Any:
    """The codec of shards of the documents of tests, with inner chunks of one row."""
    configuration = shards["configuration"] | {"chunk_shape": [1, 4]}
    return {"name": "sharding_indexed", "configuration": configuration}


def test_no_row_that_is_appended_is_lost(open_tree: Any, tmp_path: Path) -> None:
    tree = open_tree()
    make(tree)
    tree.close()

    def append(number: int) -> None:
        tree = open_tree()
        for i in range(TIMES):
            tree.append("a", np.full((1, 4), 100 * number + i, "f4"))

    in_processes(*(lambda n=n: append(n) for n in range(1, PROCESSES + 1)))
    rows = zarrcore.open_array(tmp_path / "store", path="a")[64:]
    assert sorted(rows[:, 0]) == sorted(100 * n + i for n in range(1, PROCESSES + 1) for i in range(TIMES))


def test_no_attribute_is_lost(open_tree: Any, tmp_path: Path) -> None:
    tree = open_tree()
    make(tree)
    tree.close()

    def change(number: int) -> None:
        tree = open_tree()
        for i in range(TIMES):
            tree.set_attribute("a", f"{number}-{i}", i)

    def change_in_python() -> None:
        attrs = zarrcore.open_array(LocalStore(tmp_path / "store", locks="file"), path="a").attrs
        for i in range(TIMES):
            attrs[f"python-{i}"] = i

    in_processes(*(lambda n=n: change(n) for n in range(PROCESSES - 1)), change_in_python)
    assert len(zarrcore.open_array(tmp_path / "store", path="a").attrs) == PROCESSES * TIMES


def test_the_file_of_locks_goes_with_its_node(open_tree: Any, tmp_path: Path) -> None:
    tree = open_tree()
    make(tree)
    tree.set_attribute("a", "x", 1)
    tree.write("a", np.ones((64, 4), "f4"))
    assert tree.list() == {"a": ("array", tree.document("a"))}
    tree.erase("a")
    tree.close()
    assert not (tmp_path / "store" / "a").exists()


def test_extension_modules_ask_for_locks(capi: Any, error_of: Any, tmp_path: Path) -> None:
    import ctypes

    zarrcore.create_array(tmp_path / "a", shape=(8,), chunks=(8,), dtype="i4")
    handle = ctypes.c_void_p()
    assert capi.open(os.fsencode(tmp_path / "a"), READ_WRITE | LOCKS, ctypes.byref(handle), None) == 0
    assert capi.region(handle, np.ones(4, "i4"), (2,), write=True) == 0
    capi.release(handle)
    assert (tmp_path / "a" / ".zc-locks").exists()
