"""Nodes of either kind: opening groups, and creating whole hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.arrays.array import Array
from zarrcore.nodes.create import create_node
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.open import open_group_node
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, normalize_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from zarrcore._typing import Overwrite
    from zarrcore.groups.group import Group
    from zarrcore.nodes.changes import KeptCopy
    from zarrcore.nodes.documents import Metadata

__all__ = ["create_nodes", "member_path", "node_of", "open_group_at"]


def node_of(
    place: StorePath, metadata: Metadata, *, config: Any = None, copy: KeptCopy | None = None
) -> Array | Group:
    """Return the array or group of metadata that come from the consolidated copy of a group above it."""
    if is_array_metadata(metadata):
        return Array(metadata, place, config)
    from zarrcore.groups.group import Group

    return Group(metadata, place, _copy=copy)


def open_group_at(
    place: StorePath, zarr_format: int | None = None, *, use_consolidated: bool | str | None = None
) -> Group:
    """Open the group at a place; parameters and errors are those of `open_group_node`."""
    from zarrcore.groups.group import Group

    place, metadata = open_group_node(place, zarr_format, use_consolidated=use_consolidated)
    return Group(metadata, place)


def create_nodes(
    place: StorePath, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
) -> Iterator[tuple[str, Array | Group]]:
    """Store many nodes, parents first; the groups between them that are not given are created as well."""
    checked = {StorePath(place.store, path).path: metadata for path, metadata in nodes.items()}
    formats = {metadata.zarr_format for metadata in checked.values()}
    if len(formats) > 1:
        raise ValueError(f"all nodes of a hierarchy must have one zarr_format, got {sorted(formats)}")
    for path in checked:
        above = path.rpartition("/")[0]
        while path and above != path:
            if above in checked and is_array_metadata(checked[above]):
                raise ValueError(f"{path!r} cannot be created below the array {above!r}")
            path, above = above, above.rpartition("/")[0]
    for path in sorted(checked, key=lambda name: (name.count("/"), name)):
        target = place / path if path else place
        create_node(target, checked[path], overwrite=overwrite)
        yield path, node_of(target, checked[path])


def member_path(path: str) -> str:
    """Return the path of a member, which is not the group itself."""
    name = normalize_path(path)
    if not name:
        raise KeyError(path)
    return join_path(name)
