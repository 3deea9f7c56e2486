# SPDX-License-Identifier: MIT
"""libzarrcore in the package: made by csrc/Makefile of the objects that the extension modules link.

``ZARRCORE_LIBRARY=on`` makes it an error if that is impossible, ``=off`` builds none.  ``auto``, the default,
builds it where there are make, objcopy (Linux; ``OBJCOPY`` names that of another CPU) and yyjson.  A wheel
has no symbolic links, so what links names the shared library by its whole name.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODES = ("auto", "on", "off")


class LibraryError(RuntimeError):
    """The library cannot be built here."""


def reason_against(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return why there can be no library; None: nothing is against it."""
    if sys.platform == "win32":
        return "csrc/Makefile builds it for Linux and macOS"
    objcopy = environ.get("OBJCOPY") or "objcopy"
    tools = ["make"] + ([objcopy] if sys.platform == "linux" else [])
    missing = [tool for tool in tools if shutil.which(tool, path=environ.get("PATH")) is None]
    if missing:
        return f"{' and '.join(missing)} is not installed"
    if (ROOT / "wheels" / "sources" / "yyjson").is_dir() or _has_system_yyjson(environ):
        return None
    return "yyjson is not there: `python wheels/fetch_sources.py yyjson`, or libyyjson-dev and pkg-config"


def _has_system_yyjson(environ: Mapping[str, str]) -> bool:
    tool = shlex.split(environ.get("PKG_CONFIG") or "pkg-config")
    try:
        return subprocess.run([*tool, "--exists", "yyjson"], env=dict(environ), timeout=60).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def is_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Look whether the library is to be built.

    Raises
    ------
    LibraryError
        It was asked for and cannot be built; the message names the reason.
    """
    mode = environ.get("ZARRCORE_LIBRARY") or "auto"
    if mode not in MODES:
        raise LibraryError(f"ZARRCORE_LIBRARY={mode!r}: expected one of {', '.join(MODES)}")
    if mode == "off":
        return False
    reason = reason_against(environ)
    if reason is not None and mode == "on":
        raise LibraryError(f"ZARRCORE_LIBRARY=on: {reason}")
    if reason is not None:
        print(f"zarrcore: without libzarrcore for programs in C: {reason}")
    return reason is None


def _from_csrc(argument: str) -> str:
    """A compiler's argument with its path as it is seen from csrc."""
    for flag in ("-I", "-L"):
        if argument.startswith(flag):
            return flag + os.path.abspath(argument.removeprefix(flag))
    return os.path.abspath(argument) if argument.endswith(".a") else argument


def build(
    prefix: Path,
    *,
    compiler: Sequence[str],
    args: Sequence[str],
    objects: Sequence[str],
    native: tuple[Sequence[str], Sequence[str]],
    temp: Path,
) -> None:
    """Build the library below a prefix, where the headers are already.

    Parameters
    ----------
    compiler, args
        The command that compiles, and what all C files are compiled with.
    objects
        Those of the core.
    native
        What compiling and linking with the compression libraries takes.
    temp
        Where objects go.
    """
    link = "$${libdir}/$(SHARED) -Wl,-rpath,$${libdir}"
    variables = {
        "PREFIX": os.path.abspath(prefix),
        "BUILD": os.path.abspath(temp),
        "CC": shlex.join(compiler),
        "CFLAGS": shlex.join(args),
        "LDFLAGS": "" if sys.platform == "darwin" else "-Wl,--strip-debug",
        "OBJCOPY_FLAGS": "--strip-debug",
        "OBJECTS": " ".join(os.path.abspath(path) for path in objects),
        "NATIVE_CFLAGS": shlex.join(map(_from_csrc, native[0])),
        "NATIVE_LIBS": shlex.join(map(_from_csrc, native[1])),
        "LINK": link,
    }
    command = ["make", "-s", "-C", str(ROOT / "csrc"), "linkable"]
    environ = {**os.environ, "MAKEFLAGS": ""}  # a make above this build has handed no jobs on
    subprocess.run(
        [*command, *(f"{name}={value}" for name, value in variables.items())], env=environ, check=True
    )
    for path in (prefix / "lib").iterdir():
        if path.is_symlink():
            path.unlink()
