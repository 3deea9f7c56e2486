"""Opening nodes: finding them, and errors that say what is there instead."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from zarrcore._log import debug
from zarrcore.errors import (
    ArrayNotFoundError,
    BaseZarrError,
    GroupNotFoundError,
    NodeNotFoundError,
    NotAGroupError,
    NotAnArrayError,
    shown,
)
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.find import find_node, read_node
from zarrcore.storage.path import StorePath

if TYPE_CHECKING:
    from zarrcore.metadata import ArrayMetadata, GroupMetadata


def open_node(place: StorePath, zarr_format: int | None = None) -> tuple[StorePath, Metadata]:
    """Return where an array or a group is, and its metadata without consolidated metadata of format 2."""
    # A node in an N5 container is in a store of format 3 that stands for it.
    found, metadata = find_node(place, zarr_format)
    if metadata is None:
        raise absent(GroupNotFoundError, "array or group", place, zarr_format)
    debug("opened %s", found)
    return found, metadata


def open_array_node(place: StorePath, zarr_format: int | None = None) -> tuple[StorePath, ArrayMetadata]:
    """Open an array, see :func:`open_node`."""
    found, metadata = find_node(place, zarr_format, implied=False)
    if metadata is None:
        raise absent(ArrayNotFoundError, "array", place, zarr_format)
    if not is_array_metadata(metadata):
        raise NotAnArrayError(f"expected an array {place._located}, found a group")
    debug("opened the array %s", found)
    return found, metadata


def open_group_node(
    place: StorePath, zarr_format: int | None = None, *, use_consolidated: bool | str | None = None
) -> tuple[StorePath, GroupMetadata]:
    """Open a group, with its consolidated metadata if there are any; see :func:`open_node`.

    `use_consolidated`: True: they must be there; False: they are left alone; a string: the key of their
    document (format 2).
    """
    found, metadata = find_node(place, zarr_format)
    if metadata is None:
        raise absent(GroupNotFoundError, "group", place, zarr_format)
    if is_array_metadata(metadata):
        raise NotAGroupError(f"expected a group {place._located}, found an array")
    debug("opened the group %s", found)
    from zarrcore.nodes.consolidated import with_consolidated

    return found, with_consolidated(found, metadata, use_consolidated)


def absent(
    error: type[NodeNotFoundError], kind: str, place: StorePath, zarr_format: int | None
) -> NodeNotFoundError:
    """Return the error for a node that is not there; it names what is there instead."""
    wanted, instead = kind if zarr_format is None else f"{kind} of format {zarr_format}", ""
    with suppress(BaseZarrError, OSError):  # the error that is being made is clear enough without it
        other = None if zarr_format is None else read_node(place)
        if other is None:
            instead = place.store._instead_of_node(place.path)
        else:
            there = "an array" if is_array_metadata(other) else "a group"
            instead = f"there is {there} of format {other.zarr_format}; open it with zarr_format=None"
    return error(f"no {wanted} found {place._located}{f': {shown(instead)}' if instead else ''}")
