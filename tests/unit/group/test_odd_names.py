"""Names of nodes that stores, file systems or the format cannot have."""

from __future__ import annotations

import json
import os

import pytest

import zarrcore
from zarrcore.errors import ContainsGroupError, InvalidKeyError, MetadataValidationError, StoreError
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


def test_a_node_of_others_whose_name_is_all_dots_is_read_and_reported():
    """`verify` found nothing, and `consolidate_metadata` failed with "expected a path of node names"."""
    values = {}
    zarrcore.create_group(values).create_group("a")
    values["a/.../zarr.json"] = values["zarr.json"]
    assert "a/..." in zarrcore.open_group(values)
    found = zarrcore.verify(values)
    assert [(each.severity, each.path, each.clause) for each in found if "all dots" in each.message] == [
        ("warning", "a/...", 'Zarr v3, "Node names"')
    ]
    with pytest.raises(InvalidKeyError, match=r"'a/\.\.\.': '\.\.\.' is all dots"):
        zarrcore.consolidate_metadata(values)


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


@pytest.mark.parametrize("name", ["\ud800", "\udc80", "a/\udfff"])
def test_names_in_consolidated_metadata_are_text(name, tmp_path):
    group = {"zarr_format": 3, "node_type": "group"}
    copy = {"kind": "inline", "must_understand": False, "metadata": {name: group, "b": group}}
    (tmp_path / "zarr.json").write_text(json.dumps({**group, "consolidated_metadata": copy}))
    with pytest.raises(MetadataValidationError, match="expected a path of node names"):
        zarrcore.open_group(tmp_path, mode="r")


def test_keys_that_are_no_text_do_no_harm_to_an_archive(tmp_path):
    with ZipStore(tmp_path / "data.zip", mode="w") as store:
        store.set("a", b"1")
        for change in (store.set, store.set_if_not_exists):
            with pytest.raises(InvalidKeyError, match="UTF-8"):
                change("\udc80", b"2")
        store.set("b", b"3")
    with ZipStore(tmp_path / "data.zip", mode="r") as store:
        assert {key: bytes(store.get(key)) for key in store.list()} == {"a": b"1", "b": b"3"}
