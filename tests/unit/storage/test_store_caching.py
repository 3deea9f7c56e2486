"""The store that keeps what was read: what it asks for, what it forgets, and when."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from functools import partial, partialmethod
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine
from zarrcore.errors import StoreError, ZarrRuntimeWarning
from zarrcore.experimental.cache_store import CacheStore
from zarrcore.storage import (
    LocalStore,
    LoggingStore,
    MemoryStore,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    WrapperStore,
    caching,
)
from zarrcore.storage.validation import key_prefix
from zarrcore.testing.store import StoreTests


class TestCacheStore(StoreTests):
    def make_store(self, tmp_path: Any) -> CacheStore:
        return CacheStore(LocalStore(tmp_path / "far"), cache_store=MemoryStore(), max_size=1000)


class TestCacheOfNothing(StoreTests):
    def make_store(self, tmp_path: Any) -> CacheStore:
        return CacheStore(MemoryStore(), cache_store=MemoryStore(), max_size=0, max_age_seconds=0)


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Have keys use the same words of the engine's table in every run.

    Where an address or a directory decides, once in a few hundred runs a key of the cache store shares a word
    with one of the wrapped store, and what is kept of that one no longer counts: a hit less, no wrong value.
    """
    numbers: dict[str, int] = {}

    def place(root: str) -> str:
        return f"{request.node.name}:{numbers.setdefault(root, len(numbers))}/"

    def change_item(values: dict[str, bytes], key: str, change: Any, *args: Any) -> Any:
        return engine.while_changing(place(f"memory:{id(values)}/"), (key,), change, (key, *args), {})

    for kind in (LocalStore, MemoryStore):
        scope = partial(lambda of, self, path: place(of(self, "")) + key_prefix(path), kind._scope)
        monkeypatch.setattr(kind, "_scope", partialmethod(scope))
    monkeypatch.setattr(engine, "change_item", change_item)


@pytest.fixture
def far() -> MemoryStore:
    return MemoryStore({"a": b"0123456789", "b": b"xyz", "g/c": b"c"})


def counted(far: MemoryStore, **options: Any) -> tuple[CacheStore, Any]:
    source = LoggingStore(far, "ERROR")
    cache = options.pop("cache_store", MemoryStore())
    return CacheStore(source, cache_store=cache, **options), source.counter


def test_a_value_is_fetched_once(far: MemoryStore) -> None:
    store, calls = counted(far)
    for _ in range(3):
        assert bytes(store.get("a")) == b"0123456789"
        assert [bytes(value) for value in store.get_many(["a", "b"])] == [b"0123456789", b"xyz"]
    assert sum(calls.values()) == 2
    assert store.cache_stats() == {
        "hits": 7, "misses": 2, "evictions": 0, "total_requests": 9, "hit_rate": 7 / 9
    }  # fmt: skip
    assert store.cache_info()["current_size"] == 13


@pytest.mark.parametrize(
    "part", [(2, 3), (4, None), RangeByteRequest(2, 5), OffsetByteRequest(4), SuffixByteRequest(2)]
)
def test_parts(far: MemoryStore, part: Any) -> None:
    store, calls = counted(far)
    expected = bytes(far.get("a", part))
    for _ in range(2):
        assert bytes(store.get("a", part)) == expected
    assert sum(calls.values()) == 1
    assert store.cache_info()["current_size"] == len(expected)
    assert bytes(store.get("a")) == b"0123456789"
    assert bytes(store.get("a", (1, 1))) == b"1"  # of the whole value
    assert sum(calls.values()) == 2
    store.set("a", b"new value!")
    assert bytes(store.get("a", part)) == bytes(far.get("a", part)) != expected


def test_absent_values_are_asked_for_again(far: MemoryStore) -> None:
    store, _ = counted(far)
    assert store.get("late") is None
    far.set("late", b"1")
    assert bytes(store.get("late")) == b"1"


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.set("a", b"new"),
        lambda store: store.set_partial_values([("a", 0, b"new")]),
        lambda store: store.delete("a"),
        lambda store: store.erase_values(["a", "b"]),
        lambda store: store.erase_prefix(""),
        lambda store: store.clear(),
        lambda store: store.with_read_only(False).set("a", b"new"),
    ],
    ids=["set", "set_partial_values", "delete", "erase_values", "erase_prefix", "clear", "another handle"],
)
@pytest.mark.parametrize("cache_set_data", [True, False])
def test_changes_are_seen(far: MemoryStore, change: Any, cache_set_data: bool) -> None:
    store, _ = counted(far, cache_set_data=cache_set_data)
    for key in ("a", "b", "g/c"):
        store.get(key)
        store.get(key, (0, 1))
    change(store)
    for key in ("a", "b", "g/c"):
        for part in (None, (0, 1)):
            found, true = store.get(key, part), far.get(key, part)
            assert (found is None) == (true is None)
            assert found is None or bytes(found) == bytes(true)


def test_what_is_written_is_kept_if_wanted(far: MemoryStore) -> None:
    for cache_set_data in (True, False):
        store, calls = counted(far, cache_set_data=cache_set_data)
        store.set("a", b"new")
        before = sum(calls.values())
        assert bytes(store.get("a")) == b"new"
        assert (sum(calls.values()) == before) is cache_set_data


def test_the_limit(far: MemoryStore) -> None:
    cache = MemoryStore()
    store, _ = counted(far, cache_store=cache, max_size=12)
    store.get("a")  # 10 bytes
    store.get("g/c")  # 11
    store.get("a")
    store.get("b")  # 14: what was used longest ago goes, until it fits
    assert sorted(cache.list()) == ["b"]
    assert store.cache_info()["current_size"] == 3
    assert store.cache_stats()["evictions"] == 2
    store.set("a", b"far too much to keep")
    assert sorted(cache.list()) == ["b"]


def test_old_values(far: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(caching.time, "monotonic", lambda: now)
    store, _ = counted(far, max_age_seconds=5)
    store.get("a")
    far._store_dict["a"] = b"new"  # as another process would
    now += 5
    assert bytes(store.get("a")) == b"0123456789"
    now += 1
    assert bytes(store.get("a")) == b"new"


def test_an_earlier_cache_counts_unless_values_can_become_old() -> None:
    """In a new process: in this one, other tests have changed keys that share a generation with this key."""
    code = """if True:
        from zarrcore.experimental.cache_store import CacheStore
        from zarrcore.storage import MemoryStore

        far = MemoryStore({"a": b"0123456789"})
        cache = MemoryStore({"a": b"earlier"})
        assert bytes(CacheStore(far, cache_store=cache, max_age_seconds=60).get("a")) == b"0123456789"
        cache = MemoryStore({"a": b"earlier"})
        store = CacheStore(far, cache_store=cache)
        assert bytes(store.get("a")) == b"earlier"
        assert store.cache_info()["current_size"] == 7
        store.delete("a")
        assert store.get("a") is None
        assert not cache.exists("a")
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_value_that_changes_while_it_is_read_is_not_kept(far: MemoryStore) -> None:
    class Slow(WrapperStore):
        def get_partial_values(self, key_ranges: Any) -> Any:
            found = super().get_partial_values(key_ranges)
            store.set("a", b"new")
            return found

    store = CacheStore(Slow(far), cache_store=MemoryStore(), cache_set_data=False)
    assert bytes(store.get("a")) == b"0123456789"
    assert not store._cache.exists("a")


def test_forgetting(far: MemoryStore) -> None:
    cache = MemoryStore()
    store, _ = counted(far, cache_store=cache)
    store.get("a")
    store.get("b", (0, 2))
    assert store.cache_info()["cached_keys"] == 2
    store.clear_cache()
    assert [*cache.list()] == []
    assert store.cache_info()["current_size"] == store.cache_info()["cached_keys"] == 0


@pytest.mark.parametrize("shards", [None, (4, 4)])
def test_arrays(tmp_path: Any, shards: Any) -> None:
    values = np.arange(64).reshape(8, 8)
    source = LoggingStore(LocalStore(tmp_path / "far"), "ERROR")
    zarrcore.create_array(source, data=values, chunks=(2, 2), shards=shards)
    store = CacheStore(source, cache_store=LocalStore(tmp_path / "near"))
    array = zarrcore.open_array(store, mode="r+")
    assert np.array_equal(array[:5, 1:], values[:5, 1:])
    before = sum(source.counter.values())
    assert np.array_equal(array[:5, 1:], values[:5, 1:])
    assert sum(source.counter.values()) == before
    array[3] = -1
    values[3] = -1
    assert np.array_equal(array[...], values)
    assert np.array_equal(zarrcore.open_array(tmp_path / "far")[...], values)
    again = pickle.loads(pickle.dumps(array))
    assert isinstance(again.store, CacheStore)
    assert np.array_equal(again[...], values)


def test_refused(far: MemoryStore) -> None:
    class Keeping(MemoryStore):
        supports_deletes = False

    with pytest.raises(ValueError, match="can remove values"):
        CacheStore(far, cache_store=Keeping())
    for age in ("forever", -1):
        with pytest.raises(ValueError, match="max_age_seconds"):
            CacheStore(far, cache_store=MemoryStore(), max_age_seconds=age)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_size"):
        CacheStore(far, cache_store=MemoryStore(), max_size=-1)


class Lingering(MemoryStore):
    """Stores the value ``b"first"`` at once, and returns when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.stored, self.go = threading.Event(), threading.Event()

    def set(self, key: str, value: Any) -> None:
        super().set(key, value)
        if bytes(value) == b"first":
            self.stored.set()
            assert self.go.wait(30)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda store: store.set("g/k", b"second"), b"second"),
        (lambda store: store.set_if_not_exists("g/k", b"second"), b"first"),
        (lambda store: store.delete("g/k"), None),
        (lambda store: store.erase_values(["g/k"]), None),
        (lambda store: store.erase_prefix("g"), None),
        (lambda store: store.clear(), None),
    ],
)
def test_a_change_while_a_value_is_written(change: Any, left: bytes | None) -> None:
    far = Lingering()
    store = CacheStore(far, cache_store=MemoryStore())
    writer = threading.Thread(target=store.set, args=("g/k", b"first"))
    writer.start()
    assert far.stored.wait(30)
    change(store)
    far.go.set()
    writer.join()
    for kept in (store, far):
        found = kept.get("g/k")
        assert (None if found is None else bytes(found)) == left


def test_what_a_failed_write_left_is_asked_for() -> None:
    class Failing(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, value)
            raise OSError("the connection was lost")

    store = CacheStore(Failing({"a": b"old"}), cache_store=MemoryStore())
    assert bytes(store.get("a")) == b"old"
    with pytest.raises(OSError, match="connection"):
        store.set("a", b"new")
    assert bytes(store.get("a")) == b"new"


# --- the protocol: what this process changes by other ways ---


def _writes(inner: MemoryStore | LocalStore) -> dict[str, Any]:
    array = zarrcore.open_array(inner, mode="r+")

    def natively() -> None:
        array[:] = 2

    def by_a_store() -> None:
        inner.set("c/0", np.full(4, 2, "i4").tobytes())

    def by_a_wrapper() -> None:
        WrapperStore(inner).set("c/0", np.full(4, 2, "i4").tobytes())

    return {"natively": natively, "store": by_a_store, "wrapper": by_a_wrapper}


@pytest.mark.parametrize("way", ["natively", "store", "wrapper"])
@pytest.mark.parametrize("kind", ["memory", "local"])
@pytest.mark.parametrize("cache_set_data", [False, True])
def test_changes_by_the_wrapped_store_are_seen(
    way: str, kind: str, cache_set_data: bool, tmp_path: Any
) -> None:
    inner = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    store = CacheStore(inner, cache_store=MemoryStore(), cache_set_data=cache_set_data)
    array = zarrcore.create_array(store, shape=4, chunks=4, dtype="i4", compressors=None)
    array[:] = 1
    assert array[:].tolist() == [1] * 4
    _writes(inner)[way]()
    assert array[:].tolist() == [2] * 4
    inner.erase_prefix("c")
    assert array[:].tolist() == [0] * 4


def test_metadata_that_are_changed_by_the_wrapped_store_are_seen() -> None:
    inner = MemoryStore()
    store = CacheStore(inner, cache_store=MemoryStore())
    zarrcore.create_array(store, shape=4, dtype="i4", attributes={"x": 1})
    assert zarrcore.open_array(store, mode="r").attrs["x"] == 1
    zarrcore.open_array(inner, mode="r+").attrs["x"] = 2
    assert zarrcore.open_array(store, mode="r").attrs["x"] == 2


@pytest.mark.parametrize("method", ["set", "get"])
@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), StoreError("no"), KeyError("no"), TypeError("no")],
    ids=str,
)
def test_a_place_for_copies_that_fails_costs_the_copies_alone(
    method: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads failed, and writes too, though the value was stored."""

    def fail(*_: Any) -> Any:
        raise error

    near = MemoryStore()
    far = MemoryStore({"a": b"12"})
    store = CacheStore(far, cache_store=near)
    with (
        monkeypatch.context() as patch,
        pytest.warns(
            ZarrRuntimeWarning, match="values cannot be kept here and are fetched each time"
        ) as seen,
    ):
        patch.setattr(near, method, fail)
        for _ in range(2):
            assert store.get("a") == b"12"
        store.set("b", b"34")
        assert (store.get("b"), store.get("a", (1, 1)), far.get("b")) == (b"34", b"2", b"34")
    assert len(seen) == 1
    far.set("a", b"56")
    assert [store.get(key) for key in ("a", "b", "a")] == [b"56", b"34", b"56"]


@pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrRuntimeWarning")
def test_copies_that_cannot_be_removed_keep_nobody_from_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every later read failed with StopIteration: what was kept was counted, and was not there."""

    def fail(*_: Any) -> Any:
        raise PermissionError("no")

    near, far = MemoryStore(), MemoryStore({name: name.encode() * 10 for name in "abcd"})
    store = CacheStore(far, cache_store=near, max_size=25)
    with monkeypatch.context() as patch:
        patch.setattr(near, "delete", fail)
        for name in "abcd" * 2:
            assert store.get(name) == name.encode() * 10
        with pytest.raises(PermissionError):  # or others would read what is no longer valid
            store.set("a", b"new")
    assert far.get("a") == b"a" * 10
    store.set("a", b"new")
    for name in "abcd" * 2:
        assert store.get(name) == far.get(name)
    assert store.cache_info()["current_size"] <= 25


@pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrRuntimeWarning")
@pytest.mark.parametrize("answer", [5, "text", [1], object()], ids=lambda answer: type(answer).__name__)
def test_a_place_for_copies_that_answers_nonsense(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = MemoryStore(), MemoryStore()
    array = zarrcore.create_array(CacheStore(far, cache_store=near), data=np.arange(8), chunks=2)
    array[...]
    monkeypatch.setattr(near, "get", lambda *_: answer)
    assert np.array_equal(array[...], np.arange(8))
    assert np.array_equal(array[3:5], [3, 4])


def test_what_failed_to_be_removed_is_asked_for() -> None:
    class Fails(MemoryStore):
        def erase_prefix(self, prefix: str) -> None:
            super().erase_prefix(prefix)
            raise StoreError("half of it is gone")

    inner = Fails({"a/b": b"1"})
    store = CacheStore(inner, cache_store=MemoryStore())
    assert store.get("a/b") == b"1"
    with pytest.raises(StoreError, match="half of it"):
        store.erase_prefix("a")
    assert store.get("a/b") is None
