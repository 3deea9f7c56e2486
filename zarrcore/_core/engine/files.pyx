# SPDX-License-Identifier: MIT
"""Whole files (csrc/io/file.h), for stores that write them from Python."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EEXIST, errno

from zarrcore._core.engine.csrc cimport *

import os

from zarrcore import errors


cdef zc_symlinks links_of(object follow_symlinks) except *:
    """Translate ``follow_symlinks``."""
    if isinstance(follow_symlinks, str) and follow_symlinks == "inside":
        return ZC_SYMLINKS_INSIDE
    if isinstance(follow_symlinks, bool):
        return ZC_SYMLINKS_FOLLOW if follow_symlinks else ZC_SYMLINKS_REFUSE
    raise ValueError(f"follow_symlinks: expected 'inside', True or False, got {follow_symlinks!r}")


cdef bytes _name_of(str path):
    cdef bytes name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"a path holds no NUL character, got {path!r}")
    return name


def open_below(str root not None, str path not None, int flags, follow_symlinks, bint writes=False) -> int:
    """Open a path below a root, following symbolic links as they may be.

    Not on Windows.  The GIL is released.

    Parameters
    ----------
    root : str
        Start of the path.
    path : str
        The whole path.
    flags : int
        As of ``os.open``; nothing is created.
    follow_symlinks : {"inside", True, False}
        Follow links that stay below the root, all, or none.
    writes : bool
        The descriptor is for changing what is in a directory: never leave the root.

    Returns
    -------
    int
        The descriptor.

    Raises
    ------
    OSError
        EXDEV: a link leads out of the root, or is not to be followed; ENOLINK: it leads to nothing.
    """
    cdef bytes name = _name_of(path)
    cdef const char *text = name
    cdef zc_dir rules = zc_dir_none(len(os.fsencode(root)), links_of(follow_symlinks))
    cdef int fd, code
    with nogil:
        fd = zc_open_below(&rules, text, flags, writes)
        code = errno
    if fd < 0:
        raise OSError(code, os.strerror(code), path)
    return fd


def write_file(
    str path not None, data, bint sync=False, bint is_new=False, str root=None, follow_symlinks="inside"
) -> bool:
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
    root : str, optional
        Start of the path; links below it are followed only if they stay below it.  Default: follow all links.
    follow_symlinks : {"inside", True, False}
        False: follow none below the root.

    Returns
    -------
    bool
        Whether the file was written: False if `is_new` is given and there is one.

    Raises
    ------
    OSError
        If it could not be written; then the old file is still there.
    """
    cdef bytes name = _name_of(path)
    cdef const char *text = name
    cdef zc_dir rules
    cdef zc_dir *where = NULL
    cdef Py_buffer view
    cdef zc_error err
    cdef zc_status status
    if root is not None:
        rules = zc_dir_none(len(os.fsencode(root)), links_of(follow_symlinks))
        where = &rules
    zc_error_clear(&err)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            if is_new:
                status = zc_file_create(where, text, view.buf, <size_t>view.len, sync, &err)
            else:
                status = zc_file_replace(where, text, view.buf, <size_t>view.len, sync, &err)
    finally:
        PyBuffer_Release(&view)
    if status == ZC_OK:
        return True
    if status == ZC_ERR_IO and is_new and err.sys_errno == EEXIST:
        return False
    if status == ZC_ERR_IO:
        raise OSError(err.sys_errno, os.strerror(err.sys_errno), path)
    raise errors.StoreError(message(&err))
