# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.consolidated import ConsolidatedMetadata
from zarrcore.metadata.departures import Departure
from zarrcore.metadata.documents import (
    ZARRAY_JSON,
    ZARR_JSON,
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
from zarrcore.metadata.validation import validate

__all__ = [
    "ArrayMetadata",
    "ArrayV2Metadata",
    "ArrayV3Metadata",
    "ConsolidatedMetadata",
    "Departure",
    "GroupMetadata",
    "ZARRAY_JSON",
    "ZARR_JSON",
    "ZATTRS_JSON",
    "ZGROUP_JSON",
    "ZMETADATA_V2_JSON",
    "dump_document",
    "load_document",
    "parse_attributes",
    "parse_v2_array",
    "parse_v2_group",
    "parse_v3_node",
    "validate",
]
