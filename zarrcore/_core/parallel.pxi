# Python calls on the engine's threads.

cdef extern from "base/pool.h" nogil:
    ctypedef zc_status (*zc_task)(void *job, size_t item, zc_workspace *ws, zc_error *err) noexcept nogil

    ctypedef struct zc_run:
        zc_task task
        void *job
        size_t n_items
        int threads
        size_t grain
        zc_poll poll
        void *poll_arg

    zc_status zc_pool_run(const zc_run *run, size_t *failed_item, zc_error *err)


cdef class _Calls:
    """A function, and the first exception that one of its calls raised."""

    cdef object function
    cdef object error

    cdef zc_status call(self, size_t item) noexcept:
        try:
            self.function(item)
        except BaseException as error:
            self.keep(error)
            return ZC_ERR_CALLBACK
        return ZC_OK

    cdef int keep(self, object error) except -1:
        """Remember the first one; calls fail on several threads at once, and there may be no GIL."""
        with cython.critical_section(self):
            if self.error is None:
                self.error = error
        return 0


cdef zc_status _call_item(void *job, size_t item, zc_workspace *ws, zc_error *err) noexcept nogil:
    with gil:
        return (<_Calls>job).call(item)


cdef int _poll_calls(void *calls) noexcept nogil:
    with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            (<_Calls>calls).keep(error)
            return 1
    return 0


def call_parallel(function, Py_ssize_t n, int threads=0) -> None:
    """Call function(0) to function(n - 1) on the threads of the pool, the calling one included.

    It pays if most of each call runs without the GIL.  The first exception ends the whole.
    """
    cdef _Calls calls = _Calls()
    cdef zc_run job
    cdef zc_error err
    cdef zc_status status
    calls.function = function
    memset(&job, 0, sizeof(job))
    job.task = _call_item
    job.job = <void *>calls
    job.n_items = n
    job.threads = threads
    job.poll = _poll_calls
    job.poll_arg = <void *>calls
    zc_error_clear(&err)
    with nogil:
        status = zc_pool_run(&job, NULL, &err)
    if calls.error is not None:
        raise calls.error
    if status == ZC_ERR_MEMORY:
        raise MemoryError((<bytes>err.message).decode())
    if status != ZC_OK:
        raise RuntimeError((<bytes>err.message).decode())
