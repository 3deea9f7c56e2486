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
    A kept chunk is used only as long as it is true.  Writes through zarrcore in this process make it invalid.  Of files
    it is checked at each read that device, inode, size and time of modification are the same, so writes of others are
    seen; for this to be certain, a file is kept only when it has not changed for 3 seconds.  Of a store in memory it is
    checked that the stored object is the same.  Of a store written in Python zarrcore sees only what it writes itself:
    if others write to it, call :meth:`clear`.

    Thread-safe; after a fork the cache of the child is empty.
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
        """The limit."""
        return self._stats().max_bytes

    @property
    def nbytes(self) -> int:
        """Bytes that are taken now."""
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
        """How often it was not."""
        return self._stats().misses

    def __repr__(self) -> str:
        cdef zc_cache_stats stats = self._stats()
        return (f"<ChunkCache {stats.n_chunks} chunks, {stats.n_bytes} of {stats.max_bytes} bytes, "
                f"{stats.hits} hits, {stats.misses} misses>")
