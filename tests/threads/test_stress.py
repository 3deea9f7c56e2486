# SPDX-License-Identifier: MIT
"""Everything at once from many threads: objects are shared, reshaped, registered, configured, none tears.

What these tests look for shows soonest on a Python without a GIL (``PYTHON_GIL=0``), but all of it has to
hold on every Python.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BytesBytesCodec
from zarrcore.errors import BoundsCheckError, ChunkIOError
from zarrcore.registry import Registry, get_codec_class, register_codec
from zarrcore.storage import MemoryStore, Store, WrapperStore
from zarrcore.testing.process import in_child
from zarrcore.testing.threads import in_threads

pytestmark = [pytest.mark.threads, pytest.mark.usefixtures("hasty_switching")]

THREADS = 6


def for_each_thread(call: Callable[[int], object], *others: Callable[[], object]) -> None:
    in_threads(*(lambda number=number: call(number) for number in range(THREADS)), *others)


def test_one_object_is_used_for_the_first_time_by_all(store: Store) -> None:
    """The engine of an array is compiled once or several times; everybody gets one that fits."""
    values = np.arange(32 * 32, dtype="u2").reshape(32, 32)
    zarrcore.create_array(store, shape=(32, 32), chunks=(8, 8), dtype="u2")[...] = values
    for _ in range(30):
        array = zarrcore.open_array(store, mode="r")

        def read(number: int, array: zarrcore.Array = array) -> None:
            np.testing.assert_array_equal(array[number:], values[number:])

        for_each_thread(read)


def test_reads_while_the_array_changes_its_shape(store: Store) -> None:
    """A read sees the old shape or the new one; after the last change everybody sees that one."""
    array = zarrcore.create_array(store, shape=(8, 16), chunks=(8, 4), dtype="i4", fill_value=7)
    done = threading.Event()

    def change() -> None:
        try:
            for turn in range(60):
                array.resize((8 + 8 * (turn % 3), 16))
            array.resize((24, 16))
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            try:
                found = array[...] if np.random.random() < 0.5 else array.oindex[[0, 7], :]
            except BoundsCheckError:
                continue  # it became smaller meanwhile
            assert found.dtype == np.dtype("i4")
            assert found.shape in {(8, 16), (16, 16), (24, 16), (2, 16)}
            assert (found == 7).all()

    in_threads(change, *[read] * (THREADS - 1))
    assert array[...].shape == array.shape == zarrcore.open_array(store).shape == (24, 16)


def test_appends_keep_everything(store: Store) -> None:
    array = zarrcore.create_array(store, shape=(0,), chunks=(16,), dtype="i8")
    for_each_thread(lambda number: [array.append(np.full(5, number)) for _ in range(8)])
    counts = np.bincount(array[:], minlength=THREADS)
    assert counts.tolist() == [40] * THREADS


def test_no_attribute_is_lost(store: Store) -> None:
    """Through one object: its attributes, all at once or one by one, while its shape changes too."""
    array = zarrcore.create_array(store, name="array", shape=(4,), chunks=(4,), dtype="i4")
    group = zarrcore.create_group(store, path="group")

    def write(number: int) -> None:
        for turn in range(10):
            array.attrs[f"{number}/{turn}"] = turn
            array.update_attributes({f"also {number}/{turn}": turn})
            group.attrs.update({f"{number}/{turn}": turn})

    for_each_thread(write, lambda: [array.resize((n,)) for n in range(4, 40)])
    for stored in (array, zarrcore.open_array(store, path="array")):
        assert len(stored.attrs) == 20 * THREADS
        assert stored.shape == (39,)
    assert len(zarrcore.open_group(store, path="group").attrs) == 10 * THREADS


def test_nodes_are_made_opened_and_removed(store: Store) -> None:
    root = zarrcore.create_group(store)

    def work(number: int) -> None:
        for turn in range(8):
            name = f"g{number}/a{turn}"
            array = root.create_array(name, shape=(10,), chunks=(5,), dtype="f4")
            array[:] = number
            assert (zarrcore.open_array(store, path=name, mode="r")[:] == number).all()
            if turn % 2:
                del root[name]

    for_each_thread(work, lambda: [sorted(root.keys()) for _ in range(20)])
    assert sorted(root.keys()) == [f"g{number}" for number in range(THREADS)]
    assert all(len(list(root[f"g{number}"].array_keys())) == 4 for number in range(THREADS))


def test_values_of_a_dictionary_come_and_go() -> None:
    """Chunks in memory are replaced and removed, by the engine and by the dictionary's owner."""
    values: dict[str, bytes] = {}
    array = zarrcore.create_array(values, shape=(64,), chunks=(8,), dtype="i4", compressors=None)
    done = threading.Event()

    def write() -> None:
        try:
            for turn in range(150):
                array[...] = turn % 5
                for chunk in range(8):
                    values[f"c/{chunk}"] = np.full(8, turn % 5, "<i4").tobytes()
                values.pop(f"c/{turn % 8}", None)
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            found = array.read(..., threads=2).reshape(8, 8)
            assert (found == found[:, :1]).all()
            assert 0 <= found.min() <= found.max() < 5

    in_threads(write, *[read] * (THREADS - 1))


def test_failures_on_many_threads() -> None:
    """Callbacks fail side by side; one of the failures is raised, every time."""

    class Broken(WrapperStore):
        def get(self, key, byte_range=None):
            if key.startswith("c/"):
                raise OSError(f"no {key}")
            return super().get(key, byte_range)

        def get_many(self, keys):
            return [self.get(key) for key in keys]

    memory = MemoryStore()
    zarrcore.create_array(memory, shape=(64,), chunks=(1,), dtype="i4")[:] = 1
    array = zarrcore.open_array(Broken(memory), mode="r")

    def read(number: int) -> None:
        for _ in range(20):
            with pytest.raises(ChunkIOError, match="no c/"):
                array.read(..., threads=4)

    for_each_thread(read)


def test_registration_while_others_look_up() -> None:
    """What has been registered is found, and what a user registers is never replaced by what was there."""

    @dataclass(frozen=True)
    class Nothing(BytesBytesCodec):
        name = "test.nothing"

    def register(number: int) -> None:
        for turn in range(50):
            name = f"test.stress-{number}-{turn}"
            register_codec(name, Nothing)
            assert get_codec_class(name) is Nothing
            assert get_codec_class("gzip").__name__ == "GzipCodec"
            array = zarrcore.create_array({}, shape=(4,), dtype=["i4", "f8", "u1"][turn % 3])
            assert array.dtype == np.dtype(["i4", "f8", "u1"][turn % 3])

    for_each_thread(register, lambda: [list(zarrcore.registry.codec_registry) for _ in range(50)])


def test_entry_points_are_searched_by_all_at_once() -> None:
    """Nobody is told that a name is unknown because somebody else is still searching."""
    names = Registry("thing", "console_scripts").names()
    assert names
    for _ in range(10):
        registry: Registry[type] = Registry("thing", "console_scripts")
        found: list[bool] = []
        for_each_thread(lambda _, registry=registry, found=found: found.append(names[0] in registry))
        assert found == [True] * THREADS


def test_configuration_changes_while_others_read_it() -> None:
    array = zarrcore.create_array({}, shape=(64,), chunks=(8,), dtype="i4", fill_value=1)

    def work(number: int) -> None:
        for turn in range(60):
            with zarrcore.config.set({f"stress.{number}": turn, "threading.max_workers": 1 + turn % 3}):
                assert zarrcore.config.get(f"stress.{number}") == turn
                assert array[...].sum() == 64
                assert zarrcore.config.get("array.order") in "CF"

    try:
        for_each_thread(work)
    finally:
        zarrcore.config.reset()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_while_metadata_change(tmp_path: Path) -> None:
    """Locks that another thread holds at the fork are free in the child."""
    array = zarrcore.create_array(tmp_path, shape=(4,), chunks=(4,), dtype="i4", attributes={"n": 0})
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            array.attrs["n"] = number
            zarrcore.config.set({"stress": number})

    def child() -> bool:
        import signal

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        mine = zarrcore.create_array({}, shape=(4,), dtype="i4")
        mine.attrs["child"] = 1
        mine.resize((8,))
        return dict(mine.attrs) == {"child": 1} and mine[:].tolist() == [0] * 8

    threads = [threading.Thread(target=change) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_child(child)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        zarrcore.config.reset()


# ---- the end of the interpreter ------------------------------------------------------------------

SHUTDOWN = textwrap.dedent(
    """
    import sys, threading, time
    import numpy as np
    import zarrcore
    from zarrcore.storage import MemoryStore, WrapperStore

    memory = MemoryStore()
    place = {"memory": memory, "python": WrapperStore(memory), "local": sys.argv[2]}[sys.argv[1]]
    array = zarrcore.create_array(place, shape=(4096, 256), chunks=(16, 256), dtype="i4")
    array[...] = 1
    started = threading.Barrier(5)

    def work(number):
        started.wait()
        while True:
            if number % 2:
                array.read(..., threads=3)
            else:
                array[number * 16 : number * 16 + 20] = number

    for number in range(4):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    started.wait()
    time.sleep(0.1)
    print("end", flush=True)
    """
)


@pytest.mark.parametrize("store", ["memory", "python", "local"])
def test_the_interpreter_ends_while_threads_read_and_write(store: str, tmp_path: Path) -> None:
    """Daemon threads are in the middle of calls: the process ends at once, without a crash."""
    command = [sys.executable, "-X", "faulthandler", "-c", SHUTDOWN, store, str(tmp_path / "array")]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr[-4000:]
    assert time.monotonic() - start < 30


WAITING = textwrap.dedent(
    """
    import ctypes, sys, threading, time
    import zarrcore
    from zarrcore.storage import MemoryStore, WrapperStore

    class Slow(WrapperStore):
        def set(self, key, value):
            if key.startswith("c/"):
                holds.set()
                time.sleep(60)

    def write():
        array[:2] = 1

    holds = threading.Event()
    array = zarrcore.create_array(Slow(MemoryStore()), shape=4, chunks=4, dtype="i4")
    threading.Thread(target=write, daemon=True).start()
    holds.wait()
    threading.Thread(target=write, daemon=True).start()  # asks whether to go on waiting for the other
    time.sleep(0.1)
    libc = ctypes.CDLL(None)
    libc.on_exit(libc.sleep, None)  # of the exit status: a second, in which there is no interpreter any more
    print("end", flush=True)
    sys.exit(1)
    """
)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "on_exit"), reason="on_exit is a function of glibc")
def test_a_thread_waits_for_a_chunk_when_there_is_no_interpreter_any_more() -> None:
    """PyGILState_Ensure, by which it asked, followed a null pointer."""
    command = [sys.executable, "-X", "faulthandler", "-c", WAITING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "end\n"), done.stderr[-4000:]
