"""Which chunks are empty: those whose items have the very bits of the fill value, whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import zarrcore
from zarrcore.dtypes import data_type_registry
from zarrcore.storage import MemoryStore

ml_dtypes = pytest.importorskip("ml_dtypes")

FLOATS = ("float16", "float32", "float64", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
          "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float6_e2m3fn",
          "float6_e3m2fn", "float4_e2m1fn")  # fmt: skip
COMPLEX = ("complex64", "complex128")
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
LAYOUTS = {
    "raw": {"compressors": None},
    "compressed": {"compressors": ZSTD},
    "shards": {"compressors": None, "shards": (8,)},
    "compressed shards": {"compressors": ZSTD, "shards": (8,)},
    "format 2": {"zarr_format": 2, "compressors": {"id": "zstd", "level": 1}},
    "python": {"compressors": ZSTD, "chunk_key_encoding": {"name": "fanout", "configuration": {}}},
}


def bits(dtype: np.dtype, *words: int) -> np.ndarray:
    """Items with given bits."""
    return np.array(words, f"u{dtype.itemsize}").view(dtype)


def sign_of(dtype: np.dtype) -> int:
    """The bit of the sign."""
    width = {"float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4}.get(dtype.name, 8 * dtype.itemsize)
    return 1 << (width - 1)


def stored(data_type, layout: str, fill: np.ndarray, item: np.ndarray) -> tuple[int, np.ndarray]:
    """How many chunks are stored of an array that holds one item all over, and what is read of it."""
    store = MemoryStore()
    array = zarrcore.create_array(
        store, shape=8, chunks=4, dtype=data_type, fill_value=fill[()], config={"write_empty_chunks": False},
        **LAYOUTS[layout],
    )  # fmt: skip
    array[...] = np.broadcast_to(item, (8,)).copy()
    names = [key for key in store.list() if not key.rpartition("/")[2].startswith((".z", "zarr.json"))]
    return len(names), zarrcore.open_array(store)[...]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FLOATS)
def test_zeros_of_both_signs(name, layout):
    data_type = data_type_registry.get(name)()
    dtype = data_type.to_native_dtype()
    plus, minus = bits(dtype, 0), bits(dtype, sign_of(dtype))
    for fill in (plus, minus):
        for item in (plus, minus):
            count, found = stored(data_type, layout, fill[0], item[0])
            assert found.tobytes() == item.tobytes() * 8
            assert (count == 0) is (fill.tobytes() == item.tobytes()), (fill, item)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16"])
def test_nan_with_a_payload(name, layout):
    data_type = data_type_registry.get(name)()
    dtype = data_type.to_native_dtype()
    quiet = bits(
        dtype, {"float16": 0x7E00, "float32": 0x7FC00000, "float64": 0x7FF8 << 48, "bfloat16": 0x7FC0}[name]
    )
    words = quiet.view(f"u{dtype.itemsize}")
    payload, negative = (words + 5).view(dtype), (words | sign_of(dtype)).view(dtype)
    for fill in (quiet, payload, negative):
        for item in (quiet, payload, negative):
            count, found = stored(data_type, layout, fill[0], item[0])
            assert found.tobytes() == item.tobytes() * 8
            kept = quiet if layout == "format 2" else fill  # whose documents know one NaN
            assert (count == 0) is (kept.tobytes() == item.tobytes()), (fill, item)


def test_format_2_has_the_fill_value_that_its_document_says():
    payload = bits(np.dtype("f8"), (0x7FF8 << 48) + 5)[0]
    for fill, dtype in ((payload, "f8"), (complex(0, payload), "c16"), (payload, "bfloat16")):
        store = MemoryStore()
        created = zarrcore.create_array(store, shape=2, dtype=dtype, fill_value=fill, zarr_format=2)
        opened = zarrcore.open_array(store)
        assert created.fill_value.tobytes() == opened.fill_value.tobytes()
        assert created[...].tobytes() == opened[...].tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", COMPLEX)
def test_parts_of_complex_numbers(name, layout):
    data_type = data_type_registry.get(name)()
    dtype = data_type.to_native_dtype()
    zeros = [np.array(complex(real, imag), dtype) for real in (0.0, -0.0) for imag in (0.0, -0.0)]
    for fill in zeros:
        for item in zeros:
            count, found = stored(data_type, layout, fill, item)
            assert found.tobytes() == item.tobytes() * 8
            assert (count == 0) is (fill.tobytes() == item.tobytes()), (fill, item)


def test_every_number_of_numpy_is_parsed():
    for code in np.typecodes["AllInteger"] + "?efdFD":
        dtype = np.dtype(code)
        assert zarrcore.dtype.parse_dtype(dtype, zarr_format=3).to_native_dtype() == dtype
        assert zarrcore.dtype.parse_dtype(dtype.newbyteorder(">"), zarr_format=2).to_native_dtype() == (
            dtype.newbyteorder(">")
        )
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"):
        for kind in "mM":
            dtype = np.dtype(f"{kind}8[10{unit}]")
            assert zarrcore.dtype.parse_dtype(dtype, zarr_format=3).to_native_dtype() == dtype


PAIRS = {"bcomplex32": "complex_bfloat16", "complex32": "complex_float16"}
"""What ml_dtypes has as one number, and Zarr as a pair."""


def test_every_type_of_ml_dtypes_is_parsed():
    found = [
        item for item in vars(ml_dtypes).values() if isinstance(item, type) and issubclass(item, np.generic)
    ]
    assert len(found) > 15
    for scalar in found:
        name = np.dtype(scalar).name
        if name in ("int1", "uint1"):  # no data types of Zarr
            with pytest.raises(zarrcore.errors.DataTypeValidationError, match=name):
                zarrcore.dtype.parse_dtype(np.dtype(scalar), zarr_format=3)
            continue
        parsed = zarrcore.dtype.parse_dtype(np.dtype(scalar), zarr_format=3)
        assert parsed._zarr_v3_name == PAIRS.get(name, name)
        assert name in PAIRS or parsed.to_native_dtype() == scalar
