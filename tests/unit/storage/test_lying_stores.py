# SPDX-License-Identifier: MIT
"""Stores of users whose listings and answers are not what they were asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, repeat
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, NodeIOError, StoreError
from zarrcore.storage import MemoryStore, ReferenceStore, StorePath, WrapperStore, ZipStore
from zarrcore.storage.validation import as_view

GROUP = b'{"zarr_format":3,"node_type":"group"}'


def store_of(**methods: Any) -> Any:
    """A store in memory some of whose methods a test replaces, with an array, a shard and a group."""
    inner = MemoryStore()
    group = zarrcore.create_group(inner)
    group.create_array("a", data=np.arange(8), chunks=2)
    group.create_array("s", data=np.arange(8), chunks=2, shards=4)
    group.create_group("g")
    return type("Lying", (WrapperStore,), methods)(inner)


@pytest.mark.parametrize(
    "key", ["/x/zarr.json", "../zarr.json", "./zarr.json", "a\0b/zarr.json", "x//y/zarr.json"]
)
@pytest.mark.parametrize("kind", [dict, ReferenceStore])
def test_keys_that_no_node_can_have_hide_no_others(key: str, kind: Callable[[Any], Any]) -> None:
    """One such key in a bucket kept the members of a group from being listed, or was a thousand of them."""
    store = kind({"zarr.json": GROUP, key: GROUP, "ok/zarr.json": GROUP})
    group = zarrcore.open_group(store, mode="r")
    assert list(group) == [name for name, _ in group.members(max_depth=None)] == ["ok"]
    assert "ok" in str(group.tree())
    assert str(group.tree()).count("\n") == 1
    assert kind is not dict or "ok" in group._repr_html_()
    assert len(str(zarrcore.verify(store))) < 1000


def test_keys_that_no_node_can_have_are_not_converted() -> None:
    group = b'{"zarr_format":2}'
    store = {".zgroup": group, "/x/.zgroup": group, "../.zgroup": group, "ok/.zgroup": group}
    report = zarrcore.migrate(store)
    assert [node.path for node in report.nodes] == ["", "ok"]


OUTSIDE = [
    ["zarr.json", "a/zarr.json"],
    ["g/zarr.json", "a/c/0"],
    ["../x"],
    ["gg/x"],
    [5],
    [b"g/zarr.json"],
    [None],
]


@pytest.mark.parametrize("keys", OUTSIDE, ids=repr)
def test_what_is_listed_elsewhere_is_neither_removed_nor_moved(keys: list[Any]) -> None:
    """Where a listing was that of the whole store, removing a group removed everything."""
    store = store_of(list_prefix=lambda self, prefix: iter(() if prefix.startswith("h") else keys))
    before = dict(store._store._store_dict)
    group = zarrcore.open_group(store)
    for change in (
        lambda: group.__delitem__("g"),
        lambda: group.move("g", "h"),
        lambda: store.erase_prefix("g"),
        lambda: group.create_group("g", overwrite=True),
    ):
        with pytest.raises(BaseZarrError):
            change()
    assert dict(store._store._store_dict) == before


@pytest.mark.parametrize("wrong", [lambda *_: None, lambda *_: 1 / 0])
def test_errors_of_a_listing_are_named_when_a_node_is_moved(wrong: Callable[..., Any]) -> None:
    group = zarrcore.open_group(store_of(list_prefix=wrong))
    with pytest.raises(NodeIOError, match="node '[ab]' in .*, prefix '[ab]/'"):
        group.move("a", "b")


@pytest.mark.parametrize("method", ["get_partial_values", "get_many"])
def test_answers_without_end_are_refused(method: str) -> None:
    """They were collected until the memory was full."""
    asked = count()

    def answer(self: Any, requests: Any) -> Any:
        next(asked)
        return repeat(b"")

    store = store_of(**{method: answer})
    with pytest.raises(BaseZarrError, match="returned more values"):
        list(zarrcore.open_group(store).members())
        zarrcore.open_array(store, path="s")[...]
    assert next(asked) > 0


class Raising(bytes):
    """Bytes that cannot be compared, as those of a lazy value may not be."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


def test_bytes_of_a_class_of_its_own_are_bytes() -> None:
    """Opening a group ended in what comparing them raises."""
    store = store_of(get=lambda self, *args: None if (v := self._store.get(*args)) is None else Raising(v))
    group = zarrcore.open_group(store)
    assert [name for name, _ in group.members()] == ["a", "g", "s"]
    assert group["a"][...].tolist() == group["s"][...].tolist() == list(range(8))


class Unreadable:
    """Something whose bytes cannot be had."""

    def as_buffer_like(self) -> Any:
        raise RuntimeError("the connection is closed")


def test_values_whose_bytes_cannot_be_had_name_the_key() -> None:
    with pytest.raises(TypeError, match="'a/c/0': expected a bytes-like value, got Unreadable"):
        as_view(Unreadable(), "a/c/0")  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", ["text", 5, 10**15, pytest.param(object(), id="object"), 1.5], ids=repr)
def test_archives_that_are_no_bytes_are_named(answer: Any) -> None:
    """A number was taken for so many zeros."""
    store = store_of(get=lambda self, key, byte_range=None: answer)
    archive = ZipStore(StorePath(store, "a.zip"))
    with pytest.raises(StoreError, match=r"key 'a.zip': expected a bytes-like value, got "):
        list(archive.list())
    with pytest.raises(StoreError, match=r"key 'a.zip': expected a bytes-like value"):
        archive.get("c/0")


@pytest.mark.parametrize("size", [None, "70000", -1, 3, 1.5], ids=repr)
def test_archives_of_no_size_are_named(size: Any) -> None:
    values = {"get": lambda self, key, byte_range=None: bytes(1 << 17), "getsize": lambda self, key: size}
    with pytest.raises(StoreError, match="key 'a.zip': expected its size from getsize"):
        list(ZipStore(StorePath(store_of(**values), "a.zip")).list())


def test_encoded_chunks_that_are_no_bytes_are_refused() -> None:
    """Three was taken for three zeros."""
    array = zarrcore.create_array(store := {}, shape=3, dtype="u1", compressors=None)
    array[:] = 1
    before = dict(store)
    for check in (True, False):
        for wrong in (3, "abc", None, 10**15):
            with pytest.raises(TypeError, match="expected a bytes-like value"):
                array.encoded(0).put(wrong, check=check)
    assert store == before
