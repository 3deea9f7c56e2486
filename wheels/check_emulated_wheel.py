# SPDX-License-Identifier: MIT
"""Does a wheel for aarch64 work?  It is compiled here, and tried in the user-mode emulation of qemu.

The compiler is the `zig cc` of the PyPI package `ziglang`, for the glibc of manylinux_2_28; the libraries are
compiled from their sources.  The Python that tries the wheel is that of Debian for aarch64: its packages are
unpacked below build/emulated, and nothing is installed on this machine.  The same CPython is needed here
too, since it runs what compiles the wheel.

There is no such trial of wheels for musl: neither Debian nor PyPI has a CPython that is linked to it.
`check_foreign.py` runs the tests of the C core there.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import fetch_sources  # this and the next are in this directory
from build_wheels import HERE, PIP_INSTALL, ROOT, SMOKE, StepError, make_environment, make_sdist, pythons, run

WORK = ROOT / "build" / "emulated"
TARGET = "aarch64-linux-gnu"
GLIBC = "2.28"
PLATFORM = f"manylinux_{GLIBC.replace('.', '_')}_aarch64"
TOOLS = {"qemu-aarch64": "qemu-user", "apt-get": "apt", "dpkg-deb": "dpkg"}
"""What is needed, and the package of Debian that has it."""
HARD = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")


def apt(work: Path) -> list[str]:
    """Options for apt: packages of the other CPU, with lists and a cache of their own."""
    for name in ("state/lists/partial", "cache/archives/partial", "packages"):
        (work / name).mkdir(parents=True, exist_ok=True)
    status = work / "state" / "status"
    status.touch()
    chosen = {"Dir::State": work / "state", "Dir::State::status": status, "Dir::Cache": work / "cache"}
    pairs = {"APT::Architecture": "arm64", "APT::Architectures::": "arm64", "APT::Sandbox::User": "root"}
    return [part for name, value in {**chosen, **pairs}.items() for part in ("-o", f"{name}={value}")]


def make_root(work: Path) -> tuple[Path, str]:
    """Unpack Python for the other CPU and all that it needs; the directory, and the version."""
    options, root = apt(work), work / "root"
    run(["apt-get", *options, "update"])
    without = [f"--no-{kind}" for kind in HARD]
    wanted = ["python3-minimal", "libpython3-stdlib", "libstdc++6"]  # the last is for numpy
    listed = run(["apt-cache", *options, "depends", "--recurse", *without, *wanted])
    packages = sorted(set(re.findall(r"^[a-z][\w.+-]*$", listed, re.MULTILINE)))
    run(["apt-get", *options, "download", *packages], cwd=work / "packages")
    shutil.rmtree(root, ignore_errors=True)
    for package in sorted((work / "packages").glob("*.deb")):
        run(["dpkg-deb", "--extract", package, root])
    (python,) = (root / "usr" / "bin").glob("python3.[0-9]*[0-9]")
    return root, python.name.removeprefix("python")


def make_wheel(version: str, work: Path) -> Path:
    """Compile a wheel of the sdist for the other CPU, by the Python of that version which is here."""
    found = pythons([version])
    if not found:
        raise StepError(f"there is no CPython {version} with headers here: install it, for instance by pyenv")
    host = make_environment(found[0], work / "host")
    needed = run([sys.executable, HERE / "requirements.py", "build", "wheels"]).split("\n")
    run([host, *PIP_INSTALL, "-q", *filter(None, needed)])
    tag = f"cpython-{version.replace('.', '')}"
    zig = run([host, "-c", "import ziglang; print(ziglang.__path__[0])"]).strip() + "/zig"
    compiler = f"{zig} cc -target {TARGET}.{GLIBC}"
    environ = {
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "AR": f"{zig} ar",
        "ZARRCORE_LIBS": "source",
        "ZARRCORE_ZSTD": "off",
        "ZARRCORE_LIBRARY": "off",  # needs binutils of the other CPU
        "ZARRCORE_DEFLATE": "source",
        "ZARRCORE_BLOSC_SRC": str(fetch_sources.fetch("blosc", work / "sources")),
        "SETUPTOOLS_EXT_SUFFIX": f".{tag}-{TARGET}.so",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
    }
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.unpack_archive(make_sdist(work), tree)
    (tree,) = tree.iterdir()
    shutil.rmtree(work / "dist", ignore_errors=True)
    command = [host, "setup.py", "--quiet", "bdist_wheel", "--plat-name", PLATFORM, "-d", work / "dist"]
    run(command, environ=environ, cwd=tree)
    (wheel,) = (work / "dist").glob("*.whl")
    return wheel


def try_wheel(wheel: Path, root: Path, version: str, work: Path) -> str:
    """Install the wheel and what it needs for the other CPU, and use it there."""
    packages = work / "site"
    shutil.rmtree(packages, ignore_errors=True)
    kind = ["--platform", PLATFORM, "--python-version", version, "--only-binary", ":all:"]
    run([sys.executable, *PIP_INSTALL, "-q", "--target", packages, *kind, wheel])
    emulated = ["qemu-aarch64", "-L", root, root / "usr" / "bin" / f"python{version}"]
    return run([*emulated, SMOKE], environ={"PYTHONPATH": str(packages)}, cwd=work)


def main() -> int:
    """Compile, try and report."""
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            print(f"skipped: there is no {tool} (apt-get install {package})")
            return 0
    try:
        root, version = make_root(WORK)
        print(f"Python {version} for aarch64: compiling, trying", flush=True)
        wheel = make_wheel(version, WORK)
        print(f"{wheel.name}: {try_wheel(wheel, root, version, WORK)}", end="")
    except StepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
