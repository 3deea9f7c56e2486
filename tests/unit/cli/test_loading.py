# SPDX-License-Identifier: MIT
"""Commands that answer at once load nothing that they do not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import zarrcore

pytest.importorskip("click")

LISTED = """
import sys
from zarrcore.cli.app import cli
cli.main({arguments!r}, standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("info", {"zarrcore.api.nodes", "zarrcore.arrays.array", "zarrcore.arrays.options", "numpy.testing"}),
        ("cat", {"zarrcore.api.nodes", "zarrcore.arrays.options", "zarrcore.groups.group"}),
        ("tree", {"zarrcore.api.nodes", "zarrcore.arrays.opened", "zarrcore.groups.group"}),
    ],
)
def test_what_a_command_does_not_use_is_not_imported(command: str, unused: set[str], tmp_path: Path) -> None:
    zarrcore.ones(4, store=tmp_path / "a.zarr")
    code = LISTED.format(arguments=[command, str(tmp_path / "a.zarr")])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout
    assert unused & set(done.stderr.split()) == set()


def test_info_is_the_same_for_the_command_and_in_python(tmp_path: Path) -> None:
    array = zarrcore.ones((4, 6), store=tmp_path / "a.zarr", chunks=(2, 3), attributes={"title": "waves"})
    command = [sys.executable, "-m", "zarrcore", "info", str(tmp_path / "a.zarr")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    shown = zarrcore.open_array(tmp_path / "a.zarr", mode="r").info
    assert done.stdout.rstrip() == str(shown)
    assert array.nchunks == shown["No. chunks"]
