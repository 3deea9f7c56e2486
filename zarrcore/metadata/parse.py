"""Stored values -> metadata of nodes, and what in these values departs from the specification."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zarrcore._typing import Buffer
from zarrcore.metadata import known
from zarrcore.metadata.departures import ATTRIBUTES_V2, Departure, collected, report
from zarrcore.metadata.documents import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    load_document,
    stored_bytes,
)
from zarrcore.metadata.sections import load_group_document

if TYPE_CHECKING:
    from zarrcore.metadata.group import ConsolidatedMetadata, GroupMetadata
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

    Examples
    --------
    >>> group = b'{"zarr_format": 3, "node_type": "group", "attributes": {"title": "waves"}}'
    >>> parse_v3_node(group).attributes
    {'title': 'waves'}
    """
    text = stored_bytes(data, where=where)
    found = known.of_text(text)
    if found is not None:
        return found  # type: ignore[no-any-return]
    document = load_group_document(text, where=where)
    if document.get("node_type") == "group":
        from zarrcore.metadata.group import GroupMetadata

        return GroupMetadata.from_document(document, where=where, text=text)
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

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.zeros(4, store=store, zarr_format=2, dtype="u1")
    >>> parse_v2_array(store[".zarray"]).shape
    (4,)
    """
    from zarrcore.metadata.v2 import ArrayV2Metadata

    where = prefix + ZARRAY_JSON
    texts = [b".zarray", stored_bytes(zarray, where=where)]
    if zattrs is not None:
        texts.append(stored_bytes(zattrs, where=prefix + ZATTRS_JSON))
    text = b"\0".join(texts)  # no document has a zero byte
    found = known.of_text(text)
    if found is not None:
        return found  # type: ignore[no-any-return]
    document = _with_attributes(load_document(zarray, where=where), zattrs, prefix)
    departs = zattrs is not None and not texts[-1].strip().startswith(b"{")
    return ArrayV2Metadata.from_document(document, where=where, text=None if departs else text)


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

    Examples
    --------
    >>> parse_v2_group(b'{"zarr_format": 2}', b'{"title": "waves"}').attributes
    {'title': 'waves'}
    """
    from zarrcore.metadata.group import ConsolidatedMetadata, GroupMetadata

    where = prefix + ZGROUP_JSON
    document = _with_attributes(load_document(zgroup, where=where), zattrs, prefix)
    if document.get("zarr_format") == 3:  # as wrong here as any other number
        del document["zarr_format"]
    group = GroupMetadata.from_document(document, where=where)
    if zmetadata is None:
        return group
    key = prefix + ZMETADATA_V2_JSON
    consolidated = ConsolidatedMetadata.from_zmetadata(load_document(zmetadata, where=key), where=key)
    return GroupMetadata(group.attributes, 2, consolidated, group.extra_fields)


def _with_attributes(document: dict[str, Any], zattrs: Buffer | None, prefix: str) -> dict[str, Any]:
    return {**document, "attributes": {} if zattrs is None else parse_zattrs(zattrs, prefix + ZATTRS_JSON)}


def parse_zattrs(zattrs: Buffer, where: str) -> dict[str, Any]:
    """Return the attributes in a ``.zattrs`` document; writers left it empty, or null in it, for none."""
    text = stored_bytes(zattrs, where=where).strip()
    if text in (b"", b"null"):
        found = "null is" if text else "an empty document is"
        report([Departure("", f"{found} read as no attributes", ATTRIBUTES_V2)], where)
        return {}
    return load_document(zattrs, where=where)


def validate(data: Buffer, *, key: str = ZARR_JSON) -> list[Departure]:
    """List where a stored metadata document departs from the letter of the specification.

    Parameters
    ----------
    data : bytes-like
        The document as it is stored.
    key : str
        Its store key, whose last part determines what it is: ``"zarr.json"``, ``".zarray"``, ``".zgroup"``,
        ``".zattrs"`` or ``".zmetadata"``.

    Returns
    -------
    list of Departure
        Empty if the document is to the letter.  Of consolidated metadata, those of all nodes.

    Raises
    ------
    MetadataValidationError
        If the document cannot be read at all, or `key` is that of another one.

    Examples
    --------
    >>> document = b'{"zarr_format": 3, "node_type": "group", "attributes": null}'
    >>> [departure.where for departure in validate(document)]
    ['attributes']
    """
    try:
        memoryview(data)
    except TypeError:
        raise TypeError(f"data: expected the document as it is stored, in bytes, got {data!r}") from None
    read = _READERS.get(key.rpartition("/")[2])
    if read is None:
        raise ValueError(f"key: expected that of a metadata document, got {key!r}")
    with collected() as departures:
        read(data, key)
    return departures


def _read_zmetadata(data: Buffer, key: str) -> None:
    from zarrcore.metadata.group import ConsolidatedMetadata

    _read_nodes(ConsolidatedMetadata.from_zmetadata(load_document(data, where=key), where=key))


def _read_nodes(consolidated: ConsolidatedMetadata | None) -> None:
    """Parse the metadata of every node that is described."""
    for path in consolidated.metadata if consolidated else ():
        _ = consolidated.metadata[path]  # type: ignore[union-attr]


_READERS: dict[str, Callable[[Any, str], object]] = {
    ZARR_JSON: lambda data, key: _read_nodes(
        getattr(parse_v3_node(data, where=key), "consolidated_metadata", None)
    ),
    ZARRAY_JSON: lambda data, key: parse_v2_array(data, prefix=key.removesuffix(ZARRAY_JSON)),
    ZGROUP_JSON: lambda data, key: parse_v2_group(data, prefix=key.removesuffix(ZGROUP_JSON)),
    ZATTRS_JSON: parse_zattrs,
    ZMETADATA_V2_JSON: _read_zmetadata,
}
