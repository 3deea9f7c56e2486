# SPDX-License-Identifier: MIT
"""The threads of the pool: how many there are, and Python calls on them."""

cimport cython
from libc.string cimport memset

from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.sessions cimport Session, poll_session

from operator import index as as_index

# PyGILState_Ensure ends the process where there is no memory for the state that Python has of a thread.  So a thread of
# the pool makes one when it starts, or ends at once, and keeps it: later calls of Python need none.  Where there is no
# GIL, a state that is kept would hold on to objects that other threads have let go.
cdef extern from *:
    """
    #include <stdbool.h>

    static bool zc_make_thread_state(void)
    {
    #ifdef Py_GIL_DISABLED
        return true;
    #else
        return !Py_IsInitialized() || PyGILState_GetThisThreadState() != NULL
               || PyThreadState_New(PyInterpreterState_Main()) != NULL;
    #endif
    }

    #if PY_VERSION_HEX < 0x030D0000
    #define Py_IsFinalizing _Py_IsFinalizing
    #endif
    """
    cbool zc_make_thread_state() noexcept nogil
    bint Py_IsFinalizing()

zc_pool_on_start(zc_make_thread_state)


# ---- how many ----------------------------------------------------------------------------------------------------

def num_threads() -> int:
    """Return the default number of threads of a call, the calling thread included."""
    return zc_pool_threads()


cdef enum:
    MOST_THREADS = 1 << 16


cpdef int thread_number(threads) except -1:
    """Return the argument `threads` as C takes it; 0 stands for the default.

    It is 1 when the interpreter ends, as finalizers see it: no other thread gets the GIL any more.
    """
    if Py_IsFinalizing():
        return 1
    if threads is None:
        return 0
    try:
        number = threads if type(threads) is int else as_index(threads)
    except TypeError:
        raise TypeError(f"threads: expected an integer, got {threads!r}") from None
    if number < 0:
        raise ValueError(f"threads: expected 1 or more (0: the default), got {threads}")
    return min(number, MOST_THREADS)


def set_num_threads(n) -> None:
    """Set the default number of threads; None or 0 for the CPUs that affinity mask and cgroup quota leave."""
    cdef int threads = 0 if n is None else as_index(n)
    if threads < 0:
        raise ValueError(f"number of threads: expected 1 or more (0: all CPUs), got {n}")
    zc_pool_set_threads(threads)


def is_in_call() -> bool:
    """Return whether this thread works for a call of the engine: it is in a store, or in a codec in Python."""
    return not zc_pool_is_outside()


def is_ending() -> bool:
    """Return whether the call that this thread works for has failed or was interrupted, and waits for its threads."""
    return zc_pool_is_ending()


def available_cpus() -> int:
    """Return how many CPUs affinity mask and cgroup quota leave to this process."""
    return zc_pool_cpus()


# ---- what they have done ------------------------------------------------------------------------------------------

def metrics() -> tuple:
    """Return what was counted in this process: requests, bytes read, writes, bytes written, chunks, hits, misses, and
    nanoseconds of decoding."""
    cdef zc_metrics found
    cdef int kind
    zc_metrics_get(&found)
    return tuple([found.n[kind] for kind in range(<int>ZC_METRIC_KINDS)])


def count(requests=0, nbytes_read=0, writes=0, nbytes_written=0) -> None:
    """Count what was asked of a store without C."""
    zc_metric_add(ZC_METRIC_REQUESTS, requests)
    zc_metric_add(ZC_METRIC_BYTES_READ, nbytes_read)
    zc_metric_add(ZC_METRIC_WRITES, writes)
    zc_metric_add(ZC_METRIC_BYTES_WRITTEN, nbytes_written)
    zc_metrics_hand_over()


@cython.final
cdef class Decoding:
    """Counts a chunk that Python decodes in the body of a `with` statement, and the time that this takes."""

    cdef zc_stopwatch watch

    def __enter__(self):
        self.watch = zc_stopwatch_start(ZC_SIZE_MAX)
        return self

    def __exit__(self, *_):
        zc_stopwatch_stop(self.watch)
        zc_metric_add(ZC_METRIC_CHUNKS, 1)
        zc_metrics_hand_over()


# ---- ends --------------------------------------------------------------------------------------------------------

def close_collected(self) -> None:
    """A ``__del__`` that calls ``_close_collected`` unless ``_closed`` is set.

    What a signal handler raises in one of Python's functions would be printed and forgotten, and with it Ctrl-C.
    """
    if not getattr(self, "_closed", True):
        self._close_collected()


# ---- calls -------------------------------------------------------------------------------------------------------

cdef zc_status _call_item(void *job, size_t item, zc_workspace *ws, zc_error *err) noexcept with gil:
    cdef Session call = <Session>job
    try:
        call.source(item)
    except BaseException as error:
        return call.fail(error, err)
    return ZC_OK


def call_parallel(function, Py_ssize_t n, int threads=0) -> None:
    """Call function(0) to function(n - 1) on the threads of the pool, the calling one included.

    It pays if most of each call runs without the GIL.  The first exception ends the whole, or one that interrupts.
    """
    cdef Session call = Session.__new__(Session)
    cdef zc_run job
    cdef zc_error err
    cdef zc_status status
    call.source = function
    memset(&job, 0, sizeof(job))
    job.task = _call_item
    job.job = <void *>call
    job.n_items = n
    job.threads = threads
    job.poll = poll_session
    job.poll_arg = <void *>call
    zc_error_clear(&err)
    with nogil:
        status = zc_pool_run(&job, NULL, &err)
    if call.error is not None:
        raise call.error
    if status == ZC_ERR_MEMORY:
        raise MemoryError(message(&err))
    if status != ZC_OK:
        raise RuntimeError(message(&err))
