# SPDX-License-Identifier: MIT
"""The page on the command line shows what the commands print."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import zarrcore

pytest.importorskip("click")

from zarrcore.cli.app import run

PAGE = Path(__file__).resolve().parents[3] / "docs" / "command-line.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="only the package is here, not its source tree")
def test_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    group = zarrcore.create_group("weather.zarr")
    group["stations"] = np.arange(100, 140, dtype="i4")
    options = {"shape": (365, 40), "chunks": (10, 40), "shards": (100, 40), "compressors": None}
    temperature = group.create_array("surface/temperature", dtype="f4", **options)
    temperature[...] = 280 + np.arange(365 * 40).reshape(365, 40)
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    examples = re.findall(r"^\$ zarrcore (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)
    assert len(examples) >= 9
    for command, expected in examples:
        with pytest.raises(SystemExit):
            run(shlex.split(command))
        shown = "".join(capsys.readouterr())
        same = doctest.OutputChecker().check_output(expected, shown, doctest.ELLIPSIS)
        assert same, f"{command}\n{shown}"
