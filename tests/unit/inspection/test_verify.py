# SPDX-License-Identifier: MIT
"""What zarrcore.verify reports of sound stores, of damaged ones, and of what is no store at all."""

from __future__ import annotations

import json
import os
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.inspection.listing import KeyReader
from zarrcore.keys.standard import DefaultChunkKeyEncoding, N5ChunkKeyEncoding, V2ChunkKeyEncoding
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def kinds(report: Any) -> set[tuple[str, str]]:
    return {(finding.severity, finding.kind) for finding in report}


def hierarchy(store: Any, **options: Any) -> Any:
    array = zarrcore.create_array(store, name="g/a", shape=(20, 30), chunks=(5, 7), dtype="i4", **options)
    array[...] = np.arange(600).reshape(20, 30)
    text = zarrcore.create_array(store, name="g/text", shape=9, chunks=2, dtype="str")
    text[...] = [f"item {n}" for n in range(9)]
    return array


def test_a_sound_store(tmp_path: Path) -> None:
    hierarchy(tmp_path, shards=(10, 14))
    zarrcore.consolidate_metadata(tmp_path)
    seen: list[tuple[int, int]] = []
    report = zarrcore.verify(tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert report.ok and report.findings == [] and report.errors == []
    assert (report.groups, report.arrays, report.chunks) == (2, 2, 6 + 5)
    assert report.inner_chunks == 20
    assert report.nbytes == sum(p.stat().st_size for p in tmp_path.rglob("c/**/*") if p.is_file())
    assert seen[-1] == (11, 11) and all(done <= total for done, total in seen)
    assert "0 errors, 0 warnings, 0 notes" in str(report)
    assert json.loads(report.to_json())["ok"] is True


LEVELS = [("metadata", set()), ("index", {"size"}), ("data", {"size", "chunk"})]


@pytest.mark.parametrize(("level", "found"), LEVELS)
def test_levels(level: Any, found: set[str]) -> None:
    store = MemoryStore()
    hierarchy(store)
    store.set("g/a/c/0/0", b"")
    store.set("g/a/c/1/1", b"nothing that zstd would write")
    report = zarrcore.verify(store, level=level)
    assert {finding.kind for finding in report} == found
    if level == "data":
        (chunk,) = [finding for finding in report if finding.kind == "chunk"]
        assert (chunk.path, chunk.key, chunk.chunk) == ("g/a", "g/a/c/1/1", (1, 1))
        assert "zstd" in chunk.message


def test_every_damaged_inner_chunk_is_named() -> None:
    store = MemoryStore()
    array = hierarchy(store, shards=(20, 35), compressors="crc32c", fill_value=-1)
    data = bytearray(store.get("g/a/c/0/0"))
    for at in (3, 150, len(data) - 400):
        data[at] ^= 1
    store.set("g/a/c/0/0", data)
    report = zarrcore.verify(store)
    found = [finding for finding in report if finding.kind == "chunk"]
    assert len(found) == 3
    assert all(f.key == "g/a/c/0/0" and f.chunk == (0, 0) and f.byte_range is not None for f in found)
    for finding in found:
        pairs = zip(finding.inner_chunk, array.chunks, strict=True)
        block = tuple(slice(k * n, (k + 1) * n) for k, n in pairs)
        with pytest.raises(zarrcore.errors.ChecksumError):
            array[block]


def test_a_path_below_the_root() -> None:
    store = MemoryStore()
    hierarchy(store)
    store.set("zarr.json", b"{")
    assert kinds(zarrcore.verify(store)) == {("error", "metadata")}
    assert zarrcore.verify(store, path="g").ok


def test_documents_name_the_clause() -> None:
    store = MemoryStore()
    hierarchy(store)
    document = json.loads(bytes(store.get("g/a/zarr.json")))
    document["chunk_grid"]["configuration"]["chunk_shape"] = [5]
    store.set("g/a/zarr.json", json.dumps(document).encode())
    (finding,) = zarrcore.verify(store)
    assert finding.clause == 'Zarr v3, "Array metadata": chunk_grid'
    assert finding.key == "g/a/zarr.json" and "chunk_shape" in finding.message


def test_departures_are_findings_and_no_warnings() -> None:
    store = MemoryStore()
    hierarchy(store)
    document = json.loads(bytes(store.get("g/a/zarr.json")))
    document["attributes"] = None
    store.set("g/a/zarr.json", json.dumps(document).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (finding,) = zarrcore.verify(store)
    assert (finding.severity, finding.kind) == ("warning", "departure")
    assert "attributes must be an object" in finding.clause


def test_an_unknown_codec_is_no_fault_of_the_store() -> None:
    store = MemoryStore()
    hierarchy(store)
    document = json.loads(bytes(store.get("g/a/zarr.json")))
    document["codecs"][-1] = {"name": "of.somebody"}
    store.set("g/a/zarr.json", json.dumps(document).encode())
    assert kinds(zarrcore.verify(store)) == {("warning", "unsupported")}


# --- consolidated metadata ---


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nodes_that_the_copy_alone_describes(zarr_format: Any) -> None:
    store = MemoryStore()
    array = zarrcore.create_array(store, name="a", shape=4, chunks=2, dtype="i4", zarr_format=zarr_format)
    array[...] = 5
    zarrcore.create_array(store, name="b", shape=4, chunks=2, dtype="i4", zarr_format=zarr_format)
    zarrcore.consolidate_metadata(store)
    names = ["zarr.json"] if zarr_format == 3 else [".zarray", ".zattrs"]
    for name in names:
        store.delete(f"a/{name}")
    report = zarrcore.verify(store)
    assert kinds(report) == {("warning", "consolidated")} and report.chunks == 2
    for name in names:
        store.delete(f"b/{name}")
    assert kinds(zarrcore.verify(store)) == {("note", "consolidated")}


def test_a_copy_of_what_is_gone_is_stale() -> None:
    store = MemoryStore()
    hierarchy(store)
    zarrcore.consolidate_metadata(store)
    for key in [*store.list_prefix("g/text")]:
        store.delete(key)
    (finding,) = zarrcore.verify(store)
    assert (finding.severity, finding.kind, finding.key) == ("error", "consolidated", "zarr.json")
    assert "g/text" in finding.message


# --- other formats ---


def test_format_1_and_n5() -> None:
    meta = {"zarr_format": 1, "shape": [4], "chunks": [2], "dtype": "<i4", "compression": None,
            "compression_opts": None, "fill_value": 0, "order": "C"}  # fmt: skip
    store = MemoryStore({"meta": json.dumps(meta).encode(), "attrs": b"{}", "0": bytes(8), "1": bytes(7)})
    (finding,) = zarrcore.verify(store)
    assert (finding.kind, finding.key) == ("size", "1")
    attributes = {"dimensions": [3, 2], "blockSize": [2, 2], "dataType": "uint8"}
    attributes["compression"] = {"type": "raw"}
    block = b"\0\0\0\2" + (2).to_bytes(4, "big") * 2 + bytes(4)
    edge = b"\0\0\0\2" + (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes(2)
    files = {"attributes.json": b'{"n5": "2.0.0"}', "a/attributes.json": json.dumps(attributes).encode(),
             "a/0/0": block, "a/1/0": edge}  # fmt: skip
    report = zarrcore.verify(MemoryStore(files))
    assert report.ok and report.arrays == 1 and report.chunks == 2
    files["a/0/0"] = block[:-1]
    assert kinds(zarrcore.verify(MemoryStore(files))) == {("error", "chunk")}


@pytest.mark.parametrize("changed", [2, 3])
def test_a_node_that_was_changed_in_one_of_two_formats_was_called_sound(changed: Any) -> None:
    store = MemoryStore()
    array = zarrcore.create_array(store, name="a", shape=8, chunks=2, dtype="i4", zarr_format=2)
    array[...] = 1
    zarrcore.migrate(store)
    assert zarrcore.verify(store).ok
    zarrcore.open_array(store, path="a", zarr_format=changed).resize((9,))
    (finding,) = zarrcore.verify(store)
    shapes = ("(8,)", "(9,)") if changed == 2 else ("(9,)", "(8,)")
    assert (finding.severity, finding.kind, finding.key) == ("warning", "metadata", "a/zarr.json")
    new, old = (f"an array of shape {shape}" for shape in shapes)
    assert finding.message == f"it is {new} in format 3, but {old} in format 2"
    store.delete("a/.zarray")
    store.set("a/.zgroup", b'{"zarr_format": 2}')
    (finding,) = zarrcore.verify(store)
    assert finding.message.endswith("in format 3, but a group in format 2")


def test_rectilinear_grids() -> None:
    store = MemoryStore()
    array = zarrcore.create_array(store, shape=(10,), chunks=[[2, 3, 5]], dtype="i4", compressors=None)
    array[...] = np.arange(1, 11)
    assert zarrcore.verify(store).ok
    store.set("c/1", bytes(store.get("c/1"))[:-1])
    (finding,) = zarrcore.verify(store)
    assert finding.message == "11 bytes stored, a chunk has 12"


def test_the_last_chunk_is_decoded_beyond_the_end_of_the_array() -> None:
    store = MemoryStore()
    array = zarrcore.create_array(store, shape=4, chunks=1, shards=3, dtype="i4", compressors="crc32c")
    array[...] = 1
    array.resize(6)
    array[...] = 2
    document = json.loads(bytes(store.get("zarr.json")))
    document["shape"] = [4]
    store.set("zarr.json", json.dumps(document).encode())
    data = bytearray(store.get("c/1"))
    data[17] ^= 1  # of the inner chunk of element 5
    store.set("c/1", data)
    (finding,) = zarrcore.verify(store)
    assert finding.chunk == (1,) and finding.inner_chunk == (2,)


# --- what is no store, or not a whole one ---


def test_an_empty_directory_and_nothing(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none", {}):
        (finding,) = zarrcore.verify(place)
        assert (finding.severity, finding.kind) == ("error", "store")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file.h5", "file.zip", "file"])
@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n" + bytes(600), b"PK\3\4" + bytes(50)])
def test_files_of_other_formats(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    report = zarrcore.verify(tmp_path / name)
    assert not report.ok and {kind for _, kind in kinds(report)} == {"store"}
    assert (tmp_path / name).read_bytes() == content


def test_an_archive() -> None:
    import io

    file = io.BytesIO()
    with ZipStore(file, mode="w") as store:
        hierarchy(store)
        assert zarrcore.verify(store).ok


def test_a_directory_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "photo.jpg").write_bytes(b"x")
    report = zarrcore.verify(tmp_path)
    assert kinds(report) >= {("error", "store")}


class FailingStore(WrapperStore):
    """Refuses what a test names."""

    def __init__(self, store: Any, refused: str = "", method: str = "") -> None:
        super().__init__(store)
        self.refused, self.method = refused, method

    def _call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        name = method.__name__
        if name == self.method and any(self.refused in str(arg) for arg in args):
            raise PermissionError(13, "Permission denied", self.refused)
        return super()._call(method, *args, **kwargs)


@pytest.mark.parametrize("method", ["get", "get_partial_values", "list_dir", "list_prefix", "exists"])
@pytest.mark.parametrize("refused", ["", "g", "g/a", "g/a/c/0/0"])
def test_a_store_that_refuses(method: str, refused: str) -> None:
    store = MemoryStore()
    hierarchy(store)
    report = zarrcore.verify(FailingStore(store, refused, method))
    assert isinstance(str(report), str)
    if method in ("get", "list_prefix") and refused != "g/a/c/0/0":
        assert report.errors, report


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything may be read here")
def test_directories_and_files_without_rights(tmp_path: Path) -> None:
    hierarchy(tmp_path)
    for name, kind in (("g/a/c/0/0", "chunk"), ("g/a", "store"), ("g", "store"), ("", "store")):
        place = tmp_path / name
        mode = place.stat().st_mode
        place.chmod(0)
        try:
            report = zarrcore.verify(tmp_path)
        finally:
            place.chmod(mode)
        (finding,) = report
        assert (finding.severity, finding.kind) == ("error", kind), name


def test_links_in_a_circle(tmp_path: Path) -> None:
    hierarchy(tmp_path)
    (tmp_path / "g" / "again").symlink_to(tmp_path)
    report = zarrcore.verify(tmp_path)
    assert report.ok and report.arrays == 2
    assert [finding.key for finding in report] == ["g/again"]


def test_a_directory_in_the_place_of_a_chunk(tmp_path: Path) -> None:
    hierarchy(tmp_path)
    place = tmp_path / "g" / "a" / "c" / "0" / "0"
    place.unlink()
    place.mkdir()
    (finding,) = zarrcore.verify(tmp_path)
    assert (finding.severity, finding.kind, finding.key) == ("error", "store", "g/a/c/0/0/")


def test_huge_chunks_and_grids_take_no_memory() -> None:
    import tracemalloc

    document = {
        "zarr_format": 3, "node_type": "array", "shape": [2**62, 2**62], "data_type": "float64",
        "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**20, 2**20]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [LITTLE, "gzip"],
    }  # fmt: skip
    store = MemoryStore({"zarr.json": json.dumps(document).encode(), "c/0/5": b"x" * 50})
    tracemalloc.start()
    report = zarrcore.verify(store)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    assert kinds(report) == {("warning", "unchecked")} and report.chunks == 1, report
    sharding = {"chunk_shape": [1, 1], "codecs": [LITTLE], "index_codecs": [LITTLE]}
    document["codecs"] = [{"name": "sharding_indexed", "configuration": sharding}]
    store.set("zarr.json", json.dumps(document).encode())
    assert ("error", "index") in kinds(zarrcore.verify(store))


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize("dtype", ["str", "bytes"])
def test_items_of_any_length_are_not_kept(shards: int | None, dtype: Any) -> None:
    """All of an array of long strings were in memory at the same time, 600 MiB of a store of 60 KB."""
    array = zarrcore.create_array(store := {}, shape=64, chunks=1, shards=shards, dtype=dtype)
    array[:] = np.array(["x" * (1 << 20) if dtype == "str" else b"x" * (1 << 20)], object)
    tracemalloc.start()
    try:
        assert zarrcore.verify(store, threads=2).ok
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_more_findings_than_wanted_are_counted() -> None:
    store = MemoryStore()
    hierarchy(store)
    for number in range(20):
        store.set(f"g/a/c/{number}/99", b"x")
    report = zarrcore.verify(store, max_findings=5)
    assert len(report.findings) == 5 and report.omitted == 15 and not report.ok
    assert "15 more" in str(report)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="level: expected one of metadata, index, data"):
        zarrcore.verify({}, level="all")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        zarrcore.verify(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [TimeoutError, StopIteration, NotImplementedError, MemoryError])
def test_what_the_callback_raises_ends_the_call(error: type[Exception]) -> None:
    """Of the last three, which mean something to verify or to a generator, a fault of the store was made."""
    store = MemoryStore()
    hierarchy(store)

    def stop(done: int, total: int) -> None:
        raise error("enough")

    with pytest.raises(error, match="enough"):
        zarrcore.verify(store, on_progress=stop)


def test_absent_chunks_are_no_fault_whatever_is_configured() -> None:
    store = MemoryStore()
    array = hierarchy(store)
    array[5:10, :] = 0
    with zarrcore.config.set({"array.read_missing_chunks": False}):
        report = zarrcore.verify(store)
    assert report.ok and report.chunks == 15 + 5


def test_keys_that_cannot_be_read_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(DefaultChunkKeyEncoding, "decode")
    monkeypatch.setattr(DefaultChunkKeyEncoding, "native", lambda self: None)
    store = MemoryStore()
    hierarchy(store)
    store.set("g/a/c/9/9", b"x")
    (finding,) = zarrcore.verify(store)
    assert (finding.kind, finding.key) == ("stray", "g/a/c/9/9")
    zarrcore.create_array(store, name="g/huge", shape=2**60, chunks=1, dtype="u1")
    assert ("warning", "unchecked") in kinds(zarrcore.verify(store))
    with pytest.raises(NotImplementedError, match="cannot be read backwards"):
        zarrcore.open_array(store, path="g/huge").chunk_info()


# --- keys, many at a time ---


ENCODINGS = [
    DefaultChunkKeyEncoding(), DefaultChunkKeyEncoding("."), V2ChunkKeyEncoding(), V2ChunkKeyEncoding("/"),
    N5ChunkKeyEncoding(),
]  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("ndim", [0, 1, 3])
def test_keys_are_read_as_their_encoding_does(encoding: Any, ndim: int) -> None:
    rng = np.random.default_rng(ndim)
    coords = rng.integers(0, 10 ** rng.integers(1, 17, (50, ndim)))
    names = [encoding.encode(tuple(map(int, row))) for row in coords]
    reader = KeyReader(encoding, (5,) * ndim)
    found, is_chunk = reader.read(names)
    assert is_chunk.all() and (found == coords).all()
    wrong = ["", "c", "c/", "c/01", "01", "c/1//2", "1..2", "c/+1/2/3", "c/ 1", "c/1_0", "x", "c/1/2/3/4/5",
             "\u0663", "c/\u0663/1/1", f"c/{2**63}", "-1", f"{2**62}.0.1", f"{10**40}"]  # fmt: skip
    for name in wrong:
        if ndim == 0 and name == encoding.encode(()):
            continue
        found, is_chunk = reader.read([*names, name])
        assert not is_chunk[-1] and is_chunk[:-1].all(), name
        assert (found[:-1] == coords).all()


def test_listings_of_files_have_sizes_and_what_is_unusual(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a/b", b"123")
    (tmp_path / "a" / "empty").mkdir()
    (tmp_path / "a" / "link").symlink_to("nowhere")
    (tmp_path / "a" / ".zc-0123456789abcdef.partial").write_bytes(b"x")
    found = dict(store._list_sizes("a"))
    assert found == {"a/b": 3, "a/empty/": None, "a/link": None, "a/.zc-0123456789abcdef.partial": 1}
    assert [*store.list()] == ["a/b"]


def test_a_hierarchy_without_the_document_of_its_root_is_named(tmp_path: Path) -> None:
    """Of groups below it that was a note; the root alone, without which nothing opens there, went unseen."""
    zarrcore.create_group(tmp_path).create_array("a", data=np.arange(3))
    assert not zarrcore.verify(tmp_path).findings
    (tmp_path / "zarr.json").unlink()
    report = zarrcore.verify(tmp_path)
    assert [(each.severity, each.kind, each.path) for each in report] == [("note", "metadata", "")]
    assert "without a document of its own" in report.findings[0].message and report.ok and report.arrays == 1


def test_a_group_that_has_lost_its_document_was_taken_for_one_that_the_copy_alone_describes(
    tmp_path: Path,
) -> None:
    root = zarrcore.create_group(tmp_path)
    root.create_group("g").create_array("a", data=np.arange(4), chunks=2)
    zarrcore.consolidate_metadata(tmp_path)
    (tmp_path / "g/zarr.json").unlink()
    found = {(finding.severity, finding.message) for finding in zarrcore.verify(tmp_path)}
    assert found == {
        ("warning", "g: has lost its own documents; the copy still has them"),
        ("warning", "g/a: is in no group: one above it has lost its documents"),
    }


def test_what_filters_before_others_decode_is_what_is_stored() -> None:
    """A second other shape: the filter in front of it gets an array that is decoded first."""
    store = MemoryStore()
    shapes = ({"name": "reshape", "configuration": {"shape": shape}} for shape in ([2, 12], [24]))
    filters = [{"name": "cast_value", "configuration": {"data_type": "int32"}}, *shapes]
    array = zarrcore.create_array(
        store, shape=(4, 6), chunks=(4, 6), dtype="int16", fill_value=1, filters=filters, compressors=None
    )
    array[...] = np.arange(24).reshape(4, 6)
    assert zarrcore.verify(store).ok
    assert array[3, 5] == 23  # memory that is used again has what was decoded there
    stored = store.get("c/0/0")
    store.set("c/0/0", stored.replace(np.int32(5).tobytes(), np.int32(70000).tobytes(), 1))
    assert "the item 70000 does not fit into int16" in str(zarrcore.verify(store).findings)


@pytest.mark.parametrize("is_sharded", [False, True])
@pytest.mark.parametrize("checksums", [[], ["crc32c"]])
def test_what_filters_decode_is_what_is_stored(is_sharded: bool, checksums: list[str]) -> None:
    """Raw values in memory are not moved where they are tried, but for filters, which look at them."""
    store = MemoryStore()
    items = {"name": "bytes", "configuration": {"endian": "little"}}
    inner: list[Any] = [items, *({"name": name} for name in checksums)]
    index = [items, {"name": "crc32c"}]
    sharding = {"chunk_shape": [4, 6], "codecs": inner, "index_codecs": index}
    array = zarrcore.create_array(
        store,
        shape=(16, 12),
        chunks=(8, 12),
        dtype="uint8",
        filters=[{"name": "cast_value", "configuration": {"data_type": "int16"}}],  # which refuses others
        serializer={"name": "sharding_indexed", "configuration": sharding} if is_sharded else "auto",
        compressors=[] if is_sharded else inner[1:],
    )
    array[...] = np.arange(192).reshape(16, 12)
    assert zarrcore.verify(store).ok
    key = "c/0/0"
    store.set(key, store.get(key).replace(np.arange(6, dtype="<i2").tobytes(), b"\xff" * 12, 1))
    report = zarrcore.verify(store)
    assert not report.ok
    assert key in str(report.findings)
