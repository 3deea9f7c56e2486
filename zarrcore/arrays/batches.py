"""Many selections in one call: what a mini-batch is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore._core import engine
from zarrcore._typing import Memory, Out, SelectionLike, ShapedArray
from zarrcore.arrays.access import Known, fill_by, of_one_version
from zarrcore.arrays.memory import is_memory
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.values import check_out
from zarrcore.indexing import Selection
from zarrcore.node import state_of

if TYPE_CHECKING:
    from zarrcore.engine.base import Engine

Reads = Sequence[tuple[OpenArray, Selection]]

_MORE_PAIRS = 32
"""Most pairs of outputs that are compared closely, besides one for each array, because one begins before the
other ends: views that alternate in memory."""

_MOST_WORK = 10_000
"""Of :func:`numpy.shares_memory`, for strides for which that question is a hard one."""


def read_many(
    requests: Iterable[tuple[ShapedArray, SelectionLike]],
    *,
    out: Sequence[Memory] | Out = None,
    stack: bool = False,
    threads: int = 0,
) -> list[np.ndarray] | np.ndarray:
    """Read selections of one or several arrays in one call without the GIL.

    The chunks of all of them are shared among the threads; a chunk that several selections want is opened
    once, and decoded once where each would have had to decode most of it.

    Parameters
    ----------
    requests : iterable of tuple
        Pairs of an array and a selection, as in ``array[selection]``; field names are not supported.
    out : ndarray or sequence of ndarray, optional
        Where to read to: one array for each selection, of its shape and the array's data type, or one array
        with a first dimension for the selections, which must agree in shape and data type.  Arrays that have
        items in common are refused; if they lie among one another, as far as that is found out quickly.
    stack : bool
        Return one array with a first dimension for the selections instead of a list.
    threads : int
        Number of threads; 0 for the configured number.

    Returns
    -------
    list of ndarray, or ndarray
        In the order of the requests; `out` if it was given.  A selection of a single element returns an array
        without dimensions.

    Raises
    ------
    ChunkError
        If a chunk cannot be read; the message names the number of the selection, the array and the chunk.
        The contents of `out` are undefined then.
    ValueError
        If the selections do not agree in shape and data type but have to, or `out` does not fit or overlaps
        itself.

    Examples
    --------
    >>> import zarrcore
    >>> array = zarrcore.create_array({}, shape=(4, 6), chunks=(2, 3), dtype="i4")
    >>> array[...] = np.arange(24).reshape(4, 6)
    >>> zarrcore.read_many([(array, (1, slice(0, 2))), (array, (3, slice(2, 4)))], stack=True)
    array([[ 6,  7],
           [20, 21]], dtype=int32)
    """
    reads: list[tuple[OpenArray, Selection]] = []
    if not hasattr(requests, "__iter__"):
        raise TypeError(
            f"requests: expected pairs of an array and a selection, as in [(array, 0)], got {requests!r:.200}"
        )
    pairs = [_pair(number, request) for number, request in enumerate(requests)]
    if (done := _read_basic(pairs, out, stack, threads)) is not None:
        return done  # type: ignore[no-any-return]
    for number, (array, wanted) in enumerate(pairs):
        array.follow()
        try:
            reads.append((array, indexing.plain_selection(wanted, array.shape)))
        except IndexError as error:
            raise type(error)(f"selection {number} of array {array.path or '/'!r}: {error}") from None
    results = _results(reads, out, stack)
    _read(reads, results, threads)
    return results if out is None else out  # type: ignore[return-value]


def _pair(number: int, request: Any) -> tuple[OpenArray, Any]:
    if isinstance(request, (tuple, list)) and len(request) == 2:
        array = state_of(request[0])
        if isinstance(array, OpenArray):
            return array, request[1]
    raise TypeError(f"requests: expected pairs of an array and a selection, number {number} is {request!r}")


def _read_basic(pairs: Sequence[tuple[OpenArray, Any]], out: Any, stack: bool, threads: int) -> Any:
    """Read integers and slices in C; what :func:`read_many` returns, or None: go the long way."""
    requests: list[Any] = []
    for array, wanted in pairs:
        array.follow()
        compiled = array.engine()
        if not compiled.is_native:
            return None
        requests.append((compiled, wanted))
    if out is None and not stack:
        return engine.get_many(requests, None, threads)
    if out is None and (out := _stacked(pairs)) is None:
        return None
    if type(out) is np.ndarray and out.flags.c_contiguous and out.shape[:1] == (len(pairs),):
        outs = [out[number, ...] for number in range(len(pairs))]
    elif type(out) is list and len(out) == len(pairs) and {*map(type, out)} == {np.ndarray}:
        outs = out
    else:
        return None
    return None if engine.get_many(requests, outs, threads) is None else out


def _stacked(pairs: Sequence[tuple[OpenArray, Any]]) -> np.ndarray | None:
    """Return an array for as many results as the first; None if that is no basic selection."""
    basic = engine.basic_dims(pairs[0][1], pairs[0][0].shape) if pairs else None
    return None if basic is None else engine.empty((len(pairs), *basic[2]), pairs[0][0].dtype)


def _results(reads: Reads, out: Any, stack: bool) -> Sequence[np.ndarray] | np.ndarray:
    """Return the arrays to read into: those given, or new ones."""
    if out is None and not stack:
        return [engine.empty(selection.shape, array.dtype) for array, selection in reads]
    if out is None or is_memory(out):
        shape, dtype = _common(reads)
        shape = (len(reads), *shape)
        return engine.empty(shape, dtype) if out is None else check_out(out, shape, dtype)
    out = list(out)
    if len(out) != len(reads):
        raise ValueError(f"out: expected {len(reads)} arrays, one for each selection, got {len(out)}")
    results = [
        check_out(each, selection.shape, array.dtype)
        for each, (array, selection) in zip(out, reads, strict=True)
    ]
    _refuse_overlap(results)
    return results


def _refuse_overlap(results: list[np.ndarray]) -> None:
    """Threads would write to the same items in any order."""
    for first, second in engine.entangled(results, len(results) + _MORE_PAIRS):
        try:
            shared = np.shares_memory(results[first], results[second], max_work=_MOST_WORK)
        except np.exceptions.TooHardError:
            continue
        if shared:
            first, second = sorted((first, second))
            raise ValueError(f"out: the arrays for selections {first} and {second} overlap")


def _common(reads: Reads) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the data type that all selections have."""
    if not reads:
        raise ValueError("read_many: no selections to stack")
    kinds = [(selection.shape, array.dtype) for array, selection in reads]
    for number, (shape, dtype) in enumerate(kinds):
        if (shape, dtype) != kinds[0]:
            raise ValueError(
                f"read_many: selection {number} has shape {shape} and data type {dtype}, "
                f"selection 0 {kinds[0][0]} and {kinds[0][1]}"
            )
    return kinds[0]


def _read(reads: Reads, results: Sequence[np.ndarray] | np.ndarray, threads: int) -> None:
    """Read natively what can be, in one call, and all else one by one."""
    if isinstance(results, np.ndarray):
        results = [results[number, ...] for number in range(len(reads))]
    known = {id(array): (array, array._metadata, array.engine()) for array, _ in reads}
    of_one_version(partial(_read_by, reads, results, threads), known)


def _read_by(reads: Reads, results: Sequence[np.ndarray], threads: int, known: Known) -> None:
    requests: list[Any] = []
    positions: list[int] = []
    later: dict[int, Engine] = {}
    for number, ((array, selection), result) in enumerate(zip(reads, results, strict=True)):
        compiled = known[id(array)][2]
        if result.size == 0:
            continue
        if not compiled.is_native or (selection.points and not result.flags.c_contiguous):
            fill_by(array, selection, result, threads, compiled)
            later[id(array)] = compiled
        else:
            requests.append((compiled, selection.dims, selection.points, result.reshape(selection.block)))
            positions.append(number)
    engine.read_many(requests, threads, positions)
    for compiled in later.values():
        compiled.confirm()
