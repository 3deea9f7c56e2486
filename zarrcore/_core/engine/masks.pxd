# Masks: which elements of an array are wanted.
cimport cython
cimport numpy as cnp

from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport zc_selection, zc_picked, zc_window


@cython.final
cdef class MaskPoints:
    cdef readonly cnp.ndarray mask
    cdef readonly Py_ssize_t count
    cdef cnp.ndarray bits     # 64 elements each
    cdef cnp.ndarray before   # how many elements before them are true
    cdef tuple indices

    cdef size_t _pack(self, Py_ssize_t begin, Py_ssize_t end) except? 0
    cdef bint suits(self, tuple shape, Py_ssize_t row, Chain chain) except -1
    cdef void set_selection(self, zc_selection *selection, zc_window *window, zc_picked *picked,
                            cnp.ndarray out) noexcept
