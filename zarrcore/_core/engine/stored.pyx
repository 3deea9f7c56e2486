# SPDX-License-Identifier: MIT
"""What is stored of an array: its chunks listed, sizes, parts of their values, and whether they can be decoded."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from zarrcore._core.engine.arrays cimport NativeArray
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.selections cimport set_axis
from zarrcore._core.engine.sources cimport LocalSource, _Session, poll_session, set_local
from zarrcore._core.engine.threads cimport thread_number

import os

import numpy as np

cnp.import_array()

cdef extern from "<errno.h>":
    int ECANCELED


cdef cnp.ndarray _copy(const int64_t *data, shape):
    cdef cnp.ndarray out = np.empty(shape, np.int64)
    memcpy(cnp.PyArray_DATA(out), data, <size_t>cnp.PyArray_NBYTES(out))
    return out


def list_stored(NativeArray array not None, size_t most, bint sizes=False):
    """List an array in a directory tree: return ``(chunks, sizes, others)``, or None where that takes another way.

    `chunks` are the positions that keys name, in no order, as int64 of shape (number, dimensions); they may lie outside
    of the grid.  `sizes` are those of their files: -1 for what is no file, -2 unless sizes are asked for.  `others` are
    the paths below the array of all that is no chunk; of directories those without entries, with a slash.  None: the
    array is in another kind of store, or there are more than `most` entries, symbolic links, or what cannot be listed.
    The GIL is released.
    """
    cdef zc_local local
    cdef zc_stored found
    cdef _Session session = _Session.__new__(_Session)
    cdef int code
    cdef Py_ssize_t n
    if type(array.source) is not LocalSource:
        return None
    memset(&local, 0, sizeof(local))
    set_local(<LocalSource>array.source, &local)
    try:
        with nogil:
            code = zc_list_stored(&array.c, &local, sizes, most, poll_session, <void *>session, &found)
        if session.error is not None:
            raise session.error
        if code == ENOMEM:
            raise MemoryError("no memory for a list of chunks")
        if code != 0:
            return None
        n = <Py_ssize_t>found.n
        chunks = _copy(found.chunks, (n, array.c.ndim))
        others = PyBytes_FromStringAndSize(found.others, <Py_ssize_t>found.others_n).split(b"\0")[:-1]
        return chunks, _copy(found.sizes, n), [os.fsdecode(name) for name in others]
    finally:
        zc_stored_free(&found)


cdef cnp.ndarray _tried(NativeArray array, chunks, zc_trial *trial, threads):
    """Try chunks; returns the outcome of each."""
    cdef zc_selection selection
    cdef cnp.ndarray where = np.ascontiguousarray(chunks, np.int64), outcome
    cdef int d
    if cnp.PyArray_NDIM(where) != 2 or cnp.PyArray_DIM(where, 1) != array.c.ndim:
        raise ValueError(f"chunks: expected shape (number, {array.c.ndim}), got {(<object>where).shape}")
    outcome = np.full(len(where), -2, np.int64)
    trial.chunks = <const int64_t *>cnp.PyArray_DATA(where)
    trial.n = <size_t>cnp.PyArray_DIM(where, 0)
    trial.sizes = <int64_t *>cnp.PyArray_DATA(outcome)
    memset(&selection, 0, sizeof(selection))
    selection.kind = ZC_SELECT_REGION                # as much as all of them together
    selection.ndim = array.c.ndim
    for d in range(array.c.ndim):
        set_axis(&selection, d, 0, 1, array.c.grid[d].chunk * (<int64_t>trial.n if d == 0 else 1), 0)
    if trial.n > 0:
        array.run(&selection, thread_number(threads), False, False, NULL, False, None, trial)
    return outcome


def try_chunks(NativeArray array not None, chunks, threads=0):
    """Decode chunks, many at a time, and keep nothing of them; return how many bytes each has in the store.

    -1: it is absent; -2: it lies outside of the grid, or cannot be read or decoded, for a reason that
    :meth:`NativeArray.read` raises; 0 if the store does not tell.  `chunks` are positions in the grid, of shape
    (number, dimensions).  The GIL is released.

    Raises
    ------
    Exception
        What is not about a single chunk, and whatever codecs and stores in Python raise.
    """
    cdef zc_trial trial
    memset(&trial, 0, sizeof(trial))
    return _tried(array, chunks, &trial, threads)


def read_parts(NativeArray array not None, chunks, size_t nbytes, bint last, threads=0):
    """Read the first or last bytes of values in files: return them, and the sizes of the values.

    The sizes are those of :func:`try_chunks`; -2: the value could not be read, or is too short.  The bytes are uint8 of
    shape (number, nbytes), and undefined where the size is negative.
    """
    cdef zc_trial trial
    cdef cnp.ndarray parts = np.empty((len(chunks), nbytes), np.uint8)
    if type(array.source) is not LocalSource:
        raise TypeError(f"array {array.path or '/'!r}: is not in files")
    memset(&trial, 0, sizeof(trial))
    trial.parts = <uint8_t *>cnp.PyArray_DATA(parts)
    trial.part_nbytes = nbytes
    trial.last = last
    return parts, _tried(array, chunks, &trial, threads)
