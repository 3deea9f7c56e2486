# SPDX-License-Identifier: MIT
"""Large reads and writes in steps, between which progress is shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from zarrcore.engine.projection import Axis
from zarrcore.indexing import Dim

STEP_BYTES = 32 << 20
"""Values of a step, unless one row of chunks has more."""


def steps(
    axes: Sequence[Axis], dims: tuple[Dim, ...], itemsize: int
) -> Iterator[tuple[tuple[Dim, ...], Any]]:
    """Divide a selection along one dimension, at the ends of chunks: none is read or written twice.

    Yields the dimensions of each part, and where it is in the block of the selection.  The dimension is the
    one with the most chunks of those that are progressions.

    Examples
    --------
    >>> from zarrcore.engine.projection import axes_of
    >>> [index for _, index in steps(axes_of((10,), (4,)), ((1, 2, 5),), itemsize=1 << 30)]
    [(slice(0, 2, None),), (slice(2, 4, None),), (slice(4, 5, None),)]
    """
    counts = [dim[2] if isinstance(dim, tuple) else len(dim) for dim in dims]
    cuts: list[list[int]] = [
        _cuts(axis, *dim) if isinstance(dim, tuple) and dim[2] > 0 else []
        for axis, dim in zip(axes, dims, strict=True)
    ]
    k = max(range(len(dims)), key=lambda d: len(cuts[d]), default=None)
    if k is None or not cuts[k]:
        yield dims, (...,)
        return
    wanted = max(1, STEP_BYTES * counts[k] // max(1, math.prod(counts) * itemsize))
    ends = [0]
    for cut in cuts[k]:
        if cut - ends[-1] >= wanted:
            ends.append(cut)
    start, step, _ = dims[k]
    for begin, end in pairwise([*ends, counts[k]]):
        part: Any = (start + begin * step, step, end - begin)
        yield (*dims[:k], part, *dims[k + 1 :]), (*[slice(None)] * k, slice(begin, end))


def _cuts(axis: Axis, start: int, step: int, count: int) -> list[int]:
    """Return at which items of a progression another chunk begins."""
    last = start + (count - 1) * step
    chunks = range(axis.chunk_of(min(start, last)) + 1, axis.chunk_of(max(start, last)) + 1)
    if step > 0:
        found = {-((start - axis.offset(chunk)) // step) for chunk in chunks}
    else:
        found = {(start - axis.offset(chunk)) // -step + 1 for chunk in chunks}
    return sorted(cut for cut in found if 0 < cut < count)
