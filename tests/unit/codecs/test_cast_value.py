"""``cast_value`` in the engine against exact arithmetic: every pair of types and every rule."""

from __future__ import annotations

import json
import os
from itertools import product
from typing import Any

import numpy as np
import pytest
from exact_cast import FLOATS, INTEGERS, ML_FLOATS, ROUNDINGS, Refused, cast, kind_of

import zarrcore
from zarrcore.codecs import ArraySpec
from zarrcore.codecs.cast_value import CastValue
from zarrcore.dtypes import get_data_type_from_json
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

pytest.importorskip("ml_dtypes")

BIG = {"name": "bytes", "configuration": {"endian": "big"}}

MOST = int(os.environ.get("ZARRCORE_TEST_ITEMS", "12"))
"""Items of each pair of types by each rule; with many this takes minutes."""

TYPES = INTEGERS + FLOATS + ML_FLOATS


def neighbours(words: np.ndarray) -> np.ndarray:
    one = words.dtype.type(1)
    with np.errstate(over="ignore"):
        return np.concatenate([words - one, words, words + one])


def items_of(source: str, target: str) -> np.ndarray:
    """Items at and beside everything that is special in one of the two types."""
    kind, other = kind_of(source), kind_of(target)
    if kind.bits <= 8:
        return kind.numbers(list(range(1 << kind.bits)))
    rng = np.random.default_rng([TYPES.index(source), TYPES.index(target)])
    words = rng.integers(0, 1 << kind.bits, 60, np.uint64, endpoint=False).astype(kind.word)
    powers = [1 << i for i in range(kind.bits)]
    words = np.concatenate([words, neighbours(np.array([0, *powers], kind.word))])
    if not kind.is_integer:  # halves, numbers of the other type, and what lies just beside and between them
        some = rng.integers(0, 1 << other.bits, 60, np.uint64, endpoint=False)
        with np.errstate(all="ignore"):
            values = other.numbers(some.tolist()).astype("f8")
            limit = other.numbers([(1 << other.bits) - 1, (1 << other.bits - 1) - 1, 1 << other.bits - 1])
            values = np.concatenate([values, limit.astype("f8"), (values[1:] + values[:-1]) / 2])
            values = np.concatenate(
                [values, values * 2, np.arange(-9, 10) / 2, [0.0, -0.0, np.inf, -np.inf, np.nan]]
            )
            middle = np.nextafter(values, np.inf) / 2 + values / 2
            words = np.concatenate(
                [words, neighbours(np.concatenate([values, middle]).astype(kind.dtype).view(kind.word))]
            )
    return words.view(kind.dtype)


def expected(
    items: np.ndarray, source: str, target: str, rounding: str, out_of_range: str | None
) -> list[int | None]:
    found: list[int | None] = []
    for item in items:
        try:
            found.append(cast(item, source, target, rounding, out_of_range))
        except Refused:
            found.append(None)
    return found


def encoded(codec: CastValue, items: np.ndarray, source: str) -> np.ndarray:
    """The bits of what the engine makes of `items`."""
    spec = ArraySpec(items.shape, get_data_type_from_json(source, zarr_format=3))
    made = codec.encode(items, spec)
    return made.view(f"u{made.dtype.itemsize}")


def agrees(codec: CastValue, items: np.ndarray, source: str, target: str) -> None:
    words = expected(items, source, target, codec.rounding, codec.out_of_range)
    kind = kind_of(target)
    fits = np.array([word is not None for word in words])
    right = np.array([word for word in words if word is not None], kind.word)
    found = encoded(codec, items[fits], source)
    for start in range(
        0, int(fits.sum()), 7
    ):  # few at a time: a tile without special numbers goes another way
        part = encoded(codec, items[fits][start : start + 7], source)
        np.testing.assert_array_equal(part, found[start : start + 7])
    wrong = np.flatnonzero(found != right)
    with np.errstate(all="ignore"):
        nan = np.isnan(kind.numbers(found).astype("f8")) & np.isnan(items[fits].astype("f8"))
    wrong = wrong[~nan[wrong]]  # the bits of NaN are looked at elsewhere
    assert not len(wrong), [(items[fits][i], hex(found[i]), hex(right[i])) for i in wrong[:5]]
    for item in items[~fits][:: max(1, (~fits).sum() // 9)]:
        with pytest.raises(ChunkEncodeError, match=rf"{target}$") as caught:
            encoded(codec, item.reshape(1), source)
        assert caught.value.codec == "cast_value"


@pytest.mark.parametrize("source", TYPES)
def test_every_pair_of_types(source: str) -> None:
    for number, target in enumerate(TYPES):
        items = items_of(source, target)
        rng = np.random.default_rng([TYPES.index(source), number])
        for rounding, out_of_range in product(
            ROUNDINGS, [None, "clamp", "wrap"] if target in INTEGERS else [None, "clamp"]
        ):
            codec = CastValue(data_type=target, rounding=rounding, out_of_range=out_of_range)
            agrees(codec, rng.permutation(items)[:MOST], source, target)


MAPPED = ["int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "float8_e5m2", "int4"]


@pytest.mark.parametrize("length", [3, 1500])
@pytest.mark.parametrize("target", MAPPED)
@pytest.mark.parametrize("source", MAPPED)
def test_scalar_maps_come_first(source: str, target: str, length: int) -> None:
    """The first pair of two counts, 0 means both zeros, NaN every NaN; all other items follow the rules."""
    floating, rng = not kind_of(source).is_integer, np.random.default_rng(length)
    keys: list[Any] = [1, 0, 1, 3, *(["NaN", "-Infinity", "NaN"] if floating else [])]
    pairs = [[key, (7 - i) % 8] for i, key in enumerate(keys)]
    items = rng.integers(0, 5, length).astype(kind_of(source).dtype)
    if floating:
        special = np.array([np.nan, -np.nan, -np.inf, -0.0]).astype(items.dtype)
        items[rng.integers(0, length, length // 3)] = special[rng.integers(0, 4, length // 3)]
    mapped = {str(float(key)): new for key, new in reversed(pairs)}
    right = [mapped.get(str(float(item) + 0.0), float(item)) for item in items]
    codec = CastValue(data_type=target, scalar_map={"encode": pairs})
    spec = ArraySpec(items.shape, get_data_type_from_json(source, zarr_format=3))
    found = codec.resolve(spec).encode(items, spec)
    assert found.dtype == kind_of(target).dtype
    np.testing.assert_array_equal(found.astype("f8"), right)


def test_the_infinity_of_the_example_in_the_specification() -> None:
    pairs = [["NaN", 0], ["+Infinity", 1], ["-Infinity", 2]]
    codec = CastValue(data_type="uint8", scalar_map={"encode": pairs})
    spec = ArraySpec((4,), get_data_type_from_json("float64", zarr_format=3))
    assert codec.resolve(spec).encode(np.array([np.nan, np.inf, -np.inf, 9]), spec).tolist() == [0, 1, 2, 9]
    assert codec.to_json()["configuration"]["scalar_map"] == {"encode": pairs}
    with pytest.raises(MetadataValidationError, match="Infinity"):
        CastValue(data_type="uint8", scalar_map={"encode": [["Infinity+", 0]]}).resolve(spec)


@pytest.mark.parametrize("payload", ["0x7fc00123", "0xffc00000", "0x7f800001", "0xff923456"])
def test_nan_keeps_sign_and_payload(payload: str) -> None:
    """The highest bits of the payload stay, as in hardware; a signalling NaN becomes quiet."""
    items = np.array([int(payload, 16)], "u4").view("f4")
    with np.errstate(invalid="ignore"):
        assert (
            encoded(CastValue(data_type="float64"), items, "float32")[0] == items.astype("f8").view("u8")[0]
        )
    half = encoded(CastValue(data_type="float16"), items, "float32")[0]
    word = int(payload, 16)
    assert half == word >> 16 & 0x8000 | 0x7E00 | word >> 13 & 0x1FF
    assert encoded(CastValue(data_type="bfloat16"), items, "float32")[0] == word >> 16 | 0x40


def test_decoding_follows_the_same_rules() -> None:
    spec = ArraySpec((3,), get_data_type_from_json("int8", zarr_format=3))
    stored = np.array([1.5, -2.5, 300.0])
    with pytest.raises(ChunkDecodeError, match="the item 300 does not fit into int8"):
        CastValue(data_type="float64").decode(stored, spec)
    clamp = CastValue(data_type="float64", rounding="nearest-away", out_of_range="clamp")
    assert clamp.decode(stored, spec).tolist() == [2, -3, 127]
    maps = {"decode": [[300, -1], [1.5, 9]]}
    assert CastValue(data_type="float64", scalar_map=maps).decode(stored, spec).tolist() == [9, -2, -1]


@pytest.mark.parametrize("sharded", [False, True])
def test_new_arrays_get_their_fill_value_back(sharded: bool) -> None:
    def created(fill_value: float, *codecs: Any) -> Any:
        array = zarrcore.create_array(
            {},
            shape=(4, 4),
            chunks=(2, 2),
            dtype="float64",
            fill_value=fill_value,
            serializer={
                "name": "sharding_indexed",
                "configuration": {"chunk_shape": [1, 2], "codecs": [*codecs, BIG], "index_codecs": [BIG]},
            }
            if sharded
            else BIG,
            filters=None if sharded else codecs,
            compressors=None,
        )
        array[0, 0] = 7
        return array

    cast = {"name": "cast_value", "configuration": {"data_type": "int16"}}
    to_zero = {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}
    scale = {"name": "scale_offset", "configuration": {"scale": 10}}
    mapped = {"name": "cast_value", "configuration": {"data_type": "int16", "scalar_map": to_zero}}
    for fill_value, codecs in ((-3, [cast]), (np.nan, [mapped]), (0.5, [scale, cast]), (-0.0, [cast])):
        array = created(fill_value, *codecs)
        assert array[0, 0] == 7
        assert array[0, 1] == array[3, 3] or np.isnan(fill_value)
    with pytest.raises(MetadataValidationError, match=r"0\.3 is 0 after cast_value, which is read as 0\.0"):
        created(0.3, cast)
    with pytest.raises(MetadataValidationError, match=r"2\.5 is 2 after cast_value, which is read as 2\.0"):
        created(0.25, scale, cast)


def test_arrays_that_change_their_fill_value_are_read() -> None:
    store: dict[str, Any] = {}
    cast = {"name": "cast_value", "configuration": {"data_type": "int16"}}
    zarrcore.create_array(store, shape=4, dtype="float64", filters=[cast], compressors=None, fill_value=0)
    document = json.loads(bytes(store["zarr.json"]))
    store["zarr.json"] = json.dumps(document | {"fill_value": 0.3}).encode()
    assert zarrcore.open_array(store)[...].tolist() == [0.3] * 4


@pytest.mark.parametrize(
    ("data_type", "message"), [("uint8", "nan has no value in uint8"), ("float6_e2m3fn", "nan has no value")]
)
def test_nan_needs_a_type_that_has_it(data_type: str, message: str) -> None:
    for rule in (None, "clamp"):
        with pytest.raises(ChunkEncodeError, match=message):
            encoded(CastValue(data_type=data_type, out_of_range=rule), np.array([1.0, np.nan]), "float64")
