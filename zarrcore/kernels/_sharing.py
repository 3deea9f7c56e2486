# SPDX-License-Identifier: MIT
"""Large arrays by pieces of their leading axis, on the threads of the chunk engine."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context

from zarrcore.kernels._memory import index_of

SHARE_NBYTES = 32 << 20
"""From here on arrays are shared unasked: smaller ones lie in the caches of the CPU that made them."""

PIECE_NBYTES = 1 << 20
"""A smaller piece would end before another thread has the GIL to begin with it."""

_MOST_THREADS = 1 << 16


def thread_count(threads: int | None) -> int:
    """Return the number that is meant; None is the engine's, which follows the configuration."""
    if threads is None:
        from zarrcore._core import engine

        return engine.num_threads()
    check_threads(threads)
    return min(int(threads), _MOST_THREADS)


def check_threads(threads: int | None) -> None:
    """Is it a number of threads?  Asked also where a single one does the work."""
    if threads is not None and index_of(threads, "threads") < 1:
        raise ValueError(f"threads: expected 1 or more, got {threads}")


def by_rows(call: Callable[[slice], object], n: int, nbytes: int, threads: int | None) -> None:
    """Call with slices that together make up ``0 .. n``, on several threads where that pays."""
    most = 1 if threads is None and nbytes < SHARE_NBYTES else thread_count(threads)
    pieces = min(n, nbytes // PIECE_NBYTES, 4 * most)
    if most == 1 or pieces <= 1:
        call(slice(0, n))
        return
    from zarrcore._core import engine

    bounds = [n * i // pieces for i in range(pieces + 1)]
    contexts = [copy_context() for _ in range(pieces)]  # they hold numpy.errstate
    engine.call_parallel(lambda i: contexts[i].run(call, slice(bounds[i], bounds[i + 1])), pieces, most)
