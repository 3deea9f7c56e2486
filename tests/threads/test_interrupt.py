# SPDX-License-Identifier: MIT
"""Ctrl-C ends a long call soon, and afterwards nothing is written any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux what a process has used"),
]

SECONDS = 1.0  # of a processor, for each thread, after which an interrupt must be answered

# 8000 chunks of 1 MB: writing them at a high level takes minutes, reading them many seconds.  For the read,
# all are links to one file, and all rows of the output are the same memory, which the engine takes and
# ``array.read`` does not; rows are not read whole, for then they would be decoded in place, by several
# threads.
PROGRAM = textwrap.dedent(
    """
    import os, signal, sys, time
    import numpy as np
    import zarrcore

    signal.signal(signal.SIGINT, signal.default_int_handler)  # who started us may have ignored it
    root, call, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    zarrcore.config.set({"threading.max_workers": threads})
    codec = {"name": "zstd", "configuration": {"level": 19, "checksum": True}}
    array = zarrcore.create_array(
        root, shape=(8000, 1_000_000), chunks=(1, 1_000_000), dtype="u1", compressors=[codec], fill_value=0,
        chunk_key_encoding={"name": "v2", "separator": "."},
    )
    row = np.random.default_rng(0).integers(0, 4, 1_000_000, dtype="u1")
    out = np.lib.stride_tricks.as_strided(row[1:].copy(), (8000, 999_999), (0, 1))
    if call == "read":
        array[0] = row
        for number in range(1, 8000):
            os.link(f"{root}/0.0", f"{root}/{number}.0")

    def work():
        if call == "write":
            array[...] = np.broadcast_to(row, array.shape)
        else:
            array._compiled().read(((0, 1, 8000), (1, 1, 999_999)), out, threads)

    print("ready", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted", time.process_time(), flush=True)
        time.sleep(1)  # whoever still writes, writes now
        array[0, :3] = 7, 8, 9  # and the array is still of use
        print(array[0, :3].tolist(), flush=True)
    """
)


def files(root: Path) -> dict[Path, tuple[int, int]]:
    """All files below root, with size and time of change."""
    found = {}
    for path in root.rglob("*"):
        status = path.stat()
        if path.is_file():
            found[path] = (status.st_size, status.st_mtime_ns)
    return found


def cpu_seconds(pid: int) -> float:
    """What a process has used; a clock on the wall goes on while other processes have the CPUs."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15])) / os.sysconf("SC_CLK_TCK")


def interrupted(program: str, root: Path, call: str, threads: int) -> dict[Path, tuple[int, int]]:
    """Interrupt a program; return the files that there were when it had noticed."""
    command = [sys.executable, "-c", program, str(root), call, str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            used = cpu_seconds(process.pid)
            process.send_signal(signal.SIGINT)
            word, when = process.stdout.readline().split()
            at_once = files(root)
            assert (word, process.stdout.readline()) == ("interrupted", "[7, 8, 9]\n")
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert float(when) - used < SECONDS * threads
    return at_once


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("call", ["read", "write"])
def test_interrupt(call: str, threads: int, tmp_path: Path) -> None:
    at_once = interrupted(PROGRAM, tmp_path, call, threads)
    later = files(tmp_path)
    assert {path.name for path, status in later.items() if at_once.get(path) != status} == {"0.0"}
    assert [path for path in later if path.suffix == ".partial"] == []
    if call == "write":
        assert 0 < len(later) < 4000


def test_interrupt_of_a_store_in_python(tmp_path: Path) -> None:
    """An interrupt while a store written in Python is at work."""
    program = PROGRAM.replace("root, shape=", "WrapperStore(LocalStore(root)), shape=").replace(
        "import zarrcore\n", "import zarrcore\nfrom zarrcore.storage import LocalStore, WrapperStore\n", 1
    )
    assert "WrapperStore(LocalStore(root))" in program
    interrupted(program, tmp_path, "write", 2)
