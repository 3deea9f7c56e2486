"""Ranges of bytes that are asked for together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

_GAP = 1 << 16  # bytes that arrive about as fast as one more request is answered
_MOST = 1 << 22  # bytes of a request for several ranges


def joined(spans: Iterable[Span]) -> list[Span]:
    """Join ranges, each from a start to a stop, that lie close together; sorted.

    Examples
    --------
    >>> joined([(5, 9), (0, 3), (10_000_000, 10_000_004)])
    [(0, 9), (10000000, 10000004)]
    """
    found: list[Span] = []
    for start, stop in sorted(spans):
        if found and start - found[-1][1] <= _GAP and max(stop, found[-1][1]) - found[-1][0] <= _MOST:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        elif not found or stop > found[-1][1]:
            found.append((start, stop))
    return found
