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
from zarrcore.nodes.find import has_shown_nodes, parse_node, read_node
from zarrcore.nodes.reading import at_once, document_at, has_value, which_exist
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path

_HAS_NODES, _IS_IN_USE = "has_nodes", "is_in_use"  # noted of a store


class Look(NamedTuple):
    """What is above the place of a new node."""

    missing: list[StorePath]  # places without a node yet, from the root down
    is_new: bool  # it is certain that nothing is at the place itself, and below it
    is_free: bool  # or that no node is at the place itself
    plain: list[StorePath]  # groups above that were read and have no consolidated metadata
    left: Any = False  # what `find_left` of :func:`look_above` has returned; False: it was not called


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
        if is_opened and (is_known or (not is_slow and has_value(place, key))):
            break
        if not is_known:
            unknown.append(_Above(place, key, version, is_opened))
        if is_opened and is_slow:  # it is looked at together with all else, and most probably there
            break
    return unknown


def look_above(
    place: StorePath,
    zarr_format: int,
    group: StorePath | None = None,
    *,
    claims: bool = False,
    replaces: bool = False,
    find_left: Callable[[], Any] | None = None,
) -> Look:
    """Look at the places above that may have no node yet, and at the place itself if this `claims` it.

    Who `replaces` what is there need not know whether it is a node.  `find_left` looks for what is left of
    another one, and is called in the same wave where that cannot be seen from the claim.

    No array may be above, and no node of format 2 where a group of format 3 would be made, which would hide
    all that is there.
    """
    store, unknown = place.store, _unknown_above(place, zarr_format, group)
    if store._concurrent_requests():
        if claims and place.path and group is None and store._claims_places and claims_all(store):
            return Look([above.place for above in unknown][::-1], True, True, [])
        own = _own_looks(place, find_left) if claims and not (replaces or store._claims_places) else []
        look = _look_at_once(place, unknown, zarr_format, own, claims=claims)
        if group is not None and group in look.missing:  # somebody has removed it, and perhaps those above
            return look_above(place, zarr_format, claims=claims, replaces=replaces)
        return look
    nodes = (read_node(above.place, zarr_format) for above in unknown)
    missing, plain = _missing(unknown, nodes, zarr_format)
    for above, name in _hidden(missing[::-1], zarr_format):
        if has_value(above, join_path(above.path, name)):
            raise _hides(above, name)
    is_new = claims and store._claim(place.path)
    return Look(missing, is_new, is_new, plain)


def claims_all(store: Store) -> bool:
    """Return whether one look shows that a slow store is empty; nothing must be known of it so far."""
    notes = store._notes()
    if _IS_IN_USE in notes or _is_likely(store):
        return False
    notes[_IS_IN_USE] = True  # from now on
    return store._claim("")


def _is_likely(store: Store) -> bool:
    """Return whether a slow store has shown nodes, so that one is at its root, most probably."""
    return _HAS_NODES in store._notes() or has_shown_nodes(store)


def note_nodes(store: Store) -> None:
    """Note that a slow store has nodes."""
    store._notes()[_HAS_NODES] = True


def _own_looks(place: StorePath, find_left: Callable[[], Any] | None) -> list[Callable[[], Any]]:
    """What is looked at at a place itself: what is left there, and whether it has the document of a node."""
    keys = [join_path(place.path, name) for name in node_documents.DECIDING]
    return [find_left or bool, *(partial(place.store.exists, key) for key in keys)]


def _look_at_once(
    place: StorePath,
    unknown: Sequence[_Above],
    zarr_format: int,
    own: Sequence[Callable[[], Any]],
    *,
    claims: bool,
) -> Look:
    """Do what :func:`look_above` does; a slow store is asked for everything in one wave."""
    store = place.store
    places, names = [above.place for above in unknown], node_documents.NAMES[zarr_format]
    # Most probably a group is at the root, so that there is nothing to hide.
    likely = [above.place for above in unknown if not above.place.path and _is_likely(store)]
    unlikely = [above.place for above in unknown if not above.is_opened and above.place not in likely]
    hidden = _hidden(unlikely, zarr_format)
    quick = [partial(store._is_directory, place.path)] if own and store._sees_directories else []
    looks: list[Callable[[], Any]] = [
        *(partial(document_at, above, name) for above in places for name in names),
        *(partial(store.exists, join_path(above.path, name)) for above, name in hidden),
        *(quick or own),
        partial(store._claim, place.path) if claims else bool,
    ]
    *found, is_new = at_once(store, lambda look: look(), looks)
    values = iter(found)
    stored = [{name: value for name in names if (value := next(values)) is not None} for _ in places]
    nodes = (parse_node(above, zarr_format, each) for above, each in zip(places, stored, strict=True))
    missing, plain = _missing(unknown, nodes, zarr_format)
    _refuse_to_hide(missing, hidden, [next(values) for _ in hidden])
    again = _hidden([above for above in likely if above in missing], zarr_format)
    exists = which_exist(store, [join_path(above.path, name) for above, name in again])
    _refuse_to_hide(missing, again, exists)
    if quick:
        values = iter(at_once(store, lambda look: look(), own) if next(values) else [None] * len(own))
    left = next(values) if own else False
    return Look(missing, is_new, is_new or (bool(own) and not any(values)), plain, left)


def _refuse_to_hide(
    missing: Sequence[StorePath], hidden: Sequence[tuple[StorePath, str]], exists: Iterable[bool]
) -> None:
    """Refuse to make groups where there are documents of format 2."""
    for (above, name), is_there in zip(hidden, exists, strict=True):
        if is_there and above in missing:
            raise _hides(above, name)


def _missing(
    unknown: Sequence[_Above], nodes: Iterable[Metadata | None], zarr_format: int
) -> tuple[list[StorePath], list[StorePath]]:
    """Return the places at which no node was found, from the root down, and :attr:`Look.plain`.

    No array may be there.
    """
    missing: list[StorePath] = []
    plain: list[StorePath] = []
    for (place, key, version, is_opened), found in zip(unknown, nodes, strict=True):
        if found is None:
            if is_opened:
                refuse_hidden(place, zarr_format)
            missing.append(place)
        elif is_array_metadata(found):
            raise ContainsArrayError(f"an array exists {place._located}; no node can be below it")
        elif found.without_consolidated() is found:
            note_group(place.store, key, version)
            if zarr_format == 3:
                plain.append(place)
    return missing[::-1], plain


def refuse_hidden(group: StorePath, zarr_format: int) -> None:
    """Refuse to create nodes by a group of format 2 that has become one of format 3 and would hide them."""
    if zarr_format == 2 and has_value(group, join_path(group.path, ZARR_JSON)):
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
