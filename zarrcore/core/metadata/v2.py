"""Metadata documents of format 2, under the names of ``zarr.core.metadata.v2``."""

from __future__ import annotations

from zarrcore.metadata import ArrayV2Metadata

__all__ = ["ArrayV2Metadata"]
