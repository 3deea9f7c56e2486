# SPDX-License-Identifier: MIT
"""The end of a process that has read from and written to stores over a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.storage import ObjectStore

pytest.importorskip("obstore")

VALUES = np.arange(1000, dtype="i4").reshape(10, 100)
ROOT = Path(zarrcore.__file__).parents[1]


WORDS = """
import sys
import numpy as np
words = {"key": "k", "secret": "s", "endpoint_url": sys.argv[1]}
"""

ENDING = """
import asyncio, threading, time
import zarrcore

class Slow(asyncio.SelectorEventLoop):  # its wakers come back late, as on a machine with much to do
    def _write_to_self(self):
        super()._write_to_self()
        if threading.get_ident() != reader.ident:
            for _ in range(20):
                time.sleep(0.002)

array = zarrcore.open_array("s3://bucket", mode="r", storage_options=words)._async_array

async def read():
    await asyncio.gather(*(array.getitem(i % 10) for i in range(60)), return_exceptions=True)

async def main():
    await array.getitem(0)
    print("reading", flush=True)
    while True:
        if sys.argv[2] == "cancelled":
            task = asyncio.ensure_future(read())
            await asyncio.sleep(0.015)
            task.cancel()
            await asyncio.wait([task])
        else:
            await read()

def run():
    with asyncio.Runner(loop_factory=Slow if sys.argv[2] == "handed over slowly" else None) as runner:
        runner.run(main())

reader = threading.Thread(target=run, daemon=True)
reader.start()
sys.stdin.readline()
print("end", flush=True)
"""


@pytest.mark.parametrize("way", ["at once", "handed over slowly", "cancelled"])
def test_a_process_may_end_while_the_loop_of_a_thread_reads(
    server: ObjectServer, store: ObjectStore, way: str
) -> None:
    """An answer that came when there was no interpreter any more ended it by SIGABRT, one time in three.

    Still one time in ten where the loop had seen the answer before the thread that brought it was back.
    """
    zarrcore.create_array(store, data=VALUES, chunks=(5, 10))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    server.latency = 0.02
    for _ in range(3):
        program = [sys.executable, "-c", WORDS + ENDING, server.url, way]
        with subprocess.Popen(program, **pipes, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "reading\n"
            assert process.communicate("\n", timeout=60) == ("end\n", "")
            assert process.returncode == 0


LAST = """
import atexit

def last():
    group = zarrcore.open_group("s3://bucket", mode="w", storage_options=words)
    array = group.create_array("x", shape=(10, 100), chunks=(5, 10), shards=(5, 50), dtype="i4")
    array[...] = 7
    array[2:7, 5] = 8
    zarrcore.save_group("s3://bucket", path="saved", storage_options=words, a=np.arange(10), b=np.arange(5))
    zarrcore.consolidate_metadata("s3://bucket", storage_options=words)
    del group["saved/a"]
    assert array[...].sum() == 7005 and group["saved/b"][...].sum() == 10
    with group["x"].writer() as writer:
        writer[:9] = 9
    print("done", flush=True)

atexit.register(last)  # before what is registered by zarrcore, so called after it
import zarrcore
"""


@pytest.mark.parametrize("window", ["None", "300"])
def test_a_function_of_atexit_reads_and_writes(server: ObjectServer, window: str) -> None:
    """No thread can be started any more: the first request that wanted one raised RuntimeError."""
    config = f"\nzarrcore.config.set({{'async.bytes_in_flight': {window}}})"
    program = [sys.executable, "-c", WORDS + LAST + config, server.url]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


FORGOTTEN = """
import atexit, gc
import zarrcore

writers = [zarrcore.open_array("s3://bucket", mode="r+", storage_options=words).writer()]
writers[0][:, 1:30] = 5
if sys.argv[2] == "collected":
    atexit.register(lambda: (writers.clear(), gc.collect()))
"""


@pytest.mark.parametrize("way", ["kept", "collected"])
def test_a_forgotten_writer_stores_its_values_at_the_end(
    server: ObjectServer, store: ObjectStore, way: str
) -> None:
    """One that a function of atexit let go found no thread, and its values were lost."""
    array = zarrcore.create_array(store, data=VALUES, chunks=(5, 10))
    program = [sys.executable, "-c", WORDS + FORGOTTEN, server.url, way]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "written at the end of the program" in done.stderr
    assert (array[:, 1:30] == 5).all() and np.array_equal(array[:, 30:], VALUES[:, 30:])
