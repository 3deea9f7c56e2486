"""Changes of a group that is open: its attributes, and members that are removed or moved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrcore.groups.nodes import member_path
from zarrcore.nodes.attributes import change_group_attributes
from zarrcore.nodes.create import delete_node
from zarrcore.nodes.move import move_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore.groups.group import Group

__all__ = ["change_attributes", "move", "remove"]


def remove(group: Group, key: str) -> None:
    """Remove a member and everything below it."""
    name = member_path(key)
    if name not in group:
        raise KeyError(key)
    delete_node(group._store_path / name)
    group._look_in_store()


def move(group: Group, source: str, dest: str) -> None:
    """Move a member, with everything below it, to another path in the group."""
    name = member_path(source)
    if group.get(name) is None:
        raise KeyError(source)
    move_node(group._store_path / name, group._store_path / member_path(dest))
    group._look_in_store()


def change_attributes(group: Group, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Store the result of `change`, called with the attributes that are stored now."""
    group.store._check_writable()
    copy = group.metadata.consolidated_metadata  # none that is out of date
    metadata = change_group_attributes(group._store_path, group._metadata.zarr_format, change)
    group._metadata = replace(metadata, consolidated_metadata=copy)
