# SPDX-License-Identifier: MIT
"""A Python without GIL stays so: every compiled module declares its support."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import zarrcore

PROGRAM = """
import sys
import numpy
before = sys._is_gil_enabled()
import zarrcore, zarrcore.kernels, zarrcore._core.{name}
assert sys._is_gil_enabled() == before, "{name} brought the GIL back"
print(before)
"""

CORE = Path(zarrcore.__file__).parent / "_core"
MODULES = sorted({path.relative_to(CORE).with_suffix("").parts[0] for path in CORE.rglob("*.pyi")})


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python was not built without GIL"
)
@pytest.mark.parametrize("name", MODULES)
def test_the_gil_stays_off(name: str) -> None:
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"


def test_every_module_is_asked() -> None:
    assert MODULES == ["engine", "json_text", "kernels", "vlen"]
