"""Reading and writing chunks in Python: the way for what the C engine cannot do.

:class:`PythonEngine` offers the four calls of the native engine (``read``, ``write``, ``read_points``,
``write_points``) over the same selections, for codecs, data types and key encodings that only Python has.
Both walk the same plan, so both give the same results.
"""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from zarrcore._core import engine
from zarrcore._locks import Lock, RLock
from zarrcore.codecs.base import Patch
from zarrcore.errors import (
    ChunkDecodeError,
    ChunkEncodeError,
    ChunkError,
    ChunkIOError,
    ChunkNotFoundError,
)
from zarrcore.projection import axes_of, project, project_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from zarrcore.abc.store import Store
    from zarrcore.codecs.chain import CodecChain
    from zarrcore.indexing import Dim
    from zarrcore.keys import ChunkKeyEncoding
    from zarrcore.projection import ChunkPart, Selector

__all__ = ["ChunkPlace", "PythonEngine", "chunk_lock", "field_lock", "is_all_fill", "outer_index"]

_BATCH = 64  # chunks asked from the store, or shared among the threads, in one call
_WORTH_SHARING = 1 << 16  # bytes of a chunk; fewer are done with before another thread wakes

_T = TypeVar("_T")

# For what is read, patched and written back: one such update at a time per place.
_CHUNK_LOCKS: tuple[Lock, ...]
_FIELD_LOCK: RLock  # type: ignore[valid-type]


def _renew() -> None:
    """Make all locks anew: a child of a fork must not wait for a thread that it does not have."""
    global _CHUNK_LOCKS, _FIELD_LOCK
    _CHUNK_LOCKS = tuple(Lock() for _ in range(256))
    _FIELD_LOCK = RLock()


_renew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def chunk_lock(key: str) -> Lock:
    """The lock under which the Python engine patches the chunk stored under `key`.

    One lock for each residue of the key's hash: two threads that patch the same chunk always meet at the same
    lock, whichever array objects they hold, and the table never grows.
    """
    return _CHUNK_LOCKS[hash(key) % len(_CHUNK_LOCKS)]


def field_lock() -> Any:
    """The lock under which records and single fields of them are written; one for the process."""
    return _FIELD_LOCK


class _Held(NamedTuple):
    """A chunk as it is stored; None for nothing."""

    part: ChunkPart
    key: str
    data: Any


class PythonEngine:
    """Chunk by chunk through ``CodecChain.encode`` and ``decode``.

    Parameters
    ----------
    store
        Where the chunks are.
    prefix
        Start of every chunk key, ``""`` or ``"foo/bar/"``.
    shape, chunks
        Of the array; `chunks` holds for each dimension a length, or the lengths of all chunks.
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
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._shape = tuple(shape)
        self._axes = axes_of(shape, chunks)
        self._key_encoding = key_encoding
        self._chain = chain
        self._chunk_spec = chunk_spec
        self._dtype = dtype
        self._fill = fill
        self._path = path
        self._missing_is_error = missing_is_error
        self._specs: dict[tuple[int, ...], Any] = {}

    # --- the four calls ---

    def read(self, dims: Sequence[Dim], out: np.ndarray, threads: int = 0) -> None:
        """Fill `out` (every dimension kept) with the selected elements."""
        self._read(project(dims, self._axes), out, threads)

    def read_points(self, coords: Sequence[np.ndarray], out: np.ndarray, threads: int = 0) -> None:
        """Fill the flat `out` with the elements at `coords`."""
        self._read(project_points(coords, self._axes), out, threads, points=True)

    def write(
        self, dims: Sequence[Dim], value: np.ndarray, threads: int = 0, write_empty: bool = False
    ) -> None:
        """Store `value`, of the shape of the selection, in the selected elements.

        Its data type is that of the array; strings may also be ``str`` objects or of fixed length.
        """
        if value.dtype != self._dtype and not self._chain.takes_text:
            value = value.astype(self._dtype)

        def put(part: ChunkPart) -> int:
            return self._write_chunk(part, _take(value, part.outside), write_empty)

        self._each(project(dims, self._axes), put, self._sharing(threads))

    def write_points(
        self, coords: Sequence[np.ndarray], value: np.ndarray, threads: int = 0, write_empty: bool = False
    ) -> None:
        """Store the flat `value` in the elements at `coords`; of repeated points the last one stays."""
        for part in project_points(coords, self._axes):
            self._write_part(part, value[part.outside], write_empty, points=True)

    # --- chunks on several threads ---

    def _sharing(self, threads: int) -> int:
        """How many threads a call may use, of `threads` (0: as configured).

        More than one where the bytes -> bytes codecs leave the GIL to the others.
        """
        most = engine.thread_number(threads) or engine.num_threads()
        return most if self._chain.is_native_behind else 1

    def _each(self, chunks: Iterable[_T], call: Callable[[_T], int], threads: int) -> None:
        """Call with each chunk, whole from the store to the array or back: one codes while another is stored.

        What it returns is how many bytes the chunk had before or behind the bytes -> bytes codecs.
        """
        chunks = iter(chunks)
        if threads == 1 or not self._has_large_chunks:
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
    def _has_large_chunks(self) -> bool:
        """Whether chunks are large however short their items are."""
        shape = self._chunk_shape((0,) * len(self._axes)) if all(self._shape) else (0,)
        return math.prod(shape) * self._dtype.itemsize >= _WORTH_SHARING

    # --- reading ---

    def _read(
        self, parts: Iterable[ChunkPart], out: np.ndarray, threads: int, *, points: bool = False
    ) -> None:
        if self._chain.supports_partial_decode:
            parts = self._all_but_partial(parts, out, points)
        threads = self._sharing(threads)

        def place(held: _Held) -> int:
            return self._place(held, out, points)

        if self._store._is_near:
            self._each(parts, lambda part: place(self._fetch([part])[0]), threads)
            return
        for batch in _batches(parts, _BATCH):
            self._each(self._fetch(batch), place, threads)

    def _all_but_partial(
        self, parts: Iterable[ChunkPart], out: np.ndarray, points: bool
    ) -> Iterator[ChunkPart]:
        """Read the parts of chunks by the codec's own means; what is left are whole chunks."""
        codec: Any = self._chain.array_bytes
        for part in parts:
            if part.complete:
                yield part
                continue
            key, spec = self._key(part.coords), self._spec(part.coords)
            index = part.inside if points else outer_index(part.inside, spec.shape)
            place = ChunkPlace(self._store, key)
            with self._located(ChunkDecodeError, part.coords, key, codec.name):
                values = codec.decode_partial(place, index, spec)
                if values is not None:
                    _check_part(values, index, spec)
            if values is None:
                self._put_missing(part, key, out)
            else:
                _put(out, part.outside, values)

    def _place(self, held: _Held, out: np.ndarray, points: bool) -> int:
        """Decode a chunk into its place; returns the number of its bytes before the bytes -> bytes codecs."""
        part, key, stored = held
        if stored is None:
            self._put_missing(part, key, out)
            return 0
        spec = self._spec(part.coords)
        with self._located(ChunkDecodeError, part.coords, key):
            data = self._chain.decode_bytes(stored, spec)
            nbytes = memoryview(data).nbytes
            if not points and _is_whole(part, spec.shape):
                place = out[(*part.outside, ...)]  # a view, also of an array without dimensions
                if self._chain.decode_array_into(data, spec, place):
                    return nbytes
            chunk = self._chain.decode_array(data, spec)
        _put(out, part.outside, chunk[part.inside] if points else _take(chunk, part.inside))
        return nbytes

    def _put_missing(self, part: ChunkPart, key: str, out: np.ndarray) -> None:
        if self._store._has_lost(self._prefix):
            raise ChunkIOError("the directory of the array is gone", array=self._path)
        if self._missing_is_error:
            raise ChunkNotFoundError(
                f"array {self._path!r}: chunk {part.coords} (key {key!r}) is not stored, and the "
                "configuration array.read_missing_chunks is False"
            )
        place: Any = part.outside or (...,)  # out[()] would get the array that holds the object
        _put(out, place, self._fill)

    def _fetch(self, batch: Sequence[ChunkPart]) -> list[_Held]:
        """What is stored of some chunks."""
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
            # One chunk of the batch failed; asking for each alone tells which, and what was wrong.
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

    # --- writing ---

    def _write_part(
        self, part: ChunkPart, values: np.ndarray, write_empty: bool, *, points: bool = False
    ) -> None:
        key = self._key(part.coords)
        if self._chain.supports_partial_encode and not part.complete:
            self._encode_partial(part, key, values, points)
            return

        def put(array: np.ndarray, items: Any) -> None:
            if points:
                array[part.inside] = items
            else:
                _put(array, part.inside, items)

        with chunk_lock(key):
            self._patch(part.coords, key, put, values, write_empty, complete=part.complete)

    def _write_chunk(self, part: ChunkPart, values: np.ndarray, write_empty: bool) -> int:
        """Store values of a chunk; returns the number of its bytes before the bytes -> bytes codecs."""
        if not self._is_chunk(part, values):
            self._write_part(part, values, write_empty)
            return 0
        key, data, nbytes = self._key(part.coords), None, 0
        if write_empty or not is_all_fill(values, self._fill):
            chunk = values if values.flags.c_contiguous else values.copy()
            spec = self._spec(part.coords)
            with self._located(ChunkEncodeError, part.coords, key):
                data = self._chain.encode_array(chunk, spec, write_empty=write_empty)
                nbytes = memoryview(data).nbytes
                data = self._chain.encode_bytes(data, spec)
        with chunk_lock(key):
            self._put_value(part.coords, key, data)
        return nbytes

    def _is_chunk(self, part: ChunkPart, values: np.ndarray) -> bool:
        """Whether the values are the whole chunk in its order, so that nothing is put together."""
        shape = self._chunk_shape(part.coords)
        return (
            isinstance(values, np.ndarray)  # and not the only string of an array without dimensions
            and values.shape == shape
            and _is_whole(part, shape)
        )

    def _encode_partial(self, part: ChunkPart, key: str, values: np.ndarray, points: bool) -> None:
        codec: Any = self._chain.array_bytes
        spec = self._spec(part.coords)
        index = part.inside if points else outer_index(part.inside, spec.shape)
        with chunk_lock(key), self._located(ChunkEncodeError, part.coords, key, codec.name):
            codec.encode_partial(ChunkPlace(self._store, key), values, index, spec)

    def write_gathered(
        self, coords: tuple[int, ...], values: np.ndarray, mask: np.ndarray | None, write_empty: bool
    ) -> None:
        """Write those elements of a chunk that `mask` says (None: all); `values` has the chunk's shape."""
        inside = tuple(slice(0, axis.valid_length(k)) for axis, k in zip(self._axes, coords, strict=True))
        key = self._key(coords)
        given: Any = True if mask is None else mask[inside]

        def put(array: np.ndarray, items: Any) -> None:
            np.copyto(array[inside], items, where=given)

        with chunk_lock(key):
            self._patch(coords, key, put, values[inside], write_empty, complete=mask is None)

    def _patch(
        self,
        coords: tuple[int, ...],
        key: str,
        put: Callable[[np.ndarray, Any], None],
        values: np.ndarray,
        write_empty: bool,
        *,
        complete: bool,
    ) -> None:
        """Replace a chunk, whose lock is held, by itself with `values` put into it.

        If they are all that the chunk has of the array (`complete`), it need not be read.
        """
        old = None if complete and not self._reaches_beyond(coords) else self._get(coords, key)
        chunk = self._chunk_to_patch(coords, key, old)
        put(chunk, values)
        patch = None
        if self._chain.is_sharded:
            patch = Patch(np.zeros(chunk.shape, bool), old)
            put(patch.given, True)
        self._store_chunk(coords, key, chunk, write_empty, patch)

    def _reaches_beyond(self, coords: tuple[int, ...]) -> bool:
        """Whether another handle may have made the array grow into what is beyond its end here."""
        at_end = any(
            axis.valid_length(k) < axis.chunk_length(k) for axis, k in zip(self._axes, coords, strict=True)
        )
        return at_end and engine.shape_is_stale(self._store._lock_scope(), self._prefix, self._shape)

    def _chunk_to_patch(self, coords: tuple[int, ...], key: str, old: Any) -> np.ndarray:
        """A writable chunk: what is stored, or fill values."""
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

    def _key(self, coords: tuple[int, ...]) -> str:
        return self._prefix + self._key_encoding.encode(coords)

    def _chunk_shape(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(axis.chunk_length(k) for axis, k in zip(self._axes, coords, strict=True))

    def _spec(self, coords: tuple[int, ...]) -> Any:
        shape = self._chunk_shape(coords)
        spec = self._specs.get(shape)
        if spec is None:
            spec = self._specs[shape] = self._chunk_spec(shape)
        return spec

    @contextmanager
    def _located(
        self, kind: type[ChunkError], coords: tuple[int, ...], key: str, codec: str | None = None
    ) -> Iterator[None]:
        """Whatever a codec raises as an error of a kind that names array, chunk and key."""
        try:
            yield
        except ChunkError as error:
            raise error.located(array=self._path, chunk=coords, key=key) from error.__cause__
        except MemoryError:
            raise
        except Exception as error:
            raise kind(_reason(error), array=self._path, chunk=coords, key=key, codec=codec) from error

    def _io_error(self, coords: tuple[int, ...], key: str, error: Exception) -> ChunkIOError:
        return ChunkIOError(_reason(error), array=self._path, chunk=coords, key=key)


class ChunkPlace:
    """A stored chunk, for codecs that read and write parts of it; failures of the store are told as such.

    Parameters
    ----------
    store : Store
        Where the chunk is.
    key : str
        Its key.
    """

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key

    def get(self, byte_range: Any = None) -> Any:
        """The chunk's bytes, or a part of them; None if it is not stored."""
        return self._call(self._store.get, byte_range)

    def set(self, value: Any) -> None:
        """Store the chunk's bytes."""
        self._call(self._store.set, value)

    def set_if_not_exists(self, default: Any) -> None:
        """Store the chunk's bytes unless it is stored already."""
        self._call(self._store.set_if_not_exists, default)

    def delete(self) -> None:
        """Remove the chunk."""
        self._call(self._store.delete)

    def _call(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(self._key, *args)
        except (ChunkError, MemoryError):
            raise
        except Exception as error:
            raise ChunkIOError(_reason(error), key=self._key) from error


def _check_part(values: Any, index: Any, spec: Any) -> None:
    wanted = np.broadcast_to(np.False_, spec.shape)[index].shape
    if not isinstance(values, np.ndarray) or values.shape != wanted or values.dtype != spec.np_dtype:
        found = f"{values.shape} of {values.dtype}" if isinstance(values, np.ndarray) else repr(values)
        raise ChunkDecodeError(f"expected a part of shape {wanted} of {spec.np_dtype}, got {found}")


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _is_whole(part: ChunkPart, shape: tuple[int, ...]) -> bool:
    """Whether a chunk of `shape` is selected from its first to its last element in order, by slices alone."""
    return all(
        isinstance(inside, slice) and isinstance(outside, slice) and inside.indices(length) == (0, length, 1)
        for inside, outside, length in zip(part.inside, part.outside, shape, strict=True)
    )


def _batches(chunks: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(chunks)
    while batch := list(islice(iterator, size)):
        yield batch


def outer_index(selectors: tuple[Selector, ...], shape: tuple[int, ...]) -> Any:
    """An index that numpy applies as an outer product of slices and index arrays."""
    if sum(isinstance(selector, np.ndarray) for selector in selectors) < 2:
        return selectors
    return np.ix_(
        *(
            selector if isinstance(selector, np.ndarray) else np.arange(length)[selector]
            for selector, length in zip(selectors, shape, strict=True)
        )
    )


def _take(array: np.ndarray, selectors: tuple[Selector, ...]) -> np.ndarray:
    taken: np.ndarray = array[outer_index(selectors, array.shape)]
    return taken


def _put(array: np.ndarray, selectors: tuple[Selector, ...], values: np.ndarray) -> None:
    array[outer_index(selectors, array.shape)] = values


def is_all_fill(chunk: np.ndarray, fill: np.ndarray) -> bool:
    """True if every element has the very bits of the fill value (so NaN equals NaN, and -0.0 is not 0.0)."""
    if chunk.size == 0:
        return True
    if chunk.dtype.kind == "O":
        wanted = fill[()]
        return all(
            type(item) is type(wanted) and item is wanted or _same(item, wanted) for item in chunk.flat
        )
    if chunk.dtype.kind == "U":  # on the way into an array of strings of any length
        wanted = fill[()]
        return bool(chunk.flat[0] == wanted and np.all(chunk == wanted))
    if chunk.dtype.kind == "T":
        # Two str, for a comparison with an array would make one of fixed length of the str first.
        return bool(chunk.reshape(-1)[0] == fill[()] and np.all(chunk == fill))
    items = np.ascontiguousarray(chunk).reshape(-1)
    width = chunk.dtype.itemsize
    if width == 0:
        return True
    word = f"u{width}" if width in (1, 2, 4, 8) else None
    if word:
        return bool(np.all(items.view(word) == np.frombuffer(fill.tobytes(), dtype=word)[0]))
    return bool(np.all(items.view("u1").reshape(-1, width) == np.frombuffer(fill.tobytes(), dtype="u1")))


def _same(item: Any, wanted: Any) -> bool:
    """Equality of two Python objects, safe for arrays and values of other types."""
    if type(item) is not type(wanted):
        return False
    if isinstance(item, np.ndarray):
        return item.dtype == wanted.dtype and np.array_equal(item, wanted)
    return bool(item == wanted)
