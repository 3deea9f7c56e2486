# SPDX-License-Identifier: MIT
"""ZARRCORE_DEFLATE: where libdeflate comes from, that asking for it never means going without, its gains."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import native_libs
import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine

LIBDEFLATE = zarrcore.show_config(mode="dicts")["libraries"]["libdeflate"]
BUNDLE = native_libs.NativeLibs(
    origin="wheel",
    detail="blosc 1.11.4 from PyPI",
    include_dirs=("/bundle/include",),
    archives=("/bundle/libblosc.a",),
    has_headers=False,
)
needs_sh = pytest.mark.skipif(
    not os.path.exists("/bin/sh"), reason="the stand-in for pkg-config is a shell script"
)
needs_cc = pytest.mark.skipif(sys.platform == "win32", reason="needs a compiler with cc's command line")


def make_pkg_config(path: Path, known: bool) -> str:
    """A pkg-config that knows libdeflate, or nothing."""
    path.write_text(
        "#!/bin/sh\n"
        'case "$1 $2" in\n'
        f'"--exists libdeflate >= 1.6") exit {0 if known else 1};;\n'
        '"--cflags libdeflate") echo -I/sys/include;;\n'
        '"--libs libdeflate") echo -L/sys/lib -ldeflate;;\n'
        '"--modversion libdeflate") echo 1.14;;\n'
        "*) exit 1;;\n"
        "esac\n",
        encoding="ascii",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def make_tree(root: Path, body: str = "int libdeflate_stand_in(void) { return 0; }\n") -> Path:
    """The skeleton of libdeflate's source tree, with one C file at each depth."""
    (root / "lib" / "x86").mkdir(parents=True)
    (root / "libdeflate.h").touch()
    (root / "lib" / "crc32.c").write_text(body, encoding="ascii")
    (root / "lib" / "x86" / "cpu_features.c").write_text("int other;\n", encoding="ascii")
    return root


@pytest.fixture(autouse=True)
def nothing_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As in a fresh checkout: the directory in which fetch_sources.py would put libdeflate."""
    monkeypatch.setattr(native_libs, "DEFLATE_SOURCE", tmp_path / "sources" / "libdeflate")
    return native_libs.DEFLATE_SOURCE


def resolve(tmp_path: Path, mode: str | None, **environ: str) -> native_libs.NativeLibs:
    if mode is not None:
        environ["ZARRCORE_DEFLATE"] = mode
    return native_libs.with_deflate(BUNDLE, environ, build_dir=tmp_path / "build")


# ---- system, auto, off ----


@needs_sh
@pytest.mark.parametrize("mode", ["system", "auto", "", None])
def test_system(tmp_path: Path, mode: str | None) -> None:
    libs = resolve(tmp_path, mode, PKG_CONFIG=make_pkg_config(tmp_path / "pkg-config", known=True))
    assert libs.deflate == "system, 1.14"
    assert libs.include_dirs == ("/bundle/include", "/sys/include"), "the bundle is searched first"
    assert libs.library_dirs == ("/sys/lib",)
    assert libs.libraries == ("deflate",)
    assert libs.archives == BUNDLE.archives
    assert ("ZC_HAVE_LIBDEFLATE", "1") in libs.define_macros
    assert "libdeflate: system, 1.14" in str(libs)


@needs_sh
@pytest.mark.parametrize("mode", ["auto", "", None])
def test_auto_without_it_is_off(tmp_path: Path, mode: str | None) -> None:
    assert resolve(tmp_path, mode, PKG_CONFIG=make_pkg_config(tmp_path / "pkg-config", known=False)) == BUNDLE
    assert resolve(tmp_path, mode, PKG_CONFIG=str(tmp_path / "none")) == BUNDLE


@needs_sh
def test_system_without_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(native_libs.ResolveError, match="does not know libdeflate >= 1.6") as caught:
        resolve(tmp_path, "system", PKG_CONFIG=make_pkg_config(tmp_path / "pkg-config", known=False))
    assert "ZARRCORE_DEFLATE=off" in str(caught.value)
    assert "fetch_sources.py" in str(caught.value)


@needs_sh
def test_off_asks_nobody(tmp_path: Path) -> None:
    assert resolve(tmp_path, "off", PKG_CONFIG=make_pkg_config(tmp_path / "pkg-config", known=True)) == BUNDLE
    assert ("ZC_HAVE_LIBDEFLATE", "1") not in BUNDLE.define_macros
    assert "libdeflate: none" in str(BUNDLE)


# ---- a source tree ----


@needs_sh
@needs_cc
@pytest.mark.parametrize("mode", ["auto", "source"])
def test_source_that_was_brought(tmp_path: Path, nothing_brought: Path, mode: str) -> None:
    make_tree(nothing_brought)
    libs = resolve(tmp_path, mode, PKG_CONFIG=str(tmp_path / "none"))
    assert libs.deflate == f"compiled from {nothing_brought}"
    assert libs.archives[0] == BUNDLE.archives[0] and len(libs.archives) == 2


@needs_sh
def test_system_is_asked_first(tmp_path: Path, nothing_brought: Path) -> None:
    make_tree(nothing_brought)
    known = make_pkg_config(tmp_path / "pkg-config", known=True)
    assert resolve(tmp_path, "auto", PKG_CONFIG=known).deflate == "system, 1.14"


def test_source_that_was_not_brought_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(native_libs.ResolveError, match="no libdeflate source tree here") as caught:
        resolve(tmp_path, "source")
    assert "fetch_sources.py" in str(caught.value)


@needs_cc
@pytest.mark.parametrize("below", ["", "libdeflate", "deflate-0.9.0/libdeflate"])
def test_tree_is_found_and_compiled_once(tmp_path: Path, below: str) -> None:
    root = make_tree(tmp_path / "src" / below)
    libs = resolve(tmp_path, str(tmp_path / "src"))
    assert libs.include_dirs == ("/bundle/include", str(root.resolve()))
    assert libs.archives[0] == "/bundle/libblosc.a"
    archive = Path(libs.archives[1])
    made = archive.stat().st_mtime_ns
    assert resolve(tmp_path, str(tmp_path / "src")) == libs
    assert archive.stat().st_mtime_ns == made
    (root / "lib" / "crc32.c").write_text("int changed;\n", encoding="ascii")
    assert resolve(tmp_path, str(tmp_path / "src")).archives[1] != str(archive)


@needs_cc
def test_tree_that_does_not_compile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_tree(tmp_path / "src", "#error no such thing\n")
    with pytest.raises(native_libs.ResolveError, match="^ZARRCORE_DEFLATE="):
        resolve(tmp_path, str(tmp_path / "src"))
    assert "no such thing" in capfd.readouterr().err
    assert not [path for path in (tmp_path / "build").rglob("*") if path.is_file()]


def test_directory_that_holds_no_tree(tmp_path: Path) -> None:
    with pytest.raises(native_libs.ResolveError, match="no libdeflate source tree here"):
        resolve(tmp_path, str(tmp_path))


def test_relative_directory_is_that_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(native_libs.ResolveError) as caught:
        resolve(tmp_path, "no/such/directory")
    assert str(native_libs.ROOT / "no/such/directory") in str(caught.value)


# ---- what the build made of it ----


def test_show_config_names_the_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    found = zarrcore.show_config(mode="dicts")
    assert list(found["libraries"]) == ["blosc", "zstd", "zstd encoder", "lz4", "zlib", "libdeflate"]
    assert all(found["libraries"][name] for name in ("blosc", "zstd", "lz4", "zlib"))
    assert found["origin"] in ("system", "wheel", "source", "prefix")
    zarrcore.show_config()
    text = capsys.readouterr().out
    for name, version in found["libraries"].items():
        assert f"{name:<12} {version or 'not built in'}" in text
    with pytest.raises(ValueError, match="mode: expected 'stdout' or 'dicts', got 'json'"):
        zarrcore.show_config(mode="json")  # type: ignore[call-overload]


@pytest.mark.parametrize("codec", ["gzip", "zlib"])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_python_reads_what_either_library_wrote(codec: str, level: int) -> None:
    import gzip
    import zlib

    data = bytes(range(256)) * 257
    decompress = gzip.decompress if codec == "gzip" else zlib.decompress
    assert decompress(engine.encode_bytes(codec, {"level": level}, data)) == data


KINDS = {
    "text": " ".join(str(n * n) for n in range(40000)).encode(),
    "walk": np.cumsum(np.random.default_rng(0).normal(size=100_000)).astype("f4").tobytes(),
    "rounded": np.round(np.cumsum(np.random.default_rng(1).normal(size=100_000)), 1).astype("f4").tobytes(),
    "counts": np.random.default_rng(2).poisson(5, 100_000).astype("i4").tobytes(),
    "noise": np.random.default_rng(3).bytes(100_000),
    "zeros": bytes(300_000),
    "short": b"a few bytes",
}


@pytest.mark.skipif(not LIBDEFLATE, reason="built without libdeflate")
@pytest.mark.parametrize("kind", KINDS)
def test_no_larger_than_zlib_at_the_same_level(kind: str) -> None:
    import zlib

    data = KINDS[kind]
    for level in (-1, *range(10)):
        ours, theirs = engine.encode_bytes("zlib", {"level": level}, data), zlib.compress(data, level)
        assert zlib.decompress(ours) == data
        assert len(ours) <= 1.01 * len(theirs) + 16, (level, len(ours), len(theirs))
