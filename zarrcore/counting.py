# SPDX-License-Identifier: MIT
"""What this process has read, decoded and written."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from typing import Any

from zarrcore._records import dataclass
from zarrcore._typed import NamedTuple


@dataclass(frozen=True)
class Metrics:
    """What was done for chunks, by all threads; the output of :func:`metrics`.

    The difference of two of them is what was done between.

    Attributes
    ----------
    requests : int
        Values, or ranges of them, that stores were asked for: files opened, keys looked up, HTTP requests.
    bytes_read : int
        Bytes that came back.
    writes : int
        Values that were stored or removed.
    bytes_written : int
        Bytes of them.
    chunks : int
        Chunks (of sharded arrays: inner chunks) that were decoded, or taken as they are stored.
    cache_hits : int
        Chunks that were found in a :class:`ChunkCache` instead.
    cache_misses : int
        Chunks that a cache was asked for in vain.
    decode_seconds : float
        Time in codecs while chunks were decoded, of all threads together.  Of chunks below 16 KiB one in 16
        is timed, and counts for all.
    """

    requests: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0
    chunks: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    decode_seconds: float = 0.0

    def __sub__(self, earlier: Metrics) -> Metrics:
        if not isinstance(earlier, Metrics):
            return NotImplemented
        return Metrics(*(getattr(self, name) - getattr(earlier, name) for name in _NAMES))

    def __str__(self) -> str:
        return "\n".join(f"{name:<14} : {_text(getattr(self, name))}" for name in _NAMES)


def _text(number: float) -> str:
    return f"{number:.6g}" if isinstance(number, float) else str(number)


_NAMES = [field.name for field in fields(Metrics)]


class _Begin(NamedTuple):
    """What a process had done at a reset; `after` is empty, or has the next one."""

    process: int
    done: Metrics
    after: dict[str, Any]


_begin = _Begin(0, Metrics(), {})


def metrics(*, reset: bool = False) -> Metrics:
    """Return what this process has read, decoded and written since it began, or since the last reset.

    Counted are chunks, not metadata documents.  What a call that is under way does is counted when a thread
    of it is done.  Counting costs some nanoseconds a call and is always on; a child of a fork begins at 0.

    Parameters
    ----------
    reset : bool
        Count from here on.

    Returns
    -------
    Metrics
        The numbers up to now.

    See Also
    --------
    zarrcore.Array.explain : What a read would ask of its store, without doing it.

    Examples
    --------
    >>> import zarrcore
    >>> array = zarrcore.create_array({}, shape=4, chunks=2, dtype="i4", compressors=None)
    >>> array[...] = [1, 2, 3, 4]
    >>> before = zarrcore.metrics()
    >>> _ = array[...]
    >>> done = zarrcore.metrics() - before
    >>> done.requests, done.bytes_read, done.chunks
    (2, 16, 2)
    """
    global _begin
    last = _begin
    while last.after:
        last = last.after["begin"]
    begin, total = last.done if last.process == os.getpid() else Metrics(), _total()
    if reset:
        own = _Begin(os.getpid(), total, {})
        if last.after.setdefault("begin", own) is not own:
            return Metrics()  # another thread has reset them at this moment
        _begin = own
    return total - begin


def _total() -> Metrics:
    engine = sys.modules.get("zarrcore._core.engine")
    if engine is None or not hasattr(engine, "metrics"):  # not loaded, or by another thread at this moment
        return Metrics()
    found: Any = engine.metrics()
    return Metrics(*[*found[:7], found[7] / 1e9])
