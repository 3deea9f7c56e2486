"""Stores over obstore: the conformance suite, and what is particular to them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkIOError, CopyError, StoreError
from zarrcore.storage import ObjectStore, RangeByteRequest, StorePath, SuffixByteRequest
from zarrcore.testing.store import StoreTests

obstore = pytest.importorskip("obstore")

from obstore.store import LocalStore, MemoryStore  # noqa: E402


class TestMemory(StoreTests):
    picklable = False  # nor is the store of obstore

    def make_store(self, tmp_path):
        return ObjectStore(MemoryStore())


def test_chunks_are_fetched_side_by_side(monkeypatch):
    array = zarrcore.create_array(MemoryStore(), shape=(8, 10), chunks=(1, 10), dtype="i4")
    array[...] = np.arange(80).reshape(8, 10)
    everyone = threading.Barrier(8)
    get = obstore.get

    def meet_and_get(*args, **options):
        everyone.wait(20)
        return get(*args, **options)

    monkeypatch.setattr(obstore, "get", meet_and_get)
    assert np.array_equal(array[...], np.arange(80).reshape(8, 10))
    with zarrcore.config.set({"async.concurrency": 9}):
        assert array[:, 1].tolist() == list(range(1, 80, 10))


def test_parts_that_begin_behind_the_end():
    store = ObjectStore(MemoryStore())
    store.set("k", b"0123456789")
    requests = [("k", RangeByteRequest(8, 12)), ("k", (1, 2)), ("x", (0, 1)), ("x", (1, 0)), ("k", (11, 1))]
    assert store.get_partial_values(requests) == [b"89", b"12", None, None, b""]


def test_a_store_without_ranges_from_the_end(monkeypatch):
    store = ObjectStore(MemoryStore())
    store.set("k", b"0123456789")

    get = obstore.get

    def refuse(store, key, options=None):
        if "suffix" in options["range"]:
            raise obstore.exceptions.NotSupportedError("ranges from the end")
        return get(store, key, options=options)

    monkeypatch.setattr(obstore, "get", refuse)
    assert store.get("k", SuffixByteRequest(3)) == b"789"


def test_a_failure_is_no_absent_value(monkeypatch):
    array = zarrcore.create_array(MemoryStore(), shape=(8, 10), chunks=(1, 10), dtype="i4")

    def fail(store, key, **options):
        raise obstore.exceptions.PermissionDeniedError("no")

    monkeypatch.setattr(obstore, "get", fail)
    with pytest.raises(ChunkIOError, match="key 'c/./0'.*PermissionDenied") as caught:
        array[...]
    assert caught.value.key == "c/{}/{}".format(*caught.value.chunk)
    with pytest.raises(StoreError, match="'k'.*PermissionDenied"):
        array.store.get("k")


def test_an_array_in_zarr_python_too(tmp_path):
    inside = LocalStore(tmp_path / "data", mkdir=True)
    array = zarrcore.create_array(
        ObjectStore(inside), name="g/a", shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="f8"
    )
    array[...] = np.arange(64.0).reshape(8, 8)
    assert np.array_equal(zarrcore.open_array(tmp_path / "data", path="g/a")[...], array[...])
    zarr = pytest.importorskip("zarr")
    theirs = zarr.open_array(zarr.storage.ObjectStore(inside), path="g/a", mode="r+")
    assert np.array_equal(theirs[...], array[...])
    theirs[5] = -1
    assert array[4:6, 0].tolist() == [32, -1]


def test_what_is_no_store():
    with pytest.raises(TypeError, match="obstore"):
        ObjectStore({})


def test_the_same_files_are_known(tmp_path):
    from zarrcore import storage

    array = zarrcore.create_array(tmp_path, name="a", data=np.arange(4), chunks=2)
    place = StorePath(ObjectStore(LocalStore(prefix=tmp_path)), "a")
    assert place._overlaps(array.store_path)
    with pytest.raises(ValueError, match="would be removed first"):
        zarrcore.from_array(place, data=array, overwrite=True)
    with pytest.raises(CopyError, match="lies in it"):
        zarrcore.copy_store(storage.LocalStore(tmp_path), place.store, if_exists="replace")
    assert array[...].tolist() == [0, 1, 2, 3]


def test_stores_in_memory_are_not_taken_for_each_other():
    source, dest = ObjectStore(MemoryStore()), ObjectStore(MemoryStore())
    zarrcore.create_array(source, name="a", data=np.arange(4))
    assert zarrcore.copy_store(source, dest)[0] == 3
    zarrcore.from_array(dest, name="a", data=zarrcore.open_array(source, path="a"), overwrite=True)
    assert zarrcore.open_array(dest, path="a")[...].tolist() == [0, 1, 2, 3]
    assert StorePath(dest, "a")._overlaps(StorePath(ObjectStore(dest.store)))


def test_a_file_beside_the_nodes_of_a_directory_does_not_hide_them(tmp_path):
    """Its group could not be listed, walked or consolidated."""
    group = zarrcore.create_group(LocalStore(str(tmp_path)))
    group.create_array("a", data=np.arange(4), chunks=2)
    (tmp_path / "README").write_text("about these data")
    again = zarrcore.open_group(LocalStore(str(tmp_path)))
    assert list(again) == ["a"] and "README" not in again
    zarrcore.consolidate_metadata(LocalStore(str(tmp_path)))
    (tmp_path / "a" / "c" / "0").unlink()
    (tmp_path / "a" / "c" / "1").unlink()
    (tmp_path / "a" / "c").rmdir()
    (tmp_path / "a" / "c").write_bytes(b"no directory")
    with pytest.raises(ChunkIOError):
        again["a"][...]
