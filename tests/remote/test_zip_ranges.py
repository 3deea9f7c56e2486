# SPDX-License-Identifier: MIT
"""ZIP archives in other stores: what is asked for, and that they are read as archives on a disk are."""

from __future__ import annotations

import io
import multiprocessing
import pickle
import re
import struct
import threading
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import ReadOnlyError, StoreError
from zarrcore.storage import (
    CacheStore,
    LocalStore,
    LoggingStore,
    MemoryStore,
    OffsetByteRequest,
    StorePath,
    SuffixByteRequest,
    ZipStore,
    make_store,
    resolve_range,
)
from zarrcore.storage.spans import joined

VALUES = np.arange(1000 * 1000, dtype="i4").reshape(1000, 1000)
PARTS = [None, (0, 0), (2, 3), (4, None), (400, 5), OffsetByteRequest(3), SuffixByteRequest(4)]


def archive(entries: Any, method: int = zipfile.ZIP_STORED, **options: Any) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method, **options) as made:
        warnings.simplefilter("ignore")
        for name, value in entries:
            made.writestr(name, value)
    return file.getvalue()


def both(data: bytes, tmp_path: Path, name: str = "a.zip") -> tuple[ZipStore, ZipStore]:
    (tmp_path / name).write_bytes(data)
    return ZipStore(tmp_path / name), ZipStore(StorePath(LocalStore(tmp_path), name))


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as error:
        return type(error).__name__, re.sub(r"^\S+", "", str(error))


# --- the same as on a disk ---


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
@pytest.mark.parametrize("part", PARTS)
def test_entries_are_those_of_the_archive(tmp_path: Path, method: int, part: Any) -> None:
    data = archive(
        [("a/", b""), ("a/b", b"0123456789"), ("c", b"old"), ("c", b"new"), ("empty", b"")], method
    )
    near, far = both(data, tmp_path)
    assert sorted(far.list()) == sorted(near.list()) == ["a/b", "c", "empty"]
    keys = ["a/b", "c", "a", "empty", "a/b"]
    assert far.get_partial_values([(key, part) for key in keys]) == [near.get(key, part) for key in keys]
    assert [far.get(key, part) for key in keys] == [near.get(key, part) for key in keys]
    assert far.getsize("a/b") == 10


@pytest.mark.parametrize("unseekable", [True, False])
@pytest.mark.parametrize("extra", [0, 4, 60, 5000, 60_000])
def test_local_headers_of_any_length(tmp_path: Path, extra: int, unseekable: bool) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return not unseekable

        def tell(self) -> int:
            if unseekable:
                raise OSError
            return super().tell()

    file = Pipe()
    random = np.random.default_rng(1)
    values = {f"{n}": random.bytes(int(random.integers(1, 100_000))) for n in range(20)}
    with zipfile.ZipFile(file, "w") as made:
        for name, value in values.items():
            info = zipfile.ZipInfo(name)
            info.extra = struct.pack("<HH", 0xCAFE, extra) + bytes(extra) if extra else b""
            made.writestr(info, value)
            info.extra = b""  # the directory has another one
    _, far = both(file.getvalue(), tmp_path)
    for part in PARTS:
        found = far.get_partial_values([(name, part) for name in values])
        assert found == [value[slice(*resolve_range(part, len(value)))] for value in values.values()]


def _damaged() -> dict[str, bytes]:
    whole = archive([("a", b"0123456789" * 50), ("b", b"x" * 400)])
    deflated = archive([("a", b"0123456789" * 50), ("b", b"x" * 400)], zipfile.ZIP_DEFLATED)
    directory = whole.index(b"PK\1\2")
    return {
        "empty": b"",
        "text": b"this is no archive" * 20,
        "cut": whole[:-30],
        "without its head": whole[100:],
        "a value": whole.replace(b"0123456789", b"012345678X", 1),
        "a header": whole.replace(b"PK\3\4", b"PK\3\5", 1),
        "an offset": whole[: directory + 42] + struct.pack("<I", 1 << 30) + whole[directory + 46 :],
        "a size": whole[: directory + 20] + struct.pack("<II", 1 << 28, 1 << 28) + whole[directory + 28 :],
        "encrypted": whole[: directory + 8] + b"\1" + whole[directory + 9 :],
        "an unknown method": whole[: directory + 10] + b"\x63" + whole[directory + 11 :],
        "a deflated value": deflated[:45] + b"\xff\xff" + deflated[47:],
        "the place of the directory": whole[:-6] + struct.pack("<I", 1 << 31) + whole[-2:],
        "the size of the directory": whole[:-10] + struct.pack("<I", 1 << 31) + whole[-6:],
        "a name above": archive([("../a", b"")]),
        "an absolute name": archive([("/a", b"")]),
    }


@pytest.mark.parametrize("what", _damaged())
def test_damage_is_the_same_error(tmp_path: Path, what: str) -> None:
    near, far = both(_damaged()[what], tmp_path)
    for part in (None, (3, 5), SuffixByteRequest(5)):
        for key in ("a", "b", "c"):
            expected = outcome(near.get, key, part)
            found = outcome(far.get, key, part)
            assert found == expected or (isinstance(found, tuple) and found[0] == expected[0] == "StoreError")


def test_any_byte_that_is_another_one(tmp_path: Path) -> None:
    whole = bytearray(archive([("a", b"01234"), ("b/c", b"x" * 40)], zipfile.ZIP_DEFLATED))
    for at in range(len(whole)):
        whole[at] ^= 0x15
        near, far = both(bytes(whole), tmp_path)
        for key in ("a", "b/c"):
            expected, found = outcome(near.get, key), outcome(far.get, key)
            assert type(found) is type(expected), (at, expected, found)
            if not isinstance(found, tuple):
                assert found == expected
        whole[at] ^= 0x15


def test_a_large_claim_is_refused_before_it_is_read(tmp_path: Path) -> None:
    data = archive([("zarr.json", bytes(10)), ("c", bytes(10))])
    at = data.index(b"PK\1\2")
    (tmp_path / "a.zip").write_bytes(data[: at + 20] + struct.pack("<II", 1 << 30, 1 << 30) + data[at + 28 :])
    source = LoggingStore(LocalStore(tmp_path), "ERROR")
    store = ZipStore(StorePath(source, "a.zip"))
    with pytest.raises(StoreError, match="at most"):
        store.get("zarr.json")


def test_what_is_written_is_refused(tmp_path: Path) -> None:
    _, far = both(archive([("a", b"1")]), tmp_path)
    for call in (
        lambda: far.set("b", b""),
        lambda: far.delete("a"),
        lambda: far.clear(),
        lambda: ZipStore(StorePath(MemoryStore(), "a.zip"), mode="w"),
    ):
        with pytest.raises(ReadOnlyError):
            call()
    with pytest.raises(FileNotFoundError):
        ZipStore(StorePath(MemoryStore(), "a.zip")).get("k")


# --- over a network ---


@pytest.fixture
def words(server: ObjectServer) -> dict[str, Any]:
    pytest.importorskip("obstore")
    return {"key": "testing", "secret": "s", "endpoint_url": server.url}


def packed(tmp_path: Path, **layout: Any) -> bytes:
    path = tmp_path / "made.zip"
    with ZipStore(path, mode="w") as store:
        root = zarrcore.create_group(store)
        root.create_array("a", data=VALUES, **layout)
        root.create_array("b", data=np.arange(10))
        zarrcore.consolidate_metadata(store)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["data.zip", "data.ozx"])
@pytest.mark.parametrize("scheme", ["s3", "http"])
def test_a_url_of_an_archive(
    server: ObjectServer, words: dict[str, Any], tmp_path: Path, name: str, scheme: str
) -> None:
    server.objects[f"bucket/some dir/{name}"] = packed(tmp_path, chunks=(100, 1000))
    if scheme == "s3":
        url, options = f"s3://bucket/some dir/{name}", words
    else:
        url, options = f"{server.url}/bucket/some%20dir/{name}", {}
    with server.watch() as seen:
        group = zarrcore.open_group(url, mode="r", storage_options=options)
        assert sorted(group) == ["a", "b"]
    assert seen.requests[0].range == "bytes=-131072"
    assert len(seen.requests) == seen.waves <= 2  # the directory, and the documents
    with server.watch() as seen:
        assert np.array_equal(group["a"][...], VALUES)
    assert seen.waves <= 2, str(seen)
    assert seen.nbytes < VALUES.nbytes + 100_000
    assert name in str(group.store)
    with pytest.raises(ReadOnlyError, match="mode 'r'"):
        zarrcore.open_group(url, mode="r+", storage_options=options)


def test_many_entries_are_one_wave_of_joined_ranges(server: ObjectServer, words: Any, tmp_path: Path) -> None:
    server.objects["bucket/a.zip"] = packed(tmp_path, chunks=(10, 1000), compressors=None)
    array = zarrcore.open_array("s3://bucket/a.zip", path="a", mode="r", storage_options=words)
    with server.watch() as seen:
        assert np.array_equal(array[::20], VALUES[::20])  # every second chunk
    assert (len(seen.requests), seen.waves) == (1, 1), str(seen)
    with server.watch() as seen:
        assert np.array_equal(array[::100], VALUES[::100])  # every tenth: they lie far apart
    assert (len(seen.requests), seen.waves) == (10, 1), str(seen)
    assert seen.nbytes < 10 * (40_000 + 1000)


def test_shards_are_read_by_ranges(server: ObjectServer, words: Any, tmp_path: Path) -> None:
    layout: dict[str, Any] = {"chunks": (50, 50), "shards": (500, 500), "compressors": None}
    server.objects["bucket/a.zip"] = packed(tmp_path, **layout)
    array = zarrcore.open_array("s3://bucket/a.zip", path="a", mode="r", storage_options=words)
    with server.watch() as seen:
        assert np.array_equal(array[:50, :50], VALUES[:50, :50])
    assert seen.waves == 2, str(seen)
    assert seen.nbytes < 20_000
    with server.watch() as seen:
        assert np.array_equal(array[50:100, 50:100], VALUES[50:100, 50:100])
    assert (len(seen.requests), seen.waves, seen.nbytes) == (1, 1, 10_000), str(seen)
    assert np.array_equal(array[...], VALUES)


def test_an_archive_that_was_replaced_is_an_error(server: ObjectServer, words: Any, tmp_path: Path) -> None:
    for conditions in (True, False):
        server.conditions = conditions
        server.objects["bucket/a.zip"] = packed(tmp_path, chunks=(100, 1000), compressors=None)
        array = zarrcore.open_array("s3://bucket/a.zip", path="a", mode="r", storage_options=words)
        assert np.array_equal(array[:10], VALUES[:10])
        data = bytearray(server.objects["bucket/a.zip"])
        data[len(data) // 2] ^= 1
        server.objects["bucket/a.zip"] = bytes(data)
        with pytest.raises(zarrcore.errors.BaseZarrError, match="replaced since it was opened"):
            array[10:20]
        server.objects["bucket/a.zip"] = packed(tmp_path, chunks=(100, 1000))
        array.store.close()
        again = zarrcore.open_array(array.store, path="a", mode="r")
        assert np.array_equal(again[10:20], VALUES[10:20])


def test_faults_are_errors(server: ObjectServer, words: Any, tmp_path: Path) -> None:
    words["retry_config"] = {"max_retries": 0}
    server.objects["bucket/a.zip"] = packed(tmp_path, chunks=(100, 1000))
    array = zarrcore.open_array("s3://bucket/a.zip", path="a", mode="r", storage_options=words)
    for kind in (403, 500, "reset", "truncated", "whole"):
        server.fail(kind, "a.zip")
        with pytest.raises(zarrcore.errors.BaseZarrError):
            array[...]
        server.mend()
        assert np.array_equal(array[...], VALUES)


def test_a_directory_longer_than_the_tail(server: ObjectServer, words: Any) -> None:
    entries = [(f"a-long-name-of-an-entry/number/{n}", b"%d" % n) for n in range(5000)]
    server.objects["bucket/a.zip"] = archive(entries)
    store = make_store("s3://bucket/a.zip", storage_options=words)
    with server.watch() as seen:
        assert len([*store.list()]) == 5000
    assert (len(seen.requests), seen.waves) == (2, 2)
    names = [name for name, _ in entries[::500]]
    assert store.get_many(names) == [value for _, value in entries[::500]]


def test_copies_of_ranges_on_a_disk(server: ObjectServer, words: Any, tmp_path: Path) -> None:
    server.objects["bucket/a.zip"] = packed(tmp_path, chunks=(100, 1000))
    for number in range(2):
        far = make_store("s3://bucket", storage_options=words)
        near = CacheStore(far, tmp_path / "near", max_bytes=1 << 30, immutable=True)
        with server.watch() as seen:
            array = zarrcore.open_array(ZipStore(StorePath(near, "a.zip")), path="a", mode="r")
            assert np.array_equal(array[...], VALUES)
        assert bool(seen.requests) is (number == 0)


def test_stores_without_versions(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(packed(tmp_path, chunks=(100, 1000)))
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe_file("/archives/a.zip", (tmp_path / "a.zip").read_bytes())
    array = zarrcore.open_array("memory://archives/a.zip", path="a", mode="r")
    assert np.array_equal(array[...], VALUES)


def test_threads_pickles_and_children(tmp_path: Path) -> None:
    _, far = both(packed(tmp_path, chunks=(100, 1000)), tmp_path)
    array = zarrcore.open_array(far, path="a", mode="r")
    wrong: list[int] = []

    def work(n: int) -> None:
        for row in range(n, 1000, 97):
            if not np.array_equal(array[row], VALUES[row]):
                wrong.append(row)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert np.array_equal(pickle.loads(pickle.dumps(array))[5], VALUES[5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply(_row, (array, 7)) == VALUES[7].sum()


def _row(array: zarrcore.Array, row: int) -> int:
    return int(array[row].sum())


def test_joining() -> None:
    assert joined([]) == []
    assert joined([(5, 9), (0, 3), (2, 4), (6, 7)]) == [(0, 9)]
    far = 1 << 30
    assert joined([(far, far + 1), (0, 1)]) == [(0, 1), (far, far + 1)]
    step = 1 << 20
    assert joined([(n * step, (n + 1) * step) for n in range(8)]) == [
        (0, 4 * step),
        (4 * step, 8 * step),
    ]
