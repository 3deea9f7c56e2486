"""Groups without documents, which only the nodes below them imply: of format 2, and in N5 containers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError, GroupNotFoundError, StoreError
from zarrcore.storage import FsspecStore, LocalStore, LoggingStore, MemoryStore, Store, WrapperStore

SLASHES = {"name": "v2", "separator": "/"}
IMPLIED = ["a/b", "c", "e/f"]


def fsspec_store() -> Store:
    pytest.importorskip("fsspec")
    import uuid

    return FsspecStore.from_url(f"memory://{uuid.uuid4()}")


@pytest.fixture(params=["memory", "local", "python", "fsspec"])
def store(request: Any, tmp_path: Any) -> Store:
    """``a/b/x`` and ``c/y`` are arrays, ``e/f/g`` is a group; the groups directly above have no document."""
    made: Store = {
        "memory": MemoryStore,
        "local": lambda: LocalStore(tmp_path),
        "python": lambda: WrapperStore(MemoryStore()),
        "fsspec": fsspec_store,
    }[request.param]()
    root = zarrcore.create_group(made, zarr_format=2, attributes={"title": "root"})
    for name in ("a/b/x", "c/y"):
        array = root.create_array(name, shape=(4, 2), chunks=(2, 2), dtype="i4", chunk_key_encoding=SLASHES)
        array[...] = 7
    root.create_group("e/f/g")
    for name in IMPLIED:
        made.delete(f"{name}/.zgroup")
        made.delete(f"{name}/.zattrs")
    made.set("junk/readme.txt", b"not a node")
    made.set("c/.zattrs", b'{"only": "attributes"}')
    return made


@pytest.fixture
def root(store: Store) -> zarrcore.Group:
    return zarrcore.open_group(store, mode="r")


def test_they_are_listed(root: zarrcore.Group) -> None:
    assert list(root) == list(root.keys()) == ["a", "c", "e"]
    assert list(root.group_keys()) == ["a", "c", "e"]
    assert list(root.array_keys()) == []
    assert len(root) == root.nmembers() == 3
    paths = ["a", "a/b", "a/b/x", "c", "c/y", "e", "e/f", "e/f/g"]
    assert [path for path, _ in root.members(max_depth=None)] == paths
    assert root.nmembers(None) == 8
    assert repr(root.tree()).splitlines()[1:4] == ["├── a", "│   └── b", "│       └── x (4, 2) int32"]


@pytest.mark.parametrize("path", IMPLIED)
def test_they_are_found(root: zarrcore.Group, path: str) -> None:
    assert path in root
    assert root.get_group(path).path == path
    assert root[path].metadata.zarr_format == 2
    assert dict(root[path].attrs) == ({"only": "attributes"} if path == "c" else {})


def test_what_is_no_node_is_not_found(root: zarrcore.Group) -> None:
    for path in ("junk", "a/c", "a/b/x/0", "nothing", "junk/readme.txt"):
        assert path not in root
    with pytest.raises(KeyError):
        root["junk"]


@pytest.mark.parametrize("path", IMPLIED)
@pytest.mark.parametrize("zarr_format", [None, 2])
def test_they_are_opened(store: Store, path: str, zarr_format: int | None) -> None:
    for group in (
        zarrcore.open_group(store, path=path, mode="r", zarr_format=zarr_format),
        zarrcore.open(store, path=path, mode="r", zarr_format=zarr_format),
        zarrcore.open_group(store, path=path, mode="a", zarr_format=zarr_format),
    ):
        assert isinstance(group, zarrcore.Group)
        assert len(group) == 1
    assert not store.exists(f"{path}/.zgroup")
    assert not store.exists(f"{path}/zarr.json")


def test_what_holds_no_nodes_is_not_opened(store: Store) -> None:
    for path in ("junk", "nothing"):
        with pytest.raises(GroupNotFoundError):
            zarrcore.open_group(store, path=path, mode="r")
    with pytest.raises(GroupNotFoundError):
        zarrcore.open_group(store, path="c", mode="r", zarr_format=3)
    for path in ("c", "nothing"):
        with pytest.raises(ArrayNotFoundError):
            zarrcore.open_array(store, path=path, mode="r")


def test_a_root_without_a_document(store: Store) -> None:
    store.delete(".zgroup")
    store.delete(".zattrs")
    root = zarrcore.open_group(store, mode="r")
    assert list(root) == ["a", "c", "e"]
    assert (root["a/b/x"][...] == 7).all()


def test_one_level_is_looked_at(store: Store) -> None:
    """What lies deeper says little about a place, and finding it may mean to list a whole bucket."""
    for name in ("a/.zgroup", "a/.zattrs"):
        store.delete(name)
    root = zarrcore.open_group(store, mode="r")
    assert list(root) == ["c", "e"]
    assert "a" not in root
    assert "a/b" in root
    assert (root["a/b/x"][...] == 7).all()
    for kept in ("c", "e/f"):
        store.erase_prefix(kept)
    for name in (".zgroup", ".zattrs", "e/.zgroup", "e/.zattrs"):
        store.delete(name)
    assert zarrcore.open_group(store, mode="a").metadata.zarr_format == 3


@pytest.mark.parametrize("zarr_format", [None, 2])
def test_a_path_without_a_node_lists_one_level(zarr_format: int | None) -> None:
    values: dict[str, Any] = {f"typo/{i}/{j}/file": b"" for i in range(3) for j in range(3)}
    store = LoggingStore(MemoryStore(values), log_level="ERROR")
    for open_it in (zarrcore.open, zarrcore.open_group):
        store.counter.clear()
        with pytest.raises(GroupNotFoundError):
            open_it(store, path="typo", mode="r+", zarr_format=zarr_format)
        assert store.counter["list_prefix"] == store.counter["list"] == 0
        assert store.counter["list_dir"] == 1
    store.counter.clear()
    with pytest.raises(ArrayNotFoundError):
        zarrcore.open_array(store, path="typo", mode="r+", zarr_format=zarr_format)
    assert not [name for name in store.counter if "list" in name]


class CannotList(WrapperStore):
    def list_prefix(self, prefix: str) -> Any:
        raise StoreError("503 Service Unavailable")

    list_dir = list_prefix


def test_a_failed_listing_is_not_absence() -> None:
    """Otherwise a hierarchy of format 2 without .zgroup gets a zarr.json on top."""
    values: dict[str, Any] = {}
    zarrcore.create_array(values, name="a", shape=1, dtype="i1", zarr_format=2)
    del values[".zgroup"], values[".zattrs"]
    before = dict(values)
    for mode in ("r", "r+", "a"):
        with pytest.raises(StoreError, match="503"):
            zarrcore.open_group(CannotList(MemoryStore(values)), mode=mode)
    root = zarrcore.create_group(CannotList(MemoryStore()), zarr_format=2)
    with pytest.raises(StoreError, match="503"):
        root.get("a")
    assert values == before


def test_a_change_makes_them_groups_of_their_own(store: Store) -> None:
    root = zarrcore.open_group(store, mode="r+")
    root["c"].attrs["more"] = 1
    assert json.loads(bytes(store.get("c/.zattrs"))) == {"only": "attributes", "more": 1}
    root["a/b"].create_group("new")
    for path in ("c", "a/b"):
        assert store.exists(f"{path}/.zgroup")
    assert root.require_group("e/f").path == "e/f"
    assert root.nmembers(None) == 9
    del root["a"]
    assert list(root) == ["c", "e"]


def test_consolidation_and_its_check_see_the_same(store: Store) -> None:
    before = [path for path, _ in zarrcore.open_group(store, mode="r").members(max_depth=None)]
    zarrcore.consolidate_metadata(store, zarr_format=2)
    root = zarrcore.open_consolidated(store, mode="r")
    assert [path for path, _ in root.members(max_depth=None)] == before
    assert zarrcore.check_consolidated(store) == ()
    assert dict(root["c"].attrs) == {"only": "attributes"}


def test_other_formats_know_none() -> None:
    store = MemoryStore()
    root = zarrcore.create_group(store)
    root.create_array("a/x", shape=2, dtype="i4")
    store.delete("a/zarr.json")
    assert list(root) == []
    assert "a" not in root
    assert "a/x" in root


def test_a_group_with_documents_alone_is_listed_by_two_requests() -> None:
    """What is below is looked at only where documents are missing."""
    store = LoggingStore(MemoryStore(), log_level="ERROR")
    root = zarrcore.create_group(store, zarr_format=2)
    for number in range(20):
        root.create_array(f"a{number}", shape=4, chunks=1, dtype="i4")[...] = 1
    store.counter.clear()
    assert len([*root.keys()]) == 20
    assert dict(store.counter) == {"list_dir": 1, "get_many": 1}


def test_n5(tmp_path: Any) -> None:
    """In N5 no group but the root needs a document."""
    attributes = {
        "dimensions": [3, 2],
        "blockSize": [3, 1],
        "dataType": "uint8",
        "compression": {"type": "raw"},
    }
    (tmp_path / "a" / "b" / "x").mkdir(parents=True)
    (tmp_path / "attributes.json").write_text('{"n5": "2.0.0"}')
    (tmp_path / "a" / "b" / "x" / "attributes.json").write_text(json.dumps(attributes))
    root = zarrcore.open_group(tmp_path, mode="r")
    assert [path for path, _ in root.members(max_depth=None)] == ["a", "a/b", "a/b/x"]
    assert list(root) == ["a"]
    assert "a/b" in root
    assert np.array_equal(zarrcore.open_group(tmp_path, path="a/b", mode="r")["x"][...], np.zeros((2, 3)))
    assert repr(root.tree()).splitlines()[-1] == "        └── x (2, 3) uint8"


@pytest.mark.filterwarnings("ignore:Object at")  # zarr-python warns of what it does not recognise
def test_zarr_python_finds_no_more(store: Store, tmp_path: Any) -> None:
    zarr = pytest.importorskip("zarr", minversion="3")
    if not isinstance(store, LocalStore):
        pytest.skip("read from a directory")
    theirs = zarr.open_group(tmp_path, mode="r")
    ours = zarrcore.open_group(store, mode="r")
    names = {name for name, _ in ours.members(max_depth=None)}
    assert {name for name, _ in theirs.members(max_depth=None)} <= names
    assert (theirs["a/b/x"][...] == ours["a/b/x"][...]).all()
