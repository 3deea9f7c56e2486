"""Finding nodes: which metadata are at a place, and which nodes lie below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zarrcore._records import dataclass
from zarrcore._validate import MAX_LEVELS
from zarrcore.errors import (
    BaseZarrError,
    MetadataValidationError,
    NestingError,
    NodeIOError,
    StoreError,
    given,
)
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON
from zarrcore.nodes import documents
from zarrcore.nodes.documents import IMPLIED_ZGROUP, Metadata, is_array_metadata
from zarrcore.nodes.reading import get_many, names_below, reading, which_exist
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix, node_names

if TYPE_CHECKING:
    from zarrcore.metadata import ArrayMetadata, GroupMetadata
    from zarrcore.nodes.versions import Versions


@dataclass(frozen=True)
class Unreadable:
    """Takes the place of the metadata of a node that is there and whose documents cannot be used, or read.

    `error` says why; it names the document.
    """

    error: BaseZarrError


_Child = tuple[str, Metadata | Unreadable]
_Found = Iterator[tuple[Any, Any]]  # values, and what the store noticed of each


def readable(found: Any) -> Any:
    """Return what was found, unless that is a node with unusable documents, whose error is raised."""
    if isinstance(found, Unreadable):
        raise found.error
    return found


class _Documents(dict[str, Any]):
    """Documents of a node that exist, by name, and what the store noticed of the first name's."""

    __slots__ = ("noticed",)

    def __init__(self, found: dict[str, Any], noticed: Any) -> None:
        super().__init__(found)
        self.noticed = noticed


_ONLY_3 = "only_format_3"  # noted of a store
_REFUSED = "PermissionDeniedError"  # of obstore, which need not be there
_BATCH = 256  # documents asked from the store in one call when a group is listed


def read_node(
    place: StorePath, zarr_format: int | None = None, known: dict[str, Any] | None = None
) -> Metadata | None:
    """Return the metadata at a place, or None if there is no node: of format 3, else 2, else 1.

    `known` are all its documents of the formats 3 and 2, if they have been read already.
    """
    return _node_of(place, zarr_format, _read_all(place, zarr_format) if known is None else known)


def _node_of(place: StorePath, zarr_format: int | None, known: dict[str, Any] | None) -> Metadata | None:
    for number in (3, 2, 1) if zarr_format is None else (zarr_format,):
        if known is None or number == 1:
            values = read_documents(place, number)
        else:
            values = {name: known[name] for name in documents.NAMES[number] if name in known}
        metadata = parse_node(place, number, values)
        if metadata is not None:
            return metadata
    return None


def _read_all(place: StorePath, zarr_format: int | None) -> dict[str, Any] | None:
    """Return the documents of format 3 or 2 at a place in a slow store, which is asked for all at once.

    None where they are read format by format: if it is known which one, and in a store that is near.
    """
    if zarr_format is not None or not place.store._concurrent_requests():
        return None
    # A store that has shown nodes of format 3, and no others, is asked for their document alone.
    notes = place.store._notes()
    if notes.get(_ONLY_3):
        known = _read(place, documents.NAMES[3])
        if known:
            return known
        known = _read(place, documents.NAMES[2])
    else:
        known = _read(place, documents.NAMES[3] + documents.NAMES[2])
    if known:
        notes[_ONLY_3] = notes.get(_ONLY_3, True) and ZARR_JSON in known
    return known


def has_shown_nodes(store: Store) -> bool:
    """Return whether nodes have been found in a slow store."""
    return _ONLY_3 in store._notes()


def read_documents(place: StorePath, zarr_format: int, versions: Versions | None = None) -> dict[str, Any]:
    """Return the existing documents of a node of a format, by name; their versions go to `versions`."""
    names = documents.NAMES[zarr_format]
    if versions is None or not place.store._compares:
        return _read(place, names)
    from zarrcore.storage.remote import in_parallel

    keys = [join_path(place.path, name) for name in names]
    recent = [place.store._recent_version(key) for key in keys] if versions.may_be_recent else [None]
    found: Sequence[tuple[Any, Any]] = [each for each in recent if each is not None]
    versions.are_recent = len(found) == len(keys) and any(value is not None for value, _ in found)
    if not versions.are_recent:
        with reading(place):
            found = in_parallel(place.store._get_version, keys)
    versions |= {name: version for name, (_, version) in zip(names, found, strict=True)}
    return {name: value for name, (value, _) in zip(names, found, strict=True) if value is not None}


def parse_node(place: StorePath, zarr_format: int, values: dict[str, Any]) -> Metadata | None:
    """Return the metadata in documents that were read at a place, or None if they make no node."""
    if not values:
        return None
    try:
        found = documents.parse(zarr_format, values, path=place.path)
    except Exception as error:
        error.add_note(f"while the metadata were read {place._located}")
        raise
    if type(values) is _Documents and values.noticed and found is not None and is_array_metadata(found):
        vars(found)["_noticed"] = values.noticed
    return found


def noticed_of(metadata: ArrayMetadata) -> Any:
    """Return, once, what the store noticed of the document that metadata were read from; None: nothing."""
    return vars(metadata).pop("_noticed", None)


def find_node(
    place: StorePath, zarr_format: int | None = None, *, implied: bool = True
) -> tuple[StorePath, Metadata | None]:
    """Return where the node at a place named by a user is, and its metadata; None if there is none.

    A node in an N5 container is in a store of format 3 that stands for it.  A place without documents may
    be a group of format 2, see :func:`implied_group`, unless `implied` is false.
    """
    if zarr_format is not None and zarr_format not in documents.NAMES:
        raise ValueError(f"zarr_format: expected 2, 3 or None for what is there, got {given(zarr_format)}")
    known = _read_all(place, zarr_format)
    if known == {} and place.store._claim(place.path):  # so there is nothing of any other format
        return place, None
    metadata = _node_of(place, zarr_format, known)
    if metadata is not None:
        return place, metadata
    if zarr_format is None:
        from zarrcore.nodes.n5 import n5_place

        in_n5 = n5_place(place)
        if in_n5 is not None:
            return in_n5, read_node(in_n5, 3)
    return place, implied_group(place, zarr_format or 2) if implied else None


def implied_group(place: StorePath, zarr_format: int) -> GroupMetadata | None:
    """Return the group of format 2 implied at a place without documents by a node directly below, or None."""
    # Other formats know no such groups.  One level is listed, never more: what lies deeper costs too much to
    # find, and is not enough to know the place.  A store that fails to list it raises its error, since "there
    # is no group" would let others write one of another format.
    if zarr_format != 2 or not place.store.supports_listing or not _holds_nodes_of_format_2(place):
        return None
    from zarrcore.metadata import parse_v2_group

    key = join_path(place.path, ZATTRS_JSON)
    with reading(place, key):
        attributes = place.store.get(key)
    return parse_v2_group(IMPLIED_ZGROUP, attributes, prefix=key_prefix(place.path))


def _holds_nodes_of_format_2(place: StorePath) -> bool:
    children = _names_below(place)
    for start in range(0, len(children), _BATCH):
        batch = children[start : start + _BATCH]
        keys = [join_path(place.path, child, name) for child in batch for name in (ZARRAY_JSON, ZGROUP_JSON)]
        values = get_many(place, keys)
        if any(value is not None for value in values):
            return True
    return False


def _read(place: StorePath, names: Sequence[str]) -> dict[str, Any]:
    """Return those of some documents of a node that exist."""
    store = place.store
    if names is documents.NAMES[1]:
        # These names are plain words: where no array of format 1 is, they may well be directories.
        with reading(place):
            found = list(which_exist(store, [join_path(place.path, name) for name in names]))
        names = [name for name, is_there in zip(names, found, strict=True) if is_there]
    prefix = key_prefix(place.path)
    if len(names) == 1:
        key = prefix + names[0]
        with reading(place, key):
            value, noticed = store._get_noticed(key) or (store.get(key), None)
        return {} if value is None else _Documents({names[0]: value}, noticed)
    return _documents(names, iter(_get_many(place, [prefix + name for name in names])))


def _get_many(place: StorePath, keys: Sequence[str]) -> Sequence[tuple[Any, Any]]:
    """Return the values at many keys of documents, each with what the store noticed of it."""
    with reading(place):
        first = place.store._get_noticed(keys[0]) if keys else None
        if first is not None:
            return [first, *map(place.store._get_noticed, keys[1:])]  # type: ignore[list-item]
    return [(value, None) for value in get_many(place, keys)]


def _documents(names: Sequence[str], found: _Found) -> _Documents:
    """Return those documents of a node that exist, which are the next of those found."""
    values, of_first = {}, None
    for number, name in enumerate(names):
        value, noticed = next(found)
        if value is not None:
            values[name] = value
            of_first = noticed if number == 0 else of_first
    return _Documents(values, of_first)


def read_children(place: StorePath, zarr_format: int) -> Iterator[_Child]:
    """Names and metadata of the nodes directly below a place, sorted by name."""
    # Documents of one that cannot be used keep nobody from seeing the others.
    names = _names_below(place)
    for start in range(0, len(names), _BATCH):
        (found,) = _read_named([(place, names[start : start + _BATCH])], zarr_format)
        yield from found


def first_names(
    place: StorePath, most: int, is_late: Callable[[], bool] = lambda: False
) -> tuple[list[str], bool]:
    """Return at most so many names below a place in a store that is near, sorted, and whether these are all.

    Names that are no node's are among them; once it `is_late` no more are looked at.
    """
    with reading(place):
        listed = place.store._first_names(key_prefix(place.path))
        names: set[str] = set()
        for number, name in enumerate(place.store.list_dir(place.path) if listed is None else listed):
            if len(names) > most or (number % 64 == 63 and is_late()):
                return sorted(names)[:most], False
            if name not in documents.ALL_NAMES and ".zc-" not in name:  # files of the group, and of writers
                names.update(node_names([name]))
    return sorted(names), True


def read_some(place: StorePath, names: Sequence[str], zarr_format: int) -> list[_Child]:
    """Return those of some names directly below a place that are nodes with documents, and their metadata."""
    wanted = documents.NAMES[zarr_format]
    values = iter(_get_many(place, [join_path(place.path, n, name) for n in names for name in wanted]))
    found = ((name, _documented(place._child(name), zarr_format, values)) for name in names)
    return [(name, node) for name, node in found if node is not None]


def read_tree(
    place: StorePath, zarr_format: int, max_depth: int | None, enters: Callable[[GroupMetadata], bool]
) -> dict[str, list[_Child]]:
    """Return :func:`read_children` of a place and of the groups below it that `enters` accepts, by path."""
    # Level by level, so that a slow store is asked in parallel: each level takes two rounds.
    from zarrcore.storage.remote import in_parallel

    found: dict[str, list[_Child]] = {}
    linked: set[str] = set()
    level, depth = [place], 0
    while level and (max_depth is None or depth <= max_depth):
        listings = list(zip(level, in_parallel(_names_below, level), strict=True))
        level, depth = [], depth + 1
        for (above, _), children in zip(listings, _read_named(listings, zarr_format), strict=True):
            if children:
                refuse_level(place, depth)
            found[above.path] = children
            level += (
                child
                for name, node in children
                if not isinstance(node, Unreadable)
                and not is_array_metadata(node)
                and enters(node)
                and leads_on(child := above._child(name), linked)
            )
    return found


def refuse_level(place: StorePath, level: int) -> None:
    """Refuse nodes that lie too many levels below a place: a stranger's hierarchy need not end."""
    if level > MAX_LEVELS:
        raise NestingError(f"the groups {place._located} are nested more than {MAX_LEVELS:,} levels deep")


def leads_on(place: StorePath, linked: set[str]) -> bool:
    """Return whether a walk goes on below a place, as it does unless that is a link to where it has been.

    Of all links to a directory the first one is walked, and none that leads back up; `linked` are the
    directories that the walk has reached through links.
    """
    target = place.store._link_target(place.path)
    if target is None:
        return True
    if target in linked or place.parent._address.startswith(target):
        return False
    linked.add(target)
    return True


def _names_below(place: StorePath) -> list[str]:
    # A listing may have more than nodes can be called, as that of a bucket that has a key "a//zarr.json".
    return sorted(name for name in node_names(names_below(place)) if name not in documents.ALL_NAMES)


def _read_named(places: Sequence[tuple[StorePath, Sequence[str]]], zarr_format: int) -> list[list[_Child]]:
    """Return, for each place, those of some names below it that are nodes, and their metadata."""
    names = documents.NAMES[zarr_format]
    children = [(place, child) for place, below in places for child in below]
    keys = [join_path(place.path, child, name) for place, child in children for name in names]
    try:
        values = iter(_get_many(places[0][0], keys))
    except NodeIOError as error:
        if not _may_be_of_one(places[0][0], error):
            raise
        read = (_read_one(place._child(child), zarr_format) for place, child in children)
    else:
        read = (_parsed(place._child(child), zarr_format, values) for place, child in children)
    return [
        [(child, node) for child, node in zip(below, read, strict=False) if node is not None]
        for _, below in places
    ]


def _may_be_of_one(place: StorePath, error: NodeIOError) -> bool:
    """Return whether other nodes can probably be read, at least those of a directory."""
    cause = error.__cause__
    if isinstance(cause, (PermissionError, MetadataValidationError)):  # this is of what N5 has in its place
        return True
    if type(getattr(cause, "__cause__", None)).__name__ == _REFUSED:
        return True
    return place.store._is_near and (isinstance(cause, StoreError) or error.errno is not None)


def _read_one(place: StorePath, zarr_format: int) -> Metadata | Unreadable | None:
    """Return the node at a place that perhaps may not be read."""
    try:
        keys = [join_path(place.path, name) for name in documents.NAMES[zarr_format]]
        return _parsed(place, zarr_format, iter(_get_many(place, keys)))
    except NodeIOError as error:
        return Unreadable(error)


def _parsed(place: StorePath, zarr_format: int, values: _Found) -> Metadata | Unreadable | None:
    """Return the node at a place, whose documents are the next of the values."""
    node = _documented(place, zarr_format, values)
    return implied_group(place, zarr_format) if node is None else node


def _documented(place: StorePath, zarr_format: int, values: _Found) -> Metadata | Unreadable | None:
    try:
        return parse_node(place, zarr_format, _documents(documents.NAMES[zarr_format], values))
    except BaseZarrError as error:
        return Unreadable(error)
