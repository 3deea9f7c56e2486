# SPDX-License-Identifier: MIT
"""Several processes that change one array: ``LocalStore(locks="file")``."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine
from zarrcore.errors import BaseZarrError, ContainsArrayError, NodeNotFoundError, RegionOverlapWarning
from zarrcore.inspection.encoded import chunk_lock, patch_shard
from zarrcore.kernels import crc32c
from zarrcore.node import state_of
from zarrcore.nodes.find import read_node
from zarrcore.storage import LocalStore, LoggingStore, removing
from zarrcore.storage.alone import alone
from zarrcore.testing.process import in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SOAK = int(os.environ.get("ZC_SOAK", "1"))
UPDATES = 50 * SOAK  # of each of 4 processes; 10,000 with ZC_SOAK=200
N = 4

LAYOUTS: dict[str, dict[str, Any]] = {
    "shards": {"dtype": "i4", "chunks": (10,), "shards": (100,)},
    "compressed-shards": {"dtype": "i4", "chunks": (10,), "shards": (100,), "compressors": "auto"},
    "chunks": {"dtype": "i4", "chunks": (100,)},
    "format-2": {"dtype": "i4", "chunks": (100,), "zarr_format": 2},
    "strings": {"dtype": str, "chunks": (100,)},
    "shards-of-strings": {"dtype": str, "chunks": (10,), "shards": (100,)},
}


def at_once(work: Callable[[int], object], n: int = N) -> None:
    """Run ``work(number)`` in n children that begin together."""
    go, begin = os.pipe()
    pids = []
    for number in range(n):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(begin)
                os.read(go, 1)  # until the parent closes its end
                work(number)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        pids.append(pid)
    os.close(go)
    os.close(begin)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * n


@contextmanager
def held_elsewhere(store: LocalStore, path: str, key: str) -> Iterator[int]:
    """Have another process hold the lock of a key; yields its number."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        with engine.KeyLock(store._place(path), key):
            os.write(tell, b"x")
            time.sleep(60)
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(tell)


@contextmanager
def held_for_a_moment(store: LocalStore, path: str, key: str) -> Iterator[None]:
    """Have another process hold the lock of a key when the block begins, and give it up a little later."""
    with held_elsewhere(store, path, key) as pid:
        end = threading.Timer(0.1, os.kill, (pid, signal.SIGKILL))
        end.start()
        yield
        end.join()


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "data", locks="file")


@pytest.mark.parametrize("wrapped", [False, True], ids=["files", "wrapped"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_update_of_a_part_is_lost(layout: str, wrapped: bool, store: LocalStore) -> None:
    """Each element is written once, by one of four processes whose elements lie side by side."""
    updates = UPDATES if layout in ("shards", "chunks") and not wrapped else min(UPDATES, 500)
    array = zarrcore.create_array(store, shape=(N * updates,), **LAYOUTS[layout])
    kind = str if array.dtype.kind in "OT" else int

    def update(number: int) -> None:
        own = zarrcore.open_array(LoggingStore(store) if wrapped else store)
        for k in range(updates):
            own[N * k + number] = kind(N * k + number + 1)

    at_once(update)
    assert list(array[...]) == [kind(k + 1) for k in range(N * updates)]


def _with_unused_bytes(shard: Any, _: bool) -> bytes:
    """The bytes of a shard of ten inner chunks, behind seven that nothing uses."""
    data = bytes(shard)
    entries = np.frombuffer(data[-164:-4], "<u8").reshape(10, 2).copy()
    entries[entries[:, 1] < 2**63, 0] += np.uint64(7)
    index = entries.tobytes()
    return bytes(7) + data[:-164] + index + int(crc32c(index)).to_bytes(4, "little")


def test_no_update_is_lost_beside_compact(store: LocalStore) -> None:
    """Of four processes two write, one compacts a shard that gets unused bytes each time, and one reads."""
    zarrcore.create_array(store, shape=(100,), **LAYOUTS["shards"])[...] = 1
    times = UPDATES if UPDATES < 500 else 2000

    def work(number: int) -> None:
        array = zarrcore.open_array(store)
        mine = array[number::2] if number < 2 else array[...]
        for k in range(times):
            if number == 2:
                with chunk_lock(state_of(array), "c/0"):
                    patch_shard(state_of(array), (0,), "c/0", _with_unused_bytes)
                assert not zarrcore.compact(array).damaged
            elif number == 3:
                found = array[...]
                assert (found >= mine).all()
                mine = found
            else:
                mine[k % 50] += 1
                array[2 * (k % 50) + number] = mine[k % 50]
        assert number > 1 or (array[number::2] == mine).all()

    at_once(work)
    assert int(zarrcore.open_array(store)[...].sum()) == 100 + 2 * times
    assert zarrcore.verify(store).ok


def test_no_appended_row_is_lost(store: LocalStore) -> None:
    """Nor one that lies in a chunk that was there already."""
    zarrcore.create_array(store, name="a", shape=(0, 3), chunks=(7, 3), dtype="i4")
    times = 8 * min(SOAK, 10)

    def append(number: int) -> None:
        array = zarrcore.open_array(store, path="a")
        for k in range(times):
            array.append(np.full((1 + k % 3, 3), number * times + k + 1))

    at_once(append)
    rows, counts = np.unique(zarrcore.open_array(store, path="a")[...], return_counts=True)
    assert rows.tolist() == [*range(1, N * times + 1)]
    assert counts.tolist() == [3 * (1 + k % 3) for _ in range(N) for k in range(times)]


def test_whole_chunks_of_a_handle_with_an_old_shape_keep_what_was_appended(store: LocalStore) -> None:
    array = zarrcore.create_array(store, shape=(5,), chunks=(10,), dtype="i4")
    array[...] = 1
    assert in_child(lambda: zarrcore.open_array(store).append(np.full(3, 2)))
    array[...] = 3
    assert zarrcore.open_array(store)[...].tolist() == [3] * 5 + [2] * 3


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["array", "group"])
def test_no_attribute_is_lost(kind: str, zarr_format: Any, store: LocalStore) -> None:
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    root.create_array("x", shape=(3,), dtype="i4")
    root.create_group("g")
    path = "x" if kind == "array" else "g"

    def change(number: int) -> None:
        node = zarrcore.open_group(store, mode="r+")[path]
        for k in range(10):
            node.attrs[f"{number}-{k}"] = k
        if kind == "array" and number == 0:
            node.resize((4,))

    at_once(change)
    node = zarrcore.open_group(store, mode="r")[path]
    assert sorted(node.attrs) == sorted(f"{number}-{k}" for number in range(N) for k in range(10))
    if kind == "array":
        assert node.shape == (4,)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copy_that_is_made_while_others_change_nodes_has_their_changes(
    zarr_format: Any, store: LocalStore
) -> None:
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    for number in range(N):
        root.create_array(f"x{number}", shape=(3,), dtype="i4")

    def change(number: int) -> None:
        if number == 0:
            for _ in range(5):
                zarrcore.consolidate_metadata(store, zarr_format=zarr_format)
                zarrcore.open_group(store, mode="r+").attrs["own"] = number
            return
        node = zarrcore.open_array(store, path=f"x{number}")
        for k in range(15):
            node.attrs["k"] = k
            zarrcore.open_group(store, mode="r+", use_consolidated=False).attrs[f"{number}"] = k

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zarrcore.nodes.consolidate._ATTEMPTS", 1000)
        at_once(change)
    group = zarrcore.open_group(store, mode="r", use_consolidated=True)
    assert [group[f"x{number}"].attrs["k"] for number in range(1, N)] == [14] * 3
    assert dict(group.attrs) == {"own": 0, "1": 14, "2": 14, "3": 14}
    report = zarrcore.verify(store)
    assert not report.findings, report


def test_a_writer_that_is_killed_leaves_nothing_locked(store: LocalStore) -> None:
    array = zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype="i4")
    with held_elsewhere(store, "", "c/0") as pid:
        os.kill(pid, signal.SIGKILL)
        array[0] = 1
        array[11] = 2
    assert array[0] == 1


class Stop(KeyboardInterrupt):
    """Raised by the handler of a signal."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("what", ["chunk", "chunks", "strings", "attributes", "append"])
def test_an_interrupt_ends_a_wait_and_leaves_nothing_locked(what: str, store: LocalStore) -> None:
    dtype: Any = str if what == "strings" else "i4"
    array = zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype=dtype)
    changes: dict[str, Callable[[], object]] = {
        "chunk": lambda: array.__setitem__(1, 7),
        "chunks": lambda: array.__setitem__(slice(1, 99), np.arange(98)),
        "strings": lambda: array.__setitem__(1, "7"),
        "attributes": lambda: array.attrs.update(a=1),
        "append": lambda: array.append(np.arange(3)),
    }
    key = "zarr.json" if what in ("attributes", "append") else "c/0"
    with held_elsewhere(store, "", key):
        with pytest.raises(Stop), alarm(0.2):
            changes[what]()
        assert in_child(lambda: array.__setitem__(slice(90, 95), dtype("5") if dtype is str else 5) or True)
    with alarm(30):
        changes[what]()
    assert in_child(lambda: changes[what]() or True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_processes_that_write_to_one_chunk_are_told(layout: str, tmp_path: Path) -> None:
    store = LocalStore(tmp_path, locks="warn")
    array = zarrcore.create_array(store, name="a", shape=(300,), **LAYOUTS[layout])
    one, two = (1, 2) if array.dtype.kind == "i" else ("1", "2")
    key = "1" if array.metadata.zarr_format == 2 else "c/1"
    with warnings.catch_warnings():
        warnings.simplefilter("error", RegionOverlapWarning)
        array[0:250] = one
        with held_elsewhere(store, "a", key):
            array[0:100] = one
            assert array[150] == one
    for region in (slice(110, 120), slice(100, 200), slice(50, 250)):
        with (
            held_for_a_moment(store, "a", key),  # first: a fork among threads has a warning of its own
            pytest.warns(RegionOverlapWarning, match=rf"array 'a': another process .* chunk '{key}'"),
        ):
            array[region] = two
        assert (array[region] == two).all()


def test_where_nobody_asks_nobody_is_told(store: LocalStore) -> None:
    array = zarrcore.create_array(store, name="a", shape=(100,), chunks=(100,), dtype="i4")
    with warnings.catch_warnings(), held_for_a_moment(store, "a", "c/0"):
        warnings.simplefilter("error", RegionOverlapWarning)
        array[3] = 1


@pytest.mark.parametrize("dtype", ["i4", str])
def test_who_takes_warnings_for_errors_has_nothing_locked(dtype: Any, tmp_path: Path) -> None:
    store = LocalStore(tmp_path, locks="warn")
    array = zarrcore.create_array(store, name="a", shape=(100,), chunks=(100,), dtype=dtype)
    with warnings.catch_warnings(), held_for_a_moment(store, "a", "c/0"):
        warnings.simplefilter("error", RegionOverlapWarning)
        with pytest.raises(RegionOverlapWarning):
            array[3] = "1" if dtype is str else 1
    assert in_child(lambda: _is_free(store, "a", "c/0"))
    assert array[3] in (1, "1")


def test_other_threads_run_while_one_waits(store: LocalStore) -> None:
    array = zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype="i4")
    thread = threading.Thread(target=array.__setitem__, args=(1, 7))
    with held_elsewhere(store, "", "c/0"):
        thread.start()
        array[50] = 3  # another chunk
        assert array[50] == 3 and array[1] == 0
        assert thread.is_alive()
    thread.join(30)
    assert array[1] == 7


def test_a_child_does_not_keep_a_lock_of_its_parent(store: LocalStore) -> None:
    """Not even when the parent is killed: a lock belongs to an open file, which both have after a fork."""
    zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype="i4")
    ready, tell = os.pipe()
    parent = os.fork()
    if parent == 0:
        with engine.KeyLock(store._place(""), "c/0"):
            child = os.fork()
            if child == 0:
                os.write(tell, str(os.getpid()).encode())
            time.sleep(60)
        os._exit(0)
    child = int(os.read(ready, 100))
    try:
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        with alarm(30):
            zarrcore.open_array(store)[3] = 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(ready)
        os.close(tell)


def open_lock_files(store: LocalStore) -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return [path for path in found if path.startswith(os.path.realpath(store.root))]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system has no list of open files")
def test_the_file_of_locks_is_closed_with_its_array(store: LocalStore) -> None:
    for dtype in ("i4", str):
        array = zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype=dtype, overwrite=True)
        for k in range(100):
            array[k] = str(k) if dtype is str else k
        assert len(open_lock_files(store)) <= 1
        del array
        gc.collect()
        assert open_lock_files(store) == []


def test_an_array_in_the_place_of_another_one_is_locked_where_others_lock_it(
    store: LocalStore,
) -> None:
    array = zarrcore.create_array(store, name="a", shape=(100,), chunks=(10,), dtype="i4")
    array[1] = 1
    array[2] = 2
    (store.root / "a").rename(store.root / "b")
    shutil.copytree(store.root / "b", store.root / "a")
    thread = threading.Thread(target=array.__setitem__, args=(3, 3))
    with held_elsewhere(store, "a", "c/0"):
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and array[3] == 0
    thread.join(30)
    assert array[0:4].tolist() == [0, 1, 2, 3]
    assert zarrcore.open_array(store, path="b")[0:4].tolist() == [0, 1, 2, 0]


def test_a_lock_file_that_is_removed_while_somebody_waits_for_it(store: LocalStore) -> None:
    """Who comes later makes another one, and waits for nobody; the lock of the old one is worth nothing."""
    zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype="i4")
    held: list[bool] = []

    def take() -> None:
        with engine.KeyLock(store._place(""), "c/0"):
            held.append(in_child(lambda: _is_free(store, "", "c/0")))

    thread = threading.Thread(target=take)
    with held_elsewhere(store, "", "c/0"):
        thread.start()
        time.sleep(0.1)
        (store.root / ".zc-locks").unlink()
    thread.join(30)
    assert held == [False]


def _is_free(store: LocalStore, path: str, key: str) -> bool:
    try:
        with alarm(0.3), engine.KeyLock(store._place(path), key):
            return True
    except Stop:
        return False


# ---- lock files ----------------------------------------------------------------------------------


def test_a_lock_file_is_no_key_and_goes_with_its_node(store: LocalStore) -> None:
    root = zarrcore.create_group(store)
    array = root.create_array("x", shape=(100,), chunks=(10,), dtype="i4")
    array[3:15] = 1
    array.attrs["a"] = 1
    root.attrs["a"] = 1
    root.create_group("g").attrs["b"] = 2
    files = {str(path.relative_to(store.root)) for path in store.root.rglob(".*")}
    assert files == {"x/.zc-locks", ".zc-locks", "g/.zc-locks"}
    assert all((store.root / name).stat().st_size == 0 for name in files)
    assert not any(".zc" in key for key in store.list())
    assert sorted(store.list_dir("x")) == ["c", "zarr.json"]
    with pytest.raises(zarrcore.errors.InvalidKeyError, match="and locks"):
        store.set("x/.zc-locks", b"")
    for other in (store, LocalStore(store.root)):
        assert not zarrcore.verify(other, level="data").findings
    zarrcore.open_array(store, path="x")[3:15] = 0  # what is left of the chunk is all fill value
    del root["x"]
    assert sorted(os.listdir(store.root)) == [".zc-locks", "g", "zarr.json"]
    zarrcore.create_group(store, overwrite=True)
    assert os.listdir(store.root) == ["zarr.json"]


def test_what_is_gone_gets_no_lock_file(store: LocalStore) -> None:
    group = zarrcore.create_group(store)
    array = group.create_array("x", shape=(100,), chunks=(10,), dtype="i4")
    assert in_child(lambda: zarrcore.open_group(store, mode="r+").__delitem__("x") or True)
    with pytest.raises(zarrcore.errors.NodeNotFoundError):
        array.attrs["a"] = 1
    assert not (store.root / "x").exists()


def test_reading_needs_no_lock(store: LocalStore) -> None:
    for name, dtype in (("i", "i4"), ("s", str)):
        array: Any = zarrcore.create_array(
            store, name=name, shape=(8,), chunks=(2,), shards=(4,), dtype=dtype
        )
        array[...] = np.full(8, 7).astype(array.dtype)
        (store.root / name / ".zc-locks").unlink(missing_ok=True)
        assert zarrcore.open_array(store, path=name)[1] in (7, "7")
        assert not (store.root / name / ".zc-locks").exists()


def test_a_link_in_the_place_of_a_lock_file_is_refused(store: LocalStore, tmp_path: Path) -> None:
    array = zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype="i4")
    (store.root / ".zc-locks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(zarrcore.errors.ChunkIOError, match="cannot lock"):
        array[3] = 1
    with pytest.raises(zarrcore.errors.StoreError, match="cannot lock"):
        array.attrs["a"] = 1
    assert not (tmp_path / "elsewhere").exists()
    other = LocalStore(tmp_path / "other", locks="file")
    strings = zarrcore.create_array(other, shape=(4,), dtype=str)
    os.mkfifo(other.root / ".zc-locks")
    with pytest.raises(zarrcore.errors.ChunkIOError, match="cannot lock"):
        strings[3] = "1"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_stays_open(store: LocalStore) -> None:
    array = zarrcore.create_array(store, shape=(100,), chunks=(10,), dtype="i4")
    array[3] = 1
    before = len(os.listdir("/proc/self/fd"))
    array[3:77] = 2
    assert len(os.listdir("/proc/self/fd")) == before


def test_choosing_locks(tmp_path: Path) -> None:
    assert LocalStore(tmp_path).locks == "none"
    with zarrcore.config.set({"store.locks": "file"}):
        store = LocalStore(tmp_path)
        assert store.locks == "file" and LocalStore(tmp_path, locks="none").locks == "none"
        array = zarrcore.create_array(tmp_path / "x", shape=(4,), chunks=(4,), dtype="i4")
    array[2] = 1
    assert (tmp_path / "x" / ".zc-locks").exists()
    with pytest.raises(ValueError, match="locks"):
        LocalStore(tmp_path, locks="yes")  # type: ignore[arg-type]


class Slow:
    """Values of another library that come a little later than another process begins."""

    shape, chunks, dtype = (400,), (10,), np.dtype("i4")

    def __init__(self, at: int = 200) -> None:
        self.started, self.tell = os.pipe()
        self.at = at

    def __getitem__(self, region: tuple[slice, ...]) -> Any:
        if region[0].start == self.at:
            os.write(self.tell, b"x")
            time.sleep(0.3)
        return np.ones(400, "i4")[region]


@pytest.mark.parametrize("locks", ["file", "none"])
@pytest.mark.parametrize("path", ["", "group/a"], ids=["root", "member"])
@pytest.mark.parametrize("with_values", [True, False])
@pytest.mark.parametrize("overwrite", [False, True])
def test_processes_that_create_one_array_do_not_mix_their_values(
    overwrite: bool, with_values: bool, path: str, locks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both stored their chunks, and then one of them its document, or each its own."""
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 40)
    store, source = LocalStore(tmp_path / "data", locks=locks), Slow()

    def create(number: int) -> None:
        if number == 0:
            zarrcore.from_array(store, name=path or None, data=source, threads=1, overwrite=overwrite)
            return
        os.read(source.started, 1)
        data: Any = {"data": np.full(400, 2, "i4")} if with_values else {"shape": 400, "dtype": "i4"}
        refused = nullcontext() if overwrite else pytest.raises(ContainsArrayError)
        with refused:
            zarrcore.create_array(store, name=path or None, chunks=10, overwrite=overwrite, **data)

    at_once(create, 2)
    last = (2 if with_values else 0) if overwrite else 1
    assert zarrcore.open_array(store, path=path)[...].tolist() == [last] * 400
    assert zarrcore.verify(store).ok


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_many_processes_that_create_one_array_one_has_its_values(overwrite: bool, tmp_path: Path) -> None:
    for path in ("", "a", "b/c/d"):
        store = LocalStore(tmp_path / f"data {path.count('/')} {len(path)}")

        def create(number: int, store: LocalStore = store, path: str = path) -> None:
            data = np.full(400, number, "i4")
            with suppress(ContainsArrayError):
                zarrcore.create_array(store, name=path or None, data=data, chunks=10, overwrite=overwrite)

        at_once(create)
        assert len(set(zarrcore.open_array(store, path=path)[...].tolist())) == 1
        assert zarrcore.verify(store).ok


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("with_values", [True, False])
def test_many_processes_that_replace_one_array_all_succeed(
    with_values: bool, zarr_format: Any, tmp_path: Path
) -> None:
    """One that others had been faster than three times was told that overwrite=True replaces their array."""
    store = LocalStore(tmp_path)

    def replace(number: int) -> None:
        data: Any = {"data": np.full(8, number, "i4")} if with_values else {"shape": 8, "dtype": "i4"}
        data |= {"name": "a", "chunks": 4, "zarr_format": zarr_format, "attributes": {"who": number}}
        for _ in range(10):
            zarrcore.create_array(store, overwrite=True, **data)

    at_once(replace, 8)
    array = zarrcore.open_array(store, path="a")
    assert not with_values or array[...].tolist() == [array.attrs["who"]] * 8
    assert zarrcore.verify(store).ok


class Disturbed:
    """Values of another library, after half of which another process does something."""

    shape, chunks, dtype = (400,), (10,), np.dtype("i4")

    def __init__(self, disturb: Callable[[], object]) -> None:
        self.disturb = disturb

    def __getitem__(self, region: tuple[slice, ...]) -> Any:
        if region[0].start == 200:
            in_child(self.disturb)
        return np.ones(400, "i4")[region]


@pytest.mark.parametrize(
    "what", ["removed", "parent removed", "parent moved", "parent replaced", "moved by hand"]
)
def test_what_another_process_removes_while_it_is_made_is_no_array(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunks that were stored by then were missing in the array, and read as the fill value."""
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 40)
    zarrcore.create_group(tmp_path, path="g", attributes={"of": "both"})
    there = {
        "removed": lambda: shutil.rmtree(tmp_path / "g/a"),
        "parent removed": lambda: zarrcore.open_group(tmp_path).__delitem__("g"),
        "parent moved": lambda: zarrcore.open_group(tmp_path).move("g", "h"),
        "parent replaced": lambda: zarrcore.create_group(tmp_path, path="g", overwrite=True),
        "moved by hand": lambda: os.rename(tmp_path / "g/a", tmp_path / "elsewhere"),
    }
    with pytest.raises(NodeNotFoundError, match="at path 'g/a' has been removed, moved or replaced"):
        zarrcore.from_array(tmp_path, name="g/a", data=Disturbed(there[what]), threads=1)
    for path in ("g/a", "h/a", "elsewhere"):
        with pytest.raises(NodeNotFoundError):
            zarrcore.open_array(tmp_path, path=path, mode="r")


def test_what_is_being_made_is_removed_once_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks were taken for those that a removal had left, and the array was there without them."""
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 40)
    zarrcore.create_group(tmp_path)
    source = Slow()

    def work(number: int) -> None:
        if number == 0:
            made = zarrcore.from_array(tmp_path, name="a", data=source, threads=1)
            assert made.shape == (400,)
        else:
            os.read(source.started, 1)
            del zarrcore.open_group(tmp_path)["a"]
            assert not (tmp_path / "a").exists()

    at_once(work, 2)
    assert [*zarrcore.open_group(tmp_path)] == []


def test_nothing_is_moved_to_where_another_process_makes_an_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What had been moved had chunks of the other array, whose creation then failed."""
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 40)
    zarrcore.create_array(tmp_path, name="b", data=np.full(400, 2, "i4"), chunks=10)
    source = Slow(at=0)

    def work(number: int) -> None:
        if number == 0:
            zarrcore.from_array(tmp_path, name="a", data=source, threads=1)
        else:
            os.read(source.started, 1)
            with pytest.raises(ContainsArrayError):
                zarrcore.open_group(tmp_path).move("b", "a")

    at_once(work, 2)
    assert zarrcore.open_array(tmp_path, path="a")[...].tolist() == [1] * 400
    assert zarrcore.open_array(tmp_path, path="b")[...].tolist() == [2] * 400


def test_a_move_of_what_others_remove_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a FileNotFoundError of some directory."""
    group = zarrcore.create_group(tmp_path)
    group.create_array("b", data=np.ones(4))
    rename = LocalStore._rename_prefix

    def renamed(self: LocalStore, source: str, dest: str) -> bool:
        shutil.rmtree(tmp_path / "b")
        return rename(self, source, dest)

    monkeypatch.setattr(LocalStore, "_rename_prefix", renamed)
    with pytest.raises(NodeNotFoundError, match="'b' in .* was removed"):
        group.move("b", "a")


def test_a_move_waits_for_another_process_that_removes_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunks that were still there came to the new place, as those of nothing, and the move succeeded."""
    group = zarrcore.create_group(tmp_path)
    group.create_array("a", data=np.full(400, 2, "i4"), chunks=10)
    (seen, sees), (begun, begins) = os.pipe(), os.pipe()
    entered = removing._entered

    def entered_late(*arguments: Any, **options: Any) -> Any:
        os.write(begins, b".")  # the document is gone, and no chunk
        time.sleep(0.3)
        return entered(*arguments, **options)

    def read_first(place: Any) -> Any:
        found = read_node(place)
        monkeypatch.undo()
        os.write(sees, b".")
        os.read(begun, 1)
        return found

    def work(number: int) -> None:
        if number == 0:
            monkeypatch.setattr(removing, "_entered", entered_late)
            os.read(seen, 1)
            del group["a"]
        else:
            monkeypatch.setattr("zarrcore.nodes.move.read_node", read_first)
            with pytest.raises(NodeNotFoundError, match="'a' was removed"):
                group.move("a", "b")

    at_once(work, 2)
    assert not (tmp_path / "a").exists()
    assert [*(tmp_path / "b").rglob("*")] == []


def test_moves_in_a_circle_do_not_wait_for_each_other(tmp_path: Path) -> None:
    group = zarrcore.create_group(tmp_path)
    group.create_array("a", data=np.ones(4))

    def work(number: int) -> None:
        names = ("a", "b") if number % 2 else ("b", "a")
        for _ in range(200):
            with suppress(BaseZarrError, KeyError):
                group.move(*names)

    at_once(work, 4)
    (name,) = zarrcore.open_group(tmp_path)
    assert zarrcore.open_array(tmp_path, path=name)[...].tolist() == [1] * 4


def test_a_child_that_lives_on_keeps_no_place(tmp_path: Path) -> None:
    """A lock of a directory is that of all who have its descriptor, which a child of fork has, too."""
    store, pids = LocalStore(tmp_path), []

    def fork(*_: object) -> None:
        pids.append(os.fork())
        if pids[-1] == 0:
            time.sleep(60)
            os._exit(0)

    try:
        source = zarrcore.create_array({}, data=np.ones(40))
        zarrcore.from_array(store, name="a", data=source, progress=fork)
        assert zarrcore.create_array(store, name="a", data=np.zeros(40), overwrite=True)[...].sum() == 0
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@pytest.mark.parametrize("by", ["the same thread", "another thread"])
def test_a_child_of_a_creator_that_is_killed_keeps_no_place(by: str, tmp_path: Path) -> None:
    """Nobody let go of the lock that the worker processes of a program that is killed have inherited."""
    store = LocalStore(tmp_path)
    of_child, tell = os.pipe()

    def fork(*_: object) -> None:
        if (child := os.fork()) == 0:
            time.sleep(60)
            os._exit(0)
        os.write(tell, child.to_bytes(8, "little"))

    def fork_and_die(*_: object) -> None:
        if by == "the same thread":
            fork()
        else:
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
        os.kill(os.getpid(), signal.SIGKILL)

    if (pid := os.fork()) == 0:
        source = zarrcore.create_array({}, data=np.ones(40))
        zarrcore.from_array(store, name="a", data=source, progress=fork_and_die)
        os._exit(1)
    child = int.from_bytes(os.read(of_child, 8), "little")
    os.waitpid(pid, 0)
    end = threading.Timer(30, os.kill, (child, signal.SIGKILL))
    end.start()
    try:
        assert zarrcore.create_array(store, name="a", data=np.zeros(40), overwrite=True)[...].sum() == 0
        assert end.is_alive(), "it waited for the end of the child"
    finally:
        end.cancel()
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_a_child_that_is_forked_while_a_directory_is_opened_keeps_no_place(tmp_path: Path) -> None:
    """It kept the lock of a parent that was killed: nobody knew yet of the descriptor."""
    of_child, tell = os.pipe()
    is_forking, fds = threading.Event(), []

    def fork() -> None:
        if (pid := os.fork()) == 0:
            with suppress(OSError):
                os.fstat(fds[0])
                os.write(tell, b"open")
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(tell)

    thread = threading.Thread(target=fork)

    def open_directory() -> int:
        fds.append(os.open(tmp_path, os.O_RDONLY))
        thread.start()
        assert is_forking.wait(10)
        thread.join(0.05)  # unless it waits for this function
        return fds[0]

    with alone(str(tmp_path), lambda: os.open(tmp_path, os.O_RDONLY)):
        os.register_at_fork(before=is_forking.set)
    with alone(str(tmp_path), open_directory):
        thread.join()
    assert os.read(of_child, 4) == b""
    os.close(of_child)


def test_a_child_that_is_forked_within_a_creation_and_fails_leaves_all_to_its_parent(tmp_path: Path) -> None:
    """It removed the chunks that the parent had stored, whose array had fill values in their place.

    Descriptors of locks are closed in the child when it begins, and others may have got their numbers.
    """

    class Stop(BaseException):
        pass

    def in_child_of_creator(*_: object) -> None:
        if (pid := os.fork()) == 0:
            raise Stop([os.open(tmp_path, os.O_RDONLY) for _ in range(20)])
        assert os.waitpid(pid, 0)[1] == 0

    parent, source = os.getpid(), zarrcore.create_array({}, data=np.ones(40))
    try:
        zarrcore.from_array(LocalStore(tmp_path), name="a", data=source, progress=in_child_of_creator)
    except Stop as stop:
        with suppress(BaseException):
            [os.fstat(fd) for fd in stop.args[0]]
            os._exit(0)
        os._exit(1)
    finally:
        if os.getpid() != parent:
            os._exit(1)
    assert zarrcore.open_array(tmp_path, path="a")[...].sum() == 40


def test_a_place_that_cannot_be_looked_at_is_not_looked_at_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory was opened again and again because it could not be compared with what is there."""
    stat, looks = os.stat, 0

    def failing(path: Any, **options: Any) -> Any:
        nonlocal looks
        if path == str(tmp_path):
            looks += 1
            assert looks < 10
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", failing)
    with alone(str(tmp_path), lambda: os.open(tmp_path, os.O_RDONLY)):
        pass
    assert looks == 1


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM])
def test_a_creation_for_which_no_descriptor_is_left_fails(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went on without the lock that keeps the values of other processes out of its own."""
    store, open_below = LocalStore(tmp_path), LocalStore._open

    def failing(self: LocalStore, path: str, flags: int, *, writes: bool = False) -> int:
        if writes and path.endswith("/a") and flags & os.O_DIRECTORY:
            raise OSError(code, os.strerror(code), path)
        return open_below(self, path, flags, writes=writes)

    monkeypatch.setattr(LocalStore, "_open", failing)
    for data in ({"data": np.ones(4)}, {"shape": 4, "dtype": "f8"}):
        with pytest.raises(OSError, match=os.strerror(code)):
            zarrcore.create_array(store, name="a", **data)
    monkeypatch.undo()
    with pytest.raises(BaseZarrError):
        zarrcore.open_array(store, path="a", mode="r")


@pytest.mark.parametrize("locks", ["file", "none"])
def test_a_creator_that_is_killed_keeps_nobody_away(locks: Any, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "data", locks=locks)
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:

        def wait(*_: object) -> None:
            os.write(tell, b"x")
            time.sleep(60)

        zarrcore.from_array(store, name="a", data=zarrcore.create_array({}, data=np.ones(40)), progress=wait)
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert zarrcore.create_array(store, name="a", data=np.zeros(40))[...].sum() == 0


def test_a_creation_that_is_refused_leaves_nothing(store: LocalStore) -> None:
    zarrcore.create_array(store, name="a", shape=3, dtype="i4")
    zarrcore.create_group(store, path="old/group", zarr_format=2)
    before = sorted(map(str, Path(store.root).rglob("*")))
    for path in ("a/b", "c/zarr.json", "...", "old/group/b/c", "a"):
        for data in ({"data": np.zeros(3, "i4")}, {"shape": 3, "dtype": "i4"}):
            for overwrite in (False, True)[: 1 + (path != "a")]:
                with pytest.raises(BaseZarrError):
                    zarrcore.create_array(store, name=path, overwrite=overwrite, **data)
    assert sorted(map(str, Path(store.root).rglob("*"))) == before
