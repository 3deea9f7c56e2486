"""Where places in stores really are, and how messages name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrcore.storage import StorePath


def address(place: StorePath) -> str:
    """Return where a place really is, as text that ends with a slash, seen through any store."""
    return f"{place.store._address(place.path)}/"


def overlap(one: StorePath, other: StorePath) -> bool:
    """Return whether one of two places lies in the other, or both are the same."""
    first, second = address(one), address(other)
    return first.startswith(second) or second.startswith(first)


def above(place: StorePath) -> list[StorePath]:
    """Return the places above, from the root down."""
    found: list[StorePath] = []
    while place.path:
        place = place.parent
        found.append(place)
    return found[::-1]


def located(place: StorePath) -> str:
    """Return where a place is, for messages: ``in file:///data at path 'a/b'``."""
    return f"in {place.store} at path {place.path!r}" if place.path else f"at the root of {place.store}"
