# SPDX-License-Identifier: MIT
"""Parts of shards in Python: of a shard only its index and the inner chunks asked for are read and coded.

For shards that the C engine cannot take, such as those of strings (Zarr v3, "Sharding codec").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._core import engine
from zarrcore._typed import NamedTuple
from zarrcore.codecs.base import EMPTY, Patch
from zarrcore.codecs.filled import is_all_fill
from zarrcore.engine.chunk_place import most_stored
from zarrcore.engine.projection import ChunkPart, axes_of, decode_part, dim_of, project, project_points
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, ChunkError, ChunkIOError
from zarrcore.storage.validation import too_large

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec
    from zarrcore.codecs.sharding import ShardingCodec
    from zarrcore.engine.chunk_place import ChunkPlace

    Each = Callable[[Iterable[Any], Callable[[Any], int]], None]  # calls with each, on several threads

_AT_ONCE = 64 << 20  # bytes of inner chunks asked for in one call: an index may send many to the same bytes
_ATTEMPTS = 16  # at a shard that is replaced while it is read


class InnerChunk(NamedTuple):
    """The part of a selection that falls into one inner chunk, and its bytes; None if it is not there."""

    part: ChunkPart
    data: Any
    extent: tuple[int, int]  # where the bytes lie in the shard, and how many they are


class ShardParts:
    """What the shards of one shape (`spec`) consist of; `codec`, which makes them, is the array's only one.

    `fill` is a zero-dimensional array with the value of inner chunks that are not there.
    """

    def __init__(self, codec: ShardingCodec, spec: ArraySpec, fill: np.ndarray) -> None:
        from zarrcore.storage.byte_range import RangeByteRequest, SuffixByteRequest

        self._codec = codec
        self._spec = spec
        self._fill = fill
        self._inner = codec.inner_spec(spec)
        self._chain = codec.inner_chain(spec)
        self._axes = axes_of(spec.shape, codec.chunk_shape)
        self._most = most_stored(self._chain, self._inner)
        nbytes = codec.index_nbytes(spec)
        at_start = codec.index_location == "start"
        self._index_range = RangeByteRequest(0, nbytes) if at_start else SuffixByteRequest(nbytes)

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """Shape of an inner chunk."""
        return self._inner.shape

    def _project(self, part: ChunkPart) -> list[ChunkPart]:
        """Return a part of an array within a shard, one part for each inner chunk that it touches."""
        if part.points:
            return list(project_points(part.inside, self._axes))  # type: ignore[arg-type]  # no slices then
        return list(project([dim_of(selector) for selector in part.inside], self._axes))

    # --- reading ------------------------------------------------------------------------------------------

    def find(self, part: ChunkPart, shard: Any, place: ChunkPlace) -> Iterator[InnerChunk] | None:
        """Return the inner chunks of a part as they are stored; None if the shard is not stored.

        `shard` is the whole of it, if it is in hand.  All are of one version of the shard: if it is replaced
        meanwhile, they are yielded again from the first on.
        """
        parts = self._project(part)
        if shard is None and 2 * len(parts) > prod(axis.nchunks for axis in self._axes):
            shard = place.get()
            if shard is None:
                return None
        if shard is not None:
            return self._cut(shard, parts)
        versions: dict[str, str] = {}
        encoded = place.get_part(self._index_range, versions)
        return None if encoded is None else self._by_ranges(place, parts, encoded, versions)

    def _cut(self, shard: Any, parts: Iterable[ChunkPart]) -> Iterator[InnerChunk]:
        """Out of a whole shard."""
        view = memoryview(shard).cast("B")
        index = self._codec.read_index(view, self._spec)
        for part in parts:
            extent = _extent(index, part)
            yield InnerChunk(part, view[extent[0] : sum(extent)] if extent else None, extent or (0, 0))

    def _by_ranges(
        self, place: ChunkPlace, parts: Sequence[ChunkPart], encoded: Any, versions: dict[str, str]
    ) -> Iterator[InnerChunk]:
        """Out of parts of the shard, which are of the version whose index is in hand."""
        for _ in range(_ATTEMPTS):
            index = self._codec.decode_index(encoded, self._spec)
            for group in _groups((part, _extent(index, part)) for part in parts):
                found = self._fetch(group, place, encoded, versions)
                if found is None:
                    break
                self._check_sizes(group, found)
                yield from _with_data(group, iter(found))
            else:
                return
            versions.clear()
            encoded = place.get_part(self._index_range, versions)
            if encoded is None:
                yield from (InnerChunk(part, None, (0, 0)) for part in parts)
                return
        raise ChunkIOError("the shard is replaced faster than it can be read")

    def _fetch(
        self, group: _Group, place: ChunkPlace, encoded: Any, versions: dict[str, str]
    ) -> Sequence[Any] | None:
        """Return the bytes of inner chunks; None if the shard has been replaced since its index was read."""
        # Without versions the same index, read again together with them, has to do.
        again = [] if versions else [self._index_range]
        wanted = [self._limited(extent) for _, extent in group if extent]
        found = place.get_parts([*again, *wanted], versions)
        if found is None or (again and (found[0] is None or bytes(found[0]) != bytes(encoded))):
            return None
        return found[len(again) :]

    def _limited(self, extent: tuple[int, int]) -> tuple[int, int]:
        """Return the bytes to ask for: one more than may be read shows that there are too many."""
        return extent if self._most is None else (extent[0], min(extent[1], self._most + 1))

    def _check_sizes(self, group: _Group, found: Sequence[Any]) -> None:
        extents = ((part, extent) for part, extent in group if extent)
        for (part, extent), data in zip(extents, found, strict=True):
            if self._most is not None and data is not None and memoryview(data).nbytes > self._most:
                message = too_large(extent[1], self._most)
                raise ChunkDecodeError(message, inner_chunk=part.coords, byte_range=extent)

    def read(self, part: ChunkPart, chunks: Iterable[InnerChunk], out: np.ndarray, each: Each) -> None:
        """Decode inner chunks into their places in the array `out`."""
        place = part.outside_of(out)
        block = out[place]
        each(chunks, lambda inner: self._decode(inner, block))
        if not np.may_share_memory(block, out):  # by index arrays NumPy makes a copy
            out[place] = block

    def _decode(self, chunk: InnerChunk, block: np.ndarray) -> int:
        """Put an inner chunk into the block of its shard; returns the number of bytes before compression."""
        part, data, extent = chunk
        if data is None:
            block[part.outside_of(block)] = self._fill
            return 0
        try:
            with engine.Decoding():
                decoded = self._chain.decode_bytes(data, self._inner)
                decode_part(self._chain, decoded, self._inner, part, block)
        except ChunkError as error:
            raise error.located(inner_chunk=part.coords, byte_range=extent) from error.__cause__
        return memoryview(decoded).nbytes

    # --- writing ------------------------------------------------------------------------------------------

    def write(
        self, part: ChunkPart, values: np.ndarray, shard: Any, each: Each, *, write_empty: bool
    ) -> bytes | None:
        """Return the encoded `shard` (None: there is none) with values put into their inner chunks.

        Inner chunks that then hold nothing but the fill value are left out, unless `write_empty`.  None if no
        inner chunk is left.
        """
        stored: dict[tuple[int, ...], Any] = {}
        if shard is not None:
            stored.update(self._codec.inner_chunks(shard, self._spec))

        def encode(inner: ChunkPart) -> int:
            items = values[inner.outside_of(values)]
            data = self._encode(inner, items, stored.get(inner.coords), write_empty=write_empty)
            if data is None:
                stored.pop(inner.coords, None)
            else:
                stored[inner.coords] = data
            return int(items.nbytes)

        each(self._project(part), encode)
        return self._codec.join(stored, self._spec) if stored else None

    def _encode(self, part: ChunkPart, items: np.ndarray, old: Any, *, write_empty: bool) -> Any:
        """Return an inner chunk with items put into it, encoded; None if it is then empty."""
        try:
            chunk = self._patched(part, items, old)
            if not write_empty and is_all_fill(chunk, self._fill):
                return None
            patch = None
            if self._chain.is_sharded:
                patch = Patch(np.zeros(chunk.shape, bool), old)
                patch.given[part.inside_of(chunk)] = True
            data = self._chain.encode(chunk, self._inner, write_empty=write_empty, patch=patch)
            if self._most is not None and len(data) > self._most:
                raise ChunkEncodeError(too_large(len(data), self._most))
            return data
        except ChunkError as error:
            raise error.located(inner_chunk=part.coords) from error.__cause__

    def _patched(self, part: ChunkPart, items: np.ndarray, old: Any) -> np.ndarray:
        if part.is_whole(self._inner.shape):
            return items if items.flags.c_contiguous else items.copy()
        chunk = np.empty(self._inner.shape, self._fill.dtype)
        chunk[...] = self._fill if old is None else self._chain.decode(old, self._inner)
        chunk[part.inside_of(chunk)] = items
        return chunk


def _extent(index: np.ndarray, part: ChunkPart) -> tuple[int, int] | None:
    """Offset and length of an inner chunk; None if it is not there."""
    offset, length = map(int, index[part.coords])
    return None if offset == EMPTY and length == EMPTY else (offset, length)


_Group = list[tuple[ChunkPart, tuple[int, int] | None]]


def _groups(parts: Iterable[tuple[ChunkPart, tuple[int, int] | None]]) -> Iterator[_Group]:
    """Inner chunks that are fetched together."""
    group: _Group = []
    size = 0
    for part, extent in parts:
        length = extent[1] if extent else 0
        if group and size + length > _AT_ONCE:
            yield group
            group, size = [], 0
        group.append((part, extent))
        size += length
    if group:
        yield group


def _with_data(group: _Group, found: Iterator[Any]) -> Iterator[InnerChunk]:
    for part, extent in group:
        data = next(found) if extent else None
        if extent and (data is None or memoryview(data).nbytes != extent[1]):
            raise ChunkDecodeError(
                "the index places it beyond the end of the shard",
                inner_chunk=part.coords,
                byte_range=extent,
                codec="sharding_indexed",
            )
        yield InnerChunk(part, data, extent or (0, 0))
