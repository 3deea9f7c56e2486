# SPDX-License-Identifier: MIT
"""What errors about nodes and stores say: what was asked, what is there instead, and the way out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import (
    ArrayNotFoundError,
    ChunkDecodeError,
    CopyError,
    GroupNotFoundError,
    MetadataValidationError,
    StoreError,
)
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


    for name in ("a.nc", "a.NC4"):
        (tmp_path / name).write_bytes(b"CDF\1")
        with pytest.raises(StoreError, match=r"open NetCDF with xarray, and write it with zarrcore\.xarray"):
            zarrcore.open(tmp_path / name, mode="r")
    for open_it, kind in (
        (zarrcore.open, GroupNotFoundError),
        (zarrcore.open_group, GroupNotFoundError),
        (zarrcore.open_array, ArrayNotFoundError),
    ):
        with pytest.raises(kind, match="expected a directory, found a file"):
            open_it(tmp_path / "a.nc", mode="r")
    for change in ({"mode": "a"}, {"mode": "w"}, {"mode": "w-"}):
        with pytest.raises(OSError, match=r"a\.nc: expected a directory, found a file|File exists"):
            zarrcore.open_group(tmp_path / "a.nc", **change)
    assert (tmp_path / "a.nc").read_bytes() == b"CDF\1"


def test_arguments_that_need_their_names_are_told_so(tmp_path: Path) -> None:
    """A mode after the store is the habit of zarr 2; the error was Python's count of arguments."""
    for function in (zarrcore.open, zarrcore.open_array):
        with pytest.raises(TypeError, match=r"at most 1 argument by position, 2 were .*, such as mode='r'$"):
            function(tmp_path, "r")  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"^create_array\(\) takes at most 1 .*, such as shape=\(3,\)$"):
        zarrcore.create_array(tmp_path, (3,))  # type: ignore[misc]
    with pytest.raises(TypeError, match="say the names of the others$"):
        zarrcore.create_array(tmp_path, None)  # type: ignore[misc]
    assert not [*tmp_path.iterdir()]


def test_a_list_is_no_array_to_save(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"an array, got list; numpy\.asarray\(\.\.\.\) makes one"):
        zarrcore.save(tmp_path / "a", [1, 2])  # type: ignore[arg-type]


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
        if name not in ("dask", "xarray") or find_spec(name) is not None:
            assert getattr(zarrcore, name) is not None
    for plumbing in ("HOMES", "MODULES", "attach", "annotations", "_lazy", "_locks"):
        assert plumbing not in names


def test_a_node_in_the_place_of_a_store_has_its_place_named(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, name="a", shape=2, dtype="i4")
    for call in (zarrcore.verify, zarrcore.open):
        with pytest.raises(TypeError, match=f"its store_path is one: {tmp_path.as_uri()}/a$"):
            call(array)


def test_a_document_that_is_empty_is_said_to_be_empty() -> None:
    with pytest.raises(MetadataValidationError, match=r"zarr\.json: not valid JSON: the document is empty"):
        zarrcore.open({"zarr.json": b""}, mode="r")


def test_a_document_without_a_format_is_said_to_lack_it() -> None:
    store: dict[str, bytes] = {}
    zarrcore.create_array(store, shape=2, dtype="i4")
    store["zarr.json"] = (
        store["zarr.json"].replace(b'"zarr_format": 3,', b"").replace(b',\n  "zarr_format": 3', b"")
    )
    assert b"zarr_format" not in store["zarr.json"]
    with pytest.raises(MetadataValidationError, match=r"zarr\.json: zarr_format: is required and missing"):
        zarrcore.open(store, mode="r")


def test_modes_that_create_say_what_they_need(tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "a", shape=2, dtype="i4")[...] = 7
    with pytest.raises(TypeError, match="mode 'w' makes a new array, and there is no shape to create one"):
        zarrcore.open_array(tmp_path / "a", mode="w")
    assert zarrcore.open_array(tmp_path / "a", mode="r")[0] == 7
    with pytest.raises(TypeError, match="keyword argument 'mode'; overwrite=True replaces what is there"):
        zarrcore.create_array(tmp_path / "a", shape=2, dtype="i4", mode="w")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "value,way", [(np.arange(2), r"value\.tolist\(\)"), (np.datetime64("2026-02-03"), r"str\(value\)")]
)
def test_attributes_that_are_not_json_name_what_is(value: Any, way: str) -> None:
    with pytest.raises(TypeError, match=f"^attributes.a: .* is not a JSON value: .*; {way} is one$"):
        zarrcore.create_group({}).attrs["a"] = value


@pytest.mark.parametrize("given", ["s3://bucket/data.zarr", {}])
def test_a_cache_of_what_is_no_store_is_refused(given: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"CacheStore: expected a store, such as .*, got (str|dict)$"):
        zarrcore.storage.CacheStore(given, tmp_path, max_bytes=1)
    with pytest.raises(TypeError, match="max_bytes: expected a number of bytes, got '1GB'"):
        zarrcore.storage.CacheStore(MemoryStore(), tmp_path, max_bytes="1GB", name="a")  # type: ignore[arg-type]


def test_large_counts_are_written_out() -> None:
    text = str(type(zarrcore.metrics())(bytes_read=29_579_138, decode_seconds=0.12891))
    assert "bytes_read     : 29579138\n" in text and "decode_seconds : 0.12891" in text


def test_a_path_is_not_taken_for_the_values_of_an_array(tmp_path: Path) -> None:
    zarrcore.save(tmp_path / "old", np.arange(3))
    for path in (tmp_path / "old", str(tmp_path / "old")):
        with pytest.raises(TypeError, match=r"from_array: .* got the path .*: open it with open_array$"):
            zarrcore.from_array(tmp_path / "new", data=path)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("zarr_format", [0, 4, "3", b"3"])
@pytest.mark.parametrize(
    "open_it", [*OPEN, zarrcore.open_consolidated, zarrcore.consolidate_metadata, zarrcore.check_consolidated]
)
def test_a_format_that_there_is_not_is_named(open_it: Any, zarr_format: Any) -> None:
    """It was a KeyError of a number alone."""
    with pytest.raises(ValueError, match=f"zarr_format: expected 2.* got {zarr_format!r}"):
        open_it({}, zarr_format=zarr_format)


def test_a_copy_of_a_path_where_nothing_is_names_it(tmp_path: Path) -> None:
    """It ended well, with nothing copied."""
    zarrcore.save(tmp_path / "a.zarr", np.arange(3))
    for source, path, reason in (
        ("b.zarr", "", "does not exist"),
        ("b.zip", "", "does not exist"),
        ("a.zarr", "inner", "inner does not exist"),
    ):
        with pytest.raises(CopyError, match=f"there is nothing to copy .*{reason}"):
            zarrcore.copy_store(tmp_path / source, tmp_path / "new.zarr", source_path=path)
    assert not (tmp_path / "new.zarr").exists()
    assert zarrcore.copy_store({}, {}) == (0, 0, 0), "an empty store of a program"


def test_a_file_in_place_of_a_directory_is_explained(tmp_path: Path) -> None:
    zarrcore.save(tmp_path / "a.zarr", np.arange(3))
    with pytest.raises(StoreError, match=rf"it is the document of a node: open {tmp_path}/a\.zarr\)"):
        zarrcore.open(tmp_path / "a.zarr/zarr.json", mode="r")
    (tmp_path / "references.json").write_text("{}")
    with pytest.raises(StoreError, match="ReferenceStore"):
        zarrcore.open(tmp_path / "references.json", mode="r")


def test_what_arrays_of_numpy_have_is_found_by_reading_first() -> None:
    array = zarrcore.array(np.arange(3))
    for name in ("mean", "sum", "T", "reshape", "astype", "max"):
        with pytest.raises(AttributeError, match=rf"has no attribute '{name}'.* array\[\.\.\.\]\.{name}$"):
            getattr(array, name)
    with pytest.raises(AttributeError, match="has no attribute 'foo'$"):
        array.foo  # noqa: B018
    assert np.mean(array) == 1


@pytest.mark.parametrize("data", [zarrcore.create_group({}), {"a": np.arange(3)}])
def test_what_holds_several_arrays_is_no_array(data: Any) -> None:
    for make in (
        lambda: zarrcore.from_array({}, data=data),
        lambda: zarrcore.create_array({}, data=data),
    ):
        with pytest.raises(TypeError, match="expected an array, got (Group|dict), which holds several"):
            make()


def test_a_class_of_a_codec_is_no_codec() -> None:
    with pytest.raises(MetadataValidationError, match=r"not its class: ZstdCodec\(\.\.\.\)"):
        zarrcore.create_array({}, shape=3, dtype="i4", compressors=zarrcore.codecs.ZstdCodec)


def test_options_of_a_store_are_a_dictionary() -> None:
    with pytest.raises(TypeError, match="storage_options: expected a dictionary, got str"):
        zarrcore.open("s3://bucket/a.zarr", mode="r", storage_options="anon")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="MemoryStore: expected a dictionary, got list"):
        MemoryStore([1])  # type: ignore[arg-type]


def test_blocks_of_arrays_with_shards_are_shards() -> None:
    array = zarrcore.create_array({}, data=np.arange(12), chunks=2, shards=6)
    assert array.blocks[1].tolist() == [6, 7, 8, 9, 10, 11]
    with pytest.raises(IndexError, match="block 3 is out of bounds for .* 2 blocks .each a shard"):
        array.blocks[3]


@pytest.mark.parametrize("name", ["Array", "AsyncArray", "Group", "AsyncGroup"])
def test_a_class_is_no_function_that_opens(name: str) -> None:
    kind = "group" if "Group" in name else "array"
    with pytest.raises(TypeError, match=f"{name}: expected metadata .* got 'x.zarr' alone; open_{kind} "):
        getattr(zarrcore, name)("x.zarr")


def test_lengths_that_are_no_shape() -> None:
    array = zarrcore.ones((2, 2))
    with pytest.raises(TypeError, match=r"resize: expected one shape, got 2 arguments: write resize\(\(3, 3"):
        array.resize(3, 3)
    assert array.shape == (2, 2)


@pytest.mark.parametrize("level", [-1, "a", 1.5])
def test_levels_of_a_tree_that_are_no_number(level: Any) -> None:
    """A tree without a limit was shown."""
    group = zarrcore.create_group({})
    with pytest.raises(ValueError, match="level: expected None or a number of levels, at least 0, got"):
        group.tree(level=level)
    with pytest.raises(ValueError, match="max_nodes: expected a number of nodes"):
        group.tree(max_nodes=-1)
    assert group.tree(level=np.int64(1)).lines == ["/"]


def test_requests_that_are_none() -> None:
    with pytest.raises(TypeError, match="requests: expected pairs of an array and a selection, .* got 0"):
        zarrcore.read_many(0)  # type: ignore[arg-type]
