"""The members of a group, found by its consolidated metadata or in the store."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from zarrcore._validate import suggestion
from zarrcore.arrays.opened import OpenArray
from zarrcore.errors import (
    ArrayNotFoundError,
    BaseZarrError,
    DataTypeValidationError,
    GroupNotFoundError,
    InvalidKeyError,
    MetadataValidationError,
    NotAGroupError,
    NotAnArrayError,
    PickleCodecDisabledError,
    UnknownCodecError,
)
from zarrcore.groups.opened import OpenGroup, opened_node
from zarrcore.nodes import users
from zarrcore.nodes.consolidated import checked_lookup, comparing
from zarrcore.nodes.copies import copy_since
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable, first_names, implied_group, read_node, readable
from zarrcore.nodes.walk import Found, children
from zarrcore.nodes.walk import walk as nodes_below
from zarrcore.storage.validation import normalize_path


def member_path(path: str) -> str:
    """Return the path of a member, which is not the group itself."""
    name = normalize_path(path)
    if not name:
        raise KeyError(f"a member of a group has a name, got {path!r}")
    return name


def missing(group: OpenGroup, path: str) -> KeyError:
    """Return the error for a path at which the group has no member; it suggests names that are like it."""
    parent, _, name = path.strip("/").rpartition("/")
    store, hint = group.place.store, ""
    if store._is_near and store.supports_listing:  # over a network a hint is not worth a request
        with suppress(BaseZarrError, OSError):  # nor another error: that the member is missing is known
            hint = suggestion(name, islice(store.list_dir((group.place / parent).path), 1000))
    return KeyError(f"no array or group {path!r} in {group.place}{hint}")


# --- one member ---


def find(group: OpenGroup, path: str) -> Found | None:
    """Find the node at a path below a group; None if there is none, or no node can have the path.

    ``"/"`` is the group itself, as in HDF5; no name at all is none.
    """
    try:
        name = normalize_path(path)
    except InvalidKeyError:
        return None
    losses, changes = users.losses, users.changes_known()
    metadata, copy = group.seen()
    place = group.place._child(name)
    if not name:
        return Found(name, metadata, copy, losses) if path else None
    if metadata.consolidated_metadata is not None:
        found = checked_lookup(metadata.consolidated_metadata, place, name, group.zarr_format)
    else:
        try:
            found = read_node(place, group.zarr_format) or implied_group(place, group.zarr_format)
        except InvalidKeyError:  # no name that the store can have
            return None
    if copy is None and getattr(found, "consolidated_metadata", None) is not None:
        copy = copy_since(place, changes)
    return None if found is None else Found(name, found, copy, losses)


def opened(group: OpenGroup, found: Found) -> OpenArray | OpenGroup:
    """Open a member that has been found."""
    place = group.place._child(found.path) if found.path else group.place
    return opened_node(place, found.metadata, copy=found.copy, losses=found.losses)


def get(group: OpenGroup, path: str) -> OpenArray | OpenGroup | None:
    """Open the node at a path; None if there is none."""
    found = find(group, path)
    return None if found is None else opened(group, found)


_KINDS: dict[type, tuple[str, type[Exception], type[Exception]]] = {
    OpenArray: ("an array", ArrayNotFoundError, NotAnArrayError),
    OpenGroup: ("a group", GroupNotFoundError, NotAGroupError),
}


def find_kind(group: OpenGroup, path: str, kind: type[OpenArray | OpenGroup]) -> Found:
    """Find the array, or the group, at a path; one of its errors if there is none."""
    found, where = find(group, path), f"in the group {group.place} at path {path!r}"
    name, absent, is_other = _KINDS[kind]
    if found is None:
        raise absent(f"no {name.split()[1]} found {where}")
    there = OpenArray if is_array_metadata(found.metadata) else OpenGroup
    if there is not kind:
        raise is_other(f"expected {name} {where}, found {_KINDS[there][0]}")
    return found


_UNUSABLE = (MetadataValidationError, DataTypeValidationError, UnknownCodecError, PickleCodecDisabledError)


def contains(group: OpenGroup, member: object) -> bool:
    """Return whether there is a node at a path, be it one whose documents cannot be used."""
    try:
        return isinstance(member, str) and find(group, member) is not None
    except _UNUSABLE:
        return True  # it is there, and its name is listed


# --- all members ---

_MOST_COMPLETIONS = 1000


def completions(group: OpenGroup) -> list[str]:
    """Return names of direct members for completion: the first ones, and none that would take requests."""
    copy, store = group.current().consolidated_metadata, group.place.store
    if copy is not None:
        return sorted(islice(copy.children(), _MOST_COMPLETIONS))
    if not (store._is_near and store.supports_listing):
        return []
    with suppress(BaseZarrError, OSError):  # a prompt is no place for an error of a store
        names, _ = first_names(group.place, _MOST_COMPLETIONS)
        return names
    return []


class Names:
    """Iterator over the names of the direct members of a group, listed when the first of them is wanted.

    ``list(group)`` asks for an iterator, then for the length, and then for the names: one listing does.
    """

    __slots__ = ("__weakref__", "_group", "_names", "_thread")

    def __init__(self, group: OpenGroup) -> None:
        self._group = group
        self._thread = get_ident()
        self._names: Iterator[str] | None = None

    def __iter__(self) -> Names:
        return self

    def __next__(self) -> str:
        if self._names is None:
            self._names = names_of(self._group)
        return next(self._names)

    def count(self) -> int | None:
        """Return the number of names to come; None if some may have come already."""
        if self._names is not None or self._thread != get_ident():
            return None
        names = list(names_of(self._group))
        self._names = iter(names)
        return len(names)


def names_of(group: OpenGroup) -> Iterator[str]:
    """Return the names of the direct members."""
    metadata = group.current()
    if metadata.consolidated_metadata is not None:
        return iter(sorted(metadata.consolidated_metadata.children()))
    return (name for name, _ in children(group.place, metadata))


def walk(group: OpenGroup, max_depth: int | None, *, use_consolidated: bool = True) -> Iterator[Found]:
    """Return the nodes below a group, those included whose documents cannot be used."""
    metadata, copy = group.seen()
    copy = None if metadata.consolidated_metadata is None else copy
    return nodes_below(group.place, metadata, copy, max_depth=max_depth, use_consolidated=use_consolidated)


def as_opened(group: OpenGroup) -> Iterator[Found]:
    """Return the direct members as opening each of them finds it, those included that the copy lacks."""
    metadata = group.current()
    if metadata.consolidated_metadata is None or comparing(group.place) == "off":
        yield from walk(group, 0)
        return
    own = (name for name, _ in children(group.place, metadata.without_consolidated()))
    for name in sorted({*names_of(group), *own}):
        try:
            found = find(group, name)
        except _UNUSABLE as error:
            found = Found(name, Unreadable(error), None, users.losses)
        if found is not None:
            yield found


def usable(group: OpenGroup, max_depth: int | None, *, use_consolidated: bool = True) -> Iterator[Found]:
    """Return the nodes below a group; one whose documents cannot be used raises the reason."""
    for found in walk(group, max_depth, use_consolidated=use_consolidated):
        readable(found.metadata)
        yield found


def count(group: OpenGroup, max_depth: int | None) -> int:
    """Return the number of nodes below a group."""
    return sum(1 for _ in (names_of(group) if max_depth == 0 else walk(group, max_depth)))


def of_kind(group: OpenGroup, *, arrays: bool) -> Iterator[Found]:
    """Return the arrays, or the groups, among the direct members."""
    return (found for found in usable(group, 0) if is_array_metadata(found.metadata) == arrays)
