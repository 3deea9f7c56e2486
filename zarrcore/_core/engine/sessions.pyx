# SPDX-License-Identifier: MIT
"""What one call of the engine holds of Python while it runs: its session, and the values that stores lend to it."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from zarrcore._core.engine.csrc cimport *

import threading
from _signal import getsignal, valid_signals                   # the module signal makes enumerations of them first

cnp.import_array()

cdef extern from "Python.h":
    Py_buffer *PyMemoryView_GET_BUFFER(object)
    int Py_IsInitialized() nogil


cdef class Session:
    """What one call needs while it runs: its source, and the exception of its callbacks that it ends with."""

    cdef dict seen(self):
        """Return the versions of the values whose parts have been fetched."""
        if self.versions is None:
            self.versions = {}
        return self.versions

    cdef int keep(self, object error, bint of_a_signal=False) except -1:
        """Remember the first one; callbacks fail on several threads at once, and there may be no GIL.

        One that interrupts goes before failures, whichever comes first.
        """
        cdef bint interrupts = of_a_signal or is_interrupt(error)
        with cython.critical_section(self):
            if self.error is None or interrupts and not self.interrupted:
                self.error, self.interrupted = error, interrupts
        return 0

    cdef uint64_t keep_cause(self, object error) except? 0:
        """Remember what a codec raised; returns its number, from 1 on."""
        cdef uint64_t number
        if is_interrupt(error):              # another codec, which has only failed, may be the one that is reported
            self.keep(error)
        with cython.critical_section(self):
            if self.causes is None:
                self.causes = []
            self.causes.append(error)
            number = len(self.causes)
        return number

    cdef zc_status fail(self, object error, zc_error *err):
        try:
            self.keep(error, not ends_the_call(error) and is_of_a_signal(error))
        except BaseException as later:         # of a handler that ran meanwhile; a callback cannot raise it
            self.keep(later, True)
        return zc_fail(err, ZC_ERR_CALLBACK, b"%s", <const char *>b"the store failed")


cdef int poll_session(void *arg) noexcept with gil:
    """Let Python handle its signals; an exception of a handler (KeyboardInterrupt) ends the call."""
    cdef Session session = <Session>arg
    try:
        PyErr_CheckSignals()
        return session.token is not None and session.token.cancelled
    except BaseException as error:
        session.keep(error, True)
        return 1


cdef bint ends_the_call(object error) except -1:
    """Is it an end of the call that the package itself brings about, and expects?"""
    return getattr(type(error), "ends_the_call", False)


cdef bint is_interrupt(object error) except -1:
    """Is it one like KeyboardInterrupt, which no failure may hide?"""
    return not isinstance(error, Exception) and not ends_the_call(error)


cdef bint is_of_a_signal(object error) except -1:
    """Did a signal handler raise it, while Python code of a store ran?

    Then it is no failure of the store, and asking again, key by key, would lose it.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return False
    handlers = [getsignal(number) for number in valid_signals()]
    codes = {getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers}
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


cdef object error_of_a_signal(object error):
    """Return an error if a signal handler raised it, or what one raises meanwhile; else None."""
    try:
        return error if is_of_a_signal(error) else None
    except BaseException as later:     # a callback cannot raise it: the call would go on, without values
        return later


# -- values that are read where they are: the memory of Python objects, and parts of open files

def trust(type kind not None):
    """Take the memory of all objects of a class for that of bytes, which nobody changes: it is not copied."""
    _trusted.add(kind)


cdef set _trusted = {bytes}


cdef bint _is_fixed(object owner):
    """Is the memory that of a bytes object, which nobody changes?"""
    return type(owner) in _trusted or (
        isinstance(owner, cnp.ndarray) and type(owner.base) is bytes and not cnp.PyArray_ISWRITEABLE(owner))


cdef object view_of(object value):
    """A view of the memory of a bytes-like object."""
    view = memoryview(value)
    if "O" in view.format:
        raise TypeError("references to Python objects are no bytes")
    return view


cdef int _lend_bytes(object value, const zc_store *store, zc_value *out) except -1:
    """The same for a bytes-like object."""
    cdef Py_buffer *buffer
    out.store = store
    out.copied = type(value) is not bytes
    if out.copied:
        export = getattr(value, "as_buffer_like", None)
        value = view_of(value if export is None else export())        # one of our own: the store may release its
        if not _is_fixed(value.obj) or not value.c_contiguous:
            # Somebody might change it while a decompressor, which checks lengths before it uses them, is at work.
            value = bytes(value)
    if type(value) is bytes:
        out.data = <const uint8_t *>PyBytes_AS_STRING(value)
        out.size = PyBytes_GET_SIZE(value)
    else:
        buffer = PyMemoryView_GET_BUFFER(value)
        out.data = <const uint8_t *>buffer.buf if buffer.len else <const uint8_t *>b""
        out.size = buffer.len
    Py_INCREF(value)
    out.token = <void *>value
    zc_metric_add(ZC_METRIC_BYTES_READ, out.size)
    return 0


@cython.final
cdef class OpenFile:
    """A file that is open until nothing uses it: it takes over the descriptor."""

    cdef int fd

    def __init__(self, int fd):
        self.fd = fd

    def __dealloc__(self):
        cdef zc_file file
        file.handle = self.fd
        zc_file_close(&file)


@cython.final
cdef class FileSpan:
    """A value that is `size` bytes of a file from `offset` on, which the engine reads itself.

    The file has had so many; if it is cut off meanwhile, reading the value fails.
    """

    cdef OpenFile file
    cdef uint64_t offset, size

    def __init__(self, OpenFile file not None, uint64_t offset, uint64_t size):
        self.file = file
        self.offset = offset
        self.size = size


cdef zc_store _spans = zc_store_of_spans(give_back)


cdef int _lend_span(FileSpan span, zc_value *out) except -1:
    """The same for a part of a file; the reference is to the file."""
    memset(out, 0, sizeof(out[0]))
    out.store = &_spans
    out.size = span.size
    out.begin = span.offset
    out.file.handle = span.file.fd
    out.copied = True             # another object when the file is opened again
    Py_INCREF(span.file)
    out.token = <void *>span.file
    return 0


cdef int lend(str key, object value, const zc_store *store, zc_value *out) except -1:
    """Make what a store returned for a key the content of `out`, which keeps a reference to it."""
    if type(value) is bytes:
        return _lend_bytes(value, store, out)
    if type(value) is FileSpan:
        return _lend_span(<FileSpan>value, out)
    try:
        return _lend_bytes(value, store, out)
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"key {key!r}: expected a bytes-like value, got {type(value).__name__}") from error


cdef void give_back(zc_value *value) noexcept with gil:
    """Drop the reference of a value."""
    give_back_all(value, 1)


cdef void hold_value(const void *token) noexcept with gil:
    Py_INCREF(<object>token)


cdef void drop_value(const void *token) noexcept nogil:
    if Py_IsInitialized():        # after the interpreter's end the object is gone
        _drop_object(token)


cdef void _drop_object(const void *token) noexcept with gil:
    Py_DECREF(<object>token)


cdef void give_back_all(zc_value *values, size_t n) noexcept with gil:
    cdef size_t i
    for i in range(n):
        if values[i].token != NULL:
            Py_DECREF(<object>values[i].token)
            values[i].token = NULL
