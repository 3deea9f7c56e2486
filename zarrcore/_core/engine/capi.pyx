# SPDX-License-Identifier: MIT
"""The public C API (csrc/include/zarrcore.h): a backend of csrc/capi over arrays of Python, and its capsule."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from zarrcore._core.engine.arrays cimport NativeArray
from zarrcore._core.engine.callbacks cimport open_store
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.sessions cimport Session, poll_session
from zarrcore._core.engine.sources cimport LocalSource, set_local

from importlib import import_module
from itertools import count
from os import fsdecode
from threading import local

from zarrcore import errors
from zarrcore._core.engine.arrays import chunk_errors

cdef extern from *:
    """
    /* This thread's state if it has the GIL, else NULL. */
    static PyThreadState *zc_held_gil(void)
    {
    #if PY_VERSION_HEX >= 0x030D0000
        return PyThreadState_GetUnchecked();
    #elif PY_VERSION_HEX >= 0x030C0000
        return _PyThreadState_UncheckedGet();
    #else
        return PyGILState_Check() ? PyGILState_GetThisThreadState() : NULL;
    #endif
    }

    /* Release the GIL if this thread has it: other threads of the call need it. */
    static void *zc_leave_gil(void) { return zc_held_gil() != NULL ? (void *)PyEval_SaveThread() : NULL; }

    static void zc_enter_gil(void *state)
    {
        if (state != NULL) {
            PyEval_RestoreThread((PyThreadState *)state);
        }
    }
    """
    void *zc_leave_gil() noexcept nogil
    void zc_enter_gil(void *state) noexcept nogil

cdef extern from "Python.h":
    int Py_IsInitialized() nogil
    int Py_AddPendingCall(int (*func)(void *) except -1, void *arg)


# What a handle keeps: the array, and, of one in local files, all that a call needs to get by without the GIL.
ctypedef struct _Owner:
    PyObject *native
    PyObject *opened          # the array, which knows when the engine is out of date; NULL: nobody does
    zc_known_losses known     # those that it has seen
    bint is_local
    zc_local local
    PyObject *names           # bytes or None of each dimension, and
    char **texts              # where these are


# A call on a store in Python: the session of the engine, and the thread state to come back to.
cdef class _HandleSession(Session):
    cdef void *gil


# Runs in the main thread's interpreter loop: raise what a signal handler raised while C code was in the engine, unless
# zarrcore_raise has done so.
cdef int _raise_later(void *arg) except -1:
    cdef list raised = <list>arg
    Py_DECREF(raised)
    if raised:
        raise raised.pop()
    return 0


cdef int _schedule(object error) except -1:
    cdef list raised = [error]
    Py_INCREF(raised)
    if Py_AddPendingCall(_raise_later, <void *>raised) != 0:
        Py_DECREF(raised)
    _last.interrupt = raised
    return 0


_last = local()
"""Of each thread: what Python code raised in its last call that failed (`cause`, `number`), or a signal handler."""

_numbers = count(1)


cdef uint64_t _keep_cause(object error) except 0:
    """Keep what Python code raised for zarrcore_raise; return the number that finds it."""
    _last.cause, _last.number = error, next(_numbers) & 0x3FFFFFFF | 0x40000000
    return _last.number


cdef int _poll_signals(void *arg) noexcept with gil:
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        _schedule(error)
        return 1
    return 0


cdef zc_status _handle_open(zc_session *out, void *gil, zc_error *err) noexcept with gil:
    cdef NativeArray native = <NativeArray>(<_Owner *>out.owner).native
    cdef _HandleSession session
    try:
        session = _HandleSession.__new__(_HandleSession)
        session.source = native.source
        session.gil = gil
        open_store(session, &out.local, &out.store)
        Py_INCREF(session)
        out.self = <void *>session
        out.poll = poll_session
        out.poll_arg = out.self
        return ZC_OK
    except BaseException:
        return zc_fail(err, ZC_ERR_MEMORY, b"%s", <const char *>b"out of memory")


cdef zc_status _handle_follow(_Owner *owner, zc_error *err) noexcept with gil:
    """Look whether the array is still the one that it was; a loss may have been another array's."""
    cdef uint64_t losses = zc_losses()
    cdef bytes text
    try:
        text = (<object>owner.opened).out_of_date((<NativeArray>owner.native).shape).encode("utf-8", "replace")
    except BaseException as error:
        return _fail(error, err)
    if text:
        return zc_fail(err, ZC_ERR_STALE, b"%s", <const char *>text)
    zc_known_losses_set(&owner.known, losses)
    return ZC_OK


cdef zc_status _fail(object error, zc_error *err, bint interrupted=False) noexcept:
    """Tell what Python code raised; what signal handlers raise comes back in the main thread."""
    cdef bytes text = b"interrupted"
    cdef zc_status status = ZC_ERR_CANCELLED
    if isinstance(error, Exception) and not interrupted:
        status = ZC_ERR_CALLBACK
    try:
        if status == ZC_ERR_CANCELLED:
            _schedule(error)
        else:
            err.cause = _keep_cause(error)
            text = f"{type(error).__name__}: {error}".encode("utf-8", "replace")
    except BaseException as second:   # its own str() failed, or there is no memory, or Ctrl-C came then
        if status != ZC_ERR_CANCELLED and not isinstance(second, Exception):
            return _fail(second, err)
        text = b"an exception without text"
    return zc_fail(err, status, b"%s", <const char *>text)


cdef zc_status _handle_begin(zc_session *out, zc_error *err) noexcept nogil:
    cdef _Owner *owner = <_Owner *>out.owner
    cdef void *gil
    cdef zc_status status
    if out.writes:
        zc_writing_begin((<NativeArray>owner.native).c.place, &out.writing)     # before the losses are looked at
    if (owner.opened != NULL or not owner.is_local) and not Py_IsInitialized():
        return zc_fail(err, ZC_ERR_CALLBACK, b"%s", <const char *>b"the interpreter has ended")
    if owner.opened != NULL and zc_known_losses_get(&owner.known) != zc_losses():
        status = _handle_follow(owner, err)
        if status != ZC_OK:
            return status
    if owner.is_local:
        out.local = owner.local
        zc_store_local(&out.local, &out.store)
        out.poll = _poll_signals
        return ZC_OK
    gil = zc_leave_gil()
    status = _handle_open(out, gil, err)
    if status != ZC_OK:
        zc_enter_gil(gil)
    return status


cdef void *_handle_close(zc_session *done, zc_error *err) noexcept with gil:
    """Tell what Python code raised; returns the thread state to restore."""
    cdef _HandleSession session = <_HandleSession>done.self
    cdef void *gil = session.gil
    cause = session.causes[err.cause - 1] if err.cause and not session.interrupted else session.error
    err.cause = 0
    if cause is not None and (err.status == ZC_ERR_CALLBACK or session.interrupted or not isinstance(cause, Exception)):
        _fail(cause, err, session.interrupted)
    Py_DECREF(session)
    done.self = NULL
    return gil


cdef void _handle_end(zc_session *session, zc_error *err) noexcept nogil:
    if session.self != NULL:
        zc_enter_gil(_handle_close(session, err))


cdef void _drop_array(_Owner *owner) noexcept with gil:
    Py_DECREF(<object>owner.native)
    Py_XDECREF(owner.opened)
    Py_XDECREF(owner.names)


cdef void _handle_destroy(void *owner) noexcept nogil:
    if Py_IsInitialized():        # after the interpreter's end the array is gone
        _drop_array(<_Owner *>owner)
    free((<_Owner *>owner).texts)
    free(owner)


cdef zc_backend _python_backend
_python_backend.begin = _handle_begin
_python_backend.end = _handle_end
_python_backend.destroy = _handle_destroy


cdef zarrcore_array *_handle_from_python(void *object_) except NULL with gil:
    """Return a handle of a zarrcore.Array or a NativeArray."""
    if object_ == NULL:
        raise TypeError("expected a zarrcore.Array, got NULL")
    array = <object>object_
    writable = not getattr(array, "read_only", False)
    cdef uint64_t losses = zc_losses()
    opened = array._opened.as_it_is() if hasattr(array, "_compiled") else None
    engine = array if opened is None else opened.engine()
    if not isinstance(engine, NativeArray):
        if engine is array:
            raise TypeError(f"expected a zarrcore.Array, got {type(array).__name__}")
        raise TypeError(f"{array!r}: the C API needs data types, codecs and chunk keys that have a native form")
    return _new_handle(<NativeArray>engine, opened, losses, writable)


cdef zarrcore_array *_new_handle(NativeArray native, object opened, uint64_t losses, bint writable) except NULL:
    cdef bytes typestr = native.dtype.str.encode()
    cdef bytes path = native.path.encode("utf-8", "surrogateescape")
    cdef zarrcore_array *handle = NULL
    cdef _Owner *owner
    native.find_place()
    owner = <_Owner *>malloc(sizeof(_Owner))
    if owner != NULL:
        memset(owner, 0, sizeof(_Owner))
        owner.native = <PyObject *>native
        if opened is not None:
            owner.opened = <PyObject *>opened
        zc_known_losses_set(&owner.known, losses)
        owner.is_local = type(native.source) is LocalSource and not native.chain.calls_python
        if owner.is_local:
            set_local(<LocalSource>native.source, &owner.local)
        handle = zc_handle_new(&native.c, &_python_backend, owner, writable, typestr, path)
    if handle == NULL:
        free(owner)
        raise MemoryError
    _keep_names(handle, owner, opened)
    Py_INCREF(native)
    if opened is not None:
        Py_INCREF(opened)
    return handle


cdef int _keep_names(zarrcore_array *handle, _Owner *owner, object opened) except -1:
    """Give a handle the names of its dimensions; without memory it has none."""
    cdef list names
    cdef size_t d
    found = None if opened is None else opened.dimension_names
    if found is None:
        return 0
    names = [None if name is None else name.replace("\0", "\\u0000").encode("utf-8", "replace") for name in found]
    owner.texts = <char **>malloc(max(len(names), 1) * sizeof(char *))
    if owner.texts == NULL:
        return 0
    for d, name in enumerate(names):
        owner.texts[d] = NULL if name is None else <char *><bytes>name
    owner.names = <PyObject *>names
    Py_INCREF(names)
    handle.names = <const char *const *>owner.texts
    return 0


cdef str _text(const char *text):
    return (<bytes>text).decode("utf-8", "replace")


cdef int _raise_error(const zarrcore_error *error) except -1 with gil:
    if error == NULL:
        raise ValueError("zarrcore_raise: the error is NULL")
    interrupt, _last.interrupt = getattr(_last, "interrupt", None), None
    if error.status == ZC_ERR_CANCELLED:
        raise interrupt.pop() if interrupt else KeyboardInterrupt
    place = {}
    if error.chunk_ndim >= 0:
        place = {"chunk": tuple(error.chunk[d] for d in range(error.chunk_ndim)), "key": _text(error.key)}
    if error.codec[0]:
        place["codec"] = _text(error.codec)
    cause = None
    if error.reserved and getattr(_last, "number", 0) == error.reserved:
        cause, _last.cause = _last.cause, None
    failure = _exception(error.status, _text(error.message) or _text(zarrcore_status_name(error.status)), place)
    if error.status == ZC_ERR_IO:
        failure.errno = error.sys_errno
    raise failure from cause


cdef object _exception(int status, str reason, dict place):
    if status in (ZC_ERR_MEMORY, ZC_ERR_ARGUMENT, ZC_ERR_OVERFLOW, ZC_ERR_STALE) and not place:
        kinds = {<int>ZC_ERR_MEMORY: MemoryError, <int>ZC_ERR_STALE: errors.ArrayNotFoundError}
        return kinds.get(status, ValueError)(reason)
    if status == ZC_ERR_VALUE:
        return (OverflowError if "out of range" in reason else ValueError)(reason)
    if status == ZC_ERR_MISSING:
        return errors.ChunkNotFoundError(str(errors.ChunkError(reason, **place)))
    kind = errors.ChunkIOError if status == ZC_ERR_CALLBACK else chunk_errors.get(status, errors.ChunkDecodeError)
    return kind(reason, **place)


cdef int _open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error) noexcept with gil:
    """Open the array in a directory with the Python package."""
    cdef zc_error err
    zc_error_clear(&err)
    if out != NULL:
        out[0] = NULL
    try:
        err.status = _open_array(path, flags, out, &err)
    except BaseException as error_:
        err.status = _fail_open(error_, &err)
    return zc_report(error, &err, NULL, NULL)


cdef zc_status _open_array(const char *path, int flags, zarrcore_array **out, zc_error *err) except *:
    if out == NULL or path == NULL or path[0] == 0:
        return zc_fail(err, ZC_ERR_ARGUMENT, b"%s",
                       <const char *>(b"out is NULL" if out == NULL else b"path is NULL or empty"))
    if flags & ~(15 | ZARRCORE_LOCKS):
        return zc_fail(err, ZC_ERR_ARGUMENT, b"%s", <const char *>b"flags: an unknown flag is set")
    if flags & ZARRCORE_SYNC:
        return zc_fail(err, ZC_ERR_UNSUPPORTED, b"%s",
                       <const char *>b"ZARRCORE_SYNC: open the array in Python with LocalStore(fsync=True)")
    package = import_module("zarrcore")            # which is above this module, and there when a program has this table
    writes, follow = flags & ZARRCORE_READ_WRITE, flags & ZARRCORE_FOLLOW_SYMLINKS
    store = import_module("zarrcore.storage").LocalStore(
        fsdecode(<bytes>path), read_only=not writes, follow_symlinks=True if follow else "inside",
        locks="file" if flags & ZARRCORE_LOCKS else None)
    array = package.open_array(store, mode="r+" if writes else "r",
                               config={"read_missing_chunks": not flags & ZARRCORE_MISSING_IS_ERROR})
    out[0] = _handle_from_python(<void *>array)
    return ZC_OK


cdef zc_status _fail_open(object error, zc_error *err) noexcept:
    """Statuses as of libzarrcore; what has none of its own is an error of Python."""
    cdef zc_status status = ZC_ERR_CALLBACK
    if isinstance(error, MemoryError):
        status = ZC_ERR_MEMORY
    elif isinstance(error, (errors.NodeTypeValidationError, errors.UnknownCodecError, TypeError)):
        status = ZC_ERR_UNSUPPORTED
    elif isinstance(error, errors.MetadataValidationError):
        status = <zc_status><int>ZARRCORE_ERR_METADATA
    elif isinstance(error, FileNotFoundError):
        status = ZC_ERR_MISSING
    elif isinstance(error, OSError):
        status = ZC_ERR_IO
        err.sys_errno = error.errno or 0
    _fail(error, err)
    if isinstance(error, Exception):
        err.status = status
    return err.status


cdef zarrcore_api _api
zc_api_fill(&_api, _handle_from_python, _raise_error, _open)
_C_API = PyCapsule_New(<void *>&_api, "zarrcore._core.engine._C_API", NULL)
