# SPDX-License-Identifier: MIT
"""Creating nodes: which names they may have, and who wins where several create one at the same time."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest

import zarrcore
from zarrcore.errors import ContainsArrayError, ContainsGroupError, InvalidKeyError, NodeTypeValidationError
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore

ROUNDS, PROCESSES = 8, 4


# ---- names


@pytest.mark.parametrize("name", [".", "..", "...", "a/...", ".../a", "a/../b"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_names_of_dots_are_refused(name: str, zarr_format: int) -> None:
    values: dict[str, bytes] = {}
    root = zarrcore.create_group(values, zarr_format=zarr_format)
    root.create_group("x")
    before = set(values)
    options: Any = {"shape": 1, "dtype": "i1"}
    calls: list[Any] = [
        lambda: root.create_group(name),
        lambda: root.create_array(name, **options),
        lambda: zarrcore.create_array(values, name=name, zarr_format=zarr_format, **options),
        lambda: root.require_group(name),
        lambda: root.move("x", name),
        lambda: list(root.create_hierarchy({name: root.metadata})),
        lambda: zarrcore.copy(root["x"], root, name=name),
        lambda: zarrcore.open_group(values, path=name, mode="a"),
        lambda: root.__setitem__(name, [1]),
    ]
    for call in calls:
        with pytest.raises(InvalidKeyError):
            call()
    assert set(values) == before


def test_names_with_dots_in_them_are_names() -> None:
    root = zarrcore.create_group({})
    for name in ("..a", "a..", ".a", "a.b"):
        root.create_group(name)
    assert sorted(root) == sorted(("..a", "a..", ".a", "a.b"))


# ---- races


def _create(path: str, round_: int, barrier: Any, results: Any, number: int) -> None:
    barrier.wait()
    try:
        zarrcore.create_array(path, name=f"g{round_}/a", shape=number + 1, dtype="i4")
    except ContainsArrayError:
        results.put((round_, None))
    else:
        results.put((round_, number + 1))


def _create_many(path: str, barrier: Any, results: Any, number: int) -> None:
    for round_ in range(ROUNDS):
        _create(path, round_, barrier, results, number)


def test_one_of_several_processes_creates(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    workers = [
        context.Process(target=_create_many, args=(str(tmp_path), barrier, results, number))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=120) for _ in range(PROCESSES * ROUNDS)]
    for worker in workers:
        worker.join(timeout=60)
    for round_ in range(ROUNDS):
        winners = [length for number, length in found if number == round_ and length is not None]
        assert len(winners) == 1, f"round {round_}: {winners}"
        assert zarrcore.open_array(tmp_path, path=f"g{round_}/a", mode="r").shape == (winners[0],)


class SlowToAnswer(WrapperStore):
    """Both of two threads see that nothing is there before one of them writes."""

    def __init__(self, store: Any, barrier: threading.Barrier) -> None:
        super().__init__(store)
        self.barrier = barrier

    def _claim(self, prefix: str) -> bool:
        return False

    def get_many(self, keys: Any) -> Any:
        found = super().get_many(keys)
        return self._met(list(keys), found)

    def get(self, key: str, byte_range: Any = None) -> Any:
        return self._met([key], super().get(key, byte_range))

    def _met(self, keys: list[str], found: Any) -> Any:
        if any(key.startswith("a/") for key in keys) and not self.barrier.broken:
            with contextlib.suppress(threading.BrokenBarrierError):
                self.barrier.wait(timeout=0.5)
        return found


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["memory", "local", "fsspec", "obstore"])
@pytest.mark.parametrize("with_data", [False, True])
def test_one_of_two_threads_creates(kind: str, zarr_format: int, with_data: bool, tmp_path: Path) -> None:
    if kind == "fsspec":
        pytest.importorskip("fsspec")
        store: Any = zarrcore.storage.FsspecStore.from_url(f"memory://{tmp_path}")
    elif kind == "obstore":
        pytest.importorskip("obstore")
        import obstore.store

        store = zarrcore.storage.ObjectStore(obstore.store.MemoryStore())
    else:
        store = {"memory": MemoryStore(), "local": LocalStore(tmp_path)}[kind]
    zarrcore.create_group(store, zarr_format=zarr_format)
    slow = SlowToAnswer(store, threading.Barrier(2))
    won: list[int] = []

    def create(number: int) -> None:
        options: Any = {"data": [number] * number} if with_data else {"shape": number, "dtype": "i4"}
        try:
            zarrcore.create_array(slow, name="a", zarr_format=zarr_format, **options)
        except ContainsArrayError:
            return
        won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert zarrcore.open_array(store, path="a", mode="r").shape == (won[0],)


def test_an_overridden_set_is_not_passed_by() -> None:
    """A wrapper that encrypts what is set: metadata of new nodes go through it as well."""

    class Encrypting(WrapperStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, bytes(byte ^ 42 for byte in bytes(value)))

        def get(self, key: str, byte_range: Any = None) -> Any:
            value = super().get(key, None)
            return None if value is None else bytes(byte ^ 42 for byte in value)

    inside = MemoryStore()
    store = Encrypting(inside)
    zarrcore.create_array(store, name="g/a", shape=4, dtype="i4")[...] = 7
    store.set_if_not_exists("other", b"plain")
    store.set_partial_values([("other", 0, b"P")])
    assert bytes(store.get("other")) == b"Plain"
    for key in inside.list():
        assert b"zarr" not in bytes(inside.get(key))
        assert bytes(inside.get(key)) != b"Plain"
    assert zarrcore.open_array(store, path="g/a", mode="r")[...].tolist() == [7] * 4


# ---- the other kind of node


def test_an_array_where_a_group_is_asked_for_is_both_errors() -> None:
    """Scripts of zarr-python catch ContainsArrayError, older ones of this package the other."""
    store = MemoryStore()
    zarrcore.create_array(store, name="a", shape=1, dtype="i1")
    group = zarrcore.open_group(store)
    group.create_group("g")
    for kind in (ContainsArrayError, NodeTypeValidationError):
        for mode in ("r", "r+", "a"):
            with pytest.raises(kind, match="expected a group"):
                zarrcore.open_group(store, path="a", mode=mode)
        with pytest.raises(kind, match="expected a group"):
            zarrcore.open_group(store).get_group("a")
    for kind in (ContainsGroupError, NodeTypeValidationError):
        with pytest.raises(kind, match="expected an array"):
            zarrcore.open_array(store, path="g", mode="r")
        with pytest.raises(kind, match="expected an array"):
            group.get_array("g")
