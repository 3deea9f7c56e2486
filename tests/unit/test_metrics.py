# SPDX-License-Identifier: MIT
"""zarrcore.metrics(): what was asked of stores, decoded and written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.counting import Metrics
from zarrcore.storage import LocalStore, MemoryStore, Store, WrapperStore, ZipStore


class Plain(WrapperStore[Store]):
    """A store that the engine asks through Python."""


def done_by(call: Callable[[], object]) -> Metrics:
    before = zarrcore.metrics()
    call()
    return zarrcore.metrics() - before


STORES: dict[str, Callable[[Path], Any]] = {
    "local": lambda path: LocalStore(path / "a"),
    "memory": lambda path: MemoryStore(),
    "wrapped": lambda path: Plain(MemoryStore()),
    "zip": lambda path: ZipStore(path / "a.zip", mode="w"),
}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_requests_and_bytes_of_whole_arrays(kind: str, threads: int, tmp_path: Path) -> None:
    values = np.arange(100, dtype="i4")
    array = zarrcore.create_array(
        STORES[kind](tmp_path), shape=100, chunks=10, dtype="i4", compressors=None, fill_value=-1
    )
    written = done_by(lambda: array.write(..., values, threads=threads))
    assert (written.writes, written.bytes_written) == (10, 400)
    read = done_by(lambda: array.read(threads=threads))
    assert (read.requests, read.bytes_read, read.chunks) == (10, 400, 10)
    assert (read.writes, read.cache_hits, read.cache_misses) == (0, 0, 0)
    array.store.close()


@pytest.mark.parametrize("dtype", ["i4", "str"])
def test_absent_chunks_are_requests_without_bytes(dtype: str) -> None:
    array = zarrcore.create_array({}, shape=100, chunks=10, dtype=dtype)
    read = done_by(lambda: array[...])
    assert (read.requests, read.bytes_read, read.chunks, read.decode_seconds) == (10, 0, 0, 0)


@pytest.mark.parametrize("dtype", ["i4", "str"])  # the engines in C and in Python
@pytest.mark.parametrize("sharded", [False, True])
def test_inner_chunks_count_one_by_one(dtype: str, sharded: bool) -> None:
    store: dict[str, bytes] = {}
    options: dict[str, Any] = {"shards": 50} if sharded else {}
    array = zarrcore.create_array(store, shape=100, chunks=10, dtype=dtype, **options)
    written = done_by(lambda: array.__setitem__(..., np.arange(100).astype(dtype)))
    stored = sum(len(value) for key, value in store.items() if key.startswith("c/"))
    assert (written.writes, written.bytes_written) == (2 if sharded else 10, stored)
    read = done_by(lambda: array[...])
    assert (read.requests, read.bytes_read, read.chunks) == (2 if sharded else 10, stored, 10)
    assert read.decode_seconds > 0 or dtype == "i4"  # of 10 small chunks none may have been timed


@pytest.mark.parametrize("codec", ["zstd", "gzip", "blosc"])
def test_the_time_of_decoding(codec: str) -> None:
    values = np.random.default_rng(0).integers(0, 99, 1 << 20).astype("i4")
    array = zarrcore.create_array({}, data=values, chunks=1 << 18, compressors={"name": codec})
    seconds = done_by(lambda: array.read(threads=1)).decode_seconds
    assert 0 < seconds < 60
    assert done_by(lambda: array.write(..., values)).decode_seconds == 0


def test_small_chunks_are_timed_now_and_then() -> None:
    array = zarrcore.create_array(
        {}, data=np.arange(6400, dtype="i4"), chunks=100, compressors={"name": "zstd"}
    )
    assert done_by(lambda: array.read(threads=1)).decode_seconds > 0


def test_nested_codecs_count_once() -> None:
    """Blosc decodes all of a chunk by its own blocks."""
    values = np.random.default_rng(0).integers(0, 9, 1 << 22).astype("u1")
    array = zarrcore.create_array({}, data=values, chunks=1 << 22, compressors={"name": "blosc"})
    begin = time.perf_counter()
    seconds = done_by(lambda: array.read(threads=1)).decode_seconds
    assert seconds <= time.perf_counter() - begin


def test_hits_and_misses_of_caches() -> None:
    array = zarrcore.create_array({}, data=np.arange(100), chunks=10).with_cache(1 << 20)
    first, second = done_by(lambda: array[...]), done_by(lambda: array[...])
    assert (first.cache_hits, first.cache_misses, first.chunks) == (0, 10, 10)
    assert (second.cache_hits, second.cache_misses, second.chunks) == (10, 0, 0)


def test_a_patched_chunk_is_read_and_written() -> None:
    array = zarrcore.create_array({}, data=np.arange(10, dtype="i4"), chunks=10, compressors=None)
    done = done_by(lambda: array.__setitem__(3, 7))
    assert (done.requests, done.bytes_read, done.writes, done.bytes_written) == (1, 40, 1, 40)


def test_reset_and_difference() -> None:
    array = zarrcore.create_array({}, data=np.arange(10, dtype="i4"), chunks=5, compressors=None)
    zarrcore.metrics(reset=True)
    assert zarrcore.metrics() == Metrics()
    array[...]
    assert zarrcore.metrics(reset=True).chunks == 2
    assert zarrcore.metrics() == Metrics()
    assert Metrics(3) - Metrics(1) == Metrics(2)
    assert str(Metrics(3, decode_seconds=0.25)).splitlines()[::7] == [
        "requests       : 3",
        "decode_seconds : 0.25",
    ]


@pytest.mark.threads
def test_threads_lose_no_count() -> None:
    array = zarrcore.create_array({}, data=np.ones(100, "i4"), chunks=1, compressors=None)
    zarrcore.metrics(reset=True)
    seen: list[Metrics] = []

    def work() -> None:
        for k in range(50):
            array.read(threads=1 + k % 3)
            seen.append(zarrcore.metrics(reset=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen.append(zarrcore.metrics(reset=True))
    assert sum(one.chunks for one in seen) == 4 * 50 * 100
    assert sum(one.bytes_read for one in seen) == 4 * 50 * 400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_begins_at_zero() -> None:
    program = """
import os, numpy, zarrcore
array = zarrcore.array(numpy.arange(10), chunks=5)
array[...]
zarrcore.metrics(reset=True)
array[...]
if os.fork() == 0:
    assert zarrcore.metrics() == zarrcore.metrics() - zarrcore.metrics(), zarrcore.metrics()
    array[...]
    os._exit(zarrcore.metrics().chunks)
print(os.waitstatus_to_exitcode(os.wait()[1]), zarrcore.metrics().chunks)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "2 2\n"


def test_nothing_is_loaded_for_zeros() -> None:
    program = "import sys, zarrcore; print(zarrcore.metrics()); assert 'numpy' not in sys.modules"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("Metrics(requests=0,") or "requests" in found.stdout
