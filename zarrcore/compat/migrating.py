"""From format 2 to 3, under the names of ``zarr.metadata.migrate_v3``."""

from __future__ import annotations

from zarrcore.metadata.upgrade import upgraded as _convert_array_metadata
from zarrcore.migration import migrate_v2_to_v3, remove_metadata

__all__ = ["_convert_array_metadata", "migrate_v2_to_v3", "remove_metadata"]
