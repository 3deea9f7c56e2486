# SPDX-License-Identifier: MIT
"""Calls of ufuncs with ``threads``, or with large arrays: by rows, on the threads of the chunk engine."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from zarrcore._core.kernels import warn_of_where
from zarrcore._typed import NamedTuple
from zarrcore.kernels._memory import broadcast_shape, same_memory
from zarrcore.kernels._sharing import PIECE_NBYTES, by_rows, check_threads

_OPTIONS = frozenset({"out", "where", "casting", "dtype", "subok"})
"""Keyword arguments that a call on several threads may have; all others change which dimensions are meant."""


def share(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call ``ufunc(*args, **options)``: by rows of plain arrays where that is faster, else by NumPy alone."""
    threads = options.pop("threads", None)
    found = _operands(ufunc, args, options)
    if found is None:
        check_threads(threads)
        return ufunc(*map(_from_list, args), threads=1, **options)
    inputs, outs, mask = found
    rest = {name: value for name, value in options.items() if name not in ("out", "where")}
    largest = _largest(inputs)
    if mask is not None and "out" not in options and outs[0] is None:
        warn_of_where(2)
    if any(out is None for out in outs):  # then as NumPy makes them for no rows
        none = ufunc(*[each.rows(slice(0, 0)) for each in inputs], threads=1, **rest)
        rooms = zip(outs, none if isinstance(none, tuple) else (none,), strict=True)
        outs = tuple(_room_like(largest, room) if out is None else out for out, room in rooms)

    def call(part: slice) -> None:
        where = {} if mask is None else {"where": mask.rows(part)}
        rooms = tuple(out[part] for out in outs)
        ufunc(*[each.rows(part) for each in inputs], out=rooms, threads=1, **where, **rest)

    by_rows(call, largest.shape[0], largest.nbytes, threads)
    return outs if ufunc.nout > 1 else outs[0]


def _from_list(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, list | tuple) else x


class _Operand(NamedTuple):
    """An argument, and whether its rows are those of the call; else all of it goes with each of them."""

    value: Any
    by_row: bool

    def rows(self, part: slice) -> Any:
        return self.value[part] if self.by_row else self.value


def _operands(
    ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[_Operand], tuple[Any, ...], _Operand | None] | None:
    """Return inputs, outputs and mask of a call if its rows can be shared, and are worth it."""
    inputs = [_from_list(x) for x in args[: ufunc.nin]]
    outs = _given_outs(ufunc, args[ufunc.nin :], options)
    if outs is None or len(inputs) < ufunc.nin or not options.keys() <= _OPTIONS:
        return None
    if not all(type(x) is np.ndarray or isinstance(x, int | np.generic) for x in inputs):
        return None
    cores = _core_dimensions(ufunc)
    pairs = list(zip(inputs, cores, strict=False))
    if any(np.ndim(x) < core for x, core in pairs):
        return None
    shape = broadcast_shape(*[_outer(x, core) for x, core in pairs])
    if not shape:
        return None
    operands = [_operand(x, core, shape) for x, core in pairs]
    mask = _operand(np.asarray(options["where"]), 0, shape) if "where" in options else None
    if not _rows_follow(operands) or (mask and broadcast_shape(mask.value.shape, shape) != shape):
        return None
    taken = [operand.value for operand in (*operands, mask) if operand is not None]
    in_place = not any(cores)
    for number, (out, core) in enumerate(zip(outs, cores[ufunc.nin :], strict=True)):
        if out is not None and not (
            type(out) is np.ndarray
            and out.ndim >= core
            and _outer(out, core) == shape
            and not any(other is not None and np.may_share_memory(out, other) for other in outs[:number])
            and all(_is_apart(out, x, in_place) for x in taken)
        ):
            return None
    return operands, outs, mask


def _given_outs(
    ufunc: np.ufunc, positional: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Return one for each output, None where it is to be made; not a tuple where NumPy is to refuse them."""
    outs = positional
    if "out" in options:
        given = options["out"]
        outs = given if isinstance(given, tuple) else (given,) * (ufunc.nout if given is None else 1)
        if positional or len(outs) != ufunc.nout:
            return None
    return (*outs, *[None] * (ufunc.nout - len(outs))) if len(outs) <= ufunc.nout else None


@lru_cache(maxsize=64)
def _core_dimensions(ufunc: np.ufunc) -> tuple[int, ...]:
    """Return the number of core dimensions of each operand, inputs first."""
    if ufunc.signature is None:
        return (0,) * (ufunc.nin + ufunc.nout)
    return tuple(len(re.findall(r"\w+", names)) for names in re.findall(r"\(([^)]*)\)", ufunc.signature))


def _outer(x: Any, core: int) -> tuple[int, ...]:
    shape: tuple[int, ...] = np.shape(x)
    return shape[: len(shape) - core]


def _operand(x: Any, core: int, shape: tuple[int, ...]) -> _Operand:
    return _Operand(x, len(_outer(x, core)) == len(shape) and x.shape[0] == shape[0])


def _largest(operands: list[_Operand]) -> np.ndarray:
    """Of those with rows."""
    return max((operand.value for operand in operands if operand.by_row), key=lambda x: x.nbytes)


def _rows_follow(operands: list[_Operand]) -> bool:
    """Do the rows of what is large lie one after the other in memory?"""
    if not any(operand.by_row for operand in operands):
        return False
    x = _largest(operands)
    return x.nbytes >= 2 * PIECE_NBYTES and abs(x.strides[0]) == max(map(abs, x.strides))


def _is_apart(out: np.ndarray, x: Any, in_place: bool) -> bool:
    """Return whether the output has its own memory, or the operand's if that is allowed."""
    if type(x) is not np.ndarray or not np.may_share_memory(out, x):
        return True
    return in_place and x.shape == out.shape and same_memory(x, out)


def _room_like(x: np.ndarray, none: np.ndarray) -> np.ndarray:
    """Allocate the rows of ``x`` where ``none`` are given; in its memory order if they have its shape."""
    if none.shape[1:] == x.shape[1:]:
        return np.empty_like(x, dtype=none.dtype)
    return np.empty((x.shape[0], *none.shape[1:]), none.dtype)
