"""Chunk grids: how an array is cut into chunks."""

from __future__ import annotations

from zarrcore.grids.base import ChunkGrid, parse_chunk_grid
from zarrcore.grids.rectilinear import RectilinearGrid
from zarrcore.grids.regular import RegularGrid

__all__ = ["ChunkGrid", "RectilinearGrid", "RegularGrid", "parse_chunk_grid"]
