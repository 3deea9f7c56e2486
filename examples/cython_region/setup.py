# SPDX-License-Identifier: MIT
"""Build of the example: one Cython module, with OpenMP where the compiler has it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

import zarrcore

OPENMP_PROGRAM = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"


class BuildExt(build_ext):
    """Ask the compiler for OpenMP; without it `prange` is a plain loop."""

    def build_extensions(self) -> None:
        """Add the flags, then build as usual."""
        flag = "/openmp" if self.compiler.compiler_type == "msvc" else "-fopenmp"
        if os.environ.get("CYTHON_REGION_OPENMP") != "0" and self._compiles(flag):
            for extension in self.extensions:
                extension.extra_compile_args.append(flag)
                extension.extra_link_args.append(flag)
        super().build_extensions()

    def _compiles(self, flag: str) -> bool:
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory, "probe.c")
            source.write_text(OPENMP_PROGRAM, encoding="utf-8")
            try:
                objects = self.compiler.compile([str(source)], output_dir=directory, extra_postargs=[flag])
                self.compiler.link_executable(objects, str(Path(directory, "probe")), extra_postargs=[flag])
            except (CompileError, LinkError):
                print(f"cython_region: no OpenMP ({flag})", file=sys.stderr)
                return False
        return True


setup(
    ext_modules=cythonize(
        [
            Extension(
                "cython_region.region",
                ["cython_region/region.pyx"],
                include_dirs=[zarrcore.get_include()],
            )
        ],
        compiler_directives={"language_level": 3, "freethreading_compatible": True},
    ),
    cmdclass={"build_ext": BuildExt},
)
