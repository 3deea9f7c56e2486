"""Divide an array among writers that do not know of each other: regions that share no stored chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrcore import indexing
from zarrcore.errors import RegionOverlapError
from zarrcore.metadata import layout

if TYPE_CHECKING:
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.engine.projection import Axis

Unit = Literal["chunk", "shard"]


def axes_of_unit(array: OpenArray, unit: Unit) -> tuple[Axis, ...]:
    """Return the axes of the grid of inner chunks, or of what is stored under one key."""
    from zarrcore.engine.projection import axes_of

    if unit not in ("chunk", "shard"):
        raise ValueError(f"unit: expected 'chunk' or 'shard', got {unit!r}")
    array.follow()
    inner = layout.inner_chunks(array.metadata) if unit == "chunk" else None
    return axes_of(array.shape, inner or layout.grid_edges(array.metadata))


def iter_regions(axes: tuple[Axis, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield the part of the array in each chunk of a grid, with no more of the grid in memory."""
    if not axes:
        yield ()
        return
    first, *rest = axes
    for k in range(first.nchunks):
        for others in iter_regions(tuple(rest)):
            yield (_part(first, k), *others)


def _part(axis: Axis, k: int) -> slice:
    return slice(axis.offset(k), axis.offset(k) + axis.valid_length(k))


def check_regions(array: OpenArray, regions: Iterable[Any]) -> None:
    """Refuse regions that share a stored chunk; see :meth:`zarrcore.Array.check_regions`."""
    regions, axes = list(regions), axes_of_unit(array, "shard")
    shape = array.shape
    boxes = np.empty((len(regions), 2, len(axes)), np.int64)
    for box, region in zip(boxes, regions, strict=True):
        dims = indexing.basic_selection(region, shape).dims
        for d, (axis, (start, step, count)) in enumerate(zip(axes, dims, strict=True)):
            ends = sorted((start, start + step * (count - 1)))
            box[:, d] = (axis.chunk_of(ends[0]), axis.chunk_of(ends[1])) if count else (0, -1)
    # What selects nothing is in nobody's way.
    kept = np.flatnonzero((boxes[:, 0] <= boxes[:, 1]).all(axis=1))
    found = _overlap(boxes[kept])
    if found is not None:
        one, other = (int(kept[i]) for i in sorted(found))
        shared = np.maximum(boxes[one, 0], boxes[other, 0])
        raise RegionOverlapError(_message(array, axes, regions, (one, other), tuple(shared.tolist())))


def _overlap(boxes: np.ndarray) -> tuple[int, int] | None:
    """Return two boxes that have a chunk in common, or None."""
    if boxes.shape[2] == 0 and len(boxes) > 1:
        return 0, 1
    labels = _clusters(boxes)
    order = np.argsort(labels, kind="stable")
    for cluster in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        for k, i in enumerate(cluster[:-1]):
            others = cluster[k + 1 :]
            meets = ((boxes[others, 0] <= boxes[i, 1]) & (boxes[others, 1] >= boxes[i, 0])).all(axis=1)
            if meets.any():
                return int(i), int(others[meets.argmax()])
    return None


def _clusters(boxes: np.ndarray) -> np.ndarray:
    """Return a number for each box: boxes of different numbers have no chunk in common.

    Boxes are parted along one dimension after the other, where one ends before all others begin, as long as
    that parts any.  Those of a grid end up alone.
    """
    labels, count = np.zeros(len(boxes), np.int64), 0
    beyond = boxes.max(initial=0) + 1
    while len(boxes) and count <= labels.max():
        count = int(labels.max()) + 1
        for begin, end in zip(boxes[:, 0].T, boxes[:, 1].T, strict=True):
            order = np.lexsort((begin, labels))
            farthest = np.maximum.accumulate((labels * beyond + end)[order])
            starts_one = (labels * beyond + begin)[order][1:] > farthest[:-1]
            labels[order[1:]] = np.cumsum(starts_one)
            labels[order[0]] = 0
    return labels


def _message(
    array: OpenArray,
    axes: tuple[Axis, ...],
    regions: list[Any],
    pair: tuple[int, int],
    coords: tuple[int, ...],
) -> str:
    kind = "chunk" if array.metadata.sharding_codec is None else "shard"
    one, other = (f"{i} ({_text(regions[i])})" for i in pair)
    part = tuple(_part(axis, k) for axis, k in zip(axes, coords, strict=True))
    return (
        f"array {array.path or '/'!r}: regions {one} and {other} both write to {kind} {coords}, "
        f"the elements {_text(part)}: writers that do not know of each other would lose values; give "
        f"each {kind} to one of them, as iter_regions('shard') does"
    )


def _text(region: Any) -> str:
    items = region if isinstance(region, tuple) else (region,)
    return ", ".join(
        f"{'' if item.start is None else item.start}:{'' if item.stop is None else item.stop}"
        + ("" if item.step in (None, 1) else f":{item.step}")
        if isinstance(item, slice)
        else "..."
        if item is ...
        else str(item)
        for item in items
    )
