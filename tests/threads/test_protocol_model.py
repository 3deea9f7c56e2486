"""Readers, writers, removers and resizers of one array, interleaved at random and checked against a model.

The model remembers which writes of each element are certain to have been overwritten when a read begins: a
read must return none of these, and no value of another element.  On one thread, operations begin inside of
the calls of a store, so that a seed makes the same interleaving again.  csrc/tests/test_protocol.c does the
same in C.

``ZC_TEST_SECONDS`` and ``ZC_TEST_SEED`` make it longer and different.
"""

from __future__ import annotations

import os
import random
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BoundsCheckError, ChunkError
from zarrcore.storage import LocalStore, MemoryStore, Store, resolve_range

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = float(os.environ.get("ZC_TEST_SECONDS", "0.5"))  # of each case
SEED = int(os.environ.get("ZC_TEST_SEED", "1"))
N, SHORT, CHUNK = 48, 30, 12
N_THREADS = 3
LEAST_STEPS = 40

KINDS = ["memory", "local", "link", "remote", "slow"]


class Remote(Store):
    """Values without stamp or version; its calls are where other operations begin."""

    def __init__(self, case: Case, pause: float = 0.0) -> None:
        super().__init__()
        self.values: dict[str, bytes] = {}
        self.case = case
        self.pause = pause

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        self.case.interrupt()
        value = self.values.get(key)
        self.case.interrupt()
        return None if value is None else value[slice(*resolve_range(byte_range, len(value)))]

    def set(self, key: str, value: Any) -> None:
        self.case.interrupt()
        self.values[key] = bytes(value)
        if self.pause:
            time.sleep(self.pause)
        self.case.interrupt()

    def delete(self, key: str) -> None:
        self.values.pop(key, None)
        self.case.interrupt()

    def list(self) -> Any:
        return iter(list(self.values))


class Case:
    """One array, its handles, and the model."""

    def __init__(self, kind: str, path: Path, *, sharded: bool, nested: bool) -> None:
        self.kind, self.path, self.nested = kind, path, nested
        self.guard = threading.Lock()
        self.clock = count(1)
        self.writes: list[dict[int, list[float]]] = [{0: [0, 0]} for _ in range(N)]  # value -> begin, end
        self.local = threading.local()
        self.wrong: list[str] = []
        self.steps = 0
        options: dict[str, Any] = {"chunks": 4, "shards": CHUNK} if sharded else {"chunks": CHUNK}
        self.store: Any = {
            "memory": MemoryStore,
            "local": lambda: LocalStore(path / "real"),
            "link": lambda: LocalStore(path / "real"),
            "remote": lambda: Remote(self),
            "slow": lambda: Remote(self, 0.0005),
        }[kind]()
        self.array = zarrcore.create_array(
            self.store, shape=N, dtype="i8", compressors=None, fill_value=0, **options
        )
        other = self.store
        if kind == "link":
            (path / "link").symlink_to("real")
            other = LocalStore(path / "link")
        self.place = other
        self.cache = zarrcore.ChunkCache(1 << 10)
        self.open_handles()
        self.old = None
        self.resizing = threading.Lock()

    def open_handles(self) -> None:
        """Open the handles that read: those from before a shrink stay as short as the array was then."""
        self.other = zarrcore.open_array(self.place, mode="r+")
        self.cached = zarrcore.open_array(self.place).with_cache(self.cache)

    def start(self, seed: int) -> None:
        self.local.dice = random.Random(seed)
        self.local.depth = 0

    # --- the model

    def begin(self, elements: range, *, empty: bool) -> list[int]:
        with self.guard:
            values = []
            for i in elements:
                number = next(self.clock)
                value = -number if empty else number * N + i
                self.writes[i][value] = [number, float("inf")]
                values.append(value)
            return values

    def end(self, elements: range, values: list[int]) -> None:
        with self.guard:
            for i, value in zip(elements, values, strict=True):
                self.writes[i][value][1] = next(self.clock)

    def check(self, elements: range, found: list[int], since: int) -> None:
        with self.guard:
            for i, value in zip(elements, found, strict=True):
                writes = self.writes[i]
                certain = max(begin for begin, end in writes.values() if end < since)
                known = [key for key in writes if key == value or (value == 0 and key <= 0)]
                if not any(writes[key][1] >= certain for key in known):
                    self.wrong.append(f"element {i} was read as {value}, of element {value % N}")

    # --- operations

    def interrupt(self) -> None:
        if self.nested and getattr(self.local, "depth", 9) in (1, 2) and self.local.dice.random() < 0.1:
            self.step()

    def elements(self, low: int, high: int) -> range:
        dice = self.local.dice
        start = dice.randrange(low, high)
        end = min(dice.randint(start + 1, high), (start // CHUNK + 1) * CHUNK if self.nested else high)
        return range(start, end, dice.choice([1, 1, 1, 2, 3]))

    def write(self, array: Any, elements: range, *, empty: bool) -> None:
        values = self.begin(elements, empty=empty)
        data = np.array([0 if empty else value for value in values])
        try:
            array[elements.start : elements.stop : elements.step] = data
        except ChunkError as error:
            if not self.nested or "while this thread is writing it" not in str(error):
                raise
            with self.guard:
                for i, value in zip(elements, values, strict=True):
                    del self.writes[i][value]
            return
        self.end(elements, values)

    def read(self) -> None:
        elements = self.elements(0, N)
        with self.guard:
            since = next(self.clock)
        handle = self.local.dice.choice([self.cached, self.cached, self.other])
        part = slice(elements.start, elements.stop, elements.step)
        try:
            found = handle.read_many([part])[0] if self.local.dice.random() < 0.3 else handle[part]
        except BoundsCheckError:
            assert elements.stop > SHORT  # the array was cut off meanwhile
            return
        seen = elements[: len(found)]
        assert seen == elements or len(seen) == len(range(elements.start, SHORT, elements.step))
        self.check(seen, found.tolist(), since)

    def resize(self) -> None:
        """Cut the array off and let it grow: on one thread at a time, with the elements beyond to itself."""
        if self.local.depth > 1 or not self.resizing.acquire(blocking=False):
            return
        try:
            elements = range(SHORT, N)
            values = self.begin(elements, empty=True)
            handle = zarrcore.open_array(self.store, mode="r+")
            handle.resize((SHORT,))
            self.old = zarrcore.open_array(self.store, mode="r+")
            handle.resize((N,))
            self.end(elements, values)
            self.open_handles()
            self.write(handle, self.elements(SHORT, N), empty=False)
        finally:
            self.resizing.release()

    def step(self) -> None:
        self.local.depth += 1
        self.steps += 1
        choice = self.local.dice.random()
        if choice < 0.5:
            self.read()
        elif choice < 0.97:
            handle = self.local.dice.choice([self.array, self.other, self.old or self.array])
            self.write(handle, self.elements(0, SHORT), empty=self.local.dice.random() < 0.3)
        else:
            self.resize()
        self.local.depth -= 1

    def run(self, seed: int) -> None:
        self.start(seed)
        until = time.monotonic() + SECONDS
        for number in count():
            if number >= LEAST_STEPS and time.monotonic() > until:
                break
            self.step()


@pytest.mark.parametrize("sharded", [False, True], ids=["chunks", "shards"])
@pytest.mark.parametrize("kind", ["memory", "remote"])
def test_operations_inside_of_each_other(kind: str, sharded: bool, tmp_path: Path) -> None:
    case = Case(kind, tmp_path, sharded=sharded, nested=True)
    case.run(SEED)
    case.nested = False
    assert not case.wrong, case.wrong[:5]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege")
@pytest.mark.parametrize("sharded", [False, True], ids=["chunks", "shards"])
@pytest.mark.parametrize("kind", KINDS)
def test_operations_on_threads(kind: str, sharded: bool, tmp_path: Path) -> None:
    case = Case(kind, tmp_path, sharded=sharded, nested=False)
    failures: list[BaseException] = []

    def run(seed: int) -> None:
        try:
            case.run(seed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(SEED + k,)) for k in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    assert not case.wrong, case.wrong[:5]
