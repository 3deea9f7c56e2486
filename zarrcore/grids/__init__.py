"""Chunk grids: how an array is cut into chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._lazy import attach
from zarrcore.grids.base import ChunkGrid, parse_chunk_grid
from zarrcore.grids.regular import RegularGrid

if TYPE_CHECKING:
    from zarrcore.grids.rectilinear import RectilinearGrid

__all__ = ["ChunkGrid", "RectilinearGrid", "RegularGrid", "parse_chunk_grid"]

_load, __dir__ = attach(__name__, {"rectilinear": ("RectilinearGrid",)})

if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
