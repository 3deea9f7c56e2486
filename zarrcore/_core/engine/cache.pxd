# Decoded chunks that are kept.
cimport cython

from zarrcore._core.engine.csrc cimport zc_cache, zc_cache_stats


@cython.final
cdef class ChunkCache:
    cdef zc_cache *c

    cdef zc_cache_stats _stats(self)
