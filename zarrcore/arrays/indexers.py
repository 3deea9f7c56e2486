"""Which part of a selection is in which chunk, in the classes of ``zarr.core.indexing``.

Packages derive indexers of their own from these, and have an array read what they yield.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._typed import NamedTuple
from zarrcore._validate import shape as parse_shape
from zarrcore.engine.projection import axes_of, outer_index, project
from zarrcore.indexing import Selection, basic_selection, is_integer, items_of, orthogonal_selection

__all__ = ["BasicIndexer", "ChunkGrid", "ChunkProjection", "ChunkSpec", "Indexer", "OrthogonalIndexer"]


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
    >>> chunks = ChunkGrid.from_sizes((10, 5), (4, (2, 3)))
    >>> chunks.grid_shape, chunks.chunk_sizes
    ((3, 2), ((4, 4, 2), (2, 3)))
    >>> chunks[2, 1].slices
    (slice(8, 10, 1), slice(2, 5, 1))
    """

    def __init__(self, array_shape: Sequence[int], chunk_sizes: Sequence[int | Sequence[int]]) -> None:
        self.array_shape = parse_shape(array_shape, "array_shape")
        self.edges = tuple([size if isinstance(size, int) else tuple(size) for size in chunk_sizes])
        self._axes = axes_of(self.array_shape, self.edges)
        self.grid_shape = tuple([axis.nchunks for axis in self._axes])

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

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The shape that all chunks have; it is a ValueError if they have several."""
        if not self.is_regular:
            raise ValueError(f"chunk_shape: the chunks have several shapes, their lengths are {self.edges}")
        return tuple([axis.chunk_length(0) for axis in self._axes])

    @property
    def chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """For each dimension the lengths of the chunks, as far as they lie within the array."""
        return tuple([tuple(map(axis.valid_length, range(axis.nchunks))) for axis in self._axes])

    def __getitem__(self, coords: int | tuple[int, ...]) -> ChunkSpec | None:
        """Return where a chunk lies; None if the grid has no such chunk."""
        position = coords if isinstance(coords, tuple) else (coords,)
        if len(position) != self.ndim:
            raise ValueError(f"coords: expected {self.ndim} for the chunks of the array, got {coords}")
        if not all(0 <= k < axis.nchunks for axis, k in zip(self._axes, position, strict=True)):
            return None
        parts = [(axis, k, axis.offset(k)) for axis, k in zip(self._axes, position, strict=True)]
        return ChunkSpec(
            tuple([slice(start, start + axis.valid_length(k), 1) for axis, k, start in parts]),
            tuple([axis.chunk_length(k) for axis, k, _ in parts]),
        )

    def __iter__(self) -> Iterator[ChunkSpec]:
        """Yield where each chunk lies."""
        return (spec for coords in self.all_chunk_coords() if (spec := self[coords]) is not None)

    def all_chunk_coords(
        self, *, origin: Sequence[int] | None = None, selection_shape: Sequence[int] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Yield the positions of chunks in the grid, from one of them on, as many as are asked for."""
        first = (0,) * self.ndim if origin is None else tuple(origin)
        rest = tuple([n - start for n, start in zip(self.grid_shape, first, strict=True)])
        counts = rest if selection_shape is None else tuple(selection_shape)
        if any(count > most for count, most in zip(counts, rest, strict=True)):
            raise IndexError(f"no {counts} chunks from {first} in a grid of {self.grid_shape} chunks")
        return product(*[range(start, start + count) for start, count in zip(first, counts, strict=True)])

    def iter_chunk_regions(
        self, *, origin: Sequence[int] | None = None, selection_shape: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, ...]]:
        """Yield the parts of the array that lie in these chunks."""
        for coords in self.all_chunk_coords(origin=origin, selection_shape=selection_shape):
            spec = self[coords]
            if spec is not None:
                yield spec.slices

    def get_nchunks(self) -> int:
        """Return the number of chunks."""
        return prod(self.grid_shape)


@dataclass(frozen=True)
class ChunkSpec:
    """Where one chunk lies in an array, and the shape it is stored in.

    Examples
    --------
    >>> last = ChunkGrid.from_sizes((10,), (4,))[2]
    >>> last.shape, last.codec_shape, last.is_boundary
    ((2,), (4,), True)
    """

    slices: tuple[slice, ...]
    codec_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the part that lies within the array."""
        return tuple([part.stop - part.start for part in self.slices])

    @property
    def is_boundary(self) -> bool:
        """Whether the chunk goes beyond the end of the array."""
        return self.shape != self.codec_shape


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
