# SPDX-License-Identifier: MIT
"""Consolidated metadata: what follows changes, what is known to be stale, what stays as others wrote it."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from meeting_store import MeetingStore

import zarrcore
from zarrcore.errors import MetadataValidationError, NodeIOError, StaleMetadataError, ZarrUserWarning
from zarrcore.groups import changing, members
from zarrcore.nodes import consolidated, copies, create, users
from zarrcore.nodes.consolidated import lookup
from zarrcore.nodes.copies import _copies, _with_copies, document_lock, documents_follow
from zarrcore.nodes.find import read_node
from zarrcore.storage import (
    FsspecStore,
    LocalStore,
    LoggingStore,
    MemoryStore,
    Store,
    WrapperStore,
    resolve_range,
)


@pytest.fixture(params=["memory", "local", "far"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    if request.param == "local":
        return LocalStore(tmp_path / "store")
    return MemoryStore() if request.param == "memory" else WrapperStore(MemoryStore())


@pytest.fixture(params=[2, 3])
def zarr_format(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def root(store: Any, zarr_format: int) -> zarrcore.Group:
    """/{a, g/{b, h/{c}}} with consolidated metadata, opened."""
    root = zarrcore.create_group(store, zarr_format=zarr_format, attributes={"title": "top"})
    root.create_array("a", shape=(3,), dtype="i4", attributes={"unit": "m"})
    root.create_array("g/b", shape=(2, 2), dtype="f4")
    root.create_array("g/h/c", shape=(), dtype="u1")
    zarrcore.consolidate_metadata(store)
    return zarrcore.open_consolidated(store)


def paths(group: zarrcore.Group) -> list[str]:
    return [path for path, _ in group.members(max_depth=None)]


ALL = ["a", "g", "g/b", "g/h", "g/h/c"]


# ---- what this process changes


def test_a_change_through_a_child_is_seen(root: zarrcore.Group) -> None:
    sub = root["g"]
    root["a"].attrs["unit"] = "km"
    assert root["a"].attrs["unit"] == "km"
    root["a"].resize((7,))
    assert root["a"].shape == (7,)
    assert dict(root.members())["a"].shape == (7,)
    sub["b"].append(np.zeros((1, 2)))
    assert root["g/b"].shape == sub["b"].shape == dict(sub.members())["b"].shape == (3, 2)
    root["g/h"].attrs["n"] = 1
    assert dict(root["g/h"].attrs) == {"n": 1}


@pytest.mark.parametrize("how", ["array", "group", "delete", "move", "overwrite", "copy"])
def test_a_change_through_another_handle_is_seen(root: zarrcore.Group, store: Any, how: str) -> None:
    sub, other = root["g"], zarrcore.open_group(store, use_consolidated=False)
    assert root.metadata.consolidated_metadata is not None
    if how == "array":
        other.create_array("g/x", shape=1, dtype="i1")
    elif how == "group":
        other["g"].create_group("x")
    elif how == "delete":
        del other["g/b"]
    elif how == "move":
        other.move("g/b", "g/x")
    elif how == "copy":
        zarrcore.copy(other["a"], other["g"], name="x")
    else:
        zarr_format = root.metadata.zarr_format
        zarrcore.create_array(store, name="g", shape=1, dtype="i1", overwrite=True, zarr_format=zarr_format)
    assert paths(root) == paths(other)
    if how != "overwrite":
        assert paths(sub) == paths(other["g"])
    assert ("g/x" in root) == (how not in ("delete", "overwrite"))


@pytest.mark.parametrize("store", ["local"], indirect=True)  # those in memory are in the pickle themselves
def test_a_group_of_a_pickle_sees_what_was_changed_since(root: zarrcore.Group, store: Any) -> None:
    other = zarrcore.open_group(store, use_consolidated=False)
    pickled = pickle.dumps(root)
    assert pickle.loads(pickled).metadata.consolidated_metadata is not None
    other.create_group("g/x")
    del other["a"]
    again, sub = pickle.loads(pickled), pickle.loads(pickled)["g"]
    assert paths(again) == paths(other) == ["g", "g/b", "g/h", "g/h/c", "g/x"]
    assert paths(sub) == paths(other["g"])


def test_attributes_that_wait_for_another_thread_keep_no_copy_that_it_has_made_stale(
    root: zarrcore.Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken_later(place: Any) -> Any:
        root.create_group("x")  # as a thread that was faster to lock the document
        root.create_group("y")
        return document_lock(place)

    monkeypatch.setattr(changing, "document_lock", taken_later)
    root.attrs["more"] = 1
    assert paths(root) == [*ALL, "x", "y"]
    assert dict(root.attrs) == {"title": "top", "more": 1}


def test_a_member_that_is_found_while_others_are_made_sees_these(
    root: zarrcore.Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked_up(*args: Any) -> Any:
        found = lookup(*args)
        monkeypatch.undo()
        root.create_group("g/x")  # as another thread
        root.create_group("g/y")
        return found

    monkeypatch.setattr(consolidated, "lookup", looked_up)
    sub = root["g"]
    assert paths(sub) == ["b", "h", "h/c", "x", "y"]


@pytest.mark.parametrize("zarr_format", [3], indirect=True)  # in format 2 a member is opened without a copy
def test_a_member_with_a_copy_of_its_own_sees_what_is_made_while_it_is_read(
    root: zarrcore.Group, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*args: Any) -> Any:
        found = read_node(*args)
        monkeypatch.undo()
        other.create_group("g/x")  # as another thread
        return found

    zarrcore.consolidate_metadata(store, path="g")
    other = zarrcore.open_group(store, use_consolidated=False)
    assert other["g"].metadata.consolidated_metadata is not None
    monkeypatch.setattr(members, "read_node", read)
    assert paths(other["g"]) == ["b", "h", "h/c", "x"]


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_the_stored_copy_has_no_node_that_another_thread_has_removed_meanwhile(
    root: zarrcore.Group, store: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """What was created was put into the copy after it had been taken out, beside its successor."""

    def late(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        follow = documents_follow(*args, **options)

        def follow_late() -> None:
            if how == "removed":
                del other["g/x"]
            else:
                other.create_array("g/x", shape=2, dtype="i4", overwrite=True)
            follow()

        return follow_late

    other = zarrcore.open_group(store, use_consolidated=False)
    monkeypatch.setattr(create, "documents_follow", late)
    root.create_group("g/x")
    assert zarrcore.check_consolidated(store) == ()
    assert paths(zarrcore.open_consolidated(store)) == paths(other)


def test_the_stored_copy_has_a_node_that_another_thread_makes_in_the_place_of_one_that_is_removed(
    root: zarrcore.Group, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits(place: Any) -> bool:
        monkeypatch.undo()
        other.create_array("g/b/c", shape=2, dtype="i4")
        return False

    other = zarrcore.open_group(store, use_consolidated=False)
    monkeypatch.setattr(create, "wait_for_writes", waits)
    del root["g/b"]
    assert zarrcore.check_consolidated(store) == ()
    assert "g/b/c" in paths(zarrcore.open_consolidated(store))


def test_a_copy_that_is_read_just_before_it_is_brought_up_to_date_is_stale(
    root: zarrcore.Group, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*args: Any) -> Any:
        monkeypatch.undo()
        opened.append(zarrcore.open_consolidated(store))
        return _with_copies(*args)

    opened: list[zarrcore.Group] = []
    monkeypatch.setattr(copies, "_with_copies", found)
    root.create_group("x")
    assert paths(opened[0]) == [*ALL, "x"]


class _Slow(MemoryStore):
    def _concurrent_requests(self) -> int:
        return 4


@pytest.mark.parametrize("act", ["change", "create", "remove"])
def test_a_copy_that_another_thread_makes_after_a_slow_store_was_asked_for_copies(
    monkeypatch: pytest.MonkeyPatch, zarr_format: int, act: str
) -> None:
    """A slow store is asked while the node is stored or removed, and has answered that there is no copy."""

    def late(*args: Any, **options: Any) -> None:
        monkeypatch.undo()
        time.sleep(0.1)  # for the answer
        zarrcore.consolidate_metadata(store)
        step(*args, **options)

    store = _Slow()
    root = zarrcore.create_group(store, zarr_format=zarr_format)  # type: ignore[arg-type]
    array = root.create_array("a", shape=2, dtype="i4")
    name = {"change": "store_unfollowed", "create": "_store_new", "remove": "_erase"}[act]
    step = getattr(create, name)
    monkeypatch.setattr(create, name, late)
    if act == "change":
        array.attrs["n"] = 1
    elif act == "create":
        root.create_array("b", shape=2, dtype="i4")
    else:
        del root["a"]
    assert zarrcore.open_consolidated(store).metadata.consolidated_metadata is not None
    assert zarrcore.check_consolidated(store) == ()


def test_a_change_is_noted_as_often_however_many_documents_follow_it(store: Any, zarr_format: int) -> None:
    """Each consolidated document above had all copies of open groups looked at once more."""
    counts = []
    for name in ("", "a", "a/b", "a/b/c"):
        group = zarrcore.open_group(store, path=f"deep/{name}", mode="w", zarr_format=zarr_format)  # type: ignore[arg-type]
        zarrcore.consolidate_metadata(store, path=f"deep/{name}")
        before = users.changes
        group.create_group("x")
        counts.append(users.changes - before)
        path = f"{name}/x".lstrip("/")
        assert path in paths(zarrcore.open_consolidated(store, path="deep"))
    assert counts == counts[:1] * 4


def test_what_does_not_concern_a_copy_leaves_it(
    root: zarrcore.Group, tmp_path: Any, zarr_format: int
) -> None:
    zarrcore.create_group({}, zarr_format=zarr_format).create_array("a", shape=9, dtype="i1")
    zarrcore.create_array(tmp_path / "other", name="a", shape=9, dtype="i1")
    root.attrs["more"] = 1
    assert root.metadata.consolidated_metadata is not None
    assert paths(root) == ALL
    root["a"][...] = 5
    assert root.metadata.consolidated_metadata is not None


def test_attributes_of_the_group_keep_the_copy_in_the_store(root: zarrcore.Group, store: Any) -> None:
    root.attrs["more"] = 1
    again = zarrcore.open_consolidated(store)
    assert dict(again.attrs) == {"title": "top", "more": 1}
    assert paths(again) == ALL


def test_a_stale_copy_is_not_written_back(root: zarrcore.Group, store: Any, zarr_format: int) -> None:
    root["a"].resize((5,))
    root.attrs["more"] = 1
    assert zarrcore.check_consolidated(store) == ()
    assert zarrcore.open_group(store, use_consolidated=False)["a"].shape == (5,)
    assert zarrcore.consolidate_metadata(store)["a"].shape == (5,)
    assert zarrcore.open_consolidated(store)["a"].shape == (5,)


def test_a_group_below_does_not_store_the_copy(root: zarrcore.Group, store: Any, zarr_format: int) -> None:
    sub = root["g"]
    sub.attrs["n"] = 1
    del sub["b"]
    assert not store.exists("g/.zmetadata")
    if zarr_format == 3:
        assert "consolidated_metadata" not in json.loads(bytes(store.get("g/zarr.json")))
    assert paths(sub) == ["h", "h/c"]
    assert paths(root) == ["a", "g", "g/h", "g/h/c"]


def test_copies_are_forgotten_with_their_groups(root: zarrcore.Group) -> None:
    before = len(_copies)
    groups = [zarrcore.open_consolidated(root.store) for _ in range(5)]
    assert len(_copies) == before + 5
    del groups
    assert len(_copies) == before


def test_many_threads_open_and_change(store: Any, root: zarrcore.Group) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(1, 20):
                group = zarrcore.open_group(store)
                group[f"a{number}"].attrs["step"] = step
                assert group[f"a{number}"].attrs["step"] == step
        except BaseException as error:
            errors.append(error)

    for number in range(4):
        root.create_array(f"a{number}", shape=1, dtype="i1")
    zarrcore.consolidate_metadata(store)
    with zarrcore.config.set({"metadata.check_consolidated": "off"}):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


# ---- what others change


def change_behind(store: Any, zarr_format: int, **members: Any) -> None:
    """Change a document as another process would."""
    key = "a/zarr.json" if zarr_format == 3 else "a/.zarray"
    store.set(key, json.dumps(json.loads(bytes(store.get(key))) | members).encode())


def test_near_stores_are_compared(root: zarrcore.Group, store: Any, zarr_format: int) -> None:
    assert root["a"].shape == (3,)
    change_behind(store, zarr_format, shape=[8])
    if not store._is_near:
        assert root["a"].shape == (3,)
        return
    with pytest.warns(ZarrUserWarning, match=r"consolidated metadata of .*a is stale \(shape\)"):
        assert root["a"].shape == (8,)


def test_a_copy_has_what_others_have_added(root: zarrcore.Group, store: Any, zarr_format: int) -> None:
    """Rows and nodes that a stale copy of the metadata lacks were left out, without a word."""
    if not store._is_near:
        return
    change_behind(store, zarr_format, shape=[8])
    late = zarrcore.create_array(MemoryStore(), shape=2, dtype="i1", zarr_format=zarr_format).store
    for key in late.list():
        store.set(f"late/{key}", late.get(key))
    for copy in (zarrcore.copy_all, lambda group, target: zarrcore.copy(group, target, name="b")):
        target = zarrcore.create_group({}, zarr_format=zarr_format)
        with (
            pytest.warns(ZarrUserWarning, match=r"stale \(it was added later\)"),
            pytest.warns(ZarrUserWarning, match=r"stale \(shape\)"),
        ):
            copy(zarrcore.open_group(store, mode="r"), target)
        assert {(8,), (2,)} <= {node.shape for _, node in target.members(None) if hasattr(node, "shape")}


@pytest.mark.parametrize("action", ["off", "warn", "raise"])
def test_the_setting(root: zarrcore.Group, store: Any, zarr_format: int, action: str) -> None:
    change_behind(store, zarr_format, shape=[8], fill_value=5)
    with zarrcore.config.set({"metadata.check_consolidated": action}):
        if action == "off":
            assert root["a"].shape == (3,)
        elif action == "warn":
            with pytest.warns(ZarrUserWarning, match=r"fill_value, shape"):
                assert root["a"].shape == (8,)
        else:
            with pytest.raises(StaleMetadataError, match="consolidate_metadata"):
                root["a"]
        assert root["g/b"].shape == (2, 2)
    with pytest.raises(ValueError, match="check_consolidated"):
        zarrcore.config.set({"metadata.check_consolidated": "sometimes"})


def test_nodes_without_documents_of_their_own_are_left(root: zarrcore.Group, store: Any) -> None:
    store.erase_prefix("a")
    assert root["a"].shape == (3,)


def test_far_stores_are_not_asked(zarr_format: int) -> None:
    store = LoggingStore(MemoryStore(), "ERROR")
    zarrcore.create_group(store, zarr_format=zarr_format).create_array("a", shape=1, dtype="i1")
    zarrcore.consolidate_metadata(store)
    group = zarrcore.open_consolidated(store)
    before = sum(store.counter.values())
    assert group["a"].shape == (1,)
    assert sum(store.counter.values()) == before


class _Refusing(MemoryStore):
    refused = "none"

    def get(self, key: str, *args: Any, **options: Any) -> Any:
        if key.startswith(self.refused):
            raise PermissionError(13, "not yours")
        return super().get(key, *args, **options)


def test_a_node_that_cannot_be_read_is_not_called_changed(zarr_format: int) -> None:
    store = _Refusing()
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    for name in ("a", "g/b"):
        root.create_array(name, shape=1, dtype="i1")
    zarrcore.consolidate_metadata(store)
    for refused in ("a/", "g/b/"):
        store.refused = refused
        with pytest.raises(NodeIOError, match="not yours") as caught:
            zarrcore.check_consolidated(store)
        assert f"node {refused[:-1]!r} in" in str(caught.value)
        with pytest.raises(NodeIOError, match="not yours"):
            zarrcore.consolidate_metadata(store)
    store.refused = "none"
    assert zarrcore.check_consolidated(store) == ()


def test_differences(root: zarrcore.Group, store: Any, zarr_format: int) -> None:
    assert zarrcore.check_consolidated(store) == ()
    assert zarrcore.check_consolidated(root) == zarrcore.check_consolidated(root, "g") == ()
    change_behind(store, zarr_format, shape=[8])
    for name in (".zgroup", ".zattrs") if zarr_format == 2 else ("zarr.json",):
        document = json.loads(bytes(store.get(f"g/{name}")))
        changed = {"n": 1} if name == ".zattrs" else {"attributes": {"n": 1}} if zarr_format == 3 else {}
        store.set(f"g/{name}", json.dumps(document | changed).encode())
    store.erase_prefix("g/b")
    for name in (".zarray", ".zattrs") if zarr_format == 2 else ("zarr.json",):
        store.set(f"g/h/new/{name}", store.get(f"g/h/c/{name}"))
    found = zarrcore.check_consolidated(store)
    assert [str(difference) for difference in found] == [
        "a: changed (shape)",
        "g: changed (attributes)",
        "g/b: missing",
        "g/h/new: added",
    ]
    assert (found[0].path, found[0].kind, found[0].members) == ("a", "changed", "shape")
    zarrcore.consolidate_metadata(store)
    assert zarrcore.check_consolidated(store, zarr_format=zarr_format) == ()


def test_there_must_be_something_to_compare(store: Any, zarr_format: int) -> None:
    group = zarrcore.create_group(store, zarr_format=zarr_format)
    for argument in (store, group):
        with pytest.raises(ValueError, match="no consolidated metadata"):
            zarrcore.check_consolidated(argument)


def test_implied_groups_are_no_difference() -> None:
    values: dict[str, Any] = {}
    zarrcore.create_group(values, zarr_format=2)
    zarrcore.create_array(values, name="g/a", shape=1, dtype="i1", zarr_format=2)
    zarrcore.consolidate_metadata(values)
    document = json.loads(values[".zmetadata"])
    del document["metadata"]["g/.zgroup"], document["metadata"]["g/.zattrs"]
    values[".zmetadata"] = json.dumps(document).encode()
    assert zarrcore.check_consolidated(values) == ()


# ---- what others wrote stays


def test_foreign_members_of_format_2_are_kept() -> None:
    """netCDF-C's and those that nobody knows yet, when attributes are changed and members removed."""
    values: dict[str, Any] = {}
    root = zarrcore.create_group(values, zarr_format=2)
    root.create_array("a", shape=1, dtype="i1")
    root.create_array("b", shape=1, dtype="i1")
    superblock = {"_nczarr_superblock": {"version": "2.0.0"}, "_nczarr_group": {"vars": ["a"]}}
    values[".zgroup"] = json.dumps({"zarr_format": 2, **superblock}).encode()
    values["a/.zarray"] = json.dumps(
        json.loads(values["a/.zarray"]) | {"_nczarr_array": {"dimrefs": ["/x"], "storage": "chunked"}}
    ).encode()
    values["a/.zattrs"] = b'{"_nczarr_attr": {"types": {"unit": ">S1"}}, "unit": "m"}'
    zarrcore.consolidate_metadata(values)
    values[".zmetadata"] = json.dumps(json.loads(values[".zmetadata"]) | {"future": 1}).encode()
    group = zarrcore.open_consolidated(values)
    group.attrs["title"] = "t"
    del group["b"]
    document = json.loads(values[".zmetadata"])
    assert document["future"] == 1
    assert (
        document["metadata"][".zgroup"] == json.loads(values[".zgroup"]) == {"zarr_format": 2, **superblock}
    )
    assert document["metadata"]["a/.zarray"]["_nczarr_array"]["dimrefs"] == ["/x"]
    array = zarrcore.open_array(values, path="a")
    array.attrs["unit"] = "km"
    array.resize(4)
    assert json.loads(values["a/.zarray"])["_nczarr_array"] == {"dimrefs": ["/x"], "storage": "chunked"}
    assert json.loads(values["a/.zattrs"]) == {"_nczarr_attr": {"types": {"unit": ">S1"}}, "unit": "km"}


def test_foreign_members_of_format_3_are_kept() -> None:
    values: dict[str, Any] = {}
    root = zarrcore.create_group(values)
    root.create_array("a", shape=1, dtype="i1")
    zarrcore.consolidate_metadata(values)
    document = json.loads(values["zarr.json"])
    document["consolidated_metadata"]["future"] = {"x": 1}
    document["extension"] = {"must_understand": False, "y": 2}
    values["zarr.json"] = json.dumps(document).encode()
    zarrcore.open_consolidated(values).attrs["title"] = "t"
    assert json.loads(values["zarr.json"]) == document | {"attributes": {"title": "t"}}


def test_consolidated_metadata_of_another_kind_are_kept_until_there_are_some_of_this() -> None:
    values: dict[str, Any] = {}
    zarrcore.create_group(values).create_array("a", shape=1, dtype="i1")
    foreign = {"kind": "remote", "must_understand": False, "where": "elsewhere"}
    document = json.loads(values["zarr.json"]) | {"consolidated_metadata": foreign}
    values["zarr.json"] = json.dumps(document).encode()
    root = zarrcore.open_group(values)
    assert root.metadata.consolidated_metadata is None
    root.attrs["title"] = "t"
    assert json.loads(values["zarr.json"])["consolidated_metadata"] == foreign
    with pytest.raises(ValueError, match="no consolidated"):
        zarrcore.open_consolidated(values)
    zarrcore.consolidate_metadata(values)
    assert paths(zarrcore.open_consolidated(values)) == ["a"]


@pytest.mark.parametrize("use", [True, False, None])
def test_use_consolidated(use: bool | None, zarr_format: int) -> None:
    values: dict[str, Any] = {}
    zarrcore.create_group(values, zarr_format=zarr_format).create_array("g/a", shape=1, dtype="i1")
    if use:
        with pytest.raises(ValueError, match="no consolidated"):
            zarrcore.open_group(values, use_consolidated=use)
    else:
        assert zarrcore.open_group(values, use_consolidated=use).metadata.consolidated_metadata is None
    zarrcore.consolidate_metadata(values)
    found = zarrcore.open_group(values, use_consolidated=use)
    assert (found.metadata.consolidated_metadata is None) == (use is False)
    if zarr_format == 2:
        values["other"] = values.pop(".zmetadata")
        assert paths(zarrcore.open_group(values, use_consolidated="other")) == ["g", "g/a"]
    else:
        with pytest.raises(TypeError, match="format 2"):
            zarrcore.open_group(values, use_consolidated="other")


# ---- what is opened anew after a change


@pytest.mark.parametrize("how", ["create", "delete", "create, delete", "resize", "attributes", "move"])
def test_a_group_opened_anew_shows_what_this_process_changed(
    root: zarrcore.Group, store: Any, zarr_format: int, how: str
) -> None:
    if "create" in how:
        root.create_array("new", shape=(2,), dtype="i1")
    if "delete" in how:
        del root["g"]
    elif how == "resize":
        root["a"].resize((7,))
    elif how == "attributes":
        root["g"].attrs["n"] = 1
    elif how == "move":
        root.move("g/b", "g/moved")
    again, truth = (zarrcore.open_group(store, use_consolidated=use) for use in (None, False))
    assert paths(again) == paths(truth) == paths(root)
    assert again["a"].shape == truth["a"].shape
    assert {path: dict(node.attrs) for path, node in again.members(max_depth=None)} == {
        path: dict(node.attrs) for path, node in truth.members(max_depth=None)
    }
    zarrcore.consolidate_metadata(store)
    again = zarrcore.open_group(store)
    assert again.metadata.consolidated_metadata is not None
    assert paths(again) == paths(truth)


@pytest.mark.parametrize("use_consolidated", [None, False])
def test_what_is_deleted_does_not_stay_in_the_stored_copy(
    root: zarrcore.Group, store: Any, use_consolidated: bool | None
) -> None:
    root.create_array("new", shape=(2,), dtype="i1")
    del zarrcore.open_group(store, use_consolidated=use_consolidated)["g"]
    stored = zarrcore.open_consolidated(store).metadata.consolidated_metadata
    assert set(stored.metadata) == {"a", "new"}


def test_a_copy_that_was_restored_is_used(root: zarrcore.Group, store: Any, zarr_format: int) -> None:
    key = ".zmetadata" if zarr_format == 2 else "zarr.json"
    before = bytes(store.get(key))
    root.create_array("new", shape=(2,), dtype="i1")
    del zarrcore.open_group(store)["new"]
    store.set(key, before)
    again = zarrcore.open_group(store)
    assert again.metadata.consolidated_metadata is not None
    assert paths(again) == ALL


@pytest.mark.parametrize("kind", ["fsspec", "wrapper", "user", "memory", "local"])
def test_the_stored_copy_follows_what_this_process_changes(
    kind: str, tmp_path: Any, zarr_format: int
) -> None:
    """Stores whose members are not compared when they are opened showed an append that was not there."""
    store = make_store(kind, tmp_path)
    array = zarrcore.create_array(store, name="g/x", shape=3, chunks=2, dtype="i4", zarr_format=zarr_format)
    older = zarrcore.open_group(store, use_consolidated=False)
    zarrcore.consolidate_metadata(store)
    array.append([7, 8])
    array.attrs["k"] = 1
    with zarrcore.config.set({"metadata.check_consolidated": "off"}):
        again = zarrcore.open_consolidated(store)["g/x"]
        assert (again.shape, dict(again.attrs)) == ((5,), {"k": 1})
        older.create_array("g/late", shape=1, dtype="i1")
        zarrcore.create_array(store, name="h/deep/y", shape=1, dtype="i1", zarr_format=zarr_format)
        older["g"].attrs["n"] = 1
        older.attrs["top"] = 2
        again = zarrcore.open_consolidated(store)
        assert paths(again) == ["g", "g/late", "g/x", "h", "h/deep", "h/deep/y"]
        assert (dict(again["g"].attrs), dict(again.attrs)) == ({"n": 1}, {"top": 2})
        older.move("h/deep", "g/moved")
        zarrcore.copy(older["g/x"], older, name="copied")
        del older["g/late"]
        zarrcore.create_array(store, name="h", shape=9, dtype="i1", overwrite=True, zarr_format=zarr_format)
        again = zarrcore.open_consolidated(store)
        assert paths(again) == ["copied", "g", "g/moved", "g/moved/y", "g/x", "h"]
        assert again["h"].shape == (9,)
    assert zarrcore.check_consolidated(store) == ()


def make_store(kind: str, tmp_path: Any) -> Any:
    if kind == "fsspec":
        pytest.importorskip("fsspec")
        return FsspecStore.from_url(f"memory://{tmp_path.name}")
    if kind == "user":
        return MinimalStore()
    return {"wrapper": WrapperStore(MemoryStore()), "memory": MemoryStore(), "local": LocalStore(tmp_path)}[
        kind
    ]


class MinimalStore(Store):
    """A store as a user writes it: four methods."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, bytes] = {}

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        value = self.values.get(key)
        return None if value is None else value[slice(*resolve_range(byte_range, len(value)))]

    def set(self, key: str, value: Any) -> None:
        self.values[key] = bytes(value)

    def delete(self, key: str) -> None:
        self.values.pop(key, None)

    def list(self) -> Iterator[str]:
        return iter(list(self.values))


def test_a_copy_that_cannot_be_updated_is_named(zarr_format: int) -> None:
    """The change itself is stored: it is a warning."""

    class RootIsProtected(WrapperStore):
        def set(self, key: str, value: Any) -> None:
            if protected and key in ("zarr.json", ".zmetadata"):
                raise PermissionError(13, "denied", key)
            super().set(key, value)

    protected = False
    store = RootIsProtected(MemoryStore())
    array = zarrcore.create_array(store, name="a", shape=3, dtype="i4", zarr_format=zarr_format)
    zarrcore.consolidate_metadata(store)
    protected = True
    with pytest.warns(ZarrUserWarning, match="could not be updated: .*denied.*consolidate_metadata"):
        array.attrs["n"] = 1
    assert dict(zarrcore.open_array(store, path="a").attrs) == {"n": 1}


def test_nothing_is_kept_of_groups_that_were_consolidated() -> None:
    """A process that works on many hierarchies grew by each of them."""
    before = {name: len(value) for name, value in vars(copies).items() if isinstance(value, (dict, set))}
    for _ in range(20):
        values: dict[str, Any] = {}
        array = zarrcore.create_array(values, name="a", shape=3, dtype="i4")
        zarrcore.consolidate_metadata(values)
        array.attrs["n"] = 1
    after = {name: len(value) for name, value in vars(copies).items() if isinstance(value, (dict, set))}
    assert all(after[name] <= before[name] for name in before)


def test_a_member_that_others_added_is_found_where_looking_costs_little(
    root: zarrcore.Group, store: Any, zarr_format: int
) -> None:
    suffixes = {2: (".zarray", ".zattrs"), 3: ("zarr.json",)}[zarr_format]
    for suffix in suffixes:
        store.set(f"late/{suffix}", bytes(store.get(f"a/{suffix}")))
    if not store._is_near:
        assert root.get("late") is None
        return
    with pytest.warns(ZarrUserWarning, match=r"late is stale \(it was added later\)"):
        assert root["late"].shape == (3,)
    with (
        zarrcore.config.set({"metadata.check_consolidated": "raise"}),
        pytest.raises(StaleMetadataError, match="added later"),
    ):
        root["late"]
    with zarrcore.config.set({"metadata.check_consolidated": "off"}):
        assert root.get("late") is None


# ---- many groups at once


@pytest.mark.parametrize("kind", ["array", "group"])
@pytest.mark.parametrize("kept_in", [[""], ["g"], ["", "g"]])
def test_copies_follow_all_groups_that_are_made_above_a_node(
    store: Any, zarr_format: int, kind: str, kept_in: list[str]
) -> None:
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    root.create_group("g/h")
    for path in kept_in:
        zarrcore.consolidate_metadata(store, path=path)
    name = "g/h/i/j/k/x"
    if kind == "array":
        zarrcore.create_array(store, name=name, shape=3, dtype="i4", zarr_format=zarr_format)
    else:
        zarrcore.create_group(store, path=name, zarr_format=zarr_format)
    with zarrcore.config.set({"metadata.check_consolidated": "off"}):
        for path in kept_in:
            found = paths(zarrcore.open_consolidated(store, path=path))
            assert [f"{path}/{one}".strip("/") for one in found] == [
                above for n in range(2 if path else 1, 7) if (above := "/".join(name.split("/")[:n]))
            ]
            assert zarrcore.check_consolidated(store, path=path) == ()


def test_a_group_consolidated_before_the_node_that_it_was_made_for(zarr_format: int) -> None:
    class Meanwhile(MeetingStore):
        is_consolidated = False

        def set_if_not_exists(self, key: str, value: Any) -> bool:
            if key.startswith("a/b/") and not self.is_consolidated:
                self.is_consolidated = True
                while not self.exists("a/zarr.json") and not self.exists("a/.zgroup"):
                    time.sleep(0.001)  # both are stored at the same time
                other = threading.Thread(target=lambda: zarrcore.consolidate_metadata(self, path="a"))
                other.start()
                other.join()
            return super().set_if_not_exists(key, value)

    store = Meanwhile()
    zarrcore.create_array(store, name="a/b", shape=3, dtype="i4", zarr_format=zarr_format)
    assert store.is_consolidated
    assert zarrcore.check_consolidated(store, path="a") == ()
    assert [*zarrcore.open_consolidated(store, path="a")] == ["b"]


def test_a_group_consolidated_before_a_slow_store_is_asked_for_copies(
    monkeypatch: pytest.MonkeyPatch, zarr_format: int
) -> None:
    def late(places: Any, *args: Any, **options: Any) -> Any:
        if places[-1].path == "a/b":  # the group has been made
            monkeypatch.undo()
            zarrcore.consolidate_metadata(store, path="a")
        return documents_follow(places, *args, **options)

    store = _Slow()
    monkeypatch.setattr(create, "documents_follow", late)
    zarrcore.create_array(store, name="a/b", shape=3, dtype="i4", zarr_format=zarr_format, overwrite=True)
    assert zarrcore.check_consolidated(store, path="a") == ()
    assert [*zarrcore.open_consolidated(store, path="a")] == ["b"]


def test_copies_follow_the_groups_that_were_made_before_a_failure(zarr_format: int) -> None:
    class Failing(MemoryStore):
        def set_if_not_exists(self, key: str, value: Any) -> bool:
            if key.startswith("a/b/c/"):
                raise OSError("no room")
            return super().set_if_not_exists(key, value)

    store = Failing()
    zarrcore.create_group(store, zarr_format=zarr_format)
    zarrcore.consolidate_metadata(store)
    with pytest.raises(OSError, match="no room"):
        zarrcore.create_array(store, name="a/b/c/d/x", shape=3, dtype="i4", zarr_format=zarr_format)
    assert paths(zarrcore.open_consolidated(store)) == ["a", "a/b"]
    assert zarrcore.check_consolidated(store) == ()


def test_many_groups_that_are_made_at_once_are_looked_at_once(zarr_format: int) -> None:
    """A node 1,200 levels down took 12 s: each new group had all groups above it looked at."""

    class Counting(MemoryStore):
        n = 0

        def get(self, key: str, byte_range: Any = None) -> Any:
            self.n += 1
            return super().get(key, byte_range)

    store = Counting()
    zarrcore.create_group(store, zarr_format=zarr_format)
    zarrcore.consolidate_metadata(store)
    counts = []
    for levels in (50, 100):
        store.n = 0
        zarrcore.create_group(store, path="/".join("gh"[levels == 50] * levels), zarr_format=zarr_format)
        counts.append(store.n)
    assert counts[1] < 2.5 * counts[0]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_hierarchy_of_the_metadata_of_others_does_not_show_their_members(zarr_format: int) -> None:
    """A group that was opened by consolidated metadata has those of its members, which are not here."""
    source = zarrcore.create_group({}, zarr_format=zarr_format)  # type: ignore[arg-type]
    source.create_group("a", attributes={"x": 1}).create_array("b", data=np.arange(3))
    source = zarrcore.consolidate_metadata(source.store)
    root = zarrcore.create_group({}, zarr_format=zarr_format)  # type: ignore[arg-type]
    made = dict(root.create_hierarchy({"new": source["a"].metadata, "new/c": source["a"].metadata}))
    assert sorted(made) == ["new", "new/c"]
    assert sorted(name for name, _ in root.members(None)) == ["new", "new/c"]
    assert root["new"].attrs["x"] == 1 and root["new"].metadata.consolidated_metadata is None


@pytest.mark.parametrize(
    ("zarr_format", "damage"),
    [(3, {"../x": {}}), (3, {"x": 3}), (3, {"a": {"zarr_format": 3, "node_type": "array"}}), (3, 7), (2, 7)],
)
def test_a_group_whose_copy_is_damaged_can_be_opened_without_it_and_consolidated_again(
    store: Any, root: zarrcore.Group, zarr_format: int, damage: Any
) -> None:
    """The document of format 3 that holds the copy too could not be opened in any way."""
    key = "zarr.json" if zarr_format == 3 else ".zmetadata"
    document = json.loads(bytes(store.get(key)))
    holder = document["consolidated_metadata"] if zarr_format == 3 else document
    holder["metadata"] = damage | holder["metadata"] | damage if isinstance(damage, dict) else damage
    store.set(key, json.dumps(document).encode())
    with pytest.raises(MetadataValidationError, match=r"zarr\.json|\.zmetadata"):
        zarrcore.open_group(store)["a"]
    plain = zarrcore.open_group(store, use_consolidated=False)
    assert sorted(paths(plain)) == ["a", "g", "g/b", "g/h", "g/h/c"] and plain.attrs == {"title": "top"}
    assert plain["a"].attrs == {"unit": "m"}
    assert "consolidated" in [found.kind for found in zarrcore.verify(store).findings] or zarr_format == 2
    zarrcore.consolidate_metadata(store)
    assert sorted(paths(zarrcore.open_consolidated(store))) == ["a", "g", "g/b", "g/h", "g/h/c"]
