# SPDX-License-Identifier: MIT
"""Decoded chunks that are kept."""

cimport cython

from zarrcore._core.engine.csrc cimport *

import sys
from operator import index as as_index


def byte_limit(max_bytes) -> int:
    """Return a limit of memory as a size that C counts; all beyond is no limit."""
    try:
        limit = as_index(max_bytes)
    except TypeError:
        raise TypeError(f"max_bytes: expected an integer, got {max_bytes!r}") from None
    if limit < 1 or isinstance(max_bytes, bool):
        raise ValueError(f"max_bytes: expected 1 or more, got {max_bytes!r}")
    return min(limit, sys.maxsize)


@cython.final
cdef class ChunkCache:
    """Memory for decoded chunks, up to a limit in bytes, which any number of arrays may share.

    Give it to an array with :meth:`zarrcore.Array.with_cache`.  What is kept are decoded chunks (of sharded arrays:
    inner chunks); the least recently used go first, and a chunk larger than the limit is never kept.  Chunks that are
    absent are not kept, nor are errors.

    Parameters
    ----------
    max_bytes : int
        The limit in bytes.  Each thread that reads keeps one more chunk at most.

    Notes
    -----
    A kept chunk is used only while it is valid. Writes through zarrcore in this process invalidate it. For files,
    each read checks that device, inode, size and modification time are still the same, so writes by other processes
    are noticed; to make that certain, the chunks of a file are kept only if it has not changed for 3 seconds. For
    stores in memory, each read checks that the stored object is still the same. Object stores are asked, by one
    conditional request for each value, unless the store is `immutable`. For other stores written in Python, only
    writes through zarrcore in this process are noticed: call :meth:`clear` if there are others.

    Thread-safe; after a fork the cache of the child is empty.

    Examples
    --------
    >>> import zarrcore
    >>> cache = zarrcore.ChunkCache(1 << 26)
    >>> array = zarrcore.array([1, 2, 3, 4], chunks=2).with_cache(cache)
    >>> array[0], array[1]
    (np.int64(1), np.int64(2))
    >>> cache.hits, cache.misses
    (1, 1)
    """

    def __cinit__(self, max_bytes):
        self.c = zc_cache_new(byte_limit(max_bytes))
        if self.c == NULL:
            raise MemoryError("no memory for a cache")

    def __dealloc__(self):
        if self.c != NULL:
            with nogil:
                zc_cache_free(self.c)

    def clear(self) -> None:
        """Forget all chunks; hits and misses go on being counted."""
        with nogil:
            zc_cache_clear(self.c)

    cdef zc_cache_stats _stats(self):
        cdef zc_cache_stats stats
        with nogil:
            zc_cache_stats_get(self.c, &stats)
        return stats

    @property
    def max_bytes(self) -> int:
        """The limit in bytes."""
        return self._stats().max_bytes

    @property
    def nbytes(self) -> int:
        """Bytes of the chunks that are kept now."""
        return self._stats().n_bytes

    @property
    def nchunks(self) -> int:
        """Number of chunks that are kept now."""
        return self._stats().n_chunks

    @property
    def hits(self) -> int:
        """How often a chunk was found."""
        return self._stats().hits

    @property
    def misses(self) -> int:
        """How often a chunk was not found, or was read that is not kept (of a shard in a young file: once)."""
        return self._stats().misses

    def __repr__(self) -> str:
        cdef zc_cache_stats stats = self._stats()
        return (f"<ChunkCache {stats.n_chunks} chunks, {stats.n_bytes} of {stats.max_bytes} bytes, "
                f"{stats.hits} hits, {stats.misses} misses>")

    def _repr_html_(self) -> str:
        # Numbers alone: nothing needs to be escaped.
        cdef zc_cache_stats stats = self._stats()
        asked = stats.hits + stats.misses
        rows = {
            "Chunks": f"{stats.n_chunks:,}",
            "Memory": f"{stats.n_bytes:,} of {stats.max_bytes:,} bytes ({stats.n_bytes / stats.max_bytes:.0%})",
            "Hits": f"{stats.hits:,} of {asked:,}" + (f" ({stats.hits / asked:.0%})" if asked else ""),
        }
        cells = "".join(f"<tr><td style='text-align:left;opacity:.68'>{label}</td>"
                        f"<td style='text-align:left'>{value}</td></tr>" for label, value in rows.items())
        font = "font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)"
        return f"<div style='{font}'><b>ChunkCache</b><table style='font:inherit;color:inherit'>{cells}</table></div>"
