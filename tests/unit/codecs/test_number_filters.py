"""Filters on numbers: in the engine, in Python and in numcodecs they give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from zarrcore import create_array
from zarrcore._core import engine
from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.codecs.v2_filters import as_bytes
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError
from zarrcore.storage import MemoryStore

numcodecs = pytest.importorskip("numcodecs")

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f4", "f8"]
LENGTHS = st.sampled_from([1, 2, 7, 16, 17, 511, 512, 513, 1023, 1024, 1500])
ORDERS = st.sampled_from("<>")


def numbers(dtype: str, size: int, seed: int) -> np.ndarray:
    """Numbers of every size and sign; among floats NaN, infinities and halves."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return np.frombuffer(rng.bytes(size * dtype.itemsize), dtype).copy()
    with np.errstate(over="ignore"):  # 1e30 is infinite as float16, which is a good value too
        items = (rng.normal(size=size) * 10.0 ** rng.integers(-3, 6, size)).astype(dtype)
        halves = rng.random(size) < 0.2
        items[halves] = np.round(items[halves]) + 0.5
        for value in (np.nan, np.inf, -np.inf, -0.0, 1e30, -1e30):
            items[rng.integers(0, size, max(size // 50, 1))] = value
    return items


def within(items: np.ndarray, stored: str | None) -> np.ndarray:
    """`items`, for uint32 without what numpy casts now this way, now that."""
    if stored == "u4" and items.dtype.kind == "f":
        return np.where(np.abs(items) < 1e5, items, 7).astype(items.dtype)
    return items


def lowered(config: dict, dtype: np.dtype) -> tuple | None:
    codec = parse_v2_codec(config)
    if isinstance(codec, BytesBytesCodec):
        return codec.stage()
    found = codec.lowered(dtype)
    return None if found is None else found[0]


def check(config: dict, items: np.ndarray, *, native: bool = True) -> None:
    """Encoding and decoding of `items`, three ways."""
    theirs = numcodecs.get_codec(config)
    ours = parse_v2_codec(config)
    with np.errstate(all="ignore"):
        encoded = np.ascontiguousarray(theirs.encode(items)).tobytes()
        decoded = np.ascontiguousarray(theirs.decode(np.frombuffer(encoded, "u1"))).tobytes()
    stage = lowered(config, items.dtype)
    assert (stage is not None) == native
    made = items.tobytes() if isinstance(ours, BytesBytesCodec) else items
    with np.errstate(all="ignore"):  # numpy tells of infinities and overflow, as it does within numcodecs
        assert bytes(as_bytes(ours.encode(made))) == encoded
        assert bytes(as_bytes(ours.decode(np.frombuffer(encoded, "u1")))) == decoded
    if stage is not None:
        assert engine.encode_bytes(*stage, items) == encoded
        assert engine.decode_bytes(*stage, encoded, len(decoded)) == decoded


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(INTEGERS + FLOATS),
    st.sampled_from(INTEGERS + FLOATS),
    ORDERS,
    ORDERS,
    LENGTHS,
    st.integers(0, 99),
)
def test_astype(encode: str, decode: str, order: str, other: str, size: int, seed: int) -> None:
    config = {"id": "astype", "encode_dtype": order + encode, "decode_dtype": other + decode}
    check(config, within(numbers(other + decode, size, seed), encode))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(INTEGERS + FLOATS),
    st.sampled_from([None, *INTEGERS, *FLOATS]),
    ORDERS,
    ORDERS,
    LENGTHS,
    st.integers(0, 99),
)
def test_delta(dtype: str, astype: str | None, order: str, other: str, size: int, seed: int) -> None:
    config = {"id": "delta", "dtype": order + dtype, "astype": None if astype is None else other + astype}
    # Of signed integers with unsigned ones of 64 bits numpy makes floats, which lose the data.
    assume("u8" not in (dtype, astype) or not {dtype, astype} & {"i1", "i2", "i4", "i8"})
    # What is out of range for uint32 numpy casts now this way, now that.
    assume("u4" not in (dtype, astype) or not {dtype, astype} & {"f4", "f8"})
    items = numbers(order + dtype, size, seed)
    items[0] = 3  # numcodecs refuses a first item that astype cannot hold
    check(config, items)


def test_delta_refuses_a_first_item_that_is_lost() -> None:
    config = {"id": "delta", "dtype": "<i4", "astype": "|i1"}
    items = np.array([1000, 1001], "<i4")
    with pytest.raises(OverflowError, match="1000"):
        parse_v2_codec(config).encode(items)
    with pytest.raises(ChunkEncodeError, match="item 0"):
        engine.encode_bytes(*lowered(config, items.dtype), items)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(FLOATS),
    st.sampled_from([None, *INTEGERS, *FLOATS]),
    ORDERS,
    ORDERS,
    LENGTHS,
    st.integers(0, 99),
    st.sampled_from([0, 0.0, 1000, -2.5, 0.1]),
    st.sampled_from([1, 10.0, 0.1, 3, 1e3]),
)
def test_fixedscaleoffset(
    dtype: str, astype: str | None, order: str, other: str, size: int, seed: int, offset: float, scale: float
) -> None:
    config = {
        "id": "fixedscaleoffset",
        "offset": offset,
        "scale": scale,
        "dtype": order + dtype,
        "astype": None if astype is None else other + astype,
    }
    check(config, within(numbers(order + dtype, size, seed), astype))


SCALES = st.floats(2.0**-110, 2.0**110) | st.floats(0.001, 1000) | st.integers(-(10**9), 10**9).filter(bool)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(INTEGERS), st.sampled_from(FLOATS), SCALES, st.sampled_from([0, -0.0, 273.15]), LENGTHS
)
def test_scaled_integers_round_as_division_does(
    astype: str, dtype: str, scale: float, offset: float, size: int
) -> None:
    stored = numbers(astype, size, size)
    stored[::5] = np.arange(stored[::5].size, dtype="i8").astype(astype)
    options = {"dtype": "<" + dtype, "astype": "<" + astype, "scale": float(scale), "offset": offset}
    with np.errstate(all="ignore"):
        expected = (stored / float(scale) + offset).astype(dtype)
    assert engine.decode_bytes("fixedscaleoffset", options, stored, expected.nbytes) == expected.tobytes()


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(FLOATS),
    st.sampled_from([None, *FLOATS]),
    ORDERS,
    ORDERS,
    LENGTHS,
    st.integers(0, 99),
    st.integers(-3, 9),
)
def test_quantize(
    dtype: str, astype: str | None, order: str, other: str, size: int, seed: int, digits: int
) -> None:
    config = {
        "id": "quantize",
        "digits": digits,
        "dtype": order + dtype,
        "astype": None if astype is None else other + astype,
    }
    check(config, numbers(order + dtype, size, seed))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([("f2", 10), ("f4", 23), ("f8", 52)]), LENGTHS, st.data())
def test_bitround(kind: tuple[str, int], size: int, data: st.DataObject) -> None:
    dtype, most = kind
    config = {"id": "bitround", "keepbits": data.draw(st.integers(0, most))}
    items = numbers(dtype, size, data.draw(st.integers(0, 99)))
    encoded = np.ascontiguousarray(numcodecs.get_codec(config).encode(items)).tobytes()
    assert parse_v2_codec(config).encode(items).tobytes() == encoded
    for order in "<>":  # numcodecs knows items in the order of the machine only
        ordered = items.astype(order + dtype)
        found = np.frombuffer(engine.encode_bytes(*lowered(config, ordered.dtype), ordered), order + dtype)
        assert found.astype(dtype).tobytes() == encoded


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 1023])
def test_packbits(size: int) -> None:
    check({"id": "packbits"}, np.random.default_rng(size).random(size) < 0.5)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 12, 16, 40])
def test_shuffle(width: int) -> None:
    check(
        {"id": "shuffle", "elementsize": width}, np.random.default_rng(1).integers(0, 256, 240 * width, "u1")
    )


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({"id": "delta", "dtype": "<f2"}, "f2"),
        ({"id": "fixedscaleoffset", "offset": 0.5, "scale": 2.0, "dtype": "<i4"}, "i4"),
        ({"id": "fixedscaleoffset", "offset": 3, "scale": 2, "dtype": "<i4", "astype": "i2"}, "i4"),
        ({"id": "quantize", "digits": 2, "dtype": "<f2"}, "f2"),
        ({"id": "astype", "encode_dtype": "<f2", "decode_dtype": "<f4"}, "f4"),
        ({"id": "astype", "encode_dtype": "|b1", "decode_dtype": "<i4"}, "i4"),
    ],
)
def test_what_the_engine_lacks(config: dict, dtype: str) -> None:
    check(config, np.arange(-40, 60).astype(dtype), native=False)


def opened_by_zarr(store: MemoryStore) -> Any:
    """The array in `store` as zarr-python sees it."""
    zarr = pytest.importorskip("zarr")
    buffer = zarr.core.buffer.cpu.Buffer
    values = {key: buffer.from_bytes(bytes(store.get(key))) for key in store.list()}
    return zarr.open_array(zarr.storage.MemoryStore(values), mode="r")


FILTERS = [
    [{"id": "delta", "dtype": "<i4", "astype": "<i8"}],
    [{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}],
    [
        {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f8", "astype": "<i4"},
        {"id": "delta", "dtype": "<i4"},
    ],
    [{"id": "quantize", "digits": 1, "dtype": "<f8"}, {"id": "bitround", "keepbits": 20}],
    [{"id": "astype", "encode_dtype": "|u1", "decode_dtype": "<f8"}],
    [{"id": "packbits"}],
]
DTYPES = ["i4", "i4", "f8", "f8", "f8", "?"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("filters", "dtype"), list(zip(FILTERS, DTYPES, strict=True)))
@pytest.mark.parametrize("compressor", [None, {"id": "zlib", "level": 1}, {"id": "blosc"}])
def test_arrays_of_format_2(filters: list, dtype: str, order: str, compressor: dict | None) -> None:
    values = (np.arange(30 * 20).reshape(30, 20) % 7).astype(dtype)
    store = MemoryStore()
    array = create_array(
        store,
        shape=values.shape,
        chunks=(7, 6),
        dtype=dtype,
        zarr_format=2,
        filters=filters,
        compressors=compressor,
        order=order,
        fill_value=0,
    )
    array[...] = values
    assert type(array._compiled()).__name__ == "NativeArray"
    assert (array[3:29:2, ::-1] == values[3:29:2, ::-1]).all()
    array[4:9, 2] = values[4:9, 3]
    values[4:9, 2] = values[4:9, 3]
    assert (opened_by_zarr(store)[...] == values).all()
    assert (array[...] == values).all()


@pytest.mark.parametrize(
    ("filters", "dtype"),
    [
        ([{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}], "i4"),
        (
            [
                {"name": "transpose", "configuration": {"order": [1, 0]}},
                {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}},
            ],
            "i4",
        ),
        (
            [
                {
                    "name": "numcodecs.fixedscaleoffset",
                    "configuration": {"offset": 1, "scale": 2, "dtype": "<f8", "astype": "<i2"},
                }
            ],
            "f8",
        ),
        ([{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f4"}}], "f4"),
        ([{"name": "numcodecs.bitround", "configuration": {"keepbits": 5}}], "f4"),
        (
            [{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<i8", "decode_dtype": "<f8"}}],
            "f8",
        ),
        ([{"name": "numcodecs.packbits"}], "bool"),
    ],
)
@pytest.mark.parametrize("shards", [None, (14, 12)])
def test_arrays_of_format_3(filters: list, dtype: str, shards: tuple | None) -> None:
    values = (np.arange(30 * 20).reshape(30, 20) % 7).astype(dtype)
    store = MemoryStore()
    array = create_array(
        store, shape=values.shape, chunks=(7, 6), shards=shards, dtype=dtype, filters=filters, fill_value=0
    )
    array[...] = values
    assert type(array._compiled()).__name__ == "NativeArray"
    assert (array[3:29:2, ::-1] == values[3:29:2, ::-1]).all()
    assert (opened_by_zarr(store)[...] == values).all()


@pytest.mark.parametrize(
    ("name", "options", "data", "room"),
    [
        ("packbits", {}, b"", 8),
        ("packbits", {}, b"\x08\xff", 8),
        ("packbits", {}, b"\x01", 8),
        ("packbits", {}, b"\x00\xff\xff", 8),
        ("delta", {"dtype": "<i4", "astype": "<i4"}, b"12345", 8),
        ("astype", {"dtype": "<i8", "astype": "|i1"}, b"12", 8),
        ("fixedscaleoffset", {"dtype": "<f8", "astype": "<i2"}, b"123", 8),
        ("shuffle", {"elementsize": 4}, b"12345678", 7),
    ],
)
def test_malformed_chunks(name: str, options: dict, data: bytes, room: int) -> None:
    with pytest.raises(ChunkDecodeError, match=name):
        engine.decode_bytes(name, options, data, room)


def test_items_that_are_not_whole() -> None:
    with pytest.raises((ChunkEncodeError, ChunkDecodeError), match="delta"):
        engine.encode_bytes("delta", {"dtype": "<i4", "astype": "<i4"}, b"12345")


@pytest.mark.parametrize(
    "config",
    [
        {"id": "fixedscaleoffset", "offset": "x", "scale": 1, "dtype": "f8"},
        {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "O"},
        {"id": "quantize", "digits": 1, "dtype": "i4"},
        {"id": "quantize", "digits": True, "dtype": "f4"},
        {"id": "bitround", "keepbits": -1},
        {"id": "packbits", "surplus": 1},
        {"id": "astype", "encode_dtype": "nonsense", "decode_dtype": "f8"},
    ],
)
def test_wrong_configurations(config: dict) -> None:
    with pytest.raises(MetadataValidationError):
        parse_v2_codec(config)
