# SPDX-License-Identifier: MIT
"""Memory runs out within the C core: a MemoryError, nothing is lost, and the next call works.

Each operation is repeated while the first, second, third, ... allocation of the core fails, that one alone or
all after it too, until one succeeds that needs no more.  CPython's own allocations succeed: its releases 3.11
to 3.13 crash when there is no memory for an iterator over the items of a dict, or for a nested function.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="replaces malloc of glibc"),
    pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer has its own malloc"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]

LAYOUTS = {
    "raw": {"compressors": None},
    "zstd": {"compressors": [{"name": "zstd", "configuration": {"level": 1, "checksum": True}}]},
    "blosc": {"compressors": [{"name": "blosc", "configuration": {}}]},
    "transposed": {"filters": [{"name": "transpose", "configuration": {"order": [1, 0]}}]},
    "shards": {"shards": (16, 24)},
    "strings": {"dtype": "string"},
}
OPERATIONS = ("open", "read", "write", "write_part", "read_many", "read_cached", "prefetch", "resize")
NEVER_CACHED = ("read_cached", "prefetch")  # of what Python decodes

PROGRAM = textwrap.dedent(
    """
    import ctypes, os, sys
    import numpy as np, zarrcore
    from zarrcore._core import engine, vlen

    options, root, operations = eval(sys.argv[1]), sys.argv[2], sys.argv[3:]
    shim = ctypes.CDLL(None)
    maps = [line.split()[0].split("-") for line in open("/proc/self/maps") if "_core/engine/_modules" in line]
    shim.fail_in(ctypes.c_size_t(int(maps[0][0], 16)), ctypes.c_size_t(int(maps[-1][1], 16)))
    SHAPE, PART = (40, 30), np.s_[5:33, 3:27]

    def values(seed):
        made = np.random.default_rng(seed).integers(0, 99, SHAPE)
        return made.astype(str).astype("T") if options.get("dtype") == "string" else made.astype("i4")

    def attempt(array, store, new, threads):
        if operation == "open":
            return zarrcore.open_array(store, mode="r")[...]
        if operation == "read":
            return array.read(..., threads=threads)
        if operation == "write":
            array.write(..., new, threads=threads)
        elif operation == "write_part":
            array.write(PART, new[PART], threads=threads)
        elif operation == "read_many":
            return np.concatenate(array.read_many([np.s_[:17], np.s_[17:]], threads=threads))
        elif operation == "read_cached":
            return array.with_cache(1 << 20).read(..., threads=threads)
        elif operation == "prefetch":
            cached = array.with_cache(1 << 20)
            cached.prefetch(..., threads=threads).wait()
            return cached[...]
        elif operation == "resize":
            array.resize((40, 22) if array.shape == SHAPE else SHAPE)

    def check(store, threads, after):
        how = {"chunks": (8, 8), "dtype": "i4", "overwrite": True, **options}
        array = zarrcore.create_array(store, shape=SHAPE, **how)
        array[...] = model = values(0)
        cut = False
        for n in range(3000):
            new = values(n + 1)
            shim.fail_from(ctypes.c_long(n), after)
            try:
                got = attempt(array, store, new, threads)
            except (MemoryError, zarrcore.errors.StoreError) as error:
                got = None
                failed = shim.has_failed()
                assert failed, "a MemoryError without a reason"
                if not isinstance(error, MemoryError):  # chunks outside of the new shape are still there
                    assert operation == "resize" and isinstance(error.__cause__, MemoryError)
                    array.resize(array.shape)
            else:
                failed = shim.has_failed()
            found = zarrcore.open_array(store, mode="r+")[...]
            if operation == "resize":
                array = zarrcore.open_array(store, mode="r+")
                assert (found[:, :22] == model[:, :22]).all()
                cut = cut or array.shape != SHAPE
                assert not cut or (found[:, 22:] == array.fill_value).all()
            elif operation.startswith("write"):
                inside = np.zeros(SHAPE, bool)
                inside[PART if operation == "write_part" else ...] = True
                wrong = (found != model) & ~(inside & (found == new))
                assert not wrong.any(), "other values than the old and the new ones"
                model = found
            else:
                assert got is None or (got == model).all()
                assert (found == model).all()
            if not failed:
                return n
        raise AssertionError("no end of it")

    def check_all(operation):
        seen = 0
        for store in (root, {}):
            for threads in (1, 2):
                for after in (0, 1):
                    seen += check(store, threads, after)
        assert seen or operation == "write" or options.get("dtype") == "string"

    # Each in a child of its own, to which no other one has left memory.
    for operation in operations:
        print(operation, flush=True)
        child = os.fork()
        if child == 0:
            check_all(operation)
            break
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f"{operation} failed")
    """
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("shim") / "no_memory.so"
    source = Path(__file__).with_name("no_memory.c")
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no C compiler that works: {done.stderr}")
    return target


@pytest.mark.timeout(300)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_lost(layout: str, shim: Path, tmp_path: Path) -> None:
    operations = [name for name in OPERATIONS if layout != "strings" or name not in NEVER_CACHED]
    command = [sys.executable, "-X", "faulthandler", "-c", PROGRAM, repr(LAYOUTS[layout])]
    done = subprocess.run(
        [*command, str(tmp_path / "a"), *operations],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "LD_PRELOAD": str(shim)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == operations
