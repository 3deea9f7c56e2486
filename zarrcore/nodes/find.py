"""Finding nodes: which metadata are at a place, and which nodes lie below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zarrcore.errors import BaseZarrError
from zarrcore.metadata import ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON
from zarrcore.nodes import documents
from zarrcore.nodes.documents import IMPLIED_ZGROUP, is_array_metadata
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from zarrcore.metadata import GroupMetadata
    from zarrcore.nodes.documents import Metadata
    from zarrcore.storage import Store


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
    """Return what was found, unless that is a node with unusable documents.

    Raises
    ------
    BaseZarrError
        Why they cannot.
    """
    if isinstance(found, Unreadable):
        raise found.error
    return found


_BATCH = 256  # documents asked from the store in one call when a group is listed


def read_node(place: StorePath, zarr_format: int | None = None) -> Metadata | None:
    """Return the metadata at a place, or None if there is no node: of format 3, else 2, else 1."""
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
    """Return the node of format 3 or 2, all of whose documents are asked for at the same time."""
    found = _read(place.store, place.path, documents.NAMES[3] + documents.NAMES[2])
    for number in (3, 2):
        values = {name: found[name] for name in documents.NAMES[number] if name in found}
        metadata = parse_node(place, number, values)
        if metadata is not None:
            return metadata
    return None


def read_documents(place: StorePath, zarr_format: int) -> dict[str, Any]:
    """Return the existing documents of a node of a format, by name."""
    return _read(place.store, place.path, documents.NAMES[zarr_format])


def parse_node(place: StorePath, zarr_format: int, values: dict[str, Any]) -> Metadata | None:
    """Return the metadata in documents that were read at a place, or None if they make no node."""
    return documents.parse(zarr_format, values, path=place.path) if values else None


def find_node(
    place: StorePath, zarr_format: int | None = None, *, implied: bool = True
) -> tuple[StorePath, Metadata | None]:
    """Return the metadata at a place named by a user, perhaps in an N5 container, and where to look further.

    Parameters
    ----------
    implied : bool
        Whether a place without documents may be a group of format 2, see :func:`implied_group`.

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
        from zarrcore.nodes.n5 import n5_place

        in_n5 = n5_place(place)
        if in_n5 is not None:
            return in_n5, read_node(in_n5, 3)
    return place, implied_group(place, zarr_format or 2) if implied else None


def implied_group(place: StorePath, zarr_format: int) -> GroupMetadata | None:
    """Return the group of format 2 implied at a place without documents by a node directly below, or None.

    Other formats know no such groups.  One level is listed, never more: what lies deeper costs too much to
    find, and is not enough to know the place.  A store that fails to list it raises its error, since "there
    is no group" would let others write one of another format.
    """
    if zarr_format != 2 or not place.store.supports_listing or not _holds_nodes_of_format_2(place):
        return None
    from zarrcore.metadata import parse_v2_group

    attributes = place.store.get(join_path(place.path, ZATTRS_JSON))
    return parse_v2_group(IMPLIED_ZGROUP, attributes, prefix=key_prefix(place.path))


def _holds_nodes_of_format_2(place: StorePath) -> bool:
    children = _names_below(place)
    for start in range(0, len(children), _BATCH):
        batch = children[start : start + _BATCH]
        keys = [join_path(place.path, child, name) for child in batch for name in (ZARRAY_JSON, ZGROUP_JSON)]
        if any(value is not None for value in place.store.get_many(keys)):
            return True
    return False


def find_member(place: StorePath, zarr_format: int) -> Metadata | None:
    """Return the metadata of a node in a group of that format, which may be an implied group."""
    found = read_node(place, zarr_format)
    return implied_group(place, zarr_format) if found is None else found


def _read(store: Store, path: str, names: Sequence[str]) -> dict[str, Any]:
    """Return those of some documents of a node that exist."""
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
    """Return :func:`read_children` of a place and of the groups below it that `enters` accepts, by path.

    Level by level, so that a slow store is asked in parallel: each level takes two rounds.
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
    """Yield the nodes among the children, whose documents are the next of the values."""
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
