# SPDX-License-Identifier: MIT
"""CPython linked to musl, compiled from the sources of Debian by its `musl-gcc`, since nobody offers one.

It has what tests need: zlib and ctypes, but no TLS, so that packages are downloaded by another Python.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from build_wheels import StepError, run  # this and the next are in this directory
from debian import Debian, fresh

MACHINE = platform.machine()
KERNEL = Path("/usr/include")
"""Where the headers of the kernel are, next to those of glibc; musl's own directory has none."""
COMPILER = """\
#!/bin/sh
case "$*" in
*-print-multiarch*) echo {machine}-linux-musl ;;
*) exec musl-gcc -idirafter {kernel} "$@" ;;
esac
"""
"""Asked itself, musl-gcc names the directory of glibc's headers, which CPython would read too."""
MODULES = """\
*disabled*
_codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _multibytecodec
_bz2 _curses _curses_panel _dbm _gdbm _lzma _sqlite3 _tkinter nis ossaudiodev readline
"""
AUTOTOOLS = {"autoreconf": "autoconf", "automake": "automake", "libtoolize": "libtool"}
STACK_NBYTES = 1 << 20
"""Of threads of Python, as in images of Python for musl: its 128 KiB are few for the limit of recursion."""


def make_compiler(work: Path) -> Path:
    """Return a compiler for musl that finds the headers of the kernel."""
    kernel = fresh(work / "kernel")
    for name in ("linux", "asm-generic"):
        (kernel / name).symlink_to(KERNEL / name)
    asm = next(path for path in (KERNEL / f"{MACHINE}-linux-gnu" / "asm", KERNEL / "asm") if path.is_dir())
    (kernel / "asm").symlink_to(asm)
    compiler = work / "musl-cc"
    compiler.write_text(COMPILER.format(kernel=kernel, machine=MACHINE), encoding="utf-8")
    compiler.chmod(0o755)
    return compiler


def musl_version() -> tuple[int, ...]:
    """Return the version of this machine's musl, as its loader says."""
    done = subprocess.run([f"/lib/ld-musl-{MACHINE}.so.1"], capture_output=True, text=True)
    found = re.search(r"^Version (\d+(?:\.\d+)*)", done.stderr, re.MULTILINE)
    if found is None:
        raise StepError(f"the loader of musl does not name its version: {done.stderr!r}")
    return tuple(map(int, found[1].split(".")))


def make_python(work: Path) -> Path:
    """Return the interpreter, which is compiled if this release of Debian has another version than before."""
    debian = Debian(work / "debian")
    debian.update()
    version = debian.python()
    prefix, wanted = work / "python", f"{version}, stack {STACK_NBYTES}\n"
    done = prefix / "complete.txt"
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(prefix, ignore_errors=True)
        build(debian.sources([version, "zlib", "libffi"]), prefix, make_compiler(work))
        done.write_text(wanted, encoding="utf-8")
    return prefix / "bin" / version


def build(sources: dict[str, Path], prefix: Path, compiler: Path) -> None:
    """Compile what CPython needs, and CPython."""
    environ = {
        "CC": str(compiler),
        "PKG_CONFIG_LIBDIR": str(prefix / "lib" / "pkgconfig"),  # none of glibc's
        "CPPFLAGS": f"-I{prefix / 'include'}",
        "LDFLAGS": f"-L{prefix / 'lib'}",
    }
    library = environ | {"CFLAGS": "-O2 -fPIC"}
    python = next(name for name in sources if name.startswith("python3"))
    configure = ["./configure", f"--prefix={prefix}"]
    make(sources["zlib"], [*configure, "--static"], library)
    configure.append(f"--build={MACHINE}-linux-musl")
    generate_configure(sources["libffi"])
    make(sources["libffi"], [*configure, "--disable-shared", "--with-pic", "--disable-docs"], library)
    (sources[python] / "Modules" / "Setup.local").write_text(MODULES, encoding="utf-8")
    environ |= {"OPT": "-DNDEBUG -O2 -fwrapv -w", "CFLAGS": f"-DTHREAD_STACK_SIZE={STACK_NBYTES}"}
    make(sources[python], [*configure, "--without-ensurepip", "--disable-test-modules"], environ)


def generate_configure(tree: Path) -> None:
    """Make what some releases of Debian have left out of a source."""
    if (tree / "configure").exists():
        return
    missing = [tool for tool in AUTOTOOLS if shutil.which(tool) is None]
    if missing:
        tool = missing[0]
        package = AUTOTOOLS[tool]
        raise StepError(f"{tree.name} has no configure, there is no {tool} (apt-get install {package})")
    run(["autoreconf", "--install"], cwd=tree)


def make(tree: Path, configure: list[str], environ: dict[str, str]) -> None:
    """Configure, compile and install one of the sources."""
    run(configure, environ=environ, cwd=tree)
    run(["make", f"-j{os.cpu_count() or 1}"], environ=environ, cwd=tree)
    run(["make", "install"], environ=environ, cwd=tree)
