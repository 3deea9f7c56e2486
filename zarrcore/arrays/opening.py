"""Opening arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.errors import ArrayNotFoundError, NodeTypeValidationError
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import find_node

if TYPE_CHECKING:
    from zarrcore.arrays.array import Array
    from zarrcore.storage import StorePath

__all__ = ["open_array_at"]


def open_array_at(place: StorePath, zarr_format: int | None = None, *, config: Any = None) -> Array:
    """The array at a place.

    Raises
    ------
    ArrayNotFoundError
        If there is none.
    NodeTypeValidationError
        If there is a group.
    """
    from zarrcore.arrays.array import Array

    place, metadata = find_node(place, zarr_format)
    if metadata is None:
        raise ArrayNotFoundError(f"no array found in {place.store} at path {place.path!r}")
    if not is_array_metadata(metadata):
        raise NodeTypeValidationError(
            f"expected an array in {place.store} at path {place.path!r}, found a group"
        )
    return Array(metadata, place, config)
