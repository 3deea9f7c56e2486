"""What is above a new node: groups that are there, those that are missing, and what these would hide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from zarrcore._typed import NamedTuple
from zarrcore.errors import BaseZarrError, ContainsArrayError, ContainsGroupError
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON
from zarrcore.nodes import documents as node_documents
from zarrcore.nodes.copies import is_unchanged, note_group
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.find import parse_node, read_node
from zarrcore.nodes.reading import at_once, document_at
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path


class _Above(NamedTuple):
    """A place above a new node; whether a group is there is not known yet."""

    place: StorePath
    key: str  # of the document that a group has there
    version: Any  # of that, before it is read
    is_opened: bool  # by whoever creates: there was a group then


def _unknown_above(place: StorePath, zarr_format: int, group: StorePath | None) -> list[_Above]:
    """Return the places above that have to be looked at, from the place up; see :func:`create_node`."""
    unknown: list[_Above] = []
    name = ZARR_JSON if zarr_format == 3 else ZGROUP_JSON
    store, is_slow = place.store, place.store._concurrent_requests() > 0
    while place.path:
        place = place.parent
        key = join_path(place.path, name)
        is_opened = group is not None and place.path == group.path
        # Before it is read.  In format 2 nobody notes documents of groups that have been read already.
        version = None if is_opened and zarr_format == 2 else store._version(key)
        is_known = is_unchanged(store, key, version, is_group=not is_opened)
        if is_opened and (is_known or (not is_slow and store.exists(key))):
            break
        if not is_known:
            unknown.append(_Above(place, key, version, is_opened))
        if is_opened and is_slow:  # it is looked at together with all else, and most probably there
            break
    return unknown


def look_above(
    place: StorePath, zarr_format: int, group: StorePath | None = None, *, claims: bool = False
) -> tuple[list[StorePath], bool]:
    """Return the places above that have no node yet, from the root down, and whether the place is empty.

    That is certain or False, and looked for if this `claims` the place.  No array may be above, and no node
    of format 2 where a group of format 3 would be made, which would hide all that is there.
    """
    store, unknown = place.store, _unknown_above(place, zarr_format, group)
    claim: Callable[[], bool] = partial(store._claim, place.path) if claims else bool
    if store._concurrent_requests():
        missing, is_new = _look_at_once(store, unknown, zarr_format, claim)
        if group is not None and group in missing:  # somebody has removed it, and perhaps those above
            return look_above(place, zarr_format, claims=claims)
        return missing, is_new
    missing = _missing(unknown, (read_node(above.place, zarr_format) for above in unknown), zarr_format)
    for above, name in _hidden(missing[::-1], zarr_format):
        if store.exists(join_path(above.path, name)):
            raise _hides(above, name)
    return missing, claim()


def _look_at_once(
    store: Store, unknown: Sequence[_Above], zarr_format: int, claim: Callable[[], bool]
) -> tuple[list[StorePath], bool]:
    """Return what :func:`look_above` does; a slow store is asked for everything in one wave."""
    places, names = [above.place for above in unknown], node_documents.NAMES[zarr_format]
    hidden = _hidden([above.place for above in unknown if not above.is_opened], zarr_format)
    looks: list[Callable[[], Any]] = [
        *(partial(document_at, above, name) for above in places for name in names),
        *(partial(store.exists, join_path(above.path, name)) for above, name in hidden),
        claim,
    ]
    *found, is_new = at_once(store, lambda look: look(), looks)
    values = iter(found)
    stored = [{name: value for name in names if (value := next(values)) is not None} for _ in places]
    nodes = (parse_node(above, zarr_format, each) for above, each in zip(places, stored, strict=True))
    missing = _missing(unknown, nodes, zarr_format)
    for (above, name), is_there in zip(hidden, values, strict=True):
        if is_there and above in missing:
            raise _hides(above, name)
    return missing, is_new


def _missing(
    unknown: Sequence[_Above], nodes: Iterable[Metadata | None], zarr_format: int
) -> list[StorePath]:
    """Return the places at which no node was found, from the root down; no array may be there."""
    missing: list[StorePath] = []
    for (place, key, version, is_opened), found in zip(unknown, nodes, strict=True):
        if found is None:
            if is_opened:
                refuse_hidden(place, zarr_format)
            missing.append(place)
        elif is_array_metadata(found):
            raise ContainsArrayError(f"an array exists {place._located}; no node can be below it")
        elif found.without_consolidated() is found:
            note_group(place.store, key, version)
    return missing[::-1]


def refuse_hidden(group: StorePath, zarr_format: int) -> None:
    """Refuse to create nodes by a group of format 2 that has become one of format 3 and would hide them."""
    if zarr_format == 2 and group.store.exists(join_path(group.path, ZARR_JSON)):
        raise ContainsGroupError(f"the group {group._located} has become one of format 3: open it again")


def _hidden(places: Sequence[StorePath], zarr_format: int) -> list[tuple[StorePath, str]]:
    """Documents of format 2 that a new group of this format would hide at one of some places."""
    return [(place, name) for place in places for name in (ZARRAY_JSON, ZGROUP_JSON) if zarr_format == 3]


def _hides(place: StorePath, name: str) -> BaseZarrError:
    is_array = name == ZARRAY_JSON
    return (ContainsArrayError if is_array else ContainsGroupError)(
        f"{'an array' if is_array else 'a group'} of format 2 exists {place._located}, which a node "
        "of format 3 below it would hide: create it with zarr_format=2, or migrate that first"
    )
