"""Which chunks of an array are stored, and how large they are, by listing and indexes alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from zarrcore._records import dataclass
from zarrcore._validate import of_array
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray
from zarrcore.codecs.base import EMPTY
from zarrcore.engine.build import chunk_store
from zarrcore.inspection.indexes import (
    ShardIndexes,
    ShardLayout,
    extents_of,
    layout_of,
    live_bytes,
    read_indexes,
)
from zarrcore.inspection.listing import UNKNOWN, KeyReader, Stored, batches_of, list_files, size_now
from zarrcore.nodes.reading import reading
from zarrcore.storage.base import Store
from zarrcore.storage.validation import key_prefix


@dataclass(frozen=True, repr=False)
class ChunkInfo:
    """The stored chunks of an array; in a sharded array these are its shards.

    Arrays with one entry for each stored chunk are in the order of the grid.

    Attributes
    ----------
    grid : tuple of int
        Number of chunks along each dimension.
    chunks : ndarray of int64
        Index of each chunk, shape (stored chunks, dimensions).
    nbytes : ndarray of int64
        Stored size of each chunk in bytes; -1 if it could not be found out.
    inner_counts : ndarray of int64 or None
        Number of inner chunks in each shard; None if the array has no shards.
    unused : ndarray of int64 or None
        Bytes of each shard that neither an inner chunk nor the index uses.
    inner_nbytes : ndarray of int64 or None
        Stored size of each inner chunk, -1 where there is none, of shape (stored shards, ...): the other
        dimensions are those of the grid of inner chunks in a shard.  None if shards have different shapes, or
        if most of them are too small to have an index.
    damaged : tuple of (tuple of int, str)
        Shards whose index cannot be read, and why; they count as shards without inner chunks.
    """

    grid: tuple[int, ...]
    chunks: np.ndarray
    nbytes: np.ndarray
    inner_counts: np.ndarray | None = None
    unused: np.ndarray | None = None
    inner_nbytes: np.ndarray | None = None
    damaged: tuple[tuple[tuple[int, ...], str], ...] = ()

    def __len__(self) -> int:
        return len(self.chunks)

    def __repr__(self) -> str:
        total = int(np.maximum(self.nbytes, 0).sum())
        text = f"<{len(self)} of {np.prod(self.grid, dtype=object)} chunks stored, {total} bytes"
        if self.inner_counts is not None and self.unused is not None:
            text += f", {int(self.inner_counts.sum())} inner chunks, {int(self.unused.sum())} bytes unused"
        return f"{text}{f', {len(self.damaged)} damaged' if self.damaged else ''}>"


def chunk_info(array: OpenArray) -> ChunkInfo:
    """Find the stored chunks; see :meth:`zarrcore.Array.chunk_info`."""
    array.follow()
    stored = stored_in_order(array)
    grid = tuple(axis.nchunks for axis in grid_axes(array))
    if layout_of(array.metadata) is None:
        return ChunkInfo(grid, stored.coords, stored.sizes)
    counts, unused = np.zeros((2, stored.number), np.int64)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    bad: list[tuple[int, str]] = []
    for rows, indexes, shard in shards_of(array, stored, bad):
        bad += [(int(rows[k]), why) for k, why in indexes.bad]
        counts[rows] = indexes.present.sum(axis=1)
        unused[rows] = unused_bytes(indexes, shard)
        lengths = np.where(indexes.present, indexes.entries[..., 1], np.uint64(EMPTY)).view(np.int64)
        parts.append((rows, lengths.reshape(-1, *shard.grid)))
    damaged = tuple((tuple(stored.coords[row].tolist()), why) for row, why in sorted(bad))
    inner = _inner_sizes(parts, stored.number)
    return ChunkInfo(grid, stored.coords, stored.sizes, counts, unused, inner, damaged)


def _inner_sizes(parts: Sequence[tuple[np.ndarray, np.ndarray]], number: int) -> np.ndarray | None:
    """Return the sizes of inner chunks; parts have those of some rows, the others have none.

    None if that is not possible, or if most rows have none: small values would take much memory.
    """
    n = sum(len(rows) for rows, _ in parts)
    if len({part.shape[1:] for _, part in parts}) != 1 or 2 * n < number:
        return None
    inner = np.full((number, *parts[0][1].shape[1:]), -1, np.int64)
    for rows, part in parts:
        inner[rows] = part
    return inner


def _sizes(array: OpenArray) -> Iterator[tuple[str, int | None]]:
    with reading(array.store_path, key_prefix(array.path)):
        yield from chunk_store(array.metadata, array.store_path)._list_sizes(array.path)


def stored_in_order(array: OpenArray) -> Stored:
    """Return the stored chunks of the grid, in its order."""
    with of_array(array.path):
        return _stored_in_order(array)


def _stored_in_order(array: OpenArray) -> Stored:
    prefix = key_prefix(array.path)
    grid = np.array([axis.nchunks for axis in grid_axes(array)], np.int64)
    reader = KeyReader(array.metadata.chunk_key_encoding, grid.tolist())
    found = list_files(chunk_store(array.metadata, array.store_path), array.engine(), sizes=True)
    names: Iterable[tuple[str, int | None]] = _sizes(array)
    parts = [(np.zeros((0, array.ndim), np.int64), np.zeros(0, np.int64))]
    if found is not None:
        coords, sizes, others = found
        parts.append((coords, sizes))
        names = ((prefix + name, UNKNOWN) for name in others)  # chunks with huge numbers among them
    for batch in batches_of(names):
        coords, is_chunk = reader.read([key[len(prefix) :] for key, _ in batch])
        parts.append((coords[is_chunk], np.array([size for _, size in batch], np.int64)[is_chunk]))
    coords, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
    stored = Stored(coords, sizes, reader.key_below(prefix)).chosen((coords < grid).all(axis=1))
    order = np.lexsort(stored.coords.T[::-1]) if array.ndim else np.arange(stored.number)
    return stored.chosen(order)


def shards_of(
    array: OpenArray, stored: Stored, short: list[tuple[int, str]]
) -> Iterator[tuple[np.ndarray, ShardIndexes, ShardLayout]]:
    """Yield the indexes of some shards, in their order: their numbers, the indexes, and the layout.

    The numbers of those that are too small to have an index, for which no room is made, go to `short`.
    """
    store = chunk_store(array.metadata, array.store_path)
    axes = grid_axes(array)
    lengths = [
        [axis.chunk_length(k) for k, axis in zip(row, axes, strict=True)] for row in stored.coords.tolist()
    ]
    start = 0
    for shape, group in groupby(lengths):
        stop = start + len(list(group))
        shard = layout_of(array.metadata, tuple(stored.coords[start].tolist()))
        assert shard is not None and len(shape) == array.ndim
        rows = np.arange(start, stop)
        start = stop
        sizes, is_there = _known_sizes(store, stored.chosen(rows))
        fits = sizes >= shard.index_nbytes
        damaged = is_there & ~fits
        for row, size in zip(rows[damaged].tolist(), sizes[damaged].tolist(), strict=True):
            short.append((row, shard.too_small(size)))
        rows = rows[fits]
        for indexes in read_indexes(store, stored.chosen(rows), shard, array.engine()):
            n = indexes.shards.number
            yield rows[:n], indexes, shard
            rows = rows[n:]


def _known_sizes(store: Store, shards: Stored) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of shards, which a listing need not have, and which of them are still there."""
    sizes, is_there = shards.sizes.copy(), np.ones(shards.number, bool)
    for number in np.flatnonzero(sizes == UNKNOWN).tolist():
        size = size_now(store, shards.key_at(number))
        sizes[number], is_there[number] = (UNKNOWN, False) if size is None else (size, True)
    return sizes, is_there


def unused_bytes(indexes: ShardIndexes, shard: ShardLayout) -> np.ndarray:
    """Return how many bytes of each shard neither an inner chunk nor the index uses; 0 of damaged ones."""
    found = extents_of(indexes, shard)
    unused = indexes.shards.sizes - found.used.astype(np.int64)
    bad = (found.half | found.beyond | found.in_index).any(axis=1)
    bad[[k for k, _ in indexes.bad]] = True
    unused[bad] = 0
    for k in np.flatnonzero(found.overlaps & ~bad).tolist():  # extents of the others may be of any length
        unused[k] = indexes.shards.sizes[k] - shard.index_nbytes - live_bytes(indexes.entries[k])
    return unused
