# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.grids.base import ChunkGrid as ChunkGrid, parse_chunk_grid as parse_chunk_grid
from zarrcore.grids.bounded import RegularBoundedGrid as RegularBoundedGrid
from zarrcore.grids.rectilinear import RectangularGrid as RectangularGrid, RectilinearGrid as RectilinearGrid
from zarrcore.grids.regular import RegularGrid as RegularGrid

__all__: list[str]
