"""Regions in which values are carried from the chunks of one array to those of another.

A region is made of whole chunks of the target, so that each of these is encoded once, and of as many as cover
whole chunks of the source, so that each of those is decoded once, as far as the memory allows that is given.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zarrcore.engine.projection import Axis

    Box = Sequence[tuple[int, int]]


class RegionGrid:
    """The regions of one copy from `source` to `target`, chunk grids of the same shape.

    A region has at most `limit` elements, unless a single chunk of the target is larger.

    Examples
    --------
    >>> from zarrcore.engine.projection import axes_of
    >>> grid = RegionGrid(axes_of((8, 8), (8, 1)), axes_of((8, 8), (1, 8)), limit=40)
    >>> [region[1] for region in grid]
    [slice(0, 5, None), slice(5, 8, None)]
    """

    def __init__(self, target: Sequence[Axis], source: Sequence[Axis], limit: int) -> None:
        self._axes = target
        self._counts = _group_sizes(target, source, limit)
        self._shape = [-(-axis.nchunks // count) for axis, count in zip(target, self._counts, strict=True)]

    def __iter__(self) -> Iterator[tuple[slice, ...]]:
        """Return all regions, in the order of the grid."""
        return map(self._region, product(*map(range, self._shape)))

    def touching(self, boxes: Iterable[Box]) -> Iterator[tuple[slice, ...]]:
        """Return the regions that overlap any of some boxes, given by (start, stop) for each dimension."""
        found = {coords for box in boxes for coords in product(*self._reached(box))}
        return map(self._region, sorted(found))

    def _reached(self, box: Box) -> Iterator[range]:
        for (start, stop), axis, count in zip(box, self._axes, self._counts, strict=True):
            yield range(axis.chunk_of(start) // count, axis.chunk_of(stop - 1) // count + 1)

    def _region(self, coords: Sequence[int]) -> tuple[slice, ...]:
        return tuple(
            slice(axis.offset(coord * count), _end(axis, min((coord + 1) * count, axis.nchunks)))
            for coord, axis, count in zip(coords, self._axes, self._counts, strict=True)
        )


def _end(axis: Axis, chunk: int) -> int:
    """Return where the chunks before `chunk` end."""
    return axis.offset(chunk - 1) + axis.valid_length(chunk - 1)


def _group_sizes(target: Sequence[Axis], source: Sequence[Axis], limit: int) -> list[int]:
    """Return the number of chunks of the target in a region along each dimension."""
    lengths = [_longest(axis) for axis in target]
    counts = [1] * len(lengths)

    def grow(dim: int, multiple: int) -> bool:
        """Take `multiple` times as many chunks along a dimension, if there are and memory allows."""
        grown = math.prod(n * count for n, count in zip(lengths, counts, strict=True)) * multiple
        if grown > limit:
            return False
        counts[dim] = min(counts[dim] * multiple, target[dim].nchunks)
        return True

    wanted = [_longest(axis) for axis in source]
    # What costs least comes first: whole chunks of the source, or at least the length of one.
    by_factor = sorted(range(len(lengths)), key=lambda dim: wanted[dim] / max(1, lengths[dim]))
    for dim in by_factor:
        if wanted[dim] and lengths[dim]:
            exact = math.lcm(wanted[dim], lengths[dim]) // lengths[dim]
            covering = -(-wanted[dim] // lengths[dim])
            if not grow(dim, min(exact, target[dim].nchunks)) and not grow(dim, covering):
                room = limit // max(1, math.prod(n * c for n, c in zip(lengths, counts, strict=True)))
                grow(dim, max(1, room))
    for dim in reversed(range(len(lengths))):
        size = max(1, math.prod(n * count for n, count in zip(lengths, counts, strict=True)))
        grow(dim, max(1, min(limit // size, -(-target[dim].nchunks // max(1, counts[dim])))))
    return [max(1, count) for count in counts]


def _longest(axis: Axis) -> int:
    """Length of the longest chunk of a dimension, as far as it lies within the array."""
    if axis.size is not None:
        return min(axis.size, axis.length)
    return max((axis.valid_length(chunk) for chunk in range(axis.nchunks)), default=0)
