"""Changing the attributes of a group in its documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.errors import GroupNotFoundError
from zarrcore.metadata import ZARR_JSON, GroupMetadata, dump_document, load_document
from zarrcore.nodes.changes import document_lock
from zarrcore.nodes.create import store_documents
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import implied_group, parse_node, read_documents
from zarrcore.nodes.places import located

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore.storage import StorePath


def change_group_attributes(
    place: StorePath, zarr_format: int, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> GroupMetadata:
    """Store the result of `change`, called with the attributes of a group that are stored now.

    Returns
    -------
    GroupMetadata
        The metadata with the new attributes.

    Raises
    ------
    GroupNotFoundError
        If the group is no longer there.
    """
    place.store._check_writable()
    with document_lock(place):
        values = read_documents(place, zarr_format)
        found = parse_node(place, zarr_format, values) or implied_group(place, zarr_format)
        if found is None or is_array_metadata(found):
            there = "there is nothing" if found is None else "there is an array"
            raise GroupNotFoundError(f"the group {located(place)} is no longer there: {there} in its place")
        metadata = found.update_attributes(change(dict(found.attributes)))
        store_documents(place, _documents(metadata, values))
        return metadata


def _documents(metadata: GroupMetadata, stored: dict[str, Any]) -> dict[str, bytes]:
    """Return the documents of a group; in format 3 consolidated metadata in it stay as they are stored."""
    if metadata.zarr_format != 3 or metadata is metadata.without_consolidated():
        return metadata.to_documents()
    document = load_document(stored[ZARR_JSON], where=ZARR_JSON)
    document["attributes"] = dict(metadata.attributes)
    return {ZARR_JSON: dump_document(document, where=ZARR_JSON)}
