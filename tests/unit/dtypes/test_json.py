"""Data types <-> metadata documents, in every spelling, and what must be refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import zarrcore.dtypes as zd
from zarrcore.errors import DataTypeValidationError

NUMBERS = ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]

V2_NAMES = [
    "|b1",
    "|i1",
    "|u1",
    *(f"{order}{code}" for order in "<>" for code in NUMBERS),
    "<U5",
    ">U1",
    "|S3",
    "|V8",
    "<M8[ns]",
    ">M8[D]",
    "<m8[25s]",
    "<M8",
    [["a", ">i2"], ["b", "<f8"]],
    [["q", [["z", "<i2", [2]], ["w", [["d", ">f8"]]]]], ["t", "|i1"]],
    [["m", "<f4", [2, 3]], ["s", "|S4"], ["u", ">U2"], ["t", "<M8[s]"]],
]

V3_FORMS = [
    *(["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]),
    *(
        [
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
            "string",
            "variable_length_bytes",
            "bytes",
            "r16",
            "r24",
        ]
    ),
    {"name": "fixed_length_utf32", "configuration": {"length_bytes": 20}},
    {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}},
    {"name": "raw_bytes", "configuration": {"length_bytes": 7}},
    {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}},
    {"name": "numpy.timedelta64", "configuration": {"unit": "generic", "scale_factor": 1}},
    {
        "name": "struct",
        "configuration": {
            "fields": [
                {"name": "a", "data_type": "int16"},
                {"name": "b", "data_type": {"name": "raw_bytes", "configuration": {"length_bytes": 2}}},
            ]
        },
    },
    {"name": "structured", "configuration": {"fields": [["a", "int32"], ["b", "r8"]]}},
]


def shown(value: object) -> str:
    return json.dumps(value)


@pytest.mark.parametrize("name", V2_NAMES, ids=shown)
def test_v2_names_come_back_and_give_the_numpy_dtype(name: object) -> None:
    zdtype = zd.dtype_from_v2(name)
    assert zd.dtype_to_v2(zdtype) == name
    assert zdtype.to_native_dtype() == zd.parse_dtype(name, zarr_format=2).to_native_dtype()
    assert zd.parse_dtype(name, zarr_format=2) == zdtype
    if isinstance(name, str):
        assert zdtype.to_native_dtype() == np.dtype(name)
        assert zdtype.item_size == np.dtype(name).itemsize


def test_v2_sub_array_fields_have_the_dtype_of_numpy() -> None:
    zdtype = zd.dtype_from_v2([["q", [["z", ">i2", [2]]]], ["m", "<f4", [2, 3]]])
    assert zdtype.to_native_dtype() == np.dtype([("q", [("z", ">i2", (2,))]), ("m", "<f4", (2, 3))])
    assert type(zdtype).from_native_dtype(zdtype.to_native_dtype()) == zdtype


@pytest.mark.parametrize(
    "spelled,canonical", [("<u1", "|u1"), (">i1", "|i1"), ("<b1", "|b1"), (">S1", "|S1")]
)
def test_v2_single_bytes_may_have_any_byte_order(spelled: str, canonical: str) -> None:
    assert zd.dtype_to_v2(zd.dtype_from_v2(spelled)) == canonical


def test_v2_padding_of_aligned_dtypes_gets_the_name_that_numpy_gives() -> None:
    aligned = np.dtype([("a", "i1"), ("b", "<i4")], align=True)
    zdtype = zd.dtype_from_v2([["a", "|i1"], ["", "|V3"], ["b", "<i4"]])
    assert zdtype.to_native_dtype() == np.dtype(aligned.descr)


@pytest.mark.parametrize(
    "codec_id,kind",
    [("vlen-utf8", "T"), ("vlen-bytes", "O"), ("json2", "O"), ("vlen-array", "O"), ("categorize", "O")],
)
def test_v2_objects_are_told_apart_by_their_codec(codec_id: str, kind: str) -> None:
    zdtype = zd.dtype_from_v2("|O", codec_id)
    assert zdtype.to_native_dtype().kind == kind
    assert zdtype.item_size is None
    assert zdtype.to_json(zarr_format=2) == {"name": "|O", "object_codec_id": codec_id}


def test_v2_object_codec_id_is_ignored_for_other_dtypes() -> None:
    assert zd.dtype_from_v2("<U6", "categorize") == zd.FixedLengthUTF32(length=6, endianness="little")


@pytest.mark.parametrize("form", V3_FORMS, ids=shown)
def test_v3_forms_come_back(form: object) -> None:
    zdtype = zd.dtype_from_v3(form)
    assert zd.dtype_to_v3(zdtype) == form
    assert type(zdtype).from_json(form, zarr_format=3) == zdtype


@pytest.mark.parametrize(
    "extra", [{}, {"configuration": {}}, {"must_understand": True}, {"must_understand": False}], ids=shown
)
@pytest.mark.parametrize("name", ["int32", "bool", "complex64", "string", "r16", "bytes"])
def test_v3_names_may_be_written_as_objects(name: str, extra: dict[str, object]) -> None:
    assert zd.dtype_from_v3({"name": name, **extra}) == zd.dtype_from_v3(name)


def test_v3_has_the_byte_order_of_the_machine() -> None:
    assert zd.dtype_from_v3("int32").to_native_dtype().isnative
    assert zd.parse_dtype(">i4", zarr_format=3).to_native_dtype() == np.dtype("=i4")
    nested = zd.parse_dtype([("a", ">i2"), ("b", [("c", ">f8", (2,))])], zarr_format=3)
    assert nested.to_native_dtype().isnative


def test_v3_legacy_structured_types_keep_their_name() -> None:
    form = {"name": "structured", "configuration": {"fields": [["a", "int16"], ["b", "uint64"]]}}
    zdtype = zd.dtype_from_v3(form)
    assert type(zdtype) is zd.Structured
    assert zd.dtype_to_v3(zdtype) == form


BAD_V2 = [
    *(
        [
            "<i3",
            "foo",
            "<U-1",
            "|S99999999999",
            "<c4",
            "<V4x",
            "|b2",
            "<f3",
            "<f16",
            "<c32",
            "i4",
            "=i4",
            "|i4",
            "|U3",
            "<i4[s]",
            "<M8[xx]",
            "<M8[0s]",
            "<M8[",
        ]
    ),
    *(["|O", "<U0", "|S0", "|V0", "|V2147483647", "<m4[s]", "|M8[s]", "<i4\n"]),
    "",
    None,
    5,
    True,
    1.5,
    {},
    {"name": "<i4"},
    [],
    [["a"]],
    [["a", "<i4"], ["a", "<f4"]],
    [["", ""]],
    [["", "<i4"]],
    [["a", "|O"]],
    [["a", "<i4", [-1]]],
    [["a", "<i4", [0]]],
    [["a", "<i4", []]],
    [["a", "<i4", [True]]],
    [["a", "<i4", [1.0]]],
    [["a", "<i4", 3]],
    [["a", "<i4", [2**40, 2**40]]],
    [["a", [["x", "<i2"], ["y", "<i2"]], [1000000]]],
    [["a", "<i4", [2], "more"]],
    ["a", "<i4"],
    [["a", 4]],
    [[["title", "a"], "<i4"]],
]


@pytest.mark.parametrize("name", BAD_V2, ids=repr)
def test_v2_refuses(name: object) -> None:
    with pytest.raises(DataTypeValidationError):
        zd.dtype_from_v2(name)


@pytest.mark.parametrize("name", ["<f16", ">c32", "<f12"])
def test_v2_says_why_there_is_no_long_double(name: str) -> None:
    with pytest.raises(DataTypeValidationError, match=f"'{name}': its bits differ between platforms"):
        zd.dtype_from_v2(name)


BAD_V3 = [
    *(
        [
            "int33",
            "r7",
            "r0",
            "r",
            "r-8",
            "r08",
            "r12",
            "<i4",
            "|b1",
            "float128",
            "fixed_length_utf32",
            "numpy.datetime64",
            "struct",
            "python_object",
        ]
    ),
    f"r{2**40}",
    "",
    None,
    5,
    True,
    ["int32"],
    {},
    {"configuration": {}},
    {"name": ""},
    {"name": 3},
    {"name": "foo", "configuration": {}},
    {"name": "int32", "configuration": {"x": 1}},
    {"name": "int32", "configuration": None},
    {"name": "int32", "configuration": []},
    {"name": "int32", "must_understand": "no"},
    {"name": "int32", "extra": 1},
    *(
        {"name": name, "configuration": {"length_bytes": length}}
        for name in ("fixed_length_utf32", "null_terminated_bytes", "raw_bytes")
        for length in (0, -4, True, 4.0, "4", None, 2**31)
    ),
    {"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}},
    {"name": "raw_bytes", "configuration": {"length_bytes": 4, "x": 1}},
    {"name": "raw_bytes", "configuration": {"length": 4}},
    *(
        {"name": "numpy.datetime64", "configuration": {"unit": unit, "scale_factor": factor}}
        for unit, factor in (
            ("x", 1),
            ("s", 0),
            ("s", -1),
            ("s", True),
            ("s", 1.0),
            ("s", 2**31),
            (3, 1),
            (["s"], 1),
        )
    ),
    {"name": "numpy.datetime64", "configuration": {"unit": "s"}},
    *(
        {"name": "struct", "configuration": {"fields": fields}}
        for fields in (
            [],
            {},
            "ab",
            None,
            [{"name": "a"}],
            [{"name": "a", "data_type": "int32", "x": 1}],
            [{"name": "a", "data_type": "string"}],
            [{"name": "a", "data_type": "int33"}],
            [{"name": "", "data_type": "int32"}],
            [{"name": 1, "data_type": "int32"}],
            [{"name": "a", "data_type": "int32"}, {"name": "a", "data_type": "int8"}],
        )
    ),
    {"name": "struct", "configuration": {"fields": [["a", "int8"]], "x": 1}},
]


@pytest.mark.parametrize("form", BAD_V3, ids=repr)
def test_v3_refuses(form: object) -> None:
    with pytest.raises(DataTypeValidationError):
        zd.dtype_from_v3(form)


def test_more_fields_than_can_be_meant_are_refused_before_they_are_looked_at() -> None:
    """A document of some megabytes took minutes, since each level looks at all below it."""
    fields: object = "|u1"
    for _ in range(6):
        fields = [[f"f{i}", fields] for i in range(8)]
    with pytest.raises(DataTypeValidationError, match="the names and types of fields are more than"):
        zd.dtype_from_v2(fields)


RAW = {"name": "raw_bytes", "configuration": {"length_bytes": 2**30}}
LARGE_FIELDS = [
    {"name": name, "data_type": {"name": "raw_bytes", "configuration": {"length_bytes": 2**26}}}
    for name in "ab"
]


@pytest.mark.parametrize(
    ("zarr_format", "form"),
    [
        (2, "|V1073741824"),
        (2, "|V67108865"),
        (2, [["a", "|u1", [65536, 16384]]]),
        (2, [["a", "|V67108864"], ["b", "|u1"]]),
        (3, RAW),
        (3, "r8589934592"),
        (3, {"name": "struct", "configuration": {"fields": LARGE_FIELDS}}),
    ],
)
def test_items_of_a_gigabyte_are_refused(zarr_format: int, form: object) -> None:
    """A document of 150 bytes took 7 GB, and NumPy ended the process when it made text of such an item."""
    read = zd.dtype_from_v2 if zarr_format == 2 else zd.dtype_from_v3
    with pytest.raises(DataTypeValidationError, match="an item must have 1 to 67108864 bytes"):
        read(form)


def test_deep_nesting_is_refused() -> None:
    v2: object = "<i4"
    v3: object = "int32"
    for _ in range(400):
        v2 = [["a", v2]]
        v3 = {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": v3}]}}
    with pytest.raises(DataTypeValidationError):
        zd.dtype_from_v2(v2)
    with pytest.raises(DataTypeValidationError):
        zd.dtype_from_v3(v3)


def test_errors_name_the_field_and_what_was_found() -> None:
    with pytest.raises(DataTypeValidationError, match="field 'a': field 'b': unknown data type '<i3'"):
        zd.dtype_from_v2([["a", [["b", "<i3"]]]])
    with pytest.raises(DataTypeValidationError, match="int33.*did you mean 'int32' or"):
        zd.dtype_from_v3("int33")
    with pytest.raises(DataTypeValidationError, match="xyz.*known are.*float64"):
        zd.dtype_from_v3("xyz")


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="must be 2 or 3"):
        zd.Int8.from_json("int8", zarr_format=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be 2 or 3"):
        zd.parse_dtype("int8", zarr_format=4)  # type: ignore[arg-type]
    with pytest.raises(DataTypeValidationError):
        zd.dtype_to_v3(zd.dtype_from_v2("|O", "json2"))


def test_dtype_module_has_the_names_of_zarr() -> None:
    theirs = pytest.importorskip("zarr.dtype")
    import zarrcore.dtype

    assert set(theirs.__all__) <= set(zarrcore.dtype.__all__)
    assert all(hasattr(zarrcore.dtype, name) for name in zarrcore.dtype.__all__)
    with pytest.raises(AttributeError):
        zarrcore.dtypes.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", [*V2_NAMES, "<u1"], ids=shown)
def test_v2_agrees_with_zarr_python(name: object) -> None:
    theirs = pytest.importorskip("zarr.dtype")
    if "[2" in shown(name):
        pytest.skip("sub-arrays are not supported there")
    other = theirs.data_type_registry.match_json({"name": name, "object_codec_id": None}, zarr_format=2)
    ours = zd.dtype_from_v2(name)
    assert other.to_native_dtype() == ours.to_native_dtype()
    assert type(other).__name__ == type(ours).__name__
    assert other.to_json(zarr_format=2) == ours.to_json(zarr_format=2)


@pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")
@pytest.mark.parametrize("form", V3_FORMS, ids=shown)
def test_v3_agrees_with_zarr_python(form: object) -> None:
    theirs = pytest.importorskip("zarr.dtype")
    if shown(form).startswith('"r') or '"r8"' in shown(form):
        pytest.skip("r<N> is not supported there")
    other = theirs.data_type_registry.match_json(form, zarr_format=3)
    ours = zd.dtype_from_v3(form)
    assert other.to_native_dtype() == ours.to_native_dtype()
    if type(ours) is not zd.Structured and form != "bytes":  # neither name is kept there
        assert other.to_json(zarr_format=3) == ours.to_json(zarr_format=3) == form
