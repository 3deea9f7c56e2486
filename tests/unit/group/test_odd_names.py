"""Names of nodes that stores, file systems or the format cannot have."""

from __future__ import annotations

import os

import pytest

import zarrcore
from zarrcore.errors import ContainsGroupError, InvalidKeyError, StoreError
from zarrcore.storage import LocalStore, MemoryStore, ZipStore

TOO_LONG = ("x" * 300, "x" * 256, "a/" * 3000 + "b", "/".join(["y" * 200] * 30))
NEVER = ("a\0b", "\ud800", "\udc80", "a/\udfff", "..", "a/../b", ".")
DOCUMENTS = ("zarr.json", "a/zarr.json", ".zarray", ".zgroup/b", ".zattrs", ".zmetadata")
FINE = (" ", "a\nb", "a:b", "~", "é", "e\u0301", "x" * 255, "c", "c/0", "数/据")

STORES = {
    "local": lambda path: LocalStore(path / "data"),
    "memory": lambda path: MemoryStore(),
    "zip": lambda path: ZipStore(path / "data.zip", mode="w"),
}


@pytest.fixture(params=STORES)
def root(request, tmp_path):
    with STORES[request.param](tmp_path) as store:
        yield zarrcore.create_group(store)


def test_names_that_no_store_has(root):
    for name in NEVER + DOCUMENTS:
        for create in (root.create_group, lambda name: root.create_array(name, shape=2, dtype="i4")):
            with pytest.raises(InvalidKeyError):
                create(name)
        assert name not in root
        with pytest.raises((KeyError, InvalidKeyError)):
            root[name]
    assert list(root) == []


@pytest.mark.skipif(os.name == "nt", reason="other names, other limits")
def test_names_that_are_too_long_for_files(tmp_path):
    root = zarrcore.create_group(tmp_path)
    for name in TOO_LONG:
        for create in (root.create_group, lambda name: root.create_array(name, shape=2, dtype="i4")):
            with pytest.raises(InvalidKeyError, match="too long"):
                create(name)
        assert name not in root
        with pytest.raises(KeyError):
            root[name]
        with pytest.raises(InvalidKeyError, match="too long"):
            zarrcore.open_array(tmp_path, path=name)
    assert list(root) == []
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["zarr.json"]


@pytest.mark.skipif(os.name == "nt", reason="some are not allowed there")
def test_names_that_are_fine(root):
    for name in FINE:
        if name == "c/0":
            continue
        root.create_group(name)
        assert name in root
    with pytest.raises(ContainsGroupError):
        root.create_group("c")
    array = root.create_array("c/0", shape=2, dtype="i4")
    array[...] = 1
    assert root["c/0"][...].tolist() == [1, 1]


def test_a_file_in_the_place_of_a_node(tmp_path):
    root = zarrcore.create_group(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    for create in (root.create_group, lambda name: root.create_array(name, shape=2, dtype="i4")):
        for name in ("file", "file/below"):
            with pytest.raises(StoreError, match="a file is in the place"):
                create(name)
