# SPDX-License-Identifier: MIT
"""System calls that fail: every operation of the API succeeds, or says what was wrong and where.

A random call of a kind, or all from one on, fails with EIO, EACCES, ENOSPC, EMFILE, ESTALE or EINTR, or moves
half of the bytes.  What was there before is old or new, an error never becomes fill values, no descriptor and
no temporary file is left, nothing stays locked, and later calls work.  ``ZC_SOAK`` makes the run longer,
and ``ZC_SEED`` different.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from operations import LAYOUTS
from shim import compiled, needs_shim, run_file_under

pytestmark = needs_shim

CASES = 60 * int(os.environ.get("ZC_SOAK", "1"))
SEED = os.environ.get("ZC_SEED", "20261123")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_calls_that_fail(layout: str, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    shim = compiled()
    (tmp_path / "stores").mkdir()
    program = Path(__file__).with_name("failing_calls.py")
    found = json.loads(
        run_file_under(shim, program, tmp_path / "stores", layout, SEED, CASES, root=tmp_path / "stores")
    )
    record_property("found", found)
    assert sum(found["injected"].values()) > CASES / 4
    assert found["outcomes"]["raised"] > 0 and found["outcomes"]["succeeded"] > 0
