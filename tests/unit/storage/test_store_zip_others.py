"""ZIP archives that somebody else writes to meanwhile, and directories that lie about entries."""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError, ChunkIOError, StoreError
from zarrcore.storage import LocalStore, StorePath, ZipStore, local
from zarrcore.testing.process import in_child

has_locks = pytest.mark.skipif(os.name == "nt", reason="archives are locked on POSIX")
VALUES = np.arange(1, 17, dtype="i4")

OPENED: dict[str, Callable[[Path], ZipStore]] = {
    "file": lambda path: ZipStore(path),
    "appending": lambda path: ZipStore(path, mode="a"),
    "file object": lambda path: ZipStore(io.BytesIO(path.read_bytes())),
    "ranges": lambda path: ZipStore(StorePath(LocalStore(path.parent), path.name)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.zip"


def write(path: Path, scale: int = 1) -> None:
    """Write two arrays of shards that have no checksum but that of the archive."""
    plain = [zarrcore.codecs.BytesCodec()]
    codec = zarrcore.codecs.ShardingCodec(chunk_shape=(4,), codecs=plain, index_codecs=plain)
    with ZipStore(path, mode="w") as store:
        for name, factor in (("a", 1), ("b", 100)):
            array = zarrcore.create_array(
                store, name=name, shape=16, chunks=8, dtype="i4", serializer=codec, compressors=None
            )
            array[...] = VALUES * factor * scale


def edited(path: Path, changes: dict[str, dict[int, int]]) -> None:
    """Change words of the directory: by the name of an entry, and by their place in it."""
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\5\6")
    (n,), (at,) = struct.unpack_from("<H", data, end + 10), struct.unpack_from("<I", data, end + 16)
    for _ in range(n):
        lengths = struct.unpack_from("<HHH", data, at + 28)
        name = data[at + 46 : at + 46 + lengths[0]].decode()
        for place, value in changes.get(name, {}).items():
            struct.pack_into("<I", data, at + place, value)
        at += 46 + sum(lengths)
    path.write_bytes(data)


@pytest.mark.parametrize("kind", OPENED)
def test_a_directory_that_leads_to_another_entry_is_an_error(path: Path, kind: str) -> None:
    """A part of a shard was read from whatever entry the directory led to."""
    write(path)
    places = {info.filename: info.header_offset for info in zipfile.ZipFile(path).infolist()}
    edited(path, {"a/c/0": {42: places["b/c/0"]}, "b/c/0": {42: places["a/c/0"]}})
    array = zarrcore.open_array(OPENED[kind](path), path="a", mode="r")
    with pytest.raises(ChunkIOError, match=r"a/c/0.*b/c/0"):
        array[1:2]
    with pytest.raises(StoreError, match=r"a/c/0.*b/c/0"):
        OPENED[kind](path).get("a/c/0", (0, 3))
    assert array[9:10].tolist() == [10]


@pytest.mark.parametrize("kind", OPENED)
@pytest.mark.parametrize("more", [4, 40])
def test_a_directory_that_makes_an_entry_longer_is_an_error(path: Path, kind: str, more: int) -> None:
    """The index of a shard, at its end, was read from bytes after it."""
    write(path)
    size = zipfile.ZipFile(path).getinfo("a/c/0").file_size
    edited(path, {"a/c/0": {20: size + more, 24: size + more}})
    with pytest.raises(ChunkIOError, match=r"a/c/0.*(size|CRC)"):
        zarrcore.open_array(OPENED[kind](path), path="a", mode="r")[1:2]
    with pytest.raises(StoreError, match=r"a/c/0.*size"):
        OPENED[kind](path).get("a/c/0", (size, size + 3))


def test_an_entry_that_ends_in_another_one_is_an_error(path: Path) -> None:
    """Where sizes follow the value, the local header has none that could show it."""

    class Unseekable(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.data += bytes(data)
            return len(data)

    target = Unseekable()
    with zipfile.ZipFile(target, "w") as archive:  # type: ignore[arg-type]
        archive.writestr("a", b"0123456789")
        archive.writestr("b", b"abcdefghij")
    path.write_bytes(target.data)
    assert ZipStore(path).get("a", (2, 3)) == b"234"
    edited(path, {"a": {20: 60, 24: 60}})
    with pytest.raises(StoreError, match="overlaps"):
        ZipStore(path).get("a", (2, 3))
    assert ZipStore(path).get("b", (2, 3)) == b"cde"


def test_a_name_that_goes_on_after_its_end_is_refused(path: Path) -> None:
    """zipfile ends a name at a NUL, so that such an entry took the place of another one."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"first")
        archive.writestr("a?b", b"second")
    path.write_bytes(path.read_bytes().replace(b"a?b", b"a\0b"))
    with pytest.raises(StoreError, match="no key"):
        ZipStore(path).get("a")


@pytest.mark.parametrize("kind", ["file", "appending"])
def test_an_archive_that_is_written_over_is_an_error(path: Path, kind: str) -> None:
    """`mode="w"` writes over a file that others have open: new values were read by the old directory."""
    write(path)
    array = zarrcore.open_array(OPENED[kind](path), path="a", mode="r")
    assert array[1:2].tolist() == [2]
    write(path, 1000)
    with pytest.raises(ChunkIOError, match="a/c/1"):
        array[9:10]
    with pytest.raises(ChunkIOError, match="a/c/0"):
        array[1:2]
    array.store.close()
    assert array[9:10].tolist() == [10_000]


def test_an_archive_that_is_appended_to_is_read_as_it_was(path: Path) -> None:
    write(path)
    array = zarrcore.open_array(ZipStore(path), path="a", mode="r")
    assert array[1:2].tolist() == [2]
    with ZipStore(path, mode="a") as store:
        zarrcore.open_array(store, path="a")[...] = VALUES * 5
        assert array[9:10].tolist() == [10]
    np.testing.assert_array_equal(array[...], VALUES)
    array.store.close()
    np.testing.assert_array_equal(array[...], VALUES * 5)


@has_locks
def test_two_stores_do_not_write_over_each_others_entries(path: Path) -> None:
    """The second one to close hid, or wrote over, what the first one had appended."""
    write(path)
    first, second = ZipStore(path, mode="a"), ZipStore(path, mode="a")
    assert first.get("x") is None and second.get("x") is None  # both are open
    first.set("x", b"first")
    with pytest.raises(StoreError, match=r"store\.zip is being written to by another store"):
        second.set("y", b"second")
    for mode in ("w", "a"):
        with pytest.raises(StoreError, match=r"being written to|unfinished"):
            ZipStore(path, mode=mode).set("y", b"third")  # type: ignore[arg-type]
    first.close()
    second.set("y", b"second")
    assert second.get("x") == b"first" and not second.set_if_not_exists("x", b"second")
    second.close()
    assert zipfile.ZipFile(path).testzip() is None
    assert {"x", "y", "a/zarr.json", "b/zarr.json"} <= set(ZipStore(path).list())


@has_locks
def test_a_store_that_was_not_closed_does_not_write_over_a_new_archive(path: Path) -> None:
    store = ZipStore(path, mode="w")
    store.set("x", b"first")
    with pytest.raises(StoreError, match="being written to"):
        write(path)
    del store
    assert ZipStore(path).get("x") == b"first"
    write(path)
    assert zarrcore.open_array(path, path="b", mode="r")[1] == 200


@has_locks
def test_reading_in_a_mode_that_writes_locks_nothing(path: Path) -> None:
    write(path)
    arrays = [zarrcore.open_array(path, path=name, mode="r+") for name in ("a", "b")]
    assert [array[1] for array in arrays] == [2, 200]
    arrays[0].store.set_if_not_exists("a/zarr.json", b"")
    arrays[1][0] = 7
    arrays[1].store.close()
    arrays[0][0] = 8
    arrays[0].store.close()
    assert [zarrcore.open_array(path, path=name, mode="r")[0] for name in ("a", "b")] == [8, 7]


@has_locks
def test_a_part_of_a_chunk_that_another_store_has_changed_is_not_lost(path: Path) -> None:
    """The new value was made of the one that the archive had had when it was opened."""
    write(path)
    first, second = (zarrcore.open_array(ZipStore(path, mode="a"), path="a", mode="r+") for _ in range(2))
    assert first[0] == second[0] == 1
    first[0] = 70
    first.store.close()
    with pytest.raises(ChunkIOError, match="a/c/0.*another store has changed it since"):
        second[1] = 80
    second[9] = 90  # of another chunk
    with pytest.raises(ChunkIOError, match="being written to"):
        first[2] = 60
    second[1] = 80
    second.store.close()
    with pytest.raises(ChunkIOError, match="another store has changed it since"):
        first[2] = 60
    first[2] = 60
    first.store.close()
    expected = [70, 80, 60, *VALUES[3:]]
    expected[9] = 90
    assert zarrcore.open_array(path, path="a", mode="r")[...].tolist() == expected


@pytest.mark.parametrize("kind", ["file", "ranges"])
def test_no_chunk_of_an_archive_that_was_closed_is_kept(path: Path, kind: str) -> None:
    write(path)
    array = zarrcore.open_array(OPENED[kind](path), path="a", mode="r").with_cache(1 << 20)
    assert array[1:3].tolist() == array[1:3].tolist() == [2, 3]
    write(path, 10)
    array.store.close()
    assert array[1:3].tolist() == [20, 30]


@has_locks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_does_not_keep_an_archive_locked(path: Path) -> None:
    def wait(of: int) -> bool:
        return os.read(of, 1) == b"."

    write(path)
    store = ZipStore(path, mode="a")
    store.set("x", b"value")
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if wait(reads) else 1)
    store.close()
    with ZipStore(path, mode="a") as other:
        other.set("y", b"value")
    os.write(writes, b".")
    assert os.waitpid(pid, 0)[1] == 0
    os.close(reads)
    os.close(writes)
    assert in_child(lambda: ZipStore(path).get("y") == b"value")


@has_locks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_ends_neither_completes_nor_unlocks_an_archive(path: Path) -> None:
    """It wrote a directory into the archive of its parent, which went on, and let others write to it."""
    store = ZipStore(path, mode="w")
    store.set("x", b"value")
    size = path.stat().st_size

    def collect() -> bool:
        nonlocal store
        del store
        gc.collect()
        return path.stat().st_size == size

    assert in_child(collect)
    with ZipStore(path, mode="a") as other, pytest.raises(StoreError):
        other.set("y", b"value")
    store.set("z", b"value")
    store.close()
    assert zipfile.ZipFile(path).namelist() == ["x", "z"]


@has_locks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_writer_that_is_killed_keeps_no_archive_locked(path: Path) -> None:
    """A worker process that had inherited the descriptor kept others from the archive as long as it lived."""
    of_child, tell = os.pipe()
    if (writer := os.fork()) == 0:
        store = ZipStore(path, mode="w")
        store.set("x", b"value")
        if os.fork() == 0:
            os.write(tell, os.getpid().to_bytes(8, "little"))
        signal.pause()
    worker = int.from_bytes(os.read(of_child, 8), "little")
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    try:
        with ZipStore(path, mode="w") as store:
            store.set("y", b"value")
    finally:
        os.kill(worker, signal.SIGKILL)
        os.close(of_child)
        os.close(tell)


@has_locks
def test_an_error_of_the_system_at_the_lock_of_an_archive_names_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another store was said to write to it."""

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    write(path)
    monkeypatch.setattr("fcntl.flock", fail)
    code = errno.EIO
    with pytest.raises(OSError, match=f"{os.strerror(code)}.*{path.name}"):
        ZipStore(path, mode="a").set("y", b"value")
    code = errno.ENOLCK  # the file system has no locks
    with ZipStore(path, mode="a") as store:
        store.set("y", b"value")


APPENDS = """
import sys
import time
from zarrcore.errors import StoreError
from zarrcore.storage import ZipStore
path, name = sys.argv[1:]
stored = []
for n in range(60):
    store = ZipStore(path, mode="a")
    try:
        store.get("x")
        store.set(f"{name}/{n}", name.encode() * 100)
        store.close()
        stored.append(n)
    except StoreError:
        time.sleep(0.01)  # else one process may be refused each time, on few cores
print(*stored)
"""


@has_locks
def test_no_entry_of_several_processes_is_lost(path: Path) -> None:
    """An archive to which another one wrote was taken for none, and a second one was appended."""
    write(path)
    names = ["p", "q", "r"]
    commands = [[sys.executable, "-c", APPENDS, str(path), name] for name in names]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    stored = [child.communicate()[0].split() for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert all(stored)
    assert zipfile.ZipFile(path).testzip() is None
    found = set(ZipStore(path).list())
    assert found >= {f"{name}/{n}" for name, those in zip(names, stored, strict=True) for n in those}
    assert "a/c/1" in found


def test_an_archive_without_zip64_can_be_completed(path: Path) -> None:
    """The value that made it too large was taken, and then the directory could not be written."""
    with ZipStore(path, mode="w", allowZip64=False) as store:
        store.set("a", b"value")
        with store._archive.held() as archive:
            archive.start_dir = (1 << 31) - 500
        with pytest.raises(StoreError, match=r"'b'.*2 GiB.*allowZip64"):
            store.set("b", bytes(400))
        assert store.get("b") is None
        with store._archive.held() as archive:
            archive.start_dir = 1 << 10
    assert ZipStore(path).get("a") == b"value"


@pytest.mark.parametrize("kind", OPENED)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of a read that was interrupted
def test_an_interrupt_leaves_no_archive_locked(path: Path, kind: str) -> None:
    """In the moment in which the lock was taken or released; other threads then waited for ever."""
    write(path)
    steps, kept, is_done = 0, [], []

    def interrupt(frame: Any, event: str, argument: Any) -> None:
        nonlocal steps
        if event in ("call", "return"):
            steps -= 1
            if steps == 0:
                raise KeyboardInterrupt

    def use() -> bool:
        return store.get("a/zarr.json") is not None and len(list(store.list_prefix("a/"))) > 1

    store = OPENED[kind](path)
    assert use()  # what is imported then is not of interest
    for number in range(1, 2000):
        steps = number
        sys.setprofile(interrupt)
        try:
            use()
        except KeyboardInterrupt as error:
            kept.append(error)  # as IPython keeps its traceback
        finally:
            sys.setprofile(None)
        (thread := threading.Thread(target=lambda: is_done.append(use()), daemon=True)).start()
        thread.join(60)
        assert is_done.pop(), f"after {number} steps"
        if steps > 0:
            break
    assert number > len(kept) > 10
    kept.clear()
    gc.collect()


def opened_young(path: Path, monkeypatch: pytest.MonkeyPatch) -> zarrcore.Array:
    """An array in an archive that was written so lately that its file had no version; now it has one."""
    monkeypatch.setattr(local, "_YOUNG", 1 << 62)
    array = zarrcore.open_array(OPENED["ranges"](path), path="a", mode="r")
    assert array[9:10].tolist() == [10]
    monkeypatch.setattr(local, "_YOUNG", 0)
    return array


def test_an_archive_may_be_read_for_longer_than_it_is_young(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened it within three seconds of its writing was told later that it had been replaced."""
    write(path)
    array = opened_young(path, monkeypatch)
    assert array[...].tolist() == VALUES.tolist()
    assert array[1:2].tolist() == [2]


def test_an_archive_that_was_replaced_while_it_was_young_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path)
    array = opened_young(path, monkeypatch)
    write(path, scale=2)
    with pytest.raises(ChunkIOError, match="has been replaced"):
        array[...]


def test_what_was_written_to_an_archive_that_is_gone_was_lost_without_a_word(path):
    for take_away in (path.unlink, lambda: (path.parent / "other").replace(path)):
        (path.parent / "other").write_bytes(b"other")
        store = ZipStore(path, mode="w")
        store.set("a", b"value")
        take_away()
        with pytest.raises(StoreError, match="was replaced or removed while it was written to"):
            store.close()
        path.unlink(missing_ok=True)


def test_an_archive_that_could_not_be_completed_was_restored_into_another_file(path, monkeypatch):
    write(path)
    store = ZipStore(path, mode="a")
    store.set("k", b"value")
    path.rename(path.parent / "old")
    path.write_bytes(b"other" * 10_000)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "_write_end_record", fail)
    with pytest.raises(OSError, match="No space"):
        store.close()
    assert path.read_bytes() == b"other" * 10_000
    assert "k" not in [*ZipStore(path.parent / "old").list()]


@pytest.mark.parametrize("mode", ["w", "a"])
def test_an_interrupt_while_an_archive_was_completed_lost_all_entries(path, monkeypatch, mode):
    write(path)
    store = ZipStore(path, mode=mode)
    store.set("k", b"value")
    complete, done = zipfile.ZipFile._write_end_record, []

    def interrupted_once(archive):
        if not done:
            done.append(archive.fp.write(b"a part of it"))
            raise KeyboardInterrupt
        complete(archive)

    monkeypatch.setattr(zipfile.ZipFile, "_write_end_record", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    assert ZipStore(path).get("k") == b"value"


def test_an_array_was_read_with_the_metadata_of_another_archive(path):
    with ZipStore(path, mode="w") as store:
        zarrcore.from_array(store, data=VALUES, chunks=8)
    store = ZipStore(path)
    array = zarrcore.open_array(store, mode="r")
    assert (array[:] == VALUES).all()
    store.close()
    path.unlink()
    with ZipStore(path, mode="w") as other:
        zarrcore.from_array(other, data=VALUES.astype("f4"), chunks=8)
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        array[:]


def test_a_damaged_name_was_an_absent_chunk_through_a_url_of_fsspec(path):
    with ZipStore(path, mode="w") as store:
        zarrcore.from_array(store, data=VALUES, chunks=8)
    data = path.read_bytes()
    path.write_bytes(data[::-1].replace(b"1/c", b"1_c", 1)[::-1])  # in the directory, at the end
    for url in (f"zip::{path}", f"zip::file://{path}"):
        array = zarrcore.open_array(url, mode="r")
        with pytest.raises(ChunkIOError, match="local header"):
            array[:]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
@pytest.mark.parametrize("mode", ["r", "w", "a"])
def test_a_fifo_in_the_place_of_an_archive_was_waited_for(path, mode):
    os.mkfifo(path)
    with pytest.raises(StoreError, match="is no file"):
        ZipStore(path, mode=mode).get("a")
