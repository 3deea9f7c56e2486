# Calls of Python functions on the threads of the pool.
from zarrcore._core.engine.csrc cimport zc_status


cdef class _Calls:
    cdef object function
    cdef object error

    cdef zc_status call(self, size_t item) noexcept
    cdef int keep(self, object error) except -1


cdef int poll_calls(void *calls) noexcept nogil
cpdef int thread_number(threads) except -1
