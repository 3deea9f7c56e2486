# The stores of the engine, and what a call on one of them needs.
cimport cython

from zarrcore._core.engine.csrc cimport zc_local, zc_mark, zc_store, zc_symlinks
from zarrcore._core.engine.sessions cimport Session


@cython.final
cdef class LocalSource:
    cdef bytes root
    cdef bint sync, drops
    cdef bint documents
    cdef readonly bytes documented
    cdef bint is_marked
    cdef zc_mark mark
    cdef zc_symlinks links

    cdef object version(self)
    cdef bint is_as_noted(self, bytes below) except -1


cdef class Source:
    cdef public object is_gone
    cdef object document, known

    cdef object version(self)
    cdef bint is_as_noted(self) except -1


@cython.final
cdef class MemorySource(Source):
    cdef dict values
    cdef object kept


@cython.final
cdef class StoreSource(Source):
    cdef object store
    cdef object suffix
    cdef object waits
    cdef object get_chunks, get_parts, serve, recheck, set_lent
    cdef bint has_versions
    cdef size_t small
    cdef object most

    cdef size_t window(self) except? 0


cdef str own_scope(object source)
cdef bint is_as_noted(object source, bytes below) except -1
cdef int set_local(LocalSource source, zc_local *out) except -1
cdef int open_store(Session session, zc_local *local, zc_store *out) except -1
