"""Stored values -> metadata of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.metadata.departures import ATTRIBUTES_V2, Departure, report
from zarrcore.metadata.documents import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    load_document,
)
from zarrcore.metadata.sections import load_group_document
from zarrcore.metadata.texts import of_text

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from zarrcore.metadata.group import GroupMetadata
    from zarrcore.metadata.v2 import ArrayV2Metadata
    from zarrcore.metadata.v3 import ArrayV3Metadata


def parse_v3_node(data: Buffer, *, where: str = ZARR_JSON) -> ArrayV3Metadata | GroupMetadata:
    """Parse a ``zarr.json`` document, of an array or a group.

    Parameters
    ----------
    data : bytes-like
        The stored value.
    where : str
        Its store key, for messages.
    """
    text = bytes(data)
    known = of_text(text)
    if known is not None:
        return known  # type: ignore[no-any-return]
    document = load_group_document(text, where=where)
    if document.get("node_type") == "group":
        from zarrcore.metadata.group import GroupMetadata

        return GroupMetadata.from_document(document, where=where)
    from zarrcore.metadata.v3 import ArrayV3Metadata

    return ArrayV3Metadata.from_document(document, where=where, text=text)


def parse_v2_array(zarray: Buffer, zattrs: Buffer | None = None, *, prefix: str = "") -> ArrayV2Metadata:
    """Parse the documents of a format 2 array.

    Parameters
    ----------
    zarray, zattrs : bytes-like
        The stored values; None for attributes that are not stored.
    prefix : str
        Key prefix of the array, for messages: ``"foo/bar/"``.
    """
    from zarrcore.metadata.v2 import ArrayV2Metadata

    where = prefix + ZARRAY_JSON
    document = _with_attributes(load_document(zarray, where=where), zattrs, prefix)
    return ArrayV2Metadata.from_document(document, where=where)


def parse_v2_group(
    zgroup: Buffer, zattrs: Buffer | None = None, zmetadata: Buffer | None = None, *, prefix: str = ""
) -> GroupMetadata:
    """Parse the documents of a format 2 group.

    Parameters
    ----------
    zgroup, zattrs, zmetadata : bytes-like
        The stored values; None for documents that are not stored or not wanted.
    prefix : str
        Key prefix of the group, for messages: ``"foo/bar/"``.
    """
    from zarrcore.metadata.group import GroupMetadata, parse_node_below

    document = _with_attributes(load_document(zgroup, where=prefix + ZGROUP_JSON), zattrs, prefix)
    group = GroupMetadata.from_document(
        {**document, "zarr_format": _format_2(document)}, where=prefix + ZGROUP_JSON
    )
    if zmetadata is None:
        return group
    from zarrcore.metadata.consolidated import ConsolidatedMetadata

    key = prefix + ZMETADATA_V2_JSON
    members = load_document(zmetadata, where=key)
    consolidated = ConsolidatedMetadata.from_zmetadata(members, parse_node_below, where=key)
    return GroupMetadata(group.attributes, 2, consolidated, group.extra_fields)


def _with_attributes(document: dict[str, Any], zattrs: Buffer | None, prefix: str) -> dict[str, Any]:
    return {**document, "attributes": {} if zattrs is None else parse_zattrs(zattrs, prefix + ZATTRS_JSON)}


def parse_zattrs(zattrs: Buffer, where: str) -> dict[str, Any]:
    """Return the attributes in a ``.zattrs`` document; writers left it empty, or null in it, for none."""
    text = bytes(zattrs).strip()
    if text in (b"", b"null"):
        found = "null is" if text else "an empty document is"
        report([Departure("", f"{found} read as no attributes", ATTRIBUTES_V2)], where)
        return {}
    return load_document(zattrs, where=where)


def _format_2(document: dict[str, Any]) -> Any:
    """Return the ``zarr_format`` of a ``.zgroup`` document; a 3 there is as wrong as any other number."""
    found = document.get("zarr_format")
    return None if found == 3 else found
