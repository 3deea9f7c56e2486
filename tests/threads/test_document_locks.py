# SPDX-License-Identifier: MIT
"""Locks of metadata documents, one for each node, and consolidated metadata that follow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import zarrcore
from zarrcore.storage import MemoryStore, WrapperStore


class Slow(WrapperStore):
    """Storing a document of `a` and one of `b` ends only when both have begun."""

    barrier: threading.Barrier | None = None

    def set(self, key: str, value: Any) -> None:
        if self.barrier is not None and key.endswith(("/zarr.json", "/.zattrs")):
            self.barrier.wait(timeout=60)
        super().set(key, value)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_slow_changes_of_two_arrays_run_at_once(zarr_format: int) -> None:
    store = Slow(MemoryStore())
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    arrays = [root.create_array(name, shape=4, dtype="i4") for name in "ab"]
    store.barrier = threading.Barrier(2)

    def change(array: zarrcore.Array) -> None:
        array.attrs["x"] = array.basename

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(change, arrays))
    assert [dict(root[name].attrs) for name in "ab"] == [{"x": "a"}, {"x": "b"}]


def test_many_threads_change_one_document() -> None:
    array = zarrcore.create_array({}, shape=4, dtype="i4")
    group = zarrcore.create_group({})

    def change(k: int) -> None:
        array.attrs[f"k{k}"] = k
        group.attrs[f"k{k}"] = k

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(200)))
    assert len(array.attrs) == len(group.attrs) == 200


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_copies_of_one_group_follow_many_threads(zarr_format: int) -> None:
    store = MemoryStore()
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    for k in range(8):
        root.create_array(f"a{k}", shape=4, dtype="i4")
    zarrcore.consolidate_metadata(store)

    def change(k: int) -> None:
        root[f"a{k}"].attrs["x"] = k

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    found = zarrcore.open_consolidated(store)
    assert [found[f"a{k}"].attrs["x"] for k in range(8)] == list(range(8))
    assert zarrcore.check_consolidated(store) == ()


class Listed(WrapperStore):
    """Something happens right after a listing was made."""

    then: Any = None

    def list_dir(self, prefix: str) -> Iterator[str]:
        names = list(super().list_dir(prefix))
        then, self.then = self.then, None
        if then is not None:
            then()
        return iter(names)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_is_created_while_metadata_are_consolidated_is_in_them(zarr_format: int) -> None:
    store = Listed(MemoryStore())
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    root.create_array("early", shape=4, dtype="i4")
    store.then = lambda: root.create_array("late", shape=4, dtype="i4")
    zarrcore.consolidate_metadata(store)
    assert sorted(zarrcore.open_consolidated(store)) == ["early", "late"]


INTERRUPTED = """
import random, signal, zarrcore
array = zarrcore.create_array({}, shape=4, dtype="i4")
for k in range(400):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.random() / 1000)
        while True:
            array.attrs["x"] = k
            array.append([1])
    except KeyboardInterrupt:
        pass
    array.attrs["x"] = -k
    assert array.attrs["x"] == -k
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_an_interrupt_leaves_no_document_locked() -> None:
    script = "import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n" + INTERRUPTED
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "ZARRCORE_CHECK_LOCKS": ""},
        timeout=110,
        check=False,
    )
    assert done.returncode == 0
