# SPDX-License-Identifier: MIT
"""Handles of arrays that Python changes: made smaller, replaced by another array, removed."""

from __future__ import annotations

import ctypes
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import LibraryError, v3
from capi_regions import Region, ints, read_as
from capi_tree import Tree
from capi_watch import watched
from pausing_stores import Pausing

import zarrcore
from zarrcore.codecs.numcodecs import Fletcher32
from zarrcore.storage import LocalStore, MemoryStore

STALE = -17


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


def during_a_write(capi: Any, store: Pausing, change: Callable[[], object], *, waits: bool = True) -> int:
    """Change the array `a` while a write to it through C has not stored its last chunk; return its status."""
    array = zarrcore.create_array(store, name="a", shape=20, chunks=4, dtype="i4")
    handle = capi.from_python(id(array))
    store.pauses_at = "a/c/4"
    status: list[int] = []
    values = np.arange(1, 21, dtype="i4")
    writer = threading.Thread(
        target=lambda: status.append(capi.region(handle, values, write=True, threads=1))
    )
    writer.start()
    assert store.is_inside.wait(60)
    changer = threading.Thread(target=change)
    changer.start()
    changer.join(0.2 if waits else 60)
    assert waits or not changer.is_alive()
    store.may_go_on.set()
    writer.join(60)
    changer.join(60)
    assert not writer.is_alive() and not changer.is_alive()
    capi.release(handle)
    return status[0]


def test_a_write_under_way_leaves_nothing_beyond_a_new_end(capi: Any) -> None:
    store = Pausing(MemoryStore())

    assert during_a_write(capi, store, lambda: zarrcore.open_array(store, path="a").resize(6)) == 0
    array = zarrcore.open_array(store, path="a")
    array.resize(20)
    assert array[:].tolist() == [1, 2, 3, 4, 5, 6] + [0] * 14


def test_a_write_under_way_leaves_nothing_in_an_array_that_replaces_its_own(capi: Any) -> None:
    store = Pausing(MemoryStore())

    def replace() -> None:
        zarrcore.create_array(store, name="a", shape=20, chunks=4, dtype="f4", overwrite=True)

    assert during_a_write(capi, store, replace) == 0
    assert zarrcore.open_array(store, path="a")[:].tolist() == [0] * 20


def test_a_write_under_way_leaves_nothing_of_a_group_that_is_removed(capi: Any) -> None:
    store = Pausing(MemoryStore())

    def remove() -> None:
        zarrcore.create_group(store, overwrite=True)

    assert during_a_write(capi, store, remove) == 0
    assert list(store.list()) == ["zarr.json"]


def test_writes_to_other_arrays_are_not_waited_for(capi: Any) -> None:
    store = Pausing(MemoryStore())
    other = zarrcore.create_array(store, name="b", shape=20, chunks=4, dtype="i4")

    assert during_a_write(capi, store, lambda: other.resize(6), waits=False) == 0


def test_a_handle_of_an_array_that_has_shrunk(capi: Any, error_of: Any, store: Any) -> None:
    array = zarrcore.create_array(store, name="a", shape=20, chunks=4, dtype="i4")
    handle, error = capi.from_python(id(array)), error_of()
    zarrcore.open_array(store, path="a").resize(6)
    for write in (True, False):
        assert capi.region(handle, np.ones(20, "i4"), write=write, error=error) == STALE
        assert b"shape (6,)" in error.message
        assert b"(20,)" in error.message
    assert not [key for key in store.list() if "/c/" in key]
    capi.release(handle)
    handle = capi.from_python(id(array))  # whose object follows
    assert capi.region(handle, np.ones(6, "i4"), write=True) == 0
    assert array[:].tolist() == [1] * 6
    capi.release(handle)


def test_a_handle_of_an_array_that_has_grown(capi: Any, store: Any) -> None:
    array = zarrcore.create_array(store, name="a", shape=6, chunks=4, dtype="i4")
    handle = capi.from_python(id(array))
    array.resize(12)
    array[:] = 5
    other = zarrcore.create_array(store, name="b", shape=6, chunks=4, dtype="i4")
    other.resize(2)  # a loss, elsewhere
    assert capi.region(handle, np.ones(6, "i4"), write=True) == 0
    assert array[:].tolist() == [1] * 6 + [5] * 6
    capi.release(handle)


@pytest.mark.parametrize("change", ["another type", "removed", "a group"])
def test_a_handle_of_an_array_that_was_replaced(capi: Any, error_of: Any, store: Any, change: str) -> None:
    group = zarrcore.create_group(store)
    array = group.create_array("a", shape=20, chunks=4, dtype="i4")
    handle, error, out = capi.from_python(id(array)), error_of(), np.zeros(20, "i4")
    if change == "another type":
        group.create_array("a", shape=20, chunks=4, dtype="f4", overwrite=True)[:] = 1.5
    elif change == "removed":
        del group["a"]
    else:
        group.create_group("a", overwrite=True)
    before = {key: bytes(store.get(key)) for key in store.list()}
    for write in (True, False):
        assert capi.region(handle, out, write=write, error=error) == STALE
        assert b"array 'a'" in error.message
    nbytes = (capi.load_chunk.argtypes[5]._type_)()
    assert capi.load_chunk(handle, (capi.read.argtypes[1]._type_ * 1)(0), 0, None, 0, nbytes, error) == STALE
    assert {key: bytes(store.get(key)) for key in store.list()} == before
    assert not out.any()
    capi.release(handle)


LENGTH, MANY = 1 << 20, 20  # chunks that take some milliseconds to decode: progress is seen after 50


def read_points(api: Any, handle: int, out: np.ndarray) -> int:
    points = ints(range(0, LENGTH * MANY, LENGTH // 4))
    return int(api.read_points(handle, b"|u1", 1, MANY * 4, points, out.ctypes.data, MANY * 4, 1, None))


def read_many(api: Any, handle: int, out: np.ndarray) -> int:
    half = out.size // 2
    regions = [
        Region(handle, b"|u1", 1, ints([start]), None, ints([half]), out[start:].ctypes.data, half, None)
        for start in (0, half)
    ]
    return int(api.read_many((Region * 2)(*regions), 2, 1, None, None))


# ways to read a whole array of bytes, or a few of each chunk
WAYS: dict[str, tuple[str, Callable[[Any, int, np.ndarray], int]]] = {
    "region": ("u1", lambda api, handle, out: int(api.region(handle, out, threads=1))),
    "converted": ("u2", lambda api, handle, out: int(read_as(api, handle, out))),
    "points": ("u1", read_points),
    "many": ("u1", read_many),
}


@pytest.fixture(scope="module")
def two_arrays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Arrays of the same layout."""
    root = tmp_path_factory.mktemp("two")
    for name, value in (("old", 1), ("new", 2)):
        values = np.full(LENGTH * MANY, value, "u1")
        zarrcore.create_array(root / name, data=values, chunks=LENGTH, compressors=[Fletcher32()] * 16)
    return root


@pytest.mark.parametrize("way", WAYS)
def test_a_read_of_the_library_was_of_two_arrays(
    library: Any, error_of: Any, two_arrays: Path, tmp_path: Path, way: str
) -> None:
    dtype, read = WAYS[way]
    tree = Tree(library, error_of, tmp_path / "store")
    shutil.copytree(two_arrays / "old", tmp_path / "store" / "a")
    shutil.copytree(two_arrays / "new", tmp_path / "new")
    seen: list[int] = []

    def replace(done: int, expected: int) -> int:
        seen.append(done)
        if len(seen) == 1:
            (tmp_path / "store" / "a").rename(tmp_path / "gone")
            (tmp_path / "new").rename(tmp_path / "store" / "a")
        return 0

    out = np.full(LENGTH * MANY, 2, dtype)
    with tree.array("a") as handle, watched(library, ctypes.c_int(0), replace):
        assert read(library, handle, out) == 0
    assert seen
    assert (out == 2).all()
    tree.close()


def test_attributes_that_change_all_the_time_end_no_read_of_the_library(
    library: Any, error_of: Any, tmp_path: Path
) -> None:
    tree = Tree(library, error_of, tmp_path)
    zarrcore.create_array(tmp_path, name="a", data=np.arange(20, dtype="i4"), chunks=4)
    document = tmp_path / "a" / "zarr.json"
    with tree.array("a") as handle:
        for _ in range(6):
            document.write_text(document.read_text() + " ")
            np.testing.assert_array_equal(tree.values(handle), np.arange(20))
    tree.close()


def test_another_kind_of_array_in_the_place_of_a_handle_of_the_library(
    library: Any, error_of: Any, tmp_path: Path
) -> None:
    tree = Tree(library, error_of, tmp_path)
    for name, kind in (("a", "int32"), ("b", "float32")):
        tree.create_array(name, v3("data_type", kind))
    with tree.array("a") as handle:
        shutil.rmtree(tmp_path / "a")
        with pytest.raises(LibraryError):
            tree.values(handle)
        (tmp_path / "b").rename(tmp_path / "a")
        with pytest.raises(LibraryError, match="another array is in the place"):
            tree.values(handle)
    tree.close()


@pytest.mark.parametrize("how", ["replaced", "removed", "attributes"])
def test_a_handle_of_the_library_wrote_over_an_array_of_another_process(
    library: Any, error_of: Any, tmp_path: Path, how: str
) -> None:
    tree, error = Tree(library, error_of, tmp_path), error_of()
    zarrcore.create_array(tmp_path / "a", data=np.ones(8, "i4"), chunks=4)
    zarrcore.create_array(tmp_path / "b", data=np.ones(8, "i4"), chunks=4, attributes={"n": 1})
    zarrcore.create_array(tmp_path / "c", data=np.full(8, 1.5), chunks=4)
    with tree.array("a") as handle:
        (tmp_path / "a").rename(tmp_path / "gone")
        if how != "removed":
            (tmp_path / ("c" if how == "replaced" else "b")).rename(tmp_path / "a")
        status = library.region(handle, np.full(8, 3, "i4"), write=True, error=error)
    assert status == (0 if how == "attributes" else STALE)
    if how == "removed":
        assert not (tmp_path / "a").exists()
    else:
        assert set(zarrcore.open_array(tmp_path / "a")[:]) == {3 if how == "attributes" else 1.5}
