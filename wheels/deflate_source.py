# SPDX-License-Identifier: MIT
"""Compile libdeflate from its source tree into one archive.

Serves ``ZARRCORE_DEFLATE=source`` and ``=DIR``.  The compiler is the one that setuptools would take, so that
CC, CFLAGS and ARCHFLAGS count and Visual C++ works too.  CPU variants are chosen inside of libdeflate, no
file needs arguments of its own.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "deflate_static"  # not libdeflate.a, which the linker could find elsewhere under that name


class SourceError(RuntimeError):
    """The tree is not what it should be, or the compiler refused."""


def find_tree(root: Path) -> Path:
    """The root of libdeflate at or below a directory, for example that of an unpacked `deflate` sdist."""
    candidates = (root, root / "libdeflate", *sorted(root.glob("deflate-*/libdeflate")))
    for candidate in candidates:
        if (candidate / "libdeflate.h").is_file() and (candidate / "lib").is_dir():
            return candidate.resolve()
    raise SourceError("no libdeflate source tree here (expected libdeflate.h and lib/)")


def sources(root: Path) -> list[Path]:
    """All C files of the library; those for other CPUs compile to nothing."""
    return sorted((root / "lib").rglob("*.c"))


def build_archive(root: Path, build_dir: Path) -> Path:
    """Compile all and pack it; an archive of the same sources by the same compiler is taken as it is."""
    try:
        import setuptools  # noqa: F401, I001  first: it brings distutils where Python no longer does
    except ImportError as error:
        raise SourceError(f"compiling needs setuptools: {error}") from error
    from distutils.ccompiler import new_compiler
    from distutils.errors import CCompilerError, DistutilsError
    from distutils.sysconfig import customize_compiler

    compiler = new_compiler()
    customize_compiler(compiler)
    msvc = compiler.compiler_type == "msvc"
    directory = build_dir / _fingerprint(root, [] if msvc else compiler.compiler_so)
    archive = directory / compiler.library_filename(NAME)
    if archive.exists():
        return archive.resolve()
    partial = directory.with_name(f"{directory.name}.{os.getpid()}")
    try:
        objects = compiler.compile(
            [str(path) for path in sources(root)],
            output_dir=str(partial),
            include_dirs=[str(root)],
            extra_postargs=[] if msvc else ["-fvisibility=hidden", "-w"],  # -w: not ours to mend
        )
        compiler.create_static_lib(objects, NAME, output_dir=str(partial))
    except (CCompilerError, DistutilsError, OSError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise SourceError(str(error)) from error
    if directory.exists():  # another process was faster
        shutil.rmtree(partial)
    else:
        partial.replace(directory)  # whole or not at all
    return archive.resolve()


def _fingerprint(root: Path, compiler: Sequence[str]) -> str:
    """Names what the archive depends on."""
    digest = hashlib.sha256(repr((sys.platform, platform.machine(), list(compiler))).encode())
    for path in (*sources(root), *sorted(root.rglob("*.h"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
