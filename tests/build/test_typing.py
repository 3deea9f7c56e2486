# SPDX-License-Identifier: MIT
"""Type hints as users and their type checkers see them: the stubs tell the truth, and names are known."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import zarrcore

HERE = Path(__file__).parent
COMPILED = ("zarrcore._core.engine", "zarrcore._core.kernels", "zarrcore._core.ragged", "zarrcore._core.vlen")
ROOT = HERE.parents[1]
# Modules that load names from others when asked.
LAZY = ["", ".abc", ".api", ".api.synchronous"]
LAZY += [".codecs", ".dtypes", ".grids", ".keys", ".metadata", ".storage"]


def check(*arguments: str, cwd: Path) -> None:
    """Run mypy, or its stubtest, without a configuration but on this very package."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    found = str(Path(zarrcore.__file__).parents[1])
    environ = {**os.environ, "MYPYPATH": found, "PYTHONPATH": found}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environ, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_describe_the_compiled_modules(tmp_path: Path) -> None:
    """Every name, every signature, and nothing that is not there."""
    check("mypy.stubtest", "--concise", *COMPILED, cwd=tmp_path)


def test_every_compiled_module_has_a_stub() -> None:
    core = Path(import_module("zarrcore._core").__file__).parent
    assert {path.stem for path in core.glob("*.pyx")} <= {path.stem for path in core.glob("*.pyi")}


def test_strict_user(tmp_path: Path) -> None:
    options = ("--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={tmp_path}")
    check("mypy", *options, str(HERE / "typing" / "user.py"), cwd=tmp_path)


@pytest.mark.parametrize("name", LAZY)
def test_lazy_names_can_be_had(name: str) -> None:
    module = import_module(f"zarrcore{name}")
    for name in [*module.__all__, *getattr(module, "MODULES", "").split()]:
        assert getattr(module, name) is not None
        assert name in dir(module)
    with pytest.raises(AttributeError, match="nonsense"):
        module.nonsense  # noqa: B018


def test_stubs_of_lazy_modules_say_what_their_tables_say() -> None:
    script = ROOT / "wheels" / "make_stubs.py"
    if Path(zarrcore.__file__).parents[1] != ROOT or not script.exists():
        pytest.skip("not run in a source tree")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
