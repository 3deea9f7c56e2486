# SPDX-License-Identifier: MIT
"""Values that are larger than metadata justify are refused before they are read, in every store."""

from __future__ import annotations

import os
import resource
import shutil
import struct
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.codecs import BytesBytesCodec, BytesCodec, ShardingCodec
from zarrcore.config import config
from zarrcore.errors import BaseZarrError, ChunkError, ChunkIOError, StoreError
from zarrcore.experimental.cache_store import CacheStore
from zarrcore.registry import register_codec
from zarrcore.storage import (
    FsspecStore,
    LocalStore,
    LoggingStore,
    MemoryStore,
    Store,
    WrapperStore,
    ZipStore,
    files,
)
from zarrcore.testing.process import in_child

METHODS = {"deflated": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
BOMB = 128 << 20
LARGE = MAX_DOCUMENT_NBYTES + 1


def with_little_memory(check: Callable[[], object]) -> bool:
    """Run a check in a child that has 96 MiB to spare."""

    def limited() -> object:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (96 << 20),) * 2)
        return check()

    if sys.platform != "linux" or "san" in os.environ.get("LD_PRELOAD", ""):
        return bool(check())
    return in_child(limited)


def new(store: Store) -> None:
    array = zarrcore.create_array(store, name="a", shape=4, chunks=1, dtype="i4", compressors=None)
    array[...] = np.arange(1, 5)


def refused(call: Callable[[], object], kind: type[Exception], *words: str) -> bool:
    with pytest.raises(kind) as caught:
        call()
    return all(word in f"{caught.value}" for word in words)


def with_a_value_of(nbytes: int, method: int, path: Path) -> None:
    with ZipStore(path, mode="w", compression=method) as store:
        new(store)
        store.set("a/c/1", bytes(nbytes))
        if method == zipfile.ZIP_DEFLATED:
            store.set("b/zarr.json", b" " * LARGE)


@pytest.fixture(scope="module", params=METHODS.values(), ids=METHODS)
def bomb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """Made once by each method: most of them compress slowly."""
    path = tmp_path_factory.mktemp("bomb") / "a.zip"
    with_a_value_of(BOMB, request.param, path)
    return request.param, path


def test_entries_of_archives_are_not_inflated_beyond_what_can_be(bomb: tuple[int, Path]) -> None:
    method, path = bomb
    store = ZipStore(path)
    array = zarrcore.open_array(store, path="a")
    assert array[2:].tolist() == [3, 4]

    def check() -> bool:
        return (
            refused(lambda: array[1], ChunkError, "'a/c/1'", f"has {BOMB} bytes, at most 4 are possible")
            and refused(lambda: array[:], ChunkError, "chunk (1,)", "at most 4")
            and (
                method != zipfile.ZIP_DEFLATED
                or refused(lambda: zarrcore.open(store, path="b"), BaseZarrError, "b/zarr.json", str(LARGE))
            )
            and store.get("a/c/1", (1, 2)) == bytes(2)
        )

    assert with_little_memory(check)


@pytest.mark.parametrize("claimed", [4, BOMB])
def test_entries_that_lie_about_their_size(claimed: int, bomb: tuple[int, Path], tmp_path: Path) -> None:
    """The size in the directory is not that of what the entry inflates to."""
    path = tmp_path / "a.zip"
    actual = BOMB if claimed == 4 else 4
    if actual == BOMB:
        shutil.copyfile(bomb[1], path)
    else:
        with_a_value_of(actual, bomb[0], path)
    data = path.read_bytes()
    at = data.rindex(b"a/c/1") - 46  # the entry of the central directory
    assert data[at : at + 4] == b"PK\1\2" and int.from_bytes(data[at + 24 : at + 28], "little") == actual
    path.write_bytes(data[: at + 24] + claimed.to_bytes(4, "little") + data[at + 28 :])
    array = zarrcore.open_array(ZipStore(path), path="a")
    assert with_little_memory(lambda: refused(lambda: array[1], ChunkError, "a/c/1"))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_entries_are_read_in_steps(method: int, tmp_path: Path) -> None:
    """All of an entry and ranges of it, as zipfile reads them; damage is an error that names the key."""
    path = tmp_path / "a.zip"
    value = np.random.default_rng(0).integers(0, 9, 3 << 20, dtype="u1").tobytes()
    with ZipStore(path, mode="w", compression=method) as store:
        store.set("k", value)
        store.set("empty", b"")
    store = ZipStore(path)
    assert store.get("k") == value
    assert store.get("empty") == b""
    for start, length in ((0, 1), (1 << 20, 5), ((1 << 21) - 3, 1 << 20), (len(value) - 2, 9)):
        assert store.get("k", (start, length)) == value[start : start + length]
    data = bytearray(path.read_bytes())
    for at in (40, len(data) // 3, len(data) // 2):
        damaged = data.copy()
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="'k'"):
            ZipStore(path).get("k")


def test_a_range_of_a_deflated_entry_is_read_without_what_follows(tmp_path: Path) -> None:
    """What follows is damaged here, which is seen as soon as it is inflated."""
    path = tmp_path / "a.zip"
    value = np.random.default_rng(0).integers(0, 9, 3 << 20, dtype="u1").tobytes()
    with ZipStore(path, mode="w", compression=zipfile.ZIP_DEFLATED) as store:
        store.set("k", value)
    data = bytearray(path.read_bytes())
    for at in range(len(data) // 2, len(data) // 2 + 4096):
        data[at] ^= 0xFF
    path.write_bytes(data)
    assert ZipStore(path).get("k", (10, 1000)) == value[10:1010]
    with pytest.raises(StoreError, match="'k'"):
        ZipStore(path).get("k")


def test_a_dictionary_of_4_gib_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w", compression=zipfile.ZIP_LZMA) as store:
        store.set("k", bytes(1000))
    data = bytearray(path.read_bytes())
    at = data.index(b"k", 30) + 1 + 5  # after the version, the size of the properties and the first of them
    data[at : at + 4] = b"\xff" * 4
    path.write_bytes(data)
    assert with_little_memory(lambda: ZipStore(path).get("k") == bytes(1000))


@dataclass(frozen=True)
class Doubling(BytesBytesCodec):
    """A codec in Python."""

    name: ClassVar[str] = "test.doubling"

    def encode(self, data: Any, spec: Any = None) -> bytes:
        return bytes(data) * 2

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> bytes:
        return bytes(data[: len(data) // 2])


KINDS: dict[str, dict[str, Any]] = {
    "strings": {"dtype": "str"},
    "compressed": {"dtype": "str", "compressors": "zstd"},
    "shards": {"dtype": "str", "shards": 2},
    "python": {"dtype": "i4", "compressors": Doubling()},
}
WRAPPED: dict[str, Callable[[Store], Store]] = {
    "itself": lambda store: store,
    "read-only": lambda store: WrapperStore(store).with_read_only(True),
    "wrapper": WrapperStore,
    "logging": lambda store: LoggingStore(store, "ERROR"),
    "cache": lambda store: CacheStore(store, cache_store=MemoryStore()),
}


def with_too_large_a_chunk(place: str, path: Path, options: dict[str, Any], values: np.ndarray) -> None:
    if place == "archive":
        with ZipStore(path, mode="w", compression=zipfile.ZIP_DEFLATED) as store:
            zarrcore.create_array(store, name="a", **options)[...] = values
            store.set("a/c/1", bytes(BOMB))
        return
    zarrcore.create_array(LocalStore(path), name="a", **options)[...] = values
    with (path / "a" / "c" / "1").open("wb") as file:
        file.truncate(10 << 30)


@pytest.fixture(scope="module")
def made() -> dict[str, Path]:
    """Where each kind of array in each place is, made once: deflating takes most of the time."""
    return {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrapper", WRAPPED)
@pytest.mark.parametrize("place", ["archive", "directory"])
def test_chunks_without_a_size_have_a_limit(
    kind: str, wrapper: str, place: str, made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Strings, and what codecs in Python have made, may be of any size: a setting limits what is read."""
    register_codec(Doubling.name, Doubling)
    options: dict[str, Any] = {"shape": 4, "chunks": 1, "compressors": None, **KINDS[kind]}
    values = np.array(["1", "22", "3", "4"] if options["dtype"] == "str" else [1, 22, 3, 4], options["dtype"])
    if kind == "python" and place == "directory" and wrapper == "itself":
        pytest.skip("read by the engine in C")
    path = made.get(f"{place} {kind}")
    if path is None:
        path = made[f"{place} {kind}"] = tmp_path_factory.mktemp(place) / "a.zip"
        with_too_large_a_chunk(place, path, options, values)
    store = WRAPPED[wrapper](ZipStore(path) if place == "archive" else LocalStore(path))
    first = slice(0, 2 if kind == "shards" else 1)
    last = slice(2, 4)

    def check() -> bool:
        with config.set({"array.max_variable_chunk_bytes": 1 << 20}):
            array = zarrcore.open_array(store, path="a", mode="r")
            assert array[first].tolist() == values[first].tolist()
            many = slice(None)
            chosen = last if kind == "shards" else slice(1, 2)
            return all(
                refused(partial(array.read, at), ChunkError, "a/c/1", "array.max_variable_chunk_bytes")
                for at in (chosen, many)
            )

    assert with_little_memory(check)


def test_what_would_not_be_read_is_not_stored() -> None:
    store = MemoryStore()
    with config.set({"array.max_variable_chunk_bytes": 1000}):
        array = zarrcore.create_array(store, shape=2, chunks=1, dtype="str", compressors=None)
        array[0] = "x" * 900
        with pytest.raises(ChunkError, match=r"at most 1000 are allowed by the setting array\.max_variable"):
            array[0] = "x" * 1000
        assert array[0] == "x" * 900


def test_shards_may_have_the_limit_for_each_inner_chunk(tmp_path: Path) -> None:
    with config.set({"array.max_variable_chunk_bytes": 1000}):
        options: dict[str, Any] = {"shape": 8, "chunks": 1, "shards": 8, "dtype": "str", "compressors": None}
        array = zarrcore.create_array(tmp_path, **options)
        array[...] = values = np.array([f"{n}" * 900 for n in range(8)])
        assert array[...].tolist() == values.tolist()
        assert array[2] == "2" * 900
        with pytest.raises(ChunkError, match=r"at most 1000 are allowed"):
            array[3] = "3" * 1000


def test_a_directory_with_a_document_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with (tmp_path / "b" / "zarr.json").open("wb") as file:
        file.truncate(10 << 30)
    store = LocalStore(tmp_path)
    assert with_little_memory(
        lambda: refused(lambda: zarrcore.open(store, path="b"), BaseZarrError, "b/zarr.json", str(10 << 30))
    )


def test_a_document_that_is_too_large_in_memory() -> None:
    with pytest.raises(BaseZarrError, match=f"zarr.json.* at most {MAX_DOCUMENT_NBYTES} bytes"):
        zarrcore.open({"zarr.json": bytes(LARGE)})


def remote(kind: str, root: Path) -> Store:
    if kind == "obstore":
        pytest.importorskip("obstore")
        import obstore.store

        from zarrcore.storage import ObjectStore

        return ObjectStore(obstore.store.LocalStore(str(root)))
    pytest.importorskip("fsspec")
    return FsspecStore.from_url(f"file://{root}")


@pytest.mark.parametrize("kind", ["fsspec", "obstore"])
def test_chunks_of_remote_stores_are_not_fetched_beyond_what_can_be(kind: str, tmp_path: Path) -> None:
    store: Any = remote(kind, tmp_path)
    new(store)
    with (tmp_path / "a" / "c" / "1").open("wb") as file:
        file.truncate(1 << 30)
    array = zarrcore.open_array(store, path="a")
    assert array[2:].tolist() == [3, 4]
    for selection in (1, ...):
        with pytest.raises(ChunkError, match="'a/c/1'.*at most 4 are possible"):
            array[selection]


def test_a_file_that_no_chunk_can_be_is_not_copied(tmp_path: Path) -> None:
    """Chunks that are copied as they are were read whole, however large their files were."""
    new(LocalStore(tmp_path))
    with (tmp_path / "a" / "c" / "1").open("wb") as file:
        file.truncate(10 << 30)
    array = zarrcore.open_array(tmp_path, path="a")
    copy = lambda: zarrcore.from_array({}, data=array)  # noqa: E731
    assert with_little_memory(lambda: refused(copy, ChunkIOError, "'a/c/1'", "chunk (1,)", str(10 << 30)))


SIZES = [0, 1, (1 << 24) + 1, (50 << 20) + 3]


def objects() -> Store:
    """A store of obstore."""
    return zarrcore.storage.ObjectStore(pytest.importorskip("obstore.store").MemoryStore())


PLACES: dict[str, Callable[[Path], Any]] = {
    "directory": LocalStore,
    "memory": lambda path: MemoryStore(),
    "objects": lambda path: objects(),
}


@pytest.mark.parametrize("dest", PLACES)
@pytest.mark.parametrize("source", PLACES)
def test_values_of_any_size_are_copied(source: str, dest: str, tmp_path: Path) -> None:
    ours, theirs = PLACES[source](tmp_path / "a"), PLACES[dest](tmp_path / "b")
    values = {f"g/k{n}": np.random.default_rng(n).bytes(n) for n in SIZES}
    for key, value in values.items():
        ours.set(key, value)
    copied = zarrcore.copy_store(ours, theirs)
    assert copied == (len(SIZES), 0, sum(SIZES))
    assert {key: bytes(theirs.get(key)) for key in theirs.list()} == values
    zarrcore.copy_store(ours, theirs, if_exists="replace")
    assert {key: bytes(theirs.get(key)) for key in theirs.list()} == values


def test_a_large_value_is_copied_in_parts(tmp_path: Path) -> None:
    """It was read as a whole: a file of a stranger may claim to have any size, and take no room."""
    source = LocalStore(tmp_path / "a")
    source.set("k", b"")
    os.truncate(tmp_path / "a" / "k", 1 << 30)

    def check() -> bool:
        return zarrcore.copy_store(source, LocalStore(tmp_path / "b"), threads=1) == (1, 0, 1 << 30)

    assert with_little_memory(check)
    assert (tmp_path / "b" / "k").stat().st_size == 1 << 30


@pytest.mark.parametrize("where", ["source", "target", "interrupt"])
def test_a_copy_in_parts_that_fails_leaves_the_old_value(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, dest = LocalStore(tmp_path / "a"), LocalStore(tmp_path / "b")
    source.set("k", bytes(1 << 25))
    dest.set("k", b"old")
    span, calls = files.read_span, []

    def fail(*args: Any) -> bytes:
        calls.append(args)
        if len(calls) < 3:
            return span(*args)
        if where == "interrupt":
            raise KeyboardInterrupt
        raise OSError(5, "Input/output error")

    if where == "target":
        (tmp_path / "b" / "k").unlink()
        (tmp_path / "b" / "k" / "x").mkdir(parents=True)
        (tmp_path / "b" / "k" / "x" / "file").write_bytes(b"old")
    else:
        monkeypatch.setattr(files, "read_span", fail)
    with pytest.raises(KeyboardInterrupt if where == "interrupt" else (BaseZarrError, OSError)) as caught:
        zarrcore.copy_store(source, dest, if_exists="replace", threads=1)
    if where == "source":
        assert f"key 'k' in {source}: OSError: [Errno 5]" in str(caught.value)
    assert [bytes(path.read_bytes()) for path in (tmp_path / "b").rglob("*") if path.is_file()] == [b"old"]


@pytest.mark.parametrize("parts", [[], [b"12"], [b"123", b"456"], [b"1", "2"]])
def test_parts_that_are_not_the_value_are_not_stored(parts: list[Any], tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"old")
    with pytest.raises((StoreError, TypeError)):
        store._set_parts("k", 5, iter(parts))
    assert store.get("k") == b"old" and len([*tmp_path.iterdir()]) == 1


def test_parts_of_any_size_make_a_value(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store._set_parts("a/b/k", 6, iter([b"", b"1", bytearray(b"23"), memoryview(b"456"), b""]))
    assert store.get("a/b/k") == b"123456"
    store._set_parts("a/b/k", 0, iter([]))
    assert store.get("a/b/k") == b""
    with pytest.raises(BaseZarrError):
        LocalStore(tmp_path, read_only=True)._set_parts("k", 1, iter([b"1"]))


@pytest.mark.parametrize("change", ["part", "writer", "encoded"])
def test_inner_chunks_of_the_same_bytes_do_not_become_so_many(change: str) -> None:
    """A shard of 1.1 MB, with 4,096 inner chunks at one place, became one of 4.3 GB."""
    text = ShardingCodec(chunk_shape=(1,), codecs=["vlen-utf8"], index_codecs=[BytesCodec()])
    options: Any = {"shape": 256, "dtype": str, "chunks": 256, "compressors": None}
    array = zarrcore.create_array(values := {}, serializer=text, **options)
    body = struct.pack("<II", 1, 1 << 18) + b"x" * (1 << 18)
    index = np.tile(np.array([0, len(body)], "<u8"), (256, 1))
    hostile = values["c/0"] = b"unused" + body + (index + np.array([6, 0], "<u8")).tobytes()

    def write_all() -> None:
        with array.writer() as writer:
            writer[3] = "a"

    changes: dict[str, Callable[[], Any]] = {
        "part": lambda: array.__setitem__(3, "a"),
        "writer": write_all,
        "encoded": lambda: array.encoded(0, inner=3).put(body),
    }
    with config.set({"array.max_variable_chunk_bytes": 1 << 25}):
        array = zarrcore.open_array(values)
        with pytest.raises(ChunkError, match="overlap: of 266254 bytes they would need 67110912"):
            changes[change]()
        assert [key for key, _ in zarrcore.compact(array).damaged] == ["c/0"]
    assert values["c/0"] == hostile
    assert array[7] == "x" * (1 << 18)
    changes["part"]()  # what the setting allows
    assert array[3] == "a" and len(values["c/0"]) > 1 << 25
