"""Metadata documents of format 3, under the names of ``zarr.core.metadata.v3``."""

from __future__ import annotations

from zarrcore.compat.common import parse_dimension_names, parse_shapelike
from zarrcore.grids import RectilinearGrid, RegularGrid
from zarrcore.metadata import ArrayV3Metadata

__all__ = [
    "ArrayV3Metadata",
    "RectilinearChunkGridMetadata",
    "RegularChunkGrid",
    "RegularChunkGridMetadata",
    "parse_dimension_names",
    "parse_shapelike",
]

RegularChunkGrid = RegularChunkGridMetadata = RegularGrid
RectilinearChunkGridMetadata = RectilinearGrid
