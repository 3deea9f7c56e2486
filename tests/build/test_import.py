# SPDX-License-Identifier: MIT
"""`import zarrcore` is cheap: numpy, nothing that is optional or slow, and no thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

# What must wait until it is needed.
LAZY = {
    "asyncio",
    "blosc",
    "concurrent.futures",
    "dask",
    "fsspec",
    "importlib.metadata",
    "ml_dtypes",
    "multiprocessing",
    "numcodecs",
    "rich",
    "tensorstore",
    "urllib.request",
    "xarray",
    "zarr",
    "zipfile",
}

# numpy comes first: only what zarrcore adds to it counts.
PROGRAM = textwrap.dedent(
    """
    import json, os, sys, threading
    import numpy

    def threads():
        if os.path.isdir("/proc/self/task"):
            return len(os.listdir("/proc/self/task"))
        return threading.active_count()

    modules, running = set(sys.modules), threads()
    import zarrcore
    print(json.dumps({"modules": sorted(set(sys.modules) - modules), "threads": threads() - running}))
    """
)


@pytest.fixture(scope="module")
def added() -> dict:
    """Modules and threads that the import brings, seen in a new process."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, env=environ
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_loads_nothing_optional_or_slow(added: dict) -> None:
    assert LAZY & set(added["modules"]) == set()


def test_starts_no_thread(added: dict) -> None:
    assert added["threads"] == 0


def test_loads_itself_only(added: dict) -> None:
    """Nothing from outside of the standard library but zarrcore (numpy was there before)."""
    foreign = {name.partition(".")[0] for name in added["modules"]} - sys.stdlib_module_names
    assert {name for name in foreign if not name.startswith(("_cython", "cython_runtime"))} == {"zarrcore"}
