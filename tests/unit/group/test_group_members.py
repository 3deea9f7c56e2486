"""Groups: members, creation, removal, attributes and consolidated metadata, in both formats, two stores."""

from __future__ import annotations

import asyncio
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    MetadataValidationError,
    NodeTypeValidationError,
    ReadOnlyError,
)
from zarrcore.storage import LocalStore, LoggingStore, MemoryStore


@pytest.fixture(params=["memory", "local"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "store")


@pytest.fixture(params=[2, 3])
def zarr_format(request):
    return request.param


@pytest.fixture
def root(store, zarr_format):
    """root/{a, g/{b, h/{c}}}: two levels of groups with an array in each."""
    root = zarrcore.create_group(store, zarr_format=zarr_format, attributes={"title": "top"})
    root.create_array("a", shape=(3,), dtype="i4")
    root.create_group("g", attributes={"n": 1}).create_array("b", shape=(2, 2), dtype="f4")
    root.create_array("g/h/c", shape=(), dtype="u1")
    return root


ALL = ["a", "g", "g/b", "g/h", "g/h/c"]


def test_members(root):
    assert [path for path, _ in root.members()] == ["a", "g"]
    assert [path for path, _ in root.members(max_depth=1)] == ["a", "g", "g/b", "g/h"]
    assert [path for path, _ in root.members(max_depth=None)] == ALL
    assert root.nmembers(None) == 5
    with pytest.raises(ValueError, match="max_depth"):
        root.members(max_depth=-1)


def test_mapping_manners(root):
    assert list(root) == list(root.keys()) == ["a", "g"]
    assert len(root) == 2
    assert "a" in root
    assert "g/h/c" in root
    assert "x" not in root
    assert "a/x" not in root
    assert 3 not in root
    assert root["g/h"].path == "g/h"
    assert root["/g/h/"]["c"].shape == ()
    assert root.get("x") is None
    assert root.get("x", 5) == 5
    with pytest.raises(KeyError, match="x"):
        root["x"]
    with pytest.raises((KeyError, ValueError)):
        root["../a"]
    with pytest.raises(KeyError):
        root[""]


def test_a_slash_is_the_group_itself(root):
    """As in HDF5, and in zarr-python; anndata writes what lies at the top under this name."""
    group = root["g"]
    group.attrs["n"] = 1
    assert "/" in group and group["/"].path == group.get("//").path == group.require_group("/").path == "g"
    assert group["/"].attrs.asdict() == {"n": 1} and root["/"].path == ""
    assert group.require_group("/", overwrite=True).attrs.asdict() == {}
    assert list(group) == []
    root.store.clear()
    assert root.require_group("/").path == "" and list(zarrcore.open_group(root.store, mode="r")) == []
    for name in ("", "/"):
        with pytest.raises(KeyError, match="a member of a group has a name"):
            root.create_group(name)
        with pytest.raises(KeyError, match="a member of a group has a name"):
            root[name] = [1]
        with pytest.raises(KeyError, match="a member of a group has a name"):
            del root[name]


def test_kinds(root):
    assert list(root.array_keys()) == ["a"]
    assert list(root.group_keys()) == ["g"]
    assert [name for name, _ in root.arrays()] == ["a"]
    assert [group.name for group in root.group_values()] == ["/g"]
    assert [array.basename for array in root.array_values()] == ["a"]
    assert root.get_array("a").dtype == np.dtype("i4")
    assert root.get_group("g").attrs["n"] == 1
    with pytest.raises(ContainsGroupError, match="'g'"):
        root.get_array("g")
    with pytest.raises(ContainsArrayError, match="'a'"):
        root.get_group("a")
    with pytest.raises(ArrayNotFoundError, match="'x'"):
        root.get_array("x")
    with pytest.raises(GroupNotFoundError, match="'x'"):
        root.get_group("x")


def test_tree(root):
    assert repr(root.tree()).splitlines() == [
        "/",
        "├── a (3,) int32",
        "└── g",
        "    ├── b (2, 2) float32",
        "    └── h",
        "        └── c () uint8",
    ]
    assert len(repr(root.tree(level=1)).splitlines()) == 3
    assert "only 2 nodes" in repr(root.tree(max_nodes=2))
    assert repr(zarrcore.tree(root)) == repr(root.tree())


def test_creating_where_something_is(root):
    with pytest.raises(ContainsArrayError, match="'a'"):
        root.create_group("a")
    with pytest.raises(ContainsGroupError, match="'g'"):
        root.create_array("g", shape=1, dtype="i4")
    with pytest.raises(ContainsArrayError, match="'a'"):
        root.create_array("a/b", shape=1, dtype="i4")
    assert [path for path, _ in root.members(None)] == ALL
    root.create_array("g", shape=1, dtype="i4", overwrite=True)
    assert [path for path, _ in root.members(None)] == ["a", "g"]


def test_overwriting_takes_only_the_subtree(root):
    root.create_group("gg")
    root.create_group("g", overwrite=True)
    assert [path for path, _ in root.members(None)] == ["a", "g", "gg"]


def test_require(root):
    assert root.require_group("g").attrs["n"] == 1
    assert [group.path for group in root.require_groups("p/q", "g")] == ["p/q", "g"]
    with pytest.raises(ContainsArrayError):
        root.require_group("a")
    assert root.require_array("a", shape=3, dtype="i4").path == "a"
    assert root.require_array("a", shape=(3,), dtype="i8").dtype == np.dtype("i4")
    for wrong in ({"shape": 4, "dtype": "i4"}, {"shape": 3, "dtype": "i2"}):
        with pytest.raises(TypeError):
            root.require_array("a", **wrong)
    with pytest.raises(TypeError):
        root.require_array("a", shape=3, dtype="i8", exact=True)
    with pytest.raises(ContainsGroupError):
        root.require_array("g", shape=3)
    assert root.require_array("new", shape=3).dtype == np.dtype("f8")


def test_delete(root):
    del root["g/h"]
    assert [path for path, _ in root.members(None)] == ["a", "g", "g/b"]
    del root["a"]
    with pytest.raises(KeyError):
        del root["a"]
    assert list(root) == ["g"]


def test_move(root):
    root["g/b"][...] = 5
    root.move("g", "p/q")
    assert [path for path, _ in root.members(None)] == ["a", "p", "p/q", "p/q/b", "p/q/h", "p/q/h/c"]
    assert (root["p/q/b"][...] == 5).all()
    with pytest.raises(KeyError):
        root.move("g", "z")
    with pytest.raises(ContainsArrayError):
        root.move("p", "a")
    with pytest.raises(ValueError, match="lies in it"):
        root.move("p", "p/r")


def test_filled_arrays(root):
    assert (root.zeros(name="z", shape=3)[...] == 0).all()
    assert (root.ones(name="o", shape=3, dtype="i2")[...] == 1).all()
    assert (root.full(name="f", shape=3, fill_value=4)[...] == 4).all()
    assert root.empty(name="e", shape=3).metadata.zarr_format == root.metadata.zarr_format
    assert root.zeros_like(name="zl", data=root["a"]).dtype == np.dtype("i4")
    assert (root.ones_like(name="ol", data=np.zeros((2, 2)))[...] == 1).all()
    assert (root.full_like(name="fl", data=root["a"], fill_value=7)[...] == 7).all()
    assert root.empty_like(name="el", data=root["a"]).shape == (3,)


def test_assigning_an_array(root):
    root["new/values"] = np.arange(4)
    assert root["new/values"][...].tolist() == [0, 1, 2, 3]
    root["new/values"] = np.arange(5)
    assert root["new/values"][...].tolist() == [0, 1, 2, 3, 4]


def test_attributes(root, store, zarr_format):
    root.attrs["x"] = [1, {"y": None}]
    root.attrs.update(z=2, title="new")
    assert root.attrs.asdict() == {"title": "new", "x": [1, {"y": None}], "z": 2}
    again = zarrcore.open_group(store, mode="r+", zarr_format=zarr_format)
    assert dict(again.attrs) == root.attrs.asdict()
    del again.attrs["x"]
    again.attrs.pop("z")
    again.update_attributes({"w": 1})
    assert dict(zarrcore.open_group(store, mode="r").attrs) == {"title": "new", "w": 1}
    again.attrs.put({"only": 1})
    assert dict(zarrcore.open_group(store, mode="r").attrs) == {"only": 1}
    again.attrs.clear()
    assert dict(zarrcore.open_group(store, mode="r").attrs) == {}
    assert "a" in zarrcore.open_group(store, mode="r")


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2}, b"x", {"a": float("inf")}])
def test_what_json_cannot_hold(root, value):
    for node in (root, root["a"]):
        before = dict(node.attrs)
        with pytest.raises((TypeError, ValueError)):
            node.attrs["x"] = value
        assert dict(node.attrs) == before


def test_read_only(root, store):
    group = zarrcore.open_group(store, mode="r")
    for write in (
        lambda: group.create_group("n"),
        lambda: group.create_array("n", shape=1, dtype="i4"),
        lambda: group.attrs.update(a=1),
        lambda: group.__delitem__("a"),
        lambda: group.move("a", "b"),
    ):
        with pytest.raises(ReadOnlyError):
            write()


def test_consolidated(root, store, zarr_format):
    root["g/b"].attrs["unit"] = "m"
    consolidated = zarrcore.consolidate_metadata(store)
    assert [path for path, _ in consolidated.members(None)] == ALL
    counting = LoggingStore(store)
    group = zarrcore.open_consolidated(counting, mode="r")
    reads = counting.counter["get"] + counting.counter["get_many"] + counting.counter["get_partial_values"]
    assert [path for path, _ in group.members(None)] == ALL
    assert group["g/b"].attrs["unit"] == "m"
    assert [path for path, _ in group["g"].members(None)] == ["b", "h", "h/c"]
    assert "x" not in group
    after = counting.counter["get"] + counting.counter["get_many"] + counting.counter["get_partial_values"]
    assert after == reads
    assert zarrcore.open_group(store, mode="r").metadata.consolidated_metadata is not None
    plain = zarrcore.open_group(store, mode="r", use_consolidated=False)
    assert plain.metadata.consolidated_metadata is None


def test_consolidated_metadata_follows_deletion(root, store):
    zarrcore.consolidate_metadata(store)
    group = zarrcore.open_group(store)
    del group["g"]
    assert [path for path, _ in group.members(None)] == ["a"]
    assert [path for path, _ in zarrcore.open_group(store, mode="r").members(None)] == ["a"]


def test_consolidated_metadata_that_is_missing(root, store):
    with pytest.raises(ValueError, match="consolidated"):
        zarrcore.open_consolidated(store)


def test_a_broken_member_is_no_missing_member(zarr_format):
    values = {}
    root = zarrcore.create_group(values, zarr_format=zarr_format)
    root.create_array("a", shape=(3,), dtype="i4")
    name = "a/zarr.json" if zarr_format == 3 else "a/.zarray"
    values[name] = b"{"
    for use in (lambda: root["a"], lambda: root.get("a"), lambda: root.members()):
        with pytest.raises(MetadataValidationError, match=name):
            use()
    assert list(root) == ["a"]
    assert "a" in root


def test_other_keys_are_no_members(root, store):
    store.set("notes.txt", b"hello")
    store.set("junk/data", b"hello")
    assert list(root) == ["a", "g"]


def test_hierarchies(store):
    template = zarrcore.create_array({}, shape=(4,), dtype="i4").metadata
    group = zarrcore.create_group({}).metadata
    nodes = {"": group, "x/y": template, "z": group}
    made = dict(zarrcore.create_hierarchy(store=store, nodes=nodes))
    assert set(made) == {"", "x", "x/y", "z"}
    root = zarrcore.open_group(store, mode="r+")
    assert [path for path, _ in root.members(None)] == ["x", "x/y", "z"]
    assert dict(root.create_hierarchy({"w/v": template}))["w/v"].path == "w/v"
    with pytest.raises(ValueError, match="below the array"):
        list(root.create_hierarchy({"p": template, "p/q": template}))
    with pytest.raises(ContainsArrayError):
        list(root.create_hierarchy({"w/v": template}))


def test_info(root):
    text = repr(root.info)
    assert "Group" in text
    assert root.info_complete()["No. members"] == 5
    array = repr(root["a"].info_complete())
    assert "Chunks Initialized" in array
    assert "int32" in array.lower()


@pytest.mark.parametrize("kind", ["directory", "memory", "zip"])
def test_bytes_in_the_store(kind, tmp_path):
    store = {
        "directory": lambda: zarrcore.storage.LocalStore(tmp_path / "data"),
        "memory": zarrcore.storage.MemoryStore,
        "zip": lambda: zarrcore.storage.ZipStore(tmp_path / "x.zip", mode="w"),
    }[kind]()
    root = zarrcore.create_group(store)
    group = root.create_group("a")
    for parent, name in ((group, "x"), (group, "y"), (root, "ab")):  # "ab" is not below "a"
        parent.create_array(name, shape=1000, chunks=300, dtype="i4", compressors=None)[:] = 1
    sizes = {key: len(store.get(key)) for key in store.list()}
    for node, prefix in ((root, ""), (group, "a/"), (group["x"], "a/x/")):
        stored = sum(size for key, size in sizes.items() if key.startswith(prefix))
        assert node.nbytes_stored() == stored > 4000
        assert asyncio.run(as_async(node).nbytes_stored()) == stored
        assert node.info_complete()["No. bytes stored"].split()[0] == str(stored)
    assert "No. bytes stored" not in root.info.items()
    if kind == "directory":
        on_disk = sum(file.stat().st_size for file in (tmp_path / "data" / "a").rglob("*") if file.is_file())
        assert group.nbytes_stored() == on_disk
    store.close()


def as_async(node):
    return node._async_group if isinstance(node, zarrcore.Group) else node.async_array


def test_a_store_that_cannot_list_has_no_bytes_to_show():
    class Unlisted(zarrcore.storage.WrapperStore):
        supports_listing = False

    root = zarrcore.create_group({})
    root["x"] = np.arange(3)
    zarrcore.consolidate_metadata(root.store)
    info = zarrcore.open_group(Unlisted(root.store)).info_complete()
    assert info["No. members"] == 1
    assert "No. bytes stored" not in info.items()


def test_a_group_is_like_a_dictionary():
    root = zarrcore.create_group({})
    root["b"], root["g/a"] = np.arange(3), np.ones(2)
    assert list(root.items()) == [("b", root["b"]), ("g", root["g"])] == list(dict(root).items())
    assert list(root.values()) == [root["b"], root["g"]]
    assert [*root.keys()] == [*root]


def test_a_name_in_other_letters_is_suggested():
    root = zarrcore.create_group({})
    root["Temperature"] = np.arange(3)
    with pytest.raises(KeyError, match="did you mean 'Temperature'"):
        root["temperature"]


def test_an_empty_fill_value_is_shown():
    info = zarrcore.create_array({}, shape=3, dtype="str").info
    assert "Fill value         : ''\n" in repr(info)
    assert info["Fill value"] == ""


def test_tree_of_a_path(tmp_path):
    root = zarrcore.create_group(tmp_path / "x.zarr")
    root["a/b"] = np.arange(3)
    assert repr(zarrcore.tree(tmp_path / "x.zarr")) == repr(zarrcore.tree(root)) == repr(root.tree())
    assert "b" not in repr(zarrcore.tree(str(tmp_path / "x.zarr"), level=1))
    with pytest.raises(GroupNotFoundError):
        zarrcore.tree(tmp_path / "y.zarr")
    assert not (tmp_path / "y.zarr").exists()


def test_info_names_chunks_and_threads():
    array = zarrcore.create_array({}, shape=10, chunks=2, dtype="i4")
    array[:5] = 1
    with zarrcore.config.set({"threading.max_workers": 3}):
        info = array.info_complete()
    assert (info["No. chunks"], info["Chunks Initialized"], info["Threads"]) == (5, 3, 3)


def test_what_is_shown_of_a_time_without_a_unit():
    """It was an error of NumPy, without a name."""
    document = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<M8", "fill_value": 0}
    document |= {"compressor": None, "filters": None, "order": "C"}
    array = zarrcore.open_array({".zarray": json.dumps(document).encode()})
    shown = array.info, array.info_complete(), array.metadata, array
    assert all("0 in steps of datetime64" in repr(item) for item in shown[:3]) and repr(array)
    assert array.info._repr_html_() and array._repr_html_()


def test_info_of_a_time_beyond_the_calendar():
    array = zarrcore.create_array({}, shape=3, dtype="M8[10s]", fill_value=2**63 - 1)
    assert "9223372036854775807 in steps of datetime64[10s]" in repr(array.info)
    assert "9223372036854775807" in array.info._repr_html_()


def test_pickle(tmp_path):
    root = zarrcore.create_group(tmp_path)
    root.create_array("a", data=np.arange(5))
    copy = pickle.loads(pickle.dumps(root))
    assert copy == root
    array = pickle.loads(pickle.dumps(root["a"]))
    assert array == root["a"]
    assert array[...].tolist() == [0, 1, 2, 3, 4]


def test_opening_the_wrong_kind(root, store):
    with pytest.raises(NodeTypeValidationError):
        zarrcore.open_array(store, mode="r")
    with pytest.raises(NodeTypeValidationError):
        zarrcore.open_group(store, path="a", mode="r")
    with pytest.raises(GroupNotFoundError):
        zarrcore.open_group(store, path="nothing", mode="r")


def test_attributes_are_one_write(zarr_format):
    store = LoggingStore(MemoryStore())
    group = zarrcore.create_group(store, zarr_format=zarr_format)
    before = store.counter["set"]
    group.attrs.update({str(n): n for n in range(20)})
    assert store.counter["set"] - before == (1 if zarr_format == 3 else 2)


def test_documents_are_json(root, store, zarr_format):
    name = "zarr.json" if zarr_format == 3 else ".zattrs"
    document = json.loads(bytes(store.get(name)))
    assert (document["attributes"] if zarr_format == 3 else document) == {"title": "top"}


def test_a_group_that_is_gone_is_made_again(root, store, zarr_format):
    """What a group handle remembers of the groups above it is looked up before it is relied on."""
    group = root["g"]
    store.erase_prefix("")
    group.create_array("x", shape=1, dtype="i4")
    again = zarrcore.open_group(store, mode="r", zarr_format=zarr_format)
    assert [path for path, _ in again.members(None)] == ["g", "g/x"]


def test_what_is_listed_has_its_place(root):
    for path, node in root.members(None):
        assert node.path == path
        assert node.store_path == root.store_path / path


@pytest.mark.parametrize("bad", ["", "a//b", "a/./b", "..", "/a", "a/", "a\\b", "a/\0", "a/../b"])
def test_paths_in_consolidated_metadata(bad):
    from zarrcore.metadata import ConsolidatedMetadata

    node = zarrcore.create_group({}).metadata
    ConsolidatedMetadata({"a/.b/...c": node})
    with pytest.raises(MetadataValidationError, match="path of node names"):
        ConsolidatedMetadata({"good": node, bad: node})


def test_chains_are_shared_by_what_was_created_alike():
    def chain(**options):
        return zarrcore.create_array({}, shape=9, chunks=3, dtype="f4", **options).metadata.chain()

    assert chain() is chain()
    assert chain(fill_value=0.0) is not chain(fill_value=-0.0)
    assert chain(compressors=None) is not chain()


def test_groups_without_a_document(store):
    """Format 2: older writers left out those of the groups between."""
    root = zarrcore.create_group(store, zarr_format=2)
    root.create_array("g/h/a", data=np.arange(3))
    store.delete("g/h/.zgroup")
    store.delete("g/h/.zattrs")
    assert root["g/h/a"][...].tolist() == [0, 1, 2]
    assert "g/h/a" in root
    for group in (zarrcore.consolidate_metadata(store), zarrcore.open_consolidated(store, mode="r")):
        assert [path for path, _ in group.members(None)] == ["g", "g/h", "g/h/a"]
        assert group["g"]["h/a"][...].tolist() == [0, 1, 2]
    assert zarrcore.check_consolidated(store) == ()
    root.create_array("g/h/b", shape=1, dtype="i1")
    assert [path for path, _ in root.members(None)] == ["g", "g/h", "g/h/a", "g/h/b"]


def listings(store):
    return store.counter["list_dir"]


@pytest.mark.parametrize("collect", [list, tuple, sorted, set, lambda group: [*group]])
def test_names_are_listed_once(collect, root):
    store = LoggingStore(root.store, "ERROR")
    group = zarrcore.open_group(store, use_consolidated=False)
    before = listings(store)
    assert sorted(collect(group)) == ["a", "g"]
    assert listings(store) == before + 1


def test_the_length_is_that_of_now(root):
    names = iter(root)
    root.create_group("new")
    assert len(root) == 3  # also where an iterator waits, which then has these names
    root.create_group("newer")
    assert len(root) == 4
    assert [*names] == ["a", "g", "new"]
    names = iter(root)
    assert next(names) == "a"
    assert len(root) == 4
    assert [*names] == ["g", "new", "newer"]


def test_iterators_of_many_threads(root):
    with ThreadPoolExecutor(4) as pool:
        assert all(names == ["a", "g"] for names in pool.map(lambda _: list(root), range(200)))


def test_a_missing_member_names_the_group_and_close_names(root):
    for wrong, right in (("gg", "g"), ("g/bb", "b")):
        with pytest.raises(
            KeyError, match=f"no array or group '{wrong}' in .*; did you mean '{right}'"
        ) as caught:
            root[wrong]
        assert str(root.store_path) in str(caught.value)
    for wrong in ("quite other", "no/group", "../x", "a/b"):
        with pytest.raises(KeyError, match="no array or group"):
            root[wrong]
    with pytest.raises(KeyError, match="did you mean 'g'"):
        del root["gg"]
    with pytest.raises(KeyError, match="did you mean 'g'"):
        root.move("gg", "x")


def test_a_hint_that_cannot_be_found_does_not_hide_that_the_member_is_missing(monkeypatch):
    root = zarrcore.create_group(MemoryStore())

    def fail(prefix):
        raise OSError("no listing")

    monkeypatch.setattr(root.store, "list_dir", fail)
    with pytest.raises(KeyError, match="no array or group 'x'"):
        root["x"]


def test_info_shows_what_describes_the_values():
    root = zarrcore.create_group({}, attributes={"title": 1, "bad\nname": 2})
    assert root.info["Attributes"] == r"title, bad\nname"
    array = root.create_array(
        "a",
        shape=(4, 6),
        chunks=(2, 6),
        dtype="i4",
        dimension_names=("y\x1b", None),
        attributes={"x" * 300: 1},
    )
    assert array.info["Dimension names"] == ("y\x1b", None)
    assert r"('y\x1b', None)" in repr(array.info)
    assert array.info["Attributes"] == "x" * 200 + "..."
    assert array.info["No. chunks"] == 2
    bare = root.create_array("b", shape=3, dtype="i4").info.items()
    assert not bare.keys() & {"Dimension names", "Attributes"}


def test_a_name_is_not_suggested_for_itself(tmp_path: Path) -> None:
    """An empty directory was suggested in its own place."""
    group = zarrcore.create_group(tmp_path)
    (tmp_path / "sub").mkdir()
    with pytest.raises(KeyError, match=r"no array or group 'sub' in [^;]*$"):
        group["sub"]


def test_a_group_whose_store_was_emptied_is_made_once_more() -> None:
    group = zarrcore.create_group({}, attributes={"n": 1})
    group.store.clear()
    assert dict(group.require_group("/").attrs) == {} and list(group.store.list()) == ["zarr.json"]
    group.store.clear()
    zarrcore.create_array(group.store, shape=1, dtype="i1")
    with pytest.raises(ContainsArrayError):
        group.require_group("/")


def test_faces_are_made_of_each_other() -> None:
    group = zarrcore.create_group({})
    array = group.create_array("a", shape=3, dtype="i2")
    twin = zarrcore.Array(array.async_array)
    twin[...] = 7
    assert array[:].tolist() == [7, 7, 7] and twin == array
    assert zarrcore.Group(zarrcore.AsyncGroup(group)) == group
