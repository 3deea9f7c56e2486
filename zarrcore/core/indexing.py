"""Ways of indexing, under the names of ``zarr.core.indexing``."""

from __future__ import annotations

from zarrcore.arrays.async_array import AsyncOIndex, AsyncVIndex
from zarrcore.arrays.indexers import BasicIndexer, ChunkProjection, Indexer, OrthogonalIndexer
from zarrcore.typing import SelectionLike as BasicSelection
from zarrcore.typing import SelectionLike as OrthogonalSelection
from zarrcore.typing import SelectionLike as Selection

__all__ = [
    "AsyncOIndex",
    "AsyncVIndex",
    "BasicIndexer",
    "BasicSelection",
    "ChunkProjection",
    "Indexer",
    "OrthogonalIndexer",
    "OrthogonalSelection",
    "Selection",
]
