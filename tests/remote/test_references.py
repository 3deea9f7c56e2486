# SPDX-License-Identifier: MIT
"""References to ranges of other files: what is asked for, and that they mean what fsspec makes of them."""

from __future__ import annotations

import base64
import json
import pickle
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import BaseZarrError, ReadOnlyError, StoreError
from zarrcore.storage import MemoryStore, OffsetByteRequest, ReferenceStore, SuffixByteRequest, make_store
from zarrcore.storage.caching import CacheStore
from zarrcore.storage.urls import store_of_url

VALUES = np.arange(64 * 100, dtype="<i4").reshape(64, 100)
DOCUMENT = {
    "shape": [64, 100],
    "chunks": [1, 100],
    "dtype": "<i4",
    "order": "C",
    "fill_value": -1,
    "filters": None,
    "compressor": None,
    "zarr_format": 2,
}
PARTS = [None, (0, 0), (2, 3), (4, None), (4000, 5), OffsetByteRequest(3), SuffixByteRequest(4)]


def references(url: str, head: int = 8, gap: int = 0) -> tuple[dict[str, Any], bytes]:
    """References to the rows of an array, and the file."""
    data = bytearray(b"x" * head)
    refs: dict[str, Any] = {".zgroup": json.dumps({"zarr_format": 2}), "a/.zarray": json.dumps(DOCUMENT)}
    for number, row in enumerate(VALUES):
        refs[f"a/{number}.0"] = [url, len(data), row.nbytes]
        data += row.tobytes() + bytes(gap)
    return refs, bytes(data)


def test_values_are_those_that_fsspec_finds(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    path = tmp_path / "data.bin"
    refs, data = references(str(path))
    path.write_bytes(data)
    refs |= {
        "text": "some text",
        "raw": "base64:" + base64.b64encode(bytes(range(256))).decode(),
        "all": [str(path)],
        "with/a/template": ["{{u}}/data.bin", 8, 40],
    }
    whole = {"version": 1, "templates": {"u": str(tmp_path)}, "refs": refs}
    theirs = fsspec.filesystem("reference", fo=whole, skip_instance_cache=True)
    (tmp_path / "refs.json").write_text(json.dumps(whole))
    for given in (whole, tmp_path / "refs.json", str(tmp_path / "refs.json")):
        store = ReferenceStore(given)
        assert sorted(store.list()) == sorted(refs)
        found = store.get_many([*refs])
        assert dict(zip(refs, found, strict=True)) == {key: theirs.cat_file(key) for key in refs}
        for part in PARTS:
            expected = [MemoryStore({"k": theirs.cat_file(key)}).get("k", part) for key in refs]
            assert store.get_partial_values([(key, part) for key in refs]) == expected
        assert store.get("absent") is None
        assert store.getsize("all") == len(data)
        assert np.array_equal(zarrcore.open_group(store, mode="r")["a"][...], VALUES)
    again = pickle.loads(pickle.dumps(store))
    assert np.array_equal(zarrcore.open_array(again, path="a", mode="r")[3], VALUES[3])
    opened = zarrcore.open_group("reference://", mode="r", storage_options={"fo": whole})
    assert isinstance(opened.store, ReferenceStore)
    assert np.array_equal(opened["a"][...], VALUES)


def test_chunks_that_are_read_together_are_views_of_what_was_read(tmp_path: Path) -> None:
    """A copy of each took longer than reading them; what users ask for is bytes, and caches keep copies."""
    path = tmp_path / "data.bin"
    refs, data = references(str(path))
    path.write_bytes(data)
    store, keys = ReferenceStore(refs), [f"a/{number}.0" for number in range(64)]
    chunks = store._get_chunks(keys, VALUES[0].nbytes)
    assert len({id(chunk.obj) for chunk in chunks}) == 1
    assert b"".join(chunks) == VALUES.tobytes()
    assert {type(value) for value in store.get_many(keys)} == {bytes}
    kept = MemoryStore()
    cache = CacheStore(store, cache_store=kept)
    assert b"".join(cache._get_chunks(keys, VALUES[0].nbytes)) == VALUES.tobytes()
    # Where another key shares the counter of changes, a value may not be kept.
    assert {type(value) for value in kept.get_many(keys)} - {type(None)} == {bytes}


@pytest.mark.parametrize("scheme", ["s3", "http"])
@pytest.mark.parametrize("gap", [0, 100_000])
def test_ranges_are_joined_and_asked_for_at_once(server: ObjectServer, scheme: str, gap: int) -> None:
    pytest.importorskip("obstore")
    url = "s3://bucket/dir/data.nc" if scheme == "s3" else f"{server.url}/bucket/dir/data.nc"
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url} if scheme == "s3" else {}
    refs, server.objects["bucket/dir/data.nc"] = references(url, gap=gap)
    array = zarrcore.open_array(ReferenceStore(refs, storage_options=words), path="a", mode="r")
    with server.watch() as seen:
        assert np.array_equal(array[...], VALUES)
    assert (len(seen.requests), seen.waves) == (1 if gap == 0 else 64, 1), str(seen)
    assert seen.nbytes == VALUES.nbytes
    with server.watch() as seen:
        assert np.array_equal(array[7], VALUES[7])
    assert (len(seen.requests), seen.nbytes) == (1, 400)


def test_files_without_a_scheme(server: ObjectServer) -> None:
    pytest.importorskip("obstore")
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    refs, server.objects["bucket/data.nc"] = references("bucket/data.nc")
    options = {"fo": refs, "remote_protocol": "s3", "remote_options": words}
    array = zarrcore.open_array("reference://", path="a", mode="r", storage_options=options)
    with zarrcore.config.set({"pickle.credentials": True}):
        assert np.array_equal(pickle.loads(pickle.dumps(array))[...], VALUES)


def test_files_without_scheme_are_opened_once(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was opened again for every value: it was looked for by its name, and kept by its URL."""
    pytest.importorskip("obstore")
    opened: list[Any] = []

    def counted(*args: Any) -> Any:
        opened.append(args)
        return store_of_url(*args)

    monkeypatch.setattr("zarrcore.storage.references.store_of_url", counted)
    server.objects["bucket/file"] = b"0123456789"
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    refs = {"a/0": ["bucket/file", 2, 3], "a/1": ["bucket/file", 5, 2]}
    store = ReferenceStore(refs, storage_options=words, remote_protocol="s3")
    assert [store.get(key) for key in ("a/0", "a/1", "a/0")] == [b"234", b"56", b"234"]
    assert len(opened) == 1


def test_a_document_at_a_url(server: ObjectServer) -> None:
    pytest.importorskip("obstore")
    url = f"{server.url}/bucket"
    refs, server.objects["bucket/data.nc"] = references(f"{url}/data.nc")
    server.objects["bucket/refs.json"] = json.dumps({"version": 1, "refs": refs}).encode()
    assert np.array_equal(zarrcore.open_array(ReferenceStore(f"{url}/refs.json"), path="a")[...], VALUES)
    with pytest.raises(FileNotFoundError):
        ReferenceStore(f"{url}/nothing.json")


HERE = ["/etc/hostname", "file:///etc/hostname", "hostname"]
THROUGH_FSSPEC = [
    "local:///etc/hostname",
    "LOCAL:///etc/hostname",
    "simplecache::file:///etc/hostname",
    "zip://hostname::file:///etc/archive.zip",
    "memory://etc/hostname",
    "dir:///etc/hostname",
    "http://server::file:///etc/hostname",
]


@pytest.mark.parametrize("target", HERE + THROUGH_FSSPEC)
def test_references_from_a_url_do_not_lead_to_files_here(server: ObjectServer, target: str) -> None:
    """Fsspec's schemes for files of this machine, and chains of them, were followed."""
    pytest.importorskip("obstore")
    server.objects["bucket/refs.json"] = json.dumps({"k": [target], "r": [target, 0, 3]}).encode()
    store = ReferenceStore(f"{server.url}/bucket/refs.json")
    for key in ("k", "r"):
        with pytest.raises(StoreError, match="cannot lead to files here"):
            store.get(key)


def test_a_range_that_is_not_there_is_an_error(server: ObjectServer, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    url = f"{server.url}/bucket/data.nc"
    refs, data = references(url)
    array = zarrcore.open_array(ReferenceStore(refs), path="a", mode="r")
    for cut in (None, data[:-10], b""):
        if cut is not None:
            server.objects["bucket/data.nc"] = cut
        for selection in (np.s_[...], 63):
            with pytest.raises(BaseZarrError, match=r"a/63\.0|a/0\.0"):
                array[selection]
    for missing in ([str(tmp_path / "nothing")], [str(tmp_path / "nothing"), 0, 4]):
        with pytest.raises(StoreError, match="the file referred to lacks it"):
            ReferenceStore({"k": missing}).get("k")


LISTS = [[], [1], ["u", -1, 4], ["u", 0, -4], ["u", 0.5, 4], ["u", 0], ["u", 0, 1, 2], [None, 0, 1]]


@pytest.mark.parametrize("wrong", [*LISTS, 7, True, "base64:***", "\udc80"], ids=ascii)
def test_what_is_no_reference_is_an_error_that_names_the_key(wrong: Any) -> None:
    with pytest.raises(StoreError, match="'k'"):
        ReferenceStore({"k": wrong}).get("k")


TEXTS = ["", "[]", "{", "7", '{"version": 2, "refs": {}}', "[" * 100_000, '{"version": 1, "refs": 3}']


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_document_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "refs.json").write_text(text)
    with pytest.raises(StoreError):
        ReferenceStore(tmp_path / "refs.json")


@pytest.mark.parametrize("path", ["a\0", "/a\0b", "file:///a%00b"])
def test_a_reference_to_a_path_with_a_nul(path: str) -> None:
    store = ReferenceStore({"a/c/0": [path, 0, 4], "a/c/1": [path]})
    for call in (store.get, store.getsize, store.exists):
        with pytest.raises(StoreError, match="holds no NUL character"):
            call("a/c/1")
    with pytest.raises(StoreError, match="holds no NUL character"):
        store.get("a/c/0")


def test_rules_are_left_to_fsspec(tmp_path: Path) -> None:
    rules = {
        "version": 1,
        "refs": {"k": "text"},
        "gen": [{"key": "g{{i}}", "url": "{{i}}", "dimensions": {"i": [1]}}],
    }
    with pytest.raises(StoreError, match="only fsspec knows"):
        ReferenceStore(rules)


def test_nothing_is_written() -> None:
    store = ReferenceStore({"k": "text"})
    for call in (lambda: store.set("k", b""), lambda: store.delete("k"), store.clear):
        with pytest.raises(ReadOnlyError):
            call()
    with pytest.raises(StoreError):
        make_store(store, mode="r+")


def test_a_larger_value_than_a_chunk_is_refused_before_it_is_read(server: ObjectServer) -> None:
    pytest.importorskip("obstore")
    refs, server.objects["bucket/data.nc"] = references(f"{server.url}/bucket/data.nc")
    refs["a/3.0"][2] = 1 << 40
    array = zarrcore.open_array(ReferenceStore(refs), path="a", mode="r")
    with server.watch() as seen, pytest.raises(BaseZarrError, match="at most"):
        array[3]
    assert seen.requests == []


@pytest.mark.parametrize("templates", [7, [1], "u"], ids=str)
def test_templates_that_are_no_object(templates: Any) -> None:
    with pytest.raises(StoreError, match="'templates' is no object"):
        ReferenceStore({"version": 1, "templates": templates, "refs": {"k": ["{{u}}"]}})


def test_templates_that_would_become_any_number_of_bytes_are_refused() -> None:
    """A document of some megabytes asked for terabytes."""
    refs = {
        "version": 1,
        "templates": {"u": "x" * 1000},
        "refs": {"k": ["{{u}}" * 1000], "l": ["{{u}}" * 65]},
    }
    store = ReferenceStore(refs)
    with pytest.raises(StoreError, match="'k': templates make a URL of more than 65536 characters"):
        store.get("k")
    with pytest.raises(StoreError, match="File name too long"):
        store.get("l")


def test_a_reference_that_is_null_is_no_absent_chunk() -> None:
    """It was listed, and read as the fill value."""
    store = ReferenceStore({"a/.zarray": json.dumps(DOCUMENT), "a/0.0": None})
    with pytest.raises(BaseZarrError, match="None is no reference"):
        zarrcore.open_array(store, path="a", mode="r")[0]


@pytest.mark.parametrize("part", [(True, 4), (0, True)], ids=str)
def test_true_in_a_reference_was_the_number_1(tmp_path: Path, part: tuple[Any, Any]) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(8))
    with pytest.raises(StoreError, match="True.* is no reference"):
        ReferenceStore({"key": [str(tmp_path / "data.bin"), *part]}).get("key")


# --- Parquet ---


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    """References that fsspec has written, 10 to a file, the last row missing."""
    pytest.importorskip("pyarrow")
    from fsspec.implementations.reference import LazyReferenceMapper

    refs, data = references(str(tmp_path / "data.bin"))
    (tmp_path / "data.bin").write_bytes(data)
    made = LazyReferenceMapper.create(str(tmp_path / "refs.parq"), record_size=10, engine="pyarrow")
    for key, value in refs.items():
        if key != "a/63.0":
            made[key] = value.encode() if isinstance(value, str) else value
    made["b/.zarray"] = json.dumps({**DOCUMENT, "shape": [2], "chunks": [2]}).encode()
    made["b/0"] = VALUES[0, :2].tobytes()
    made["s/.zarray"] = json.dumps({**DOCUMENT, "shape": [], "chunks": []}).encode()
    made["s/0"] = VALUES[5, 5:6].tobytes()
    made.flush()
    return tmp_path / "refs.parq"


def test_references_in_parquet(parquet: Path) -> None:
    store = ReferenceStore(parquet)
    group = zarrcore.open_group(store, mode="r")
    expected = VALUES.copy()
    expected[63] = -1
    assert np.array_equal(group["a"][...], expected)
    assert group["b"][:].tolist() == [0, 1]
    assert group["s"][()] == VALUES[5, 5]
    assert sorted(group) == ["a", "b", "s"]
    keys = set(store.list())
    assert {"a/0.0", "a/62.0", "b/0", "a/.zarray"} <= keys
    assert not {"a/63.0", "a/64.0", "a/0.1", "b/1"} & keys
    for key in ("a/63.0", "a/64.0", "a/0.1", "a/0", "a/x", "c/0", "a/-1.0"):
        assert store.get(key) is None
    assert np.array_equal(pickle.loads(pickle.dumps(group["a"]))[5], VALUES[5])


def test_references_in_parquet_at_a_url(server: ObjectServer, parquet: Path) -> None:
    pytest.importorskip("obstore")
    for path in parquet.rglob("*"):
        if path.is_file():
            server.objects[f"bucket/refs.parq/{path.relative_to(parquet)}"] = path.read_bytes()
    store = ReferenceStore(f"{server.url}/bucket/refs.parq")
    with server.watch() as seen, pytest.raises(BaseZarrError, match="cannot lead to files here"):
        zarrcore.open_array(store, path="a", mode="r")[:3]
    assert len(seen.requests) == 1  # of ten rows


@pytest.mark.parametrize("how", ["no document", "damaged", "no table", "record_size"])
def test_damaged_parquet_is_an_error(parquet: Path, how: str) -> None:
    if how == "no document":
        (parquet / ".zmetadata").unlink()
    elif how == "record_size":
        (parquet / ".zmetadata").write_text('{"metadata": {}, "record_size": 0}')
    else:
        (parquet / "a" / "refs.0.parq").write_bytes(b"PAR1" if how == "no table" else b"")
    with pytest.raises(BaseZarrError):
        zarrcore.open_array(ReferenceStore(parquet), path="a", mode="r")[...]


def lazily(path: Path, record_size: Any, shape: list[Any], chunks: list[Any]) -> ReferenceStore:
    (path / "a").mkdir()
    array = DOCUMENT | {"shape": shape, "chunks": chunks}
    document = {"record_size": record_size, "metadata": {".zgroup": {"zarr_format": 2}, "a/.zarray": array}}
    (path / ".zmetadata").write_text(json.dumps(document))
    return ReferenceStore(path)


def test_more_chunks_than_there_are_references_are_not_listed_one_by_one(tmp_path: Path) -> None:
    """A document of 200 bytes was a MemoryError, or minutes."""
    store = lazily(tmp_path, 1, [10**6, 10**12], [1, 1])
    (tmp_path / "a" / "refs.x.parq").touch()
    (tmp_path / "a" / f"refs.{10**18}.parq").touch()
    assert sorted(store.list()) == [".zgroup", ".zmetadata", "a/.zarray"]
    assert zarrcore.open_array(store, path="a", mode="r").nchunks_initialized == 0


def test_chunks_in_far_parts_of_a_huge_array_are_listed(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    store = lazily(tmp_path, 3, [10**6, 10**12], [1, 1])
    table = {"path": [None] * 3, "offset": [0] * 3, "size": [0] * 3, "raw": [b"abcd", None, b"efgh"]}
    pandas.DataFrame(table).to_parquet(tmp_path / "a" / f"refs.{10**12}.parq")
    found = {key for key in store.list() if key.startswith("a/3")}
    assert found == {"a/3.0", "a/3.2"}
    array = zarrcore.open_array(store, path="a", mode="r")
    assert array[3, :3].tobytes() == b"abcd\xff\xff\xff\xffefgh"
    assert array.nchunks_initialized == 2


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), "x", 0, -1, 2.5, True])
def test_parquet_with_wrong_numbers_is_an_error(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(StoreError, match=r"\.zmetadata has no references"):
        lazily(tmp_path, wrong, [3], [1])


def test_parquet_of_an_array_of_wrong_shape_is_an_error(tmp_path: Path) -> None:
    store = lazily(tmp_path, 1, [float("inf")], [1])
    for call in (lambda: store.get("a/0"), lambda: [*store.list()]):
        with pytest.raises(StoreError, match="no document of an array"):
            call()


def write(directory: Path, **columns: Any) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), directory / "a" / "refs.0.parq", compression="zstd")


@pytest.mark.parametrize("kind", ["rows", "texts", "bytes"])
def test_a_small_file_of_parquet_does_not_become_large(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of some kilobytes took gigabytes, and ended the process where there were not so many."""
    pyarrow = pytest.importorskip("pyarrow")
    if kind == "bytes":
        monkeypatch.setattr("zarrcore.storage.reference_tables.MAX_DOCUMENT_NBYTES", 1 << 20)
    n = {"rows": 5_000_000, "texts": 200_000, "bytes": 1}[kind]
    store = lazily(tmp_path, 10**9 if kind == "rows" else 10**6, [8, 4], [4, 4])
    numbers = pyarrow.array(np.zeros(n, "i8"))
    word = pyarrow.array(["x" * 10_000])
    path = pyarrow.DictionaryArray.from_arrays(np.zeros(n, "i4"), word) if kind == "texts" else None
    raw = pyarrow.array([bytes(2 << 20)]) if kind == "bytes" else pyarrow.nulls(n, pyarrow.binary())
    write(tmp_path, path=path or pyarrow.nulls(n, pyarrow.string()), offset=numbers, size=numbers, raw=raw)
    assert (tmp_path / "a" / "refs.0.parq").stat().st_size < 100_000
    if kind == "texts":
        with pytest.raises(StoreError, match=r"'a/1\.0': the file referred to lacks it|File name too long"):
            store.get("a/1.0")
    else:
        with pytest.raises(
            StoreError, match=r"refs\.0\.parq: no table of references: ValueError: .*(rows|bytes)"
        ):
            store.get("a/1.0")


@pytest.mark.parametrize(
    "row",
    [
        {"offset": "x"},
        {"offset": float("inf")},
        {"size": [1]},
        {"offset": -1},
        {"offset": 0.5},
        {"size": 4.5},
        {"offset": Decimal("0.5")},
        {"offset": None},
        {"offset": False},
        {"offset": "0"},
        {"size": None},
        {"path": 7},
        {"path": ["f"]},
        {"raw": "x"},
    ],
    ids=str,
)
def test_a_row_of_parquet_that_is_no_reference_is_an_error_that_names_the_key(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    """Some were errors without a name, others read as the fill value."""
    store = lazily(tmp_path, 1, [4, 4], [4, 4])
    write(tmp_path, **{name: [item] for name, item in ({"path": "f", "offset": 0, "size": 4} | row).items()})
    with pytest.raises(StoreError, match=r"key 'a/0\.0': \(.*\) is no reference"):
        store.get("a/0.0")


def test_lists_of_nulls_in_parquet_are_not_read(tmp_path: Path) -> None:
    """A file of a kilobyte took gigabytes and minutes."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    store = lazily(tmp_path, 1000, [4, 4], [4, 4])
    nulls = pyarrow.ListArray.from_arrays(np.arange(65) * 100_000, pyarrow.nulls(6_400_000))
    table = pyarrow.table({"path": ["f"] * 64, "offset": nulls, "size": [4] * 64})
    parquet.write_table(table, tmp_path / "a" / "refs.0.parq")
    assert (tmp_path / "a" / "refs.0.parq").stat().st_size < 10_000
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match=r"key 'a/0\.0': \(.*\) is no reference"):
            store.get("a/0.0")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("offset", "size"), [(0, 0), (0, 4), (4, 4), (4, 0), (16, 0)])
def test_a_row_of_parquet_without_a_size_is_all_of_the_file_at_its_start_alone(
    tmp_path: Path, offset: int, size: int
) -> None:
    """A range of no bytes at an offset was read as all of the file: values from its start."""
    from fsspec.implementations.reference import LazyReferenceMapper

    store = lazily(tmp_path, 1, [4, 4], [4, 4])
    (tmp_path / "data.bin").write_bytes(VALUES[:4].tobytes()[:64])
    row = {"path": str(tmp_path / "data.bin"), "offset": offset, "size": size, "raw": None}
    write(tmp_path, **{name: [item] for name, item in row.items()})
    expected = (tmp_path / "data.bin").read_bytes()[offset:][: size if size or offset else None]
    assert store.get("a/0.0") == expected
    judge = LazyReferenceMapper(str(tmp_path), engine="pyarrow")["a/0.0"]
    assert judge[1:] == ([offset, size] if size or offset else [])


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"x": [1, 2]}, "no column 'path'"),
        ({"offset": [0, 4], "size": [4, 4]}, "no column 'path'"),
        ({"offset": [0, 4], "size": [4, 4], "raw": [None, None]}, "no column 'path'"),
        ({"path": ["data.bin"], "offset": [0], "size": [4]}, "1 rows, where 2 or more must be"),
        ({"path": [], "offset": [], "size": []}, "0 rows, where [12] or more must be"),
    ],
    ids=["no reference", "no path", "no path but contents", "a row less", "no rows"],
)
def test_a_file_of_parquet_that_lacks_references_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any], reason: str
) -> None:
    """Chunks that it does not speak of were read as fill values, and left out by copies."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.bin").write_bytes(bytes(range(8)))
    store = lazily(tmp_path, 4, [8, 4], [4, 4])
    write(tmp_path, **columns)
    for call in (lambda: zarrcore.open_array(store, path="a", mode="r")[4:], lambda: [*store.list()]):
        with pytest.raises(BaseZarrError, match=reason):
            call()


def test_files_of_parquet_without_number_are_not_asked_for_one_by_one(server: ObjectServer) -> None:
    """A document of 200 bytes had a server asked for 10**18 files."""
    pytest.importorskip("obstore")
    document = {
        "record_size": 1,
        "metadata": {"a/.zarray": DOCUMENT | {"shape": [10**18, 1], "chunks": [1, 1]}},
    }
    server.objects["bucket/refs/.zmetadata"] = json.dumps(document).encode()
    store = ReferenceStore(f"{server.url}/bucket/refs")
    with pytest.raises(StoreError, match="'a': there may be 1000000000000000000 files of references"):
        [*store.list()]


def test_keys_that_are_no_numbers_of_ours_are_absent(tmp_path: Path) -> None:
    store = lazily(tmp_path, 1, [4, 4], [4, 4])
    assert [store.get(key) for key in ("a/" + "9" * 5000 + ".0", "a/\u0660.0")] == [None, None]
