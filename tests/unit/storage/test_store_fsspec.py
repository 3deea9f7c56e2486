"""Stores over fsspec: the conformance suite, and what is particular to them."""

from __future__ import annotations

import asyncio
import ftplib
import inspect
import io
import multiprocessing
import os
import pickle
import sys
import tarfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkIOError, CopyError, InvalidKeyError, StoreError
from zarrcore.storage import (
    FsspecStore,
    LocalStore,
    ObjectStore,
    RangeByteRequest,
    SuffixByteRequest,
    make_store,
)
from zarrcore.testing.process import in_child
from zarrcore.testing.store import StoreTests
from zarrcore.testing.threads import in_threads

fsspec = pytest.importorskip("fsspec")

from fsspec.asyn import AsyncFileSystem  # noqa: E402
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # noqa: E402
from fsspec.implementations.dirfs import DirFileSystem  # noqa: E402
from fsspec.implementations.local import LocalFileSystem  # noqa: E402
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402


def memory_filesystem():
    return fsspec.filesystem("memory", global_store=False, skip_instance_cache=True)


class TestMemoryFilesystem(StoreTests):
    atomic_create = False

    def make_store(self, tmp_path):
        return FsspecStore(memory_filesystem(), path="/below/here")

    def reopened(self, store):
        return store


class TestRootOfMemoryFilesystem(TestMemoryFilesystem):
    def make_store(self, tmp_path):
        return FsspecStore(memory_filesystem())


class TestLocalFilesystem(StoreTests):
    def make_store(self, tmp_path):
        return FsspecStore(fsspec.filesystem("file"), path=str(tmp_path / "not" / "yet there"))


class SlowFileSystem(AsyncFileSystem):
    """An asynchronous filesystem over a dictionary that counts how many requests it has at a time."""

    protocol = "slow"
    cachable = False

    def __init__(self, *args, values=None, fails=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.values = {} if values is None else values
        self.fails = {} if fails is None else fails
        self.now = self.most = 0

    async def _cat_file(self, path, start=None, end=None, **kwargs):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.002)
        self.now -= 1
        if path in self.fails:
            raise self.fails[path]
        if path not in self.values:
            raise FileNotFoundError(path)
        if start is not None and start >= len(self.values[path]):
            raise OSError("Requested Range Not Satisfiable")
        return self.values[path][start:end]

    async def _info(self, path, **kwargs):
        if path not in self.values:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.values[path]), "type": "file"}

    async def _pipe_file(self, path, value, mode="overwrite", **kwargs):
        if mode == "create" and path in self.values:
            raise FileExistsError(path)
        self.values[path] = value

    async def _rm_file(self, path, **kwargs):
        if path not in self.values:
            raise FileNotFoundError(path)
        del self.values[path]

    async def _ls(self, path, detail=True, **kwargs):
        start = f"{path}/" if path else ""
        inside = [key[len(start) :].partition("/") for key in self.values if key.startswith(start)]
        if not inside:
            raise FileNotFoundError(path)
        kinds = {start + name: "directory" if slash else "file" for name, slash, _ in inside}
        if not detail:
            return list(kinds)
        return [{"name": name, "size": 0, "type": kind} for name, kind in kinds.items()]


class TestAsynchronousFilesystem(StoreTests):
    atomic_create = False

    def make_store(self, tmp_path):
        return FsspecStore(SlowFileSystem(asynchronous=False), path="bucket/here")

    def reopened(self, store):
        return store

    def test_readers_see_whole_values(self, store):
        pytest.skip("every request waits on purpose, which makes this test slow")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no functions are marked as those of coroutines")
def test_a_loop_that_makes_a_coroutine_for_one_call_does_not_wait_for_another() -> None:
    """The coroutine of the other call ran in another loop than the connections of the filesystem."""
    loops = set()

    class LateFileSystem(SlowFileSystem):
        @inspect.markcoroutinefunction
        def _pipe_file(self, path, value, mode="overwrite", **kwargs):
            time.sleep(0.2)
            loops.add(asyncio.get_running_loop())
            return super()._pipe_file(path, value, mode, **kwargs)

    fs = LateFileSystem()
    store = FsspecStore(fs, path="bucket")
    in_threads(*[partial(store.set, f"k{number}", b"value") for number in range(4)])
    assert loops == {fs.loop} and len(fs.values) == 4


def test_a_loop_that_is_busy_with_short_calls_of_this_package_does_not_wait_for_another() -> None:
    """As that of zarr-python is, which runs the codec pipeline."""
    loops = set()

    class WatchedFileSystem(SlowFileSystem):
        async def _pipe_file(self, path, value, mode="overwrite", **kwargs):
            loops.add(asyncio.get_running_loop())
            await super()._pipe_file(path, value, mode, **kwargs)

    names: dict[str, Any] = {"__name__": "zarrcore.busy", "sleep": time.sleep}
    exec("def short(): sleep(0.03)", names)
    fs = WatchedFileSystem()
    fs.loop.call_soon_threadsafe(lambda: [names["short"]() for _ in range(12)])
    FsspecStore(fs, path="bucket").set("k", b"value")
    assert loops == {fs.loop}


def slow_array(**kwargs):
    fs = SlowFileSystem()
    store = FsspecStore(fs, path="bucket")
    array = zarrcore.create_array(store, shape=(40, 10), chunks=(1, 10), dtype="i4", **kwargs)
    array[...] = np.arange(400).reshape(40, 10)
    return fs, array


def test_chunks_are_fetched_side_by_side():
    fs, array = slow_array()
    fs.most = 0
    assert np.array_equal(array[...], np.arange(400).reshape(40, 10))
    assert fs.most == 40
    fs.most = 0
    with zarrcore.config.set({"async.concurrency": 5}):
        assert array[::2, 3].tolist() == list(range(3, 400, 20))
    assert fs.most == 5


def test_a_failure_is_no_absent_chunk():
    fs, array = slow_array()
    del fs.values["bucket/c/3/0"]
    assert array[3].tolist() == [0] * 10
    for error in (PermissionError("no"), TimeoutError("late"), RuntimeError("of the client")):
        fs.fails = {"bucket/c/7/0": error}
        with pytest.raises(ChunkIOError, match="c/7/0") as caught:
            array[...]
        assert caught.value.chunk == (7, 0)
        assert array[8, 0] == 80
        with pytest.raises(StoreError, match=f"c/7/0.*{error}"):
            array.store.get("c/7/0")


@pytest.mark.parametrize("answer", [5, [1, 2], "text", None], ids=str)
def test_an_answer_that_is_no_bytes_is_an_error(answer):
    """5 was taken for five zero bytes."""

    class Odd(SlowFileSystem):
        async def _cat_file(self, path, start=None, end=None, **kwargs):
            return answer

    store = FsspecStore(Odd(values={"root/a": b"value"}), path="root")
    for call in (
        lambda: store.get("a"),
        lambda: store.get("a", (0, 2)),
        lambda: zarrcore.copy_store(store, {}),
    ):
        with pytest.raises(StoreError, match=r"'a'.*the filesystem answers with \w+, which is no bytes"):
            call()


def test_a_server_that_ignores_ranges():
    class Whole(SlowFileSystem):
        async def _cat_file(self, path, start=None, end=None, **kwargs):
            return await super()._cat_file(path)

    store = FsspecStore(Whole(values={"k": b"0123456789"}), path="")
    assert store.get("k") == b"0123456789"
    for byte_range in (RangeByteRequest(2, 4), SuffixByteRequest(3)):
        with pytest.raises(StoreError, match="'k'.*asked for"):
            store.get("k", byte_range)


def test_a_long_range_that_begins_after_the_end_is_empty(tmp_path):
    """It was an error where the filesystem would make room for all of it."""
    for store in (FsspecStore.from_url(f"file://{tmp_path}"), FsspecStore(memory_filesystem(), path="/a")):
        store.set("k", b"0123456789")
        assert store.get("k", RangeByteRequest(20, 1 << 31)) == b""
        assert store.get("k", RangeByteRequest(8, 1 << 31)) == b"89"


def test_forms_of_a_filesystem():
    values = {"a/k": b"v"}
    for fs in (
        SlowFileSystem(values=values),
        SlowFileSystem(values=values, asynchronous=True),
        AsyncFileSystemWrapper(memory_filesystem(), asynchronous=True),
    ):
        store = FsspecStore(fs, path="a")
        store.set("k", b"v")
        assert store.get("k") == b"v"
        assert store.fs is fs
    with pytest.raises(TypeError, match="fsspec"):
        FsspecStore("s3://bucket")


def test_references_of_an_event_loop_are_the_ones_that_are_written():
    """A copy of them was, which was lost, and what others wrote later was read as fill values."""
    from fsspec.implementations.reference import ReferenceFileSystem

    fs = ReferenceFileSystem({"k": b"old"}, asynchronous=True)
    store = FsspecStore(fs)
    store.set("k", b"new")
    assert fs.references["k"] == b"new" and store.get("k") == b"new"
    fs.references["later"] = b"value"
    assert store.get("later") == b"value"
    array = zarrcore.create_array(store, name="a", shape=4, chunks=2, dtype="i4")
    array[:] = [1, 2, 3, 4]
    assert zarrcore.open_array(FsspecStore(ReferenceFileSystem(fs.references)), path="a")[:].tolist() == [
        1,
        2,
        3,
        4,
    ]


@pytest.mark.parametrize("directory", [False, True])
def test_filesystems_over_ones_of_an_event_loop(tmp_path, directory):
    """It was an error that the filesystem below is an asynchronous one."""
    from fsspec.implementations.dirfs import DirFileSystem
    from fsspec.implementations.reference import ReferenceFileSystem

    (tmp_path / "file").write_bytes(b"0123456789")
    below = SlowFileSystem(values={"d/k": b"3456"}, asynchronous=True)
    if directory:
        fs = DirFileSystem("d", below, asynchronous=True)
    else:
        fs = ReferenceFileSystem(
            {"k": ["slow://d/k"], "here": [f"{tmp_path}/file", 3, 4]}, fs=below, asynchronous=True
        )
        below.values["slow://d/k"] = below.values["d/k"]
        fs.fss[None] = AsyncFileSystemWrapper(fsspec.filesystem("file"), asynchronous=True)
        assert FsspecStore(fs, path="").get("here") == b"3456"
    store = FsspecStore(fs, path="")
    assert store.get("k") == b"3456"
    assert fs.asynchronous and below.asynchronous and store.fs is fs


def test_filesystems_that_cannot_write():
    class Html(SlowFileSystem):
        _pipe_file = AsyncFileSystem._pipe_file

    with pytest.raises(StoreError, match="'k'.*not possible"):
        FsspecStore(Html(), path="a").set("k", b"")


def test_names_that_look_like_patterns():
    for fs in (memory_filesystem(), SlowFileSystem()):
        store = FsspecStore(fs, path="/r")
        for key in ("a/x*", "a/xy", "b[1]/k", "b1/k", "c?/k", "cc/k"):
            store.set(key, b"1")
        store.delete("a/x*")
        store.erase_prefix("b[1]")
        store.erase_prefix("c?")
        assert sorted(store.list()) == ["a/xy", "b1/k", "cc/k"]


def test_an_array_in_zarr_python_too(tmp_path):
    url = f"memory://{tmp_path.name}-{id(tmp_path)}"
    array = zarrcore.create_array(
        url, storage_options={}, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="f8", name="g/a"
    )
    array[...] = np.arange(64.0).reshape(8, 8)
    store = FsspecStore.from_url(url)
    assert set(store.list_dir("")) == {"zarr.json", "g"}
    zarr = pytest.importorskip("zarr")
    theirs = zarr.open_array(zarr.storage.FsspecStore.from_url(url), path="g/a", mode="r+")
    assert np.array_equal(theirs[...], array[...])
    theirs[5] = -1
    assert array[4:6, 0].tolist() == [32, -1]


def test_what_stands_for_a_store_of_fsspec(tmp_path):
    mapper = fsspec.get_mapper(f"memory://{tmp_path.name}")
    store = make_store(mapper, mode="r")
    assert isinstance(store, FsspecStore)
    assert store.read_only
    mapper["k"] = b"v"
    assert store.get("k") == b"v"
    assert str(store) == f"memory:///{tmp_path.name}"
    ours = make_store("memory://" + tmp_path.name)
    assert isinstance(ours, FsspecStore)
    ours.set("from us", b"1")
    assert mapper["from us"] == b"1"
    with pytest.raises(TypeError, match="storage_options"):
        make_store("file:///x", storage_options={"a": 1})
    with pytest.raises(StoreError, match="nosuch"):
        make_store("nosuch://x")
    assert list(make_store(f"dir::file://{tmp_path}").list()) == []


def test_a_path_of_universal_pathlib(tmp_path):
    upath = pytest.importorskip("upath")
    store = make_store(upath.UPath(f"memory://{tmp_path.name}"))
    assert isinstance(store, FsspecStore)
    store.set("k", b"v")
    assert fsspec.filesystem("memory").cat(f"/{tmp_path.name}/k") == b"v"
    assert make_store(upath.UPath(tmp_path)) == LocalStore(tmp_path)


def test_pickle_and_fork(tmp_path):
    store = FsspecStore(fsspec.filesystem("file"), path=str(tmp_path))
    store.set("k", b"v")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(store.get, ("k",)) == b"v"


def test_files_of_this_machine_are_known_as_such(tmp_path):
    """What is removed before it is written anew may be what is to be read."""
    (tmp_path / "link").symlink_to(tmp_path / "real")
    array = zarrcore.create_array(tmp_path / "real", name="a", data=np.arange(4), chunks=2)
    store = FsspecStore.from_url(f"file://{tmp_path}/link")
    with pytest.raises(ValueError, match="would be removed first"):
        zarrcore.from_array(store, name="a", data=array, overwrite=True)
    with pytest.raises(CopyError, match="one of them lies in the other"):
        zarrcore.copy(array, zarrcore.open_group(store), if_exists="replace")
    with pytest.raises(CopyError, match="lies in it"):
        zarrcore.copy_store(store, LocalStore(tmp_path / "real"), if_exists="replace")
    assert array[...].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("protocol", ["memory", "file", "obstore"])
def test_names_that_listings_leave_out_are_refused(tmp_path, protocol):
    """A group of such a name was stored, and was no member of the one above it: a copy went without it."""
    if protocol == "obstore":
        store = ObjectStore(pytest.importorskip("obstore.store").LocalStore(tmp_path))
    else:
        store = FsspecStore(fsspec.filesystem(protocol), path=str(tmp_path / "x"))
    root = zarrcore.create_group(store)
    for name in (".zc-locks", ".zc-0123456789abcdef.partial"):
        with pytest.raises(InvalidKeyError, match="the name is for temporary files"):
            root.create_group(name)
        with pytest.raises(InvalidKeyError, match="the name is for temporary files"):
            root.create_array(f"a/{name}/b", data=np.arange(3))
    assert "b" not in str(root.tree())


class Partial(fsspec.AbstractFileSystem):
    """Files of which one directory cannot be listed, as on a server of SFTP or SMB."""

    protocol = "partial"
    cachable = False
    root_marker = "/"
    reason: Exception = PermissionError("not yours")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.files = fsspec.filesystem("file")

    def ls(self, path, detail=False, **kwargs):
        if path.endswith("/b/c"):
            raise self.reason
        return self.files.ls(path, detail, **kwargs)

    def info(self, path, **kwargs):
        return self.files.info(path, **kwargs)

    def cat_file(self, path, start=None, end=None, **kwargs):
        return self.files.cat_file(path, start, end, **kwargs)


@pytest.mark.parametrize(
    "reason", [PermissionError("not yours"), ConnectionResetError("gone"), TimeoutError()]
)
@pytest.mark.parametrize("wrap", [lambda fs: fs, lambda fs: AsyncFileSystemWrapper(fs, asynchronous=False)])
def test_a_directory_that_cannot_be_listed_is_an_error(tmp_path, reason, wrap):
    """Its files were left out without a word, so that a copy went without them."""
    root = zarrcore.create_group(tmp_path)
    root["a"], root["b"] = np.arange(3), np.arange(4)
    fs = Partial()
    fs.reason = reason
    store = FsspecStore(wrap(fs), path=str(tmp_path))
    for look in (
        lambda: list(store.list()),
        lambda: list(store._list_sizes("b/")),
        lambda: zarrcore.copy_store(store, {}),
    ):
        with pytest.raises(StoreError, match=type(reason).__name__):
            look()
    assert sorted(store.list_prefix("a/")) == ["a/c/0", "a/zarr.json"]


@pytest.mark.parametrize(
    "what", ["The specified bucket does not exist", "The specified container does not exist."]
)
def test_a_bucket_that_is_gone_is_no_array_of_fill_values(what):
    """The packages raise for it what they raise for an absent value."""
    fs = memory_filesystem()
    array = zarrcore.create_array(FsspecStore(fs, path="/b"), name="a", data=np.arange(1, 5), chunks=2)

    class Gone(type(fs)):
        def _open(self, path, *args, **kwargs):
            raise FileNotFoundError(what)

        cat_file = info = ls = find = _open

    fs.__class__ = Gone
    for read in (lambda: array[...], lambda: array[0]):
        with pytest.raises(ChunkIOError, match=what):
            read()
    for look in (
        lambda: zarrcore.open_array(array.store, path="a", mode="r"),
        lambda: zarrcore.open_group(array.store, mode="r"),
        lambda: array.store.exists("a/c/0"),
        lambda: list(array.store.list()),
        lambda: list(array.store.list_dir("a")),
    ):
        with pytest.raises(StoreError, match=what):
            look()


@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
def test_a_cache_of_files_answers_for_what_is_absent(tmp_path, cache):
    """One absent key of several was an error for all of them: no group could be opened."""
    root = zarrcore.create_group(FsspecStore(fsspec.filesystem("file"), path=str(tmp_path / "data")))
    root.create_array("a", shape=6, chunks=2, dtype="i4", fill_value=-1)[:2] = [1, 2]
    options = {cache: {"cache_storage": str(tmp_path / cache)}}
    store = FsspecStore.from_url(f"{cache}::file://{tmp_path}/data", options)
    for _ in range(2):
        group = zarrcore.open_group(store, mode="r")
        assert group["a"][:].tolist() == [1, 2, -1, -1, -1, -1]
        assert store.get_many(["zarr.json", "nothing", "a/c/0"])[1] is None
        assert list(group) == ["a"]


@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
def test_half_of_a_file_that_a_cache_is_fetching_is_no_value(tmp_path: Path, cache: str) -> None:
    """fsspec fetches a file under the name that it is kept by: another thread read what was there of it."""
    is_half, is_read = threading.Event(), threading.Event()

    class InHalves(LocalFileSystem):  # type: ignore[misc]
        cachable = False

        def get_file(self, path: str, target: str, **options: Any) -> None:
            Path(target).write_bytes(Path(path).read_bytes()[:3])
            is_half.set()
            is_read.wait(0.2)
            super().get_file(path, target, **options)

    (tmp_path / "key").write_bytes(b"a value")
    fs = fsspec.filesystem(cache, fs=InHalves(), cache_storage=str(tmp_path / cache))
    store, found = FsspecStore(fs, path=str(tmp_path)), []
    first = threading.Thread(target=lambda: found.append(store.get("key")))
    first.start()
    assert is_half.wait(10)
    found.append(store.get("key"))
    is_read.set()
    first.join()
    assert found == [b"a value"] * 2


@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
def test_a_file_that_a_cache_failed_to_fetch_is_not_kept(tmp_path: Path, cache: str) -> None:
    """What there was of it was read as the whole from then on, by all processes with that cache."""

    class Broken(LocalFileSystem):  # type: ignore[misc]
        cachable = False
        is_broken = True

        def get_file(self, path: str, target: str, **options: Any) -> None:
            if self.is_broken and path.endswith("b"):
                Path(target).write_bytes(Path(path).read_bytes()[:3])
                raise ConnectionResetError("in the middle")
            super().get_file(path, target, **options)

    for name in "abc":
        (tmp_path / name).write_bytes(b"value " + name.encode())
    fs = Broken()
    store = FsspecStore(
        fsspec.filesystem(cache, fs=fs, cache_storage=str(tmp_path / cache)), path=str(tmp_path)
    )
    for ask in (lambda: store.get("b"), lambda: store.get_many("abc"), lambda: store.get("b")):
        with pytest.raises(StoreError, match="key 'b'.*in the middle"):
            ask()
    assert store.get("a") == b"value a"
    fs.is_broken = False
    assert store.get_many("abc") == [b"value a", b"value b", b"value c"]


def tarred(tmp_path: Path, values: np.ndarray) -> str:
    """The path of an array in an archive, a chunk for each row."""
    root = tmp_path / "data"
    zarrcore.create_array(root, data=values, chunks=(1, values.shape[1]), compressors=None)
    with tarfile.open(tmp_path / "data.tar", "w") as archive:
        archive.add(root, arcname="data")
    return str(tmp_path / "data.tar")


def test_threads_read_the_bytes_of_each_other_through_one_open_file(tmp_path: Path) -> None:
    """Of fsspec's `tar::`, whose files all move the place in the same one; the values were wrong."""
    is_within = threading.Event()
    overlaps = []

    class File(io.FileIO):
        def read(self, *args: Any) -> Any:
            overlaps.append(is_within.is_set())
            is_within.set()
            time.sleep(0.001)
            found = super().read(*args)
            is_within.clear()
            return found

    values = np.arange(1, 41).reshape(8, 5)
    fs = fsspec.filesystem("tar", fo=File(tarred(tmp_path, values)))
    stores = FsspecStore(fs, path="data"), FsspecStore(DirFileSystem("data", fs), path="")
    arrays = [zarrcore.open_array(store, mode="r") for store in stores]
    overlaps.clear()
    in_threads(*(partial(array.__getitem__, row) for array in arrays for row in range(8)))
    assert len(overlaps) >= 16
    assert not any(overlaps)
    assert all(np.array_equal(array[...], values) for array in arrays)
    fs.fo.close()


@pytest.mark.parametrize("kind", ["path", "directory", "open file"])
def test_a_child_reads_an_archive_by_a_file_of_its_own(tmp_path: Path, kind: str) -> None:
    """It moved the place in the file of its parent, which read wrong values."""
    values = np.arange(1, 41).reshape(8, 5)
    path = tarred(tmp_path, values)
    fs = fsspec.filesystem("tar", fo=io.FileIO(path) if kind == "open file" else path)
    is_below = kind == "directory"
    store = FsspecStore(DirFileSystem("data", fs) if is_below else fs, path="" if is_below else "data")
    array = zarrcore.open_array(store, mode="r")
    place = fs.fo.tell()

    def child() -> bool:
        nodes = zarrcore.create_group(tmp_path / "nodes")
        nodes.create_array("a", shape=1, dtype="i1")
        nodes.move("a", "b")  # looks where the other arrays are
        if kind == "open file":
            with pytest.raises(StoreError, match="the parent of this process has opened"):
                array[...]
            return True
        return np.array_equal(array[...], values)

    assert in_child(child)
    assert fs.fo.tell() == place
    assert np.array_equal(array[...], values)
    fs.fo.close()


def test_a_child_has_a_connection_of_its_own(tmp_path: Path) -> None:
    class Connected(MemoryFileSystem):  # type: ignore[misc]
        protocol = "sftp"
        store: ClassVar[dict[str, Any]] = {}

        def __init__(self, host: str) -> None:
            super().__init__()
            self.connected_by = os.getpid()

        def cat_file(self, path: str, *args: Any, **options: Any) -> bytes:
            return str(self.connected_by).encode()

    store = FsspecStore(Connected("host"))
    for each in (store, FsspecStore(DirFileSystem("/data", store.fs), path="")):
        assert each.get("key") == b"%d" % os.getpid()
        assert in_child(lambda each=each: each.get("key") == b"%d" % os.getpid())


def test_a_child_does_not_begin_an_archive_again(tmp_path: Path) -> None:
    store = FsspecStore(fsspec.filesystem("zip", fo=str(tmp_path / "data.zip"), mode="w"), path="")
    store.set("key", b"value")
    assert in_child(lambda: store.exists("key"))
    store.fs.close()
    assert FsspecStore.from_url(f"zip::file://{tmp_path}/data.zip").get("key") == b"value"


@pytest.mark.parametrize("damage", ["cut", "header"])
def test_an_archive_that_is_cut_off_has_no_fill_values(tmp_path: Path, damage: str) -> None:
    """The module tarfile takes that for the end: chunks after it were absent."""
    values = np.arange(1, 41).reshape(8, 5)
    path = Path(tarred(tmp_path, values))
    with tarfile.open(path) as archive:
        *_, last = archive
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[last.offset :]
    else:
        data[last.offset + 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=f"data.tar is cut off, or damaged, at byte {last.offset}"):
        FsspecStore.from_url(f"tar::file://{path}")


@pytest.mark.parametrize("reply", ["421 Too many connections", "530 Not logged in", "550 Permission denied"])
def test_what_a_server_for_ftp_refuses_is_not_absent(reply: str) -> None:
    """fsspec says that the file is not found, whatever the reply was."""

    class Refused(MemoryFileSystem):  # type: ignore[misc]
        store: ClassVar[dict[str, Any]] = {}
        reply: ClassVar[str] = "550 No such file"

        def cat_file(self, path: str, *args: Any, **options: Any) -> bytes:
            raise FileNotFoundError(path) from ftplib.error_temp(self.reply)

    store = FsspecStore(Refused())
    assert store.get("key") is None
    Refused.reply = reply
    with pytest.raises(StoreError, match=f"key 'key'.*{reply}"):
        store.get("key")


def test_files_are_not_written_past_a_filesystem_of_a_user(tmp_path: Path) -> None:
    """Whatever was stored went past it, into files of the system: under one that encrypts, in plain text."""

    class Turned(LocalFileSystem):  # type: ignore[misc]
        cachable = False

        def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> bytes:
            return bytes(byte ^ 0x55 for byte in super().cat_file(path, start=start, end=end, **options))

        def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **options: Any) -> None:
            super().pipe_file(path, bytes(byte ^ 0x55 for byte in value), mode=mode, **options)

    store = FsspecStore(Turned(), path=str(tmp_path))
    group, values = zarrcore.create_group(store), np.arange(64).reshape(8, 8)
    array = group.create_array("a", data=values, chunks=(2, 2), shards=(4, 4), compressors=None)
    assert np.array_equal(zarrcore.open_array(store, path="a")[...], values)
    array[1:3, 5] = -1
    assert np.array_equal(array[:4, 4:], np.where(np.isin(values, [13, 21]), -1, values)[:4, 4:])
    sparse = group.create_array("b", shape=4, chunks=2, dtype="i4", fill_value=7)
    assert sparse[:].tolist() == [7, 7, 7, 7]
    assert not any(b"node_type" in path.read_bytes() for path in tmp_path.rglob("zarr.json"))
    assert zarrcore.verify(store).ok


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
@pytest.mark.parametrize("what", ["document", "chunk", "chunk of strings", "several"])
def test_a_fifo_in_the_place_of_a_file_was_waited_for(tmp_path: Path, what: str) -> None:
    """A read waited without end for somebody to write to it."""
    store = FsspecStore.from_url(f"file://{tmp_path}")
    dtype = "string" if what == "chunk of strings" else "i4"
    array = zarrcore.create_array(store, name="a", shape=4, chunks=2, dtype=dtype)
    array[...] = np.ones(4, "i4").astype(str if dtype == "string" else "i4")
    path = tmp_path / "a" / ("zarr.json" if what == "document" else "c/1")
    path.unlink()
    os.mkfifo(path)
    failures: list[Exception] = []

    def read() -> None:
        try:
            if what == "document":
                zarrcore.open_array(store, path="a")
            else:
                array[:] if what == "several" else array[3]
        except Exception as error:
            failures.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    if reader.is_alive():
        path.write_bytes(b"")  # so that it ends
    assert "no regular file" in str(failures[0])
    if what != "document":
        assert array[0] == array[1]


def test_a_path_is_taken_for_a_url(tmp_path: Path) -> None:
    """As fsspec and zarr-python take one."""
    store = FsspecStore.from_url(tmp_path)  # type: ignore[arg-type]
    store.set("a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


class EndingFileSystem(SlowFileSystem):
    """Each request raises `ends`, in its own coroutine or in a task of it."""

    ends: BaseException | None = None

    @staticmethod
    def ending(name):
        async def method(self, *args, **kwargs):
            if self.ends is not None:
                raise self.ends
            return await getattr(SlowFileSystem, name)(self, *args, **kwargs)

        return method

    _cat_file, _info, _pipe_file, _rm_file, _ls = map(
        ending, ("_cat_file", "_info", "_pipe_file", "_rm_file", "_ls")
    )


@pytest.mark.parametrize("ends", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_ends_the_event_loop_of_a_filesystem_is_not_waited_for_without_end(ends):
    """The loop ended in its thread, and the call waited for it, as did all calls after it."""

    def opened():
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        return FsspecStore(EndingFileSystem(loop=loop, values=dict(values)), path="bucket")

    values = {}
    store = FsspecStore(SlowFileSystem(values=values), path="bucket")
    zarrcore.create_array(store, data=np.arange(8), chunks=2)
    calls = {
        "read": lambda store, array: array[...],
        "write": lambda store, array: array.__setitem__(..., 5),
        "one": lambda store, array: store.get("c/0"),
        "size": lambda store, array: store.getsize("c/0"),
        "remove": lambda store, array: store.delete("c/0"),
        "list": lambda store, array: list(store.list()),
        "names": lambda store, array: list(store.list_dir("")),
    }
    for name, call in calls.items():
        store = opened()
        array = zarrcore.open_array(store)
        store.fs.ends = ends
        with pytest.raises((zarrcore.errors.BaseZarrError, type(ends))) as error:
            call(store, array)
        assert error.type is type(ends) or "event loop" in str(error.value), (name, error.value)
        store.fs.ends = None
        if store.fs.loop.is_running():
            assert zarrcore.open_array(store)[2:4].tolist() == [2, 3], name
        else:
            with pytest.raises(zarrcore.errors.NodeIOError, match="event loop"):
                zarrcore.open_array(store)


def test_a_directory_of_a_filesystem_refuses_without_its_credentials() -> None:
    """It has no filesystem below it any more."""
    fs = DirFileSystem("d", fsspec.filesystem("memory"), token="secret")
    store = pickle.loads(pickle.dumps(FsspecStore(fs, path="a")))
    for call in (store.get, store.exists, store.list_dir, store.delete):
        with pytest.raises(StoreError, match="without the credentials"):
            list(call("b"))
