"""Values on their way to an array: what has been given of chunks that are not written yet.

A :class:`PendingChunk` keeps its values in blocks, one for each inner chunk of a shard that was touched (a
chunk without inner chunks is one block), so that it takes no more memory than what was given justifies.
Nothing here knows of stores; :mod:`zarrcore.arrays.writer` decides when chunks are written.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zarrcore._locks import Rank, lock
from zarrcore.engine.projection import Axis, axes_of, outer_index, pieces_of, put_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from zarrcore.engine.projection import FieldNames, Selector
    from zarrcore.indexing import Dim


class Cut(NamedTuple):
    """The part of a selection along one dimension that falls into one block.

    Attributes
    ----------
    chunk
        Number of the chunk along the dimension.
    block
        Number of the block in the chunk.
    inside, outside
        The elements in the block, and their places in the selection.
    complete
        All elements of the array in the block are selected, in order.
    """

    chunk: int
    block: int
    inside: Selector
    outside: Selector
    complete: bool


class BlockGrid:
    """Chunks and the blocks in them.

    Parameters
    ----------
    shape
        Of the array.
    edges
        For each dimension the length of the chunks, or the lengths of all of them.
    block
        Shape of a block, which divides all chunks; None: each chunk is one.
    """

    def __init__(
        self, shape: Sequence[int], edges: Sequence[int | Sequence[int]], block: Sequence[int] | None
    ) -> None:
        self.shape = tuple(shape)
        self.chunks = axes_of(shape, edges)
        self.blocks = self.chunks if block is None else axes_of(shape, block)

    def cuts(self, dims: Sequence[Dim]) -> list[dict[int, list[Cut]]]:
        """For each dimension the cuts of a selection, by chunk."""
        return [self._cuts_along(d, dim) for d, dim in enumerate(dims)]

    def _cuts_along(self, d: int, dim: Dim) -> dict[int, list[Cut]]:
        found: dict[int, list[Cut]] = {}
        for piece in pieces_of(dim, self.blocks[d]):
            chunk, block = self._place(d, piece.chunk)
            found.setdefault(chunk, []).append(Cut(chunk, block, piece.inside, piece.outside, piece.complete))
        return found

    def _place(self, d: int, block: int) -> tuple[int, int]:
        """Return the chunk of a block, and the block's number in it."""
        chunks, blocks = self.chunks[d], self.blocks[d]
        if chunks is blocks:
            return block, 0
        offset = blocks.offset(block)
        chunk = chunks.chunk_of(offset)
        return chunk, block - chunks.offset(chunk) // blocks.chunk_length(block)

    def place(self, blocks: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Chunk and place in it of a block of the whole grid."""
        places = [self._place(d, block) for d, block in enumerate(blocks)]
        return tuple(chunk for chunk, _ in places), tuple(block for _, block in places)

    def start(self, chunk: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
        """Return the first element of a block, in the array."""
        return tuple(
            whole.offset(k) + (0 if whole is axis else b * axis.chunk_length(0))
            for whole, axis, k, b in zip(self.chunks, self.blocks, chunk, block, strict=True)
        )

    def block_shape(self, chunk: Sequence[int]) -> tuple[int, ...]:
        """Shape of the blocks of a chunk."""
        return tuple(
            axis.chunk_length(k) if axis is whole or axis.size is None else axis.size
            for axis, whole, k in zip(self.blocks, self.chunks, chunk, strict=True)
        )

    def valid(self, chunk: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
        """Shape of the part of a block that lies in the array."""
        lengths = []
        for whole, axis, k, b in zip(self.chunks, self.blocks, chunk, block, strict=True):
            if whole is axis:
                lengths.append(axis.valid_length(k))
            else:
                size = axis.chunk_length(0)
                lengths.append(min(size, self.shape[len(lengths)] - whole.offset(k) - b * size))
        return tuple(lengths)

    def blocks_in(self, chunk: Sequence[int]) -> int:
        """Return the number of blocks of a chunk that hold elements of the array."""
        count = 1
        for whole, axis, k in zip(self.chunks, self.blocks, chunk, strict=True):
            if whole is not axis:
                count *= -(-whole.valid_length(k) // axis.chunk_length(0))
        return count


class _Block:
    """Values of one block, and which of them were given (None: all that lie in the array)."""

    __slots__ = ("given", "mask", "values", "wanted")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, wanted: int) -> None:
        self.values = np.empty(shape, dtype)
        self.mask: np.ndarray | None = np.zeros(shape, bool)  # memory that nothing touches costs nothing
        self.given = 0
        self.wanted = wanted  # elements in the array


class PendingChunk:
    """What has been given of one chunk.  All but `coords` and `nbytes` is used under its lock only."""

    __slots__ = ("_dtype", "_grid", "blocks", "coords", "done", "lock", "nbytes", "puts")

    def __init__(self, grid: BlockGrid, coords: tuple[int, ...], dtype: np.dtype) -> None:
        self._grid = grid
        self._dtype = dtype
        self.coords = coords
        self.lock = lock(Rank.PENDING)
        self.blocks: dict[tuple[int, ...], _Block] = {}
        self.nbytes = 0
        self.puts = 0  # how often values were put in
        self.done = False  # it was written, and whoever waited for the lock needs a new one

    @property
    def complete(self) -> bool:
        """All elements of the array in the chunk were given."""
        return len(self.blocks) == self._grid.blocks_in(self.coords) and all(
            block.mask is None for block in self.blocks.values()
        )

    def put(
        self,
        cuts: Iterable[tuple[Cut, ...]],
        values: np.ndarray,
        field: FieldNames | None = None,
        stored: Callable[[tuple[int, ...], np.ndarray], object] | None = None,
    ) -> None:
        """Take over the values at all `cuts`, one combination of cuts for each block.

        Of `field` alone, if it is given: then ``stored(start, out)`` reads what is stored of a block, so that
        the other fields keep their values.
        """
        for each in cuts:
            inside = tuple(cut.inside for cut in each)
            outside = tuple(cut.outside for cut in each)
            place = tuple(cut.block for cut in each)
            plain = not any(isinstance(selector, np.ndarray) for selector in inside)
            given = values[outside if plain else outer_index(outside, values.shape)]
            block = self._block(place)
            index: Any = inside if plain else outer_index(inside, block.values.shape)
            if stored is not None:
                self._lay_stored(block, place, index, stored)
            put_fields(block.values, index, given, field)
            if plain:
                self._note(block, index, complete=all(cut.complete for cut in each))
            else:
                self._note_listed(block, index)

    def put_points(
        self,
        place: tuple[int, ...],
        inside: tuple[np.ndarray, ...],
        values: np.ndarray,
        field: FieldNames | None = None,
        stored: Callable[[tuple[int, ...], np.ndarray], object] | None = None,
    ) -> None:
        """Take over single values of one block; of repeated points the last one stays."""
        block = self._block(place)
        if stored is not None:
            self._lay_stored(block, place, inside, stored)
        put_fields(block.values, inside, values, field)
        self._note_listed(block, inside)

    def _lay_stored(
        self, block: _Block, place: tuple[int, ...], index: Any, stored: Callable[..., object]
    ) -> None:
        """Put what is stored under elements that are about to be given in part."""
        if block.mask is None or block.mask[index].all():
            return
        old = np.empty(self._grid.valid(self.coords, place), self._dtype)
        stored(self._grid.start(self.coords, place), old)
        inside = tuple(slice(0, n) for n in old.shape)
        np.copyto(block.values[inside], old, where=~block.mask[inside])

    def _note(self, block: _Block, inside: tuple[Selector, ...], *, complete: bool) -> None:
        """Note which elements were given."""
        self.puts += 1
        if complete:
            self._count(block, block.wanted)
        elif block.mask is not None:
            mask = block.mask[inside]
            new = mask.size - int(np.count_nonzero(mask))
            mask[...] = True
            self._count(block, block.given + new)

    def _note_listed(self, block: _Block, inside: Any) -> None:
        """Do the same by index arrays, which may name an element several times."""
        self.puts += 1
        if block.mask is not None:
            block.mask[inside] = True
            self._count(block, int(np.count_nonzero(block.mask)))

    def _block(self, place: tuple[int, ...]) -> _Block:
        block = self.blocks.get(place)
        if block is None:
            wanted = math.prod(self._grid.valid(self.coords, place))
            block = self.blocks[place] = _Block(self._grid.block_shape(self.coords), self._dtype, wanted)
            assert block.mask is not None
            self.nbytes += block.values.nbytes + block.mask.nbytes
        return block

    def _count(self, block: _Block, given: int) -> None:
        """Note how many elements were given; a block that has all of them needs no mask any more."""
        block.given = given
        if given == block.wanted and block.mask is not None:
            self.nbytes -= block.mask.nbytes
            block.mask = None

    def regrid(self, grid: BlockGrid) -> None:
        """Note that the array has grown: blocks at its old end may be incomplete now."""
        for place, block in self.blocks.items():
            before = self._grid.valid(self.coords, place)
            block.wanted = math.prod(grid.valid(self.coords, place))
            if block.mask is None and block.wanted != block.given:
                block.mask = np.zeros(block.values.shape, bool)
                block.mask[tuple(slice(0, n) for n in before)] = True
                self.nbytes += block.mask.nbytes
        self._grid = grid

    def overlay(self, cuts: Sequence[dict[int, list[Cut]]], result: np.ndarray) -> None:
        """Put what was given into a block that was read by the selection of the cuts."""
        for each in product(*(along.get(k, ()) for along, k in zip(cuts, self.coords, strict=True))):
            block = self.blocks.get(tuple(cut.block for cut in each))
            if block is not None:
                outside = outer_index(tuple(cut.outside for cut in each), result.shape)
                inside = outer_index(tuple(cut.inside for cut in each), block.values.shape)
                result[outside] = _merged(block, inside, result[outside])

    def overlay_points(
        self, place: tuple[int, ...], inside: tuple[np.ndarray, ...], outside: Any, result: np.ndarray
    ) -> None:
        """Do the same for single elements of one block."""
        block = self.blocks.get(place)
        if block is not None:
            result[outside] = _merged(block, inside, result[outside])


def _merged(block: _Block, inside: Any, read: np.ndarray) -> np.ndarray:
    values: np.ndarray = block.values[inside]
    return values if block.mask is None else np.where(block.mask[inside], values, read)


def interior(dims: Sequence[Dim], axes: Sequence[Axis]) -> list[tuple[int, int]] | None:
    """Return, for each dimension, the range of chunks that a selection covers; None if there are none."""
    ranges = []
    for dim, axis in zip(dims, axes, strict=True):
        if not isinstance(dim, tuple) or (dim[1] != 1 and dim[2] > 1) or dim[2] == 0:
            return None
        start, stop = dim[0], dim[0] + dim[2]
        first = axis.chunk_of(start)
        if axis.offset(first) != start:
            first += 1
        last = axis.nchunks if stop == axis.length else axis.chunk_of(stop)
        if first >= last:
            return None
        ranges.append((first, last))
    return ranges
