# SPDX-License-Identifier: MIT
"""zarrcore_set_watch: a flag cancels calls between chunks and within them, and progress is seen."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_callbacks import Memory
from capi_documents import LibraryError, v3
from capi_regions import Region
from capi_tree import Tree
from capi_watch import Progress, Watch, watched

import zarrcore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

CANCELLED, ARGUMENT = -11, -2
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
N = 64  # chunks


def document(n: int = N, length: int = 1, *more: dict[str, Any]) -> dict[str, Any]:
    grid = {"name": "regular", "configuration": {"chunk_shape": [length, 4]}}
    return v3("codecs", [BYTES, *more]) | {"shape": [n * length, 4], "chunk_grid": grid}


@pytest.fixture(params=[False, True], ids=["get", "get_ranges"])
def memory(library: Any, request: pytest.FixtureRequest) -> Memory:
    return Memory(library, batches=request.param)


class Cancelling(Memory):
    """Sets a flag in the call of a function whose number it is."""

    def __init__(self, api: Any, function: str, *, sleep: float = 0.0) -> None:
        super().__init__(api)
        self.flag, self.at, self.sleep, self.seen = ctypes.c_int(0), -1, sleep, 0
        original = getattr(self, function)

        def counted(*args: Any) -> int:
            self.seen += 1
            if self.seen == self.at:
                self.flag.value = 1
            time.sleep(self.sleep)
            return original(*args)

        self.replace(function, counted)


def values(n: int = N, length: int = 1) -> np.ndarray:
    return np.arange(1, 1 + n * length * 4, dtype="f4").reshape(n * length, 4)


def open_all(library: Any, error_of: Any, memory: Memory, **options: Any) -> tuple[Tree, np.ndarray]:
    """A tree with an array "a" of all values."""
    tree = Tree(library, error_of, memory.open(error_of))
    data = values(**options)
    tree.create_array("a", document(**options))
    tree.write("a", data)
    return tree, data


def test_nothing_begins_once_the_flag_is_set(library: Any, error_of: Any, memory: Memory) -> None:
    tree, _ = open_all(library, error_of, memory)
    before = dict(memory.values)
    with tree.array("a") as handle:
        memory.calls.clear()
        out, error = np.zeros((N, 4), "f4"), error_of()
        point = (ctypes.c_int64 * 2)(1, 1)
        region = Region(handle, b"f4", 2, memory=out.ctypes.data, nbytes=out.nbytes)
        calls = {
            "read": lambda: library.read(handle, None, None, None, out.ctypes.data, None, 0, error),
            "write": lambda: library.write(handle, None, None, None, out.ctypes.data, None, 0, 0, error),
            "points": lambda: library.read_points(
                handle, b"f4", 2, 1, point, out.ctypes.data, out.nbytes, 0, error
            ),
            "many": lambda: library.read_many(region, 1, 0, None, error),
            "load_chunk": lambda: library.load_chunk(
                handle, (ctypes.c_int64 * 2)(0, 0), 0, out.ctypes.data, 16, None, error
            ),
        }
        with watched(library, ctypes.c_int(1)):
            assert {name: call() for name, call in calls.items()} == dict.fromkeys(calls, CANCELLED)
            assert error.status == CANCELLED
        assert memory.calls == []
        assert calls["read"]() == 0
    assert memory.values == before
    tree.close()


def test_no_function_of_trees_begins_once_the_flag_is_set(
    library: Any, error_of: Any, memory: Memory, tmp_path: Path
) -> None:
    tree, data = open_all(library, error_of, memory)
    zarrcore.create_array(tmp_path / "a", shape=(2, 2), dtype="f4")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "a")
    before = dict(memory.values)
    memory.calls.clear()
    out, error, text = ctypes.c_void_p(), error_of(), json.dumps(document()).encode()
    two, at = (ctypes.c_int64 * 2)(4, 4), tree.pointer
    places = [os.fsencode(tmp_path / name) for name in ("a", "packed.zip")]
    calls = {
        **{f"open {place!r}": (library.open, place, 0, out) for place in places},
        **{f"open_store {place!r}": (library.open_store, place, 0, out) for place in places},
        "open_group": (library.open_group, at, b"", out),
        "open_array": (library.open_array, at, b"a", out),
        "create_array": (library.create_array, at, b"b", text, out),
        "create_group": (library.create_group, at, b"c", None),
        "resize": (library.resize, at, b"a", 2, two),
        "append": (library.append, at, b"a", 0, b"f4", 2, two, data.ctypes.data, 64, None, 0, 0),
        "erase": (library.erase, at, b"a"),
        "list": (library.list, at, b"", 0, out),
        "get_document": (library.get_document, at, b"a", out),
        "get_attribute": (library.get_attribute, at, b"a", None, out),
        "set_attribute": (library.set_attribute, at, b"a", b"x", b"1"),
        "delete_attribute": (library.delete_attribute, at, b"a", b"x"),
    }
    with watched(library, ctypes.c_int(1)):
        found = {name: call(*args, error) for name, (call, *args) in calls.items()}
    assert found == dict.fromkeys(calls, CANCELLED)
    assert (error.status, error.message) == (CANCELLED, b"interrupted")
    assert (out.value, memory.calls, memory.values) == (None, [], before)
    tree.close()


def test_a_list_that_is_cancelled_reads_no_further_document(library: Any, error_of: Any) -> None:
    memory = Cancelling(library, "get")
    tree = Tree(library, error_of, memory.open(error_of))
    for number in range(40):
        tree.create_array(f"a{number}", document())
    memory.seen, memory.at = 0, 8
    with watched(library, memory.flag), pytest.raises(LibraryError) as caught:
        tree.list("")
    assert caught.value.args[0] == CANCELLED
    assert memory.seen <= 8 + 4  # documents of one node
    assert len(tree.list("")) == 40
    tree.close()


def test_what_is_being_removed_goes_in_whole(library: Any, error_of: Any) -> None:
    """Else the next array there would find chunks that are left."""
    memory = Cancelling(library, "remove")
    tree, _ = open_all(library, error_of, memory)
    memory.seen, memory.at = 0, 3
    with watched(library, memory.flag):
        tree.erase("a")
    assert memory.flag.value == 1
    assert not any(key.startswith("a/") for key in memory.values)
    tree.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_read_that_is_cancelled_asks_for_no_further_chunk(
    library: Any, error_of: Any, threads: int
) -> None:
    memory = Cancelling(library, "get")
    tree, data = open_all(library, error_of, memory)
    with tree.array("a") as handle:
        out, error = np.zeros((N, 4), "f4"), error_of()
        memory.seen, memory.at = 0, 5
        with watched(library, memory.flag):
            status = library.read(handle, None, None, None, out.ctypes.data, None, threads, error)
        assert (status, error.status) == (CANCELLED, CANCELLED)
        assert memory.seen < 5 + threads
        memory.flag.value = 0
        with watched(library, memory.flag):
            assert library.read(handle, None, None, None, out.ctypes.data, None, threads, error) == 0
        np.testing.assert_array_equal(out, data)
    tree.close()


GZIP = {"name": "gzip", "configuration": {"level": 1}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC_OPTIONS = {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "blocksize": 1 << 16}
BLOSC = {"name": "blosc", "configuration": BLOSC_OPTIONS}


# What gzip and zstd decode within a second is decoded at once.
@pytest.mark.parametrize(
    ("write", "codec"),
    [(False, BLOSC), (True, BLOSC), (True, GZIP), (True, ZSTD)],
    ids=["read-blosc", "write-blosc", "write-gzip", "write-zstd"],
)
def test_a_call_is_cancelled_within_a_chunk(
    library: Any, error_of: Any, write: bool, codec: dict[str, Any]
) -> None:
    """The flag is set when the only chunk is asked for: what follows is decoding, or encoding."""
    memory = Cancelling(library, "get")
    rows = 1 << 21
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", document(1, rows, codec))
    data = np.random.default_rng(0).integers(0, 1000, (rows, 4)).astype("f4")
    tree.write("a", data)
    before = dict(memory.values)
    with tree.array("a") as handle:
        error, count = error_of(), (ctypes.c_int64 * 2)(rows - 1, 4)  # a part: writing reads the chunk first
        memory.seen, memory.at, other = 0, 1, np.zeros_like(data)
        with watched(library, memory.flag):
            more = (0, error) if write else (error,)
            call = library.write if write else library.read
            status = call(handle, None, None, count, other.ctypes.data, None, 2, *more)
        assert (memory.seen, status) == (1, CANCELLED)
    assert memory.values == before
    tree.close()


def test_progress_is_seen_by_the_calling_thread(library: Any, error_of: Any) -> None:
    memory = Cancelling(library, "get", sleep=0.02)
    tree, data = open_all(library, error_of, memory)
    seen: list[tuple[int, int, int]] = []
    out, error = np.zeros((N, 4), "f4"), error_of()

    def note(done: int, expected: int) -> int:
        seen.append((done, expected, threading.get_ident()))
        return 0

    with tree.array("a") as handle, watched(library, ctypes.c_int(0), note):
        assert library.read(handle, None, None, None, out.ctypes.data, None, 2, error) == 0
        first = len(seen)
        assert library.read(handle, None, None, None, out.ctypes.data, None, 1, error) == 0
    np.testing.assert_array_equal(out, data)
    assert first > 0
    assert {ident for _, _, ident in seen} == {threading.get_ident()}
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert {expected for _, expected, _ in seen[:first]} == {N}
    assert {expected for _, expected, _ in seen[first:]} == {2 * N}
    assert all(N <= done <= 2 * N for done, _, _ in seen[first:])
    tree.close()


def test_progress_cancels_a_write(library: Any, error_of: Any) -> None:
    memory = Cancelling(library, "put", sleep=0.02)
    tree, data = open_all(library, error_of, memory)
    error = error_of()
    with tree.array("a") as handle, watched(library, ctypes.c_int(0), lambda done, expected: done < expected):
        memory.seen = 0
        more = np.ascontiguousarray(data * 2)
        assert library.write(handle, None, None, None, more.ctypes.data, None, 1, 0, error) == CANCELLED
    stored = tree.read("a")
    doubled = (stored == data * 2).all(axis=1)
    assert ((stored == data).all(axis=1) | doubled).all()  # each chunk as a whole
    assert doubled.sum() == memory.seen < N
    tree.close()


def test_what_is_pending_survives_a_flush_that_is_cancelled(
    library: Any, error_of: Any, memory: Memory
) -> None:
    tree = Tree(library, error_of, memory.open(error_of))
    tree.create_array("a", document(4, 2))
    flag = ctypes.c_int(0)
    handle = tree.get(library.open_array, tree.pointer, b"a")
    with watched(library, flag):
        assert library.set_write_buffer(handle, 1 << 20, None) == 0
        row, count = np.full(4, 7, "f4"), (ctypes.c_int64 * 2)(1, 4)
        assert library.write(handle, None, None, count, row.ctypes.data, None, 1, 0, None) == 0
        flag.value = 1
        assert library.flush(handle, None) == CANCELLED
        assert not any("/c/" in key for key in memory.values)
        # ... and the last release stores it, though the flag is still set.
        library.release(handle)
        assert any("/c/" in key for key in memory.values)
    tree.close()


def test_an_append_that_is_cancelled_is_taken_back(library: Any, error_of: Any) -> None:
    memory = Cancelling(library, "put")
    tree, data = open_all(library, error_of, memory)
    before = dict(memory.values)
    more, error = np.ones((N, 4), "f4"), error_of()
    memory.seen, memory.at = 0, 10
    count = (ctypes.c_int64 * 2)(N, 4)
    with watched(library, memory.flag):
        args = (b"f4", 2, count, more.ctypes.data, more.nbytes, None, 1, 0, error)
        assert library.append(tree.pointer, b"a", 0, *args) == CANCELLED
    assert memory.seen == 10
    assert memory.values == before
    np.testing.assert_array_equal(tree.read("a"), data)
    tree.close()


def test_other_threads_are_not_cancelled(library: Any, error_of: Any, memory: Memory) -> None:
    tree, data = open_all(library, error_of, memory)
    found: list[np.ndarray] = []
    with watched(library, ctypes.c_int(1)):
        other = threading.Thread(target=lambda: found.append(tree.read("a")))
        other.start()
        other.join()
    np.testing.assert_array_equal(found[0], data)
    tree.close()


def test_structures_of_other_versions(library: Any, error_of: Any, memory: Memory) -> None:
    class Later(ctypes.Structure):
        _fields_ = [("now", Watch), ("later", ctypes.c_void_p)]

    tree, _ = open_all(library, error_of, memory)
    flag, unset = ctypes.c_int(1), Progress()
    never = Progress(lambda *args: pytest.fail("an older structure has no such member"))
    older = Watch(Watch.progress.offset, 0, ctypes.pointer(flag), never, None)
    later = Later(Watch(ctypes.sizeof(Later), 0, ctypes.pointer(flag), unset, None), None)
    for watch in (older, later.now):
        with tree.array("a") as handle:
            assert library.set_watch(watch, None) == 0
            out = np.zeros((N, 4), "f4")
            assert library.read(handle, None, None, None, out.ctypes.data, None, 0, None) == CANCELLED
        assert library.set_watch(None, None) == 0
    later.later = 1
    error = error_of()
    for refused, match in (
        (later.now, b"later version"),
        (Watch(Watch.progress.offset - 1, 0, None, unset, None), b"too small"),
        (Watch(0, 0, None, unset, None), b"too small"),
        (Watch(0x7FFFFFF8, 0, None, unset, None), b"struct_size"),  # which nobody has set
        (Watch(ctypes.sizeof(Watch), 1, None, unset, None), b"reserved"),
    ):
        assert library.set_watch(refused, error) == ARGUMENT
        assert match in error.message
    tree.close()


def test_callbacks_of_other_versions(library: Any, error_of: Any, memory: Memory) -> None:
    """An older structure ends earlier: what it has not is as if it were NULL."""
    writer = Tree(library, error_of, memory.open(error_of))
    writer.create_array("a", document())
    callbacks, store, error = memory.callbacks("older"), ctypes.c_void_p(), error_of()
    callbacks.struct_size = type(callbacks).get_ranges.offset
    assert library.open_callbacks(callbacks, 1, ctypes.byref(store), error) == ARGUMENT  # put is not there
    assert library.open_callbacks(callbacks, 0, ctypes.byref(store), error) == 0
    reader = Tree(library, error_of, store.value)
    np.testing.assert_array_equal(reader.read("a"), np.full((N, 4), reader.read("a")[0, 0]))
    closed = memory.closed
    reader.close()
    assert memory.closed == closed  # close is not there either
    callbacks.struct_size -= 1
    assert library.open_callbacks(callbacks, 0, ctypes.byref(store), error) == ARGUMENT
    writer.close()


def test_a_function_of_the_library_cannot_change_the_watch(library: Any, error_of: Any) -> None:
    memory = Memory(library)
    found: list[int] = []

    def get(user: int, request: Any) -> int:
        if "/c/" in request.contents.key.decode():
            found.append(library.set_watch(None, None))
        return memory.answer(request.contents)

    memory.replace("get", get)
    tree, data = open_all(library, error_of, memory)
    np.testing.assert_array_equal(tree.read("a"), data)
    assert set(found) == {ARGUMENT}
    tree.close()
