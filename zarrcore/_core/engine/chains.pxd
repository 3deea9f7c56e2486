# Codec chains, compiled for the engine.
cimport cython

from zarrcore._core.engine.csrc cimport zc_chain


@cython.final
cdef class Shard:
    cdef readonly tuple inner_shape
    cdef readonly Chain inner
    cdef readonly str index_location


@cython.final
cdef class Chain:
    cdef const zc_chain *c
    cdef object memory
    cdef readonly tuple links
    cdef readonly Shard shard
    cdef readonly tuple order
    cdef readonly bint calls_python

    cdef int _adopt(self, const zc_chain *compiled, object memory) except -1
