"""Which stores the engine reads without Python: exactly those whose own methods it does not pass by."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from zarrcore.storage import LocalStore, ManagedMemoryStore, MemoryStore, WrapperStore, ZipStore

engine = pytest.importorskip("zarrcore._core.engine")


def test_native_sources(tmp_path):
    assert isinstance(LocalStore(tmp_path)._native_source(), engine.LocalSource)
    assert isinstance(MemoryStore()._native_source(), engine.MemorySource)


@pytest.mark.parametrize(
    "verb", ["get", "get_partial_values", "get_many", "set", "set_if_not_exists", "delete", "exists"]
)
@pytest.mark.parametrize("base", [LocalStore, MemoryStore])
def test_a_subclass_is_not_passed_by(tmp_path, base, verb):
    own = type("Own", (base,), {verb: lambda self, *args: getattr(base, verb)(self, *args)})
    store = own(tmp_path) if base is LocalStore else own()
    assert store._native_source() is None
    named = type("Named", (base,), {"label": "a subclass that changes no method"})
    assert (named(tmp_path) if base is LocalStore else named())._native_source() is not None


def test_other_stores_have_none(tmp_path):
    for store in (ZipStore(tmp_path / "a.zip"), ManagedMemoryStore(), WrapperStore(MemoryStore())):
        assert store._native_source() is None


@pytest.mark.parametrize("make", [LocalStore, lambda path: MemoryStore()])
def test_stores_work_while_another_thread_loads_the_engine(tmp_path, monkeypatch, make):
    monkeypatch.setitem(sys.modules, "zarrcore._core.engine", ModuleType("zarrcore._core.engine"))
    store = make(tmp_path)
    store.set("c/0", b"value")
    store.delete("c/1")
    assert store._scope("").endswith("/")
    assert bytes(store.get("c/0")) == b"value"
