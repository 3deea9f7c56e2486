# SPDX-License-Identifier: MIT
"""Locks and generations of keys (csrc/engine/keys.h), for what Python reads and writes itself."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from zarrcore._core.engine.csrc cimport *

import os
import warnings

from zarrcore import errors

cdef extern from *:
    """
    #ifdef _WIN32
    #define zc_realpath(path) NULL
    #else
    #define zc_realpath(path) realpath(path, NULL)
    #endif
    """
    char *zc_realpath(const char *path) nogil

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *n) except NULL


def real_path(str path not None):
    """Return the path without symbolic links that leads to the same; None if the system does not know it."""
    cdef char *found = zc_realpath(os.fsencode(path))
    if found == NULL:
        return None
    try:
        return os.fsdecode(<bytes>found)
    finally:
        free(found)


cdef int _set_place(zc_place *out, str scope) except -1:
    if scope.isascii():
        zc_place_set(out, PyUnicode_AsUTF8AndSize(scope, NULL))
    else:
        zc_place_set(out, <bytes>os.fsencode(scope))
    return 0


cdef int _set_key(zc_key *out, const zc_place *place, str name) except -1:
    try:
        zc_key_set(out, place, PyUnicode_AsUTF8AndSize(name, NULL))
    except UnicodeEncodeError:                      # of a file whose name is not in UTF-8
        zc_key_set(out, place, <bytes>name.encode("utf-8", "surrogatepass"))
    return 0


@cython.final
cdef class Place:
    """Where keys really are: `scope` is the same text for all stores over the same data, and ends with a slash.

    Locks of its keys keep other processes away too if `lock_file` is the real path of a file in a directory below
    `root`; with `makes` a missing directory is made, and its name synced with `sync`, without it nothing is locked
    there.  With `warns`, whoever has to wait for another process with a chunk is to be warned.
    """

    def __init__(
        self, str scope not None, str lock_file=None, str root="", bint warns=False, bint sync=False, bint makes=False
    ):
        if not scope.endswith("/"):
            raise ValueError(f"scope: expected text that ends with '/', got {scope!r}")
        _set_place(&self.c, scope)
        self.warns = warns
        if lock_file is not None:
            self.lock_path = os.fsencode(lock_file)
            self.c.locks.path = self.lock_path
            self.c.locks.root_len = len(os.fsencode(root))
            self.c.locks.makes = makes
            self.c.locks.sync = sync
            self.c.locks.id = self.c.hash

    def __dealloc__(self):
        if self.c.locks.path != NULL:
            zc_locks_close(&self.c.locks)


cdef cbool _poll_waiting(void *waiting) noexcept with gil:
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        (<_Waiting>waiting).error = error
        return True
    return False


cdef class _Waiting:
    """A wait that signals end: `error` is what a handler has raised."""

    cdef object error

    cdef zc_workspace workspace(self):
        cdef zc_workspace ws
        memset(&ws, 0, sizeof(ws))
        ws.poll = _poll_waiting
        ws.watch = <void *>self
        return ws

    cdef int end(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0


@cython.final
@cython.no_gc_clear
cdef class KeyLock(_Waiting):
    """The lock of a key, for a ``with`` statement: one read, patch and write at a time in this process.

    If its place has a lock file, it keeps other processes away too; StoreError is raised if that cannot be locked.
    The engine takes the same lock when it writes.  A thread may hold the locks of several keys; ChunkLockError is
    raised if waiting would never end: it has the lock already, or one that the other thread waits for.  With the
    path of an `array`, the key is that of a chunk, and if the place warns, so does this lock after its release.

    It is free when the object goes, too: CPython 3.14 calls signal handlers between __enter__ and the beginning of the
    block, and does not call __exit__ if they raise something.
    """

    cdef Place place
    cdef str name
    cdef str array
    cdef zc_key key
    cdef zc_held held
    cdef bint is_held

    def __dealloc__(self):
        if self.is_held:
            zc_key_unlock(&self.held)

    def __init__(self, Place place not None, str key not None, str array=None):
        self.place, self.name, self.array = place, key, array
        _set_key(&self.key, &place.c, key)

    def __enter__(self):
        cdef zc_workspace ws = self.workspace()
        cdef zc_error err
        cdef zc_status status
        zc_error_clear(&err)
        with nogil:
            status = zc_key_lock(&self.key, &self.held, &ws, &err)
        self.is_held = self.is_held or status == ZC_OK
        self.end()
        if status == ZC_ERR_IO:
            raise errors.StoreError(message(&err))
        if status != ZC_OK:
            raise errors.ChunkLockError(message(&err))
        return self

    def __exit__(self, kind, *exc):
        self.is_held = False
        zc_key_unlock(&self.held)
        if self.held.lock.waited and self.place.warns and self.array is not None and kind is None:
            tell_of_overlap(self.array, self.name)


@cython.final
cdef class Owned:
    """Holds a lock of Python in a ``with`` statement, see :func:`zarrcore._locks.taking`."""

    cdef object lock, timeout
    cdef bint is_held

    def __init__(self, lock not None, timeout not None):
        self.lock, self.timeout = lock, timeout

    def __enter__(self):
        self.is_held = self.lock.acquire(timeout=self.timeout)
        return self.is_held

    def __exit__(self, *_):
        self.__del__()

    def __del__(self):
        if self.is_held:
            self.is_held = False
            if self.lock._is_owned():  # not in the child of a fork
                self.lock.release()


@cython.final
cdef class Held:
    """A generator in a ``with`` statement, see :func:`zarrcore._locks.holding`."""

    cdef object generator

    def __init__(self, generator not None):
        self.generator = generator

    def __enter__(self):
        for value in self.generator:
            return value
        raise RuntimeError("the generator has yielded nothing")

    def __exit__(self, kind, error, traceback):
        if error is None:
            for _ in self.generator:
                raise RuntimeError("the generator has yielded twice")
            return False
        try:
            self.generator.throw(error)
        except StopIteration as stop:
            return stop is not error
        except BaseException as raised:
            if raised is not error and not (isinstance(error, StopIteration) and raised.__cause__ is error):
                raise
            error.__traceback__ = traceback
            return False
        raise RuntimeError("the generator has yielded twice")


cdef int tell_of_overlap(str array, str key) except -1:
    """Warn that another process was writing to a chunk when this one wanted to."""
    warnings.warn(errors.RegionOverlapWarning(
        f"array {array or '/'!r}: another process was writing to the chunk {errors.printable(key)!r} at the same time: "
        "this one has waited, and nothing is lost.  Without locks one of the two changes could be: let each process "
        "write to chunks (shards) of its own"), stacklevel=2)
    return 0


def wait_for_writes(Place place not None) -> bool:
    """Wait for writes of the C API under way at a place or below it; return whether there were any.

    Those that begin later have seen the losses that :func:`note_loss` has noted.
    """
    cdef cbool waited
    cdef _Waiting waiting = _Waiting()
    cdef zc_workspace ws = waiting.workspace()
    with nogil:
        zc_wait_for_writes(&place.c, &ws, &waited)
    waiting.end()
    return waited


def note_loss() -> None:
    """Have handles of the C API look whether their arrays are still the same."""
    zc_note_loss()


def key_events(str scope not None, str key not None) -> int:
    """Return how many changes of a key, or of its prefixes, have begun or ended; -1 while one is under way."""
    cdef zc_place place
    cdef zc_key name
    _set_place(&place, scope)
    _set_key(&name, &place, key)
    cdef uint64_t word = zc_key_generation(&name)
    return -1 if word == ZC_CHANGING else <int64_t>(word >> 20)


def changes_below(str scope not None) -> int:
    """Return how many changes of the keys of a place, or of the prefixes above it, have begun or ended."""
    cdef zc_place place
    _set_place(&place, scope)
    return zc_changes_below(&place)


def while_changing(str scope not None, keys, method, tuple args not None, dict kwargs not None):
    """Return what a method returns that changes keys: what has been kept of their values before counts no more.

    ``"a/b/"`` and ``""`` stand for all keys below a prefix.
    """
    cdef tuple names = tuple(keys)                 # nobody can change it
    cdef zc_change few[4]
    cdef zc_change *begun = few
    cdef Py_ssize_t n = 0, total = len(names)
    cdef zc_place place
    cdef zc_key key
    if total > 4:
        begun = <zc_change *>malloc(total * sizeof(zc_change))
        if begun == NULL:
            raise MemoryError("no memory for a list of keys")
    try:
        _set_place(&place, scope)
        for name in names:
            _set_key(&key, &place, name)
            begun[n] = zc_change_begin(&key)
            zc_change_below(&key)
            n += 1
        return method(*args, **kwargs)
    finally:
        for k in range(n):
            zc_change_end(begun[k])
            _set_key(&key, &place, names[k])
            zc_change_below(&key)
        if begun != few:
            free(begun)


def change_item(values, str key not None, change, value):
    """Return ``change(key, value)``, a change of the dictionary of a ``MemoryStore``, whose identity is the scope.

    Does the same as :func:`while_changing` in less time.
    """
    cdef char scope[40]
    cdef zc_place place
    cdef zc_key name
    snprintf(scope, sizeof(scope), b"memory:%llu/", <unsigned long long><uintptr_t><void *>values)
    zc_place_set(&place, scope)
    _set_key(&name, &place, key)
    cdef zc_change begun = zc_change_begin(&name)
    try:
        return change(key, value)
    finally:
        zc_change_end(begun)


cdef int _lengths(shape, int64_t *out) except -1:
    cdef int d
    if len(shape) > ZC_MAX_DIMS:
        return 0                              # no array of the engine
    for d in range(len(shape)):
        out[d] = shape[d]
    return 1


def note_shape(Place place not None, shape, bint is_new=False) -> None:
    """Note that an array is getting a new shape, before anything is written to it by that shape.

    `is_new` if it is being created where none was.
    """
    cdef int64_t lengths[64]
    if _lengths(shape, lengths):
        zc_shape_note(&place.c, <int>len(shape), lengths, is_new)


def shape_is_stale(Place place not None, shape) -> bool:
    """Return whether this process may have given an array another shape than this one; only False is certain."""
    cdef int64_t lengths[64]
    if not _lengths(shape, lengths):
        return True
    return zc_shape_is_stale(&place.c, <int>len(shape), lengths)
