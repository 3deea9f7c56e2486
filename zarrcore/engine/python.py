"""The engine for codecs, data types and key encodings that only Python has.

It walks the same plan as the native engine, so that both return the same values.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from zarrcore._core import engine
from zarrcore._locks import Rank, ranked
from zarrcore.codecs.base import Patch
from zarrcore.codecs.filled import is_all_fill
from zarrcore.engine.chunk_place import ChunkPlace, reason
from zarrcore.engine.projection import (
    axes_of,
    decode_part,
    index_of,
    outer_index,
    project,
    project_points,
    put,
    put_fields,
    raw_field,
    take,
)
from zarrcore.errors import (
    ChunkDecodeError,
    ChunkEncodeError,
    ChunkError,
    ChunkIOError,
    ChunkNotFoundError,
)
from zarrcore.keys.base import chunk_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from zarrcore.codecs.chain import CodecChain
    from zarrcore.engine.projection import ChunkPart, FieldNames
    from zarrcore.engine.shard_parts import ShardParts
    from zarrcore.indexing import Dim
    from zarrcore.keys import ChunkKeyEncoding
    from zarrcore.storage.base import Store

_BATCH = 64  # chunks asked from the store, or shared among the threads, in one call
_WORTH_SHARING = 1 << 16  # bytes of a chunk; fewer are done with before another thread wakes

_T = TypeVar("_T")


class _Held(NamedTuple):
    """A chunk as it is stored; None for nothing."""

    part: ChunkPart
    key: str
    data: Any


class _Into(NamedTuple):
    """Where a call of reading puts its elements, and how."""

    out: np.ndarray
    points: bool  # the selection consists of points, and `out` is flat
    threads: int


class _How(NamedTuple):
    """How a call of writing stores its elements."""

    points: bool
    write_empty: bool
    threads: int


class PythonEngine:
    """Chunk by chunk through ``CodecChain.encode`` and ``decode``.

    Parameters
    ----------
    store
        Where the chunks are.
    prefix
        Start of every chunk key, ``""`` or ``"foo/bar/"``.
    shape, chunks
        Of the array; `chunks` has, for each dimension, a length or the lengths of all chunks.
    key_encoding, chain
        How chunks are named and encoded.
    chunk_spec
        Makes the codecs' specification of a chunk of a given shape.
    dtype
        In-memory data type.
    fill
        A zero-dimensional array with the value of chunks that are not stored.
    path
        Name of the array in error messages.
    missing_is_error
        Raise for chunks that are not stored, rather than fill.
    scope
        Returns the scope of the place of the chunks, see :meth:`Store._scope`; asked when it is needed.
    """

    def __init__(
        self,
        store: Store,
        prefix: str,
        *,
        shape: Sequence[int],
        chunks: Sequence[int | Sequence[int]],
        key_encoding: ChunkKeyEncoding,
        chain: CodecChain,
        chunk_spec: Callable[[tuple[int, ...]], Any],
        dtype: np.dtype,
        fill: np.ndarray,
        path: str,
        missing_is_error: bool = False,
        scope: Callable[[], str] | None = None,
    ) -> None:
        self._scope = partial(store._scope, path) if scope is None else scope
        self._store = store
        self._prefix = prefix
        self._shape = tuple(shape)
        self._axes = axes_of(shape, chunks)
        sizes = tuple(axis.size for axis in self._axes)
        self._regular_shape: Any = None if None in sizes else sizes  # that of all chunks
        is_sure = key_encoding.native() is not None
        self._encode_key = key_encoding.encode if is_sure else partial(chunk_key, key_encoding)
        self._chain = chain
        self._chunk_spec = chunk_spec
        self._dtype = dtype
        self._fill = fill
        self._path = path
        self._missing_is_error = missing_is_error
        self._specs: dict[tuple[int, ...], Any] = {}
        self._shard_parts: dict[tuple[int, ...], ShardParts] = {}

    is_native = False
    block_shape: tuple[int, ...] | None = None

    # --- the protocol: zarrcore.engine.base ---

    def get(self, key: Any, threads: int = 0) -> Any:
        """``NotImplemented``: only the native engine has a short way for small reads."""
        return NotImplemented

    def read(
        self, dims: Sequence[Dim], out: np.ndarray, threads: int = 0, field: FieldNames | None = None
    ) -> None:
        """Fill `out` (every dimension kept) with the selected elements, or with fields of these."""
        records = self._records_for(out, field)
        self._read(project(dims, self._axes), _Into(records, False, self._sharing(threads)))
        _copy_fields(records, out, field)

    def read_points(
        self, coords: Sequence[np.ndarray], out: np.ndarray, threads: int = 0, field: FieldNames | None = None
    ) -> None:
        """Fill the flat `out` with the elements at `coords`, or with fields of these."""
        records = self._records_for(out, field)
        self._read(project_points(coords, self._axes), _Into(records, True, self._sharing(threads)))
        _copy_fields(records, out, field)

    def _records_for(self, out: np.ndarray, field: FieldNames | None) -> np.ndarray:
        """Memory for whole elements where only fields of them are wanted, else `out` itself."""
        return out if field is None else np.empty(out.shape, self._dtype)

    def write(
        self,
        dims: Sequence[Dim],
        value: np.ndarray,
        threads: int = 0,
        write_empty: bool = False,
        field: FieldNames | None = None,
    ) -> None:
        """Store `value`, of the shape of the selection, in the selected elements, or in fields of these.

        Its data type is that of the array; strings may also be ``str`` objects or of fixed length.
        """
        if field is not None:
            self._write_fields(project(dims, self._axes), value, field, points=False, write_empty=write_empty)
            return
        if value.dtype != self._dtype and not self._chain.takes_text:
            value = value.astype(self._dtype)

        how = _How(False, write_empty, self._sharing(threads))

        def write(part: ChunkPart) -> int:
            return self._write_chunk(part, take(value, part.outside), how)

        self._each(project(dims, self._axes), write, how.threads, self._chunk_size)

    def write_points(
        self,
        coords: Sequence[np.ndarray],
        value: np.ndarray,
        threads: int = 0,
        write_empty: bool = False,
        field: FieldNames | None = None,
    ) -> None:
        """Store the flat `value` in the elements at `coords`; of repeated points the last one stays."""
        if field is not None:
            parts = project_points(coords, self._axes)
            self._write_fields(parts, value, field, points=True, write_empty=write_empty)
            return
        how = _How(True, write_empty, self._sharing(threads))
        for part in project_points(coords, self._axes):
            self._write_part(part, value[part.outside], how)

    # --- chunks on several threads ---

    def _sharing(self, threads: int) -> int:
        """Return how many threads a call may use, of `threads` (0: as configured).

        More than one where the bytes -> bytes codecs leave the GIL to the others.
        """
        most = engine.thread_number(threads) or engine.num_threads()
        return most if self._compresses_without_gil else 1

    @cached_property
    def _compresses_without_gil(self) -> bool:
        return self._chain.compresses_without_gil

    def _each(self, chunks: Iterable[_T], call: Callable[[_T], int], threads: int, size: int) -> None:
        """Call with each chunk of `size` elements, on several threads: one codes while another is stored.

        What the call returns is how many bytes the chunk had before or after the bytes -> bytes codecs: of
        items of any length there may be more than it seems.
        """
        chunks = iter(chunks)
        if threads == 1 or size * self._dtype.itemsize < _WORTH_SHARING:
            for chunk in chunks:
                if call(chunk) >= _WORTH_SHARING and threads > 1:
                    break
        for batch in _batches(chunks, _BATCH):
            self._share(batch, call, threads)

    def _share(self, batch: Sequence[_T], call: Callable[[_T], int], threads: int) -> None:
        if len(batch) == 1:
            call(batch[0])
        else:
            engine.call_parallel(lambda i: call(batch[i]), len(batch), threads)

    @property
    def _chunk_size(self) -> int:
        """Number of elements of the first chunk."""
        return math.prod(self._chunk_shape((0,) * len(self._axes))) if all(self._shape) else 0

    # --- reading ---

    def _read(self, parts: Iterable[ChunkPart], into: _Into) -> None:
        parts = self._all_but_partial(parts, into)

        def place(held: _Held) -> int:
            return self._place(held, into)

        if self._store._is_near:
            self._each(parts, lambda part: place(self._fetch([part])[0]), into.threads, self._chunk_size)
            return
        for batch in _batches(parts, _BATCH):
            self._each(self._fetch(batch), place, into.threads, self._chunk_size)

    def _all_but_partial(self, parts: Iterable[ChunkPart], into: _Into) -> Iterable[ChunkPart]:
        """Read the parts of chunks by their codec's own means; what is left are whole chunks."""
        if self._chain.is_only_shards:
            return self._all_but_parts_of_shards(parts, into)
        return self._all_but_decoded(parts, into) if self._chain.supports_partial_decode else parts

    def _all_but_decoded(self, parts: Iterable[ChunkPart], into: _Into) -> Iterator[ChunkPart]:
        codec: Any = self._chain.array_bytes
        for part in parts:
            if part.complete:
                yield part
                continue
            key, spec = self._key(part.coords), self._spec(part.coords)
            index = part.inside if into.points else outer_index(part.inside, spec.shape)
            place = ChunkPlace(self._store, key, self._lock)
            with self._located(ChunkDecodeError, part.coords, key, codec.name):
                values = codec.decode_partial(place, index, spec)
                if values is not None:
                    _check_part(values, index, spec)
            if values is None:
                self._put_missing(part, key, into.out)
            else:
                put(into.out, part.outside, values)

    def _place(self, held: _Held, into: _Into) -> int:
        """Decode a chunk into its place; returns the number of its bytes before the bytes -> bytes codecs."""
        part, key, stored = held
        if stored is None:
            self._put_missing(part, key, into.out)
            return 0
        if self._chain.is_only_shards:
            self._place_inner(part, key, stored, into)
            return math.prod(self._chunk_shape(part.coords)) * self._dtype.itemsize
        spec = self._spec(part.coords)
        with self._located(ChunkDecodeError, part.coords, key):
            data = self._chain.decode_bytes(stored, spec)
            decode_part(self._chain, data, spec, part, into.out, points=into.points)
        return memoryview(data).nbytes

    def _put_missing(self, part: ChunkPart, key: str, out: np.ndarray) -> None:
        if self._store._has_lost(self._prefix):
            raise ChunkIOError("the directory of the array is gone", array=self._path)
        if self._missing_is_error:
            raise ChunkNotFoundError(
                f"array {self._path or '/'!r}: chunk {part.coords} (key {key!r}) is not stored, and the "
                "configuration array.read_missing_chunks is False"
            )
        put(out, part.outside, self._fill)

    def _fetch(self, batch: Sequence[ChunkPart]) -> list[_Held]:
        """Return what is stored of some chunks."""
        keys = [self._key(part.coords) for part in batch]
        if len(keys) == 1:
            return [_Held(batch[0], keys[0], self._get(batch[0].coords, keys[0]))]
        try:
            return list(map(_Held, batch, keys, self._store.get_many(keys)))
        except MemoryError:
            raise
        except Exception as error:
            key = getattr(error, "key", None)
            if key in keys:
                raise self._io_error(batch[keys.index(key)].coords, key, error) from error
            # One chunk of the batch failed; asking for each alone shows which one, and why.
            return [
                _Held(part, key, self._get(part.coords, key)) for part, key in zip(batch, keys, strict=True)
            ]

    def _get(self, coords: tuple[int, ...], key: str) -> Any:
        try:
            return self._store.get(key)
        except MemoryError:
            raise
        except Exception as error:
            raise self._io_error(coords, key, error) from error

    def _decode(self, coords: tuple[int, ...], key: str, data: Any) -> np.ndarray:
        with self._located(ChunkDecodeError, coords, key):
            return self._chain.decode(data, self._spec(coords))

    # --- shards ---

    def _shards(self, coords: tuple[int, ...]) -> ShardParts:
        """Return what the shard at `coords` consists of."""
        shape = self._chunk_shape(coords)
        shards = self._shard_parts.get(shape)
        if shards is None:
            from zarrcore.engine.shard_parts import ShardParts

            codec: Any = self._chain.array_bytes
            shards = self._shard_parts[shape] = ShardParts(codec, self._spec(coords), self._fill)
        return shards

    def _each_inner(
        self, shards: ShardParts, threads: int
    ) -> Callable[[Iterable[_T], Callable[[_T], int]], None]:
        return lambda chunks, call: self._each(chunks, call, threads, shards.inner_size)

    def _all_but_parts_of_shards(self, parts: Iterable[ChunkPart], into: _Into) -> Iterator[ChunkPart]:
        for part in parts:
            if part.complete:
                yield part
                continue
            key = self._key(part.coords)
            if not self._place_inner(part, key, None, into):
                self._put_missing(part, key, into.out)

    def _place_inner(self, part: ChunkPart, key: str, shard: Any, into: _Into) -> bool:
        """Decode a part of a shard, which may be in hand, into its place; False if it is not stored."""
        shards = self._shards(part.coords)
        with self._located(ChunkDecodeError, part.coords, key):
            chunks = shards.find(part, shard, ChunkPlace(self._store, key, self._lock), points=into.points)
            if chunks is not None:
                each = self._each_inner(shards, into.threads)
                shards.read(part, chunks, into.out, each, points=into.points)
        return chunks is not None

    def _write_inner(self, part: ChunkPart, key: str, values: np.ndarray, how: _How) -> None:
        """Encode those inner chunks of a shard that values belong to; others stay as they are stored."""
        shards = self._shards(part.coords)
        is_new = part.complete and not self._reaches_beyond(part.coords)
        with self._located(ChunkEncodeError, part.coords, key), self._lock(key):
            place = ChunkPlace(self._store, key, self._lock)
            shard = None if is_new else place.get()
            each = self._each_inner(shards, how.threads)
            data = shards.write(part, values, shard, each, points=how.points, write_empty=how.write_empty)
            if data is None:
                place.delete()
            else:
                place.set(data)

    # --- writing ---

    def _write_part(self, part: ChunkPart, values: np.ndarray, how: _How) -> None:
        key = self._key(part.coords)
        if self._chain.is_only_shards:
            self._write_inner(part, key, values, how)
            return
        if self._chain.supports_partial_encode and not part.complete:
            self._encode_partial(part, key, values, how.points)
            return

        def assign(array: np.ndarray, items: Any) -> None:
            put(array, part.inside, items, points=how.points)

        with self._located(ChunkEncodeError, part.coords, key), self._lock(key):
            self._patch(part.coords, key, assign, values, how.write_empty, complete=part.complete)

    def _write_chunk(self, part: ChunkPart, values: np.ndarray, how: _How) -> int:
        """Store values of a chunk; returns the number of its bytes before the bytes -> bytes codecs."""
        if self._chain.is_only_shards or not self._is_chunk(part, values):
            self._write_part(part, values, how)
            return 0
        key, data, nbytes = self._key(part.coords), None, 0
        if how.write_empty or not is_all_fill(values, self._fill):
            chunk = values if values.flags.c_contiguous else values.copy()
            spec = self._spec(part.coords)
            with self._located(ChunkEncodeError, part.coords, key):
                data = self._chain.encode_array(chunk, spec, write_empty=how.write_empty)
                nbytes = memoryview(data).nbytes
                data = self._chain.encode_bytes(data, spec)
        with self._located(ChunkEncodeError, part.coords, key), self._lock(key):
            self._put_value(part.coords, key, data)
        return nbytes

    def _is_chunk(self, part: ChunkPart, values: np.ndarray) -> bool:
        """Return whether the values are the whole chunk in its order, so that nothing is put together."""
        shape = self._chunk_shape(part.coords)
        return values.shape == shape and part.is_whole(shape)

    def _encode_partial(self, part: ChunkPart, key: str, values: np.ndarray, points: bool) -> None:
        codec: Any = self._chain.array_bytes
        spec = self._spec(part.coords)
        index = part.inside if points else outer_index(part.inside, spec.shape)
        with self._located(ChunkEncodeError, part.coords, key, codec.name), self._lock(key):
            codec.encode_partial(ChunkPlace(self._store, key, self._lock), values, index, spec)

    def _write_fields(
        self,
        parts: Iterable[ChunkPart],
        value: np.ndarray,
        field: FieldNames,
        *,
        points: bool,
        write_empty: bool,
    ) -> None:
        """Patch fields of records: under the lock of the chunk, so that all others keep their values."""
        for part in parts:
            items = take(value, part.outside, points=points)

            def assign(array: np.ndarray, values: Any, part: ChunkPart = part) -> None:
                names = None if array.dtype == bool else field  # bool: marks what is given
                put_fields(array, index_of(array, part.inside, points=points), values, names)

            key = self._key(part.coords)
            with self._located(ChunkEncodeError, part.coords, key), self._lock(key):
                self._patch(part.coords, key, assign, items, write_empty, complete=False)

    def write_gathered(
        self,
        chunk: tuple[int, ...],
        blocks: Mapping[tuple[int, ...], tuple[np.ndarray, np.ndarray | None]],
        complete: bool,
        threads: int = 0,
        write_empty: bool = False,
    ) -> None:
        """Write elements of one chunk that were gathered: its values, in one block, where the mask is true.

        Without a mask all of them are given; `complete` is true then.
        """
        coords, ((values, mask),) = chunk, blocks.values()
        inside = tuple(slice(0, axis.valid_length(k)) for axis, k in zip(self._axes, coords, strict=True))
        key = self._key(coords)
        given: Any = True if mask is None else mask[inside]

        def assign(array: np.ndarray, items: Any) -> None:
            np.copyto(array[inside], items, where=given)

        with self._located(ChunkEncodeError, coords, key), self._lock(key):
            self._patch(coords, key, assign, values[inside], write_empty, complete=complete)

    def _patch(
        self,
        coords: tuple[int, ...],
        key: str,
        assign: Callable[[np.ndarray, Any], None],
        values: np.ndarray,
        write_empty: bool,
        *,
        complete: bool,
    ) -> None:
        """Replace a chunk, whose lock is held, by itself with `values` put into it by `assign`.

        If they are all that the chunk has of the array (`complete`), it need not be read.
        """
        old = None if complete and not self._reaches_beyond(coords) else self._get(coords, key)
        chunk = self._chunk_to_patch(coords, key, old)
        assign(chunk, values)
        patch = None
        if self._chain.is_sharded:
            patch = Patch(np.zeros(chunk.shape, bool), old)
            assign(patch.given, True)
        self._store_chunk(coords, key, chunk, write_empty, patch)

    def _reaches_beyond(self, coords: tuple[int, ...]) -> bool:
        """Return whether another handle may have made the array grow into what is beyond its end here."""
        at_end = any(
            axis.valid_length(k) < axis.chunk_length(k) for axis, k in zip(self._axes, coords, strict=True)
        )
        return at_end and engine.shape_is_stale(self._array_place, self._shape)

    def _chunk_to_patch(self, coords: tuple[int, ...], key: str, old: Any) -> np.ndarray:
        """Return a writable chunk: what is stored, or fill values."""
        if old is not None:
            return np.array(self._decode(coords, key, old), dtype=self._dtype)
        shape = self._chunk_shape(coords)
        chunk = np.empty(shape, dtype=self._dtype)
        chunk[...] = self._fill
        return chunk

    def _store_chunk(
        self,
        coords: tuple[int, ...],
        key: str,
        chunk: np.ndarray,
        write_empty: bool,
        patch: Patch | None = None,
    ) -> None:
        data = None
        if write_empty or not is_all_fill(chunk, self._fill):
            with self._located(ChunkEncodeError, coords, key):
                data = self._chain.encode(chunk, self._spec(coords), write_empty=write_empty, patch=patch)
        self._put_value(coords, key, data)

    def _put_value(self, coords: tuple[int, ...], key: str, data: Any) -> None:
        """Store a chunk's bytes, or remove the chunk if there are none."""
        try:
            if data is None:
                self._store.delete(key)
            else:
                self._store.set(key, data)
        except MemoryError:
            raise
        except Exception as error:
            raise self._io_error(coords, key, error) from error

    # --- chunks ---

    @cached_property
    def _array_place(self) -> engine.Place:
        return engine.Place(self._scope())

    def _lock(self, key: str) -> Any:
        """Return the lock of a chunk, under which it is read, patched and replaced."""
        return ranked(engine.KeyLock(self._array_place, key[len(self._prefix) :]), Rank.CHUNK)

    def _key(self, coords: tuple[int, ...]) -> str:
        return self._prefix + self._encode_key(coords)

    def _chunk_shape(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        return self._regular_shape or tuple(
            axis.chunk_length(k) for axis, k in zip(self._axes, coords, strict=True)
        )

    def _spec(self, coords: tuple[int, ...]) -> Any:
        shape = self._chunk_shape(coords)
        spec = self._specs.get(shape)
        if spec is None:
            spec = self._specs[shape] = self._chunk_spec(shape)
        return spec

    def _located(
        self, kind: type[ChunkError], coords: tuple[int, ...], key: str, codec: str | None = None
    ) -> _Located:
        """Return a context for work on a chunk: whatever fails in it is raised as an error of `kind`."""
        return _Located(kind, self._path, coords, key, codec)

    def _io_error(self, coords: tuple[int, ...], key: str, error: Exception) -> ChunkIOError:
        return ChunkIOError(reason(error), array=self._path, chunk=coords, key=key)


class _Located:
    """A context that raises whatever fails in it as an error that names array, chunk and key."""

    __slots__ = ("_codec", "_coords", "_key", "_kind", "_path")

    def __init__(
        self, kind: type[ChunkError], path: str, coords: tuple[int, ...], key: str, codec: str | None
    ) -> None:
        self._kind, self._path, self._coords, self._key, self._codec = kind, path, coords, key, codec

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, ChunkError):
            raise error.located(array=self._path, chunk=self._coords, key=self._key) from error.__cause__
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            raise self._kind(
                reason(error), array=self._path, chunk=self._coords, key=self._key, codec=self._codec
            ) from error


def _copy_fields(records: np.ndarray, out: np.ndarray, field: FieldNames | None) -> None:
    """Copy fields of records to `out`, of the data type that the native engine asks for."""
    if field is None:
        return
    if isinstance(field, str):
        out[...] = raw_field(records, field)
    else:
        put_fields(out, ..., records, field)


def _check_part(values: Any, index: Any, spec: Any) -> None:
    wanted = np.broadcast_to(np.False_, spec.shape)[index].shape
    if not isinstance(values, np.ndarray) or values.shape != wanted or values.dtype != spec.np_dtype:
        found = f"{values.shape} of {values.dtype}" if isinstance(values, np.ndarray) else repr(values)
        raise ChunkDecodeError(f"expected a part of shape {wanted} of {spec.np_dtype}, got {found}")


def _batches(chunks: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(chunks)
    while batch := list(islice(iterator, size)):
        yield batch
