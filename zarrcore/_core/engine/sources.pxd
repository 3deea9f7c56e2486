# The stores of the engine, and what a call on one of them needs.
cimport cython
from libc.stdint cimport uint64_t

from zarrcore._core.engine.csrc cimport zc_error, zc_symlinks, zc_local, zc_status, zc_store


@cython.final
cdef class LocalSource:
    cdef bytes root
    cdef bint sync, drops
    cdef bint documents
    cdef public bytes documented
    cdef zc_symlinks links


@cython.final
cdef class MemorySource:
    cdef dict values
    cdef object is_gone
    cdef object kept


@cython.final
cdef class StoreSource:
    cdef object store
    cdef object suffix
    cdef object is_gone
    cdef object waits
    cdef object get_chunks, get_parts, serve, recheck
    cdef bint has_versions
    cdef size_t small
    cdef object most

    cdef size_t window(self) except? 0


cdef class _Session:
    cdef object source
    cdef object error
    cdef object token         # the call ends when its attribute `cancelled` is true; None: there is none
    cdef bint interrupted     # the exception is that of a signal handler

    cdef list causes          # what codecs raised, see zc_error.cause
    cdef dict versions        # of the values that the call has fetched parts of; None: of none yet

    cdef dict seen(self)
    cdef bint keep(self, object error) except -1
    cdef uint64_t keep_cause(self, object error) except? 0
    cdef zc_status fail(self, object error, zc_error *err)


cdef str own_scope(object source)
cdef int poll_session(void *arg) noexcept nogil
cdef int set_local(LocalSource source, zc_local *out) except -1
cdef int open_store(_Session session, zc_local *local, zc_store *out) except -1
