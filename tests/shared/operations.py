# SPDX-License-Identifier: MIT
"""Every operation of the API on a small store, and what may be there when one of them fails on its way.

A node is what it was before or what it is after a success; where an operation replaces a node it may be gone,
and where it writes values each chunk is old or new.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import zarrcore
from zarrcore.storage import LocalStore
from zarrcore.storage.files import is_temporary

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (4, 5)},
    "compressed": {"chunks": (4, 5), "compressors": [{"name": "zstd", "configuration": {"level": 1}}]},
    "shards": {"chunks": (2, 5), "shards": (4, 10)},
    "format-2": {"chunks": (4, 5), "zarr_format": 2},
    "python": {"chunks": (4, 5), "dtype": "string"},  # codecs in Python
}
# Items so large that memory matters.
LARGE: dict[str, dict[str, Any]] = {
    "large": {"chunks": (4, 5), "dtype": "S40000"},
    "large-shards": {"chunks": (2, 5), "shards": (4, 10), "dtype": "S40000"},
}
_ALL = {**LAYOUTS, **LARGE}
SHAPE = (10, 10)
OLD = np.arange(1, 101).reshape(SHAPE)
OTHER = np.arange(1000, 1030)


class Node(NamedTuple):
    """What can be read of a node; a group has no values, a damaged array neither."""

    attributes: dict[str, Any]
    values: np.ndarray | None
    stored: tuple[int, ...]  # shape of what is stored under a key
    zarr_format: int
    inner: tuple[int, ...] = ()  # of a sharded array: shape of its inner chunks, else as `stored`

    def is_as(self, other: Node) -> bool:
        if self.attributes != other.attributes or (self.values is None) != (other.values is None):
            return False
        return self.values is None or np.array_equal(self.values, other.values)


State = dict[str, Node]


class Subject:
    """A store, with the handles that were opened before anything happens."""

    def __init__(self, path: Path, layout: str, **options: Any) -> None:
        self.path, self.layout = path, layout
        self.store = LocalStore(path, **options)
        self.root = zarrcore.open_group(self.store, mode="r+")
        self.group = self.root["grp"]
        self.array: zarrcore.Array = self.root["grp/arr"]

    def values(self, values: Any) -> Any:
        return of_layout(self.layout, values)


def of_layout(layout: str, values: Any) -> Any:
    """Return values of the data type that arrays of a layout have."""
    dtype = _ALL[layout].get("dtype", "i4")
    return np.asarray(values).astype("T" if dtype == "string" else dtype)


def fill(path: Path, layout: str) -> None:
    """Make a store: a root, a group grp, and two arrays in it, arr and brr."""
    options = {"dtype": "i4", **_ALL[layout]}
    root = zarrcore.create_group(path, zarr_format=options.pop("zarr_format", 3), attributes={"old": 1})
    group = root.create_group("grp", attributes={"old": 2})
    array = group.create_array("arr", shape=SHAPE, attributes={"old": 3}, **options)
    array[...] = of_layout(layout, OLD)
    group.create_array("brr", shape=30, chunks=8, dtype=options["dtype"])[...] = of_layout(layout, OTHER)
    zarrcore.consolidate_metadata(path)


def state(path: Path) -> State:
    """Read everything, from the documents of the nodes themselves."""
    return dict(_state(path))


def _state(path: Path) -> Iterator[tuple[str, Node]]:
    root = zarrcore.open_group(path, mode="r", use_consolidated=False)
    yield "", Node(dict(root.attrs), None, (), root.metadata.zarr_format)
    for name, node in root.members(max_depth=None):
        if isinstance(node, zarrcore.Group):
            yield name, Node(dict(node.attrs), None, (), node.metadata.zarr_format)
            continue
        try:
            values = node[...]
        except zarrcore.errors.ChunkDecodeError:
            values = None
        stored = node.shards or node.chunks
        yield name, Node(dict(node.attrs), values, stored, node.metadata.zarr_format, node.chunks)


# ---- operations ----------------------------------------------------------------------------------


def _write_whole(it: Subject) -> None:
    it.array[...] = it.values(-OLD)


def _write_part(it: Subject) -> None:
    it.array[3:9, 2:7] = it.values(np.full((6, 5), -1))


def _write_with_threads(it: Subject) -> None:
    it.array.write(..., it.values(-OLD), threads=2)


def _write_points(it: Subject) -> None:
    it.array.vindex[[0, 9, 5], [9, 0, 5]] = it.values([-1, -2, -3])


def _write_through_writer(it: Subject) -> None:
    with it.array.writer() as writer:
        for row in range(2, 9):
            writer[row] = it.values(np.full(10, -row))


def _move(it: Subject) -> None:
    it.root.move("grp/arr", "grp/moved")


def _delete(it: Subject) -> None:
    del it.root["grp/arr"]


def _copy(it: Subject) -> None:
    zarrcore.copy(it.array, it.group, "copied")


def _copy_recoded(it: Subject) -> None:
    zarrcore.copy(it.array, it.group, "copied", chunks=(5, 5), shards=None)


def _copy_over(it: Subject) -> None:
    zarrcore.copy(it.root["grp/brr"], it.group, "arr", if_exists="replace")


def _overwrite(it: Subject) -> None:
    it.group.create_array("arr", data=it.values(-OLD), chunks=(3, 3), overwrite=True)


def _create(it: Subject) -> None:
    it.group.create_array("new", data=it.values(-OLD), chunks=(3, 3), attributes={"new": 1})


def _compact(it: Subject) -> Any:
    return zarrcore.compact(it.array)


def _repair(it: Subject) -> None:
    report = zarrcore.verify(it.store)
    aside = it.path.parent / f"{it.path.name}-aside"
    done = zarrcore.repair(report, dry_run=False, quarantine=aside)
    failed = [one for one in done if not one.done]
    if failed or len(done) < 2:
        raise OSError(f"{it.path}: {report} {[*map(str, done)]}")  # the report of a failure, as an error


def _encoded(it: Subject) -> None:
    chunk = it.array.encoded((0, 0))
    value = chunk.get()
    it.array.encoded((1, 0)).put(value)


def _copy_keys(it: Subject) -> None:
    zarrcore.copy_store(it.store, it.store, source_path="grp", dest_path="copied")


def _create_hierarchy(it: Subject) -> None:
    group, array = it.group.metadata, it.array.metadata
    list(it.root.create_hierarchy({"all": group, "all/x": group, "all/x/y": array}))


def _save(it: Subject) -> None:
    zarr_format = it.root.metadata.zarr_format
    zarrcore.save(it.store, it.values(-OLD), path="grp/saved", zarr_format=zarr_format)


def _write_async(it: Subject) -> None:
    async def write() -> None:
        await it.array.async_array.setitem(np.s_[2:7], it.values(np.full((5, 10), -1)))

    asyncio.run(write())


CHANGES: dict[str, Callable[[Subject], Any]] = {
    "write-whole": _write_whole,
    "write-part": _write_part,
    "write-threads": _write_with_threads,
    "write-points": _write_points,
    "writer": _write_through_writer,
    "erase": lambda it: it.array.__setitem__(np.s_[4:], it.array.fill_value),
    "append": lambda it: it.array.append(it.values(np.full((5, 10), 7))),
    "grow": lambda it: it.array.resize((13, 12)),
    "shrink": lambda it: it.array.resize((6, 7)),
    "attributes": lambda it: it.array.attrs.update(new=1),
    "attributes-of-group": lambda it: it.group.attrs.update(new=1),
    "create": _create,
    "create-empty": lambda it: it.group.create_array("new", shape=5, dtype="i4"),
    "create-group": lambda it: it.root.create_group("x/y", attributes={"new": 1}),
    "overwrite": _overwrite,
    "delete": _delete,
    "move": _move,
    "copy": _copy,
    "copy-recoded": _copy_recoded,
    "copy-over": _copy_over,
    "consolidate": lambda it: zarrcore.consolidate_metadata(it.store),
    "migrate": lambda it: zarrcore.migrate(it.store, remove_old=True),
    "compact": _compact,
    "repair": _repair,
    "encoded": _encoded,
    "erase-encoded": lambda it: it.array.encoded((0, 0)).erase(),
    "copy-keys": _copy_keys,
    "hierarchy": _create_hierarchy,
    "save": _save,
    "write-async": _write_async,
}
READS: dict[str, Callable[[Subject], Any]] = {
    "open": lambda it: zarrcore.open_array(it.store, path="grp/arr", mode="r").shape,
    "open-group": lambda it: dict(zarrcore.open_group(it.store, path="grp", mode="r").attrs),
    "read": lambda it: it.array[...].tolist(),
    "read-part": lambda it: it.array[3:9, 2:7].tolist(),
    "read-point": lambda it: str(it.array[9, 9]),
    "read-threads": lambda it: it.array.read(..., threads=2).tolist(),
    "read-many": lambda it: [part.tolist() for part in it.array.read_many([np.s_[:5], np.s_[5:]])],
    "read-cached": lambda it: it.array.with_cache(1 << 20)[...].tolist(),
    "members": lambda it: sorted(name for name, _ in it.root.members(max_depth=None)),
    "keys": lambda it: sorted(zarrcore.open_group(it.store, mode="r", use_consolidated=False)["grp"].keys()),
    "list": lambda it: sorted(it.store.list()),
    "tree": lambda it: str(it.root.tree()),
    "check": lambda it: [*map(str, zarrcore.check_consolidated(it.store))],
    "stored": lambda it: it.array.nchunks_initialized,
    "census": lambda it: _known(it.array.chunk_info()),
    "explain": lambda it: it.array.explain(np.s_[3:9]).requests,
    "verify": lambda it: _seen(zarrcore.verify(it.store)),
    "verify-index": lambda it: _seen(zarrcore.verify(it.store, level="index")),
}
OPERATIONS = {**CHANGES, **READS}
REPLACING = {"overwrite": {"grp/arr"}, "copy-over": {"grp/arr"}}
BY_CHUNKS = set(
    "write-whole write-part write-threads write-points writer erase grow shrink encoded "
    "erase-encoded write-async".split()
)


def _known(census: Any) -> str:
    """A size that could not be found out is -1, and an index that cannot be read is named: no success."""
    if (census.nbytes < 0).any() or census.damaged:
        raise OSError(f"grp: {census.nbytes} {census.damaged}")
    return str(census)


def _seen(report: Any) -> Any:
    """What verify has found; a report of what it could not look at is no success."""
    if not report.ok or report.findings:
        raise OSError(f"grp: {report}")
    return report.groups, report.arrays, report.chunks, report.inner_chunks, report.nbytes


def applies(operation: str, layout: str) -> bool:
    if operation == "migrate":
        return layout == "format-2"
    if operation == "compact":
        return layout == "shards"
    return operation not in ("encoded", "erase-encoded", "read-cached") or layout != "python"


def prepare(path: Path, operation: str) -> None:
    """What has to be there for an operation: unused bytes in a shard, or something to be repaired."""
    if operation == "compact":
        shard = path / "grp/arr/c/0/0"
        data = shard.read_bytes()
        index = 16 * 4 + 4
        shard.write_bytes(data[:-index] + bytes(100) + data[-index:])
    elif operation == "repair":
        left = path / "grp/arr/.zc-00000000000000ff.partial"
        left.write_bytes(b"left by a writer that was killed")
        long_ago = time.time() - 7200
        os.utime(left, (long_ago, long_ago))
        chunk = next(found for found in (path / "grp/brr/c/1", path / "grp/brr/1") if found.exists())
        chunk.write_bytes(b"damaged")


class Runs:
    """New copies of one store, and what operations make of it if nothing happens."""

    def __init__(self, directory: Path, layout: str) -> None:
        self.directory, self.layout = directory, layout
        self._clean = directory / "clean"
        self._known: dict[Any, tuple[State, State, Any]] = {}
        fill(self._clean, layout)

    def fresh(self, operation: str) -> Path:
        """A new copy of the store, ready for an operation."""
        path = self.directory / "store"
        for old in (path, self.directory / "store-aside"):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(self._clean, path)
        prepare(path, operation)
        return path

    def expected(self, operation: str, **options: Any) -> tuple[State, State, Any]:
        """State before and after, and what is returned."""
        key = (operation, *options.items())
        if key not in self._known:
            path = self.fresh(operation)
            before = state(path)
            result = OPERATIONS[operation](Subject(path, self.layout, **options))
            self._known[key] = before, state(path), result
        return self._known[key]


def use(it: Subject, operation: str, found: State) -> None:
    """Whatever has happened, later calls work: with the old handles and new ones."""
    if "grp/arr" in found and found["grp/arr"].values is not None:
        shape = zarrcore.open_array(it.store, path="grp/arr", mode="r")[...].shape
        assert shape == found["grp/arr"].values.shape
        array = zarrcore.open_array(it.store, path="grp/arr")
        array[:3] = array[1:4]
        assert (zarrcore.open_group(it.store)["grp/arr"][:3] == array[:3]).all()
    group = it.group
    if operation == "migrate":  # a handle of one format is none of another
        group = zarrcore.open_group(it.store, path="grp")
    group.attrs["later"] = 1
    assert zarrcore.open_group(it.store, path="grp", mode="r").attrs["later"] == 1
    group.create_array("later", data=it.values([1, 2, 3]))
    assert group["later"][...].tolist() == it.values([1, 2, 3]).tolist()


def temporary_files(path: Path) -> list[Path]:
    return [found for found in path.rglob(".zc-*") if is_temporary(found.name)]


# ---- judging -------------------------------------------------------------------------------------


def why_not(found: State, before: State, after: State, operation: str) -> str:
    """Say what of a state can be neither old nor new; empty if there is nothing."""
    for path in {*found, *before, *after}:
        here, old, new = found.get(path), before.get(path), after.get(path)
        if here is None:
            if old is not None and new is not None and path not in REPLACING.get(operation, ()):
                return f"{path} is gone"
        elif (
            old is None
            and new is not None
            and here.zarr_format == 2
            and here.is_as(new._replace(attributes={}))
        ):
            pass  # as documented: the attributes of a new node are a document of their own
        elif not any(one is not None and here.is_as(one) for one in (old, new)):
            by_chunks = operation in BY_CHUNKS and old is not None and new is not None
            if operation == "writer":  # each of its assignments is a write of its own, to inner chunks
                here = here._replace(stored=(1, *here.inner[1:]))
            if not by_chunks or not _is_mixed(here, old, new):
                return f"{path} is neither old nor new: {here}"
    return ""


def _is_mixed(found: Node, old: Node, new: Node) -> bool:
    if found.values is None or old.values is None or new.values is None:
        return False
    if found.values.shape not in (old.values.shape, new.values.shape):
        return False
    wholes = [_cut(node.values, found.values.shape, found.values) for node in (old, new)]
    for corner in np.ndindex(*(-(-n // c) for n, c in zip(found.values.shape, found.stored, strict=True))):
        box = tuple(slice(i * c, (i + 1) * c) for i, c in zip(corner, found.stored, strict=True))
        if not any(np.array_equal(found.values[box], whole[box]) for whole in wholes):
            return False
    return found.attributes in (old.attributes, new.attributes)


def _cut(values: Any, shape: tuple[int, ...], like: np.ndarray) -> np.ndarray:
    """Values cut off or filled up to a shape."""
    whole = np.zeros(shape, like.dtype)
    box = tuple(slice(min(a, b)) for a, b in zip(shape, values.shape, strict=True))
    whole[box] = values[box]
    return whole
