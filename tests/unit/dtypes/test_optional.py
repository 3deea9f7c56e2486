"""The data type ``zarrs.optional``: forms in JSON and in memory, fill values, and what may be assigned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.dtypes import (
    DataTypeValidationError,
    Float32,
    Int16,
    Int32,
    Optional,
    PythonObject,
    RawBytes,
    Struct,
    VariableLengthBytes,
    VariableLengthUTF8,
    get_data_type_from_json,
    parse_dtype,
)
from zarrcore.errors import MetadataValidationError

TEXT = VariableLengthUTF8()
RECORD = Struct(fields=(("a", Int16()), ("b", Float32())))
VALUES = {
    "number": (Optional(item=Int16()), [(None, None), (7, [7]), ((True, 7), [7]), ((False, 7), None)]),
    "nested": (
        Optional(item=Optional(item=Int16())),
        [
            (None, None),
            ((True, None), [None]),
            ((True, (False, 0)), [None]),
            ((True, (True, 7)), [[7]]),
            (7, [[7]]),
        ],
    ),
    "text": (Optional(item=TEXT), [(None, None), ("", [""]), ("né", ["né"])]),
    "nested text": (
        Optional(item=Optional(item=TEXT)),
        [(None, None), ((None,), [None]), (("",), [[""]])],
    ),
    "bytes": (Optional(item=VariableLengthBytes()), [(None, None), (b"", [""]), (b"\0\1", ["AAE="])]),
    "record": (Optional(item=RECORD), [(None, None), ((True, (1, 2.0)), [{"a": 1, "b": 2.0}])]),
}


@pytest.mark.parametrize(("zdtype", "pairs"), VALUES.values(), ids=VALUES)
def test_fill_values(zdtype: Any, pairs: list[tuple[Any, Any]]) -> None:
    for value, expected in pairs:
        assert zdtype.to_json_scalar(value, zarr_format=3) == expected
        item = zdtype.from_json_scalar(expected, zarr_format=3)
        assert zdtype.to_json_scalar(item, zarr_format=3) == expected
        array = zarrcore.create_array({}, shape=2, dtype=zdtype, fill_value=value)
        assert array.metadata.to_dict()["fill_value"] == expected
        again = zarrcore.open_array(array.store)  # without a warning
        assert again.metadata == array.metadata
        item = zdtype.cast_scalar(value)
        assert again[...].tolist() == [item.item() if again.dtype.kind == "V" else item] * 2
    assert zdtype.to_json_scalar(zdtype.default_scalar(), zarr_format=3) is None


@pytest.mark.parametrize(("zdtype", "_"), VALUES.values(), ids=VALUES)
def test_json(zdtype: Any, _: Any) -> None:
    spelt = zdtype.to_json(zarr_format=3)
    assert spelt["name"] == "zarrs.optional" and set(spelt["configuration"]) == {"name", "configuration"}
    assert get_data_type_from_json(spelt, zarr_format=3) == zdtype == parse_dtype(spelt, zarr_format=3)
    json.dumps(spelt)
    with pytest.raises(DataTypeValidationError, match="has no optional items"):
        zdtype.to_json(zarr_format=2)
    assert zdtype.item_size is None or zdtype.item_size == zdtype.to_native_dtype().itemsize


def test_the_form_of_zarrs() -> None:
    assert Optional(item=Int32()).to_json(zarr_format=3) == {
        "name": "zarrs.optional",
        "configuration": {"name": "int32", "configuration": {}},
    }
    inner = RawBytes(length=3)
    assert Optional(item=inner).to_json(zarr_format=3)["configuration"] == inner.to_json(zarr_format=3)


@pytest.mark.parametrize(
    "configuration",
    [
        None,
        {},
        {"configuration": {}},
        {"name": 5, "configuration": {}},
        {"name": "nothing", "configuration": {}},
        {"name": "python_object", "configuration": {}},
        {"name": "zarrs.optional", "configuration": {}},
        {"name": "int32", "configuration": {"x": 1}},
        {"name": "int32", "configuration": {}, "x": 1},
        {"name": "raw_bytes", "configuration": {"length_bytes": 2**26}},
    ],
)
def test_bad_documents_are_refused(configuration: Any) -> None:
    with pytest.raises(DataTypeValidationError):
        get_data_type_from_json({"name": "zarrs.optional", "configuration": configuration}, zarr_format=3)


@pytest.mark.parametrize("depth", [17, 400])
def test_nested_too_deeply(depth: int) -> None:
    data: Any = {"name": "uint8", "configuration": {}}
    for _ in range(depth):
        data = {"name": "zarrs.optional", "configuration": data}
    with pytest.raises(DataTypeValidationError, match="nested more than 16 levels deep"):
        get_data_type_from_json(data, zarr_format=3)


@pytest.mark.parametrize("fill_value", [7, [7, 8], [], "x", [[7]], [None], [2.5], [2**40], {}, True])
def test_bad_fill_values_are_refused(fill_value: Any) -> None:
    document = zarrcore.create_array({}, shape=2, dtype=Optional(item=Int32())).metadata.to_dict()
    with pytest.raises(MetadataValidationError, match="fill_value"):
        zarrcore.open_array({"zarr.json": json.dumps(document | {"fill_value": fill_value}).encode()})


def test_what_it_cannot_be_made_of() -> None:
    for item in (PythonObject(object_codec_id="json2"), "int32", None):
        with pytest.raises(DataTypeValidationError):
            Optional(item=item)
    with pytest.raises(DataTypeValidationError, match="its items may be missing"):
        Struct(fields=(("a", Optional(item=Int32())),))


def test_structures_alike_are_structures() -> None:
    same = Optional(item=Int32()).to_native_dtype()
    assert isinstance(parse_dtype(same, zarr_format=3), Struct)


def test_assignments() -> None:
    array = zarrcore.create_array({}, shape=4, dtype=Optional(item=Int32()))

    def after(key: Any, value: Any) -> list[Any]:
        array[key] = value
        return [item["value"].item() if item["valid"] else None for item in array[...]]

    assert after(slice(None), 5) == [5, 5, 5, 5]
    assert after(0, None) == [None, 5, 5, 5]
    assert after(slice(1, 3), np.ma.array([8.0, np.nan], mask=[False, True])) == [None, 8, None, 5]
    assert after(0, (True, 9)) == [9, 8, None, 5]
    assert after(slice(2, 4), [(True, 1), (False, 0)]) == [9, 8, 1, None]
    assert after(slice(0, 2), np.array([3, 4], "i8")) == [3, 4, 1, None]
    masked = np.ma.array([1.5] * 4, mask=[0, 0, 0, 1])
    for wrong in ("x", 2.5, 2**40, [(5, 5)] * 4, np.array([1.5] * 4), masked):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            array[...] = wrong
    assert after(0, 3) == [3, 4, 1, None]
    assert array["value"].tolist() == [3, 4, 1, 0] and array["valid"].tolist() == [True, True, True, False]


def test_nested_assignments() -> None:
    array = zarrcore.create_array({}, shape=3, dtype=Optional(item=Optional(item=Int16())))
    array[...] = [(True, (True, 5)), (True, (False, 0)), (False, (False, 0))]
    assert array[...].tolist() == [(True, (True, 5)), (True, (False, 0)), (False, (False, 0))]
    array[1] = 6
    array[0] = None
    assert array[...].tolist() == [(False, (False, 0)), (True, (True, 6)), (False, (False, 0))]
