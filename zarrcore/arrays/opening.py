"""Opening arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.errors import ArrayNotFoundError, NotAnArrayError
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import find_node
from zarrcore.nodes.places import located

if TYPE_CHECKING:
    from zarrcore.arrays.array import Array
    from zarrcore.storage import StorePath

__all__ = ["open_array_at"]


def open_array_at(place: StorePath, zarr_format: int | None = None, *, config: Any = None) -> Array:
    """Return the array at a place.

    Raises
    ------
    ArrayNotFoundError
        If there is none.
    NotAnArrayError
        If there is a group.
    """
    from zarrcore.arrays.array import Array

    place, metadata = find_node(place, zarr_format, implied=False)
    if metadata is None:
        raise ArrayNotFoundError(f"no array found {located(place)}")
    if not is_array_metadata(metadata):
        raise NotAnArrayError(f"expected an array {located(place)}, found a group")
    return Array(metadata, place, config)
