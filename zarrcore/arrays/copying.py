"""Values from one array to another: stored chunks as they are where both have the same, else by regions."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from typing import Any

import numpy as np

from zarrcore import indexing
from zarrcore._core import engine
from zarrcore._locks import Rank, ranked
from zarrcore._threads import in_threads
from zarrcore.arrays.access import get, put
from zarrcore.arrays.chunks import can_list, present_chunks
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray, stored_metadata
from zarrcore.arrays.regions import RegionGrid
from zarrcore.codecs.chain import with_held
from zarrcore.engine.build import chunk_spec, chunk_store, document_key, largest_chunk
from zarrcore.engine.chunk_place import most_stored
from zarrcore.engine.projection import Axis, axes_of, batches
from zarrcore.errors import (
    ChunkError,
    ChunkIOError,
    ChunkMemoryError,
    CopyError,
    MetadataValidationError,
    UnknownCodecError,
    named,
    shown,
)
from zarrcore.keys.base import key_maker
from zarrcore.metadata import ArrayMetadata, known, layout
from zarrcore.node import state_of
from zarrcore.progress import Step
from zarrcore.storage.base import Store
from zarrcore.storage.validation import as_view, key_prefix

REGION_BYTES = 16 << 20
"""Memory for the values that are on their way, unless one chunk for each thread needs more.

Items of variable length have what one chunk for each thread needs.
"""

_BATCH = 32  # keys that a thread copies before it reports


def copy_values(source: Any, dest: OpenArray, *, threads: int = 0, progress: Step | None = None) -> None:
    """Copy all values into an array of the same shape that has no chunks yet.

    Chunks that are absent stay absent, unless they stand for another value than in `source`, which is an
    array of this library or any object with a shape that can be indexed.  `threads` and `progress` are those
    of :func:`zarrcore.from_array`.
    """
    source, dest = state_of(source), state_of(dest)
    if dest.size == 0:
        return
    done, total = 0, dest.nbytes
    watched = _watched(source, dest.shape) if isinstance(source, OpenArray) else nullcontext()
    # Closed here, not when the traceback of an error is forgotten, so that no thread is at work any more.
    with watched, closing(_steps(source, dest, threads, counts=progress is not None)) as steps:
        for nbytes in steps:
            done += nbytes
            if progress is not None:
                progress(min(done, total), total)
    if progress is not None and done < total:  # what is absent
        progress(total, total)


@contextmanager
def _watched(source: OpenArray, shape: tuple[int, ...]) -> Iterator[None]:
    """Raise a CopyError at the end if another array has come to the place of the source meanwhile."""
    _refuse_lost(source, shape)
    watch = source.watched()
    with source.store._pinned(document_key(source.metadata, source.store_path)) as changed:
        yield
        _refuse_lost(source, shape)  # else what was removed meanwhile would be absent
        what = changed()
    if what == "document":  # a copy of encoded chunks has not looked at what they are encoded by
        source.refuse_other(stored_metadata(source), watch.metadata)
    if what == "array" or watch.lost_since():
        name = watch.path or "/"
        raise CopyError(f"array {name!r} was replaced by another one, or has shrunk, while it was copied")


def _refuse_lost(source: OpenArray, shape: tuple[int, ...]) -> None:
    if reason := source.out_of_date(shape, or_larger=True):
        raise CopyError(f"values are missing: {reason}")


def _steps(source: Any, dest: OpenArray, threads: int, *, counts: bool) -> Generator[int, None, None]:
    """Copy step by step; yield the number of bytes of values in each step."""
    if isinstance(source, OpenArray) and same_bytes(source.metadata, dest.metadata):
        threads = threads or threads_to_move(source.store, dest.store)
        return _move_chunks(source, dest, threads, counts=counts)
    return _write_regions(source, dest, threads or engine.num_threads())


def threads_to_move(source: Store, dest: Store) -> int:
    """Return the default number of threads for copying encoded chunks.

    They wait for files and for each other, so more than a few bring nothing, unless they wait for a network.
    """
    few = min(engine.num_threads(), 8)
    return max(few, source._concurrent_requests(), dest._concurrent_requests())


# --- chunks as they are


def same_bytes(source: ArrayMetadata, dest: ArrayMetadata) -> bool:
    """Return whether each chunk of one array, as it is stored, reads the same as a chunk of the other.

    Both have the same grid, data type, codecs and fill value; the keys of the chunks may differ, and so may
    the Zarr format where :mod:`zarrcore.migration` could convert the metadata.
    """
    return (
        source.shape == dest.shape
        and layout.grid_edges(source) == layout.grid_edges(dest)
        and same_fill(source, dest)
        and (_said(source) == _said(dest) or _said_in_format_3(source, dest))
        and _do_alike(source, dest)
    )


def _do_alike(source: ArrayMetadata, dest: ArrayMetadata) -> bool:
    """Return whether codecs and data types of users do the same; documents need not tell all of them."""
    ours, theirs = ([*with_held(m.chain().codecs), m.data_type] for m in (source, dest))
    if not any(map(known.may_differ, (*ours, *theirs))):
        return True
    return len(ours) == len(theirs) and all(map(_is_alike, ours, theirs))


def _is_alike(one: object, other: object) -> bool:
    if one is other or not known.may_differ(one):
        return type(one) is type(other)
    try:
        return type(one) is type(other) and bool(vars(one) == vars(other))
    except Exception:  # of what is compared: nothing is known then
        return False


def same_fill(source: ArrayMetadata, dest: ArrayMetadata) -> bool:
    """Return whether absent chunks of both arrays read the same, bit for bit."""
    if source.np_dtype.kind in "OT":
        return source.np_dtype == dest.np_dtype and bool(source.fill_scalar == dest.fill_scalar)
    if dest.np_dtype.kind in "OT":
        return False
    native = source.np_dtype.newbyteorder("=")
    if native != dest.np_dtype.newbyteorder("="):
        return False
    first, second = (layout.fill_array(metadata).astype(native) for metadata in (source, dest))
    return first.tobytes() == second.tobytes()


def _said(metadata: ArrayMetadata) -> tuple[Any, ...]:
    """Return the part of the document that determines the bytes of a chunk."""
    document = metadata.to_dict()
    if metadata.zarr_format == 3:
        return 3, document["data_type"], document["codecs"]
    return metadata.zarr_format, *(document.get(n) for n in ("dtype", "filters", "compressor", "order"))


def _said_in_format_3(source: ArrayMetadata, dest: ArrayMetadata) -> bool:
    if source.zarr_format == dest.zarr_format == 3:
        return False
    from zarrcore.metadata.upgrade import upgraded

    try:
        ours, theirs = (
            metadata if metadata.zarr_format == 3 else upgraded(metadata)  # type: ignore[arg-type]
            for metadata in (source, dest)
        )
    except (MetadataValidationError, UnknownCodecError, ValueError, TypeError):
        return False  # no form in format 3, so nothing to compare
    return _said(ours) == _said(theirs)


def _move_chunks(
    source: OpenArray, dest: OpenArray, threads: int, *, counts: bool
) -> Generator[int, None, None]:
    """Copy the stored chunks without decoding them, batch by batch.

    Yield the bytes of values in each batch; 0 unless that `counts`, as it takes a while for small chunks.
    """
    read = chunk_store(source.metadata, source.store_path)
    most = most_stored(source.metadata.chain(), chunk_spec(source.metadata, largest_chunk(source.metadata)))
    is_bounded = most is not None and read._bounds_chunks
    write = chunk_store(dest.metadata, dest.store_path)
    encode, prefix = key_maker(dest.metadata.chunk_key_encoding), key_prefix(dest.path)
    place = write._place(dest.path)
    axes = grid_axes(source)
    item_size = source.dtype.itemsize

    def move(batch: Sequence[tuple[tuple[int, ...], str]]) -> int:
        nbytes = 0
        for coords, key in batch:
            array = source
            try:
                value = read._get_chunks([key], most)[0] if is_bounded else read.get(key)  # type: ignore[arg-type]
                if value is not None:
                    value = as_view(value, key)
                    array, name = dest, encode(coords)
                    key = prefix + name
                    with ranked(engine.KeyLock(place, name), Rank.CHUNK):
                        write.set(key, value)
            except ChunkError:
                raise
            except Exception as error:
                where: Any = {"array": array.path or "/", "chunk": coords, "key": key}
                kind = ChunkMemoryError if isinstance(error, MemoryError) else ChunkIOError
                raise kind(named(error), **where) from error
            if counts:
                nbytes += item_size * math.prod(
                    axis.valid_length(k) for axis, k in zip(axes, coords, strict=True)
                )
        return nbytes

    waits = read._concurrent_requests() or write._concurrent_requests()
    return in_threads(move, batches(present_chunks(source, axes), 1 if waits else _BATCH), threads)


# --- values


def _write_regions(source: Any, dest: OpenArray, threads: int) -> Generator[int, None, None]:
    """Decode and encode one region at a time; yield the bytes of values in each."""
    item_size = max(1, dest.dtype.itemsize)
    target = grid_axes(dest)
    origin = axes_of(dest.shape, _source_edges(source, dest))
    limit = threads * max(_chunk_size(axes) for axes in (target, origin))
    if dest.dtype.kind not in "OT":  # of items of any length only the chunks say how many fit into memory
        limit = max(REGION_BYTES // item_size, limit)
    regions = RegionGrid(target, origin, limit)
    buffer = np.empty(0, source.dtype if isinstance(source, OpenArray) else None)
    for region in _needed(source, dest, origin, regions):
        shape = tuple(part.stop - part.start for part in region)
        size = math.prod(shape)
        selection = indexing.basic_selection(region, dest.shape)
        if not isinstance(source, OpenArray):
            values = _read_other(source, region if shape else ...)
        elif source.dtype.kind in "OT":
            values = get(source, selection, None, None, threads)
        else:
            if buffer.size < size:
                del buffer
                buffer = np.empty(size, source.dtype)
            values = get(source, selection, buffer[:size].reshape(shape), None, threads)
        put(dest, selection, values, None, threads)
        del values
        yield size * dest.dtype.itemsize


def _read_other(source: Any, region: Any) -> Any:
    """Return a part of an array of another library."""
    try:
        return source[region]
    except Exception as error:
        name = getattr(source, "name", None) or type(source).__name__
        raise CopyError(f"{name} cannot be read at {region}: {shown(error)}") from error


def _source_edges(source: Any, dest: OpenArray) -> Any:
    if isinstance(source, OpenArray):
        return layout.grid_edges(source.metadata)
    chunks = getattr(source, "chunks", None)
    if isinstance(chunks, tuple) and len(chunks) == dest.ndim and all(isinstance(n, int) for n in chunks):
        return chunks
    return layout.grid_edges(dest.metadata)


def _chunk_size(axes: Sequence[Axis]) -> int:
    """Return the number of elements of the first chunk, which in most grids is as large as any."""
    return math.prod(axis.chunk_length(0) if axis.nchunks else 0 for axis in axes)


def _needed(
    source: Any, dest: OpenArray, origin: Sequence[Axis], regions: RegionGrid
) -> Iterator[tuple[slice, ...]]:
    """Return the regions in which there is something to write."""
    if (
        not isinstance(source, OpenArray)
        or not can_list(source)
        or not same_fill(source.metadata, dest.metadata)
    ):
        return iter(regions)
    boxes = (
        [
            (axis.offset(k), axis.offset(k) + axis.valid_length(k))
            for axis, k in zip(origin, coords, strict=True)
        ]
        for coords, _ in present_chunks(source, origin)
    )
    return regions.touching(boxes)
