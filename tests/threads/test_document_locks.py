# SPDX-License-Identifier: MIT
"""Locks of metadata documents, one for each node, and consolidated metadata that follow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore import _locks
from zarrcore._core import engine
from zarrcore.nodes import users
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


CHANGES: dict[str, Callable[[zarrcore.Group], object]] = {
    "append": lambda root: root["a"].append([1]),
    "attributes": lambda root: root["a"].attrs.update(x=1),
    "resize": lambda root: root["a"].resize((3,)),
    "move": lambda root: root.move("a", "b"),
    "create": lambda root: root.create_array("c", data=np.arange(3), overwrite=True),
}


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # in a generator that is closed
@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupt_leaves_nothing_locked_if_its_traceback_is_kept(change: str) -> None:
    """As IPython keeps it: a context manager of contextlib that was interrupted had locks as long as that.

    The steps are those at which one of the functions under way is at a place where it has not been before.
    """
    kept: BaseException | None = None
    steps = interrupts = 0
    seen = set[tuple[CodeType, int]]()
    new = list[int]()

    def is_step(frame: FrameType, event: str) -> bool:
        # A signal handler is called after calls and where functions begin.  (Python's logging leaves a lock
        # taken if that is inside of it.)
        return event in ("call", "return") and "logging" not in frame.f_code.co_filename

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal steps
        if is_step(frame, event):
            steps += 1
            places = {(one.f_code, one.f_lasti) for one, _ in traceback.walk_stack(frame)}
            new.extend([steps] if places - seen else [])
            seen.update(places)

    def interrupt(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal steps
        if is_step(frame, event):
            steps -= 1
            if steps == 0:
                raise KeyboardInterrupt

    def others() -> None:
        path = "a" if "a" in root else "b"
        root[path].resize((5,))
        root.create_array("c", data=np.arange(3), overwrite=True)
        root.move(path, "d")
        is_done.append(True)

    is_done: list[bool] = []
    for array in users.COMPILED:  # what tracebacks of other tests keep is looked at in each round
        users.COMPILED.discard(array)
    root = zarrcore.create_group({})
    CHANGES[change](prepared(root))  # what is imported then is not of interest
    prepared(root)
    sys.setprofile(count)
    try:
        CHANGES[change](root)
    finally:
        sys.setprofile(None)
    for number in new:
        prepared(root)
        steps = number
        sys.setprofile(interrupt)
        try:
            CHANGES[change](root)
        except KeyboardInterrupt as error:
            kept, interrupts = error, interrupts + 1
        finally:
            sys.setprofile(None)
        (thread := threading.Thread(target=others, daemon=True)).start()
        thread.join(60)
        assert not thread.is_alive() and is_done.pop(), f"after {number} steps"
    assert kept and len(new) - 20 < interrupts > 200


def prepared(root: zarrcore.Group) -> zarrcore.Group:
    """The group with one array."""
    for name in list(root):
        del root[name]
    root.create_array("a", shape=4, dtype="i4")
    return root


def test_a_lock_of_a_key_is_free_when_nobody_has_the_object_any_more() -> None:
    """CPython 3.14 drops it if a signal handler raises something where a `with` statement begins: SIGSEGV."""
    place = engine.Place("scope of a test/")
    for _ in range(3):
        engine.KeyLock(place, "key").__enter__()
        with engine.KeyLock(place, "key"):
            pass


def test_a_lock_that_a_with_statement_of_python_has_lost_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_locks, "_LEAVES_LOCKS", True)
    held = _locks.lock(_locks.Rank.TABLE)
    with _locks.owning(held), _locks.owning(held):
        assert held._is_owned()
    assert not held._is_owned()
    _locks.owning(held).__enter__()
    assert not held._is_owned()
