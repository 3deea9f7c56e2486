# SPDX-License-Identifier: MIT
"""Do programs in C, CMake, Fortran and pybind11 build against an installed wheel, and run?

    check_library.py PYTHON DIRECTORY [TRIAL...]

PYTHON is an interpreter with zarrcore installed, and nothing else is asked where libzarrcore is; DIRECTORY is
for what is built.  What was not tried because a tool is missing is named.  For another C library or CPU,
``CC`` is the compiler of programs in C, and ``RUN`` what runs them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ARRAY = """
import sys, numpy, zarrcore
array = zarrcore.create_array(sys.argv[1], shape=(12, 7), chunks=(2, 7), dtype="f8")
array[...] = numpy.arange(84).reshape(12, 7)
"""
PYBIND11 = """
import sys
import numpy, region, zarrcore
array = zarrcore.open_array(sys.argv[1], mode="r")
numpy.testing.assert_array_equal(region.read_region(array, (3, 1), (4, 5)), array[3:7, 1:6])
"""


def run(command: Sequence[str | os.PathLike[str]], **options: object) -> str:
    """Return what a command printed; what it said is part of its failure."""
    text = [os.fspath(part) for part in command]
    done = subprocess.run(text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(text)}\n{done.stdout}")
    return done.stdout


class Trial:
    """One installed zarrcore, and a directory."""

    def __init__(self, python: str, directory: Path) -> None:
        self.python, self.directory, self.array = python, directory, directory / "array.zarr"
        directory.mkdir(parents=True)
        run([python, "-I", "-c", ARRAY, self.array])

    def flags(self, *options: str) -> list[str]:
        return shlex.split(run([self.python, "-I", "-m", "zarrcore", *options]))

    def check(self, program: Path) -> None:
        """The example that prints a region prints all numbers."""
        printed = run([*shlex.split(os.environ.get("RUN", "")), program, self.array])
        assert [float(line) for line in printed.splitlines() if line[:1].isdigit()] == list(range(84)), (
            printed
        )

    def compile(self, name: str, flags: Sequence[str]) -> None:
        target = self.directory / name
        compiler = shlex.split(os.environ.get("CC") or "cc")
        run([*compiler, EXAMPLES / "c" / "read_region.c", "-o", target, *flags])
        self.check(target)

    def c(self) -> None:
        self.compile("shared", self.flags("--cflags", "--libs"))
        if sys.platform == "linux":
            self.compile("static", self.flags("--cflags", "--static"))

    def pkg_config(self) -> None:
        environ = os.environ | {"PKG_CONFIG_PATH": self.flags("--pkgconfigdir")[0]}
        self.compile("found", shlex.split(run(["pkg-config", "--cflags", "--libs", "zarrcore"], env=environ)))

    def cmake(self) -> None:
        build, where = self.directory / "cmake", f"-DZarrcore_DIR={self.flags('--cmakedir')[0]}"
        run(["cmake", "-S", EXAMPLES / "cmake", "-B", build, where])
        run(["cmake", "--build", build])
        for program in ("read_region", "read_region_static"):
            self.check(build / program)

    def cpp(self) -> None:
        run(
            [
                "c++",
                "-std=c++17",
                EXAMPLES / "cpp/tree.cpp",
                "-o",
                self.directory / "tree",
                *self.flags("--cflags", "--libs"),
            ]
        )
        assert run([self.directory / "tree", self.directory / "tree.zarr"]).endswith("0 left\n")

    def fortran(self) -> None:
        include = Path(self.flags("--cflags")[0].removeprefix("-I"))
        sources = [include / "zarrcore.f90", EXAMPLES / "fortran" / "read_region.f90"]
        run(
            ["gfortran", *sources, "-o", self.directory / "fortran", *self.flags("--libs")],
            cwd=self.directory,
        )
        assert run([self.directory / "fortran", self.array]).split()[-1].startswith("5"), "the sum of a row"

    def pybind11(self) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python]
        pip += ["install", "--disable-pip-version-check", "-q"]
        run([*pip, "setuptools>=77", "pybind11>=2.13"])
        source = self.directory / "pybind11_extension"
        shutil.copytree(
            EXAMPLES / "pybind11_extension", source, ignore=shutil.ignore_patterns("build", "*.egg-info")
        )
        run([*pip, "--no-build-isolation", "--no-deps", source])
        run([self.python, "-I", "-c", PYBIND11, self.array])


#: What is tried, and the program that it needs.
TRIALS = {
    "c": "cc",
    "pkg_config": "pkg-config",
    "cmake": "cmake",
    "cpp": "c++",
    "fortran": "gfortran",
    "pybind11": "c++",
}


def main(python: str, directory: Path, chosen: Sequence[str] = ()) -> None:
    """Try those chosen, or all."""
    trial = Trial(python, directory)
    wanted = {name: tool for name, tool in TRIALS.items() if name in (chosen or TRIALS)}
    done = [name for name, tool in wanted.items() if shutil.which(tool) is not None]
    for name in done:
        getattr(trial, name)()
    missing = sorted({tool for tool in wanted.values() if shutil.which(tool) is None})
    print(
        f"libzarrcore of the wheel works in {', '.join(done)}"
        + (f"; not there: {', '.join(missing)}" if missing else "")
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:])
