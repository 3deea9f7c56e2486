"""Walking through the nodes below a group, by its consolidated metadata or in the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from zarrcore._typed import NamedTuple
from zarrcore._validate import MAX_LEVELS
from zarrcore.errors import NodeIOError
from zarrcore.metadata import GroupMetadata
from zarrcore.nodes import consolidated, users
from zarrcore.nodes.copies import KeptCopy, copy_since
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.find import (
    Unreadable,
    leads_on,
    read_children,
    read_node,
    read_tree,
    readable,
    refuse_level,
)
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path

_Children = Iterator[tuple[str, Metadata | Unreadable]]
_Known = dict[str, list[tuple[str, Metadata | Unreadable]]]


class Found(NamedTuple):
    """A node below a group, its path there, and its metadata (or an Unreadable).

    `copy` is the one that the metadata come from or, if those of a group have one of their own, that one.
    `losses` is how many losses there had been before they were read, see `nodes.users`.
    """

    path: str
    metadata: Any
    copy: KeptCopy | None
    losses: int


def children(place: StorePath, metadata: GroupMetadata, known: _Known | None = None) -> _Children:
    """Names and metadata of the direct members of a group; `known`: those of some places, by path."""
    copy = metadata.consolidated_metadata
    if copy is not None:
        return consolidated.children(copy, metadata.zarr_format)
    if known is not None and place.path in known:
        return iter(known[place.path])
    return read_children(place, metadata.zarr_format)


def walk(
    place: StorePath,
    metadata: GroupMetadata,
    copy: KeptCopy | None = None,
    *,
    max_depth: int | None = None,
    use_consolidated: bool = True,
    goes_on: bool = False,
) -> Iterator[Found]:
    """Find the nodes below a group, each group directly before its own members.

    Parameters
    ----------
    metadata : GroupMetadata
        That of the group, with consolidated metadata, which come from `copy`, if these are to be used.
    max_depth : int, optional
        0 for the direct members, 1 for those of the groups among them as well, None for all.
    use_consolidated : bool
        Trust the consolidated metadata of groups below this one.
    goes_on : bool
        A group whose members cannot be listed, or read, is found once more, as Unreadable.

    Raises
    ------
    NestingError
        If nodes lie more than ``MAX_LEVELS`` levels below the place.
    """
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be None or at least 0, got {max_depth}")
    known: _Known = {}
    linked: set[str] = set()
    losses, changes = users.losses, users.changes_known()
    if max_depth != 0 and metadata.consolidated_metadata is None and place.store._concurrent_requests():
        with suppress(*((NodeIOError,) if goes_on else ())):  # found again, group by group
            known = read_tree(
                place,
                metadata.zarr_format,
                max_depth,
                lambda group: not use_consolidated or group.consolidated_metadata is None,
            )
    # A stack, because a hierarchy may be nested more deeply than Python can call.
    stack = [(place, "", children(place, metadata, known), copy)]
    while stack:
        above, prefix, members, copy = stack[-1]
        group = None
        try:
            for name, node in members:
                if len(stack) > MAX_LEVELS:
                    refuse_level(place, len(stack))
                if isinstance(node, GroupMetadata):
                    group = node
                    break
                yield Found(prefix + name, node, copy, losses)
        except NodeIOError as error:
            if not goes_on:
                raise
            stack.pop()
            yield Found(prefix.removesuffix("/"), Unreadable(error), copy, losses)
            continue
        if group is None:
            stack.pop()
            continue
        child = above._child(name)
        has_own = copy is None and group.consolidated_metadata is not None
        own = copy_since(child, changes) if has_own else copy
        yield Found(prefix + name, group, own, losses)
        if max_depth is None or len(stack) <= max_depth:
            inside = group if use_consolidated else replace(group, consolidated_metadata=None)
            is_open = inside.consolidated_metadata is None and child.path not in known
            if is_open and (known or not leads_on(child, linked)):  # `known` has all that is to be walked
                continue
            inner = own if inside.consolidated_metadata is not None else None
            stack.append((child, f"{prefix}{name}/", children(child, inside, known), inner))


def documents_below(place: StorePath) -> dict[str, dict[str, bytes]]:
    """Return the documents of the node at a place, and of all nodes below it, by path in the store."""
    metadata = read_node(place)
    found = {} if metadata is None else {place.path: metadata.to_documents()}
    if metadata is not None and not is_array_metadata(metadata):
        for below in walk(place, metadata.without_consolidated(), use_consolidated=False):
            found[join_path(place.path, below.path)] = readable(below.metadata).to_documents()
    return found
