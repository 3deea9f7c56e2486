"""Consolidated metadata in stores follow the changes that this process makes to nodes below their groups.

They are changed as JSON, so that members of other programs stay as they are, and one node whose document is
not valid keeps nobody from changing another.  A node's own documents are stored first: a change that is
interrupted leaves a copy of what was there before.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from zarrcore.errors import BaseZarrError, ZarrUserWarning
from zarrcore.metadata import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    dump_document,
    load_document,
)
from zarrcore.nodes.changes import document_lock, note_change
from zarrcore.nodes.places import above
from zarrcore.storage.validation import join_path, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zarrcore.storage import StorePath

    Nodes = dict[str, Any]

_V2_NAMES = (ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON)
_MARK = b'"consolidated_metadata"'
_MOST_KNOWN = 1000


def follow_documents(place: StorePath, documents: dict[str, bytes]) -> None:
    """Bring the copies above a node up to date after its documents have been stored."""
    if ZARR_JSON in documents:
        _follow(place, above(place), (ZARR_JSON,), lambda path: _put(path, documents))
    elif ZARRAY_JSON in documents:
        _follow(place, above(place), (ZMETADATA_V2_JSON,), lambda path: _put(path, documents))
    elif ZMETADATA_V2_JSON not in documents:  # in format 2 the copy has the group's own attributes as well
        _follow(place, [*above(place), place], (ZMETADATA_V2_JSON,), lambda path: _put(path, documents))


def follow_removal(place: StorePath) -> None:
    """Take a node, and all below it, out of the copies above it after they have been removed."""
    _follow(place, above(place), (ZARR_JSON, ZMETADATA_V2_JSON), _remove, removed=True)


def follow_tree(place: StorePath, documents_below: Callable[[], dict[str, dict[str, bytes]]]) -> None:
    """Bring the copies above a place up to date after nodes have come there.

    Parameters
    ----------
    documents_below : callable
        Returns the documents of all nodes at the place and below, by path in the store; called only if there
        is a copy.
    """

    def change(path: str) -> _Change:
        skip = len(place.path) - len(path)  # what the paths have before those in the copy

        def apply(nodes: Nodes) -> None:
            _remove(path)(nodes)
            for below, documents in documents_below().items():
                _put(below[skip:], documents)(nodes)

        return apply

    _follow(place, above(place), (ZARR_JSON, ZMETADATA_V2_JSON), change)


if TYPE_CHECKING:
    _Change = Callable[[Nodes], None]


def _follow(
    place: StorePath,
    groups: Sequence[StorePath],
    names: Sequence[str],
    change: Callable[[str], _Change],
    *,
    removed: bool = False,
) -> None:
    """Apply a change, made for a path relative to the group, to the copies of some groups."""
    if not groups or not place.store.supports_consolidated_metadata:
        return
    # Whoever has read the node before it was stored may be about to make a copy of what was there.
    note_change(place, removed=removed)
    try:
        for group, name in _groups_with_copies(groups, names):
            with document_lock(group, name):
                _apply(group, join_path(group.path, name), change(place.path[len(key_prefix(group.path)) :]))
    except (BaseZarrError, OSError) as error:
        warnings.warn(
            f"the change of {place} is stored, but consolidated metadata above it could not be updated: "
            f"{error}; call consolidate_metadata() to refresh them",
            ZarrUserWarning,
            stacklevel=2,
        )


def _groups_with_copies(groups: Sequence[StorePath], names: Sequence[str]) -> list[tuple[StorePath, str]]:
    """Return the groups whose documents have consolidated metadata, and the names of these documents.

    Where it costs next to nothing to see that a document has not changed, it is not read again.
    """
    store = groups[0].store
    known: dict[str, Any] = vars(store).setdefault("_documents_without_copy", {})
    unknown: dict[str, tuple[StorePath, str, Any]] = {}
    for group in groups:
        for name in names:
            key = key_prefix(group.path) + name
            version = store._version(key)
            if version is None or (version and known.get(key) != version):
                unknown[key] = group, name, version
    found = []
    for key, value in zip(unknown, store.get_many([*unknown]) if unknown else (), strict=True):
        group, name, version = unknown[key]
        if value is not None and (name != ZARR_JSON or _MARK in bytes(value)):
            found.append((group, name))
        elif version is not None:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[key] = version
    return found


def _apply(group: StorePath, key: str, change: _Change) -> None:
    data = group.store.get(key)
    if data is None:
        return
    document = load_document(data, where=key)
    nodes = _nodes_in(document, is_v3=key.endswith(ZARR_JSON))
    if nodes is None:
        return
    before = dict(nodes)
    change(nodes)
    if nodes != before:
        group.store.set(key, dump_document(document, where=key))


def _nodes_in(document: dict[str, Any], *, is_v3: bool) -> Nodes | None:
    """Path (format 3) or key (format 2) -> document; None if the document has no copy of a known form."""
    holder: Any = document.get("consolidated_metadata") if is_v3 else document
    if not isinstance(holder, dict) or (is_v3 and holder.get("kind") != "inline"):
        return None
    nodes = holder.get("metadata")
    return nodes if isinstance(nodes, dict) else None


def _put(path: str, documents: dict[str, bytes]) -> _Change:
    """Replace the entry of one node in a copy by its documents."""

    def apply(nodes: Nodes) -> None:
        for name, data in documents.items():
            if name == ZARR_JSON:
                document = load_document(data, where=join_path(path, name))
                document.pop("consolidated_metadata", None)
                nodes[path] = document
            elif name in _V2_NAMES:
                nodes[join_path(path, name)] = load_document(data, where=join_path(path, name))

    return apply


def _remove(path: str) -> _Change:
    def apply(nodes: Nodes) -> None:
        for name in [name for name in nodes if name == path or name.startswith(f"{path}/")]:
            del nodes[name]

    return apply
