"""Values on their way to an array: what has been given of chunks that are not written yet.

A :class:`PendingChunk` keeps its values in blocks, one for each inner chunk of a shard that was touched (a
chunk without inner chunks is one block), so that it takes no more memory than what was given justifies.
Nothing here knows of stores; :mod:`zarrcore.arrays.writer` decides when chunks are written.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._locks import Rank, lock, owning
from zarrcore.engine.projection import Axis, axes_of, part_of, pieces_of, project_points, put_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from zarrcore.engine.projection import ChunkPart, FieldNames, Piece
    from zarrcore.indexing import Dim

    Coords = tuple[int, ...]
    Parts = Iterable[ChunkPart]
    Cuts = list[dict[int, list[Piece]]]
    """The pieces of a selection, one for each block: for each dimension by chunk."""


class BlockGrid:
    """Chunks and the blocks in them: of a shape `block` that divides all chunks, or (None) whole chunks."""

    def __init__(
        self, shape: Sequence[int], edges: Sequence[int | Sequence[int]], block: Sequence[int] | None
    ) -> None:
        self.shape = tuple(shape)
        self.chunks = axes_of(shape, edges)
        self.blocks = self.chunks if block is None else axes_of(shape, block)

    def cuts(self, dims: Sequence[Dim]) -> Cuts:
        """Return the pieces of a selection."""
        found: Cuts = []
        for dim, chunks, blocks in zip(dims, self.chunks, self.blocks, strict=True):
            by_chunk: dict[int, list[Piece]] = {}
            for piece in pieces_of(dim, blocks):
                by_chunk.setdefault(_chunk_of(piece.chunk, chunks, blocks), []).append(piece)
            found.append(by_chunk)
        return found

    def points(self, coords: Sequence[np.ndarray]) -> dict[Coords, list[ChunkPart]]:
        """Return the parts of a list of points, one for each block, by chunk."""
        found: dict[Coords, list[ChunkPart]] = {}
        for part in project_points(coords, self.blocks):
            chunk = tuple(map(_chunk_of, part.coords, self.chunks, self.blocks))
            found.setdefault(chunk, []).append(part)
        return found

    def start(self, block: Coords) -> Coords:
        """Return the first element of a block."""
        return tuple(axis.offset(b) for axis, b in zip(self.blocks, block, strict=True))

    def block_shape(self, block: Coords) -> Coords:
        """Shape of a block."""
        return tuple(axis.chunk_length(b) for axis, b in zip(self.blocks, block, strict=True))

    def valid(self, block: Coords) -> Coords:
        """Shape of the part of a block that lies in the array."""
        return tuple(axis.valid_length(b) for axis, b in zip(self.blocks, block, strict=True))

    def place(self, chunk: Coords, block: Coords) -> Coords:
        """Return the position of a block among those of its chunk."""
        return tuple(
            0 if chunks is blocks else b - blocks.chunk_of(chunks.offset(k))
            for k, b, chunks, blocks in zip(chunk, block, self.chunks, self.blocks, strict=True)
        )

    def blocks_in(self, chunk: Coords) -> int:
        """Return the number of blocks of a chunk that hold elements of the array."""
        return math.prod(
            1 if chunks is blocks else -(-chunks.valid_length(k) // blocks.chunk_length(0))
            for k, chunks, blocks in zip(chunk, self.chunks, self.blocks, strict=True)
        )


def _chunk_of(block: int, chunks: Axis, blocks: Axis) -> int:
    return block if chunks is blocks else chunks.chunk_of(blocks.offset(block))


def parts_in(cuts: Cuts, chunk: Coords) -> Parts:
    """Return the parts of a selection that are in a chunk, one for each block."""
    return map(part_of, product(*(along.get(k, ()) for along, k in zip(cuts, chunk, strict=True))))


class _Block:
    """Values of one block, and which of them were given (None: all that lie in the array)."""

    __slots__ = ("given", "mask", "values", "wanted")

    def __init__(self, shape: Coords, dtype: np.dtype, wanted: int) -> None:
        self.values = np.empty(shape, dtype)
        self.mask: np.ndarray | None = np.zeros(shape, bool)  # memory that nothing touches costs nothing
        self.given = 0
        self.wanted = wanted  # elements in the array


class Memory:
    """The number of bytes that the pending chunks of a writer take up."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._lock = lock(Rank.TABLE)

    def grow(self, nbytes: int) -> None:
        """Count bytes that are taken up, or released."""
        with owning(self._lock):
            self.nbytes += nbytes


class PendingChunk:
    """What has been given of one chunk.  All but `coords` and `nbytes` is used under its lock only."""

    __slots__ = (
        "_dtype",
        "_grid",
        "_memory",
        "blocks",
        "changes",
        "coords",
        "done",
        "lock",
        "nbytes",
        "puts",
    )

    def __init__(self, grid: BlockGrid, coords: Coords, dtype: np.dtype, memory: Memory) -> None:
        self._grid = grid
        self._dtype = dtype
        self._memory = memory
        self.coords = coords
        self.lock = lock(Rank.PENDING)
        self.blocks: dict[Coords, _Block] = {}  # by their position in the grid of all blocks
        self.nbytes = 0
        self.changes = -1  # how often the key had changed when this was made
        self.puts = 0  # how often values were put in
        self.done = False  # it was written, and whoever waited for the lock needs a new one

    @property
    def complete(self) -> bool:
        """All elements of the array in the chunk were given."""
        return len(self.blocks) == self._grid.blocks_in(self.coords) and all(
            block.mask is None for block in self.blocks.values()
        )

    def gathered(self) -> dict[Coords, tuple[np.ndarray, np.ndarray | None]]:
        """Return values and mask of each block, as engines write them."""
        return {
            self._grid.place(self.coords, at): (block.values, block.mask) for at, block in self.blocks.items()
        }

    def put(
        self,
        parts: Parts,
        values: np.ndarray,
        field: FieldNames | None = None,
        stored: Callable[[Coords, np.ndarray], object] | None = None,
    ) -> None:
        """Take over values; of points that are repeated the last one stays.

        Of `field` alone, if it is given: then ``stored(start, out)`` reads what is stored of a block, so that
        the other fields keep their values.
        """
        self.puts += 1
        for part in parts:
            block = self._block(part.coords)
            index = part.inside_of(block.values)
            if stored is not None and block.mask is not None and not block.mask[index].all():
                self._lay_stored(block, part.coords, stored)
            put_fields(block.values, index, values[part.outside_of(values)], field)
            if block.mask is not None:
                self._note(block, part, index)

    def _lay_stored(self, block: _Block, at: Coords, stored: Callable[[Coords, np.ndarray], object]) -> None:
        """Put what is stored under elements that are about to be given in part."""
        assert block.mask is not None
        old = np.empty(self._grid.valid(at), self._dtype)
        stored(self._grid.start(at), old)
        inside = tuple(slice(0, n) for n in old.shape)
        np.copyto(block.values[inside], old, where=~block.mask[inside])

    def _note(self, block: _Block, part: ChunkPart, index: Any) -> None:
        """Note which elements were given; a block that has all of them needs no mask any more."""
        mask = block.mask
        assert mask is not None
        if part.complete:
            block.given = block.wanted
        elif any(isinstance(selector, np.ndarray) for selector in part.inside):  # may name one several times
            mask[index] = True
            block.given = int(np.count_nonzero(mask))
        else:
            chosen = mask[index]
            block.given += chosen.size - int(np.count_nonzero(chosen))
            chosen[...] = True
        if block.given == block.wanted:
            block.mask = None
            self._grow(-mask.nbytes)

    def _block(self, at: Coords) -> _Block:
        block = self.blocks.get(at)
        if block is None:
            wanted = math.prod(self._grid.valid(at))
            block = self.blocks[at] = _Block(self._grid.block_shape(at), self._dtype, wanted)
            assert block.mask is not None
            self._grow(block.values.nbytes + block.mask.nbytes)
        return block

    def _grow(self, nbytes: int) -> None:
        self.nbytes += nbytes
        self._memory.grow(nbytes)

    def regrid(self, grid: BlockGrid) -> None:
        """Note that the array has grown: blocks at its old end may be incomplete now."""
        for at, block in self.blocks.items():
            block.wanted = math.prod(grid.valid(at))
            if block.mask is None and block.wanted != block.given:
                block.mask = np.zeros(block.values.shape, bool)
                block.mask[tuple(slice(0, n) for n in self._grid.valid(at))] = True
                self._grow(block.mask.nbytes)
        self._grid = grid

    def cut(self, grid: BlockGrid) -> None:
        """Forget what lies outside a grid that is smaller again."""
        for at, block in [*self.blocks.items()]:
            ends = zip(self._grid.start(at), block.values.shape, grid.shape, strict=True)
            valid = tuple(min(n, end - start) for start, n, end in ends)
            before = block.values.nbytes + (0 if block.mask is None else block.mask.nbytes)
            if min(valid, default=1) <= 0:
                del self.blocks[at]
                self._grow(-before)
                continue
            inside = tuple(slice(0, n) for n in valid)
            given = np.ones(valid, bool) if block.mask is None else block.mask[inside]
            block.given, block.wanted = int(np.count_nonzero(given)), given.size
            block.mask = None
            if block.given < block.wanted:
                block.mask = np.zeros(block.values.shape, bool)
                block.mask[inside] = given
            self._grow(block.values.nbytes + (0 if block.mask is None else block.mask.nbytes) - before)
        self._grid = grid

    def overlay(self, parts: Parts, result: np.ndarray) -> None:
        """Put what was given into the parts of a selection that was read."""
        for part in parts:
            block = self.blocks.get(part.coords)
            if block is not None:
                place, index = part.outside_of(result), part.inside_of(block.values)
                values, mask = block.values[index], block.mask
                result[place] = values if mask is None else np.where(mask[index], values, result[place])


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


def outside(cuts: Cuts, inner: list[tuple[int, int]] | None) -> Iterator[Coords]:
    """Yield the chunks of a selection that are not in the inner ranges, without walking through those."""
    if inner is None:
        yield from product(*cuts)
        return
    for d, (first, last) in enumerate(inner):
        border = [chunk for chunk in cuts[d] if not first <= chunk < last]
        if border:
            yield from product(*(range(*along) for along in inner[:d]), border, *cuts[d + 1 :])
