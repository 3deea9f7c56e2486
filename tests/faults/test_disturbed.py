# SPDX-License-Identifier: MIT
"""Ctrl-C, SIGKILL, a full disk and too little memory at random moments of every operation.

What was there before is old or new, nothing stays locked, and later calls work.  ``ZC_SOAK`` makes the runs
longer, and ``ZC_SEED`` different.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="kills, mounts and limits as Linux does"
)

SOAK = int(os.environ.get("ZC_SOAK", "1"))
SEED = os.environ.get("ZC_SEED", "20261123")
LAYOUTS = ("shards", "format-2", "chunks", "compressed", "python")[: 2 if SOAK == 1 else None]


def disturb(how: str, directory: Path, layout: str, cases: int) -> dict[str, int]:
    """Run the program; returns how many operations ended, and how many did not."""
    program = Path(__file__).with_name("disturbed.py")
    command = [sys.executable, program, how, directory, layout, SEED, cases * SOAK]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    print(how, layout, found)  # shown by pytest -rP
    assert sum(found.values()) == cases * SOAK and found[how] > 0
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_interrupts_at_any_moment(layout: str, tmp_path: Path) -> None:
    disturb("interrupt", tmp_path, layout, 30)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_kills_at_any_moment(layout: str, tmp_path: Path) -> None:
    disturb("kill", tmp_path, layout, 20)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_disk_that_is_full_at_any_moment(layout: str, small_disk: Path) -> None:
    disturb("full", small_disk, layout, 30)


@pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers need room for addresses")
@pytest.mark.parametrize("layout", ["large", "large-shards"][-SOAK:])
def test_too_little_memory_at_any_moment(layout: str, tmp_path: Path) -> None:
    found = disturb("memory", tmp_path, layout, 20)
    assert found["memory"] > 5 * SOAK  # most of them have too little
