# SPDX-License-Identifier: MIT
"""Writers that are killed (SIGKILL) at random moments lose nothing, and leave nothing half done."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills by signals")

TIMES = 4 * int(os.environ.get("ZC_SOAK", "1"))

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (7, 30)},
    "shards": {"chunks": (2, 10), "shards": (6, 30)},
    "format-2": {"chunks": (7, 30), "zarr_format": 2},
}
APPENDS = """
import sys, numpy, zarrcore
array = zarrcore.open_array(sys.argv[1])
if array.shape[0] == 0:
    array.append(numpy.full((1, 60), 1))
print("ready", flush=True)
while True:
    start = array.shape[0]
    rows = numpy.arange(start + 1, start + 1 + 10 + start % 13)
    array.append(numpy.repeat(rows[:, None], 60, axis=1))
"""

GATHERED = """
import sys, numpy, zarrcore
array = zarrcore.open_array(sys.argv[1])
with array.writer(max_bytes=1 << 14) as writer:
    writer.append(numpy.full((int(array.shape[0] == 0), 60), 1))
    writer.flush()
    print("ready", flush=True)
    while True:
        start = writer.shape[0]
        rows = numpy.arange(start + 1, start + 1 + 1 + start % 13)
        writer.append(numpy.repeat(rows[:, None], 60, axis=1))
        if start % 5 == 0:
            writer[start // 2, 30] = start // 2 + 1
        if start % 11 == 0:
            writer.flush()
"""
PROGRAMS = {"append": APPENDS, "writer": GATHERED}


def kill_while_it_runs(program: str, path: Path, seconds: float) -> None:
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        child.kill()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_a_killed_append_are_there_as_a_whole_or_not_at_all(
    layout: str, program: str, tmp_path: Path
) -> None:
    array = zarrcore.create_array(tmp_path, shape=(0, 60), dtype="i4", **LAYOUTS[layout])
    moments = random.Random(layout)
    for _ in range(TIMES):
        kill_while_it_runs(PROGRAMS[program], tmp_path, moments.random() * 0.05)
        array = zarrcore.open_array(tmp_path)
        rows = array.shape[0]
        wanted = np.repeat(np.arange(1, rows + 1)[:, None], 60, axis=1)
        np.testing.assert_array_equal(array[...], wanted)
        if moments.random() < 0.5:
            array.resize((rows + 50, 70))
            assert not array[rows:].any() and not array[:, 60:].any()
            array.resize((rows, 60))
            np.testing.assert_array_equal(array[...], wanted)
    assert array.shape[0] > 0
