# SPDX-License-Identifier: MIT
"""The library that tests/faults loads before the C library, and programs that run under it."""

from __future__ import annotations

import atexit
import os
import platform
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

SOURCE = Path(__file__).parents[1] / "faults" / "shim.c"

# musl has not the names by which replacements call what they replace, and its allocator makes system calls.
has_glibc = sys.platform.startswith("linux") and platform.libc_ver()[0] == "glibc"
needs_shim = [
    pytest.mark.skipif(not has_glibc, reason="replaces functions of glibc"),
    pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer replaces them itself"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]


@cache
def compiled() -> Path:
    """Return the library, compiled once for all tests of a process."""
    directory = mkdtemp()
    atexit.register(shutil.rmtree, directory)
    library = Path(directory, "shim.so")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o", str(library), str(SOURCE)]
    subprocess.run([*command, "-ldl", "-pthread"], check=True)
    return library


def run_under(shim: Path, program: str, *args: object, root: Path, log: Path | None = None) -> str:
    """Run a program of Python with the shim, and return what it prints."""
    return _run(shim, ["-c", program, *map(str, args)], root, log)


def run_file_under(shim: Path, program: Path, *args: object, root: Path) -> str:
    """Run a program that is a file."""
    return _run(shim, [str(program), *map(str, args)], root, None)


def _run(shim: Path, arguments: list[str], root: Path, log: Path | None) -> str:
    environ = {**os.environ, "LD_PRELOAD": str(shim), "ZC_SHIM_ROOT": str(root)}
    if log is not None:
        environ["ZC_SHIM_LOG"] = str(log)
    done = subprocess.run(
        [sys.executable, *arguments], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
