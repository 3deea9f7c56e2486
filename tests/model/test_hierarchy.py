# SPDX-License-Identifier: MIT
"""Groups and arrays of every store against a dict and NumPy: random operations, through any handle.

``ZC_SOAK`` makes the runs longer, and ``ZC_SEED`` different.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from small_store import SmallStore

import zarrcore
from zarrcore.errors import BaseZarrError
from zarrcore.storage import CacheStore, LocalStore, LoggingStore, MemoryStore, Store, WrapperStore, ZipStore
from zarrcore.testing import strategies as zst

SOAK = int(os.environ.get("ZC_SOAK", "1"))
SEED = int(os.environ.get("ZC_SEED", "20261123"))
SETTINGS = settings(
    max_examples=3 * SOAK,
    stateful_step_count=40,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
HANDLES = 6
NAMES = ("a", "b", "c", "é", "a/b", "c/é", "a/b/c")
ATTRIBUTES = st.dictionaries(st.sampled_from("xyz"), st.none() | st.integers(-9, 9) | st.text(max_size=3))
CODECS = st.sampled_from((None, "auto", "gzip", "crc32c", ("zstd", "crc32c")))


# --- stores ---------------------------------------------------------------------------------------


def memory(path: Path) -> list[Store]:
    values: dict[str, Any] = {}
    return [MemoryStore(values), MemoryStore(values)]


def local(path: Path) -> list[Store]:
    (path / "link").symlink_to("real")
    return [LocalStore(path / "real"), LocalStore(path / "link")]


def with_locks(path: Path) -> list[Store]:
    return [LocalStore(path, locks="file"), LocalStore(path, locks="file")]


def small(path: Path) -> list[Store]:
    return [SmallStore()]


def wrapped(path: Path) -> list[Store]:
    return [WrapperStore(LocalStore(path)), LocalStore(path)]


def logged(path: Path) -> list[Store]:
    inside = MemoryStore()
    return [LoggingStore(inside, log_level="ERROR"), inside]


def cached(path: Path) -> list[Store]:
    inside = LocalStore(path / "far")
    return [CacheStore(inside, path / "near", max_bytes=500), inside]


def cached_small(path: Path) -> list[Store]:
    inside = SmallStore()
    return [CacheStore(inside, path, max_bytes=1 << 20, max_age=0, name="small"), inside]


def archive(path: Path) -> list[Store]:
    return [ZipStore(path / "a.zip", mode="w")]


def of_fsspec(path: Path) -> list[Store]:
    files = pytest.importorskip("fsspec").filesystem("memory")
    name = f"/{uuid4()}"
    return [zarrcore.storage.FsspecStore(files, path=name), zarrcore.storage.FsspecStore(files, path=name)]


def of_obstore(path: Path) -> list[Store]:
    return [zarrcore.storage.ObjectStore(pytest.importorskip("obstore").store.MemoryStore())]


def of_zarr_python(path: Path) -> list[Store]:
    theirs = pytest.importorskip("zarr").storage.WrapperStore(zarr_memory())
    return [zarrcore.storage.ZarrPythonStore(theirs)]


def zarr_memory() -> Any:
    return pytest.importorskip("zarr").storage.MemoryStore()


STORES: dict[str, Callable[[Path], list[Store]]] = {
    "memory": memory,
    "local": local,
    "with-locks": with_locks,
    "small": small,
    "wrapped": wrapped,
    "logged": logged,
    "cached": cached,
    "cached-small": cached_small,
    "archive": archive,
    "fsspec": of_fsspec,
    "obstore": of_obstore,
    "zarr-python": of_zarr_python,
}


# --- what there should be -------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A node as it should be: of groups there are no values.  `unit` is what has a key of its own."""

    attributes: dict[str, Any]
    values: Any = None
    fill: Any = None
    unit: tuple[int, ...] = ()


def seen_by(node: Node, array: Any) -> np.ndarray:
    """The part that a handle shows: one from before the array grew shows what it had, as long as it lasts."""
    shape = array.shape
    assert all(n <= m for n, m in zip(shape, node.values.shape, strict=True)), (shape, node.values.shape)
    return node.values[(..., *map(slice, shape))]  # type: ignore[no-any-return]


@dataclass
class Handle:
    """An open array, and the node that it was opened at."""

    array: zarrcore.Array
    path: str
    node: Node


def same(found: Any, wanted: Any) -> None:
    """Compare bits, or texts."""
    wanted = np.asarray(wanted)
    if wanted.ndim == 0:  # a scalar has the byte order of the machine, and the size of its own text
        found = np.asarray(found, wanted.dtype)
    if wanted.dtype.kind in "TU":
        assert (found.shape, found.tolist()) == (wanted.shape, wanted.tolist())
    else:
        kinds = (found.shape, found.dtype), (wanted.shape, wanted.dtype)
        assert kinds[0] == kinds[1], kinds
        assert found.tobytes() == wanted.tobytes(), (found, wanted)


def values_for(data: Any, shape: Any, dtype: np.dtype) -> np.ndarray:
    if dtype.kind != "T":
        return data.draw(zst.numpy_arrays(shape, dtype))
    numbers: np.ndarray = data.draw(zst.numpy_arrays(shape, "u1"))
    return np.asarray(np.array(("", "a", "é", "é" * 9), dtype)[numbers % 4])


def outer(values: np.ndarray, selection: tuple[Any, ...]) -> Any:
    return np.ix_(*(np.arange(n)[part] for n, part in zip(values.shape, selection, strict=True)))


def blocks(values: np.ndarray, chunks: tuple[int, ...], selection: tuple[Any, ...]) -> tuple[slice, ...]:
    """Return the slices that blocks cover; integers keep their dimension."""
    found = []
    for length, chunk, part in zip(values.shape, chunks, selection, strict=True):
        count = -(-length // chunk)
        part = slice(part % count, part % count + 1) if isinstance(part, int) else part
        start, stop, _ = part.indices(count)
        found.append(slice(start * chunk, max(start, stop) * chunk))
    return tuple(found)


class Hierarchy(RuleBasedStateMachine):
    """Nodes below one root."""

    make: Callable[[Path], list[Store]]

    @initialize(zarr_format=st.sampled_from((3, 2)))
    def begin(self, zarr_format: int) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.stores = type(self).make(Path(self.directory.name))
        self.deletes = self.stores[0].supports_deletes
        self.root = zarrcore.create_group(self.stores[0], zarr_format=zarr_format)
        self.zarr_format = zarr_format
        self.nodes = {"": Node({})}
        self.handles: list[Handle] = []

    def teardown(self) -> None:
        if hasattr(self, "nodes"):
            with self.directory:
                self.look_at_everything()
                for store in self.stores:
                    store.close()
                if isinstance(self.stores[0], ZipStore):
                    self.stores = [ZipStore(self.stores[0].path)]
                    self.look_at_everything()
                    self.stores[0].close()

    # --- choosing

    def of_kind(self, *, arrays: bool) -> list[str]:
        return sorted(path for path, node in self.nodes.items() if (node.values is not None) == arrays)

    def below(self, path: str) -> list[str]:
        return [name for name in self.nodes if f"{name}/".startswith(f"{path}/") or path == ""]

    def a_store(self, data: Any) -> Store:
        return data.draw(st.sampled_from(self.stores))  # type: ignore[no-any-return]

    def a_root(self, data: Any) -> zarrcore.Group:
        """The root: as it was opened long ago, or now."""
        if data.draw(st.booleans()):
            return self.root
        trusted = data.draw(st.sampled_from((None, False)))
        return zarrcore.open_group(self.a_store(data), mode="r+", use_consolidated=trusted)

    def a_group(self, data: Any) -> tuple[str, zarrcore.Group]:
        path = data.draw(st.sampled_from(self.of_kind(arrays=False)))
        root = self.a_root(data)
        group = root if path == "" else root[path]
        assert isinstance(group, zarrcore.Group)
        return path, group

    def an_array(self, data: Any) -> tuple[Node, zarrcore.Array]:
        """An array, and one of its handles, or a new one."""
        path = data.draw(st.sampled_from(self.of_kind(arrays=True)))
        node = self.nodes[path]
        known = [handle.array for handle in self.handles if handle.node is node]
        if known and data.draw(st.booleans()):
            return node, data.draw(st.sampled_from(known))
        how = data.draw(st.sampled_from(("open", "member", "cached", "copy")))
        if how == "member":
            array = self.a_root(data)[path]
        else:
            array = zarrcore.open_array(self.a_store(data), path=path, mode="r+")
        if how == "cached" and array.dtype.kind != "T" and array.dtype.itemsize:
            array = array.with_cache(1 << 12)
        if how == "copy" and isinstance(array.store, LocalStore):
            array = pickle.loads(pickle.dumps(array))
        self.handles = [*self.handles[-HANDLES:], Handle(array, path, node)]
        return node, array

    def a_place(self, data: Any, group: str) -> tuple[str, str]:
        """A name below a group, and its path, above which there is no array."""
        name = data.draw(st.sampled_from([name for name in NAMES if self.has_groups_above(group, name)]))
        return name, f"{group}/{name}".strip("/")

    def has_groups_above(self, group: str, name: str) -> bool:
        parts = f"{group}/{name}".strip("/").split("/")
        above = ["/".join(parts[:n]) for n in range(1, len(parts))]
        return all(self.nodes[path].values is None for path in above if path in self.nodes)

    def put(self, path: str, node: Node) -> None:
        """Note a new node, and the groups above it."""
        parts = path.split("/")
        for n in range(1, len(parts)):
            self.nodes.setdefault("/".join(parts[:n]), Node({}))
        self.nodes[path] = node

    def drop(self, path: str) -> None:
        for name in self.below(path):
            del self.nodes[name]

    def refused(self, change: Callable[[], object]) -> None:
        with pytest.raises((BaseZarrError, NotImplementedError)):
            change()

    # --- groups

    @rule(data=st.data(), attributes=ATTRIBUTES)
    def create_group(self, data: Any, attributes: dict[str, Any]) -> None:
        above, group = self.a_group(data)
        name, path = self.a_place(data, above)
        if path in self.nodes:
            self.refused(lambda: group.create_group(name))
        else:
            group.create_group(name, attributes=attributes)
            self.put(path, Node(attributes))

    @rule(data=st.data())
    def require_group(self, data: Any) -> None:
        above, group = self.a_group(data)
        name, path = self.a_place(data, above)
        if path in self.nodes and self.nodes[path].values is not None:
            self.refused(lambda: group.require_group(name))
        else:
            group.require_group(name)
            self.put(path, self.nodes.get(path, Node({})))

    @rule(data=st.data(), attributes=ATTRIBUTES)
    def change_attributes(self, data: Any, attributes: dict[str, Any]) -> None:
        path = data.draw(st.sampled_from(sorted(self.nodes)))
        node = self.nodes[path]
        if node.values is None:
            opened: Any = self.a_root(data)
            opened = opened[path] if path else opened
        else:
            known = [handle.array for handle in self.handles if handle.node is node]
            opened = data.draw(st.sampled_from([*known, self.root[path]]))
        way = data.draw(st.sampled_from(("update", "put", "each")))
        if way == "update":
            opened.update_attributes(attributes)
            node.attributes = node.attributes | attributes
        elif way == "put":
            opened.attrs.put(attributes)
            node.attributes = dict(attributes)
        else:
            for name, value in attributes.items():
                opened.attrs[name] = value
            node.attributes = node.attributes | attributes
        found: Any = zarrcore.open_group(self.a_store(data))
        assert dict((found[path] if path else found).attrs) == node.attributes

    @rule(data=st.data())
    def consolidate(self, data: Any) -> None:
        path = data.draw(st.sampled_from(self.of_kind(arrays=False)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            group = zarrcore.consolidate_metadata(self.a_store(data), path=path)
        if data.draw(st.booleans()) and path == "":
            self.root = group
        inside = {p[len(path) :].strip("/") for p in self.below(path)} - {""}
        assert set(dict(group.members(None))) == inside
        assert zarrcore.check_consolidated(self.stores[0], path=path) == ()

    # --- arrays

    @rule(data=st.data(), attributes=ATTRIBUTES)
    def create_array(self, data: Any, attributes: dict[str, Any]) -> None:
        above, group = self.a_group(data)
        name, path = self.a_place(data, above)
        replace = data.draw(st.booleans()) and self.deletes
        options, values = self.an_array_to_be(data)
        if path in self.nodes and not replace:
            self.refused(lambda: group.create_array(name, **options))
            return
        has_values = data.draw(st.booleans())
        if has_values:
            del options["shape"], options["dtype"]
            options["data"] = values
        array = group.create_array(name, attributes=attributes, overwrite=replace, **options)
        self.drop(path)
        if not has_values:
            values[...] = array.fill_value
        node = Node(
            attributes, values, np.asarray(array.fill_value, values.dtype), array.shards or array.chunks
        )
        self.put(path, node)
        self.handles = [*self.handles[-HANDLES:], Handle(array, path, node)]

    def an_array_to_be(self, data: Any) -> tuple[dict[str, Any], np.ndarray]:
        shape = data.draw(zst.array_shapes(max_dims=3, max_side=9))
        texts = st.just(np.dtypes.StringDType())
        dtype = data.draw(zst.dtypes(zarr_format=self.zarr_format) | texts)
        values = np.array(values_for(data, shape, dtype))
        chunks = data.draw(zst.chunk_shapes(shape))
        options = {"shape": shape, "dtype": dtype, "chunks": chunks, "compressors": data.draw(CODECS)}
        options["config"] = {"write_empty_chunks": data.draw(st.booleans())}
        if dtype.kind in "iuf":
            options["fill_value"] = data.draw(st.sampled_from((0, 1)))
        if self.zarr_format == 2:
            options["order"] = data.draw(st.sampled_from("CF"))
            if options["compressors"] not in (None, "auto", "gzip"):
                options["compressors"] = "auto"
        elif shape and data.draw(st.booleans()):
            options["shards"] = tuple(length * data.draw(st.integers(1, 3)) for length in chunks)
        return options, values

    @rule(data=st.data())
    def set_member(self, data: Any) -> None:
        above, group = self.a_group(data)
        name, path = self.a_place(data, above)
        values = np.array(data.draw(zst.numpy_arrays((data.draw(st.integers(0, 5)),), "i4")))
        if path in self.nodes and (self.nodes[path].values is None or not self.deletes):
            self.refused(lambda: group.__setitem__(name, values))
            return
        group[name] = values
        self.drop(path)
        array = group[name]
        self.put(path, Node({}, values, np.int32(0), array.chunks))

    @precondition(lambda self: self.of_kind(arrays=True))
    @rule(data=st.data())
    def write(self, data: Any) -> None:
        node, array = self.an_array(data)
        self.write_into(data, seen_by(node, array), array)

    def write_into(self, data: Any, seen: np.ndarray, array: Any, writer: Any = None) -> None:
        shape, dtype = seen.shape, seen.dtype
        kinds = ["basic", "basic", "outer", "mask", "blocks", "points"][: 6 if shape else 1]
        kind = "basic" if writer is not None else data.draw(st.sampled_from(kinds))
        target = writer or array
        if kind == "basic":
            place = selection = data.draw(zst.basic_indices(shape))
        elif kind == "outer":
            selection = data.draw(zst.orthogonal_indices(shape))
            place, target = outer(seen, selection), array.oindex
        elif kind == "mask":
            place = selection = data.draw(zst.masks(shape))
            target = array.vindex
        elif kind == "points":
            place = selection = data.draw(zst.point_indices(shape))
            target = array.vindex
        else:
            chunks = array.shards or array.chunks
            grid = tuple(-(-n // chunk) for n, chunk in zip(shape, chunks, strict=True))
            selection = data.draw(zst.block_indices(grid))
            place, target = blocks(seen, chunks, selection), array.blocks
        values = values_for(data, np.shape(seen[place]), dtype)
        note(f"{kind} {selection!r} {values!r}")
        target[selection] = values
        seen[place] = values

    @precondition(lambda self: self.of_kind(arrays=True))
    @rule(data=st.data())
    def collect_writes(self, data: Any) -> None:
        node, array = self.an_array(data)
        with array.writer(max_bytes=data.draw(st.sampled_from((1, 200, 1 << 20)))) as writer:
            for _ in range(data.draw(st.integers(1, 4))):
                self.write_into(data, seen_by(node, array), array, writer)

    @precondition(lambda self: self.of_kind(arrays=True))
    @rule(data=st.data())
    def read(self, data: Any) -> None:
        node, array = self.an_array(data)
        seen = seen_by(node, array)
        shape = seen.shape
        same(array[...], seen)
        basic = data.draw(zst.basic_indices(shape))
        same(array[basic], seen[basic])
        same(array.read(basic, threads=2), seen[basic])
        if not shape:
            return
        across = data.draw(zst.orthogonal_indices(shape))
        same(array.oindex[across], seen[outer(seen, across)])
        points = data.draw(zst.point_indices(shape))
        same(array.vindex[points], seen[points])
        mask = data.draw(zst.masks(shape))
        same(array[mask], seen[mask])
        many = [data.draw(zst.basic_indices(shape)) for _ in range(2)]
        for found, selection in zip(array.read_many(many), many, strict=True):
            same(found, seen[selection])

    @precondition(lambda self: self.of_kind(arrays=True))
    @rule(data=st.data())
    def resize(self, data: Any) -> None:
        node, array = self.an_array(data)
        new = data.draw(st.tuples(*(st.integers(0, 12) for _ in node.values.shape)))
        if not self.deletes and any(n < m for n, m in zip(new, node.values.shape, strict=True)):
            new = tuple(map(max, new, node.values.shape))
        array.resize(new)
        kept = tuple(slice(min(n, m)) for n, m in zip(new, node.values.shape, strict=True))
        values = np.full(new, node.fill, node.values.dtype)
        values[kept] = node.values[kept]
        node.values = values
        assert array.shape == new

    @precondition(lambda self: any(self.nodes[path].values.ndim for path in self.of_kind(arrays=True)))
    @rule(data=st.data())
    def append(self, data: Any) -> None:
        node, array = self.an_array(data)
        if node.values.ndim == 0:
            with pytest.raises(ValueError):
                array.append(values_for(data, (), node.values.dtype))
            return
        axis = data.draw(st.integers(0, node.values.ndim - 1))
        shape = list(node.values.shape)
        shape[axis] = data.draw(st.integers(0, 4))
        values = np.array(values_for(data, tuple(shape), node.values.dtype))
        array.append(values, axis=axis)
        node.values = np.concatenate([node.values, values], axis=axis, dtype=node.values.dtype)
        assert array.shape == node.values.shape

    @precondition(lambda self: self.deletes and self.of_kind(arrays=True))
    @rule(data=st.data())
    def erase_chunk(self, data: Any) -> None:
        """The chunk, or shard, is the fill value afterwards."""
        node, array = self.an_array(data)
        shape = seen_by(node, array).shape
        grid = [-(-n // unit) for n, unit in zip(shape, node.unit, strict=True)]
        if not all(grid):
            return
        index = tuple(data.draw(st.integers(0, count - 1)) for count in grid)
        array.encoded(index).erase()
        region = tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, node.unit, strict=True))
        node.values[region] = node.fill

    @precondition(lambda self: self.of_kind(arrays=True))
    @rule(data=st.data())
    def look_inside(self, data: Any) -> None:
        node, array = self.an_array(data)
        if array.shards is None:
            assert len(array.chunk_info().chunks) == array.nchunks_initialized
        if self.deletes:
            assert zarrcore.compact(array).damaged == ()
        array.explain()

    # --- moving, copying, removing

    def a_node(self, data: Any) -> str:
        return data.draw(st.sampled_from(sorted(path for path in self.nodes if path)))  # type: ignore[no-any-return]

    @precondition(lambda self: len(self.nodes) > 1)
    @rule(data=st.data())
    def move(self, data: Any) -> None:
        source = self.a_node(data)
        _, dest = self.a_place(data, data.draw(st.sampled_from(self.of_kind(arrays=False))))
        inside = f"{dest}/".startswith(f"{source}/")
        root = self.a_root(data)
        if dest in self.nodes and not inside and self.deletes:
            with suppress(BaseZarrError):
                root.move(source, dest)
                self.expect_a_copy(source, dest)
                self.drop(source)
            return
        if inside or dest in self.nodes or not self.deletes:
            with pytest.raises((BaseZarrError, ValueError)):
                root.move(source, dest)
            return
        root.move(source, dest)
        moved = {name: self.nodes.pop(name) for name in self.below(source)}
        for name, node in moved.items():
            # Handles stay with the place: what they had is gone.
            self.put(dest + name[len(source) :], Node(**vars(node)))

    def expect_a_copy(self, source: str, dest: str) -> None:
        """Only what is a copy of the source is taken for that of a move that broke off, and completed."""
        nodes = {name[len(source) :]: self.nodes[name] for name in self.below(source)}
        copies = {name[len(dest) :]: self.nodes[name] for name in self.below(dest)}
        assert nodes.keys() == copies.keys()
        for name, node in nodes.items():
            assert node.attributes == copies[name].attributes
            if node.values is not None:
                same(node.values, copies[name].values)

    @precondition(lambda self: len(self.nodes) > 1)
    @rule(data=st.data(), to_other_codecs=st.booleans())
    def copy(self, data: Any, to_other_codecs: bool) -> None:
        source = self.a_node(data)
        above, group = self.a_group(data)
        name, dest = self.a_place(data, above)
        options: dict[str, Any] = {"compressors": None} if to_other_codecs else {}
        opened = self.a_root(data)[source]
        if dest in self.nodes and self.nodes[dest].values is self.nodes[source].values is None:
            return  # what is in a group is added to another
        if f"{dest}/".startswith(f"{source}/") or dest in self.nodes:
            self.refused(lambda: zarrcore.copy(opened, group, name=name, **options))
            return
        zarrcore.copy(opened, group, name=name, **options)
        for path in self.below(source):
            node = self.nodes[path]
            values = None if node.values is None else node.values.copy()
            self.put(dest + path[len(source) :], Node(dict(node.attributes), values, node.fill, node.unit))

    @precondition(lambda self: len(self.nodes) > 1)
    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        path, root = self.a_node(data), self.a_root(data)
        if not self.deletes:
            self.refused(lambda: root.__delitem__(path))
            return
        del root[path]
        self.drop(path)

    @precondition(lambda self: any(self.is_lost(handle) for handle in self.handles))
    @rule(data=st.data())
    def use_a_lost_handle(self, data: Any) -> None:
        """An error, or what is in that place now if that is an array of the same kind.

        Of one that is larger, as of one that has grown, as much as the handle knows of.
        """
        handle = data.draw(st.sampled_from([handle for handle in self.handles if self.is_lost(handle)]))
        now = self.nodes.get(handle.path)
        writes = data.draw(st.booleans())
        value = values_for(data, (), handle.array.dtype)
        try:
            found = handle.array[...]
            if writes:
                handle.array[...] = value
        except BaseZarrError:
            return
        assert now is not None and now.values is not None, "what is gone was read"
        known = now.values[*(slice(n) for n in found.shape), ...]
        same(found, known)
        if writes:
            known[...] = value

    def is_lost(self, handle: Handle) -> bool:
        return self.nodes.get(handle.path) is not handle.node

    # --- comparing

    @invariant()
    def the_members_are_those_of_the_model(self) -> None:
        if hasattr(self, "nodes"):
            wanted = {path: node.values is not None for path, node in self.nodes.items() if path}
            found = {path: isinstance(node, zarrcore.Array) for path, node in self.root.members(None)}
            assert found == wanted

    def look_at_everything(self) -> None:
        report = zarrcore.verify(self.stores[0])
        assert [str(finding) for finding in report.findings if finding.kind != "dead bytes"] == []
        for store, trusted in self.views():
            root = zarrcore.open_group(store, mode="r", use_consolidated=trusted)
            found = {"": root, **dict(root.members(None))}
            assert found.keys() == self.nodes.keys()
            for path, node in self.nodes.items():
                assert dict(found[path].attrs) == node.attributes
                if node.values is not None:
                    same(found[path][...], node.values)
        self.ask_zarr_python()

    def views(self) -> Iterator[tuple[Store, bool | None]]:
        for store in self.stores:
            yield store, None
            yield store, False

    def ask_zarr_python(self) -> None:
        """What zarr-python finds in a copy."""
        zarr = pytest.importorskip("zarr")
        values = {key: self.stores[0].get(key) for key in self.stores[0].list()}
        buffers = {key: zarr.core.buffer.cpu.Buffer.from_bytes(bytes(value)) for key, value in values.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = zarr.open_group(zarr.storage.MemoryStore(buffers), mode="r")
            for path, node in self.nodes.items():
                theirs = root[path] if path else root
                assert dict(theirs.attrs) == node.attributes
                if node.values is not None:
                    same(np.asarray(theirs[...]).astype(node.values.dtype), node.values)


@pytest.mark.parametrize("kind", STORES)
def test_any_operations_in_any_order(kind: str) -> None:
    machine = seed(SEED)(type("Hierarchy", (Hierarchy,), {"make": staticmethod(STORES[kind])}))
    run_state_machine_as_test(machine, settings=SETTINGS)
