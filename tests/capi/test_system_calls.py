# SPDX-License-Identifier: MIT
"""How many system calls the library takes to open an array, and for a few bytes of a chunk in a cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from shim import needs_shim
from system_calls import check, compiled

pytestmark = [*needs_shim, pytest.mark.timeout(600)]  # the first test builds the library

PROGRAM = """
import ctypes, time

how = dict(shape=(512, 512), chunks=(512, 512), dtype="f8")
zarrcore.create_array(sys.argv[1], **how)[...] = np.arange(512 * 512.0).reshape(512, 512)
c = ctypes.CDLL(sys.argv[2])
c.zarrcore_set_cache.argtypes = [ctypes.c_void_p, ctypes.c_int64]
start, count, out = (ctypes.c_int64 * 2)(7, 5), (ctypes.c_int64 * 2)(1, 1), ctypes.c_double()

def opened(cache=None):
    array = ctypes.c_void_p()
    assert c.zarrcore_open(sys.argv[1].encode(), 0, ctypes.byref(array), None) == 0
    if cache is not None:
        assert c.zarrcore_set_cache(array, cache) == 0
    return array

def read(array):
    assert c.zarrcore_read(array, start, None, count, ctypes.byref(out), None, 0, None) == 0
    assert out.value == 7 * 512 + 5

usual, trusting = opened(), opened(cache=1 << 24)
time.sleep(3.5)  # younger files may change without a new time, and are not kept
for _ in range(3):
    read(usual)
    read(trusting)
kept = []
step(lambda: None, lambda: kept.append(opened()), lambda: read(usual), lambda: read(trusting))
"""
DOCUMENT = 4  # open, size and version in one, read, close
PLACES = 2  # of the root: its real path, which is looked up directory by directory, twice
CACHED = 3  # open, size and version, close; the CPUs are not asked for: nothing is decoded


def test_the_library_takes_no_more_system_calls_than_it_needs(prefix: Path, tmp_path: Path) -> None:
    """Steps: open, read an element out of a cached chunk, out of one of a cache that trusts in its files."""
    (library,) = (prefix / "lib").glob("libzarrcore.so.*")
    counter = compiled(tmp_path)
    depth = len((tmp_path / "a").parts[1:])
    calls = check(counter, [DOCUMENT + PLACES * depth + 2, CACHED, 0], PROGRAM, tmp_path, library)
    assert calls[1] == CACHED
