# SPDX-License-Identifier: MIT
"""Three ways to use zarrcore from Cython: a region at once, chunk by chunk with OpenMP, encoded chunks."""

from cython.parallel cimport parallel, prange
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

cimport zarrcore

import numpy as np

zarrcore.import_zarrcore()

cdef extern from *:
    """
    #ifdef _OPENMP
    enum { built_with_openmp = 1 };
    #else
    enum { built_with_openmp = 0 };
    #endif
    """
    const int built_with_openmp


def has_openmp() -> bool:
    """Was this module compiled with OpenMP?  If not, `prange` is a plain loop."""
    return built_with_openmp


cdef class Handle:
    """Owns a handle of an array, so that no error on the way loses it."""

    cdef zarrcore.zarrcore_array *array
    cdef int ndim

    def __cinit__(self, array):
        self.array = zarrcore.zarrcore_from_python(array)
        self.ndim = zarrcore.zarrcore_ndim(self.array)

    def __dealloc__(self):
        zarrcore.zarrcore_release(self.array)

    cdef int check_float64(self) except -1:
        if zarrcore.zarrcore_kind(self.array) != c'f' or zarrcore.zarrcore_itemsize(self.array) != 8:
            raise TypeError(f"expected an array of float64, got {zarrcore.zarrcore_typestr(self.array).decode()}")
        return 0


def read_region(array, start, shape, int threads=0):
    """Read ``array[start : start + shape]``, float64, without the GIL.

    Parameters
    ----------
    array : zarrcore.Array
        Of float64, any number of dimensions.
    start, shape : sequence of int
        First element and number of elements for each dimension.
    threads : int
        Most threads to use; 0: the default.

    Returns
    -------
    numpy.ndarray
    """
    cdef Handle handle = Handle(array)
    cdef zarrcore.zarrcore_error error = zarrcore.zarrcore_no_error()
    cdef int64_t[64] first, count
    cdef int d, status

    handle.check_float64()
    out = np.empty(shape, dtype=array.dtype)
    cdef double[::1] memory = out.reshape(-1)
    if len(start) != handle.ndim or len(shape) != handle.ndim:
        raise ValueError(f"expected {handle.ndim} entries in start and shape")
    for d in range(handle.ndim):
        first[d] = start[d]
        count[d] = shape[d]
    if memory.shape[0] == 0:
        return out
    with nogil:
        status = zarrcore.zarrcore_read_as(handle.array, "f8", handle.ndim, first, NULL, count, &memory[0],
                                           memory.shape[0] * 8, NULL, threads, &error)
    if status != zarrcore.ZARRCORE_OK:
        zarrcore.zarrcore_raise(&error)
    return out


cdef double sum_chunk(const zarrcore.zarrcore_array *array, int64_t number, double *buffer,
                      zarrcore.zarrcore_error *error) noexcept nogil:
    """Read chunk `number` (C order of the grid), clipped to the array, and add it up."""
    cdef int64_t[64] grid, chunk, start, shape, extent
    cdef int ndim = zarrcore.zarrcore_ndim(array)
    cdef int d
    cdef int64_t i, n = 1
    cdef double total = 0

    zarrcore.zarrcore_grid_shape(array, grid)
    zarrcore.zarrcore_shape(array, extent)
    for d in range(ndim - 1, -1, -1):
        chunk[d] = number % grid[d]
        number = number // grid[d]
    zarrcore.zarrcore_chunk_box(array, chunk, start, shape)
    for d in range(ndim):
        shape[d] = min(shape[d], extent[d] - start[d])
        n *= shape[d]
    if zarrcore.zarrcore_read(array, start, NULL, shape, buffer, NULL, 1, error) != zarrcore.ZARRCORE_OK:
        return 0
    for i in range(n):
        total += buffer[i]
    return total


def sum_of_chunks(array, int threads=0) -> float:
    """The sum of a float64 array with a regular chunk grid: a `prange` over its chunks.

    Each thread of OpenMP reads with one thread of its own (``threads=1`` in the calls below).
    """
    cdef Handle handle = Handle(array)
    cdef zarrcore.zarrcore_error failure = zarrcore.zarrcore_no_error()
    cdef zarrcore.zarrcore_error *shared = &failure     # what a prange assigns to is private to each thread
    cdef zarrcore.zarrcore_error *error = NULL
    cdef int64_t[64] grid, shape
    cdef int64_t n_chunks = 1, i
    cdef size_t nbytes = 8
    cdef double total = 0
    cdef double *buffer = NULL
    cdef int d, failed = 0

    handle.check_float64()
    zarrcore.zarrcore_grid_shape(handle.array, grid)
    if zarrcore.zarrcore_chunk_shape(handle.array, shape) != zarrcore.ZARRCORE_OK:
        raise ValueError("expected chunks of one shape")
    for d in range(handle.ndim):
        n_chunks *= grid[d]
        nbytes *= shape[d]
    with nogil, parallel(num_threads=threads if threads > 0 else zarrcore.zarrcore_get_num_threads()):
        buffer = <double *>malloc(nbytes)
        error = <zarrcore.zarrcore_error *>malloc(sizeof(zarrcore.zarrcore_error))
        if error != NULL:
            error[0] = zarrcore.zarrcore_no_error()
        for i in prange(n_chunks, schedule="dynamic"):
            if buffer == NULL or error == NULL:
                failed += 1
            else:
                total += sum_chunk(handle.array, i, buffer, error)
                failed += error.status != 0
                if error.status != 0:
                    with gil:
                        shared[0] = error[0]
        free(buffer)
        free(error)
    if failed and failure.status == 0:
        raise MemoryError
    if failed:
        zarrcore.zarrcore_raise(&failure)
    return total


def chunk_sizes(array):
    """Sizes of the encoded chunks: a dict of chunk coordinates and bytes in the store, absent chunks left out."""
    cdef Handle handle = Handle(array)
    cdef zarrcore.zarrcore_error error = zarrcore.zarrcore_no_error()
    cdef int64_t[64] grid, chunk
    cdef size_t nbytes
    cdef int d, status

    zarrcore.zarrcore_grid_shape(handle.array, grid)
    sizes = {}
    for index in np.ndindex(*[grid[d] for d in range(handle.ndim)]):
        for d in range(handle.ndim):
            chunk[d] = index[d]
        with nogil:
            status = zarrcore.zarrcore_load_chunk(handle.array, chunk, 0, NULL, 0, &nbytes, &error)
        if status == zarrcore.ZARRCORE_OK:
            sizes[index] = nbytes
        elif status != zarrcore.ZARRCORE_ERR_MISSING:
            zarrcore.zarrcore_raise(&error)
    return sizes
