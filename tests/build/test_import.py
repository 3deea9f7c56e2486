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
    "torch",
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


def run(program: str, *arguments: str) -> str:
    """What a new process prints; settings of the environment would be looked at."""
    foreign = ("COV_", "ZARRCORE_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def added() -> dict:
    """Modules and threads that the import brings, seen in a new process."""
    return json.loads(run(PROGRAM))


def test_loads_nothing_optional_or_slow(added: dict) -> None:
    assert LAZY & set(added["modules"]) == set()


def test_starts_no_thread(added: dict) -> None:
    assert added["threads"] == 0


def test_loads_itself_only(added: dict) -> None:
    """Nothing from outside of the standard library but zarrcore (numpy was there before)."""
    foreign = {name.partition(".")[0] for name in added["modules"]} - sys.stdlib_module_names
    assert {name for name in foreign if not name.startswith(("_cython", "cython_runtime"))} == {"zarrcore"}


OPEN = textwrap.dedent(
    """
    import json, sys
    import numpy
    modules = set(sys.modules) - {"pathlib", "urllib.parse"}
    for name in ("pathlib", "urllib.parse"):
        sys.modules.pop(name, None)  # loaded by an editable installation
    import zarrcore
    assert zarrcore.open_array(sys.argv[1], mode="r")[:].tolist() == [3, 3, 3]
    print(json.dumps(sorted(set(sys.modules) - modules)))
    """
)

MOST_OF_OURS = 104  # modules of zarrcore, those of the engine included
OF_THE_STANDARD_LIBRARY = {"copy", "dataclasses", "threading"} | {
    *("json", "json.decoder", "json.encoder", "json.scanner"),
}

# What a plain array, opened and read, has no use for.
NOT_FOR_OPENING = {
    "logging",
    "numpy.typing",
    "pathlib",
    "signal",
    "urllib.parse",
    "zarrcore.api.copying",
    "zarrcore.api.creating",
    "zarrcore.arrays.chunks",
    "zarrcore.arrays.creation",
    "zarrcore.arrays.documents",
    "zarrcore.arrays.legacy",
    "zarrcore.arrays.pickled",
    "zarrcore.arrays.separator",
    "zarrcore.codecs.cast_value",
    "zarrcore.codecs.numcodecs",
    "zarrcore.codecs.packbits",
    "zarrcore.codecs.sharding",
    "zarrcore.codecs.v2",
    "zarrcore.codecs.filters",
    "zarrcore.codecs.vlen",
    "zarrcore.dtypes.ml",
    "zarrcore.dtypes.strings",
    "zarrcore.dtypes.structured",
    "zarrcore.dtypes.time",
    "zarrcore.grids.rectilinear",
    "zarrcore.groups.group",
    "zarrcore.keys.suffix",
    "zarrcore.metadata.group",
    "zarrcore.metadata.n5",
    "zarrcore.metadata.v2",
    "zarrcore.nodes.copies",
    "zarrcore.nodes.create",
    "zarrcore.engine.python",
    "zarrcore.storage.byte_range",
    "zarrcore.storage.memory",
    "zarrcore.storage.moving",
    "zarrcore.storage.logged",
    "zarrcore.storage.removing",
    "zarrcore.transformers",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> set[str]:
    """Modules that a plain array has loaded, opened and read in a new process."""
    import zarrcore

    place = tmp_path_factory.mktemp("opened") / "a"
    zarrcore.create_array(place, shape=3, chunks=3, dtype="i4")[:] = 3
    return set(json.loads(run(OPEN, str(place))))


def test_opening_an_array_loads_what_it_needs(opened: set[str]) -> None:
    assert (LAZY | NOT_FOR_OPENING) & opened == set()


def test_opening_an_array_loads_few_modules(opened: set[str]) -> None:
    """Each is a tenth of a millisecond of every start."""
    ours = {name for name in opened if name.startswith("zarrcore")}
    assert len(ours) <= MOST_OF_OURS
    standard = {name for name in opened - ours if name.partition(".")[0] in sys.stdlib_module_names}
    assert {name for name in standard if not name.startswith("_")} <= OF_THE_STANDARD_LIBRARY


ONCE = textwrap.dedent(
    """
    import builtins, re, sys
    import numpy, json
    texts = []

    def noted(function):
        def call(text, *args, **options):
            if isinstance(text, str):  # the sources of modules, where they have no bytecode, are bytes
                texts.append(text)
            return function(text, *args, **options)
        return call

    builtins.exec, builtins.compile = noted(exec), noted(compile)
    re._compiler.compile = noted(re._compiler.compile)
    import dataclasses
    texts.clear()
    import zarrcore
    zarrcore.open_array(sys.argv[1], mode="r")[:]
    print(len(texts))
    """
)


def test_opening_an_array_compiles_little(tmp_path) -> None:
    """No more than the methods that are called, and one pattern: each costs as much as a module."""
    import zarrcore

    zarrcore.create_array(tmp_path / "a", shape=3, chunks=3, dtype="i4")[:] = 3
    assert 0 < int(run(ONCE, str(tmp_path / "a"))) <= 16


CREATE = textwrap.dedent(
    """
    import json, sys
    import numpy
    modules = set(sys.modules)
    import zarrcore
    zarrcore.create_array({}, shape=3, dtype="f4")[:] = 1
    print(json.dumps(sorted(set(sys.modules) - modules)))
    """
)


def test_creating_an_array_asks_no_other_packages() -> None:
    loaded = json.loads(run(CREATE))
    needless = {"zarrcore.api.copying", "zarrcore.dtypes.strings", "zarrcore.metadata.v2"}
    assert (LAZY | needless) & set(loaded) == set()
