# SPDX-License-Identifier: MIT
"""Large arrays by pieces of their leading axis, on the threads of the chunk engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zarrcore.kernels._memory import index_of

SHARE_NBYTES = 32 << 20
"""From here on arrays are shared unasked: smaller ones lie in the caches of the CPU that made them."""

PIECE_NBYTES = 1 << 20
"""A smaller piece would end before another thread has the GIL to begin with it."""

_MOST_THREADS = 1 << 16


def thread_count(threads: int | None) -> int:
    """The number that is meant; None is the engine's, which follows the configuration."""
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
    engine.call_parallel(lambda i: call(slice(bounds[i], bounds[i + 1])), pieces, most)


def call_ufunc(
    ufunc: np.ufunc,
    x: Any,
    *scalars: Any,
    out: Any,
    threads: int | None,
    core: int = 0,
    result: Callable[[np.ndarray], np.ndarray] = np.empty_like,
    **options: Any,
) -> Any:
    """``ufunc(x, *scalars, out=out, **options)``, by rows of plain arrays where that pays.

    ``core`` counts the last dimensions that belong together; ``result`` makes the output for ``x``.
    """
    if not _can_share(x, scalars, out, core):
        check_threads(threads)
        return ufunc(x, *scalars, out=out, **options)
    if out is None:
        out = result(x)

    def call(rows: slice) -> None:
        ufunc(x[rows], *scalars, out=out[rows], **options)

    by_rows(call, x.shape[0], x.nbytes, threads)
    return out


def _can_share(x: Any, scalars: tuple[Any, ...], out: Any, core: int) -> bool:
    """Plain arrays whose rows lie one after the other, which do not overlap but for being the same."""
    if type(x) is not np.ndarray or x.nbytes < 2 * PIECE_NBYTES or x.ndim <= core:
        return False
    if any(np.ndim(scalar) for scalar in scalars) or abs(x.strides[0]) != max(map(abs, x.strides)):
        return False
    if out is None:
        return True
    if type(out) is not np.ndarray or out.shape[: out.ndim - core] != x.shape[: x.ndim - core]:
        return False
    in_place = core == 0 and x.ctypes.data == out.ctypes.data and x.strides == out.strides
    return in_place or not np.may_share_memory(x, out)
