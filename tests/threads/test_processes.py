# SPDX-License-Identifier: MIT
"""Forked children, the threads of a process, and how much memory a read takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore._locks import one_at_a_time
from zarrcore.storage import MemoryStore
from zarrcore.storage.caching import CacheStore
from zarrcore.testing.process import in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
sanitized = pytest.mark.skipif(
    "san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs memory itself"
)

VALUES = np.arange(4_000_000, dtype="i4").reshape(2000, 2000)


@pytest.fixture
def array(tmp_path: Path) -> zarrcore.Array:
    array = zarrcore.create_array(tmp_path, shape=VALUES.shape, chunks=(200, 200), dtype="i4")
    array[...] = VALUES
    return array


def read_in_child(array: zarrcore.Array) -> bool:
    return in_child(lambda: np.array_equal(array[...], VALUES))


# ---- fork ----------------------------------------------------------------------------------------


def test_child_of_a_process_that_has_read(array: zarrcore.Array) -> None:
    assert np.array_equal(
        array.read(..., threads=4), VALUES
    )  # the pool has threads, the child has none of them
    assert read_in_child(array)
    assert in_child(lambda: read_in_child(array))  # and a grandchild
    assert np.array_equal(array[...], VALUES)


def test_child_writes(array: zarrcore.Array) -> None:
    def write() -> bool:
        array[100:300, 100:300] = -1
        return bool((array[100:300, 100:300] == -1).all())

    assert in_child(write)
    assert (array[100:300, 100:300] == -1).all()
    assert array[99, 99] == VALUES[99, 99]


def test_fork_while_others_read_and_write(array: zarrcore.Array) -> None:
    """The child works, whatever locks and threads were busy when it was made."""
    stop = threading.Event()
    target = zarrcore.create_array({}, shape=VALUES.shape, chunks=(300, 300), dtype="i4")

    def read() -> None:
        while not stop.is_set():
            array.read(..., threads=3)

    def write() -> None:
        while not stop.is_set():
            target[5:, 5:] = VALUES[5:, 5:]

    threads = [threading.Thread(target=read), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            assert in_child(lambda: _with_alarm(lambda: np.array_equal(array.read(..., threads=2), VALUES)))
            assert in_child(lambda: _with_alarm(lambda: _patch(array)))
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _patch(array: zarrcore.Array) -> bool:
    array[150:250, 0] = VALUES[150:250, 0]
    return np.array_equal(array[150:250, 0], VALUES[150:250, 0])


def _with_alarm(check: object) -> bool:
    """A child that hangs is killed by the system, rather than hang the tests."""
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(30)
    return check()


def test_a_child_waits_for_no_lock_of_a_thread_that_is_not_there() -> None:
    def check() -> bool:
        with one_at_a_time("key") as is_alone:
            return is_alone

    with held_by_a_thread(one_at_a_time("key")):
        assert in_child(lambda: _with_alarm(check))


class _Paused(MemoryStore):
    """Waits while a value is stored, if it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_go_on, self.waits = threading.Event(), threading.Event(), True

    def set(self, key: str, value: Any) -> None:
        if self.waits:
            self.begun.set()
            assert self.may_go_on.wait(60)
        super().set(key, value)


def test_a_child_reads_through_a_cache_to_which_a_thread_was_adding() -> None:
    near, far = _Paused(), MemoryStore({"a": b"1", "b": b"2"})
    store = CacheStore(far, cache_store=near)

    def check() -> bool:
        near.waits = False
        store.set("b", b"3")
        return [store.get(key) for key in ("a", "b", "a", "b")] == [b"1", b"3"] * 2

    thread = threading.Thread(target=store.get, args=("a",))
    thread.start()
    try:
        assert near.begun.wait(60)
        assert in_child(lambda: _with_alarm(check))
    finally:
        near.may_go_on.set()
        thread.join()


def test_a_child_does_not_use_a_writer_of_its_parent(array: zarrcore.Array) -> None:
    """It wrote what was pending in the parent a second time, or waited for a thread that is not there."""
    writer = array.writer()
    writer[0, 0] = -1
    (pending,) = writer._pending.values()

    def check() -> bool:
        uses: list[Callable[[], object]] = [
            lambda: writer.write((0, 1), -2),
            lambda: writer.read((0, 0)),
            writer.flush,
            writer.__enter__,
        ]
        for use in uses:
            with pytest.raises(ValueError, match="the writer was made in another process"):
                use()
        writer.close()  # as the end of a with statement does
        return bool(array[0, 0] == 0)

    with held_by_a_thread(writer._lock), held_by_a_thread(pending.lock):
        assert in_child(lambda: _with_alarm(check))
    assert array[0, 0] == 0
    writer.close()
    assert array[0, 0] == -1


@contextmanager
def held_by_a_thread(lock: Any) -> Iterator[None]:
    """Have another thread hold a lock."""
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            begun.set()
            may_end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(60)
    try:
        yield
    finally:
        may_end.set()
        thread.join()


# ---- threads and memory --------------------------------------------------------------------------


def run(program: str, *arguments: str) -> dict:
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@linux
def test_threads_come_when_they_are_needed(tmp_path: Path) -> None:
    """None after the import, none for small reads, and never more than asked for."""
    counts = run(
        """
        import json, os, sys
        import numpy as np
        def count(): return len(os.listdir("/proc/self/task"))
        before = count()  # numpy's own
        import zarrcore
        counts = {"imported": count() - before}
        array = zarrcore.create_array(sys.argv[1], shape=(4_000_000,), chunks=(100_000,), dtype="i4")
        small = zarrcore.create_array({}, shape=(10,), chunks=(5,), dtype="i4")
        counts["created"] = count() - before
        small[:] = 1; small[:]
        counts["small"] = count() - before
        array[...] = np.arange(4_000_000)
        array.read(..., threads=3)
        counts["three"] = count() - before
        print(json.dumps(counts))
        """,
        str(tmp_path),
    )
    assert counts["imported"] == counts["created"] == counts["small"] == 0
    assert counts["three"] <= max(3, os.cpu_count() or 1)


STATUS = """
    import json, os, sys
    import numpy as np
    import zarrcore

    def status(field):
        for line in open("/proc/self/status"):
            if line.startswith(field):
                return int(line.split()[1]) << 10

"""
MEMORY_PROGRAM = f"""{STATUS}
    array = zarrcore.open_array(sys.argv[1], mode="r+")
    threads = int(sys.argv[3])
    array[:1, :1]
    start = status("VmHWM")
    if sys.argv[2] == "read":
        out = array.read(..., threads=threads)
        assert out[-1, -1] == 1
    else:
        zarrcore.config.set({{"threading.max_workers": threads}})
        array[...] = 2
    print(json.dumps({{"grown": status("VmHWM") - start}}))
"""
CHUNK = 2 << 20  # bytes of the chunks (of the shards) below
LAYOUTS = {
    "gzip": {"chunks": (512, 1024), "compressors": [{"name": "gzip", "configuration": {"level": 1}}]},
    "blosc": {"chunks": (512, 1024), "compressors": [{"name": "blosc", "configuration": {}}]},
    "big-endian": {
        "chunks": (512, 1024),
        "serializer": {"name": "bytes", "configuration": {"endian": "big"}},
        "compressors": None,
    },
    "shards": {"chunks": (64, 128), "shards": (512, 1024)},
}


@linux
@sanitized
@pytest.mark.parametrize("call", ["read", "write"])
@pytest.mark.parametrize(("layout", "threads"), [("gzip", 1), *((name, 4) for name in LAYOUTS)])
def test_memory(layout: str, threads: int, call: str, tmp_path: Path) -> None:
    """A call takes its output, and for each thread a few chunks."""
    array = zarrcore.create_array(tmp_path, shape=(4096, 4096), dtype="i4", **LAYOUTS[layout])
    array[...] = 1
    output = array.nbytes if call == "read" else 0
    grown = run(MEMORY_PROGRAM, str(tmp_path), call, str(threads))["grown"]
    assert grown < output + threads * CHUNK * 4 + (16 << 20)


KEPT_PROGRAM = f"""{STATUS}
    array = zarrcore.open_array(sys.argv[1], mode="r")
    out = np.ones((array.shape[0], 64), array.dtype)
    start = status("RssAnon")
    for column in range(0, array.shape[1], 64):
        array.read(np.s_[:, column : column + 64], out=out, threads=2)
    print(json.dumps({{"kept": status("RssAnon") - start}}))
"""


@linux
@sanitized
def test_memory_of_many_reads(tmp_path: Path) -> None:
    """What reads of large chunks have held is there for the next one, or given back."""
    array = zarrcore.create_array(tmp_path, shape=(4096, 2048), chunks=(1024, 2048), dtype="i4")
    rng = np.random.default_rng(0)
    array[...] = rng.integers(0, 100, array.shape)
    assert run(KEPT_PROGRAM, str(tmp_path))["kept"] < 3 * (10 << 20) + (8 << 20)
