# SPDX-License-Identifier: MIT
"""ZARRCORE_ZSTD: a zstd that takes the place of the one inside of blosc's archive."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import compile_sources
import native_libs
import pytest

import zarrcore

BROUGHT = native_libs.ZSTD_SOURCE
BUNDLE = native_libs.NativeLibs(
    origin="wheel",
    detail="blosc 1.11.4 from PyPI",
    include_dirs=("/bundle/include",),
    archives=("/bundle/libblosc.a",),
    has_headers=False,
)
COMPILED = replace(BUNDLE, origin="source", detail="compiled from /blosc")
SYSTEM = replace(BUNDLE, origin="system", archives=(), libraries=("blosc", "zstd", "lz4", "z"))
needs_cc = pytest.mark.skipif(sys.platform == "win32", reason="needs a compiler with cc's command line")


@pytest.fixture(autouse=True)
def nothing_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As in a fresh checkout: the directory in which fetch_sources.py would put zstd."""
    monkeypatch.setattr(native_libs, "ZSTD_SOURCE", tmp_path / "sources" / "zstd")
    return native_libs.ZSTD_SOURCE


def make_tree(root: Path) -> Path:
    """The skeleton of zstd's source tree."""
    texts = {
        "common": "int common(void) { return 17; }\n",
        "compress": "int common(void); int compress(void) { return common(); }\n",
        "decompress": "int common(void); int decompress(void) { return common(); }\n",
    }
    for part, text in texts.items():
        (root / "lib" / part).mkdir(parents=True)
        (root / "lib" / part / f"{part}.c").write_text(text, encoding="ascii")
    numbers = {"MAJOR": 1, "MINOR": 5, "RELEASE": 17}
    lines = [f"#define ZSTD_VERSION_{part}    {number}\n" for part, number in numbers.items()]
    (root / "lib" / "zstd.h").write_text("".join(lines), encoding="ascii")
    return root


def names_of(archive: str) -> set[str]:
    """What an archive offers to the linker."""
    listed = subprocess.run(
        ["nm", "-P", "-g", "--defined-only", archive], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[0] for line in listed.splitlines() if " " in line}


def resolve(
    tmp_path: Path, mode: str | None, libs: native_libs.NativeLibs = BUNDLE
) -> native_libs.NativeLibs:
    environ = {} if mode is None else {"ZARRCORE_ZSTD": mode}
    return native_libs.with_zstd(libs, environ, build_dir=tmp_path / "build")


@pytest.mark.parametrize("mode", ["auto", "off", "", None])
def test_without_it_the_archive_keeps_its_own(tmp_path: Path, mode: str | None) -> None:
    assert resolve(tmp_path, mode) is BUNDLE
    assert "zstd:" not in str(BUNDLE)


@needs_cc
@pytest.mark.parametrize("mode", ["auto", "source", None])
def test_source_that_was_brought_comes_first(tmp_path: Path, nothing_brought: Path, mode: str | None) -> None:
    make_tree(nothing_brought)
    libs = resolve(tmp_path, mode, COMPILED)
    assert len(libs.archives) == 2 and libs.archives[1] == "/bundle/libblosc.a"
    assert libs.zstd == f"compiled from {nothing_brought}" and libs.zstd in str(libs)
    made = Path(libs.archives[0]).stat().st_mtime_ns
    assert resolve(tmp_path, mode, COMPILED) == libs
    assert Path(libs.archives[0]).stat().st_mtime_ns == made, "compiled once"


@needs_cc
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm (binutils)")
@pytest.mark.parametrize("libs", [BUNDLE, COMPILED])
def test_only_the_encoder_is_taken_beside_the_archive_of_a_wheel(
    tmp_path: Path, libs: native_libs.NativeLibs, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = str(make_tree(tmp_path / "src"))
    chosen = resolve(tmp_path, tree, libs)
    if libs is COMPILED or not compile_sources.can_hide_names():
        assert names_of(chosen.archives[0]) == {"common", "compress", "decompress"}
        assert chosen.zstd_encoder is None
        return
    assert names_of(chosen.archives[0]) == {"compress"}, "what both releases define is private"
    assert ("ZC_ZSTD_ENCODER", "1.5.17") in chosen.define_macros and "encoder" in str(chosen)
    monkeypatch.setattr(compile_sources, "can_hide_names", lambda: False)
    whole = resolve(tmp_path, tree, libs)
    assert names_of(whole.archives[0]) == {"common", "compress", "decompress"}


@needs_cc
def test_a_header_without_version_is_an_error(tmp_path: Path) -> None:
    if not compile_sources.can_hide_names():
        pytest.skip("the encoder cannot be taken alone here")
    root = make_tree(tmp_path / "src")
    (root / "lib" / "zstd.h").write_text("", encoding="ascii")
    with pytest.raises(native_libs.ResolveError, match="does not say its version"):
        resolve(tmp_path, str(root))


@needs_cc
def test_off_ignores_what_was_brought(tmp_path: Path, nothing_brought: Path) -> None:
    make_tree(nothing_brought)
    assert resolve(tmp_path, "off") is BUNDLE


@needs_cc
def test_libraries_of_the_system_are_never_mixed_with_it(tmp_path: Path, nothing_brought: Path) -> None:
    make_tree(nothing_brought)
    assert resolve(tmp_path, "auto", SYSTEM) is SYSTEM
    with pytest.raises(native_libs.ResolveError, match="blosc comes from system") as caught:
        resolve(tmp_path, "source", SYSTEM)
    assert "ZARRCORE_ZSTD=off" in str(caught.value)


def test_source_that_was_not_brought_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(native_libs.ResolveError, match="no zstd source tree here") as caught:
        resolve(tmp_path, "source")
    assert "fetch_sources.py zstd" in str(caught.value)


@needs_cc
def test_broken_sources_are_an_error(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "src")
    (root / "lib" / "common" / "common.c").write_text("#error broken\n", encoding="ascii")
    with pytest.raises(native_libs.ResolveError, match="^ZARRCORE_ZSTD="):
        resolve(tmp_path, str(root))


@pytest.mark.skipif(
    not BROUGHT.is_dir() or zarrcore.show_config(mode="dicts")["origin"] not in ("wheel", "source"),
    reason="zstd was not brought, or comes with blosc from elsewhere",
)
def test_the_module_has_the_zstd_that_was_brought() -> None:
    header = (BROUGHT / "lib" / "zstd.h").read_text(encoding="utf-8")
    numbers = [
        line.split()[2]
        for part in ("MAJOR", "MINOR", "RELEASE")
        for line in header.splitlines()
        if line.startswith(f"#define ZSTD_VERSION_{part} ")
    ]
    assert zarrcore.show_config(mode="dicts")["libraries"]["zstd encoder"] == ".".join(numbers)
