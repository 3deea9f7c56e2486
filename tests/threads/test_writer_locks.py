# SPDX-License-Identifier: MIT
"""Locks of writers: taken in one order, always released, never waited for by the thread that has them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkError
from zarrcore.storage import MemoryStore, WrapperStore
from zarrcore.testing.threads import in_threads

pytestmark = [pytest.mark.threads, pytest.mark.timeout(60)]

RECORD = [("a", "u1"), ("b", ">f4"), ("c", "<i8")]
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": 8},
    "plain": {"chunks": 8, "compressors": None},
    "shards": {"chunks": 4, "shards": 16},
    "format-2": {"chunks": 8, "zarr_format": 2},
}


def records(layout: str, *, python: bool = False, length: int = 64) -> zarrcore.Array:
    from zarrcore.engine import build

    array = zarrcore.create_array({}, shape=length, dtype=RECORD, **LAYOUTS[layout])
    if python:  # the same chunks by the engine that user-written codecs have
        compiled = build._python_engine(array.metadata, array.store_path, missing_is_error=False)
        array._compiled()
        array._opened._engine, array._opened.get = compiled, compiled.get
    return array


def test_a_field_write_that_completes_many_chunks() -> None:
    array = zarrcore.create_array({}, shape=4000, chunks=2, dtype=RECORD)
    with array.writer(threads=2) as w:
        w["a", 0:4000:2] = 1
        w["a", 1:4000:2] = 2
    assert (array["a"].reshape(-1, 2) == [1, 2]).all()


def test_fields_and_records_through_one_writer_at_once() -> None:
    array = records("chunks")
    given = np.zeros(4, array.dtype)
    given["c"] = 7
    with array.writer(threads=1) as w:

        def write(number: int) -> None:
            for _ in range(500):
                if number:
                    w[0:4] = given
                    w.flush()
                else:
                    w["a", 2:5] = 1

        in_threads(*(partial(write, number) for number in range(2)))
    assert (array["c", 0:4] == 7).all() and array["a", 4] == 1


@pytest.mark.parametrize("python", [False, True], ids=["native", "python"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_thread_writes_a_field(layout: str, python: bool) -> None:
    """No write of a field undoes one of another field of the same records."""
    array = records(layout, python=python, length=20)

    def write(number: int) -> None:
        for value in range(1, 40):
            array[RECORD[number][0], 1:19] = value
            array.vindex[RECORD[number][0], [0, 19]] = value

    in_threads(*(partial(write, number) for number in range(3)))
    for name, _ in RECORD:
        assert (array[name] == 39).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_thread_gives_a_field_to_one_writer(layout: str) -> None:
    array = records(layout, length=20)
    array[...] = np.ones(20, array.dtype)
    with array.writer(max_bytes=500) as w:

        def write(number: int) -> None:
            for value in range(1, 40):
                w[RECORD[number][0], 1:19] = value
                assert (w[RECORD[number][0], 1:19] == value).all()

        in_threads(*(partial(write, number) for number in range(3)))
        w.vindex["b", [0, 19]] = 5
    for name, _ in RECORD:
        assert (array[name, 1:19] == 39).all()
    assert array[0].tolist() == array[19].tolist() == (1, 5.0, 1)


def test_several_fields_keep_the_others() -> None:
    array = records("shards")
    array[...] = np.full(64, 3, array.dtype)
    array["c", "a", 5:9] = np.full(4, 4, [("c", "i8"), ("a", "i8")])
    with array.writer() as w:
        w["a", "b", 8:10] = np.full(2, 6, [("a", "i8"), ("b", "i8")])
        assert w[8].tolist() == (6, 6.0, 4)
    assert [item.tolist() for item in array[7:11]] == [(4, 3.0, 4), (6, 6.0, 4), (6, 6.0, 3), (3, 3.0, 3)]


def test_what_was_pending_never_comes_after_a_chunk_that_was_written_whole() -> None:
    """Not even if writing it whole fails, and the writer tries again later."""

    class Failing(WrapperStore):
        fails = False

        def set(self, key: str, value: Any) -> None:
            if self.fails and "c/" in key:
                raise OSError("no space left")
            super().set(key, value)

    store = Failing(MemoryStore())
    array = zarrcore.create_array(store, shape=16, chunks=8, dtype="i4")
    with array.writer() as w:
        w[0] = 1
        store.fails = True
        with pytest.raises(ChunkError, match="no space left"):
            w[...] = 2
        store.fails = False
        w.flush()
        assert (array[:8] == 2).all()


class Calling(WrapperStore):
    """Calls a function while it stores a chunk."""

    call: Any = None

    def set(self, key: str, value: Any) -> None:
        call, self.call = self.call, None
        if call is not None:
            call()
        super().set(key, value)


def test_a_store_that_uses_the_writer_is_refused_rather_than_blocked() -> None:
    store = Calling(MemoryStore())
    array = zarrcore.create_array(store, shape=16, chunks=8, dtype="i4")
    w = array.writer(threads=1)
    seen = []

    def use() -> None:
        seen.append(w[0])  # reading is no problem
        w[0] = 5

    w[0] = 1
    store.call = use
    with pytest.raises(ChunkError, match="written to while this thread is writing it"):
        w.flush()
    w.close()
    assert seen == [1] and array[0] == 1


def test_the_python_engine_refuses_the_chunk_that_it_is_writing() -> None:
    store = Calling(MemoryStore())
    array = zarrcore.create_array(store, shape=4, chunks=2, dtype=str)
    store.call = lambda: array.__setitem__(0, "inner")
    with pytest.raises(ChunkError, match="written to while this thread is writing it"):
        array[0] = "outer"
    store.call = lambda: array.__setitem__(2, "other chunk")
    array[0] = "outer"
    assert array[...].tolist() == ["outer", "", "other chunk", ""]


INTERRUPTED = """
import faulthandler, random, signal
import zarrcore

def interrupt(number, frame):
    raise KeyboardInterrupt

faulthandler.dump_traceback_later(50, exit=True)
array = zarrcore.create_array({}, shape=60, chunks=8, dtype="i8")
signal.signal(signal.SIGALRM, interrupt)
for k in range(400):
    w = array.writer(threads=2)
    try:
        signal.setitimer(signal.ITIMER_REAL, random.Random(k).random() * 4e-4 + 1e-6)
        for i in range(0, 60, 3):
            w[i] = k
        w.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    w[1] = k
    assert w[1] == k
    w.close()
    assert w.pending_bytes == 0
    assert array[1] == k
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_an_interrupt_leaves_no_lock_held() -> None:
    """Wherever it comes, it is a KeyboardInterrupt, and writer and array can be used afterwards."""
    run([sys.executable, "-c", INTERRUPTED], ZARRCORE_CHECK_LOCKS="")


def run(command: list[str], **environment: str) -> None:
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- the order itself ---

CHECKED = """
import pytest
from zarrcore._locks import Rank, lock

table, chunk = lock(Rank.TABLE), lock(Rank.CHUNK)
with chunk, chunk, table:
    pass
for outer, inner in ((table, chunk), (lock(Rank.PENDING), lock(Rank.PENDING)), (chunk, lock(Rank.DOCUMENTS))):
    with pytest.raises(AssertionError, match="is taken while"), outer, inner:
        pass
"""


def test_locks_out_of_order_are_refused_where_they_are_checked() -> None:
    run([sys.executable, "-c", CHECKED], ZARRCORE_CHECK_LOCKS="1")


@pytest.mark.skipif(bool(os.environ.get("ZARRCORE_CHECK_LOCKS")), reason="runs this very file")
@pytest.mark.timeout(600)
def test_all_locks_are_taken_in_order() -> None:
    elsewhere = "not interrupt and not out_of_order"  # have processes of their own
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", elsewhere]
    files = [__file__, str(Path(__file__).with_name("test_growing.py"))]
    run([*command, *files], ZARRCORE_CHECK_LOCKS="1")


def test_a_writer_of_a_local_array_after_an_error(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=8, chunks=4, dtype=RECORD)
    with array.writer() as w:
        with pytest.raises(OverflowError):
            w["a", :] = 1000
        w["a", :] = 10
    assert (array["a"] == 10).all()
