"""What departs from the specification in a stored document, without opening any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.metadata.departures import Departure, collected
from zarrcore.metadata.documents import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    load_document,
)
from zarrcore.metadata.parse import parse_v2_array, parse_v2_group, parse_v3_node, parse_zattrs

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from zarrcore.metadata.consolidated import ConsolidatedMetadata


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


def _read_v3(data: Buffer, key: str) -> None:
    _read_nodes(getattr(parse_v3_node(data, where=key), "consolidated_metadata", None))


def _read_zmetadata(data: Buffer, key: str) -> None:
    from zarrcore.metadata.consolidated import ConsolidatedMetadata
    from zarrcore.metadata.group import parse_node_below

    members = load_document(data, where=key)
    _read_nodes(ConsolidatedMetadata.from_zmetadata(members, parse_node_below, where=key))


def _read_nodes(consolidated: ConsolidatedMetadata | None) -> None:
    """Parse the metadata of every node that is described."""
    for path in consolidated.metadata if consolidated else ():
        _ = consolidated.metadata[path]  # type: ignore[union-attr]


_READERS: dict[str, Callable[[Any, str], object]] = {
    ZARR_JSON: _read_v3,
    ZARRAY_JSON: lambda data, key: parse_v2_array(data, prefix=key.removesuffix(ZARRAY_JSON)),
    ZGROUP_JSON: lambda data, key: parse_v2_group(data, prefix=key.removesuffix(ZGROUP_JSON)),
    ZATTRS_JSON: parse_zattrs,
    ZMETADATA_V2_JSON: _read_zmetadata,
}
