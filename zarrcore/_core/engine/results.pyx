# SPDX-License-Identifier: MIT
"""Arrays for what is read: the memory of large ones is recycled (csrc/base/recycled.h)."""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF

from zarrcore._core.engine.csrc cimport *

import numpy as np

cnp.import_array()

# NumPy asks the handler with which an array was made to free its memory, so that such an array owns it like any other.
cdef extern from *:
    """
    #include "base/recycled.h"

    static void *zc_results_malloc(void *self, size_t n) { (void)self; return zc_recycled_new(n); }

    static void *zc_results_calloc(void *self, size_t count, size_t n)
    {
        void *memory = n == 0 || count <= SIZE_MAX / n ? zc_recycled_new(count * n) : NULL;

        (void)self;
        return memory == NULL ? NULL : memset(memory, 0, count * n);
    }

    static void zc_results_free(void *self, void *memory, size_t n)
    {
        (void)self;
        (void)n;
        zc_recycled_delete(memory);
    }

    static void *zc_results_realloc(void *self, void *memory, size_t n)
    {
        void *larger = zc_recycled_new(n);

        (void)self;
        if (larger != NULL && memory != NULL) {
            const size_t room = zc_recycled_room(memory);
            memcpy(larger, memory, room < n ? room : n);
            zc_recycled_delete(memory);
        }
        return larger;
    }

    static PyDataMem_Handler zc_results_handler = {
        "zarrcore_results", 1, {NULL, zc_results_malloc, zc_results_calloc, zc_results_realloc, zc_results_free}
    };
    """
    void *zc_results_handler

cdef extern from "numpy/arrayobject.h":
    object PyDataMem_SetHandler(object handler)
    object PyDataMem_GetHandler()
    object PyArray_NewFromDescr(type subtype, cnp.dtype descr, int nd, const cnp.npy_intp *dims,
                                const cnp.npy_intp *strides, void *data, int flags, object obj)

cdef extern from "Python.h":
    object PyCapsule_New(void *pointer, const char *name, void *destructor)

cdef object _recycling = PyCapsule_New(&zc_results_handler, "mem_handler", NULL)
cdef object _usual = PyDataMem_GetHandler()
cdef bint _is_on = False


cdef bint _is_recycled(cnp.dtype dtype, double nbytes) except -1:
    """Not where a program has a handler of its own."""
    return (_is_on and nbytes >= ZC_RECYCLED_FROM and dtype.kind in "biufcmM"
            and PyDataMem_GetHandler() is _usual)


cdef cnp.ndarray new_result(cnp.dtype dtype, int ndim, const cnp.npy_intp *shape):
    """The same as `empty`, in C."""
    cdef double nbytes = dtype.itemsize
    cdef int d
    for d in range(ndim):
        nbytes *= shape[d]
    cdef bint recycled = _is_recycled(dtype, nbytes)
    if recycled:
        PyDataMem_SetHandler(_recycling)
    try:
        Py_INCREF(dtype)                  # the new array takes over one reference
        return PyArray_NewFromDescr(cnp.ndarray, dtype, ndim, shape, NULL, NULL, 0, None)
    finally:
        if recycled:
            PyDataMem_SetHandler(_usual)


def empty(tuple shape not None, dtype, order="C") -> np.ndarray:
    """Return an array of any values, as `numpy.empty` does, for a result that is written as a whole."""
    cdef double nbytes = dtype.itemsize
    for length in shape:
        nbytes *= length
    if not _is_recycled(dtype, nbytes):
        return np.empty(shape, dtype, order)
    PyDataMem_SetHandler(_recycling)
    try:
        return np.empty(shape, dtype, order)
    finally:
        PyDataMem_SetHandler(_usual)


def keep_results(most) -> None:
    """Let at most so many bytes of results that are no longer used wait for the next ones."""
    global _is_on
    _is_on = most > 0
    zc_recycled_limit(most)


def kept_results() -> int:
    """Return how many bytes wait."""
    return zc_recycled_waiting()
