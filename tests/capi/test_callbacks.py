# SPDX-License-Identifier: MIT
"""Stores of callbacks: they contain what a directory would, and functions that fail or lie do no harm."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_callbacks import Callbacks, Memory
from capi_documents import SHARDS, V2, V3, LibraryError, v3
from capi_tree import READ_WRITE, Tree

import zarrcore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

MEMORY, ARGUMENT, CORRUPT, SIZE, IO, MISSING, UNSUPPORTED = -1, -2, -3, -5, -7, -8, -9
CANCELLED, CALLBACK, METADATA, LOCKED = -11, -12, -14, -15
VALUES = np.arange(24, dtype="f4").reshape(6, 4)
SHARDED = v3("codecs", [SHARDS])
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
PLAIN = v3("codecs", [BYTES])


@pytest.fixture(params=[False, True], ids=["get", "get_ranges"])
def memory(library: Any, request: pytest.FixtureRequest) -> Memory:
    return Memory(library, batches=request.param)


@pytest.fixture
def tree(library: Any, error_of: Any, memory: Memory) -> Iterator[Tree]:
    made = Tree(library, error_of, memory.open(error_of))
    yield made
    made.close()


def refused(status: int, match: str = "") -> Any:
    return pytest.raises(LibraryError, match=rf"(?s)\({status}, .*{match}")


def change(tree: Tree, zarr_format: int) -> None:
    group = {"zarr_format": zarr_format} | ({"node_type": "group"} if zarr_format == 3 else {})
    tree.create_group("", group)
    tree.create_array("g/a", V3 if zarr_format == 3 else V2)
    tree.create_array("g/gone", SHARDED if zarr_format == 3 else V2)
    tree.write("g/a", VALUES)
    tree.write("g/gone", VALUES)
    tree.append("g/a", VALUES[:3])
    tree.resize("g/a", 7, 3)
    tree.set_attribute("g/a", "unit", "m")
    tree.erase("g/gone")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_store_of_callbacks_contains_what_a_directory_would(
    library: Any, error_of: Any, memory: Memory, tree: Tree, tmp_path: Path, zarr_format: int
) -> None:
    local = Tree(library, error_of, tmp_path)
    for one in (local, tree):
        change(one, zarr_format)
    files = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert memory.values == files
    assert tree.list("g") == local.list("g")
    expected = zarrcore.open_array(tmp_path, path="g/a")[...]
    np.testing.assert_array_equal(tree.read("g/a"), expected)
    np.testing.assert_array_equal(local.read("g/a"), expected)
    local.close()


def test_zarr_python_reads_and_writes_what_is_there(memory: Memory, tree: Tree) -> None:
    zarr = pytest.importorskip("zarr")
    from zarr.core.buffer import default_buffer_prototype as prototype

    tree.create_array("a", SHARDED)
    tree.write("a", VALUES)
    buffers = {key: prototype().buffer.from_bytes(value) for key, value in memory.values.items()}
    array = zarr.open_array(zarr.storage.MemoryStore(buffers), path="a")
    np.testing.assert_array_equal(array[...], VALUES)
    array[...] = VALUES * 2
    memory.values.update({key: value.to_bytes() for key, value in buffers.items()})
    np.testing.assert_array_equal(tree.read("a"), VALUES * 2)


def test_parts_of_shards_are_asked_for_by_ranges(
    library: Any, error_of: Any, memory: Memory, tree: Tree
) -> None:
    shards = json.loads(json.dumps(SHARDS))
    shards["configuration"]["chunk_shape"] = [10, 10]
    document = PLAIN | {"shape": [400, 300], "codecs": [shards]}
    document["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [200, 300]}}
    values = np.random.default_rng(0).random((400, 300)).astype("f4")
    tree.create_array("a", document)
    tree.write("a", values)
    memory.calls.clear()
    with tree.array("a") as handle:
        out = np.empty((20, 1), "f4")
        pairs = [(ctypes.c_int64 * 2)(*pair) for pair in ((190, 33), out.shape)]
        error = error_of()
        assert library.read(handle, pairs[0], None, pairs[1], out.ctypes.data, None, 1, error) == 0
        np.testing.assert_array_equal(out, values[190:210, 33:34])
    many = [n for name, n in memory.calls if name == "get_ranges"]
    assert many == [] or sum(many) == 2 * 2  # index and inner chunk, of two shards
    assert sum(name == "get" and "/c/" in key for name, key in memory.calls) == (0 if many else 4)


def test_threads_of_two_stores_with_one_name_lose_nothing(
    library: Any, error_of: Any, memory: Memory
) -> None:
    trees = [Tree(library, error_of, memory.open(error_of, name="memory://x")) for _ in range(2)]
    trees[0].create_array("a", PLAIN | {"shape": [64, 4]})

    def work(number: int) -> None:
        with trees[number % 2].array("a") as handle:
            for row in range(number, 64, 8):
                start, count = (ctypes.c_int64 * 2)(row, 0), (ctypes.c_int64 * 2)(1, 4)
                values, error = np.full((1, 4), row, "f4"), error_of()
                rest = (count, values.ctypes.data, None, 1, 0, error)
                assert library.write(handle, start, None, *rest) == 0, error.message

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    np.testing.assert_array_equal(trees[1].read("a"), np.repeat(np.arange(64, dtype="f4"), 4).reshape(64, 4))
    for one in trees:
        one.close()
    assert memory.closed == 2


def test_a_store_is_closed_when_its_last_array_is(library: Any, error_of: Any, memory: Memory) -> None:
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", V3)
    group = tree.group("")
    with tree.array("a"):
        tree.close()
        group.close()
        assert memory.closed == 0
    assert memory.closed == 1


def test_without_list_arrays_can_be_used_and_nothing_be_listed(library: Any, error_of: Any) -> None:
    memory = Memory(library, without=("list", "put", "remove", "close"))
    made = zarrcore.create_group(target := {})
    made.create_array("a", data=VALUES, chunks=(2, 2))
    memory.values.update({key: bytes(value) for key, value in target.items()})
    tree = Tree(library, error_of, memory.open(error_of, 0))
    np.testing.assert_array_equal(tree.read("a"), VALUES)
    with refused(UNSUPPORTED, "cannot list"):
        tree.list("")
    with refused(MISSING, "no array or group is there"):
        tree.group("b")
    with refused(ARGUMENT, "for reading"):
        tree.create_array("b", V3)
    tree.close()


def test_chunks_of_an_array_that_is_gone_are_no_fill_values(memory: Memory, tree: Tree) -> None:
    tree.create_array("a", V3)
    with tree.array("a") as handle:
        np.testing.assert_array_equal(tree.values(handle), np.full((6, 4), V3["fill_value"]))
        memory.values.clear()
        with refused(IO, "gone from the store"):
            tree.values(handle)


# ---- functions that fail ----


@pytest.mark.parametrize("name", ["get", "put", "remove", "list"])
@pytest.mark.parametrize(
    ("status", "passed_on"),
    [(IO, IO), (MEMORY, MEMORY), (CANCELLED, CANCELLED), (UNSUPPORTED, UNSUPPORTED)]
    + [(status, CALLBACK) for status in (CALLBACK, 1, -16, -3, -1000, 2**31 - 1)],
)
def test_failures_are_passed_on_with_their_text(
    library: Any, error_of: Any, memory: Memory, name: str, status: int, passed_on: int
) -> None:
    failing = False

    def fail(user: int, *args: Any) -> int:
        if not failing:
            return getattr(memory, name)(user, *args)
        reply = args[0].contents.reply if name == "get" else args[-1]
        library.reply_error(reply, b"first")
        library.reply_error(reply, b"the disk is on fire: \xc3\xa9\xff" + b"!" * 500)
        return status

    memory.replace(name, fail)
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", V3)
    with tree.array("a") as handle:
        tree.write("a", VALUES)
        before = dict(memory.values)
        failing = True
        calls = {
            "get": [lambda: tree.values(handle), lambda: tree.read("a"), lambda: tree.document("a")],
            "put": [lambda: tree.set_attribute("a", "x", 1), lambda: tree.create_group("b")],
            "remove": [lambda: tree.erase("a"), lambda: tree.resize("a", 1, 1)],
            "list": [lambda: tree.list(""), lambda: tree.erase("a")],
        }
        batches = (
            name == "get" and memory.functions["get_ranges"]
        )  # which asks for chunks by the other function
        for call in calls[name][1 if batches else 0 :]:
            with refused(passed_on, "the disk is on fire: \xe9"):
                call()
            if name != "remove":
                assert memory.values == before
        failing = False
    tree.close()


def test_a_chunk_that_cannot_be_read_is_named(library: Any, error_of: Any, memory: Memory) -> None:
    def fail(user: int, request: Any) -> int:
        if request.contents.key == b"a/c/1/0":
            return library.reply_error(request.contents.reply, b"no route to host")
        return memory.answer(request.contents)

    memory.answer_by(fail)
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", V3)
    tree.write("a", VALUES)
    with tree.array("a") as handle:
        error, out = error_of(), np.empty((6, 4), "f4")
        assert library.read(handle, None, None, None, out.ctypes.data, None, 2, error) == CALLBACK
    assert error.key == b"a/c/1/0"
    assert error.place == (1, 0)
    assert error.message == b'get "a/c/1/0": no route to host'
    tree.close()


# ---- functions that lie ----


def lying(memory: Memory, tree_of: Any, answer: Any) -> Tree:
    """A tree whose chunks `answer` hands over, by both functions."""

    def get(user: int, request: Any) -> int:
        if b"/c/" in request.contents.key:
            return answer(request.contents)
        return memory.answer(request.contents)

    memory.answer_by(get)
    return tree_of()


@pytest.fixture
def tree_of(library: Any, error_of: Any, memory: Memory) -> Any:
    return lambda: Tree(library, error_of, memory.open(error_of))


@pytest.mark.parametrize("document", [PLAIN, V3, SHARDED], ids=["plain", "compressed", "sharded"])
def test_values_that_never_end_are_refused(library: Any, memory: Memory, tree_of: Any, document: Any) -> None:
    handed_over = 0

    def answer(request: Any) -> int:
        nonlocal handed_over
        for _ in range(10_000):  # 640 MB
            status = library.reply_bytes(request.reply, bytes(65536), 65536)
            if status != 0:
                break
            handed_over += 65536
        return 0  # it does not care

    tree = lying(memory, tree_of, answer)
    tree.create_array("a", document)
    with refused(SIZE, "too many for an encoding of the chunk"):
        tree.read("a")
    assert handed_over < 1 << 20
    tree.close()


@pytest.mark.parametrize("size", [0, 1, 5, 100, 5000])
def test_ranges_of_another_length_are_refused(library: Any, memory: Memory, tree_of: Any, size: int) -> None:
    honest = True

    def answer(request: Any) -> int:
        if honest or request.nbytes == 2**64 - 1:
            return memory.answer(request)
        return library.reply_bytes(request.reply, bytes(size), size)

    tree = lying(memory, tree_of, answer)
    shards = json.loads(json.dumps(SHARDS))
    shards["configuration"]["chunk_shape"] = [20, 20]
    document = PLAIN | {"shape": [200, 200], "codecs": [shards]}
    document["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [200, 200]}}
    tree.create_array("a", document)
    tree.write("a", np.random.default_rng(0).random((200, 200)).astype("f4"))
    honest = False
    with tree.array("a") as handle:
        out = np.empty((1, 1), "f4")
        one = (ctypes.c_int64 * 2)(1, 1)
        with refused(CORRUPT, "of a range|end|index"):
            tree.check(library.read, handle, one, None, one, out.ctypes.data, None, 1)
    tree.close()


def test_documents_that_never_end_are_refused(library: Any, error_of: Any) -> None:
    memory = Memory(library)

    def get(user: int, request: Any) -> int:
        while library.reply_bytes(request.contents.reply, b" " * 65536, 65536) == 0:
            pass
        return 0

    memory.replace("get", get)
    tree = Tree(library, error_of, memory.open(error_of))
    with refused(METADATA, "too many for a metadata document"):
        tree.read("a")
    tree.close()


@pytest.mark.parametrize("name", [b"", b"x/y", b"..", b".", None])
def test_names_that_are_none_are_refused(library: Any, error_of: Any, name: Any) -> None:
    memory = Memory(library)
    memory.replace("list", lambda user, prefix, reply: library.reply_name(reply, name, 1))
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_group("")
    with refused(CALLBACK, "is no name"):
        tree.list("")
    tree.close()


def test_names_that_come_more_than_once_are_one(library: Any, error_of: Any) -> None:
    """As from a store that goes through whole keys: nodes were listed once for each key below them."""
    memory = Memory(library)

    def every_key(user: int, prefix: bytes, reply: int) -> int:
        for key in memory.values:
            if key.startswith(prefix.decode()):
                name, *below = key[len(prefix) :].split("/", 1)
                library.reply_name(reply, name.encode(), bool(below))
        return 0

    memory.replace("list", every_key)
    tree = Tree(library, error_of, memory.open(error_of))
    for name in ("g/b", "g/a", "g/a/c"):
        tree.create_group(name)
    memory.values["g/a"] = b"a value whose key is the name of a group, too"
    for group, names in ("", [b"g"]), ("g", [b"a", b"b"]):
        with tree.nodes(group) as nodes:
            found = [library.node_name(nodes, i) for i in range(library.count_nodes(nodes))]
        assert found == names
    tree.erase("g")
    assert list(memory.values) == ["zarr.json"]
    tree.close()


def test_prefixes_without_end_are_not_followed(library: Any, error_of: Any) -> None:
    memory = Memory(library)
    memory.replace("list", lambda user, prefix, reply: library.reply_name(reply, b"x", 1))
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_group("g")
    with refused(CALLBACK, "more than 500 parts"):
        tree.erase("g")
    tree.close()


def test_a_batch_that_is_not_answered_is_asked_for_one_by_one(library: Any, error_of: Any) -> None:
    memory = Memory(library, batches=True)
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", V3)
    tree.write("a", VALUES)
    tree.close()
    for answer in (lambda *args: 0, lambda *args: IO):
        memory.replace("get_ranges", answer)
        tree = Tree(library, error_of, memory.open(error_of))
        np.testing.assert_array_equal(tree.read("a"), VALUES)
        tree.close()


def test_replies_that_were_not_asked_for(library: Any, error_of: Any) -> None:
    """Bytes for a list, a name for a value, bytes for a put."""
    memory = Memory(library)
    memory.replace("list", lambda user, prefix, reply: library.reply_bytes(reply, b"x", 1) * 0)
    memory.replace("put", lambda user, key, data, n, new, reply: library.reply_bytes(reply, b"x", 1) * 0)
    tree = Tree(library, error_of, memory.open(error_of))
    for call in (lambda: tree.list(""), lambda: tree.create_group("g")):
        with refused(CALLBACK, "not asked for"):
            call()
    memory.replace("get", lambda user, request: library.reply_name(request.contents.reply, b"x", 0) * 0)
    other = Tree(library, error_of, memory.open(error_of))
    with refused(CALLBACK, "not asked for"):
        other.read("a")
    tree.close()
    other.close()


def test_arguments(library: Any, error_of: Any) -> None:
    memory, out, error = Memory(library), ctypes.c_void_p(), error_of()
    good = memory.callbacks()

    def opened(callbacks: Any, flags: int = READ_WRITE, where: Any = None) -> int:
        target = ctypes.byref(out) if where is None else None
        pointer = None if callbacks is None else ctypes.byref(callbacks)
        status = library.open_callbacks(pointer, flags, target, error)
        assert status == error.status
        assert (status == 0) == bool(out.value)
        return status

    assert opened(None) == library.open_callbacks(None, 0, ctypes.byref(out), None) == ARGUMENT
    assert opened(good, where="nowhere") == ARGUMENT
    for flags in (2, 8, 16, 64, -1):
        assert opened(good, flags) == ARGUMENT
    for size in (0, 8, Callbacks.get.offset, ctypes.sizeof(Callbacks) - 1):  # others: test_watch.py
        other = memory.callbacks()
        other.struct_size = size
        assert opened(other) == ARGUMENT
    other = memory.callbacks()
    other.reserved = 1
    assert opened(other) == ARGUMENT
    for name in ("get", "put", "remove"):
        assert opened(Memory(library, without=(name,)).callbacks()) == ARGUMENT
    assert memory.closed == 0
    assert library.reply_bytes(None, b"x", 1) == ARGUMENT
    assert library.reply_name(None, b"x", 1) == ARGUMENT
    assert library.reply_error(None, b"x") == CALLBACK
    assert opened(good) == 0
    library.release_store(out)
    assert memory.closed == 1


@pytest.mark.parametrize("whole", [False, True])
def test_a_function_that_uses_its_own_store_does_not_hang(library: Any, error_of: Any, whole: bool) -> None:
    memory, found, busy = Memory(library), [], threading.Lock()

    def put(user: int, key: bytes, *rest: Any) -> int:
        if b"/c/" in key and busy.acquire(blocking=False):  # once
            start, count = (ctypes.c_int64 * 2)(0, 0), (ctypes.c_int64 * 2)(1, 1)
            one = np.ones((1, 1), "f4")
            found.append(library.write(handle, start, None, count, one.ctypes.data, None, 1, 0, None))
        return memory.put(user, key, *rest)

    memory.replace("put", put)
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", PLAIN)
    with tree.array("a") as handle:
        start, count = (ctypes.c_int64 * 2)(0, 0), (ctypes.c_int64 * 2)(*((6, 4) if whole else (2, 1)))
        out = np.ones((6, 4), "f4")
        assert library.write(handle, start, None, count, out.ctypes.data, None, 1, 0, None) == 0
    assert found == [LOCKED]
    tree.close()


IN_CPP = """
#include <zarrcore.hpp>
#include <cstdio>

int main()
{
    zarrcore_callbacks callbacks{};
    callbacks.struct_size = sizeof callbacks;
    callbacks.get = [](void *, const zarrcore_request *request) -> int {
        return zarrcore_reply_error(request->reply, "out of order");
    };
    try {
        zarrcore::store(callbacks).open("a");
    } catch (const zarrcore::error &failure) {
        std::puts(failure.what());
    }
    callbacks.get = nullptr;
    try {
        zarrcore::store store(callbacks);
    } catch (const zarrcore::error &failure) {
        std::puts(failure.what());
    }
}
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", ["get", "get_ranges", "put", "remove", "list", "close"])
def test_threads_are_not_ended_by_a_function_of_the_store(library: Any, error_of: Any, name: str) -> None:
    memory = Memory(library, batches=True)
    own, found = getattr(memory, name), []

    def function(*args: Any) -> Any:
        found.append(library.shutdown())
        found.append(library.set_allocator(None, None))
        found.append(library.set_watch(None, None))
        return own(*args)

    memory.replace(name, function)
    tree = Tree(library, error_of, memory.open(error_of))
    change(tree, 3)
    with tree.array("g/a") as handle:
        out = np.empty(1, "f4")
        one = (ctypes.c_int64 * 2)(1, 1)
        tree.check(library.read, handle, None, None, one, out.ctypes.data, None, 1)
    tree.list("g")
    tree.close()
    assert found
    assert set(found) == {ARGUMENT}
    assert library.shutdown() == 0


def test_in_cpp(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "store.cpp").write_text(IN_CPP, encoding="utf-8")
    sanitize = os.environ.get("ZARRCORE_SANITIZE")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{prefix / 'include'}"]
    libs = [f"-L{prefix / 'lib'}", "-lzarrcore", f"-Wl,-rpath,{prefix / 'lib'}"]
    libs += [f"-fsanitize={sanitize}"] if sanitize else []
    source, program = str(tmp_path / "store.cpp"), str(tmp_path / "store")
    subprocess.run(["c++", *flags, source, *libs, "-o", program], check=True)
    first, second = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert 'get "a/zarr.json": out of order' in first
    assert "get is NULL" in second
