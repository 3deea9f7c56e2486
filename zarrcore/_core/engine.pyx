# The border between Python and the chunk engine (csrc/engine): it converts and checks arguments, releases the GIL,
# calls C once and raises what went wrong.
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Unpack
from libc.errno cimport EEXIST
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cimport cython
cimport numpy as cnp

from zarrcore._core.csrc cimport *

import os
import sys
from operator import index as as_index

import numpy as np

from zarrcore import errors

cnp.import_array()

cdef extern from "Python.h":
    ctypedef struct PyInterpreterState:
        pass
    PyInterpreterState *PyInterpreterState_Get()
    PyInterpreterState *PyInterpreterState_Main()
    int PyIndex_Check(object)
    int PySlice_Check(object)
    int PyLong_CheckExact(object)
    Py_ssize_t PyNumber_AsSsize_t(object, object) except? -1
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL
    Py_buffer *PyMemoryView_GET_BUFFER(object)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(type subtype, cnp.dtype descr, int nd, const cnp.npy_intp *dims,
                                const cnp.npy_intp *strides, void *data, int flags, object obj)


# Threads of the pool call stores by way of PyGILState_Ensure, which knows the main interpreter alone: objects of
# another one would get mixed up with its own.
if PyInterpreterState_Get() != PyInterpreterState_Main():
    raise ImportError("zarrcore works in the main interpreter only, not in a subinterpreter")


# ---- threads -----------------------------------------------------------------------------------------------------

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
    """
    cbool zc_make_thread_state() noexcept nogil

cdef extern from "base/pool.h" nogil:
    void zc_pool_on_start(cbool (*start)() noexcept nogil)

zc_pool_on_start(zc_make_thread_state)


def num_threads() -> int:
    """The default number of threads of a call, the calling thread included."""
    return zc_pool_threads()


cdef enum:
    MOST_THREADS = 1 << 16


cpdef int thread_number(threads) except -1:
    """Return the argument `threads` as C takes it; 0 stands for the default."""
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


def available_cpus() -> int:
    """The CPUs that affinity mask and cgroup quota leave to this process."""
    return zc_pool_cpus()


# One module, so that there is one thread pool; in parts, so that each can be read.
include "parallel.pxi"
include "chains.pxi"
include "codec_calls.pxi"
include "keys.pxi"
include "files.pxi"
include "sources.pxi"
include "cache.pxi"
include "masks.pxi"
include "fields.pxi"
include "arrays.pxi"
include "gathered.pxi"
include "prefetch.pxi"
include "many.pxi"
include "capi.pxi"
