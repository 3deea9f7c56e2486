# SPDX-License-Identifier: MIT
"""Children of a process that has used a remote store can use it too, however they are started."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import StoreError
from zarrcore.storage import FsspecStore, ObjectStore, Store, clients, make_store

obstore = pytest.importorskip("obstore.store")

VALUES = np.arange(100, dtype="i4")


def read_and_write(array: zarrcore.Array, number: int) -> int:
    assert np.array_equal(array[50:], VALUES[50:])
    array[number] = -number
    return int(array[number])


@pytest.fixture(params=["URL", "store of obstore", "fsspec"])
def array(request: Any, server: ObjectServer, bucket: Any) -> zarrcore.Array:
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    store: Store
    if request.param == "URL":
        store = make_store("s3://bucket", storage_options=words)
    elif request.param == "fsspec":
        pytest.importorskip("s3fs")
        store = FsspecStore.from_url("s3://bucket", storage_options=words)
    else:
        store = ObjectStore(bucket)
    array = zarrcore.create_array(store, name="a", data=VALUES, chunks=10)
    assert np.array_equal(array[...], VALUES)  # its threads are running
    return array


def in_fork(check: Callable[[], object], seconds: float = 30) -> bool:
    """Whether `check` passes in a child made by fork; one that hangs does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is what is tested
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (ended := os.waitpid(pid, os.WNOHANG))[0]:
            return os.waitstatus_to_exitcode(ended[1]) == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fork(array: zarrcore.Array) -> None:
    def check() -> None:
        assert read_and_write(array, 3) == -3
        assert in_fork(lambda: read_and_write(array, 4))  # of its own child, too

    assert in_fork(check)
    assert array[:5].tolist() == [0, 1, 2, -3, -4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fork_while_others_read(array: zarrcore.Array) -> None:
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            array[20:]

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        assert all(in_fork(lambda: read_and_write(array, number)) for number in range(4))  # noqa: B023
    finally:
        done.set()
        for reader in readers:
            reader.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_an_array_is_opened_by_the_child(server: ObjectServer) -> None:
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    zarrcore.create_array("s3://bucket/b", data=VALUES, storage_options=words)

    def check() -> None:
        assert np.array_equal(zarrcore.open_array("s3://bucket/b", storage_options=words)[...], VALUES)

    assert in_fork(check)


class S3Store:
    """One that tells where it ends."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.process = os.getpid()

    def __del__(self) -> None:
        if self.process != os.getpid():
            os._exit(9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_no_child_ends_a_store_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections were closed, which waited for ever if a thread of the parent held their lock."""
    package = SimpleNamespace(store=SimpleNamespace(S3Store=S3Store))
    monkeypatch.setattr(clients, "obstore", lambda: package)
    mine = [clients.Client("S3Store", ("bucket",), {}), clients.Client.of(S3Store())]
    assert all(client.store.process == os.getpid() for client in mine)

    def check(generations: int = 2) -> None:
        assert mine[0].store.process == os.getpid()  # one of its own, in the place of the other
        if generations > 1:
            assert in_fork(lambda: check(generations - 1))
        mine.clear()

    assert in_fork(check)


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_start_methods(array: zarrcore.Array, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.starmap_async(read_and_write, [(array, 3), (array, 14)]).get(
                60
            )  # each in a chunk of its own
    assert found == [-3, -14]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_workers_of_a_loader_read_what_their_parent_has_read(array: zarrcore.Array) -> None:
    data = pytest.importorskip("torch.utils.data", reason="torch is not installed (extra torch)")
    dataset = zarrcore.torch.MapDataset(array)
    options = {"num_workers": 2, "multiprocessing_context": "fork", "timeout": 60}
    for _ in range(2):  # in workers of their own each time; the parent goes on in between
        batches = data.DataLoader(dataset, batch_size=8, **options)
        assert [int(row) for batch in batches for row in batch] == VALUES.tolist()
        assert np.array_equal(array[...], VALUES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_store_in_memory_stays_with_its_process() -> None:
    from obstore.store import MemoryStore

    store = ObjectStore(MemoryStore())
    store.set("k", b"value")

    def check() -> None:
        with pytest.raises(StoreError, match="fork"):
            store.get("k")

    assert in_fork(check)
    with pytest.raises(TypeError, match="MemoryStore"):
        pickle.dumps(store)


def test_a_directory_that_is_gone_keeps_no_child_from_moving_a_node(tmp_path: Path) -> None:
    """Where an array of the parent lies was asked of its store, which could not be made again there."""
    root = tmp_path / "gone"
    root.mkdir()
    held = zarrcore.create_array(ObjectStore(obstore.LocalStore(root)), name="a", data=VALUES)
    assert np.array_equal(held[...], VALUES)
    shutil.rmtree(root)

    def move() -> None:
        group = zarrcore.create_group(tmp_path / "new")
        group.create_array("x", data=VALUES)
        group.move("x", "y")
        assert list(group) == ["y"]

    assert in_fork(move)
