# SPDX-License-Identifier: MIT
"""Where chunks come from: the stores of the engine, and the callbacks by which it reaches Python objects."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.files cimport links_of
from zarrcore._core.engine.sessions cimport (
    Session,
    drop_value,
    error_of_a_signal,
    give_back,
    give_back_all,
    hold_value,
    is_of_a_signal,
    lend,
    view_of,
)

import os

from zarrcore import errors

cnp.import_array()

cdef size_t RELEASED_FROM = 1 << 16    # bytes that are copied without the GIL: sooner than it is taken again


@cython.final
cdef class LocalSource:
    """Files below a root directory, read and written by the engine itself; see also :func:`open_below`.

    With `fsync`, what is written is flushed to the disk.  Without `page_cache`, the system does not keep chunks in
    memory after they are read, or written and on the disk.  With `documents`, the directory of an array holds its
    metadata too: if it is gone when chunks are absent, that is an error.  So it is if the metadata
    are gone that were in it (`documented`, the name of their file).
    """

    def __init__(self, root, fsync=False, documents=False, follow_symlinks="inside", page_cache=True):
        # Absolute, so that a change of the working directory does no harm.
        is_absolute = type(root) is str and root[:1] == os.sep == "/"
        self.root = os.fsencode(root if is_absolute else os.path.abspath(root))
        self.sync = fsync
        self.drops = not page_cache
        self.documents = documents
        self.documented = None
        self.is_marked = False
        self.links = links_of(follow_symlinks)

    def note_document(self, str prefix not None, str document not None, bint marked) -> bool:
        """Note the file of the metadata of the array below a prefix, and, if it is `marked`, its version.

        A read of many chunks, or of absent ones, looks whether it still has that version.  False is returned if there
        is no such file.
        """
        cdef zc_local local
        cdef bytes below = os.fsencode(prefix)
        self.documented = document.encode() or None
        if not marked or not document:
            return False
        memset(&local, 0, sizeof(local))
        set_local(self, &local)
        self.is_marked = zc_local_mark(&local, PyBytes_AS_STRING(below), len(below), &self.mark)
        return self.is_marked

    cdef object version(self):
        """The version that was noted, as ``files.version_of`` has it; None without one."""
        cdef zc_mark *mark = &self.mark
        return (mark.inode, mark.size, mark.mtime_ns, mark.device, mark.ctime_ns) if self.is_marked else None

    cdef bint is_as_noted(self, bytes below) except -1:
        """Whether the metadata of the array below a prefix have the version that was noted, if one was."""
        cdef zc_local local
        cdef zc_mark mark
        memset(&local, 0, sizeof(local))
        set_local(self, &local)
        return not self.is_marked or (zc_local_mark(&local, PyBytes_AS_STRING(below), len(below), &mark)
                                      and zc_mark_is_same(&self.mark, &mark))


cdef class Source:
    """What the engine reaches through Python.

    If chunks are absent, ``is_gone(prefix)`` is asked whether there is nothing left of the array below a prefix.
    """

    def note_document(self, str key not None) -> None:
        """Note the metadata of the array: a read of several chunks, or of absent ones, looks if they are the same."""
        self.document = key
        self.known = self.version()

    cdef object version(self):
        """What the version of the metadata is now; None: they are not there, or finding out costs."""

    cdef bint is_as_noted(self) except -1:
        """Whether the metadata have the version that was noted, if one was."""
        return self.known is None or self.version() == self.known


@cython.final
cdef class MemorySource(Source):
    """A dict of keys and bytes-like values, or buffers of zarr-python.

    ``kept(data)`` returns what the dict is to keep in place of the bytes `data`.
    """

    def __init__(self, dict values not None, is_gone=None, kept=None):
        self.values = values
        self.is_gone = is_gone
        self.kept = kept

    cdef object version(self):
        return zc_dict_value(self.values, self.document)

    cdef bint is_as_noted(self) except -1:
        return self.known is None or self.version() is self.known


@cython.final
cdef class StoreSource(Source):
    """A store object written in Python.

    It has ``get(key, byte_range=None)``, ``get_many(keys)``, ``set(key, value)`` and ``delete(key)``; get takes a byte
    range ``(start, length)``, and ``suffix(n)`` for the last n bytes.  If it has ``get_partial_values(key_ranges)``,
    parts of many values are asked for by one call.  If it has ``_get_parts(key_ranges, versions)`` and
    ``_get_part(key, byte_range, versions)``, these take their places, so that all parts of a value are of one version;
    the dict belongs to a call, or to a value that is open.  ``waits()``
    returns how many threads may wait for the store at the same time while chunks are written; shards that have at
    most ``_small_shard`` bytes, decoded, are asked for as a whole.  If it has ``_bounds_chunks``, ``_get_chunks(keys,
    most)`` is asked for whole chunks, which have at most `most` bytes, or as many as metadata justify.  If it has
    ``_lend_chunks``, that takes its place; it may return a :class:`FileSpan` for each.  If it has ``_serve``, the last
    requests of a read are put into a :class:`Feed`, and ``_serve(feed, n, versions)`` has at most n threads answer
    them; ``_window()`` returns how many bytes may be on the way, or wait to be decoded.  If ``_compares`` is true,
    chunks are patched by ``_get_version`` and ``_replace_version``.  If it has ``_set_lent(key, value)``, that stores
    chunks which lie in the memory of the caller as they are to be stored.  If it has ``_recheck(keys)``, that is asked,
    before chunks come from a cache, whose values are other ones by now, and has announced their changes.  An
    exception that is no Exception ends the call and is raised as it is; ``ends_the_call``: it does not come from a
    signal handler.
    """

    def __init__(self, store, suffix, is_gone=None, waits=None, most=None):
        self.store = store
        self.waits = waits
        self.suffix = suffix
        self.is_gone = is_gone
        self.get_chunks = getattr(store, "_lend_chunks", None)
        if self.get_chunks is None and getattr(store, "_bounds_chunks", False):
            self.get_chunks = getattr(store, "_get_chunks", None)
        self.most = most
        self.small = getattr(store, "_small_shard", 0)
        self.serve = getattr(store, "_serve", None)
        self.set_lent = getattr(store, "_set_lent", None)
        self.recheck = getattr(store, "_recheck", None)
        self.has_versions = hasattr(store, "_get_parts")
        self.get_parts = store._get_parts if self.has_versions else getattr(store, "get_partial_values", None)

    cdef object version(self):
        return self.store._noticed(self.document) or None

    cdef size_t window(self) except? 0:
        own = getattr(self.store, "_window", None)
        return 1 << 26 if own is None else own()


cdef str own_scope(object source):
    """Return the scope of the keys of a source whose user gave none."""
    if type(source) is LocalSource:
        return os.path.join(os.path.realpath(os.fsdecode((<LocalSource>source).root)), "")
    owner = (<MemorySource>source).values if type(source) is MemorySource else (<StoreSource>source).store
    return f"object://{id(owner):#x}/"


# -- dicts

cdef extern from *:
    """
    #include "kernels/utf8.h"

    /* The value of a key, or None.  Without a GIL another thread may replace it meanwhile: no borrowed reference. */
    static PyObject *zc_dict_value(PyObject *dict, PyObject *key)
    {
        PyObject *value;
    #if PY_VERSION_HEX >= 0x030D0000
        if (PyDict_GetItemRef(dict, key, &value) < 0) {
            return NULL;
        }
        return value != NULL ? value : Py_NewRef(Py_None);
    #else
        value = PyDict_GetItemWithError(dict, key);
        return value == NULL && PyErr_Occurred() ? NULL : Py_NewRef(value != NULL ? value : Py_None);
    #endif
    }

    /* A str of UTF-8 text: keys are short and almost always ASCII, which Python's decoder finds out step by step. */
    static PyObject *zc_text(const char *text)
    {
        const size_t n = strlen(text);
        PyObject *str;
        if (n < 2 || !zc_is_ascii((const uint8_t *)text, n)) {
            return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, NULL);
        }
        str = PyUnicode_New((Py_ssize_t)n, 0x7f);
        if (str != NULL) {
            memcpy(PyUnicode_DATA(str), text, n);
        }
        return str;
    }
    """
    object zc_dict_value(dict values, object key)
    object zc_text(const char *text)


cdef zc_status _memory_fetch(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                             size_t *failed, zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef dict values = (<MemorySource>session.source).values
    cdef size_t i = 0
    zc_metric_add(ZC_METRIC_REQUESTS, n)
    try:
        for i in range(n):
            key = zc_text(requests[i].key)
            value = zc_dict_value(values, key)
            if value is not None:
                lend(key, value, store, &out[i])
        return ZC_OK
    except BaseException as error:
        give_back_all(out, n)
        failed[0] = i
        return session.fail(error, err)


# -- stores in Python

cdef object _get_whole(StoreSource source, str name):
    """A whole chunk; None if it is absent."""
    if source.get_chunks is None or source.most is None:
        return source.store.get(name)
    return source.get_chunks([name], source.most)[0]


cdef object _get_all(StoreSource source, list names):
    """Several whole chunks."""
    if source.get_chunks is None or source.most is None:
        return source.store.get_many(names)
    return source.get_chunks(names, source.most)


cdef zc_status _open(const zc_store *store, const char *key, cbool whole, zc_value *out,
                     zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef object name
    try:
        name = zc_text(key)
        if type(session.source) is MemorySource:
            value = zc_dict_value((<MemorySource>session.source).values, name)
        elif whole:
            value = _get_whole(<StoreSource>session.source, name)
        else:
            opened = (name, {})         # and the version of the value, as soon as a part has been read
            Py_INCREF(opened)
            out.token = <void *>opened
            out.data = NULL
            out.size = ZC_SIZE_UNKNOWN
            out.store = store
            return ZC_OK
        zc_metric_add(ZC_METRIC_REQUESTS, 1)
        if value is None:
            return ZC_ERR_MISSING
        lend(name, value, store, out)
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef object _flat_bytes(object data):
    """Any contiguous buffer as one of bytes."""
    if isinstance(data, cnp.ndarray) and cnp.PyArray_NDIM(data) == 1 and cnp.PyArray_TYPE(data) == cnp.NPY_UINT8:
        return data
    view = view_of(data)
    return view if view.ndim == 1 and view.format == "B" else view.cast("B") if view.nbytes else memoryview(b"")


cdef zc_status _copy_range(object value, void *dst, size_t n, zc_error *err) except *:
    """Copy what a ranged get returned, which must be n bytes."""
    cdef const uint8_t[::1] view
    zc_metric_add(ZC_METRIC_REQUESTS, 1)
    if value is None:
        return ZC_ERR_MISSING
    view = _flat_bytes(value)
    if <size_t>view.shape[0] != n:
        return zc_fail(err, ZC_ERR_CORRUPT, b"the store returned %zu bytes of a range of %zu",
                       <size_t>view.shape[0], n)
    zc_metric_add(ZC_METRIC_BYTES_READ, n)
    if n:
        memcpy(dst, &view[0], n)
    return ZC_OK


cdef object _part_of(StoreSource source, tuple opened, object byte_range):
    """A part of a value that has been opened."""
    key, versions = opened
    if source.has_versions:
        return source.store._get_part(key, byte_range, versions)
    return source.store.get(key, byte_range)


cdef zc_status _fail_part(Session session, object error, zc_error *err):
    if isinstance(error, errors.ReplacedError):
        return zc_fail(err, ZC_ERR_REPLACED, b"%s", <const char *>b"the value was replaced while it was read")
    return session.fail(error, err)


cdef zc_status _store_read(const zc_value *value, uint64_t offset, void *dst, size_t n,
                           zc_error *err) noexcept with gil:
    cdef Session session = <Session>value.store.self
    try:
        return _copy_range(_part_of(<StoreSource>session.source, <tuple>value.token, (offset, n)), dst, n, err)
    except BaseException as error:
        return _fail_part(session, error, err)


cdef zc_status _store_read_tail(const zc_value *value, void *dst, size_t n, zc_error *err) noexcept with gil:
    cdef Session session = <Session>value.store.self
    cdef StoreSource source = <StoreSource>session.source
    try:
        return _copy_range(_part_of(source, <tuple>value.token, source.suffix(n)), dst, n, err)
    except BaseException as error:
        return _fail_part(session, error, err)


cdef int _lend_all(answer, list keys, str method, const zc_store *store, zc_value *out, size_t *at) except -1:
    """Lend what a store returned for some keys, one by one: an iterator may use its memory again, or have no end.

    `at` is the number of the one that is at fault.
    """
    cdef size_t i = 0, n = len(keys)
    try:
        values = iter(answer)
    except TypeError:
        raise errors.StoreError(f"{method} returned {type(answer).__name__!r} for {n} keys") from None
    for value in values:
        if i == n:
            raise errors.StoreError(f"{method} returned more than {n} values for {n} keys")
        at[0] = i
        if value is not None:
            lend(keys[i], value, store, &out[i])
        i += 1
        at[0] = n
    if i < n:
        raise errors.StoreError(f"{method} returned {i} values for {n} keys")
    return 0


cdef zc_status _store_fetch(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                            size_t *failed, zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef size_t k, i = n      # the key that failed, if it is one of them
    zc_metric_add(ZC_METRIC_REQUESTS, n)
    try:
        names = [requests[k].key.decode() for k in range(n)]
        try:
            answer = _get_all(<StoreSource>session.source, names)
        except Exception as error:
            key = getattr(error, "key", None)
            if is_of_a_signal(error):
                raise
            if key not in names:
                return zc_fail(err, ZC_ERR_IO, b"%s", <const char *>b"the store failed")     # and is asked key by key
            i = names.index(key)
            raise
        _lend_all(answer, names, "get_many", store, out, &i)
        return ZC_OK
    except BaseException as error:
        give_back_all(out, n)
        if i < n:
            failed[0] = i
        return session.fail(error, err)


cdef zc_status _store_fetch_parts(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                                  zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef StoreSource source = <StoreSource>session.source
    cdef list wanted = []
    cdef size_t i
    zc_metric_add(ZC_METRIC_REQUESTS, n)
    try:
        for i in range(n):
            key = requests[i].key.decode()
            if requests[i].offset == ZC_SIZE_UNKNOWN:
                wanted.append((key, source.suffix(requests[i].n)))
            elif requests[i].n == ZC_SIZE_MAX:
                wanted.append((key, None))
            else:
                wanted.append((key, (requests[i].offset, requests[i].n)))
        answer = source.get_parts(wanted, session.seen()) if source.has_versions else source.get_parts(wanted)
        _lend_all(answer, [key for key, _ in wanted], "get_partial_values", store, out, &i)
        return ZC_OK
    except BaseException as error:
        give_back_all(out, n)
        ended = error if not isinstance(error, Exception) else error_of_a_signal(error)
        if ended is not None:
            return session.fail(ended, err)
        return zc_fail(err, ZC_ERR_IO, b"%s", <const char *>b"the store failed")     # and is asked again, key by key


cdef zc_status _store_recheck(const zc_store *store, const char *const *keys, size_t n, cbool *changed,
                              zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef size_t i
    try:
        for i, answer in enumerate((<StoreSource>session.source).recheck([keys[i].decode() for i in range(n)])):
            changed[i] = answer
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


@cython.final
cdef class Feed:
    """Requests of a read that goes on meanwhile: see engine/feed.h."""

    cdef zc_feed *feed
    cdef const zc_store *store
    cdef Session session
    cdef StoreSource source

    def __dealloc__(self):
        if self.feed != NULL:
            zc_feed_drop(self.feed)

    def answer(self, get):
        """Answer requests on this thread while there are any.

        ``get(key, byte_range, most)`` returns a bytes-like value, or None if it is absent; `byte_range` is as of a
        store's ``get``, and `most` the most bytes that a whole chunk may have, or None.
        """
        cdef zc_request request
        while zc_feed_next(self.feed, &request):
            try:
                self._answer(get, &request)
            except BaseException:
                zc_feed_leave(self.feed)
                raise

    def lacking(self, size_t n):
        """Return how many more threads are to call `answer`, so that n do; they count from now on."""
        return zc_feed_lacking(self.feed, n)

    cdef int _answer(self, object get, zc_request *request) except -1:
        cdef zc_arrival answer
        memset(&answer, 0, sizeof(answer))
        answer.request = request.owner
        zc_metric_add(ZC_METRIC_REQUESTS, 1)
        try:
            try:
                key = request.key.decode()
            finally:
                free(<void *>request.key)
            if request.n == ZC_SIZE_MAX:
                value = get(key, None, self.source.most)
            elif request.offset == ZC_SIZE_UNKNOWN:
                value = get(key, self.source.suffix(request.n), None)
            else:
                value = get(key, (request.offset, request.n), None)
            if value is not None:
                lend(key, value, self.store, &answer.value)
        except BaseException as error:
            # Ranges are asked for again by their key, under a lock, since the value may have been replaced meanwhile.
            if request.n == ZC_SIZE_MAX or not isinstance(error, Exception):
                answer.outcome = ZC_FED_FAILED
                self.session.keep(error)
            else:
                answer.outcome = ZC_FED_ALONE
        zc_metrics_hand_over()          # this thread has no workspace
        if not zc_feed_put(self.feed, &answer) and answer.value.token != NULL:
            Py_DECREF(<object>answer.value.token)
        return 0


cdef zc_status _store_serve(const zc_store *store, zc_feed *feed, size_t n, zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef Feed shared
    try:
        shared = Feed.__new__(Feed)
        zc_feed_hold(feed)
        shared.feed = feed
        shared.store = store
        shared.session = session
        shared.source = <StoreSource>session.source
        shared.source.serve(shared, n, session.seen())
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


# -- dicts and stores in Python

cdef bytes _bytes_of(const void *data, size_t n):
    cdef bytes value = PyBytes_FromStringAndSize(NULL, n)
    cdef char *to = PyBytes_AS_STRING(value)
    if n < RELEASED_FROM:
        memcpy(to, data, n)
    else:
        with nogil:
            zc_memory_huge(to, n)
            memcpy(to, data, n)
    return value


cdef object _lent_by_caller(object memory, const void *data, size_t n):
    """Bytes that lie in an array, as one that keeps it; None where they do not."""
    cdef cnp.npy_intp shape = <cnp.npy_intp>n
    cdef const char *begin
    cdef cnp.ndarray value
    if memory is None or not cnp.PyArray_ISCONTIGUOUS(memory):
        return None
    begin = <const char *>cnp.PyArray_DATA(memory)
    if <const char *>data < begin or <const char *>data + n > begin + cnp.PyArray_NBYTES(memory):
        return None
    value = cnp.PyArray_SimpleNewFromData(1, &shape, cnp.NPY_UINT8, <void *>data)
    cnp.set_array_base(value, memory)
    value.flags.writeable = False
    return value


cdef zc_status _replace(const zc_store *store, const char *key, const void *data, size_t n,
                        zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef MemorySource memory
    cdef StoreSource python
    try:
        if type(session.source) is MemorySource:
            value = _bytes_of(data, n)
            memory = <MemorySource>session.source
            memory.values[key.decode()] = value if memory.kept is None else memory.kept(value)
            return ZC_OK
        python = <StoreSource>session.source
        value = None if python.set_lent is None else _lent_by_caller(session.memory, data, n)
        if value is not None:
            python.set_lent(key.decode(), value)
        else:
            python.store.set(key.decode(), _bytes_of(data, n))
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _open_version(const zc_store *store, const char *key, zc_value *out, void **version,
                             zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef StoreSource source = <StoreSource>session.source
    try:
        name = key.decode()
        value, found = source.store._get_version(name, source.most)
        if value is not None:
            lend(name, value, store, out)
        if found is not None:
            Py_INCREF(found)
            version[0] = <void *>found
        return ZC_OK if value is not None else ZC_ERR_MISSING
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _replace_version(const zc_store *store, const char *key, const void *data, size_t n, const void *version,
                                int attempt, cbool *done, zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    try:
        value = _bytes_of(data, n)
        python = (<StoreSource>session.source).store
        done[0] = python._replace_version(key.decode(), value, <object>version, attempt)
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef void _forget_version(void *version) noexcept with gil:
    Py_DECREF(<object>version)


cdef zc_status _remove(const zc_store *store, const char *key, zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    try:
        if type(session.source) is MemorySource:
            (<MemorySource>session.source).values.pop(key.decode(), None)
        else:
            (<StoreSource>session.source).store.delete(key.decode())
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef bint is_as_noted(object source, bytes below) except -1:
    """Whether the metadata of the array of a source, below a prefix, have the version that was noted, if one was."""
    if type(source) is LocalSource:
        return (<LocalSource>source).is_as_noted(below)
    return (<Source>source).is_as_noted()


cdef Source _source_of(Session session, bytes prefix):
    return session.source if session.reads is None else session.reads[prefix][0]


cdef zc_status _compare(const zc_store *store, const char *prefix, size_t prefix_len, size_t n,
                        zc_error *err) noexcept with gil:
    """n chunks of the array below a prefix were read: fail if its metadata are not those that were noted.

    One chunk is of one array; for several, of one read or of many, one look will do.
    """
    cdef Session session = <Session>store.self
    cdef bytes below = prefix[:prefix_len]
    cdef list reads
    try:
        if session.reads is not None:
            reads = session.reads[below]
            reads[1] += n
            if reads[1] < 2 or reads[1] - n > 1:
                return ZC_OK
        return ZC_OK if _source_of(session, below).is_as_noted() else _fail_other(err)
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _compare_some(const zc_store *store, const char *prefix, size_t prefix_len, size_t n,
                             zc_error *err) noexcept nogil:
    return ZC_OK if n < 2 else _compare(store, prefix, prefix_len, n, err)


cdef zc_status _fail_other(zc_error *err):
    return zc_fail(err, ZC_ERR_STALE, b"%s",
                   <const char *>b"the metadata of the array are others than when it was opened")


cdef zc_status _check_place(const zc_store *store, const char *prefix, size_t prefix_len,
                            zc_error *err) noexcept with gil:
    cdef Session session = <Session>store.self
    cdef bytes below = prefix[:prefix_len]
    cdef Source source
    try:
        source = _source_of(session, below)
        if session.compares and source.known is not None and source.is_as_noted():
            return ZC_OK
        if source.is_gone is not None and source.is_gone(below.decode()):
            return zc_fail(err, ZC_ERR_IO, b"%s", <const char *>b"the array is gone from the store")
        return ZC_OK if not session.compares or source.known is None else _fail_other(err)
    except BaseException as error:
        return session.fail(error, err)


cdef int set_local(LocalSource source, zc_local *out) except -1:
    """Describe local files as C does."""
    out.root = source.root
    out.root_len = len(source.root)
    out.sync = source.sync
    out.drops = source.drops
    out.links = source.links
    out.documents = source.documents
    out.documented = NULL if source.documented is None else PyBytes_AS_STRING(source.documented)
    out.known = NULL
    return 0


cdef int open_store(Session session, zc_local *local, zc_store *out) except -1:
    """Set up the engine's view of the session's source."""
    cdef object source = session.source
    memset(out, 0, sizeof(out[0]))
    memset(local, 0, sizeof(local[0]))
    if type(source) is LocalSource:
        set_local(<LocalSource>source, local)
        if session.compares and (<LocalSource>source).is_marked:
            local.known = &(<LocalSource>source).mark
        zc_store_local(local, out)
        return 0
    out.self = <void *>session
    out.close = give_back
    out.release = give_back_all
    out.open = _open
    out.check = _check_place
    if session.compares:
        out.confirm = _compare_some if session.reads is None else _compare
    out.replace = _replace
    out.remove = _remove
    if type(source) is MemorySource:
        out.fetch = _memory_fetch
        out.values_in_memory = True
        out.hold = hold_value
        out.drop = drop_value
        return 0
    if type(source) is not StoreSource:
        raise TypeError(f"source: expected a source of this module, got {type(source).__name__}")
    if getattr((<StoreSource>source).store, "_compares", False):
        out.open_version = _open_version
        out.replace_version = _replace_version
        out.forget_version = _forget_version
    out.read = _store_read
    out.read_tail = _store_read_tail
    out.fetch = _store_fetch
    if (<StoreSource>source).get_parts is not None:
        out.fetch_parts = _store_fetch_parts
        if (<StoreSource>source).recheck is not None:
            out.recheck = _store_recheck
        if (<StoreSource>source).serve is not None:
            out.serve = _store_serve
            out.window = (<StoreSource>source).window()
    out.gap = 1 << 18             # bytes that a remote store sends about as fast as it answers one more request
    out.most = 1 << 26
    out.small = (<StoreSource>source).small
    out.batch_bytes = 1 << 26
    return 0
