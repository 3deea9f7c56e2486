# SPDX-License-Identifier: MIT
"""ZARRCORE_DEFLATE: where libdeflate comes from, and that asking for it never means going without it."""

from __future__ import annotations

import io
import os
import stat
import sys
import tarfile
from pathlib import Path

import pytest

import zarrcore
from zarrcore._core import engine

WHEELS = Path(__file__).resolve().parents[2] / "wheels"
sys.path.insert(0, str(WHEELS))
try:
    import fetch_deflate
    import native_libs
finally:
    sys.path.remove(str(WHEELS))

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
    assert "fetch_deflate.py" in str(caught.value)


@needs_sh
def test_off_asks_nobody(tmp_path: Path) -> None:
    assert resolve(tmp_path, "off", PKG_CONFIG=make_pkg_config(tmp_path / "pkg-config", known=True)) == BUNDLE
    assert ("ZC_HAVE_LIBDEFLATE", "1") not in BUNDLE.define_macros
    assert "libdeflate: none" in str(BUNDLE)


# ---- a source tree ----


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


# ---- bringing the tree ----


def make_sdist(path: Path, names: tuple[str, ...]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return path


TREE = ("deflate-0.9.0/libdeflate/libdeflate.h", "deflate-0.9.0/libdeflate/lib/crc32.c")


def test_fetch_unpacks_and_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads = []

    def download(requirement: str, directory: Path) -> Path:
        downloads.append(requirement)
        return make_sdist(directory / "deflate-0.9.0.tar.gz", TREE)

    monkeypatch.setattr(fetch_deflate, "_download", download)
    root = fetch_deflate.fetch(tmp_path / "a" / "deflate")
    assert root == (tmp_path / "a/deflate/deflate-0.9.0/libdeflate").resolve()
    assert fetch_deflate.fetch(tmp_path / "a" / "deflate") == root
    assert downloads == [fetch_deflate.REQUIREMENT]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["deflate"], "nothing else is left"


def test_fetch_refuses_what_holds_no_libdeflate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def download(requirement: str, directory: Path) -> Path:
        return make_sdist(directory / "deflate-0.9.0.tar.gz", ("deflate-0.9.0/setup.py",))

    monkeypatch.setattr(fetch_deflate, "_download", download)
    assert fetch_deflate.main([str(tmp_path / "deflate")]) == 1
    assert "no libdeflate source tree" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unpack_stays_inside(tmp_path: Path) -> None:
    sdist = make_sdist(tmp_path / "x.tar.gz", ("../outside",))
    with pytest.raises(tarfile.TarError):
        fetch_deflate.unpack(sdist, tmp_path / "tree")
    assert not (tmp_path / "outside").exists()


# ---- what the build made of it ----


def test_show_config_names_the_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    found = zarrcore.show_config(mode="dicts")
    assert list(found["libraries"]) == ["blosc", "zstd", "lz4", "zlib", "libdeflate"]
    assert all(found["libraries"][name] for name in ("blosc", "zstd", "lz4", "zlib"))
    assert found["origin"] in ("system", "wheel", "source", "prefix")
    zarrcore.show_config()
    text = capsys.readouterr().out
    for name, version in found["libraries"].items():
        assert f"{name:<11} {version or 'not built in'}" in text
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
