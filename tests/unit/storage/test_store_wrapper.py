"""Wrappers: every call reaches the wrapped store, and can be seen on its way."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from zarrcore.storage import LocalStore, LoggingStore, MemoryStore, ReadOnlyStore, WrapperStore, ZipStore


def test_a_wrapper_hides_nothing(tmp_path):
    inner = ZipStore(tmp_path / "a.zip", mode="w")
    wrapper = WrapperStore(inner)
    assert not wrapper.supports_deletes
    assert wrapper.supports_listing
    assert wrapper.supports_writes
    assert not wrapper.supports_partial_writes
    assert wrapper.supports_consolidated_metadata
    assert not wrapper.read_only
    assert wrapper.with_read_only(True).read_only
    assert type(wrapper.with_read_only(True)) is WrapperStore
    assert str(inner) in str(wrapper)
    inner.close()


def test_a_pickle_from_before_wrappers_had_a_module_of_their_own_is_loaded(tmp_path):
    store = ReadOnlyStore(WrapperStore(LocalStore(tmp_path)))
    pickled = pickle.dumps(store, protocol=0)
    before = pickled.replace(b"zarrcore.storage.wrapper", b"zarrcore.storage.base")
    assert before != pickled
    assert pickle.loads(before) == store


def test_the_engine_does_not_pass_a_wrapper_by():
    assert WrapperStore(MemoryStore())._native_source() is None


def test_one_method_sees_every_call():
    seen = []

    class Watching(WrapperStore):
        def _call(self, method, *args):
            seen.append(method.__name__)
            return super()._call(method, *args)

    store = Watching(MemoryStore())
    store.set("a/b", b"value")
    store.set_if_not_exists("a/b", b"")
    store.set_partial_values([("a/b", 0, b"V")])
    assert store.get("a/b") == b"Value"
    assert [*store.get_partial_values([("a/b", (0, 1))])] == [b"V"]
    assert [*store.get_many(["a/b"])] == [b"Value"]
    assert store.exists("a/b")
    assert store.getsize("a/b") == store.getsize_prefix("a") == 5
    assert [*store.list()] == [*store.list_prefix("a")] == ["a/b"]
    assert [*store.list_dir("")] == ["a"]
    assert not store.is_empty()
    store.erase_values(["a/b"])
    store.erase("a/b")
    store.erase_prefix("a")
    store.clear()
    store.close()
    assert len(seen) == len(set(seen)) == 18


def test_logging(caplog):
    store = LoggingStore(MemoryStore(), log_level="INFO")
    with caplog.at_level(logging.INFO):
        store.set("a", b"1")
        store.get("a")
        store.get("x")
    assert dict(store.counter) == {"set": 1, "get": 2}
    assert "MemoryStore.get(x)" in caplog.text
    assert "Finished" in caplog.text
    view = store.with_read_only(True)
    assert isinstance(view, LoggingStore)
    assert view.log_level == "INFO"


def test_logging_goes_to_a_handler_of_the_callers(tmp_path):
    records = []

    class Handler(logging.Handler):
        def emit(self, record):
            records.append(record.getMessage())

    store = LoggingStore(LocalStore(tmp_path), log_handler=Handler())
    store.exists("a")
    assert records[0] == "Calling LocalStore.exists(a)"


def test_a_read_only_store_gives_the_writable_one_back():
    inner = MemoryStore({"a": b"1"})
    store = ReadOnlyStore(inner)
    assert store.with_read_only(False) is inner
    assert store.with_read_only(True) is store
    assert str(store) == str(inner)


CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "get": [
        lambda store: store.exists("a/b"),
        lambda store: store.getsize("a/b"),
        lambda store: store.getsize_prefix("a"),
        lambda store: store.get_partial_values([("a/b", None)]),
    ],
    "set": [
        lambda store: store.set_if_not_exists("n", b"1"),
        lambda store: store.set_partial_values([("a/b", 0, b"2")]),
    ],
    "delete": [
        lambda store: store.erase_values(["a/b"]),
        lambda store: store.erase_prefix("a"),
        lambda store: store.delete_dir("a"),
        lambda store: store.clear(),
    ],
    "list": [
        lambda store: [*store.list_prefix("a")],
        lambda store: [*store.list_dir("a")],
        lambda store: store.is_empty("a"),
        lambda store: store.getsize_prefix("a"),
        lambda store: store.erase_prefix("a"),
        lambda store: store.clear(),
    ],
}
CALLS["list_prefix"] = CALLS["list"][1:]


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in calls])
def test_everything_goes_through_a_method_that_is_overridden(name: str, call: Any) -> None:
    seen: list[Any] = []

    def watch(self: Any, *args: Any) -> Any:
        seen.append(args)
        return getattr(self._store, name)(*args)

    kind: Any = type("Watching", (WrapperStore,), {name: watch})
    call(kind(MemoryStore({"a/b": b"0"})))
    assert seen


def test_sizes_are_those_of_what_get_returns() -> None:
    class Longer(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            value = self._store.get(key)
            return None if value is None else value + value

    store = Longer(MemoryStore({"a": b"12"}))
    assert (store.getsize("a"), store.getsize_prefix("")) == (4, 4)
    assert (store.exists("a"), store.exists("b")) == (True, False)
