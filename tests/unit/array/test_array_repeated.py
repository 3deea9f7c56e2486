"""Arrays created with arguments of before: what is kept of these serves them, and nothing else does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.config import config
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata import known

PLAIN = {"shape": (6, 4), "chunks": (3, 2), "dtype": "f8"}


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_kept", {})


def documents(**options: Any) -> dict[str, bytes]:
    """The metadata documents of a new array."""
    store: dict[str, bytes] = {}
    zarrcore.create_array(store, **options)
    return store


def documents_anew(**options: Any) -> dict[str, bytes]:
    """The same, made of nothing that is kept."""
    known._kept.clear()
    return documents(**options)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "other",
    [
        {},
        {"dtype": ">f8"},
        {"dtype": np.float64},
        {"dtype": float},
        {"dtype": np.dtype(">f8")},
        {"dtype": np.dtype("<f8", metadata={"a": 1})},
        {"shape": (6, 5)},
        {"chunks": "auto"},
        {"chunks": (3, 4)},
        {"attributes": {"a": [1]}},
        {"order": "F"},
        {"compressors": None},
        {"compressors": [{"id": "zstd", "level": 3}]},
        {"fill_value": 7},
        {"fill_value": np.float64(7)},
        {"fill_value": "NaN"},
        {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}}},
    ],
)
def test_same_as_without_what_is_kept(zarr_format: int, other: dict[str, Any]) -> None:
    options = {"zarr_format": zarr_format, **PLAIN, **other}
    if zarr_format == 3 and "compressors" in other and other["compressors"]:
        options["compressors"] = [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
    expected = documents_anew(**options)
    documents_anew(zarr_format=zarr_format, **PLAIN)
    assert documents(**options) == expected
    assert documents(**options) == expected


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["f8", "i4", "bool"])
def test_fill_values_that_are_equal_but_not_the_same(zarr_format: int, dtype: str) -> None:
    fills = [0, 0.0, -0.0, False, np.float64(0), np.bool_(False)]
    many = [{**PLAIN, "dtype": dtype, "zarr_format": zarr_format, "fill_value": fill} for fill in fills]
    expected = [documents_anew(**options) for options in many]
    known._kept.clear()
    assert [documents(**options) for options in many] == expected


def test_fill_values_of_the_same_bytes() -> None:
    options = PLAIN | {"dtype": "i4"}
    documents(**options, fill_value=np.int32(1065353216))
    assert documents(**options, fill_value=np.float32(1)) == documents_anew(**options, fill_value=1)


def test_attributes_are_the_arrays_own() -> None:
    given = {"a": [1]}
    arrays = [zarrcore.create_array({}, **PLAIN, attributes=given) for _ in range(2)]
    given["a"].append(2)
    arrays[0].attrs["b"] = 3
    assert [dict(array.attrs) for array in arrays] == [{"a": [1], "b": 3}, {"a": [1]}]


@pytest.mark.parametrize("name", ["dimension_names", "storage_transformers"])
def test_format_2_refuses_what_it_has_not_each_time(name: str) -> None:
    documents(**PLAIN, zarr_format=2)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"{name}: format 2 arrays have none"):
            documents(**PLAIN, zarr_format=2, **{name: ["x", "y"]})


def test_dimension_names_are_checked_each_time() -> None:
    documents(**PLAIN, dimension_names=["x", None])
    with pytest.raises(MetadataValidationError, match="dimension_names: expected 2 names"):
        documents(**PLAIN, dimension_names=["x"])


def test_settings_count() -> None:
    options = {"shape": (4000, 4000), "chunks": (10, 10), "shards": "auto", "dtype": "f8"}
    small = documents(**options)
    with config.set({"array.target_shard_size_bytes": 10_000_000}):
        assert documents(**options) != small
    assert documents(**options) == small


def test_a_change_of_records_as_fill_value_changes_no_other_array() -> None:
    options = {"shape": 3, "dtype": [("a", "i4")], "fill_value": (5,)}
    first, second = (zarrcore.create_array({}, **options) for _ in range(2))
    assert first.metadata.fill_value is not second.metadata.fill_value


def test_arguments_that_hold_themselves_are_refused_as_before() -> None:
    codec: dict[str, Any] = {"name": "conditional", "configuration": {}}
    codec["configuration"]["codecs"] = [codec]
    with pytest.raises(MetadataValidationError, match="nested"):
        documents(**PLAIN, compressors=[codec])
