# SPDX-License-Identifier: MIT
"""Whole files (csrc/io/file.h), for stores that write them from Python."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EEXIST

from zarrcore._core.engine.csrc cimport *

import os

from zarrcore import errors


def write_file(str path not None, data, bint sync=False, bint is_new=False) -> bool:
    """Write a file atomically: readers see what was there before, or all of the new bytes.

    Missing directories are made.  The GIL is released.

    Parameters
    ----------
    path : str
        The file.
    data : bytes-like
        Its contents, contiguous.
    sync : bool
        Make the change durable before returning.
    is_new : bool
        Write it only if there is no file yet; of several that do so at the same time, one succeeds.

    Returns
    -------
    bool
        Whether the file was written: False if `is_new` is given and there is one.

    Raises
    ------
    OSError
        If it could not be written; then the old file is still there.
    """
    cdef bytes name = os.fsencode(path)
    cdef const char *text = name
    cdef Py_buffer view
    cdef zc_error err
    cdef zc_status status
    if b"\0" in name:
        raise ValueError(f"a path holds no NUL character, got {path!r}")
    zc_error_clear(&err)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            if is_new:
                status = zc_file_create(NULL, text, view.buf, <size_t>view.len, sync, &err)
            else:
                status = zc_file_replace(NULL, text, view.buf, <size_t>view.len, sync, &err)
    finally:
        PyBuffer_Release(&view)
    if status == ZC_OK:
        return True
    if status == ZC_ERR_IO and is_new and err.sys_errno == EEXIST:
        return False
    if status == ZC_ERR_IO:
        raise OSError(err.sys_errno, os.strerror(err.sys_errno), path)
    raise errors.StoreError(message(&err))
