"""Functions that open a node, under the names of ``zarr.core.sync_group``."""

from __future__ import annotations

from zarrcore.compat.places import get_node

__all__ = ["get_node"]
