"""Look at what is stored of one array: its keys, their sizes, its shards, and every chunk decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from zarrcore._core import engine
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray, engine_of_whole_chunks, open_array_at
from zarrcore.codecs.base import EMPTY
from zarrcore.engine.build import chunk_spec, chunk_store
from zarrcore.errors import ChunkError
from zarrcore.inspection.indexes import (
    CLAUSE,
    Extents,
    ShardIndexes,
    ShardLayout,
    extents_of,
    layout_of,
    live_bytes,
    overlapping,
    read_indexes,
)
from zarrcore.inspection.listing import (
    BATCH,
    DAMAGED,
    UNKNOWN,
    KeyReader,
    Stored,
    batches_of,
    is_gone,
    is_left_behind,
    is_listed_at_once,
    list_files,
    size_now,
)
from zarrcore.inspection.nodes import Node
from zarrcore.inspection.report import Findings, reason
from zarrcore.keys.base import names_hidden_by
from zarrcore.metadata import layout
from zarrcore.metadata.documents import NAMES
from zarrcore.nodes.foreign import is_litter
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import DOCUMENTS, key_prefix

_SLAB = 16 << 20  # bytes of decoded values at a time, as caches have room for; a single chunk may be larger
_REMOVED = "was removed after it was listed"
_MOST = 64 << 20  # the same where threads would have nothing to do, or where nothing is kept


class ArrayCheck:
    """What :func:`zarrcore.verify` looks at of one array."""

    def __init__(
        self, place: StorePath, node: Node, found: Findings, *, max_bytes: int, threads: int
    ) -> None:
        self._found = found
        self._path = place.path
        self._prefix = key_prefix(place.path)
        self._max_bytes = max_bytes
        self._threads = threads
        self._array = OpenArray(node.arrays[0], place, {"read_missing_chunks": True})
        self._metadata = self._array.metadata
        self._store = chunk_store(self._metadata, place)
        self._axes = grid_axes(self._array)
        grid = [axis.nchunks for axis in self._axes]
        self._keys = KeyReader(self._metadata.chunk_key_encoding, grid)
        self._key = self._keys.key_below(self._prefix)
        self._others = [KeyReader(other.chunk_key_encoding, grid) for other in node.arrays[1:]]
        self._own = DOCUMENTS if self._metadata.zarr_format > 1 else {*DOCUMENTS, *NAMES[1]}
        self._grid = np.array(grid, np.int64)

    def run(self, level: str) -> None:
        """Look at the array as thoroughly as a level demands."""
        measured = level == "data" and self._decoding_measures()
        for stored in self._listed(sizes=level != "metadata" and not measured):
            report = self._found.report
            report.chunks += stored.number
            self._found.expect(stored.number)
            if level == "metadata":
                self._found.step(stored.number)
                continue
            damaged = None
            if measured:
                stored, damaged = self._measured(stored)
            usable = self._has_size(stored)
            report.nbytes += int(np.maximum(stored.sizes, 0).sum())
            if damaged is not None:
                self._decoding.read_each(stored.chosen(usable & damaged))
                continue
            stored = self._check_indexes(stored.chosen(usable))
            if level == "data":
                self._decoding.run(stored)
            else:
                self._found.step(stored.number)

    def _decoding_measures(self) -> bool:
        """Return whether decoding finds out the sizes of stored values, so that nobody else has to."""
        return is_listed_at_once(self._store) and layout_of(self._metadata) is None and self._decoding.tries

    def _measured(self, stored: Stored) -> tuple[Stored, np.ndarray]:
        """Decode chunks of unknown size; returns them with their sizes, and which were not decoded."""
        sizes = self._decoding.sizes_of(stored)
        failed = sizes < 0
        for number in np.flatnonzero(failed).tolist():
            sizes[number] = self._size(stored.key_at(number))  # of one that was absent for a moment, too
        return stored._replace(sizes=sizes), failed

    def _size(self, key: str) -> int:
        try:
            size = self._store._size(key)
        except Exception:
            return UNKNOWN  # which is a finding
        return UNKNOWN if size is None else size

    @cached_property
    def _engine(self) -> Any:
        """The engine of whole chunks; None if there is none, which is for the decoding to tell."""
        with suppress(Exception):
            return engine_of_whole_chunks(self._array, self._metadata)
        return None

    @cached_property
    def _decoding(self) -> ChunkDecoding:
        chunks = self._engine or engine_of_whole_chunks(self._array, self._metadata)
        return ChunkDecoding(self._array, chunks, self._found, self._max_bytes, self._threads)

    def _place(self, stored: Stored, number: int) -> dict[str, Any]:
        coords = tuple(stored.coords[number].tolist())
        return {"path": self._path, "key": stored.key(coords), "chunk": coords}

    # --- keys ---

    def _listed(self, *, sizes: bool) -> Iterator[Stored]:
        """Yield the stored chunks of the grid, many at a time, and note everything else."""
        if not self._store.supports_listing:
            self._found.add("warning", "unchecked", f"{self._store} cannot list its keys", path=self._path)
            return
        listed = list_files(self._store, self._engine, sizes=sizes)
        if listed is not None:
            coords, nbytes, others = listed
            yield from self._inside(Stored(coords, nbytes, self._key)).parts(BATCH)
            for batch in batches_of((self._prefix + name, UNKNOWN) for name in others):
                stored = self._chunks(batch)  # with numbers that are too large for the fast way
                yield stored._replace(sizes=np.array(list(map(self._size, stored.keys)), np.int64))
            return
        try:
            yield from map(self._chunks, batches_of(self._store._list_sizes(self._path)))
        except Exception as error:
            self._found.add("error", "store", f"the listing failed: {reason(error)}", path=self._path)

    def _chunks(self, batch: Sequence[tuple[str, int]]) -> Stored:
        """Return the chunks of the grid among what is listed, and note everything else."""
        skip = len(self._prefix)
        own = [item for item in batch if item[0][skip:] not in self._own]
        names = [key[skip:] for key, _ in own]
        coords, is_chunk = self._keys.read(names)
        stored = Stored(coords, np.array([size for _, size in own], np.int64), self._key)
        if not is_chunk.all():
            for number in np.flatnonzero(~is_chunk).tolist():
                self._note_foreign(own[number][0], names[number])
            stored = stored.chosen(is_chunk)
        return self._inside(stored)

    def _inside(self, stored: Stored) -> Stored:
        """Return the chunks of the grid, and note the others."""
        outside = (stored.coords >= self._grid).any(axis=1)
        if outside.any() and not self._has_other_shape():
            what = f"lies outside of the grid of {tuple(self._grid.tolist())} chunks"
            for number in np.flatnonzero(outside).tolist():
                place = self._place(stored, number)
                if not is_gone(self._store, place["key"]):
                    self._found.add("warning", "outside", what, **place)
        return stored.chosen(~outside) if outside.any() else stored

    def _has_other_shape(self) -> bool:
        """Return whether the array has been resized, or replaced, since its document was read."""
        try:
            metadata = open_array_at(self._array.store_path).metadata
        except Exception:
            return False
        if metadata.shape == self._metadata.shape:
            return False
        what = f"got the shape {metadata.shape} while it was looked at: look again at what lies outside of it"
        self._found.add("note", "unchecked", what, path=self._path)
        return True

    def _note_foreign(self, key: str, name: str) -> None:
        place = {"path": self._path, "key": key}
        if key.endswith("/"):  # an empty directory: no fault, unless a chunk should be in its place
            if self._keys.read([name[:-1]])[1][0]:
                self._found.add("error", "store", "a directory is in the place of a chunk", **place)
        elif is_litter(name.rpartition("/")[2]):
            if is_left_behind(self._store, key):
                self._found.add("warning", "temporary", "left by a writer that did not end", **place)
        elif name.rpartition("/")[2] in DOCUMENTS:
            self._found.add("warning", "stray", "a metadata document below an array", **place)
        elif any(other.read([name])[1][0] for other in self._others):
            return
        elif (what := self._in_the_way(name)) is not None:
            self._found.add("error", "store", what, **place)
        else:
            self._found.add("warning", "stray", "is no chunk key of this array", **place)

    def _in_the_way(self, name: str) -> str | None:
        """Return why chunks cannot be read where something else is in the place of one, or above some."""
        for chunk in names_hidden_by(self._metadata.chunk_key_encoding, name, len(self._grid)):
            coords, is_chunk = self._keys.read([chunk])
            if self._store._has_directories and is_chunk[0] and (coords[0] < self._grid).all():
                try:
                    self._store.get(self._prefix + chunk)
                except Exception as error:
                    return f"is in the place of a chunk, or above some: {reason(error)}"
        return None

    # --- sizes ---

    def _has_size(self, stored: Stored) -> np.ndarray:
        """Return which have a size that is possible, and note the others; fill in sizes that were missed."""
        wrong = stored.sizes == UNKNOWN
        for number in np.flatnonzero(wrong).tolist():
            place = self._place(stored, number)
            size = size_now(self._store, place["key"])
            if size is None:
                self._found.add("note", "store", _REMOVED, **place)
            elif size == UNKNOWN:
                self._found.add("error", "store", "is no file that can be read", **place)
            else:  # it was written again after it was missed
                stored.sizes[number], wrong[number] = size, False
        for sizes, here in self._expected(stored):
            bad = here & ~wrong & ((stored.sizes == 0) if sizes is None else (stored.sizes != sizes))
            for number in np.flatnonzero(bad).tolist():
                size = int(stored.sizes[number])
                what = f"{size} bytes stored, a chunk has {sizes}"
                what = "an empty value is no chunk" if sizes is None else what
                self._found.add("error", "size", what, **self._place(stored, number), byte_range=(0, size))
            wrong |= bad
        usable: np.ndarray = ~wrong
        return usable

    def _expected(self, stored: Stored) -> Iterator[tuple[int | None, np.ndarray]]:
        """Yield the size that chunks have, None if it varies, and which chunks these are."""
        chain, zero_items = self._metadata.chain(), self._metadata.np_dtype.itemsize == 0
        for shape, here in self._by_shape(stored):
            size = chain.encoded_size(chunk_spec(self._metadata, shape))
            if size is not None or not (zero_items or 0 in shape):
                yield size, here

    def _by_shape(self, stored: Stored) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        """Yield each shape that chunks have, and which chunks have it."""
        if all(axis.size is not None for axis in self._axes):
            yield tuple(axis.size or 0 for axis in self._axes), np.ones(stored.number, bool)
            return
        lengths = np.empty_like(stored.coords)
        for dim, axis in enumerate(self._axes):
            column = stored.coords[:, dim]
            each = {k: axis.chunk_length(k) for k in np.unique(column).tolist()}
            lengths[:, dim] = [each[k] for k in column.tolist()]
        for shape in np.unique(lengths, axis=0):
            yield tuple(shape.tolist()), (lengths == shape).all(axis=1)

    # --- indexes of shards ---

    def _check_indexes(self, stored: Stored) -> Stored:
        """Return the chunks without those shards whose index cannot be used."""
        if layout_of(self._metadata) is None:
            return stored
        usable = np.ones(stored.number, bool)
        for _, here in self._by_shape(stored):
            first = next(iter(stored.coords[here].tolist()), None)
            shard = None if first is None else layout_of(self._metadata, tuple(first))
            if shard is None:
                continue
            short = here & (stored.sizes < shard.index_nbytes)
            for number in np.flatnonzero(short).tolist():
                what = shard.too_small(int(stored.sizes[number]))
                self._found.add("error", "index", what, **self._place(stored, number), clause=CLAUSE)
            usable &= ~short
            here &= ~short
            if here.any() and shard.index_nbytes > self._max_bytes:
                self._found.add("warning", "unchecked", "the indexes are too large", path=self._path)
            elif here.any():
                parts = read_indexes(self._store, stored.chosen(here), shard, self._engine)
                usable[here] = ~np.concatenate([self._check_shards(part, shard) for part in parts])
        return stored.chosen(usable)

    def _check_shards(self, indexes: ShardIndexes, shard: ShardLayout, tries: int = 8) -> np.ndarray:
        """Note what is wrong with some indexes; returns which cannot be used."""
        unusable = np.zeros(indexes.shards.number, bool)
        stale = self._stale(indexes, shard) if tries else np.zeros_like(unusable)
        if stale.any():  # they have been written to since they were listed
            again = indexes.shards.chosen(stale)
            again = again._replace(sizes=np.array(list(map(self._size, again.keys)), np.int64))
            there = self._has_size(again) & (again.sizes >= shard.index_nbytes)
            parts = read_indexes(self._store, again.chosen(there), shard, self._engine)
            checked = [self._check_shards(part, shard, tries - 1) for part in parts]
            unusable[np.flatnonzero(stale)[~there]] = True
            unusable[np.flatnonzero(stale)[there]] = np.concatenate([np.zeros(0, bool), *checked])
            unusable[~stale] = self._check_shards(indexes.without(stale), shard, 0)
            return unusable
        self._found.report.inner_chunks += int(indexes.present.sum())
        for number, why in indexes.bad:
            unusable[number] = True
            self._found.add("error", "index", why, **self._place(indexes.shards, number), clause=CLAUSE)
        found = extents_of(indexes, shard)
        for wrong, what in (
            (found.half, "only one of offset and length is that of an absent inner chunk"),
            (found.beyond, "the index places it beyond the end of the shard"),
            (found.in_index, "the index places it over the index"),
            (found.resized, f"an inner chunk has {shard.inner_nbytes} bytes"),
        ):
            if wrong.any():
                for number, inner in np.argwhere(wrong).tolist():
                    self._note_inner("error", "index", what, indexes, shard, (number, inner))
        self._note_overlaps(indexes, shard, found)
        self._note_dead(indexes, found)
        return unusable

    def _stale(self, indexes: ShardIndexes, shard: ShardLayout) -> np.ndarray:
        """Return which shards to look at again: what seems to be damaged may have been replaced."""
        found, sizes = extents_of(indexes, shard), indexes.shards.sizes
        stale = (found.half | found.beyond | found.in_index | found.resized).any(axis=1) | found.overlaps
        stale |= found.used.astype(np.int64) != sizes
        for number in np.flatnonzero(stale).tolist():
            stale[number] = self._size(indexes.shards.key_at(number)) != sizes[number]
        stale[[number for number, _ in indexes.bad]] = True
        return np.asarray(stale, bool)

    def _note_inner(
        self,
        severity: Any,
        kind: str,
        what: str,
        indexes: ShardIndexes,
        shard: ShardLayout,
        at: tuple[int, int],
    ) -> None:
        """Note something about an inner chunk, given by the numbers of its shard and of itself."""
        place = self._place(indexes.shards, at[0])
        inner = shard.inner_chunk(at[1])
        extent = tuple(map(int, indexes.entries[at]))
        self._found.add(severity, kind, what, **place, inner_chunk=inner, byte_range=extent, clause=CLAUSE)

    def _note_overlaps(self, indexes: ShardIndexes, shard: ShardLayout, found: Extents) -> None:
        for number in np.flatnonzero(found.overlaps).tolist():
            entries = indexes.entries[number].copy()
            entries[(found.half | found.beyond)[number]] = EMPTY
            for first, second in overlapping(entries):
                alike = (entries[first] == entries[second]).all()
                other = shard.inner_chunk(first)
                what = f"has {'the same' if alike else 'some of the'} bytes as inner chunk {other}"
                severity = "note" if alike else "error"
                self._note_inner(severity, "overlap", what, indexes, shard, (number, second))

    def _note_dead(self, indexes: ShardIndexes, found: Extents) -> None:
        sizes = indexes.shards.sizes.astype(np.uint64)
        clean = ~(found.half | found.beyond | found.in_index).any(axis=1)
        clean[[number for number, _ in indexes.bad]] = False
        for number in np.flatnonzero(clean & ((found.used != sizes) | found.overlaps)).tolist():
            live = live_bytes(indexes.entries[number]) if found.overlaps[number] else None
            size = int(sizes[number])
            dead = size - int(found.used[number])
            if live is not None:
                dead += int(indexes.entries[number][indexes.present[number], 1].sum()) - live
            if dead:
                message = f"{dead} of {size} bytes are used by nothing; zarrcore.compact() frees them"
                self._found.add("note", "dead bytes", message, **self._place(indexes.shards, number))


class ChunkDecoding:
    """Decodes stored chunks, many at a time, and names those that cannot be decoded."""

    def __init__(self, array: OpenArray, chunks: Any, found: Findings, max_bytes: int, threads: int) -> None:
        self._array = array
        self._engine = chunks
        self._found = found
        self._max_bytes = max_bytes
        self._threads = threads
        self._axes = grid_axes(array)
        self._dtype = array.metadata.np_dtype
        self._memory = np.empty(0, self._dtype)
        largest = prod(
            axis.size or max(map(axis.chunk_length, range(axis.nchunks)), default=1) for axis in self._axes
        )
        self._nbytes = largest * max(1, self._dtype.itemsize)

    @property
    def tries(self) -> bool:
        """Whether chunks are decoded in C into memory that is not kept."""
        return self._engine.is_native and self._nbytes <= self._max_bytes

    @property
    def _at_once(self) -> int:
        """How many chunks are decoded into memory that is kept, until the next ones take it."""
        threads = self._threads or engine.num_threads()
        if self._dtype.kind in "OT":
            return threads  # how much their items take is known afterwards
        return max(1, _SLAB // self._nbytes, min(2 * threads, _MOST // self._nbytes))

    def run(self, stored: Stored) -> None:
        """Decode some chunks."""
        if not stored.number:
            return
        if self._nbytes > self._max_bytes:
            message = f"a chunk of {self._nbytes} bytes is more than max_bytes={self._max_bytes}"
            self._found.add("warning", "unchecked", message, path=self._array.path)
            self._found.step(stored.number)
            return
        if self.tries:
            self.read_each(stored.chosen(self.sizes_of(stored) == DAMAGED))
            return
        for coords in _slabs(stored.coords, self._at_once):
            self._read(coords)
            self._found.step(len(coords))

    def sizes_of(self, stored: Stored) -> np.ndarray:
        """Decode chunks; returns the sizes of their values, UNKNOWN for those absent, or DAMAGED."""
        sizes = np.full(stored.number, DAMAGED, np.int64)
        done = 0
        for part in stored.parts(max(1, _MOST // self._nbytes)):
            with suppress(ChunkError, MemoryError):  # found again, chunk by chunk
                sizes[done : done + part.number] = engine.try_chunks(self._engine, part.coords, self._threads)
            done += part.number
            self._found.step(part.number)
        return sizes

    def read_each(self, stored: Stored) -> None:
        """Decode chunks one by one, to name what is damaged."""
        for chunk in stored.coords.tolist():
            self._read_chunk(tuple(chunk))

    def _read(self, coords: np.ndarray) -> None:
        """Decode chunks that make up a box, or nearly."""
        low, high = coords.min(axis=0, initial=2**62), coords.max(axis=0, initial=-1) + 1
        box = [range(int(a), int(b)) for a, b in zip(low, high, strict=True)]
        try:
            if len(coords) < 2 or prod(map(len, box)) <= 2 * len(coords):
                self._read_box(box)
                return
        except (ChunkError, MemoryError):
            pass  # found again, chunk by chunk
        for chunk in coords.tolist():
            self._read_chunk(tuple(chunk))

    def _read_box(self, box: Sequence[range]) -> None:
        """Decode the chunks of a box of the grid."""
        dims = []
        for part, axis in zip(box, self._axes, strict=True):
            start, last = axis.offset(part[0]), part[-1]
            dims.append((start, 1, axis.offset(last) + axis.chunk_length(last) - start))
        self._read_dims(dims)

    def _read_dims(self, dims: Sequence[tuple[int, int, int]]) -> None:
        shape = tuple(count for _, _, count in dims)
        n = prod(shape)
        if self._memory.size < n:
            self._memory = np.empty(n, self._dtype)
        self._engine.read(tuple(dims), self._memory[:n].reshape(shape), self._threads)

    def _read_chunk(self, chunk: tuple[int, ...]) -> None:
        """Decode a chunk; of a shard each inner chunk for itself if it cannot be decoded as a whole."""
        try:
            self._read_box([range(k, k + 1) for k in chunk])
            return
        except (ChunkError, MemoryError) as error:
            failure = error
        inner = layout.inner_chunks(self._array.metadata)
        if inner is None or getattr(failure, "inner_chunk", None) is None:
            self._found.add_chunk_error(failure, self._array.path, chunk=chunk)
            return
        grid = [axis.chunk_length(k) // n for axis, k, n in zip(self._axes, chunk, inner, strict=True)]
        starts = [axis.offset(k) for axis, k in zip(self._axes, chunk, strict=True)]
        for coords in np.ndindex(*grid):
            try:
                self._read_dims([(s + k * n, 1, n) for s, k, n in zip(starts, coords, inner, strict=True)])
            except (ChunkError, MemoryError) as error:
                self._found.add_chunk_error(error, self._array.path, chunk=chunk, inner_chunk=coords)


def _slabs(coords: np.ndarray, most: int) -> Iterable[np.ndarray]:
    """Yield chunks in groups that are near to boxes of at most `most` chunks."""
    if len(coords) == 0:
        return
    spans = coords.max(axis=0, initial=0) + 1
    sides: list[int] = []
    for span in reversed(spans.tolist()):
        sides.insert(0, max(1, min(span, most)))
        most //= sides[0]
    block = coords // np.array(sides, np.int64) if sides else coords
    order = np.lexsort(block.T[::-1]) if sides else np.arange(len(coords))
    block = block[order]
    starts = np.concatenate(([0], np.flatnonzero((block[1:] != block[:-1]).any(axis=1)) + 1, [len(coords)]))
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        yield coords[order[first:last]]
