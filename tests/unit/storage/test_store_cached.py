"""The store that keeps what was read in a directory: what it asks for, keeps, and survives."""

from __future__ import annotations

import copy
import errno
import itertools
import multiprocessing
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_changes import count_own_changes

import zarrcore
from zarrcore.errors import StoreError, ZarrRuntimeWarning
from zarrcore.storage import (
    CacheStore,
    LocalStore,
    LoggingStore,
    MemoryStore,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    WrapperStore,
    cache_files,
    local,
    resolve_range,
)
from zarrcore.storage.versions import Fetched
from zarrcore.testing.store import StoreTests

PARTS = [None, (2, 3), (4, None), RangeByteRequest(2, 5), OffsetByteRequest(4), SuffixByteRequest(2)]


class Versioned(MemoryStore):
    """A store in memory with versions, which notes what it is asked for."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__(dict(values))
        self.asked: list[tuple[str, Any, str]] = []
        self.before: Any = None  # is called before each answer

    _versioned = True

    def _scope(self, path: str) -> str:
        """Not by an address, with which a key may share its generation with one that others have changed."""
        return f"versioned/{path}/"

    def get_partial_values(self, key_ranges: Any) -> Any:
        raise AssertionError("this store is asked for versions")

    def _fetch(
        self, key: str, part: Any = None, *, most: Any = None, known: Any = None, same: Any = None
    ) -> Fetched:
        if self.before is not None:
            self.before()
        value = self._store_dict.get(key)
        self.asked.append((key, part, "known" if known else "same" if same else ""))
        if value is None:
            return Fetched(is_replaced=same is not None)
        version = f"v{hash(bytes(value))}"
        if known == version:
            return Fetched(version=version, is_unchanged=True)
        if same is not None and same != version:
            return Fetched(is_replaced=True)
        start, stop = resolve_range(part, len(value))
        return Fetched(bytes(value[start:stop]), version, len(value))

    def take(self) -> list[tuple[str, Any, str]]:
        asked = list(self.asked)
        self.asked.clear()  # which read-only views of the store share
        return asked


@pytest.fixture(autouse=True)
def own_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    count_own_changes(monkeypatch)


@pytest.fixture
def far() -> Versioned:
    return Versioned({"a": b"0123456789", "b": b"xyz", "g/c": b"c", "empty": b""})


@pytest.fixture
def near(tmp_path: Path) -> Path:
    return tmp_path / "near"


def kept(near: Path) -> list[Path]:
    return sorted(path for path in near.glob("zarrcore-1/??/*") if path.is_file())


def make(far: Any, near: Path, **options: Any) -> CacheStore:
    return CacheStore(far, near, **{"max_bytes": 1 << 20, "name": "far", **options})


class TestOfFiles(StoreTests):
    def make_store(self, tmp_path: Any) -> CacheStore:
        return CacheStore(LocalStore(tmp_path / "far"), tmp_path / "near", max_bytes=2000)


class TestOfWhatNeverChanges(StoreTests):
    def make_store(self, tmp_path: Any) -> CacheStore:
        return CacheStore(
            MemoryStore(), tmp_path / "near", max_bytes=1 << 20, immutable=True, name=os.urandom(4).hex()
        )


class TestOfNothing(StoreTests):
    def make_store(self, tmp_path: Any) -> CacheStore:
        return CacheStore(MemoryStore(), tmp_path / "near", max_bytes=0, max_age=0, name="far")


# --- what is asked for ---


@pytest.mark.parametrize("part", PARTS)
def test_a_kept_value_is_asked_for_by_one_condition(far: Versioned, near: Path, part: Any) -> None:
    expected = bytes(MemoryStore(far._store_dict).get("a", part))
    assert make(far, near).get("a", part) == expected
    assert [condition for *_, condition in far.take()] == [""]
    store = make(far, near)  # as a later process would
    assert store.get("a", part) == expected
    assert [condition for *_, condition in far.take()] == ["known"]
    assert store.cache_stats() == {
        "hits": 1, "misses": 0, "hit_bytes": len(expected), "miss_bytes": 0,
        "validations": 1, "unversioned": 0, "evictions": 0, "damaged": 0,
    }  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_what_never_changes_is_not_asked_for(far: Versioned, near: Path, part: Any) -> None:
    expected = make(far, near, immutable=True).get("a", part)
    far.take()
    far._store_dict["a"] = b"another value"
    assert make(far, near, immutable=True).get("a", part) == expected
    assert far.take() == []


def test_absence_is_kept_where_nothing_changes(far: Versioned, near: Path) -> None:
    for options, n in (({"immutable": True}, 1), ({"max_age": 60}, 0), ({}, 2)):
        store = make(far, near, **options)
        assert [store.get("late"), store.get("late", (0, 2))] == [None, None]
        assert len(far.take()) == n, options
    far._store_dict["late"] = b"1"
    assert make(far, near).get("late") == b"1"


def test_max_age(far: Versioned, near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(far, near, max_age=5)
    store.get("a")
    far.take()
    store.get("a")
    assert far.take() == []
    [path] = kept(near)
    old = time.time_ns() - 6 * 10**9
    os.utime(path, ns=(old, old))
    begun = time.time()
    with monkeypatch.context() as patch:
        patch.setattr(cache_files.time, "time", lambda: begun + 6)
        assert store.get("a") == b"0123456789"
    assert [condition for *_, condition in far.take()] == ["known"]
    assert store.get("a") == b"0123456789"
    assert far.take() == []  # it was valid just now


@pytest.mark.parametrize("part", PARTS)
def test_a_replaced_value_is_fetched_by_the_same_request(far: Versioned, near: Path, part: Any) -> None:
    make(far, near).get("a", part)
    far._store_dict["a"] = b"a new value"
    far.take()
    store = make(far, near)
    for _ in range(2):
        assert store.get("a", part) == bytes(MemoryStore(far._store_dict).get("a", part))
    assert [condition for *_, condition in far.take()] == ["known", "known"]
    del far._store_dict["a"]
    assert store.get("a", part) is None
    assert kept(near) == []


def test_a_part_is_found_in_other_parts(far: Versioned, near: Path) -> None:
    far._store_dict["a"] = data = os.urandom(300_000)
    store = make(far, near, immutable=True)
    for start, stop in ((0, 1000), (1000, 200_000), (150_000, 300_000)):
        store.get("a", RangeByteRequest(start, stop))
    far.take()
    for start, stop in ((0, 1000), (500, 1500), (999, 1000), (65_535, 65_537), (0, 250_000), (7, 400_000)):
        assert store.get("a", RangeByteRequest(start, stop)) == data[start:stop]
    assert store.get("a") == data
    assert store.get("a", SuffixByteRequest(70_000)) == data[-70_000:]
    assert store.get("a", OffsetByteRequest(5)) == data[5:]
    assert store.get("a", OffsetByteRequest(300_000)) == b""
    assert far.take() == []
    assert len(kept(near)) == 1
    assert store.get("empty", SuffixByteRequest(4)) == store.get("empty") == b""


def test_random_parts_are_those_of_the_value(far: Versioned, near: Path) -> None:
    random = np.random.default_rng(20261123)
    data = far._store_dict["a"] = random.bytes(200_000)
    store = make(far, near)
    for number in range(300):
        a, b = sorted(int(x) for x in random.integers(0, 200_001, 2))
        if number % 3:
            b = min(b, a + 3000)
        part = [RangeByteRequest(a, b), OffsetByteRequest(a), SuffixByteRequest(b - a), None][number % 4]
        start, stop = resolve_range(part, len(data))
        assert store.get("a", part) == data[start:stop], part
        if number % 100 == 99:
            data = far._store_dict["a"] = random.bytes(200_000)
    assert store.cache_stats()["hits"] > 30


def test_parts_are_never_of_two_versions(far: Versioned, near: Path) -> None:
    store = make(far, near)
    store.get("a", (0, 5))
    far._store_dict["a"] = b"ABCDEFGHIJ"
    assert store.get_partial_values([("a", (0, 5)), ("a", (5, 5))]) == [b"ABCDE", b"FGHIJ"]
    turns = iter([b"0123456789", b"ABCDEFGHIJ", b"abcdefghij"])

    def change() -> None:
        far._store_dict["a"] = next(turns, b"abcdefghij")

    far.before = change
    assert store.get_partial_values([("a", (0, 3)), ("a", (3, 3)), ("a", (6, 4))]) == [
        b"abc",
        b"def",
        b"ghij",
    ]
    states = iter(range(1000))
    far.before = lambda: far._store_dict.__setitem__("a", b"%010d" % next(states))
    with pytest.raises(StoreError, match="replaced while it was read"):
        store.get_partial_values([("a", (0, 3)), ("a", (3, 3))])


def test_a_shard_is_asked_about_once_for_each_read(near: Path) -> None:
    values = np.arange(300 * 300, dtype="i4").reshape(300, 300)
    source = zarrcore.create_array({}, data=values, chunks=(10, 10), shards=(300, 300), compressors=None)
    far = Versioned(source.store._store_dict)
    assert np.array_equal(zarrcore.open_array(make(far, near), mode="r")[:20, :20], values[:20, :20])
    array = zarrcore.open_array(make(far, near), mode="r")
    far.take()
    assert np.array_equal(array[:20, :20], values[:20, :20])
    assert [(key, condition) for key, _, condition in far.take()] == [("c/0/0", "known")]
    assert np.array_equal(array[:20, 40:60], values[:20, 40:60])
    assert {condition for *_, condition in far.take()} == {"known", "same"}
    other = zarrcore.create_array({}, data=-values, chunks=(10, 10), shards=(300, 300), compressors=None)
    far._store_dict["c/0/0"] = other.store._store_dict["c/0/0"]
    assert np.array_equal(array[...], -values)


def test_a_chunk_cache_over_it(far: Versioned, near: Path) -> None:
    array = zarrcore.create_array(make(far, near), name="v", data=np.arange(100), chunks=10)
    cached = array.with_cache(1 << 20)
    for _ in range(2):
        assert np.array_equal(cached[...], np.arange(100))
    assert cached.cache.hits == 10
    cached[:10] = -1
    assert (cached[:10] == -1).all()
    assert (zarrcore.open_array(MemoryStore(far._store_dict), path="v")[:10] == -1).all()


def test_consolidated_metadata(far: Versioned, near: Path) -> None:
    root = zarrcore.create_group(make(far, near), path="root")
    root.create_array("a", data=np.arange(5))
    zarrcore.consolidate_metadata(root.store, path="root")
    zarrcore.open_group(make(far, near), path="root", mode="r")
    far.take()
    group = zarrcore.open_group(make(far, near), path="root", mode="r")
    assert np.array_equal(group["a"][...], np.arange(5))
    assert "root/a/zarr.json" not in {key for key, *_ in far.take()}


# --- sources without versions ---


def test_a_source_without_versions_has_to_be_trusted(near: Path) -> None:
    far = MemoryStore({"a": b"0123456789"})
    with pytest.raises(ValueError, match=r"immutable=True or max_age="):
        make(far, near)
    for options in ({"immutable": True}, {"max_age": 60}):
        source = LoggingStore(far, "ERROR")
        store = make(source, near / str(len(options)), **options)
        for _ in range(2):
            assert store.get("a") == b"0123456789"
            assert store.get("a", (2, 3)) == b"234"
            assert store.get("a", SuffixByteRequest(3)) == b"789"
        assert sum(source.counter.values()) == 1
        store.clear_cache()


def test_parts_without_versions_are_kept_of_what_never_changes_alone(near: Path) -> None:
    for options, n in (({"immutable": True}, 0), ({"max_age": 60}, 3)):
        source = LoggingStore(MemoryStore({"a": b"0123456789"}), "ERROR")
        store = make(source, near, **options, name=repr(options))
        for _ in range(2):
            for part in ((2, 3), SuffixByteRequest(3), (4, None)):
                start, stop = resolve_range(part, 10)
                assert store.get("a", part) == b"0123456789"[start:stop]
        assert sum(source.counter.values()) == 3 + n


# --- writes ---


CHANGES: dict[str, Any] = {
    "set": lambda store: store.set("a", b"new"),
    "set_partial_values": lambda store: store.set_partial_values([("a", 0, b"new")]),
    "delete": lambda store: store.delete("a"),
    "erase_values": lambda store: store.erase_values(iter(["a", "b"])),
    "erase_prefix": lambda store: store.erase_prefix("g"),
    "clear": lambda store: store.clear(),
    "another handle": lambda store: store.with_read_only(False).set("a", b"new"),
    "the source": lambda store: store._store.set("a", b"new"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("options", [{}, {"immutable": True}, {"max_age": 60}], ids=str)
def test_changes_are_seen(near: Path, change: str, options: dict[str, Any]) -> None:
    far = MemoryStore({"a": b"0123456789", "b": b"xyz", "g/c": b"c"})
    store = make(far if options else LocalStore(near.parent / "far"), near, **options)
    if not options:
        for key, value in far._store_dict.items():
            store.set(key, bytes(value))
    for _ in range(2):
        for key in ("a", "b", "g/c"):
            store.get(key)
            store.get(key, (0, 1))
    CHANGES[change](store)
    for _ in range(2):
        for key in ("a", "b", "g/c"):
            for part in (None, (0, 1)):
                assert store.get(key, part) == store._store.get(key, part)
    if change != "the source":  # which knows nothing of what later processes find
        for key in ("a", "b", "g/c"):
            fresh = CacheStore(store._store, near, max_bytes=1 << 20, name="far", **options)
            assert fresh.get(key) == store._store.get(key)


def test_a_value_that_changes_while_it_is_read_is_not_kept(near: Path) -> None:
    class Slow(WrapperStore):
        def get_partial_values(self, key_ranges: Any) -> Any:
            found = super().get_partial_values(key_ranges)
            store.set("a", b"new")
            return found

    store = make(Slow(MemoryStore({"a": b"old"})), near, immutable=True)
    assert store.get("a") == b"old"
    assert kept(near) == []


def test_a_failed_write_forgets_too(near: Path) -> None:
    class Failing(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, value)
            raise OSError("the connection was lost")

    store = make(Failing({"a": b"old"}), near, immutable=True)
    store.get("a")
    with pytest.raises(OSError, match="connection"):
        store.set("a", b"new")
    assert store.get("a") == b"new"


# --- names and limits ---


def test_stores_share_a_directory(near: Path) -> None:
    for number in range(3):
        far = Versioned({"a": b"%d" % number, "../../outside": b"", "x" * 3000: b"long"})
        store = make(far, near, name=f"{number}\0", immutable=True)
        for _ in range(2):
            assert store.get("a") == b"%d" % number
            assert store.get("x" * 3000) == b"long"
    store.clear_cache()
    assert len(kept(near)) == 4
    assert {path.name for path in near.parent.iterdir()} == {"near"}


def test_what_is_not_known_needs_a_name(tmp_path: Path) -> None:
    class Decrypting(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            return b"clear"

    local = LocalStore(tmp_path / "far")
    for far in (MemoryStore(), Decrypting(local), LoggingStore(Decrypting(local), "ERROR")):
        with pytest.raises(ValueError, match="give it a name="):
            CacheStore(far, tmp_path / "near", max_bytes=1, immutable=True)
    plain = CacheStore(local, tmp_path / "near", max_bytes=1)
    for same in (LoggingStore(local, "ERROR"), local.with_read_only(True), LocalStore(f"{tmp_path}/./far")):
        assert CacheStore(same, tmp_path / "near", max_bytes=1)._prefix == plain._prefix


def test_refused(far: Versioned, near: Path) -> None:
    for name, value in itertools.product(("max_bytes", "max_age"), (-1, float("nan"))):
        with pytest.raises(ValueError, match=r"max_\w+: expected"):
            make(far, near, **{name: value})
    with pytest.raises(ValueError, match="max_bytes: expected a number of bytes"):
        make(far, near, max_bytes=float("inf"))
    with pytest.raises(TypeError, match="max_age: expected None or a number of seconds, got '1'"):
        make(far, near, max_age="1")


def test_names_that_stand_for_one_file_are_two(far: Versioned, near: Path) -> None:
    """The halves of a pair that Python has for bytes of file names were kept as these bytes."""
    far.set("\xe9", b"one")
    far.set("\udcc3\udca9", b"other")
    store = make(far, near, immutable=True, name="\ud800")
    for _ in range(2):
        assert (store.get("\xe9"), store.get("\udcc3\udca9")) == (b"one", b"other")


@pytest.mark.parametrize("sizes", ["equal", "random"])
def test_the_limit_holds(near: Path, sizes: str) -> None:
    random = np.random.default_rng(1)
    far = Versioned(
        {f"k{n}": random.bytes(1000 if sizes == "equal" else int(random.integers(5000))) for n in range(300)}
    )
    store = make(far, near, max_bytes=50_000)
    for number in range(1500):
        key = f"k{int(random.integers(300)) if number % 2 else number % 20}"
        part = None if number % 3 else (0, int(random.integers(1, 5000)))
        start, stop = resolve_range(part, len(far._store_dict[key]))
        assert store.get(key, part) == far._store_dict[key][start:stop]
        if number % 50 == 0:
            assert sum(path.stat().st_size for path in kept(near)) <= 50_000
    assert 10_000 < store.cache_info()["current_size"] <= 50_000
    assert store.cache_stats()["evictions"] > 0


def test_what_was_used_longest_ago_goes_first(near: Path) -> None:
    far = Versioned({f"k{n}": bytes(1000) for n in range(10)})
    store = make(far, near, max_bytes=12_000, immutable=True)
    for number in range(10):
        store.get(f"k{number}")
        for path in kept(near):
            found = path.stat()
            os.utime(path, ns=(found.st_atime_ns - 10**10, found.st_mtime_ns))
    store.get("k0")  # is used again
    far._store_dict["large"] = bytes(3000)
    store.get("large")
    far.take()
    store.get("k0")
    store.get("k9")
    assert far.take() == []
    store.get("k1")
    assert len(far.take()) == 1


def test_a_value_larger_than_the_limit_is_not_kept(far: Versioned, near: Path) -> None:
    far._store_dict["large"] = bytes(5000)
    store = make(far, near, max_bytes=1000)
    store.get("b")
    assert store.get("large") == bytes(5000)
    assert len(kept(near)) == 1
    store.get("b")
    assert store.cache_stats()["hits"] == 1


# --- damage ---


def damaged(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    match how:
        case "cut":
            data = data[: len(data) // 2]
        case "empty":
            data = bytearray()
        case "zeros":
            data = bytearray(len(data))
        case "longer":
            data += bytes(100)
        case _:
            data[int(how)] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "how", ["cut", "empty", "zeros", "longer", *map(str, range(0, 120, 7)), "-1", "-70000"]
)
def test_damage_is_noticed_and_the_value_fetched_again(near: Path, how: str) -> None:
    data = os.urandom(200_000)
    far = Versioned({"a": data})
    for part in (None, (0, 150_000), SuffixByteRequest(150_000)):
        for reader in (None, (100_000, 50_000)):
            store = make(far, near, immutable=True)
            store.get("a", part)
            store.get("a", (10, 10))
            [path] = kept(near)
            damaged(path, how)
            for _ in range(2):
                start, stop = resolve_range(reader, len(data))
                assert store.get("a", reader) == data[start:stop]
                assert make(far, near, immutable=True).get("a", (190_000, 20_000)) == data[190_000:]
            store.clear_cache()
            for path in kept(near):  # its head is damaged, nobody knows whose it is
                path.unlink()


def test_a_file_that_ends_with_its_head_says_nothing(far: Versioned, near: Path) -> None:
    """An absent value was read as one without bytes, where no byte of it was asked for."""
    make(far, near, immutable=True).get("absent")
    [path] = kept(near)
    data = path.read_bytes()
    for n in range(len(data)):
        path.write_bytes(data[:n])
        store = make(far, near, immutable=True)
        assert [store.get("absent", part) for part in ((0, 0), None, SuffixByteRequest(0))] == [None] * 3


def test_a_file_under_another_name_is_no_value(far: Versioned, near: Path) -> None:
    store = make(far, near, immutable=True)
    store.get("a")
    [a] = kept(near)
    store.get("b")
    [b] = set(kept(near)) - {a}
    b.write_bytes(a.read_bytes())
    assert store.get("b") == b"xyz"
    assert store.cache_stats()["damaged"] == 1


@pytest.mark.skipif(os.name != "posix", reason="links and FIFOs")
@pytest.mark.parametrize("what", ["link", "fifo", "directory"])
def test_what_is_no_file_is_not_opened(far: Versioned, near: Path, what: str, tmp_path: Path) -> None:
    store = make(far, near, immutable=True)
    store.get("a")
    [path] = kept(near)
    outside = tmp_path / "outside"
    path.rename(outside)
    if what == "link":
        path.symlink_to(outside)
    elif what == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    before = outside.read_bytes()
    far.take()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZarrRuntimeWarning)
        assert store.get("a", (0, 4)) == b"0123"
    assert len(far.take()) == 1
    store.set("a", b"new")
    assert outside.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize("place", ["all", "parts"])
def test_links_in_the_directory_lead_to_no_other_one(far: Versioned, tmp_path: Path, place: str) -> None:
    """Files of theirs were written over, and removed to make room."""
    theirs, near = tmp_path / "theirs", tmp_path / "near"
    (theirs / "ab").mkdir(parents=True)
    files = {theirs / "bytes": b"theirs!!", theirs / "ab" / ("c" * 62): b"x" * 1000}
    files[theirs / ("d" * 62)] = b"y" * 1000
    for path, data in files.items():
        path.write_bytes(data)
        os.utime(path, (1, 1))
    near.mkdir(mode=0o700)
    if place == "all":
        (near / "zarrcore-1").symlink_to(theirs)
    else:
        (near / "zarrcore-1").mkdir(mode=0o700)
        for number in range(256):
            (near / "zarrcore-1" / f"{number:02x}").symlink_to(theirs)
    for key in ("a", "b"):
        with pytest.warns(ZarrRuntimeWarning, match="expected a directory, and no link to one"):
            assert make(far, near, immutable=True, max_bytes=500).get(key) == far.get(key)
    assert {path: path.read_bytes() for path in theirs.rglob("*") if path.is_file()} == files


def test_files_are_those_of_their_owner(far: Versioned, near: Path) -> None:
    before = os.umask(0o022)
    try:
        make(far, near).get("a")
    finally:
        os.umask(before)
    paths = [near, *near.rglob("*")]
    assert len(paths) > 4
    for path in paths:
        if path.name != "CACHEDIR.TAG":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_directory_that_all_may_write_to_is_refused(far: Versioned, near: Path) -> None:
    store = make(far, near)
    store.get("a")
    (near / "zarrcore-1").chmod(0o777)
    with pytest.raises(StoreError, match="all users may write"):
        make(far, near).get("b")
    (near / "zarrcore-1").chmod(0o700)
    near.chmod(0o777)  # others may put another directory in its place
    with pytest.raises(StoreError, match="all users may write"):
        make(far, near).get("b")
    near.chmod(0o1777)
    assert make(far, near).get("b") == b"xyz"


@pytest.mark.skipif(os.name == "nt", reason="there is one time of change, which can be set back")
def test_a_file_that_was_given_another_date_is_no_older(near: Path, tmp_path: Path) -> None:
    far = LocalStore(tmp_path / "far")
    far.set("a", b"old")
    os.utime(tmp_path / "far" / "a", ns=(10**18, 10**18))
    store = CacheStore(far, near, max_bytes=1 << 20)
    assert store.get("a") == store.get("a") == b"old"
    assert store.cache_stats()["hits"] == 0 and store.cache_stats()["unversioned"] == 2


@pytest.mark.skipif(os.name == "nt", reason="there is one time of change, which can be set back")
def test_a_file_that_changes_in_place_and_gets_its_old_date_is_read_again(
    near: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_changed_at", lambda version: version[2])
    far = LocalStore(tmp_path / "far")
    far.set("a", b"old")
    file = tmp_path / "far" / "a"
    os.utime(file, ns=(10**18, 10**18))
    store = CacheStore(far, near, max_bytes=1 << 20)
    assert store.get("a") == store.get("a") == b"old"
    assert store.cache_stats()["hits"] == 1
    with file.open("r+b") as opened:
        opened.write(b"new")
    os.utime(file, ns=(10**18, 10**18))
    assert store.get("a") == b"new"


def forged(far: Versioned, near: Path) -> CacheStore:
    """A cache into which somebody has put another value before it was used."""
    store = make(far, near, immutable=True)
    files = cache_files.CacheFiles(str(near), 1 << 20)
    files.put(f"{store._prefix}a", "", [cache_files.Piece(0, b"forged", True)], whole=True)
    assert store.get("a") == b"forged"
    return make(far, near, immutable=True)


@pytest.mark.skipif(os.name == "nt", reason="other permissions")
def test_values_in_a_directory_that_all_may_write_to_are_not_read(far: Versioned, near: Path) -> None:
    """Only writing to it was refused."""
    store = forged(far, near)
    (near / "zarrcore-1").chmod(0o777)
    with pytest.raises(StoreError, match="all users may write"):
        store.get("a")


@pytest.mark.skipif(os.name == "nt", reason="other permissions")
@pytest.mark.parametrize("whose", ["directory", "file"])
def test_values_of_another_user_are_not_read(
    far: Versioned, near: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    store, own = forged(far, near), os.geteuid()
    call = "fstat" if whose == "file" else "stat"
    real = getattr(os, call)

    def stat(*args: Any, **kwargs: Any) -> os.stat_result:
        fields = [*real(*args, **kwargs)]
        fields[4] = own + 12345
        return os.stat_result(fields)

    monkeypatch.setattr(os, call, stat)
    if whose == "directory":
        with pytest.warns(ZarrRuntimeWarning, match="belongs to another user"):
            assert store.get("a") == b"0123456789"
    else:
        assert store.get("a") == b"0123456789"


# --- a disk that is full, or not there ---


@pytest.mark.parametrize("at", ["open", "write", "replace", "append"])
def test_a_full_disk_is_a_warning(
    far: Versioned, near: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = make(far, near)
    if at == "append":
        store.get("a", (0, 3))
    with monkeypatch.context() as patch:
        if at == "open":
            patch.setattr(cache_files.os, "mkdir", full)
        elif at == "replace":
            patch.setattr(cache_files.os, "replace", full)
        else:
            real = cache_files._write
            patch.setattr(
                cache_files,
                "_write",
                lambda fd, data: real(fd, data) if len(data) == 8 else (os.write(fd, data[:20]), full()),
            )
        with pytest.warns(ZarrRuntimeWarning, match="No space left"):
            assert store.get("a", (0, 8)) == b"01234567"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert store.get("b") == b"xyz"
    for _ in range(2):
        assert store.get("a", (0, 8)) == b"01234567"
        assert store.get("b") == b"xyz"
    assert not [*near.rglob("*.partial")]
    assert store.cache_stats()["damaged"] == 0
    assert store.cache_stats()["hits"] == 2


@pytest.mark.skipif(not os.path.exists("/dev/full") or os.geteuid() == 0, reason="permissions of others")
def test_a_directory_without_permission(far: Versioned, near: Path) -> None:
    near.mkdir(mode=0o500)
    with pytest.warns(ZarrRuntimeWarning, match="denied"):
        assert make(far, near).get("a") == b"0123456789"


def test_a_file_in_the_place_of_the_directory(far: Versioned, near: Path) -> None:
    near.write_text("mine")
    with pytest.warns(ZarrRuntimeWarning, match="cannot be kept"):
        assert make(far, near).get("a") == b"0123456789"
    assert near.read_text() == "mine"


def test_other_files_in_the_directory_stay(far: Versioned, near: Path) -> None:
    near.mkdir()
    (near / "mine").write_text("mine")
    store = make(far, near, max_bytes=300)
    store.get("a")
    (near / "zarrcore-1" / "notes").write_text("x" * 1000)
    (kept(near)[0].parent / "notes").write_text("x" * 1000)
    for key in ("a", "b", "g/c"):
        store.get(key)
    store.clear_cache()
    assert len([*near.rglob("notes")]) == 2
    assert (near / "mine").read_text() == "mine"


# --- threads and processes ---


def test_threads(near: Path) -> None:
    far = Versioned({f"k{n}": np.random.default_rng(n).bytes(100_000) for n in range(8)})
    store = make(far, near, max_bytes=500_000)
    failures: list[Any] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(60):
            key, a = f"k{random.integers(8)}", int(random.integers(90_000))
            part = RangeByteRequest(a, a + 9000) if random.integers(4) else None
            start, stop = resolve_range(part, 100_000)
            if store.get(key, part) != far._store_dict[key][start:stop]:
                failures.append((key, part))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.cache_stats()["damaged"] == 0


PROGRAM = """if True:
    import sys
    import numpy as np
    from zarrcore.storage import CacheStore, MemoryStore, RangeByteRequest
    near, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    values = {f"k{i}": np.random.default_rng(i).bytes(50_000 + i) for i in range(20)}
    store = CacheStore(MemoryStore(values), near, max_bytes=400_000, immutable=True, name="far")
    random = np.random.default_rng(seed)
    print("ready", flush=True)
    for number in range(n):
        key, a = f"k{random.integers(20)}", int(random.integers(50_000))
        part = RangeByteRequest(a, a + int(random.integers(1, 9000))) if random.integers(4) else None
        expected = values[key] if part is None else values[key][part.start : part.end]
        assert store.get(key, part) == expected, (key, part)
    print(store.cache_stats()["damaged"])
"""


def started(near: Path, seed: int, n: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(near), str(seed), str(n)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_processes_share_the_directory(near: Path) -> None:
    running = [started(near, seed, 400) for seed in range(3)]
    for process in running:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert out == "0\n"
    assert sum(path.stat().st_size for path in kept(near)) <= 400_000


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_processes_leave_nothing_wrong(near: Path) -> None:
    random = np.random.default_rng(3)
    for seed in range(8):
        process = started(near, seed, 1_000_000)
        time.sleep(float(random.uniform(0.0, 0.15)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    last = started(near, 99, 500)
    out, _ = last.communicate(timeout=120)
    assert last.returncode == 0, out
    for path in near.rglob("*.partial"):
        os.utime(path, (0, 0))
    store = make(Versioned({"a": bytes(399_000)}), near, max_bytes=400_000)
    store.get("a")
    assert not [*near.rglob("*.partial")]


def test_half_of_a_piece_is_not_read_and_written_over(far: Versioned, near: Path) -> None:
    store = make(far, near, immutable=True)
    store.get("a", (0, 3))
    [path] = kept(near)
    size = path.stat().st_size
    store.get("a", (5, 3))
    data = path.read_bytes()
    for n in range(size, len(data)):  # the writer was killed here
        path.write_bytes(data[:n])
        fresh = make(far, near, immutable=True)
        assert fresh.get("a", (0, 3)) == b"012"
        assert fresh.get("a", (5, 3)) == b"567"
        assert fresh.get("a", (5, 3)) == b"567"
        assert fresh.cache_stats()["damaged"] == 0
        assert fresh.cache_stats()["hits"] == 2


def test_a_lock_that_others_keep_costs_the_copy_alone(
    far: Versioned, near: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_files, "_PATIENCE", 0.05)
    store = make(far, near)
    store.get("b")
    fd = os.open(near / "zarrcore-1" / "bytes", os.O_RDWR)
    with cache_files._locked(fd):
        assert store.get("a") == b"0123456789"
    os.close(fd)
    assert len(kept(near)) == 1
    store.get("a")
    assert len(kept(near)) == 2


def test_pickle_and_copy(near: Path, tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "far", data=np.arange(10), chunks=2)
    store = CacheStore(LocalStore(tmp_path / "far"), near, max_bytes=10**6, max_age=60)
    array = zarrcore.open_array(store, mode="r")
    again = pickle.loads(pickle.dumps(array))
    assert isinstance(again.store, CacheStore)
    assert np.array_equal(again[...], np.arange(10))
    same = pickle.loads(pickle.dumps(store))
    assert (same.max_bytes, same.max_age, same.directory) == (10**6, 60, str(near))
    assert same == store
    assert copy.copy(store)._files is store._files
    with pytest.raises(zarrcore.errors.ReadOnlyError):
        store.with_read_only(True).set("k", b"")


def _read(store: CacheStore, queue: Any) -> None:
    queue.put((store.get("a"), store.get("b"), store.cache_stats()["hits"]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children(method: str, near: Path, tmp_path: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("no such way here")
    far = LocalStore(tmp_path / "far")
    (tmp_path / "far").mkdir()
    for key, value in (("a", b"1"), ("b", b"2")):  # as somebody else has written them
        (tmp_path / "far" / key).write_bytes(value)
    store = CacheStore(far, near, max_bytes=10**6, immutable=True)
    store.get("a")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=_read, args=(store, queue))
        child.start()
    assert queue.get(timeout=60)[:2] == (b"1", b"2")
    child.join()
    assert store.get("b") == b"2"
    assert store.cache_stats()["hits"] == 1


@pytest.fixture(autouse=True)
def nothing_is_held() -> Iterator[None]:
    """No descriptor is left open."""
    path = "/proc/self/fd"
    if not os.path.isdir(path):
        yield
        return
    before = [os.readlink(f"{path}/{n}") for n in os.listdir(path) if os.path.islink(f"{path}/{n}")]
    yield
    after = [os.readlink(f"{path}/{n}") for n in os.listdir(path) if os.path.islink(f"{path}/{n}")]
    assert sum("zarrcore-1" in name for name in after) == sum("zarrcore-1" in name for name in before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no FIFOs")
@pytest.mark.parametrize("place", ["bytes", "value"])
def test_a_fifo_in_the_directory_is_not_waited_for(place: str, tmp_path: Path) -> None:
    """In the place of the file that counts the bytes, one was read from for ever."""
    store = CacheStore(
        MemoryStore({"a": b"1", "b": b"2"}), tmp_path, max_bytes=1000, immutable=True, name="fifo"
    )
    assert store.get("a") == b"1"
    found = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and (path.name == "bytes") == (place == "bytes")
    ]
    for path in found:
        if path.name != "CACHEDIR.TAG":
            path.unlink()
            os.mkfifo(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZarrRuntimeWarning)
        assert (store.get("b"), store.get("a")) == (b"2", b"1")
