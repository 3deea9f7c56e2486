# SPDX-License-Identifier: MIT
"""User attributes: what is shown is what is stored, NaN and infinities included."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays import opened
from zarrcore.errors import BadConfigError, MetadataValidationError

KINDS = [(2, "array"), (2, "group"), (3, "array"), (3, "group")]


def make(values: dict[str, Any], zarr_format: int, kind: str, **options: Any) -> Any:
    if kind == "group":
        return zarrcore.create_group(values, zarr_format=zarr_format, **options)
    return zarrcore.create_array(values, shape=1, dtype="i1", zarr_format=zarr_format, **options)


@pytest.mark.parametrize(("zarr_format", "kind"), KINDS)
def test_what_is_shown_is_what_is_stored(zarr_format: int, kind: str) -> None:
    """attrs["a"].append(2) was shown, and lost."""
    values: dict[str, Any] = {}
    node = make(values, zarr_format, kind, attributes={"a": [1, {"b": [2]}], "d": {"e": []}, "s": "text"})
    node.attrs["a"].append(2)
    node.attrs["a"][1]["b"].append(3)
    node.attrs["d"]["e"].append(4)
    node.attrs.asdict()["d"]["f"] = 5
    next(iter(node.attrs.values())).clear()
    for _, value in node.attrs.items():
        if isinstance(value, dict):
            value["g"] = 6
    expected = {"a": [1, {"b": [2]}], "d": {"e": []}, "s": "text"}
    assert dict(node.attrs) == node.attrs.asdict() == expected
    node.attrs["more"] = 1
    assert dict(zarrcore.open(values, mode="r").attrs) == expected | {"more": 1}
    given = [1]
    node.attrs["given"] = given
    given.append(2)
    assert node.attrs["given"] == [1]


@pytest.mark.parametrize(("zarr_format", "kind"), KINDS)
def test_nan_is_written_as_zarr_python_does_where_it_is_allowed(zarr_format: int, kind: str) -> None:
    values: dict[str, Any] = {}
    numbers = {"n": math.nan, "deep": [{"i": -math.inf}], "np": np.float32("inf")}
    with pytest.raises(MetadataValidationError, match=r"nan.*attributes\.nan='allow'"):
        make({}, zarr_format, kind, attributes=numbers)
    with zarrcore.config.set({"attributes.nan": "allow"}):
        node = make(values, zarr_format, kind, attributes=numbers)
        node.attrs["later"] = math.nan
    name = "zarr.json" if zarr_format == 3 else ".zattrs"
    text = bytes(values[name]).decode()
    assert '"n": NaN' in text
    assert '"i": -Infinity' in text
    again = zarrcore.open(values)
    for found in (again.attrs, json.loads(text) if zarr_format == 2 else json.loads(text)["attributes"]):
        assert math.isnan(found["n"])
        assert math.isnan(found["later"])
        assert found["deep"] == [{"i": -math.inf}]
        assert found["np"] == math.inf
    value = again.attrs["n"]
    assert type(value) is float
    assert value != value  # the idiom that finds NaN
    again.attrs["more"] = 1  # what is there already keeps nobody from changing anything else
    assert '"n": NaN' in bytes(values[name]).decode()
    with pytest.raises(MetadataValidationError, match="allow"):
        again.attrs["more"] = math.nan
    assert again == zarrcore.open(values)


def test_an_integer_of_more_digits_than_python_writes_names_the_document() -> None:
    """It was the bare error of `str`."""
    with pytest.raises(MetadataValidationError, match=r"zarr.json: .*limit \(\d+ digits\)"):
        zarrcore.create_group({}, attributes={"n": 10**5000})


@pytest.mark.parametrize(("zarr_format", "kind"), KINDS)
@pytest.mark.parametrize("text", ["1e400", "-1e999", "1" + 310 * "0" + ".0"])
def test_a_number_larger_than_any_float_kept_everything_from_being_changed(
    zarr_format: int, kind: str, text: str
) -> None:
    """It is JSON, and other programs write it."""
    values: dict[str, Any] = {}
    make(values, zarr_format, kind, attributes={"a": "HERE", "b": ["HERE"]})
    name = "zarr.json" if zarr_format == 3 else ".zattrs"
    values[name] = bytes(values[name]).replace(b'"HERE"', text.encode())
    node = zarrcore.open(values)
    assert node.attrs.asdict() == {"a": float(text), "b": [float(text)]}
    assert type(node.attrs["a"]) is float
    node.attrs["more"] = 1
    if kind == "array":
        node.resize((3,))
        node.append(np.ones(2, "i1"))
    assert bytes(values[name]).count(text.encode()) == 2
    again = pickle.loads(pickle.dumps(node.metadata))
    assert again == node.metadata and again.to_documents()[name] == bytes(values[name])
    with pytest.raises(MetadataValidationError, match="allow"):
        node.attrs["more"] = math.inf


def test_nan_does_not_make_consolidated_metadata_stale() -> None:
    values: dict[str, Any] = {}
    with zarrcore.config.set({"attributes.nan": "allow"}):
        zarrcore.create_array(values, name="a", shape=1, dtype="i1", attributes={"n": math.nan})
    zarrcore.consolidate_metadata(values)
    assert zarrcore.check_consolidated(values) == ()
    assert math.isnan(zarrcore.open_consolidated(values)["a"].attrs["n"])


def test_the_setting_has_two_values() -> None:
    with pytest.raises(BadConfigError, match="'refuse' or 'allow'"):
        zarrcore.config.set({"attributes.nan": True})


def test_attributes_that_contain_themselves_are_refused_by_name() -> None:
    """It was a bare RecursionError."""
    attributes: dict[str, Any] = {"title": "round"}
    attributes["deep"] = {"below": [attributes]}
    group = zarrcore.create_group({})
    for store in (
        lambda: group.attrs.update(attributes),
        lambda: group.attrs.__setitem__("again", attributes),
        lambda: group.create_array("a", shape=1, dtype="i1", attributes=attributes),
        lambda: group.create_group("b", attributes=attributes),
    ):
        with pytest.raises(MetadataValidationError, match="attributes: nested too deeply, or in themselves"):
            store()
    assert dict(group.attrs) == {} and list(group) == []


def test_each_change_parsed_again_what_this_handle_had_stored(monkeypatch: Any) -> None:
    parsed = []
    parse_node = opened.parse_node
    monkeypatch.setattr(opened, "parse_node", lambda *args: parsed.append(args) or parse_node(*args))
    values: dict[str, Any] = {}
    array, other = make(values, 3, "array"), zarrcore.open_array(values, mode="r+")
    for number in range(4):
        array.attrs["a"] = number
    assert len(parsed) == 1
    other.attrs["b"] = 1
    array.attrs["c"] = 2
    assert dict(zarrcore.open_array(values).attrs) == {"a": 3, "b": 1, "c": 2}
