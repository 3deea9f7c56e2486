# SPDX-License-Identifier: MIT
"""Random faults in random stores: each that a checksum, a size or a name can show is found and named.

``ZC_TEST_STORES=1000`` and ``ZC_TEST_SEED`` make the run longer and different.
"""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine
from zarrcore.codecs import BytesCodec, Crc32cCodec, ZstdCodec
from zarrcore.kernels import crc32c
from zarrcore.storage import LocalStore, MemoryStore
from zarrcore.storage.validation import is_document

STORES = int(os.environ.get("ZC_TEST_STORES", "40"))
SEED = int(os.environ.get("ZC_TEST_SEED", "20261122"))
BATCHES = 10


class Expected(NamedTuple):
    """A finding that a fault must lead to."""

    key: str
    kinds: set[str]
    chunk: tuple[int, ...] | None = None
    inner_chunk: tuple[int, ...] | None = None


class Subject:
    """A random store, and what is known of its chunks."""

    def __init__(self, rng: random.Random, root: Path | None) -> None:
        self.rng = rng
        self.store = MemoryStore() if root is None else LocalStore(root)
        self.root = root
        self.is_v2 = rng.random() < 0.3
        self.arrays: list[tuple[Any, str]] = []  # and how their chunks are protected
        self.touched: set[str] = set()
        zarrcore.create_group(self.store, zarr_format=2 if self.is_v2 else 3)
        zarrcore.create_group(self.store, path="g", zarr_format=2 if self.is_v2 else 3)
        for number in range(rng.randint(1, 3)):
            self.add_array(f"{rng.choice(['', 'g/'])}a{number}")
        self.is_consolidated = rng.random() < 0.5
        if self.is_consolidated:
            zarrcore.consolidate_metadata(self.store, zarr_format=2 if self.is_v2 else 3)

    def add_array(self, path: str) -> None:
        rng = self.rng
        shape = tuple(rng.randint(5, 20) for _ in range(rng.randint(1, 3)))
        options: dict[str, Any] = {}
        if self.is_v2:
            protection = rng.choice(["size", "gzip"])
            compressor = {"id": "gzip", "level": 1} if protection == "gzip" else None
            options = {"zarr_format": 2, "compressors": compressor}
        elif rng.random() < 0.5:
            protection = "shard"
            inner = tuple(rng.randint(1, 3) for _ in shape)
            options = {"shards": tuple(3 * n for n in inner), "compressors": [ZstdCodec(), Crc32cCodec()]}
            chunks = inner
        else:
            protection = rng.choice(["size", "crc"])
            codecs = [Crc32cCodec()] if protection == "crc" else None
            options = {"compressors": codecs, "serializer": BytesCodec(endian="little")}
        if protection != "shard":
            chunks = tuple(rng.randint(2, 6) for _ in shape)
        array = zarrcore.create_array(
            self.store, name=path, shape=shape, chunks=chunks, dtype=rng.choice(["i4", "f8"]), **options
        )
        array[...] = np.random.default_rng(rng.randrange(1 << 30)).integers(1, 100, shape)
        self.arrays.append((array, protection))

    def chunk(self, *protections: str) -> tuple[Any, str, tuple[int, ...], bytes] | None:
        """An untouched chunk of an array that is protected in one of some ways: array, key, coords, bytes."""
        found = []
        for array, protection in self.arrays:
            if protection not in protections or array.path in self.touched:
                continue
            grid = array.shards or array.chunks
            for coords in np.ndindex(*(-(-n // c) for n, c in zip(array.shape, grid, strict=True))):
                key = f"{array.path}/{array.metadata.encode_chunk_key(coords)}"
                if key not in self.touched and self.store.exists(key):
                    found.append((array, key, coords))
        if not found:
            return None
        array, key, coords = self.rng.choice(found)
        self.touched.add(key)
        return array, key, coords, bytes(self.store.get(key))


def flipped(rng: random.Random, data: bytes, low: int, high: int) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(low, high)] ^= 1 << rng.randrange(8)
    return bytes(changed)


# --- faults: each changes the store and returns what must be found, or None if it has no place ------------


def cut_short(it: Subject) -> Expected | None:
    found = it.chunk("size", "gzip", "crc", "shard")
    if found is None:
        return None
    _, key, coords, data = found
    it.store.set(key, data[: it.rng.randrange(1, len(data))])
    return Expected(key, {"size", "chunk", "index"}, coords)


def longer(it: Subject) -> Expected | None:
    found = it.chunk("size", "crc", "gzip")
    if found is None:
        return None
    _, key, coords, data = found
    it.store.set(key, data + it.rng.randbytes(it.rng.randint(1, 9)))
    return Expected(key, {"size", "chunk"}, coords)


def emptied(it: Subject) -> Expected | None:
    found = it.chunk("size", "gzip", "crc", "shard")
    if found is None:
        return None
    it.store.set(found[1], b"")
    return Expected(found[1], {"size", "index"}, found[2])


def bit_of_a_chunk(it: Subject) -> Expected | None:
    found = it.chunk("crc")
    if found is None:
        return None
    _, key, coords, data = found
    it.store.set(key, flipped(it.rng, data, 0, len(data)))
    return Expected(key, {"chunk"}, coords)


def entries_of(array: Any, data: bytes) -> np.ndarray:
    n = int(np.prod([s // c for s, c in zip(array.shards, array.chunks, strict=True)]))
    return np.frombuffer(data[-16 * n - 4 : -4], "<u8").reshape(n, 2).copy()


def with_entries(data: bytes, entries: np.ndarray) -> bytes:
    index = entries.tobytes()
    return data[: -len(index) - 4] + index + struct.pack("<I", crc32c(index))


def inner_coords(array: Any, number: int) -> tuple[int, ...]:
    grid = [s // c for s, c in zip(array.shards, array.chunks, strict=True)]
    return tuple(map(int, np.unravel_index(number, grid)))


def an_inner_chunk(it: Subject) -> tuple[Any, str, tuple[int, ...], bytes, np.ndarray, int] | None:
    """What `it.chunk` returns, the entries of the index, and the number of one that has an inner chunk."""
    found = it.chunk("shard")
    if found is None:
        return None
    entries = entries_of(found[0], found[3])
    return *found, entries, it.rng.choice(np.flatnonzero(entries[:, 1] < 2**63).tolist())


def bit_of_an_index(it: Subject) -> Expected | None:
    found = it.chunk("shard")
    if found is None:
        return None
    array, key, coords, data = found
    it.store.set(key, flipped(it.rng, data, len(data) - 16 * len(entries_of(array, data)) - 4, len(data)))
    return Expected(key, {"index"}, coords)


def bit_of_an_inner_chunk(it: Subject) -> Expected | None:
    found = an_inner_chunk(it)
    if found is None:
        return None
    array, key, coords, data, entries, number = found
    offset, length = map(int, entries[number])
    it.store.set(key, flipped(it.rng, data, offset, offset + length))
    return Expected(key, {"chunk"}, coords, inner_coords(array, number))


def index_beyond_the_end(it: Subject) -> Expected | None:
    found = an_inner_chunk(it)
    if found is None:
        return None
    array, key, coords, data, entries, number = found
    entries[number, it.rng.randrange(2)] = it.rng.choice([len(data) + 1, 2**40, 2**64 - 2])
    it.store.set(key, with_entries(data, entries))
    return Expected(key, {"index"}, coords, inner_coords(array, number))


def index_that_overlaps(it: Subject) -> Expected | None:
    found = it.chunk("shard")
    if found is None:
        return None
    array, key, coords, data = found
    entries = entries_of(array, data)
    there = np.flatnonzero(entries[:, 1] < 2**63).tolist()
    if len(there) < 2:
        return None
    first, second = it.rng.sample(there, 2)
    entries[second, 0] = entries[first, 0] + np.uint64(1)
    entries[second, 1] = entries[first, 1]
    it.store.set(key, with_entries(data, entries))
    return Expected(key, {"overlap", "index", "chunk"}, coords)


def key_of_no_grid(it: Subject) -> Expected | None:
    array, _ = it.rng.choice(it.arrays)
    coords = tuple(n + it.rng.randint(0, 3) for n in array.shape)
    key = f"{array.path}/{array.metadata.encode_chunk_key(coords)}"
    if array.path in it.touched:
        return None
    it.touched.add(key)
    it.store.set(key, b"x")
    return Expected(key, {"outside"}, coords)


def stray_in_an_array(it: Subject) -> Expected | None:
    array, _ = it.rng.choice(it.arrays)
    key = f"{array.path}/{it.rng.choice(['c/01/x', 'notes.txt', 'c/-1/0/0/0/0'])}"
    if array.path in it.touched:
        return None
    it.touched.add(key)
    it.store.set(key, b"x")
    return Expected(key, {"stray"})


def chunk_without_an_array(it: Subject) -> Expected | None:
    key = f"lost{it.rng.randrange(9)}/c/0/{it.rng.randrange(9)}"
    it.store.set(key, b"x")
    return Expected(key, {"stray"})


def temporary_file(it: Subject) -> Expected | None:
    if it.root is None:
        return None
    above = it.rng.choice(["", "g/", *(f"{array.path}/" for array, _ in it.arrays)])
    if above.rstrip("/") in it.touched:
        return None
    key = f"{above}.zc-{it.rng.randbytes(8).hex()}.partial"
    it.touched.add(key)
    (it.root / key).write_bytes(b"x")
    return Expected(key, {"temporary"})


def link_to_nothing(it: Subject) -> Expected | None:
    found = None if it.root is None else it.chunk("size", "gzip", "crc", "shard")
    if found is None or it.root is None:
        return None
    (it.root / found[1]).unlink()
    (it.root / found[1]).symlink_to("nowhere")
    return Expected(found[1], {"store"}, found[2])


def document_of(it: Subject) -> str | None:
    free = [array.path for array, _ in it.arrays if not any(key.startswith(array.path) for key in it.touched)]
    if not free:
        return None
    path = it.rng.choice(free)
    it.touched.add(path)
    return f"{path}/{'.zarray' if it.is_v2 else 'zarr.json'}"


def document_cut_short(it: Subject) -> Expected | None:
    key = document_of(it)
    if key is None:
        return None
    data = bytes(it.store.get(key)).rstrip()
    it.store.set(key, data[: it.rng.randrange(len(data))])
    return Expected(key, {"metadata"})


def document_that_is_not_valid(it: Subject) -> Expected | None:
    key = document_of(it)
    if key is None:
        return None
    document = json.loads(bytes(it.store.get(key)))
    if it.rng.random() < 0.5:
        del document[it.rng.choice(["shape", "zarr_format"])]
    else:
        document[it.rng.choice(["shape", "fill_value"])] = {"no": "value"}
    it.store.set(key, json.dumps(document).encode())
    return Expected(key, {"metadata"})


def stale_copy(it: Subject) -> Expected | None:
    key = document_of(it) if it.is_consolidated else None
    if key is None:
        return None
    document = json.loads(bytes(it.store.get(key)))
    document["shape"][0] -= 1
    it.store.set(key, json.dumps(document).encode())
    return Expected(".zmetadata" if it.is_v2 else "zarr.json", {"consolidated"})


def document_that_is_lost(it: Subject) -> Expected | None:
    key = document_of(it)
    if key is None:
        return None
    it.store.delete(key)
    if it.is_consolidated:
        return Expected(".zmetadata" if it.is_v2 else "zarr.json", {"consolidated"})
    path = key.rpartition("/")[0]
    array = next(array for array, _ in it.arrays if array.path == path)
    return Expected(f"{path}/{array.metadata.encode_chunk_key((0,) * array.ndim)}", {"stray"})


FAULTS: list[Callable[[Subject], Expected | None]] = [
    cut_short, longer, emptied, bit_of_a_chunk, bit_of_an_index, bit_of_an_inner_chunk, index_beyond_the_end,
    index_that_overlaps, key_of_no_grid, stray_in_an_array, chunk_without_an_array, temporary_file,
    link_to_nothing, document_cut_short, document_that_is_not_valid, stale_copy,
    document_that_is_lost,
]  # fmt: skip
IN_THE_INDEX = {bit_of_an_index, index_beyond_the_end, index_that_overlaps}


def is_found(report: Any, expected: Expected) -> bool:
    return any(
        finding.severity != "note"
        and finding.key == expected.key
        and finding.kind in expected.kinds
        and expected.chunk in (None, finding.chunk)
        and expected.inner_chunk in (None, finding.inner_chunk)
        for finding in report
    )


def snapshot(store: Any) -> dict[str, Any]:
    return {key: size if size is None else bytes(store.get(key)) for key, size in store._list_sizes("")
            if not key.endswith((".partial", "/")) and size is not None}  # fmt: skip


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_fault_is_found_and_nothing_else(batch: int, tmp_path: Path) -> None:
    for number in range(batch, STORES, BATCHES):
        rng = random.Random(SEED + number)
        subject = Subject(rng, tmp_path / str(number) if number % 2 else None)
        before = zarrcore.verify(subject.store)
        assert before.ok and not before.findings, f"store {number}: {before}"
        faults = rng.sample(FAULTS, rng.randint(1, 4))
        expected = [(fault, wanted) for fault in faults if (wanted := fault(subject)) is not None]
        content = snapshot(subject.store)
        report = zarrcore.verify(subject.store)
        for fault, wanted in expected:
            assert is_found(report, wanted), f"store {number}, {fault.__name__}: {wanted}\n{report}"
        assert not expected or not report.ok
        assert snapshot(subject.store) == content
        json.loads(report.to_json())


@pytest.mark.parametrize("local", [True, False])
def test_the_short_way_through_files_finds_what_the_long_one_does(
    local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise MemoryError("the short way")

    for number in range(40):
        rng = random.Random(SEED + number)
        subject = Subject(rng, tmp_path / str(number) if local else None)
        for fault in rng.choices(FAULTS, k=rng.randint(0, 6)):
            fault(subject)
        levels: tuple[Any, ...] = ("metadata", "index", "data")
        short = [zarrcore.verify(subject.store, level=level) for level in levels]
        with monkeypatch.context() as patch:
            patch.setattr(engine, "list_stored", lambda *_: None)
            patch.setattr(engine, "try_chunks", refused)
            patch.setattr(engine, "read_parts", refused)
            long = [zarrcore.verify(subject.store, level=level) for level in levels]
        for found, wanted in zip(short, long, strict=True):
            assert sorted(map(repr, found.findings)) == sorted(map(repr, wanted.findings)), number
            assert {**vars(found), "findings": 0} == {**vars(wanted), "findings": 0}


@pytest.mark.parametrize("kind", ["chunks", "shards", "format 2"])
def test_files_are_not_looked_at_one_by_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharded = kind == "shards"
    options: dict[str, Any] = {"chunks": {}, "shards": {"shards": (8,)}, "format 2": {"zarr_format": 2}}[kind]
    array = zarrcore.create_array(tmp_path, shape=800, chunks=2, dtype="i4", **options)
    array[...] = np.arange(800)
    size_of = LocalStore._size

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("one by one")

    def size_of_document(store: LocalStore, key: str) -> int | None:
        assert is_document(key), "one by one"
        return size_of(store, key)

    for method in ("_list_sizes", "get_partial_values", *(["list_dir"] if kind == "format 2" else [])):
        monkeypatch.setattr(LocalStore, method, refused)
    monkeypatch.setattr(LocalStore, "_size", size_of_document)
    chunks = 100 if sharded else 400
    for level in ("metadata", "index", "data"):
        before = zarrcore.metrics()
        report = zarrcore.verify(tmp_path, level=level)  # type: ignore[arg-type]
        counted = zarrcore.metrics() - before
        assert report.ok and report.chunks == chunks, report
        # Of a shard its index is read, then all of it.
        wanted = {"metadata": 0, "index": chunks * sharded, "data": chunks * (1 + sharded)}[level]
        assert wanted <= counted.requests <= wanted + 10


@pytest.mark.parametrize("path", ["", "g/a"])
def test_values_in_memory_are_not_looked_at_one_by_one(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    array = zarrcore.create_array(store, name=path, shape=800, chunks=2, dtype="i4", compressors=None)
    array[...] = np.arange(800)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("one by one")

    for method in ("_list_sizes", "_size"):
        monkeypatch.setattr(MemoryStore, method, refused)
    for level in ("metadata", "index", "data"):
        report = zarrcore.verify(store, level=level)  # type: ignore[arg-type]
        assert report.ok and report.chunks == 400, report
        assert report.nbytes == (0 if level == "metadata" else 3200)


@pytest.mark.parametrize("value", [5, "text", None, bytearray(8), memoryview(bytes(16))[::2], b"short", b""])
@pytest.mark.parametrize("level", ["index", "data"])
def test_values_of_a_mapping_of_the_caller_that_are_no_bytes(value: Any, level: Any) -> None:
    values: dict[str, Any] = {}
    array = zarrcore.create_array(MemoryStore(values), shape=8, chunks=2, dtype="i4", compressors=None)
    array[...] = np.arange(8) + 1
    values["c/1"] = value
    report = zarrcore.verify(MemoryStore(values), level=level)
    assert report.chunks == 4
    sound = isinstance(value, (bytearray, memoryview))
    assert [f.key for f in report.errors] == ([] if sound else ["c/1"]), report


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("local", [False, True])
def test_each_kind_of_fault_alone(fault: Callable[..., Expected | None], local: bool, tmp_path: Path) -> None:
    tried = 0
    for number in range(40):
        root = tmp_path / str(number) if local else None
        subject = Subject(random.Random(number), root)
        wanted = fault(subject)
        if wanted is None:
            continue
        tried += 1
        report = zarrcore.verify(subject.store)
        assert is_found(report, wanted), f"store {number}: {wanted}\n{report}"
        level = "index" if fault in IN_THE_INDEX else None
        if level is not None:
            assert is_found(zarrcore.verify(subject.store, level="index"), wanted)
        others = [f for f in report.errors if f.key != wanted.key and f.kind != "consolidated"]
        assert others == [], report
        if tried == 3:
            break
    assert tried or (not local and fault in (temporary_file, link_to_nothing))
