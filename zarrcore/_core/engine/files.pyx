# SPDX-License-Identifier: MIT
"""Whole files (csrc/io/file.h), for stores that write them from Python."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EEXIST, ENOENT, ENOTDIR, errno
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from zarrcore._core.engine.csrc cimport *

import os

from zarrcore import errors

cdef extern from *:
    """
    #ifdef _WIN32                                  /* nobody asks there */
    #define zc_size_below(rules, path, size) ((void)(rules), (void)(path), (void)(size), errno = ENOSYS)
    #define zc_which_below(rules, above, names, n, found) \
        ((void)(rules), (void)(above), (void)(names), (void)(n), (void)(found), errno = ENOSYS)
    #define zc_make_below(rules, above, name) ((void)(rules), (void)(above), (void)(name), errno = ENOSYS)
    #else
    #include <fcntl.h>
    #include <sys/stat.h>
    #include <unistd.h>

    #ifdef O_PATH
    #define ZC_LOOK_FLAGS (O_PATH | O_CLOEXEC)
    #else
    #define ZC_LOOK_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    #endif

    /* 0 or errno; *size: -1 if something else than a file is there. */
    static int zc_size_below(const zc_dir *rules, const char *path, long long *size)
    {
        struct stat st;
        const int fd = zc_open_below(rules, path, ZC_LOOK_FLAGS, false);
        const int code = fd < 0 || fstat(fd, &st) != 0 ? errno : 0;

        *size = code == 0 && S_ISREG(st.st_mode) ? (long long)st.st_size : -1;
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }

    /* 0 or errno; found[k]: 1 if names[k] is a file in the directory, 2 if it is a link. */
    static int zc_which_below(const zc_dir *rules, const char *above, const char *const *names, size_t n, char *found)
    {
        struct stat st;
        const int at = zc_open_below(rules, above, ZC_LOOK_FLAGS | O_DIRECTORY, false);
        int code = at < 0 ? errno : 0;

        for (size_t k = 0; k < n && code == 0; k++) {
            if (fstatat(at, names[k], &st, AT_SYMLINK_NOFOLLOW) == 0) {
                found[k] = S_ISLNK(st.st_mode) ? 2 : S_ISREG(st.st_mode) ? 1 : 0;
            } else if (errno != ENOENT) {
                code = errno;
            }
        }
        if (at >= 0) {
            close(at);
        }
        return code;
    }

    /* 0 or errno. */
    static int zc_make_below(const zc_dir *rules, const char *above, const char *name)
    {
        const int at = zc_open_below(rules, above, ZC_LOOK_FLAGS | O_DIRECTORY, true);
        const int code = at < 0 || mkdirat(at, name, 0777) != 0 ? errno : 0;

        if (at >= 0) {
            close(at);
        }
        return code;
    }
    #endif
    """
    int zc_size_below(const zc_dir *rules, const char *path, long long *size) nogil
    int zc_which_below(const zc_dir *rules, const char *above, const char **names, size_t n, char *found) nogil
    int zc_make_below(const zc_dir *rules, const char *above, const char *name) nogil

cdef extern from "<errno.h>":
    int ENOLINK

cdef extern from "Python.h":
    bytes PyUnicode_EncodeFSDefault(object text)    # os.fsencode, which is a Python function


cdef zc_symlinks links_of(object follow_symlinks) except *:
    """Translate ``follow_symlinks``."""
    if isinstance(follow_symlinks, str) and follow_symlinks == "inside":
        return ZC_SYMLINKS_INSIDE
    if isinstance(follow_symlinks, bool):
        return ZC_SYMLINKS_FOLLOW if follow_symlinks else ZC_SYMLINKS_REFUSE
    raise ValueError(f"follow_symlinks: expected 'inside', True or False, got {follow_symlinks!r}")


def writer_lives(str name not None) -> bool:
    """Return whether the process that has made a temporary file of this name is known to be still there."""
    cdef bytes text = _name_of(name)
    return zc_file_writer_lives(text)


cdef bytes _name_of(str path):
    cdef bytes name = PyUnicode_EncodeFSDefault(path)
    if b"\0" in name:
        raise ValueError(f"a path holds no NUL character, got {path!r}")
    return name


def open_below(str root not None, str path not None, int flags, follow_symlinks, bint writes=False) -> int:
    """Return a descriptor of `path`, which begins with `root`, as ``os.open(path, flags)``; not on Windows.

    Below the root, links that stay there are followed ("inside"), all (True), or none (False).  With `writes`, for a
    change of what is in a directory, the root is never left.  The GIL is released.

    Raises
    ------
    OSError
        EXDEV: a link leads out of the root, or is not to be followed; ENOLINK: it leads to nothing.
    """
    cdef bytes name = _name_of(path)
    cdef const char *text = name
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef int fd, code
    with nogil:
        fd = zc_open_below(&rules, text, flags, writes)
        code = errno
    if fd < 0:
        raise OSError(code, os.strerror(code), path)
    return fd


def read_file(str root not None, str path not None, follow_symlinks, Py_ssize_t most, bint marked=False):
    """Return the contents of a regular file of at most `most` bytes, links as of :func:`open_below`; None without one.

    Returns ``...`` where there is anything else, or an error: a slower way finds out.  If it is `marked`, the contents
    come with the numbers that ``files.version_of`` returns, of this very file.  The GIL is released.
    """
    cdef bytes name = _name_of(path), data
    cdef const char *text = name
    cdef char *to
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef zc_file file
    cdef zc_error err
    cdef zc_status status
    zc_error_clear(&err)
    with nogil:
        status = zc_file_open(&rules, text, &file, &err)
    if status != ZC_OK:
        return None if status == ZC_ERR_MISSING else ...
    try:
        if file.size > <uint64_t>most:
            return ...
        data = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>file.size)
        to = PyBytes_AS_STRING(data)
        with nogil:
            status = zc_file_read(&file, 0, to, file.size, &err)
        if status != ZC_OK:
            return ...
        return (data, (file.inode, file.size, file.mtime_ns, file.device, file.ctime_ns)) if marked else data
    finally:
        zc_file_close(&file)


def size_below(str root not None, str path not None, follow_symlinks):
    """Return the size of the file at `path`, which begins with `root`; None if no file is there; not on Windows.

    Links and errors as of :func:`open_below`; a link to nothing is no file.  The GIL is released.
    """
    cdef bytes name = _name_of(path)
    cdef const char *text = name
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef long long size = -1
    cdef int code
    with nogil:
        code = zc_size_below(&rules, text, &size)
    if code != 0 and code not in (ENOENT, ENOTDIR, ENOLINK):
        raise OSError(code, os.strerror(code), path)
    return None if size < 0 else size


def which_below(str root not None, str above not None, list names not None, follow_symlinks) -> bytes:
    """Return a byte for each name in the directory `above`, which begins with `root`; not on Windows.

    1: a file, 2: a link, 0: neither, as everywhere if there is no such directory.  Links above and errors as of
    :func:`open_below`.  The GIL is released.
    """
    cdef bytes directory = _name_of(above), found = PyBytes_FromStringAndSize(NULL, len(names))
    cdef list encoded = [_name_of(name) for name in names]
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef const char *at = directory
    cdef char *to = PyBytes_AS_STRING(found)
    cdef size_t n = len(encoded)
    cdef const char **texts = <const char **>malloc((n + 1) * sizeof(char *))
    cdef int code
    if texts == NULL:
        raise MemoryError("no memory for a list of names")
    memset(to, 0, n)
    try:
        for k in range(n):
            texts[k] = PyBytes_AS_STRING(encoded[k])
        with nogil:
            code = zc_which_below(&rules, at, texts, n, to)
    finally:
        free(texts)
    if code != 0 and code not in (ENOENT, ENOTDIR, ENOLINK):
        raise OSError(code, os.strerror(code), above)
    return found


def make_below(str root not None, str above not None, str name not None, follow_symlinks) -> None:
    """Make a directory in `above`, which begins with `root`; not on Windows.

    Links, as for writing, and errors as of :func:`open_below`.  The GIL is released.
    """
    cdef bytes directory = _name_of(above), last = _name_of(name)
    cdef const char *at = directory
    cdef const char *text = last
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef int code
    with nogil:
        code = zc_make_below(&rules, at, text)
    if code != 0:
        raise OSError(code, os.strerror(code), above)


def write_file(
    str path not None, data, bint sync=False, bint is_new=False, str root=None, follow_symlinks="inside"
) -> bool:
    """Write a file atomically: readers see what was there before, or all of the new bytes.

    Missing directories are made.  With `sync`, the change is durable when the function returns.  With `is_new`, the
    file is written only if there is none yet, and False returned if there is; of several that do so at the same time,
    one succeeds.  Links below `root`, the start of the path, are followed as :func:`open_below` follows them for
    writing; without a root all are.  The GIL is released.

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
        rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
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
    if status == ZC_ERR_IO and is_new and err.sys_errno == EEXIST:
        return False
    _raise_failure(status, &err, path)
    return True


cdef class _Parts:
    """The parts of a value on their way to a file; `error` is what was raised as they came."""

    cdef object parts
    cdef object error
    cdef Py_buffer view
    cdef bint is_held
    cdef uint64_t total

    def __init__(self, parts, uint64_t total):
        self.parts = iter(parts)
        self.total = total

    cdef int release(self) except -1:
        if self.is_held:
            self.is_held = False
            PyBuffer_Release(&self.view)
        return 0

    cdef int go_on(self, uint64_t at) except -1:
        """Hold the next part that is not empty; no more come than were announced."""
        while True:
            self.release()
            try:
                part = next(self.parts)
            except StopIteration:
                raise errors.StoreError(f"{self.total} bytes were announced, {at} came") from None
            PyObject_GetBuffer(part, &self.view, PyBUF_SIMPLE)
            self.is_held = True
            if <uint64_t>self.view.len > self.total - at:
                raise errors.StoreError(f"{self.total} bytes were announced, more came")
            if self.view.len:
                return 0


cdef zc_status _next_part(void *self, uint64_t at, const void **data, size_t *n, zc_error *err) noexcept with gil:
    cdef _Parts parts = <_Parts>self
    try:
        parts.go_on(at)
        data[0] = parts.view.buf
        n[0] = <size_t>parts.view.len
        return ZC_OK
    except BaseException as error:               # raised again by write_parts
        parts.error = error
        return zc_fail(err, ZC_ERR_CALLBACK, b"%s", <const char *>b"the value did not come as a whole")


def write_parts(str path not None, uint64_t nbytes, parts, bint sync, str root not None, follow_symlinks) -> None:
    """Write a file of `nbytes` bytes atomically, part by part; see :func:`write_file`.

    Where `parts` raise an exception, end too soon, or go beyond that number, the old file stays.
    """
    cdef bytes name = _name_of(path)
    cdef const char *text = name
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef _Parts found = _Parts(parts, nbytes)
    cdef zc_file_source source
    cdef zc_error err
    cdef zc_status status
    zc_error_clear(&err)
    memset(&source, 0, sizeof(source))
    source.total = nbytes
    source.piece = _next_part
    source.self = <void *>found
    try:
        with nogil:
            status = zc_file_put(&rules, text, &source, sync, NULL, False, &err)
    finally:
        found.release()
    if found.error is not None:
        raise found.error
    _raise_failure(status, &err, path)


def remove_file(str path not None, str root not None, follow_symlinks, bint sync=False) -> None:
    """Remove a file, if it is there; links and `sync` as for writing (:func:`write_file`).  The GIL is released."""
    cdef bytes name = _name_of(path)
    cdef const char *text = name
    cdef zc_dir rules = zc_dir_none(len(PyUnicode_EncodeFSDefault(root)), links_of(follow_symlinks))
    cdef zc_error err
    cdef zc_status status
    zc_error_clear(&err)
    with nogil:
        status = zc_file_remove(&rules, text, sync, NULL, &err)
    _raise_failure(status, &err, path)


cdef int _raise_failure(zc_status status, const zc_error *err, str path) except -1:
    if status == ZC_ERR_IO:
        raise OSError(err.sys_errno, os.strerror(err.sys_errno), path)
    if status != ZC_OK:
        raise errors.StoreError(message(err))
    return 0


def age_by_mtime(bint alone) -> None:
    """Judge the age of files by their time of modification alone: for tests, which cannot set back the other one."""
    zc_file_ages_by_mtime(alone)
