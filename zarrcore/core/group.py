"""Groups, under the names of ``zarr.core.group``."""

from __future__ import annotations

from zarrcore.groups.async_group import AsyncGroup
from zarrcore.groups.group import Group
from zarrcore.metadata import ConsolidatedMetadata, GroupMetadata

__all__ = ["AsyncGroup", "ConsolidatedMetadata", "Group", "GroupMetadata"]
