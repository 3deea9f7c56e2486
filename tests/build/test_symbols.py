# SPDX-License-Identifier: MIT
"""The compiled modules export init functions only, so that nothing else binds to our copy of zstd."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "zarrcore" / "_core"
CODEC_SYMBOLS = {
    "blosc": ("blosc_",),
    "zstd": ("ZSTD_",),
    "lz4": ("LZ4_",),
    "zlib": ("inflate", "deflate"),
}

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files"),
    pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm (binutils)"),
]


def shared_objects() -> dict[str, list[str]]:
    """The modules that are in each of our shared objects, by the name of that without its suffix."""
    alone = {path.stem: [path.stem] for path in CORE.glob("*.pyx")}
    folders = {path.parent for path in CORE.glob("*/*.pyx")}
    return alone | {
        f"{folder.name}/_modules": sorted(path.stem for path in folder.glob("*.pyx")) for folder in folders
    }


def object_file(name: str) -> Path:
    found = [CORE / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES]
    return next(path for path in found if path.exists())


def dynamic_symbols(path: Path, which: str) -> list[tuple[str, str]]:
    """(type letter, name) of the dynamic symbols that are ``defined`` or ``undefined``."""
    command = ["nm", "-D", f"--{which}-only", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [(line.split()[-2], line.split()[-1].partition("@")[0]) for line in lines]


@pytest.mark.parametrize("name", sorted(shared_objects()))
def test_only_the_init_functions_are_exported(name: str) -> None:
    exported = [symbol for _, symbol in dynamic_symbols(object_file(name), "defined")]
    assert sorted(exported) == [f"PyInit_{module}" for module in shared_objects()[name]]


def test_compression_libraries_come_from_one_place() -> None:
    """All four are linked statically, or all four are shared libraries of the system."""
    undefined = dynamic_symbols(object_file("engine/_modules"), "undefined")
    strong = [symbol for kind, symbol in undefined if kind == "U"]
    from_outside = {
        library for library, prefixes in CODEC_SYMBOLS.items() if any(s.startswith(prefixes) for s in strong)
    }
    assert from_outside in (set(), set(CODEC_SYMBOLS))


def test_kernels_need_no_compression_library() -> None:
    names = [symbol for _, symbol in dynamic_symbols(object_file("kernels"), "undefined")]
    prefixes = tuple(prefix for group in CODEC_SYMBOLS.values() for prefix in group)
    assert [name for name in names if name.startswith(prefixes)] == []
