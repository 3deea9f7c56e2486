# SPDX-License-Identifier: MIT
"""The compiled modules export one symbol each: nothing else in the process can bind to our copy of zstd."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "zarrcore" / "_core").glob("*.pyx"))
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


def module_file(name: str) -> Path:
    spec = importlib.util.find_spec(f"zarrcore._core.{name}")
    assert spec is not None and spec.origin is not None, f"zarrcore._core.{name} is not built"
    return Path(spec.origin)


def dynamic_symbols(path: Path, which: str) -> list[tuple[str, str]]:
    """(type letter, name) of the dynamic symbols that are ``defined`` or ``undefined``."""
    command = ["nm", "-D", f"--{which}-only", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [(line.split()[-2], line.split()[-1].partition("@")[0]) for line in lines]


@pytest.mark.parametrize("name", MODULES)
def test_only_the_init_function_is_exported(name: str) -> None:
    exported = [symbol for _, symbol in dynamic_symbols(module_file(name), "defined")]
    assert exported == [f"PyInit_{name}"]


def test_compression_libraries_come_from_one_place() -> None:
    """All four are linked statically, or all four are shared libraries of the system."""
    strong = [symbol for kind, symbol in dynamic_symbols(module_file("engine"), "undefined") if kind == "U"]
    from_outside = {
        library for library, prefixes in CODEC_SYMBOLS.items() if any(s.startswith(prefixes) for s in strong)
    }
    assert from_outside in (set(), set(CODEC_SYMBOLS))


def test_kernels_need_no_compression_library() -> None:
    names = [symbol for _, symbol in dynamic_symbols(module_file("kernels"), "undefined")]
    prefixes = tuple(prefix for group in CODEC_SYMBOLS.values() for prefix in group)
    assert [name for name in names if name.startswith(prefixes)] == []
