"""dask on zarrcore: :func:`from_zarr` and :func:`to_zarr`, whose blocks are made of whole shards.

A stored chunk (of a sharded array: a shard) is read and replaced as a whole.  Two tasks that write to
different parts of one therefore lose values, if they run in different processes.  Here a task writes all of
each chunk or shard that it touches.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from uuid import uuid4

import dask.array as da
import dask.local
import dask.threaded
import numpy as np
from dask.array.core import graph_from_arraylike, normalize_chunks
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed
from dask.layers import ArraySliceDep
from dask.tokenize import tokenize

import zarrcore
from zarrcore import Array
from zarrcore.arrays.creation import refuse_own_source
from zarrcore.errors import RegionOverlapError, StoreError
from zarrcore.storage import StoreLike, StorePath, make_store_path
from zarrcore.typing import SelectionLike

__all__ = ["from_zarr", "to_zarr"]

Blocks: TypeAlias = "Literal['shards', 'chunks', 'auto'] | int | tuple[int | tuple[int, ...], ...]"
Ends: TypeAlias = "list[np.ndarray]"


# --- reading ---


def from_zarr(
    array: Array | StoreLike,
    chunks: Blocks = "shards",
    *,
    path: str = "",
    name: str | None = None,
    storage_options: dict[str, Any] | None = None,
) -> da.Array:
    """Return a dask array that reads from a stored array.

    The graph is one layer, in which the array occurs once, without its values.

    Parameters
    ----------
    array : Array or store-like
        The array, or a store, path or URL where it is.
    chunks : {"shards", "chunks", "auto"}, int or tuple
        What a block is: what is stored under one key (a shard, or a chunk of an array without shards), a
        chunk (an inner chunk), about as many shards as dask's setting ``array.chunk-size`` allows, or lengths
        as of :func:`dask.array.from_array`.
    path : str
        Path of the array in the store.
    name : str, optional
        Name of the dask array.  Default: made of the state of the array, so that an array that has not
        changed is not computed twice.  Writes of other processes are noticed only in directories, as far as
        the first 64 directories of chunks show them: another name makes sure that values are read again.
    storage_options : dict, optional
        Options of a remote store.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    ArrayNotFoundError, NotAnArrayError
        If there is no array.
    ValueError
        If `chunks` is none of these.

    Examples
    --------
    >>> import zarrcore.dask
    >>> array = zarrcore.create_array(
    ...     {}, shape=(8, 8), dtype="f8", chunks=(2, 2), shards=(4, 8), fill_value=1
    ... )
    >>> lazy = zarrcore.dask.from_zarr(array)
    >>> lazy.chunks, float(lazy.sum().compute())
    (((4, 4), (8,)), 64.0)
    """
    if not isinstance(array, Array):
        array = zarrcore.open_array(array, mode="r", path=path, storage_options=storage_options)
    elif path or storage_options:
        name = "path" if path else "storage_options"
        raise TypeError(f"from_zarr: {name}= is for stores; an array was given")
    blocks = _blocks(array, chunks)
    name = name or f"from-zarr-{tokenize(array, blocks)}"
    if not array.ndim:  # whose item may be a Python string, which has no such data type
        scalar = delayed(np.asarray)(array)
        return da.from_delayed(scalar, (), array.dtype, name=name)  # type: ignore[no-any-return]
    meta = np.empty((0,) * array.ndim, array.dtype)
    # As da.from_array does, which asks for the one shape of all chunks, and there may be none.
    graph = graph_from_arraylike(array, blocks, array.shape, name, dtype=array.dtype, inline_array=True)
    return da.Array(graph, name, blocks, meta=meta)


def _blocks(array: Array, chunks: Blocks) -> tuple[tuple[int, ...], ...]:
    if chunks == "shards" or (chunks == "auto" and array.dtype.hasobject):
        return _lengths(array.write_chunk_sizes)
    if chunks == "chunks":
        return _lengths(array.read_chunk_sizes)
    if isinstance(chunks, str) and chunks != "auto":
        raise ValueError(f"chunks: expected 'shards', 'chunks', 'auto' or lengths, got {chunks!r}")
    given: Any = chunks if isinstance(chunks, tuple) else (chunks,)
    # There may be any number of chunks, which are not listed for nothing.
    stored = _lengths(array.write_chunk_sizes) if "auto" in given else None
    blocks: tuple[tuple[int, ...], ...] = normalize_chunks(
        chunks, array.shape, dtype=array.dtype, previous_chunks=stored
    )
    return blocks


def _lengths(sizes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the lengths of blocks as dask has them, which has one block where there is nothing."""
    return tuple(axis or (0,) for axis in sizes)


# --- writing ---


def to_zarr(
    data: da.Array,
    target: Array | StoreLike,
    *,
    chunks: Any = None,
    shards: Any = None,
    region: SelectionLike = None,
    rechunk: bool = True,
    compute: bool = True,
    **options: Any,
) -> Array | Delayed:
    """Write a dask array, each chunk or shard by one task.

    Blocks that end within a stored chunk (of a sharded array: a shard) are made to end where it does: small
    blocks are merged, larger ones rechunked.

    Parameters
    ----------
    data : dask.array.Array
        What is written; its shape must be known.
    target : Array or store-like
        An array to write into, or a store, path or URL where a new one is created.
    chunks, shards : int, tuple of int or "auto", optional
        Shapes of the chunks and shards of a new array, as of :func:`zarrcore.create_array`.  Default: no
        shards, and chunks of the shape of the largest block; with shards ``chunks="auto"``.
    region : slice or tuple of slice, optional
        The part of an existing `target` that is written; steps are 1.
    rechunk : bool
        Make the blocks fit.  If False, blocks that do not are refused.
    compute : bool
        Write now.
    **options
        Of :func:`zarrcore.create_array`, for a new array: name, overwrite, compressors and others.

    Returns
    -------
    Array or dask.delayed.Delayed
        The array; with ``compute=False`` what writes it when it is computed, and returns it.

    Raises
    ------
    RegionOverlapError
        If another process could write to a chunk or shard at the same time: `region` begins or ends within
        one, or blocks do with ``rechunk=False``.
    StoreError
        If the target is in the memory of this process, and dask computes in others.
    ValueError
        If the shape of `data` is not known, or not that of the region.
    ContainsArrayError
        If a new array is to be created where there is one, without ``overwrite=True``.

    Notes
    -----
    If a worker dies, dask runs its tasks again, and they replace what they have written; a chunk or shard
    is never seen half written.  Values that are computed from the target itself may be read before or after
    others have been written: write those into another array.

    Examples
    --------
    >>> import dask.array, zarrcore.dask
    >>> data = dask.array.ones((8, 8), chunks=(3, 3))
    >>> array = zarrcore.dask.to_zarr(data, {}, chunks=(2, 2), shards=(4, 4))
    >>> array.shards, float(array[...].sum())
    ((4, 4), 64.0)
    """
    if not isinstance(data, da.Array):
        raise TypeError(
            f"to_zarr: expected an array of dask, got {type(data).__name__}: "
            "dask.array.from_array makes one, zarrcore.save stores what is in memory"
        )
    if any(np.isnan(length) for axis in data.chunks for length in axis):
        raise ValueError("to_zarr: lengths of blocks are not known; call data.compute_chunk_sizes() first")
    if not isinstance(target, Array):
        if region is not None:
            raise TypeError("to_zarr: region= is for an existing array; open it with zarrcore.open_array")
        target = _created(data, target, {"chunks": chunks, "shards": shards, **options}, rechunk, compute)
    elif options or chunks is not None or shards is not None:
        names = [
            *options,
            *(["chunks"] if chunks is not None else []),
            *(["shards"] if shards is not None else []),
        ]
        raise TypeError(f"to_zarr: {', '.join(names)}: the array exists, and has its own")
    _refuse_memory(target._store_path, data if compute else None)
    starts = _starts(target, data, region)
    blocks = _aligned(target, data, starts, rechunk)
    data = data if blocks == data.chunks else data.rechunk(blocks)
    write: Any = _write
    written = data.map_blocks(
        write,
        _Target(target),
        ArraySliceDep(data.chunks),
        starts,
        chunks=tuple((1,) * len(axis) for axis in data.chunks),
        dtype=bool,
        meta=np.empty((0,) * data.ndim, bool),
    )
    result: Any = delayed(_the_array, pure=False)(written, _Target(target))
    return result.compute() if compute else result  # type: ignore[no-any-return]


def _created(
    data: da.Array, store: StoreLike, options: dict[str, Any], rechunk: bool, compute: bool
) -> Array:
    """Create the array that is written to; what is refused is refused before anything is removed for it."""
    if options["chunks"] is None:
        whole_blocks = tuple(max(1, *axis) for axis in data.chunks)
        options["chunks"] = "auto" if options["shards"] is not None else whole_blocks
    name, overwrite, to_store = (options.pop(key, None) for key in ("name", "overwrite", "storage_options"))
    place = make_store_path(store, path=name, mode="a", storage_options=to_store)
    if overwrite:
        refuse_own_source(place, data)
    _refuse_memory(place, data if compute else None)
    described = {"shape": data.shape, "dtype": data.dtype, **options}
    if not rechunk:
        in_memory = zarrcore.create_array({}, name=place.path, **described)
        _aligned(in_memory, data, (0,) * data.ndim, rechunk)
    return zarrcore.create_array(place, overwrite=overwrite or False, **described)


def _refuse_memory(place: StorePath, data: da.Array | None) -> None:
    """Refuse an array in memory if dask computes in other processes, which would write into copies."""
    if not place.store._in_process or data is None:
        return
    scheduler = get_scheduler(collections=[data])
    if scheduler not in (None, dask.local.get_sync, dask.threaded.get):
        raise StoreError(_IN_MEMORY.format(place.path or "/", place.store))


_IN_MEMORY = (
    "array {!r} in {} is in the memory of this process, and other processes would write into copies of it: "
    'write into a directory or a URL, or compute with scheduler="threads"'
)


class _Target:
    """An array that is written to: each write is another one, and none goes to a copy of memory."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dask_tokenize__(self) -> str:
        return uuid4().hex

    def __reduce__(self) -> tuple[Any, ...]:
        if self.array._store_path.store._in_process:
            raise StoreError(_IN_MEMORY.format(self.array.path or "/", self.array._store_path.store))
        return type(self), (self.array,)


def _starts(array: Array, data: da.Array, region: SelectionLike) -> tuple[int, ...]:
    """Return where the first element of `data` is written."""
    shape, parts = array.shape, list(region if isinstance(region, tuple) else (region,))
    if region is None or region is ...:
        parts = []
    if ... in parts:
        at = parts.index(...)
        parts[at : at + 1] = [slice(None)] * (array.ndim - len(parts) + 1)
    parts += [slice(None)] * (array.ndim - len(parts))
    if len(parts) != array.ndim or not all(
        isinstance(part, slice) and part.step in (None, 1) for part in parts
    ):
        raise ValueError(
            f"region: expected a slice of step 1 for each of {array.ndim} dimensions, got {region!r}"
        )
    bounds = [part.indices(length)[:2] for part, length in zip(parts, shape, strict=True)]
    lengths = tuple(max(0, stop - start) for start, stop in bounds)
    if lengths != data.shape:
        raise ValueError(f"the dask array has shape {data.shape}, what it is written to {lengths}")
    return tuple(start for start, _ in bounds)


def _aligned(
    array: Array, data: da.Array, starts: tuple[int, ...], rechunk: bool
) -> tuple[tuple[int, ...], ...]:
    """Return lengths of blocks that end where chunks (shards) end, near to those of `data`."""
    kind = "chunk" if array.metadata.sharding_codec is None else "shard"
    blocks = []
    for dim, (start, lengths, units) in enumerate(
        zip(starts, data.chunks, array.write_chunk_sizes, strict=True)
    ):
        bounds = np.concatenate([[0], np.cumsum(units, dtype=np.int64)])
        ends = start + np.cumsum(lengths, dtype=np.int64)
        for edge in (start, int(ends[-1])):
            if edge not in bounds and sum(lengths):
                raise RegionOverlapError(_within(array, kind, dim, edge, bounds, "the region"))
        fitting = np.unique(bounds[np.searchsorted(bounds, ends)]) if sum(lengths) else ends
        if not rechunk and not np.array_equal(fitting, ends[np.asarray(lengths) > 0]):
            edge = int(next(end for end in ends if end not in bounds))
            raise RegionOverlapError(_within(array, kind, dim, edge, bounds, "a block"))
        blocks.append(tuple(np.diff(fitting, prepend=start).tolist()))
    return tuple(blocks)


def _within(array: Array, kind: str, dim: int, edge: int, bounds: np.ndarray, what: str) -> str:
    number = int(np.searchsorted(bounds, edge)) - 1
    first, last = int(bounds[number]), int(bounds[number + 1])
    cure = f"let it begin and end at {first} or {last}" if what == "the region" else "leave out rechunk=False"
    return (
        f"array {array.path or '/'!r}: {what} has an edge at {edge} in dimension {dim}, within {kind} "
        f"{number} ({first}:{last}), to which another process may write: values would be lost; {cure}"
    )


def _write(
    block: np.ndarray, target: _Target, part: tuple[slice, ...], starts: tuple[int, ...]
) -> np.ndarray:
    where = tuple(
        slice(start + item.start, start + item.stop) for start, item in zip(starts, part, strict=True)
    )
    target.array[where] = block
    return np.ones((1,) * block.ndim, bool)


def _the_array(written: np.ndarray, target: _Target) -> Array:
    return target.array
