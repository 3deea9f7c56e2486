# SPDX-License-Identifier: MIT
"""Sources that are brought from PyPI: pinned, whole or not at all, and never needed."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from dataclasses import replace
from pathlib import Path

import fetch_sources
import pytest

LIBDEFLATE = fetch_sources.LIBRARIES["libdeflate"]
TREE = (
    "deflate-0.9.0/libdeflate/COPYING",
    "deflate-0.9.0/libdeflate/common_defs.h",
    "deflate-0.9.0/libdeflate/lib/crc32.c",
    "deflate-0.9.0/libdeflate/lib/x86/crc32_impl.h",
    "deflate-0.9.0/libdeflate/libdeflate.h",
    "deflate-0.9.0/libdeflate/programs/gzip.c",
    "deflate-0.9.0/setup.py",
)


def make_sdist(path: Path, names: tuple[str, ...] = TREE) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return path


@pytest.fixture
def offline_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip finds packages in this directory and nowhere else."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    return index


@pytest.mark.parametrize("name", fetch_sources.LIBRARIES)
def test_libraries_are_pinned(name: str) -> None:
    library = fetch_sources.LIBRARIES[name]
    assert re.fullmatch(r"[0-9a-f]{64}", library.sha256)
    assert re.fullmatch(r"\d+\.\d+\.\d+", library.version)
    assert any("LICENSE" in file or "COPYING" in file for file in library.files)


def test_only_what_is_wanted_is_unpacked(tmp_path: Path) -> None:
    fetch_sources.unpack(make_sdist(tmp_path / "x.tar.gz"), LIBDEFLATE, tmp_path / "tree")
    found = {path.relative_to(tmp_path / "tree").as_posix() for path in (tmp_path / "tree").rglob("*.*")}
    assert found == {"common_defs.h", "lib/crc32.c", "lib/x86/crc32_impl.h", "libdeflate.h"}
    assert (tmp_path / "tree" / "COPYING").is_file()


def test_sdist_that_holds_something_else(tmp_path: Path) -> None:
    sdist = make_sdist(tmp_path / "x.tar.gz", TREE[:1])
    with pytest.raises(fetch_sources.FetchError, match=r"holds no .*libdeflate/lib/"):
        fetch_sources.unpack(sdist, LIBDEFLATE, tmp_path / "tree")


def test_unpacking_stays_inside(tmp_path: Path) -> None:
    sdist = make_sdist(tmp_path / "x.tar.gz", ("deflate-0.9.0/libdeflate/lib/../../../outside",))
    with pytest.raises(tarfile.TarError):
        fetch_sources.unpack(sdist, LIBDEFLATE, tmp_path / "tree")
    assert not (tmp_path / "outside").exists()


def test_brought_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads = []

    def download(library: fetch_sources.Library, directory: Path) -> Path:
        downloads.append(library.package)
        return make_sdist(directory / "deflate-0.9.0.tar.gz")

    monkeypatch.setattr(fetch_sources, "_download", download)
    root = fetch_sources.fetch("libdeflate", tmp_path / "sources")
    assert fetch_sources.fetch("libdeflate", tmp_path / "sources") == root
    assert downloads == ["deflate"]
    assert [path.name for path in (tmp_path / "sources").iterdir()] == ["libdeflate"], "nothing else is left"


def test_another_checksum_is_refused(
    tmp_path: Path, offline_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pip itself, before anything in the archive is looked at."""
    sdist = make_sdist(offline_index / "deflate-0.9.0.tar.gz")
    assert hashlib.sha256(sdist.read_bytes()).hexdigest() != LIBDEFLATE.sha256
    with pytest.raises(fetch_sources.FetchError, match=r"(?i)hash"):
        fetch_sources.fetch("libdeflate", tmp_path / "sources")
    assert list((tmp_path / "sources").iterdir()) == []
    monkeypatch.setitem(fetch_sources.LIBRARIES, "libdeflate", replace(LIBDEFLATE, version="9.9.9"))
    with pytest.raises(fetch_sources.FetchError, match=r"9\.9\.9"):
        fetch_sources.fetch("libdeflate", tmp_path / "sources")


@pytest.mark.usefixtures("offline_index")
def test_without_network_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetch_sources.fetch, "__defaults__", (tmp_path / "sources",))
    assert fetch_sources.main(["--optional"]) == 0
    said = capsys.readouterr().err
    assert "warning: libdeflate cannot be brought" in said and "left to zlib" in said
    assert "warning: yyjson cannot be brought" in said and "`make sources` tries again" in said
    assert fetch_sources.main(["yyjson"]) == 1
    assert "error: yyjson cannot be brought" in capsys.readouterr().err


def test_what_only_few_need_comes_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    brought: list[str] = []
    monkeypatch.setattr(fetch_sources, "fetch", lambda name: brought.append(name))
    assert fetch_sources.main([]) == 0
    assert brought == ["libdeflate", "zstd", "yyjson"]
    assert fetch_sources.main(["blosc"]) == 0
    assert brought[3:] == ["blosc"]


def test_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        fetch_sources.main(["zlib"])
    assert "unknown: zlib" in capsys.readouterr().err
