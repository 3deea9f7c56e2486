# SPDX-License-Identifier: MIT
"""ZIP archives opened by libzarrcore: they contain what a directory would, and hostile ones do no harm."""

from __future__ import annotations

import ctypes
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import SHARDS, V2, LibraryError, v3
from capi_tree import CREATE, READ_WRITE, Tree

import zarrcore
from zarrcore.storage import ZipStore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ARGUMENT, CORRUPT, CHECKSUM, SIZE, IO, UNSUPPORTED = -2, -3, -4, -5, -7, -9
VALUES = np.arange(1, 25, dtype="f4").reshape(6, 4)
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
PLAIN = v3("codecs", [BYTES])
GZIP = v3("codecs", [BYTES, {"name": "gzip", "configuration": {"level": 1}}])
KEY = "a/c/0/0"
ROOT = json.dumps({"zarr_format": 3, "node_type": "group"})


def in_rows(n: int) -> str:
    """The document of an array of n rows, in chunks of two."""
    grid = {"name": "regular", "configuration": {"chunk_shape": [2, 4]}}
    return json.dumps(PLAIN | {"shape": [n, 4], "chunk_grid": grid})


@pytest.fixture
def directory(tmp_path: Path, library: Any, error_of: Any) -> Path:
    """A tree of arrays of all kinds and of names that sort in unusual ways."""
    place = tmp_path / "tree"
    tree = Tree(library, error_of, place, READ_WRITE | CREATE)
    tree.create_group("", {"zarr_format": 3, "node_type": "group", "attributes": {"at": "root"}})
    documents = {"plain": PLAIN, "sharded": v3("codecs", [SHARDS]), "gzip": GZIP, "g/old": V2}
    for path in ("a", "a-b", "a.b", "g/é"):
        documents[path] = PLAIN
    for path, document in documents.items():
        if path == "g/old":
            tree.create_group("old", {"zarr_format": 2})
            path = "old/array"
        tree.create_array(path, document)
        tree.write(path, VALUES)
    tree.set_attribute("a", "unit", "m")
    tree.close()
    return place


def pack(directory: Path, path: Path, method: int = zipfile.ZIP_STORED, **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", method, **options) as file:
        for found in sorted(directory.rglob("*"), reverse=True):
            file.write(found, found.relative_to(directory).as_posix())
    return path


def everything(tree: Tree, path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (kind, document) in tree.list(path).items():
        below = f"{path}/{name}".lstrip("/")
        found[below] = kind, document, tree.read(below).tobytes() if kind == "array" else None
        if kind == "group":
            found |= everything(tree, below)
    return found


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_an_archive_contains_what_a_directory_does(
    library: Any, error_of: Any, directory: Path, tmp_path: Path, method: int
) -> None:
    archive = pack(directory, tmp_path / "tree.zip", method)
    local, packed = Tree(library, error_of, directory, 0), Tree(library, error_of, archive, 0)
    found = everything(packed)
    assert found == everything(local)
    assert {"a", "a-b", "a.b", "plain", "sharded", "gzip", "g", "g/é"} <= set(found)
    assert packed.attribute("a") == {"unit": "m"}
    assert packed.document("") == local.document("")
    for path in ("sharded", "g/é", "old/array"):
        expected = zarrcore.open_array(ZipStore(archive), path=path, mode="r")[...]
        np.testing.assert_array_equal(packed.read(path), expected)
    for tree in (local, packed):
        tree.close()


def test_an_array_at_the_root_and_handles_that_outlive_the_store(
    library: Any, error_of: Any, directory: Path, tmp_path: Path
) -> None:
    archive = pack(directory / "sharded", tmp_path / "array.zip", zipfile.ZIP_DEFLATED)
    handle = library_open(library, error_of, archive)
    with Tree(library, error_of, archive, 0).array("") as other:
        os.remove(archive)
        tree = Tree(library, error_of, 0)
        np.testing.assert_array_equal(tree.values(handle), VALUES)
        np.testing.assert_array_equal(tree.values(other), VALUES)
    library.release(handle)


def library_open(library: Any, error_of: Any, path: Path, flags: int = 0) -> int:
    return Tree(library, error_of, 0).get(library.open, os.fsencode(path), flags)


def test_what_python_writes_is_read(library: Any, error_of: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    values = np.random.default_rng(0).integers(0, 9, (200, 300)).astype("i4")
    with ZipStore(path, mode="w") as store:
        array = zarrcore.create_array(
            store, shape=values.shape, chunks=(50, 30), shards=(100, 300), dtype="i4"
        )
        array[...] = values
        array[:100] = values[:100] * 2  # which appends entries of the same names
    values[:100] *= 2
    handle = library_open(library, error_of, path)
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(Tree(library, error_of, 0).values(handle)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_array_equal(one, values)
    assert len(found) == 4
    library.release(handle)


def test_archives_are_only_read(library: Any, error_of: Any, directory: Path, tmp_path: Path) -> None:
    archive = pack(directory, tmp_path / "tree.zip")
    before = archive.read_bytes()
    for flags in (READ_WRITE, READ_WRITE | CREATE):
        with pytest.raises(LibraryError, match=rf"\({UNSUPPORTED}, .*only read"):
            Tree(library, error_of, archive, flags)
    tree = Tree(library, error_of, archive, 0)
    with pytest.raises(LibraryError, match=rf"\({ARGUMENT}, .*reading only"):
        tree.set_attribute("a", "x", 1)
    tree.close()
    assert archive.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"PK", b"text" * 100, b"PK\3\4" + bytes(60)])
def test_other_files_are_no_archives(library: Any, error_of: Any, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(LibraryError, match=rf"\({IO}, "):
        Tree(library, error_of, path, 0)
    with pytest.raises(LibraryError, match="is a file; open the directory"):
        library_open(library, error_of, path)


# ---- hostile archives ----


def small(method: int = zipfile.ZIP_STORED) -> bytes:
    """The bytes of an archive with an array "a" of one chunk."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        file.writestr("zarr.json", ROOT)
        file.writestr("a/zarr.json", in_rows(2))
        file.writestr(KEY, VALUES[:2].tobytes())
    return out.getvalue()


def in_directory(data: bytes, name: str, offset: int, format_: str, value: int) -> bytes:
    """Change a number in an entry of the directory."""
    at = data.rindex(b"PK\1\2", 0, data.rindex(name.encode()))
    return changed(data, at + offset, format_, value)


def in_last(data: bytes, offset: int, format_: str, value: int) -> bytes:
    """The same in the last entry."""
    return changed(data, data.rindex(b"PK\1\2") + offset, format_, value)


def changed(data: bytes, at: int, format_: str, value: int) -> bytes:
    return data[:at] + struct.pack(format_, value) + data[at + struct.calcsize(format_) :]


def renamed(data: bytes, name: bytes, *, header: bool = True, directory: bool = True) -> bytes:
    """Another name of the chunk's entry, of the same length."""
    assert len(name) == len(KEY)
    head, tail = data[: data.index(b"PK\1\2")], data[data.index(b"PK\1\2") :]
    return b"".join(
        part.replace(KEY.encode(), name) if is_wanted else part
        for part, is_wanted in ((head, header), (tail, directory))
    )


def offset_of(name: str) -> Callable[[bytes], bytes]:
    """The chunk's entry begins where another one does."""

    def change(data: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return in_directory(data, KEY, 42, "<I", file.getinfo(name).header_offset)

    return change


def longer(data: bytes) -> bytes:
    """The chunk's entry reaches into the directory, with a matching local header."""
    data = in_directory(data, KEY, 20, "<I", 64)
    return in_directory(data, KEY, 24, "<I", 64)


def twice(data: bytes) -> bytes:
    """The directory has the entry before the chunk's twice, and not that of the chunk."""
    start, second, end = data.index(b"PK\1\2"), data.rindex(b"PK\1\2"), data.rindex(b"PK\5\6")
    again = data[data.rindex(b"PK\1\2", 0, second) : second]
    return data[:second] + again + changed(data[end:], 12, "<I", second + len(again) - start)


def nameless() -> bytes:
    """The last entry has no name, so that nothing follows it in the directory."""
    out = io.BytesIO(small())
    with zipfile.ZipFile(out, "a") as file:
        file.writestr(zipfile.ZipInfo(""), b"")
    return out.getvalue()


FLAT, DEFLATED = small(), small(zipfile.ZIP_DEFLATED)
HOSTILE: dict[str, tuple[int, bytes]] = {
    "two-entries-at-one-place": (CORRUPT, offset_of("a/zarr.json")(FLAT)),
    "reaches-into-the-directory": (CORRUPT, longer(FLAT)),
    "hidden-in-a-comment": (CORRUPT, in_directory(FLAT, "a/zarr.json", 32, "<H", 46 + len(KEY))),
    "outside": (CORRUPT, in_directory(FLAT, KEY, 42, "<I", len(FLAT))),
    "wrong-crc": (CHECKSUM, in_directory(FLAT, KEY, 16, "<I", 1)),
    "wrong-crc-deflated": (CHECKSUM, in_directory(DEFLATED, KEY, 16, "<I", 1)),
    "larger-than-stored": (CORRUPT, in_directory(FLAT, KEY, 24, "<I", 33)),
    "inflates-to-more": (CORRUPT, in_directory(DEFLATED, KEY, 24, "<I", 31)),
    "larger-than-a-chunk": (SIZE, in_directory(DEFLATED, KEY, 24, "<I", 33)),
    "inflates-to-less": (CORRUPT, in_directory(DEFLATED, "a/zarr.json", 24, "<I", len(in_rows(2)) + 1)),
    "too-large-to-inflate": (CORRUPT, in_directory(DEFLATED, KEY, 24, "<I", 0xFFFFFFFE)),
    "zip64-without-a-field": (CORRUPT, in_directory(DEFLATED, KEY, 24, "<I", 0xFFFFFFFF)),
    "encrypted": (UNSUPPORTED, in_directory(FLAT, KEY, 8, "<H", 1)),
    "bzip2": (UNSUPPORTED, in_directory(FLAT, KEY, 10, "<H", 12)),
    "another-name-in-the-header": (CORRUPT, renamed(FLAT, b"a/c/1/0", directory=False)),
    "another-name-in-the-directory": (CORRUPT, renamed(FLAT, b"a/c/1/0", header=False)),
    "one-entry-twice": (CORRUPT, twice(FLAT)),
    "parent": (CORRUPT, renamed(FLAT, b"../c/00")),
    "parent-within": (CORRUPT, renamed(FLAT, b"a/../00")),
    "absolute": (CORRUPT, renamed(FLAT, b"/a/c/00")),
    "empty-part": (CORRUPT, renamed(FLAT, b"a//c/00")),
    "dot": (CORRUPT, renamed(FLAT, b"a/./c/0")),
    "no-name": (CORRUPT, nameless()),
    "nul": (CORRUPT, renamed(FLAT, b"a/c/0\0/")),
    "other-encoding": (UNSUPPORTED, renamed(FLAT, b"a/c/0/\xe9")),
    "not-utf8": (CORRUPT, in_last(renamed(FLAT, b"a/c/0/\xe9"), 8, "<H", 0x800)),
}


def read_all(library: Any, error_of: Any, path: Path) -> np.ndarray:
    tree = Tree(library, error_of, path, 0)
    try:
        assert "a" in tree.list()
        return tree.read("a")
    finally:
        tree.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(library: Any, error_of: Any, tmp_path: Path, name: str) -> None:
    status, data = HOSTILE[name]
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(LibraryError, match=rf"\({status}, "):
        read_all(library, error_of, path)
    # Python reads names in code page 437, and takes those with a NUL up to there; of bzip2 it has more.
    if name not in ("other-encoding", "nul"):
        with pytest.raises(zarrcore.errors.BaseZarrError):
            zarrcore.open_array(ZipStore(path), path="a", mode="r")[...]


def test_a_small_archive_does_not_become_large(library: Any, error_of: Any, tmp_path: Path) -> None:
    """Megabytes of zeros in the place of a chunk of 32 bytes."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zarr.json", ROOT)
        file.writestr("a/zarr.json", in_rows(2))
        with file.open(KEY, "w", force_zip64=True) as entry:
            for _ in range(1 << 6):
                entry.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 17
    with pytest.raises(LibraryError, match=rf"\({SIZE}, "):
        read_all(library, error_of, path)


@pytest.mark.parametrize("data", [FLAT, DEFLATED], ids=["stored", "deflated"])
def test_archives_that_are_cut_off_anywhere(library: Any, error_of: Any, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.zip"
    for n in range(len(data)):
        path.write_bytes(data[:n])
        with pytest.raises(LibraryError):
            read_all(library, error_of, path)


@pytest.mark.parametrize("data", [FLAT, DEFLATED], ids=["stored", "deflated"])
def test_what_is_damaged_is_refused_or_read_as_python_does(
    library: Any, error_of: Any, tmp_path: Path, data: bytes
) -> None:
    path, dice = tmp_path / "a.zip", random.Random(20261123)
    read, expected = 0, VALUES[:2]
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path.write_bytes(damaged)
        try:
            values = read_all(library, error_of, path)
        except (LibraryError, AssertionError):
            continue  # refused, or the array has another name
        read += 1
        if not np.array_equal(values, expected):
            other = zarrcore.open_array(ZipStore(path), path="a", mode="r")[...]
            np.testing.assert_array_equal(values, other)
    assert read > 50


def test_unusual_archives_that_are_valid(library: Any, error_of: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = b"PK\5 a comment"
        file.writestr("a/", b"")
        file.writestr("zarr.json", ROOT)
        file.writestr("a/zarr.json", in_rows(2))
        with pytest.warns(UserWarning, match="Duplicate name"):
            for factor in (3, 2, 1):
                with file.open(KEY, "w", force_zip64=True) as entry:
                    entry.write((VALUES[:2] * factor).tobytes())
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())  # as self-extracting ones are
    np.testing.assert_array_equal(zarrcore.open_array(ZipStore(path), path="a", mode="r")[...], VALUES[:2])
    np.testing.assert_array_equal(read_all(library, error_of, path), VALUES[:2])


def test_more_entries_than_two_bytes_count(library: Any, error_of: Any, tmp_path: Path) -> None:
    """So that the archive has the records of zip64."""
    path, n = tmp_path / "a.zip", 66000
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("zarr.json", ROOT)
        file.writestr("a/zarr.json", in_rows(2 * n))
        for i in range(n):
            file.writestr(f"a/c/{i}/0", struct.pack("<f", i) * 8)
    assert b"PK\6\6" in path.read_bytes()[-200:]
    expected = np.repeat(np.arange(n, dtype="f4"), 8).reshape(2 * n, 4)
    np.testing.assert_array_equal(read_all(library, error_of, path), expected)


def test_an_index_of_a_shard_that_is_deflated(library: Any, error_of: Any, tmp_path: Path) -> None:
    """Ranges of what is compressed: the same values as in Python."""
    values = np.arange(40 * 30, dtype="i2").reshape(40, 30)
    zarrcore.create_array(tmp_path / "d", shape=(40, 30), chunks=(5, 6), shards=(20, 30), dtype="i2")[...] = (
        values
    )
    handle = library_open(library, error_of, pack(tmp_path / "d", tmp_path / "d.zip", zipfile.ZIP_DEFLATED))
    tree = Tree(library, error_of, 0)
    np.testing.assert_array_equal(tree.values(handle), values)
    one, error = np.zeros(1, "i2"), error_of()
    for at in ((0, 0), (39, 29), (17, 11)):
        start, count = (ctypes.c_int64 * 2)(*at), (ctypes.c_int64 * 2)(1, 1)
        assert library.read(handle, start, None, count, one.ctypes.data, None, 1, error) == 0
        assert one[0] == values[at]
    library.release(handle)


@pytest.mark.skipif(shutil.which("zip") is None or sys.platform != "linux", reason="needs zip")
def test_archives_of_the_program_zip(library: Any, error_of: Any, directory: Path, tmp_path: Path) -> None:
    shutil.rmtree(directory / "g")  # zip writes names as the locale has them
    command = ["zip", "-q", "-r", "-9", str(tmp_path / "z.zip"), "."]
    subprocess.run(command, cwd=directory, check=True)
    tree, local = Tree(library, error_of, tmp_path / "z.zip", 0), Tree(library, error_of, directory, 0)
    assert everything(tree) == everything(local)
    for one in (tree, local):
        one.close()
