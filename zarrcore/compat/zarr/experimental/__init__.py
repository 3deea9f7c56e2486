"""What ``zarr.experimental`` is while zarrcore is in zarr-python's place."""

from zarrcore.experimental import ChunkGrid, ChunkSpec

__all__ = ["ChunkGrid", "ChunkSpec"]
