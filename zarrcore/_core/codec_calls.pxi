# Single codecs for Python code: from bytes to bytes, one call each.

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF

cdef extern from "codecs/blosc_shared.h" nogil:
    ctypedef struct zc_sharing:
        int threads
        zc_poll poll
        void *poll_arg
    zc_status zc_blosc_encode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                     uint8_t *dst, size_t cap, size_t *written, zc_error *err)
    zc_status zc_blosc_decode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                     uint8_t *dst, size_t cap, size_t *written, zc_error *err)

cdef extern from "Python.h":
    PyObject *PyBytes_FromStringAndSize_ "PyBytes_FromStringAndSize"(const char *, Py_ssize_t) except NULL
    int _PyBytes_Resize(PyObject **, Py_ssize_t) except -1


# ---- memory ------------------------------------------------------------------------------------------------------

cdef inline bint _is_plain_array(object data) noexcept:
    """Return whether it is an ndarray, no subclass, with contiguous items that hold no references."""
    cdef int kind
    if not cnp.PyArray_CheckExact(data) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>data):
        return False
    kind = cnp.PyArray_TYPE(<cnp.ndarray>data)
    return kind < cnp.NPY_OBJECT or cnp.NPY_OBJECT < kind < cnp.NPY_VOID or cnp.NPY_VOID < kind <= cnp.NPY_FLOAT16


def is_plain(data, *, writable=False) -> bool:
    """Whether the functions below take `data` as it is without any doubt: bytes and arrays of NumPy's own numbers.

    They take every other contiguous buffer too, but are not the ones to say what is wrong with it.
    """
    if _is_plain_array(data):
        return not writable or cnp.PyArray_ISWRITEABLE(<cnp.ndarray>data)
    return type(data) is bytearray or (type(data) is bytes and not writable)


cdef int _get_memory(object data, int flags, Py_buffer *view) except -1:
    """The bytes of `data`, until PyBuffer_Release."""
    if _is_plain_array(data):
        return PyBuffer_FillInfo(view, data, cnp.PyArray_DATA(<cnp.ndarray>data),
                                 cnp.PyArray_NBYTES(<cnp.ndarray>data),
                                 not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>data), flags)
    return PyObject_GetBuffer(data, view, flags)


cdef object _flat_bytes(object data):
    """Any contiguous buffer as one of bytes."""
    if isinstance(data, cnp.ndarray) and cnp.PyArray_NDIM(data) == 1 and cnp.PyArray_TYPE(data) == cnp.NPY_UINT8:
        return data
    view = memoryview(data)
    return view if view.ndim == 1 and view.format == "B" else view.cast("B") if view.nbytes else memoryview(b"")


# ---- calls -------------------------------------------------------------------------------------------------------

cdef object _codec_error(zc_status status, const zc_error *err, str where, bint decode=True):
    """The exception for a failure outside of any array, of the codec `where` or of one within it."""
    if err.codec[0] != 0:
        where = (<bytes>err.codec).decode()
    reason = (<bytes>err.message).decode("utf-8", "replace")
    if status == ZC_ERR_MEMORY:
        return MemoryError(f"{where}: {reason}")
    if status == ZC_ERR_CHECKSUM:
        return errors.ChecksumError(reason, codec=where)
    if not decode or status in (ZC_ERR_ENCODE, ZC_ERR_OVERFLOW, ZC_ERR_ARGUMENT):
        return errors.ChunkEncodeError(reason, codec=where)
    return errors.ChunkDecodeError(reason, codec=where)


cdef int _encoded_bound(zc_codec *codec, str name, size_t n, size_t *bound) except -1:
    """The most bytes that the encoding of n bytes can take."""
    if n > codec.cls.max_decoded or not codec.cls.bound(codec, n, bound):
        raise errors.ChunkEncodeError(f"cannot encode {n} bytes at once", codec=name)
    return 0


cdef Py_ssize_t _run_shared(zc_codec *codec, str name, const Py_buffer *data, void *dst, size_t cap, bint decode,
                            int threads) except -1:
    """The same on several threads; of blosc, the only codec whose blocks know nothing of each other."""
    cdef _Calls calls = _Calls()                 # its signals are asked for
    cdef zc_sharing sharing = zc_sharing(threads, _poll_calls, <void *>calls)
    cdef zc_error err
    cdef zc_status status
    cdef size_t written = 0
    cdef size_t n = data.len
    cdef uint8_t nothing
    cdef const uint8_t *src = <const uint8_t *>data.buf if n else &nothing

    zc_error_clear(&err)
    with nogil:
        if decode:
            status = zc_blosc_decode_shared(codec, &sharing, src, n, <uint8_t *>dst, cap, &written, &err)
        else:
            status = zc_blosc_encode_shared(codec, &sharing, src, n, <uint8_t *>dst, cap, &written, &err)
    if calls.error is not None:
        raise calls.error
    if status != ZC_OK:
        raise _codec_error(status, &err, name, decode)
    return written


cdef Py_ssize_t _run_codec(zc_codec *codec, str name, const Py_buffer *data, void *dst, size_t cap,
                           bint decode, int threads=1) except -1:
    """Encode (cap is at least the bound) or decode to dst; how many bytes these are."""
    if threads != 1 and name == "blosc":
        return _run_shared(codec, name, data, dst, cap, decode, threads)
    cdef zc_error err
    cdef zc_workspace *ws
    cdef size_t written = 0
    cdef zc_status status = ZC_OK
    cdef size_t n = data.len
    cdef uint8_t nothing
    cdef const uint8_t *src = <const uint8_t *>data.buf if n else &nothing

    zc_error_clear(&err)
    with nogil:
        ws = zc_pool_borrow(&err)
        if ws == NULL:
            status = ZC_ERR_MEMORY
        else:
            if decode:
                status = codec.cls.decode(codec, ws, src, n, <uint8_t *>dst, cap, &written, &err)
            else:
                status = codec.cls.encode(codec, ws, src, n, <uint8_t *>dst, cap, &written, &err)
            zc_pool_release(ws)
    if status != ZC_OK:
        raise _codec_error(status, &err, name, decode)
    return written


cdef bytes _run_codec_to_bytes(zc_codec *codec, str name, const Py_buffer *data, size_t cap, bint decode,
                               int threads=1):
    """The same into new bytes, whose memory shrinks to what was written."""
    cdef PyObject *out = PyBytes_FromStringAndSize_(NULL, cap)
    cdef size_t written
    try:
        written = _run_codec(codec, name, data, PyBytes_AS_STRING(<object>out), cap, decode, threads)
        if written < cap:
            _PyBytes_Resize(&out, written)       # out is NULL if that fails
        return <bytes>out
    finally:
        Py_XDECREF(out)


def check_options(str name not None, config) -> None:
    """Raise a ValueError if the codec, as it is in this build, cannot encode with these options."""
    cdef zc_codec codec
    cdef zc_error err
    cdef dict options = dict(config)
    _configure(&codec, name, options)
    zc_error_clear(&err)
    if zc_codec_check(&codec, &err) != ZC_OK:
        raise ValueError((<bytes>err.message).decode("utf-8", "replace"))


def encode_bytes(str name not None, config, data, int threads=1) -> bytes:
    """Encode bytes with one codec of the engine.

    Parameters
    ----------
    name : str
        For example ``"zstd"``.
    config : dict
        Its options, as in the stages of a :class:`Chain`.
    data : bytes-like
        Contiguous.
    threads : int
        Most threads to use, 0 for the default; of blosc only.

    Returns
    -------
    bytes

    Notes
    -----
    Releases the GIL; any number of threads may call it at once.
    """
    cdef zc_codec codec
    cdef Py_buffer view
    cdef size_t bound = 0
    cdef dict options = dict(config)
    _configure(&codec, name, options)
    _get_memory(data, PyBUF_SIMPLE, &view)
    try:
        _encoded_bound(&codec, name, view.len, &bound)
        return _run_codec_to_bytes(&codec, name, &view, bound, False, threads)
    finally:
        PyBuffer_Release(&view)


def decode_bytes(str name not None, config, data, max_size, int threads=1) -> bytes:
    """Decode bytes with one codec of the engine, to at most `max_size` bytes.

    Raises
    ------
    ChunkDecodeError, ChecksumError
        If the data are malformed, or stand for more than `max_size` bytes.

    Notes
    -----
    Releases the GIL; any number of threads may call it at once.
    """
    if max_size < 0:
        raise ValueError(f"max_size: expected 0 or more, got {max_size}")
    cdef zc_codec codec
    cdef Py_buffer view
    cdef dict options = dict(config)
    _configure(&codec, name, options)
    _get_memory(data, PyBUF_SIMPLE, &view)
    try:
        return _run_codec_to_bytes(&codec, name, &view, max_size, True, threads)
    finally:
        PyBuffer_Release(&view)


def encode_into(str name not None, config, data, out, int threads=1) -> int:
    """As :func:`encode_bytes`, into the beginning of `out`, which is unchanged or spoilt on failure.

    Returns
    -------
    int
        How many bytes were written.

    Raises
    ------
    ValueError
        If `out` is too small.
    """
    cdef zc_codec codec
    cdef Py_buffer view, room
    cdef size_t bound = 0
    cdef dict options = dict(config)
    cdef bytes encoded
    _configure(&codec, name, options)
    _get_memory(data, PyBUF_SIMPLE, &view)
    try:
        _encoded_bound(&codec, name, view.len, &bound)
        _get_memory(out, PyBUF_WRITABLE, &room)
        try:
            if <size_t>room.len >= bound and not _overlap(&view, &room):
                return _run_codec(&codec, name, &view, room.buf, room.len, False, threads)
            encoded = _run_codec_to_bytes(&codec, name, &view, bound, False, threads)
            if PyBytes_GET_SIZE(encoded) > room.len:
                raise ValueError(f"out: {name} needs {len(encoded)} bytes, there are {room.len}")
            memcpy(room.buf, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))
            return PyBytes_GET_SIZE(encoded)
        finally:
            PyBuffer_Release(&room)
    finally:
        PyBuffer_Release(&view)


def decode_into(str name not None, config, data, out, int threads=1) -> int:
    """As :func:`decode_bytes`, into the beginning of `out`, which may be spoilt on failure.

    Returns
    -------
    int
        How many bytes were written.
    """
    cdef zc_codec codec
    cdef Py_buffer view, room
    cdef uint8_t spare
    cdef dict options = dict(config)
    _configure(&codec, name, options)
    _get_memory(out, PyBUF_WRITABLE, &room)
    try:
        _get_memory(data, PyBUF_SIMPLE, &view)
        try:
            if not _overlap(&view, &room):
                return _run_codec(&codec, name, &view, room.buf if room.len else &spare, room.len, True,
                                  threads)
        finally:
            PyBuffer_Release(&view)
        decoded = decode_bytes(name, options, data, room.len, threads)
        memcpy(room.buf, PyBytes_AS_STRING(decoded), PyBytes_GET_SIZE(decoded))
        return PyBytes_GET_SIZE(decoded)
    finally:
        PyBuffer_Release(&room)


cdef bint _overlap(const Py_buffer *a, const Py_buffer *b) noexcept:
    cdef const char *first = <const char *>a.buf
    cdef const char *second = <const char *>b.buf
    return first < second + b.len and second < first + a.len
