# SPDX-License-Identifier: MIT
"""Find the compression libraries that zarrcore links: blosc, zstd, lz4 and zlib, as one bundle.

The four come from one place, not mixed by chance: an archive of c-blosc contains its own copies of the other
three, and a link line that names both silently takes whichever comes first.  `resolve` tries, in this order:

1. ``ZARRCORE_<LIB>_DIR`` (``BLOSC``, ``ZSTD``, ``LZ4``, ``ZLIB``): prefixes holding ``include/`` and
   ``lib/``.  One that is not given follows ``ZARRCORE_BLOSC_DIR`` or, without that, the only one given.
   Explicit wins: a library missing there is an error.
2. ``ZARRCORE_LIBS=system``: pkg-config, all four or nothing.
3. ``ZARRCORE_LIBS=wheel``: ``libblosc.a`` of the ``blosc`` package from PyPI.
4. ``ZARRCORE_LIBS=source``: the unpacked sdist of ``blosc`` at ``ZARRCORE_BLOSC_SRC``, compiled here.
5. ``ZARRCORE_LIBS=auto``, the default: system if all four answer, else wheel, else an error that says
   what to do.

libdeflate, which doubles the speed of gzip and zlib chunks, is optional and chosen apart from these:
``ZARRCORE_DEFLATE=system`` asks pkg-config, ``=source`` compiles what ``fetch_sources.py`` has brought,
``=DIR`` the source tree in that directory (relative to the root of the project), ``=off`` does without.
``auto``, the default, is system if pkg-config knows it, else source if it has been brought, else off.

zstd may be taken apart too, where the four are archives ("wheel", "source"): what is linked before an archive
takes the place of the copy in it.  ``ZARRCORE_ZSTD=source`` compiles what ``fetch_sources.py`` has brought,
``=DIR`` the source tree in that directory, ``=off`` keeps the archive's own.  ``auto``, the default, is
source if it has been brought, else off.  With the archive of a wheel, made by a newer compiler than is
likely to be here, only the encoder is taken: decoders gain from the compiler, encoders from the release.

As a program it prints what a Makefile needs: ``native_libs.py --cflags | --libs | --describe``.
"""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import compile_sources  # this and the next two are in this directory
import deflate_source
import zstd_source

ROOT = Path(__file__).resolve().parent.parent
DEFLATE_SOURCE = ROOT / "wheels" / "sources" / "libdeflate"
ZSTD_SOURCE = ROOT / "wheels" / "sources" / "zstd"
MODES = ("auto", "system", "wheel", "source")

HEADERS = {"blosc": "blosc.h", "zstd": "zstd.h", "lz4": "lz4.h", "zlib": "zlib.h"}
LINK_NAMES = {"blosc": ("blosc",), "zstd": ("zstd",), "lz4": ("lz4",), "zlib": ("z", "zlib")}
PKG_CONFIG = {
    "blosc": "blosc >= 1.21",
    "zstd": "libzstd >= 1.4",
    "lz4": "liblz4 >= 1.8",
    "zlib": "zlib >= 1.2.8",
}
PKG_CONFIG_DEFLATE = "libdeflate >= 1.6"  # the first with libdeflate_zlib_decompress_ex
WHEEL_MINIMUM = (1, 11, 2)

ADVICE = """\
To build zarrcore, provide blosc, zstd, lz4 and zlib in one of these ways:
  from PyPI       pip install 'blosc>=1.11.2'   (automatic unless --no-build-isolation is given)
  from the system apt-get install pkg-config libblosc-dev libzstd-dev liblz4-dev zlib1g-dev
                  dnf install pkgconf-pkg-config blosc-devel libzstd-devel lz4-devel zlib-devel
                  conda install -c conda-forge pkg-config c-blosc zstd lz4-c zlib
  from a prefix   export ZARRCORE_BLOSC_DIR=/prefix    (with include/ and lib/ of all four)
  from source     pip download --no-binary blosc --no-deps blosc && tar xf blosc-*.tar.gz
                  export ZARRCORE_LIBS=source ZARRCORE_BLOSC_SRC=$PWD/blosc-<version>"""

DEFLATE_ADVICE = """\
libdeflate is optional: ZARRCORE_DEFLATE=off builds without it.  To build with it:
  from the system apt-get install pkg-config libdeflate-dev; dnf install libdeflate-devel
  from PyPI       python wheels/fetch_sources.py libdeflate     (what `make` does)
  from source     export ZARRCORE_DEFLATE=DIR     (with libdeflate.h and lib/)"""

ZSTD_ADVICE = """\
ZARRCORE_ZSTD chooses a zstd to be linked in the place of the one inside of blosc's archive:
  from PyPI       python wheels/fetch_sources.py zstd           (what `make` does)
  from source     export ZARRCORE_ZSTD=DIR        (with zstd.h, common/, compress/, decompress/)
  none            export ZARRCORE_ZSTD=off"""


class ResolveError(RuntimeError):
    """The libraries are not available in the requested way."""

    def __init__(self, reason: str, advice: str = ADVICE) -> None:
        super().__init__(f"{reason}\n\n{advice}")
        self.reason = reason


@dataclass(frozen=True)
class NativeLibs:
    """Where the libraries are; all arguments for a compiler and a linker."""

    origin: str
    """``"system"``, ``"wheel"``, ``"source"`` or ``"prefix"``."""
    detail: str
    """One line for people: version or path."""
    include_dirs: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    """Static libraries, given to the linker as files."""
    extra_link_args: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    has_headers: bool = True
    """Whether zlib.h, zstd.h and lz4.h are there, not only blosc.h."""
    deflate: str | None = None
    """Where libdeflate comes from, one line for people; None: built without."""
    zstd: str | None = None
    """Where zstd comes from, if not from the same place."""
    zstd_encoder: str | None = None
    """The version of an encoder for zstd that is used with the bundle's decoder."""

    def __str__(self) -> str:
        zstd = f"; zstd: {self.zstd}" if self.zstd else ""
        return f"{self.origin}: {self.detail}{zstd}; libdeflate: {self.deflate or 'none'}"

    @property
    def define_macros(self) -> tuple[tuple[str, str | None], ...]:
        """``ZC_SYSTEM_LIBS=1`` where the real headers are included instead of our own prototypes."""
        macros: list[tuple[str, str | None]] = [("ZC_LIBS_ORIGIN", self.origin)]
        if self.has_headers:
            macros.append(("ZC_SYSTEM_LIBS", "1"))
        if self.deflate:
            macros.append(("ZC_HAVE_LIBDEFLATE", "1"))
        if self.zstd_encoder:
            macros.append(("ZC_ZSTD_ENCODER", self.zstd_encoder))
        return tuple(macros)

    def cflags(self) -> list[str]:
        """Compiler arguments in the form of cc."""
        macros = [f"-D{name}={value}" for name, value in self.define_macros]
        return macros + [f"-I{path}" for path in self.include_dirs]

    def ldflags(self) -> list[str]:
        """Linker arguments in the form of cc."""
        rpath = [f"-Wl,-rpath,{path}" for path in self.rpath]
        search = [f"-L{path}" for path in self.library_dirs]
        return [
            *self.archives,
            *search,
            *rpath,
            *(f"-l{name}" for name in self.libraries),
            *self.extra_link_args,
        ]


def resolve(
    environ: Mapping[str, str] = os.environ, *, build_dir: str | os.PathLike[str] = "build"
) -> NativeLibs:
    """Find the bundle, zstd and libdeflate as the environment asks; see the module's docstring for the order.

    Parameters
    ----------
    environ
        Read for ``ZARRCORE_LIBS``, ``ZARRCORE_<LIB>_DIR``, ``ZARRCORE_BLOSC_SRC``, ``ZARRCORE_ZSTD``,
        ``ZARRCORE_DEFLATE``, ``PKG_CONFIG`` and ``CC``.
    build_dir
        Where libraries that are compiled here have their objects.

    Raises
    ------
    ResolveError
        Nothing suitable was found; the message holds the reason and the commands that fix it.
    """
    libs = with_zstd(resolve_bundle(environ, build_dir=build_dir), environ, build_dir=build_dir)
    return with_deflate(libs, environ, build_dir=build_dir)


def resolve_bundle(environ: Mapping[str, str], *, build_dir: str | os.PathLike[str]) -> NativeLibs:
    """Find blosc, zstd, lz4 and zlib."""
    mode = environ.get("ZARRCORE_LIBS") or "auto"
    if mode not in MODES:
        raise ResolveError(f"ZARRCORE_LIBS={mode!r}: expected one of {', '.join(MODES)}")
    prefixes = _explicit_prefixes(environ)
    if prefixes:
        if mode in ("wheel", "source"):
            raise ResolveError(
                f"ZARRCORE_LIBS={mode} and {_variable(next(iter(prefixes)))} contradict each other: "
                "the four libraries come from one place; unset one of the two"
            )
        return from_prefixes(prefixes)
    if mode == "source":
        return from_source(environ, build_dir=build_dir)
    if mode != "auto":
        return {"system": from_system, "wheel": from_wheel}[mode](environ)
    return _first(environ, (from_system, from_wheel))


def _first(
    environ: Mapping[str, str], finders: Sequence[Callable[[Mapping[str, str]], NativeLibs]]
) -> NativeLibs:
    """The first finder that succeeds; if none does, all their reasons."""
    reasons = []
    for find in finders:
        try:
            return find(environ)
        except ResolveError as error:
            reasons.append(f"{find.__name__.removeprefix('from_')}: {error.reason}")
    raise ResolveError("no compression libraries found\n  " + "\n  ".join(reasons))


# ---- 1. prefixes ----


def _variable(library: str) -> str:
    return f"ZARRCORE_{library.upper()}_DIR"


def _explicit_prefixes(environ: Mapping[str, str]) -> dict[str, str]:
    return {library: environ[_variable(library)] for library in HEADERS if environ.get(_variable(library))}


def from_prefixes(prefixes: Mapping[str, str]) -> NativeLibs:
    """All four libraries from given prefixes; those not named share the prefix of the others."""
    default = prefixes.get("blosc")
    if default is None:
        if len(set(prefixes.values())) > 1:
            raise ResolveError("ZARRCORE_BLOSC_DIR is not set and the other prefixes differ: set it too")
        default = next(iter(prefixes.values()))
    chosen = {library: Path(prefixes.get(library, default)) for library in HEADERS}
    include_dirs, library_dirs, names = [], [], []
    for library, prefix in chosen.items():
        include_dirs.append(_include_dir(library, prefix))
        directory, name = _library_file(library, prefix)
        library_dirs.append(directory)
        names.append(name)
    unique_dirs = tuple(dict.fromkeys(library_dirs))
    return NativeLibs(
        origin="prefix",
        detail=", ".join(dict.fromkeys(str(path) for path in chosen.values())),
        include_dirs=tuple(dict.fromkeys(include_dirs)),
        library_dirs=unique_dirs,
        libraries=tuple(names),
        rpath=() if sys.platform == "win32" else unique_dirs,
    )


def _include_dir(library: str, prefix: Path) -> str:
    header = prefix / "include" / HEADERS[library]
    if not header.is_file():
        raise ResolveError(f"{library}: {header} not found (prefix from {_variable(library)} or its default)")
    return str(header.parent)


def _library_file(library: str, prefix: Path) -> tuple[str, str]:
    patterns = ("lib{}.so", "lib{}.dylib", "lib{}.a", "{}.lib", "lib{}.lib")
    for directory in (prefix / "lib", prefix / "lib64"):
        for name in LINK_NAMES[library]:
            for pattern in patterns:
                if (directory / pattern.format(name)).is_file():
                    return str(directory), name
    raise ResolveError(
        f"{library}: no library in {prefix / 'lib'} (prefix from {_variable(library)} or its default)"
    )


# ---- 2. system ----


def from_system(environ: Mapping[str, str]) -> NativeLibs:
    """All four from pkg-config."""
    tool = shlex.split(environ.get("PKG_CONFIG") or "pkg-config")
    missing = [name for name in PKG_CONFIG if not _pkg_config_has(tool, PKG_CONFIG[name], environ)]
    if missing:
        wanted = ", ".join(PKG_CONFIG[name] for name in missing)
        raise ResolveError(f"pkg-config ({shlex.join(tool)}) does not know {wanted}")
    packages = [requirement.split()[0] for requirement in PKG_CONFIG.values()]
    compile_args = _pkg_config(tool, ["--cflags", *packages], environ)
    link_args = _pkg_config(tool, ["--libs", *packages], environ)
    versions = _pkg_config(tool, ["--modversion", *packages], environ)
    return NativeLibs(
        origin="system",
        detail=", ".join(f"{name} {version}" for name, version in zip(HEADERS, versions, strict=True)),
        include_dirs=_with_flag(compile_args, "-I"),
        library_dirs=_with_flag(link_args, "-L"),
        libraries=_with_flag(link_args, "-l"),
        extra_link_args=tuple(arg for arg in link_args if arg[:2] not in ("-L", "-l")),
    )


def _pkg_config_has(tool: Sequence[str], requirement: str, environ: Mapping[str, str]) -> bool:
    try:
        _pkg_config(tool, ["--exists", requirement], environ)
    except ResolveError:
        return False
    return True


def _pkg_config(tool: Sequence[str], args: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    try:
        done = subprocess.run(
            [*tool, *args], env=dict(environ), capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ResolveError(f"{shlex.join([*tool, *args])}: {error}") from error
    return shlex.split(done.stdout)


def _with_flag(args: Sequence[str], flag: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(arg[len(flag) :] for arg in args if arg.startswith(flag)))


# ---- 3. wheel ----


def from_wheel(environ: Mapping[str, str] | None = None) -> NativeLibs:
    """The static archive inside the installed `blosc` package: blosc, zstd, lz4 and zlib in one file."""
    try:
        package = importlib.metadata.distribution("blosc")
    except importlib.metadata.PackageNotFoundError:
        raise ResolveError(f"the Python package 'blosc' is not installed for {sys.executable}") from None
    if _version_tuple(package.version) < WHEEL_MINIMUM:
        wanted = ".".join(map(str, WHEEL_MINIMUM))
        raise ResolveError(f"the Python package 'blosc' is version {package.version}, but {wanted} is needed")
    archive = _packaged_file(package, ("libblosc.a", "libblosc.lib"))
    header = _packaged_file(package, ("blosc.h",))
    return NativeLibs(
        origin="wheel",
        detail=f"blosc {package.version} from PyPI",
        include_dirs=(str(header.parent),),
        archives=(str(archive),),
        has_headers=False,
    )


def _version_tuple(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _packaged_file(package: importlib.metadata.Distribution, names: Sequence[str]) -> Path:
    for file in package.files or ():
        path = Path(str(package.locate_file(file)))
        if file.name in names and path.is_file():
            return path.resolve()
    raise ResolveError(f"the Python package 'blosc' {package.version} holds no {' or '.join(names)}")


# ---- 4. source ----


def from_source(environ: Mapping[str, str], *, build_dir: str | os.PathLike[str]) -> NativeLibs:
    """Compile the unpacked sdist of `blosc` that ``ZARRCORE_BLOSC_SRC`` points to."""
    where = environ.get("ZARRCORE_BLOSC_SRC")
    if not where:
        raise ResolveError(
            "ZARRCORE_LIBS=source needs ZARRCORE_BLOSC_SRC, the directory of an unpacked blosc sdist"
        )
    import blosc_source  # in this directory; only this way of the four needs it

    try:
        tree = blosc_source.find_tree(Path(where))
        archive = blosc_source.build_archive(tree, Path(build_dir) / "blosc-source", environ)
    except blosc_source.SourceError as error:
        raise ResolveError(f"ZARRCORE_BLOSC_SRC={where}: {error}") from error
    return NativeLibs(
        origin="source",
        detail=f"compiled from {where}",
        include_dirs=tuple(str(path) for path in tree.include_dirs),
        archives=(str(archive),),
    )


# ---- zstd by itself ----


def with_zstd(
    libs: NativeLibs, environ: Mapping[str, str], *, build_dir: str | os.PathLike[str]
) -> NativeLibs:
    """The same libraries and, if it is wanted and found, a zstd that comes before that of the archive."""
    mode = environ.get("ZARRCORE_ZSTD") or "auto"
    if mode == "off" or (mode == "auto" and not (libs.archives and ZSTD_SOURCE.is_dir())):
        return libs
    if not libs.archives:
        raise ResolveError(
            f"ZARRCORE_ZSTD={mode}: blosc comes from {libs.origin}, which brings its zstd; "
            "only an archive's is replaced",
            ZSTD_ADVICE,
        )
    where = ZSTD_SOURCE if mode in ("auto", "source") else Path(ROOT, mode)
    try:
        tree = zstd_source.find_tree(where)
        beside = libs.origin == "wheel" and compile_sources.can_hide_names()
        encoder = zstd_source.version_of(tree) if beside else None
        compiled = zstd_source.encoder_of(tree) if beside else tree
        archive = compile_sources.build_archive(compiled, Path(build_dir) / "zstd-source")
    except compile_sources.SourceError as error:
        raise ResolveError(f"ZARRCORE_ZSTD={where}: {error}", ZSTD_ADVICE) from error
    return replace(
        libs,
        include_dirs=_joined((str(tree.include_dir),), libs.include_dirs),
        archives=(str(archive), *libs.archives),
        zstd=f"{'encoder ' if beside else ''}compiled from {where}",
        zstd_encoder=encoder,
    )


# ---- libdeflate ----


def with_deflate(
    libs: NativeLibs, environ: Mapping[str, str], *, build_dir: str | os.PathLike[str]
) -> NativeLibs:
    """The same libraries and, if it is wanted and found, libdeflate."""
    mode = environ.get("ZARRCORE_DEFLATE") or "auto"
    if mode == "off":
        return libs
    if mode in ("auto", "system"):
        try:
            return _with_system_deflate(libs, environ)
        except ResolveError:
            if mode == "system":
                raise
    if mode == "auto" and not DEFLATE_SOURCE.is_dir():
        return libs
    where = DEFLATE_SOURCE if mode in ("auto", "source") else Path(ROOT, mode)
    return _with_compiled_deflate(libs, where, Path(build_dir))


def _with_system_deflate(libs: NativeLibs, environ: Mapping[str, str]) -> NativeLibs:
    tool = shlex.split(environ.get("PKG_CONFIG") or "pkg-config")
    if not _pkg_config_has(tool, PKG_CONFIG_DEFLATE, environ):
        raise ResolveError(
            f"pkg-config ({shlex.join(tool)}) does not know {PKG_CONFIG_DEFLATE}", DEFLATE_ADVICE
        )
    compile_args = _pkg_config(tool, ["--cflags", "libdeflate"], environ)
    link_args = _pkg_config(tool, ["--libs", "libdeflate"], environ)
    version = _pkg_config(tool, ["--modversion", "libdeflate"], environ)
    return replace(
        libs,
        # After the directories of the bundle, which stays the first to be searched.
        include_dirs=_joined(libs.include_dirs, _with_flag(compile_args, "-I")),
        library_dirs=_joined(libs.library_dirs, _with_flag(link_args, "-L")),
        libraries=_joined(libs.libraries, _with_flag(link_args, "-l")),
        deflate=f"system, {' '.join(version)}",
    )


def _with_compiled_deflate(libs: NativeLibs, where: Path, build_dir: Path) -> NativeLibs:
    try:
        tree = deflate_source.find_tree(where)
        archive = compile_sources.build_archive(tree, build_dir / "deflate-source")
    except compile_sources.SourceError as error:
        raise ResolveError(f"ZARRCORE_DEFLATE={where}: {error}", DEFLATE_ADVICE) from error
    return replace(
        libs,
        include_dirs=_joined(libs.include_dirs, (str(tree.include_dir),)),
        archives=(*libs.archives, str(archive)),
        deflate=f"compiled from {where}",
    )


def _joined(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


# ---- command line ----


def main(argv: Sequence[str]) -> int:
    """Print one part of the answer for a Makefile."""
    outputs: dict[str, Callable[[NativeLibs], str]] = {
        "--cflags": lambda libs: shlex.join(libs.cflags()),
        "--libs": lambda libs: shlex.join(libs.ldflags()),
        "--describe": str,
    }
    if len(argv) != 1 or argv[0] not in outputs:
        print(f"usage: native_libs.py {' | '.join(outputs)}", file=sys.stderr)
        return 2
    try:
        libs = resolve()
    except ResolveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(outputs[argv[0]](libs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
