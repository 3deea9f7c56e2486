# SPDX-License-Identifier: MIT
"""Reads of many selections as one job, and reads into a cache alone."""

cimport cython
cimport numpy as cnp
from libc.stdlib cimport calloc, free, malloc, qsort

from zarrcore._core.engine.arrays cimport NativeArray
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.selections cimport check_memory, set_points, set_region
from zarrcore._core.engine.sessions cimport Session, poll_session
from zarrcore._core.engine.sources cimport StoreSource, open_store
from zarrcore._core.engine.threads cimport thread_number

import numpy as np

cnp.import_array()

# ---- where to read to ------------------------------------------------------------------------------------------------

cdef struct _Stretch:
    const char *low
    const char *high                     # after the last byte
    Py_ssize_t number


cdef _Stretch _stretch_of(cnp.ndarray array, Py_ssize_t number) noexcept:
    """Return the memory from the first to the last byte of an array that is not empty."""
    cdef const char *low = cnp.PyArray_BYTES(array)
    cdef const char *high = low + cnp.PyArray_ITEMSIZE(array)
    cdef Py_ssize_t length
    cdef int d
    for d in range(cnp.PyArray_NDIM(array)):
        length = (cnp.PyArray_DIM(array, d) - 1) * cnp.PyArray_STRIDE(array, d)
        if length < 0:
            low += length
        else:
            high += length
    return _Stretch(low, high, number)


cdef int _by_place(const void *a, const void *b) noexcept nogil:
    cdef const char *first = (<const _Stretch *>a).low
    cdef const char *second = (<const _Stretch *>b).low
    return (first > second) - (first < second)


def entangled(list arrays not None, Py_ssize_t most) -> list:
    """Return pairs of arrays whose memory may overlap: (number, number), at most `most` of them.

    These alone might have items in common.  Arrays that begin next to each other come first.
    """
    cdef Py_ssize_t n = 0, i, distance
    cdef bint found = True
    cdef list pairs = []
    cdef _Stretch *stretches = <_Stretch *>malloc((len(arrays) + 1) * sizeof(_Stretch))
    if stretches == NULL:
        raise MemoryError("no memory to compare the arrays")
    try:
        for i in range(len(arrays)):
            if cnp.PyArray_SIZE(arrays[i]) > 0:
                stretches[n] = _stretch_of(arrays[i], i)
                n += 1
        qsort(stretches, n, sizeof(_Stretch), _by_place)
        distance = 1
        while found and distance < n:
            found = False
            for i in range(n - distance):
                if stretches[i + distance].low >= stretches[i].high:
                    continue
                if len(pairs) == most:
                    return pairs
                found = True
                pairs.append((stretches[i].number, stretches[i + distance].number))
            distance += 1
        return pairs
    finally:
        free(stretches)


# ---- reading ---------------------------------------------------------------------------------------------------------

@cython.final
cdef class _Batch:
    """The calls of one job, and what they point to."""

    cdef list kept
    cdef list sessions                   # of the stores, several calls may share one
    cdef zc_call *calls
    cdef zc_selection *selections
    cdef zc_store *stores
    cdef zc_local *locals_

    def __cinit__(self, size_t n):
        self.kept = []
        self.sessions = []
        self.calls = <zc_call *>calloc(n, sizeof(zc_call))
        self.selections = <zc_selection *>calloc(n, sizeof(zc_selection))
        self.stores = <zc_store *>calloc(n, sizeof(zc_store))
        self.locals_ = <zc_local *>calloc(n, sizeof(zc_local))
        if self.calls == NULL or self.selections == NULL or self.stores == NULL or self.locals_ == NULL:
            raise MemoryError("no memory for the calls")

    def __dealloc__(self):
        free(self.calls)
        free(self.selections)
        free(self.stores)
        free(self.locals_)


cdef size_t _shared_by(NativeArray array) noexcept:
    """What calls on this array share: its store, so that a remote one is asked once for what several arrays want."""
    if type(array.source) is StoreSource:
        return <size_t><void *>(<StoreSource>array.source).store
    return <size_t><void *>array


def read_many(list requests not None, threads=0, numbers=None) -> None:
    """Read many selections as one job.

    Each of the requests is ``(array, dims, points, out)``: a NativeArray, and as of :meth:`NativeArray.read`, or, if
    `points` is true, of :meth:`NativeArray.read_points`, what is to be read and where to.  The message of a failure
    calls it by its number, or by that in `numbers`.
    """
    cdef size_t n = len(requests), i, place
    cdef int limit = thread_number(threads)
    cdef NativeArray array
    cdef cnp.ndarray out
    cdef _Batch batch
    cdef Session session
    cdef zc_fault fault
    cdef zc_error err
    cdef zc_status status
    if n == 0:
        return
    cdef dict places = {}
    batch = _Batch(n)
    for i in range(n):
        array, dims, points, out = requests[i]
        array.find_place()
        check_memory(out, "out", 1 if points else array.c.ndim, array.dtype)
        if not cnp.PyArray_ISWRITEABLE(out):
            raise ValueError("out: is read-only")
        batch.kept.append(set_points(&batch.selections[i], &array.c, dims, out) if points
                          else set_region(&batch.selections[i], &array.c, dims, out))
        place = places.setdefault(_shared_by(array), len(batch.sessions))
        if place == <size_t>len(batch.sessions):
            session = Session.__new__(Session)
            session.source = array.source
            session.compares, session.reads = True, {}
            open_store(session, &batch.locals_[place], &batch.stores[place])
            batch.sessions.append(session)
        (<Session>batch.sessions[place]).reads.setdefault(array.prefix, [array.source, 0])
        batch.calls[i].array = &array.c
        batch.calls[i].store = &batch.stores[place]
        batch.calls[i].selection = &batch.selections[i]
        batch.calls[i].threads = limit
        batch.calls[i].poll = NULL
    session = batch.sessions[0]
    zc_error_clear(&err)
    with nogil:
        status = zc_read_many(batch.calls, n, limit, poll_session, <void *>session, &fault, &err)
    if session.interrupted:
        raise session.error
    if status == ZC_OK:
        return
    prefix = ""
    if fault.call < n:
        prefix = f"selection {fault.call if numbers is None else numbers[fault.call]}: "
    else:
        fault.in_chunk = False
        fault.call = 0
    array = requests[fault.call][0]
    array.is_stale |= status == ZC_ERR_STALE
    session = batch.sessions[places[_shared_by(array)]]
    array.raise_failure(status, &fault, &err, batch.sessions[0] if err.cause else session, False, prefix)


# ---- reading ahead --------------------------------------------------------------------------------------------------

def prefetch(NativeArray array not None, dims, shape, bint points, threads=0, token=None) -> None:
    """Decode the chunks of a selection into the array's cache.

    `dims` are as of :meth:`NativeArray.read`, or, if `points` is true, of :meth:`NativeArray.read_points`; `shape` is
    that of what they select.  The call ends early, without an error, when ``token.cancelled`` is true.
    """
    cdef zc_selection selection
    cdef cnp.ndarray nothing = np.broadcast_to(np.zeros((), array.dtype), shape)
    if array.cache is None:
        raise ValueError(f"array {array.path or '/'!r}: has no cache to prefetch into")
    _kept = (set_points if points else set_region)(&selection, &array.c, dims, nothing)
    selection.memory = NULL
    if cnp.PyArray_SIZE(nothing):
        array.run(&selection, thread_number(threads), False, False, NULL, True, token)
