# SPDX-License-Identifier: MIT
"""Codec chains, compiled for the engine."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from zarrcore._core.engine.codecs cimport configure
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.sessions cimport Session, poll_session

from operator import index as as_index

import numpy as np

from zarrcore import errors


# ---- codecs in Python --------------------------------------------------------------------------------------------

@cython.final
cdef class _Callback:
    """A codec that only Python has, as the engine calls it: see the links of :class:`Chain`."""

    cdef zc_callback c
    cdef object coder
    cdef bytes name

    def __cinit__(self, coder):
        self.coder = coder
        self.name = coder.name.encode()
        self.c.self = <void *>self           # no reference: the chain keeps this object
        self.c.encode = _encode_in_python
        self.c.decode = _decode_in_python


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
            err.cause = (<Session>session).keep_cause(error)
        text = str(error).encode("utf-8", "replace")
        return zc_fail(err, status, b"%s", <const char *>text)
    except BaseException as second:          # its own str() failed, or there is no memory, or Ctrl-C came then
        if isinstance(error, Exception) and not isinstance(second, Exception):
            return _fail_in_python(second, status, ws, err)
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
        made = (<_Callback>callback.self).coder.encode(PyBytes_FromStringAndSize(<const char *>src, n))
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
        made = (<_Callback>callback.self).coder.decode(PyBytes_FromStringAndSize(<const char *>src, n), most)
        if _copy_made(made, dst, cap, written) == ZC_OK:
            return ZC_OK
        return zc_fail(err, ZC_ERR_SIZE, b"decodes to %zu bytes, at most %zu expected", written[0], cap)
    except BaseException as error:
        return _fail_in_python(error, ZC_ERR_CHECKSUM if isinstance(error, errors.ChecksumError) else ZC_ERR_CORRUPT,
                               ws, err)


# ---- chains ------------------------------------------------------------------------------------------------------

@cython.final
cdef class _Links:
    """Codecs as zc_chain_compile takes them, made of tuples; see :class:`Chain`."""

    cdef zc_link *at
    cdef size_t n
    cdef list kept                       # what they point into
    cdef bint calls_python

    def __cinit__(self, links):
        self.kept = []
        self.n = len(links)
        self.at = <zc_link *>calloc(self.n + 1, sizeof(zc_link))
        if self.at == NULL:
            raise MemoryError
        for i, (kind, *what) in enumerate(links):
            self._set(&self.at[i], kind, what)

    def __dealloc__(self):
        free(self.at)

    cdef int _set(self, zc_link *link, str kind, list what) except -1:
        cdef _Callback callback
        if kind == "transpose":
            link.kind = ZC_LINK_TRANSPOSE
            link.order = self._numbers(link, what[0], "order")
        elif kind == "reshape":
            link.kind = ZC_LINK_RESHAPE
            self._set_lengths(link, what[0])
        elif kind == "filter":
            link.kind = ZC_LINK_FILTER
            self._set_codec(link, what[0], what[1])
            self._set_fill(link, what[2])
        elif kind == "bytes":
            link.kind = ZC_LINK_BYTES
            self._set_swap(link, what[0])
        elif kind == "shards":
            link.kind = ZC_LINK_SHARDS
            link.inner_shape = self._numbers(link, what[0], "inner_shape")
            self._set_inner(&link.inner, what[1])
            self._set_inner(&link.index, what[2])
            if what[3] not in ("start", "end"):
                raise ValueError(f"index_location: expected 'start' or 'end', got {what[3]!r}")
            link.index_at_start = what[3] == "start"
        elif kind == "n5_block":
            link.kind = ZC_LINK_N5_BLOCK
            self._set_inner(&link.inner, what[0])
        elif kind == "stage":
            link.kind = ZC_LINK_STAGE
            self._set_codec(link, what[0], what[1])
        elif kind == "callback":
            link.kind = ZC_LINK_STAGE
            callback = _Callback(what[0])
            zc_callback_stage(&callback.c, PyBytes_AS_STRING(callback.name), &link.codec)
            self.calls_python = True
            self.kept.append(callback)
        else:
            raise TypeError(f"the chunk engine has no codecs of the kind {kind!r}")
        return 0

    cdef const int64_t *_numbers(self, zc_link *link, numbers, str what) except? NULL:
        kept = np.array([as_index(n) for n in numbers], np.int64).tobytes()
        if len(kept) > ZC_MAX_DIMS * sizeof(int64_t):
            raise ValueError(f"{what}: the engine handles up to {ZC_MAX_DIMS} dimensions, got {len(numbers)}")
        link.n = <int>len(numbers)
        self.kept.append(kept)
        return <const int64_t *>PyBytes_AS_STRING(kept)

    cdef int _set_lengths(self, zc_link *link, lengths) except -1:
        cdef zc_length *at
        kept = PyBytes_FromStringAndSize(NULL, len(lengths) * sizeof(zc_length))
        at = <zc_length *>PyBytes_AS_STRING(kept)
        for d, length in enumerate(lengths):
            at[d].fixed = 0 if isinstance(length, tuple) else length
            at[d].axes = 0
            for axis in length if isinstance(length, tuple) else ():
                if not 0 <= axis < ZC_MAX_DIMS:
                    raise ValueError(f"lengths[{d}]: expected dimensions, got {length}")
                at[d].axes |= <uint64_t>1 << <int>axis
        link.n = <int>len(lengths)
        link.lengths = at
        self.kept.append(kept)
        return 0

    cdef int _set_codec(self, zc_link *link, str name, config) except -1:
        options = dict(config)
        configure(&link.codec, name, options)
        self.kept.append(options)
        return 0

    cdef int _set_fill(self, zc_link *link, bytes fill) except -1:
        link.fill_rule = ZC_FILL_GIVEN
        link.fill = PyBytes_AS_STRING(fill)
        link.fill_size = len(fill)
        self.kept.append(fill)
        return 0

    cdef int _set_swap(self, zc_link *link, swap) except -1:
        cdef zc_swap_field *fields
        if isinstance(swap, int):
            if swap not in (0, 2, 4, 8):
                raise ValueError(f"swap: expected 0, 2, 4 or 8, got {swap}")
            link.item.word = swap
            return 0
        kept = PyBytes_FromStringAndSize(NULL, len(swap) * sizeof(zc_swap_field))
        fields = <zc_swap_field *>PyBytes_AS_STRING(kept)
        for i, field in enumerate(swap):
            if min(field) < 0:
                raise ValueError(f"swap[{i}]: expected numbers of 0 or more, got {field}")
            fields[i].offset, fields[i].word, fields[i].count = field
        link.item.fields = fields
        link.item.n_fields = <uint32_t>len(swap)
        self.kept.append(kept)
        return 0

    cdef int _set_inner(self, zc_links *inner, links) except -1:
        cdef _Links kept = _Links(links)
        inner.at = kept.at
        inner.n = kept.n
        self.calls_python |= kept.calls_python
        self.kept.append(kept)
        return 0


@cython.final
cdef class _Compiled:
    """The memory of a chain and of those within it."""

    cdef zc_arena arena
    cdef _Links links                    # what it points into

    def __cinit__(self):
        self.arena.blocks = NULL

    def __dealloc__(self):
        zc_arena_free(&self.arena)


@cython.final
cdef class Shard:
    """How the chunks of a chain are cut into inner chunks: these are in the order of the stored dimensions."""

    def __init__(self):
        raise TypeError("shards are made by chains")


@cython.final
cdef class Chain:
    """A codec chain, compiled for the engine.  Immutable.

    Parameters
    ----------
    itemsize : int
        Bytes of one element.
    links : sequence of tuple
        The codecs in the order of encoding: ``("transpose", order)``; ``("reshape", lengths)``, each of them a length,
        a tuple of dimensions whose lengths are multiplied, or once -1; ``("filter", name, options, fill)`` with the
        fill value that it makes as bytes; ``("bytes", swap)`` with what differs in byte order between memory and stored
        form, all words of that size (2, 4 or 8; 0: nothing) or runs ``(offset, word, count)`` of words inside of an
        element; ``("shards", inner_shape, inner_links, index_links, "end" or "start")``; ``("n5_block", links)``;
        ``("stage", name, options)`` for a bytes -> bytes codec; ``("callback", coder)`` for one in Python: an object
        with a ``name``, ``encode(data)`` and ``decode(data, most)``, which take bytes and return anything bytes-like.
    shape : tuple of int, optional
        The longest chunk.
    fill : bytes, optional
        The fill value, one element.  Default: zero bytes.

    Notes
    -----
    ValueError is raised if the codecs cannot be together, NotImplementedError if they exceed a limit of the engine.
    Whether a codec, or one of those within it, is written in Python, is in `calls_python`.
    """

    def __init__(self, itemsize, links=(("bytes", 0),), *, shape=None, bytes fill=None):
        cdef zc_chain_description description
        cdef int64_t lengths[64]
        cdef const zc_chain *compiled
        cdef _Compiled memory = _Compiled()
        cdef zc_error err
        if self.c != NULL:
            raise RuntimeError("a Chain is immutable")
        if itemsize < 1:
            raise ValueError(f"itemsize: expected 1 or more, got {itemsize}")
        if fill is not None and len(fill) != itemsize:
            raise ValueError(f"fill: expected {itemsize} bytes, got {len(fill)}")
        self.links = tuple(links)
        if shape is None and any(kind in ("reshape", "filter") for kind, *_ in self.links):
            raise ValueError("shape: filters need to know it")
        memory.links = _Links(self.links)
        memset(&description, 0, sizeof(description))
        description.links.at = memory.links.at
        description.links.n = memory.links.n
        description.item_size = itemsize
        description.fill = NULL if fill is None else PyBytes_AS_STRING(fill)
        description.ndim = -1
        if shape is not None:
            if len(shape) > ZC_MAX_DIMS:
                raise ValueError(f"shape: the engine handles up to {ZC_MAX_DIMS} dimensions, got {len(shape)}")
            for d, length in enumerate(shape):
                lengths[d] = length
            description.ndim = <int>len(shape)
            description.shape = lengths
        zc_error_clear(&err)
        _check_compiled(zc_chain_compile(&description, &memory.arena, &compiled, &err), &err)
        self._adopt(compiled, memory)
        self.calls_python = memory.links.calls_python

    cdef int _adopt(self, const zc_chain *compiled, object memory) except -1:
        cdef Shard shard
        self.c = compiled
        self.memory = memory
        if compiled.order_ndim > 0:
            self.order = tuple([compiled.order[d] for d in range(compiled.order_ndim)])
        if compiled.sharded:
            shard = Shard.__new__(Shard)
            shard.inner_shape = tuple([compiled.inner_shape[d] for d in range(compiled.shard_ndim)])
            shard.index_location = "start" if compiled.index_at_start else "end"
            shard.inner = Chain.__new__(Chain)
            shard.inner._adopt(compiled.inner, memory)
            self.shard = shard
        return 0

    def check_ndim(self, ndim):
        """Raise ValueError unless the chain is one for chunks of that many dimensions."""
        if self.order is not None and len(self.order) != ndim:
            raise ValueError(f"chain: its order {self.order} is not one of {ndim} dimensions")
        if self.shard is not None:
            if len(self.shard.inner_shape) != ndim:
                raise ValueError(f"chain: its inner chunks {self.shard.inner_shape} have not {ndim} dimensions")
            self.shard.inner.check_ndim(ndim)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.c.item.size


cdef int _check_compiled(zc_status status, const zc_error *err) except -1:
    if status == ZC_OK:
        return 0
    if status == ZC_ERR_MEMORY:
        raise MemoryError(message(err))
    raise NotImplementedError(message(err)) if status == ZC_ERR_UNSUPPORTED else ValueError(message(err))
