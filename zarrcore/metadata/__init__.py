"""Metadata documents: parse, validate, serialise.  Nothing here touches a store."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "common": "ArrayMetadata",
    "consolidated": "ConsolidatedMetadata",
    "documents": (
        "ZARRAY_JSON ZARR_JSON ZATTRS_JSON ZGROUP_JSON ZMETADATA_V2_JSON dump_document load_document "
        "parse_attributes"
    ),
    "group": "GroupMetadata",
    "parse": "parse_v2_array parse_v2_group parse_v3_node",
    "departures": "Departure",
    "v2": "ArrayV2Metadata",
    "v3": "ArrayV3Metadata",
    "validation": "validate",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
