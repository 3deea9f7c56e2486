"""Consolidated metadata in stores: finding it, using it and writing it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zarrcore.config import config
from zarrcore.errors import BaseZarrError, StaleMetadataError, ZarrUserWarning
from zarrcore.groups.nodes import open_group_at
from zarrcore.metadata import ConsolidatedMetadata, GroupMetadata, parse_v2_group
from zarrcore.metadata.documents import ZATTRS_JSON, ZGROUP_JSON, ZMETADATA_V2_JSON
from zarrcore.nodes.changes import CHANGES, KeptCopy, is_known_stale, note_stale
from zarrcore.nodes.create import write_documents
from zarrcore.nodes.documents import IMPLIED_ZGROUP
from zarrcore.nodes.find import Unreadable, read_children, read_node, read_tree, readable
from zarrcore.storage.validation import join_path, key_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.groups.group import Group
    from zarrcore.storage import StorePath

__all__ = [
    "ConsolidatedDifference",
    "check",
    "checked_lookup",
    "children",
    "consolidate",
    "drop",
    "lookup",
    "with_consolidated",
    "without",
]


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
    if metadata.zarr_format == 3 and isinstance(use_consolidated, str):
        raise TypeError("use_consolidated: a key is for format 2 groups only; give True, False or None")
    found = _as_stored(place, metadata, use_consolidated if isinstance(use_consolidated, str) else None)
    copy = found.consolidated_metadata
    if use_consolidated and copy is None:
        raise ValueError(f"no consolidated metadata found in {place.store} at path {place.path!r}")
    if use_consolidated is None and copy is not None and is_known_stale(place, copy):
        return replace(found, consolidated_metadata=None)
    return found


def _as_stored(place: StorePath, metadata: GroupMetadata, name: str | None = None) -> GroupMetadata:
    """A group's metadata with the consolidated metadata that the store has, true or not."""
    if metadata.zarr_format == 3:
        return metadata
    names = (ZGROUP_JSON, ZATTRS_JSON, name or ZMETADATA_V2_JSON)
    zgroup, zattrs, zmetadata = place.store.get_many([join_path(place.path, item) for item in names])
    prefix = key_prefix(place.path)
    return parse_v2_group(IMPLIED_ZGROUP if zgroup is None else zgroup, zattrs, zmetadata, prefix=prefix)


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


def checked_lookup(consolidated: ConsolidatedMetadata, place: StorePath, path: str, zarr_format: int) -> Any:
    """:func:`lookup`, compared with the node's own documents where the setting or the store say so.

    Where they differ, the node's own are right: others may have changed it since the copy was made.

    Raises
    ------
    StaleMetadataError
        If the setting ``metadata.check_consolidated`` is ``"raise"`` and they differ.
    """
    found = lookup(consolidated, path, zarr_format)
    action = config.get("metadata.check_consolidated", None)
    if action is None:
        action = "warn" if place.store._is_near else "off"
    if action == "off":
        return found
    stored = read_node(place, zarr_format)
    if stored is None or (found is not None and _bare(stored) == _bare(found)):
        return found  # without documents of its own, the copy is all there is
    difference = "it was added later" if found is None else _difference(found, stored)
    message = f"consolidated metadata of {place} is stale ({difference}): consolidate_metadata makes it anew"
    if action == "raise":
        raise StaleMetadataError(message)
    import warnings

    warnings.warn(f"{message}; the node's own documents are used", ZarrUserWarning, stacklevel=4)
    return stored


def _difference(copy: Any, stored: Any) -> str:
    """The members in which two metadata documents differ."""
    ours, theirs = (_bare(metadata).to_dict() for metadata in (copy, stored))
    names = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return ", ".join(names) or "in format"


@dataclass(frozen=True)
class ConsolidatedDifference:
    """Where consolidated metadata and a node's own documents do not agree.

    Attributes
    ----------
    path : str
        Path of the node below the group.
    kind : {"added", "missing", "changed"}
        The node is not in the copy, only in the copy, or described otherwise.
    members : str
        What has changed, such as ``"attributes, shape"``.
    """

    path: str
    kind: str
    members: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}{f' ({self.members})' if self.members else ''}"


def check(group: Group) -> tuple[ConsolidatedDifference, ...]:
    """Compare the consolidated metadata that a group holds with all nodes below it."""
    consolidated = group.metadata.consolidated_metadata
    if consolidated is None:
        raise ValueError(f"{group!r} holds no consolidated metadata")
    zarr_format = group.metadata.zarr_format
    stored = _all_nodes(group.store_path, zarr_format)
    found: list[ConsolidatedDifference] = []
    for path in sorted(stored.keys() | set(consolidated.metadata)):
        copy = lookup(consolidated, path, zarr_format)
        if path not in stored:
            found.append(ConsolidatedDifference(path, "missing"))
        elif copy is None:
            found.append(ConsolidatedDifference(path, "added"))
        elif _bare(copy) != _bare(stored[path]):
            found.append(ConsolidatedDifference(path, "changed", _difference(copy, stored[path])))
    return tuple(found)


def children(consolidated: ConsolidatedMetadata, zarr_format: int) -> Iterator[tuple[str, Any]]:
    """Names and metadata of the direct members, sorted by name."""
    for name in sorted(consolidated.children()):
        try:
            found = lookup(consolidated, name, zarr_format)
        except BaseZarrError as error:
            found = Unreadable(error)
        yield name, found


def without(metadata: GroupMetadata, path: str) -> GroupMetadata:
    """A group's metadata after the node at `path` and all below it are gone."""
    consolidated = metadata.consolidated_metadata
    if consolidated is None:
        return metadata
    rest = {
        name: node
        for name, node in consolidated.flattened_metadata.items()
        if not _is_at_or_below(name, path)
    }
    return replace(
        metadata, consolidated_metadata=ConsolidatedMetadata(rest, extra_fields=consolidated.extra_fields)
    )


def drop(place: StorePath, zarr_format: int, path: str) -> None:
    """Take a node that is gone, and all below it, out of the consolidated metadata stored with a group."""
    if not place.store.supports_consolidated_metadata:
        return
    with CHANGES:
        found = read_node(place, zarr_format)
        if not isinstance(found, GroupMetadata):
            return
        found = _as_stored(place, found)
        copy = found.consolidated_metadata
        if copy is None or not any(_is_at_or_below(name, path) for name in copy.metadata):
            return
        is_stale = is_known_stale(place, copy)
        rest = without(found, path)
        write_documents(place, rest)
        if is_stale and rest.consolidated_metadata is not None:
            note_stale(place, rest.consolidated_metadata)


def _is_at_or_below(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}/")


def consolidate(place: StorePath, zarr_format: int | None = None) -> Group:
    """Collect the metadata of all nodes below a group and store it with the group."""
    from zarrcore.groups.group import Group

    if not place.store.supports_consolidated_metadata:
        raise TypeError(f"{type(place.store).__name__} does not support consolidated metadata")
    group = open_group_at(place, zarr_format, use_consolidated=False)
    place.store._check_writable()
    nodes = _all_nodes(place, group.metadata.zarr_format)
    copy = ConsolidatedMetadata(nodes)
    metadata = replace(group.metadata.without_consolidated(), consolidated_metadata=copy)
    write_documents(group.store_path, metadata)
    KeptCopy(group.store_path, copy).is_in_store()
    return Group(metadata, group.store_path)


def _all_nodes(place: StorePath, zarr_format: int) -> dict[str, Any]:
    """Paths and metadata of all nodes below a group, groups included that only the paths of others imply."""
    return {path: _bare(metadata) for path, metadata in _stored_nodes(place, zarr_format)}


def _stored_nodes(place: StorePath, zarr_format: int) -> Iterator[tuple[str, Any]]:
    """Paths and metadata of all nodes below a group, by their own documents."""
    known = {}
    if place.store._concurrent_requests():
        known = read_tree(place, zarr_format, None, lambda metadata: True)

    def below(group: StorePath, above: str) -> Iterator[tuple[str, Any]]:
        found = known.get(group.path)
        for name, child in read_children(group, zarr_format) if found is None else found:
            metadata = readable(child)
            yield above + name, metadata
            if isinstance(metadata, GroupMetadata):
                yield from below(group._child(name), f"{above}{name}/")

    return below(place, "")


def _bare(metadata: Any) -> Any:
    """Metadata of a node alone, without what a group says about others."""
    return metadata.without_consolidated() if isinstance(metadata, GroupMetadata) else metadata
