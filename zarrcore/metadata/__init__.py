"""Metadata documents: parse, validate, serialise.  Nothing here touches a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._lazy import attach

if TYPE_CHECKING:
    from zarrcore.metadata.common import ArrayMetadata
    from zarrcore.metadata.consolidated import ConsolidatedMetadata
    from zarrcore.metadata.documents import (
        ZARR_JSON,
        ZARRAY_JSON,
        ZATTRS_JSON,
        ZGROUP_JSON,
        ZMETADATA_V2_JSON,
        dump_document,
        load_document,
        parse_attributes,
    )
    from zarrcore.metadata.group import GroupMetadata
    from zarrcore.metadata.parse import parse_v2_array, parse_v2_group, parse_v3_node
    from zarrcore.metadata.v2 import ArrayV2Metadata
    from zarrcore.metadata.v3 import ArrayV3Metadata

__all__ = [
    "ZARRAY_JSON",
    "ZARR_JSON",
    "ZATTRS_JSON",
    "ZGROUP_JSON",
    "ZMETADATA_V2_JSON",
    "ArrayMetadata",
    "ArrayV2Metadata",
    "ArrayV3Metadata",
    "ConsolidatedMetadata",
    "GroupMetadata",
    "dump_document",
    "load_document",
    "parse_attributes",
    "parse_v2_array",
    "parse_v2_group",
    "parse_v3_node",
]

_load, __dir__ = attach(
    __name__,
    {
        "common": ("ArrayMetadata",),
        "consolidated": ("ConsolidatedMetadata",),
        "documents": (
            "ZARRAY_JSON",
            "ZARR_JSON",
            "ZATTRS_JSON",
            "ZGROUP_JSON",
            "ZMETADATA_V2_JSON",
            "dump_document",
            "load_document",
            "parse_attributes",
        ),
        "group": ("GroupMetadata",),
        "parse": ("parse_v2_array", "parse_v2_group", "parse_v3_node"),
        "v2": ("ArrayV2Metadata",),
        "v3": ("ArrayV3Metadata",),
    },
)

if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
