"""JSON documents: strict parsing, valid output."""

from __future__ import annotations

import enum
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from zarrcore.config import config
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.documents import dump_document, load_document, parse_attributes


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "foo/zarr.json: not valid JSON"),
        (b'{"a": 1', "not valid JSON"),
        (b'{"a": 1,}', "not valid JSON"),
        (b"{} x", "not valid JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b'{"a": 1, "b": 2, "a": 3}', 'the name "a" occurs twice'),
        (b'{"x": {"b": 1, "b": 1}}', 'the name "b" occurs twice'),
        (b"[" * 200_000, "nested too deeply|not valid JSON"),
        (b'{"a": ' * 200_000, "nested too deeply|not valid JSON"),
        (b"[]", r"expected a JSON object, got \[\]"),
        (b"null", "expected a JSON object, got null"),
        (b"3", "expected a JSON object, got 3"),
    ],
)
def test_what_is_no_document(data: bytes, reason: str) -> None:
    with pytest.raises(MetadataValidationError, match=reason) as caught:
        load_document(data, where="foo/zarr.json")
    assert caught.value.key == "foo/zarr.json"
    assert isinstance(caught.value, json.JSONDecodeError) == ("not valid JSON" in str(caught.value))


def test_what_is_not_json_is_an_error_of_json_too() -> None:
    """spatialdata leaves out damaged elements, which it knows by the errors that zarr-python raises."""
    data = b'{"a": 1,\n "b": }'
    with pytest.raises(json.JSONDecodeError) as ours:
        load_document(data, where="foo/zarr.json")
    with pytest.raises(json.JSONDecodeError) as expected:
        json.loads(data)
    for error in (ours.value, pickle.loads(pickle.dumps(ours.value))):
        assert isinstance(error, MetadataValidationError) and error.key == "foo/zarr.json"
        assert str(error) == f"foo/zarr.json: not valid JSON: {expected.value}"
        for name in ("doc", "pos", "lineno", "colno"):
            assert getattr(error, name) == getattr(expected.value, name)


def test_what_is_one() -> None:
    assert load_document(b'\xef\xbb\xbf{"a": "\xc3\xa9"}', where="x") == {"a": "é"}
    assert load_document(memoryview(b' {"a": [1, 2.5, null]}\n'), where="x") == {"a": [1, 2.5, None]}
    assert math.isnan(load_document(b'{"a": NaN}', where="x")["a"])


def test_output_is_json() -> None:
    document = {"b": [1, {"c": "é\ud800"}], "a": None}
    data = dump_document(document, where="zarr.json")
    assert data.isascii()
    assert json.loads(data) == document
    assert list(json.loads(data)) == ["b", "a"]


def test_indentation_is_configured() -> None:
    with config.set({"json_indent": None}):
        assert dump_document({"a": [1]}, where="x") == b'{"a": [1]}'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not(value: float) -> None:
    with pytest.raises(
        MetadataValidationError, match=r"\.zattrs: a\[1\]\.b: JSON has no number|a.*JSON has no number"
    ):
        dump_document({"a": [0, {"b": value}]}, where=".zattrs")


class Unit(enum.StrEnum):
    metre = "m"


def test_attributes_become_plain_values() -> None:
    given: dict[str, Any] = {
        "tuple": (1, [2, (3,)]),
        "numpy": [np.int64(5), np.float32(1.5), np.bool_(True), np.float64(2.5)],
        "enum": Unit.metre,
        "nested": {"a": None},
    }
    found = parse_attributes(given)
    assert found == {"tuple": [1, [2, [3]]], "numpy": [5, 1.5, True, 2.5], "enum": "m", "nested": {"a": None}}
    assert [type(item) for item in found["numpy"]] == [int, float, bool, float]
    assert type(found["enum"]) is str
    assert parse_attributes(None) == {}


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"a": {1, 2}}, TypeError),
        ({"a": [object()]}, TypeError),
        ({"a": np.zeros(3)}, TypeError),
        ({"a": b"bytes"}, TypeError),
        ({1: "a"}, TypeError),
        ({"a": {2: "b"}}, TypeError),
        ([1], MetadataValidationError),
        ("x", MetadataValidationError),
    ],
)
def test_attributes_that_json_cannot_hold(attributes: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="attributes"):
        parse_attributes(attributes)


def nested(kind: str, levels: int) -> Any:
    value: Any = np.int64(1)
    for _ in range(levels):
        value = (value,) if kind == "tuple" else {"a": value, "b": [Unit.metre]}
    return value


@pytest.mark.parametrize("kind", ["tuple", "object"])
def test_attributes_that_are_nested_deeply_are_copied(kind: str) -> None:
    # deeper than what C copies by itself, and not as deep as Python goes
    found = parse_attributes({"a": nested(kind, 700)})["a"]
    for _ in range(700):
        assert kind == "tuple" or found["b"] == ["m"]
        assert type(found) is (list if kind == "tuple" else dict)
        found = found[0 if kind == "tuple" else "a"]
    assert type(found) is int


def test_attributes_within_themselves_are_refused() -> None:
    attributes: dict[str, Any] = {"a": []}
    attributes["a"].append(attributes)
    with pytest.raises(MetadataValidationError, match="in themselves"):
        parse_attributes(attributes)


@pytest.mark.parametrize("indent", [None, 0, 2, 4, "\t"])
@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": [], "b": {}, "c": (), "d": [[], {}, [1]]},
        {"a": [1, 2.5, -0.0, 1e300, 10**40, None, True, False], "b": {"c": {"d": "e"}}},
        {'quotes " and \\': "line\n\u2028 \x00 é \U0001f600"},
        {"tuple": (1, (2,)), "names": {1: "a", None: "b"}},
        {"enum": enum.IntEnum("E", "a").a, "text": enum.StrEnum("S", "a").a, "float": np.float64(1.5)},
    ],
)
def test_documents_are_written_as_the_standard_library_writes_them(
    value: dict[Any, Any], indent: int | str | None
) -> None:
    with config.set({"json_indent": indent}):
        assert dump_document(value, where="zarr.json") == json.dumps(value, indent=indent).encode()


@pytest.mark.parametrize("kind", ["list", "object"])
def test_what_is_nested_too_deeply_is_not_written(kind: str) -> None:
    value: Any = 1
    for _ in range(200_000):
        value = [value] if kind == "list" else {"a": value}
    with pytest.raises(MetadataValidationError, match="nested too deeply"):
        dump_document({"a": value}, where="zarr.json")
