"""Changes of a group that is open: its attributes, and members that are removed or moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zarrcore.errors import GroupNotFoundError
from zarrcore.groups.members import contains, find, member_path, missing
from zarrcore.groups.opened import OpenGroup
from zarrcore.metadata import ZARR_JSON, GroupMetadata, dump_document, load_document
from zarrcore.nodes.copies import document_lock, removal_follows
from zarrcore.nodes.create import delete_node, store_documents
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import implied_group, parse_node, read_documents
from zarrcore.nodes.foreign import is_left_over
from zarrcore.nodes.move import is_copied, move_node
from zarrcore.nodes.users import writing
from zarrcore.nodes.versions import Versions, changed, repeated


def remove(group: OpenGroup, key: str) -> None:
    """Remove a member and everything below it; also chunks that a removal which failed has left."""
    name = member_path(key)
    place = group.place / name
    follow = removal_follows(place)
    if not contains(group, name) and not is_left_over(place):
        raise missing(group, key)
    delete_node(place, follow)
    group.look_in_store()


def move(group: OpenGroup, source: str, dest: str) -> None:
    """Move a member, with everything below it, to another path in the group."""
    # Repeated after it failed to remove chunks of the source, it removes them.
    name, target = member_path(source), member_path(dest)
    group.look_in_store()  # consolidated metadata forget a node before it is removed
    if find(group, name) is not None:
        move_node(group.place / name, group.place / target)
    elif find(group, target) is not None and is_copied(group.place / name, group.place / target):
        delete_node(group.place / name)
    else:
        raise missing(group, source)


def change_attributes(group: OpenGroup, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Store the result of `change`, called with the attributes that are stored now."""
    place, zarr_format = group.place, group.zarr_format
    place.store._check_writable()
    before, kept = group.seen()
    copy = before.consolidated_metadata  # none that is out of date

    def store(versions: Versions) -> GroupMetadata:
        values = read_documents(place, zarr_format, versions)
        found = parse_node(place, zarr_format, values) or implied_group(place, zarr_format)
        if found is None or is_array_metadata(found):
            there = "there is nothing" if found is None else "there is an array"
            raise GroupNotFoundError(f"the group {place._located} is no longer there: {there} in its place")
        metadata = found.update_attributes(changed(change, found.attributes, versions))
        store_documents(place, _documents(metadata, values), versions)
        return metadata

    with document_lock(place), writing(group):
        metadata = repeated(store, may_be_recent=True)
        is_same = metadata.consolidated_metadata is copy  # mostly both are None
        group.adopt(metadata if is_same else replace(metadata, consolidated_metadata=copy), kept)


def _documents(metadata: GroupMetadata, stored: dict[str, Any]) -> dict[str, bytes]:
    """Return the documents of a group; in format 3 consolidated metadata in it stay as they are stored."""
    if metadata.zarr_format != 3 or metadata is metadata.without_consolidated():
        return metadata.to_documents()
    document = load_document(stored[ZARR_JSON], where=ZARR_JSON)
    document["attributes"] = dict(metadata.attributes)
    return {ZARR_JSON: dump_document(document, where=ZARR_JSON)}
