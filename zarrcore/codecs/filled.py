# SPDX-License-Identifier: MIT
"""Whether a chunk contains nothing but the fill value, so that it need not be stored."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_all_fill(chunk: np.ndarray, fill: np.ndarray) -> bool:
    """Return whether every element has the bits of the fill value (NaN equals NaN, and -0.0 is not 0.0).

    Parameters
    ----------
    chunk : ndarray
        The elements.
    fill : ndarray
        The fill value, in an array without dimensions.
    """
    if chunk.size == 0:
        return True
    if chunk.dtype.kind == "O":
        wanted = fill[()]
        return all(
            type(item) is type(wanted) and item is wanted or _same(item, wanted) for item in chunk.flat
        )
    if chunk.dtype.kind == "U":  # on the way into an array of strings of any length
        wanted = fill[()]
        return bool(chunk.flat[0] == wanted and np.all(chunk == wanted))
    if chunk.dtype.kind == "T":
        # Two str, for a comparison with an array would make one of fixed length of the str first.
        return bool(chunk.reshape(-1)[0] == fill[()] and np.all(chunk == fill))
    items = np.ascontiguousarray(chunk).reshape(-1)
    width = chunk.dtype.itemsize
    if width == 0:
        return True
    word = f"u{width}" if width in (1, 2, 4, 8) else None
    if word:
        return bool(np.all(items.view(word) == np.frombuffer(fill.tobytes(), dtype=word)[0]))
    return bool(np.all(items.view("u1").reshape(-1, width) == np.frombuffer(fill.tobytes(), dtype="u1")))


def _same(item: Any, wanted: Any) -> bool:
    """Equality of two Python objects, safe for arrays and values of other types."""
    if type(item) is not type(wanted):
        return False
    if isinstance(item, np.ndarray):
        return item.dtype == wanted.dtype and np.array_equal(item, wanted)
    return bool(item == wanted)
