"""Rewriting shards without the bytes in them that nothing uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._log import info
from zarrcore._records import dataclass
from zarrcore.arrays.chunks import is_within
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray
from zarrcore.errors import ChunkError, ChunkIOError, ChunkMemoryError
from zarrcore.inspection.census import shards_of, stored_in_order, unused_bytes
from zarrcore.inspection.encoded import chunk_lock, patch_shard
from zarrcore.inspection.indexes import ShardLayout, layout_of
from zarrcore.node import state_of
from zarrcore.nodes.users import writing

if TYPE_CHECKING:
    from zarrcore.arrays.array import Array


@dataclass(frozen=True)
class CompactReport:
    """What :func:`compact` has done.

    Attributes
    ----------
    shards, rewritten : int
        Number of stored shards, and of those that were rewritten.
    nbytes_before, nbytes_after : int
        Stored size of all shards in bytes.
    damaged : tuple of (str, str)
        Keys of shards that could not be read and were left as they are, and why.
    """

    shards: int
    rewritten: int
    nbytes_before: int
    nbytes_after: int
    damaged: tuple[tuple[str, str], ...] = ()


def compact(array: Array) -> CompactReport:
    """Rewrite the shards of an array in which there are bytes that nothing uses.

    Writers that append to a shard what they replace in it leave such bytes.  All other shards stay as they
    are, and so do chunks of an array without shards, and shards with an inner chunk that cannot be decoded:
    what seems to be unused may be a part of it.  Inner chunks are copied as they are stored.  Others may read
    and write meanwhile; other processes must not write to the same shards, unless all of them have
    ``locks="file"`` (:class:`~zarrcore.storage.LocalStore`).

    Parameters
    ----------
    array : Array
        The array.

    Returns
    -------
    CompactReport
        Sizes before and after, and what was not touched because it is damaged.

    Raises
    ------
    ReadOnlyError
        If the store is read-only.
    TypeError
        If it is no array, such as a group: compact its arrays one by one.
    StoreError, OSError
        If the store fails to list, to read or to write.  Shards that were rewritten before stay so.

    See Also
    --------
    Array.chunk_info : Shows how many bytes are unused.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> array = zarrcore.create_array(store, shape=4, chunks=2, shards=4, dtype="i4", compressors=None)
    >>> array[:] = 7
    >>> zarrcore.compact(array)
    CompactReport(shards=1, rewritten=0, nbytes_before=52, nbytes_after=52, damaged=())
    """
    opened = state_of(array)
    if not isinstance(opened, OpenArray):
        raise TypeError(f"compact: expected an array that is open, got {type(array).__name__}")
    opened.check_writable()
    opened.follow()
    if layout_of(opened.metadata) is None:
        return CompactReport(0, 0, 0, 0)
    stored = stored_in_order(opened)
    before = int(np.maximum(stored.sizes, 0).sum())
    damaged: list[tuple[str, str]] = []
    saved = rewritten = 0
    short: list[tuple[int, str]] = []
    for _, indexes, shard in shards_of(opened, stored, short):
        damaged += [(indexes.shards.key_at(k), why) for k, why in indexes.bad]
        for k in np.flatnonzero(unused_bytes(indexes, shard)).tolist():
            try:
                less = _rewrite(
                    opened, shard, tuple(indexes.shards.coords[k].tolist()), indexes.shards.key_at(k)
                )
            except (ChunkIOError, ChunkMemoryError):  # the shard may be sound
                raise
            except ChunkError as error:
                damaged.append((indexes.shards.key_at(k), str(error)))
                continue
            saved, rewritten = saved + less, rewritten + (less > 0)
    damaged += [(stored.key_at(row), why) for row, why in short]
    info("compacted %s: %s shards rewritten, %s bytes less", opened.store_path, rewritten, saved)
    return CompactReport(stored.number, rewritten, before, before - saved, tuple(damaged))


def _refuse_damaged(chunks: dict[tuple[int, ...], memoryview], shard: ShardLayout) -> None:
    """Refuse inner chunks that cannot be decoded: by a wrong length, bytes of one may seem to be unused."""
    chain, spec = shard.codec.inner_chain(shard.spec), shard.codec.inner_spec(shard.spec)
    for coords, encoded in chunks.items():
        try:
            chain.decode(encoded, spec)
        except ChunkError as error:
            raise error.located(inner_chunk=coords) from error


def _rewrite(array: OpenArray, shard: ShardLayout, coords: tuple[int, ...], key: str) -> int:
    """Store a shard without unused bytes; returns how many these were."""
    less = 0

    def compacted(old: Any, _: bool) -> Any:
        nonlocal less
        less = 0
        if old is None or not is_within(coords, grid_axes(array)):
            return old  # removed since it was listed
        inner = shard.codec.inner_chunks(old, shard.spec)
        _refuse_damaged(inner, shard)
        new = shard.codec.join(inner, shard.spec)
        less = max(0, memoryview(old).nbytes - len(new))
        return new if less else old

    with writing(array):
        array.follow()
        with chunk_lock(array, key):
            patch_shard(array, coords, key, compacted)
    return less
