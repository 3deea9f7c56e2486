# SPDX-License-Identifier: MIT
"""Many threads on one array: no update is lost, no half-written chunk is seen, and Python goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import MemoryStore
from zarrcore.testing.threads import in_threads

pytestmark = pytest.mark.threads
with_gil = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="this Python has no GIL to let go of"
)

LAYOUTS = {
    "chunks": {"chunks": (16, 16)},
    "shards": {"chunks": (4, 4), "shards": (16, 16)},
    "one-chunk": {"chunks": (64, 64)},
    "format-2": {"chunks": (16, 16), "zarr_format": 2},
}


@pytest.mark.usefixtures("hasty_switching")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_update_of_a_part_of_a_chunk_is_lost(layout: str, store: Any) -> None:
    """Eight writers, each with its own columns of every chunk, through array objects of their own."""
    zarrcore.create_array(store, shape=(64, 64), dtype="i4", **LAYOUTS[layout])

    def write(number: int) -> None:
        array = zarrcore.open_array(store, mode="r+")
        for row in range(0, 64, 8):
            array[row : row + 8, number::8] = np.arange(row, row + 8)[:, None] + 1000 * (number + 1)

    in_threads(*(lambda number=number: write(number) for number in range(8)))
    wanted = np.arange(64)[:, None] + 1000 * (np.arange(64) % 8 + 1)
    assert np.array_equal(zarrcore.open_array(store)[...], wanted)


@pytest.mark.usefixtures("hasty_switching")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_point_is_lost(layout: str, store: Any) -> None:
    array = zarrcore.create_array(store, shape=(64, 64), dtype="i4", **LAYOUTS[layout])
    places = np.random.default_rng(0).permutation(64 * 64)[:400].reshape(4, 100)

    def write(mine: np.ndarray) -> None:
        for part in mine.reshape(10, 10):
            array.vindex[part // 64, part % 64] = part + 1

    in_threads(*(lambda mine=mine: write(mine) for mine in places))
    wanted = np.zeros(64 * 64, "i4")
    wanted[places.ravel()] = places.ravel() + 1
    assert np.array_equal(array[...].ravel(), wanted)


@pytest.mark.usefixtures("hasty_switching")
@pytest.mark.parametrize("layout", ["chunks", "shards"])
def test_readers_never_see_half_a_chunk(layout: str, store: Any) -> None:
    """Whole chunks are replaced by others; whoever reads gets one version of each."""
    array = zarrcore.create_array(store, shape=(32, 64), dtype="i8", **LAYOUTS[layout])
    array[...] = 1
    done = threading.Event()

    def write() -> None:
        try:
            for turn in range(40):
                array[...] = turn % 7 + 1
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            found = array[...].reshape(2, 16, 4, 16).swapaxes(1, 2).reshape(8, 256)
            assert (found == found[:, :1]).all()
            assert found.min() >= 1

    in_threads(write, read, read)


def test_updates_of_the_same_elements(store: Any) -> None:
    """Of writers to one region one wins, element by element in whole chunks."""
    array = zarrcore.create_array(store, shape=(64, 64), dtype="i4", chunks=(16, 16))

    def write(number: int) -> None:
        for _ in range(10):
            array[8:56, 8:56] = number

    in_threads(*(lambda number=number: write(number) for number in (1, 2, 3)))
    inside = array[16:48, 16:48].reshape(2, 16, 2, 16).swapaxes(1, 2).reshape(4, 256)
    assert (inside == inside[:, :1]).all()
    assert set(np.unique(array[8:56, 8:56])) <= {1, 2, 3}
    assert not array[:8].any()


def test_empty_chunks_appear_and_vanish(store: Any) -> None:
    """Chunks are removed and written again while others look."""
    array = zarrcore.create_array(store, shape=(64,), dtype="i4", chunks=(16,))

    def flip() -> None:
        for _ in range(60):
            array[:] = 5
            array[:] = 0

    def read() -> None:
        for _ in range(60):
            assert set(np.unique(array[:])) <= {0, 5}

    in_threads(flip, read, read)
    assert not array[:].any()


# ---- the GIL -------------------------------------------------------------------------------------


def turns_of_another_thread(call: Callable[[], object]) -> int:
    """How often another thread runs during `call`, where nobody takes the GIL from a thread that holds it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    turns, stop, pause = 0, False, threading.Event()

    def count() -> None:
        nonlocal turns
        while not stop:
            turns += 1
            pause.wait(0.0005)  # gives the GIL back

    thread = threading.Thread(target=count)
    thread.start()
    try:
        start = turns
        call()
        return turns - start
    finally:
        stop = True
        thread.join()
        sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def big() -> tuple[zarrcore.Array, np.ndarray]:
    """100 MB that take some work to encode."""
    values = np.arange(25_000_000, dtype="i4").reshape(5000, 5000) // 3
    codec = {"name": "zstd", "configuration": {"level": 1, "checksum": True}}
    array = zarrcore.create_array(
        MemoryStore(), shape=values.shape, chunks=(1000, 1000), dtype="i4", compressors=[codec]
    )
    array[...] = values
    return array, values


@pytest.mark.alone
@with_gil
@pytest.mark.parametrize("threads", [1, 2])
def test_reading_lets_others_run(threads: int, big: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = big
    out = np.empty_like(values)
    with zarrcore.config.set({"threading.max_workers": threads}):
        assert turns_of_another_thread(lambda: array.read(..., out=out)) >= 10
    assert np.array_equal(out, values)


@pytest.mark.alone
@with_gil
def test_writing_lets_others_run(big: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = big
    target = zarrcore.create_array(MemoryStore(), shape=values.shape, chunks=(1000, 1000), dtype="i4")

    def write() -> None:
        target[...] = values

    assert turns_of_another_thread(write) >= 10
    assert np.array_equal(target[::7, ::7], array[::7, ::7])


@pytest.mark.alone
@with_gil
def test_reading_an_item_of_memory_let_the_gil_go_four_times() -> None:
    """Letting it go takes longer than the read, and others may keep it for milliseconds."""
    array = zarrcore.create_array(MemoryStore(), shape=200, chunks=100, dtype="f8", compressors=None)
    array[...] = np.arange(200.0)

    def read() -> None:
        for _ in range(10_000):
            assert array[5] == 5
            assert array[99:101][1] == 100

    assert turns_of_another_thread(read) <= 1


@pytest.mark.alone
@with_gil
def test_control_of_the_method() -> None:
    """A call that keeps the GIL gives no turns."""
    assert turns_of_another_thread(lambda: sum(range(2_000_000))) <= 1
