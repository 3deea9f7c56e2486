# SPDX-License-Identifier: MIT
"""The data types and fill values in metadata documents, as libzarrcore reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import LibraryError, changed, datetime, refused_with, struct, v2, v3

import zarrcore

pytestmark = [
    pytest.mark.timeout(600),  # the first test builds the library
    pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrcoreWarning"),
]


@pytest.fixture
def fill_of(library: Any, tmp_path: Path) -> Callable[[dict[str, Any]], bytes]:
    """The bytes of the fill value of a document."""

    def fill_bytes(document: dict[str, Any]) -> bytes:
        name = ".zarray" if document["zarr_format"] == 2 else "zarr.json"
        (tmp_path / name).write_text(json.dumps(document))
        handle = library.handle(tmp_path)
        item = np.zeros(library.itemsize(handle), "u1")
        assert library.fill_value(handle, item.ctypes.data, item.nbytes) == 0
        library.release(handle)
        return item.tobytes()

    return fill_bytes


NAN_BITS = {"float16": "007e", "float32": "0000c07f", "float64": "000000000000f87f"}


def fills() -> Iterator[tuple[str, Any, bytes]]:
    for name, width in (("float16", 2), ("float32", 4), ("float64", 8)):
        kind = f"<f{width}"
        yield name, "NaN", bytes.fromhex(NAN_BITS[name])
        yield name, "Infinity", np.array(math.inf, kind).tobytes()
        yield name, "-Infinity", np.array(-math.inf, kind).tobytes()
        yield name, "0x" + "7f" * width, b"\x7f" * width
        yield name, "0xFFc0" + "01" * (width - 2), bytes.fromhex("01" * (width - 2) + "c0ff")
        for value in (
            0,
            -0.0,
            1,
            0.1,
            -2.5,
            1 / 3,
            65504,
            6.1e-5,
            5.96e-8,
            2.98e-8,
            2.9802322387695312e-8,
            1e-30,
        ):
            yield name, value, np.array(value, kind).tobytes()
    for bits in (8, 16, 32, 64):
        yield (
            f"int{bits}",
            -(2 ** (bits - 1)),
            (-(2 ** (bits - 1))).to_bytes(bits // 8, "little", signed=True),
        )
        yield f"int{bits}", 2 ** (bits - 1) - 1, (2 ** (bits - 1) - 1).to_bytes(bits // 8, "little")
        yield f"uint{bits}", 2**bits - 1, (2**bits - 1).to_bytes(bits // 8, "little")
    yield "bool", True, b"\1"
    yield "complex64", [1, "NaN"], np.array([1, math.nan], "<f4").tobytes()
    yield "complex128", ["-Infinity", 0.5], np.array([-math.inf, 0.5], "<f8").tobytes()
    yield "r24", [1, 2, 255], b"\1\2\xff"


@pytest.mark.parametrize(("name", "value", "expected"), list(fills()))
def test_fill_values(fill_of: Any, name: str, value: Any, expected: bytes) -> None:
    words = 2 if name.startswith("complex") else 1
    stored = np.frombuffer(expected, f"<u{len(expected) // words}" if name[0] != "r" else "u1")
    native = stored.astype(stored.dtype.newbyteorder("=")).tobytes()
    assert fill_of(v3("data_type", name) | {"fill_value": value}) == native
    # A member of the same name somewhere else is not the fill value.
    decoy = {"attributes": {"fill_value": 1, "a": ["fill_value", '"fill_value": 2']}}
    assert fill_of(decoy | v3("data_type", name) | {"fill_value": value} | decoy) == native


def test_fill_values_of_format_2(fill_of: Any) -> None:
    assert fill_of(v2("fill_value", None)) == bytes(4)
    assert fill_of(v2("dtype", "|b1") | {"fill_value": 1}) == b"\1"
    assert fill_of(v2("dtype", ">i8") | {"fill_value": 2**63 - 1}) == np.array(2**63 - 1, "=i8").tobytes()


RECORD = struct(
    a="int16", b=struct(c="float32", d="uint8"), e={"name": "raw_bytes", "configuration": {"length_bytes": 3}}
)
TEXT = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}
STRING = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}}
SMALL_FLOATS = [
    f"float8_{name}"
    for name in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
]
SMALL_FLOATS += ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
SMALL_NUMBERS = [0, 1, -1, 0.3, -1.75, 15.4, 1e-3, 0.0009, 1e9, "NaN", "Infinity", -0.0]
SMALL_NUMBERS += ["0x81", "0x181", "0x40", "0x3f", "0x0d", 6, 6.9, 7, 7.5, 7.6, 28, 28.1, 29, -29]
SMALL_NUMBERS += [1e-60, -1e-60, 2.0**-127, 2.0**-128, 1.3 * 2.0**127, 1.5 * 2.0**127]
SMALL_NUMBERS += [2.5, 3, 3.5, 448, 464, 465, 61440, 61441]

TYPES_3: list[tuple[Any, list[Any]]] = [
    (RECORD, [{}, {"b": {"c": "NaN"}, "e": "AQID"}, [1, [2.5, 3], [4, 5, 6]], "AQAAAIA/AgMEBQ==", 0, "AQ=="]),
    (RECORD, [{"a": 1, "z": 2}, [1, [2.5, 3]], {"a": 2**15}, {"b": {"c": 1e39}}, "!", {"e": [1, 2]}, None]),
    (TEXT, ["", "abc", "\u00e9\u4e16\U0001f600", "abcd", "ab\0", "a\0b", 0, 1, None]),
    (
        STRING,
        ["", "YWJj", "YWI=", "YQA=", "YWJjZGU=", [97, 98], [97] * 5, [256], "abc", "YW=j", "====", 0, "\0"],
    ),
    ("r16", [[1, 2], "AQI=", [1], "AQ==", [1, 2, 3], [-1, 0], 0, "0x0102"]),
    (datetime("us", 10), [0, -5, "NaT", 2**63 - 1, -(2**63), 2**63, 1.0, "1", None]),
    (changed(datetime("generic", 1), "name", "numpy.timedelta64"), [7, "NaT"]),
    (
        "bfloat16",
        [0, 1, -0.0, 3.14159, 3.3895313892515355e38, 3.4e38, 1e-40, "NaN", "-Infinity", "0x7f81", "0x7f"],
    ),
    ("int4", [-8, 7, 8, -9, 1.0]),
    ("uint2", [0, 3, 4, -1]),
    *((name, SMALL_NUMBERS) for name in SMALL_FLOATS),
    ("complex_float32", [[1, "-Infinity"], ["0x7fc00001", 0], 0]),
]
TYPES_2: list[tuple[Any, list[Any]]] = [
    ("<f4", [None, 0, "1.5", "1e3", "nan", "-inf", "NaN", "0x7fc00000", "", "1,5", "1.5x", True, [1]]),
    (">f8", [math.nan, math.inf, -math.inf, 0.1, "-Infinity"]),
    ("<f2", ["65519", "65520", 6.1e-5]),
    (">i2", [1.0, "12", "-32768", "32768", "1.5", 1.5, True, math.nan, None]),
    ("<u8", [2**64 - 1, "18446744073709551615", "18446744073709551616", 1e19, "-1", "-0"]),
    ("|b1", [True, 0, 1.0, 2, "true"]),
    ("<c8", [[1, 2], 3, [1, "NaN"], ["1", "nan"], "1", None]),
    ("|S4", ["YWI=", 0, "\0", "", None, "ab"]),
    (">U2", ["ab", 0, "\u4e16", "abc", None]),
    ("<M8[25s]", [0, 1.0, "12", "NaT", None, -(2**63)]),
    (">m8[us]", [-1, "nat", None]),
    ("|V3", ["AQID", "AQ==", "AQIDBA==", [1, 2, 3], 0, None, 1]),
    ("bfloat16", [1, 0.1, None]),
    (
        [["a", ">i2"], ["b", "<f4"], ["c", "|S2"]],
        ["AAEAAIA/YWI=", 0, None, [1, 2, "YQ=="], {"b": 1}, "AA==", 1],
    ),
    (
        [["a", "<i2", [2, 2]], ["b", [["c", ">f4"], ["d", "|u1"]], [2]]],
        [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]], 0, None],
    ),
    ([["a", "<i2", [2, 2]], ["b", "|u1"]], [[[[1, 2], [3]], 4], {"a": 0, "b": 1}, {"a": [[1, 2], [3, 4]]}]),
    ([["a", "|u1"], ["", "|V3"], ["b", ">i4"]], [0, "AQAAAAAAAQI=", [1, 0, 2], {"f1": 0}]),
]


def fills_of_types() -> Iterator[Any]:
    for zarr_format, types in ((3, TYPES_3), (2, TYPES_2)):
        for dtype, values in types:
            for value in values:
                yield pytest.param(
                    zarr_format, dtype, value, id=f"{zarr_format}-{json.dumps([dtype, value])}"
                )


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e3m2fn"])
@pytest.mark.parametrize("cast", [False, True])
def test_unused_bits_are_read_as_zeros(library: Any, name: str, cast: bool, tmp_path: Path) -> None:
    """Above the bits of a small number there may be anything, also where another type is cast to it."""
    stored = np.arange(24, dtype="u1") + 200
    codecs = [{"name": "cast_value", "configuration": {"data_type": name}}, "bytes"] if cast else ["bytes"]
    document = v3("data_type", "float32" if cast else name) | {"codecs": codecs}
    document = changed(document, "chunk_grid.configuration.chunk_shape", [6, 4])
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    (tmp_path / "c" / "0").mkdir(parents=True)
    (tmp_path / "c" / "0" / "0").write_bytes(stored.tobytes())
    handle = library.handle(tmp_path)
    out = np.zeros((6, 4), library.typestr(handle).decode())
    assert library.region(handle, out) == 0
    assert out.tobytes() == zarrcore.open_array(tmp_path)[...].tobytes()
    if not cast:
        assert out.tobytes() == (stored & (15 if name[5] == "4" else 63)).tobytes()
    library.release(handle)


@pytest.mark.parametrize(("zarr_format", "dtype", "value"), list(fills_of_types()))
def test_fill_values_are_those_of_python(
    library: Any, zarr_format: int, dtype: Any, value: Any, tmp_path: Path
) -> None:
    """The same bytes, or refused by both."""
    if zarr_format == 3:
        document, name = v3("data_type", dtype) | {"fill_value": value}, "zarr.json"
    else:
        document, name = v2("dtype", dtype) | {"fill_value": value}, ".zarray"
    (tmp_path / name).write_text(json.dumps(document))
    try:
        expected = zarrcore.open_array(tmp_path, mode="r")[...]
    except (ValueError, TypeError):
        with pytest.raises(LibraryError, match="fill_value") as caught:
            library.handle(tmp_path)
        assert caught.value.args[0] == refused_with(caught.value.args[1])
        return
    handle = library.handle(tmp_path)
    out = np.ones((6, 4), f"V{library.itemsize(handle)}")
    assert library.region(handle, out) == 0
    library.release(handle)
    native = expected.astype(expected.dtype.newbyteorder("="))
    assert out.tobytes() == native.tobytes()


@pytest.mark.parametrize("endian", ["little", "big"])
def test_records_of_format_3(library: Any, endian: str, tmp_path: Path) -> None:
    document = v3("data_type", RECORD) | {"fill_value": {}}
    document["codecs"] = [{"name": "bytes", "configuration": {"endian": endian}}]
    records_round_trip(library, tmp_path, document, "zarr.json")


@pytest.mark.parametrize("order", ["C", "F"])
def test_records_of_format_2(library: Any, order: str, tmp_path: Path) -> None:
    fields = [["a", ">i2"], ["b", "<f8", [2, 3]], ["c", [["d", ">c8"], ["e", "|S1"]], [2]], ["f", "<U2"]]
    document = v2("dtype", fields) | {"order": order, "compressor": {"id": "blosc"}}
    records_round_trip(library, tmp_path, document, ".zarray")


def records_round_trip(library: Any, path: Path, document: dict[str, Any], name: str) -> None:
    """libzarrcore writes, zarrcore reads, and the other way."""
    (path / name).write_text(json.dumps(document))
    array, handle = zarrcore.open_array(path), library.handle(path)
    assert library.typestr(handle).decode() == f"|V{array.dtype.itemsize}"
    raw = np.random.default_rng(0).integers(1, 100, (6, 4, array.dtype.itemsize), "u1")
    values = raw.view(array.dtype.newbyteorder("="))[..., 0]
    for field in ("f",) if "f" in values.dtype.names else ():
        values[field] = "xy"  # not every pattern of bits is text
    assert library.region(handle, values.view(f"V{array.dtype.itemsize}"), write=True) == 0
    found = array[...]
    assert found.astype(values.dtype).tobytes() == values.tobytes()
    array[::2] = found[::-2]
    out = np.zeros((6, 4), values.dtype)
    assert library.region(handle, out.view(f"V{array.dtype.itemsize}")) == 0
    assert out[::2].tobytes() == values[::-2].tobytes()
    library.release(handle)
