# SPDX-License-Identifier: MIT
"""Stores that others write to while they are looked at, and repairs that run at the same time."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import Crc32cCodec
from zarrcore.storage import LocalStore, MemoryStore, moving

LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"compressors": None},
    "shards": {"compressors": [Crc32cCodec()], "shards": (100,)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("where", ["files", "memory"])
def test_what_others_write_meanwhile_is_no_error(layout: str, where: str, tmp_path: Path) -> None:
    # A warning may be of what a writer has not ended: chunks that a resize is about to remove.
    store: Any = LocalStore(tmp_path) if where == "files" else MemoryStore()
    options: dict[str, Any] = {"name": "a", "shape": 1000, "chunks": 10, "dtype": "i4", "overwrite": True}
    array = zarrcore.create_array(store, **options, **LAYOUTS[layout])
    ended = threading.Event()
    failures: list[Exception] = []

    def write() -> None:
        number = 0
        try:
            while not ended.is_set():
                number += 1
                array[:] = np.arange(1000) + number
                array[:500] = 0
                if number % 5 == 0:
                    array.resize(500)
                    array.resize(1000)
        except Exception as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(25):
            for level in ("metadata", "index", "data"):
                report = zarrcore.verify(store, level=level)  # type: ignore[arg-type]
                assert report.errors == [], report
    finally:
        ended.set()
        writer.join()
    assert failures == []
    array[:] = 0
    array[:] = 1
    assert zarrcore.verify(store).findings == []


def test_a_chunk_that_is_removed_after_it_was_listed_is_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for layout, options in LAYOUTS.items():
        store = LocalStore(tmp_path / layout)
        array = zarrcore.create_array(store, shape=200, chunks=10, dtype="i4", **options)
        array[:] = np.arange(200) + 1
        listed = zarrcore.inspection.arrays.list_files

        def list_then_remove(*args: Any, listed: Any = listed, store: Any = store, **kwargs: Any) -> Any:
            found = listed(*args, **kwargs)
            store.delete("c/1")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(zarrcore.inspection.arrays, "list_files", list_then_remove)
            report = zarrcore.verify(store)
        assert [(f.severity, f.key, f.message) for f in report] == [
            ("note", "c/1", "was removed after it was listed")
        ]
        assert report.ok


@pytest.mark.parametrize("level", ["index", "data"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_chunk_that_is_written_again_after_it_was_missed_is_looked_at(
    layout: str, level: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    array = zarrcore.create_array(store, shape=200, chunks=10, dtype="i4", **LAYOUTS[layout])
    array[:] = np.arange(200) + 1
    expected = zarrcore.verify(store, level=level)
    inspected, size_of = zarrcore.inspection.arrays, LocalStore._size
    missed = iter([None, None])

    def list_without_a_size(*args: Any, list_files: Any = inspected.list_files, **kwargs: Any) -> Any:
        coords, sizes, others = list_files(*args, **kwargs)
        sizes[1] = -1
        return coords, sizes, others

    def decode_without_one(*args: Any, try_chunks: Any = inspected.engine.try_chunks) -> Any:
        sizes = try_chunks(*args)
        sizes[1] = -1
        return sizes

    def size(self: LocalStore, key: str) -> int | None:
        return next(missed, size_of(self, key)) if key == "c/1" else size_of(self, key)

    monkeypatch.setattr(inspected, "list_files", list_without_a_size)
    monkeypatch.setattr(inspected.engine, "try_chunks", decode_without_one)
    monkeypatch.setattr(LocalStore, "_size", size)
    report = zarrcore.verify(store, level=level)
    assert next(missed, "asked") == "asked"
    assert (report.findings, report.nbytes) == ([], expected.nbytes)


def test_a_shard_that_is_removed_after_it_was_listed_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    array = zarrcore.create_array(store, shape=200, chunks=10, dtype="i4", **LAYOUTS["shards"])
    array[:] = np.arange(200) + 1
    from zarrcore.inspection import census

    def list_then_remove(*args: Any, list_files: Any = census.list_files, **kwargs: Any) -> Any:
        coords, sizes, others = list_files(*args, **kwargs)
        store.delete("c/1")
        sizes[1] = -1
        return coords, sizes, others

    monkeypatch.setattr(census, "list_files", list_then_remove)
    info = array.chunk_info()
    assert info.damaged == ()
    assert info.nbytes[0] > 0


def test_repairs_at_the_same_time_move_a_chunk_aside_once(tmp_path: Path) -> None:
    store, aside = LocalStore(tmp_path / "a"), LocalStore(tmp_path / "aside")
    array = zarrcore.create_array(
        store, name="x", shape=400, chunks=10, dtype="i4", compressors=[Crc32cCodec()]
    )
    array[:] = np.arange(400) + 1
    damaged = {f"x/c/{n}": b"damaged %d" % n for n in range(0, 40, 2)}
    for key, value in damaged.items():
        store.set(key, value)
    reports = [zarrcore.verify(store) for _ in range(4)]
    results: list[list[Any]] = [[] for _ in reports]
    begin = threading.Barrier(len(reports))

    def repair(number: int) -> None:
        begin.wait()
        results[number] = zarrcore.repair(reports[number], quarantine=aside, dry_run=False)

    threads = [threading.Thread(target=repair, args=(number,)) for number in range(len(reports))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: aside.get(key) for key in aside.list()} == damaged
    done = [action.key for result in results for action in result if action.done]
    assert sorted(done) == sorted(damaged)
    assert all(action.done or action.message == "is not damaged any more" for r in results for action in r)
    assert zarrcore.verify(store).ok


def assert_found_once_killed(pid: int, ready: int, store: Any, folder: Path) -> None:
    """What a process at work has in a folder is a finding of `verify` once it is killed, not before."""
    try:
        os.read(ready, 1)
        assert len([*folder.rglob(".zc-*.partial")]) == 1
        assert zarrcore.verify(store).ok
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    (finding,) = zarrcore.verify(store).findings
    assert (finding.kind, finding.message) == ("temporary", "left by a writer that did not end")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("key", ["c/1", "zarr.json"])
def test_a_temporary_file_is_a_finding_once_its_writer_is_gone(key: str, tmp_path: Path) -> None:
    """verify said of a file that was just being written that its writer had not ended."""
    store = LocalStore(tmp_path)
    zarrcore.save_array(store, np.arange(10), chunks=5)
    value, ready = store.get(key), os.pipe()

    def parts() -> Iterator[bytes]:
        os.write(ready[1], b"x")
        time.sleep(60)
        yield b""

    pid = os.fork()
    if pid == 0:
        store._set_parts(key, 10, parts())
        os._exit(0)
    assert_found_once_killed(pid, ready[0], store, tmp_path)
    assert store.get(key) == value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_directory_of_a_move_is_a_finding_once_its_process_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """verify said of a store that was just being moved to another file system that a writer had not ended."""
    zarrcore.create_group(tmp_path)
    source, ready = LocalStore(tmp_path / "source"), os.pipe()
    zarrcore.save_array(source, np.arange(10))
    pid = os.fork()
    if pid == 0:

        def refused(*_: object) -> None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

        def copytree(*_: object, **options: object) -> None:
            os.write(ready[1], b"x")
            time.sleep(60)

        monkeypatch.setattr(moving, "_rename", refused)
        monkeypatch.setattr(shutil, "copytree", copytree)
        source.move(tmp_path / "target")
        os._exit(0)
    assert_found_once_killed(pid, ready[0], tmp_path, tmp_path)
