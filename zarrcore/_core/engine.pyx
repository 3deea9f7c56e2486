# The border between Python and the chunk engine (csrc/engine): it converts and checks arguments, releases the GIL, calls C
# once and raises what went wrong.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Unpack
from libc.errno cimport ENOENT
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strlen

cimport numpy as cnp

from zarrcore._core.csrc cimport *

import os

import numpy as np

from zarrcore import errors

cnp.import_array()

cdef extern from "Python.h":
    int PyIndex_Check(object)
    int PySlice_Check(object)
    int PyLong_CheckExact(object)
    Py_ssize_t PyNumber_AsSsize_t(object, object) except? -1
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL
    Py_buffer *PyMemoryView_GET_BUFFER(object)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(type subtype, cnp.dtype descr, int nd, const cnp.npy_intp *dims,
                                const cnp.npy_intp *strides, void *data, int flags, object obj)


# ---- threads ------------------------------------------------------------------------------------------------------------

def num_threads() -> int:
    """The default number of threads of a call, the calling thread included."""
    return zc_pool_threads()


def set_num_threads(n) -> None:
    """Set the default number of threads; None or 0 for the CPUs that affinity mask and cgroup quota leave."""
    cdef int threads = 0 if n is None else n
    if threads < 0:
        raise ValueError(f"number of threads: expected 1 or more (0: all CPUs), got {n}")
    zc_pool_set_threads(threads)


def available_cpus() -> int:
    """The CPUs that affinity mask and cgroup quota leave to this process."""
    return zc_pool_cpus()


# ---- codec chains -------------------------------------------------------------------------------------------------------

_BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")


cdef int _configure(zc_codec *codec, str name, dict config) except -1:
    """Set up one bytes -> bytes codec."""
    cdef bytes encoded = name.encode()
    cdef object key
    if not zc_codec_init(codec, encoded):
        raise errors.UnknownCodecError(f"the chunk engine has no codec {name!r}")
    for key, value in config.items():
        if key == "level" or key == "acceleration" or key == "clevel":
            codec.level = value
        elif key == "checksum":
            codec.checksum = bool(value)
        elif key == "location":
            codec.at_start = value == "start"
        elif key == "cname":
            codec.blosc.compressor = <zc_blosc_compressor><int>_BLOSC_COMPRESSORS.index(value)
        elif key == "shuffle":
            codec.blosc.shuffle = <zc_blosc_shuffle><int>value
        elif key == "typesize":
            codec.blosc.typesize = value
        elif key == "blocksize":
            codec.blosc.blocksize = value
        else:
            raise TypeError(f"codec {name!r} of the chunk engine has no option {key!r}")
    return 0


cdef class Shard:
    """The sharding part of a codec chain.

    Parameters
    ----------
    inner_shape : tuple of int
        Shape of the inner chunks, in the order of the dimensions in which shards are stored.
    inner, index : Chain
        The chains of inner chunks and of the index (items of 8 bytes).
    index_location : {"end", "start"}
        Where in the shard the index lies.
    """

    cdef readonly tuple inner_shape
    cdef readonly Chain inner
    cdef readonly Chain index
    cdef readonly str index_location

    def __init__(self, inner_shape, Chain inner not None, Chain index not None, index_location="end"):
        if index_location not in ("start", "end"):
            raise ValueError(f"index_location: expected 'start' or 'end', got {index_location!r}")
        self.inner_shape = tuple(int(n) for n in inner_shape)
        if len(self.inner_shape) > ZC_MAX_DIMS or any(n < 1 for n in self.inner_shape):
            raise ValueError(f"inner_shape: expected up to {ZC_MAX_DIMS} lengths of 1 or more, got {inner_shape}")
        self.inner = inner
        self.index = index
        self.index_location = index_location


cdef class Chain:
    """A codec chain, compiled for the engine.  Immutable.

    Parameters
    ----------
    itemsize : int
        Bytes of one element.
    swap : int or tuple of (offset, word, count)
        What differs in byte order between memory and stored form: all words of that size (2, 4 or 8; 0: nothing), or
        runs of words inside of an element.
    order : tuple of int, optional
        Stored dimension ``i`` is dimension ``order[i]`` of the chunk (zarr v3 "transpose").  None: C order.
    stages : sequence of (name, configuration)
        The bytes -> bytes codecs in the order of encoding.
    shard : Shard, optional
        Chunks are shards.
    """

    cdef zc_chain c
    cdef zc_swap_field *fields
    cdef readonly Shard shard
    cdef readonly tuple order
    cdef readonly tuple stages

    def __cinit__(self):
        memset(&self.c, 0, sizeof(self.c))
        self.fields = NULL

    def __dealloc__(self):
        free(self.fields)

    def __init__(self, itemsize, *, swap=0, order=None, stages=(), shard=None):
        if itemsize < 1:
            raise ValueError(f"itemsize: expected 1 or more, got {itemsize}")
        if self.c.item.size != 0:
            raise RuntimeError("a Chain is immutable")
        self.c.item.size = itemsize
        self._set_swap(swap)
        if order is not None:
            self._set_order(tuple(int(axis) for axis in order))
        self.stages = tuple(stages)
        if len(self.stages) > ZC_MAX_STAGES:
            raise ValueError(f"more than {ZC_MAX_STAGES} bytes -> bytes codecs in one chain")
        for i, (name, config) in enumerate(self.stages):
            _configure(&self.c.stages[i], name, dict(config))
        self.c.n_stages = <int>len(self.stages)
        if shard is not None:
            self._set_shard(shard)

    cdef int _set_swap(self, swap) except -1:
        cdef size_t i
        if isinstance(swap, int):
            if swap not in (0, 2, 4, 8) or (swap and self.c.item.size % <size_t>swap):
                raise ValueError(f"swap: expected 0, 2, 4 or 8 and a divisor of the item size, got {swap}")
            self.c.item.word = swap
            return 0
        fields = tuple(swap)
        if not fields:
            return 0
        self.fields = <zc_swap_field *>malloc(len(fields) * sizeof(zc_swap_field))
        if self.fields == NULL:
            raise MemoryError
        for i, (offset, word, count) in enumerate(fields):
            if word not in (2, 4, 8) or offset < 0 or count < 1 or offset + word * count > self.c.item.size:
                raise ValueError(f"swap[{i}]: {(offset, word, count)} does not lie in an item of {self.c.item.size} bytes")
            self.fields[i].offset = offset
            self.fields[i].word = word
            self.fields[i].count = count
        self.c.swap_fields = self.fields
        if len(fields) == 1 and fields[0][0] == 0 and fields[0][1] * fields[0][2] == self.c.item.size:
            self.c.item.word = fields[0][1]
        else:
            self.c.item.fields = self.fields
            self.c.item.n_fields = <uint32_t>len(fields)
        return 0

    cdef int _set_order(self, tuple order) except -1:
        cdef int i
        if len(order) > ZC_MAX_DIMS or sorted(order) != list(range(len(order))):
            raise ValueError(f"order: expected a permutation, got {order}")
        self.order = order
        self.c.order_ndim = <int>len(order)
        for i in range(self.c.order_ndim):
            self.c.order[i] = order[i]
        return 0

    cdef int _set_shard(self, Shard shard) except -1:
        cdef size_t size
        cdef zc_error err
        if self.c.item.word or self.c.item.n_fields:
            raise ValueError("swap: a sharded chain swaps bytes in its inner chain")
        if shard.inner.c.item.size != self.c.item.size:
            raise ValueError("inner chunks and shard have elements of different sizes")
        if shard.index.c.item.size != 8 or shard.index.c.sharded:
            raise ValueError("the index chain must have items of 8 bytes")
        self.shard = shard
        self.c.sharded = True
        self.c.shard_ndim = <int>len(shard.inner_shape)
        for i, n in enumerate(shard.inner_shape):
            self.c.inner_shape[i] = n
        self.c.inner = &shard.inner.c
        self.c.index = &shard.index.c
        self.c.index_at_start = shard.index_location == "start"
        zc_error_clear(&err)
        if zc_chain_index_size(&self.c, 1, &size, &err) != ZC_OK:
            raise ValueError((<bytes>err.message).decode())
        return 0

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.c.item.size


cdef object _codec_error(zc_status status, const zc_error *err, str where):
    """The exception for a failure outside of any array."""
    reason = (<bytes>err.message).decode("utf-8", "replace")
    if status == ZC_ERR_MEMORY:
        return MemoryError(f"{where}: {reason}")
    if status == ZC_ERR_CHECKSUM:
        return errors.ChecksumError(reason, codec=where)
    if status in (ZC_ERR_ENCODE, ZC_ERR_OVERFLOW, ZC_ERR_ARGUMENT):
        return errors.ChunkEncodeError(reason, codec=where)
    return errors.ChunkDecodeError(reason, codec=where)


cdef object _run_codec(str name, dict config, object data, Py_ssize_t max_size, bint decode):
    cdef zc_codec codec
    cdef zc_error err
    cdef zc_workspace *ws
    cdef size_t cap = 0, written = 0
    cdef zc_status status = ZC_OK
    cdef bytes out
    cdef uint8_t *dst
    cdef const uint8_t[::1] view = _flat_bytes(data)
    cdef size_t n = view.shape[0]
    cdef const uint8_t *src = &view[0] if n else <const uint8_t *>b""

    _configure(&codec, name, config)
    zc_error_clear(&err)
    if decode:
        cap = max_size
    elif n > codec.cls.max_decoded or not codec.cls.bound(&codec, n, &cap):
        raise errors.ChunkEncodeError(f"cannot encode {n} bytes at once", codec=name)
    out = PyBytes_FromStringAndSize(NULL, cap)
    dst = <uint8_t *>PyBytes_AS_STRING(out)
    with nogil:
        ws = zc_pool_borrow(&err)
        if ws == NULL:
            status = ZC_ERR_MEMORY
        else:
            if decode:
                status = codec.cls.decode(&codec, ws, src, n, dst, cap, &written, &err)
            else:
                status = codec.cls.encode(&codec, ws, src, n, dst, cap, &written, &err)
            zc_pool_release(ws)
    if status != ZC_OK:
        raise _codec_error(status, &err, name)
    return out if written == cap else out[:written]


cdef object _flat_bytes(object data):
    """Any contiguous buffer as one of bytes."""
    view = memoryview(data)
    return view if view.ndim == 1 and view.format == "B" else view.cast("B") if view.nbytes else memoryview(b"")


def encode_bytes(str name not None, config, data) -> bytes:
    """Encode bytes with one codec of the engine.

    Parameters
    ----------
    name : str
        For example ``"zstd"``.
    config : dict
        Its options, as in the stages of a :class:`Chain`.
    data : bytes-like
        Contiguous.

    Returns
    -------
    bytes

    Notes
    -----
    Releases the GIL; any number of threads may call it at once.
    """
    return _run_codec(name, dict(config), data, 0, False)


def decode_bytes(str name not None, config, data, max_size) -> bytes:
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
    return _run_codec(name, dict(config), data, max_size, True)


# ---- stores -------------------------------------------------------------------------------------------------------------

cdef class LocalSource:
    """Files below a root directory, read and written by the engine itself.

    Parameters
    ----------
    root : str or os.PathLike
        An absolute path, so that a change of the working directory does no harm.
    fsync : bool
        Flush what is written to the disk.
    """

    cdef bytes root
    cdef bint sync

    def __init__(self, root, fsync=False):
        self.root = os.fsencode(os.path.abspath(root))
        self.sync = fsync


cdef class MemorySource:
    """A dict of keys and bytes-like values."""

    cdef dict values

    def __init__(self, dict values not None):
        self.values = values


cdef class StoreSource:
    """A store object written in Python.

    Parameters
    ----------
    store : object
        With ``get(key, byte_range=None)``, ``get_many(keys)``, ``set(key, value)`` and ``delete(key)``; get takes a
        byte range ``(start, length)``.
    suffix : callable
        Makes, of a number n, the byte range for the last n bytes.
    """

    cdef object store
    cdef object suffix

    def __init__(self, store, suffix):
        self.store = store
        self.suffix = suffix


# What one call needs while it runs: its source, and the exception that a callback left behind.
cdef class _Session:
    cdef object source
    cdef object error

    cdef zc_status fail(self, object error, zc_error *err):
        if self.error is None:
            self.error = error
        return zc_fail(err, ZC_ERR_CALLBACK, b"%s", <const char *>b"the store failed")


cdef int _poll(void *arg) noexcept with gil:
    """Let Python handle its signals; an exception of a handler (KeyboardInterrupt) ends the call."""
    cdef _Session session = <_Session>arg
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        if session.error is None:
            session.error = error
        return 1
    return 0


cdef int _lend(object value, const zc_store *store, zc_value *out) except -1:
    """Make a bytes-like object the content of `out`, which keeps a reference to it."""
    cdef Py_buffer *buffer
    out.store = store
    if type(value) is bytes:
        out.data = <const uint8_t *>PyBytes_AS_STRING(value)
        out.size = PyBytes_GET_SIZE(value)
    else:
        value = memoryview(value)
        if not value.c_contiguous:
            value = memoryview(value.tobytes())
        buffer = PyMemoryView_GET_BUFFER(value)
        out.data = <const uint8_t *>buffer.buf if buffer.len else <const uint8_t *>b""
        out.size = buffer.len
    Py_INCREF(value)
    out.token = <void *>value
    return 0


cdef void _give_back(zc_value *value) noexcept with gil:
    if value.token != NULL:
        Py_DECREF(<object>value.token)
        value.token = NULL


cdef void _give_back_all(zc_value *values, size_t n) noexcept with gil:
    cdef size_t i
    for i in range(n):
        _give_back(&values[i])


# -- dicts

cdef zc_status _memory_open(const zc_store *store, const char *key, cbool whole, zc_value *out,
                            zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    try:
        value = (<MemorySource>session.source).values.get(key.decode())
        if value is None:
            return ZC_ERR_MISSING
        _lend(value, store, out)
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _memory_fetch(const zc_store *store, const char *const *keys, size_t n, zc_value *out,
                             zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    cdef dict values = (<MemorySource>session.source).values
    cdef size_t i
    memset(out, 0, n * sizeof(zc_value))
    try:
        for i in range(n):
            value = values.get((<bytes>keys[i]).decode())
            if value is not None:
                _lend(value, store, &out[i])
        return ZC_OK
    except BaseException as error:
        _give_back_all(out, n)
        return session.fail(error, err)


cdef zc_status _memory_replace(const zc_store *store, const char *key, const void *data, size_t n,
                               zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    try:
        (<MemorySource>session.source).values[key.decode()] = PyBytes_FromStringAndSize(<const char *>data, n)
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _memory_remove(const zc_store *store, const char *key, zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    try:
        (<MemorySource>session.source).values.pop(key.decode(), None)
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


# -- stores in Python

cdef zc_status _store_open(const zc_store *store, const char *key, cbool whole, zc_value *out,
                           zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    cdef object name
    try:
        name = key.decode()
        if not whole:
            Py_INCREF(name)
            out.token = <void *>name
            out.data = NULL
            out.size = ZC_SIZE_UNKNOWN
            out.store = store
            return ZC_OK
        value = (<StoreSource>session.source).store.get(name)
        if value is None:
            return ZC_ERR_MISSING
        _lend(value, store, out)
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _copy_range(object value, void *dst, size_t n, zc_error *err) except *:
    """Copy what a ranged get returned, which must be n bytes."""
    cdef const uint8_t[::1] view
    if value is None:
        return ZC_ERR_MISSING
    view = _flat_bytes(value)
    if <size_t>view.shape[0] != n:
        return zc_fail(err, ZC_ERR_CORRUPT, b"the store returned %zu bytes of a range of %zu",
                       <size_t>view.shape[0], n)
    if n:
        memcpy(dst, &view[0], n)
    return ZC_OK


cdef zc_status _store_read(const zc_value *value, uint64_t offset, void *dst, size_t n,
                           zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>value.store.self
    try:
        got = (<StoreSource>session.source).store.get(<object>value.token, (offset, n))
        return _copy_range(got, dst, n, err)
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _store_read_tail(const zc_value *value, void *dst, size_t n, zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>value.store.self
    cdef StoreSource source = <StoreSource>session.source
    try:
        return _copy_range(source.store.get(<object>value.token, source.suffix(n)), dst, n, err)
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _store_fetch(const zc_store *store, const char *const *keys, size_t n, zc_value *out,
                            zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    cdef size_t i
    memset(out, 0, n * sizeof(zc_value))
    try:
        names = [(<bytes>keys[i]).decode() for i in range(n)]
        values = list((<StoreSource>session.source).store.get_many(names))
        if len(values) != n:
            raise errors.StoreError(f"get_many returned {len(values)} values for {n} keys")
        for i in range(n):
            if values[i] is not None:
                _lend(values[i], store, &out[i])
        return ZC_OK
    except BaseException as error:
        _give_back_all(out, n)
        return session.fail(error, err)


cdef zc_status _store_replace(const zc_store *store, const char *key, const void *data, size_t n,
                              zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    try:
        (<StoreSource>session.source).store.set(key.decode(), PyBytes_FromStringAndSize(<const char *>data, n))
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef zc_status _store_remove(const zc_store *store, const char *key, zc_error *err) noexcept with gil:
    cdef _Session session = <_Session>store.self
    try:
        (<StoreSource>session.source).store.delete(key.decode())
        return ZC_OK
    except BaseException as error:
        return session.fail(error, err)


cdef enum:
    STORE_GAP = 1 << 18       # bytes that a remote store sends about as fast as it answers one more request
    STORE_MOST = 1 << 26
    STORE_BATCH = 1 << 26


cdef int _open_store(_Session session, zc_local *local, zc_store *out) except -1:
    """Set up the engine's view of the session's source."""
    cdef object source = session.source
    memset(out, 0, sizeof(out[0]))
    memset(local, 0, sizeof(local[0]))
    if type(source) is LocalSource:
        local.root = (<LocalSource>source).root
        local.root_len = len((<LocalSource>source).root)
        local.sync = (<LocalSource>source).sync
        zc_store_local(local, out)
        return 0
    out.self = <void *>session
    out.close = _give_back
    out.release = _give_back_all
    if type(source) is MemorySource:
        out.seed = <uint64_t><size_t><void *>(<MemorySource>source).values
        out.open = _memory_open
        out.fetch = _memory_fetch
        out.replace = _memory_replace
        out.remove = _memory_remove
        out.values_in_memory = True
        return 0
    out.seed = <uint64_t><size_t><void *>(<StoreSource?>source).store
    out.open = _store_open
    out.read = _store_read
    out.read_tail = _store_read_tail
    out.fetch = _store_fetch
    out.replace = _store_replace
    out.remove = _store_remove
    out.gap = STORE_GAP
    out.most = STORE_MOST
    out.batch_bytes = STORE_BATCH
    return 0


# ---- arrays -------------------------------------------------------------------------------------------------------------

cdef cnp.ndarray _int64(object values):
    return np.ascontiguousarray(values, dtype=np.int64)


cdef class NativeArray:
    """An array as the engine sees it: what is fixed once the array has been opened, compiled.

    Parameters
    ----------
    source : LocalSource, MemorySource or StoreSource
        Where its chunks are.
    prefix : str
        What all keys of its chunks begin with: ``""`` or ``"foo/bar/"``.
    shape : tuple of int
        Shape of the array.
    chunks : tuple
        For each dimension the length of its chunks, or a tuple of the lengths of all of them (rectilinear grid).
    key_encoding : tuple of str
        ``("default", separator)`` or ``("v2", separator)``.
    chain : Chain
        How chunks are encoded.
    dtype : numpy.dtype
        Of the elements in memory; its item size is the chain's.
    fill : bytes or None
        One element, for chunks that are absent.  None: zero bytes.
    path : str
        The array's path, for messages.

    Notes
    -----
    Immutable; any number of threads may use it at once.  All methods release the GIL while they work.
    """

    cdef zc_array c
    cdef readonly object source
    cdef readonly Chain chain
    cdef readonly cnp.dtype dtype
    cdef readonly tuple shape
    cdef readonly str path
    cdef bytes prefix
    cdef bytes fill
    cdef list edges

    def __init__(self, source, prefix, *, shape, chunks, key_encoding=("default", "/"), Chain chain not None, dtype,
                 fill=None, path=""):
        cdef Py_ssize_t d
        cdef const char *separator
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(n) for n in shape)
        self.chain = chain
        self.source = source
        self.path = path
        self.prefix = prefix.encode()
        self.fill = bytes(self.dtype.itemsize) if fill is None else bytes(fill)
        self._check(chunks, key_encoding)
        self.c.ndim = <int>len(self.shape)
        self.c.chain = &chain.c
        self.c.fill = <const void *>PyBytes_AS_STRING(self.fill)
        self.c.prefix = PyBytes_AS_STRING(self.prefix)
        self.c.prefix_len = len(self.prefix)
        self.c.keys.v2 = key_encoding[0] == "v2"
        self.c.keys.separator = <char>ord(key_encoding[1])
        self.edges = []
        for d in range(self.c.ndim):
            self._set_axis(d, self.shape[d], chunks[d])

    cdef int _check(self, chunks, key_encoding) except -1:
        ndim = len(self.shape)
        if ndim > ZC_MAX_DIMS:
            raise ValueError(f"shape: the engine handles up to {ZC_MAX_DIMS} dimensions, got {ndim}")
        if any(n < 0 for n in self.shape):
            raise ValueError(f"shape: expected lengths of 0 or more, got {self.shape}")
        if len(chunks) != ndim:
            raise ValueError(f"chunks: expected {ndim} entries, got {len(chunks)}")
        if self.dtype.itemsize != self.chain.itemsize:
            raise ValueError(f"dtype: {self.dtype} has items of {self.dtype.itemsize} bytes, the chain of {self.chain.itemsize}")
        if len(self.fill) != self.dtype.itemsize:
            raise ValueError(f"fill: expected {self.dtype.itemsize} bytes, got {len(self.fill)}")
        if self.chain.order is not None and len(self.chain.order) != ndim:
            raise ValueError(f"chain: its order {self.chain.order} is not one of {ndim} dimensions")
        if self.chain.shard is not None and len(self.chain.shard.inner_shape) != ndim:
            raise ValueError(f"chain: its inner chunks {self.chain.shard.inner_shape} have not {ndim} dimensions")
        if key_encoding[0] not in ("default", "v2") or key_encoding[1] not in (".", "/"):
            raise ValueError(f"key_encoding: expected 'default' or 'v2' with '.' or '/', got {key_encoding}")
        if type(self.source) not in (LocalSource, MemorySource, StoreSource):
            raise TypeError(f"source: expected a source of this module, got {type(self.source).__name__}")
        return 0

    cdef int _set_axis(self, Py_ssize_t d, length, chunk) except -1:
        cdef cnp.ndarray edges
        self.c.grid[d].length = length
        self.c.grid[d].edges = NULL
        if isinstance(chunk, tuple):
            edges = np.zeros(len(chunk) + 1, dtype=np.int64)
            np.cumsum(_int64(chunk), out=edges[1:])
            if any(n < 1 for n in chunk) or edges[-1] < length:
                raise ValueError(f"chunks[{d}]: lengths {chunk} do not cover {length} elements")
            self.edges.append(edges)
            self.c.grid[d].edges = <const int64_t *>cnp.PyArray_DATA(edges)
            self.c.grid[d].n_edges = len(chunk)
            self.c.grid[d].chunk = chunk[0] if chunk else 1
        else:
            if chunk < 1:
                raise ValueError(f"chunks[{d}]: expected 1 or more, got {chunk}")
            self.c.grid[d].chunk = chunk
        return 0

    def chunk_key(self, chunk) -> str:
        """The store key of a chunk."""
        cdef int64_t coordinates[64]
        for i in range(self.c.ndim):
            coordinates[i] = chunk[i]
        return self._key(coordinates)

    cdef str _key(self, const int64_t *chunk):
        cdef bytes buffer = PyBytes_FromStringAndSize(NULL, zc_chunk_key_size(&self.c))
        zc_chunk_key(&self.c, chunk, PyBytes_AS_STRING(buffer))
        return (<bytes>PyBytes_AS_STRING(buffer)).decode()

    # ---- calls

    cdef int _run(self, zc_part *part, int threads, bint write, bint write_empty) except -1:
        """Run one call of the engine and raise what went wrong."""
        cdef zc_call call
        cdef zc_store store
        cdef zc_local local
        cdef zc_fault fault
        cdef zc_error err
        cdef zc_status status
        cdef _Session session = _Session.__new__(_Session)

        session.source = self.source
        _open_store(session, &local, &store)
        call.array = &self.c
        call.store = &store
        call.part = part
        call.threads = threads
        call.write_empty = write_empty
        call.poll = _poll
        call.poll_arg = <void *>session
        zc_error_clear(&err)
        with nogil:
            if write:
                status = zc_write(&call, &fault, &err)
            else:
                status = zc_read(&call, &fault, &err)
        if status != ZC_OK:
            self._raise(status, &fault, &err, session.error, write)
        elif session.error is not None:
            raise session.error
        return 0

    cdef int _raise(self, zc_status status, const zc_fault *fault, const zc_error *err, object cause,
                    bint write) except -1:
        """Turn a failure into the exception that names its place."""
        if cause is not None and not isinstance(cause, Exception):
            raise cause                       # KeyboardInterrupt and its like
        place = {"array": self.path or "/"}
        if fault.in_chunk:
            place["chunk"] = tuple(fault.chunk[d] for d in range(self.c.ndim))
            place["key"] = self._key(fault.chunk)
        if err.in_shard and self.chain.shard is not None:
            place["inner_chunk"] = self._inner_chunk(fault, err.inner_chunk)
            if not write:
                place["byte_range"] = (err.offset, err.nbytes)
        if err.codec[0]:
            place["codec"] = (<bytes>err.codec).decode("utf-8", "replace")
        reason = (<bytes>err.message).decode("utf-8", "replace")
        if cause is not None:
            raise errors.ChunkIOError(f"{type(cause).__name__}: {cause}", **place) from cause
        if status == ZC_ERR_IO:
            error = errors.ChunkIOError(reason, **place)
            error.errno = err.sys_errno
            raise error
        if status == ZC_ERR_CHECKSUM:
            raise errors.ChecksumError(reason, **place)
        if status == ZC_ERR_MEMORY:
            raise errors.ChunkMemoryError(reason or "out of memory", **place)
        if status == ZC_ERR_ENCODE:
            raise errors.ChunkEncodeError(reason, **place)
        raise errors.ChunkDecodeError(reason, **place)

    cdef object _inner_chunk(self, const zc_fault *fault, uint64_t number):
        """Coordinates of an inner chunk, in the array's order of dimensions, from its number in the shard."""
        cdef int d
        order = self.chain.order or tuple(range(self.c.ndim))
        coordinates = [0] * self.c.ndim
        for d in reversed(range(self.c.ndim)):
            axis = order[d]
            if self.c.grid[axis].edges == NULL:
                length = self.c.grid[axis].chunk
            else:
                length = self.c.grid[axis].edges[fault.chunk[axis] + 1] - self.c.grid[axis].edges[fault.chunk[axis]]
            number, coordinates[axis] = divmod(number, length // self.chain.shard.inner_shape[d])
        return tuple(coordinates)

    cdef int _threads(self, threads) except -1:
        cdef int n = 0 if threads is None else threads
        if n < 0:
            raise ValueError(f"threads: expected 1 or more (0: the default), got {threads}")
        return n

    cdef int _check_memory(self, cnp.ndarray array, str name, Py_ssize_t ndim) except -1:
        if cnp.PyArray_NDIM(array) != ndim:
            raise ValueError(f"{name}: expected {ndim} dimensions, got {array.ndim}")
        dtype = array.dtype
        if dtype is not self.dtype and dtype != self.dtype:
            raise ValueError(f"{name}: expected dtype {self.dtype}, got {dtype}")
        return 0

    cdef list _set_region(self, zc_part *part, dims, cnp.ndarray array):
        """Describe the selection `dims` of this array and its place in `array`; returns what must stay alive."""
        cdef list kept = []
        cdef int d
        cdef int64_t start, step, count, length, stride
        cdef cnp.ndarray index, place

        if len(dims) != self.c.ndim:
            raise ValueError(f"dims: expected {self.c.ndim} entries, got {len(dims)}")
        part.ndim = self.c.ndim
        part.points = NULL
        part.memory = <char *>cnp.PyArray_DATA(array)
        for d in range(self.c.ndim):
            entry = dims[d]
            length = self.c.grid[d].length
            stride = cnp.PyArray_STRIDE(array, d)
            if isinstance(entry, tuple):
                start, step, count = entry
                if count != cnp.PyArray_DIM(array, d):
                    raise ValueError(f"dims[{d}] selects {count} elements, the memory has {array.shape[d]}")
                if count > 0 and not (0 <= start < length and 0 <= start + (count - 1) * step < length):
                    raise errors.BoundsCheckError(f"dims[{d}]: {entry} leaves the {length} elements of the dimension")
                _set_axis_slice(part, d, start, step, count, stride)
                continue
            index = _int64(entry)
            if cnp.PyArray_NDIM(index) != 1 or cnp.PyArray_DIM(index, 0) != cnp.PyArray_DIM(array, d):
                raise ValueError(f"dims[{d}] selects {index.size} elements, the memory has {array.shape[d]}")
            count = cnp.PyArray_DIM(index, 0)
            if count and not (0 <= index.min() and index.max() < length):
                raise errors.BoundsCheckError(f"dims[{d}]: indices leave the {length} elements of the dimension")
            if count > 1 and (index[1:] < index[:-1]).any():
                place = _int64(np.argsort(index, kind="stable"))
                index = index[place]
            else:
                place = np.arange(count, dtype=np.int64)
            kept += [index, place]
            part.axis[d].start = 0
            part.axis[d].step = 1
            part.axis[d].count = count
            part.axis[d].stride = stride
            part.axis[d].index = <const int64_t *>cnp.PyArray_DATA(index)
            part.axis[d].place = <const int64_t *>cnp.PyArray_DATA(place)
        return kept

    def read(self, dims, cnp.ndarray out not None, threads=0) -> None:
        """Read a region into `out`.

        Parameters
        ----------
        dims : sequence
            For each dimension ``(start, step, count)``, where element k of `out` is element ``start + k * step`` of
            the array, or an array of int64 indices.  Nothing is wrapped round or clipped.
        out : numpy.ndarray
            Of this dtype and of the shape that `dims` selects; any strides.
        threads : int
            Most threads to use; 0: the default.

        Raises
        ------
        ChunkError
            If a chunk that is present could not be read.
        """
        cdef zc_part part
        self._check_memory(out, "out", self.c.ndim)
        if not cnp.PyArray_ISWRITEABLE(out):
            raise ValueError("out: is read-only")
        kept = self._set_region(&part, dims, out)
        if cnp.PyArray_SIZE(out):
            self._run(&part, self._threads(threads), False, False)

    def write(self, dims, cnp.ndarray value not None, threads=0, write_empty=False) -> None:
        """Write `value` to a region; parameters as of :meth:`read`.

        Parameters
        ----------
        write_empty : bool
            Store chunks that hold nothing but the fill value, instead of removing them.
        """
        cdef zc_part part
        self._check_memory(value, "value", self.c.ndim)
        kept = self._set_region(&part, dims, value)
        if cnp.PyArray_SIZE(value):
            self._run(&part, self._threads(threads), True, write_empty)

    cdef list _set_points(self, zc_part *part, coords, cnp.ndarray array):
        cdef list kept = []
        cdef int d
        cdef cnp.ndarray index, points
        cdef int64_t n = cnp.PyArray_DIM(array, 0)

        if len(coords) != self.c.ndim or self.c.ndim == 0:
            raise ValueError(f"coords: expected {max(self.c.ndim, 1)} arrays, got {len(coords)}")
        part.ndim = self.c.ndim
        part.memory = <char *>cnp.PyArray_DATA(array)
        part.point_stride = cnp.PyArray_STRIDE(array, 0)
        for d in range(self.c.ndim):
            index = _int64(coords[d])
            if cnp.PyArray_NDIM(index) != 1 or cnp.PyArray_DIM(index, 0) != n:
                raise ValueError(f"coords[{d}]: expected {n} indices, got {index.size}")
            if n and not (0 <= index.min() and index.max() < self.c.grid[d].length):
                raise errors.BoundsCheckError(
                    f"coords[{d}]: indices leave the {self.c.grid[d].length} elements of the dimension")
            kept.append(index)
            part.axis[d].start = 0
            part.axis[d].step = 1
            part.axis[d].count = n
            part.axis[d].stride = 0
            part.axis[d].index = <const int64_t *>cnp.PyArray_DATA(index)
            part.axis[d].place = NULL
        points = np.arange(n, dtype=np.int64)
        kept.append(points)
        part.points = <const int64_t *>cnp.PyArray_DATA(points)
        part.n_points = n
        return kept

    def read_points(self, coords, cnp.ndarray out not None, threads=0) -> None:
        """Read single elements.

        Parameters
        ----------
        coords : sequence of numpy.ndarray
            For each dimension the int64 indices of all n elements.
        out : numpy.ndarray
            Of this dtype, shape (n,).
        threads : int
            Most threads to use; 0: the default.
        """
        cdef zc_part part
        self._check_memory(out, "out", 1)
        if not cnp.PyArray_ISWRITEABLE(out):
            raise ValueError("out: is read-only")
        kept = self._set_points(&part, coords, out)
        if part.n_points:
            self._run(&part, self._threads(threads), False, False)

    def write_points(self, coords, cnp.ndarray value not None, threads=0, write_empty=False) -> None:
        """Write single elements; of several values for one element the last one stays."""
        cdef zc_part part
        self._check_memory(value, "value", 1)
        kept = self._set_points(&part, coords, value)
        if part.n_points:
            self._run(&part, self._threads(threads), True, write_empty)

    def get(self, key, threads=0):
        """Read a basic selection: integers, slices with any step, Ellipsis.

        Returns
        -------
        numpy.ndarray, scalar or NotImplemented
            NotImplemented for every other kind of selection, and for one that is out of bounds.
        """
        cdef zc_part part
        cdef cnp.npy_intp shape[64]
        cdef int axis_of[64]
        cdef int result_ndim = 0, d
        cdef bint scalar = True
        cdef cnp.ndarray out
        cdef tuple entries = key if type(key) is tuple else (key,)

        if not self._parse(entries, &part, shape, axis_of, &result_ndim, &scalar):
            return NotImplemented
        Py_INCREF(self.dtype)                 # the new array takes over one reference
        out = PyArray_NewFromDescr(cnp.ndarray, self.dtype, result_ndim, shape, NULL, NULL, 0, None)
        if cnp.PyArray_SIZE(out):
            part.memory = <char *>cnp.PyArray_DATA(out)
            for d in range(self.c.ndim):
                if axis_of[d] >= 0:
                    _set_axis_slice(&part, d, part.axis[d].start, part.axis[d].step, part.axis[d].count,
                                    cnp.PyArray_STRIDE(out, axis_of[d]))
            self._run(&part, self._threads(threads), False, False)
        return out[()] if scalar else out

    cdef bint _parse(self, tuple entries, zc_part *part, cnp.npy_intp *shape, int *axis_of, int *result_ndim,
                     bint *scalar) except -1:
        """Take a basic selection apart; False if it is none.  Axes keep the signs of their steps."""
        cdef Py_ssize_t start, stop, step, length, n = len(entries), i
        cdef int d = 0, skipped
        cdef bint ellipsis = False

        part.ndim = self.c.ndim
        part.points = NULL
        for i in range(n):
            entry = entries[i]
            if entry is Ellipsis:
                if ellipsis:
                    return False
                ellipsis = True
                scalar[0] = False
                skipped = self.c.ndim - <int>(n - 1)
                if skipped < 0:
                    return False
                while skipped > 0:
                    self._whole_axis(part, shape, axis_of, result_ndim, d)
                    d += 1
                    skipped -= 1
                continue
            if d >= self.c.ndim:
                return False
            length = self.c.grid[d].length
            if PySlice_Check(entry):
                PySlice_Unpack(entry, &start, &stop, &step)
                part.axis[d].count = PySlice_AdjustIndices(length, &start, &stop, step)
                part.axis[d].start = start
                part.axis[d].step = step
                axis_of[d] = result_ndim[0]
                shape[result_ndim[0]] = part.axis[d].count
                result_ndim[0] += 1
            elif PyLong_CheckExact(entry) or isinstance(entry, np.integer):
                start = PyNumber_AsSsize_t(entry, IndexError)
                if start < 0:
                    start += length
                if start < 0 or start >= length:
                    return False
                _set_axis_slice(part, d, start, 1, 1, 0)
                axis_of[d] = -1
            else:
                return False
            d += 1
        while d < self.c.ndim:
            self._whole_axis(part, shape, axis_of, result_ndim, d)
            d += 1
        if result_ndim[0] > 0:
            scalar[0] = False
        return True

    cdef void _whole_axis(self, zc_part *part, cnp.npy_intp *shape, int *axis_of, int *result_ndim, int d) noexcept:
        part.axis[d].start = 0
        part.axis[d].step = 1
        part.axis[d].count = self.c.grid[d].length
        axis_of[d] = result_ndim[0]
        shape[result_ndim[0]] = self.c.grid[d].length
        result_ndim[0] += 1


cdef void _set_axis_slice(zc_part *part, int d, int64_t start, int64_t step, int64_t count, int64_t stride) noexcept:
    """Set one axis; a negative step is turned round, for the engine counts upwards."""
    if step < 0 and count > 0:
        start += (count - 1) * step
        part.memory += (count - 1) * stride
        stride = -stride
        step = -step
    part.axis[d].index = NULL
    part.axis[d].place = NULL
    part.axis[d].start = start
    part.axis[d].step = step if count > 1 else 1
    part.axis[d].count = count
    part.axis[d].stride = stride
