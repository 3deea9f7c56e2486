# What one call of the engine holds of Python while it runs.
from libc.stdint cimport uint64_t

from zarrcore._core.engine.csrc cimport zc_error, zc_status, zc_store, zc_value


cdef class Session:
    cdef object source        # of the values; the function where Python is called
    cdef object error
    cdef object memory        # the array that is written; None: another kind of call
    cdef object token         # the call ends when its attribute `cancelled` is true; None: there is none
    cdef bint interrupted     # the exception is that of a signal handler, or like KeyboardInterrupt

    cdef list causes          # what codecs raised, see zc_error.cause
    cdef dict versions        # of the values that the call has fetched parts of; None: of none yet
    cdef bint compares        # after a read it is looked whether the documents of the arrays are still the same
    cdef dict reads           # of several arrays, by prefixes: sources, and how many chunks were read; None: of one

    cdef dict seen(self)
    cdef int keep(self, object error, bint of_a_signal=?) except -1
    cdef uint64_t keep_cause(self, object error) except? 0
    cdef zc_status fail(self, object error, zc_error *err)


cdef int poll_session(void *arg) noexcept nogil
cdef bint is_of_a_signal(object error) except -1
cdef object error_of_a_signal(object error)

cdef object view_of(object value)
cdef int lend(str key, object value, const zc_store *store, zc_value *out) except -1
cdef void give_back(zc_value *value) noexcept nogil
cdef void give_back_all(zc_value *values, size_t n) noexcept nogil
cdef void hold_value(const void *token) noexcept nogil
cdef void drop_value(const void *token) noexcept nogil
