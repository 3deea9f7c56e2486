# SPDX-License-Identifier: MIT
"""A machine that stops at any moment: with ``fsync=True``, arrays open, and each chunk is old or new.

A program changes an array while tests/faults/shim.c takes notes.  Then each moment is made again of what was
certainly on the disk, and of as much of the rest as chance would have it (tests/shared/disk.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import replayed
from shim import compiled, needs_shim

import zarrcore

pytestmark = needs_shim

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (4, 5)},
    "shards": {"chunks": (2, 5), "shards": (4, 10)},
    "format-2": {"chunks": (4, 5), "zarr_format": 2},
}
SHAPE = (10, 10)
OLD = np.arange(1, 101).reshape(SHAPE)

# Each turns the array of OLD into that of new(); what is not there counts as fill value, 0.
OPERATIONS: dict[str, tuple[str, Callable[[], np.ndarray]]] = {
    "write": ("array[...] = -OLD", lambda: -OLD),
    "patch": ("array[3:9, 2:7] = -1", lambda: _patched(-1)),
    "erase": ("array[4:, :] = 0", lambda: np.where(np.arange(10)[:, None] < 4, OLD, 0)),
    "threads": ("array.write(..., -OLD, threads=2)", lambda: -OLD),
    "append": ("array.append(numpy.full((5, 10), 7))", lambda: np.vstack([OLD, np.full((5, 10), 7)])),
    "grow": ("array.resize((13, 12))", lambda: np.pad(OLD, ((0, 3), (0, 2)))),
    "shrink": ("array.resize((6, 7))", lambda: OLD[:6, :7]),
    "attributes": ("array.attrs['new'] = 1", lambda: OLD),
    "consolidate": ("zarrcore.consolidate_metadata(store)", lambda: OLD),
    "migrate": ("zarrcore.migrate(store, remove_old=True)", lambda: OLD),
    "locks": ("store.locks = 'file'; array = zarrcore.open_array(store, path='g/a'); array[3:9, 2:7] = -1",
              lambda: _patched(-1)),
    "writer": ("with array.writer() as writer:\n    writer[3:9, 2:7] = -1", lambda: _patched(-1)),
    "encoded": ("array.encoded((0, 0)).put(array.encoded((0, 0)).get())", lambda: OLD),
    "compact": ("array[3:9, 2:7] = -1\nzarrcore.compact(array)", lambda: _patched(-1)),
}  # fmt: skip

# One process for all: starting one takes longer than what it does.  Each has a directory of its own.
PROGRAM = """
import ctypes, json, sys
import numpy
import zarrcore
from zarrcore.storage import LocalStore
OLD = numpy.arange(1, 101).reshape(10, 10)
shim = ctypes.CDLL(None)
for name, code in json.loads(sys.argv[2]).items():
    store = LocalStore(f"{sys.argv[1]}/{name}/store", fsync=True)
    array = zarrcore.open_array(store, path="g/a")
    shim.shim_mark(b"begin")
    exec(code)
    shim.shim_mark(b"end")
"""
CREATION = """
import ctypes, json, sys
import numpy
import zarrcore
from zarrcore.storage import LocalStore
shim = ctypes.CDLL(None)
for name, (kind, zarr_format) in json.loads(sys.argv[2]).items():
    locks = "file" if kind == "locks" else "none"
    store = LocalStore(f"{sys.argv[1]}/{name}/store", fsync=True, locks=locks)
    shim.shim_mark(b"begin")
    group = zarrcore.open_group(store, mode="a", zarr_format=zarr_format, attributes={"old": 1})
    if kind == "locks":
        values = numpy.arange(1, 101, dtype="i4").reshape(10, 10)
        group.create_array("a", data=values, chunks=(4, 5), attributes={"old": 1})
    elif kind != "group":
        array = group.create_array("a", shape=(10, 10), chunks=(4, 5), dtype="i4", attributes={"old": 1})
    if kind == "values":
        array[...] = numpy.arange(1, 101).reshape(10, 10)
    shim.shim_mark(b"end")
"""


def _patched(value: int) -> np.ndarray:
    new = OLD.copy()
    new[3:9, 2:7] = value
    return new


# Steps that follow each other.
SEQUENCES: dict[str, list[str]] = {
    "shrink-and-grow": ["array.resize((6, 7))", "array.resize((13, 12))", "array[8:, 8:] = 5"],
    "grow-and-shrink": [
        "array.resize((13, 12))", "array[5:, 5:] = 5", "array.resize((6, 7))", "array.resize((10, 10))",
    ],
    "appends": ["array.append(numpy.full((3, 10), 7))", "array.append(numpy.full((2, 10), 8))"],
    "writer-appends": [
        "writer = array.writer(); writer.append(numpy.full((3, 10), 7)); writer.flush()",
        "writer.append(numpy.full((4, 10), 8)); writer.close()",
    ],
    "encoded": [
        "array.encoded((1, 0)).erase()",
        "array.encoded((1, 0)).put(array.encoded((0, 0)).get())",
        "array.encoded((0, 0)).erase()",
    ],
    "encoded-inner": [
        "array.encoded((0, 0), (1, 1)).erase()",
        "array.encoded((0, 0), (1, 1)).put(array.encoded((1, 0), (0, 0)).get())",
        "zarrcore.compact(array)",
        "array.encoded((1, 0), (0, 1)).erase()",
    ],
    "attributes": ["array.attrs['new'] = 1", "array[2:5] = 3", "array.attrs.clear()", "array.resize((6, 7))"],
    "removed-beside": [
        "zarrcore.consolidate_metadata(store)",
        "group = zarrcore.open_group(store); group.create_array('g/b', data=OLD)",
        "del group['g/b']; zarrcore.consolidate_metadata(store)",
        "array[:3] = 9",
    ],
}  # fmt: skip


# ---- operations ----------------------------------------------------------------------------------


def is_old_or_new(found: np.ndarray, old: np.ndarray, new: np.ndarray, chunk: tuple[int, int]) -> None:
    """Each chunk is that of one of two arrays, cut off or filled up to the shape that was found."""
    assert found.shape in (old.shape, new.shape)
    is_one_of(found, [old, new], chunk)


def is_one_of(found: np.ndarray, arrays: list[np.ndarray], chunk: tuple[int, int]) -> None:
    """Each chunk is that of one of some arrays, cut off or filled up to the shape that was found."""
    assert arrays
    either = []
    for values in arrays:
        whole = np.zeros(found.shape, values.dtype)
        rows, columns = np.minimum(found.shape, values.shape)
        whole[:rows, :columns] = values[:rows, :columns]
        either.append(whole)
    for i in range(0, found.shape[0], chunk[0]):
        for j in range(0, found.shape[1], chunk[1]):
            box = np.s_[i : i + chunk[0], j : j + chunk[1]]
            assert any(np.array_equal(found[box], whole[box]) for whole in either), (i, j)


@pytest.fixture(scope="module")
def shim() -> Path:
    return compiled()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_chunk_is_old_or_new_after_a_crash(layout: str, shim: Path, tmp_path: Path) -> None:
    # Without an array of format 2 there is nothing to migrate.
    names = [name for name in OPERATIONS if name != "migrate" or layout == "format-2"]
    stored = LAYOUTS[layout].get("shards", LAYOUTS[layout]["chunks"])
    changes = after({name: OPERATIONS[name][0] for name in names}, layout, shim, tmp_path)
    for operation, left, has_ended in changes:
        new = OPERATIONS[operation][1]()
        array = zarrcore.open_array(left, path="store/g/a", mode="r+")
        assert {"old"} <= set(array.attrs) <= {"old", "new"}, operation
        found = array[...]
        if has_ended:
            np.testing.assert_array_equal(found, new, operation)
            assert ("new" in array.attrs) == (operation == "attributes")
            assert (array.metadata.zarr_format == 3) == (operation == "migrate" or layout != "format-2")
        elif operation == "append":  # all of it or nothing
            np.testing.assert_array_equal(found, new if len(found) == len(new) else OLD)
        else:
            is_old_or_new(found, OLD, new, stored)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_chunk_is_that_before_or_after_a_step_after_a_crash(
    layout: str, shim: Path, tmp_path: Path
) -> None:
    sequences = {
        name: steps for name, steps in SEQUENCES.items() if "inner" not in name or layout == "shards"
    }
    states = {name: _states(layout, steps) for name, steps in sequences.items()}
    stored = LAYOUTS[layout].get("shards", LAYOUTS[layout]["chunks"])
    codes = {name: "\n".join(steps) for name, steps in sequences.items()}
    for name, left, has_ended in after(codes, layout, shim, tmp_path):
        found = zarrcore.open_array(left, path="store/g/a", mode="r+")[...]
        if has_ended:
            np.testing.assert_array_equal(found, states[name][-1], name)
            continue
        # What an array was before it got the shape that was found may be left; what was before that, not.
        pairs = zip([states[name][0], *states[name]], states[name], strict=False)
        allowed = [one for pair in pairs if pair[1].shape == found.shape for one in pair]
        is_one_of(found, allowed, stored)


def _states(layout: str, steps: list[str]) -> list[np.ndarray]:
    """Return the values of an array before steps and after each of them."""
    options, store = dict(LAYOUTS[layout]), zarrcore.storage.MemoryStore()
    group = zarrcore.create_group(store, zarr_format=options.pop("zarr_format", 3))
    array = group.create_array("g/a", shape=SHAPE, dtype="i4", **options)
    array[...] = OLD
    names: dict[str, Any] = {"array": array, "store": store, "zarrcore": zarrcore, "numpy": np, "OLD": OLD}
    states = [OLD]
    for step in steps:
        exec(step, names)
        states.append(zarrcore.open_array(store, path="g/a")[...])
    return states


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_removed_is_there_as_a_whole_or_gone_after_a_crash(
    layout: str, shim: Path, tmp_path: Path
) -> None:
    code = {"removal": "del zarrcore.open_group(store)['g/a']"}
    for _, left, has_ended in after(code, layout, shim, tmp_path):
        try:
            found = zarrcore.open_array(left, path="store/g/a", mode="r")[...]
        except zarrcore.errors.NodeNotFoundError:
            continue
        assert not has_ended
        np.testing.assert_array_equal(found, OLD)


def after(
    codes: dict[str, str], layout: str, shim: Path, tmp_path: Path
) -> Iterator[tuple[str, dict[str, bytes], bool]]:
    """Yield what may be left after each step of changes of an array: which, files, whether it had ended."""
    root, options = tmp_path / "root", dict(LAYOUTS[layout])
    zarr_format = options.pop("zarr_format", 3)
    for name in codes:
        group = zarrcore.create_group(root / name / "store", zarr_format=zarr_format)
        group.create_array("g/a", shape=SHAPE, dtype="i4", attributes={"old": 1}, **options)[...] = OLD
    return replayed(PROGRAM, codes, shim, tmp_path)


def test_what_was_created_is_there_after_a_crash(shim: Path, tmp_path: Path) -> None:
    """Also its directory, and those above: whoever made them."""
    cases = {f"{kind}-{n}": (kind, n) for kind in ("group", "array", "values", "locks") for n in (2, 3)}
    for name in cases:
        (tmp_path / "root" / name).mkdir(parents=True)
    for name, left, has_ended in replayed(CREATION, cases, shim, tmp_path):
        kind, zarr_format = cases[name]
        if has_ended:
            assert zarrcore.open_group(left, path="store", mode="r").attrs["old"] == 1
        try:
            array = zarrcore.open_array(left, path="store/a", mode="r")
        except zarrcore.errors.NodeNotFoundError:
            assert not has_ended or kind == "group"
            continue
        if has_ended or zarr_format == 3:  # format 2: attributes come later
            assert array.attrs["old"] == 1
        if kind == "locks" or (has_ended and kind == "values"):  # the chunks come before the document
            np.testing.assert_array_equal(array[...], OLD)
        is_old_or_new(array[...], np.zeros_like(OLD), OLD, (4, 5))
