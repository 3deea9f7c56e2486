# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.grids.base import ChunkGrid, parse_chunk_grid
from zarrcore.grids.rectilinear import RectilinearGrid
from zarrcore.grids.regular import RegularGrid

__all__ = [
    "ChunkGrid",
    "RectilinearGrid",
    "RegularGrid",
    "parse_chunk_grid",
]
