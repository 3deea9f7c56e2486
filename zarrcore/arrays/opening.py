"""Opening arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.arrays.opened import OpenArray
from zarrcore.nodes.open import open_array_node

if TYPE_CHECKING:
    from zarrcore.storage import StorePath

__all__ = ["open_array_at"]


def open_array_at(place: StorePath, zarr_format: int | None = None, *, config: Any = None) -> OpenArray:
    """Open the array at a place; the errors are those of :func:`zarrcore.nodes.open.open_array_node`."""
    place, metadata = open_array_node(place, zarr_format)
    return OpenArray(metadata, place, config)
