# SPDX-License-Identifier: MIT
"""Objects that read and write arrays when the interpreter ends: no other thread gets the GIL any more."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.timeout(300), pytest.mark.threads]

PROGRAM = """
import gc, os, sys
import zarrcore
from zarrcore.storage import LoggingStore, MemoryStore, ObjectStore

def make(kind):
    if kind == "obstore":
        from obstore.store import MemoryStore as Objects
        return ObjectStore(Objects())
    return LoggingStore(MemoryStore(), log_level="ERROR") if kind == "python" else MemoryStore()

class Last:
    def __del__(self):
        self.array[:] = self.array[:] + 1
        os.write(1, b"%d" % self.array[:].sum())

array = zarrcore.create_array(make(sys.argv[1]), shape=(1 << 20,), chunks=(1 << 16,), dtype="i4")
array[:] = 1
array[:]
gc.disable()
last = Last()
last.array, last.last = array, last      # collected when the interpreter ends
gc.set_threshold(0)
del last, array
gc.enable()
"""


@pytest.mark.parametrize("kind", ["memory", "python", "obstore"])
def test_a_finalizer_reads_and_writes_when_the_interpreter_ends(kind: str) -> None:
    if kind == "obstore":
        pytest.importorskip("obstore")
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, str(2 << 20), "")
