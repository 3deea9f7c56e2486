# SPDX-License-Identifier: MIT
"""Values that are larger than metadata justify are refused before they are read, in every store."""

from __future__ import annotations

import os
import resource
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import BaseZarrError, ChunkError
from zarrcore.storage import FsspecStore, LocalStore, Store, ZipStore
from zarrcore.testing.process import in_child

METHODS = {"deflated": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA}
BOMB = 128 << 20
LARGE = MAX_DOCUMENT_NBYTES + 1


def with_little_memory(check: Callable[[], object]) -> bool:
    """Run a check in a child that has 96 MiB to spare."""

    def limited() -> object:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (96 << 20),) * 2)
        return check()

    if sys.platform != "linux" or "san" in os.environ.get("LD_PRELOAD", ""):
        return bool(check())
    return in_child(limited)


def new(store: Store) -> None:
    array = zarrcore.create_array(store, name="a", shape=4, chunks=1, dtype="i4", compressors=None)
    array[...] = np.arange(1, 5)


def refused(call: Callable[[], object], kind: type[Exception], *words: str) -> bool:
    with pytest.raises(kind) as caught:
        call()
    return all(word in f"{caught.value}" for word in words)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_entries_of_archives_are_not_inflated_beyond_what_can_be(method: int, tmp_path: Path) -> None:
    with ZipStore(tmp_path / "a.zip", mode="w", compression=method) as store:
        new(store)
        store.set("a/c/1", bytes(BOMB))
        if method == zipfile.ZIP_DEFLATED:
            store.set("b/zarr.json", b" " * LARGE)
    store = ZipStore(tmp_path / "a.zip")
    array = zarrcore.open_array(store, path="a")
    assert array[2:].tolist() == [3, 4]

    def check() -> bool:
        return (
            refused(lambda: array[1], ChunkError, "'a/c/1'", f"has {BOMB} bytes, at most 4 are possible")
            and refused(lambda: array[:], ChunkError, "chunk (1,)", "at most 4")
            and (
                method != zipfile.ZIP_DEFLATED
                or refused(lambda: zarrcore.open(store, path="b"), BaseZarrError, "b/zarr.json", str(LARGE))
            )
            and store.get("a/c/1", (1, 2)) == bytes(2)
        )

    assert with_little_memory(check)


@pytest.mark.parametrize("claimed", [4, BOMB])
def test_entries_that_lie_about_their_size(claimed: int, tmp_path: Path) -> None:
    """The size in the directory is not that of what the entry inflates to."""
    path = tmp_path / "a.zip"
    actual = BOMB if claimed == 4 else 4
    with ZipStore(path, mode="w", compression=zipfile.ZIP_DEFLATED) as store:
        new(store)
        store.set("a/c/1", bytes(actual))
    data = path.read_bytes()
    at = data.rindex(b"a/c/1") - 46  # the entry of the central directory
    assert data[at : at + 4] == b"PK\1\2" and int.from_bytes(data[at + 24 : at + 28], "little") == actual
    path.write_bytes(data[: at + 24] + claimed.to_bytes(4, "little") + data[at + 28 :])
    array = zarrcore.open_array(ZipStore(path), path="a")
    assert with_little_memory(lambda: refused(lambda: array[1], ChunkError, "a/c/1"))


def test_a_directory_with_a_document_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with (tmp_path / "b" / "zarr.json").open("wb") as file:
        file.truncate(10 << 30)
    store = LocalStore(tmp_path)
    assert with_little_memory(
        lambda: refused(lambda: zarrcore.open(store, path="b"), BaseZarrError, "b/zarr.json", str(10 << 30))
    )


def test_a_document_that_is_too_large_in_memory() -> None:
    with pytest.raises(BaseZarrError, match=f"zarr.json.* at most {MAX_DOCUMENT_NBYTES} bytes"):
        zarrcore.open({"zarr.json": bytes(LARGE)})


def remote(kind: str, root: Path) -> Store:
    if kind == "obstore":
        pytest.importorskip("obstore")
        import obstore.store

        from zarrcore.storage import ObjectStore

        return ObjectStore(obstore.store.LocalStore(str(root)))
    pytest.importorskip("fsspec")
    return FsspecStore.from_url(f"file://{root}")


@pytest.mark.parametrize("kind", ["fsspec", "obstore"])
def test_chunks_of_remote_stores_are_not_fetched_beyond_what_can_be(kind: str, tmp_path: Path) -> None:
    store: Any = remote(kind, tmp_path)
    new(store)
    with (tmp_path / "a" / "c" / "1").open("wb") as file:
        file.truncate(1 << 30)
    array = zarrcore.open_array(store, path="a")
    assert array[2:].tolist() == [3, 4]
    for selection in (1, ...):
        with pytest.raises(ChunkError, match="'a/c/1'.*at most 4 are possible"):
            array[selection]
