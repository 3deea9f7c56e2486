# SPDX-License-Identifier: MIT
"""What is stored of an array: its chunks listed, sizes, parts of their values, and whether they can be decoded."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from zarrcore._core.engine.arrays cimport NativeArray
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.selections cimport set_axis
from zarrcore._core.engine.sessions cimport Session, poll_session
from zarrcore._core.engine.sources cimport LocalSource, MemorySource, set_local
from zarrcore._core.engine.threads cimport thread_number

import os

import numpy as np

cnp.import_array()

cdef extern from "<errno.h>":
    int ECANCELED

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *n) except NULL


cdef cnp.ndarray _copy(const int64_t *data, shape):
    cdef cnp.ndarray out = np.empty(shape, np.int64)
    if data != NULL:                            # as it is where there is nothing
        memcpy(cnp.PyArray_DATA(out), data, <size_t>cnp.PyArray_NBYTES(out))
    return out


cdef int64_t _size_of(value) except -2:
    if type(value) is bytes:
        return len(<bytes>value)
    try:
        export = getattr(value, "as_buffer_like", None)     # as those of zarr-python have it
        return memoryview(value if export is None else export()).nbytes
    except Exception:                           # it is no value: who reads it says why
        return -1


cdef _list_values(NativeArray array, dict values, size_t most, bint sizes):
    """List an array in a dictionary, as :func:`list_stored` does; the GIL is held."""
    cdef list keys = list(values), others = []
    cdef cnp.ndarray chunks = np.empty((len(keys), array.c.ndim), np.int64)
    cdef cnp.ndarray nbytes = np.full(len(keys), -2, np.int64)
    cdef int64_t *at = <int64_t *>cnp.PyArray_DATA(chunks)
    cdef int64_t *size = <int64_t *>cnp.PyArray_DATA(nbytes)
    cdef Py_ssize_t skip = <Py_ssize_t>array.c.prefix_len, n, found = 0
    cdef const char *name
    for key in keys:
        if not isinstance(key, str):
            return None
        name = PyUnicode_AsUTF8AndSize(key, &n)
        if n < skip or memcmp(name, array.c.prefix, <size_t>skip) != 0:
            continue
        if not zc_chunk_of_key(&array.c, name + skip, <size_t>(n - skip), at + found * array.c.ndim):
            others.append(name[skip:n].decode())
            continue
        if sizes:
            size[found] = _size_of(values.get(key))
        found += 1
    return None if <size_t>(found + len(others)) > most else (chunks[:found], nbytes[:found], others)


def list_stored(NativeArray array not None, size_t most, bint sizes=False):
    """List an array in a directory tree or a dictionary; return None where that takes another way.

    Else ``(chunks, sizes, others)``.
    `chunks` are the positions that keys name, in no order, as int64 of shape (number, dimensions); they may lie outside
    of the grid.  `sizes` are those of their values: -1 for what is no file and not bytes-like, -2 unless sizes are
    asked for.  `others` are the paths below the array of all that is no chunk; of directories those without entries,
    with a slash.  None: the
    array is in another kind of store, or there are more than `most` entries, symbolic links, what cannot be listed, or
    keys that are no text.  The GIL is released while directories are listed.
    """
    cdef zc_local local
    cdef zc_stored found
    cdef Session session = Session.__new__(Session)
    cdef int code
    cdef Py_ssize_t n
    if type(array.source) is MemorySource:
        try:
            return _list_values(array, (<MemorySource>array.source).values, most, sizes)
        except UnicodeEncodeError:              # a key with surrogates
            return None
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
