# SPDX-License-Identifier: MIT
"""Do the tests of the C core pass on CPUs that this machine is not?

``check_foreign.py [TARGET...]`` compiles csrc, its tests and the compression libraries with the `zig cc` of
the PyPI package `ziglang`, statically, and runs the tests in the user-mode emulation of qemu.  By default: a
64-bit CPU of another kind, a big-endian one, and one of 32 bits.  A target whose emulator is not on PATH is
left out, with a message.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import fetch_sources  # this and the next beside this file
import native_libs

BUILD = native_libs.ROOT / "build" / "foreign"
TARGETS = {"aarch64-linux-musl": "aarch64", "s390x-linux-musl": "s390x", "arm-linux-musleabihf": "arm"}
"""Each target and what qemu calls its CPU."""
PATIENCE = "20"
"""Emulated programs on a busy machine answer late: times that tests demand are multiplied by this."""


def emulator(cpu: str) -> str | None:
    """The path of qemu for that CPU, in either of the names that distributions use."""
    return shutil.which(f"qemu-{cpu}") or shutil.which(f"qemu-{cpu}-static")


def compiler(target: str) -> dict[str, str]:
    """What native_libs and csrc/Makefile are told."""
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


def check(target: str, qemu: str) -> int:
    """Compile and run; the exit status of make."""
    tools = compiler(target)
    libs = libraries(target, tools)
    command = ["make", "--no-print-directory", "-s", "-C", str(native_libs.ROOT / "csrc"), "check"]
    command += [f"{name}={value}" for name, value in tools.items()]
    command += [f"BUILD={BUILD / target / 'csrc'}", f"RUN={qemu}", f"-j{os.cpu_count() or 1}"]
    command += [f"NATIVE_CFLAGS={shlex.join(libs.cflags())}", f"NATIVE_LIBS={shlex.join(libs.ldflags())}"]
    return subprocess.run(command, env={**os.environ, "ZC_TEST_PATIENCE": PATIENCE}).returncode


def main(targets: Sequence[str]) -> int:
    """Check each target and report."""
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        print(f"error: unknown: {', '.join(unknown)}; known are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    failed = []
    for target in targets or TARGETS:
        qemu = emulator(TARGETS[target])
        if qemu is None:
            print(f"{target}: skipped, there is no qemu-{TARGETS[target]} (apt-get install qemu-user)")
            continue
        print(f"{target}: compiling, running", flush=True)
        if check(target, qemu) != 0:
            failed.append(target)
        print(f"{target}: {'FAILED' if target in failed else 'ok'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
