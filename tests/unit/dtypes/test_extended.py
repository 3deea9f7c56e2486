"""Data types of the extension registry: floats of 4 to 16 bits, integers of 2 and 4, complex pairs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from exact_cast import ML_FLOATS as FLOATS

import zarrcore
import zarrcore.dtypes as zd
from zarrcore.dtypes import bit_layout, parse_dtype, scalar_to_bytes, swap_fields
from zarrcore.errors import DataTypeValidationError

ml_dtypes = pytest.importorskip("ml_dtypes")

INTEGERS = ["int2", "int4", "uint2", "uint4"]
COMPLEX = ["complex_float16", *(f"complex_{name}" for name in FLOATS if name != "float8_e4m3fn")]
EVERY = FLOATS + INTEGERS + COMPLEX

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}


def zdtype_of(name: str) -> Any:
    return zd.dtype_from_v3(name)


def all_items(zdtype: Any) -> np.ndarray:
    """Items with every pattern of bits that the type has (a sample for pairs and for 16 bits)."""
    components, bits, _ = bit_layout(zdtype)
    rng = np.random.default_rng(1)
    words = np.arange(1 << bits) if components == 1 and bits <= 8 else rng.integers(0, 1 << bits, 128)
    dtype = zdtype.to_native_dtype()
    return words.astype(f"u{dtype.itemsize // components}").view(dtype)


# --- names and dtypes


@pytest.mark.parametrize("name", EVERY)
def test_name_round_trips(name: str) -> None:
    for spelling in (name, {"name": name}, {"name": name, "configuration": {}}):
        zdtype = zdtype_of(spelling)
        assert zdtype.to_json(zarr_format=3) == name
        assert zdtype == parse_dtype(name, zarr_format=3)
        assert zdtype == zdtype_of(name)
        assert hash(zdtype) == hash(zdtype_of(name))
    with pytest.raises(DataTypeValidationError):
        zdtype_of({"name": name, "configuration": {"bits": 4}})


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_native_dtype_round_trips(name: str) -> None:
    scalar_type = getattr(ml_dtypes, name)
    zdtype = zdtype_of(name)
    assert zdtype.to_native_dtype() == np.dtype(scalar_type)
    assert zdtype.dtype_cls is type(np.dtype(scalar_type))
    for spec in (scalar_type, np.dtype(scalar_type)):
        for zarr_format in (2, 3):
            assert parse_dtype(spec, zarr_format=zarr_format) == zdtype
    with pytest.raises(DataTypeValidationError):
        type(zdtype).from_native_dtype(np.dtype("f4"))


@pytest.mark.parametrize("name", EVERY)
def test_layout(name: str) -> None:
    zdtype = zdtype_of(name)
    assert zdtype.item_size == zdtype.to_native_dtype().itemsize
    wide = {"bfloat16": ((0, 2, 1),), "complex_bfloat16": ((0, 2, 1), (2, 2, 1))}
    wide["complex_float16"] = wide["complex_bfloat16"]
    assert swap_fields(zdtype) == wide.get(name, ())


@pytest.mark.parametrize(
    ("ml_name", "name"), [("complex32", "complex_float16"), ("bcomplex32", "complex_bfloat16")]
)
def test_complex_of_ml_dtypes_name_a_pair(ml_name: str, name: str) -> None:
    scalar_type = getattr(ml_dtypes, ml_name, None)
    if scalar_type is None:
        pytest.skip("this version of ml_dtypes has no complex types")
    assert parse_dtype(scalar_type, zarr_format=3) == zdtype_of(name)
    values = np.array([1 + 2j, -0.5j]).astype(scalar_type)
    array = zarrcore.create_array({}, shape=2, dtype=scalar_type)
    array[:] = values
    assert array.metadata.data_type.to_json(zarr_format=3) == name
    assert array[:].tobytes() == values.tobytes()
    assert zdtype_of(name).cast_scalar(values[0]) == array[0]


def test_aliases_of_the_core_complex_types() -> None:
    assert zdtype_of("complex_float32") == zd.Complex64()
    assert zdtype_of({"name": "complex_float64"}) == zd.Complex128()
    assert zd.Complex64.from_json("complex_float32", zarr_format=3) == zd.Complex64()
    with pytest.raises(DataTypeValidationError):
        zd.Complex64.from_json("complex_float64", zarr_format=3)


def test_fields_of_a_struct() -> None:
    dtype = np.dtype([("weight", ml_dtypes.bfloat16), ("code", ml_dtypes.uint4)])
    zdtype = parse_dtype(dtype, zarr_format=3)
    assert [field.to_json(zarr_format=3) for _, field in zdtype.fields] == ["bfloat16", "uint4"]
    assert zd.dtype_from_v3(zdtype.to_json(zarr_format=3)) == zdtype
    # A pair of equal fields is a struct like any other.
    assert isinstance(parse_dtype(zdtype_of("complex_bfloat16").to_native_dtype(), zarr_format=3), zd.Struct)


def test_format_2_takes_the_names() -> None:
    assert zd.dtype_to_v2(zdtype_of("int4")) == "int4"
    assert zd.dtype_from_v2("bfloat16") == zd.BFloat16(endianness="little")
    with pytest.raises(DataTypeValidationError, match="little-endian"):
        zd.BFloat16(endianness="big").to_json(zarr_format=2)


# --- fill values


@pytest.mark.parametrize("name", EVERY)
def test_every_fill_value_keeps_its_bits(name: str) -> None:
    zdtype = zdtype_of(name)
    items = all_items(zdtype)
    for item in items:
        text = json.dumps(zdtype.to_json_scalar(item, zarr_format=3), allow_nan=False)
        back = zdtype.from_json_scalar(json.loads(text), zarr_format=3)
        assert scalar_to_bytes(zdtype, back) == np.array(item).tobytes(), text


NAN_BITS = {
    "bfloat16": "0x7fc0",
    "float8_e3m4": "0x78",
    "float8_e4m3": "0x7c",
    "float8_e4m3b11fnuz": "0x80",
    "float8_e4m3fn": "0x7f",
    "float8_e4m3fnuz": "0x80",
    "float8_e5m2": "0x7e",
    "float8_e5m2fnuz": "0x80",
    "float8_e8m0fnu": "0xff",
}
WITH_INFINITY = {"bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2"}


@pytest.mark.parametrize("name", FLOATS)
def test_special_values(name: str) -> None:
    zdtype = zdtype_of(name)
    infinite = name in WITH_INFINITY
    specials = {"NaN": name in NAN_BITS, "Infinity": infinite, "-Infinity": infinite}
    for text, allowed in specials.items():
        if allowed:
            scalar = zdtype.from_json_scalar(text, zarr_format=3)
            assert zdtype.to_json_scalar(scalar, zarr_format=3) == text
            assert np.isnan(scalar) == (text == "NaN")
        else:
            with pytest.raises(DataTypeValidationError):
                zdtype.from_json_scalar(text, zarr_format=3)
            with pytest.raises(DataTypeValidationError):
                zdtype.cast_scalar(float(text))
    if name in NAN_BITS:
        bits = int(NAN_BITS[name], 16).to_bytes(zdtype.item_size, sys.byteorder)
        assert scalar_to_bytes(zdtype, zdtype.from_json_scalar("NaN", zarr_format=3)) == bits
        assert scalar_to_bytes(zdtype, zdtype.from_json_scalar(NAN_BITS[name], zarr_format=3)) == bits


def test_a_nan_with_a_payload_is_written_as_bits() -> None:
    zdtype = zd.BFloat16()
    scalar = zdtype.from_json_scalar("0xffa5", zarr_format=3)
    assert np.array(scalar).view("u2") == 0xFFA5
    assert zdtype.to_json_scalar(scalar, zarr_format=3) == "0xffa5"
    assert zdtype.cast_scalar(np.array(scalar)).tobytes() == scalar.tobytes()


REFUSED = [
    ("bfloat16", 1e39),
    ("bfloat16", "0x7fc"),
    ("bfloat16", True),
    ("bfloat16", None),
    ("bfloat16", math.inf),
    ("bfloat16", [1.0]),
    ("float8_e4m3fn", 1000),
    ("float8_e4m3", "0x7fc0"),
    ("float8_e8m0fnu", -1.0),
    ("float6_e2m3fn", 7.6),
    ("float6_e3m2fn", "0x40"),
    ("float4_e2m1fn", 6.5),
    ("float4_e2m1fn", "0x17"),
    ("int2", 2),
    ("int2", -3),
    ("int4", 300),
    ("int4", 1.0),
    ("int4", "1"),
    ("int4", True),
    ("uint2", 4),
    ("uint4", -1),
    ("uint4", None),
    ("complex_bfloat16", 1.0),
    ("complex_bfloat16", [1.0]),
    ("complex_float4_e2m1fn", [0.0, "NaN"]),
    ("complex_float8_e5m2", [0.0, 1e9]),
]


@pytest.mark.parametrize(("name", "data"), REFUSED)
def test_wrong_fill_value_is_refused(name: str, data: object) -> None:
    with pytest.raises(DataTypeValidationError):
        zdtype_of(name).from_json_scalar(data, zarr_format=3)


@pytest.mark.parametrize("name", EVERY)
def test_default_is_all_zeros(name: str) -> None:
    zdtype = zdtype_of(name)
    assert scalar_to_bytes(zdtype, zdtype.default_scalar()) == bytes(zdtype.item_size)
    assert scalar_to_bytes(zdtype, zdtype.cast_scalar(0)) == bytes(zdtype.item_size)


@pytest.mark.parametrize("number", [0, -0.0, 1e-300, 1e-60, 2.0**-128, 2.0**-127])
def test_the_smallest_power_of_two_stands_in_for_zero(number: float) -> None:
    zdtype = zdtype_of("float8_e8m0fnu")
    assert scalar_to_bytes(zdtype, zdtype.cast_scalar(number)) == b"\0"


def test_cast_scalar() -> None:
    assert zd.BFloat16().cast_scalar(1 / 3) == ml_dtypes.bfloat16(1 / 3)
    assert zd.BFloat16().cast_scalar("-Infinity") == -math.inf
    assert zd.BFloat16().cast_scalar(ml_dtypes.float8_e5m2(1.25)) == 1.25
    assert zd.Int4().cast_scalar(np.float64(-8)) == -8
    assert zd.Int4().cast_scalar(ml_dtypes.uint2(3)) == 3
    assert zd.UInt4().cast_scalar(ml_dtypes.bfloat16(15)) == 15
    for zdtype, wrong, error in (
        (zd.Int4(), 300, OverflowError),
        (zd.Int4(), 1.5, OverflowError),
        (zd.Int4(), ml_dtypes.bfloat16(0.5), OverflowError),
        (zd.Int4(), "1", TypeError),
        (zd.BFloat16(), 1j, TypeError),
        (zd.BFloat16(), 10**400, OverflowError),
        (zd.BFloat16(), np.timedelta64(1, "s"), TypeError),
        (zd.ComplexBFloat16(), (1, 2, 3), TypeError),
        (zd.ComplexBFloat16(), b"1", TypeError),
    ):
        with pytest.raises(error):
            zdtype.cast_scalar(wrong)


def test_cast_scalar_of_complex_pairs() -> None:
    zdtype = zd.ComplexFloat8E4M3()
    expected = zdtype.from_json_scalar([1.5, -2.0], zarr_format=3)
    for data in (1.5 - 2j, np.complex64(1.5 - 2j), (1.5, -2), "1.5-2j", expected, np.array(expected)):
        assert zdtype.cast_scalar(data) == expected
    assert zdtype.to_json_scalar(3, zarr_format=3) == [3.0, 0.0]


# --- arrays


@pytest.mark.parametrize("serializer", [LITTLE, {"name": "packbits"}], ids=["bytes", "packbits"])
@pytest.mark.parametrize("name", EVERY)
def test_array_round_trip(name: str, serializer: dict[str, Any]) -> None:
    zdtype = zdtype_of(name)
    items = np.resize(all_items(zdtype), (16, 11))
    fill = items[1, 2]
    store = zarrcore.storage.MemoryStore()
    array = zarrcore.create_array(
        store, shape=(16, 11), chunks=(5, 4), dtype=name, fill_value=fill, serializer=serializer
    )
    assert array[...].tobytes() == np.full((16, 11), fill, items.dtype).tobytes()
    array[...] = items
    array = zarrcore.open_array(store)
    assert array.metadata.data_type == zdtype
    assert array.dtype == items.dtype
    assert array[...].tobytes() == items.tobytes()
    assert array[::-3, 2].tobytes() == items[::-3, 2].tobytes()
    assert array.oindex[[1, 9], 1:].tobytes() == items[[1, 9], 1:].tobytes()
    assert array.vindex[[1, 9], [3, 0]].tobytes() == items[[1, 9], [3, 0]].tobytes()
    array[3:7, 5] = items[0, :4]
    assert array[3:7, 5].tobytes() == items[0, :4].tobytes()
    array.resize((18, 11))
    assert array[16:].tobytes() == np.full((2, 11), fill, items.dtype).tobytes()


@pytest.mark.parametrize(
    "name", ["bfloat16", "int4", "float6_e2m3fn", "complex_bfloat16", "complex_float4_e2m1fn"]
)
def test_sharded_compressed_array_round_trip(name: str) -> None:
    items = np.resize(all_items(zdtype_of(name)), (12, 8))
    store: dict[str, Any] = {}
    array = zarrcore.create_array(store, shape=(12, 8), chunks=(3, 4), shards=(6, 8), dtype=name)
    array[...] = items
    assert zarrcore.open_array(store)[2:11, ::3].tobytes() == items[2:11, ::3].tobytes()


@pytest.mark.parametrize("name", ["bfloat16", "complex_bfloat16", "complex_float16"])
def test_byte_order_of_the_parts(name: str) -> None:
    store: dict[str, Any] = {}
    array = zarrcore.create_array(store, shape=1, dtype=name, compressors=None, serializer=BIG)
    value = 1.5 if name == "bfloat16" else 1.5 - 2j
    array[0] = value
    stored = {"bfloat16": "3fc0", "complex_bfloat16": "3fc0c000", "complex_float16": "3e00c000"}
    assert bytes(array.store.get("c/0")).hex() == stored[name]
    assert array[0] == zdtype_of(name).cast_scalar(value)


def stored_array(name: str, chunk: bytes, serializer: str = "bytes") -> Any:
    array = zarrcore.create_array({}, shape=4, dtype=name, compressors=None, serializer={"name": serializer})
    array.store.set("c/0", chunk)
    return array


@pytest.mark.parametrize(
    ("name", "chunk", "values"),
    [
        ("int2", "01 fd fe ff", [1, 1, -2, -1]),
        ("int4", "07 f7 18 ff", [7, 7, -8, -1]),
        ("uint2", "03 fc 55 aa", [3, 0, 1, 2]),
        ("uint4", "0f f0 17 ff", [15, 0, 7, 15]),
        ("float4_e2m1fn", "07 f7 10 1f", [6, 6, 0, -6]),
        ("float6_e2m3fn", "1f df 40 bf", [7.5, 7.5, 0, -7.5]),
        ("float6_e3m2fn", "1f df 40 bf", [28, 28, 0, -28]),
    ],
)
def test_unused_bits_are_ignored(name: str, chunk: str, values: list[float]) -> None:
    data = stored_array(name, bytes.fromhex(chunk))[:]
    assert data.astype(np.float32).tolist() == values
    assert (data == np.array(values).astype(data.dtype)).all()


def test_packed_bits() -> None:
    assert stored_array("int4", bytes.fromhex("8f71"), "packbits")[:].tolist() == [-1, -8, 1, 7]
    assert stored_array("uint2", bytes.fromhex("e4"), "packbits")[:].tolist() == [0, 1, 2, 3]
    pairs = stored_array("complex_float4_e2m1fn", bytes.fromhex("72000000"), "packbits")[:]
    assert (float(pairs["real"][0]), float(pairs["imag"][0])) == (1.0, 6.0)
    array = stored_array("int4", b"\0\0", "packbits")
    array[:] = [-1, -8, 1, 7]
    assert bytes(array.store.get("c/0")).hex() == "8f71"


# --- values


def array_of(name: str) -> Any:
    return zarrcore.create_array({}, shape=3, dtype=name)


@pytest.mark.parametrize(
    ("name", "values", "error"),
    [
        ("int4", [1, 300, 0], OverflowError),
        ("int4", np.array([0, 8, 0], "u1"), OverflowError),
        ("int4", [1.5, 0, 0], ValueError),
        ("int4", [math.nan, 0, 0], ValueError),
        ("uint4", np.array([-1, 0, 0]).astype(ml_dtypes.int4), OverflowError),
        ("int4", ["1", "2", "3"], TypeError),
        ("int4", [1j, 0, 0], TypeError),
        ("bfloat16", [1j, 0, 0], TypeError),
        ("bfloat16", np.zeros(3, "M8[s]"), TypeError),
        ("bfloat16", "text", TypeError),
        ("float4_e2m1fn", [math.nan, 0, 0], ValueError),
        ("complex_bfloat16", "text", TypeError),
    ],
)
def test_values_that_do_not_fit_are_refused(name: str, values: Any, error: type[Exception]) -> None:
    array = array_of(name)
    before = array[:].tobytes()
    with pytest.raises(error):
        array[:] = values
    assert array[:].tobytes() == before


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("int4", [1.0, -8.0, 7.0], [1, -8, 7]),
        ("int4", [True, False, True], [1, 0, 1]),
        ("int4", [ml_dtypes.int4(1), 2, -3], [1, 2, -3]),
        ("int4", np.array([1, 2, -3]).astype(ml_dtypes.bfloat16), [1, 2, -3]),
        ("bfloat16", [1, 2.5, True], [1, 2.5, 1]),
        ("bfloat16", np.array([1, 2, -3]).astype(ml_dtypes.int4), [1, 2, -3]),
        ("float8_e5m2", np.array([1e9, -1e9, 1]), [math.inf, -math.inf, 1]),
        ("float32", np.array([1, 2, -0.5]).astype(ml_dtypes.bfloat16), [1, 2, -0.5]),
        ("int8", np.array([1, 2, -8]).astype(ml_dtypes.int4), [1, 2, -8]),
        ("int8", np.array([1, 2, 3]).astype(ml_dtypes.bfloat16), [1, 2, 3]),
    ],
)
def test_values_are_cast(name: str, values: Any, expected: list[float]) -> None:
    array = array_of(name)
    array[:] = values
    assert array[:].astype("f8").tolist() == expected


def test_values_of_other_types_do_not_change_silently() -> None:
    for values, error in (([0.5, 0, 0], ValueError), ([300, 0, 0], (ValueError, OverflowError))):
        with pytest.raises(error):
            array_of("int8")[:] = np.array(values).astype(ml_dtypes.bfloat16)


def test_complex_values() -> None:
    array = array_of("complex_bfloat16")
    array[:] = [1 + 2j, 3, -0.5j]
    assert array[:]["real"].tolist() == [1, 3, 0]
    assert array[:]["imag"].tolist() == [2, 0, -0.5]
    array[0] = (4, 5)
    array[1:] = [(6, 7), (8, 9)]
    assert array[:].tolist() == [(4, 5), (6, 7), (8, 9)]
    array[:] = np.array([1j, 2j, 3j], "c8")
    assert array[:]["imag"].tolist() == [1, 2, 3]
    array[1] = array[2]
    assert float(array[1]["imag"]) == 3


def test_copies_keep_the_type() -> None:
    array = zarrcore.create_array({}, shape=3, dtype="complex_float8_e4m3")
    assert zarrcore.zeros_like(array, store={}).metadata.data_type == array.metadata.data_type


# --- other programs


LACKING = ("float6_e2m3fn", "float6_e3m2fn", "float8_e4m3", "uint2", "uint4")
TENSORSTORE = [name for name in FLOATS + INTEGERS if name not in LACKING]


@pytest.fixture(scope="module")
def ts() -> Any:
    return pytest.importorskip("tensorstore")


@pytest.mark.parametrize("name", TENSORSTORE)
@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_tensorstore_reads_and_writes_the_same(ts: Any, tmp_path: Any, name: str, driver: str) -> None:
    items = np.resize(all_items(zdtype_of(name)), (7, 9))
    zarr_format = 3 if driver == "zarr3" else 2
    # tensorstore reads 1 as another float8_e8m0fnu, and in format 2 wants base64 for float4_e2m1fn
    fill: Any = None if name == "float8_e8m0fnu" or (name, zarr_format) == ("float4_e2m1fn", 2) else 1
    ours = zarrcore.create_array(
        tmp_path / "ours", shape=(7, 9), chunks=(3, 4), dtype=name, fill_value=fill, zarr_format=zarr_format
    )
    ours[:5] = items[:5]
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{tmp_path / 'ours'}/"}}
    theirs = ts.open(spec).result()
    read = np.asarray(theirs.read().result())
    assert read.dtype == items.dtype
    assert read.tobytes() == np.asarray(ours[...]).tobytes()
    theirs[5:] = items[5:]
    assert zarrcore.open_array(tmp_path / "ours")[...].tobytes() == items.tobytes()


# --- without ml_dtypes

PROGRAM = """
import sys
sys.modules["ml_dtypes"] = None  # as if it were not installed
import zarrcore.dtypes as zd
from zarrcore.errors import DataTypeValidationError
for name in {names!r}:
    try:
        zd.dtype_from_v3(name).to_native_dtype()
    except DataTypeValidationError as error:
        assert "'zarrcore[ml-dtypes]'" in str(error) and name.removeprefix("complex_") in str(error), error
    else:
        sys.exit(f"no error for {{name}}")
zd.parse_dtype("complex_float16", zarr_format=3).to_native_dtype()
"""


def test_missing_package_is_named() -> None:
    names = [name for name in EVERY if name != "complex_float16"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=names)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_package_is_loaded_when_needed_only() -> None:
    program = (
        "import sys, zarrcore.dtypes as zd; zd.dtype_from_v3('int4'); zd.parse_dtype('f4', zarr_format=3);"
        "assert 'ml_dtypes' not in sys.modules; zd.Int4().cast_scalar(1); assert 'ml_dtypes' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
