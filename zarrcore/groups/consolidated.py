"""Consolidated metadata in stores: finding it, using it and writing it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrcore.metadata import ConsolidatedMetadata, GroupMetadata, parse_v2_group
from zarrcore.metadata.documents import ZATTRS_JSON, ZGROUP_JSON, ZMETADATA_V2_JSON
from zarrcore.storage.validation import join_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.groups.group import Group
    from zarrcore.storage import StorePath

__all__ = ["children", "consolidate", "lookup", "with_consolidated", "without"]


def with_consolidated(
    place: StorePath, metadata: GroupMetadata, use_consolidated: bool | str | None
) -> GroupMetadata:
    """A group's metadata with its consolidated metadata, as far as that is wanted and there.

    Raises
    ------
    ValueError
        If it is required but not there.
    TypeError
        If a key is given for a format 3 group.
    """
    supported = place.store.supports_consolidated_metadata
    if use_consolidated and not supported:
        raise ValueError(f"{type(place.store).__name__} does not support consolidated metadata")
    if use_consolidated is False or not supported:
        return replace(metadata, consolidated_metadata=None)
    if metadata.zarr_format == 3:
        if isinstance(use_consolidated, str):
            raise TypeError("use_consolidated: a key is for format 2 groups only; give True, False or None")
        found = metadata
    else:
        name = use_consolidated if isinstance(use_consolidated, str) else ZMETADATA_V2_JSON
        found = _read_v2(place, name)
    if use_consolidated and found.consolidated_metadata is None:
        raise ValueError(f"no consolidated metadata found in {place.store} at path {place.path!r}")
    return found


def _read_v2(place: StorePath, name: str) -> GroupMetadata:
    names = (ZGROUP_JSON, ZATTRS_JSON, name)
    zgroup, zattrs, zmetadata = place.store.get_many([join_path(place.path, item) for item in names])
    prefix = f"{place.path}/" if place.path else ""
    return parse_v2_group(zgroup, zattrs, zmetadata, prefix=prefix)  # type: ignore[arg-type]  # it is there


def lookup(consolidated: ConsolidatedMetadata, path: str, zarr_format: int) -> Any | None:
    """The metadata of a node below the group, or None if there is none."""
    found = consolidated.metadata.get(path)
    if found is None:
        inside = consolidated.below(path)
        # A path that only deeper paths imply is a group.
        return GroupMetadata({}, zarr_format, inside) if inside.metadata else None
    if not isinstance(found, GroupMetadata) or found.consolidated_metadata is not None:
        return found
    return replace(found, consolidated_metadata=consolidated.below(path))


def children(consolidated: ConsolidatedMetadata, zarr_format: int) -> Iterator[tuple[str, Any]]:
    """Names and metadata of the direct members, sorted by name."""
    for name in sorted(consolidated.children()):
        yield name, lookup(consolidated, name, zarr_format)


def without(metadata: GroupMetadata, path: str) -> GroupMetadata:
    """A group's metadata after the node at `path` and all below it are gone."""
    consolidated = metadata.consolidated_metadata
    if consolidated is None:
        return metadata
    rest = {
        name: node
        for name, node in consolidated.flattened_metadata.items()
        if name != path and not name.startswith(f"{path}/")
    }
    return replace(metadata, consolidated_metadata=ConsolidatedMetadata(rest))


def consolidate(place: StorePath, zarr_format: int | None = None) -> Group:
    """Collect the metadata of all nodes below a group and store it with the group."""
    from zarrcore.groups.nodes import open_group_at

    if not place.store.supports_consolidated_metadata:
        raise TypeError(f"{type(place.store).__name__} does not support consolidated metadata")
    group = open_group_at(place, zarr_format, use_consolidated=False)
    place.store._check_writable()
    members = group.members(max_depth=None, use_consolidated_for_children=False)
    nodes = {path: _bare(node.metadata) for path, node in members}
    group._save(replace(group.metadata, consolidated_metadata=ConsolidatedMetadata(nodes)))
    return group


def _bare(metadata: Any) -> Any:
    if isinstance(metadata, GroupMetadata) and metadata.consolidated_metadata is not None:
        return replace(metadata, consolidated_metadata=None)
    return metadata
