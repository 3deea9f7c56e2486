# SPDX-License-Identifier: MIT
"""Build of the compiled part; everything static is in pyproject.toml.

The C core (csrc) knows no Python.  It is compiled once into an archive, which all extension modules
link together with the compression libraries that wheels/native_libs.py finds.  The modules of a folder of
zarrcore/_core are linked into one shared object, from which the folder's __init__.py loads them.  Switches,
all from the environment:

ZARRCORE_LIBS, ZARRCORE_<LIB>_DIR    where the compression libraries come from, see wheels/native_libs.py
ZARRCORE_DEFLATE=auto                whether and which libdeflate is linked, see there
ZARRCORE_ZSTD=auto                   whether a newer zstd is linked in the place of blosc's, see there
ZARRCORE_LIBRARY=auto                whether libzarrcore is part of the package, see wheels/c_library.py
ZARRCORE_SANITIZE=address,undefined  instrument our code (or `thread`)
ZARRCORE_COVERAGE=1                  count executed lines for gcov
ZARRCORE_DEBUG=1                     assertions and debug information, little optimisation
ZARRCORE_JOBS=4                      compile that many files at a time
ZARRCORE_EXTENSIONS=0                no extension modules: for an editable install, built in place later
"""

from __future__ import annotations

import multiprocessing
import os
import shlex
import sys
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "wheels"))

import c_library  # noqa: E402
import native_libs  # noqa: E402

#: Callers before what they call: a linker that looks through the archive once then keeps this order.
CORE_PARTS = ("capi", "engine", "io", "codecs", "kernels", "base")
EXPORTS = "csrc/exports.map"
NUMPY_MACROS = [
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
]
DIRECTIVES = {
    "auto_pickle": False,
    "autotestdict": False,
    "language_level": 3,
    "binding": True,
    "boundscheck": True,
    "embedsignature": True,
    "freethreading_compatible": True,
    "show_performance_hints": False,
}


def tree(pattern: str) -> list[str]:
    """Files of this source tree by glob pattern, sorted, relative to the root."""
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def core_sources() -> list[str]:
    """The C files that know no Python."""
    return [source for part in CORE_PARTS for source in tree(f"csrc/{part}/*.c")]


def module_name(source: str) -> str:
    """The module that a .pyx becomes."""
    return source.removesuffix(".pyx").replace("/", ".")


def extensions() -> list[Extension]:
    """One for each .pyx of zarrcore/_core, and one for all those of each folder in it."""
    alone = [Extension(module_name(source), [source]) for source in tree("zarrcore/_core/*.pyx")]
    folders = sorted({os.path.dirname(source) for source in tree("zarrcore/_core/*/*.pyx")})
    together = [Extension(f"{module_name(one)}._modules", tree(f"{one}/*.pyx")) for one in folders]
    return alone + together


def cython_modules(ext: Extension) -> list[Extension]:
    """The modules of an extension, as Cython compiles them; `kernels` also has the ufunc loops."""
    depends = tree("csrc/**/*.h")
    loops = tree("csrc/numpy/*.c") if ext.name.endswith(".kernels") else []
    return [Extension(module_name(source), [source, *loops], depends=depends) for source in ext.sources]


class Toolchain:
    """The arguments of this compiler for the flavour that the environment asks for."""

    def __init__(self, compiler_type: str) -> None:
        self.msvc = compiler_type == "msvc"
        self.sanitize = os.environ.get("ZARRCORE_SANITIZE", "")
        self.coverage = os.environ.get("ZARRCORE_COVERAGE", "") not in ("", "0")
        self.debug = os.environ.get("ZARRCORE_DEBUG", "") not in ("", "0")
        if self.msvc and (self.sanitize or self.coverage):
            raise SystemExit("ZARRCORE_SANITIZE and ZARRCORE_COVERAGE need gcc or clang")

    @property
    def flavour(self) -> str:
        """Names a set of objects that fit together."""
        sanitize = self.sanitize.replace(",", "-")
        parts = (sanitize, "coverage" * self.coverage, "debug" * self.debug)
        return "-".join(part for part in parts if part) or "release"

    def compile_args(self) -> list[str]:
        """For every C file."""
        if self.msvc:
            flavour = ["/Od", "/DZC_ASSERTIONS=1"] if self.debug else ["/O2"]
            return ["/std:c11", "/experimental:c11atomics", "/utf-8", *flavour]
        # After Python's own flags, so these win.  Filters round after each operation, as numpy does.
        args = ["-std=gnu11", "-ffp-contract=off", "-fvisibility=hidden", "-pthread", "-MMD"]
        args += self._optimisation()
        if self.flavour == "release":
            args.append("-g0")  # link_args would leave nothing of it, for a quarter of the time
        else:
            args += ["-g", "-UNDEBUG", "-DZC_ASSERTIONS=1", "-fno-omit-frame-pointer"]
        if self.sanitize:
            args += [f"-fsanitize={self.sanitize}", "-fno-sanitize-recover=undefined"]
        if self.coverage:
            args += ["--coverage"]
        return args

    def _optimisation(self) -> list[str]:
        if self.coverage:
            return ["-O0"]
        # Some Pythons, and zig, ask for frame pointers: a register less.
        return ["-O1"] if self.sanitize or self.debug else ["-O3", "-fomit-frame-pointer"]

    def core_args(self) -> list[str]:
        """Warnings for the code that is written by hand."""
        return [] if self.msvc else ["-Wall", "-Wextra", "-Wstrict-prototypes", "-Wvla", "-Werror=implicit"]

    def cython_args(self) -> list[str]:
        """Generated code keeps what it does not use; a wrong pointer type is an error for newer compilers."""
        if self.msvc:
            return []
        unused = ["-Wno-unused-function", "-Wno-unused-variable", "-Wno-sign-compare"]
        return [*unused, "-Werror=incompatible-pointer-types"]

    def border_args(self) -> list[str]:
        """For the modules that call the engine: no loops, so less code, and fewer pages for a first read."""
        return [] if self.msvc or self.flavour != "release" else ["-O2"]

    def link_args(self) -> list[str]:
        """For an extension module: nothing but its init function is visible outside."""
        if self.msvc:
            return []
        if sys.platform == "darwin":
            args = ["-Wl,-exported_symbol,_PyInit_*", "-Wl,-dead_strip"]
        else:
            strip = ["-Wl,--strip-debug"] if self.flavour == "release" else []
            args = [f"-Wl,--version-script={EXPORTS}", "-Wl,--gc-sections", *strip]
        if self.sanitize:
            args.append(f"-fsanitize={self.sanitize}")
        if self.coverage:
            args.append("--coverage")
        return [*args, "-pthread"]


def guard_releases(generated: Path) -> None:
    """Have a module that Cython has generated release nothing where there is nothing.

    An exception that is caught as memory runs out may have no traceback, and was released as if it had one.
    """
    text = generated.read_text(encoding="utf-8")
    unguarded, guarded = (f"#define __Pyx_DECREF(r) {call}(r)" for call in ("Py_DECREF", "Py_XDECREF"))
    if unguarded in text:
        generated.write_text(text.replace(unguarded, guarded), encoding="utf-8")
    elif guarded not in text:
        raise SystemExit(f"{generated}: Cython releases objects otherwise: see guard_releases in setup.py")


class BuildExt(build_ext):
    """Compile what changed, several files at a time; link each module with the core archive."""

    def finalize_options(self) -> None:
        """Find the libraries and keep objects of different flavours apart."""
        super().finalize_options()
        if self.parallel is None or self.parallel is True:
            self.parallel = int(os.environ.get("ZARRCORE_JOBS") or os.cpu_count() or 1)
        self.inner_temp = Path(self.build_temp) / Toolchain("unix").flavour
        self.for_tree = bool(self.inplace)  # which setuptools takes back while it builds

    def build_extensions(self) -> None:
        """Everything; called once the compiler is known."""
        import Cython
        from Cython.Build import cythonize

        self.tools = Toolchain(self.compiler.compiler_type)
        try:
            self.libs = native_libs.resolve(build_dir=self.get_finalized_command("build").build_base)
        except native_libs.ResolveError as error:
            raise SystemExit(f"error: {error}") from None
        self.libs_temp = self.inner_temp / f"libraries-{zlib.crc32(repr(self.libs).encode()):08x}"
        print(f"zarrcore: compression libraries: {self.libs}")
        is_forced = bool(self.force)
        self._forget_if_arguments_changed()
        modules = {ext.name: cython_modules(ext) for ext in self.extensions}
        by_others = _changed(Path("build/cython/made_by.txt"), f"{Cython.__version__} {DIRECTIVES}")
        generated = cythonize(
            [module for ext in self.extensions for module in modules[ext.name]],
            include_path=["."],
            build_dir="build/cython",
            compiler_directives=DIRECTIVES,
            force=by_others or is_forced,
            nthreads=self.parallel if _forks() else 0,
        )
        sources = {module.name: module.sources for module in generated}
        for module in generated:
            guard_releases(Path(module.sources[0]))
        core = self.build_core()
        for ext in self.extensions:
            names = [module.name for module in modules[ext.name]]
            ext.export_symbols = [f"PyInit_{name.rpartition('.')[2]}" for name in names]
            self.compile_modules(ext, [source for name in names for source in sources[name]], core)
        super().build_extensions()
        if not (self.for_tree or self.editable_mode or self.tools.msvc) and self.tools.flavour == "release":
            self.build_library()

    def build_library(self) -> None:
        """libzarrcore and what finds it, into the package, next to its headers."""
        try:
            if not c_library.is_wanted():
                return
        except c_library.LibraryError as error:
            raise SystemExit(f"error: {error}") from None
        c_library.build(
            Path(self.build_lib, "zarrcore"),
            compiler=self.compiler.compiler_so,
            args=self.tools.compile_args() + self.tools.core_args(),
            objects=self.core_objects,
            native=(self.libs.cflags(), self.libs.ldflags()),
            temp=self.libs_temp / "library",
        )

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """The init functions of an extension's modules; it need not have one of its own name."""
        return ext.export_symbols

    def _forget_if_arguments_changed(self) -> None:
        """Rebuild all objects when the compiler or its arguments are others than last time."""
        command = getattr(self.compiler, "compiler_so", [self.compiler.compiler_type])
        args = (command, self.tools.compile_args(), self.tools.link_args(), DIRECTIVES)
        if _changed(self.inner_temp / "arguments.txt", repr(args)):
            self.force = True

    def build_core(self) -> str:
        """The archive of everything in csrc that knows no Python.

        Of all that is compiled only the codecs know the compression libraries: they are made for each set.
        """
        args = self.tools.compile_args() + self.tools.core_args()
        macros = [("ZC_VERSION", self.distribution.get_version())]
        codecs = set(tree("csrc/codecs/*.c"))
        objects = self.core_objects = self.compile_changed(
            [source for source in core_sources() if source not in codecs],
            include_dirs=["csrc"],
            macros=macros,
            args=args,
        ) + self.compile_changed(
            sorted(codecs),
            include_dirs=["csrc", *self.libs.include_dirs],
            macros=[*self.libs.define_macros, *macros],
            args=args,
            outdir=self.libs_temp,
        )
        # For csrc/Makefile, which need not compile them once more.
        others = [os.path.abspath(path) for path in objects if self.tools.flavour == "release"]
        _changed(Path(self.get_finalized_command("build").build_base, "objects.txt"), " ".join(others))
        archive = self.compiler.library_filename("zarrcore_core", output_dir=str(self.inner_temp))
        members_changed = _changed(self.inner_temp / "members.txt", repr(objects))
        if self.force or members_changed or _older(archive, objects):
            Path(archive).unlink(missing_ok=True)  # ar would keep members whose source is gone
            self.compiler.create_static_lib(objects, "zarrcore_core", output_dir=str(self.inner_temp))
        return archive

    def compile_modules(self, ext: Extension, sources: list[str], core: str) -> None:
        """Compile an extension's own sources; what is left to distutils is the link."""
        import numpy

        border = self.tools.border_args() if ".engine." in ext.name else []
        objects = self.compile_changed(
            sources,
            include_dirs=["csrc", "zarrcore/_core", numpy.get_include()],
            macros=NUMPY_MACROS,
            args=self.tools.compile_args() + self.tools.cython_args() + border,
        )
        libs = self.libs
        ext.sources = []
        ext.extra_objects = [*objects, core, *libs.archives]
        ext.depends = [*ext.extra_objects, EXPORTS]
        ext.library_dirs, ext.libraries = list(libs.library_dirs), list(libs.libraries)
        ext.runtime_library_dirs = list(libs.rpath)
        ext.extra_link_args = [*self.tools.link_args(), *libs.extra_link_args]

    def compile_changed(
        self,
        sources: Sequence[str],
        *,
        include_dirs: list[str],
        macros: list[tuple[str, str | None]],
        args: list[str],
        outdir: Path | None = None,
    ) -> list[str]:
        """Compile those sources that have changed, or a header that they include has."""
        outdir = str(outdir or self.inner_temp)
        objects = self.compiler.object_filenames(list(sources), output_dir=outdir)
        for target in objects:
            os.makedirs(os.path.dirname(target), exist_ok=True)  # before threads would race for it

        def compile_one(source: str) -> None:
            self.compiler.compile(
                [source], output_dir=outdir, include_dirs=include_dirs, macros=macros, extra_postargs=args
            )

        stale = [
            source
            for source, target in zip(sources, objects, strict=True)
            if self.force or _older(target, [source, *_headers_of(target)])
        ]
        _parallel(compile_one, stale, jobs=self.parallel)
        return objects


class BuildPy(build_py):
    """Put the public C headers (csrc/include) next to the Python files (zarrcore/include)."""

    def run(self) -> None:
        """Copy; an editable installation finds the headers in the tree."""
        super().run()
        if self.editable_mode:
            return
        for header in tree("csrc/include/*"):
            target = Path(self.build_lib, "zarrcore", "include", Path(header).relative_to("csrc/include"))
            self.mkpath(str(target.parent))
            self.copy_file(header, str(target))


def _forks() -> bool:
    """Are processes copies of this one?  Others would start with running this file again."""
    return multiprocessing.get_start_method() == "fork"


def _older(target: str, sources: Sequence[str]) -> bool:
    """Is target missing or older than any of its sources?"""
    if not os.path.exists(target):
        return True
    made = os.path.getmtime(target)
    return any(not os.path.exists(source) or os.path.getmtime(source) > made for source in sources)


def _headers_of(target: str) -> list[str]:
    """The headers that went into an object: from the rule that gcc and clang write next to it, else all."""
    rule = Path(target).with_suffix(".d")
    if not rule.exists():
        return tree("csrc/**/*.h")
    return shlex.split(rule.read_text(encoding="utf-8").replace("\\\n", " "))[1:]


def _changed(record: Path, text: str) -> bool:
    """Keep text in a file, and say whether it was another one before."""
    if record.exists() and record.read_text(encoding="utf-8") == text:
        return False
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(text, encoding="utf-8")
    return True


def _parallel(work: Callable[[str], None], items: Sequence[str], *, jobs: int) -> None:
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        list(pool.map(work, items))  # list: raise the first failure here


setup(
    ext_modules=[] if os.environ.get("ZARRCORE_EXTENSIONS") == "0" else extensions(),
    cmdclass={"build_ext": BuildExt, "build_py": BuildPy},
)
