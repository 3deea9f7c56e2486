"""Selections on the chunk grid: which part of a selection is in which chunk.

All arithmetic is closed-form or vectorised: the cost grows with the number of chunks touched, never with the
size of the grid or with the number of elements in a progression.
"""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._typed import NamedTuple
from zarrcore.errors import BoundsCheckError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeVar

    from zarrcore.codecs.base import ArraySpec, Buffer
    from zarrcore.codecs.chain import CodecChain
    from zarrcore.indexing import Dim

    T = TypeVar("T")
    FieldNames = str | tuple[str, ...]
    Selector = slice | np.ndarray

_NO_BOUNDS = np.zeros(0, dtype=np.int64)  # of a dimension whose chunks all have one size


class Axis:
    """One dimension of a chunk grid: `length` elements in chunks of a size, or of the sizes in `edges`."""

    __slots__ = ("_bounds", "length", "nchunks", "size")

    def __init__(self, length: int, edges: int | Sequence[int]) -> None:
        self.length = length
        if isinstance(edges, int):
            self.size: int | None = edges
            self._bounds = _NO_BOUNDS
            self.nchunks = _count(length, edges)
        else:
            self.size = None
            self._bounds = np.concatenate(([0], np.cumsum(np.asarray(edges, dtype=np.int64))))
            self.nchunks = int(np.searchsorted(self._bounds, length, side="left"))

    def chunk_of(self, index: int) -> int:
        """Return the number of the chunk that contains element `index`."""
        return int(self.chunks_of(index))

    def chunks_of(self, indices: Any) -> Any:
        """Return the numbers of the chunks that contain the elements `indices`."""
        if self.size is not None:
            return indices // self.size
        return np.searchsorted(self._bounds, indices, side="right") - 1

    def offset(self, chunk: int) -> int:
        """First element of a chunk."""
        return chunk * self.size if self.size is not None else int(self._bounds[chunk])

    def chunk_length(self, chunk: int) -> int:
        """Length of a chunk as it is stored, even beyond the array's end."""
        if self.size is not None:
            return self.size
        return int(self._bounds[chunk + 1] - self._bounds[chunk])

    def valid_length(self, chunk: int) -> int:
        """Length of the part of a chunk that lies within the array."""
        return min(self.chunk_length(chunk), self.length - self.offset(chunk))


def axes_of(shape: Sequence[int], chunks: Sequence[int | Sequence[int]]) -> tuple[Axis, ...]:
    """Return the axes of a chunk grid."""
    return tuple(Axis(length, edges) for length, edges in zip(shape, chunks, strict=True))


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items, and a last one of what is left."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def grid_shape(shape: Sequence[int], chunks: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """Number of chunks along each dimension."""
    return tuple([
        _count(length, edges) if isinstance(edges, int) else Axis(length, edges).nchunks
        for length, edges in zip(shape, chunks, strict=True)
    ])


def _count(length: int, chunk: int) -> int:
    return -(-length // chunk) if chunk else 0


class ChunkPart(NamedTuple):
    """The part of a selection that falls into one chunk, given by its position in the grid (`coords`).

    `inside` has, for each dimension, a slice or an index array into the chunk, `outside` one into the block;
    for points, whose index arrays belong together one by one, `outside` is a single one.  `complete`: every
    element of the chunk that lies within the array is selected, in order.
    """

    coords: tuple[int, ...]
    inside: tuple[Selector, ...]
    outside: tuple[Selector, ...]
    complete: bool
    points: bool = False

    def inside_of(self, chunk: np.ndarray) -> Any:
        """Return the index of the part in an array of the chunk's shape."""
        return (self.inside if self.points else outer_index(self.inside, chunk.shape)) or (...,)

    def outside_of(self, block: np.ndarray) -> Any:
        """Return the index of the part in an array of the selection's shape (flat for points)."""
        return outer_index(self.outside, block.shape) or (...,)  # () would mean the only item

    def is_whole(self, shape: tuple[int, ...]) -> bool:
        """Return whether it is all of a chunk of `shape`, in order, and by slices alone."""
        return all(
            isinstance(inside, slice)
            and isinstance(outside, slice)
            and inside.indices(length) == (0, length, 1)
            for inside, outside, length in zip(self.inside, self.outside, shape, strict=True)
        )


class Piece(NamedTuple):
    """The part of a selection along one dimension that falls into one chunk."""

    chunk: int
    inside: Selector
    outside: Selector
    complete: bool


def _forward(start: int, step: int, count: int, axis: Axis) -> Iterator[Piece]:
    """Yield the pieces of a progression with a positive step."""
    done = 0
    while done < count:
        index = start + done * step
        chunk = axis.chunk_of(index)
        offset = axis.offset(chunk)
        valid = axis.valid_length(chunk)
        inside = index - offset
        taken = min(count - done, -(-(valid - inside) // step))
        if taken < 1:  # another thread has made the array smaller; this would go on without end
            raise BoundsCheckError(f"element {index} leaves the {axis.length} elements of the dimension")
        complete = inside == 0 and taken == valid
        stop = inside + (taken - 1) * step + 1
        yield Piece(chunk, slice(inside, stop, step), slice(done, done + taken), complete)
        done += taken


def _gathered(indices: np.ndarray, axis: Axis) -> Iterator[Piece]:
    """Yield the pieces of an index array, chunk by chunk."""
    if indices.size == 0:
        return
    chunks = axis.chunks_of(indices)
    order = None
    if np.any(chunks[1:] < chunks[:-1]):
        order = np.argsort(chunks, kind="stable")
        chunks = chunks[order]
    starts = np.concatenate(([0], np.flatnonzero(chunks[1:] != chunks[:-1]) + 1))
    stops = np.append(starts[1:], chunks.size)
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        chunk = int(chunks[first])
        outside: Selector = slice(first, last) if order is None else order[first:last]
        yield Piece(chunk, indices[outside] - axis.offset(chunk), outside, False)


def pieces_of(dim: Dim, axis: Axis) -> Iterator[Piece]:
    """Return the pieces of one dimension of a selection, chunk by chunk (backwards for a step < 0)."""
    if isinstance(dim, np.ndarray):
        return _gathered(dim, axis)
    start, step, count = dim
    if step > 0:
        return _forward(start, step, count, axis)
    reverse = _forward(start + (count - 1) * step, -step, count, axis)
    return (piece._replace(outside=_backward(piece.outside, count)) for piece in reverse)


def _backward(ahead: Any, count: int) -> slice:
    """Return the same places in a dimension of `count` elements that is written from its end."""
    low = count - 1 - ahead.stop
    return slice(count - 1 - ahead.start, None if low < 0 else low, -1)


def project(dims: Sequence[Dim], axes: Sequence[Axis]) -> Iterator[ChunkPart]:
    """Return the parts of a block, one for each chunk that it touches."""
    per_dim = [pieces_of(dim, axis) for dim, axis in zip(dims, axes, strict=True)]
    return map(part_of, product(*per_dim))


def part_of(pieces: Sequence[Piece]) -> ChunkPart:
    """Return the part of a selection that has these pieces, one for each dimension."""
    return ChunkPart(
        tuple([piece.chunk for piece in pieces]),
        tuple([piece.inside for piece in pieces]),
        tuple([piece.outside for piece in pieces]),
        all(piece.complete for piece in pieces),
    )


def project_points(coords: Sequence[np.ndarray], axes: Sequence[Axis]) -> Iterator[ChunkPart]:
    """Yield the parts of a list of points, one for each chunk; points of one chunk keep their order."""
    if coords[0].size == 0:
        return
    chunks = [axis.chunks_of(index) for index, axis in zip(coords, axes, strict=True)]
    order = np.lexsort(chunks[::-1])  # by dimension, so that no linear chunk number can overflow
    sorted_chunks = [chunk[order] for chunk in chunks]
    change = np.zeros(order.size - 1, dtype=bool)
    for chunk in sorted_chunks:
        change |= chunk[1:] != chunk[:-1]
    starts = np.concatenate(([0], np.flatnonzero(change) + 1))
    stops = np.append(starts[1:], order.size)
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        where = order[first:last]
        at = tuple(int(chunk[first]) for chunk in sorted_chunks)
        inside = tuple(
            index[where] - axis.offset(chunk) for index, axis, chunk in zip(coords, axes, at, strict=True)
        )
        yield ChunkPart(at, inside, (where,), False, points=True)


def dim_of(selector: Selector, offset: int = 0) -> Dim:
    """Return a selector within a chunk that begins at `offset` as a dimension of a selection."""
    if not isinstance(selector, slice):
        return selector + offset
    length = len(range(selector.start, selector.stop, selector.step))
    return selector.start + offset, selector.step, length


def dims_of(part: ChunkPart, axes: Sequence[Axis]) -> tuple[Dim, ...]:
    """Return a part as a selection of the array that has these axes."""
    places = zip(part.inside, part.coords, axes, strict=True)
    return tuple([dim_of(selector, axis.offset(k)) for selector, k, axis in places])


def outer_index(selectors: tuple[Selector, ...], shape: tuple[int, ...]) -> Any:
    """Return an index that numpy applies as an outer product of slices and index arrays."""
    if sum(isinstance(selector, np.ndarray) for selector in selectors) < 2:
        return selectors
    return np.ix_(
        *(
            selector if isinstance(selector, np.ndarray) else np.arange(length)[selector]
            for selector, length in zip(selectors, shape, strict=True)
        )
    )


def raw_dtype(dtype: np.dtype) -> np.dtype:
    """The data type in which engines read and write a field; one that is an array itself is a void item."""
    return dtype if dtype.subdtype is None else np.dtype((np.void, dtype.itemsize))


def raw_field(records: np.ndarray, name: str) -> np.ndarray:
    """Return a view of one field of records, of its :func:`raw_dtype`."""
    fields: Any = records.dtype.fields
    dtype, offset = fields[name][:2]
    only = {
        "names": [name],
        "formats": [raw_dtype(dtype)],
        "offsets": [offset],
        "itemsize": records.dtype.itemsize,
    }
    return records.view(np.dtype(only))[name]  # type: ignore[call-overload,no-any-return]


def put_fields(records: np.ndarray, index: Any, values: np.ndarray, field: FieldNames | None) -> None:
    """Put whole records, one raw field or several fields of them at an index of records."""
    if field is None:
        records[index] = values
    elif isinstance(field, str):
        raw_field(records, field)[index] = values
    else:
        for name in field:
            raw_field(records, name)[index] = raw_field(values, name)


def decode_part(chain: CodecChain, data: Buffer, spec: ArraySpec, part: ChunkPart, out: np.ndarray) -> None:
    """Put a part of a chunk, which was `data` before the bytes -> bytes codecs, into its place in `out`."""
    place = part.outside_of(out)
    if part.is_whole(spec.shape):
        chain.decode_array_into(data, spec, out[place])
    else:
        chunk = chain.decode_array(data, spec)
        out[place] = chunk[part.inside_of(chunk)]
