"""Dictionaries of the caller, and memory:// names."""

from __future__ import annotations

import gc
import pickle
from collections import UserDict

import numpy as np
import pytest

from zarrcore.errors import StoreError
from zarrcore.storage import ManagedMemoryStore, MemoryStore


def test_the_callers_dictionary_is_used():
    values = {"a": b"value"}
    store = MemoryStore(values)
    store.set("b", b"new")
    store.delete("a")
    assert values == {"b": b"new"}
    assert store.get("b") is values["b"]


class Exporter:
    """Like the buffers of other libraries: no buffer itself, but hands one out."""

    def as_buffer_like(self):
        return memoryview(b"0123")


@pytest.mark.parametrize(
    "value", [b"0123", bytearray(b"0123"), memoryview(b"0123"), np.frombuffer(b"0123", "<i2"), Exporter()]
)
def test_values_of_any_bytes_like_type(value):
    store = MemoryStore({"a": value})
    assert store.get("a") == b"0123"
    assert store.get("a", (1, 2)) == b"12"
    assert store.getsize("a") == 4
    assert type(store.get("a")) is bytes


def test_a_value_of_another_type_is_an_error():
    store = MemoryStore({"a": 3})
    for call in (store.get, store.getsize):
        with pytest.raises(StoreError, match="'a': expected a bytes-like value, got int"):
            call("a")


def test_views_share_the_dictionary():
    store = MemoryStore()
    view = store.with_read_only(True)
    store.set("a", b"value")
    assert view.get("a") == b"value"
    assert view != store
    assert view == store.with_read_only(True)


def test_equality_is_that_of_the_values():
    assert MemoryStore({"a": b"1"}) == MemoryStore({"a": b"1"})
    assert MemoryStore({"a": b"1"}) != MemoryStore({"a": b"2"})
    assert MemoryStore() != ManagedMemoryStore()
    with pytest.raises(TypeError, match="hash"):
        hash(MemoryStore())


def test_only_a_plain_dictionary_has_a_native_source():
    class Watching(MemoryStore):
        def get(self, key, byte_range=None):
            return super().get(key, byte_range)

    assert MemoryStore(UserDict())._native_source() is None
    assert Watching()._native_source() is None
    assert ManagedMemoryStore()._native_source() is None


def test_managed_stores_share_by_name():
    first = ManagedMemoryStore("shared by name")
    second = ManagedMemoryStore("shared by name", path="a")
    second.set("b", b"value")
    assert first.get("a/b") == b"value"
    assert second.name == first.name
    assert list(second.list_prefix("")) == ["b"]
    assert list(first.list_dir("")) == ["a"]
    assert str(second) == "memory://shared by name/a"
    assert ManagedMemoryStore.from_url(str(second)) == second


def test_managed_stores_have_names_of_their_own():
    taken = ManagedMemoryStore("0")
    others = [ManagedMemoryStore() for _ in range(3)]
    assert len({taken.name, *(store.name for store in others)}) == 4
    assert all(store.is_empty() for store in others)


def test_managed_values_die_with_their_last_store():
    store = ManagedMemoryStore("short life")
    view = store.with_read_only(True)
    del store
    gc.collect()
    assert ManagedMemoryStore.from_url("memory://short life") != view
    del view
    gc.collect()
    with pytest.raises(StoreError, match="short life"):
        ManagedMemoryStore.from_url("memory://short life")


@pytest.mark.parametrize("url", ["file:///a", "memory", "memory://never made/a"])
def test_from_url_refuses(url):
    with pytest.raises(StoreError, match=url):
        ManagedMemoryStore.from_url(url)


def test_a_name_holds_no_slash():
    with pytest.raises(ValueError, match="path="):
        ManagedMemoryStore("a/b")


def test_a_managed_store_stays_in_its_process(monkeypatch):
    store = ManagedMemoryStore("stays here")
    data = pickle.dumps(store.with_read_only(True))
    assert pickle.loads(data).read_only
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(StoreError, match="another"):
        pickle.loads(data)
