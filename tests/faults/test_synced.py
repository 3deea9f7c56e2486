# SPDX-License-Identifier: MIT
"""How often a disk is waited for with ``fsync=True``: a test beside those of what a crash leaves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from shim import compiled, needs_shim, run_under

import zarrcore

pytestmark = needs_shim

PROGRAM = """
import ctypes, sys
import numpy
import zarrcore
from zarrcore.storage import LocalStore
array = zarrcore.open_array(LocalStore(sys.argv[1], fsync=True))
shim = ctypes.CDLL(None)
for code in sys.argv[2:]:
    shim.shim_mark(b"begin")
    exec(code)
"""
CHUNKS = 4 * 4 * 4
INNERMOST = 4 * 4


def synced(tmp_path: Path, *codes: str, **options: object) -> list[Counter[str]]:
    """Return what was synced in each step: how many files, directories with chunks, and other ones."""
    root, log = tmp_path / "root", tmp_path / "log"
    zarrcore.create_array(root, shape=(8, 8, 8), chunks=(2, 2, 2), dtype="i4", **options)
    run_under(compiled(), PROGRAM, root, *codes, root=root, log=log)
    steps: list[Counter[str]] = []
    for line in log.read_text().splitlines():
        what, _, path, _, _ = line.split("\t")
        if what == "mark":
            steps.append(Counter())
        elif what == "sync" and not Path(path).is_dir():
            steps[-1]["files"] += 1
        elif what == "sync":
            steps[-1]["innermost" if Path(path).parent.parent == root / "c" else "others"] += 1
    return steps


def test_a_directory_is_synced_once_for_all_files_of_a_call(tmp_path: Path) -> None:
    fill, replace, patch, erase = synced(
        tmp_path, "array[...] = 1", "array[...] = 2", "array[0, 0, 1:7] = 3", "array[:4, :4] = 0"
    )
    assert fill["files"] == replace["files"] == CHUNKS
    assert fill["innermost"] == replace["innermost"] == INNERMOST
    assert replace["others"] == 0
    assert patch == Counter(files=4, innermost=1)
    assert erase == Counter(innermost=4)


def test_directories_that_are_made_are_synced_by_name_once_each(tmp_path: Path) -> None:
    (fill,) = synced(tmp_path, "array.write(..., numpy.ones((8, 8, 8)), threads=1)")
    assert fill == Counter(files=CHUNKS, innermost=INNERMOST, others=1 + 4 + INNERMOST)


@pytest.mark.parametrize("threads", [1, 8])
def test_more_directories_than_a_call_holds_open(tmp_path: Path, threads: int) -> None:
    """Those that gave way are synced again for their next file."""
    root = tmp_path / "root"
    zarrcore.create_array(root, shape=(10, 10, 2), chunks=(1, 1, 1), dtype="i4")
    code = f"array.write(..., numpy.ones((10, 10, 2)), threads={threads})"
    run_under(compiled(), PROGRAM, root, code, root=root, log=tmp_path / "log")
    lines = [line.split("\t") for line in (tmp_path / "log").read_text().splitlines()]
    last_change = {
        str(Path(second).parent): n for n, (what, _, _, second, _) in enumerate(lines) if what == "rename"
    }
    last_sync = {path: n for n, (what, _, path, _, _) in enumerate(lines) if what == "sync"}
    assert len(last_change) == 100
    assert all(last_sync[directory] > n for directory, n in last_change.items())
