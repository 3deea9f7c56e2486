# SPDX-License-Identifier: MIT
"""What errors about nodes and stores say: what was asked, what is there instead, and the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError, ChunkDecodeError, GroupNotFoundError, StoreError
from zarrcore.storage import MemoryStore, Store

OPEN: list[Any] = [zarrcore.open, zarrcore.open_array, zarrcore.open_group]
ABSENT = (ArrayNotFoundError, GroupNotFoundError)


@pytest.mark.parametrize("open_it", OPEN)
def test_a_missing_directory_is_said_to_be_missing(open_it: Any, tmp_path: Path) -> None:
    path = tmp_path / "nowhere"
    with pytest.raises(ABSENT, match=f"the directory {path} does not exist") as found:
        open_it(path, mode="r")
    assert "''" not in str(found.value)
    assert f"at the root of {path.as_uri()}" in str(found.value)
    path.mkdir()
    with pytest.raises(ABSENT, match=f"the directory {path} is empty"):
        open_it(path, mode="r")
    with pytest.raises(ABSENT, match=f"{path}/deep does not exist"):
        open_it(path, path="deep", mode="r")
    for name in ("a.csv", "b.csv", "c.csv", "d.csv"):
        (path / name).write_bytes(b"")
    with pytest.raises(ABSENT, match=r"has no Zarr metadata, but 'a\.csv', 'b\.csv', 'c\.csv', \.\.\.$"):
        open_it(path, mode="r")
    with pytest.raises(ABSENT, match=f"{path}/a.csv is a file"):
        open_it(path, path="a.csv", mode="r")


def test_a_missing_archive_is_no_directory_and_hdf5_is_named(tmp_path: Path) -> None:
    with pytest.raises(GroupNotFoundError, match=rf": {tmp_path}/no.zip does not exist"):
        zarrcore.open(tmp_path / "no.zip", mode="r")
    (tmp_path / "a.h5").write_bytes(b"\x89HDF")
    with pytest.raises(StoreError, match="found a file .open HDF5 with h5py, and copy it with copy_all"):
        zarrcore.open(tmp_path / "a.h5", mode="r")


@pytest.mark.parametrize("key", [0, (), False, 1, slice(None)])
def test_a_key_that_is_no_name_is_named(key: Any) -> None:
    with pytest.raises(TypeError, match="a path is a string, got"):
        zarrcore.create_group({})[key]


@pytest.mark.parametrize("shards", [True, 5.0, (10,), (10.0, 20), (0, 20), ((3, 0), 20), ((3, 3), 20), "all"])
def test_shards_that_are_wrong_are_not_called_chunks(shards: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="^shards: "):
        zarrcore.create_array({}, shape=(10, 20), chunks=(1, 5), shards=shards, dtype="i1")


@pytest.mark.parametrize("dtype", ["i4", "str"])
def test_errors_of_an_array_at_the_root_name_it_alike_in_both_engines(dtype: str) -> None:
    store: dict[str, Any] = {}
    array = zarrcore.create_array(store, shape=2, dtype=dtype, compressors=None)
    store["c/0"] = b"odd"
    with pytest.raises(ChunkDecodeError, match="^array '/', chunk") as found:
        array[...]
    assert found.value.array == "/"


def test_another_format_is_named(tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path, name="a", shape=1, dtype="i1", zarr_format=2)
    with pytest.raises(
        ArrayNotFoundError, match="no array of format 3 found .*there is an array of format 2"
    ):
        zarrcore.open_array(tmp_path, path="a", zarr_format=3, mode="r")
    with pytest.raises(GroupNotFoundError, match="no group of format 3 found .*there is a group of format 2"):
        zarrcore.open_group(tmp_path, zarr_format=3, mode="r")


def test_an_asynchronous_store_is_refused_when_it_is_defined() -> None:
    with pytest.raises(TypeError, match=r"Remote\.get is asynchronous.*`def`.*run_coroutine_threadsafe"):

        class Remote(Store):
            async def get(self, key: str, byte_range: Any = None) -> Any:
                return None

            def set(self, key: str, value: Any) -> None: ...

            def delete(self, key: str) -> None: ...

            def list(self) -> Any:
                return iter(())

    with pytest.raises(TypeError, match=r"Listing\.list_dir is asynchronous"):

        class Listing(MemoryStore):
            async def list_dir(self, prefix: str) -> Any:
                yield prefix


def test_dir_shows_what_is_public() -> None:
    names = [name for name in dir(zarrcore) if not name.startswith("__")]
    assert set(names) <= set(zarrcore.__all__) | {"abc", "api", "codecs", "dtype", "errors", "kernels"} | {
        "compat",
        "core",
        "dask",
        "registry",
        "storage",
        "testing",
        "torch",
        "typing",
        "xarray",
    }
    for name in names:
        assert getattr(zarrcore, name) is not None
    for plumbing in ("HOMES", "MODULES", "attach", "annotations", "_lazy", "_locks"):
        assert plumbing not in names
