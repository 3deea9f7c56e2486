"""How many round trips a request to a remote store takes: each waits, and many wait side by side."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore import config
from zarrcore.storage import MemoryStore, Store, WrapperStore
from zarrcore.storage.remote import concurrency, in_parallel

pytestmark = pytest.mark.alone

LATENCY = 0.05
SLACK = 2.5  # machines that have other things to do; one request after the other takes much longer still
CONCURRENCY = 8
N = 24  # chunks or shards: three turns of requests


class Remote(WrapperStore):
    """A store that answers each request after some time, so many of them at a time as is configured."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(MemoryStore() if store is None else store)
        self.requests = self.calls = 0
        self.most = self._waiting = 0
        self._guard = threading.Lock()

    def _scope(self, path: str) -> str:
        return f"remote:{id(self._store)}/{path}/"

    def _concurrent_requests(self) -> int:
        return concurrency()

    def _has_lost(self, prefix: str) -> bool:
        return False

    def _call(self, method: Any, *args: Any, **options: Any) -> Any:
        with self._guard:
            self.requests += 1
            self._waiting += 1
            self.most = max(self.most, self._waiting)
        time.sleep(LATENCY)
        try:
            return super()._call(method, *args, **options)
        finally:
            with self._guard:
                self._waiting -= 1

    def get_partial_values(self, key_ranges: Any) -> Any:
        self.calls += 1
        return in_parallel(lambda request: self._call(self._store.get, *request), list(key_ranges))

    def get_many(self, keys: Any) -> Any:
        return self.get_partial_values([(key, None) for key in keys])


@pytest.fixture(autouse=True)
def few_at_a_time() -> Iterator[None]:
    with zarrcore.config.set({"async.concurrency": CONCURRENCY}):
        in_parallel(time.sleep, [0] * CONCURRENCY)  # its threads are there
        yield


class Measured:
    """Round trips that a block took: seconds, by the latency of one."""

    def __init__(self, store: Remote) -> None:
        self._store = store

    def __enter__(self) -> Measured:
        self._store.requests = self._store.most = 0
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        self.round_trips = (time.perf_counter() - self._start) / LATENCY
        self.requests = self._store.requests
        assert self._store.most <= CONCURRENCY


def sharded(store: Any, **options: Any) -> zarrcore.Array:
    options = {"shape": (N * 8, 16), "chunks": (2, 16), "shards": (8, 16), "dtype": "i4", **options}
    return zarrcore.create_array(store, **options)


VALUES = np.arange(N * 8 * 16, dtype="i4").reshape(N * 8, 16)
TURNS = N / CONCURRENCY


def test_parts_of_shards_take_two_rounds() -> None:
    memory = MemoryStore()
    sharded(memory)[...] = VALUES
    remote = Remote(memory)
    array = zarrcore.open_array(remote)
    with Measured(remote) as measured:
        found = array[::8]
    assert np.array_equal(found, VALUES[::8])
    assert measured.requests == 2 * N
    assert measured.round_trips < 2 * TURNS * SLACK


def test_points_in_shards_take_two_rounds() -> None:
    memory = MemoryStore()
    sharded(memory)[...] = VALUES
    remote = Remote(memory)
    array = zarrcore.open_array(remote)
    rows = np.arange(0, N * 8, 8)
    with Measured(remote) as measured:
        found = array.vindex[rows, rows % 16]
    assert np.array_equal(found, VALUES[rows, rows % 16])
    assert measured.requests == 2 * N
    assert measured.round_trips < 2 * TURNS * SLACK


def test_many_selections_take_two_rounds() -> None:
    memory = MemoryStore()
    first = sharded(memory, name="first")
    second = sharded(memory, name="second")
    first[...] = VALUES
    second[...] = -VALUES
    remote = Remote(memory)
    root = zarrcore.open_group(remote)
    arrays = root["first"], root["second"]
    wanted = [(array, np.s_[8 * k : 8 * k + 2, :4]) for k in range(N // 2) for array in arrays]
    with Measured(remote) as measured:
        found = zarrcore.read_many(wanted)
    for (array, selection), values in zip(wanted, found, strict=True):
        assert np.array_equal(values, VALUES[selection] * (1 if array is arrays[0] else -1))
    assert measured.requests == 2 * N
    assert measured.round_trips < 2 * TURNS * SLACK


def test_many_selections_of_plain_chunks_take_one_round() -> None:
    memory = MemoryStore()
    zarrcore.create_array(memory, data=VALUES, chunks=(8, 16))
    remote = Remote(memory)
    array = zarrcore.open_array(remote)
    with Measured(remote) as measured:
        found = array.read_many([np.s_[8 * k + i] for k in range(N) for i in range(2)], stack=True)
    assert np.array_equal(found.reshape(N, 2, 16), VALUES.reshape(N, 8, 16)[:, :2])
    assert measured.requests == N
    assert measured.round_trips < TURNS * SLACK


def test_shards_in_shards_take_one_round_for_each_level() -> None:
    inner = {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [1, 16],
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        },
    }
    outer = {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [4, 16],
            "codecs": [inner],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        },
    }
    memory = MemoryStore()
    options = {"chunks": (8, 16), "shards": None, "serializer": outer, "compressors": None}
    sharded(memory, **options)[...] = VALUES
    remote = Remote(memory)
    array = zarrcore.open_array(remote)
    with Measured(remote) as measured:
        found = array[::8]
    assert np.array_equal(found, VALUES[::8])
    assert measured.requests == 3 * N
    assert measured.round_trips < 3 * TURNS * SLACK


def test_a_cache_is_asked_first() -> None:
    memory = MemoryStore()
    sharded(memory)[...] = VALUES
    remote = Remote(memory)
    array = zarrcore.open_array(remote, cache_bytes=1 << 20)
    assert array.prefetch(np.s_[::8]).wait()
    with Measured(remote) as measured:
        assert np.array_equal(array[::8], VALUES[::8])
    assert measured.requests == N  # the indexes


@pytest.mark.parametrize("part", ["all", "some"])
@pytest.mark.parametrize("layout", ["shards", "chunks"])
def test_chunks_are_written_side_by_side(layout: str, part: str) -> None:
    memory = MemoryStore()
    if layout == "shards":
        sharded(memory)[...] = VALUES
    else:
        zarrcore.create_array(memory, data=VALUES, chunks=(8, 16))
    remote = Remote(memory)
    array = zarrcore.open_array(remote)
    selection = np.s_[...] if part == "all" else np.s_[::8]
    with Measured(remote) as measured:
        array[selection] = -1
    rounds = 1 if part == "all" else 2
    expected = VALUES.copy()
    expected[selection] = -1
    assert np.array_equal(zarrcore.open_array(memory)[...], expected)
    assert measured.requests == rounds * N
    assert measured.round_trips < rounds * TURNS * SLACK


def test_growing_looks_for_what_killed_appends_left_side_by_side() -> None:
    memory = MemoryStore()
    zarrcore.create_array(memory, shape=(1, N), chunks=(1, 1), dtype="i4")
    remote = Remote(memory)
    array = zarrcore.open_array(remote)
    memory.set("c/1/3", np.array([7], "i4").tobytes())
    with Measured(remote):
        array.resize((2, N))
    assert remote.most > 1 and not memory.exists("c/1/3")


def test_a_number_of_threads_that_is_given_is_kept_to() -> None:
    remote = Remote()
    array = sharded(remote)
    with Measured(remote):
        array.write(slice(0, 48), 1, threads=2)
        assert remote.most <= 2


def test_a_shard_that_was_replaced_between_the_rounds_is_read_again() -> None:
    """By somebody whom this process knows nothing of."""
    memory, other = MemoryStore(), MemoryStore()
    sharded(memory, compressors=None)[...] = VALUES
    sharded(other, compressors=None)[...] = np.where(VALUES % 128 < 64, 0, -VALUES)

    class Replacing(WrapperStore):
        rounds = 0

        def get_partial_values(self, key_ranges: Any) -> Any:
            found = super().get_partial_values(key_ranges)
            self.rounds += 1
            if self.rounds == 1:  # half of the inner chunks are gone, and the others where they were not
                memory._store_dict.update(other._store_dict)
            return found

    store = Replacing(memory)
    array = zarrcore.open_array(store)
    assert np.array_equal(array[7::8], -VALUES[7::8])
    assert store.rounds > 1


@pytest.fixture(params=[2, 3])
def tree(request: Any) -> MemoryStore:
    """Eight groups with three arrays each."""
    memory = MemoryStore()
    root = zarrcore.create_group(memory, zarr_format=request.param)
    for number in range(8):
        for name in "abc":
            root.create_array(f"g{number}/{name}", shape=2, dtype="i1")
    return memory


def test_a_node_is_opened_by_one_round(tree: MemoryStore) -> None:
    remote = Remote(tree)
    remote.calls = 0
    array = zarrcore.open_array(remote, path="g1/b")
    assert array.shape == (2,)
    assert remote.calls == 1


def test_members_take_two_rounds_for_each_level(tree: MemoryStore) -> None:
    remote = Remote(tree)
    root = zarrcore.open_group(remote, use_consolidated=False)
    expected = [path for path, _ in zarrcore.open_group(tree, mode="r").members(max_depth=None)]
    documents = 24 * (1 if root.metadata.zarr_format == 3 else 3)
    with Measured(remote) as measured:
        found = [path for path, _ in root.members(max_depth=None)]
    assert found == expected
    rounds = 2 + 8 / CONCURRENCY + documents / CONCURRENCY + documents / 3 / CONCURRENCY
    assert measured.round_trips < rounds * SLACK
    assert [path for path, _ in root.members(max_depth=0)] == [f"g{number}" for number in range(8)]
    assert len(root.members(max_depth=1)) == len(found) == 32


def test_consolidation_reads_level_by_level(tree: MemoryStore) -> None:
    remote = Remote(tree)
    with Measured(remote) as measured:
        zarrcore.consolidate_metadata(remote)
    assert zarrcore.check_consolidated(tree) == ()
    assert len(zarrcore.open_consolidated(tree, mode="r").members(max_depth=None)) == 32
    assert measured.round_trips < 32


def test_a_copy_from_store_to_store_takes_three_rounds() -> None:
    """Whether the keys exist, their values, and storing them; and the listing of the source."""
    memory, target = MemoryStore(), MemoryStore()
    sharded(memory)[...] = VALUES
    source, dest = Remote(memory), Remote(target)
    with Measured(source) as measured, Measured(dest):
        zarrcore.copy_store(source, dest)
    assert np.array_equal(zarrcore.open_array(target)[...], VALUES)
    assert measured.round_trips < (3 * (TURNS + 1) + 1) * SLACK


def test_a_copy_of_chunks_as_they_are_waits_side_by_side() -> None:
    memory, target = MemoryStore(), MemoryStore()
    zarrcore.create_array(memory, data=VALUES, chunks=(8, 16))
    source, dest = Remote(memory), Remote(target)
    with Measured(source) as measured, Measured(dest):
        zarrcore.from_array(dest, data=zarrcore.open_array(source))
    assert np.array_equal(zarrcore.open_array(target)[...], VALUES)
    assert measured.round_trips < 2 * N


def test_threads_that_cannot_be_started_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    start, allowed = _thread.start_new_thread, list[None]()

    def limited(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        if not allowed:
            raise RuntimeError("can't start new thread")
        allowed.pop()
        return start(work, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", limited)
    with config.set({"async.concurrency": 3}):
        for _ in range(5):
            assert in_parallel(abs, [-1, -2]) == [1, 2], "here, where there is no thread"
        allowed.append(None)
        assert in_parallel(abs, [-1, -2, -3, -4]) == [1, 2, 3, 4]
