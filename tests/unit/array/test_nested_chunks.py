# SPDX-License-Identifier: MIT
"""Chunks under keys such as 0/0 that a document of format 2 does not speak of are never read as fill values.

The stores are as NestedDirectoryStore of zarr-python 2.2 to 2.7 left them.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ZarrcoreWarning
from zarrcore.storage import FsspecStore, LocalStore, MemoryStore, WrapperStore, ZipStore

VALUES = np.arange(12, dtype="<i4").reshape(3, 4)
DOCUMENT = {
    "chunks": [2, 3],
    "compressor": None,
    "dtype": "<i4",
    "fill_value": 0,
    "filters": None,
    "order": "C",
    "shape": [3, 4],
    "zarr_format": 2,
}


def stored(separator: str = "/", prefix: str = "", **members: Any) -> dict[str, bytes]:
    """The keys and values of an array."""
    padded = np.zeros((4, 6), "<i4")
    padded[:3, :4] = VALUES
    chunks = {(i, j): padded[2 * i : 2 * i + 2, 3 * j : 3 * j + 3].tobytes() for i in (0, 1) for j in (0, 1)}
    values = {f"{prefix}{i}{separator}{j}": chunk for (i, j), chunk in chunks.items()}
    return {f"{prefix}.zarray": json.dumps(DOCUMENT | members).encode(), **values}


def put(values: dict[str, bytes], kind: str, root: Path) -> Any:
    if kind == "memory":
        return MemoryStore(dict(values))
    if kind == "zip":
        with zipfile.ZipFile(root / "a.zip", "w") as archive:
            for key, value in values.items():
                archive.writestr(key, value)
        return ZipStore(root / "a.zip", mode="r")
    for key, value in values.items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_bytes(value)
    if kind == "fsspec":
        pytest.importorskip("fsspec")
        return FsspecStore.from_url(f"file://{root}")
    return WrapperStore(LocalStore(root)) if kind == "wrapper" else LocalStore(root)


KINDS = ["local", "memory", "zip", "fsspec", "wrapper"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", ["", "a/b"])
def test_they_are_read_with_a_warning(kind: str, path: str, tmp_path: Path) -> None:
    prefix = f"{path}/" if path else ""
    store = put(stored(prefix=prefix), kind, tmp_path)
    with pytest.warns(ZarrcoreWarning, match="dimension_separator") as caught:
        array = zarrcore.open_array(store, path=path, mode="r")
        assert array[...].tolist() == VALUES.tolist()
        assert array[2, 3] == 11
    assert [warning.message.key for warning in caught] == [prefix + ".zarray"]  # once per handle
    assert array.metadata.dimension_separator == "/"
    assert array.nchunks_initialized == 4


@pytest.mark.parametrize("kind", ["local", "memory", "zip", "fsspec"])
def test_also_where_the_first_chunk_is_missing(kind: str, tmp_path: Path) -> None:
    values = stored()
    for key in ("0/0", "0/1", "1/0"):
        del values[key]
    with pytest.warns(ZarrcoreWarning):
        found = zarrcore.open_array(put(values, kind, tmp_path), mode="r")[...]
    assert found.tolist() == [[0] * 4, [0] * 4, [0, 0, 0, 11]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("separator", [".", "/"])
def test_a_document_that_names_the_separator_is_believed(kind: str, separator: str, tmp_path: Path) -> None:
    store = put(stored(separator, dimension_separator=separator), kind, tmp_path)
    assert zarrcore.open_array(store, mode="r")[...].tolist() == VALUES.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_to_the_letter(kind: str, tmp_path: Path) -> None:
    """Plain chunks, no chunks, and what is no chunk."""
    assert zarrcore.open_array(put(stored("."), kind, tmp_path), mode="r")[...].tolist() == VALUES.tolist()
    others = {".zarray": stored()[".zarray"], "0/x": b"", "1/name/2": b"", "backup/0/0": b""}
    for values in ({".zarray": others[".zarray"]}, others):
        root = tmp_path / str(len(values))
        root.mkdir()
        assert not zarrcore.open_array(put(values, kind, root), mode="r")[...].any()


def test_of_one_dimension_there_is_but_one_form() -> None:
    store = {
        ".zarray": json.dumps(DOCUMENT | {"shape": [3], "chunks": [3]}).encode(),
        "0": VALUES[0, :3].tobytes(),
    }
    assert zarrcore.open_array(store, mode="r")[...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["local", "memory", "fsspec", "wrapper"])
def test_writing_makes_no_mixture_and_completes_the_document(kind: str, tmp_path: Path) -> None:
    store = put(stored(), kind, tmp_path)
    with pytest.warns(ZarrcoreWarning):
        array = zarrcore.open_array(store, mode="r+")
        array[0, 0] = 100
    keys = {key for key in store.list_prefix("") if not key.startswith(".")}
    assert keys == {"0/0", "0/1", "1/0", "1/1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZarrcoreWarning)
        array.attrs["a"] = 1
        array.resize((3, 3))
    assert json.loads(bytes(store.get(".zarray")))["dimension_separator"] == "/"
    assert {key for key in store.list_prefix("") if not key.startswith(".")} == {"0/0", "1/0"}
    assert zarrcore.open_array(store, mode="r")[...].tolist() == [[100, 1, 2], [4, 5, 6], [8, 9, 10]]


def test_of_consolidated_metadata(tmp_path: Path) -> None:
    document = {".zgroup": {"zarr_format": 2}, "a/.zarray": DOCUMENT}
    zmetadata = {"metadata": document, "zarr_consolidated_format": 1}
    values = {
        ".zgroup": b'{"zarr_format": 2}',
        ".zmetadata": json.dumps(zmetadata).encode(),
        **stored(prefix="a/"),
    }
    group = zarrcore.open_consolidated(put(values, "local", tmp_path))
    with pytest.warns(ZarrcoreWarning, match="a/.zarray: dimension_separator"):
        assert group["a"][...].tolist() == VALUES.tolist()


def test_a_store_that_lists_slowly_is_asked_once_per_handle_and_not_for_opening() -> None:
    asked = []

    class Remote(WrapperStore):
        def exists(self, key: str) -> bool:
            asked.append(key)
            return super().exists(key)

    array = zarrcore.open_array(Remote(MemoryStore(stored("."))), mode="r")
    assert asked.count("0.0") == 0
    for _ in range(3):
        assert array[1, 1] == 5
    assert (asked.count("0.0"), asked.count("0/0")) == (1, 0)
