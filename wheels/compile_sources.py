# SPDX-License-Identifier: MIT
"""Compile the source tree of a C library into one archive, once for each compiler.

The compiler is the one that setuptools would take, so that CC, CFLAGS and ARCHFLAGS count and Visual C++
works too.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class SourceError(RuntimeError):
    """The tree is not what it should be, or the compiler refused."""


@dataclass(frozen=True)
class Tree:
    """What is compiled."""

    name: str
    """Of the archive: one that the linker cannot find elsewhere."""
    sources: tuple[Path, ...]
    headers: tuple[Path, ...]
    include_dir: Path
    arguments: tuple[str, ...] = ()
    """For compilers with cc's command line."""


def build_archive(tree: Tree, build_dir: Path) -> Path:
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
    compiler.src_extensions = [*compiler.src_extensions, ".S"]
    msvc = compiler.compiler_type == "msvc"
    arguments = [] if msvc else ["-fvisibility=hidden", "-w", *tree.arguments]  # -w: not ours to mend
    directory = build_dir / _fingerprint(tree, arguments if msvc else [*compiler.compiler_so, *arguments])
    archive = directory / compiler.library_filename(tree.name)
    if archive.exists():
        return archive.resolve()
    partial = directory.with_name(f"{directory.name}.{os.getpid()}")
    try:
        objects = compiler.compile(
            [str(path) for path in tree.sources],
            output_dir=str(partial),
            include_dirs=[str(tree.include_dir)],
            extra_postargs=arguments,
        )
        compiler.create_static_lib(objects, tree.name, output_dir=str(partial))
    except (CCompilerError, DistutilsError, OSError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise SourceError(str(error)) from error
    if directory.exists():  # another process was faster
        shutil.rmtree(partial)
    else:
        partial.replace(directory)  # whole or not at all
    return archive.resolve()


def _fingerprint(tree: Tree, compiler: Sequence[str]) -> str:
    """Names what the archive depends on."""
    digest = hashlib.sha256(repr((sys.platform, platform.machine(), list(compiler))).encode())
    for path in (*tree.sources, *tree.headers):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
