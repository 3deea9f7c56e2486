# SPDX-License-Identifier: MIT
"""Where the C headers are, and libzarrcore in those packages that have it."""

from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """Return the directory of ``zarrcore.h``, for the include directories of an extension module.

    Returns
    -------
    str
        An absolute path.

    Raises
    ------
    FileNotFoundError
        If this installation has no headers.

    Notes
    -----
    A wheel has them in the package; a source tree that is used in place, under ``csrc``.

    Examples
    --------
    >>> import os, zarrcore
    >>> os.path.isfile(os.path.join(zarrcore.get_include(), "zarrcore.h"))
    True
    """
    package = Path(__file__).resolve().parent
    for directory in (package / "include", package.parent / "csrc" / "include"):
        if (directory / "zarrcore.h").is_file():
            return str(directory)
    raise FileNotFoundError(f"zarrcore.h is not in {package / 'include'}: the installation has no C headers")


def _lib() -> Path:
    """Return the directory of libzarrcore; there is none in source trees and on Windows."""
    lib = Path(__file__).resolve().parent / "lib"
    if not (lib / "pkgconfig" / "zarrcore.pc").is_file():
        raise FileNotFoundError(
            f"libzarrcore is not in {lib}: the package was built without it, or is used in place; "
            "extension modules need nothing but --cflags, and for programs `make lib` builds it"
        )
    return lib


def _link(lib: Path, *, static: bool) -> list[str]:
    """Return what a linker needs for the shared library, which programs find later, or for the static one."""
    if static:
        text = (lib / "pkgconfig" / "zarrcore.pc").read_text(encoding="utf-8")
        private = text.partition("Libs.private:")[2].partition("\n")[0].split()
        return [str(lib / "libzarrcore.a"), *private]
    (shared,) = (path for path in lib.glob("libzarrcore.*") if path.suffix != ".a")
    return [str(shared), f"-Wl,-rpath,{lib}"]


def flags(options: set[str]) -> str:
    """Return what ``python -m zarrcore --cflags --libs`` and the like print."""
    from shlex import join

    parts = [f"-I{get_include()}"] if "--cflags" in options else []
    if options & {"--libs", "--static"}:
        parts += _link(_lib(), static="--static" in options)
    if "--cmakedir" in options:
        parts.append(str(_lib() / "cmake" / "Zarrcore"))
    if "--pkgconfigdir" in options:
        parts.append(str(_lib() / "pkgconfig"))
    return join(parts)
