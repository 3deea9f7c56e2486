# SPDX-License-Identifier: MIT
"""Whether a chunk contains nothing but the fill value, so that it need not be stored."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_all_fill(chunk: np.ndarray, fill: np.ndarray) -> bool:
    """Return whether every element has the bits of `fill`, an array without dimensions.

    NaN equals NaN, and -0.0 is not 0.0.
    """
    wanted = fill[()]
    if chunk.size == 0:
        return True
    if chunk.dtype.kind == "O":
        return all(item is wanted or _same(item, wanted) for item in chunk.ravel())
    if chunk.dtype.kind in "UT":  # U: on the way into an array of strings of any length
        # Two str first, for a comparison with an array would make one of fixed length of the str.
        item = wanted if chunk.dtype.kind == "U" else fill
        return bool(chunk[(0,) * chunk.ndim] == wanted and np.all(chunk == item))
    from zarrcore._core import kernels

    return kernels.equals_fill(chunk, fill)


def _same(item: Any, wanted: Any) -> bool:
    """Return whether two Python objects are equal, safe for arrays and values of other types."""
    if type(item) is not type(wanted):
        return False
    if isinstance(item, np.ndarray):
        return item.dtype == wanted.dtype and np.array_equal(item, wanted)
    return bool(item == wanted)
