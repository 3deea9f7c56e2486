"""The engine for codecs, data types and key encodings that only Python has.

It walks the same plan as the native engine, so that both return the same values.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from zarrcore._core import engine
from zarrcore._locks import Rank, ranked
from zarrcore._typed import NamedTuple
from zarrcore._validate import of_array
from zarrcore.codecs.base import ArraySpec, Patch
from zarrcore.codecs.chain import run_codec
from zarrcore.codecs.filled import is_all_fill
from zarrcore.engine.chunk_place import ChunkPlace, count_read, most_stored
from zarrcore.engine.projection import (
    axes_of,
    batches,
    decode_part,
    project,
    project_points,
    put_fields,
    raw_field,
)
from zarrcore.engine.shard_parts import ShardParts
from zarrcore.errors import (
    BoundsCheckError,
    ChunkDecodeError,
    ChunkEncodeError,
    ChunkIOError,
    ChunkMemoryError,
    ChunkNotFoundError,
    named,
)
from zarrcore.keys.base import key_maker
from zarrcore.metadata.layout import fill_array, grid_edges
from zarrcore.storage.validation import answers, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from zarrcore.engine.projection import ChunkPart, FieldNames
    from zarrcore.indexing import Dim
    from zarrcore.metadata.common import ArrayMetadata
    from zarrcore.storage.base import Store

_BATCH = 64  # chunks asked from the store, or shared among the threads, in one call
_MOST_ENCODED = 32 << 20  # bytes of chunks that are encoded before the first of them is stored
_WORTH_SHARING = 1 << 16  # bytes of a chunk; fewer are done with before another thread wakes

_T = TypeVar("_T")
_Dims = TypeVar("_Dims", bound="Sequence[Any]")


class _How(NamedTuple):
    """How a call of writing stores its elements."""

    write_empty: bool
    threads: int
    field: FieldNames | None = None
    encoded: dict[tuple[int, ...], Any] | None = None  # whole chunks, by the array -> bytes codec


class PythonEngine:
    """Chunk by chunk through ``CodecChain.encode`` and ``decode``; see :class:`zarrcore.engine.base.Engine`.

    With `missing_is_error` chunks that are not stored raise an error, rather than being filled.  `document`
    is the key of the array's own document: once another process has replaced it, reads make the engine stale.
    """

    is_native = False
    is_left = is_stale = False
    block_shape: tuple[int, ...] | None = None

    def __init__(
        self,
        metadata: ArrayMetadata,
        store: Store,
        path: str,
        lost: Callable[[str], bool],
        *,
        missing_is_error: bool = False,
        document: str = "",
    ) -> None:
        self._metadata = metadata
        self._store = store
        self._document = document
        self.noticed = (store._noticed(document) or None) if document else None
        self._path = path
        self._has_lost = lost
        self._missing_is_error = missing_is_error
        self._prefix = key_prefix(path)
        self._axes = axes_of(metadata.shape, grid_edges(metadata))
        self._encode_key = key_maker(metadata.chunk_key_encoding)
        self._chain = metadata.chain()
        self._dtype = metadata.np_dtype
        self._fill = fill_array(metadata)
        self._specs: dict[tuple[int, ...], ArraySpec] = {}
        self._shards: dict[tuple[int, ...], ShardParts] = {}

    # --- the protocol ---

    def get(self, key: Any, threads: int = 0) -> Any:
        """``NotImplemented``: only the native engine has a short way for small reads."""
        return NotImplemented

    def put(self, key: Any, value: Any, write_empty: bool = False, threads: int = 0) -> bool:
        """False: there is no short way for small writes either."""
        return False

    def read(
        self, dims: Sequence[Dim], out: np.ndarray, threads: int = 0, field: FieldNames | None = None
    ) -> None:
        """Fill `out` (every dimension kept) with the selected elements, or with fields of these."""
        self._read_and_compare(project(self._within(dims), self._axes), out, threads, field)

    def read_points(
        self, coords: Sequence[np.ndarray], out: np.ndarray, threads: int = 0, field: FieldNames | None = None
    ) -> None:
        """Fill the flat `out` with the elements at `coords`, or with fields of these."""
        self._read_and_compare(project_points(self._within(coords), self._axes), out, threads, field)

    def _read_and_compare(
        self, parts: Iterable[ChunkPart], out: np.ndarray, threads: int, field: FieldNames | None
    ) -> None:
        """Read; where there are other metadata then, the chunks may be of two arrays."""
        parts, is_read = iter(parts), False
        first = [*islice(parts, 2)]
        try:
            self._read(chain(first, parts), out, threads, field)
            is_read = True
        finally:
            if len(first) > 1:
                self._compare(is_read)

    def _compare(self, is_read: bool) -> None:
        if self.noticed is not None:
            now = self._store._noticed(self._document)
            # Where nothing was read and nothing is there, the error says that they are gone.
            self.is_stale |= now != self.noticed and (is_read or bool(now))

    def note_look(self) -> None:
        """Do nothing: what is written by Python takes longer than one more look."""

    def confirm(self, now: bool = True) -> None:
        """Look whether several reads were of one array."""
        self._compare(is_read=True)

    def write(
        self,
        dims: Sequence[Dim],
        value: np.ndarray,
        threads: int = 0,
        write_empty: bool = False,
        field: FieldNames | None = None,
        encoded: dict[tuple[int, ...], Any] | None = None,
    ) -> None:
        """Store `value`, of the shape of the selection, in the selected elements, or in fields of these.

        Its data type is that of the array; strings may also be ``str`` objects or of fixed length.
        `encoded` is what :meth:`check_objects` has returned.
        """
        if field is None and value.dtype != self._dtype and not self._chain.takes_text:
            value = value.astype(self._dtype)
        how = _How(write_empty, self._sharing(threads), field, encoded)
        self._write(project(self._within(dims), self._axes), value, how)

    def write_points(
        self,
        coords: Sequence[np.ndarray],
        value: np.ndarray,
        threads: int = 0,
        write_empty: bool = False,
        field: FieldNames | None = None,
    ) -> None:
        """Store the flat `value` in the elements at `coords`; of repeated points the last one stays."""
        how = _How(write_empty, self._sharing(threads), field)
        self._write(project_points(self._within(coords), self._axes), value, how)

    def _within(self, dims: _Dims) -> _Dims:
        """Refuse a selection that another thread has made the array too small for, since it was checked."""
        for number, (dim, axis) in enumerate(zip(dims, self._axes, strict=True)):
            if isinstance(dim, np.ndarray):
                ends = [dim.min(), dim.max()] if dim.size else []
            else:
                start, step, count = dim
                ends = [start, start + (count - 1) * step] if count else []
            if not all(0 <= end < axis.length for end in ends):
                what = "indices leave" if isinstance(dim, np.ndarray) else f"{tuple(dim)} leaves"
                raise BoundsCheckError(f"dims[{number}]: {what} the {axis.length} elements of the dimension")
        return dims

    def check_objects(
        self, selected: Sequence[Any], value: np.ndarray, *, points: bool
    ) -> dict[tuple[int, ...], Any] | None:
        """Refuse objects that cannot be encoded, if a codec knows them; the error names their chunk.

        Looking at objects takes half as long as encoding them, for they lie anywhere in memory.  So the first
        chunks are encoded, and returned for :meth:`write`.
        """
        codec, chain = self._checker, self._chain
        if codec is None:
            return None
        encoded: dict[tuple[int, ...], Any] = {}
        is_first = codec is chain.array_bytes and not chain.array_array
        room = _MOST_ENCODED if is_first and not points and not chain.has_codec_of_user else 0
        for part in (project_points if points else project)(self._within(selected), self._axes):
            values = value[part.outside_of(value)]
            with self._place(part.coords).errors_as(ChunkEncodeError):
                if room > 0 and part.is_whole((spec := self._spec(part.coords)).shape):
                    data = encoded[part.coords] = chain.encode_array(_contiguous(values), spec)
                    room -= memoryview(data).nbytes
                else:
                    run_codec(codec, ChunkEncodeError, codec.check_values, values)
        return encoded

    @cached_property
    def _checker(self) -> Any:
        return self._chain.checker(self._spec_of(tuple([axis.chunk_length(0) for axis in self._axes])))

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
        ((values, mask),) = blocks.values()
        inside = tuple(slice(0, axis.valid_length(k)) for axis, k in zip(self._axes, chunk, strict=True))
        given: Any = True if mask is None else mask[inside]

        def assign(array: np.ndarray, items: Any) -> None:
            np.copyto(array[inside], items, where=given)

        place = self._place(chunk)
        with place.errors_as(ChunkEncodeError), place.lock():
            self._patch(place, assign, values[inside], write_empty, complete=complete)

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

    def _each(
        self, chunks: Iterable[_T], call: Callable[[_T], int], threads: int, shape: Sequence[int]
    ) -> None:
        """Call with each chunk of a shape, on several threads: one codes while another is stored.

        What the call returns is how many bytes the chunk had before or after the bytes -> bytes codecs: of
        items of any length there may be more than it seems.
        """
        chunks = iter(chunks)
        if threads == 1 or math.prod(shape) * self._dtype.itemsize < _WORTH_SHARING:
            for chunk in chunks:
                if call(chunk) >= _WORTH_SHARING and threads > 1:
                    break
        for batch in batches(chunks, _BATCH):
            engine.call_parallel(partial(_call_one, call, batch), len(batch), threads)

    @cached_property
    def _first_shape(self) -> tuple[int, ...]:
        """Shape of the first chunk."""
        return self._spec((0,) * len(self._axes)).shape if all(self._metadata.shape) else (0,)

    # --- reading ---

    def _read(
        self, parts: Iterable[ChunkPart], out: np.ndarray, threads: int, field: FieldNames | None
    ) -> None:
        if field is not None:  # of whole elements
            records = np.empty(out.shape, self._dtype)
            self._read(parts, records, threads, None)
            if isinstance(field, str):
                out[...] = raw_field(records, field)
            else:
                put_fields(out, ..., records, field)
            return
        threads = self._sharing(threads)

        def read(part: ChunkPart, stored: Any = ...) -> int:
            return self._read_part(part, stored, out, threads)

        if self._store._is_near:
            self._each(parts, read, threads, self._first_shape)
            return
        for batch in batches(parts, _BATCH):
            fetched = self._fetch([part for part in batch if part.complete or not self._reads_parts])
            pairs = [(part, fetched.get(part.coords, ...)) for part in batch]
            self._each(pairs, lambda pair: read(*pair), threads, self._first_shape)

    @property
    def _reads_parts(self) -> bool:
        """Whether parts of chunks are read by their codec's own means."""
        return self._chain.is_only_shards or self._chain.supports_partial_decode

    def _fetch(self, parts: Sequence[ChunkPart]) -> dict[tuple[int, ...], Any]:
        """Return what is stored of some chunks, if they can be asked for in one call."""
        places = [self._place(part.coords) for part in parts]
        keys = [place.key for place in places]
        if len(keys) < 2:
            return {}
        try:
            if self._most is None or not self._store._bounds_chunks:
                found = self._store.get_many(keys)
            else:
                found = self._store._get_chunks(keys, self._most)
        except MemoryError as error:
            raise ChunkMemoryError(f"out of memory: {named(error)}", array=self._path or "/") from error
        except Exception as error:
            key = getattr(error, "key", None)
            if key not in keys:
                return {}  # asking for each alone shows which one failed, and why
            with places[keys.index(key)].errors_as(ChunkIOError):
                raise
        with places[0].errors_as(ChunkIOError):
            found = answers(found, len(keys), "get_many")
        found = [place.as_bytes(value) for place, value in zip(places, found, strict=True)]
        count_read(found)
        return {place.coords: data for place, data in zip(places, found, strict=True)}

    def _read_part(self, part: ChunkPart, stored: Any, out: np.ndarray, threads: int) -> int:
        """Read a part of a chunk into its place.

        `stored` are the chunk's bytes, None if there are none, or ... if they have not been asked for.
        Returns the number of bytes before the bytes -> bytes codecs.
        """
        chain, place, spec = self._chain, self._place(part.coords), self._spec(part.coords)
        nbytes = 0
        if stored is ... and not part.complete and chain.supports_partial_decode:
            found = self._decode_partial(part, place, spec, out)
        elif chain.is_only_shards:
            found = stored is not None and self._read_shard(part, place, spec, stored, out, threads)
            nbytes = spec.size * self._dtype.itemsize
        else:
            with place.errors_as(ChunkDecodeError):
                stored = place.get() if stored is ... else stored
                found = stored is not None
                if found:
                    with engine.Decoding():
                        data = chain.decode_bytes(stored, spec)
                        decode_part(chain, data, spec, part, out)
                    nbytes = memoryview(data).nbytes
        if not found:
            self._put_missing(part, place.key, out)
        return nbytes if found else 0

    def _decode_partial(self, part: ChunkPart, place: ChunkPlace, spec: ArraySpec, out: np.ndarray) -> bool:
        """Have the array -> bytes codec read a part of a chunk; False if the chunk is not stored."""
        codec: Any = self._chain.array_bytes
        whole = np.broadcast_to(np.False_, spec.shape)
        index = part.inside_of(whole)
        with place.errors_as(ChunkDecodeError, codec.name):
            values = codec.decode_partial(place, index, spec)
            if values is None:
                return False
            shape, dtype = whole[index].shape, spec.np_dtype
            if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != dtype:
                is_array = isinstance(values, np.ndarray)
                got = f"{values.shape} of {values.dtype}" if is_array else repr(values)
                raise ChunkDecodeError(f"expected a part of shape {shape} of {dtype}, got {got}")
        out[part.outside_of(out)] = values
        return True

    def _put_missing(self, part: ChunkPart, key: str, out: np.ndarray) -> None:
        if self._has_lost(self._prefix):
            raise ChunkIOError("the directory of the array is gone, or its metadata", array=self._path or "/")
        if self._missing_is_error:
            raise ChunkNotFoundError(
                f"array {self._path or '/'!r}: chunk {part.coords} (key {key!r}) is not stored, and the "
                "configuration array.read_missing_chunks is False"
            )
        out[part.outside_of(out)] = self._fill

    # --- shards ---

    def _shard(self, spec: ArraySpec, threads: int) -> tuple[ShardParts, Any]:
        """Return what a shard consists of, and a function that calls with each of its inner chunks."""
        shards = self._shards.get(spec.shape)
        if shards is None:
            codec: Any = self._chain.array_bytes
            shards = self._shards[spec.shape] = ShardParts(codec, spec, self._fill)
        inner = shards.inner_shape
        return shards, lambda chunks, call: self._each(chunks, call, threads, inner)

    def _read_shard(
        self, part: ChunkPart, place: ChunkPlace, spec: ArraySpec, stored: Any, out: np.ndarray, threads: int
    ) -> bool:
        """Decode a part of a shard, which may be in hand, into its place; False if it is not stored."""
        shards, each = self._shard(spec, threads)
        with place.errors_as(ChunkDecodeError):
            chunks = shards.find(part, None if stored is ... else stored, place)
            if chunks is not None:
                shards.read(part, chunks, out, each)
        return chunks is not None

    def _write_shard(self, part: ChunkPart, place: ChunkPlace, values: np.ndarray, how: _How) -> None:
        """Encode those inner chunks of a shard that values belong to; others stay as they are stored."""
        shards, each = self._shard(self._spec(part.coords), how.threads)
        is_new = part.complete and not self._reaches_beyond(part.coords)
        with place.errors_as(ChunkEncodeError), place.lock():

            def change(shard: Any, write_empty: bool) -> bytes | None:
                return shards.write(part, values, shard, each, write_empty=write_empty)

            if is_new:
                place.replace(change(None, how.write_empty))
            else:
                place.patch(change, how.write_empty)

    # --- writing ---

    def _write(self, parts: Iterable[ChunkPart], value: np.ndarray, how: _How) -> None:
        def write(part: ChunkPart) -> int:
            return self._write_part(part, value[part.outside_of(value)], how)

        self._each(parts, write, how.threads, self._first_shape)

    def _write_part(self, part: ChunkPart, values: np.ndarray, how: _How) -> int:
        """Store values of a chunk; returns the number of its bytes before the bytes -> bytes codecs."""
        place, spec, chain = self._place(part.coords), self._spec(part.coords), self._chain
        if how.field is None and chain.is_only_shards:
            self._write_shard(part, place, values, how)
            return 0
        if how.field is None and part.is_whole(spec.shape):
            return self._write_whole(place, spec, values, how)
        with place.errors_as(ChunkEncodeError), place.lock():
            if how.field is None and chain.supports_partial_encode and not part.complete:
                codec: Any = chain.array_bytes
                index = part.inside_of(np.broadcast_to(np.False_, spec.shape))
                with place.errors_as(ChunkEncodeError, codec.name):
                    codec.encode_partial(place, values, index, spec)
                return 0

            def assign(chunk: np.ndarray, items: Any) -> None:
                # An array of bool marks what is given.
                put_fields(chunk, part.inside_of(chunk), items, None if chunk.dtype == bool else how.field)

            complete = part.complete and how.field is None
            self._patch(place, assign, values, how.write_empty, complete=complete)
        return 0

    def _write_whole(self, place: ChunkPlace, spec: ArraySpec, values: np.ndarray, how: _How) -> int:
        """Store a chunk whose values are all given, in its order, so that nothing is put together."""
        encoded, nbytes = None, 0
        with place.errors_as(ChunkEncodeError):
            if how.write_empty or not is_all_fill(values, self._fill):
                data = (how.encoded or {}).pop(place.coords, None)
                if data is None:
                    data = self._chain.encode_array(_contiguous(values), spec, write_empty=how.write_empty)
                nbytes = memoryview(data).nbytes
                encoded = self._chain.encode_bytes(data, spec)
            with place.lock():
                place.replace(encoded)
        return nbytes

    def _patch(
        self,
        place: ChunkPlace,
        assign: Callable[[np.ndarray, Any], None],
        values: np.ndarray,
        write_empty: bool,
        *,
        complete: bool,
    ) -> None:
        """Replace a chunk, whose lock is held, by itself with `values` put into it by `assign`.

        If they are all that the chunk has of the array (`complete`), it need not be read.
        """
        spec = self._spec(place.coords)

        def change(old: Any, write_empty: bool) -> Any:
            return self._patched(place, spec, old, assign, values, write_empty)

        if complete and not self._reaches_beyond(place.coords):
            place.replace(change(None, write_empty))
        else:
            place.patch(change, write_empty)

    def _patched(
        self,
        place: ChunkPlace,
        spec: ArraySpec,
        old: Any,
        assign: Callable[[np.ndarray, Any], None],
        values: np.ndarray,
        write_empty: bool,
    ) -> Any:
        """Return a chunk (None: there is none) with values put into it, encoded; None if it is then empty."""
        chunk = np.empty(spec.shape, self._dtype)
        if old is None:
            chunk[...] = self._fill
        else:
            with place.errors_as(ChunkDecodeError):
                chunk[...] = self._chain.decode(old, spec)
        assign(chunk, values)
        patch = None
        if self._chain.is_sharded:
            patch = Patch(np.zeros(chunk.shape, bool), old)
            assign(patch.given, True)
        if not write_empty and is_all_fill(chunk, self._fill):
            return None
        return self._chain.encode(chunk, spec, write_empty=write_empty, patch=patch)

    def _reaches_beyond(self, coords: tuple[int, ...]) -> bool:
        """Return whether another handle may have made the array grow into what is beyond its end here."""
        at_end = any(
            axis.valid_length(k) < axis.chunk_length(k) for axis, k in zip(self._axes, coords, strict=True)
        )
        return at_end and engine.shape_is_stale(self._scope, self._metadata.shape)

    # --- chunks ---

    @cached_property
    def _scope(self) -> engine.Place:
        return self._store._place(self._path)

    @cached_property
    def _scope_here(self) -> engine.Place:
        return engine.Place(self._store._scope(self._path))

    def _lock(self, key: str, *, writes: bool) -> Any:
        scope = self._scope if writes else self._scope_here
        return ranked(engine.KeyLock(scope, key[len(self._prefix) :], self._path), Rank.CHUNK)

    def _place(self, coords: tuple[int, ...]) -> ChunkPlace:
        with of_array(self._path):
            key = self._prefix + self._encode_key(coords)
            return ChunkPlace(self._store, self._path, coords, key, self._lock, self._most)

    @cached_property
    def _most(self) -> int | None:
        edges = grid_edges(self._metadata)
        shape = tuple(edge if isinstance(edge, int) else max(edge, default=1) for edge in edges)
        return most_stored(self._chain, self._spec_of(shape))

    def _spec(self, coords: tuple[int, ...]) -> ArraySpec:
        return self._spec_of(
            tuple([axis.chunk_length(k) for axis, k in zip(self._axes, coords, strict=True)])
        )

    def _spec_of(self, shape: tuple[int, ...]) -> ArraySpec:
        spec = self._specs.get(shape)
        if spec is None:
            metadata = self._metadata
            with of_array(self._path):
                spec = self._specs[shape] = ArraySpec(shape, metadata.data_type, metadata.fill_scalar)
        return spec


def _contiguous(values: np.ndarray) -> np.ndarray:
    return values if values.flags.c_contiguous else values.copy()


def _call_one(call: Callable[[_T], int], batch: Sequence[_T], number: int) -> int:
    return call(batch[number])
