# SPDX-License-Identifier: MIT
"""A path that ends with .zip is an archive, in every mode."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import LocalStore, ZipStore, make_store


@pytest.fixture(params=[str, Path], ids=["str", "Path"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    return request.param(tmp_path / "a.zip")


def test_save_writes_an_archive_that_is_complete(path: Any) -> None:
    for values in (np.arange(3), np.arange(5)):
        zarrcore.save(path, values)
        assert "zarr.json" in zipfile.ZipFile(path).namelist()
        np.testing.assert_array_equal(zarrcore.load(path), values)
    zarrcore.save(path, np.ones(2), b=np.ones(1))
    assert sorted(zarrcore.load(path)) == ["arr_0", "b"]
    names = {"zarr.json", "arr_0/zarr.json", "arr_0/c/0", "b/zarr.json", "b/c/0"}
    assert set(zipfile.ZipFile(path).namelist()) == names


@pytest.mark.parametrize("mode", ["a", "w", "w-"])
def test_modes_that_create_write_an_archive(path: Any, mode: str) -> None:
    root = zarrcore.open_group(path, mode=mode)
    assert isinstance(root.store, ZipStore)
    root["x"] = np.arange(4)
    root.store.close()
    assert zipfile.is_zipfile(path)
    np.testing.assert_array_equal(zarrcore.open_group(path, mode="r")["x"][...], np.arange(4))


def test_modes_of_an_archive_that_is_there(path: Any) -> None:
    zarrcore.save(path, x=np.arange(4))
    for mode in ("a", "r+"):
        root = zarrcore.open(path, mode=mode)
        root[f"new {mode}"] = np.arange(2)
        root.store.close()
    assert sorted(zarrcore.open(path, mode="r")) == ["new a", "new r+", "x"]
    with pytest.raises(FileExistsError):
        zarrcore.open(path, mode="w-")
    with pytest.raises(zarrcore.errors.ReadOnlyError):
        zarrcore.open(path, mode="r")["y"] = np.arange(2)
    root = zarrcore.open_group(path, mode="w")
    root.store.close()
    assert zipfile.ZipFile(path).namelist() == ["zarr.json"]


def test_reading_in_a_mode_that_writes_changes_nothing(path: Any) -> None:
    zarrcore.save(path, x=np.arange(4))
    before = Path(path).read_bytes()
    root = zarrcore.open(path)
    root["x"][...]
    root.store.close()
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_modes_that_do_not_create_leave_nothing(path: Any, mode: str) -> None:
    with pytest.raises(FileNotFoundError):
        zarrcore.open(path, mode=mode)
    assert not os.path.exists(path)


def test_a_file_that_is_no_archive_is_left_alone(path: Any) -> None:
    Path(path).write_bytes(b"my diary")
    for mode in ("r", "a", "w"):
        with pytest.raises(zarrcore.errors.StoreError, match="not a ZIP archive"):
            zarrcore.open_group(path, mode=mode)
    assert Path(path).read_bytes() == b"my diary"


def test_a_directory_named_like_an_archive_is_a_directory(path: Any) -> None:
    os.mkdir(path)
    assert isinstance(make_store(path, mode="a"), LocalStore)


def test_copy_store_packs_into_an_archive(path: Any) -> None:
    source: dict[str, Any] = {}
    zarrcore.save(source, np.arange(3))
    zarrcore.copy_store(source, path)
    np.testing.assert_array_equal(zarrcore.load(path), np.arange(3))


# ---- save


@pytest.mark.parametrize("arrays", [{}, {"a": np.arange(2)}], ids=["one array", "several"])
def test_saving_twice_is_the_same_for_one_array_and_for_several(arrays: Any) -> None:
    store: dict[str, Any] = {}
    first = () if arrays else (np.arange(3),)
    zarrcore.save(store, *first, **arrays)
    with pytest.raises(zarrcore.errors.BaseZarrError, match="overwrite=True"):
        zarrcore.save(store, *first, **arrays, overwrite=False)
    before = dict(store)
    zarrcore.save(store, *first, **arrays)
    assert store == before
    zarrcore.save(store, np.ones(1), overwrite=True)
    assert zarrcore.load(store).tolist() == [1]


def test_an_array_named_overwrite_is_saved() -> None:
    store: dict[str, Any] = {}
    zarrcore.save(store, overwrite=np.arange(3))
    assert sorted(zarrcore.load(store)) == ["overwrite"]
