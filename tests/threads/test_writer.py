# SPDX-License-Identifier: MIT
"""One writer, many threads: nothing that was given is lost, whoever flushes meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore
from zarrcore.testing.threads import in_threads

pytestmark = pytest.mark.threads

LAYOUTS = {
    "chunks": {"chunks": (16, 16)},
    "shards": {"chunks": (4, 4), "shards": (16, 16)},
    "format-2": {"chunks": (16, 16), "zarr_format": 2},
}


@pytest.mark.parametrize(  # each two of the three come together
    ("kind", "layout", "max_bytes"),
    [
        (kind, layout, (None, 4000)[(row + column) % 2])
        for row, kind in enumerate(("memory", "local", "python"))
        for column, layout in enumerate(LAYOUTS)
    ],
)
def test_threads_give_different_parts_of_all_chunks(
    kind: str, layout: str, max_bytes: int | None, tmp_path: Path
) -> None:
    """While they write, one more thread flushes and reads what its neighbours have finished."""
    store: Any = {"local": lambda: LocalStore(tmp_path), "memory": MemoryStore}.get(
        kind, lambda: WrapperStore(MemoryStore())
    )()
    array = zarrcore.create_array(store, shape=(64, 64), dtype="i4", **LAYOUTS[layout])
    done = threading.Event()
    w = array.writer(max_bytes=max_bytes)

    def write(number: int) -> None:
        for row in range(64):
            w[row, number::4] = row * 100 + number
            assert (w[row, number::4] == row * 100 + number).all()

    def disturb() -> None:
        while not done.is_set():
            w.flush()

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        in_threads(*(lambda number=number: write(number) for number in range(4)))
    finally:
        done.set()
        disturber.join()
    w.close()
    assert np.array_equal(array[...], np.add.outer(np.arange(64) * 100, np.arange(64) % 4))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_flush_between_the_entry_of_a_chunk_and_what_is_given_for_it(layout: str) -> None:
    array = zarrcore.create_array({}, shape=(64, 64), dtype="i4", **LAYOUTS[layout])
    with array.writer() as w:
        entered = w._entered((0, 0))
        w.flush()
        assert entered.done and not w._pending
        assert array.nchunks_initialized == 0
        w[0, 0] = 1
    assert array[0, 0] == 1


def test_covered_chunks_and_parts_of_them_in_turn() -> None:
    """Of what one thread gives for a chunk, the last stays, also while others flush."""
    array = zarrcore.create_array({}, shape=(64, 64), dtype="i4", **LAYOUTS["shards"])
    w = array.writer(max_bytes=2000)

    def write(number: int) -> None:
        rows = slice(16 * number, 16 * number + 16)
        for value in range(30):
            w[rows, 3] = -value
            w[rows] = value
            w[rows, 5] = value + 1
            assert (w[rows, 4] == value).all()
            assert (w[rows, 5] == value + 1).all()

    in_threads(*(lambda number=number: write(number) for number in range(4)))
    w.close()
    assert np.array_equal(array[0, :7], [29, 29, 29, 29, 29, 30, 29])


PROGRAM = textwrap.dedent(
    """
    import signal, sys
    import numpy as np
    import zarrcore

    signal.signal(signal.SIGINT, signal.default_int_handler)
    codec = {"name": "zstd", "configuration": {"level": 19, "checksum": True}}
    array = zarrcore.create_array(
        sys.argv[1], shape=(4000, 1000, 1000), chunks=(1, 500, 1000), dtype="u1", compressors=[codec]
    )
    row = np.random.default_rng(0).integers(1, 5, (499, 1000), dtype="u1")
    w = array.writer(max_bytes=1 << 34)
    for number in range(300):
        w[number, :499] = row
    try:
        print("ready", flush=True)
        w.flush()
    except KeyboardInterrupt:
        print("interrupted", len(w._pending) > 0, flush=True)
    w._pending.clear()
    w.close()
    """
)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_an_interrupt_ends_a_flush_and_keeps_what_is_pending(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted True\n"
        assert process.wait(60) == 0
