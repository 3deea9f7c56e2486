# SPDX-License-Identifier: MIT
"""Programs of tests: compiled as the library is, and run (under valgrind by `make examples-valgrind`)."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

UNDER = shlex.split(os.environ.get("ZARRCORE_RUN_UNDER", ""))
SANITIZE = os.environ.get("ZARRCORE_SANITIZE", "")  # as `make asan` and `make tsan` say


def compile_program(compiler: str, target: Path, *arguments: str | Path) -> Path:
    """Compile in the directory of the target, without a warning."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    strict = ["-g", "-Wall", "-Wextra", "-Werror", *([f"-fsanitize={SANITIZE}"] if SANITIZE else [])]
    command = [compiler, *strict, *map(str, arguments), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=target.parent)
    assert done.returncode == 0, done.stderr
    return target


def run_program(program: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*UNDER, str(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600 if UNDER else 120)


def linked(prefix: Path) -> list[str]:
    """Flags for the shared library of an installation."""
    return [
        f"-I{prefix / 'include'}",
        f"-L{prefix / 'lib'}",
        "-lzarrcore",
        f"-Wl,-rpath,{prefix / 'lib'}",
        "-pthread",
    ]
