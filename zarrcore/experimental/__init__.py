"""What zarr-python calls experimental, under its names."""

from zarrcore.arrays.indexers import ChunkGrid, ChunkSpec

__all__ = ["ChunkGrid", "ChunkSpec"]
