"""Where places in stores really are, whatever store they are seen through."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrcore.storage import StorePath

__all__ = ["address", "overlap"]


def address(place: StorePath) -> str:
    """Where a place really is, as text that ends with a slash, whatever store it is seen through."""
    return f"{place.store._address(place.path)}/"


def overlap(one: StorePath, other: StorePath) -> bool:
    """Whether one of two places lies in the other, or both are the same."""
    first, second = address(one), address(other)
    return first.startswith(second) or second.startswith(first)
