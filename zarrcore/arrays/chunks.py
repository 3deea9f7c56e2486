"""The stored chunks of an array: counting them, and what happens to them when the array changes its shape."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import compress, islice, product
from typing import Any

import numpy as np

from zarrcore import indexing
from zarrcore._locks import holding
from zarrcore._log import debug
from zarrcore._validate import of_array
from zarrcore.arrays.access import put, writes_empty_chunks
from zarrcore.arrays.description import ArrayDescription, grid_axes
from zarrcore.arrays.documents import documents_of, reread, save
from zarrcore.arrays.opened import OpenArray, engine_of_whole_chunks
from zarrcore.arrays.values import as_values
from zarrcore.codecs.filled import is_all_fill
from zarrcore.engine.build import chunk_store, note_shape
from zarrcore.engine.projection import Axis
from zarrcore.errors import ConflictError, StoreError, given, named, said
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.keys.base import chunk_coords, key_maker, names_hidden_by, quick_reader
from zarrcore.metadata import layout
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.copies import document_lock
from zarrcore.nodes.reading import reading, several_at_once, which_exist
from zarrcore.nodes.users import growing_at, note_loss, refuse_inside, wait_for_writes, writing
from zarrcore.nodes.versions import Versions, repeated
from zarrcore.storage.validation import is_document, key_prefix

_FEW = 64  # chunks that are looked for by their keys, rather than by listing
_BATCH = 1024  # of keys looked for in one call
_MOST_LOOKED_AT = 64 << 20  # bytes of one chunk that are read to see whether they need to be overwritten


def parse_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape from an integer or a sequence of integers, none of them negative."""
    items = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    lengths = []
    for item in items:
        if isinstance(item, (bool, np.bool_)):
            raise TypeError(f"shape: expected integers, got {given(shape)}")
        try:
            lengths.append(operator.index(item))
        except TypeError:
            raise TypeError(f"shape: expected integers, got {given(shape)}") from None
    if any(length < 0 for length in lengths):
        raise ValueError(f"shape: expected lengths of at least 0, got {given(shape)}")
    return tuple(lengths)


def stored_chunks(
    array: ArrayDescription,
    axes: Sequence[Axis] | None = None,
    keys: Iterable[str] | None = None,
    *,
    hidden: bool = False,
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Grid position and key of every chunk that is stored, found by listing the store (or among `keys`).

    Keys that cannot be read backwards are looked for within `axes`, by default those of the array's shape.
    With `hidden`, also chunks that reading shows not to be absent: something else is in their way.
    """
    prefix = key_prefix(array.path)
    encoding = array.metadata.chunk_key_encoding
    keys = _listed(array, hidden=hidden) if keys is None else keys
    if not _decodes(encoding):
        listed = set(keys)
        yield from (found for found in _whole_grid(array, axes or grid_axes(array)) if found[1] in listed)
        return
    begin = len(prefix)
    with of_array(array.path):
        read = quick_reader(encoding, array.ndim)
    for key in keys:
        if (coords := read(key[begin:])) is not None:
            yield coords, key
            continue
        is_empty = key.endswith("/")  # a directory
        with of_array(array.path):
            coords = None if is_empty else chunk_coords(encoding, key[len(prefix) :], array.ndim)
        if coords is not None:
            yield coords, key
        elif hidden and array.store._has_directories and not is_document(key):
            for name in names_hidden_by(encoding, key[len(prefix) :], array.ndim):
                if (coords := chunk_coords(encoding, name, array.ndim)) is not None:
                    yield coords, prefix + name


def _listed(array: ArrayDescription, *, hidden: bool = False) -> Iterator[str]:
    """Yield the keys below an array; if asked, the empty directories as well."""
    prefix = key_prefix(array.path)
    with reading(array.store_path, prefix):
        for key in chunk_store(array.metadata, array.store_path)._list_stored(prefix):
            if hidden or not key.endswith("/"):
                yield key


def present_chunks(array: ArrayDescription, axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Position and key of each chunk of the grid that may be stored: those listed, or else all of them.

    Which are is found by reading them: to leave one out would take it for absent.
    """
    if not can_list(array):
        return _whole_grid(array, axes)
    return (found for found in stored_chunks(array, axes, hidden=True) if is_within(found[0], axes))


def is_within(coords: Sequence[int], axes: Sequence[Axis]) -> bool:
    """Return whether a chunk belongs to the grid."""
    for k, axis in zip(coords, axes, strict=True):  # noqa: SIM110  # a call for each chunk
        if k >= axis.nchunks:
            return False
    return True


def _whole_grid(array: ArrayDescription, axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Position and key of each chunk of the grid."""
    encode, prefix = key_maker(array.metadata.chunk_key_encoding), key_prefix(array.path)
    for coords in product(*(range(axis.nchunks) for axis in axes)):
        with of_array(array.path):
            key = prefix + encode(coords)
        yield coords, key


def can_list(array: ArrayDescription) -> bool:
    """Return whether stored chunks can be found by listing; not every key encoding can be read backwards."""
    return _decodes(array.metadata.chunk_key_encoding) and array.store.supports_listing


def _decodes(encoding: ChunkKeyEncoding) -> bool:
    return type(encoding).decode is not ChunkKeyEncoding.decode


def count_stored(array: ArrayDescription, *, keys_only: bool = False) -> int:
    """Return the number of chunks that are stored; for sharded arrays of inner chunks, unless `keys_only`."""
    axes = grid_axes(array)
    inner = None if keys_only else layout.inner_chunks(array.metadata)
    stored = (coords for coords, _ in stored_chunks(array, axes) if is_within(coords, axes))
    if inner is None:
        return sum(1 for _ in stored)
    # All that a shard has place for, also at the end of the array.
    return sum(
        math.prod(axis.chunk_length(k) // n for k, axis, n in zip(coords, axes, inner, strict=True))
        for coords in stored
    )


@holding
def shape_lock(array: OpenArray, writer: Any = None) -> Iterator[None]:
    """Hold the lock of the document, when all other writers have stored what they made the array grow by."""
    while True:
        with document_lock(array.store_path):
            growing = [other for other in growing_at(array.store_path) if other is not writer]
            if not growing:
                yield
                return
        for other in growing:
            other.flush()


def resize(array: OpenArray, new_shape: Any, *, cut: bool = True) -> None:
    """Give an array a new shape; see :meth:`zarrcore.Array.resize`.

    Without `cut`, what lies outside the new shape stays in the store, and what lies outside the old one.
    """
    shape = parse_shape(new_shape)
    array.check_writable()
    refuse_inside(array.store_path)

    def store(versions: Versions) -> None:
        reread(array, documents_of(array), versions)
        metadata, documents = _with_shape(array, shape)  # first: nothing may change if these cannot be made
        if cut and any(new > was for new, was in zip(shape, array.shape, strict=True)):
            remove_added(OpenArray(metadata, array.store_path, array.config), array.shape)
        _resize(array, metadata, documents, versions, cut=cut, clean=cut and shape == array.shape)

    with shape_lock(array), writing(array):
        repeated(store)


def _with_shape(array: OpenArray, shape: tuple[int, ...]) -> tuple[ArrayMetadata, dict[str, bytes]]:
    """Return the metadata of an array with another shape, and the documents that they become."""
    if len(shape) != array.ndim:
        raise ValueError(
            f"resize: the array has {array.ndim} dimensions, the new shape {shape} has {len(shape)}"
        )
    with of_array(array.path):
        metadata = array.metadata.update_shape(shape)
        return metadata, resized_documents(array, metadata)


def resized_documents(array: OpenArray, metadata: ArrayMetadata) -> dict[str, bytes]:
    """Return the documents of metadata that differ from those of an array by their shape and grid alone."""
    known = documents_of(array)
    return metadata.to_documents() if known is None else array.metadata.resized_documents(metadata, known)


def resize_to(array: OpenArray, shape: tuple[int, ...]) -> None:
    """Store another shape, then remove what lies outside of it."""
    _resize(array, *_with_shape(array, shape), cut=True)


def _resize(
    array: OpenArray,
    metadata: ArrayMetadata,
    documents: dict[str, bytes],
    versions: Versions | None = None,
    *,
    cut: bool,
    clean: bool = False,
) -> None:
    """Store metadata with another shape, of :func:`_with_shape`, then remove what lies outside of it.

    In this order a failure loses nothing that is inside, under the old shape or the new one.  `clean` removes
    what an earlier call that failed left outside.
    """
    shape = metadata.shape
    shrinks = any(new < was for new, was in zip(shape, array.shape, strict=True))
    outside = _Outside(array, shape) if clean or (cut and shrinks) else None
    note_shape(metadata, array.store_path)
    save(array, metadata, documents, versions)
    if shrinks:
        note_loss(array.store_path, is_shrinking=True)
    array.adopt(metadata)
    if outside is not None:
        wait_for_writes(array.store_path)  # they may go by the old shape; later ones have seen the new one
        outside.remove()
    debug("%s now has the shape %s", array.store_path, shape)


class _Outside:
    """What is stored outside of a shape: whole chunks, and parts of those on the border.

    With `added`, `array` has the shape to which the array is about to grow: what an append that was killed
    left there must not be seen as data.  Otherwise, if there are chunks to be removed and the store cannot
    remove any, a StoreError is raised at once.
    """

    def __init__(self, array: OpenArray, shape: tuple[int, ...], *, added: bool = False) -> None:
        self._array, self._shape, self._metadata, self._added = array, shape, array.metadata, added
        axes = self._axes = grid_axes(array)
        # What lies beyond the old shape has been removed by whoever set that, or is to be cleaned up now.
        self._reach = [axis.chunk_length if shape == array.shape else axis.valid_length for axis in axes]
        self._store = chunk_store(array.metadata, array.store_path)
        if not (added or self._store.supports_deletes) and (whole := self._find()[0]):
            raise StoreError(
                f"array {array.path or '/'!r} cannot shrink to {shape}: {self._store} cannot remove the "
                f"{len(whole)} chunks outside, {whole[0]!r} among them; copy the part of the array that you "
                "need to another store"
            )

    def _find(self) -> tuple[list[str], list[tuple[int, ...]]]:
        """Return the keys of chunks that lie outside as a whole, and the places of those on the border."""
        whole, border = [], []
        found = self._stored_candidates() if self._added else stored_chunks(self._array, self._axes)
        removes = self._store.supports_deletes or not self._added
        inside, outside = self._inside(), self._first_outside()
        for coords, key in found:
            if all(map(operator.lt, coords, inside)):
                continue
            if removes and any(map(operator.ge, coords, outside)):
                whole.append(key)
            elif is_within(coords, self._axes):
                ends = zip(self._box(coords), self._shape, strict=True)
                if any(stop > new for (_, stop), new in ends):
                    border.append(coords)
        return whole, border

    def _inside(self) -> list[int]:
        """Return for each dimension how many chunks, at least, lie within the shape as a whole."""
        reaches_beyond = self._shape == self._array.shape  # the last chunk may
        return [
            k - (reaches_beyond and k == axis.nchunks)
            for k, axis in zip(self._ends(), self._axes, strict=True)
        ]

    def _first_outside(self) -> list[int]:
        """Return for each dimension the first chunk that lies outside of the shape as a whole."""
        return [
            k if k == axis.nchunks or axis.offset(k) >= n else k + 1
            for k, axis, n in zip(self._ends(), self._axes, self._shape, strict=True)
        ]

    def _ends(self) -> list[int]:
        """Return for each dimension the chunk in which the shape ends, or how many chunks there are."""
        return [
            axis.chunk_of(n) if n < axis.length else axis.nchunks
            for axis, n in zip(self._axes, self._shape, strict=True)
        ]

    def _stored_candidates(self) -> Iterator[tuple[tuple[int, ...], str]]:
        candidates = iter(self._candidates())
        while some := [*islice(candidates, _BATCH)]:
            yield from compress(some, which_exist(self._store, [key for _, key in some]))

    def _candidates(self) -> Iterable[tuple[tuple[int, ...], str]]:
        """Chunks that reach beyond the shape and may be stored: listed, unless fewer are possible."""
        counts = [axis.nchunks for axis in self._axes]
        within = self._ends()
        most = math.prod(counts) - math.prod(within)
        if most > _FEW and self._store.supports_listing:
            listed = [*islice(_listed(self._array), min(most + 1, sys.maxsize))]
            if len(listed) <= most:
                if all(map(is_document, listed)):
                    return ()
                if can_list(self._array):
                    return stored_chunks(self._array, self._axes, listed)
        return (
            (coords, self._key(coords))
            for d in range(len(counts))
            for coords in product(
                *map(range, within[:d]), range(within[d], counts[d]), *map(range, counts[d + 1 :])
            )
        )

    def _key(self, coords: tuple[int, ...]) -> str:
        return key_prefix(self._array.path) + self._metadata.encode_chunk_key(coords)

    def remove(self) -> None:
        """Remove it; if chunks could not be listed or removed, raise a StoreError: all others are gone."""
        failures: list[Exception] = []
        try:
            whole, border = self._find()
        except Exception as error:
            raise self._failure("the chunks outside could not be listed", error) from error
        self._delete(whole, failures)
        if border:
            try:
                engine = engine_of_whole_chunks(self._array, self._metadata)
            except Exception as error:
                raise self._failure("the chunks on the border could not be cleared", error) from error
            clear = partial(self._try, failures, partial(self._clear, engine))
            several_at_once(self._store, clear, border)
        if failures:
            what = f"{len(failures)} of the chunks outside could not be removed"
            raise self._failure(what, failures[0]) from failures[0]

    def _delete(self, keys: Sequence[str], failures: list[Exception]) -> None:
        if self._store._concurrent_requests():
            with suppress(Exception):  # each alone shows which of them stay
                self._store.erase_values(keys)
                return
        several_at_once(self._store, partial(self._try, failures, self._store.delete), keys)

    def _failure(self, what: str, error: Exception) -> StoreError:
        return StoreError(
            f"array {self._array.path or '/'!r} has the shape {self._shape} now, but {what} "
            f"({named(error)}): resize to this shape once more before the array grows, or they will be seen "
            "again"
        )

    @staticmethod
    def _try(failures: list[Exception], call: Callable[..., object], *args: Any) -> None:
        try:
            call(*args)
        except Exception as error:
            failures.append(error)

    def _clear(self, engine: Any, coords: tuple[int, ...]) -> None:
        """Fill the part of a stored chunk that lies beyond the shape."""
        box = self._box(coords)
        fill = layout.fill_array(self._metadata)
        for dim, new in enumerate(self._shape):
            start, stop = box[dim]
            if new >= stop:
                continue
            inside = max(start, new)
            lost = [*box[:dim], (inside, stop), *box[dim + 1 :]]
            dims = tuple((first, 1, last - first) for first, last in lost)
            shape = tuple(count for _, _, count in dims)
            box[dim] = (start, inside)
            if math.prod(shape) * fill.itemsize <= _MOST_LOOKED_AT:
                engine.read(dims, found := np.empty(shape, fill.dtype))
                if is_all_fill(found, fill):
                    continue
            engine.write(dims, np.broadcast_to(fill, shape), 0, writes_empty_chunks(self._array))

    def _box(self, coords: tuple[int, ...]) -> list[tuple[int, int]]:
        """Return where a chunk begins and ends along each dimension."""
        return [
            (axis.offset(k), axis.offset(k) + reach(k))
            for k, axis, reach in zip(coords, self._axes, self._reach, strict=True)
        ]


def remove_added(grown: OpenArray, shape: tuple[int, ...]) -> None:
    """Remove what is stored of an array outside of a shape from which it has not grown yet."""
    _Outside(grown, shape, added=True).remove()


def append(array: OpenArray, data: Any, axis: int = 0) -> tuple[int, ...]:
    """Append along one dimension: the chunks first, then the shape; see :meth:`zarrcore.Array.append`."""
    array.check_writable()
    first = Versions()
    with shape_lock(array), writing(array):
        reread(array, documents_of(array), first)
        values, region = room_for(array, data, axis)
        before, shape = array.shape, tuple(part.stop for part in region)
        metadata, documents = _with_shape(array, shape)
        grown = array.with_shape_of(metadata)
        note_shape(metadata, array.store_path)  # from now on others patch the chunks at the end

        def store(versions: Versions) -> None:
            if not versions.attempt:
                save(array, metadata, documents, first)
                return
            reread(array, versions=versions)
            if array.shape != before:
                raise ConflictError(
                    f"array {array.path or '/'!r} has got the shape {array.shape} by another process while "
                    f"this one appended to {before}: either may have stored what was added"
                )
            save(array, *_with_shape(array, shape), versions)

        try:
            put(grown, indexing.basic_selection(region, shape), values, None, 0)
            repeated(store)
        except BaseException as error:
            _take_back(array, before, grown, error)
            raise
        array.take(grown)
    return shape


def _take_back(array: OpenArray, before: tuple[int, ...], grown: OpenArray, error: BaseException) -> None:
    """Remove what has been stored for an append that failed."""
    if isinstance(error, ConflictError):
        return  # it is the other process's now
    try:
        reread(array)
        if array.shape == before:
            remove_added(grown, before)
            note_shape(array.metadata, array.store_path)
        elif array.shape == grown.shape:  # the document is stored all the same
            resize_to(array, before)
    except Exception as second:
        error.add_note(f"what was appended could not be removed: {said(second)}")


def room_for(array: OpenArray, data: Any, axis: int) -> tuple[np.ndarray, tuple[slice, ...]]:
    """Return `data` as values of an array, and the region that they will take along one dimension."""
    values = as_values(data, array.dtype, ndim=array.ndim)
    ndim, axis = array.ndim, operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"append: axis {axis} is out of bounds for {ndim} dimensions")
    axis %= ndim
    others = (shape[:axis] + shape[axis + 1 :] for shape in (values.shape, array.shape))
    if values.ndim != ndim or len(set(others)) > 1:
        lengths = ["n" if d == axis else str(length) for d, length in enumerate(array.shape)]
        expected = f"({', '.join(lengths)}{',' * (ndim == 1)})"
        raise ValueError(
            f"append: data of shape {values.shape} does not fit shape {array.shape} along axis {axis}: "
            f"expected {expected}, for any n"
        )
    start = array.shape[axis]
    stop = start + values.shape[axis]
    return values, tuple(slice(start, stop) if k == axis else slice(0, n) for k, n in enumerate(array.shape))
