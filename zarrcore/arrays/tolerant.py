"""Reading what can be read: chunks that cannot are left out, on request, and always reported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from zarrcore import indexing
from zarrcore.arrays import access
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.values import check_out
from zarrcore.engine.projection import Axis, ChunkPart, axes_of, dims_of, project, project_points
from zarrcore.errors import ChunkError, ChunkLockError, ChunkMemoryError, ZarrUserWarning
from zarrcore.indexing import Fields
from zarrcore.metadata import layout
from zarrcore.metadata.departures import level_of_caller

if TYPE_CHECKING:
    from zarrcore.engine.base import Engine

OnError: TypeAlias = Literal["raise", "fill", "collect"]

_MOST_NAMED = 5


def read(
    array: OpenArray, selection: Any, out: Any, fields: Fields | None, threads: int, on_error: OnError
) -> Any:
    """Read what can be read of a selection; see :meth:`zarrcore.Array.read`."""
    if on_error == "raise":
        return access.get_by(array, indexing.plain_selection, selection, out, fields, threads)
    if on_error not in ("fill", "collect"):
        raise ValueError(f"on_error: expected 'raise', 'fill' or 'collect', got {on_error!r}")
    array.follow()
    chosen = indexing.plain_selection(selection, array.shape)
    failures: list[ChunkError] = []
    try:
        result = access.get(array, chosen, out, fields, threads)
    except ChunkError:
        array.engine()
        values = np.empty(chosen.block, array.dtype_in_memory)
        access.of_one_array(array, _Tolerant(array, threads, failures, chosen, values).read)
        result = values.reshape(chosen.shape)
        if fields:
            result = result[fields].astype(indexing.field_dtype(fields, array.dtype).base, copy=False)
        if out is not None:
            check_out(out, result.shape, result.dtype)[...] = result
            result = out
        elif result.shape == ():
            result = result[()]
    if on_error == "collect":
        return result, failures
    if failures:
        named = "; ".join(map(str, failures[:_MOST_NAMED])) + ("; ..." if len(failures) > _MOST_NAMED else "")
        message = (
            f"{len(failures)} chunks could not be read and have the fill value in what is returned: {named}"
        )
        warnings.warn(ZarrUserWarning(message), stacklevel=level_of_caller())
    return result


class _Tolerant:
    """Reads chunk by chunk, and of a shard inner chunk by inner chunk where it cannot be read as a whole."""

    _engine: Engine

    def __init__(
        self,
        array: OpenArray,
        threads: int,
        failures: list[ChunkError],
        chosen: indexing.Selection,
        block: np.ndarray,
    ) -> None:
        self._threads = threads
        self._failures = failures
        self._chosen, self._block = chosen, block
        self._fill = layout.fill_array(array.metadata)
        self._levels: list[Sequence[Axis]] = [grid_axes(array)]
        inner = layout.inner_chunks(array.metadata)
        if inner is not None:
            self._levels.append(axes_of(array.shape, inner))

    def read(self, by: Engine) -> None:
        """Fill the block of the selection."""
        self._engine = by
        self._failures.clear()
        if self._block.size:
            self._read(self._chosen.dims, self._block, self._chosen.points, 0)
            by.confirm()

    def _read(self, dims: Sequence[Any], block: np.ndarray, points: bool, level: int) -> None:
        axes = self._levels[level]
        for part in project_points(dims, axes) if points else project(dims, axes):
            self._read_part(part, dims_of(part, axes), block, level)

    def _read_part(self, part: ChunkPart, dims: Any, block: np.ndarray, level: int) -> None:
        lengths = [len(dim) if isinstance(dim, np.ndarray) else dim[2] for dim in dims]
        values = np.empty(lengths[:1] if part.points else lengths, block.dtype)
        call = self._engine.read_points if part.points else self._engine.read
        try:
            call(dims, values, self._threads)
        except (ChunkMemoryError, ChunkLockError):
            raise
        except ChunkError as error:
            if level + 1 < len(self._levels) and error.inner_chunk is not None:
                self._read(dims, values, part.points, level + 1)
            else:
                values[...] = self._fill
                self._failures.append(error)
        block[part.outside_of(block)] = values
