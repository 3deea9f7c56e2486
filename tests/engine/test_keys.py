"""Locks and generations of keys, seen through arrays: each test is named after what went wrong before."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine
from zarrcore.errors import ChunkError, ChunkLockError
from zarrcore.storage import LocalStore, ManagedMemoryStore, MemoryStore, Store, resolve_range

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 100


class Remote(Store):
    """A store in Python whose values have neither stamp nor version."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, bytes] = {}
        self.after_set: Callable[[str], None] = lambda key: None
        self.before_part: Callable[[str], None] = lambda key: None

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        if byte_range is not None:
            self.before_part(key)
        value = self.values.get(key)
        return None if value is None else value[slice(*resolve_range(byte_range, len(value)))]

    def set(self, key: str, value: Any) -> None:
        self.values[key] = bytes(value)
        self.after_set(key)

    def delete(self, key: str) -> None:
        self.values.pop(key, None)

    def list(self) -> Any:
        return iter(list(self.values))


def _in_threads(work: Callable[[int], object], n: int) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other for ever"
    if failures:
        raise failures[0]


# --- the cache ---------------------------------------------------------------------------------------------


def _three_inner_chunks(store: Store, length: int = N) -> Any:
    array = zarrcore.create_array(
        store, shape=3 * length, chunks=length, shards=3 * length, dtype="i4", compressors=None, fill_value=0
    )
    array[length : 2 * length] = 1
    array[2 * length :] = 2
    return array


def test_a_cached_read_during_a_write_returned_another_inner_chunk() -> None:
    """The store has the new shard, in which the inner chunks lie elsewhere, before its set() returns."""
    store = Remote()
    array = _three_inner_chunks(store)
    cached = zarrcore.open_array(store).with_cache(1 << 20)
    seen: list[np.ndarray] = []

    def look(key: str) -> None:
        if "c/" in key:
            seen.extend(cached[i * N : (i + 1) * N] for i in range(3))

    cached[:]
    store.after_set = look
    array[:N] = 7
    assert [set(part.tolist()) for part in seen] == [{7}, {1}, {2}]
    store.after_set = lambda key: None
    assert set(cached[:N].tolist()) == {7} and set(cached[N : 2 * N].tolist()) == {1}


@pytest.mark.parametrize("many", [False, True], ids=["read", "read_many"])
@pytest.mark.parametrize("kept", [False, True], ids=["plain", "cached"])
def test_a_part_fetched_late_was_of_another_version_of_the_shard(many: bool, kept: bool) -> None:
    """Large inner chunks without codecs are fetched when they are placed, long after the index."""
    store = Remote()
    length = 1 << 18
    array = _three_inner_chunks(store, length)
    reader = zarrcore.open_array(store)
    reader = reader.with_cache(1 << 25) if kept else reader
    calls = 0

    def write_once(key: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the index has been sent
            array[:length] = 7

    store.before_part = write_once
    part = slice(length + 5, length + 9)
    values = reader.read_many([part])[0] if many else reader[part]
    assert calls >= 2
    assert values.tolist() == [1, 1, 1, 1]


def _shrink_and_grow(group: Any) -> None:
    array = group["x"]
    array.resize((N,))
    array.resize((4 * N,))


def _overwrite(group: Any) -> None:
    group.create_array("x", shape=4 * N, chunks=N, dtype="i4", compressors=None, fill_value=0, overwrite=True)


def _overwrite_all(group: Any) -> None:
    root = zarrcore.open_group(group.store, mode="w")
    root.create_array("g/x", shape=4 * N, chunks=N, dtype="i4", compressors=None, fill_value=0)


def _copy_chunks(group: Any) -> None:
    source = zarrcore.create_array(
        MemoryStore(), shape=4 * N, chunks=N, dtype="i4", compressors=None, fill_value=0
    )
    source[:] = 9
    zarrcore.copy_store(source.store, group.store, dest_path="g/x", if_exists="replace")


def _move(group: Any) -> None:
    other = group.create_array("y", shape=4 * N, chunks=N, dtype="i4", compressors=None, fill_value=0)
    other[:] = 8
    del group["x"]
    group.move("y", "x")


def _delete_by_hand(group: Any) -> None:
    group.store.delete("g/x/c/2")


def _replace_by_hand(group: Any) -> None:
    group.store.set("g/x/c/1", group.store.get("g/x/c/0"))
    group.store.set_if_not_exists("g/x/c/0", b"")


def _erase_by_hand(group: Any) -> None:
    group.store.erase_prefix("g/x/c")


@pytest.mark.parametrize(
    "change",
    [
        _shrink_and_grow,
        _overwrite,
        _overwrite_all,
        _copy_chunks,
        _move,
        _delete_by_hand,
        _replace_by_hand,
        _erase_by_hand,
    ],
)
@pytest.mark.parametrize("make", [Remote, MemoryStore, None], ids=["remote", "memory", "local"])
def test_the_cache_kept_what_something_else_than_a_write_of_chunks_had_changed(
    change: Callable[[Any], None], make: Any, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path / "s") if make is None else make()
    group = zarrcore.open_group(store).create_group("g")
    array = group.create_array("x", shape=4 * N, chunks=N, dtype="i4", compressors=None, fill_value=0)
    array[:] = np.arange(4 * N) // N + 1
    cached = zarrcore.open_array(store, path="g/x").with_cache(1 << 20)
    np.testing.assert_array_equal(cached[:], array[:])
    change(group)
    np.testing.assert_array_equal(cached[:], zarrcore.open_array(store, path="g/x")[:])


# --- locks -------------------------------------------------------------------------------------------------


def _linked_root(tmp_path: Path, dtype: str) -> list[Any]:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    zarrcore.create_array(tmp_path / "real" / "x", shape=32, chunks=32, dtype=dtype)
    return [zarrcore.open_array(tmp_path / name / "x", mode="r+") for name in ("real", "link")]


def _linked_inside(tmp_path: Path, dtype: str) -> list[Any]:
    group = zarrcore.open_group(tmp_path / "s", mode="w")
    group.create_array("real/x", shape=32, chunks=32, dtype=dtype)
    (tmp_path / "s" / "link").symlink_to("real")
    return [group["real/x"], zarrcore.open_array(tmp_path / "s", path="link/x", mode="r+")]


def _rooted_elsewhere(tmp_path: Path, dtype: str) -> list[Any]:
    zarrcore.create_array(tmp_path / "s", name="a/x", shape=32, chunks=32, dtype=dtype)
    return [
        zarrcore.open_array(LocalStore(tmp_path / "s"), path="a/x", mode="r+"),
        zarrcore.open_array(LocalStore(tmp_path / "s" / "a"), path="x", mode="r+"),
    ]


def _named_memory(tmp_path: Path, dtype: str) -> list[Any]:
    stores = [ManagedMemoryStore(tmp_path.name), ManagedMemoryStore(tmp_path.name, path="a")]
    zarrcore.create_array(stores[1], name="x", shape=32, chunks=32, dtype=dtype)
    return [
        zarrcore.open_array(stores[0], path="a/x", mode="r+"),
        zarrcore.open_array(stores[1], path="x", mode="r+"),
    ]


@pytest.mark.parametrize("dtype", ["i4", "string"])
@pytest.mark.parametrize("handles", [_linked_root, _linked_inside, _rooted_elsewhere, _named_memory])
@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege")
def test_updates_were_lost_between_two_names_of_one_array(
    handles: Callable[[Path, str], list[Any]], dtype: str, tmp_path: Path
) -> None:
    arrays = handles(tmp_path, dtype)
    values = np.arange(1, 33).astype(arrays[0].dtype)

    def fill(number: int) -> None:
        for i in range(number, 32, 2):
            arrays[number][i] = values[i]

    for _ in range(8):
        arrays[0][:] = np.zeros(32).astype(arrays[0].dtype)
        _in_threads(fill, 2)
        np.testing.assert_array_equal(arrays[0][:], values)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege")
def test_a_handle_of_the_other_name_did_not_know_that_the_array_had_grown(tmp_path: Path) -> None:
    old, new = _linked_root(tmp_path, "i4")
    new.resize((20,))
    old = zarrcore.open_array(tmp_path / "real" / "x", mode="r+")
    new.resize((32,))
    new[20:] = 5
    old[:] = 1
    assert zarrcore.open_array(tmp_path / "real" / "x")[:].tolist() == [1] * 20 + [5] * 12


@pytest.mark.parametrize("threads", [1, 32])
@pytest.mark.parametrize("dtype", ["i4", "string"])
@pytest.mark.parametrize("journal_store", [MemoryStore, Remote])
def test_a_store_that_keeps_a_journal_was_refused_or_stood_still(
    threads: int, dtype: str, journal_store: Any
) -> None:
    """Its set() writes to another array, no chunk of which anybody else writes at that moment."""
    n = 512
    journal = zarrcore.create_array(
        journal_store(), shape=2 * n, chunks=2, dtype=dtype, compressors=None, fill_value=None
    )

    class Journalled(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, value)
            if "c/" in key:
                journal[2 * int(key.rpartition("/")[2])] = journal.dtype.type(len(bytes(value)))

    array = zarrcore.create_array(
        Journalled(), shape=2 * n, chunks=2, dtype=dtype, compressors=None, fill_value=None
    )

    def fill(number: int) -> None:
        for i in range(number, n, threads):
            array[2 * i] = array.dtype.type(i + 1)

    _in_threads(fill, threads)
    np.testing.assert_array_equal(array[::2], np.arange(1, n + 1).astype(array.dtype))
    assert (journal[::2] != journal.metadata.fill_value).all()


def test_two_stores_that_write_into_each_other_stood_still_for_ever() -> None:
    met = threading.Barrier(2, timeout=30)
    arrays: list[Any] = []

    class Crossed(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            if key == "c/0" and not getattr(busy, "inside", False):
                busy.inside = True
                met.wait()
                arrays[1 - self.number][0] = 1  # type: ignore[attr-defined]
            super().set(key, value)

    busy = threading.local()
    for number in range(2):
        store = Crossed()
        store.number = number  # type: ignore[attr-defined]
        arrays.append(zarrcore.create_array(store, shape=4, chunks=4, dtype="i4"))
    outcomes: list[BaseException | None] = [None, None]

    def write(number: int) -> None:
        try:
            arrays[number][1] = 1
        except ChunkError as error:
            outcomes[number] = error

    _in_threads(write, 2)
    refused = [error for error in outcomes if error is not None]
    assert len(refused) == 1
    assert isinstance(refused[0].__cause__, ChunkLockError)
    assert "stores write to each other's arrays" in str(refused[0])
    winner = 0 if outcomes[0] is None else 1
    assert arrays[winner][:].tolist() == [0, 1, 0, 0]
    assert arrays[1 - winner][0] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_in_a_callback_left_broken_locks_in_the_child() -> None:
    store = Remote()
    array = zarrcore.create_array(store, shape=8, chunks=4, dtype="i4")
    array[:] = 1
    cached = array.with_cache(1 << 20)
    child = -1

    def fork(key: str) -> None:
        nonlocal child
        store.after_set = lambda key: None
        child = os.fork()

    store.after_set = fork
    try:
        array[1] = 2
    except BaseException:
        if child != 0:
            raise
    if child == 0:
        try:
            array[2] = 3  # the lock is free
            kept = [cached[:4].tolist(), cached[:4].tolist()] == [[1, 2, 3, 1]] * 2
            os._exit(0 if kept and cached.cache.hits > 0 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert array[:4].tolist() == [1, 2, 1, 1]


def test_a_lock_that_python_holds_keeps_the_engine_out() -> None:
    store = Remote()
    array = zarrcore.create_array(store, shape=4, chunks=4, dtype="i4")
    place = engine.Place(store._scope(""))
    writer = threading.Thread(target=array.__setitem__, args=(0, 1), daemon=True)
    with engine.KeyLock(place, "c/0"):
        writer.start()
        writer.join(0.2)
        assert writer.is_alive() and "c/0" not in store.values
        with engine.KeyLock(place, "c/1"):  # another key
            pass
        with pytest.raises(ChunkLockError, match="while this thread"), engine.KeyLock(place, "c/0"):
            pass
    writer.join(30)
    assert array[0] == 1


def test_scopes_of_stores() -> None:
    with pytest.raises(ValueError, match="ends with '/'"):
        engine.Place("a")
    remote = Remote()
    assert remote._scope("a").endswith(".Remote/a/")

    class Derived(Remote):
        pass

    assert Derived()._scope("") == remote._scope("")
