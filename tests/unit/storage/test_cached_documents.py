# SPDX-License-Identifier: MIT
"""Caches over a directory do not read the chunks of one array by the document of another one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError
from zarrcore.storage import CacheStore, LocalStore, MemoryStore, Store
from zarrcore.storage.caching import CacheStore as CopiesStore

OLD = np.arange(16, dtype="i4").reshape(4, 4)
NEW = np.full((4, 4), 0.5, "f4")
CACHES: dict[str, Callable[[Path], Store]] = {
    "copies": lambda path: CopiesStore(LocalStore(path / "here"), cache_store=MemoryStore()),
    "copies on disk": lambda path: CopiesStore(
        LocalStore(path / "here"), cache_store=LocalStore(path / "kept"), max_age_seconds=1000
    ),
    "files": lambda path: CacheStore(
        LocalStore(path / "here"), path / "kept", max_bytes=1 << 20, max_age=1000.0
    ),
}


def come(path: Path, name: str) -> None:
    """Have another program put a tree in the place of the one that is there."""
    shutil.rmtree(path / "here", ignore_errors=True)
    shutil.copytree(path / name, path / "here")  # no change by this process


@pytest.fixture(params=CACHES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    for name, values in (("old", OLD), ("new", NEW)):
        words: dict[str, Any] = {"chunks": (2, 2), "compressors": None}
        zarrcore.create_array(tmp_path / name, data=values, **words)
        zarrcore.create_array(tmp_path / f"{name} below", name="g/a", data=values, **words)
    return CACHES[request.param](tmp_path)


@pytest.mark.parametrize("warm", [0, 1, 4])
@pytest.mark.parametrize("where", ["", " below"])
def test_an_array_that_replaces_one_is_read_as_itself(
    store: Store, where: str, warm: int, tmp_path: Path
) -> None:
    place = "g/a" if where else ""
    come(tmp_path, f"old{where}")
    array = zarrcore.open_array(store, path=place, mode="r")
    for n in range(warm):
        assert array[n, n] == OLD[n, n]
    come(tmp_path, f"new{where}")
    np.testing.assert_array_equal(zarrcore.open_array(store, path=place, mode="r")[...], NEW)
    np.testing.assert_array_equal(zarrcore.open_array(store, path=place, mode="r")[0, 0], NEW[0, 0])
    with pytest.raises(ArrayNotFoundError, match="replaced"):
        array[...]


def test_an_open_array_notices_that_it_was_replaced(store: Store, tmp_path: Path) -> None:
    come(tmp_path, "old")
    array = zarrcore.open_array(store, mode="r")
    assert array[0, 0] == 0
    come(tmp_path, "new")
    with pytest.raises(ArrayNotFoundError, match="replaced"):
        array[...]


def test_chunks_stay_where_attributes_change(store: Store, tmp_path: Path) -> None:
    come(tmp_path, "old")
    np.testing.assert_array_equal(zarrcore.open_array(store, mode="r")[...], OLD)
    document = json.loads((tmp_path / "here" / "zarr.json").read_bytes())
    (tmp_path / "here" / "zarr.json").write_text(json.dumps({**document, "attributes": {"new": 1}}))
    shutil.rmtree(tmp_path / "here" / "c")
    array = zarrcore.open_array(store, mode="r")
    assert array.attrs["new"] == 1
    np.testing.assert_array_equal(array[...], OLD)
