"""Which documents make up a node in each Zarr format, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrcore.errors import NodeTypeValidationError
from zarrcore.metadata import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    load_document,
    parse_v2_array,
    parse_v2_group,
    parse_v3_node,
)
from zarrcore.storage.validation import key_prefix

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from zarrcore.metadata import ArrayMetadata, GroupMetadata

    Metadata = ArrayMetadata | GroupMetadata
else:
    Metadata = Any  # each kind is loaded where there is one

IMPLIED_ZGROUP = b'{"zarr_format": 2}'
"""The document of a group of format 2; a group that only nodes below it imply has none."""

NAMES: dict[int, tuple[str, ...]] = {
    3: (ZARR_JSON,),
    2: (ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON),
    1: ("meta", "attrs"),
}
"""Names of the documents of a node, by Zarr format; first the one that an array has."""

DECIDING = (ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON, "meta")
"""Names of those documents without which there is no node."""

ALL_NAMES = frozenset((ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON, ZMETADATA_V2_JSON))
"""Names in a listing that are documents of the listed node itself."""


def parse(zarr_format: int, values: Mapping[str, Any], *, path: str) -> ArrayMetadata | GroupMetadata | None:
    """Return the metadata in the documents of one node, by name, or None if they make no node."""
    prefix = key_prefix(path)
    if zarr_format == 3:
        return parse_v3_node(values[ZARR_JSON], where=prefix + ZARR_JSON) if ZARR_JSON in values else None
    if zarr_format == 2:
        attributes = values.get(ZATTRS_JSON)
        if ZARRAY_JSON in values:
            return parse_v2_array(values[ZARRAY_JSON], attributes, prefix=prefix)
        if ZGROUP_JSON in values:
            return parse_v2_group(values[ZGROUP_JSON], attributes, prefix=prefix)
        return None
    if "meta" not in values:
        return None
    from zarrcore.metadata.parse import parse_zattrs
    from zarrcore.metadata.v1 import ArrayV1Metadata

    attributes = parse_zattrs(values["attrs"], prefix + "attrs") if "attrs" in values else {}
    document = {**load_document(values["meta"], where=prefix + "meta"), "attributes": attributes}
    return ArrayV1Metadata.from_dict(document, where=prefix + "meta")


def array_metadata_from_dict(data: dict[str, Any], path: str) -> ArrayMetadata:
    """Array metadata from one JSON object of either format, format 2 attributes included."""
    from zarrcore.metadata import ArrayV2Metadata, ArrayV3Metadata, GroupMetadata

    if data.get("zarr_format") == 2:
        kind: Any = ArrayV2Metadata if "shape" in data else GroupMetadata
    else:
        kind = GroupMetadata if data.get("node_type") == "group" else ArrayV3Metadata
    metadata: Metadata = kind.from_dict(data, where=path or None)
    if not is_array_metadata(metadata):
        raise NodeTypeValidationError(
            f"expected the metadata of an array, got that of a {metadata.node_type}"
        )
    return metadata


def is_array_metadata(metadata: Metadata) -> TypeIs[ArrayMetadata]:
    """True for the metadata of an array, False for that of a group."""
    return metadata.node_type == "array"
