"""The members of a group, found by its consolidated metadata or in the store."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

from zarrcore.arrays.array import Array
from zarrcore.groups.nodes import node_of
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable, readable
from zarrcore.nodes.walk import children
from zarrcore.nodes.walk import walk as nodes_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.groups.group import Group

__all__ = ["Names", "names_of", "of_kind", "walk"]


class Names:
    """Iterator over the names of the direct members of a group, listed when the first of them is wanted.

    ``list(group)`` asks for an iterator, then for the length, and then for the names: one listing does.
    """

    __slots__ = ("__weakref__", "_group", "_names", "_thread")

    def __init__(self, group: Group) -> None:
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


def names_of(group: Group) -> Iterator[str]:
    """Return the names of the direct members."""
    consolidated = group.metadata.consolidated_metadata
    if consolidated is not None:
        return iter(sorted(consolidated.children()))
    return (name for name, _ in children(group._store_path, group._metadata))


def walk(
    group: Group, max_depth: int | None, use_consolidated: bool
) -> Iterator[tuple[str, Array | Group | Unreadable]]:
    """Members with their paths, each group directly before its own members."""
    metadata = group.metadata
    found = nodes_below(
        group._store_path,
        metadata,
        group._copy if metadata.consolidated_metadata is not None else None,
        max_depth=max_depth,
        use_consolidated=use_consolidated,
    )
    for path, member, copy in found:
        if isinstance(member, Unreadable):
            yield path, member
        else:
            yield path, node_of(group._store_path._child(path), member, copy=copy)


def of_kind(group: Group, arrays: bool) -> Iterator[tuple[str, Any]]:
    """Names and nodes of the arrays, or of the groups, among the direct members."""
    for name, found in children(group._store_path, group.metadata):
        metadata = readable(found)
        if is_array_metadata(metadata) == arrays:
            yield name, node_of(group._store_path._child(name), metadata, copy=group._copy)
