# SPDX-License-Identifier: MIT
"""The options of the functions that create arrays: seen in signatures, and no others are taken."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import zarrcore
from zarrcore.arrays.options import ArrayOptions, FromArrayOptions, LegacyOptions, complete

zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (zarrcore.create_array, zarr.create_array),
        (zarrcore.from_array, zarr.from_array),
        (zarrcore.create, zarr.create),
        (zarrcore.Group.create_array, zarr.Group.create_array),
        (zarrcore.AsyncGroup.create_array, zarr.Group.create_array),
    ],
)
def test_signatures_show_what_zarr_python_takes(ours: Any, theirs: Any) -> None:
    shown = inspect.signature(ours).parameters
    if not any(item.kind is item.VAR_KEYWORD for item in shown.values()):
        for name, expected in inspect.signature(theirs).parameters.items():
            assert name in shown
            if expected.kind is expected.KEYWORD_ONLY:
                assert shown[name].kind is expected.kind


def test_defaults_are_shown() -> None:
    shown = inspect.signature(zarrcore.create_array).parameters
    assert shown["chunks"].default == "auto"
    assert shown["fill_value"].default is ...
    assert shown["overwrite"].default is False
    assert inspect.signature(zarrcore.from_array).parameters["chunks"].default == "keep"
    assert inspect.signature(zarrcore.create).parameters["filters"].default is None


@pytest.mark.parametrize("kind", [ArrayOptions, FromArrayOptions, LegacyOptions])
def test_complete_adds_defaults_only(kind: Any) -> None:
    options = complete(kind, {"fill_value": 3})
    assert options["fill_value"] == 3
    assert options["attributes"] is None
    assert options.keys() == kind.__annotations__.keys()


@pytest.mark.parametrize("name", ["chunk", "values", "threads", "group"])
def test_unknown_options_are_refused(name: str) -> None:
    root = zarrcore.create_group({})
    arguments: dict[str, Any] = {name: 1}
    for create in (root.create_array, zarrcore.create_array):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            create("a" if create == root.create_array else {}, shape=3, dtype="i4", **arguments)
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        zarrcore.create(3, **arguments)
    assert list(root) == []


def test_options_that_have_no_effect_are_announced_where_they_are_given() -> None:
    with pytest.warns(zarrcore.errors.ZarrRuntimeWarning, match="synchronizer") as seen:
        zarrcore.create(3, synchronizer=object())
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", ["open_array", "open", "open_group", "group", "open of a group"])
def test_they_are_announced_for_what_is_there_already(name: str) -> None:
    """An array that was there was opened without the lock that was asked for, and without a word."""
    store = zarrcore.create_array({}, shape=3, dtype="i4").store
    if "group" in name:
        store = zarrcore.create_group({}).store
    opens = getattr(zarrcore, name.partition(" ")[0])
    with pytest.warns(zarrcore.errors.ZarrRuntimeWarning, match="synchronizer has no effect") as seen:
        opens(store, synchronizer=object())
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"dimension_names": ("y", None)}, ("y", None)),
        ({}, None),
        ({"zarr_format": 2}, None),
        ({"zarr_format": 2, "attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}}, ("y", "x")),
        ({"zarr_format": 2, "attributes": {"_ARRAY_DIMENSIONS": ["y"]}}, None),
        ({"zarr_format": 2, "attributes": {"_ARRAY_DIMENSIONS": "yx"}}, None),
        ({"zarr_format": 2, "attributes": {"_ARRAY_DIMENSIONS": ["y", 2]}}, None),
    ],
)
def test_dimension_names_of_all_formats(options: dict[str, Any], expected: Any) -> None:
    array = zarrcore.create_array({}, shape=(2, 3), dtype="i4", **options)
    assert array.dimension_names == zarrcore.open_array(array.store).dimension_names == expected
