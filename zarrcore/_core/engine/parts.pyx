# SPDX-License-Identifier: MIT
"""What is selected of an array, found out from the parts of its chunks that zarr-python asks for."""

cimport numpy as cnp
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Unpack
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from zarrcore._core.engine.arrays cimport NativeArray
from zarrcore._core.engine.csrc cimport *

import numpy as np

cnp.import_array()

cdef extern from "Python.h":
    int PySlice_Check(object)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *n) except NULL

cdef int64_t _FAR = 1 << 40


cdef bint _find_chunk(NativeArray array, str key, int64_t *chunk) except -1:
    """Read the coordinates of a chunk from its key; False if it is not one of the array."""
    cdef Py_ssize_t n, at
    cdef const char *text = PyUnicode_AsUTF8AndSize(key, &n)
    cdef Py_ssize_t skip = array.c.prefix_len
    cdef int d
    if n <= skip or memcmp(text, array.c.prefix, skip) != 0 or array.c.keys.reversed:
        return False
    at = skip
    if not array.c.keys.v2:
        if text[at] != b"c":
            return False
        at += 1
    elif array.c.ndim == 0:
        return n == at + 1 and text[at] == b"0"
    for d in range(array.c.ndim):
        if d > 0 or not array.c.keys.v2:
            if at >= n or text[at] != array.c.keys.separator:
                return False
            at += 1
        if at >= n or not b"0" <= text[at] <= b"9":
            return False
        chunk[d] = 0
        while at < n and b"0" <= text[at] <= b"9":
            chunk[d] = chunk[d] * 10 + (text[at] - 48)
            at += 1
            if chunk[d] > _FAR:
                return False
    return at == n


cdef bint _begin_of(NativeArray array, tuple part, type place, object store, int64_t *begin) except -1:
    """Find where the chunk of a part begins; False if the part is not of a chunk of this array in this store."""
    cdef int d
    where = part[0]
    if type(where) is not place or where.store is not store or not _find_chunk(array, where.path, begin):
        return False
    for d in range(array.c.ndim):
        if array.c.grid[d].edges != NULL or begin[d] >= array.c.grid[d].length // array.c.grid[d].chunk:
            return False
        begin[d] *= array.c.grid[d].chunk
    return True


def box_of(NativeArray array not None, list parts not None, type place not None, store):
    """Return the region that parts of chunks make up without gaps; None if they make up none.

    Each part is ``(place of the chunk, its specification, selection in the chunk, selection in memory, ...)``.  The
    region is ``(dims, shape)``: `dims` as of :meth:`NativeArray.read`, and the shape in memory, where dimensions of
    which one index is selected are None.
    """
    cdef int64_t begin[64]
    cdef int64_t last[64]
    cdef int64_t first[64]
    cdef int64_t step[64]
    cdef int64_t stop[64]
    cdef int64_t here, size, total = 0, full = 1
    cdef Py_ssize_t start, end, stride, n, to, until, by, i, j
    cdef int d, ndim = array.c.ndim
    cdef bint later
    cdef tuple inside, outside
    for i in range(len(parts)):
        if not _begin_of(array, parts[i], place, store, begin):
            return None
        if type(parts[i][2]) is not tuple or type(parts[i][3]) is not tuple:
            return None
        inside, outside = parts[i][2], parts[i][3]
        if len(inside) != ndim:
            return None
        later = i == 0
        j = 0
        size = 1
        for d in range(ndim):
            if not later and begin[d] != last[d]:        # chunks come in order, so that none comes twice
                if begin[d] < last[d]:
                    return None
                later = True
            entry = inside[d]
            if PySlice_Check(entry):
                if j >= len(outside) or not PySlice_Check(outside[j]):
                    return None
                PySlice_Unpack(entry, &start, &end, &stride)
                n = PySlice_AdjustIndices(array.c.grid[d].chunk, &start, &end, stride)
                PySlice_Unpack(outside[j], &to, &until, &by)
                if i > 0 and stop[d] < 0 or n < 1 or stride < 1 or by != 1 or to < 0 or until > _FAR or until - to != n:
                    return None
                here = begin[d] + start - to * stride
                stop[d] = until if i == 0 else max(stop[d], until)
                j += 1
                size *= n
            elif isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
                start = entry
                if not 0 <= start < array.c.grid[d].chunk:
                    return None
                here = begin[d] + start
                stride = 1
                if i > 0 and stop[d] != -1:
                    return None
                stop[d] = -1
            else:
                return None
            if i == 0:
                first[d] = here
                step[d] = stride
            elif here != first[d] or stride != step[d]:
                return None
        if j != len(outside) or not later and ndim > 0:
            return None
        for d in range(ndim):
            last[d] = begin[d]
        total += size
    for d in range(ndim):
        if first[d] < 0:
            return None
        full *= 1 if stop[d] < 0 else stop[d]
    if not parts or full != total:
        return None
    return ([(first[d], step[d], 1 if stop[d] < 0 else stop[d]) for d in range(ndim)],
            tuple([None if stop[d] < 0 else stop[d] for d in range(ndim)]))


def begins_of(NativeArray array not None, list parts not None, type place not None, store):
    """Return where the chunk of each part begins, as an array with a row for each; None if one is not of the array."""
    cdef int64_t begin[64]
    cdef cnp.ndarray found = np.empty((len(parts), array.c.ndim), np.int64)
    cdef int64_t *row = <int64_t *>cnp.PyArray_DATA(found)
    cdef Py_ssize_t i
    cdef int d
    for i in range(len(parts)):
        if not _begin_of(array, parts[i], place, store, begin):
            return None
        for d in range(array.c.ndim):
            row[i * array.c.ndim + d] = begin[d]
    return found
