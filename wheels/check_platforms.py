# SPDX-License-Identifier: MIT
"""Does the C core compile for the platforms that this machine is not, without a warning?

``check_platforms.py [TARGET...]`` compiles each file of csrc that knows no Python with the `zig cc` of the
PyPI package `ziglang`, which brings the headers of every platform.  Nothing is linked or run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import native_libs

CSRC = native_libs.ROOT / "csrc"
YYJSON = native_libs.ROOT / "wheels" / "sources" / "yyjson"
PARTS = ("base", "kernels", "codecs", "io", "engine", "capi")
TARGETS = ("x86_64-linux-gnu.2.17", "aarch64-linux-musl", "aarch64-macos", "x86_64-windows-gnu")
FLAGS = ("-std=gnu11", "-O0", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror")
#: What assertions alone call is needed by no release.
ASSERTED = "-Wno-unneeded-internal-declaration"


def sources() -> list[Path]:
    """The files, with those of libzarrcore where yyjson has been brought."""
    parts = (*PARTS, "document") if YYJSON.is_dir() else PARTS
    return [path for part in parts for path in sorted((CSRC / part).glob("*.c"))]


def flags(libs: native_libs.NativeLibs) -> list[str]:
    """All arguments but the target; the libraries' own headers are none of ours."""
    found = [*FLAGS, ASSERTED, f"-I{CSRC}", *(f"-D{name}={value}" for name, value in libs.define_macros)]
    for directory in libs.include_dirs:
        found += ["-isystem", directory]
    return [*found, "-DZC_YYJSON_SOURCE=1", "-isystem", str(YYJSON), "-DZC_VERSION=0"]


def faults(target: str, arguments: Sequence[str]) -> list[str]:
    """What the compiler says of each file that it refuses."""
    import ziglang

    zig = Path(ziglang.__file__).parent / ("zig.exe" if os.name == "nt" else "zig")

    def compile_one(source: Path) -> str:
        with tempfile.TemporaryDirectory() as directory:
            command = [str(zig), "cc", "-target", target, *arguments, "-c", str(source)]
            command += ["-o", str(Path(directory, "object.o"))]
            done = subprocess.run(command, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [said for said in pool.map(compile_one, sources()) if said]


def main(targets: Sequence[str]) -> int:
    """Compile for each target and report."""
    arguments, status = flags(native_libs.resolve()), 0
    for target in targets or TARGETS:
        found = faults(target, arguments)
        print(f"{target}: {len(found)} of {len(sources())} files fail", flush=True)
        for said in found:
            print(said, file=sys.stderr)
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
