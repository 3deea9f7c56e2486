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
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
    private: tuple[Path, ...] = ()
    """Sources whose names stay inside, since another library brings its own; see `can_hide_names`."""


def build_archive(tree: Tree, build_dir: Path) -> Path:
    """Compile all and pack it; an archive of the same sources by the same compiler is taken as it is."""
    try:
        import setuptools  # noqa: F401  first: it brings distutils where Python no longer does
    except ImportError as error:
        raise SourceError(f"compiling needs setuptools: {error}") from error
    from distutils.ccompiler import new_compiler
    from distutils.errors import CCompilerError, DistutilsError
    from distutils.sysconfig import customize_compiler

    compiler = new_compiler()
    customize_compiler(compiler)
    compiler.src_extensions = [*compiler.src_extensions, ".S"]
    msvc = compiler.compiler_type == "msvc"
    # No warnings, which are not ours to mend; no frame pointers, which some Pythons, and zig, ask for.
    arguments = [] if msvc else ["-fvisibility=hidden", "-w", "-fomit-frame-pointer", *tree.arguments]
    directory = build_dir / _fingerprint(tree, arguments if msvc else [*compiler.compiler_so, *arguments])
    archive = directory / compiler.library_filename(tree.name)
    if archive.exists():
        return archive.resolve()
    partial = directory.with_name(f"{directory.name}.{os.getpid()}")
    try:
        objects = _compile_all(compiler, tree, partial, arguments)
        if tree.private:
            of_source = dict(zip(tree.sources, objects, strict=True))
            hidden = [of_source[path] for path in tree.private]
            objects = [_without_names(compiler.compiler_so, objects, hidden, partial)]
        compiler.create_static_lib(objects, tree.name, output_dir=str(partial))
    except (CCompilerError, DistutilsError, OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise SourceError(str(error)) from error
    if directory.exists():  # another process was faster
        shutil.rmtree(partial)
    else:
        partial.replace(directory)  # whole or not at all
    return archive.resolve()


def _compile_all(compiler: Any, tree: Tree, directory: Path, arguments: Sequence[str]) -> list[str]:
    """Compile the sources, several at a time; the objects, in the order of the sources."""
    objects = compiler.object_filenames([str(path) for path in tree.sources], output_dir=str(directory))
    for target in objects:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # before threads would race for it

    def compile_one(source: Path) -> None:
        compiler.compile(
            [str(source)],
            output_dir=str(directory),
            include_dirs=[str(tree.include_dir)],
            extra_postargs=list(arguments),
        )

    with ThreadPoolExecutor(max_workers=int(os.environ.get("ZARRCORE_JOBS") or os.cpu_count() or 1)) as pool:
        list(pool.map(compile_one, tree.sources))  # list: raise the first failure here
    return list(objects)


def can_hide_names() -> bool:
    """Whether the tools for `Tree.private` are here: those of binutils, or others of the same names."""
    return sys.platform == "linux" and all(shutil.which(tool) for tool in ("nm", "objcopy"))


def _without_names(cc: Sequence[str], objects: Sequence[str], hidden: Sequence[str], directory: Path) -> str:
    """Link all objects into one and bind the symbols in ``hidden`` inside it."""
    listed = subprocess.run(
        ["nm", "-P", "-g", "--defined-only", *hidden], capture_output=True, text=True, check=True
    ).stdout
    names = directory / "hidden-names"
    names.write_text("".join(f"{line.split()[0]}\n" for line in listed.splitlines() if " " in line))
    joined, sealed = directory / "joined.o", directory / "sealed.o"
    subprocess.run([*cc, "-r", "-nostdlib", "-o", joined, *objects], check=True)
    subprocess.run(["objcopy", f"--localize-symbols={names}", joined, sealed], check=True)
    return str(sealed)


def _fingerprint(tree: Tree, compiler: Sequence[str]) -> str:
    """Names what the archive depends on."""
    private = [path.name for path in tree.private]
    digest = hashlib.sha256(repr((sys.platform, platform.machine(), list(compiler), private)).encode())
    for path in (*tree.sources, *tree.headers):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
