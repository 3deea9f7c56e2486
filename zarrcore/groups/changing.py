"""Changes of a group that is open: its attributes, and members that are removed or moved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrcore.groups.members import contains, find, member_path, missing
from zarrcore.nodes.attributes import change_group_attributes
from zarrcore.nodes.create import delete_node
from zarrcore.nodes.foreign import is_left_over
from zarrcore.nodes.move import move_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore.groups.opened import OpenGroup


def remove(group: OpenGroup, key: str) -> None:
    """Remove a member and everything below it; also chunks that a removal which failed has left."""
    name = member_path(key)
    place = group.place / name
    if not contains(group, name) and not is_left_over(place):
        raise missing(group, key)
    delete_node(place)
    group.look_in_store()


def move(group: OpenGroup, source: str, dest: str) -> None:
    """Move a member, with everything below it, to another path in the group."""
    name = member_path(source)
    if find(group, name) is None:
        raise missing(group, source)
    move_node(group.place / name, group.place / member_path(dest))
    group.look_in_store()


def change_attributes(group: OpenGroup, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Store the result of `change`, called with the attributes that are stored now."""
    group.place.store._check_writable()
    copy = group.current().consolidated_metadata  # none that is out of date
    metadata = change_group_attributes(group.place, group.zarr_format, change)
    is_same = metadata.consolidated_metadata is copy  # mostly both are None
    group.metadata = metadata if is_same else replace(metadata, consolidated_metadata=copy)
