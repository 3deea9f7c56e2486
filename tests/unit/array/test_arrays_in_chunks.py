# SPDX-License-Identifier: MIT
"""Chunks that hold an array with codecs of its own: what the engine and Python write, both understand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import zarrcore
from tests.unit.array.conftest import use_python_engine
from zarrcore._core.engine import NativeArray
from zarrcore.engine.python import PythonEngine
from zarrcore.storage import MemoryStore, WrapperStore

SHAPE, CHUNKS = (14, 9), (6, 4)


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def shards(shape: list[int], *codecs: Any, index: Any = ("crc32c",), location: str = "end") -> dict[str, Any]:
    return codec(
        "sharding_indexed",
        chunk_shape=shape,
        codecs=list(codecs),
        index_codecs=[LITTLE, *index],
        index_location=location,
    )


def block(*codecs: Any) -> dict[str, Any]:
    return codec("n5_default", codecs=[TURN, BIG, *codecs])


LITTLE, BIG = codec("bytes", endian="little"), codec("bytes", endian="big")
TURN = codec("transpose", order=[1, 0])
GZIP, ZSTD = codec("gzip", level=1), codec("zstd", level=1, checksum=True)
DELTA = codec("numcodecs.delta", dtype="<i4")
WIDER = codec("numcodecs.delta", dtype="<i4", astype="<i8")
WIDE_DELTA = codec("numcodecs.delta", dtype="<i8")
OFFSET = codec("scale_offset", offset=5)
CAST = codec("cast_value", data_type="int64")
# Fill values do not stay fill values: it makes floats whose fill value is 0.
AS_FLOAT = codec("numcodecs.astype", encode_dtype="<f8", decode_dtype="<i4")

CHAINS: dict[str, list[Any]] = {
    "block": [block()],
    "block, compressed": [block(GZIP)],
    "block, transposed": [TURN, block(ZSTD)],
    "block, more codecs": [block(ZSTD), "crc32c", GZIP],
    "block behind a filter": [DELTA, block(GZIP)],
    "blocks in shards": [shards([3, 2], block())],
    "blocks in shards, compressed": [shards([3, 2], block(GZIP), "crc32c"), GZIP],
    "blocks in shards behind a filter": [CAST, shards([3, 2], block())],
    "conditional": [LITTLE, codec("conditional", codecs=[ZSTD, "crc32c", GZIP])],
    "conditional, wide header": [LITTLE, codec("conditional", codecs=[ZSTD], header_bits=16), "crc32c"],
    "conditional in shards": [shards([3, 2], LITTLE, codec("conditional", codecs=[GZIP]))],
    "conditional in blocks": [block(codec("conditional", codecs=[GZIP]))],
    "differences of shards": [DELTA, shards([3, 2], LITTLE, GZIP)],
    "differences of transposed shards": [TURN, DELTA, shards([2, 3], LITTLE)],
    "differences, transposed": [DELTA, TURN, LITTLE, GZIP],
    "differences, twice": [DELTA, TURN, WIDER, TURN, BIG],
    "reshaped shards": [codec("reshape", shape=[[0, 1]]), shards([6], LITTLE)],
    "reshaped shards of three dimensions": [
        codec("reshape", shape=[[0], 2, -1]),
        shards([3, 1, 2], BIG, ZSTD),
        "crc32c",
    ],
    "reshaped and transposed": [codec("reshape", shape=[2, -1]), TURN, LITTLE],
    "reshaped twice": [
        codec("reshape", shape=[[0, 1]]),
        codec("reshape", shape=[4, -1]),
        shards([2, 3], LITTLE),
    ],
    "differences and shapes": [WIDER, codec("reshape", shape=[-1, 3]), WIDE_DELTA, shards([2, 3], LITTLE)],
    "numbers": [OFFSET, shards([3, 2], LITTLE)],
    "numbers, transposed": [OFFSET, TURN, shards([2, 3], BIG)],
    "numbers with another fill value": [AS_FLOAT, shards([3, 2], LITTLE)],
    "shards in shards": [shards([6, 4], DELTA, shards([3, 2], LITTLE))],
    "index at the start": [OFFSET, DELTA, shards([3, 4], LITTLE, location="start"), "crc32c"],
}


def create(store: Any, codecs: list[Any], *, fill: int = 0, **changed: Any) -> zarrcore.Array:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": SHAPE,
        "data_type": "int32",
        "chunk_grid": codec("regular", chunk_shape=CHUNKS),
        "chunk_key_encoding": codec("default", separator="/"),
        "fill_value": fill,
        "codecs": [c if isinstance(c, dict) else {"name": c} for c in codecs],
        "attributes": {},
        **changed,
    }
    store.set("zarr.json", json.dumps(document).encode())
    return zarrcore.open_array(store, mode="r+")


def assert_native(array: zarrcore.Array) -> None:
    array._compiled()
    assert isinstance(array._opened._engine, NativeArray)


def selections(rng: np.random.Generator) -> tuple[slice, ...]:
    starts = [int(rng.integers(0, n)) for n in SHAPE]
    stops = [int(rng.integers(start + 1, n + 1)) for start, n in zip(starts, SHAPE, strict=True)]
    return tuple(
        slice(start, stop, int(rng.integers(1, 3))) for start, stop in zip(starts, stops, strict=True)
    )


@pytest.mark.parametrize(  # each two of the three come together, but the fill values of a chain in each store
    ("name", "kind", "fill"),
    [
        (name, kind, (0, 7)[(number + place) % 2])
        for number, name in enumerate(CHAINS)
        for place, kind in enumerate(("memory", "local", "python"))
    ],
)
def test_both_engines_see_the_same(name: str, kind: str, fill: int, tmp_path: Any) -> None:
    """Random writes by one or the other, each read back by both, and through a cache, in several ways."""
    store: Any = zarrcore.storage.LocalStore(tmp_path) if kind == "local" else MemoryStore()
    if kind == "python":
        store = WrapperStore(store)  # whose bytes come through Python
    native = create(store, CHAINS[name], fill=fill)
    assert_native(native)
    python = use_python_engine(zarrcore.open_array(store, mode="r+"))
    cached = zarrcore.open_array(store, mode="r")
    if kind != "python":  # a cache would not see what another engine writes to such a store
        cached = cached.with_cache(zarrcore.ChunkCache(1 << 20))
    rng = np.random.default_rng(sorted(CHAINS).index(name))
    model = np.full(SHAPE, fill, "i4")
    for step in range(8):
        selection = selections(rng) if step % 4 else (slice(None), slice(None))
        values = (
            rng.integers(0, 60, model[selection].shape) if step % 3 else np.full_like(model[selection], fill)
        )
        (native, python)[step // 2 % 2][selection] = values
        model[selection] = values
        mask = rng.integers(0, 4, SHAPE) == 0
        points = tuple(rng.integers(0, n, 6) for n in SHAPE)
        (python, native)[step // 2 % 2].vindex[(points[0][:1], points[1][:1])] = step
        model[points[0][0], points[1][0]] = step
        for array in (native, python, cached):
            np.testing.assert_array_equal(array[...], model)
            np.testing.assert_array_equal(array[selection], model[selection])
            np.testing.assert_array_equal(array[mask], model[mask])
            np.testing.assert_array_equal(array.vindex[points], model[points])
    crops = native.read_many([np.s_[:5, :], np.s_[3:8, 2:], np.s_[3:8, 2:]])
    np.testing.assert_array_equal(crops[1], model[3:8, 2:])


@pytest.mark.parametrize(
    "name", ["differences of shards", "reshaped shards", "block", "conditional in shards"]
)
def test_empty_inner_chunks_are_left_out(name: str) -> None:
    """What the engine stores of a chunk is byte for byte what Python stores."""
    stored = []
    for switch in (lambda array: array, use_python_engine):
        store = MemoryStore()
        array = switch(create(store, CHAINS[name]))
        array[:7, :5] = np.arange(35).reshape(7, 5) // 20
        array[6:12, 4:8] = 0
        stored.append({key: bytes(store.get(key)) for key in store.list() if key.startswith("c/")})
    assert stored[0] == stored[1]
    assert "c/1/1" not in stored[0]


def test_a_chunk_of_which_filters_make_fill_values() -> None:
    """Differences of 1, 2, 3, ... are all 1, which is the fill value: the chunk is stored all the same."""
    array = create(MemoryStore(), CHAINS["differences of shards"], fill=1)
    values = np.arange(1, 25).reshape(6, 4)
    array[:6, :4] = values
    np.testing.assert_array_equal(array[:6, :4], values)
    np.testing.assert_array_equal(use_python_engine(array)[:6, :4], values)


def test_rectilinear_chunks() -> None:
    """Shapes of blocks and of what reshaping makes are those of each chunk."""
    grid = codec("rectilinear", kind="inline", chunk_shapes=[[6, 2, 6], [4, 2, 3]])
    for codecs in ([block(GZIP)], [DELTA, TURN, LITTLE], [codec("reshape", shape=[[0], 1, [1]]), block_3d()]):
        store = MemoryStore()
        array = create(store, codecs, chunk_grid=grid)
        assert_native(array)
        values = np.arange(14 * 9).reshape(SHAPE)
        array[...] = values
        array[5:9, 3:7] += 1
        values[5:9, 3:7] += 1
        np.testing.assert_array_equal(array[...], values)
        np.testing.assert_array_equal(use_python_engine(zarrcore.open_array(store))[...], values)


def block_3d() -> dict[str, Any]:
    return codec("n5_default", codecs=[codec("transpose", order=[2, 1, 0]), BIG])


@pytest.mark.threads
@pytest.mark.parametrize("name", ["block, compressed", "differences of shards", "conditional"])
def test_many_threads(name: str) -> None:
    shape = (96, 64)
    store = MemoryStore()
    array = create(store, CHAINS[name], shape=shape)
    assert_native(array)
    values = np.arange(96 * 64, dtype="i4").reshape(shape)
    array.write((slice(1, None), slice(1, None)), values[1:, 1:], threads=4)
    array.write((slice(0, 1), slice(None)), values[:1], threads=4)
    array.write((slice(None), slice(0, 1)), values[:, :1], threads=4)
    np.testing.assert_array_equal(array.read((slice(None), slice(None)), threads=4), values)


def test_more_bodies_than_the_engine_keeps_open() -> None:
    codecs = [DELTA, TURN] * 5
    array = create(MemoryStore(), [*codecs, LITTLE])
    array._compiled()
    assert isinstance(array._opened._engine, PythonEngine)
    array[2:5] = 3
    assert array[...].sum() == 3 * 3 * 9
    assert_native(create(MemoryStore(), [*codecs[2:], LITTLE]))
