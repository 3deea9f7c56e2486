"""What a LocalStore promises beyond the suite: the file system as it is, and interrupted writers."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import zarrcore
from zarrcore.config import config
from zarrcore.errors import ChunkIOError, InvalidKeyError, StoreError
from zarrcore.storage import LocalStore, OffsetByteRequest, files, moving
from zarrcore.testing.process import in_child

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX files")
PARTIAL = ".zc-0123456789abcdef.partial"


@pytest.fixture
def store(tmp_path):
    return LocalStore(tmp_path / "root")


def partials(store):
    return [name for _, _, names in os.walk(store.root) for name in names if files.is_temporary(name)]


# --- the root ---


def test_reading_makes_no_directory(store):
    assert store.get("a") is None
    assert list(store.list()) == []
    store.delete("a")
    store.erase_prefix("a")
    assert not store.root.exists()
    store.set("a", b"")
    assert store.root.is_dir()


@pytest.mark.parametrize("name", ["a-b_c.d~e", "a b", "a%b", "naïve", "a+b", "a:b", "a\udc80b"])
def test_a_store_is_named_by_the_url_of_its_root(name, tmp_path):
    assert str(LocalStore(tmp_path / name)) == (tmp_path / name).as_uri()
    assert str(LocalStore("/")) == Path("/").absolute().as_uri()


def test_the_root_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = LocalStore("data")
    store.set("a", b"value")
    monkeypatch.chdir("/")
    assert store.get("a") == b"value"
    assert store.root == tmp_path / "data"


def test_the_text_is_a_uri(tmp_path):
    assert str(LocalStore("/my data")) == "file:///my%20data"
    assert LocalStore(tmp_path) == LocalStore(str(tmp_path))
    assert hash(LocalStore(tmp_path)) == hash(LocalStore(tmp_path))
    assert LocalStore(tmp_path) != LocalStore(tmp_path / "a")


def test_a_file_as_root_is_an_error(tmp_path):
    (tmp_path / "store.zip").write_bytes(b"PK")
    store = LocalStore(tmp_path / "store.zip")
    for call in (lambda: store.get("a"), lambda: store.get_many(["a"]), lambda: list(store.list())):
        with pytest.raises(StoreError, match="expected a directory"):
            call()


@pytest.mark.parametrize("root", [None, 3, b"bytes"])
def test_a_root_is_a_path(root):
    with pytest.raises(TypeError, match="LocalStore"):
        LocalStore(root)


def test_open(tmp_path):
    with pytest.raises(FileNotFoundError):
        LocalStore.open(tmp_path / "absent", mode="r")
    assert LocalStore.open(tmp_path, mode="r").read_only
    assert not LocalStore.open(tmp_path, mode="r+").read_only


def test_move(store, tmp_path):
    store.set("a", b"value")
    with pytest.raises(FileExistsError):
        store.move(tmp_path)
    store.move(tmp_path / "x" / "y")
    assert store.get("a") == b"value"
    assert not (tmp_path / "root").exists()


def to_another_file_system(monkeypatch, dies=""):
    """Have renames fail as between two file systems, and a program die in one of the steps of a move."""
    rename, remove = os.rename, moving.remove_directory

    def renamed(source, target, **options):
        if "partial" not in os.path.basename(source):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target, **options)
        if dies == "renamed":
            os._exit(7)

    def removed(source, *above, **options):
        if dies == "removing":
            os.unlink(f"{source}/a")
            os._exit(7)
        remove(source, *above, **options)

    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(moving, "remove_directory", removed)
    if dies == "copying":
        copy2 = shutil.copy2

        def copied(source, target, **options):
            copy2(source, target, **options)
            os._exit(7)

        monkeypatch.setattr(shutil.copytree, "__defaults__", (False, None, copied, False, False))


@posix
@pytest.mark.parametrize("dies", ["copying", "renamed", "removing"])
def test_a_move_that_was_killed_is_repeated_and_leaves_nothing(store, tmp_path, monkeypatch, dies):
    for key in ("a", "b/c", "b/d"):
        store.set(key, key.encode())
    pid = os.fork()
    if pid == 0:
        to_another_file_system(monkeypatch, dies)
        store.move(tmp_path / "x" / "y")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    above = LocalStore(tmp_path)
    found = [f for f in zarrcore.verify(above) if f.kind == "temporary"]
    assert [f.key.startswith("x/.zc-") for f in found] == ([True] if dies == "copying" else [])
    assert list(above.list_dir("x")) == ([] if dies == "copying" else ["y"])
    to_another_file_system(monkeypatch)
    store.move(tmp_path / "x" / "y")
    assert {key: store.get(key) for key in store.list()} == {key: key.encode() for key in ("a", "b/c", "b/d")}
    assert sorted(os.listdir(tmp_path)) == ["x"] and os.listdir(tmp_path / "x") == ["y"]


@posix
@pytest.mark.parametrize("other", ["has it locked", "has removed it", "removes it before it is locked"])
def test_a_move_does_not_lose_its_copy_to_another_one(store, tmp_path, monkeypatch, other):
    """Another one may take the directory, as long as it is not locked, for what a killed one has left."""
    fcntl = pytest.importorskip("fcntl")
    keys = ["a", "b/c", "b/d"]
    for key in keys:
        store.set(key, key.encode())
    mkdir, flock = os.mkdir, fcntl.flock
    taken = []

    def made(path, *mode, **options):
        mkdir(path, *mode, **options)
        if "partial" in os.path.basename(path) and not taken:
            taken.append(path)
            assert os.stat(path).st_mode & 0o777 == 0o700
            if other == "has it locked":
                flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)
            elif other == "has removed it":
                os.rmdir(path)

    def locked(fd, how):
        if other == "removes it before it is locked" and os.path.exists(taken[0]):
            os.rmdir(taken[0])
        flock(fd, how)

    store.root.chmod(0o750)
    to_another_file_system(monkeypatch)
    rename = os.rename

    def renamed(source, target, **options):
        with contextlib.suppress(BlockingIOError):
            flock(os.open(source, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert "partial" not in source, "what is copied to is not locked"
        rename(source, target, **options)

    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(os, "mkdir", made)
    monkeypatch.setattr(fcntl, "flock", locked)
    store.move(tmp_path / "target")
    assert {key: store.get(key) for key in store.list()} == {key: key.encode() for key in keys}
    assert os.listdir(tmp_path) == ["target"]
    assert store.root.stat().st_mode & 0o777 == 0o750


@posix
def test_a_move_leaves_what_it_may_not_remove(store, tmp_path, monkeypatch):
    def refused(*_, **options):
        raise PermissionError(errno.EACCES, "that of somebody else")

    store.set("a", b"value")
    (tmp_path / PARTIAL).mkdir()
    to_another_file_system(monkeypatch)
    monkeypatch.setattr(moving, "remove_copy", refused)
    store.move(tmp_path / "target")
    assert store.get("a") == b"value"


@posix
def test_repair_removes_the_copy_of_a_move_that_was_killed_and_of_no_other(store, tmp_path):
    copy = tmp_path / "x" / PARTIAL
    (copy / "c").mkdir(parents=True)
    (copy / "zarr.json").write_bytes(b"{}")
    report = zarrcore.verify(tmp_path)
    assert [f.key for f in report if f.kind == "temporary"] == [f"x/{PARTIAL}"]

    def repaired(min_age):
        actions = zarrcore.repair(report, dry_run=False, min_age=min_age)
        return [(action.done, action.message) for action in actions]

    assert repaired(3600) == [(False, "was written less than 3600 seconds ago")]
    with moving._locked(copy):
        assert repaired(-1) == [(False, "belongs to a move that is under way")]
    assert repaired(-1) == [(True, "removed")]
    assert not copy.exists()


@posix
@pytest.mark.parametrize("there", ["link", "mount", "other", "less", "empty", "within"])
def test_a_move_takes_nothing_for_its_copy_that_is_none(store, tmp_path, there):
    store.set("a", b"value")
    store.set("b/c", b"value")
    target = tmp_path / "target"
    if there == "link":
        target.symlink_to(store.root)
    elif there == "within":
        target = store.root / "b"
        shutil.copytree(store.root, tmp_path / "copy")
        (tmp_path / "copy").rename(target / "copy")
    else:
        shutil.copytree(store.root, target)
    if there == "mount":  # as if a directory were seen twice
        (target / "b" / "c").unlink()
        os.link(store.root / "b" / "c", target / "b" / "c")
    elif there == "other":
        (target / "b" / "c").write_bytes(b"other")
    elif there == "less":
        (target / "b" / "c").unlink()
    elif there == "empty":
        store.clear()
    with pytest.raises(FileExistsError):
        store.move(target)
    assert there == "empty" or (store.get("a"), store.get("b/c")) == (b"value", b"value")


@posix
@pytest.mark.parametrize("inner", ["", "group/"])
def test_a_move_takes_a_store_that_has_more_for_no_copy(store, tmp_path, inner):
    """What the store lacks was not removed by a move, for the document above it is there."""
    for name in ("zarr.json", "c/0"):
        store.set(inner + name, b"value")
    target = tmp_path / "target"
    shutil.copytree(store.root, target)
    (target / inner / "c" / "1").write_bytes(b"more")
    with pytest.raises(FileExistsError):
        store.move(target)
    assert sorted(store.list()) == [inner + "c/0", inner + "zarr.json"]
    store.delete(inner + "zarr.json")  # as the move of it would have done first
    store.move(target)
    assert (target / inner / "c" / "1").read_bytes() == b"more"


# --- what is not a file ---


def test_a_directory_is_no_value(store):
    store.set("a/b", b"")
    assert not store.exists("a")
    for call in (store.get, store.getsize, store.delete, lambda key: store.get_many([key])):
        with pytest.raises(StoreError, match=r"directory|expected a file"):
            call("a")
    with pytest.raises(StoreError, match="key 'a': a directory is in its place"):
        store.set("a", b"")
    assert list(store.list()) == ["a/b"]
    assert partials(store) == []


@posix
@pytest.mark.parametrize("fsync", [False, True])
def test_a_value_takes_the_name_of_a_directory_that_has_lost_its_values(fsync, tmp_path):
    store = LocalStore(tmp_path, fsync=fsync)
    values = {}
    for key in ("0/0", "0", "0/0/0/0", "0", "1/0/0", "1", "1/1"):
        for old in [*values]:
            if old.startswith(f"{key}/") or key.startswith(f"{old}/"):
                store.delete(old)
                del values[old]
        store.set(key, key.encode())
        values[key] = key.encode()
        assert {key: store.get(key) for key in store.list()} == values
    store.delete("0")
    store.set("0/0", b"")
    store.delete("0/0")
    assert store.set_if_not_exists("0", b"new")
    assert not store.set_if_not_exists("0", b"newer")
    assert store.get("0") == b"new"
    store.delete("1/1")
    store.delete("1")  # which there is not, as a value
    assert os.listdir(tmp_path) == ["0"]
    assert partials(store) == []


@posix
def test_a_directory_with_a_file_in_it_stays_as_it_is(store):
    (store.root / "a/empty/inner").mkdir(parents=True)
    for name, make in (
        ("a/file", lambda path: path.write_bytes(b"value")),
        ("a/empty/.zc-locks", lambda path: path.touch()),
        ("a/link", lambda path: path.symlink_to("nowhere")),
    ):
        make(store.root / name)
        for call in (lambda: store.set("a", b""), lambda: store.delete("a")):
            with pytest.raises(StoreError, match="directory"):
                call()
        assert not store.set_if_not_exists("a", b"")
        assert (store.root / "a/empty/inner").is_dir()
        assert os.path.lexists(store.root / name)
        (store.root / name).unlink()
    store.set("a", b"value")
    assert store.get("a") == b"value"


@posix
def test_arrays_take_the_place_of_emptied_directories(store):
    store.set("0/c/0/0", b"")
    store.delete("0/c/0/0")
    array = zarrcore.create_array(store, name="0", shape=4, chunks=2, dtype="i4", compressors=None)
    array[:] = [1, 2, 3, 4]  # "0/c/0" was a directory
    assert array[:].tolist() == [1, 2, 3, 4]
    group = zarrcore.open_group(store)
    group.move("0", "1")
    store.set("2/c/0/0", b"")
    store.delete("2/c/0/0")
    group.move("1", "2")
    assert group["2"][:].tolist() == [1, 2, 3, 4]
    assert {*store.list()} == {"zarr.json", "2/zarr.json", "2/c/0", "2/c/1"}


@posix
def test_two_processes_that_make_a_value_and_a_directory_of_one_name_lose_nothing(tmp_path):
    # Whatever was stored without an error is there until it is removed.
    script = """
import sys
from zarrcore.errors import StoreError
from zarrcore.storage import LocalStore
store, key = LocalStore(sys.argv[1]), sys.argv[2]
done = 0
for number in range(1500):
    value = b"%d" % number
    try:
        stored = store.set_if_not_exists(key, value) if number % 3 == 0 else store.set(key, value) or True
    except StoreError as error:
        assert "directory" in str(error), error
        continue
    if stored:
        assert store.get(key) == value, (number, store.get(key))
        store.delete(key)
        done += 1
print(done)
"""
    keys = ("a", "a/b/c", "a/b")
    started = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path, key], stdout=subprocess.PIPE, text=True)
        for key in keys
    ]
    numbers = [int(process.communicate(timeout=120)[0]) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert all(numbers)
    store = LocalStore(tmp_path)
    assert [*store.list()] == []
    store.set("a", b"")
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_above_a_key(store):
    store.set("a", b"value")
    with pytest.raises(StoreError, match="key 'a/b': a file is in the place of a directory") as caught:
        store.set("a/b", b"")
    assert str(store.root / "a" / "b") in str(caught.value)
    assert store.get("a") == b"value"
    with pytest.raises(StoreError, match="key 'a/b': a file is in the place of a directory"):
        store.get("a/b")
    assert store.get("a/zarr.json") is None  # it is no node
    assert not store.exists("a/b")


@posix
@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)], ids=["fifo", "device"]
)
def test_fifos_and_devices_are_refused_at_once(tmp_path, make):
    store = LocalStore(tmp_path / "root", follow_symlinks=True)
    store.set("b", b"")
    make(store.root / "a")
    with pytest.raises(StoreError, match="expected a file"):
        store.get("a")
    assert not store.exists("a")
    assert list(store.list()) == ["b"]


@posix
def test_a_dangling_link_is_not_an_absent_key(store):
    store.set("b", b"")
    os.symlink("nowhere", store.root / "a")
    with pytest.raises(StoreError, match="points to nothing"):
        store.get("a")


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_not_an_absent_key(store):
    store.set("a", b"value")
    os.chmod(store.root / "a", 0)
    with pytest.raises(PermissionError):
        store.get("a")


@posix
def test_a_name_that_is_too_long_is_an_error(store):
    store.set("b", b"")
    calls = (store.get, store.exists, store.getsize, store.list_dir, store.delete)
    for call in (*calls, lambda key: store.set(key, b""), lambda key: store.set_if_not_exists(key, b"")):
        for key in ("x" * 300, "y/" * 3000 + "y"):
            with pytest.raises(InvalidKeyError, match="too long"):
                list(call(key))


# --- links ---


def _linked(tmp_path, follow_symlinks="inside"):
    """A store with a link to a directory beside the store, one to a file there, and two to places inside."""
    (tmp_path / "elsewhere" / "c").mkdir(parents=True)
    (tmp_path / "elsewhere" / "c" / "0").write_bytes(b"value")
    store = LocalStore(tmp_path / "root", follow_symlinks=follow_symlinks)
    store.set("real/c/0", b"own")
    os.symlink(tmp_path / "elsewhere", store.root / "out")
    os.symlink(tmp_path / "elsewhere" / "c" / "0", store.root / "file")
    os.symlink("real", store.root / "relative")
    os.symlink(store.root / "real", store.root / "absolute")
    return store


_READS = [
    lambda s, key: s.get(key),
    lambda s, key: s.get(key, (0, 1)),
    LocalStore.exists,
    LocalStore.getsize,
    lambda s, key: list(s.list_dir(key.rpartition("/")[0] + "/")) if "/" in key else s.get(key),
    lambda s, key: list(s.list()),
]


@posix
@pytest.mark.parametrize("read", _READS)
def test_nothing_outside_is_read_unless_asked(tmp_path, read):
    store = _linked(tmp_path)
    for key in ("out/c/0", "file"):
        with pytest.raises(StoreError, match="leads out of the store"):
            read(store, key)
    assert store.get("relative/c/0") == store.get("absolute/c/0") == b"own"
    store = LocalStore(store.root, follow_symlinks=True)
    assert store.get("out/c/0") == store.get("file") == b"value"
    assert store.exists("file") and "out/c/0" in store.list()


@posix
@pytest.mark.parametrize("read", _READS)
@pytest.mark.parametrize("key", ["relative/c/0", "absolute/c/0", "out/c/0", "file"])
def test_no_link_is_followed_where_none_is_to_be(tmp_path, read, key):
    with pytest.raises(StoreError, match="not to be followed"):
        read(_linked(tmp_path, False), key)


@posix
@pytest.mark.parametrize("follow_symlinks", ["inside", True, False])
@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.set("out/c/0", b"lost"),
        lambda s: s.set("out/new/deep/0", b"lost"),
        lambda s: s.set_if_not_exists("out/c/1", b"lost"),
        lambda s: s.delete("out/c/0"),
        lambda s: s.erase_prefix("out/c/"),
        lambda s: s.erase_prefix("out/c/0/"),
        lambda s: s.remove_partials("out/", min_age=-1),
    ],
)
def test_nothing_outside_is_changed(tmp_path, write, follow_symlinks):
    store = _linked(tmp_path, follow_symlinks)
    partial = tmp_path / "elsewhere" / f".zc-{0:016x}.partial"
    partial.write_bytes(b"")
    with pytest.raises(StoreError, match="leads out of the store"):
        write(store)
    assert not store._claim("out/claimed")
    assert sorted(path.name for path in (tmp_path / "elsewhere").rglob("*")) == [partial.name, "0", "c"]
    assert (tmp_path / "elsewhere" / "c" / "0").read_bytes() == b"value"


@posix
def test_links_inside_are_written_through(tmp_path):
    store = _linked(tmp_path)
    store.set("absolute/new/deep/0", b"a")
    store.set("relative/new/deep/1", b"b")
    assert store.get("real/new/deep/0") == b"a" and store.get("real/new/deep/1") == b"b"
    store.delete("absolute/new/deep/0")
    store.erase_prefix("relative/c")
    assert [*store.list_prefix("real/")] == ["real/new/deep/1"]


@posix
@pytest.mark.parametrize("follow_symlinks", ["inside", True, False])
@pytest.mark.parametrize("n_chunks", [1, 64])
def test_chunks_are_not_written_outside(tmp_path, follow_symlinks, n_chunks):
    """The engine opens the directory of an array once, or the file of each chunk by its whole path."""
    outside = tmp_path / "outside"
    values = zarrcore.create_array(outside / "a", shape=n_chunks, chunks=1, dtype="i4", fill_value=1)
    values[...] = 7
    zarrcore.create_array(tmp_path / "root" / "b", shape=n_chunks, chunks=1, dtype="i4", fill_value=1)
    os.symlink(outside, tmp_path / "root" / "link")
    os.symlink(outside / "a" / "c", tmp_path / "root" / "b" / "c")
    store = LocalStore(tmp_path / "root", follow_symlinks=follow_symlinks)
    arrays = [zarrcore.open_array(store, path="b")]
    if follow_symlinks is True:
        arrays.append(zarrcore.open_array(store, path="link/a"))
    else:
        with pytest.raises(StoreError, match="leads out"):
            zarrcore.open_array(store, path="link/a")
    for array in arrays:
        if follow_symlinks is True:
            assert array[...].tolist() == [7] * n_chunks
        else:
            with pytest.raises(ChunkIOError, match="link"):
                array[...]
        for value in (8, 1):  # another value; the fill value, whose chunks are removed
            with pytest.raises(ChunkIOError, match="link"):
                array[...] = value
    assert values[...].tolist() == [7] * n_chunks


@posix
@pytest.mark.parametrize("n_chunks", [1, 64])
def test_links_in_an_array_that_is_the_whole_store(tmp_path, n_chunks):
    """A link was looked for at the same path below the root of the file system."""
    array = zarrcore.create_array(tmp_path / "root", shape=n_chunks, chunks=1, dtype="i4")
    array[...] = 7
    os.rename(tmp_path / "root" / "c" / "0", tmp_path / "root" / "elsewhere")
    os.symlink("../elsewhere", tmp_path / "root" / "c" / "0")
    assert array[...].tolist() == zarrcore.open_array(tmp_path / "root")[...].tolist() == [7] * n_chunks
    os.rename(tmp_path / "root" / "c", tmp_path / "root" / "real")
    os.symlink("real", tmp_path / "root" / "c")
    array[...] = 8
    assert zarrcore.open_array(tmp_path / "root")[...].tolist() == [8] * n_chunks
    assert len([*(tmp_path / "root" / "real").iterdir()]) == n_chunks
    os.unlink(tmp_path / "root" / "c")
    os.symlink("/etc", tmp_path / "root" / "c")
    with pytest.raises(ChunkIOError, match="a symbolic link leads out of the store"):
        array[...]


@posix
def test_links_in_the_path_of_the_root_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    store = LocalStore(tmp_path / "link" / "root", follow_symlinks=False)
    array = zarrcore.create_array(store, shape=64, chunks=1, dtype="i4")
    array[...] = 7
    array[3] = 8
    assert array[...].sum() == 63 * 7 + 8 and array[3] == 8
    array[...] = 0
    assert [*store.list()] == ["zarr.json"]


@posix
def test_many_ways_to_a_directory_are_walked_once(store):
    for i in range(40):
        store.set(f"{i:02}/k", b"")
        for name in "ab":
            os.symlink(f"../{i + 1:02}", store.root / f"{i:02}" / name)
    assert len([*store.list_prefix("00/")]) == 40
    assert len([*store.list()]) < 200


@posix
def test_a_loop_of_links_is_listed_once(store):
    store.set("a/b", b"")
    os.symlink("..", store.root / "a" / "up")
    os.symlink(".", store.root / "a" / "self")
    assert list(store.list()) == ["a/b"]


@posix
@pytest.mark.parametrize(
    "erase", [lambda s: s.erase_prefix("link"), lambda s: s.erase_prefix("a"), LocalStore.clear]
)
def test_erasing_does_not_follow_links(tmp_path, erase):
    store = LocalStore(tmp_path / "store", follow_symlinks=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_bytes(b"value")
    store.set("a/b", b"")
    os.symlink(tmp_path / "elsewhere", store.root / "link")
    os.symlink(tmp_path / "elsewhere", store.root / "a" / "link")
    erase(store)
    assert (tmp_path / "elsewhere" / "kept").read_bytes() == b"value"
    assert len(list(store.list())) < 3
    assert store.root.is_dir()


@posix
def test_setting_replaces_a_link(store, tmp_path):
    (tmp_path / "target").write_bytes(b"kept")
    store.set("b", b"")
    os.symlink(tmp_path / "target", store.root / "a")
    store.set("a", b"value")
    assert (tmp_path / "target").read_bytes() == b"kept"
    assert store.get("a") == b"value"


# --- interrupted writers ---


@posix
@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("write", ["set", "set_if_not_exists"])
def test_a_write_for_which_there_is_no_room_changes_nothing(tmp_path, write, old):
    if old is not None and write == "set_if_not_exists":
        pytest.skip("nothing is written")
    script = """if True:
        import resource, sys
        from zarrcore.storage import LocalStore
        store = LocalStore(sys.argv[1], fsync=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            getattr(store, sys.argv[2])("a/k", b"new" * 100)
        except OSError as error:
            assert error.filename == str(store.root / "a" / "k"), error
        else:
            raise AssertionError("expected an OSError")
    """
    store = LocalStore(tmp_path)
    if old is not None:
        store.set("a/k", old)
    subprocess.run([sys.executable, "-c", script, str(tmp_path), write], check=True, timeout=60)
    assert store.get("a/k") == old
    assert partials(store) == []


def test_a_write_to_the_place_of_a_directory_changes_nothing(store):
    store.set("a/k/c", b"value")
    with pytest.raises(StoreError, match="a directory is in its place"):
        store.set("a/k", b"new")
    assert not store.set_if_not_exists("a/k", b"new")
    assert list(store.list()) == ["a/k/c"]
    assert partials(store) == []


def test_paths_with_a_nul_are_refused(tmp_path):
    with pytest.raises(ValueError, match="NUL|null"):
        LocalStore(f"{tmp_path}/a\0b").set("k", b"")


def test_no_path_ends_at_a_nul(tmp_path):
    """CPython before 3.11.5 took what comes before it for all: an array was made in another directory."""
    path = f"{tmp_path}/a\0b"
    store = LocalStore(tmp_path / "there")
    store.set("k", b"")
    makers = [
        lambda: LocalStore(path),
        lambda: LocalStore(Path(path)),
        lambda: store.move(path),
        lambda: zarrcore.storage.ZipStore(path, mode="w"),
        lambda: zarrcore.storage.CacheStore(store, path, max_bytes=100, immutable=True),
        lambda: zarrcore.storage.ReferenceStore({"a": [f"file://{path}", 0, 1]}).get("a"),
        lambda: zarrcore.open_array(path, mode="r"),
        lambda: zarrcore.create_array(path, shape=3, dtype="i4"),
        lambda: zarrcore.create_group(f"file://{path}"),
    ]
    for number, make in enumerate(makers):
        with pytest.raises((ValueError, zarrcore.errors.StoreError), match="NUL character") as caught:
            make()
        assert "a\\x00b" in str(caught.value), number
    assert os.listdir(tmp_path) == ["there"]


_WRITERS = {
    "chunks": """if True:
        import sys, numpy, zarrcore
        array = zarrcore.open_array(sys.argv[1], mode="r+")
        values = numpy.ones(1 << 20, "u1")
        def write():
            array[:] = values
    """,
    "documents": """if True:
        import sys
        from zarrcore.storage import LocalStore
        store = LocalStore(sys.argv[1])
        def write():
            store.set("zarr.json", bytes(1 << 20))
    """,
}
_FOR_EVER = """
print("writing", flush=True)
while True:
    write()
"""


def interrupt_writer(store, script, stop):
    """Stop a writer while it has a temporary file; return the process and the path of that file."""
    for _ in range(100):
        writer = subprocess.Popen(
            [sys.executable, "-c", script, str(store.root)], stdout=subprocess.PIPE, text=True
        )
        with writer.stdout:
            assert writer.stdout.readline() == "writing\n"
        for _ in range(100):
            writer.send_signal(signal.SIGSTOP)
            os.waitpid(writer.pid, os.WUNTRACED)
            found = [path for path in store.root.rglob(".*") if files.is_temporary(path.name)]
            if found:
                if stop == signal.SIGKILL:
                    writer.kill()
                    writer.wait(60)
                return writer, found[0]
            writer.send_signal(signal.SIGCONT)
            time.sleep(0.001)
        writer.kill()
        writer.wait(60)
    raise AssertionError("no writer was stopped at a bad moment")


@posix
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("what", _WRITERS)
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGSTOP])
def test_what_killed_writers_left_goes_at_the_next_write(tmp_path, what, zarr_format, stop):
    zarrcore.create_array(
        tmp_path, shape=1 << 20, chunks=1 << 16, dtype="u1", compressors=None, zarr_format=zarr_format
    )
    writer, left = interrupt_writer(LocalStore(tmp_path), _WRITERS[what] + _FOR_EVER, stop)
    other = left.with_name(".zc-note.partial")
    other.write_text("another program's")
    for path in (left, other):
        os.utime(path, (time.time() - 120,) * 2)
    next_write = _WRITERS[what].rstrip() + "\nwrite()"
    subprocess.run([sys.executable, "-c", next_write, str(tmp_path)], check=True, timeout=60)
    assert left.exists() == (stop == signal.SIGSTOP), "only of a writer that is no more"
    assert other.exists()
    writer.kill()
    writer.wait(60)


def test_temporary_files_are_no_keys(store):
    store.set("a/b", b"value")
    (store.root / "a" / PARTIAL).write_bytes(b"left over")
    (store.root / ".zc-short.partial").write_bytes(b"a name like another")
    assert list(store.list()) == [".zc-short.partial", "a/b"]
    assert list(store.list_dir("a")) == ["b"]
    for key in (PARTIAL, f"a/{PARTIAL}", f"{PARTIAL}/b"):
        with pytest.raises(InvalidKeyError, match="temporary"):
            store.get(key)
        with pytest.raises(InvalidKeyError, match="temporary"):
            store.set(key, b"")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (PARTIAL, True),
        (".zc-0123456789ABCDEF.partial", False),
        (".zc-0123456789abcde.partial", False),
        (".zc-0123456789abcde/.partial", False),
        ("xzc-0123456789abcdef.partial", False),
        (".zc-0123456789abcdef.partia1", False),
        ("", False),
    ],
)
def test_temporary_names(name, expected):
    assert files.is_temporary(name) is expected


def test_left_overs_are_removed(store):
    store.set("a/b", b"value")
    old, young = store.root / "a" / PARTIAL, store.root / PARTIAL
    old.write_bytes(b"")
    young.write_bytes(b"")
    os.utime(old, (0, 0))
    assert store.remove_partials() == 1
    assert not old.exists()
    assert young.exists()
    assert store.remove_partials(min_age=-1) == 1
    assert list(store.list()) == ["a/b"]


def test_fsync_is_asked_for(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files._engine, "write_file", lambda path, data, sync, *rest: synced.append(sync))
    LocalStore(tmp_path / "a").set("x/y", b"")
    LocalStore(tmp_path / "b", fsync=True).set("x", b"")
    LocalStore(tmp_path / "c", fsync=True).set_if_not_exists("x", b"")
    assert synced == [False, True, True]
    with config.set({"store.fsync": True}):
        assert LocalStore(tmp_path).fsync
    assert not LocalStore(tmp_path).fsync


# --- one version of a file ---


@posix
def test_the_parts_of_a_value_are_of_one_version(store, monkeypatch):
    store.set("k", b"old" * 100)
    read = files.read_span

    def read_then_replace(file, start, stop):
        data = read(file, start, stop)
        store.set("k", b"new" * 50)
        return data

    monkeypatch.setattr("zarrcore.storage.files.read_span", read_then_replace)
    requests = [("k", (0, 3)), ("k", (297, 3)), ("k", OffsetByteRequest(297))]
    assert store.get_partial_values(requests) == [b"old"] * 3


def test_a_file_that_shrinks_while_it_is_read_is_an_error(store):
    store.set("k", b"0123456789")
    with files.open_file(str(store.root / "k")) as file:
        assert files.read_span(file, 8, 10) == b"89"
        with pytest.raises(StoreError, match="shrank"):
            files.read_span(file, 8, 20)


def test_a_value_larger_than_one_read(store, monkeypatch):
    class Dribble:
        """A file whose reads return less than asked for."""

        def __init__(self, data):
            self.data, self.at, self.name = data, 0, "dribble"

        def seek(self, at):
            self.at = at

        def read(self, count):
            part = self.data[self.at : self.at + min(count, 3)]
            self.at += len(part)
            return part

    assert files.read_span(Dribble(b"0123456789"), 1, 10) == b"123456789"


# --- processes ---


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_reads_and_writes(store):
    store.set("a", b"parent")

    def child():
        store.set("b", b"child")
        return store.get("a") == b"parent"

    assert in_child(child)
    assert store.get("b") == b"child"


def test_directories_may_vanish_under_a_writer(store):
    done = threading.Event()

    def erase():
        while not done.is_set():
            store.erase_prefix("a/b")

    with ThreadPoolExecutor(2) as pool:
        erasing = [pool.submit(erase) for _ in range(2)]
        stored = 0
        for turn in range(100):
            try:
                store.set(f"a/b/{turn}", b"x")
                stored += 1
            except FileNotFoundError:
                continue  # the temporary file was erased with its directory
        done.set()
        for future in erasing:
            future.result()
    assert stored
    assert partials(store) == []


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_names_that_are_no_utf8_round_trip(store):
    store.set("b", b"")
    with open(os.fsencode(store.root) + b"/\xff", "wb") as file:
        file.write(b"value")
    (key,) = set(store.list()) - {"b"}
    assert store.get(key) == b"value"


def test_what_is_known_to_be_empty(tmp_path):
    class Other(LocalStore):
        def get(self, key, byte_range=None):
            return b"{}"

    store = LocalStore(tmp_path / "root")
    assert store._claim("a")
    assert not (tmp_path / "root").exists()
    assert store._claim("")
    assert store._claim("a")
    assert not store._claim("a"), "somebody else has it"
    assert not Other(tmp_path / "root")._claim("b")
    store.set("a/b", b"value")
    (tmp_path / "root" / "link").symlink_to("nowhere")
    assert not store._claim("")
    assert not store._claim("a")
    assert not store._claim("link")
    assert not store._claim("a/b/c")
    assert list(store.list()) == ["a/b"]


def test_a_value_is_read_whole_though_the_system_gives_parts(tmp_path, monkeypatch):
    store = LocalStore(tmp_path)
    store.set("k", b"0123456789")
    whole = os.read
    monkeypatch.setattr(os, "read", lambda fd, size: whole(fd, min(size, 3)))
    assert store.get("k") == b"0123456789"
    assert list(store.get_partial_values([("k", None), ("k", (2, 3)), ("none", None)])) == [
        b"0123456789",
        b"234",
        None,
    ]


@pytest.mark.parametrize("steps", range(8))
def test_nodes_that_are_erased_lose_their_documents_first(store, monkeypatch, steps):
    """Whoever reads meanwhile, or after an interrupt, sees that they are gone, and no fill values."""
    nodes = {"a/b/": ["c/0"], "a/b/d/": ["c/0/0", "c/0/1"], "a/b/e/": ["0.0"]}
    for node, chunks in nodes.items():
        for name in [*chunks, "zarr.json"]:
            store.set(node + name, b"{}")
    unlink = os.unlink
    done = []

    def interrupted(path, **options):
        if len(done) == steps:
            raise KeyboardInterrupt
        done.append(path)
        unlink(path, **options)

    monkeypatch.setattr("os.unlink", interrupted)
    end = pytest.raises(KeyboardInterrupt) if steps < 7 else contextlib.nullcontext()
    with end:
        store.erase_prefix("a/b")
    left = set(store.list())
    assert len(left) == 7 - steps
    for node, chunks in nodes.items():
        assert node + "zarr.json" not in left or left.issuperset(node + name for name in chunks)
    if steps:
        assert "a/b/zarr.json" not in left


def test_a_file_that_cannot_be_erased_is_named_by_its_whole_path(store, monkeypatch):
    """It was that of a file of the same name in a directory above."""
    for key in ("g/zarr.json", "g/a/zarr.json", "g/a/c/0", "g/a/c/1"):
        store.set(key, b"value")
    unlink, rmdir = os.unlink, os.rmdir
    for refused, call in (("zarr.json", "unlink"), ("1", "unlink"), ("c", "rmdir")):

        def refuse(name, *, dir_fd=None, refused=refused, call=call):
            if name == refused:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
            return (unlink if call == "unlink" else rmdir)(name, dir_fd=dir_fd)

        with monkeypatch.context() as patch, pytest.raises(PermissionError) as caught:
            patch.setattr(os, call, refuse)
            store.erase_prefix("g/a/" if refused == "c" else "g/")
        path = {"zarr.json": "g/zarr.json", "1": "g/a/c/1", "c": "g/a/c"}[refused]
        assert caught.value.filename == os.path.join(store._root, path)
        for key in ("g/zarr.json", "g/a/zarr.json", "g/a/c/0", "g/a/c/1"):
            store.set(key, b"value")


def test_directories_within_what_is_erased_may_be_replaced_by_links(store, tmp_path, monkeypatch):
    """What is entered is looked at when it is opened, so that nothing beyond a link is removed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stays").write_bytes(b"")
    store.set("a/b/c/0", b"value")
    entered = os.open

    def replaced(path, *args, **options):
        if path == "c" and not os.path.islink(store.root / "a/b/c"):
            os.rename(store.root / "a/b/c", tmp_path / "away")
            os.symlink(outside, store.root / "a/b/c")
        return entered(path, *args, **options)

    monkeypatch.setattr("os.open", replaced)
    with contextlib.suppress(OSError):
        store.erase_prefix("a/b")
    assert (outside / "stays").exists()


def put_a_link_in_place_of(directory, outside, away, monkeypatch, before):
    """Have a directory replaced by a link to another one just before a function is called the first time."""
    call = getattr(os, before)

    def replaced(*args, **options):
        if not os.path.lexists(away):
            rename(directory, away)
            os.symlink(outside, directory)
        return call(*args, **options)

    rename = os.rename
    monkeypatch.setattr(os, before, replaced)


@posix
@pytest.mark.parametrize("before", ["stat", "rmdir", "rename", "mkdir"])
@pytest.mark.parametrize(("source", "target"), [("a/b", "a/new/place"), ("a/b", "z"), ("k", "a/k/l")])
def test_a_node_is_not_moved_through_a_link_that_was_put_there_meanwhile(
    store, tmp_path, monkeypatch, source, target, before
):
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "b" / "stays").write_bytes(b"")
    store.set("a/b/c", b"value")
    store.set("k/c", b"value")
    put_a_link_in_place_of(store.root / "a", outside, tmp_path / "away", monkeypatch, before)
    with contextlib.suppress(OSError, StoreError):
        store._rename_prefix(source, target)
    monkeypatch.undo()
    assert [*os.walk(outside)] == [(str(outside), ["b"], []), (str(outside / "b"), [], ["stays"])]


@posix
def test_a_link_in_the_place_of_what_is_erased_is_not_followed(store, monkeypatch):
    """Also not one that stays inside of the store: its target is not what was to be erased."""
    store.set("a/b/c", b"value")
    store.set("other/stays", b"value")
    islink = os.path.islink

    def replaced(path):
        found = islink(path)
        if not found and path == f"{store.root}/a/b":
            os.rename(path, f"{store.root}/away")
            os.symlink(store.root / "other", path)
        return found

    monkeypatch.setattr(os.path, "islink", replaced)
    with contextlib.suppress(OSError, StoreError):
        store.erase_prefix("a/b")
    assert store.get("other/stays") == b"value"


@posix
@pytest.mark.parametrize("replaced", ["x", f"x/{PARTIAL}"])
def test_repair_removes_nothing_through_a_link_that_was_put_there_meanwhile(
    store, tmp_path, monkeypatch, replaced
):
    import fcntl

    for above in (tmp_path / "root" / "x", tmp_path / "outside"):
        (above / PARTIAL).mkdir(parents=True)
        (above / PARTIAL / "stays").write_bytes(b"")
        (above / "stays").write_bytes(b"")
    report = zarrcore.verify(store)

    def locked(fd, how):
        os.rename(store.root / replaced, tmp_path / "away")
        inside = "" if replaced == "x" else PARTIAL
        os.symlink(tmp_path / "outside" / inside, store.root / replaced)

    monkeypatch.setattr(fcntl, "flock", locked)
    with contextlib.suppress(OSError):
        zarrcore.repair(report, dry_run=False, min_age=-1)
    monkeypatch.undo()
    assert sorted(p.name for p in (tmp_path / "outside").rglob("*")) == [PARTIAL, "stays", "stays"]


# --- many keys at once ---


@pytest.mark.parametrize("follow_symlinks", ["inside", True, False])
def test_many_keys_exist_as_each_of_them_does(tmp_path, follow_symlinks):
    store = LocalStore(tmp_path / "root", follow_symlinks=follow_symlinks)
    keys = ["c/0", "c/1", "c/2", "c/directory", "none/0", "none/1", "c/0/x", "c/0/y", "root", "c/0"]
    assert [*store._which_exist(keys)] == [False] * len(keys)
    for key in ("c/0", "c/2", "c/directory/0", "root"):
        store.set(key, b"value")
    assert [*store._which_exist(keys)] == [*map(store.exists, keys)] == [key in store.list() for key in keys]
    if os.name == "nt":
        return
    (tmp_path / "outside").write_bytes(b"")
    links = {"inside": "root", "dangling": "nothing", "outside": tmp_path / "outside", "down": "c"}
    for name, target in links.items():
        (store.root / name).symlink_to(target)
    for name in (*links, "down/0"):
        try:
            expected = [store.exists(name)] * 2
        except StoreError as error:
            with pytest.raises(StoreError) as caught:
                [*store._which_exist([name, name])]
            assert "link" in str(caught.value) and "link" in str(error)
        else:
            assert [*store._which_exist([name, name])] == expected


def test_a_missing_directory_is_looked_at_once_for_all_of_its_keys(store, monkeypatch):
    store.set("c/0/0", b"")
    asked = []
    which_below = files.which_below
    monkeypatch.setattr(
        files, "which_below", lambda above, *rest: asked.append(above) or which_below(above, *rest)
    )
    monkeypatch.setattr(files, "size_below", None)
    keys = [f"c/{i}/{j}" for i in (0, 1) for j in range(100)]
    assert [*store._which_exist(keys)] == [True] + [False] * 199
    assert asked == [f"{store.root}/c/0", f"{store.root}/c/1"]


@posix
def test_a_directory_that_cannot_be_opened_is_an_error_for_many_keys(store):
    if os.geteuid() == 0:
        pytest.skip("root may open everything")
    store.set("c/0", b"")
    (store.root / "c").chmod(0)
    try:
        with pytest.raises(StoreError, match="Permission denied"):
            [*store._which_exist(["c/0", "c/1"])]
    finally:
        (store.root / "c").chmod(0o700)


@posix
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0o027])
@pytest.mark.parametrize("fsync", [False, True])
def test_new_files_and_directories_have_the_rights_that_the_umask_leaves(tmp_path, umask, fsync):
    """No more, whoever makes them: Python or the engine, new or in the place of another file."""

    def make():
        os.umask(umask)
        root = tmp_path / "new" / "root"
        group = zarrcore.create_group(LocalStore(root, locks="file", fsync=fsync))
        for name, dtype in (("numbers", "i4"), ("texts", str)):
            array = group.create_array(f"below/{name}", shape=(9,), chunks=(2,), shards=(4,), dtype=dtype)
            for _ in range(2):
                array[1:7] = np.arange(6).astype(array.dtype)
                array.attrs["a"] = array.attrs.get("a", 0) + 1
            array.append(np.arange(3).astype(array.dtype))
        two = zarrcore.create_group(LocalStore(root / "two"), zarr_format=2, attributes={"a": 1})
        two.create_array("x", shape=(9,), chunks=(2,), dtype="i4")[...] = 3
        zarrcore.consolidate_metadata(two.store)
        zarrcore.consolidate_metadata(group.store)
        group.move("below/numbers", "elsewhere/deep/numbers")
        zarrcore.copy(group["below/texts"], group, "copy")
        zarrcore.save_array(tmp_path / "new" / "saved.zip", np.arange(5))
        made = [*(tmp_path / "new").rglob("*"), tmp_path / "new"]
        assert len(made) > 30
        wrong = {str(path): oct(path.stat().st_mode) for path in made
                 if path.stat().st_mode & 0o7777 != (0o777 if path.is_dir() else 0o666) & ~umask}  # fmt: skip
        assert not wrong, wrong
        return True

    assert in_child(make)


@pytest.mark.skipif(os.name == "nt", reason="the current directory cannot be removed there")
def test_a_relative_path_in_a_current_directory_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was an error of the system that named nothing."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for call in (LocalStore, zarrcore.open_group, zarrcore.open_array, zarrcore.storage.ZipStore):
        with pytest.raises(FileNotFoundError, match=r"current directory was removed: 'x\.zarr'"):
            call("x.zarr")
    LocalStore(tmp_path / "x.zarr")


def test_an_error_of_the_lock_of_a_directory_names_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = zarrcore.create_group(tmp_path)

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", fails)
        with pytest.raises(OSError, match=f"{tmp_path.name}"):
            root.create_array("a", data=np.arange(4))
    assert root.create_array("a", data=np.arange(4))[...].tolist() == [0, 1, 2, 3]
