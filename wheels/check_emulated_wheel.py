# SPDX-License-Identifier: MIT
"""Does a wheel for aarch64 work?  It is compiled here, and tried in the user-mode emulation of qemu.

The compiler is the `zig cc` of the PyPI package `ziglang`, for the glibc of manylinux_2_28; the libraries are
compiled from their sources.  The Python that tries the wheel is that of Debian for aarch64: its packages are
unpacked below build/emulated, and nothing is installed on this machine.  The same CPython is needed here
too, since it runs what compiles the wheel.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import fetch_sources  # this and the next two are in this directory
from build_wheels import (
    HERE,
    ROOT,
    SMOKE,
    StepError,
    make_environment,
    pip,
    pythons,
    run,
    unpacked_sdist,
)
from debian import Debian

WORK = ROOT / "build" / "emulated"
TARGET = "aarch64-linux-gnu"
GLIBC = "2.28"
POLICY = f"manylinux_{GLIBC.replace('.', '_')}"
PLATFORM = f"{POLICY}_aarch64"
TOOLS = {
    ("qemu-aarch64", "qemu-aarch64-static"): "qemu-user",
    ("apt-get",): "apt",
    ("dpkg-deb",): "dpkg",
    ("make",): "make",
    (f"{TARGET}-objcopy", "llvm-objcopy"): f"binutils-{TARGET}",
}
"""What is needed, each by any of its names, and the package of Debian that has it."""


def tools() -> dict[str, str]:
    """Return each tool that is here, by its first name."""
    found = {names[0]: next(filter(None, map(shutil.which, names)), None) for names in TOOLS}
    return {name: path for name, path in found.items() if path is not None}


def make_root(work: Path) -> tuple[Path, str]:
    """Unpack Python for the other CPU and all that it needs; the directory, and the version."""
    debian = Debian(work, "arm64")
    debian.update()
    root = debian.unpack(["python3-minimal", "libpython3-stdlib", "libstdc++6"])  # the last is for numpy
    (python,) = (root / "usr" / "bin").glob("python3.[0-9]*[0-9]")
    return root, python.name.removeprefix("python")


def compiler(host: Path) -> tuple[str, str]:
    """Return the commands that compile and make archives for the other CPU."""
    zig = run([host, "-c", "import ziglang; print(ziglang.__path__[0])"]).strip() + "/zig"
    return f"{zig} cc -target {TARGET}.{GLIBC}", f"{zig} ar"


def make_host(version: str, work: Path) -> Path:
    """Return the Python of that version which is here, in an environment that can compile."""
    found = pythons([version])
    if not found:
        raise StepError(f"there is no CPython {version} with headers here: install it, for instance by pyenv")
    host = make_environment(found[0].path, work / "host")
    needed = run([sys.executable, HERE / "requirements.py", "build", "wheels"]).split("\n")
    pip(host, "install", *filter(None, needed))
    return host


def make_wheel(host: Path, version: str, work: Path, objcopy: str) -> Path:
    """Compile a wheel of the sdist for the other CPU."""
    cc, ar = compiler(host)
    environ = {
        "CC": cc,
        "LDSHARED": f"{cc} -shared",
        "AR": ar,
        "OBJCOPY": objcopy,
        "ZARRCORE_LIBS": "source",
        "ZARRCORE_ZSTD": "off",
        "ZARRCORE_LIBRARY": "on",
        "ZARRCORE_DEFLATE": "source",
        "ZARRCORE_BLOSC_SRC": str(fetch_sources.fetch("blosc", work / "sources")),
        "SETUPTOOLS_EXT_SUFFIX": f".cpython-{version.replace('.', '')}-{TARGET}.so",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
    }
    shutil.rmtree(work / "dist", ignore_errors=True)
    tree = unpacked_sdist(work / "dist", work / "tree")
    command = [host, "setup.py", "--quiet", "bdist_wheel", "--plat-name", PLATFORM, "-d", work / "dist"]
    run(command, environ=environ, cwd=tree)
    (wheel,) = (work / "dist").glob("*.whl")
    print(run([sys.executable, HERE / "check_wheel.py", "--policy", POLICY, wheel]), end="", flush=True)
    return wheel


def install(wheel: Path, root: Path, version: str, work: Path, qemu: str) -> Path:
    """Install the wheel and what it needs for the other CPU; return what runs Python there."""
    packages = root / "usr" / "lib" / "python3" / "dist-packages"
    shutil.rmtree(packages, ignore_errors=True)
    kind = ["--platform", PLATFORM, "--python-version", version, "--only-binary", ":all:"]
    pip(Path(sys.executable), "install", "--target", packages, *kind, wheel)
    python = work / "python"
    emulated = shlex.join([qemu, "-L", str(root), str(root / "usr" / "bin" / f"python{version}")])
    python.write_text(f'#!/bin/sh\nexec {emulated} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python


def try_library(host: Path, python: Path, root: Path, work: Path, qemu: str) -> str:
    """Compile a program in C against the library of the wheel, and run it."""
    programs = work / "programs"
    shutil.rmtree(programs, ignore_errors=True)
    environ = {"CC": compiler(host)[0], "RUN": shlex.join([qemu, "-L", str(root)])}
    return run([sys.executable, HERE / "check_library.py", python, programs, "c"], environ=environ)


def main() -> int:
    """Compile, try and report."""
    found = tools()
    for names, package in TOOLS.items():
        if names[0] not in found:
            print(f"skipped: there is no {names[0]} (apt-get install {package})")
            return 0
    qemu, objcopy = found["qemu-aarch64"], found[f"{TARGET}-objcopy"]
    try:
        root, version = make_root(WORK)
        print(f"Python {version} for aarch64: compiling, trying", flush=True)
        host = make_host(version, WORK)
        wheel = make_wheel(host, version, WORK, objcopy)
        python = install(wheel, root, version, WORK, qemu)
        print(run([python, "-I", SMOKE], cwd=WORK), end="", flush=True)
        print(try_library(host, python, root, WORK, qemu), end="", flush=True)
    except StepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
