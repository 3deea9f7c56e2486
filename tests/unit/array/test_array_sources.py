# SPDX-License-Identifier: MIT
"""What new arrays keep of arrays of zarr-python, h5py and xarray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore


@pytest.fixture(params=[2, 3])
def zarr_format(request: pytest.FixtureRequest) -> Any:
    return request.param


def _from_array(source: Any, zarr_format: int) -> zarrcore.Array:
    return zarrcore.from_array({}, data=source, zarr_format=zarr_format)


def _array(source: Any, zarr_format: int) -> zarrcore.Array:
    return zarrcore.array(source, zarr_format=zarr_format)


def _assigned(source: Any, zarr_format: int) -> zarrcore.Array:
    root = zarrcore.create_group({}, zarr_format=zarr_format)
    root["a"] = source
    return root["a"]


def _saved(source: Any, zarr_format: int) -> zarrcore.Array:
    store: dict[str, Any] = {}
    zarrcore.save(store, source, zarr_format=zarr_format)
    return zarrcore.open_array(store)


def _saved_in_group(source: Any, zarr_format: int) -> zarrcore.Array:
    store: dict[str, Any] = {}
    zarrcore.save(store, a=source, zarr_format=zarr_format)
    return zarrcore.open_array(store, path="a")


def _copied(source: Any, zarr_format: int) -> zarrcore.Array:
    root = zarrcore.create_group({}, zarr_format=zarr_format)
    zarrcore.copy(source, root, name="a")
    return root["a"]


WAYS = [_from_array, _array, _assigned, _saved, _saved_in_group, _copied]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))


def _check(array: zarrcore.Array, chunks: tuple[int, ...] = (2, 5)) -> None:
    assert array.chunks == chunks
    assert np.isnan(array.fill_value)
    assert array.attrs["units"] == "K"
    assert array.dimension_names == ("time", "x")
    assert array.nchunks_initialized == 1
    expected = np.full((6, 5), np.nan, "f4")
    expected[:2] = 1
    np.testing.assert_array_equal(array[...], expected)


@every_way
@pytest.mark.interop
def test_an_array_of_zarr_python_is_kept_as_it_is(zarr_format: int, way: Any) -> None:
    zarr = pytest.importorskip("zarr")
    source = zarr.create_array(
        {}, shape=(6, 5), chunks=(2, 5), dtype="f4", fill_value=np.nan, dimension_names=("time", "x")
    )
    source.attrs["units"] = "K"
    source[:2] = 1
    _check(way(source, zarr_format))


@every_way
@pytest.mark.interop
def test_dimension_names_of_format_2_of_zarr_python_are_kept(zarr_format: int, way: Any) -> None:
    """Those of xarray, which format 2 has no other place for; arrays of zarrcore kept them already."""
    zarr = pytest.importorskip("zarr")
    source = zarr.create_array({}, shape=(6, 5), chunks=(2, 5), dtype="f4", fill_value=np.nan, zarr_format=2)
    source.attrs.update({"units": "K", "_ARRAY_DIMENSIONS": ["time", "x"]})
    source[:2] = 1
    _check(way(source, zarr_format))


@pytest.mark.interop
def test_shards_of_zarr_python_are_kept() -> None:
    zarr = pytest.importorskip("zarr")
    source = zarr.create_array({}, shape=(8, 6), chunks=(2, 3), shards=(4, 6), dtype="i2")
    source[...] = np.arange(48).reshape(8, 6)
    copy = zarrcore.from_array({}, data=source)
    assert (copy.chunks, copy.shards) == ((2, 3), (4, 6))
    assert zarrcore.from_array({}, data=source, chunks=(8, 2)).shards is None
    np.testing.assert_array_equal(copy[...], source[...])


@every_way
def test_a_data_set_of_h5py_is_kept_as_it_is(tmp_path: Path, zarr_format: int, way: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        source = file.create_dataset("t", shape=(6, 5), chunks=(2, 5), dtype="f4", fillvalue=np.nan)
        source[:2] = 1
        source.attrs["units"] = np.bytes_("K")
        source.dims[1].label = "x"
        file["time"] = np.arange(6)
        file["time"].make_scale("time")
        source.dims[0].attach_scale(file["time"])
        copy = way(source, zarr_format)
        _check(copy)
        assert set(copy.attrs) - {"_ARRAY_DIMENSIONS"} == {"units"}
        time = way(file["time"], zarr_format)
        assert time.dimension_names == ("time",)
        assert set(time.attrs) <= {"_ARRAY_DIMENSIONS"}


@every_way
def test_a_data_array_of_xarray_is_kept_as_it_is(zarr_format: int, way: Any) -> None:
    xarray = pytest.importorskip("xarray")
    values = np.full((6, 5), np.nan, "f4")
    values[:2] = 1
    source = xarray.DataArray(values, dims=("time", "x"), attrs={"units": "K"}, name="t")
    source.encoding["_FillValue"] = np.float32(-999)  # what open_dataset leaves when it has decoded it
    _check(way(source, zarr_format), chunks=(6, 5))


class DataArray:
    """What a DataArray of xarray has, for machines without it."""

    shape, dtype, dims, attrs, chunks = (4,), np.dtype("i2"), ("time",), {"_FillValue": np.int16(-1)}, None
    encoding: dict[str, Any] = {}
    nbytes = 8

    def __getitem__(self, selection: Any) -> np.ndarray:
        return np.array([1, -1, 3, -1], "i2")[selection]


def test_an_undecoded_fill_value_of_xarray_is_the_fill_value() -> None:
    copy = zarrcore.from_array({}, data=DataArray(), chunks=1)
    assert (copy.fill_value, copy.dimension_names, dict(copy.attrs)) == (-1, ("time",), {"_FillValue": -1})
    assert copy.nchunks_initialized == 2


def test_given_options_come_before_those_of_the_source() -> None:
    copy = zarrcore.from_array(
        {}, data=DataArray(), fill_value=3, attributes={"a": 1}, dimension_names=("x",), chunks=2
    )
    assert (copy.fill_value, dict(copy.attrs), copy.dimension_names) == (3, {"a": 1}, ("x",))
    assert zarrcore.array(DataArray(), fill_value=3, attributes={}).fill_value == 3
    assert zarrcore.zeros_like(DataArray()).fill_value == 0


def test_an_attribute_without_a_form_in_json_is_named() -> None:
    class WithComplex(DataArray):
        attrs = {"z": 1j}

    with pytest.raises(TypeError, match=r"attributes\.z: complex is not a JSON value.*attributes="):
        zarrcore.from_array({}, data=WithComplex())
    assert dict(zarrcore.from_array({}, data=WithComplex(), attributes={}).attrs) == {}
    assert zarrcore.empty_like(WithComplex()).shape == (4,)


def test_what_the_source_raises_names_it() -> None:
    class Broken(DataArray):
        name = "/sea/salt"

        def __getitem__(self, selection: Any) -> np.ndarray:
            raise OSError("filter 32015 is missing")

    store: dict[str, Any] = {}
    with pytest.raises(zarrcore.errors.CopyError, match=r"/sea/salt cannot be read .*32015 is missing"):
        zarrcore.from_array(store, data=Broken())
    assert not store
