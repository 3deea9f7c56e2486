"""Filters on numbers: in the engine, in Python and in numcodecs they give the same bits."""

from __future__ import annotations

import json
import warnings
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from zarrcore import create_array
from zarrcore._core import engine
from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.codecs.filters import as_bytes
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError
from zarrcore.storage import MemoryStore

numcodecs = pytest.importorskip("numcodecs")

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
COMPLEX = ["c8", "c16"]
EVERY = ["?", *INTEGERS, *FLOATS, *COMPLEX]
LENGTHS = st.sampled_from([1, 2, 7, 16, 17, 511, 512, 513, 1023, 1024, 1500])
ORDERS = st.sampled_from("<>")


def numbers(dtype: str, size: int, seed: int) -> np.ndarray:
    """Numbers of every size and sign; among floats NaN, infinities and halves."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(size) < 0.5
    if dtype.kind == "c":
        return numbers(f"{dtype.byteorder}f{dtype.itemsize // 2}", 2 * size, seed).view(dtype)
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
    if stored == "u4" and items.dtype.kind in "fc":
        parts = (
            items.view(f"{items.dtype.byteorder}f{items.dtype.itemsize // 2}")
            if items.dtype.kind == "c"
            else items
        )
        return np.where(np.abs(parts) < 1e4, parts, 7).astype(parts.dtype).view(items.dtype)
    return items


def lowered(config: dict, dtype: np.dtype) -> tuple | None:
    codec = parse_v2_codec(config)
    if isinstance(codec, BytesBytesCodec):
        return codec.stage()
    found = codec.lowered(dtype)
    return None if found is None else found[0]


def bits_of(data: Any, dtype: str, *, strict: bool) -> bytes:
    """The bytes of items; if not `strict`, each NaN is the same.

    The sign of a sum of two NaN is that of the first one, and the compiler of numpy chooses which of the two
    that is.
    """
    items = np.frombuffer(bytes(as_bytes(data)), dtype).copy()
    if items.dtype.kind in "fc" and not strict:
        size = items.dtype.itemsize // (2 if items.dtype.kind == "c" else 1)
        parts = items.view(f"{items.dtype.byteorder}f{size}")
        parts[np.isnan(parts)] = np.nan
    return items.tobytes()


def check(config: dict, items: np.ndarray, *, native: bool = True) -> None:
    """Encoding and decoding of `items`, three ways."""
    theirs = numcodecs.get_codec(config)
    ours = parse_v2_codec(config)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        encoded = np.ascontiguousarray(theirs.encode(items)).tobytes()
        decoded = np.ascontiguousarray(theirs.decode(np.frombuffer(encoded, "u1"))).tobytes()
    if config["id"] == "delta" and items.dtype == bool:
        decoded = items.tobytes()  # numpy.cumsum is logical_or.accumulate, which does not bring them back
    stored = config.get("astype", config.get("encode_dtype")) or items.dtype
    stage = lowered(config, items.dtype)
    assert (stage is not None) == native
    made = items.tobytes() if isinstance(ours, BytesBytesCodec) else items
    strict = not {np.dtype(stored).str[1:], items.dtype.str[1:]} & {"f2", *COMPLEX}
    bits = partial(bits_of, strict=strict)
    expected, back = bits(encoded, stored), bits(decoded, items.dtype)
    with np.errstate(all="ignore"):  # numpy tells of infinities and overflow, as it does within numcodecs
        assert bits(ours.encode(made), stored) == expected
        assert bits(ours.decode(np.frombuffer(encoded, "u1")), items.dtype) == back
    if stage is not None:
        assert bits(engine.encode_bytes(*stage, items), stored) == expected
        assert bits(engine.decode_bytes(*stage, encoded, len(decoded)), items.dtype) == back


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(EVERY),
    st.sampled_from(EVERY),
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
    st.sampled_from(EVERY),
    st.sampled_from([None, *EVERY]),
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
    assume("u4" not in (dtype, astype) or not {dtype, astype} & {*FLOATS, *COMPLEX})
    items = numbers(order + dtype, size, seed)
    items[0] = 3 if dtype != "?" else True  # numcodecs refuses a first item that astype cannot hold
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
    st.sampled_from(EVERY),
    st.sampled_from([None, *EVERY]),
    ORDERS,
    ORDERS,
    LENGTHS,
    st.integers(0, 99),
    st.sampled_from([0, 0.0, 7, 100, -2.5, 0.1]),
    st.sampled_from([1, 10.0, 0.1, 3, 100, -2.0]),
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
    items = within(numbers(order + dtype, size, seed), astype)
    if "u4" in (dtype, astype):  # see within
        assume(scale > 0 and offset >= 0 and not {dtype, astype} & {"i1", "u1", "i2", "u2", "?", "f2"})
        if dtype in INTEGERS:
            items = (100 + items.astype("f8") % 100).astype(items.dtype)
        else:
            items = (100 + np.nan_to_num(items.real) % 100).astype(items.dtype)
    check(config, items)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["?", *INTEGERS]),
    st.sampled_from(INTEGERS),
    LENGTHS,
    st.integers(-(2**70), 2**70) | st.integers(-300, 300) | st.integers(2**63 - 3, 2**63 + 3),
    st.integers(-(2**70), 2**70) | st.integers(-300, 300),
)
def test_integers_less_an_integer(dtype: str, astype: str, size: int, offset: int, scale: int) -> None:
    """They wrap around; constants that the data type does not hold, numpy refuses, and so does the engine."""
    assume(scale != 0)
    config = {
        "id": "fixedscaleoffset",
        "offset": offset,
        "scale": scale,
        "dtype": dtype,
        "astype": "<" + astype,
    }
    items = numbers(dtype, size, size)
    bounds = np.iinfo("i8" if dtype == "?" else dtype)
    if all(bounds.min <= constant <= bounds.max for constant in (offset, scale)):
        theirs = numcodecs.get_codec(config)
        stage = lowered(config, items.dtype)
        with np.errstate(all="ignore"):
            encoded = theirs.encode(items)
            decoded = theirs.decode(encoded)
        assert engine.encode_bytes(*stage, items) == encoded.tobytes()
        found = engine.decode_bytes(*stage, encoded, items.nbytes)
        assert found == decoded.tobytes() or dtype == "u4"  # see within
        return
    with pytest.raises(OverflowError):
        numcodecs.get_codec(config).encode(items)
    with pytest.raises(OverflowError):
        parse_v2_codec(config).encode(items)
    stage = lowered(config, items.dtype)
    if stage is not None:
        with pytest.raises(ChunkEncodeError, match=r"(offset|scale): .* is no u?int"):
            engine.encode_bytes(*stage, items)


def test_constants_that_the_data_type_lacks_are_refused_when_an_array_is_created() -> None:
    filters = [{"id": "fixedscaleoffset", "offset": 200, "scale": 1, "dtype": "|i1", "astype": "|i1"}]
    with pytest.raises(MetadataValidationError, match="200"):
        create_array({}, shape=4, dtype="i1", zarr_format=2, filters=filters)


@pytest.mark.parametrize("offset", [np.int64(10), np.float32(2.5), np.float64(0.1)])
def test_constants_of_numpy_are_those_of_a_document(offset: Any) -> None:
    config = {
        "id": "fixedscaleoffset",
        "offset": offset,
        "scale": np.int32(2),
        "dtype": "<f4",
        "astype": "<i4",
    }
    codec = parse_v2_codec(config)
    assert type(codec.offset) in (int, float) and type(codec.scale) is int
    again = parse_v2_codec(json.loads(json.dumps(codec.get_config())))
    assert again == codec
    items = numbers("f4", 100, 1)[:50]
    assert again.encode(items).tobytes() == codec.encode(items).tobytes()


SCALES = st.floats(2.0**-110, 2.0**110) | st.floats(0.001, 1000) | st.integers(-(10**9), 10**9).filter(bool)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(INTEGERS),
    st.sampled_from(["f4", "f8", "f2", "i2", "?"]),
    SCALES,
    st.sampled_from([0, -0.0, 273.15]),
    LENGTHS,
)
def test_scaled_integers_round_as_division_does(
    astype: str, dtype: str, scale: float, offset: float, size: int
) -> None:
    stored = numbers(astype, size, size)
    stored[::5] = np.arange(stored[::5].size, dtype="i8").astype(astype)
    options = {
        "dtype": np.dtype(dtype).str,
        "astype": np.dtype(astype).str,
        "scale": float(scale),
        "offset": offset,
    }
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
        ({"id": "astype", "encode_dtype": "<i8", "decode_dtype": "<M8[s]"}, "M8[s]"),
        ({"id": "astype", "encode_dtype": "<U6", "decode_dtype": "<i4"}, "i4"),
        ({"id": "delta", "dtype": "<m8[s]"}, "m8[s]"),
    ],
)
def test_what_the_engine_lacks(config: dict, dtype: str) -> None:
    items = np.arange(-40, 60).astype(dtype)
    theirs, ours = numcodecs.get_codec(config), parse_v2_codec(config)
    assert lowered(config, items.dtype) is None
    encoded = theirs.encode(items)
    assert ours.encode(items).tobytes() == encoded.tobytes()
    assert ours.decode(encoded).tobytes() == theirs.decode(encoded).tobytes() == items.tobytes()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("delta", {}),
        ("astype", {}),
        ("quantize", {"digits": 2}),
        ("fixedscaleoffset", {"offset": 1, "scale": 2}),
        ("fixedscaleoffset", {"offset": 1.5, "scale": 2}),
        ("fixedscaleoffset", {"offset": 200, "scale": 2.0}),
    ],
)
def test_arrays_are_created_where_numcodecs_works(name: str, options: dict) -> None:
    types = [*EVERY, "m8[s]", "M8[s]"]
    members = ("decode_dtype", "encode_dtype") if name == "astype" else ("dtype", "astype")
    for pair in product(types, types):
        config = {"id": name, **options, **dict(zip(members, pair, strict=True))}
        items = np.array([1, 0, 1, 1, 0]).astype(pair[0])
        how = {"shape": 5, "chunks": 5, "dtype": pair[0], "zarr_format": 2, "filters": [config]}
        try:
            theirs = numcodecs.get_codec(dict(config))
            theirs.decode(theirs.encode(items))
        except Exception:
            with pytest.raises(MetadataValidationError):
                create_array({}, **how)
            continue
        array = create_array({}, **how)
        array[...] = items
        links = [kind for kind, *_ in array._compiled().chain.links]
        assert ("callback" in links) == bool({"m8[s]", "M8[s]"} & {*pair}), pair


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
    [{"id": "delta", "dtype": "|b1"}],
    [{"id": "delta", "dtype": ">f2", "astype": "<f4"}],
    [{"id": "delta", "dtype": "<c8"}, {"id": "shuffle", "elementsize": 4}],
    [{"id": "astype", "encode_dtype": ">f2", "decode_dtype": "<c16"}],
    [{"id": "fixedscaleoffset", "offset": 3, "scale": 2, "dtype": "<i4", "astype": "|i1"}],
    [{"id": "fixedscaleoffset", "offset": 3, "scale": 2.0, "dtype": "<c16", "astype": "<c8"}],
    [{"id": "quantize", "digits": 1, "dtype": "<f2", "astype": "<f4"}],
    [{"id": "jenkins_lookup3", "initval": 5, "prefix": None}],
]
DTYPES = ["i4", "i4", "f8", "f8", "f8", "?", "?", ">f2", "c8", "c16", "i4", "c16", "f2", "i4"]


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
    if filters != [{"id": "delta", "dtype": "|b1"}]:  # which numcodecs does not bring back
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
        ([{"name": "numcodecs.delta", "configuration": {"dtype": "<f2"}}], "float16"),
        ([{"name": "numcodecs.delta", "configuration": {"dtype": "<c8", "astype": "<c16"}}], "complex64"),
        (
            [
                {
                    "name": "numcodecs.fixedscaleoffset",
                    "configuration": {"offset": 0, "scale": 2.0, "astype": "|u1"},
                }
            ],
            "uint16",
        ),
        ([{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f2"}}], "float16"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # of memory of numcodecs' own
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
