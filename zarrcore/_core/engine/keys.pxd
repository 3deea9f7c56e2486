# Where the keys of an array are.
cimport cython

from zarrcore._core.engine.csrc cimport zc_place


@cython.final
cdef class Place:
    cdef zc_place c
    cdef bytes lock_path
    cdef readonly bint warns


cdef int tell_of_overlap(str array, str key) except -1
