# SPDX-License-Identifier: MIT
"""The callbacks by which the engine reaches sources that are Python objects: dicts, and stores written in Python."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from zarrcore._core.engine.csrc cimport *
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
from zarrcore._core.engine.sources cimport LocalSource, MemorySource, Source, StoreSource, set_local, zc_dict_value

from zarrcore import errors

cnp.import_array()

cdef size_t RELEASED_FROM = 1 << 16    # bytes that are copied without the GIL: sooner than it is taken again

# -- dicts

cdef extern from *:
    """
    #include "kernels/utf8.h"

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
