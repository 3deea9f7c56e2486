"""Chunk grids, under the names of ``zarr.core.chunk_grids``."""

from __future__ import annotations

from zarrcore.arrays.indexers import ChunkGrid, ChunkSpec
from zarrcore.grids import RectilinearGrid, RegularGrid

__all__ = [
    "ChunkGrid",
    "ChunkSpec",
    "RectilinearChunkGrid",
    "RectilinearGrid",
    "RegularChunkGrid",
    "RegularGrid",
]

RegularChunkGrid = RegularGrid
RectilinearChunkGrid = RectilinearGrid
