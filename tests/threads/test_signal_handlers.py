# SPDX-License-Identifier: MIT
"""A signal handler, or what the garbage collector calls, may do what the code does that it interrupts."""

from __future__ import annotations

import io
import itertools
import json
import os
import sys
import threading
import time
import zipfile
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest

import zarrcore
from zarrcore import _locks
from zarrcore.config import Config, config
from zarrcore.errors import StoreError
from zarrcore.nodes.copies import note_change, note_consolidation
from zarrcore.nodes.reserved import is_anyone_creating, reserved
from zarrcore.storage import (
    CacheStore,
    FsspecStore,
    ManagedMemoryStore,
    MemoryStore,
    ReferenceStore,
    Store,
    SuffixByteRequest,
    ZipStore,
    loops,
)
from zarrcore.storage.caching import CacheStore as KeptInStore
from zarrcore.storage.clients import Client
from zarrcore.storage.ends import Ends
from zarrcore.storage.inherited import opened_here
from zarrcore.storage.loops import own_loop, run_to_end
from zarrcore.storage.path import StorePath
from zarrcore.storage.remote import in_parallel
from zarrcore.storage.tags import Tags
from zarrcore.storage.versions import Recent
from zarrcore.testing.process import in_child

HOMES = os.path.dirname(zarrcore.__file__), os.path.dirname(zipfile.__file__)
NUMBERS = itertools.count()


def settings(_: Path) -> Callable[[], object]:
    def change() -> None:
        with config.set({"array.order": "F"}):
            assert config.get("array.order") == "F"

    return change


def new_keys(store: Store) -> Callable[[], object]:
    return lambda: store.set_if_not_exists(f"{next(NUMBERS)}", b"value")


def in_memory(_: Path) -> Callable[[], object]:
    return new_keys(MemoryStore())


def named(_: Path) -> Callable[[], object]:
    return lambda: ManagedMemoryStore("test_signal_handlers")


def of_fsspec(_: Path) -> Callable[[], object]:
    fsspec = pytest.importorskip("fsspec")
    store = FsspecStore(fsspec.filesystem("memory"), path="/test_signal_handlers")
    return lambda: store.set_if_not_exists("key", b"value")


def kept_in_a_store(_: Path) -> Callable[[], object]:
    store = KeptInStore(MemoryStore({"key": b"value"}), cache_store=MemoryStore())
    return lambda: store.get("key")


def kept_in_files(path: Path) -> Callable[[], object]:
    store = CacheStore(MemoryStore({"key": b"value"}), path, max_bytes=1 << 20, immutable=True, name="x")
    return lambda: store.get("key")


def of_an_object_store(_: Path) -> Callable[[], object]:
    obstore = pytest.importorskip("obstore.store")
    store = zarrcore.storage.ObjectStore(obstore.MemoryStore())
    return new_keys(store)


def in_threads_of_stores(_: Path) -> Callable[[], object]:
    return lambda: in_parallel(lambda item: item, [1, 2])


def on_a_loop(_: Path) -> Callable[[], object]:
    async def nothing() -> None:
        pass

    return lambda: run_to_end(nothing, own_loop())


def of_tables(_: Path) -> Callable[[], object]:
    """The tables of stores over a network, which other threads of one read use as well."""
    ends, tags, recent = Ends(), Tags(), Recent()

    def use() -> None:
        key = f"{next(NUMBERS) % 3}"
        ends.note(key, 4, "tag", b"data")
        ends.find(key, 4)
        ends.drop(key)
        tags.note(key, f"{next(NUMBERS)}", "test_signal_handlers/")
        tags.drop(key)
        recent.note(key, b"value", "version", recent.begin())
        recent.drop(key)

    return use


def in_a_mapping(_: Path) -> Callable[[], object]:
    return new_keys(MemoryStore(UserDict()))


def of_a_user(_: Path) -> Callable[[], object]:
    return new_keys(OnlyWhatItMust())


class OnlyWhatItMust(Store):
    """A store with the methods that one must have."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        return self.values.get(key)

    def set(self, key: str, value: Any) -> None:
        self.values[key] = bytes(value)

    def delete(self, key: str) -> None:
        self.values.pop(key, None)

    def list(self) -> Iterator[str]:
        return iter([*self.values])


def of_zarr_python(_: Path) -> Callable[[], object]:
    storage = pytest.importorskip("zarr.storage")
    return new_keys(zarrcore.storage.ZarrPythonStore(storage.MemoryStore()))


def counted(_: Path) -> Callable[[], object]:
    return lambda: zarrcore.metrics(reset=True)


def members(_: Path) -> Callable[[], object]:
    """Groups with consolidated metadata of which a member changes."""
    store = MemoryStore()
    zarrcore.create_group(store).create_group("a")
    zarrcore.consolidate_metadata(store)
    shared = zarrcore.open_group(store)

    def use() -> None:
        own = zarrcore.open_group(store)
        note_consolidation()
        note_change(StorePath(store, "a"))
        assert shared.metadata.consolidated_metadata is own.metadata.consolidated_metadata is None

    return use


def with_values(_: Path) -> Callable[[], object]:
    """The places where nodes are made with their values."""
    store = MemoryStore()

    def use() -> None:
        with reserved(StorePath(store, f"{next(NUMBERS)}")):
            assert is_anyone_creating()

    return use


def new_clients(_: Path) -> Callable[[], object]:
    obstore = pytest.importorskip("obstore.store")
    found = Client.of(obstore.LocalStore())
    return lambda: Client(found.kind, found.args, found.options).store


def new_loops(_: Path) -> Callable[[], object]:
    def use() -> None:
        loop = loops._found(lambda _: False)
        loop.call_soon_threadsafe(loop.stop)
        while loop.is_running():
            time.sleep(0.001)
        loop.close()

    return use


def archived(_: Path) -> Callable[[], object]:
    """An archive in another store, whose directory is read by the first one who uses it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("key", b"value")
    place = StorePath(MemoryStore({"a.zip": data.getvalue()}), "a.zip")
    store = ZipStore(place)

    def use() -> None:
        nonlocal store
        if threading.current_thread() is threading.main_thread():
            store = ZipStore(place)
        assert store.get("key", SuffixByteRequest(2)) == b"ue"

    return use


def referenced(path: Path) -> Callable[[], object]:
    pytest.importorskip("pyarrow")
    from pyarrow import Table, parquet

    (path / "a").mkdir()
    columns = {"path": [None], "offset": [0], "size": [0], "raw": [b"value"]}
    parquet.write_table(Table.from_pydict(columns), path / "a" / "refs.0.parq")
    array = {"shape": [1], "chunks": [1], "dtype": "<i4", "fill_value": 0, "order": "C", "zarr_format": 2}
    document = {"record_size": 1, "metadata": {"a/.zarray": array | {"filters": None, "compressor": None}}}
    (path / ".zmetadata").write_text(json.dumps(document))
    store = ReferenceStore(str(path))

    def use() -> None:
        assert store.get("a/0") == b"value"

    return use


def opening(path: Path) -> Callable[[], object]:
    """Files that a child of a fork closes."""
    (path / "file").touch()
    return lambda: opened_here((path / "file").open).close()


def interrupted(use: Callable[[], object], handler: Callable[[], object] | None = None) -> int:
    """Use it once more, or call a handler, at each line of zarrcore and zipfile; returns at how many."""
    count, is_inside = 0, False

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count, is_inside
        if event == "line" and not is_inside:
            is_inside = True
            sys.settrace(None)
            try:
                (handler or use)()
            finally:
                count, is_inside = count + 1, False
                sys.settrace(begin)
        return at_line

    def begin(frame: FrameType, *_: Any) -> Any:
        return at_line if frame.f_code.co_filename.startswith(HOMES) else None

    known = sys.gettrace()
    sys.settrace(begin)
    try:
        use()
    finally:
        sys.settrace(known)
    return count


@pytest.mark.parametrize(
    "make", [settings, in_memory, named, of_fsspec, kept_in_a_store, kept_in_files, of_an_object_store]
)
def test_a_handler_waited_for_a_lock_of_the_code_that_it_interrupted(
    make: Callable[[Path], Callable[[], object]], tmp_path: Path
) -> None:
    use = make(tmp_path)
    use()
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(interrupted(use)), daemon=True)
    thread.start()
    thread.join(60)
    assert counts and counts[0] > 3


WITHOUT_LOCKS = [kept_in_files, of_an_object_store, of_tables, in_threads_of_stores, on_a_loop]
WITHOUT_LOCKS += [settings, counted, named, members, with_values, in_a_mapping, of_a_user]
WITHOUT_LOCKS += [of_zarr_python, kept_in_a_store, new_clients, new_loops, archived, referenced, opening]


@pytest.mark.parametrize("make", WITHOUT_LOCKS)
def test_a_handler_waited_for_a_thread_that_waited_for_the_code_that_it_interrupted(
    make: Callable[[Path], Callable[[], object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables had locks, held where a handler may be called: its thread may take them again, others not."""
    monkeypatch.setattr(_locks, "PATIENCE", 0.01, raising=False)
    use = make(tmp_path)
    use()
    rest = itertools.repeat(None, 500)  # else what is changed over and over is looked for without end

    def handler() -> None:
        if next(rest, rest) is rest:
            return
        other = threading.Thread(target=use, daemon=True)
        other.start()
        other.join(10)
        assert not other.is_alive()

    assert interrupted(use, handler) > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waited_for_a_thread_that_opens_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_locks, "PATIENCE", 0.01, raising=False)
    end = threading.Event()

    def open_late() -> IO[bytes]:
        end.wait(10)
        return io.BytesIO()

    thread = threading.Thread(target=opened_here, args=(open_late,))
    thread.start()
    try:
        assert in_child(lambda: True)
        assert thread.is_alive()
    finally:
        end.set()
        thread.join()


def test_what_a_handler_set_was_lost_in_a_change_of_settings() -> None:
    """It found the settings being replaced by those from before it."""
    own, numbers = Config({}), itertools.count()

    def handler() -> None:
        if (number := next(numbers)) < 20:
            own.set({f"b{number}": 1})

    assert interrupted(lambda: own.set({"a": 1}), handler) > 20
    assert own.to_dict() == {"a": 1} | {f"b{number}": 1 for number in range(20)}


OTHERS = [lambda store: store.get("a", (1, 3)), lambda store: store.set("n", b"new"), ZipStore.close]


@pytest.mark.parametrize("other", OTHERS, ids=["reads", "writes", "closes"])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_handler_ruined_an_archive_that_was_being_written(
    other: Callable[[ZipStore], object], compression: int, tmp_path: Path
) -> None:
    """It moved the position in the file: what was written next went to another place."""
    store = ZipStore(tmp_path / "a.zip", mode="w", compression=compression)
    store.set("a", b"a" * 40)
    answers: list[object] = []

    def handler() -> None:
        try:
            answers.append(other(store))
        except StoreError as error:
            assert "is in use" in str(error)

    assert interrupted(lambda: store.set("b", b"b" * 40), handler) > 20
    try:
        assert interrupted(lambda: answers.append(store.get("b") == b"b" * 40), handler) > 10
    except StoreError as error:
        assert other is ZipStore.close and "was closed while it was used" in str(error)
    assert answers and False not in answers and set(answers) <= {None, True, b"aaa"}
    store.close()
    archive = zipfile.ZipFile(tmp_path / "a.zip")
    assert archive.testzip() is None
    values = {"a": b"a" * 40, "b": b"b" * 40, "n": b"new"}
    assert {name: archive.read(name) for name in archive.namelist()}.items() <= values.items()
    assert {"a", "b"} <= {*archive.namelist()}


def test_every_lock_is_one_that_its_thread_may_take_again() -> None:
    """Of those that are held while anything is called; asyncio and threads have others, for turns."""
    found = [
        path.name
        for path in Path(HOMES[0]).rglob("*.py")
        if path.name not in ("_threads.py", "_awaited.py", "loops.py")
        and any(words in path.read_text() for words in ("allocate_lock", "threading.Lock", " Lock()"))
    ]
    assert found == []
