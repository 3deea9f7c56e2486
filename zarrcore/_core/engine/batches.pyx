# SPDX-License-Identifier: MIT
"""Reads of many selections as one job, and reads into a cache alone."""

cimport cython
cimport numpy as cnp
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memset

from zarrcore._core.engine.arrays cimport NativeArray
from zarrcore._core.engine.callbacks cimport open_store
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.selections cimport check_memory, set_points, set_region
from zarrcore._core.engine.sessions cimport Session, poll_session
from zarrcore._core.engine.sources cimport StoreSource
from zarrcore._core.engine.threads cimport thread_number

import numpy as np

from zarrcore import errors

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

# The memory of a batch is kept for the next one: new pages cost half as much as reading small chunks of memory.
cdef extern from *:
    """
    #include <stdatomic.h>
    #include <stdlib.h>

    enum { ZC_ROOM_KEPT = 1 << 20 };

    static _Atomic(void *) zc_kept_room;

    static void *zc_room_new(size_t n)
    {
        void *const kept = n <= ZC_ROOM_KEPT ? atomic_exchange(&zc_kept_room, NULL) : NULL;

        return kept != NULL ? kept : malloc(n <= ZC_ROOM_KEPT ? ZC_ROOM_KEPT : n);
    }

    static void zc_room_delete(void *room, size_t n)
    {
        free(n <= ZC_ROOM_KEPT ? atomic_exchange(&zc_kept_room, room) : room);
    }
    """
    void *zc_room_new(size_t n)
    void zc_room_delete(void *room, size_t n)


@cython.final
cdef class _Batch:
    """The calls of one job, and what they point to."""

    cdef list kept
    cdef list arrays                     # of the calls
    cdef list numbers                    # of the selections, as messages call them
    cdef list sessions                   # of the stores, several calls may share one
    cdef dict places                     # which of them, see _shared_by
    cdef size_t nbytes                   # of all the following
    cdef zc_call *calls
    cdef zc_selection *selections
    cdef zc_store *stores
    cdef zc_local *locals_

    def __cinit__(self, size_t n):
        self.kept, self.arrays, self.numbers, self.sessions = [], [], [], []
        self.places = {}
        self.nbytes = n * (sizeof(zc_call) + sizeof(zc_selection) + sizeof(zc_store) + sizeof(zc_local))
        self.calls = <zc_call *>zc_room_new(self.nbytes)
        if self.calls == NULL:
            raise MemoryError("no memory for the calls")
        memset(self.calls, 0, n * sizeof(zc_call))
        self.selections = <zc_selection *>&self.calls[n]
        self.stores = <zc_store *>&self.selections[n]
        self.locals_ = <zc_local *>&self.stores[n]

    def __dealloc__(self):
        if self.calls != NULL:
            zc_room_delete(self.calls, self.nbytes)

    cdef zc_selection *next_one(self):
        """The selection of the next call."""
        return &self.selections[len(self.arrays)]

    cdef int add(self, NativeArray array, object number) except -1:
        """Have that read from an array."""
        cdef Session session
        cdef size_t i = len(self.arrays), place
        array.find_place()
        place = self.places.setdefault(_shared_by(array), len(self.sessions))
        if place == <size_t>len(self.sessions):
            session = Session.__new__(Session)
            session.source = array.source
            session.compares, session.reads = True, {}
            open_store(session, &self.locals_[place], &self.stores[place])
            self.sessions.append(session)
        (<Session>self.sessions[place]).reads.setdefault(array.prefix, [array.source, 0])
        self.calls[i].array = &array.c
        self.calls[i].store = &self.stores[place]
        self.calls[i].selection = &self.selections[i]
        self.arrays.append(array)
        self.numbers.append(number)
        return 0

    cdef int run(self, int threads) except -1:
        """Run the calls, and raise what went wrong."""
        cdef size_t n = len(self.arrays), i
        cdef NativeArray array
        cdef Session session = self.sessions[0]
        cdef zc_fault fault
        cdef zc_error err
        cdef zc_status status
        for i in range(n):
            self.calls[i].threads = threads
        zc_error_clear(&err)
        with nogil:
            status = zc_read_many(self.calls, n, threads, poll_session, <void *>session, &fault, &err)
        if status == ZC_OK and not session.interrupted:
            return 0
        for session in self.sessions:
            if session.interrupted:
                raise session.error
        prefix = ""
        if fault.call < n:
            prefix = f"selection {self.numbers[fault.call]}: "
        else:
            fault.in_chunk = False
            fault.call = 0
        array = self.arrays[fault.call]
        array.is_stale |= status == ZC_ERR_STALE
        session = self.sessions[self.places[_shared_by(array)]]
        return array.raise_failure(status, &fault, &err, self.sessions[0] if err.cause else session, False, prefix)


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
    cdef Py_ssize_t n = len(requests), i
    cdef int limit = thread_number(threads)
    cdef NativeArray array
    cdef cnp.ndarray out
    cdef _Batch batch
    if n == 0:
        return
    batch = _Batch(n)
    for i in range(n):
        array, dims, points, out = requests[i]
        check_memory(out, "out", 1 if points else array.c.ndim, array.dtype)
        if not cnp.PyArray_ISWRITEABLE(out):
            raise ValueError("out: is read-only")
        batch.kept.append(set_points(batch.next_one(), &array.c, dims, out) if points
                          else set_region(batch.next_one(), &array.c, dims, out))
        batch.add(array, i if numbers is None else numbers[i])
    batch.run(limit)


def get_many(list requests not None, list outs=None, threads=0) -> list | None:
    """Read many basic selections as one job: of pairs of a NativeArray and a key, as of :meth:`NativeArray.get`.

    They are read into `outs`, or into new arrays.  None is returned, to go the long way, for every other kind of
    selection, for one that is out of bounds, for `outs` that do not fit, are not contiguous or share memory, and if an
    array `is_left` or `is_stale`.
    """
    cdef Py_ssize_t n = len(requests), i
    cdef int limit = thread_number(threads)
    cdef bint scalar
    cdef NativeArray array
    cdef cnp.ndarray out
    cdef list results = []
    cdef _Batch batch
    if n == 0:
        return results
    batch = _Batch(n)
    for i in range(n):
        array, key = requests[i]
        out = array.lay_out(batch.next_one(), key, None if outs is None else outs[i], &scalar)
        if out is None:
            return None
        results.append(out)
        if cnp.PyArray_SIZE(out):
            batch.add(array, i)
    if outs is not None and entangled(outs, 1):
        return None
    try:
        if batch.arrays:
            batch.run(limit)
    except errors.ChunkError:
        if not _any_is_other(requests):
            raise
    return None if _any_is_other(requests) else results


cdef bint _any_is_other(list requests) except -1:
    cdef NativeArray array
    for array, _ in requests:
        if array.is_other():
            return True
    return False


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
