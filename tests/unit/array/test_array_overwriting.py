"""Nothing is removed before it is certain that what replaces it can be stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ContainsGroupError, CopyError, MetadataValidationError

VALUES = [1, 2, 3, 4]


@pytest.fixture
def store() -> dict[str, bytes]:
    """A store with one array, named x."""
    store: dict[str, bytes] = {}
    zarrcore.create_array(store, name="x", shape=4, chunks=2, dtype="i4")[:] = VALUES
    return store


@pytest.mark.parametrize(
    "replace",
    [
        lambda s: zarrcore.create_array(
            s, name="x", shape=4, dtype="i4", attributes={"a": np.nan}, overwrite=True
        ),
        lambda s: zarrcore.create_array(s, name="x", shape=4, dtype=[("a", "i4", (2,))], overwrite=True),
        lambda s: zarrcore.create_group(s, path="x", attributes={"a": {1}}, overwrite=True),
        lambda s: zarrcore.open_group(s, mode="w", attributes={"a": np.nan}),
        lambda s: zarrcore.create(2, dtype="i4", data=[1.5, 2], store=s, path="x", overwrite=True),
        lambda s: zarrcore.create(2, dtype="i4", data=[1, 2, 3], store=s, path="x", overwrite=True),
    ],
    ids=["attributes", "dtype", "group", "mode-w", "values", "shape of values"],
)
def test_refused_metadata_cost_nothing(store: dict[str, bytes], replace: Any) -> None:
    before = dict(store)
    with pytest.raises((ValueError, TypeError)):
        replace(store)
    assert store == before


@pytest.mark.parametrize(
    "replace",
    [
        lambda s, a: zarrcore.from_array(s, name="x", data=a, overwrite=True),
        lambda s, a: zarrcore.create_array(s, name="x", data=a, overwrite=True),
        lambda s, a: zarrcore.array(a, store=s, path="x", overwrite=True),
        lambda s, a: zarrcore.create(4, dtype="i4", data=a, store=s, path="x", overwrite=True),
        lambda s, a: zarrcore.save_array(s, a, path="x", mode="w"),
        lambda s, a: zarrcore.save_group(s, a),
        lambda s, a: zarrcore.open_group(s).__setitem__("x", a),
    ],
    ids=["from_array", "create_array", "array", "create", "save_array", "save_group", "group"],
)
def test_array_is_not_overwritten_with_itself(store: dict[str, bytes], replace: Any) -> None:
    before = dict(store)
    with pytest.raises(ValueError, match="cannot overwrite"):
        replace(store, zarrcore.open_array(store, path="x"))
    assert store == before


def test_item_assignment_replaces_an_array(store: dict[str, bytes]) -> None:
    group = zarrcore.open_group(store)
    group["x"] = np.arange(5)
    group["x"] = group["x"][:] * 2
    assert group["x"][:].tolist() == [0, 2, 4, 6, 8]
    group.create_group("below")
    with pytest.raises(ContainsGroupError):
        group["below"] = np.arange(2)


@pytest.fixture
def with_nan() -> dict[str, bytes]:
    """An array with attributes that are no JSON, as other programs write them."""
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None, "filters": None,
        "fill_value": 0, "order": "C",
    }  # fmt: skip
    attributes = b'{"_FillValue": NaN, "valid": [-Infinity, Infinity]}'
    return {".zarray": json.dumps(metadata).encode(), ".zattrs": attributes}


def test_nan_that_stood_there_stays(with_nan: dict[str, bytes]) -> None:
    array = zarrcore.open_array(with_nan, mode="a")
    array[:] = VALUES
    array.attrs["units"] = "K"
    array.resize(3)
    assert json.loads(with_nan[".zattrs"])["valid"] == [-np.inf, np.inf]
    assert np.isnan(json.loads(with_nan[".zattrs"])["_FillValue"])
    again = zarrcore.open_array(with_nan)
    assert again[:].tolist() == VALUES[:3]
    assert again.attrs["units"] == "K"


def test_nan_that_stood_there_is_copied(with_nan: dict[str, bytes]) -> None:
    group = zarrcore.open_group({}, mode="w")
    group["copy"] = zarrcore.open_array(with_nan)
    zarrcore.consolidate_metadata(group.store)
    assert np.isnan(zarrcore.open_consolidated(group.store)["copy"].attrs["_FillValue"])


def test_new_nan_is_refused(with_nan: dict[str, bytes]) -> None:
    before = dict(with_nan)
    with pytest.raises(MetadataValidationError, match="JSON has no number inf"):
        zarrcore.open_array(with_nan, mode="a").attrs["limit"] = float("inf")
    assert with_nan == before


def test_an_array_of_zarr_python_that_would_be_removed_first_is_refused(tmp_path: Path) -> None:
    """All its values were gone, and read as the fill value."""
    zarr = pytest.importorskip("zarr")
    path, values = tmp_path / "s.zarr", np.arange(10)
    zarrcore.save(path, **{"a": values, "b/c": values})
    memory = zarr.storage.MemoryStore()
    theirs = zarr.create_array(memory, data=values)
    with pytest.raises(ValueError, match="which would be removed first"):
        zarrcore.from_array(memory, data=theirs, overwrite=True)
    assert (theirs[...] == values).all()
    for name in ("a", None):
        with pytest.raises(ValueError, match="which would be removed first"):
            zarrcore.from_array(path, name=name, data=zarr.open_array(path, path="a"), overwrite=True)
    with pytest.raises(CopyError, match="lies in the other"):
        zarrcore.copy_all(zarr.open_group(path), zarrcore.open_group(path, path="b"))
    with pytest.raises(CopyError, match="lies in the other"):
        zarrcore.copy(
            zarr.open_array(path, path="a"), zarrcore.open_group(path), name="a", if_exists="replace"
        )
    assert all((zarrcore.load(path)[name] == values).all() for name in ("a", "b/c"))


def _of_dask(path: Path) -> Any:
    return pytest.importorskip("dask.array").from_zarr(str(path / "a")) + 1


def _of_dask_over_ours(path: Path) -> Any:
    source = zarrcore.open_array(path, path="a")
    return pytest.importorskip("dask.array").from_array(source).map_blocks(lambda block: block + source[0])


def _hidden_in_a_function(path: Path) -> Any:
    source, array = zarrcore.open_array(path, path="a"), pytest.importorskip("dask.array")
    return array.ones(100, chunks=50).map_blocks(lambda block: block + source[:50])


def _of_xarray(path: Path) -> Any:
    xarray = pytest.importorskip("xarray")
    return xarray.open_dataset(path, engine="zarrcore", consolidated=False)["a"]


def _of_xarray_in_chunks(path: Path) -> Any:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    return xarray.open_dataset(path, engine="zarr", chunks={}, consolidated=False)["a"] * 2


@pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrUserWarning")
@pytest.mark.parametrize(
    "lazy", [_of_dask, _of_dask_over_ours, _hidden_in_a_function, _of_xarray, _of_xarray_in_chunks]
)
def test_lazy_values_of_what_would_be_removed_first_are_refused(tmp_path: Path, lazy: Any) -> None:
    """All values were gone: zeros in their place, without an error."""
    values = np.arange(100)
    zarrcore.create_array(tmp_path, name="a", data=values, chunks=10, dimension_names=["x"])
    data = lazy(tmp_path)
    for write in (
        lambda: zarrcore.from_array(tmp_path, name="a", data=data, overwrite=True),
        lambda: zarrcore.create_array(tmp_path, name="a", data=data, overwrite=True),
        lambda: zarrcore.save(tmp_path / "a", data),
        lambda: zarrcore.save(tmp_path, a=data, b=values),
        lambda: zarrcore.open_group(tmp_path).__setitem__("a", data),
    ):
        with pytest.raises(ValueError, match=r"which would be removed first.*compute\(\)"):
            write()
    with pytest.raises(CopyError if hasattr(data, "attrs") else TypeError, match="lies in the other|open"):
        zarrcore.copy(data, zarrcore.open_group(tmp_path), name="a", if_exists="replace")
    assert (zarrcore.open_array(tmp_path, path="a")[...] == values).all()
    expected = np.asarray(data)
    zarrcore.save(tmp_path / "other", data)
    zarrcore.save(tmp_path / "other", data)
    assert (zarrcore.load(tmp_path / "other") == expected).all()


def test_dask_and_xarray_do_not_overwrite_what_they_are_made_of(tmp_path: Path) -> None:
    pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    import zarrcore.dask
    import zarrcore.xarray

    values = np.arange(100)
    zarrcore.create_array(tmp_path, name="a", data=values, chunks=10, dimension_names=["x"])
    lazy = zarrcore.dask.from_zarr(tmp_path, path="a") + 1
    with pytest.raises(ValueError, match="which would be removed first"):
        zarrcore.dask.to_zarr(lazy, tmp_path, name="a", overwrite=True)
    dataset = xarray.open_dataset(tmp_path, engine="zarrcore", consolidated=False)
    for data in (dataset, dataset.chunk(x=20) + 1):
        with pytest.raises(ValueError, match="which would be removed first"):
            zarrcore.xarray.to_zarr(data, tmp_path, mode="w")
    assert (zarrcore.open_array(tmp_path, path="a")[...] == values).all()
    with zarrcore.xarray.install():
        tree = xarray.open_datatree(tmp_path, engine="zarr", consolidated=False)
        for data in (dataset, dataset.chunk(x=20) + 1, dataset["a"], tree):
            with pytest.raises(ValueError, match="which would be removed first"):
                data.to_zarr(tmp_path, mode="w")
        (dataset + 1).compute().to_zarr(tmp_path / "other", mode="w")
    assert (zarrcore.open_array(tmp_path, path="a")[...] == values).all()
    zarrcore.xarray.to_zarr((dataset + 1).compute(), tmp_path, mode="w")
    assert (zarrcore.open_array(tmp_path, path="a")[...] == values + 1).all()


@pytest.mark.parametrize("engine", ["zarrcore", "zarr"])
def test_a_data_set_that_was_loaded_overwrites_what_it_was_read_from(tmp_path: Path, engine: str) -> None:
    xarray = pytest.importorskip("xarray")
    if engine == "zarr":
        pytest.importorskip("zarr")
    import zarrcore.xarray

    zarrcore.create_array(tmp_path, name="a", data=np.arange(100), chunks=10, dimension_names=["x"])
    dataset = xarray.open_dataset(tmp_path, engine=engine, consolidated=False).load()
    zarrcore.xarray.to_zarr(dataset, tmp_path, mode="w")
    tree = xarray.open_datatree(tmp_path, engine=engine, consolidated=False).load()
    zarrcore.xarray.to_zarr(tree, tmp_path, mode="w")
    assert (zarrcore.open_array(tmp_path, path="a")[...] == np.arange(100)).all()


def test_another_store_in_memory_is_no_source(store: dict[str, bytes]) -> None:
    array = pytest.importorskip("dask.array")
    zarr = pytest.importorskip("zarr")
    theirs = zarr.create_array(zarr.storage.MemoryStore(), data=np.arange(4), name="x")
    for source in (theirs, zarrcore.open_array(dict(store), path="x")):
        zarrcore.create_array(store, name="x", data=array.from_array(source), overwrite=True)
        assert (zarrcore.load(store, "x") == np.asarray(source[...])).all()


def test_an_error_after_what_was_there_has_been_removed_names_that(store: dict[str, bytes]) -> None:
    class Fails:
        shape, dtype = (4,), np.dtype("i4")

        def __getitem__(self, selection: object) -> Any:
            raise OSError("no connection")

    with pytest.raises(CopyError, match="no connection") as failed:
        zarrcore.create_array(store, name="x", data=Fails(), overwrite=True)
    assert "overwrite had removed already whatever was in" in failed.value.__notes__[-1]
    assert "x/zarr.json" not in store
    with pytest.raises(CopyError, match="no connection") as failed:
        zarrcore.create_array(store, name="y", data=Fails())
    assert not any("removed" in note for note in getattr(failed.value, "__notes__", []))
