# SPDX-License-Identifier: MIT
"""Compile c-blosc and the zstd, lz4 and zlib inside its source tree into one archive.

Needs a C compiler, nothing else.

Serves ``ZARRCORE_LIBS=source``: machines for which PyPI has no `blosc` wheel and which lack the libraries.
Linux, macOS and other systems whose compiler speaks cc's command line.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

X86 = ("x86_64", "amd64")
DEFINES = ("-DHAVE_LZ4", "-DHAVE_ZLIB", "-DHAVE_ZSTD", "-DHAVE_UNISTD_H", "-DXXH_NAMESPACE=ZSTD_")


class SourceError(RuntimeError):
    """The tree is not what it should be, or the compiler refused."""


@dataclass(frozen=True)
class Tree:
    """Where the four libraries lie in a c-blosc source tree."""

    blosc: Path
    lz4: Path
    zlib: Path
    zstd: Path

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """Directories of the public headers."""
        return (self.blosc, self.lz4, self.zlib, self.zstd)


def find_tree(root: Path) -> Tree:
    """Locate the parts below the root of a `blosc` sdist or of c-blosc itself."""
    for base in (root / "blosc" / "c-blosc", root / "c-blosc", root):
        if (base / "blosc" / "blosc.h").is_file():
            inner = base / "internal-complibs"
            parts = (_versioned(inner, name) for name in ("lz4", "zlib", "zstd"))
            return Tree(base / "blosc", *parts)
    raise SourceError("no c-blosc source tree here (expected blosc/c-blosc/blosc/blosc.h)")


def _versioned(directory: Path, name: str) -> Path:
    found = sorted(directory.glob(f"{name}-*"))
    if len(found) != 1:
        raise SourceError(f"expected one {directory / name}-<version>, found {len(found)}")
    return found[0].resolve()


def sources(tree: Tree, machine: str) -> dict[Path, tuple[str, ...]]:
    """Each source file and the arguments that it needs beyond the common ones."""
    x86 = machine.lower() in X86
    files: dict[Path, tuple[str, ...]] = {}
    for path in tree.blosc.glob("*.c"):
        isa = path.stem.rpartition("-")[2]
        if isa not in ("sse2", "avx2"):
            files[path] = ()
        elif x86:
            files[path] = (f"-m{isa}",)
    if x86:  # the dispatcher is built for any CPU and needs a list of the variants
        files[tree.blosc / "shuffle.c"] = ("-DSHUFFLE_SSE2_ENABLED", "-DSHUFFLE_AVX2_ENABLED")
    for path in (*tree.lz4.glob("*.c"), *tree.zlib.glob("*.c")):
        if not path.name.startswith("gz"):  # zlib's file functions are of no use here
            files[path] = ()
    for part in ("common", "compress", "decompress"):
        for path in (tree.zstd / part).glob("*.[cS]"):
            if x86 or path.suffix == ".c":
                files[path] = ("-I" + str(tree.zstd / "common"),) + (() if x86 else ("-DZSTD_DISABLE_ASM",))
    return dict(sorted(files.items()))


def build_archive(tree: Tree, build_dir: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """Compile all and pack it; an archive that exists already is taken as it is."""
    archive = build_dir / "libblosc.a"
    if archive.exists():
        return archive
    build_dir.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(environ.get("CC") or "cc")
    common = [*compiler, "-O3", "-fPIC", "-fvisibility=hidden", "-w", "-pthread", *DEFINES]
    common += [f"-I{path}" for path in tree.include_dirs]

    def compile_one(item: tuple[Path, tuple[str, ...]]) -> str:
        source, extra = item
        target = build_dir / f"{source.parent.name}-{source.stem}.o"
        _run([*common, *extra, "-c", str(source), "-o", str(target)])
        return str(target)

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        objects = list(pool.map(compile_one, sources(tree, machine_of(compiler)).items()))
    partial = archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    _run([*shlex.split(environ.get("AR") or "ar"), "rcs", str(partial), *objects])
    partial.replace(archive)  # so that a build that was stopped leaves no half of one
    return archive


def machine_of(compiler: Sequence[str]) -> str:
    """The CPU that a compiler compiles for, which need not be this machine's."""
    try:
        done = subprocess.run([*compiler, "-dumpmachine"], capture_output=True, text=True)
    except OSError as error:
        raise SourceError(f"{compiler[0]}: {error}") from error
    return done.stdout.partition("-")[0].strip() or platform.machine()


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as error:
        raise SourceError(f"{command[0]}: {error}") from error
    except subprocess.CalledProcessError as error:
        raise SourceError(f"{shlex.join(command)}\n{error.stderr}") from error
