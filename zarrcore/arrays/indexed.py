"""Read what indexers yield, those of packages too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.arrays.batches import read_many
from zarrcore.engine.projection import axes_of
from zarrcore.indexing import is_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zarrcore.arrays.indexers import Indexer
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.engine.projection import Axis


def read_by(array: OpenArray, indexer: Indexer, out: np.ndarray | None) -> Any:
    """Read the parts of chunks that an indexer yields into `out` or a new array."""
    array.follow()
    if out is None:
        out = np.zeros(indexer.shape, array.dtype)  # what no part covers shows no old memory
    elif out.shape != indexer.shape:
        raise ValueError(f"out: expected the shape of the selection, {indexer.shape}, got {out.shape}")
    axes = axes_of(array.shape, array.metadata.chunk_grid.native())
    requests, places = [], []
    for coords, inside, outside, _ in indexer:
        boxes = [] if indexer.drop_axes else [*map(_box, inside, coords, axes)]
        is_box = len(boxes) == len(axes) and None not in boxes
        if is_box and all(isinstance(place, slice) for place in outside):
            requests.append((array, tuple(boxes)))
            places.append(out[(*outside, ...)])
        else:  # by arrays of indices, which belong together in one way or another
            taken = _chunk(array, coords, axes)[inside]
            out[outside] = taken.squeeze(indexer.drop_axes) if indexer.drop_axes else taken
    read_many(requests, out=places)
    return out[()]


def _box(selector: Any, k: int, axis: Axis) -> int | slice | None:
    """Return an integer or a slice of a chunk as one of the array; None for what is neither."""
    begin = axis.offset(k)
    if isinstance(selector, slice):
        start, stop, step = selector.indices(axis.valid_length(k))
        return slice(begin + start, begin + stop, step) if step > 0 else None
    return begin + int(selector) if is_integer(selector) else None


def _chunk(array: OpenArray, coords: Sequence[int], axes: Sequence[Axis]) -> np.ndarray:
    """Read the part of a chunk that is within the array."""
    begins = [axis.offset(k) for k, axis in zip(coords, axes, strict=True)]
    lengths = [axis.valid_length(k) for k, axis in zip(coords, axes, strict=True)]
    box = tuple([slice(begin, begin + n) for begin, n in zip(begins, lengths, strict=True)])
    (found,) = read_many([(array, box)])
    return found  # type: ignore[no-any-return]
