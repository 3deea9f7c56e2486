"""Reading from consolidated metadata: finding them, and looking nodes up in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from zarrcore.config import config
from zarrcore.errors import BaseZarrError, MetadataValidationError, StaleMetadataError, ZarrUserWarning
from zarrcore.metadata import ConsolidatedMetadata, GroupMetadata, parse_v2_group
from zarrcore.metadata.documents import ZATTRS_JSON, ZGROUP_JSON, ZMETADATA_V2_JSON
from zarrcore.nodes.documents import IMPLIED_ZGROUP, is_array_metadata
from zarrcore.nodes.find import Unreadable, read_node
from zarrcore.nodes.reading import get_many
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import key_prefix


def with_consolidated(
    place: StorePath, metadata: GroupMetadata, use_consolidated: bool | str | None
) -> GroupMetadata:
    """Return a group's metadata with its consolidated metadata, as far as that is wanted and there.

    It is a ValueError if they are required but not there, and a TypeError if a key is given for format 3.
    """
    supported = place.store.supports_consolidated_metadata
    if use_consolidated and not supported:
        raise ValueError(f"{type(place.store).__name__} does not support consolidated metadata")
    if use_consolidated is False or not supported:
        return replace(metadata, consolidated_metadata=None)
    try:
        metadata.require_sound_copy()
    except MetadataValidationError as error:
        error.add_note(f"while the metadata were read {place._located}")
        error.add_note("use_consolidated=False opens the group; consolidate_metadata() makes new ones")
        raise
    if metadata.zarr_format == 3 and isinstance(use_consolidated, str):
        raise TypeError("use_consolidated: a key is for format 2 groups only; give True, False or None")
    if metadata.zarr_format != 3:
        name = use_consolidated if isinstance(use_consolidated, str) else ZMETADATA_V2_JSON
        prefix = key_prefix(place.path)
        keys = [prefix + item for item in (ZGROUP_JSON, ZATTRS_JSON, name)]
        zgroup, *others = get_many(place, keys)
        metadata = parse_v2_group(IMPLIED_ZGROUP if zgroup is None else zgroup, *others, prefix=prefix)
    if use_consolidated and metadata.consolidated_metadata is None:
        raise ValueError(f"no consolidated metadata found {place._located}")
    return metadata


def lookup(consolidated: ConsolidatedMetadata, path: str, zarr_format: int) -> Any | None:
    """Return the metadata of a node below the group, or None if there is none."""
    found = consolidated.metadata.get(path)
    if found is None:
        inside = consolidated.below(path)
        # A path that only deeper paths imply is a group.
        return GroupMetadata({}, zarr_format, inside) if inside.metadata else None
    if not isinstance(found, GroupMetadata) or found.consolidated_metadata is not None:
        return found
    return replace(found, consolidated_metadata=consolidated.below(path))


def comparing(place: StorePath) -> Any:
    """Return what is done where a node's own documents differ: "warn", "raise" or, if nobody looks, "off"."""
    action = config.get("metadata.check_consolidated", None)
    return action if action is not None else "warn" if place.store._is_near else "off"


def checked_lookup(consolidated: ConsolidatedMetadata, place: StorePath, path: str, zarr_format: int) -> Any:
    """Do the same as :func:`lookup`, compared with the node's own documents where that is required."""
    # Where they differ, the node's own are right: others may have changed it since the copy was made.  With
    # the setting ``metadata.check_consolidated="raise"`` that is a StaleMetadataError.
    found = lookup(consolidated, path, zarr_format)
    action = comparing(place)
    if action == "off":
        return found
    stored = read_node(place, zarr_format)
    if stored is None:
        return found  # without documents of its own, the copy is all there is
    if found is not None and bare(stored) == bare(found):
        return stored if is_array_metadata(stored) else found
    what = "it was added later" if found is None else difference(found, stored)
    message = f"consolidated metadata of {place} is stale ({what}): call consolidate_metadata() to refresh it"
    if action == "raise":
        raise StaleMetadataError(message)
    import warnings

    warnings.warn(f"{message}; the node's own documents are used", ZarrUserWarning, stacklevel=4)
    return stored


def difference(copy: Any, stored: Any) -> str:
    """Return the members in which two metadata documents differ."""
    ours, theirs = (bare(metadata).to_dict() for metadata in (copy, stored))
    names = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return ", ".join(names) or "in format"


def children(consolidated: ConsolidatedMetadata, zarr_format: int) -> Iterator[tuple[str, Any]]:
    """Names and metadata of the direct members, sorted by name."""
    # One that the copy describes in a way that cannot be used hides no other.
    for name in sorted(consolidated.children()):
        found: Any
        try:
            found = lookup(consolidated, name, zarr_format)
        except BaseZarrError as error:
            found = Unreadable(error)
        yield name, found


def bare(metadata: Any) -> Any:
    """Metadata of a node alone, without what a group knows about others."""
    return metadata.without_consolidated() if isinstance(metadata, GroupMetadata) else metadata
