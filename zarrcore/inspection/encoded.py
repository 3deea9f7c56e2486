"""Encoded chunks and inner chunks, as they are stored."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from zarrcore._core import engine
from zarrcore._locks import Rank, ranked
from zarrcore._typing import Buffer, ShapeLike
from zarrcore.arrays.chunks import is_within
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray
from zarrcore.codecs.base import EMPTY, ArraySpec
from zarrcore.codecs.chain import CodecChain
from zarrcore.codecs.sharding import ShardingCodec
from zarrcore.engine.build import chunk_spec, chunk_store
from zarrcore.engine.chunk_place import ChunkPlace
from zarrcore.errors import ChunkDecodeError, ChunkError, ChunkIOError, ChunkMemoryError, ReplacedError
from zarrcore.inspection.indexes import ShardLayout, layout_of
from zarrcore.nodes.reading import moving
from zarrcore.nodes.users import writing
from zarrcore.storage.validation import as_view, key_prefix

_LOOKS = 16  # at a shard that other processes replace meanwhile


def chunk_lock(array: OpenArray, key: str) -> Any:
    """Return the lock under which a chunk of an array is read, patched and replaced."""
    store = chunk_store(array.metadata, array.store_path)
    place = store._place(array.path)
    return ranked(engine.KeyLock(place, key[len(key_prefix(array.path)) :], array.path), Rank.CHUNK)


def patch_shard(
    array: OpenArray, chunk: tuple[int, ...], key: str, change: Callable[[Any, bool], bytes | None]
) -> None:
    """Replace a shard, whose lock is held, by ``change(shard, write_empty)`` (:meth:`ChunkPlace.patch`)."""
    store = chunk_store(array.metadata, array.store_path)
    place = ChunkPlace(store, array.path, chunk, key, lambda *_, **__: chunk_lock(array, key))
    with place.errors_as(ChunkDecodeError):
        place.patch(change, False)


def without_damage(encoded: Any, chain: CodecChain, spec: ArraySpec) -> bytes | None:
    """Return an encoded chunk, if it is a shard without the inner chunks in it that cannot be decoded.

    None if nothing is left.
    """
    try:
        chain.decode(encoded, spec)
        return bytes(encoded)
    except ChunkMemoryError:  # it may be sound
        raise
    except ChunkError:
        codec = chain.array_bytes
        if not isinstance(codec, ShardingCodec) or chain.bytes_bytes:
            return None
    shard = chain.array_specs(spec)[-1]
    left: dict[tuple[int, ...], bytes] = {}
    with suppress(ChunkDecodeError):  # of the index
        for coords, inner in codec.inner_chunks(encoded, shard).items():
            sound = without_damage(inner, codec.inner_chain(shard), codec.inner_spec(shard))
            if sound is not None:
                left[coords] = sound
    return codec.join(left, shard) if left else None


class EncodedChunk:
    """A chunk, or an inner chunk of a shard, as it is stored: see :meth:`zarrcore.Array.encoded`.

    Attributes
    ----------
    key : str
        Store key of the chunk, or of the shard.
    """

    def __init__(self, array: OpenArray, index: ShapeLike, inner: ShapeLike | None) -> None:
        array.follow()
        self._array = array
        axes = grid_axes(array)
        self._chunk = _checked(index, [axis.nchunks for axis in axes], "index")
        self._shape = tuple(axis.chunk_length(k) for axis, k in zip(axes, self._chunk, strict=True))
        self.key = key_prefix(array.path) + array.metadata.encode_chunk_key(self._chunk)
        self._inner: tuple[int, ...] | None = None
        self._layout: ShardLayout | None = None
        if inner is not None:
            self._layout = layout_of(array.metadata, self._chunk)
            if self._layout is None:
                raise ValueError(
                    f"array {array.path or '/'!r} has no inner chunks that are stored as they are"
                )
            self._inner = _checked(inner, self._layout.of_array(self._layout.grid), "inner")
            self._stored = self._layout.of_shard(self._inner)

    def __repr__(self) -> str:
        inner = f", inner {self._inner}" if self._inner is not None else ""
        return f"<EncodedChunk {self.key} {self._chunk}{inner}>"

    @property
    def _store(self) -> Any:
        return chunk_store(self._array.metadata, self._array.store_path)

    def is_damaged(self) -> bool:
        """Return whether the chunk is stored and cannot be decoded; its lock is held.

        Raises
        ------
        ChunkMemoryError, ChunkIOError
            If nobody can tell: it may be sound.
        """
        try:
            value = self._get() if self._layout is None else self._get_inner(self._layout)
            if value is not None:
                self.check(value)
        except (ChunkMemoryError, ChunkIOError):
            raise
        except ChunkError:
            return True
        return False

    @property
    def is_shard(self) -> bool:
        """Whether it is an inner chunk that has inner chunks."""
        return self._layout is not None and self._layout.codec.inner_chain(self._layout.spec).is_sharded

    def is_same_in(self, shard: bytes, other: bytes) -> bool:
        """Return whether two shards have the same bytes for this inner chunk; False if it is none."""
        if self._layout is None:
            return False
        codec, spec = self._layout.codec, self._layout.spec
        with suppress(ChunkError):
            mine, its = (codec.inner_chunks(each, spec).get(self._stored) for each in (shard, other))
            return mine is not None and mine == its
        return False

    def get(self) -> Buffer | None:
        """Return the stored bytes; None if the chunk is not stored.

        Raises
        ------
        ChunkDecodeError
            If the index of the shard is damaged.
        """
        if self._layout is None:
            return self._get()  # type: ignore[no-any-return]
        with chunk_lock(self._array, self.key):
            return self._get_inner(self._layout)

    def _get(self) -> Any:
        """Return the value at the key; whatever a store raises names them."""
        with moving(self._store, self.key):
            value = self._store.get(self.key)
            return None if value is None else as_view(value, self.key)

    def _get_inner(self, shard: ShardLayout) -> Buffer | None:
        for _ in range(_LOOKS):
            with suppress(ReplacedError):
                return self._get_inner_of(shard, {})
        raise self._located(ChunkIOError("the shard is replaced faster than it can be read"))

    def _get_inner_of(self, shard: ShardLayout, versions: dict[str, str]) -> Buffer | None:
        """Return an inner chunk of a shard, of the version whose index is read first."""

        def get(part: Any) -> Any:
            with moving(self._store, self.key):
                found = self._store._get_part(self.key, part, versions)
                return None if found is None else as_view(found, self.key)

        encoded = get(shard.index_request)
        if encoded is None:
            return None
        try:
            offset, length = map(int, shard.codec.decode_index(encoded, shard.spec)[self._stored])
            if offset == length == EMPTY:
                return None
            found = get((offset, length))
            if found is None or memoryview(found).nbytes != length:
                raise ChunkDecodeError("the index places it beyond the end of the shard")
        except ChunkError as error:
            raise self._located(error) from error
        return found  # type: ignore[no-any-return]

    def put(self, value: Buffer, *, check: bool = True) -> None:
        """Store bytes in place of those that are stored.

        Parameters
        ----------
        value : bytes-like
            The encoded chunk.
        check : bool
            Decode it first, so that nothing is stored that cannot be read.

        Raises
        ------
        ChunkDecodeError
            If `value` cannot be decoded, or the shard around it is damaged; then nothing is changed.
        ReadOnlyError
            If the store is read-only.
        """
        if check:
            self.check(value)
        self._replace(bytes(as_view(value, self.key)))

    def check(self, value: Buffer) -> None:
        """Raise a ChunkDecodeError if bytes cannot be decoded as this chunk.

        Parameters
        ----------
        value : bytes-like
            An encoded chunk.
        """
        metadata = self._array.metadata
        chain, spec = metadata.chain(), chunk_spec(metadata, self._shape)
        if self._layout is not None:
            codec = self._layout.codec
            chain, spec = codec.inner_chain(self._layout.spec), codec.inner_spec(self._layout.spec)
        try:
            chain.decode(bytes(as_view(value, self.key)), spec)
        except ChunkError as error:
            raise self._located(error) from error

    def erase(self) -> None:
        """Remove the chunk, which reads as the fill value then; do nothing if it is not stored.

        Raises
        ------
        ChunkDecodeError
            If it is in a shard that is damaged; then nothing is changed.
        ReadOnlyError
            If the store is read-only.
        """
        self._replace(None)

    def _replace(self, value: bytes | None) -> None:
        array = self._array
        array.check_writable()
        with writing(array):
            array.follow()
            if not is_within(self._chunk, grid_axes(array)):
                raise IndexError(f"index {self._chunk}: the array has shrunk to {array.shape}")
            with chunk_lock(array, self.key):
                self.replace_under_lock(value)

    def replace_under_lock(self, value: bytes | None, keep: Callable[[Any], None] | None = None) -> None:
        """Replace or remove the chunk; where its value is kept, remove what of it cannot be decoded.

        Once nothing but the store can fail any more, ``keep(old)`` is called with the value that is there.
        """
        if self._layout is not None:
            patch_shard(self._array, self._chunk, self.key, self._patching(self._layout, value, keep))
            return
        if keep is not None:
            keep(self._get())
        with moving(self._store, self.key):
            if value is None:
                self._store.delete(self.key)
            else:
                self._store.set(self.key, value)

    def _patching(
        self, shard: ShardLayout, value: bytes | None, keep: Callable[[Any], None] | None
    ) -> Callable[[Any, bool], bytes | None]:
        """Return a function that returns a shard with another inner chunk; None if no inner chunk is left."""

        def change(old: Any, write_empty: bool) -> bytes | None:
            chunks: dict[Any, Any] = {} if old is None else shard.codec.inner_chunks(old, shard.spec)
            new = value
            if keep is not None and self._stored in chunks:
                chain, spec = shard.codec.inner_chain(shard.spec), shard.codec.inner_spec(shard.spec)
                new = without_damage(chunks[self._stored], chain, spec)
            if new is None:
                chunks.pop(self._stored, None)
            else:
                chunks[self._stored] = new
            if keep is not None:
                keep(old)
            return shard.codec.join(chunks, shard.spec) if chunks or write_empty else None

        return change

    def _located(self, error: ChunkError) -> ChunkError:
        place = {"array": self._array.path or "/", "chunk": self._chunk, "key": self.key}
        return error.located(**place, **({} if self._inner is None else {"inner_chunk": self._inner}))


def _checked(index: Any, grid: Sequence[int], name: str) -> tuple[int, ...]:
    """Return an index within a grid."""
    items = tuple(map(operator.index, index if hasattr(index, "__iter__") else (index,)))
    if len(items) != len(grid) or not all(0 <= k < n for k, n in zip(items, grid, strict=True)):
        raise IndexError(f"{name}: expected an index in a grid of {tuple(grid)} chunks, got {items}")
    return items
