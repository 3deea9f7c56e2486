# SPDX-License-Identifier: MIT
"""Array.explain foretells exactly what a store is asked for; compared with a store that counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec
from zarrcore.errors import ChunkMemoryError
from zarrcore.storage import MemoryStore, WrapperStore, resolve_range


class CountingStore(WrapperStore):
    """Notes every request for a value, and what came back."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.seen: list[tuple[str, tuple[int, int] | None, int]] = []

    def get(self, key: str, byte_range: Any = None) -> Any:
        return self.get_partial_values([(key, byte_range)])[0]

    def get_many(self, keys: Iterable[str]) -> Any:
        return self.get_partial_values([(key, None) for key in keys])

    def get_partial_values(self, key_ranges: Iterable[Any]) -> Any:
        wanted = list(key_ranges)
        found = self._store.get_partial_values(wanted)
        for (key, byte_range), value in zip(wanted, found, strict=True):
            nbytes = 0 if value is None else memoryview(value).nbytes
            at = None
            if byte_range is not None:
                start, stop = resolve_range(byte_range, self._store._size(key) or 0)
                at = start, stop - start
            self.seen.append((key, at, nbytes))
        return found

    def _size(self, key: str) -> int | None:
        return self._store._size(key)


def sharded(*inner: Any, **options: Any) -> Any:
    return ShardingCodec(chunk_shape=(4, 5), codecs=[BytesCodec(endian="little"), *inner], **options)


ARRAYS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (8, 10)},
    "plain": {"chunks": (8, 10), "compressors": None},
    "blosc": {"chunks": (8, 10), "compressors": BloscCodec(cname="lz4", blocksize=64)},
    "v2": {"chunks": (8, 10), "zarr_format": 2, "order": "F"},
    "shards": {"chunks": (4, 5), "shards": (16, 20), "compressors": [GzipCodec(), Crc32cCodec()]},
    "shards, index first": {"chunks": (16, 20), "serializer": sharded("gzip", index_location="start"),
                            "compressors": None},
    "shards, plain": {"chunks": (4, 5), "shards": (16, 20), "compressors": None},
    "shards, blosc": {"chunks": (4, 5), "shards": (16, 20), "compressors": BloscCodec(cname="lz4")},
    "shards in shards": {"chunks": (16, 20), "compressors": None, "serializer": ShardingCodec(
        chunk_shape=(8, 10), codecs=[sharded("gzip")])},
    "shards, transposed": {"chunks": (20, 16), "filters": [TransposeCodec(order=(1, 0))], "compressors": None,
                           "serializer": sharded("gzip")},
    "text": {"chunks": (8, 10), "dtype": "str"},
    "text in shards": {"chunks": (4, 5), "shards": (16, 20), "dtype": "str"},
}  # fmt: skip

SELECTIONS: list[Any] = [
    ..., 0, (slice(3, 9), slice(None)), (5, 7), (slice(None, None, -7), slice(2, 30, 9)),
    (slice(0, 0), 0), ([1, 30, 2], slice(5, 6)), ([0, 31, 17], [3, 3, 39]), (slice(16, 32), slice(20, 40)),
]  # fmt: skip


def create(store: Any, options: dict[str, Any]) -> Any:
    array = zarrcore.create_array(store, name="a", shape=(32, 40), **{"dtype": "i4", **options})
    values = np.random.default_rng(1).integers(1, 1000, (32, 40))
    array[:, :] = values.astype(str) if array.dtype.kind in "OT" else values
    if array.dtype.kind not in "OT":
        array[8:16, 10:20] = 0  # chunks that are not there
    return array


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_requests_are_those_that_a_store_counts(name: str, selection: Any) -> None:
    memory = MemoryStore()
    create(memory, ARRAYS[name])
    store = CountingStore(memory)
    array = zarrcore.open_array(store, path="a", mode="r+")
    array.explain(0)
    store.seen.clear()
    explained = array.explain(selection)
    store.seen.clear()
    result = array[selection]
    requests = [(request.key, request.byte_range, request.nbytes) for request in explained.requests]
    assert sorted(requests, key=str) == sorted(store.seen, key=str)
    assert explained.fetched == sum(nbytes for _, _, nbytes in store.seen)
    assert explained.kept == np.size(result) * array.dtype.itemsize
    assert set(explained.keys) == {key for key, _, _ in store.seen}
    assert explained.decoded >= 0
    assert explained.selection == np.shape(result)


@pytest.mark.parametrize("name", ["chunks", "shards", "shards, index first", "shards, transposed", "v2"])
def test_decoded_elements_are_those_of_the_chunks_that_are_touched(name: str) -> None:
    store = MemoryStore()
    array = create(store, ARRAYS[name])
    inner = (8, 10) if "shards" not in name else (5, 4) if "transposed" in name else (4, 5)
    for selection in [(slice(3, 9), slice(1, 12)), (7, 10), (slice(8, 16), slice(10, 20))]:
        touched = set()
        stored = np.asarray(array[...]) != 0
        for place in np.argwhere(np.isin(np.arange(32 * 40).reshape(32, 40),
                                         np.arange(32 * 40).reshape(32, 40)[selection])):  # fmt: skip
            touched.add(tuple(k // n for k, n in zip(place.tolist(), inner, strict=True)))
        boxes = [tuple(slice(k * n, k * n + n) for k, n in zip(at, inner, strict=True)) for at in touched]
        there = sum(stored[box].any() for box in boxes)
        assert array.explain(selection).decoded == there * np.prod(inner) * 4


def test_whole_chunks_are_not_fetched_and_shards_only_by_their_index() -> None:
    memory = MemoryStore()
    create(memory, ARRAYS["chunks"])
    store = CountingStore(memory)
    array = zarrcore.open_array(store, path="a", mode="r+")
    store.seen.clear()
    assert array.explain().fetched > 1000
    assert store.seen == []
    create(memory, {**ARRAYS["shards"], "overwrite": True})
    array = zarrcore.open_array(store, path="a", mode="r+")
    store.seen.clear()
    assert len(array.explain((slice(0, 2), slice(None))).requests) == 4
    assert [at[1] for _, at, _ in store.seen] == [16 * 16 + 4] * 2


def test_what_runs_where() -> None:
    assert create({}, ARRAYS["shards"]).explain().reasons == ()
    text = create({}, ARRAYS["text"]).explain()
    assert text.engine == "Python" and any("no fixed size" in reason for reason in text.reasons)
    codecs = pytest.importorskip("numcodecs") and [{"id": "lzma"}]
    array = zarrcore.create_array({}, shape=4, dtype="i4", zarr_format=2, compressors=codecs[0])
    explained = array.explain()
    assert explained.engine == "C" and explained.reasons == ("codec 'lzma': it has no form in C",)
    assert "In Python: codec 'lzma'" in str(explained)


def test_amplification_and_text() -> None:
    array = create({}, ARRAYS["chunks"])
    explained = array.explain((0, 0))
    assert explained.amplification == 80.0
    assert [line.partition(":")[0].strip() for line in str(explained).splitlines()] == [
        "Result", "Chunks", "Requests", "Decoded", "Engine",
    ]  # fmt: skip
    with pytest.raises(IndexError):
        array.explain(99)


def test_any_number_of_chunks_is_an_error_and_no_list_of_them() -> None:
    """A document of a few bytes claims as many as nobody has memory and time for."""
    array = zarrcore.create_array({}, shape=(1 << 62, 4), chunks=(10, 2), dtype="i4")
    for selection in (..., slice(None, None, 5), slice(None, None, -(1 << 40))):
        with pytest.raises(ValueError, match="touches up to [0-9,]+ chunks, .*choose a part"):
            array.explain(selection)
    assert len(array.explain(slice(None, None, 1 << 50)).chunks) == 2 << 12
    assert len(array.explain(([0, 1 << 61], [0, 3])).chunks) == 2


def test_a_chunk_for_which_there_is_no_memory_is_named() -> None:
    array = zarrcore.create_array({}, shape=(1 << 56,), chunks=(1 << 56,), dtype="i4", compressors=None)
    with pytest.raises(ChunkMemoryError, match=r"chunk \(0,\), key 'c/0': out of memory"):
        array.explain()


@pytest.mark.parametrize("selection", [(slice(None), slice(None)), ([3, 9], [1, 12])], ids=["box", "points"])
@pytest.mark.parametrize("name", ["shards", "shards, index first", "shards, transposed"])
@pytest.mark.parametrize("damage", ["cut", "checksum", "empty"])
def test_shards_with_a_damaged_index_are_named(damage: str, name: str, selection: Any) -> None:
    memory = MemoryStore()
    array = create(memory, ARRAYS[name])
    key = array.explain(selection).keys[0]
    value = bytearray(memory.get(key))
    at = 3 if name == "shards, index first" else len(value) - 7
    value[at] ^= 1
    memory.set(key, {"cut": bytes(value[:20]), "checksum": bytes(value), "empty": b""}[damage])
    explained = array.explain(selection)
    failing = [cost for cost in explained.chunks if cost.problem]
    assert {cost.key for cost in failing} == {key}
    assert all("array 'a'" in cost.problem and key in cost.problem and cost.is_stored for cost in failing)
    assert "Fails" in str(explained) and key in str(explained)


def test_a_field_is_that_of_the_read() -> None:
    """A field that is not there was passed over, and all fields were said to be returned where one is."""
    record = np.dtype([("a", "i4"), ("b", "f8")])
    array = zarrcore.create_array({}, shape=4, chunks=2, dtype=record, fill_value=0)
    array[...] = (1, 2)
    kept = [array.explain(selection).kept for selection in ("a", ("b", 0), ["a", "b"], ...)]
    assert kept == [16, 8, 48, 48]
    assert array.explain("a").amplification == 3
    with pytest.raises(IndexError, match="unknown"):
        array.explain("c")
    with pytest.raises(IndexError, match="has no fields, got 'x'"):
        zarrcore.zeros(4).explain("x")
