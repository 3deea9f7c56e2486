# SPDX-License-Identifier: MIT
"""Chunks are decoded while others are on the way, and only so many bytes are on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from object_server import Held, ObjectServer

import zarrcore
from zarrcore.storage import ObjectStore, remote

pytest.importorskip("obstore")

SIZE = 1 << 14
VALUES = np.arange(1, 64 * SIZE + 1, dtype="i4")  # nothing is 0


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is met."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def settled(held: Held, n: int) -> int:
    """Return how many requests wait, a while after n of them do."""
    until(lambda: len(held.requests) >= n)
    time.sleep(0.3)
    return len(held.requests)


@contextmanager
def in_background(call: Callable[[], object]) -> Iterator[threading.Thread]:
    """A thread for a call, which the block starts once requests are held; it ends after they are let go."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    try:
        yield thread
    finally:
        thread.join(30)
    assert not thread.is_alive()
    assert not failures, failures


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("compressors", [None, "auto"])
def test_chunks_are_decoded_while_another_is_on_the_way(
    server: ObjectServer, store: ObjectStore, threads: int, compressors: str | None
) -> None:
    array = zarrcore.create_array(store, data=VALUES, chunks=(SIZE,), compressors=compressors)
    out = np.zeros_like(VALUES)
    with in_background(lambda: array.read(out=out, threads=threads)) as read, server.hold(r"c/7$"):
        read.start()
        until(lambda: np.count_nonzero(out) == VALUES.size - SIZE)
        assert not out[7 * SIZE : 8 * SIZE].any()
    assert np.array_equal(out, VALUES)


def test_parts_of_shards_are_decoded_while_others_are_on_the_way(
    server: ObjectServer, store: ObjectStore
) -> None:
    values = VALUES.reshape(64, SIZE)
    array = zarrcore.create_array(store, data=values, chunks=(4, SIZE // 4), shards=(16, SIZE))
    array[:, 0]  # the indexes are there
    out = np.zeros((64, 8), "i4")
    with (
        in_background(lambda: array.read((slice(None), slice(0, 8)), out=out)) as read,
        server.hold(r"c/2/0$"),
    ):
        read.start()
        until(lambda: np.count_nonzero(out) == 48 * 8)
        assert not out[32:48].any()
    assert np.array_equal(out, values[:, :8])


def test_only_so_many_bytes_are_on_the_way(server: ObjectServer, store: ObjectStore) -> None:
    array = zarrcore.create_array(store, data=VALUES, chunks=(SIZE,), compressors=None)
    nbytes = SIZE * 4
    with zarrcore.config.set({"async.bytes_in_flight": 5 * nbytes}):
        out = np.zeros_like(VALUES)
        with in_background(lambda: array.read(out=out)) as read, server.hold(r"c/\d+$") as held:
            read.start()
            assert settled(held, 5) == 5
        assert np.array_equal(out, VALUES)


def test_a_chunk_larger_than_the_window_is_read(store: ObjectStore) -> None:
    plain = zarrcore.create_array(store, name="plain", data=VALUES, chunks=(SIZE,), compressors=None)
    shards = zarrcore.create_array(
        store, name="shards", data=VALUES.reshape(64, SIZE), chunks=(1, SIZE // 16), shards=(32, SIZE)
    )
    with zarrcore.config.set({"async.bytes_in_flight": 1}):
        assert np.array_equal(plain[...], VALUES)
        assert np.array_equal(shards[:, 5], VALUES.reshape(64, SIZE)[:, 5])


def test_many_more_requests_than_threads(store: ObjectStore) -> None:
    array = zarrcore.create_array(store, data=VALUES[:3000], chunks=(1,))
    with zarrcore.config.set({"async.concurrency": 3}):
        assert np.array_equal(array[...], VALUES[:3000])


def test_threads_are_asked_only_as_they_are_lacking(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = zarrcore.create_array(store, data=VALUES[:2000], chunks=(1,))
    asked = []

    def submit(self: Any, call: Any, item: Any) -> Any:
        asked.append(call)
        return done(self, call, item)

    done = remote.Pool.submit
    monkeypatch.setattr(remote.Pool, "submit", submit)
    with zarrcore.config.set({"async.concurrency": 8}):
        assert np.array_equal(array[...], VALUES[:2000])
    assert len(asked) <= 8 + 8  # the first ones may have ended before the last ones began


def test_a_failure_ends_the_read_while_others_are_on_the_way(
    server: ObjectServer, store: ObjectStore
) -> None:
    array = zarrcore.create_array(store, data=VALUES, chunks=(SIZE,))
    server.fail(403, r"c/3$")
    with server.hold(r"c/9$"), pytest.raises(zarrcore.errors.BaseZarrError, match=r"c/3.*403|403.*c/3"):
        array[...]
    server.mend()
    assert np.array_equal(array[...], VALUES)  # what arrives late is nobody's


def test_two_reads_at_once_on_few_threads(store: ObjectStore) -> None:
    array = zarrcore.create_array(store, data=VALUES, chunks=(SIZE // 4,))
    results: list[np.ndarray[Any, Any]] = [np.zeros_like(VALUES) for _ in range(4)]
    with zarrcore.config.set({"async.concurrency": 2, "async.bytes_in_flight": SIZE}):
        threads = [threading.Thread(target=array.read, kwargs={"out": out}) for out in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for out in results:
        assert np.array_equal(out, VALUES)


def test_several_arrays_in_one_call(server: ObjectServer, store: ObjectStore) -> None:
    root = zarrcore.create_group(store)
    arrays = [root.create_array(f"a{n}", data=VALUES[:SIZE] + n, chunks=(SIZE // 8,)) for n in range(6)]
    with server.watch() as seen:
        found = zarrcore.read_many([(array, ...) for array in arrays])
    assert seen.waves == 1
    for n, values in enumerate(found):
        assert np.array_equal(values, VALUES[:SIZE] + n)


# --- writing ---


def empty(store: ObjectStore, **options: Any) -> zarrcore.Array:
    return zarrcore.create_array(store, shape=VALUES.shape, dtype="i4", chunks=(SIZE,), **options)


@pytest.mark.parametrize("compressors", [None, "auto"])
def test_chunks_are_encoded_and_sent_while_another_is_on_its_way(
    server: ObjectServer, store: ObjectStore, compressors: str | None
) -> None:
    array = empty(store, compressors=compressors)
    many = np.resize(VALUES, (4, VALUES.size)).reshape(-1)  # more chunks than requests at a time
    array.resize(many.shape)
    with in_background(lambda: array.write(..., many)) as write, server.hold(r"c/7$"):
        write.start()
        until(lambda: sum("/c/" in key for key in server.objects) == 255)
        assert "bucket/c/7" not in server.objects
    assert np.array_equal(array[...], many)


@pytest.mark.parametrize(
    ("setting", "most"), [("async.bytes_in_flight", 5 * SIZE * 4), ("async.concurrency", 5)]
)
def test_only_so_many_chunks_are_sent_at_a_time(
    server: ObjectServer, store: ObjectStore, setting: str, most: int
) -> None:
    array = empty(store)
    with zarrcore.config.set({setting: most, "threading.max_workers": 1}):
        with in_background(lambda: array.write(..., VALUES)) as write, server.hold(r"c/\d+$") as held:
            write.start()
            assert settled(held, 5) == 5
        assert np.array_equal(array[...], VALUES)


def test_a_failure_ends_a_write_and_nothing_is_sent_after_it(
    server: ObjectServer, store: ObjectStore
) -> None:
    array = empty(store)
    server.fail(403, r"c/3$", method="PUT")
    with (
        zarrcore.config.set({"async.concurrency": 4}),
        pytest.raises(zarrcore.errors.ChunkIOError, match=r"c/3.*403|403.*c/3"),
    ):
        array.write(..., VALUES)
    stored = {key: bytes(value) for key, value in server.objects.items() if "/c/" in key}
    assert len(stored) < 63  # it has ended before all others were sent
    time.sleep(0.3)
    assert {key: bytes(value) for key, value in server.objects.items() if "/c/" in key} == stored
    server.mend()
    array.write(..., VALUES)
    assert np.array_equal(array[...], VALUES)
