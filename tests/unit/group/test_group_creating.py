# SPDX-License-Identifier: MIT
"""Creating nodes: which names they may have, and who wins where several create one at the same time."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meeting_store import MeetingStore

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


# ---- the groups above


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("through", ["group", "path"])
def test_a_group_above_that_has_changed_is_noticed(tmp_path: Path, zarr_format: int, through: str) -> None:
    store = LocalStore(tmp_path)
    options: Any = {"shape": 1, "dtype": "i1"}
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    above = root.create_group("g")

    def create(name: str) -> None:
        if through == "group":
            above.create_array(name, **options)
        else:
            zarrcore.create_array(store, name=f"g/{name}", zarr_format=zarr_format, **options)

    for name in ("a", "b"):  # the second time from what is known
        create(name)
    document = tmp_path / "g" / ("zarr.json" if zarr_format == 3 else ".zgroup")
    document.unlink()
    create("c")
    assert document.exists()
    if zarr_format == 3:
        zarrcore.consolidate_metadata(store)
        create("d")
        assert "g/d" in zarrcore.open_consolidated(tmp_path)
    if through == "group" and zarr_format == 3:
        return  # that what it has read is still a group is not asked each time
    document.unlink()
    zarrcore.create_array(store, name="x", zarr_format=zarr_format, **options)
    other = ".zarray" if zarr_format == 2 else "zarr.json"
    (tmp_path / "x" / other).rename(tmp_path / "g" / other)
    with pytest.raises(ContainsArrayError, match="no node can be below it"):
        create("e")


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


def raced_for(path: Path) -> dict[str, Any]:
    """A store of each kind that is installed."""
    found: dict[str, Any] = {"memory": MemoryStore(), "local": LocalStore(path)}
    if importlib.util.find_spec("fsspec"):
        found["fsspec"] = zarrcore.storage.FsspecStore.from_url(f"memory://{path}")
    if importlib.util.find_spec("obstore"):
        import obstore.store

        found["obstore"] = zarrcore.storage.ObjectStore(obstore.store.MemoryStore())
    return found


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("with_data", [False, True])
def test_one_of_two_threads_creates(zarr_format: int, with_data: bool, tmp_path: Path) -> None:
    """In all kinds of stores at once: in each, one of the two waits in vain for the other one for a while."""
    stores, won, threads = raced_for(tmp_path), {}, []

    def create(slow: SlowToAnswer, number: int, won: list[int]) -> None:
        options: Any = {"data": [number] * number} if with_data else {"shape": number, "dtype": "i4"}
        try:
            zarrcore.create_array(slow, name="a", zarr_format=zarr_format, **options)
        except ContainsArrayError:
            return
        won.append(number)

    for kind, store in stores.items():
        zarrcore.create_group(store, zarr_format=zarr_format)
        slow, won[kind] = SlowToAnswer(store, threading.Barrier(2)), []
        threads += [threading.Thread(target=create, args=(slow, number, won[kind])) for number in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for kind, store in stores.items():
        assert len(won[kind]) == 1, kind
        assert zarrcore.open_array(store, path="a", mode="r").shape == (won[kind][0],), kind


class Overtaken(WrapperStore):
    """Somebody else is quicker, once, after it was found that nothing is there."""

    def __init__(self, store: Any, meanwhile: Any) -> None:
        super().__init__(store)
        self.meanwhile = meanwhile

    def _claim(self, prefix: str) -> bool:
        return False

    def set_if_not_exists(self, key: str, value: Any) -> bool:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().set_if_not_exists(key, value)


DOCUMENTS = {"array-3": "zarr.json", "group-3": "zarr.json", "array-2": ".zarray", "group-2": ".zgroup"}


def _create_kind(store: Any, path: str, kind: str) -> None:
    name, _, zarr_format = kind.partition("-")
    options: Any = {"zarr_format": int(zarr_format), "attributes": {"made": kind}}
    if name == "array":
        zarrcore.create_array(store, name=path, shape=2, dtype="i4", **options)
    else:
        zarrcore.create_group(store, path=path, **options)


@pytest.mark.parametrize("slow", DOCUMENTS)
@pytest.mark.parametrize("quick", DOCUMENTS)
def test_another_node_was_quicker(quick: str, slow: str) -> None:
    """Arrays and groups of format 2, and nodes of format 3, have different documents: all can be stored."""
    store = MemoryStore()
    overtaken = Overtaken(store, lambda: _create_kind(store, "a", quick))
    overtaken._is_near = True
    kind = quick[:5]
    with pytest.raises(
        {"array": ContainsArrayError, "group": ContainsGroupError}[kind], match=f"an? {kind} ex"
    ):
        _create_kind(overtaken, "a", slow)
    found = zarrcore.open(store, path="a", mode="r")
    assert isinstance(found, zarrcore.Array if kind == "array" else zarrcore.Group)
    assert found.attrs["made"] == quick
    documents = {f"a/{name}" for name in DOCUMENTS.values()} & {*store.list()}
    assert documents == {f"a/{DOCUMENTS[quick]}"}


def _create_kinds(path: str, barrier: Any, results: Any, kind: str) -> None:
    for round_ in range(ROUNDS):
        barrier.wait()
        try:
            _create_kind(path, f"n{round_}", kind)
        except (ContainsArrayError, ContainsGroupError):
            results.put((round_, None))
        else:
            results.put((round_, kind))


@pytest.mark.parametrize("kinds", [("array-2", "group-2"), ("array-2", "array-3"), ("group-2", "group-3")])
def test_one_of_two_nodes_is_created_by_processes(kinds: tuple[str, str], tmp_path: Path) -> None:
    zarrcore.create_group(tmp_path, zarr_format=2)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    workers = [
        context.Process(target=_create_kinds, args=(str(tmp_path), barrier, results, kind))
        for kind in kinds * 2
    ]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=120) for _ in range(4 * ROUNDS)]
    for worker in workers:
        worker.join(timeout=60)
    for round_ in range(ROUNDS):
        winners = [kind for number, kind in found if number == round_ and kind is not None]
        documents = [name for name in {*DOCUMENTS.values()} if (tmp_path / f"n{round_}" / name).exists()]
        assert len(winners) == len(documents) == 1, f"round {round_}: {winners}, {documents}"
        assert documents == [DOCUMENTS[winners[0]]]


def test_a_group_that_another_one_created_meanwhile_stays() -> None:
    """One that finds an array withdraws its document: it did so twice, then that of another one."""

    class Racing(MemoryStore):
        racing = False

        def exists(self, key: str) -> bool:
            if self.racing and key == "n/.zarray":
                return True  # for a moment
            return super().exists(key)

        def delete(self, key: str) -> None:
            super().delete(key)
            if self.racing and key == "n/.zgroup":
                self.racing = False
                zarrcore.create_group(self, path="n", zarr_format=2, attributes={"of": "the other"})

    store = Racing()
    zarrcore.create_group(store, zarr_format=2)
    store.racing = True
    with pytest.raises(zarrcore.errors.ContainsArrayError):
        zarrcore.create_group(store, path="n", zarr_format=2)
    assert zarrcore.open_group(store, path="n", mode="r").attrs == {"of": "the other"}


@pytest.mark.parametrize(
    ("kind", "other"), [("array-3", ".zarray"), ("group-3", ".zgroup"), ("array-2", ".zgroup")]
)
def test_where_all_withdraw_one_tries_again(kind: str, other: str) -> None:
    class Racing(MemoryStore):
        racing = True

        def exists(self, key: str) -> bool:
            if self.racing and key == f"n/{other}":
                self.racing = False
                return True  # for a moment
            return super().exists(key)

    store = Racing()
    _create_kind(store, "n", kind)
    assert not store.racing
    assert zarrcore.open(store, path="n", mode="r").attrs["made"] == kind


@pytest.mark.parametrize("kind", ["array-2", "group-2"])
def test_nodes_of_format_2_yield_to_those_of_format_3(kind: str) -> None:
    class Racing(MemoryStore):
        def exists(self, key: str) -> bool:
            return key == "n/zarr.json" or super().exists(key)

    store = Racing()
    with pytest.raises(ContainsArrayError, match="a node of format 3 is created .* 'n'"):
        _create_kind(store, "n", kind)
    assert not [key for key in store.list() if key.startswith("n/")]


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


NEW_STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda path: {},
    "directory": lambda path: path,
    "archive": lambda path: zarrcore.storage.ZipStore(path / "data.zip", mode="w"),
    "wrapped": lambda path: zarrcore.storage.WrapperStore(zarrcore.storage.MemoryStore()),
}


@pytest.mark.parametrize("kind", NEW_STORES)
def test_a_node_of_format_3_does_not_hide_a_tree_of_format_2(tmp_path: Path, kind: str) -> None:
    """A root of format 3 was made above it, and the group of format 2 had no members any more."""
    store = zarrcore.storage.make_store(NEW_STORES[kind](tmp_path))
    group = zarrcore.create_group(store, path="old", zarr_format=2)
    group.create_array("values", data=[1, 2, 3])
    before = sorted(store.list())
    for refused, call in (
        (ContainsGroupError, lambda: zarrcore.create_array(store, name="old/new", shape=3, dtype="i4")),
        (ContainsGroupError, lambda: zarrcore.create_group(store, path="old/new/newer")),
        (ContainsGroupError, lambda: zarrcore.open_group(store, path="old/new", mode="a")),
        (ContainsGroupError, lambda: zarrcore.create_array(store, name="new", shape=3, dtype="i4")),
        (ContainsArrayError, lambda: zarrcore.create_group(store, path="old/values/new")),
    ):
        with pytest.raises(refused, match="of format 2 exists .* would hide"):
            call()
    assert sorted(store.list()) == before
    zarrcore.create_array(store, name="old/new", shape=3, dtype="i4", zarr_format=2)
    assert sorted(zarrcore.open_group(store)["old"]) == ["new", "values"]
    zarrcore.migrate(store)
    zarrcore.create_array(store, name="old/newest", shape=3, dtype="i4")
    assert sorted(zarrcore.open_group(store)["old"]) == ["new", "newest", "values"]


def test_nodes_of_one_level_waited_for_each_other() -> None:
    names = [f"{group}/a{number}" for group in "xy" for number in range(3)]
    nodes = {
        name: zarrcore.create_array({}, shape=(number + 1,), dtype="i4").metadata
        for number, name in enumerate(names)
    }
    store = MeetingStore()
    store.meet(r"/a\d/zarr\.json$", len(nodes))
    made = dict(zarrcore.create_hierarchy(store=store, nodes=nodes))
    assert [*made] == [*sorted(made, key=lambda path: (path.count("/"), path))]
    assert [made[name].shape for name in names] == [(number + 1,) for number in range(6)]
    assert sorted(zarrcore.open_group(store, mode="r").group_keys()) == ["x", "y"]


def test_saved_arrays_waited_for_each_other() -> None:
    store = MeetingStore()
    store.meet(r"^[abc]/zarr\.json$", 3)
    zarrcore.save_group(store, a=np.arange(3), b=np.ones(2), c=np.zeros((2, 2)))
    saved = zarrcore.load(store)
    assert {name: values.tolist() for name, values in saved.items()} == {
        "a": [0, 1, 2],
        "b": [1, 1],
        "c": [[0, 0], [0, 0]],
    }


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_groups_that_a_hierarchy_implies_were_not_yielded(zarr_format: int) -> None:
    metadata = zarrcore.create_array({}, shape=(3,), dtype="i4", zarr_format=zarr_format).metadata
    nodes = {"a/b/c": metadata, "d": metadata, "a/e": metadata}
    made = dict(zarrcore.create_hierarchy(store={}, nodes=nodes))
    assert sorted(made) == ["", "a", "a/b", "a/b/c", "a/e", "d"]
    assert [made[path].path for path in ("", "a/b", "d")] == ["", "a/b", "d"]
    root = zarrcore.create_group({}, zarr_format=zarr_format)
    root.create_group("a")
    assert [path for path, _ in root.create_hierarchy(nodes)] == ["d", "a/e", "a/b", "a/b/c"]


def test_a_bad_name_in_a_hierarchy_leaves_nothing() -> None:
    metadata = zarrcore.create_array({}, shape=(3,), dtype="i4").metadata
    values: dict[str, bytes] = {}
    with pytest.raises(InvalidKeyError, match="all dots"):
        dict(zarrcore.create_hierarchy(store=values, nodes={"a": metadata, "b/.../c": metadata}))
    assert values == {}
