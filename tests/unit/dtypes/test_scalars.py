"""Fill values: bit-exact both ways, every legal spelling, and what must be refused."""

from __future__ import annotations

import base64
import datetime
import json
import math

import numpy as np
import pytest

import zarrcore.dtypes as zd
from zarrcore.dtypes import scalar_to_bytes
from zarrcore.errors import DataTypeValidationError

STRUCT = zd.dtype_from_v3(
    {
        "name": "struct",
        "configuration": {
            "fields": [
                {"name": "a", "data_type": "float32"},
                {
                    "name": "b",
                    "data_type": {"name": "struct", "configuration": {"fields": [["c", "uint16"]]}},
                },
                {
                    "name": "s",
                    "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}},
                },
            ]
        },
    }
)
LEGACY = zd.dtype_from_v3(
    {"name": "structured", "configuration": {"fields": [["a", "float32"], ["b", "uint16"]]}}
)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def little_endian(zdtype: zd.ZDType, scalar: object) -> str:
    """The bits of a scalar in hexadecimal, words little-endian."""
    dtype = zdtype.to_native_dtype()
    item = np.frombuffer(scalar_to_bytes(zdtype, scalar), dtype=dtype)
    return item.astype(dtype.newbyteorder("<")).tobytes().hex()


V3_VALUES = [
    ("bool", True, "01"),
    ("bool", False, "00"),
    ("int8", -128, "80"),
    ("uint8", 255, "ff"),
    ("int64", -(2**63), "0000000000000080"),
    ("int64", 2**53 + 1, "0100000000002000"),
    ("uint64", 2**64 - 1, "ffffffffffffffff"),
    ("float16", "NaN", "007e"),
    ("float16", "0x7c01", "017c"),  # a signalling NaN
    ("float32", "NaN", "0000c07f"),
    ("float32", "0x7fc00001", "0100c07f"),
    ("float32", "0x7f800001", "0100807f"),
    ("float32", "0xFFC00000", "0000c0ff"),
    ("float32", "-Infinity", "000080ff"),
    ("float32", 0.1, "cdcccc3d"),
    ("float64", "NaN", "000000000000f87f"),
    ("float64", "0x7ff0000000000001", "010000000000f07f"),
    ("float64", "0x8000000000000000", "0000000000000080"),
    ("float64", -0.0, "0000000000000080"),
    ("float64", 5e-324, "0100000000000000"),
    ("float64", 2, "0000000000000040"),
    ("float64", 2**64, "000000000000f043"),
    ("complex64", ["0x7f800001", -0.0], "0100807f00000080"),
    ("complex64", [1, "-Infinity"], "0000803f000080ff"),
    ("complex128", ["NaN", 2.5], "000000000000f87f0000000000000440"),
    ("r16", [1, 255], "01ff"),
    ("r16", b64(b"\x01\xff"), "01ff"),
    ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, b64(b"abc"), "616263"),
    ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, [97, 98, 99], "616263"),
    ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}, b64(b"ab"), "616200"),
    ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, "\U0001f389x", "89f3010078000000"),
    (
        {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}},
        "NaT",
        "0000000000000080",
    ),
    (
        {"name": "numpy.timedelta64", "configuration": {"unit": "ms", "scale_factor": 10}},
        -5,
        "fbffffffffffffff",
    ),
    (STRUCT.to_json(3), {"a": "0x7f800001", "b": {"c": 7}, "s": b64(b"z")}, "0100807f07007a00"),
    (STRUCT.to_json(3), {"a": 1.0}, "0000803f00000000"),
    (STRUCT.to_json(3), b64(bytes.fromhex("0100807f07007a00")), "0100807f07007a00"),
    (LEGACY.to_json(3), b64(bytes.fromhex("0100807f0700")), "0100807f0700"),
]


@pytest.mark.parametrize("form,value,bits", V3_VALUES, ids=repr)
def test_v3_values_have_exactly_these_bits(form: object, value: object, bits: str) -> None:
    zdtype = zd.dtype_from_v3(form)
    scalar = zdtype.from_json_scalar(value, zarr_format=3)
    assert little_endian(zdtype, scalar) == bits
    written = json.loads(json.dumps(zdtype.to_json_scalar(scalar, zarr_format=3), allow_nan=False))
    assert little_endian(zdtype, zdtype.from_json_scalar(written, zarr_format=3)) == bits


V2_VALUES = [
    ("|b1", True, "01"),
    ("|b1", 0, "00"),
    ("<i4", 5.0, "05000000"),
    (">i4", "7", "07000000"),
    (">f4", "NaN", "0000c07f"),
    ("<f8", math.nan, "000000000000f87f"),
    ("<f8", math.inf, "000000000000f07f"),
    ("<f8", "1.5", "000000000000f83f"),
    ("<f8", 3, "0000000000000840"),
    (">c8", ["NaN", "-Infinity"], "0000c07f000080ff"),
    ("<c8", 0, "0000000000000000"),
    (">U4", "\u00e9\u6f22", "e9000000226f00000000000000000000"),
    ("<U2", "", "0000000000000000"),
    ("<U1", 0, "00000000"),
    ("|S5", b64(b"ab\xff"), "6162ff0000"),
    ("|S2", 0, "0000"),
    ("|S1", "\0", "00"),
    ("|V4", b64(b"\0\1\xfe\xff"), "0001feff"),
    ("|V2", 0, "0000"),
    (">M8[ns]", -(2**63), "0000000000000080"),
    ("<m8[25s]", "NaT", "0000000000000080"),
]


@pytest.mark.parametrize("name,value,bits", V2_VALUES, ids=repr)
def test_v2_values_have_exactly_these_bits(name: str, value: object, bits: str) -> None:
    zdtype = zd.dtype_from_v2(name)
    scalar = zdtype.from_json_scalar(value, zarr_format=2)
    assert little_endian(zdtype, scalar) == bits
    assert len(scalar_to_bytes(zdtype, scalar)) == zdtype.item_size
    written = json.loads(json.dumps(zdtype.to_json_scalar(scalar, zarr_format=2), allow_nan=False))
    assert little_endian(zdtype, zdtype.from_json_scalar(written, zarr_format=2)) == bits


@pytest.mark.parametrize(
    "value", [b64(bytes.fromhex("fffe3fc0000001")), [-2, 1.5, True], {"a": -2, "b": 1.5, "c": True}], ids=repr
)
def test_v2_structured_values_keep_their_byte_order(value: object) -> None:
    zdtype = zd.dtype_from_v2([["a", ">i2"], ["b", ">f4"], ["c", "|b1"]])
    scalar = zdtype.from_json_scalar(value, zarr_format=2)
    assert scalar_to_bytes(zdtype, scalar).hex() == "fffe3fc0000001"
    assert scalar["a"] == -2
    assert zdtype.to_json_scalar(scalar, zarr_format=2) == b64(bytes.fromhex("fffe3fc0000001"))


def test_v2_sub_array_values() -> None:
    zdtype = zd.dtype_from_v2([["m", ">f4", [2, 2]], ["k", "|u1"]])
    scalar = zdtype.from_json_scalar([[[1, 2], [3, 4]], 5], zarr_format=2)
    assert scalar["m"].tolist() == [[1, 2], [3, 4]]
    assert scalar["k"] == 5
    with pytest.raises(DataTypeValidationError, match=r"shape \(2, 2\)"):
        zdtype.cast_scalar(([[1, 2, 3], [3, 4, 5]], 5))
    assert zdtype.cast_scalar((np.eye(2), 5))["m"].tolist() == [[1, 0], [0, 1]]
    assert zdtype.from_json_scalar(0, zarr_format=2).tobytes() == bytes(17)
    ((_, field), _) = zdtype.fields
    assert field.to_json_scalar(scalar["m"], zarr_format=2) == [[1.0, 2.0], [3.0, 4.0]]


RANDOM = [
    *(["float16", "float32", "float64", "complex64", "complex128", "int8", "uint64", "r24"]),
    {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}},
    {"name": "raw_bytes", "configuration": {"length_bytes": 5}},
    {"name": "structured", "configuration": {"fields": [["a", "float16"], ["b", "complex64"]]}},
    {"name": "struct", "configuration": {"fields": [["a", "float16"], ["b", "complex64"], ["c", "int16"]]}},
]


@pytest.mark.parametrize("form", RANDOM, ids=repr)
def test_any_bits_come_back(form: object) -> None:
    """Random words are often NaN when their exponent is all ones, which is forced for half of them."""
    zdtype = zd.dtype_from_v3(form)
    rng = np.random.default_rng(7)
    items = rng.integers(0, 256, size=(200, zdtype.item_size), dtype=np.uint8)
    items[::2, -1] |= 0x7F
    if zdtype.item_size > 1:
        items[::2, -2] |= 0xFC
    for item in items:
        scalar = np.frombuffer(item.tobytes(), zdtype.to_native_dtype())[0]
        assert scalar_to_bytes(zdtype, scalar) == item.tobytes()
        written = json.loads(json.dumps(zdtype.to_json_scalar(scalar, zarr_format=3), allow_nan=False))
        read = zdtype.from_json_scalar(written, zarr_format=3)
        assert scalar_to_bytes(zdtype, read) == item.tobytes()


BAD_V3 = [
    *(("uint8", value) for value in (300, -1, 1.5, 1.0, "NaN", "7", [1], True, None, {}, 10**5000)),
    *(("int64", value) for value in (2**63, -(2**63) - 1, 1e3)),
    *(("bool", value) for value in (2, 0, 1, "true", None, 1.0)),
    *(
        ("float32", value)
        for value in ("abc", "nan", "inf", None, [1.0], "0xzz", {}, True, 1e300, -1e39, 10**300)
    ),
    *(
        ("float32", value)
        for value in ("0x7fc0000", "0x7ff80000000000001", "0X7fc00000", "7fc00000", "1.5", "")
    ),
    *(("float32", value) for value in (math.nan, math.inf)),
    ("float16", 70000),
    *(
        ("complex128", value)
        for value in (1.5, [1.0], [1, 2, 3], ["a", "b"], "1+2j", None, [True, 1], [[1, 2], 3])
    ),
    ("complex64", [1e300, 0]),
    *(("string", value) for value in (5, None, 0, ["a"], "\ud800")),
    *(("bytes", value) for value in (5, None, "not base64!", [256], [-1], [True], [1.0], {})),
    *(("r16", value) for value in ([1], [1, 2, 3], [1, 256], b64(b"a"), b64(b"abc"), 0, None, "!!")),
    ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}, b64(b"abc")),
    ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}, 0),
    ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, "abc"),
    ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, 0),
    *(
        ({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}, value)
        for value in (1.5, "2020-01-01", 2**63, None, True, "nat")
    ),
    *(
        (STRUCT.to_json(3), value)
        for value in ({"x": 1}, {"b": {"c": 70000}}, {"a": None}, 0, [1.0], b64(b"abc"), None)
    ),
]


@pytest.mark.parametrize(
    "form,value", BAD_V3, ids=lambda value: repr(value)[:60] if value != 10**5000 else "huge"
)
def test_v3_refuses(form: object, value: object) -> None:
    with pytest.raises(DataTypeValidationError) as error:
        zd.dtype_from_v3(form).from_json_scalar(value, zarr_format=3)
    assert len(str(error.value)) < 500


BAD_V2 = [
    *(("<f4", value) for value in ("abc", [1, 2], {}, True, "0x7fc00000", "1_0", " 1")),
    *(("|u1", value) for value in (300, 1.5, "x", True, "300")),
    *(("|b1", value) for value in (2, "true", 0.5)),
    *(("|S4", value) for value in (7, "!!notbase64!!", b64(b"abcde"))),
    *(("|V2", value) for value in (7, b64(b"abc"))),
    *(("<U2", value) for value in (7, "abc")),
    *(([["a", "<i2"]], value) for value in ("AAAA", [1, 2], {"b": 1}, [70000], 5)),
]


@pytest.mark.parametrize("name,value", BAD_V2, ids=repr)
def test_v2_refuses(name: object, value: object) -> None:
    with pytest.raises(DataTypeValidationError):
        zd.dtype_from_v2(name).from_json_scalar(value, zarr_format=2)


def test_v2_writes_every_nan_as_the_one_it_knows() -> None:
    zdtype = zd.Float32()
    scalar = zdtype.from_json_scalar("0x7fc00001", zarr_format=3)
    assert zdtype.to_json_scalar(scalar, zarr_format=2) == "NaN"
    assert zdtype.to_json_scalar(scalar, zarr_format=3) == "0x7fc00001"


# --- what a user gives

CASTS = [
    (zd.UInt8(), 255, np.uint8(255)),
    (zd.UInt8(), np.int64(3), np.uint8(3)),
    (zd.UInt8(), 3.0, np.uint8(3)),
    (zd.UInt8(), True, np.uint8(1)),
    (zd.UInt8(), np.array(3), np.uint8(3)),
    (zd.Bool(), 1, np.True_),
    (zd.Bool(), np.float32(0), np.False_),
    (zd.Float32(), 1, np.float32(1)),
    (zd.Float32(), "Infinity", np.float32("inf")),
    (zd.Float32(), "-inf", np.float32("-inf")),
    (zd.Float16(), np.float64(0.1), np.float16(0.1)),
    (zd.Complex64(), 1, np.complex64(1)),
    (zd.Complex64(), 1 - 2j, np.complex64(1 - 2j)),
    (zd.Complex64(), "1+2j", np.complex64(1 + 2j)),
    (zd.Complex64(), (1, 2), np.complex64(1 + 2j)),
    (zd.FixedLengthUTF32(length=3), "abc", np.str_("abc")),
    (zd.FixedLengthUTF32(length=3), 0, np.str_("")),
    (zd.VariableLengthUTF8(), np.str_("abc"), "abc"),
    (zd.VariableLengthUTF8(), 0, ""),
    (zd.NullTerminatedBytes(length=3), b"ab", np.bytes_(b"ab")),
    (zd.NullTerminatedBytes(length=3), "ab", np.bytes_(b"ab")),
    (zd.NullTerminatedBytes(length=3), 0, np.bytes_(b"")),
    (zd.VariableLengthBytes(), bytearray(b"ab"), b"ab"),
    (zd.VariableLengthBytes(), "\u00e9", b"\xc3\xa9"),
    (zd.DateTime64(unit="s"), "2000-01-01", np.datetime64("2000-01-01", "s")),
    (zd.DateTime64(unit="s"), 7, np.datetime64(7, "s")),
    (zd.DateTime64(unit="D"), datetime.date(2000, 1, 1), np.datetime64("2000-01-01")),
    (zd.DateTime64(unit="us"), datetime.datetime(2000, 1, 1), np.datetime64("2000-01-01", "us")),
    (zd.DateTime64(unit="ms"), np.datetime64("2000-01-01", "ns"), np.datetime64("2000-01-01", "ms")),
    (zd.TimeDelta64(unit="s", scale_factor=10), np.timedelta64(1, "m"), np.timedelta64(60, "s")),
    (zd.TimeDelta64(unit="s"), datetime.timedelta(minutes=1), np.timedelta64(60, "s")),
    (zd.TimeDelta64(unit="s"), np.timedelta64(-1500, "ms"), np.timedelta64(-1500, "ms").astype("m8[s]")),
    (zd.DateTime64(unit="Y"), np.datetime64("1969-12-31T23", "h"), np.datetime64("1969", "Y")),
    (zd.DateTime64(unit="ns"), "2262-04-11T23:47:16.854775807", np.int64(2**63 - 1).view("M8[ns]")),
    (zd.DateTime64(unit="D", endianness="big"), "2024-02-29T12:00", np.datetime64("2024-02-29")),
]


@pytest.mark.parametrize("zdtype,value,scalar", CASTS, ids=repr)
def test_cast_gives_the_scalar(zdtype: zd.ZDType, value: object, scalar: object) -> None:
    cast = zdtype.cast_scalar(value)
    assert type(cast) is type(scalar)
    assert cast == scalar
    assert zdtype._check_scalar(value)


def test_cast_of_nat() -> None:
    for zdtype in (zd.DateTime64(unit="s"), zd.TimeDelta64(unit="s")):
        kind = type(zdtype.default_scalar())
        for value in (None, "NaT", kind("NaT", "ns"), np.array("NaT", zdtype.to_native_dtype())):
            assert np.isnat(zdtype.cast_scalar(value))
    generic = zd.DateTime64()
    assert scalar_to_bytes(generic, generic.cast_scalar(5)) == np.int64(5).tobytes()


def test_cast_keeps_the_bits_of_nan() -> None:
    nan = np.array([0x7F800001], dtype="u4").view("f4")[0]
    zdtype = zd.Float32(endianness="big")
    assert scalar_to_bytes(zdtype, zdtype.cast_scalar(nan)).hex() == "7f800001"
    pair = np.array([0x7F800001, 0xFFC00002], dtype="u4").view("c8")[0]
    wide = zd.Complex64(endianness="big")
    assert scalar_to_bytes(wide, wide.cast_scalar(pair)).hex() == "7f800001ffc00002"


def test_cast_of_raw_bytes_pads_with_zeros() -> None:
    zdtype = zd.RawBytes(length=4)
    for value in (b"ab", bytearray(b"ab"), "ab", [97, 98], np.void(b"ab")):
        assert zdtype.cast_scalar(value).tobytes() == b"ab\0\0"
    assert zdtype.cast_scalar(0).tobytes() == bytes(4)


def test_cast_of_structures() -> None:
    for value in ((1.5, (7,), b"z"), [1.5, [7], "z"], {"a": 1.5, "b": {"c": 7}, "s": b"z"}):
        cast = STRUCT.cast_scalar(value)
        assert cast.tobytes() == bytes.fromhex("0000c03f07007a00")
        assert STRUCT.cast_scalar(cast).tobytes() == cast.tobytes()
    other = np.array((1.5, (7,), b"z"), dtype=[("a", ">f8"), ("b", [("c", "<u8")]), ("s", "S1")])[()]
    assert STRUCT.cast_scalar(other).tobytes() == bytes.fromhex("0000c03f07007a00")
    assert STRUCT.cast_scalar(0).tobytes() == STRUCT.default_scalar().tobytes() == bytes(8)
    assert STRUCT.has_multi_byte_fields()


BAD_CASTS = [
    *((zd.UInt8(), value, OverflowError) for value in (300, -1, 1.5, math.nan, math.inf, np.int64(256))),
    *((zd.UInt8(), value, TypeError) for value in ("7", None, 1j, [1], np.timedelta64(1, "s"), np.arange(2))),
    (zd.Bool(), 2, OverflowError),
    (zd.Bool(), "True", TypeError),
    *((zd.Float16(), value, OverflowError) for value in (1e6, 10**400, np.float64(1e300))),
    *((zd.Float32(), value, TypeError) for value in ("abc", None, 1j, [1.0], np.timedelta64(1, "s"))),
    *((zd.Complex64(), value, TypeError) for value in ("abc", None, [1], [1, 2, 3])),
    (zd.Complex64(), 1e300, OverflowError),
    (zd.FixedLengthUTF32(length=2), "abc", OverflowError),
    *((zd.FixedLengthUTF32(length=2), value, TypeError) for value in (1, b"a", None)),
    *((zd.VariableLengthUTF8(), value, TypeError) for value in (1, b"a", None, False)),
    (zd.VariableLengthUTF8(), "\udc00", OverflowError),
    (zd.NullTerminatedBytes(length=2), b"abc", OverflowError),
    *((zd.NullTerminatedBytes(length=2), value, TypeError) for value in ("\u00e9", 1, None)),
    (zd.RawBytes(length=2), b"abc", OverflowError),
    *((zd.RawBytes(length=2), value, TypeError) for value in ("\u00e9", 1, None, [300])),
    *((zd.VariableLengthBytes(), value, TypeError) for value in (1, None, [1])),
    *(
        (zd.DateTime64(unit="s"), value, TypeError)
        for value in ("yesterday", 1.5, [1], np.timedelta64(1, "s"))
    ),
    (zd.DateTime64(unit="s"), 2**63, OverflowError),
    (zd.DateTime64(unit="ns"), "9999-01-01", OverflowError),
    (zd.DateTime64(unit="ns"), datetime.date(9999, 1, 1), OverflowError),
    (zd.DateTime64(unit="ns"), datetime.datetime(1, 1, 1), OverflowError),
    (zd.DateTime64(unit="ns"), np.datetime64("9999-01-01"), OverflowError),
    (zd.TimeDelta64(unit="ns"), datetime.timedelta(days=10**6), OverflowError),
    (zd.TimeDelta64(unit="s"), np.timedelta64(1, "Y"), TypeError),
    *((zd.TimeDelta64(unit="s"), value, TypeError) for value in (1.5, np.datetime64(1, "s"))),
    *((STRUCT, value, TypeError) for value in (1, "a", (1.0,), {"x": 1}, None)),
    (STRUCT, (1.0, (70000,), b"z"), OverflowError),
    (STRUCT, b"abc", OverflowError),
]


@pytest.mark.parametrize("zdtype,value,error", BAD_CASTS, ids=repr)
def test_cast_refuses(zdtype: zd.ZDType, value: object, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        zdtype.cast_scalar(value)
    assert isinstance(caught.value, DataTypeValidationError)
    assert not zdtype._check_scalar(value)


def test_variable_length_items_have_no_bytes() -> None:
    for zdtype in (
        zd.VariableLengthUTF8(),
        zd.VariableLengthBytes(),
        zd.PythonObject(object_codec_id="json2"),
    ):
        with pytest.raises(DataTypeValidationError, match="vary in length"):
            scalar_to_bytes(zdtype, zdtype.default_scalar())


def test_python_objects_take_any_json() -> None:
    zdtype = zd.PythonObject(object_codec_id="json2")
    for value in (None, 1, "a", [1, {"b": None}]):
        assert zdtype.from_json_scalar(value, zarr_format=2) == value
        assert zdtype.to_json_scalar(zdtype.cast_scalar(value), zarr_format=2) == value
    assert zdtype.to_json_scalar(np.float64(1.5), zarr_format=2) == 1.5


def test_variable_length_values() -> None:
    text, data = zd.VariableLengthUTF8(), zd.VariableLengthBytes()
    for zarr_format in (2, 3):
        assert text.from_json_scalar("fill-\u00e9", zarr_format=zarr_format) == "fill-\u00e9"
        assert text.to_json_scalar("fill-\u00e9", zarr_format=zarr_format) == "fill-\u00e9"
        assert data.from_json_scalar(b64(b"\xff\0"), zarr_format=zarr_format) == b"\xff\0"
        assert data.to_json_scalar(b"\xff\0", zarr_format=zarr_format) == b64(b"\xff\0")
    assert data.from_json_scalar([255, 0], zarr_format=3) == b"\xff\0"
    assert (text.from_json_scalar(0, zarr_format=2), data.from_json_scalar(0, zarr_format=2)) == ("", b"")


ORACLE = [
    *(
        [
            "|b1",
            "|i1",
            "<u2",
            ">i4",
            "<u8",
            "<f2",
            ">f4",
            "<f8",
            "<c8",
            ">c16",
            "<U3",
            "|S3",
            "|V3",
            "<M8[s]",
            ">m8[10ms]",
        ]
    ),
    [["a", ">i2"], ["b", "<f4"], ["s", "|S2"]],
]


@pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", ORACLE, ids=repr)
def test_zarr_python_reads_what_is_written(name: object, zarr_format: int) -> None:
    theirs = pytest.importorskip("zarr.dtype")
    ours = zd.parse_dtype(name, zarr_format=zarr_format)
    other = theirs.data_type_registry.match_json(ours.to_json(zarr_format), zarr_format=zarr_format)
    bits = bytes(range(1, ours.item_size + 1)) if name != "|b1" else b"\1"
    if "U" in str(name):
        bits = np.array("a\u00e9", ours.to_native_dtype()).tobytes()
    scalar = np.frombuffer(bits, ours.to_native_dtype())[0]
    for value in (scalar, ours.default_scalar()):
        written = ours.to_json_scalar(value, zarr_format=zarr_format)
        read = other.from_json_scalar(json.loads(json.dumps(written)), zarr_format=zarr_format)
        assert scalar_to_bytes(ours, ours.cast_scalar(read)) == scalar_to_bytes(ours, ours.cast_scalar(value))
        again = other.to_json_scalar(read, zarr_format=zarr_format)
        assert ours.from_json_scalar(
            json.loads(json.dumps(again)), zarr_format=zarr_format
        ) == value or np.isnat(value)
