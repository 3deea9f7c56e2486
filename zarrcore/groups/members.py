"""The members of a group, found by its consolidated metadata or in the store."""

from __future__ import annotations

from _thread import get_ident
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrcore.arrays.array import Array
from zarrcore.groups.nodes import node_of
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable, read_children, read_tree, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.groups.group import Group
    from zarrcore.nodes.documents import Metadata

    _Known = dict[str, list[tuple[str, Metadata | Unreadable]]]

__all__ = ["Names", "children", "names_of", "of_kind", "walk"]


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
        """How many names are going to come; None if some may have come already."""
        if self._names is not None or self._thread != get_ident():
            return None
        names = list(names_of(self._group))
        self._names = iter(names)
        return len(names)


def names_of(group: Group) -> Iterator[str]:
    """Names of the direct members."""
    consolidated = group.metadata.consolidated_metadata
    if consolidated is not None:
        return iter(sorted(consolidated.children()))
    return (name for name, _ in children(group))


def children(group: Group) -> Iterator[tuple[str, Metadata | Unreadable]]:
    """Names and metadata of the direct members."""
    consolidated = group.metadata.consolidated_metadata
    if consolidated is not None:
        from zarrcore.groups import consolidated as copies

        return copies.children(consolidated, group._metadata.zarr_format)
    return read_children(group._store_path, group._metadata.zarr_format)


def walk(
    group: Group, max_depth: int | None, use_consolidated: bool
) -> Iterator[tuple[str, Array | Group | Unreadable]]:
    """Members with their paths, each group directly before its own members."""
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be None or at least 0, got {max_depth}")
    known = None
    copied = group.metadata.consolidated_metadata is not None
    if max_depth != 0 and not copied and group.store._concurrent_requests():
        known = read_tree(
            group._store_path,
            group._metadata.zarr_format,
            max_depth,
            lambda metadata: not use_consolidated or metadata.consolidated_metadata is None,
        )
    return _walk(group, max_depth, use_consolidated, known)


def _walk(
    group: Group, max_depth: int | None, use_consolidated: bool, known: _Known | None
) -> Iterator[tuple[str, Array | Group | Unreadable]]:
    """:func:`walk`, where the direct members of some groups are known by path."""
    found = None if known is None else known.get(group.path)
    for name, metadata in children(group) if found is None else found:
        if isinstance(metadata, Unreadable):
            yield name, metadata
            continue
        node = node_of(group._store_path._child(name), metadata, copy=group._copy)
        yield name, node
        if not isinstance(node, Array) and max_depth != 0:
            inside = node if use_consolidated else _unconsolidated(node)
            deeper = None if max_depth is None else max_depth - 1
            for path, member in _walk(inside, deeper, use_consolidated, known):
                yield f"{name}/{path}", member


def _unconsolidated(group: Group) -> Group:
    """The same group, reading every member's own metadata."""
    if group.metadata.consolidated_metadata is None:
        return group
    return type(group)(replace(group._metadata, consolidated_metadata=None), group._store_path)


def of_kind(group: Group, arrays: bool) -> Iterator[tuple[str, Any]]:
    """Names and nodes of the arrays, or of the groups, among the direct members."""
    for name, found in children(group):
        metadata = readable(found)
        if is_array_metadata(metadata) == arrays:
            yield name, node_of(group._store_path._child(name), metadata, copy=group._copy)
