# SPDX-License-Identifier: MIT
"""All that a program does with libzarrcore, on several threads that load and unload it themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from capi_programs import UNDER, compile_program, run_program

import zarrcore

SOURCES = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.threads,
    pytest.mark.skipif(sys.platform != "linux", reason="its own name of the library"),
]


def test_the_whole_life_on_several_threads(prefix: Path, tmp_path: Path) -> None:
    program = compile_program(
        "cc",
        tmp_path / "life",
        "-std=gnu11",
        Path(__file__).with_name("life.c"),
        f"-I{prefix / 'include'}",
        f"-I{SOURCES / 'csrc'}",
        "-ldl",
        "-pthread",
    )
    rounds = 2 if UNDER else 8
    store = tmp_path / "store"
    done = run_program(program, prefix / "lib" / "libzarrcore.so", store, str(rounds))
    assert done.returncode == 0, done.stderr[-8000:]
    root = zarrcore.open_group(store, mode="r")
    assert list(root.array_keys()) == ["shared"]
    assert root["shared"][...].all()
    left = {path.name for path in store.iterdir()} - {"zarr.json", "shared"}
    assert left == set()
