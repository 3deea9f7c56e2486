# SPDX-License-Identifier: MIT
"""Codecs that only Python has, as stages of the chains of the engine."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.sources cimport _Session, poll_session

from zarrcore import errors


@cython.final
cdef class Callback:
    """A codec in Python as the engine calls it: see the links of :class:`Chain`."""

    def __cinit__(self, coder):
        self.coder = coder
        self.name = coder.name.encode()
        self.c.self = <void *>self           # no reference: the chain keeps this object
        self.c.encode = _encode_in_python
        self.c.decode = _decode_in_python

    cdef void set_stage(self, zc_codec *out) noexcept:
        zc_callback_stage(&self.c, PyBytes_AS_STRING(self.name), out)


cdef zc_status _fail_in_python(object error, zc_status status, zc_workspace *ws, zc_error *err):
    """Record what a coder raised: its text, and in the session of the call itself."""
    cdef void *session = zc_pool_caller(ws, poll_session)
    cdef bytes text
    if isinstance(error, MemoryError):
        status = ZC_ERR_MEMORY
    elif not isinstance(error, Exception):
        status = ZC_ERR_CALLBACK             # KeyboardInterrupt and its like
    try:
        if session != NULL:
            err.cause = (<_Session>session).keep_cause(error)
        text = str(error).encode("utf-8", "replace")
        return zc_fail(err, status, b"%s", <const char *>text)
    except BaseException:                    # its own str() failed, or there is no memory
        return zc_fail(err, status, b"%s", <const char *>b"a codec failed")


cdef zc_status _copy_made(object made, uint8_t *dst, size_t cap, size_t *written) except *:
    """Copy what a coder returned, which others may still hold, as far as there is room."""
    cdef Py_buffer view
    PyObject_GetBuffer(made, &view, PyBUF_SIMPLE)
    written[0] = view.len
    if <size_t>view.len <= cap and view.len:
        memcpy(dst, view.buf, view.len)
    PyBuffer_Release(&view)
    return ZC_OK if written[0] <= cap else ZC_ERR_ROOM


cdef zc_status _encode_in_python(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err) noexcept with gil:
    cdef zc_status status
    try:
        made = (<Callback>callback.self).coder.encode(PyBytes_FromStringAndSize(<const char *>src, n))
        status = _copy_made(made, dst, cap, written)
        if status == ZC_ERR_ROOM:
            zc_callback_grow(callback, n, written[0])
            return zc_fail(err, status, b"%s", <const char *>b"the encoding is longer than expected")
        return status
    except BaseException as error:
        return _fail_in_python(error, ZC_ERR_ENCODE, ws, err)


cdef zc_status _decode_in_python(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t most, size_t *written,
                                 zc_error *err) noexcept with gil:
    try:
        made = (<Callback>callback.self).coder.decode(PyBytes_FromStringAndSize(<const char *>src, n), most)
        if _copy_made(made, dst, cap, written) == ZC_OK:
            return ZC_OK
        return zc_fail(err, ZC_ERR_SIZE, b"decodes to %zu bytes, at most %zu expected", written[0], cap)
    except BaseException as error:
        return _fail_in_python(error, ZC_ERR_CHECKSUM if isinstance(error, errors.ChecksumError) else ZC_ERR_CORRUPT,
                               ws, err)
