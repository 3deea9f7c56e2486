# SPDX-License-Identifier: MIT
"""zarrcore.repair does what loses nothing, and nothing without being asked."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_store import SmallStore

import zarrcore
from zarrcore.codecs import BytesCodec, Crc32cCodec, ShardingCodec
from zarrcore.errors import ChunkIOError, ChunkMemoryError, ReadOnlyError
from zarrcore.inspection.encoded import EncodedChunk
from zarrcore.storage import LocalStore, MemoryStore


def filled(store: Any, name: str, **options: Any) -> Any:
    array = zarrcore.create_array(store, name=name, shape=8, chunks=2, dtype="i4", **options)
    array[...] = np.arange(1, 9)
    return array


def contents(store: Any) -> dict[str, bytes]:
    return {key: bytes(store.get(key)) for key in store.list()}


def test_temporary_files_are_removed_when_they_are_old(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    filled(store, "a")
    old, young = (tmp_path / "a" / "c" / f".zc-{k * 16}.partial" for k in "ab")
    other = tmp_path / "a" / "c" / ".DS_Store"
    for path in (old, young, other):
        path.write_bytes(b"x")
    os.utime(old, (1, 1))
    report = zarrcore.verify(tmp_path)
    actions = zarrcore.repair(report)
    assert [(a.action, a.done) for a in actions] == [("remove", False)] * 3 and old.exists()
    actions = zarrcore.repair(report, dry_run=False)
    assert [a.key for a in actions if a.done] == ["a/c/.zc-aaaaaaaaaaaaaaaa.partial"]
    assert not old.exists() and young.exists() and other.exists()
    assert "seconds ago" in next(a.message for a in actions if a.key.endswith("bbb.partial"))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_stale_copies_are_written_again(zarr_format: Any) -> None:
    store = MemoryStore()
    zarrcore.create_group(store, zarr_format=zarr_format, attributes={"own": 1})
    filled(store, "a", zarr_format=zarr_format)
    zarrcore.consolidate_metadata(store)
    name = "a/zarr.json" if zarr_format == 3 else "a/.zarray"
    document = json.loads(bytes(store.get(name)))
    document["shape"] = [6]
    store.set(name, json.dumps(document).encode())
    before = contents(store)
    report = zarrcore.verify(store)
    (action,) = zarrcore.repair(report)
    assert (action.action, action.done) == ("refresh", False) and contents(store) == before
    (action,) = zarrcore.repair(report, dry_run=False)
    assert action.done
    assert not [f for f in zarrcore.verify(store) if f.kind == "consolidated"]
    group = zarrcore.open_group(store, mode="r", use_consolidated=True)
    assert group["a"].shape == (6,) and dict(group.attrs) == {"own": 1}
    (action,) = zarrcore.repair(report, dry_run=False)
    assert not action.done and "not stale any more" in action.message


def test_a_copy_that_alone_describes_a_node_is_kept() -> None:
    store = MemoryStore()
    filled(store, "a")
    filled(store, "b")
    zarrcore.consolidate_metadata(store)
    for key in [*store.list_prefix("a")]:
        store.delete(key)
    before = contents(store)
    (action,) = zarrcore.repair(zarrcore.verify(store), dry_run=False)
    assert not action.done and "'a'" in action.message
    assert contents(store) == before


def test_damaged_chunks_are_moved_aside_on_request_only() -> None:
    store, aside = MemoryStore(), MemoryStore()
    array = filled(store, "a")
    store.set("a/c/1", b"damaged")
    report = zarrcore.verify(store)
    before = contents(store)
    assert not zarrcore.repair(report, dry_run=False)[0].done
    assert not zarrcore.repair(report, quarantine=aside)[0].done
    assert contents(store) == before and contents(aside) == {}
    assert zarrcore.repair(report, quarantine=aside, dry_run=False)[0].done
    assert contents(aside) == {"a/c/1": b"damaged"}
    assert array[:].tolist() == [1, 2, 0, 0, 5, 6, 7, 8]
    assert zarrcore.verify(store).ok


def test_a_chunk_that_was_written_again_stays() -> None:
    store, aside = MemoryStore(), MemoryStore()
    array = filled(store, "a")
    store.set("a/c/1", b"damaged")
    report = zarrcore.verify(store)
    array[2:4] = 9
    (action,) = zarrcore.repair(report, quarantine=aside, dry_run=False)
    assert not action.done and "not damaged any more" in action.message
    assert array[2] == 9 and contents(aside) == {}


def test_of_a_damaged_inner_chunk_only_this_is_removed() -> None:
    store, aside = MemoryStore(), MemoryStore()
    array = filled(store, "a", shards=4, compressors="crc32c", fill_value=-1)
    data = bytearray(store.get("a/c/1"))
    data[1] ^= 1
    store.set("a/c/1", data)
    report = zarrcore.verify(store)
    (action,) = zarrcore.repair(report, quarantine=aside, dry_run=False)
    assert action.done and contents(aside) == {"a/c/1": bytes(data)}
    assert array[:].tolist() == [1, 2, 3, 4, -1, -1, 7, 8]
    store.set("a/c/0", data)
    zarrcore.repair(zarrcore.verify(store), quarantine=aside, dry_run=False)
    assert array[:4].tolist() == [-1, -1, 7, 8]


def test_a_quarantine_that_has_another_value_loses_nothing() -> None:
    store, aside = MemoryStore(), MemoryStore()
    filled(store, "a")
    store.set("a/c/1", b"damaged")
    aside.set("a/c/1", b"an older one")
    before = contents(store)
    (action,) = zarrcore.repair(zarrcore.verify(store), quarantine=aside, dry_run=False)
    assert not action.done and "another value" in action.message
    assert contents(store) == before and contents(aside) == {"a/c/1": b"an older one"}


@pytest.mark.parametrize("calls", [1, 2])
def test_of_two_damaged_inner_chunks_of_a_shard_one_was_left(calls: int) -> None:
    store, aside = MemoryStore(), MemoryStore()
    filled(store, "a", shards=8, compressors="crc32c")
    value = bytearray(store.get("a/c/0"))
    value[0] ^= 1
    value[3 * 12] ^= 1  # inner chunks have 12 bytes
    store.set("a/c/0", bytes(value))
    report = zarrcore.verify(store)
    assert {finding.inner_chunk for finding in report} == {(0,), (3,)}
    if calls == 2:  # the second one finds in the quarantine what the first one has left there
        zarrcore.repair(replace(report, findings=report.findings[:1]), quarantine=aside, dry_run=False)
    actions = zarrcore.repair(report, quarantine=aside, dry_run=False)
    assert [action.done for action in actions] == [calls == 1, True]
    assert zarrcore.verify(store).ok and contents(aside) == {"a/c/0": bytes(value)}
    array = zarrcore.open_array(store, path="a")
    assert array[...].tolist() == [0, 0, 3, 4, 5, 6, 0, 0]


def test_sound_chunks_in_an_inner_shard_were_removed_with_the_damaged_one() -> None:
    store, aside = MemoryStore(), MemoryStore()
    crc = [BytesCodec(), Crc32cCodec()]
    inner = ShardingCodec(chunk_shape=(2,), codecs=crc, index_codecs=crc)
    outer = ShardingCodec(chunk_shape=(8,), codecs=[inner], index_codecs=crc)
    array = zarrcore.create_array(
        store, name="a", shape=16, chunks=16, dtype="i2", serializer=outer, compressors=None, fill_value=-1
    )
    array[...] = np.arange(16)
    value = bytearray(store.get("a/c/0"))
    for at in (0, 17):  # in the first and the third of four innermost chunks of 8 bytes
        value[at] ^= 1
    store.set("a/c/0", bytes(value))
    (action,) = zarrcore.repair(zarrcore.verify(store), quarantine=aside, dry_run=False)
    assert action.done and "what cannot be decoded of inner chunk (0,)" in action.message
    assert contents(aside) == {"a/c/0": bytes(value)} and zarrcore.verify(store).ok
    assert zarrcore.open_array(store, path="a")[...].tolist() == [-1, -1, 2, 3, -1, -1, *range(6, 16)]


def test_bytes_of_an_inner_chunk_that_the_quarantine_lacks_stay() -> None:
    store, aside = MemoryStore(), MemoryStore()
    filled(store, "a", shards=8, compressors="crc32c")
    value = bytearray(store.get("a/c/0"))
    value[0] ^= 1
    store.set("a/c/0", bytes(value))
    value[0] ^= 2
    aside.set("a/c/0", bytes(value))
    before = contents(store)
    (action,) = zarrcore.repair(zarrcore.verify(store), quarantine=aside, dry_run=False)
    assert not action.done and "another value" in action.message and contents(store) == before


@pytest.mark.parametrize("in_files", [False, True])
def test_a_chunk_of_one_node_was_moved_onto_itself_and_removed(in_files: bool, tmp_path: Path) -> None:
    store = LocalStore(tmp_path) if in_files else MemoryStore()
    filled(store, "a")
    store.set("a/c/1", b"damaged")
    before = contents(store)
    report = zarrcore.verify(store, path="a")
    for inside in (store, zarrcore.storage.StorePath(store, "b")):
        with pytest.raises(ValueError, match="quarantine"):
            zarrcore.repair(report, quarantine=inside, dry_run=False)
    assert contents(store) == before
    aside = MemoryStore()
    (action,) = zarrcore.repair(report, quarantine=aside, dry_run=False)
    assert action.done and contents(aside) == {"a/c/1": b"damaged"}


@pytest.mark.parametrize("shards", [None, 4])
def test_a_chunk_was_lost_where_the_quarantine_is_the_store_by_another_name(shards: Any) -> None:
    store, same = SmallStore(), SmallStore()
    filled(store, "a", shards=shards, compressors="crc32c")
    value = bytearray(store.values["a/c/0"])
    value[0] ^= 1
    store.values["a/c/0"] = bytes(value)
    same.values = store.values  # as of a directory that is mounted twice
    before = dict(store.values)
    (action,) = zarrcore.repair(zarrcore.verify(store), quarantine=same, dry_run=False)
    assert not action.done and "back in its place" in action.message
    assert store.values == before


def test_documents_that_depart_from_the_specification_are_no_warnings() -> None:
    store, aside = MemoryStore(), MemoryStore()
    filled(store, "a", zarr_format=2)
    store.set("a/.zattrs", b"")
    store.set("a/1", b"damaged")
    assert zarrcore.repair(zarrcore.verify(store), quarantine=aside, dry_run=False)[0].done


def test_documents_and_indexes_are_never_guessed() -> None:
    store = MemoryStore()
    filled(store, "a", shards=4)
    filled(store, "b")
    store.set("a/c/0", bytes(store.get("a/c/0"))[:-3])
    store.set("b/zarr.json", b"{")
    before = contents(store)
    zarrcore.repair(zarrcore.verify(store), dry_run=False)
    assert contents(store) == before


def test_where_nothing_may_be_repaired(tmp_path: Path) -> None:
    array = filled(tmp_path, "a")
    (tmp_path / "a" / "c" / "1").write_bytes(b"x")
    report = zarrcore.verify(tmp_path)
    for inside in (tmp_path, tmp_path / "aside"):
        with pytest.raises(ValueError, match="quarantine"):
            zarrcore.repair(report, quarantine=inside)
    assert zarrcore.repair(zarrcore.verify(tmp_path / "none")) == []
    assert zarrcore.repair(zarrcore.verify(tmp_path / "a" / "c" / "1")) == []

    class NeverWritten(MemoryStore):
        supports_writes = False

    with pytest.raises(ReadOnlyError):
        zarrcore.repair(zarrcore.verify(NeverWritten(dict(contents(array.store)))))


@pytest.mark.parametrize("error", [ChunkMemoryError, ChunkIOError])
def test_a_chunk_that_could_not_be_looked_at_stays(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    filled(store, "a", compressors=None)
    sound = bytes(store.get("a/c/1"))
    store.set("a/c/1", b"damaged")
    report = zarrcore.verify(store)
    store.set("a/c/1", sound)

    def fail(self: Any, value: Any) -> None:
        raise error("not now")

    monkeypatch.setattr(EncodedChunk, "check", fail)
    aside: dict[str, bytes] = {}
    (action,) = zarrcore.repair(report, dry_run=False, quarantine=aside)
    assert not action.done and "not now" in action.message
    assert aside == {} and bytes(store.get("a/c/1")) == sound


@pytest.mark.parametrize("given", ["data.zarr", None, {}])
def test_what_is_no_report_is_refused_by_name(given: Any) -> None:
    with pytest.raises(TypeError, match=r"repair: expected the report of verify\(store\), got "):
        zarrcore.repair(given)


@pytest.mark.parametrize("given", ["data.zarr", zarrcore.create_group({})])
def test_what_is_no_array_is_not_compacted(given: Any) -> None:
    with pytest.raises(TypeError, match="compact: expected an array that is open, got "):
        zarrcore.compact(given)
