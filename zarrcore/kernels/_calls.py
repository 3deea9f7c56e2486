# SPDX-License-Identifier: MIT
"""Calls of ufuncs with ``threads``, or with large arrays: by rows, on the threads of the chunk engine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from zarrcore.kernels._memory import broadcast_shape, same_memory
from zarrcore.kernels._sharing import PIECE_NBYTES, by_rows, check_threads

_OPTIONS = frozenset({"out", "where", "casting", "dtype", "subok"})
"""Keyword arguments that a call on several threads may have; all others change which dimensions are meant."""


def share(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call ``ufunc(*args, **options)``: by rows of plain arrays where that is faster, else by NumPy alone."""
    threads = options.pop("threads", None)
    call = _call_by_rows(ufunc, args, options)
    if call is None:
        check_threads(threads)
        return ufunc(*map(_from_list, args), threads=1, **options)
    return call.run(threads)


def _from_list(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, list | tuple) else x


@dataclass(frozen=True, slots=True)
class _Operand:
    """An argument, and whether its rows are those of the call; else all of it goes with each of them."""

    value: Any
    by_row: bool

    def rows(self, part: slice) -> Any:
        return self.value[part] if self.by_row else self.value


@dataclass(frozen=True, slots=True)
class _Call:
    ufunc: np.ufunc
    inputs: list[_Operand]
    outs: tuple[np.ndarray | None, ...]
    mask: _Operand | None
    options: dict[str, Any]

    def run(self, threads: int | None) -> Any:
        outs = self.outs if all(out is not None for out in self.outs) else self._with_new_outs()
        largest = _largest(self.inputs)

        def call(part: slice) -> None:
            where = {} if self.mask is None else {"where": self.mask.rows(part)}
            rooms = tuple(out[part] for out in outs)  # type: ignore[index]
            inputs = [operand.rows(part) for operand in self.inputs]
            self.ufunc(*inputs, out=rooms, threads=1, **where, **self.options)

        by_rows(call, largest.shape[0], largest.nbytes, threads)
        return outs if self.ufunc.nout > 1 else outs[0]

    def _with_new_outs(self) -> tuple[np.ndarray, ...]:
        """Return the outputs, and where there is none as yet a new one, as NumPy makes them for no rows."""
        found = self.ufunc(*[each.rows(slice(0, 0)) for each in self.inputs], threads=1, **self.options)
        found = found if isinstance(found, tuple) else (found,)
        largest = _largest(self.inputs)
        return tuple(
            _room_like(largest, none) if out is None else out
            for out, none in zip(self.outs, found, strict=True)
        )


def _call_by_rows(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> _Call | None:
    """Return the call if its rows can be shared, and are worth it."""
    inputs = [_from_list(x) for x in args[: ufunc.nin]]
    outs = _given_outs(ufunc, args[ufunc.nin :], options)
    if outs is None or len(inputs) < ufunc.nin or not options.keys() <= _OPTIONS:
        return None
    if not all(type(x) is np.ndarray or isinstance(x, int | np.generic) for x in inputs):
        return None
    cores = _core_dimensions(ufunc)
    if any(np.ndim(x) < core for x, core in zip(inputs, cores, strict=False)):
        return None
    shape = broadcast_shape(*[_outer(x, core) for x, core in zip(inputs, cores, strict=False)])
    if not shape:
        return None
    operands = [_operand(x, core, shape) for x, core in zip(inputs, cores, strict=False)]
    mask = _operand(np.asarray(options["where"]), 0, shape) if "where" in options else None
    if not _rows_follow(operands) or (mask and broadcast_shape(mask.value.shape, shape) != shape):
        return None
    others = [operand for operand in (*operands, mask) if operand is not None]
    for number, (out, core) in enumerate(zip(outs, cores[ufunc.nin :], strict=True)):
        if not _out_fits(out, core, shape, others, outs[:number], in_place=not any(cores)):
            return None
    rest = {name: value for name, value in options.items() if name not in ("out", "where")}
    return _Call(ufunc, operands, outs, mask, rest)


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


def _out_fits(
    out: Any,
    core: int,
    shape: tuple[int, ...],
    operands: list[_Operand],
    outs: tuple[Any, ...],
    *,
    in_place: bool,
) -> bool:
    """Return whether the output has these rows and its own memory (or an operand's, if that is allowed)."""
    if out is None:
        return True
    if type(out) is not np.ndarray or out.ndim < core or _outer(out, core) != shape:
        return False
    if any(other is not None and np.may_share_memory(out, other) for other in outs):
        return False
    return all(
        type(x) is not np.ndarray
        or not np.may_share_memory(out, x)
        or (in_place and x.shape == out.shape and same_memory(x, out))
        for x in (operand.value for operand in operands)
    )


def _room_like(x: np.ndarray, none: np.ndarray) -> np.ndarray:
    """Allocate the rows of ``x`` where ``none`` are given; in its memory order if they have its shape."""
    if none.shape[1:] == x.shape[1:]:
        return np.empty_like(x, dtype=none.dtype)
    return np.empty((x.shape[0], *none.shape[1:]), none.dtype)
