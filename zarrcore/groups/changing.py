"""Changes of a group that is open: its attributes, and members that are removed or moved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrcore.errors import GroupNotFoundError
from zarrcore.groups.consolidated import drop, without
from zarrcore.groups.nodes import member_path
from zarrcore.nodes.changes import CHANGES, KeptCopy
from zarrcore.nodes.create import delete_node, write_documents
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import find_member
from zarrcore.nodes.move import move_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore.groups.group import Group
    from zarrcore.metadata import GroupMetadata

__all__ = ["change_attributes", "move", "remove"]


def remove(group: Group, key: str) -> None:
    """Remove a member and everything below it."""
    name = member_path(key)
    if name not in group:
        raise KeyError(key)
    before = group.metadata
    delete_node(group._store_path / name)
    _save_without(group, before, name)


def move(group: Group, source: str, dest: str) -> None:
    """Move a member, with everything below it, to another path in the group."""
    name = member_path(source)
    if group.get(name) is None:
        raise KeyError(source)
    move_node(group._store_path / name, group._store_path / member_path(dest))
    group._look_in_store()
    drop(group._store_path, group._metadata.zarr_format, name)


def _save_without(group: Group, before: GroupMetadata, name: str) -> None:
    """Drop a removed member from the consolidated metadata of this group as well."""
    owner = group._copy is not None and group._copy.path == group.path
    group._look_in_store()
    drop(group._store_path, group._metadata.zarr_format, name)
    after = without(before, name)
    if owner and after.consolidated_metadata is not None:
        group._metadata = after
        group._copy = KeptCopy(group._store_path, after.consolidated_metadata)
        group._copy.is_in_store()


def change_attributes(group: Group, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Store what `change` makes of the attributes that are stored now."""
    group.store._check_writable()
    with CHANGES:
        copy = group.metadata.consolidated_metadata  # none that is out of date
        found = find_member(group._store_path, group._metadata.zarr_format)
        if found is None or is_array_metadata(found):
            raise GroupNotFoundError(
                f"group {group.path!r} is no longer in {group.store}: "
                f"{'there is nothing' if found is None else 'there is an array'} in its place"
            )
        attributes = change(dict(found.attributes))
        _save(group, replace(found, attributes=attributes, consolidated_metadata=copy))


def _save(group: Group, metadata: GroupMetadata) -> None:
    """Store changed metadata and continue with it."""
    group.store._check_writable()
    is_owner = group._copy is None or group._copy.path == group.path
    own = metadata if is_owner else replace(metadata, consolidated_metadata=None)
    write_documents(group._store_path, own)
    group._metadata = metadata
