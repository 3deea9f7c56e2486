# SPDX-License-Identifier: MIT
"""A machine that stops while nodes are moved, removed, replaced or copied: with ``fsync`` none is half there.

As in test_crashes.py every moment is replayed.  Nodes are old or new; what is removed or replaced may go.
"""

from __future__ import annotations

import errno
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from disk import replayed
from shim import compiled, needs_shim

import zarrcore
from zarrcore.storage import moving

pytestmark = needs_shim

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (4, 5)},
    "shards": {"chunks": (2, 5), "shards": (4, 10)},
    "format-2": {"chunks": (4, 5), "zarr_format": 2},
    "consolidated": {"chunks": (4, 5)},
    "locks": {"chunks": (4, 5)},
}
OLD = np.arange(1, 101).reshape(10, 10)


class Node(NamedTuple):
    """What is seen of a node."""

    attributes: dict[str, Any]
    values: list[Any] | None = None  # of an array


A, C = Node({"old": 1}, OLD.tolist()), Node({"old": 2}, (OLD * 2).tolist())
G, S = Node({"old": 0}), Node({"s": 1})
NEW = {"new": 1}
TREE = {"g": G, "g/a": A, "g/s": S, "g/s/c": C}


class Change(NamedTuple):
    """An operation, what it makes of some nodes, and those that may be gone before it has ended."""

    code: str
    after: dict[str, Node | None]
    gone: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()  # of each two, one is always whole


REPLACED = "overwrite=True, attributes={'new': 1}"
FORMAT = "zarr_format=group.metadata.zarr_format"
FULL, EMPTY = Node(NEW, (-OLD).tolist()), Node(NEW, np.zeros_like(OLD).tolist())
N = Node({})
_GROUP_MOVED: dict[str, Node | None] = {"g/s": None, "g/s/c": None, "t": S, "t/c": C}
_BOTH = (("g/s", "t"), ("g/s/c", "t/c"))
CHANGES = {
    "move-array": Change(
        "group.move('g/a', 'n/m/a')", {"g/a": None, "n": N, "n/m": N, "n/m/a": A}, (), (("g/a", "n/m/a"),)
    ),
    "move-group": Change("group.move('g/s', 't')", _GROUP_MOVED, (), _BOTH),
    "move-to-another-file-system": Change("apart(); group.move('g/s', 't')", _GROUP_MOVED, (), _BOTH),
    "remove-array": Change("del group['g/a']", {"g/a": None}),
    "remove-group": Change("del group['g']", dict.fromkeys(TREE)),
    "remove-group-below": Change("del group['g/s']", {"g/s": None, "g/s/c": None}),
    "replace-array": Change(
        f"group.create_array('g/a', shape=(10, 10), dtype='i4', {REPLACED}, **options)",
        {"g/a": EMPTY}, ("g/a",),
    ),
    "replace-array-with-values": Change(
        f"zarrcore.create_array(store, name='g/a', data=-OLD, {REPLACED}, **all_options)",
        {"g/a": FULL}, ("g/a",),
    ),
    "assign": Change("group['g/a'] = -OLD", {"g/a": Node({}, (-OLD).tolist())}, ("g/a",)),
    "replace-group": Change(
        f"group.create_group('g/s', {REPLACED})", {"g/s": Node(NEW), "g/s/c": None}, ("g/s",)
    ),
    "replace-group-by-array": Change(
        f"zarrcore.create_array(store, name='g/s', data=-OLD, {REPLACED}, **all_options)",
        {"g/s": FULL, "g/s/c": None}, ("g/s",),
    ),
    "replace-by-mode": Change(
        f"zarrcore.open_group(store, path='g', mode='w', attributes={{'new': 1}}, {FORMAT})",
        {**dict.fromkeys(TREE), "g": Node(NEW)}, ("g",),
    ),
    "copy-array": Change("zarrcore.copy(group['g/a'], group, name='k')", {"k": A}),
    "copy-group": Change("zarrcore.copy(group['g/s'], group, name='k')", {"k": S, "k/c": C}),
    "copy-over": Change(
        "zarrcore.copy(group['g/s/c'], group, name='g/a', if_exists='replace')", {"g/a": C}, ("g/a",)
    ),
    "copy-all": Change(
        "zarrcore.copy_all(group['g/s'], group['g'])", {"g": Node({"old": 0, "s": 1}), "g/c": C}
    ),
    "copy-store": Change(
        "zarrcore.copy_store(store, store, source_path='g/s', dest_path='k', threads=2)", {"k": S, "k/c": C}
    ),
    "create-hierarchy": Change(
        "dict(group.create_hierarchy({'h': group['g'].metadata, 'h/x': group['g/a'].metadata}))",
        {"h": G, "h/x": EMPTY._replace(attributes={"old": 1})},
    ),
    "save": Change(
        f"zarrcore.save(store, path='v', {FORMAT}, x=OLD, y=-OLD)",
        {"v": N, "v/x": Node({}, OLD.tolist()), "v/y": Node({}, (-OLD).tolist())},
    ),
    "migrate": Change(
        "if group.metadata.zarr_format == 2: zarrcore.migrate(store, remove_old=True)", {"g/a": A}
    ),
    "remove-and-consolidate": Change(
        "del group['g/s']; zarrcore.consolidate_metadata(store)", {"g/s": None, "g/s/c": None}
    ),
    "consolidate-and-remove": Change(
        "zarrcore.consolidate_metadata(store); del zarrcore.open_group(store)['g/a']", {"g/a": None}
    ),
    "attributes": Change("group['g'].attrs['new'] = 1", {"g": Node({"old": 0, "new": 1})}),
}  # fmt: skip

PROGRAM = """
import ctypes, errno, json, sys
import numpy
import zarrcore
from zarrcore.storage import LocalStore, moving
OLD = numpy.arange(1, 101).reshape(10, 10)
shim, rename = ctypes.CDLL(None), moving._rename

def apart():
    def refuse(source, target):
        moving._rename = rename
        raise OSError(errno.EXDEV, "as between two file systems")
    moving._rename = refuse

for name, (code, locks, all_options) in json.loads(sys.argv[2]).items():
    options = {key: value for key, value in all_options.items() if key != "zarr_format"}
    store = LocalStore(f"{sys.argv[1]}/{name}/store", fsync=True, locks=locks)
    group = zarrcore.open_group(store)
    shim.shim_mark(b"begin")
    exec(code)
    shim.shim_mark(b"end")
"""


@pytest.fixture(scope="module")
def shim() -> Path:
    return compiled()


def make_tree(root: Path, layout: str) -> None:
    options = dict(LAYOUTS[layout])
    group = zarrcore.create_group(root, zarr_format=options.pop("zarr_format", 3))
    for path, node in TREE.items():
        if node.values is None:
            group.create_group(path, attributes=node.attributes)
        else:
            array = group.create_array(
                path, shape=(10, 10), dtype="i4", attributes=node.attributes, **options
            )
            array[...] = node.values
    if layout == "consolidated":
        zarrcore.consolidate_metadata(root)


def seen(left: dict[str, bytes], paths: Iterator[str], above: str) -> dict[str, Node | None]:
    """Return what a program finds by each path after the crash, and that it can walk all of the tree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarrcore.errors.ZarrUserWarning)  # consolidated metadata may be older
        root = zarrcore.open_group(left, path=above, mode="r")
        found: dict[str, Node | None] = {}
        for path in paths:
            node = root.get(path)
            values = values_of(node) if isinstance(node, zarrcore.Array) else None
            is_gone = node is None or values == []
            found[path] = None if node is None or is_gone else Node(dict(node.attrs), values)
        for _, member in root.members(max_depth=None):
            assert not isinstance(member, zarrcore.Array) or values_of(member) is not None
    return found


def values_of(array: zarrcore.Array) -> list[Any]:
    """Return the values; none if an array is gone that consolidated metadata still name."""
    try:
        values: list[Any] = array[...].tolist()
    except zarrcore.errors.ChunkIOError as error:
        assert "the array is gone" in str(error)
        return []
    return values


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_node_of_a_tree_is_old_or_new_after_a_crash(layout: str, shim: Path, tmp_path: Path) -> None:
    for name in CHANGES:
        make_tree(tmp_path / "root" / name / "store", layout)
    locks = "file" if layout == "locks" else "none"
    arguments = {name: (change.code, locks, LAYOUTS[layout]) for name, change in CHANGES.items()}
    for name, left, has_ended in replayed(PROGRAM, arguments, shim, tmp_path):
        change = CHANGES[name]
        found = seen(left, iter({**TREE, **change.after}), "store")
        for path, node in found.items():
            old = TREE.get(path)
            new = change.after.get(path, old)
            allowed = [new] if has_ended else [old, new, *([None] if path in change.gone else [])]
            if layout == "format-2" and old is None and new is not None and not has_ended:
                allowed.append(new._replace(attributes={}))  # they come later
            if layout == "format-2" and old is not None and old.values is None and new != old:
                allowed.append(Node({}))  # without its documents, as long as there is something in it
            assert node in allowed, (name, path)
        for source, target in change.moved:
            assert found[source] == TREE[source] or found[target] == TREE[source], (name, source)
        if name == "move-to-another-file-system":
            moved = moved_again(left, "g/s", "t")
            assert {path: moved[path] for path in _GROUP_MOVED} == _GROUP_MOVED
            assert not has_ended or "store/t/zarr.json" in left or layout == "format-2"


def moved_again(left: dict[str, bytes], source: str, target: str) -> dict[str, Node | None]:
    """Repeat a move after a crash, unless there is nothing to move any more; returns what is seen then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarrcore.errors.ZarrUserWarning)  # consolidated metadata may be older
        root = zarrcore.open_group(left, path="store", use_consolidated=False)
        if root.get(source) is not None or any(key.startswith(f"store/{source}/") for key in left):
            root.move(source, target)
        zarrcore.consolidate_metadata(left, path="store", zarr_format=root.metadata.zarr_format)
    assert not [key for key in left if key.startswith(f"store/{source}/")]
    report = zarrcore.verify(left, path="store")
    assert not [finding for finding in report if finding.severity != "note"], report
    return seen(left, iter(_GROUP_MOVED), "store")


def moved_store_again(left: dict[str, bytes], at: Path, way: str) -> dict[str, Node | None]:
    """Repeat the move of a store after a crash; nothing else is left, and returned is what it has then."""
    there, rename = at / "x" / "y" / "new", moving._rename

    def refuse(source: moving.Entry, target: moving.Entry) -> None:
        if way and not source[0].endswith(".partial"):
            raise OSError(errno.EXDEV, "as between two file systems")
        rename(source, target)

    shutil.rmtree(at, ignore_errors=True)
    for key, value in left.items():
        (at / key).parent.mkdir(parents=True, exist_ok=True)
        (at / key).write_bytes(value)
    if (at / "store").exists():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(moving, "_rename", refuse)
            zarrcore.storage.LocalStore(at / "store").move(there)
        assert [path.name for path in (at, at / "x", there.parent) for path in path.iterdir()] == [
            "x",
            "y",
            "new",
        ]
    files = {path.relative_to(at).as_posix(): path for path in there.rglob("*") if path.is_file()}
    return seen({key: path.read_bytes() for key, path in files.items()}, iter(TREE), "x/y/new")


@pytest.mark.parametrize("way", ["", "apart(); "], ids=["renamed", "copied"])
def test_a_store_that_is_moved_is_whole_in_one_of_two_places_after_a_crash(
    way: str, shim: Path, tmp_path: Path
) -> None:
    make_tree(tmp_path / "root" / "move" / "store", "chunks")
    code = way + "store.move(f'{sys.argv[1]}/{name}/x/y/new')"
    for _, left, has_ended in replayed(PROGRAM, {"move": (code, "none", {})}, shim, tmp_path):
        found = [
            seen(left, iter(TREE), place) if f"{place}/zarr.json" in left else {}
            for place in ("store", "x/y/new")
        ]
        assert TREE in found[1:] if has_ended else TREE in found
        assert not has_ended or not any(key.startswith("store/") for key in left)
        assert moved_store_again(left, tmp_path / "left", way) == TREE
        for nodes in found:
            for path, node in nodes.items():
                assert node in (TREE[path], None), path


def test_what_repair_moves_aside_is_in_one_of_two_places_after_a_crash(shim: Path, tmp_path: Path) -> None:
    root, key, damaged = tmp_path / "root" / "repair", "g/a/c/0/0", b"damaged"
    make_tree(root / "store", "chunks")
    (root / "store" / key).write_bytes(damaged)
    code = "zarrcore.repair(zarrcore.verify(store), quarantine=f'{sys.argv[1]}/{name}/aside', dry_run=False)"
    for _, left, has_ended in replayed(PROGRAM, {"repair": (code, "none", {})}, shim, tmp_path):
        is_aside = left.get(f"aside/{key}") == damaged
        assert is_aside if has_ended else is_aside or left.get(f"store/{key}") == damaged
