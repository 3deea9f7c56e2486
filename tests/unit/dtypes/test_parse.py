"""What users give as a data type, the registry, and the layout of items."""

from __future__ import annotations

import doctest
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zarrcore
import zarrcore.dtypes as zd
import zarrcore.dtypes.layout
import zarrcore.dtypes.parse
from zarrcore.dtypes import parse_dtype, swap_fields
from zarrcore.errors import DataTypeValidationError

GIVEN = [
    ("int32", zd.Int32()),
    ("i4", zd.Int32()),
    (int, zd.Int64()),
    (np.uint8, zd.UInt8()),
    (float, zd.Float64()),
    (bool, zd.Bool()),
    (complex, zd.Complex128()),
    (None, zd.Float64()),
    ("longlong", zd.Int64()),
    (np.dtype("f2"), zd.Float16()),
    (str, zd.VariableLengthUTF8()),
    ("str", zd.VariableLengthUTF8()),
    ("string", zd.VariableLengthUTF8()),
    (np.dtypes.StringDType(), zd.VariableLengthUTF8()),
    (np.dtypes.StringDType, zd.VariableLengthUTF8()),
    (bytes, zd.VariableLengthBytes()),
    ("bytes", zd.VariableLengthBytes()),
    ("variable_length_bytes", zd.VariableLengthBytes()),
    ("r24", zd.RawBytes(length=3)),
    ("S5", zd.NullTerminatedBytes(length=5)),
    ("U5", zd.FixedLengthUTF32(length=5)),
    ("V5", zd.RawBytes(length=5)),
    ("datetime64[10us]", zd.DateTime64(unit="us", scale_factor=10)),
    ("m8", zd.TimeDelta64()),
    ("i2,f8", zd.Struct(fields=(("f0", zd.Int16()), ("f1", zd.Float64())))),
    ([("a", "i2"), ("b", "u1")], zd.Struct(fields=(("a", zd.Int16()), ("b", zd.UInt8())))),
    ({"name": "int32"}, zd.Int32()),
    ({"name": "int32", "configuration": {}}, zd.Int32()),
    ({"name": "|i1", "object_codec_id": None}, zd.Int8()),
    ({"name": "|O", "object_codec_id": "vlen-utf8"}, zd.VariableLengthUTF8()),
    ({"names": ["a"], "formats": ["i2"]}, zd.Struct(fields=(("a", zd.Int16()),))),
    (
        {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 3}},
        zd.DateTime64(unit="s", scale_factor=3),
    ),
    (zd.Int8(), zd.Int8()),
]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("given,zdtype", GIVEN, ids=lambda value: repr(value)[:50])
def test_parse(given: object, zdtype: zd.ZDType, zarr_format: int) -> None:
    assert parse_dtype(given, zarr_format=zarr_format) == zdtype
    assert zd.parse_data_type(given, zarr_format=zarr_format) == zdtype


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "given",
    [
        object,
        "O",
        "|O",
        np.dtype("O"),
        "S",
        "U",
        "V",
        "foo",
        5,
        "f16",
        np.clongdouble,
        ("f4", (2,)),
        [],
        [("a", "O")],
    ]
    + [np.dtypes.StringDType(na_object=None), {"name": "int33"}, np.dtype([(("title", "a"), "i2")])],
    ids=repr,
)
def test_parse_refuses(given: object, zarr_format: int) -> None:
    with pytest.raises(DataTypeValidationError):
        parse_dtype(given, zarr_format=zarr_format)


def test_parse_says_what_to_give_instead_of_object() -> None:
    with pytest.raises(DataTypeValidationError, match="VariableLengthUTF8"):
        parse_dtype(object, zarr_format=3)
    with pytest.raises(TypeError, match="use float64"):
        parse_dtype(np.longdouble, zarr_format=3)


def test_parse_keeps_the_byte_order_in_format_2_only() -> None:
    assert parse_dtype(">i4", zarr_format=2) == zd.Int32(endianness="big")
    assert parse_dtype(zd.Int32(endianness="big"), zarr_format=3) == zd.native_order(zd.Int32())
    assert parse_dtype(">U3", zarr_format=2).to_native_dtype() == np.dtype(">U3")


def test_padding_of_aligned_dtypes_is_left_out() -> None:
    aligned = np.dtype([("a", "i1"), ("b", "<i4")], align=True)
    assert parse_dtype(aligned, zarr_format=2).to_native_dtype() == np.dtype([("a", "i1"), ("b", "<i4")])


def test_types_are_values() -> None:
    zdtype = parse_dtype([("a", ">i2"), ("b", "u1", (2,))], zarr_format=2)
    assert pickle.loads(pickle.dumps(zdtype)) == zdtype
    assert hash(zdtype) == hash(parse_dtype([("a", ">i2"), ("b", "u1", (2,))], zarr_format=2))
    assert replace(zd.Int32(endianness="little"), endianness="big") == zd.Int32(endianness="big")
    assert zd.Int32() != zd.UInt32()
    assert repr(zd.Int32(endianness="big")) == "Int32(endianness='big')"
    with pytest.raises(AttributeError):
        zdtype.fields = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    "make",
    [
        lambda: zd.Int32(endianness="middle"),  # type: ignore[arg-type]
        lambda: zd.RawBytes(length=0),
        lambda: zd.NullTerminatedBytes(length=-1),
        lambda: zd.FixedLengthUTF32(length=2**30),
        lambda: zd.DateTime64(unit="fortnight"),  # type: ignore[arg-type]
        lambda: zd.Struct(fields=()),
        lambda: zd.Struct(fields=(("a", zd.VariableLengthUTF8()),)),
        lambda: zd.Struct(fields=(("a", np.dtype("i2")),)),  # type: ignore[arg-type]
        lambda: zd.PythonObject(object_codec_id="vlen-utf8"),
        lambda: zd.Int8.from_native_dtype(np.dtype("i2")),
        lambda: zd.Struct.from_native_dtype(np.dtype("V2")),
        lambda: zd.RawBytes.from_native_dtype(np.dtype([("a", "i2")])),
        lambda: zd.Bool.from_native_dtype(np.dtype("u1")),
    ],
)
def test_what_cannot_be_made(make: object) -> None:
    with pytest.raises(DataTypeValidationError):
        make()  # type: ignore[operator]


def test_numpy_integers_become_plain_ones() -> None:
    zdtype = zd.TimeDelta64(unit="s", scale_factor=np.int64(3))
    assert json.dumps(zdtype.to_json(zarr_format=3)["configuration"]) == '{"unit": "s", "scale_factor": 3}'
    array = zd.SubArray(item=zd.Int8(), shape=(np.int32(2),))
    assert type(array.shape[0]) is int


def test_micro_has_two_letters() -> None:
    assert zd.DateTime64(unit="\u03bcs") == zd.DateTime64(unit="us")
    assert zd.dtype_from_v2("<M8[\u03bcs]") == zd.dtype_from_v2("<M8[us]")


# --- layout

LAYOUTS = [
    ("<i4", ((0, 4, 1),)),
    (">f8", ((0, 8, 1),)),
    ("<c16", ((0, 8, 2),)),
    ("<U5", ((0, 4, 5),)),
    (">M8[s]", ((0, 8, 1),)),
    ("|b1", ()),
    ("|u1", ()),
    ("|S7", ()),
    ("|V7", ()),
    (
        [["a", "|u1"], ["b", ">i2"], ["c", "<c8"], ["s", "|S3"], ["u", "<U2"]],
        ((1, 2, 1), (3, 4, 2), (14, 4, 2)),
    ),
    ([["q", [["x", "|i1"], ["z", "<i2", [2, 3]]]], ["d", ">f8"]], ((1, 2, 6), (13, 8, 1))),
    (
        [["a", [["x", "|i1"], ["y", "<i2"]], [2]], ["b", [["z", "<i4"]], [3]]],
        ((1, 2, 1), (4, 2, 1), (6, 4, 3)),
    ),
]


@pytest.mark.parametrize("name,fields", LAYOUTS, ids=repr)
def test_swap_fields_are_the_words_with_a_byte_order(name: object, fields: object) -> None:
    zdtype = zd.dtype_from_v2(name)
    assert swap_fields(zdtype) == fields


@pytest.mark.parametrize("name", [name for name, _ in LAYOUTS], ids=repr)
def test_swapping_these_words_is_the_byteswap_of_numpy(name: object) -> None:
    zdtype = zd.dtype_from_v2(name)
    item = bytes(range(zdtype.item_size))
    swapped = bytearray(item)
    for offset, word, count in swap_fields(zdtype):
        for start in range(offset, offset + word * count, word):
            swapped[start : start + word] = item[start : start + word][::-1]
    assert bytes(swapped) == np.frombuffer(item, zdtype.to_native_dtype()).byteswap().tobytes()


def test_variable_length_types_have_no_words() -> None:
    assert swap_fields(zd.VariableLengthUTF8()) == swap_fields(zd.VariableLengthBytes()) == ()


# --- registry


def test_registry_holds_classes_by_name() -> None:
    registry = zd.DataTypeRegistry()
    with pytest.raises(KeyError):
        registry.get("int8")
    registry.register("int8", zd.Int8)
    assert registry.get("int8") is zd.Int8
    assert registry.match_json("int8", zarr_format=3) == zd.Int8()
    assert registry.match_dtype(np.dtype("i1")) == zd.Int8()
    with pytest.raises(DataTypeValidationError):
        registry.match_json("int16", zarr_format=3)
    registry.unregister("int8")
    with pytest.raises(KeyError):
        registry.unregister("int8")
    with pytest.raises(TypeError):
        registry.register("", zd.Int8)


def test_two_types_for_one_dtype_are_refused() -> None:
    class Other(zd.Bool):
        pass

    class Another(zd.Bool):
        pass

    registry = zd.DataTypeRegistry()
    registry.register("bool", zd.Bool)
    registry.register("other", Other)
    assert type(registry.match_dtype(np.dtype("?"))) is Other
    registry.register("another", Another)
    with pytest.raises(DataTypeValidationError, match="more than one"):
        registry.match_dtype(np.dtype("?"))


def test_import_loads_no_json_types() -> None:
    late = "'zarrcore.dtypes.json_types'"
    code = f"import sys, zarrcore.dtypes as d; assert {late} not in sys.modules; d.DTypeSpec_V2"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_examples_of_the_docstrings() -> None:
    names = {name: getattr(zd, name) for name in zd.__all__} | {"np": np}
    for module in (zarrcore.dtypes.layout, zarrcore.dtypes.parse):
        result = doctest.testmod(module, extraglobs=names)
        assert result.attempted > 0
        assert result.failed == 0


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_record_arrays_of_numpy_and_pandas_are_records(zarr_format: Any) -> None:
    records = np.rec.array([(1, 2.5), (3, 4.0)], names="count,mean")
    array = zarrcore.create_array({}, data=records, zarr_format=zarr_format)
    assert array.dtype == np.dtype([("count", "i8"), ("mean", "f8")])
    array.append(records)
    np.testing.assert_array_equal(array[...], np.concatenate([records, records]))


@pytest.mark.parametrize("field,reason", [("O", "object does not"), (("f4", (3,)), r"of shape \(3,\).*=2")])
def test_a_field_that_cannot_be_stored_is_named(field: Any, reason: str) -> None:
    for dtype in ([("a", "i4"), ("odd", field)], [("n", [("odd", field)])]):
        with pytest.raises(DataTypeValidationError, match=f"field 'odd': .*{reason}"):
            zarrcore.create_array({}, shape=2, dtype=dtype)


def test_a_field_of_objects_is_told_what_fields_may_be() -> None:
    """The error named data types of items of any length, which a field cannot have."""
    table = np.rec.array([("Oslo", 1.5)], dtype=[("name", object), ("value", "f8")])
    message = r"field 'name': .* a fixed size in a field: .* 'U8' .*column_dtypes"
    with pytest.raises(DataTypeValidationError, match=message):
        zarrcore.create_array({}, data=table)
    array = zarrcore.create_array({}, data=table.astype([("name", "U8"), ("value", "f8")]))
    assert array["name"].tolist() == ["Oslo"]
