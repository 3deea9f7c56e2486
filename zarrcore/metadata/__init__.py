"""Metadata documents: parse, validate, serialise.  Nothing here touches a store."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "common": "ArrayMetadata",
    "documents": (
        "ZARRAY_JSON ZARR_JSON ZATTRS_JSON ZGROUP_JSON ZMETADATA_V2_JSON dump_document load_document "
        "parse_attributes"
    ),
    "group": "ConsolidatedMetadata GroupMetadata",
    "parse": "parse_v2_array parse_v2_group parse_v3_node validate",
    "departures": "Departure",
    "v2": "ArrayV2Metadata",
    "v3": "ArrayV3Metadata",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
