# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.metadata.common import ArrayMetadata as ArrayMetadata
from zarrcore.metadata.departures import Departure as Departure
from zarrcore.metadata.documents import (
    ZARRAY_JSON as ZARRAY_JSON, ZARR_JSON as ZARR_JSON, ZATTRS_JSON as ZATTRS_JSON,
    ZGROUP_JSON as ZGROUP_JSON, ZMETADATA_V2_JSON as ZMETADATA_V2_JSON, dump_document as dump_document,
    load_document as load_document, parse_attributes as parse_attributes,
)
from zarrcore.metadata.group import (
    ConsolidatedMetadata as ConsolidatedMetadata, GroupMetadata as GroupMetadata,
)
from zarrcore.metadata.parse import (
    parse_v2_array as parse_v2_array, parse_v2_group as parse_v2_group, parse_v3_node as parse_v3_node,
    validate as validate,
)
from zarrcore.metadata.v2 import ArrayV2Metadata as ArrayV2Metadata
from zarrcore.metadata.v3 import ArrayV3Metadata as ArrayV3Metadata

__all__: list[str]
