"""Chunk grids: how an array is cut into chunks."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "base": "ChunkGrid parse_chunk_grid",
    "bounded": "RegularBoundedGrid",
    "rectilinear": "RectangularGrid RectilinearGrid",
    "regular": "RegularGrid",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
