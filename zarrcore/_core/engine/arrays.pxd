# An array as the engine sees it.
cimport cython
cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t

from zarrcore._core.engine.cache cimport ChunkCache
from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport zc_array, zc_error, zc_fault, zc_given, zc_selection, zc_status, zc_trial
from zarrcore._core.engine.keys cimport Place
from zarrcore._core.engine.masks cimport MaskPoints
from zarrcore._core.engine.sessions cimport Session


@cython.final
cdef class NativeArray:
    cdef zc_array c
    cdef readonly object source
    cdef readonly Chain chain
    cdef readonly cnp.dtype dtype
    cdef readonly ChunkCache cache
    cdef readonly tuple shape
    cdef readonly str path
    cdef public bint is_left
    cdef public bint is_stale
    cdef int64_t looked_ns
    cdef bytes prefix
    cdef bytes fill
    cdef list edges
    cdef object scope
    cdef Place place

    cdef inline bint is_other(self) noexcept:
        """Whether another array may have come to the place of this one."""
        return self.is_left or self.is_stale

    cdef int find_place(self) except -1
    cdef bint may_be_current(self) except -1
    cdef cnp.ndarray lay_out(self, zc_selection *selection, object key, cnp.ndarray given, bint *scalar)
    cdef bint fits(self, cnp.ndarray array, int ndim, const cnp.npy_intp *shape) except -1
    cdef int _check(self, chunks, key_encoding) except -1
    cdef int _set_axis(self, Py_ssize_t d, length, chunk) except -1
    cdef str _key(self, const int64_t *chunk)
    cdef int run(self, zc_selection *selection, int threads, bint write, bint write_empty, const zc_given *blocks=*,
                 bint prefetch=*, object token=*, const zc_trial *trial=*, object memory=*) except -1
    cdef int raise_failure(self, zc_status status, const zc_fault *fault, const zc_error *err, Session session,
                           bint write, str prefix=*) except -1
    cdef object _inner_chunk(self, const zc_fault *fault, uint64_t number)
    cdef int _transfer(self, where, cnp.ndarray memory, str name, threads, field, bint points, bint write,
                       bint write_empty=*, object token=*) except -1
    cdef bint _picks(self, MaskPoints points, cnp.ndarray out, field) except -1
    cdef int _read_picked(self, MaskPoints points, cnp.ndarray out, int threads, field, object token) except -1
