# SPDX-License-Identifier: MIT
"""What this installation was built with."""

from __future__ import annotations

from typing import Literal, TypedDict, overload


class BuildConfig(TypedDict):
    """The output of :func:`show_config`."""

    version: str
    """The version of zarrcore."""
    libraries: dict[str, str | None]
    """The version of each compression library that is linked; None for one that the build does without."""
    origin: str
    """Where the build found them: ``"system"``, ``"wheel"``, ``"source"`` or ``"prefix"``."""


@overload
def show_config(*, mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(*, mode: Literal["dicts"]) -> BuildConfig: ...
def show_config(*, mode: Literal["stdout", "dicts"] = "stdout") -> BuildConfig | None:
    """Print or return which compression libraries are linked, in which versions.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Print it, or return it.

    Returns
    -------
    dict or None
        With the keys ``version``, ``libraries`` and ``origin``; None when it was printed.

    Notes
    -----
    The versions are those of the libraries that run, which for shared libraries may be newer than those of
    the build.  zstd's encoder may be of a later release than its decoder.  Without libdeflate, gzip and zlib
    chunks are the work of zlib, at about half the speed.

    Examples
    --------
    >>> import zarrcore
    >>> sorted(zarrcore.show_config(mode="dicts")["libraries"])
    ['blosc', 'libdeflate', 'lz4', 'zlib', 'zstd', 'zstd encoder']
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"mode: expected 'stdout' or 'dicts', got {mode!r}")
    found = _build_config()
    if mode == "dicts":
        return found
    print(f"zarrcore {found['version']}, libraries from: {found['origin']}")
    for name, version in found["libraries"].items():
        print(f"  {name:<12} {version or 'not built in'}")
    return None


def _build_config() -> BuildConfig:
    from zarrcore._core import engine
    from zarrcore._version import __version__

    return {"version": __version__, "libraries": engine.libraries(), "origin": engine.libraries_origin()}
