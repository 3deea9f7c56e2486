# SPDX-License-Identifier: MIT
"""Stored chunks: which there are, their encoded bytes, and shards without unused bytes."""

from __future__ import annotations

import errno
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec
from zarrcore.errors import ChunkDecodeError, ReadOnlyError
from zarrcore.kernels import crc32c
from zarrcore.storage import LocalStore, MemoryStore


def sharded(store: Any, **options: Any) -> Any:
    codecs = {"chunks": (2, 3), "shards": (6, 9), "compressors": [GzipCodec(), Crc32cCodec()], **options}
    array = zarrcore.create_array(store, name="a", shape=(12, 20), dtype="i4", **codecs)
    array[...] = np.arange(1, 241).reshape(12, 20)
    return array


def with_gap(data: bytes, number: int, gap: int) -> bytes:
    """A shard of 9 inner chunks with unused bytes before one of them."""
    entries = np.frombuffer(data[-148:-4], "<u8").reshape(9, 2).copy()
    at = int(entries[number, 0])
    moved = (entries[:, 0] >= at) & (entries[:, 0] < 2**63)
    entries[moved, 0] += np.uint64(gap)
    index = entries.tobytes()
    return data[:at] + bytes(gap) + data[at:-148] + index + struct.pack("<I", crc32c(index))


def with_entries(data: bytes, changes: dict[int, tuple[int, int]]) -> bytes:
    """A shard of 4 inner chunks, some of which its index places elsewhere."""
    entries = np.frombuffer(data[-68:-4], "<u8").reshape(4, 2).copy()
    for number, entry in changes.items():
        entries[number] = entry
    index = entries.tobytes()
    return data[:-68] + index + struct.pack("<I", crc32c(index))


# --- chunk_info ---


@pytest.mark.parametrize("local", [False, True])
def test_the_census_of_chunks(local: bool, tmp_path: Path) -> None:
    store = LocalStore(tmp_path) if local else MemoryStore()
    array = zarrcore.create_array(
        store, name="a", shape=(7, 7), chunks=(2, 2), dtype="i4", compressors="gzip"
    )
    array[2:4, 0] = 5
    array[6, 6] = 1
    store.set("a/c/0/9", b"outside")
    store.set("a/c/x", b"stray")
    info = array.chunk_info()
    assert info.grid == (4, 4) and len(info) == 2
    assert info.chunks.tolist() == [[1, 0], [3, 3]]
    assert info.nbytes.tolist() == [store.getsize("a/c/1/0"), store.getsize("a/c/3/3")]
    assert info.inner_counts is None


def test_the_census_of_shards() -> None:
    store = MemoryStore()
    array = sharded(store)
    array[0:2, 0:3] = 0
    store.set("a/c/1/0", with_gap(bytes(store.get("a/c/1/0")), 2, 50))
    store.set("a/c/1/1", b"short")
    info = array.chunk_info()
    assert info.chunks.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert info.inner_counts.tolist() == [8, 9, 3, 9, 0, 3]
    assert info.unused.tolist() == [0, 0, 0, 50, 0, 0]
    assert info.inner_nbytes.shape == (6, 3, 3) and info.inner_nbytes[0, 0, 0] == -1
    assert (info.inner_nbytes[0] > 0).sum() == 8
    assert [chunk for chunk, _ in info.damaged] == [(1, 1)]
    assert repr(info).endswith("32 inner chunks, 50 bytes unused, 1 damaged>")


@pytest.mark.parametrize("kind", ["files", "memory", "no sizes"])
@pytest.mark.parametrize("location", ["start", "end"])
def test_the_census_makes_no_room_for_an_index_that_a_shard_cannot_have(
    kind: str, location: str, tmp_path: Path
) -> None:
    """A document of a stranger says how large an index is: 2**40 inner chunks, in a file of five bytes."""

    class NoSizes(zarrcore.storage.WrapperStore):
        def _list_sizes(self, prefix: str) -> Any:
            return ((key, None) for key in self._store.list_prefix(prefix))

    store: Any = LocalStore(tmp_path) if kind == "files" else MemoryStore()
    store = NoSizes(store) if kind == "no sizes" else store
    shards = zarrcore.codecs.ShardingCodec(chunk_shape=(1,), index_location=location)
    array = zarrcore.create_array(
        store, name="a", shape=2**41, chunks=2**40, dtype="i1", serializer=shards, compressors=None
    )
    store.set("a/c/0", b"short")
    store.set("a/c/1", bytes(1000))
    info = array.chunk_info()
    assert info.nbytes.tolist() == ([-1, -1] if kind == "no sizes" else [5, 1000])
    assert info.inner_counts.tolist() == info.unused.tolist() == [0, 0]
    assert info.inner_nbytes is None
    assert [chunk for chunk, _ in info.damaged] == [(0,), (1,)]
    assert "5 bytes cannot hold an index of" in info.damaged[0][1]
    report = zarrcore.compact(array)
    assert [key for key, _ in report.damaged] == ["a/c/0", "a/c/1"]
    with pytest.raises(zarrcore.errors.ChunkError):
        array[0]
    assert array.explain(0).chunks[0].problem


def test_the_census_reads_indexes_alone() -> None:
    array = sharded(MemoryStore())

    class OnlyIndexes(zarrcore.storage.WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            assert key.endswith("zarr.json") or byte_range.suffix == 148
            return self._store.get(key, byte_range)

        def _size(self, key: str) -> int | None:
            return self._store._size(key)

    info = zarrcore.open_array(OnlyIndexes(array.store), path="a", mode="r").chunk_info()
    assert info.inner_counts.sum() == array.chunk_info().inner_counts.sum() == 6 * 7


# --- compact ---


@pytest.mark.parametrize("location", ["start", "end"])
def test_shards_with_unused_bytes_are_rewritten_and_no_others(location: str) -> None:
    store = MemoryStore()
    array = sharded(store)
    values = array[...]
    store.set("a/c/0/1", with_gap(bytes(store.get("a/c/0/1")), 4, 1000))
    before = {key: bytes(store.get(key)) for key in store.list()}
    report = zarrcore.compact(array)
    assert (report.shards, report.rewritten) == (6, 1)
    assert report.nbytes_before - report.nbytes_after == 1000
    changed = [key for key in store.list() if bytes(store.get(key)) != before[key]]
    assert changed == ["a/c/0/1"]
    assert len(store.get("a/c/0/1")) == len(before["a/c/0/1"]) - 1000
    assert (array[...] == values).all()
    assert zarrcore.verify(store).findings == []
    assert zarrcore.compact(array).rewritten == 0


def test_compact_leaves_damaged_shards_alone() -> None:
    store = MemoryStore()
    array = sharded(store)
    store.set("a/c/0/0", bytes(store.get("a/c/0/0"))[:-1])
    store.set("a/c/0/1", with_gap(bytes(store.get("a/c/0/1")), 0, 10))
    report = zarrcore.compact(array)
    assert report.rewritten == 1 and [key for key, _ in report.damaged] == ["a/c/0/0"]


@pytest.mark.parametrize("length", [0, 1, 7])
@pytest.mark.parametrize("compressors", [None, "gzip"])
def test_compact_threw_away_what_a_wrong_length_made_seem_unused(compressors: Any, length: int) -> None:
    """With the length in the index put right, the inner chunk can be read, as long as its bytes are there."""
    store: dict[str, Any] = {}
    array = zarrcore.create_array(store, shape=8, chunks=2, shards=8, dtype="i4", compressors=compressors)
    array[...] = np.arange(1, 9)
    sound = bytes(store["c/0"])
    start = int(np.frombuffer(sound[-68:-4], "<u8")[2])
    store["c/0"] = damaged = with_entries(sound, {1: (start, length)})
    report = zarrcore.compact(array)
    assert report.rewritten == 0 and bytes(store["c/0"]) == damaged
    ((key, why),) = report.damaged
    assert key == "c/0" and "inner chunk (1,)" in why


@pytest.mark.parametrize("what", ["read", "write"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left"), MemoryError("none left")])
def test_compact_called_shards_damaged_that_a_store_could_not_read_or_write(what: str, problem: Any) -> None:
    class Failing(MemoryStore):
        has_index = False  # after which shards are read to be rewritten

        def get(self, key: str, byte_range: Any = None) -> Any:
            if what == "read" and self.has_index and byte_range is None and key == "a/c/0/1":
                raise problem
            self.has_index = self.has_index or byte_range is not None
            return super().get(key, byte_range)

        def set(self, key: str, value: Any) -> None:
            if what == "write" and key == "a/c/0/1":
                raise problem
            super().set(key, value)

    values: dict[str, Any] = {}
    expected = sharded(MemoryStore(values))[...]
    values["a/c/0/1"] = with_gap(bytes(values["a/c/0/1"]), 0, 10)
    with pytest.raises(type(problem)) as caught:
        zarrcore.compact(zarrcore.open_array(Failing(values), path="a"))
    assert "a/c/0/1" in str(caught.value) and str(problem.args[-1]) in str(caught.value)
    again = zarrcore.open_array(MemoryStore(values), path="a")
    np.testing.assert_array_equal(again[...], expected)
    assert zarrcore.compact(again).rewritten == 1


CHANGES: dict[str, Callable[[Any], object]] = {
    "compact": zarrcore.compact,
    "put": lambda array: array.encoded(0, inner=0).put(array.encoded(0, inner=3).get()),
    "erase": lambda array: array.encoded(0, inner=0).erase(),
    "write": lambda array: array.set_basic_selection(slice(0, 2), array[6:8]),
}


@pytest.mark.parametrize("dtype", ["i2", "str"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_inner_chunk_of_no_bytes_became_fill_values(change: str, dtype: str) -> None:
    store: dict[str, Any] = {}
    fill = 77 if dtype == "i2" else "77"
    array = zarrcore.create_array(store, shape=8, chunks=2, shards=8, dtype=dtype, fill_value=fill)
    array[...] = np.arange(8).astype(dtype)
    store["c/0"] = with_entries(bytes(store["c/0"]), {1: (3, 0)})
    try:
        CHANGES[change](array)
    except ChunkDecodeError as error:  # the engine refuses to carry it over
        assert change == "write" and "an inner chunk of 0 bytes" in str(error)
    with pytest.raises(ChunkDecodeError):
        zarrcore.open_array(store)[2:4]
    assert zarrcore.open_array(store)[4:].tolist() == np.arange(4, 8).astype(dtype).tolist()
    (finding,) = {finding.inner_chunk for finding in zarrcore.verify(store).errors}
    assert finding == (1,)
    (action,) = zarrcore.repair(zarrcore.verify(store), quarantine={}, dry_run=False)
    assert action.done and zarrcore.verify(store).ok


def test_an_index_of_overlaps_beyond_the_end_was_an_overflow() -> None:
    store: dict[str, Any] = {}
    array = zarrcore.create_array(store, shape=8, chunks=2, shards=8, dtype="i2", compressors=None)
    array[...] = np.arange(1, 9)
    before = with_entries(bytes(store["c/0"]), {0: (1, 4), 1: (2, 4), 2: (5, 2**64 - 2)})
    store["c/0"] = before
    assert array.chunk_info().unused.tolist() == [0]
    assert zarrcore.compact(array).rewritten == 0 and store["c/0"] == before
    assert {finding.inner_chunk for finding in zarrcore.verify(store).errors} >= {(1,), (2,)}


def test_compact_of_other_arrays() -> None:
    array = zarrcore.ones((4, 4), chunks=(2, 2))
    assert zarrcore.compact(array).shards == 0
    store = sharded(MemoryStore()).store.with_read_only(True)
    with pytest.raises(ReadOnlyError):
        zarrcore.compact(zarrcore.open_array(store, path="a", mode="r"))


@pytest.mark.threads
def test_compact_beside_readers_and_writers() -> None:
    store = MemoryStore()
    array = sharded(store)
    stop = threading.Event()
    failures: list[BaseException] = []

    def check(call: Any) -> None:
        try:
            while not stop.is_set():
                call()
        except BaseException as error:
            failures.append(error)

    written = [0]

    def write() -> None:
        written[0] += 1
        array[0, 9] = written[0]
        assert array[0, 9] == written[0]

    def read() -> None:
        assert (array[6:] == np.arange(121, 241).reshape(6, 20)).all()

    threads = [threading.Thread(target=check, args=(call,)) for call in (read, write)]
    for thread in threads:
        thread.start()
    rewritten = 0
    for _ in range(60):
        with_more = with_gap(bytes(store.get("a/c/1/1")), 3, 77)
        store.set("a/c/1/1", with_more)
        rewritten += zarrcore.compact(array).rewritten
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == [] and rewritten == 60
    assert zarrcore.verify(store).ok


# --- encoded ---


def test_encoded_chunks() -> None:
    store = MemoryStore()
    array = zarrcore.create_array(
        store, name="a", shape=(4, 5), chunks=(2, 2), dtype="u1", compressors="gzip"
    )
    array[...] = np.arange(20).reshape(4, 5)
    chunk = array.encoded((1, 0))
    data = bytes(chunk.get())
    assert chunk.key == "a/c/1/0" and data == bytes(store.get("a/c/1/0"))
    array.encoded((0, 1)).put(data)
    assert (array[:2, 2:4] == array[2:, :2]).all()
    with pytest.raises(ChunkDecodeError, match=r"chunk \(0, 1\)"):
        array.encoded((0, 1)).put(data[:-1])
    assert (array[:2, 2:4] == array[2:, :2]).all()
    array.encoded((0, 1)).put(b"nonsense", check=False)
    with pytest.raises(ChunkDecodeError):
        array[0, 2]
    chunk.erase()
    assert chunk.get() is None and not store.exists("a/c/1/0")
    for index in [(2, 0), (0,), (0, 0, 0), (-1, 0)]:
        with pytest.raises(IndexError):
            array.encoded(index)
    with pytest.raises(ValueError, match="no inner chunks"):
        array.encoded((0, 0), (0, 0))


@pytest.mark.parametrize("transposed", [False, True])
def test_encoded_inner_chunks(transposed: bool) -> None:
    store = MemoryStore()
    if transposed:
        codec = ShardingCodec(chunk_shape=(3, 2), codecs=[BytesCodec(endian="little"), "gzip", "crc32c"])
        options = {"chunks": (6, 9), "shards": None, "compressors": None, "serializer": codec,
                   "filters": [TransposeCodec(order=(1, 0))]}  # fmt: skip
    else:
        options = {}
    array = sharded(store, **options)
    one, other = array.encoded((0, 1), (1, 2)), array.encoded((1, 0), (2, 0))
    other.put(one.get())
    assert (array[10:12, 0:3] == array[2:4, 15:18]).all()
    one.erase()
    assert (array[2:4, 15:18] == 0).all() and one.get() is None
    assert (array[0:2, 9:18] == np.arange(1, 241).reshape(12, 20)[0:2, 9:18]).all()
    with pytest.raises(ChunkDecodeError, match=r"inner chunk \(2, 0\)"):
        other.put(b"nonsense")
    for i in range(3):
        for j in range(3):
            array.encoded((0, 0), (i, j)).erase()
    assert not store.exists("a/c/0/0")
    with pytest.raises(IndexError, match="inner"):
        array.encoded((0, 0), (3, 0))
    data = bytearray(store.get("a/c/1/1"))
    data[-1] ^= 1
    store.set("a/c/1/1", data)
    for call in (array.encoded((1, 1), (0, 0)).get, array.encoded((1, 1), (0, 0)).erase):
        with pytest.raises(ChunkDecodeError, match="a/c/1/1"):
            call()
    assert bytes(store.get("a/c/1/1")) == bytes(data)


def test_encoded_chunks_of_a_store_that_is_read_only() -> None:
    array = zarrcore.open_array(sharded(MemoryStore()).store.with_read_only(True), path="a", mode="r")
    with pytest.raises(ReadOnlyError):
        array.encoded((0, 0)).erase()


# --- reading what can be read ---


def damaged() -> tuple[Any, np.ndarray]:
    store = MemoryStore()
    array = sharded(store, fill_value=-9)
    values = np.array(array[...])
    data = bytearray(store.get("a/c/0/1"))
    data[-149] ^= 1  # of the last inner chunk, before the index
    store.set("a/c/0/1", data)
    store.set("a/c/1/0", b"nothing")
    wrong = np.zeros((12, 20), bool)
    wrong[4:6, 15:18] = wrong[6:12, 0:9] = True
    return array, np.where(wrong, -9, values)


@pytest.mark.parametrize(
    "selection",
    [..., (slice(3, 11, 2), slice(None, None, -3)), 7, (5, 16), ([0, 5, 9], slice(None)), ([4, 1], [16, 16])],
    ids=str,
)
def test_collecting_errors(selection: Any) -> None:
    array, expected = damaged()
    values, failures = array.read(selection, on_error="collect")
    assert np.array_equal(values, expected[selection])
    assert type(values) is type(array.read((slice(None),), on_error="collect")[0]) or np.ndim(values) == 0
    assert len(failures) == len(set(map(str, failures)))
    assert {failure.key for failure in failures} <= {"a/c/0/1", "a/c/1/0"}
    assert bool(failures) == bool((values == -9).any())
    out = np.empty_like(np.asarray(values))
    if out.ndim:
        again, _ = array.read(selection, out=out, on_error="collect")
        assert again is out and np.array_equal(out, expected[selection])


def test_filling_is_never_silent() -> None:
    array, expected = damaged()
    with pytest.raises(ChunkDecodeError):
        array.read()
    with pytest.warns(zarrcore.errors.ZarrUserWarning, match="2 chunks could not be read .*a/c/0/1.*a/c/1/0"):
        assert np.array_equal(array.read(on_error="fill"), expected)
    assert np.array_equal(array.read(slice(0, 3), on_error="fill"), expected[:3])  # nothing is damaged there
    assert array.read(slice(0, 3), on_error="collect")[1] == []
    with pytest.raises(ValueError, match="on_error: expected"):
        array.read(on_error="ignore")  # type: ignore[arg-type]


def test_several_fields_have_the_data_type_that_they_have_without_damage() -> None:
    """It had gaps for the other fields, so that `out` did not fit where a chunk was damaged."""
    store = MemoryStore()
    dtype = np.dtype([("x", "i4"), ("y", "f8"), ("z", "i2")])
    array = zarrcore.create_array(
        store, name="r", data=np.array([(k, k, k) for k in range(1, 5)], dtype), chunks=2
    )
    whole = array.read(("x", "z", slice(None)))
    store.set("r/c/0", b"x")
    values, failures = array.read(("x", "z", slice(None)), on_error="collect", out=whole)
    assert values is whole and values.tolist() == [(0, 0), (0, 0), (3, 3), (4, 4)] and len(failures) == 1
    assert array.read(("x", "z", slice(2)), on_error="collect")[0].dtype == whole.dtype


def test_fields_and_strings_that_cannot_be_read() -> None:
    store = MemoryStore()
    records = zarrcore.create_array(store, name="r", shape=4, chunks=2, dtype=[("x", "i4"), ("y", "f8")])
    records[:] = np.array([(k, k) for k in range(1, 5)], records.dtype)
    store.set("r/c/0", b"x")
    values, failures = records.read(("y", slice(None)), on_error="collect")
    assert values.tolist() == [0, 0, 3, 4] and len(failures) == 1
    text = zarrcore.create_array(store, name="t", shape=4, chunks=2, dtype="str", fill_value="?")
    text[:] = ["a", "b", "c", "d"]
    store.set("t/c/1", b"x")
    assert text.read(on_error="collect")[0].tolist() == ["a", "b", "?", "?"]
