"""Find the nodes of a store, whatever it looks like, and compare their documents with the specifications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from zarrcore._patterns import pattern
from zarrcore._records import dataclass
from zarrcore._validate import MAX_LEVELS
from zarrcore.errors import (
    BaseZarrError,
    DataTypeValidationError,
    MetadataValidationError,
    PickleCodecDisabledError,
    UnknownCodecError,
)
from zarrcore.inspection.listing import is_left_behind
from zarrcore.inspection.report import Findings, reason
from zarrcore.metadata import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    parse_v2_group,
)
from zarrcore.metadata.departures import collected
from zarrcore.metadata.documents import stored_bytes
from zarrcore.nodes import documents
from zarrcore.nodes.documents import IMPLIED_ZGROUP, is_array_metadata
from zarrcore.nodes.find import leads_on
from zarrcore.nodes.foreign import ANY_CHUNK, is_litter
from zarrcore.nodes.reading import batches, key_text, several_at_once
from zarrcore.storage import LocalStore, MemoryStore
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import DOCUMENTS, join_path, key_prefix, lasting, node_names

if TYPE_CHECKING:
    from zarrcore.nodes.consolidate import ConsolidatedDifference

_V2_NAMES = (*documents.NAMES[2], ZMETADATA_V2_JSON)
_MOST_STRAYS = 100  # that are named of one directory without nodes
_NO_DOCUMENT = "a directory above nodes without a document of its own"
_CHUNK_END = pattern(rf"(?:^|/)(?:{ANY_CHUNK})$")
_MEMBER = pattern(r"\w+")


@dataclass
class Node:
    """What is at a path: names directly below, documents by name, the metadata that they make by format."""

    path: str
    names: list[str] = field(default_factory=list)
    no_names: list[str] = field(default_factory=list)  # what a store of a user lists and no node can have
    unreadable: list[str] = field(default_factory=list)  # names of links to nothing, and of what is no file
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    metadata: dict[int, Any] = field(default_factory=dict)
    is_broken: bool = False
    is_copied: bool = False  # known by consolidated metadata alone

    @property
    def arrays(self) -> list[Any]:
        """Metadata of the array at this path; of more than one format if there are documents of each."""
        return [found for found in self.metadata.values() if is_array_metadata(found)]


_Array: TypeAlias = tuple[StorePath, Node, Findings]


class NodeWalk:
    """All nodes at a place and below; `on_array` is called with each array, whose documents were checked.

    Arrays of a slow store are looked at several at the same time, each with findings of its own.
    """

    def __init__(
        self, place: StorePath, found: Findings, on_array: Callable[[StorePath, Node, Findings], None]
    ) -> None:
        self._place = n5_place_of(place)
        self._store = self._place.store
        self._found = found
        self._on_array = on_array
        self._linked: set[str] = set()
        self._groups: list[tuple[StorePath, Any]] = []  # with consolidated metadata
        self._copied: set[str] = set()  # nodes that only consolidated metadata describe
        self._own: set[str] = set()  # nodes below a group with these that have documents of their own
        self._arrays: list[_Array] = []  # of a slow store, that have to be looked at
        self._parts: list[Findings] = []

    def run(self) -> None:
        """Visit all nodes, level by level so that a slow store is asked in parallel."""
        level, depth = [self._place.path], 0
        nodes = 0
        top: Node | None = None
        while level:
            if depth > MAX_LEVELS:
                text = (
                    f"groups are nested more than {MAX_LEVELS:,} levels deep; those below are not looked at"
                )
                self._found.add("error", "metadata", text, path=level[0])
                break
            below: list[str] = []
            for node in self._visited(level):
                with self._part():
                    self._check_documents(node)
                    top = top or node
                    nodes += bool(node.metadata or node.is_broken)
                    below += self._below(node)
            self._look_at_arrays()
            level, depth = below, depth + 1
        if not nodes and not self._found.report.errors:
            self._found.add("error", "store", "there is no Zarr array or group", path=self._place.path)
        if nodes and top is not None and not (top.metadata or top.is_broken):
            clause = 'Zarr v3, "Group metadata"'
            self._found.add("note", "metadata", _NO_DOCUMENT, path=top.path, clause=clause)
        for place, metadata in self._groups:
            self._compare(place, metadata)

    # --- several arrays at the same time ---

    @contextmanager
    def _part(self) -> Iterator[None]:
        """Have what is found of a node of a slow store be a part of its own."""
        whole = self._found
        if self._store._concurrent_requests():
            self._found = whole.part()
            self._parts.append(self._found)
        try:
            yield
        finally:
            self._found = whole

    def _look_at_arrays(self) -> None:
        """Look at the arrays of a slow store that were found, and take over the parts, in their order."""
        for some in batches(self._arrays, _nbytes):
            several_at_once(self._store, lambda array: self._on_array(*array), some)
        for part in self._parts:
            self._found.adopt(part)
        self._arrays, self._parts = [], []

    # --- one place ---

    def _visited(self, paths: Sequence[str]) -> Iterable[Node]:
        if not self._store._concurrent_requests():
            return map(self._visit, paths)
        from zarrcore.storage.remote import in_parallel

        return in_parallel(self._visit, paths)

    def _visit(self, path: str) -> Node:
        """Read what is at a path; errors are kept, by name."""
        node = Node(path)
        try:
            # An array of format 2 may have all its chunks there: they are not listed only to find documents.
            is_quick = isinstance(self._store, (LocalStore, MemoryStore))
            is_flat = is_quick and self._store.exists(join_path(path, ZARRAY_JSON))
            listed = [ZARR_JSON, *_V2_NAMES] if is_flat else [*self._store.list_dir(path)]
            node.names = sorted(node_names([*map(key_text, listed)]))
            if not is_flat:
                node.no_names = sorted({*listed} - {*node.names})
                node.unreadable = [*self._store._unreadable_names(key_prefix(path))]
        except Exception as error:
            node.errors[""] = error
            from zarrcore.storage.remote import is_unreachable

            if is_unreachable(error):
                return node  # each document would be tried for as long again
            node.names = [ZARR_JSON, *_V2_NAMES]  # which may be there although they cannot be listed
        names = [name for name in (*node.names, *node.unreadable) if name in (ZARR_JSON, *_V2_NAMES)]
        if not names and "meta" in node.names:
            names = [name for name in documents.NAMES[1] if name in node.names]
        for name in names:
            key = join_path(path, name)
            try:
                # Names of format 1 are plain words, and may be those of directories.
                is_file = name not in documents.NAMES[1] or self._store.exists(key)
                value = lasting(self._store.get(key)) if is_file else None
            except Exception as error:
                node.errors[name] = error
            else:
                if value is not None:
                    node.values[name] = value
        return node

    def _check_documents(self, node: Node) -> None:
        listing = node.errors.get("")
        node.is_broken = listing is not None and not node.values
        for name, error in node.errors.items():
            if name and type(error) is type(listing):
                continue  # it has the same reason
            key = join_path(node.path, name) if name else None
            what = "cannot be read" if name else "the directory cannot be listed"
            self._found.add("error", "store", f"{what}: {reason(error)}", path=node.path, key=key)
            node.is_broken = node.is_broken or bool(name)
        if not node.values and not node.is_broken:
            self._look_up(node)
        for zarr_format in (3, 2, 1):
            values = {n: node.values[n] for n in documents.NAMES[zarr_format] if n in node.values}
            if values and not (zarr_format == 1 and node.metadata):
                self._parse(node, zarr_format, values)
        if ZARRAY_JSON in node.values and ZGROUP_JSON in node.values:
            self._found.add(
                "error", "metadata", f"{ZARRAY_JSON} and {ZGROUP_JSON} are at one path",
                path=node.path, key=join_path(node.path, ZGROUP_JSON), clause='Zarr v2, "Groups"',
            )  # fmt: skip
        if {2, 3} <= node.metadata.keys():
            self._compare_formats(node)
        if ZMETADATA_V2_JSON in node.values and 2 in node.metadata:
            self._parse_zmetadata(node)
        if node.metadata and (name := node.path.rpartition("/")[2]) and not name.strip("."):
            text = f"the name {name!r} is all dots: it cannot be copied, nor be in consolidated metadata"
            self._found.add("warning", "metadata", text, path=node.path, clause='Zarr v3, "Node names"')
        self._count(node)

    def _compare_formats(self, node: Node) -> None:
        """Note that a node was changed in one of two formats alone: readers of the other do not see it."""
        old, new = (_outline(node.metadata[zarr_format]) for zarr_format in (2, 3))
        if old != new:
            text = f"it is {new} in format 3, but {old} in format 2"
            key = join_path(node.path, ZARR_JSON)
            self._found.add("warning", "metadata", text, path=node.path, key=key)

    def _parse(self, node: Node, zarr_format: int, values: dict[str, Any]) -> None:
        with _Reading(self._found, node, zarr_format):
            metadata = documents.parse(zarr_format, values, path=node.path)
            if metadata is not None:
                node.metadata[zarr_format] = metadata
                if metadata.zarr_format == 3 and not is_array_metadata(metadata):
                    self._note_copy(node, metadata)

    def _note_copy(self, node: Node, metadata: Any) -> None:
        """Have the consolidated metadata of a group, if there are any, compared with the nodes at the end."""
        try:
            metadata.require_sound_copy()
        except MetadataValidationError as error:
            key = join_path(node.path, ZARR_JSON)
            self._found.add("error", "consolidated", reason(error), path=node.path, key=key)
        if metadata.consolidated_metadata is not None:
            self._groups.append((StorePath(self._store, node.path), metadata))

    def _look_up(self, node: Node) -> None:
        """Take the metadata of a node without documents from consolidated metadata above it."""
        if not self._groups:
            return
        from zarrcore.nodes.consolidated import lookup

        for place, metadata in reversed(self._groups):
            prefix = key_prefix(place.path)
            if node.path != place.path and node.path.startswith(prefix) and not node.metadata:
                with _Reading(self._found, node, metadata.zarr_format):
                    copy = metadata.consolidated_metadata
                    found = lookup(copy, node.path[len(prefix) :], metadata.zarr_format)
                    if found is not None:
                        node.metadata[metadata.zarr_format], node.is_copied = found, True
                        self._copied.add(node.path)

    def _parse_zmetadata(self, node: Node) -> None:
        zgroup = node.values.get(ZGROUP_JSON, IMPLIED_ZGROUP)
        with _Reading(self._found, node, 2):
            values = zgroup, node.values.get(ZATTRS_JSON), node.values[ZMETADATA_V2_JSON]
            self._note_copy(node, parse_v2_group(*values, prefix=key_prefix(node.path)))

    def _count(self, node: Node) -> None:
        if self._groups and node.metadata and not node.is_copied:
            self._own.add(node.path)
        if node.arrays:
            self._found.report.arrays += 1
        elif node.metadata:
            self._found.report.groups += 1

    # --- what lies below ---

    def _below(self, node: Node) -> Iterator[str]:
        """Yield the places below that may have nodes; arrays and what belongs to no node are looked at."""
        place = StorePath(self._store, node.path)
        if node.arrays:
            if self._parts:
                self._arrays.append((place, node, self._found))
            else:
                self._on_array(place, node, self._found)
            return
        if "" in node.errors:
            return
        for name in node.no_names:  # "" would lead to the same place again, without end
            text = f"the store lists what is no name: {name!r:.200}"
            self._found.add("warning", "stray", text, path=node.path)
        self._temporaries(node)
        self._unreadable(node)
        if not node.metadata and (node.is_broken or node.path != self._place.path):
            yield from self._without_document(node)
            return
        names = [name for name in node.names if not (name in DOCUMENTS or name in node.values)]
        paths = [join_path(node.path, name) for name in names]
        are_values = several_at_once(self._store, self._is_value, paths)
        for name, path, is_value in zip(names, paths, are_values, strict=True):
            if is_litter(name):
                self._found.add("warning", "temporary", "left by another program", path=node.path, key=path)
            elif not leads_on(place._child(name), self._linked):
                text = "a link that leads back up, or to what another link has led to"
                self._found.add("note", "stray", text, path=node.path, key=path)
            elif is_value:
                self._stray(node.path, path)
            else:
                yield path

    def _temporaries(self, node: Node) -> None:
        try:
            for name in self._store._temporary_names(key_prefix(node.path)):
                key = join_path(node.path, name)
                if is_left_behind(self._store, key):
                    text = "left by a writer that did not end"
                    self._found.add("warning", "temporary", text, path=node.path, key=key)
        except Exception as error:
            self._found.add("error", "store", reason(error), path=node.path)

    def _unreadable(self, node: Node) -> None:
        """Name what may have been an array or a group, as a link to a disk that is not mounted."""
        for name in node.unreadable:
            if name not in DOCUMENTS:  # which were read, and are errors
                text = "a link to nothing, or something else that can be neither read nor listed"
                self._found.add("warning", "stray", text, path=node.path, key=join_path(node.path, name))

    def _is_value(self, key: str) -> bool:
        try:
            return self._store.exists(key) and next(iter(self._store.list_dir(key)), None) is None
        except Exception:
            return False  # the listing of it, which follows, reports the error

    def _stray(self, path: str, key: str) -> None:
        if _CHUNK_END.search(key):
            self._found.add("warning", "stray", "a chunk without a document of its array", path=path, key=key)
        else:
            self._found.add("note", "stray", "belongs to no array or group", path=path, key=key)

    def _without_document(self, node: Node) -> Iterator[str]:
        """Look through a directory for nodes, and for keys of none, unless its own document is damaged."""
        inner: set[str] = set()
        strays: dict[str, list[str]] = {}
        number: dict[str, int] = {}
        try:
            for key, _ in self._store._list_sizes(node.path):
                above, _, name = key.rpartition("/")
                if name in DOCUMENTS:
                    inner.update([above] if name != ZATTRS_JSON else [])  # attributes alone make no node
                elif not key.endswith("/"):
                    number[above] = number.get(above, 0) + 1
                    if len(kept := strays.setdefault(above, [])) < _MOST_STRAYS:
                        kept.append(key)
        except Exception as error:
            self._found.add("error", "store", f"cannot be listed: {reason(error)}", path=node.path)
        tops = {path for path in inner if not any(above in inner for above in _above(path, node.path))}
        for above, keys in strays.items():
            if node.is_broken or any(path in tops for path in (above, *_above(above, node.path))):
                continue
            for key in keys:
                self._stray(node.path, key)
            if number[above] > len(keys):
                more = f"{number[above] - len(keys)} more belong to no array or group"
                is_chunk = _CHUNK_END.search(keys[0]) is not None
                self._found.add(
                    "warning" if is_chunk else "note", "stray", more, path=node.path, key=f"{above}/"
                )
        if tops - {node.path} and not node.is_broken:
            self._found.add(
                "note", "metadata", _NO_DOCUMENT,
                path=node.path, clause='Zarr v3, "Group metadata"',
            )  # fmt: skip
        yield from self._leading_on(node.path, sorted(tops - {node.path}))

    def _leading_on(self, top: str, paths: Sequence[str]) -> Iterator[str]:
        """Yield those of some paths on the way to which no link leads to where the walk has been."""
        known: dict[str, bool] = {}
        for path in paths:
            for part in (*_above(path, top), path):
                if part != top and part not in known:
                    known[part] = leads_on(StorePath(self._store, part), self._linked)
            if all(known.get(part, True) for part in (*_above(path, top), path)):
                yield path

    # --- consolidated metadata ---

    def _compare(self, place: StorePath, metadata: Any) -> None:
        from zarrcore.nodes.consolidate import check  # few stores have what it compares

        name = ZARR_JSON if metadata.zarr_format == 3 else ZMETADATA_V2_JSON
        key = join_path(place.path, name)
        if not self._store.supports_consolidated_metadata:
            return
        try:
            with collected():
                differences = check(place, metadata)
        except Exception as error:
            self._found.add("error", "consolidated", reason(error), path=place.path, key=key)
            return
        missing = {item.path for item in differences if item.kind == "missing"}
        is_all = missing == set(metadata.consolidated_metadata.metadata) and self._own.isdisjoint(
            join_path(place.path, path) for path in missing
        )
        for item in differences:
            severity, what = self._judge(place, item, is_all)
            self._found.add(severity, "consolidated", f"{item.path}: {what}", path=place.path, key=key)

    def _judge(self, place: StorePath, item: ConsolidatedDifference, is_all: bool) -> tuple[Any, str]:
        """Return what a difference between a copy and the nodes' own documents means.

        `is_all`: none of the nodes has documents of its own.
        """
        if item.kind != "missing":
            return "error", f"the copy is stale ({item.members or item.kind})"
        if is_all:
            return "note", "is described by the copy alone"
        if join_path(place.path, item.path) in self._copied:
            return "warning", "has lost its own documents; the copy still has them"
        if join_path(place.path, item.path) in self._own:
            return "warning", "is in no group: one above it has lost its documents"
        return "error", "the copy is stale (the node is not there)"


def _nbytes(array: _Array) -> int:
    metadata = array[1].arrays[0]
    return int(prod(metadata.shape)) * max(1, int(metadata.np_dtype.itemsize))


def _outline(metadata: Any) -> str:
    """Return what a node is, in words that are the same in each format."""
    return f"an array of shape {metadata.shape}" if is_array_metadata(metadata) else "a group"


class _Reading:
    """Encloses the reading of a document: what is wrong with it becomes findings."""

    def __init__(self, found: Findings, node: Node, zarr_format: int) -> None:
        self._found, self._node, self._format = found, node, zarr_format
        self._collected = collected()

    def __enter__(self) -> None:
        self._departures = self._collected.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        self._collected.__exit__(None, None, None)
        path = self._node.path
        for departure in self._departures:
            message = f"{departure.where}: {departure.reading}" if departure.where else departure.reading
            self._found.add(
                "warning", "departure", message, path=path, key=departure.key, clause=departure.clause
            )
        if not isinstance(error, Exception):
            return error is None
        self._node.is_broken = True
        key = getattr(error, "key", None) or join_path(path, next(iter(self._node.values)))
        if isinstance(error, (UnknownCodecError, PickleCodecDisabledError)):
            self._found.add("warning", "unsupported", str(error), path=path, key=key)
        else:
            clause = self._clause(error, key)
            text = str(error).removeprefix(f"{key}: ") if isinstance(error, BaseZarrError) else reason(error)
            self._found.add("error", "metadata", text, path=path, key=key, clause=clause)
        return True

    def _clause(self, error: Exception, key: str) -> str:
        """Return the clause that a document breaks, by the member in which the error is."""
        name = key.rpartition("/")[2]
        if name == ZATTRS_JSON:
            return 'Zarr v2, "Attributes"'
        if name == ZMETADATA_V2_JSON:
            return "consolidated metadata of format 2"
        member = _MEMBER.match(getattr(error, "where", None) or "")
        section = '"Metadata"'
        if self._format == 3:
            section = '"Array metadata"'
            with suppress(MetadataValidationError):  # no bytes
                if b'"group"' in stored_bytes(self._node.values.get(ZARR_JSON, b""), where=key):
                    section = '"Group metadata"'
        elif name == ZGROUP_JSON:
            section = '"Groups"'
        if isinstance(error, DataTypeValidationError) and member is None:
            return f"Zarr v{self._format}, {'Data types' if self._format == 3 else section}"
        of = f": {member[0]}" if member and isinstance(error, MetadataValidationError) else ""
        return f"Zarr v{self._format}, {section}{of}"


def n5_place_of(place: StorePath) -> StorePath:
    """Return a place as one of format 3 if it is in an N5 container, else itself."""
    try:
        keys = [join_path(place.path, name) for name in (ZARR_JSON, *_V2_NAMES)]
        if place.store._is_near and any(place.store._which_exist(keys)):
            return place
        if not {ZARR_JSON, *_V2_NAMES}.isdisjoint(place.store.list_dir(place.path)):
            return place
        from zarrcore.nodes.n5 import N5Store, n5_place

        return (None if isinstance(place.store, N5Store) else n5_place(place)) or place
    except Exception:
        return place  # the walk reports the error


def _above(path: str, top: str) -> Iterator[str]:
    """Yield the paths above a path, down to `top`."""
    while len(path) > len(top) and "/" in path:
        path = path.rpartition("/")[0]
        yield path
