# SPDX-License-Identifier: MIT
"""Do the tests of the C core pass on CPUs that this machine is not?

``check_foreign.py [TARGET...]`` compiles csrc, its tests and the compression libraries with the `zig cc` of
the PyPI package `ziglang`, statically, and runs the tests in the user-mode emulation of qemu.  By default: a
64-bit CPU of another kind, a big-endian one, one of 32 bits; musl on this machine's own kind of CPU; and
Windows, in Wine.  A target whose emulator is not on PATH is left out, with a message.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import fetch_sources  # this and the next are in this directory
import native_libs

BUILD = native_libs.ROOT / "build" / "foreign"
TARGETS = {
    "aarch64-linux-musl": ("qemu-aarch64", "qemu-aarch64-static"),
    "s390x-linux-musl": ("qemu-s390x", "qemu-s390x-static"),
    "arm-linux-musleabihf": ("qemu-arm", "qemu-arm-static"),
    "x86_64-linux-musl": ("qemu-x86_64", "qemu-x86_64-static"),
    "x86_64-windows-gnu": ("wine64", "wine", "/usr/lib/wine/wine64"),
}
"""Each target, and the programs that may run it, by the names that distributions use."""
PACKAGES = {"qemu": "qemu-user", "wine": "wine64"}
PATIENCE = "20"
"""Emulated programs on a busy machine answer late: times that tests demand are multiplied by this."""


def emulator(target: str) -> str | None:
    """What runs programs of a target here: nothing, an emulator, or None if there is none."""
    if target == f"{platform.machine()}-linux-musl":
        return ""
    return next(filter(None, map(shutil.which, TARGETS[target])), None)


def compiler(target: str) -> dict[str, str]:
    """The settings for native_libs and csrc/Makefile."""
    import ziglang

    zig = Path(ziglang.__file__).parent / ("zig.exe" if os.name == "nt" else "zig")
    return {"CC": f"{zig} cc -target {target}", "AR": f"{zig} ar"}


def libraries(target: str, tools: Mapping[str, str]) -> native_libs.NativeLibs:
    """blosc and the others for that target, all from their sources."""
    environ = {
        **os.environ,
        **tools,
        "ZARRCORE_LIBS": "source",
        "ZARRCORE_BLOSC_SRC": str(fetch_sources.fetch("blosc", BUILD / "sources")),
        "ZARRCORE_ZSTD": "off",
        "ZARRCORE_DEFLATE": "source" if native_libs.DEFLATE_SOURCE.is_dir() else "off",
    }
    os.environ.update(tools)  # setuptools, which compiles libdeflate, looks nowhere else
    return native_libs.resolve(environ, build_dir=BUILD / target)


def check(target: str, runner: str) -> int:
    """Compile and run; the exit status of make."""
    tools = compiler(target)
    libs = libraries(target, tools)
    command = ["make", "--no-print-directory", "-s", "-C", str(native_libs.ROOT / "csrc"), "check"]
    command += [f"{name}={value}" for name, value in tools.items()]
    command += [f"BUILD={BUILD / target / 'csrc'}", f"RUN={runner}", f"-j{os.cpu_count() or 1}"]
    command += [f"NATIVE_CFLAGS={shlex.join(libs.cflags())}", f"NATIVE_LIBS={shlex.join(libs.ldflags())}"]
    environ = {"ZC_TEST_PATIENCE": PATIENCE, "WINEPREFIX": str(BUILD / "wine"), "WINEDEBUG": "-all"}
    return subprocess.run(command, env={**environ, **os.environ}).returncode


def main(targets: Sequence[str]) -> int:
    """Check each target and report."""
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        print(f"error: unknown: {', '.join(unknown)}; known are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    failed = []
    for target in targets or TARGETS:
        runner = emulator(target)
        if runner is None:
            name = TARGETS[target][0]
            print(f"{target}: skipped, there is no {name} (apt-get install {PACKAGES[name[:4]]})")
            continue
        print(f"{target}: compiling, running", flush=True)
        if check(target, runner) != 0:
            failed.append(target)
        print(f"{target}: {'FAILED' if target in failed else 'ok'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
