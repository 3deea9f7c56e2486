"""What stands for a store, and places in one."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from pathlib import Path, PurePosixPath

import pytest

from zarrcore.abc.store import ByteSetter, SupportsSyncStore, set_or_delete
from zarrcore.errors import InvalidKeyError, ReadOnlyError, StoreError
from zarrcore.storage import (
    LocalStore,
    MemoryStore,
    StorePath,
    make_store,
    make_store_path,
)


def test_paths(tmp_path):
    expected = LocalStore(tmp_path / "my data")
    for store_like in (
        str(tmp_path / "my data"),
        tmp_path / "my data",
        expected.root.as_uri(),
        str(expected),
    ):
        assert make_store(store_like) == expected
    assert not expected.root.exists()


def test_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert make_store("a/b.zarr").root == tmp_path / "a" / "b.zarr"


def test_file_urls():
    assert make_store("file:///my%20data").root == Path(os.path.abspath("/my data"))
    assert make_store("FILE://localhost/a").root == Path(os.path.abspath("/a"))
    with pytest.raises(StoreError, match="host 'b'"):
        make_store("file://b/c")


def test_memory():
    values = {"a": b"1"}
    assert make_store(values)._store_dict is values
    mapping = UserDict()
    assert make_store(mapping)._store_dict is mapping
    assert make_store(None) == MemoryStore()
    assert make_store(None).is_empty()


def test_stores():
    store = MemoryStore()
    assert make_store(store) is store
    assert make_store(StorePath(store, "a")) is store


@pytest.mark.parametrize("url", ["s3://bucket/a", "HTTPS://host/a", "simplecache::s3://b", "nosuch://x"])
def test_urls_without_fsspec_and_obstore(url, monkeypatch):
    from zarrcore.storage import clients

    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setattr(clients, "is_installed", lambda: False)
    with pytest.raises(StoreError, match=r"zarrcore\[remote\]") as caught:
        make_store(url)
    assert repr(url) in str(caught.value)


@pytest.mark.parametrize("store_like", [3, [], object(), b"path"])
def test_what_stands_for_no_store(store_like):
    with pytest.raises(TypeError, match=type(store_like).__name__):
        make_store(store_like)


def test_modes(tmp_path):
    store = MemoryStore()
    assert make_store(store, mode="r").read_only
    assert make_store(store, read_only=True).read_only
    assert make_store(tmp_path, mode="r").read_only
    for mode in (None, "r+", "a", "w", "w-"):
        assert make_store(store, mode=mode) is store
    view = store.with_read_only(True)
    assert make_store(view) is view
    assert make_store(view, mode="r") is view
    with pytest.raises(ReadOnlyError, match="'r\\+'"):
        make_store(view, mode="r+")
    with pytest.raises(ValueError, match="mode"):
        make_store(store, mode="rw")


def test_options_without_use(tmp_path):
    with pytest.raises(TypeError, match="storage_options"):
        make_store(tmp_path, storage_options={"anon": True})
    assert make_store(tmp_path, storage_options=None) == LocalStore(tmp_path)


def test_make_store_path():
    store = MemoryStore({"a/b/zarr.json": b"{}"})
    assert make_store_path(store, path="/a//b/") == StorePath(store, "a/b")
    assert make_store_path(StorePath(store, "a"), path="b").path == "a/b"
    assert make_store_path(StorePath(store, "a"), path=None, mode="r").read_only
    assert make_store_path(None).path == ""
    with pytest.raises(FileExistsError, match="w-"):
        make_store_path(store, path="a", mode="w-")
    assert make_store_path(store, path="c", mode="w-").path == "c"
    with pytest.raises(InvalidKeyError):
        make_store_path(store, path="../a")


def test_a_place():
    store = MemoryStore()
    root = StorePath(store)
    place = root / "foo" / "bar/zarr.json"
    assert (place.path, place.name, place.parent.path) == ("foo/bar/zarr.json", "zarr.json", "foo/bar")
    assert (root.name, root.parent) == ("", root)
    assert str(place) == f"{store}/foo/bar/zarr.json"
    assert "MemoryStore" in repr(place)
    assert root.is_empty()
    assert not root.exists()
    place.set(b"value")
    place.set_if_not_exists(b"other")
    assert place.exists()
    assert place.get() == b"value"
    assert place.get((1, 2)) == b"al"
    assert not (root / "foo").is_empty()
    assert not (root / "foo").exists()
    place.delete()
    assert place.get() is None
    place.set(b"value")
    (root / "foo").delete_dir()
    assert root.is_empty()
    assert root != "foo"
    with pytest.raises(InvalidKeyError):
        root / ".."
    assert (root / PurePosixPath("a/b")).path == "a/b"


def test_protocols():
    place = StorePath(MemoryStore(), "a")
    assert isinstance(place, ByteSetter)
    assert isinstance(place.store, SupportsSyncStore)
    set_or_delete(place, b"1")
    assert place.get() == b"1"
    set_or_delete(place, None)
    assert place.get() is None
