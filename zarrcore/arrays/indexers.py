"""Which part of a selection is in which chunk, in the classes of ``zarr.core.indexing``.

Packages derive indexers of their own from these, and have an array read what they yield.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from zarrcore._typed import NamedTuple
from zarrcore._validate import shape as parse_shape
from zarrcore.engine.projection import axes_of, grid_shape, outer_index, project
from zarrcore.indexing import Selection, basic_selection, is_integer, items_of, orthogonal_selection

__all__ = ["BasicIndexer", "ChunkGrid", "ChunkProjection", "Indexer", "OrthogonalIndexer"]


class ChunkGrid:
    """The chunks of an array of a shape.

    Parameters
    ----------
    array_shape : sequence of int
        Shape of the array.
    chunk_sizes : sequence of (int or sequence of int)
        For each dimension the length of the chunks, or of each of them.

    Examples
    --------
    >>> ChunkGrid.from_sizes((10, 5), (4, (2, 3))).grid_shape
    (3, 2)
    """

    def __init__(self, array_shape: Sequence[int], chunk_sizes: Sequence[int | Sequence[int]]) -> None:
        self.array_shape = parse_shape(array_shape, "array_shape")
        self.edges = tuple([size if isinstance(size, int) else tuple(size) for size in chunk_sizes])
        self.grid_shape = grid_shape(self.array_shape, self.edges)

    @classmethod
    def from_sizes(cls, array_shape: Sequence[int], chunk_sizes: Sequence[int | Sequence[int]]) -> Self:
        """Return the chunks of an array of a shape."""
        return cls(array_shape, chunk_sizes)

    @classmethod
    def from_metadata(cls, metadata: Any) -> Self:
        """Return the chunks of the array that metadata describe."""
        return cls(metadata.shape, metadata.chunk_grid.native())

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.array_shape)

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have one shape."""
        return all(isinstance(size, int) for size in self.edges)


class ChunkProjection(NamedTuple):
    """The part of a selection that falls into one chunk.

    `chunk_selection` is an index into the chunk, `out_selection` one into the result.
    """

    chunk_coords: tuple[int, ...]
    chunk_selection: Any
    out_selection: Any
    is_complete_chunk: bool


class Indexer:
    """What yields the parts of a selection, each within one chunk.

    `shape` is that of the result; what is read of a chunk is without the dimensions in `drop_axes`.
    """

    shape: tuple[int, ...]
    drop_axes: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[ChunkProjection]:
        raise NotImplementedError(f"{type(self).__name__} yields no parts of chunks")


class _ByDimension(Indexer):
    _select: Callable[[Any, Sequence[int]], Selection]

    def __init__(self, selection: Any, shape: Sequence[int], chunk_grid: ChunkGrid) -> None:
        chosen = type(self)._select(selection, shape)
        self.shape = chosen.shape
        self._dims = chosen.dims
        self._axes = axes_of(shape, chunk_grid.edges)
        self._single = [is_integer(item) for item in items_of(selection, len(shape))]
        self._n_arrays = sum(isinstance(dim, np.ndarray) for dim in chosen.dims)
        single = tuple([i for i, is_single in enumerate(self._single) if is_single])
        self.drop_axes = single if self._n_arrays else ()
        """Dimensions of length one in what is selected of a chunk, which the result does not have."""

    def __iter__(self) -> Iterator[ChunkProjection]:
        for part in project(self._dims, self._axes):
            inside: Any = part.inside
            outside = tuple(
                [place for place, is_single in zip(part.outside, self._single, strict=True) if not is_single]
            )
            if not self._n_arrays:  # NumPy drops the dimensions
                inside = tuple(
                    [
                        place.start if is_single else place
                        for place, is_single in zip(inside, self._single, strict=True)
                    ]
                )
            elif self._n_arrays > 1 or self.drop_axes:
                lengths = [axis.chunk_length(k) for axis, k in zip(self._axes, part.coords, strict=True)]
                inside = np.ix_(
                    *(_indices(place, length) for place, length in zip(inside, lengths, strict=True))
                )
                outside = outer_index(outside, self.shape)
            yield ChunkProjection(part.coords, inside, outside, part.complete)


def _indices(place: Any, length: int) -> np.ndarray:
    return place if isinstance(place, np.ndarray) else np.arange(length)[place]


class BasicIndexer(_ByDimension):
    """The parts of a selection of integers and slices.

    Parameters
    ----------
    selection : int, slice or tuple of them
        The selection.
    shape : sequence of int
        Shape of the array.
    chunk_grid : ChunkGrid
        Its chunks.

    Examples
    --------
    >>> grid = ChunkGrid.from_sizes((10, 5), (4, 5))
    >>> indexer = BasicIndexer((slice(2, 6), 1), (10, 5), grid)
    >>> indexer.shape, [part.chunk_coords for part in indexer]
    ((4,), [(0, 0), (1, 0)])
    """

    _select = staticmethod(basic_selection)


class OrthogonalIndexer(_ByDimension):
    """The parts of a selection of integers, slices and arrays of indices, each along a dimension.

    Parameters
    ----------
    selection : int, slice, array or tuple of them
        The selection.
    shape : sequence of int
        Shape of the array.
    chunk_grid : ChunkGrid
        Its chunks.

    Examples
    --------
    >>> grid = ChunkGrid.from_sizes((10, 5), (4, 5))
    >>> indexer = OrthogonalIndexer(([0, 9], [1, 2]), (10, 5), grid)
    >>> indexer.shape, [part.chunk_coords for part in indexer]
    ((2, 2), [(0, 0), (2, 0)])
    """

    _select = staticmethod(orthogonal_selection)
