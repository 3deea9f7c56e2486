"""What zarr-python asks a codec pipeline for, as one call of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.storage import StorePath

from zarrcore._core.engine import begins_of, box_of
from zarrcore._typed import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zarrcore._awaited import Waiter
    from zarrcore._core.engine import NativeArray

Part = tuple[Any, Any, Any, Any, bool]
"""Place and specification of a chunk, what is selected of it, where to, and whether that is all of it."""

Ends = tuple[int | None, ...]
"""The lengths of an array whose last chunks end beyond them; None for other dimensions."""


class Wanted(NamedTuple):
    """A selection of an array: a region, or points, and its place in the caller's memory.

    Attributes
    ----------
    dims : sequence
        The dimensions, or coordinates, as the engine takes them.
    shape : tuple
        Shape in the caller's memory; None for a dimension that has none there.
    order : ndarray or None
        Of points: their places in the caller's memory.
    """

    dims: Sequence[Any]
    shape: tuple[int | None, ...]
    order: np.ndarray | None = None

    @property
    def outer(self) -> tuple[int, ...]:
        """Shape in the caller's memory."""
        if None not in self.shape:
            return self.shape  # type: ignore[return-value]
        return tuple(length for length in self.shape if length is not None)

    def read(self, engine: NativeArray, out: np.ndarray, token: Waiter | None = None) -> None:
        """Read to `out`, until the token is cancelled."""
        if self.order is None:
            engine.read(self.dims, out if out.shape == self.shape else out[self._whole], token=token)
        elif len(self.order) == len(out) and np.array_equal(np.sort(self.order), np.arange(len(out))):
            back = np.argsort(self.order)
            engine.read_points([indices[back] for indices in self.dims], out, token=token)
        else:
            found = np.empty(len(self.order), out.dtype)
            engine.read_points(self.dims, found, token=token)
            out[self.order] = found

    def write(self, engine: NativeArray, value: np.ndarray, write_empty: bool) -> None:
        """Write `value`, of the shape in memory or without dimensions."""
        value = np.broadcast_to(value, self.outer) if value.ndim == 0 else value
        if self.order is None:
            engine.write(self.dims, value[self._whole], 0, write_empty)
        else:
            engine.write_points(self.dims, value[self.order], 0, write_empty)

    @property
    def _whole(self) -> tuple[Any, ...]:
        return (*(None if length is None else slice(None) for length in self.shape), ...)


def wanted(engine: NativeArray, parts: list[Part], store: Any, dropped: tuple[int, ...]) -> Wanted | None:
    """Return what parts of chunks make up; None if that is no one selection, or not of this array."""
    box = None if dropped else box_of(engine, parts, StorePath, store)
    if box is not None:
        return Wanted(*box)
    begins = begins_of(engine, parts, StorePath, store)
    if begins is None or not begins.shape[1] or len(np.unique(begins, axis=0)) != len(begins):
        return None
    found = _points(parts, begins) if not dropped else None
    return found or _outer(parts, begins, dropped)


def ends_of(engine: NativeArray, parts: list[Part], store: Any) -> Ends | None:
    """Return where an array ends within chunks, if some of the parts are all that it has of such ones."""
    last = [part for part in parts if part[4] and any(n < length for n, length in _covered(part))]
    begins = begins_of(engine, last, StorePath, store) if last else None
    if begins is None:
        return None
    ends: list[int | None] = [None] * begins.shape[1]
    for part, begin in zip(last, begins.tolist(), strict=True):
        for d, (n, length) in enumerate(_covered(part)):
            if n < length:
                ends[d] = begin[d] + n
    return tuple(ends)


def _covered(part: Part) -> list[tuple[int, int]]:
    """Return for each dimension where a part ends within its chunk, and where the chunk does."""
    _, spec, inside, _, _ = part
    if not isinstance(inside, tuple):
        return []
    ends = [item.stop if isinstance(item, slice) else 1 for item in inside]  # what is complete begins at 0
    return [*zip(ends, spec.shape, strict=True)] if all(type(end) is int for end in ends) else []


def _points(parts: list[Part], begins: np.ndarray) -> Wanted | None:
    """Return the single points of all parts: for each dimension as many indices as there are points."""
    coords, places = [], []
    for (_, _, inside, to, _), begin in zip(parts, begins, strict=True):
        if isinstance(to, tuple):
            if len(to) != 1:
                return None
            (to,) = to
        if not isinstance(inside, tuple) or not all(_is_flat(index) for index in inside):
            return None
        place = _indices(to)
        if place is None or place.ndim != 1 or any(len(index) != len(place) for index in inside):
            return None
        coords.append([index + start for index, start in zip(inside, begin, strict=True)])
        places.append(place)
    order = np.concatenate(places)
    points = [np.concatenate(indices) for indices in zip(*coords, strict=True)]
    return Wanted(points, (int(order.max(initial=-1)) + 1,), order)


def _outer(parts: list[Part], begins: np.ndarray, dropped: tuple[int, ...]) -> Wanted | None:
    """Return a region that has, for each dimension, indices of its own, whatever the others are."""
    ndim = begins.shape[1]
    kept = [d for d in range(ndim) if d not in dropped]
    known: list[dict[int, tuple[np.ndarray, np.ndarray]]] = [{} for _ in range(ndim)]
    for (_, spec, inside, to, _), begin in zip(parts, begins.tolist(), strict=True):
        if not (isinstance(inside, tuple) and isinstance(to, tuple) and len(inside) == ndim):
            return None
        if len(to) != len(kept):
            return None
        at = dict(zip(kept, to, strict=True))
        for d in range(ndim):
            index = _indices(inside[d], spec.shape[d])
            place = _indices(at[d]) if d in at else np.zeros(1, np.int64)
            if index is None or place is None or index.size != place.size:
                return None
            pair = index.reshape(-1) + begin[d], place.reshape(-1)
            first = known[d].setdefault(begin[d], pair)
            if first is not pair and not all(map(np.array_equal, first, pair)):
                return None
    if np.prod([len(chunks) for chunks in known]) != len(parts):
        return None
    dims, shape = [], []
    for d, chunks in enumerate(known):
        place = np.concatenate([place for _, place in chunks.values()])
        if not np.array_equal(np.sort(place), np.arange(len(place))):
            return None
        indices = np.empty(len(place), np.int64)
        indices[place] = np.concatenate([index for index, _ in chunks.values()])
        dims.append(indices)
        shape.append(len(place) if d in kept else None)
    return Wanted(dims, tuple(shape))


def _is_flat(index: object) -> bool:
    return isinstance(index, np.ndarray) and index.ndim == 1 and index.dtype.kind in "iu"


def _indices(selection: Any, length: int | None = None) -> np.ndarray | None:
    """Return the indices that an integer, a slice or an array of integers or booleans selects."""
    if isinstance(selection, slice):
        if length is None and (selection.stop is None or selection.stop < 0):
            return None
        start, stop, step = selection.indices(selection.stop if length is None else length)
        return np.arange(start, stop, step)
    found = np.asarray(selection)
    if found.dtype.kind == "b":
        return np.flatnonzero(found)
    return np.atleast_1d(found) if found.dtype.kind in "iu" else None
