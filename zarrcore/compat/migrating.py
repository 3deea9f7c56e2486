"""Metadata of format 3 for the chunks of format 2, under the name of ``zarr.metadata.migrate_v3``."""

from __future__ import annotations

from zarrcore.metadata.upgrade import upgraded as _convert_array_metadata

__all__ = ["_convert_array_metadata"]
