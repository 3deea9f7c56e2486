"""Nodes in a store: reading, writing, creating and removing the metadata documents of arrays and groups.

This is where metadata, which knows no stores, and stores, which know no metadata, meet: functions take a
:class:`~zarrcore.storage.StorePath` and give or take metadata objects.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

from zarrcore import node_documents as documents
from zarrcore._locks import RLock, forkable
from zarrcore.errors import (
    BaseZarrError,
    ContainsArrayError,
    ContainsGroupError,
    InvalidKeyError,
    NodeTypeValidationError,
    StoreError,
)
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typing_extensions import TypeIs

    from zarrcore.metadata import ArrayMetadata, ConsolidatedMetadata, GroupMetadata
    from zarrcore.storage import Store

    Metadata = ArrayMetadata | GroupMetadata

__all__ = [
    "IMPLIED_ZGROUP",
    "KeptCopy",
    "Unreadable",
    "address",
    "array_metadata_from_dict",
    "create_node",
    "delete_node",
    "find_member",
    "find_node",
    "implied_group",
    "is_array_metadata",
    "missing_parents",
    "new_node",
    "note_move",
    "overlap",
    "parse_node",
    "read_children",
    "read_documents",
    "read_node",
    "read_tree",
    "readable",
    "store_documents",
    "write_documents",
]

IMPLIED_ZGROUP = b'{"zarr_format": 2}'
"""The document that a group of format 2 lacks if only the nodes below it say that it is there."""


@dataclass(frozen=True)
class Unreadable:
    """Takes the place of the metadata of a node that is there and whose documents cannot be used.

    Attributes
    ----------
    error : BaseZarrError
        Why; it names the document.
    """

    error: BaseZarrError


def readable(found: Any) -> Any:
    """What was found, unless that is a node whose documents cannot be used.

    Raises
    ------
    BaseZarrError
        Why they cannot.
    """
    if isinstance(found, Unreadable):
        raise found.error
    return found


_BATCH = 256  # documents asked from the store in one call when a group is listed


def is_array_metadata(metadata: Metadata) -> TypeIs[ArrayMetadata]:
    """True for the metadata of an array, False for that of a group."""
    return metadata.node_type == "array"


def array_metadata_from_dict(data: dict[str, Any], path: str) -> ArrayMetadata:
    """Array metadata from a document of either format."""
    metadata = documents.from_dict(data, where=path or None)
    if not is_array_metadata(metadata):
        raise NodeTypeValidationError(
            f"expected the metadata of an array, got that of a {metadata.node_type}"
        )
    return metadata


# --- places ---


def address(place: StorePath) -> str:
    """Where a place really is, as text that ends with a slash, whatever store it is seen through."""
    return f"{place.store._address(place.path)}/"


def overlap(one: StorePath, other: StorePath) -> bool:
    """Whether one of two places lies in the other, or both are the same."""
    first, second = address(one), address(other)
    return first.startswith(second) or second.startswith(first)


# --- reading ---


def read_node(place: StorePath, zarr_format: int | None = None) -> Metadata | None:
    """The metadata at a place, or None if there is no node; format 3 is looked for first, then 2, then 1."""
    formats: tuple[int, ...] = (3, 2, 1) if zarr_format is None else (zarr_format,)
    if zarr_format is None and place.store._concurrent_requests():
        metadata = _read_newer(place)
        if metadata is not None:
            return metadata
        formats = (1,)
    for number in formats:
        metadata = parse_node(place, number, read_documents(place, number))
        if metadata is not None:
            return metadata
    return None


def _read_newer(place: StorePath) -> Metadata | None:
    """The node of format 3 or 2, all of whose documents are asked for at the same time."""
    found = _read(place.store, place.path, documents.NAMES[3] + documents.NAMES[2])
    for number in (3, 2):
        values = {name: found[name] for name in documents.NAMES[number] if name in found}
        metadata = parse_node(place, number, values)
        if metadata is not None:
            return metadata
    return None


def read_documents(place: StorePath, zarr_format: int) -> dict[str, Any]:
    """Those documents that a node of a format can have and that exist, by name."""
    return _read(place.store, place.path, documents.NAMES[zarr_format])


def parse_node(place: StorePath, zarr_format: int, values: dict[str, Any]) -> Metadata | None:
    """The metadata in documents that were read at a place, or None if they make no node."""
    return documents.parse(zarr_format, values, path=place.path) if values else None


def find_node(place: StorePath, zarr_format: int | None = None) -> tuple[StorePath, Metadata | None]:
    """The metadata at a place that a user names, which may be in an N5 container, and where to look further.

    Returns
    -------
    place : StorePath
        The same place; in an N5 container, in a store of format 3 that stands for it.
    metadata : ArrayMetadata, GroupMetadata or None
        None if there is no node.
    """
    metadata = read_node(place, zarr_format)
    if metadata is not None:
        return place, metadata
    if zarr_format is None:
        from zarrcore.n5 import n5_place

        in_n5 = n5_place(place)
        if in_n5 is not None:
            return in_n5, read_node(in_n5, 3)
    return place, implied_group(place, zarr_format or 2)


def implied_group(place: StorePath, zarr_format: int) -> GroupMetadata | None:
    """The group that a place without documents is because nodes of format 2 lie below it; None if it is none.

    Other formats know no such groups.  The store has to list what lies below, until a node is found; a web
    server that lists nothing has none.
    """
    if zarr_format != 2 or not place.store.supports_listing:
        return None
    marks = tuple(f"/{name}" for name in (ZARRAY_JSON, ZGROUP_JSON))
    try:
        if not any(f"/{key}".endswith(marks) for key in place.store.list_prefix(place.path)):
            return None
    except (InvalidKeyError, StoreError):  # no name that the store can have, or it cannot list
        return None
    from zarrcore.metadata import parse_v2_group

    attributes = place.store.get(join_path(place.path, ZATTRS_JSON))
    return parse_v2_group(IMPLIED_ZGROUP, attributes, prefix=key_prefix(place.path))


def find_member(place: StorePath, zarr_format: int) -> Metadata | None:
    """The metadata of a node in a group of that format, which may be a group that only deeper paths imply."""
    found = read_node(place, zarr_format)
    return implied_group(place, zarr_format) if found is None else found


def _read(store: Store, path: str, names: Sequence[str]) -> dict[str, Any]:
    """Those of some documents of a node that exist."""
    if names is documents.NAMES[1]:
        # These names are plain words: where no array of format 1 is, they may well be directories.
        names = [name for name in names if store.exists(join_path(path, name))]
    keys = [join_path(path, name) for name in names]
    values = [store.get(keys[0])] if len(keys) == 1 else store.get_many(keys)
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def read_children(place: StorePath, zarr_format: int) -> Iterator[tuple[str, Metadata | Unreadable]]:
    """Names and metadata of the nodes directly below a place, sorted by name.

    Documents of one that cannot be used keep nobody from seeing the others.
    """
    children = _names_below(place)
    for start in range(0, len(children), _BATCH):
        batch = children[start : start + _BATCH]
        values = place.store.get_many(_document_keys(place, batch, zarr_format))
        yield from _parse_children(place, batch, zarr_format, iter(values))


def read_tree(
    place: StorePath, zarr_format: int, max_depth: int | None, enters: Callable[[GroupMetadata], bool]
) -> dict[str, list[tuple[str, Metadata | Unreadable]]]:
    """:func:`read_children` of a place and of the groups below it that `enters` says, by path.

    Level by level, so that a store that is waited for is asked side by side: each level takes two rounds.
    """
    found: dict[str, list[tuple[str, Metadata | Unreadable]]] = {}
    level, depth = [place], 0
    while level and (max_depth is None or depth <= max_depth):
        below: list[StorePath] = []
        for above, children in zip(level, _read_level(level, zarr_format), strict=True):
            found[above.path] = children
            below += (
                above._child(name)
                for name, metadata in children
                if not isinstance(metadata, Unreadable)
                and not is_array_metadata(metadata)
                and enters(metadata)
            )
        level, depth = below, depth + 1
    return found


def _read_level(
    places: Sequence[StorePath], zarr_format: int
) -> list[list[tuple[str, Metadata | Unreadable]]]:
    from zarrcore.storage.side_by_side import side_by_side

    listings = side_by_side(_names_below, places)
    keys = [
        key
        for place, children in zip(places, listings, strict=True)
        for key in _document_keys(place, children, zarr_format)
    ]
    values = iter(places[0].store.get_many(keys))
    return [
        list(_parse_children(place, children, zarr_format, values))
        for place, children in zip(places, listings, strict=True)
    ]


def _names_below(place: StorePath) -> list[str]:
    return sorted(name for name in place.store.list_dir(place.path) if name not in documents.ALL_NAMES)


def _document_keys(place: StorePath, children: Sequence[str], zarr_format: int) -> list[str]:
    names = documents.NAMES[zarr_format]
    return [join_path(place.path, child, name) for child in children for name in names]


def _parse_children(
    place: StorePath, children: Sequence[str], zarr_format: int, values: Iterator[Any]
) -> Iterator[tuple[str, Metadata | Unreadable]]:
    """The nodes among the children, whose documents are the next of the values."""
    names = documents.NAMES[zarr_format]
    for child in children:
        found = {name: value for name in names if (value := next(values)) is not None}
        path = join_path(place.path, child)
        metadata: Metadata | Unreadable | None = None
        try:
            metadata = documents.parse(zarr_format, found, path=path) if found else None
        except BaseZarrError as error:
            metadata = Unreadable(error)
        if metadata is None:
            metadata = implied_group(place._child(child), zarr_format)
        if metadata is not None:
            yield child, metadata


# --- writing ---


CHANGES = forkable(RLock())
"""Held by changes of metadata that depend on what they find, so that no thread undoes another one's."""


class KeptCopy:
    """Somebody holds a copy of the metadata of all nodes below a place.

    Parameters
    ----------
    place : StorePath
        The group whose document has the copy.
    copy : ConsolidatedMetadata
        The copy.

    Attributes
    ----------
    path : str
        Its path.
    is_stale : bool
        Whether this process has changed one of those nodes since.
    """

    __slots__ = ("__weakref__", "_address", "_copy", "is_stale", "path")

    def __init__(self, place: StorePath, copy: ConsolidatedMetadata) -> None:
        self.path = place.path
        self.is_stale = False
        self._copy = copy
        self._address = address(place)
        with CHANGES:
            _copies.add(ref(self, _copies.discard))

    def note(self, changed: str, *, removed: bool) -> None:
        """Take notice of a change at an address; the document of the group itself is not in the copy."""
        below = changed != self._address and changed.startswith(self._address)
        if below or (removed and self._address.startswith(changed)):
            self.is_stale = True
            _stale[self._address] = self._copy

    def is_in_store(self) -> None:
        """Take notice that the group's document has this copy, and that what it says is true."""
        with CHANGES:
            _stale.pop(self._address, None)


_copies: set[ref[KeptCopy]] = set()  # a WeakSet fails where one goes while another thread walks it
_stale: dict[str, ConsolidatedMetadata] = {}
"""Address of a group -> its copy, of which this process has changed nodes since it was stored."""


def note_stale(place: StorePath, copy: ConsolidatedMetadata) -> None:
    """Take notice that a group's document has a copy that is not true."""
    with CHANGES:
        _stale[address(place)] = copy


def is_known_stale(place: StorePath, copy: ConsolidatedMetadata) -> bool:
    """Whether this process has changed nodes of the copy that was found with a group."""
    if not _stale:
        return False
    with CHANGES:
        known = _stale.get(address(place))
        return known is not None and known.says_the_same(copy)


def _note_change(place: StorePath, *, removed: bool = False) -> None:
    if _copies:
        changed = address(place)
        with CHANGES:
            for kept in _copies.copy():
                copy = kept()
                if copy is not None:
                    copy.note(changed, removed=removed)


def note_move(source: StorePath, dest: StorePath) -> None:
    """Tell holders of copies that a node is going to be moved."""
    _note_change(source, removed=True)
    _note_change(dest)


def write_documents(place: StorePath, metadata: Metadata) -> None:
    """Store the metadata documents of a node, replacing those that are there."""
    store_documents(place, metadata.to_documents())


def store_documents(place: StorePath, documents: dict[str, bytes]) -> None:
    """The same for documents that have been serialised already."""
    _note_change(place)
    for name, data in documents.items():
        place.store.set(join_path(place.path, name), data)


def create_node(
    place: StorePath, metadata: Metadata, *, overwrite: bool = False, group: StorePath | None = None
) -> None:
    """Store a new node and the groups above it that are missing.

    Parameters
    ----------
    overwrite : bool
        Remove what is at the place and below it first.
    group : StorePath, optional
        A group above the place that has been read: if its document is still there, so is what is above it.

    Raises
    ------
    ContainsArrayError, ContainsGroupError
        If there is a node already, or an array above the place.
    """
    documents = metadata.to_documents()  # first: nothing is removed for metadata that cannot be stored
    _clear_the_way(place, metadata.zarr_format, overwrite=overwrite, group=group)
    store_documents(place, documents)


@contextmanager
def new_node(place: StorePath, metadata: Metadata, *, overwrite: bool = False) -> Iterator[bool]:
    """A place for a node whose documents are stored when the block ends, once all its chunks are there.

    If the block fails there is no node, and what it stored is removed again where nothing else can have
    been.  The parameters and errors are those of :func:`create_node`; the block is told whether nothing lies
    at the place yet.
    """
    documents = metadata.to_documents()
    _clear_the_way(place, metadata.zarr_format, overwrite=overwrite)
    store = place.store
    is_new = store.supports_listing and store.is_empty(place.path)
    try:
        yield is_new
        store_documents(place, documents)
    except BaseException:
        if is_new and store.supports_deletes:
            store.erase_prefix(place.path)
        raise


def _clear_the_way(
    place: StorePath, zarr_format: int, *, overwrite: bool, group: StorePath | None = None
) -> None:
    """Make sure that a node can be stored at a place: nothing is there any more, and groups are above it."""
    store = place.store
    store._check_writable()
    _refuse_reserved(place.path)
    missing = missing_parents(place, zarr_format, group)
    if overwrite and store.supports_deletes:
        _note_change(place, removed=True)
        store.erase_prefix(place.path)
    else:
        _refuse_existing(place)
    if missing:
        from zarrcore.metadata import GroupMetadata
    for parent in missing:
        write_documents(parent, GroupMetadata(attributes={}, zarr_format=zarr_format))


def _refuse_reserved(path: str) -> None:
    """Refuse paths that lead through the place of a metadata document."""
    for name in documents.ALL_NAMES.intersection(path.split("/")):
        raise InvalidKeyError(f"{path!r}: {name!r} is the name of a metadata document, no node can have it")


def _refuse_existing(place: StorePath) -> None:
    found = None if place.store._claim(place.path) else read_node(place)
    if found is None:
        return
    if is_array_metadata(found):
        raise ContainsArrayError(f"an array exists in store {place.store} at path {place.path!r}")
    raise ContainsGroupError(f"a group exists in store {place.store} at path {place.path!r}")


def missing_parents(place: StorePath, zarr_format: int, group: StorePath | None = None) -> list[StorePath]:
    """The places above that have no node yet, from the root down; see :func:`create_node`."""
    missing: list[StorePath] = []
    while place.path:
        place = place.parent
        if group is not None and place.path == group.path and _has_document(place, zarr_format):
            break
        found = read_node(place, zarr_format)
        if found is None:
            missing.append(place)
        elif is_array_metadata(found):
            raise ContainsArrayError(
                f"an array exists in store {place.store} at path {place.path!r}; no node can be below it"
            )
    return missing[::-1]


def _has_document(place: StorePath, zarr_format: int) -> bool:
    return place.store.exists(join_path(place.path, ZARR_JSON if zarr_format == 3 else ZGROUP_JSON))


def delete_node(place: StorePath) -> None:
    """Remove a node and everything below it."""
    place.store._check_writable()
    _note_change(place, removed=True)
    place.store.erase_prefix(place.path)
