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
