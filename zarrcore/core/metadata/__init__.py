"""Metadata documents of arrays, under the names of ``zarr.core.metadata``."""

from __future__ import annotations

from zarrcore.metadata import ArrayMetadata, ArrayV2Metadata, ArrayV3Metadata

__all__ = ["ArrayMetadata", "ArrayV2Metadata", "ArrayV3Metadata"]
