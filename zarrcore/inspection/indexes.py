"""Indexes of many shards at once: are they what the specification demands, and what do they place where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._core import engine
from zarrcore._typed import NamedTuple
from zarrcore.codecs.base import EMPTY
from zarrcore.errors import ChunkError
from zarrcore.inspection.listing import Stored
from zarrcore.storage import LocalStore
from zarrcore.storage.derived import is_itself
from zarrcore.storage.validation import answers, as_view

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec
    from zarrcore.codecs.sharding import ShardingCodec
    from zarrcore.metadata.common import ArrayMetadata
    from zarrcore.storage.base import Store

_AT_ONCE = 32 << 20  # bytes of indexes that are read together

CLAUSE = 'Zarr v3, codec "sharding_indexed", "Binary shard format"'


class ShardLayout:
    """Where the shards of an array, all of one shape, have their index, and how it is encoded.

    Only for arrays whose stored values are the shards themselves (:func:`layout_of`).
    """

    def __init__(self, codec: ShardingCodec, spec: ArraySpec, order: tuple[int, ...]) -> None:
        from zarrcore.codecs.bytes import BytesCodec
        from zarrcore.codecs.checksums import Crc32cCodec

        self.codec = codec
        self._order = order  # dimension of the array for each one of the shard, which may be transposed
        self.spec = spec
        self.grid = codec.chunks_per_shard(spec)
        self.number = prod(self.grid)
        self.index_nbytes = codec.index_nbytes(spec)
        self.inner_nbytes = codec.inner_chain(spec).encoded_size(codec.inner_spec(spec))
        self.at_start = codec.index_location == "start"
        first, *others = codec.index_codecs
        self._endian = getattr(first, "endian", None) if isinstance(first, BytesCodec) else None
        self._is_checked = [type(other) for other in others] == [Crc32cCodec]
        self._is_usual = self._endian is not None and (self._is_checked or not others)

    @property
    def index_request(self) -> Any:
        """The part of a shard that is its index."""
        from zarrcore.storage.byte_range import RangeByteRequest, SuffixByteRequest

        return (
            RangeByteRequest(0, self.index_nbytes) if self.at_start else SuffixByteRequest(self.index_nbytes)
        )

    def too_small(self, size: int) -> str:
        """Return the words for a shard of a size that cannot hold an index."""
        return (
            f"{size} bytes cannot hold an index of {self.index_nbytes}" if size >= 0 else "it cannot be read"
        )

    def of_array(self, stored: Sequence[int]) -> tuple[int, ...]:
        """Return what is given for each dimension of a shard in the order of the array's dimensions."""
        by_axis = dict(zip(self._order, map(int, stored), strict=True))
        return tuple(by_axis[axis] for axis in range(len(by_axis)))

    def of_shard(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return what is given for each dimension of the array in the order of the shard's dimensions."""
        return tuple(index[axis] for axis in self._order)

    def inner_chunk(self, number: int) -> tuple[int, ...]:
        """Return the index in its shard, in the order of the array's dimensions, of an inner chunk."""
        return self.of_array(np.unravel_index(number, self.grid))  # type: ignore[arg-type]

    def decode(self, raw: np.ndarray) -> tuple[np.ndarray, list[tuple[int, str]]]:
        """Return entries of shape (shards, inner chunks, 2), and the numbers of indexes that are damaged.

        `raw` are encoded indexes, uint8 of shape (shards, bytes).
        """
        if not self._is_usual:
            return self._decode_each(raw)
        bad: list[tuple[int, str]] = []
        n = 16 * self.number
        if self._is_checked:
            from zarrcore._core import kernels

            made = kernels.crc32c_blocks(raw[:, :n], np.uint32(0))
            stored = np.ascontiguousarray(raw[:, n:]).view("<u4")[:, 0]
            for number in np.flatnonzero(made != stored).tolist():
                why = f"the index has the CRC-32C {made[number]:#x}, stored is {stored[number]:#x}"
                bad.append((number, why))
        order = ">" if str(self._endian) == "big" else "<"
        entries = np.ascontiguousarray(raw[:, :n]).view(f"{order}u8").astype(np.uint64, copy=False)
        return entries.reshape(len(raw), self.number, 2), bad

    def _decode_each(self, raw: np.ndarray) -> tuple[np.ndarray, list[tuple[int, str]]]:
        entries = np.full((len(raw), self.number, 2), EMPTY, np.uint64)
        bad: list[tuple[int, str]] = []
        for number, data in enumerate(raw):
            try:
                entries[number] = self.codec.decode_index(data.tobytes(), self.spec).reshape(-1, 2)
            except ChunkError as error:
                bad.append((number, error.reason))
        return entries, bad


def layout_of(metadata: ArrayMetadata, coords: tuple[int, ...] | None = None) -> ShardLayout | None:
    """Return the layout of the shards of an array; None if its stored values are no shards as they are."""
    codec, chain = metadata.sharding_codec, metadata.chain()
    if codec is None or chain.bytes_bytes:
        return None
    order = tuple(range(metadata.ndim))
    for step in chain.array_array:
        order = tuple(order[axis] for axis in step.order)  # type: ignore[attr-defined]  # transpositions all
    return ShardLayout(codec, chain.array_specs(metadata.chunk_spec(coords))[-1], order)


class ShardIndexes(NamedTuple):
    """Indexes of some shards: `entries` as of :meth:`ShardLayout.decode`, of the `shards` that have one.

    `bad` has the number of each shard without a usable index, and why.
    """

    shards: Stored
    entries: np.ndarray
    bad: list[tuple[int, str]]

    def without(self, which: np.ndarray) -> ShardIndexes:
        """Return those for which a boolean array is false."""
        place = np.cumsum(~which) - 1
        bad = [(int(place[number]), why) for number, why in self.bad if not which[number]]
        return ShardIndexes(self.shards.chosen(~which), self.entries[~which], bad)

    @property
    def present(self) -> np.ndarray:
        """Which inner chunks are there."""
        there: np.ndarray = (self.entries != EMPTY).any(axis=-1)
        return there


def read_indexes(
    store: Store, shards: Stored, layout: ShardLayout, native: Any = None
) -> Iterator[ShardIndexes]:
    """Read the indexes of shards that are large enough, as many at a time as fit into little memory.

    `native` is the engine of the array, which reads those of files in one call.
    """
    for part in shards.parts(max(1, _AT_ONCE // max(1, layout.index_nbytes))):
        yield _read(store, part, layout, native)


def _read(store: Store, shards: Stored, layout: ShardLayout, native: Any) -> ShardIndexes:
    bad: dict[int, str] = {}
    encoded, good = _read_files(store, shards, layout, native)
    missing = np.flatnonzero(~good)
    for k, data in zip(
        missing.tolist(), _parts(store, shards.chosen(missing).keys, layout.index_request), strict=True
    ):
        if isinstance(data, Exception):
            bad[k] = f"{type(data).__name__}: {data}"
        elif data is None or memoryview(data).nbytes != layout.index_nbytes:
            bad[k] = "the shard vanished, or became shorter, after it was listed"
        else:
            encoded[k] = np.frombuffer(data, np.uint8)
            good[k] = True
    entries = np.full((shards.number, layout.number, 2), EMPTY, np.uint64)
    if good.any():
        entries[good], damaged = layout.decode(encoded[good])
        numbers = np.flatnonzero(good)
        bad.update((int(numbers[k]), why) for k, why in damaged)
    if bad:
        entries[sorted(bad)] = EMPTY
    return ShardIndexes(shards, entries, sorted(bad.items()))


def _read_files(
    store: Store, shards: Stored, layout: ShardLayout, native: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return encoded indexes, of shape (shards, bytes), and which could be read."""
    if is_itself(store, LocalStore) and native is not None and native.is_native:
        with suppress(ChunkError, MemoryError):  # found again, one by one
            encoded, sizes = engine.read_parts(
                native, shards.coords, layout.index_nbytes, not layout.at_start
            )
            return encoded, sizes >= 0
    return np.empty((shards.number, layout.index_nbytes), np.uint8), np.zeros(shards.number, bool)


def _parts(store: Store, keys: Sequence[str], request: Any) -> Sequence[Any]:
    """Return a part of each value, or the error of those that cannot be read."""
    if not keys:
        return []
    try:
        found = store.get_partial_values([(key, request) for key in keys])
        found = answers(found, len(keys), "get_partial_values")
        return [
            None if value is None else as_view(value, key) for key, value in zip(keys, found, strict=True)
        ]
    except Exception as error:
        if len(keys) == 1:
            return [error]
    half = len(keys) // 2
    return [*_parts(store, keys[:half], request), *_parts(store, keys[half:], request)]


class Extents(NamedTuple):
    """What entries of indexes place in shards: arrays of shape (shards,) or (shards, inner chunks)."""

    half: np.ndarray  # only one of offset and length is that of an absent inner chunk
    beyond: np.ndarray  # reaches beyond the end of the shard
    in_index: np.ndarray  # reaches into the index
    resized: np.ndarray  # has another length than every encoded inner chunk
    overlaps: np.ndarray  # shards with inner chunks that share bytes
    used: np.ndarray  # bytes of inner chunks and index in each shard, where none of the above is found


def extents_of(indexes: ShardIndexes, layout: ShardLayout) -> Extents:
    """Compare all entries with the sizes of their shards and with each other."""
    offset, length = indexes.entries[..., 0], indexes.entries[..., 1]
    no_offset, no_length = offset == EMPTY, length == EMPTY
    there = ~(no_offset & no_length)
    size = np.maximum(indexes.shards.sizes, 0).astype(np.uint64)[:, None]
    half = no_offset != no_length
    room = size - np.minimum(offset, size)
    beyond = there & ~half & ((offset > size) | (length > room))
    sound = there & ~half & ~beyond
    nbytes = np.uint64(layout.index_nbytes)
    end = np.where(sound, offset + np.where(sound, length, 0), 0)
    in_index = sound & (length > 0)
    in_index &= offset < nbytes if layout.at_start else end > size - np.minimum(nbytes, size)
    resized = np.zeros_like(half)
    if layout.inner_nbytes is not None:
        resized = sound & (length != layout.inner_nbytes)
    start = np.where(sound & (length > 0), offset, np.uint64(EMPTY))
    if start.shape[1] > 1 and (start[:, 1:] < start[:, :-1]).any():
        order = np.argsort(start, axis=1, kind="stable")
        start, end = np.take_along_axis(start, order, 1), np.take_along_axis(end, order, 1)
    reach = np.maximum.accumulate(end, axis=1)
    overlaps = ((start[:, 1:] < reach[:, :-1]) & (start[:, 1:] != EMPTY)).any(axis=1)
    used = nbytes + np.where(sound, length, 0).sum(axis=1, dtype=np.uint64)
    return Extents(half, beyond, in_index, resized, overlaps, used)


def overlapping(entries: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield pairs of inner chunks of one shard, by number, that share bytes and are neighbours there."""
    present = np.flatnonzero((entries != EMPTY).any(axis=-1) & (entries[:, 1] > 0))
    order = present[np.argsort(entries[present, 0], kind="stable")]
    last, reach = -1, 0
    for number in order.tolist():
        offset, length = map(int, entries[number])
        if last >= 0 and offset < reach:
            yield last, number
        if offset + length > reach:
            last, reach = number, offset + length


def live_bytes(entries: np.ndarray) -> int:
    """Return how many bytes of a shard are those of inner chunks; shared bytes count once."""
    total = reach = 0
    present = entries[(entries != EMPTY).all(axis=-1)]
    for offset, length in sorted(map(tuple, present.tolist())):
        total += max(0, offset + length - max(offset, reach))
        reach = max(reach, offset + length)
    return total
