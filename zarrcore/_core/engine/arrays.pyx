# SPDX-License-Identifier: MIT
"""Arrays: selections in, calls of the engine, exceptions out."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from zarrcore._core.engine.cache cimport ChunkCache
from zarrcore._core.engine.callbacks cimport open_store
from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.keys cimport Place, tell_of_overlap
from zarrcore._core.engine.masks cimport MaskPoints
from zarrcore._core.engine.results cimport new_result
from zarrcore._core.engine.selections cimport (
    check_memory,
    chunk_extent,
    field_dtype,
    int64_array,
    set_axis,
    set_basic,
    set_blocks,
    set_chunk,
    set_fields,
    set_number,
    set_points,
    set_region,
    set_window,
)
from zarrcore._core.engine.sessions cimport Session, poll_session
from zarrcore._core.engine.sources cimport (
    LocalSource,
    MemorySource,
    Source,
    StoreSource,
    is_as_noted,
    own_scope,
)
from zarrcore._core.engine.threads cimport thread_number

import numpy as np

from zarrcore import errors

cnp.import_array()


chunk_errors = {
    <int>ZC_ERR_IO: errors.ChunkIOError,
    <int>ZC_ERR_REPLACED: errors.ChunkIOError,
    <int>ZC_ERR_STALE: errors.ChunkIOError,
    <int>ZC_ERR_CHECKSUM: errors.ChecksumError,
    <int>ZC_ERR_MEMORY: errors.ChunkMemoryError,
    <int>ZC_ERR_LOCKED: errors.ChunkLockError,
    <int>ZC_ERR_ENCODE: errors.ChunkEncodeError,
}
"""The exception for each status; ChunkDecodeError for all others."""


cdef object _located(object error, dict place, bint write):
    """What a codec raised, as an error that names array, chunk and key."""
    if isinstance(error, errors.ChunkError):
        located = error.located(**place)
        located.__cause__ = error.__cause__
        return located
    if isinstance(error, MemoryError):
        located = errors.ChunkMemoryError(f"out of memory: {errors.named(error)}", **place)
    else:
        located = (errors.ChunkEncodeError if write else errors.ChunkDecodeError)(errors.named(error), **place)
    located.__cause__ = error
    return located


@cython.final
cdef class NativeArray:
    """An array as the engine sees it: what is fixed once the array has been opened, compiled.

    The keys of its chunks in `source` begin with `prefix`: ``""`` or ``"foo/bar/"``.  `chunks` has for each dimension
    the length of its chunks, or a tuple of the lengths of all of them (rectilinear grid); `key_encoding` is
    ``("default", separator)``, ``("v2", separator)`` or ``("n5", separator)``, which is v2 with the last coordinate
    first.  `dtype` is that of the elements in memory, and has the item size of the chain.  `fill` is one element as
    bytes, for chunks that are absent, which are a ChunkNotFoundError with `missing_is_error`; None: zero bytes.  `path`
    is for messages.  ``scope()`` returns the scope of the array's :class:`Place`, asked once, when it is needed;
    default: the source's own.

    Any number of threads may use it at once.  All methods release the GIL while they work.  Nothing changes but this:
    if `is_left` or `is_stale` is true after a read, another array may have come to the place of this one, and what was
    read may be of both.  The caller sets the first; the second is set by a read that finds other metadata, and fails.
    """

    is_native = True

    def __init__(self, source, prefix, *, shape, chunks, key_encoding=("default", "/"), Chain chain not None, dtype,
                 fill=None, path="", missing_is_error=False, ChunkCache cache=None, scope=None):
        cdef Py_ssize_t d
        cdef size_t most
        cdef int64_t largest[64]
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(n) for n in shape)
        self.chain = chain
        self.source = source
        self.path = path
        self.scope = scope
        self.prefix = prefix.encode()
        self.fill = bytes(self.dtype.itemsize) if fill is None else bytes(fill)
        self._check(chunks, key_encoding)
        self.c.ndim = <int>len(self.shape)
        self.c.chain = chain.c
        self.c.fill = <const void *>PyBytes_AS_STRING(self.fill)
        self.c.prefix = PyBytes_AS_STRING(self.prefix)
        self.c.prefix_len = len(self.prefix)
        self.c.missing_is_error = missing_is_error
        self.c.keys.v2 = key_encoding[0] != "default"
        self.c.keys.reversed = key_encoding[0] == "n5"
        self.c.keys.separator = <char>ord(key_encoding[1])
        self.cache = cache
        if cache is not None:
            self.c.cache = cache.c
            self.c.number = zc_cache_array()
        self.edges = []
        for d in range(self.c.ndim):
            self._set_axis(d, self.shape[d], chunks[d])
            largest[d] = max(chunks[d], default=1) if isinstance(chunks[d], tuple) else chunks[d]
        if type(source) is StoreSource:
            most = zc_chain_most(chain.c, self.c.ndim, largest)
            if most != ZC_SIZE_MAX:
                (<StoreSource>source).most = most
        if chain.shard is not None and self.c.indexes == NULL:
            self.c.indexes = zc_cache_new(ZC_INDEX_CACHE_BYTES)

    def __dealloc__(self):
        zc_cache_free(self.c.indexes)

    cdef int find_place(self) except -1:
        """Have the array know its place; reads that need neither lock nor generation do without."""
        cdef Place place
        if self.place is None:
            found = self.scope() if self.scope is not None else f"{own_scope(self.source)}{self.prefix.decode()}"
            place = found if type(found) is Place else Place(found if found.endswith("/") else f"{found}/")
            with cython.critical_section(self):
                if self.place is None:
                    self.place = place
                    self.c.place = &place.c
        return 0

    @property
    def noticed(self):
        """What was noted of the metadata when the array was made; None: nothing."""
        return (<LocalSource>self.source).version() if type(self.source) is LocalSource else (<Source>self.source).known

    @property
    def block_shape(self):
        """Shape of the blocks that :meth:`write_gathered` takes: of the inner chunks; None for whole chunks."""
        if self.chain.shard is None:
            return None
        by_axis = dict(zip(self.chain.order or range(self.c.ndim), self.chain.shard.inner_shape))
        return tuple(by_axis[d] for d in range(self.c.ndim))

    cdef int _check(self, chunks, key_encoding) except -1:
        ndim = len(self.shape)
        if ndim > ZC_MAX_DIMS:
            raise ValueError(f"shape: the engine handles up to {ZC_MAX_DIMS} dimensions, got {ndim}")
        if any(n < 0 for n in self.shape):
            raise ValueError(f"shape: expected lengths of 0 or more, got {self.shape}")
        if len(chunks) != ndim:
            raise ValueError(f"chunks: expected {ndim} entries, got {len(chunks)}")
        if self.dtype.itemsize != self.chain.itemsize:
            raise ValueError(
                f"dtype: {self.dtype} has items of {self.dtype.itemsize} bytes, the chain of {self.chain.itemsize}")
        if len(self.fill) != self.dtype.itemsize:
            raise ValueError(f"fill: expected {self.dtype.itemsize} bytes, got {len(self.fill)}")
        self.chain.check_ndim(ndim)
        if key_encoding[0] not in ("default", "v2", "n5") or key_encoding[1] not in (".", "/"):
            raise ValueError(f"key_encoding: expected 'default', 'v2' or 'n5' with '.' or '/', got {key_encoding}")
        if type(self.source) not in (LocalSource, MemorySource, StoreSource):
            raise TypeError(f"source: expected a source of this module, got {type(self.source).__name__}")
        return 0

    cdef int _set_axis(self, Py_ssize_t d, length, chunk) except -1:
        cdef cnp.ndarray edges
        self.c.grid[d].length = length
        self.c.grid[d].edges = NULL
        if isinstance(chunk, tuple):
            edges = np.zeros(len(chunk) + 1, dtype=np.int64)
            np.cumsum(int64_array(chunk), out=edges[1:])
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
        """Return the store key of a chunk."""
        cdef int64_t coordinates[64]
        for i in range(self.c.ndim):
            coordinates[i] = chunk[i]
        return self._key(coordinates)

    cdef str _key(self, const int64_t *chunk):
        cdef bytes buffer = PyBytes_FromStringAndSize(NULL, zc_chunk_key_size(&self.c))
        zc_chunk_key(&self.c, chunk, PyBytes_AS_STRING(buffer))
        return (<bytes>PyBytes_AS_STRING(buffer)).decode()

    # ---- calls

    cdef int run(self, zc_selection *selection, int threads, bint write, bint write_empty,
                 const zc_given *blocks=NULL, bint prefetch=False, object token=None,
                 const zc_trial *trial=NULL, object memory=None) except -1:
        """Run one call of the engine and raise what went wrong; it may be cancelled by `token`.

        `memory` is the array that is written, if it is one.
        """
        cdef zc_call call
        cdef zc_store store
        cdef zc_local local
        cdef zc_fault fault
        cdef zc_met met
        cdef zc_error err
        cdef zc_status status
        cdef Session session = Session.__new__(Session)

        session.source = self.source
        session.token = token
        session.memory = memory
        session.compares = not (write or prefetch)
        open_store(session, &local, &store)
        if self.place is None and (write or self.cache is not None or type(self.source) is StoreSource):
            self.find_place()
        if write and type(self.source) is StoreSource and (<StoreSource>self.source).waits is not None:
            store.waits = (<StoreSource>self.source).waits()
            store.window = (<StoreSource>self.source).window()
        memset(&call, 0, sizeof(call))
        call.array = &self.c
        call.store = &store
        call.selection = selection
        call.threads = threads
        call.write_empty = write_empty
        call.prefetch = prefetch
        call.blocks = blocks
        met.is_set = False
        call.trial = trial
        call.met = &met if write and self.place is not None and self.place.warns else NULL
        call.poll = poll_session
        call.poll_arg = <void *>session
        zc_error_clear(&err)
        if not write and zc_read_is_short(&call):
            # To release the GIL several times takes longer than such a read; other threads would wait for it.
            call.threads = 1
            status = zc_read(&call, &fault, &err)
        else:
            with nogil:
                status = zc_write(&call, &fault, &err) if write else zc_read(&call, &fault, &err)
        if status != ZC_OK:
            if session.interrupted:
                raise session.error
            if status == ZC_ERR_CANCELLED and token is not None and token.cancelled:
                return 0
            self.is_stale |= status == ZC_ERR_STALE
            self.raise_failure(status, &fault, &err, session, write)
        elif session.error is not None:
            raise session.error
        if met.is_set:
            tell_of_overlap(self.path, self._key(met.chunk)[self.c.prefix_len:])
        return 0

    cdef int raise_failure(self, zc_status status, const zc_fault *fault, const zc_error *err, Session session,
                           bint write, str prefix="") except -1:
        """Turn a failure into the exception that names its place; `prefix` goes before the reason."""
        cause = session.causes[err.cause - 1] if err.cause else session.error
        if cause is not None and not isinstance(cause, Exception):
            raise cause                       # KeyboardInterrupt and its like, in a callback
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
        reason = prefix + message(err)
        if err.cause:
            raise _located(cause, place, write)
        if status == ZC_ERR_MISSING:
            raise errors.ChunkNotFoundError(str(errors.ChunkError(reason, **place)))
        if cause is not None:
            raise errors.ChunkIOError(f"{prefix}{errors.named(cause)}", **place) from cause
        kind = chunk_errors.get(<int>status, errors.ChunkDecodeError)
        if write and status in (ZC_ERR_ARGUMENT, ZC_ERR_OVERFLOW, ZC_ERR_UNSUPPORTED):
            kind = errors.ChunkEncodeError
        error = kind(reason or "out of memory", **place)
        if status == ZC_ERR_IO:
            error.errno = err.sys_errno
        raise error

    cdef object _inner_chunk(self, const zc_fault *fault, uint64_t number):
        """Coordinates of an inner chunk, in the array's order of dimensions, from its number in the shard."""
        cdef int d
        order = self.chain.order or tuple(range(self.c.ndim))
        coordinates = [0] * self.c.ndim
        for d in reversed(range(self.c.ndim)):
            axis = order[d]
            _start, length = chunk_extent(&self.c, axis, fault.chunk[axis])
            number, coordinates[axis] = divmod(number, length // self.chain.shard.inner_shape[d])
        return tuple(coordinates)

    def read(self, dims, cnp.ndarray out not None, threads=0, field=None, token=None) -> None:
        """Read a region into `out`, of this dtype and of the shape that `dims` selects, with any strides.

        `dims` has for each dimension ``(start, step, count)``, where element k of `out` is element ``start + k * step``
        of the array, or an array of int64 indices.  Nothing is wrapped round or clipped.  With `field`, the field of
        each record that is wanted, `out` has its dtype, or is of void items of its size if the field is an array
        itself; several fields, in a tuple, make up the records of `out`, in any layout.  The call ends early, without
        an error, when ``token.cancelled`` is true.
        """
        self._transfer(dims, out, "out", threads, field, points=False, write=False, write_empty=False, token=token)

    def write(self, dims, cnp.ndarray value not None, threads=0, write_empty=False, field=None) -> None:
        """Write `value` to a region; parameters as of :meth:`read`.

        With `write_empty`, chunks that hold nothing but the fill value are stored, not removed.  Fields that are not
        written keep their values, also if another thread writes them meanwhile.
        """
        self._transfer(dims, value, "value", threads, field, points=False, write=True, write_empty=write_empty)

    def read_points(self, coords, cnp.ndarray out not None, threads=0, field=None, token=None) -> None:
        """Read n single elements to the n items of `out`; `coords` has their int64 indices for each dimension."""
        self._transfer(coords, out, "out", threads, field, points=True, write=False, write_empty=False, token=token)

    cdef bint may_be_current(self) except -1:
        """Whether the metadata have the version that was noted, as far as looks show, which are made now and then."""
        cdef int64_t now = zc_now_ns()
        if now - self.looked_ns >= ZC_LOOK_NS:
            self.looked_ns = now
            self.is_stale |= not is_as_noted(self.source, self.prefix)
        return not self.is_stale

    def note_look(self) -> None:
        """Note that the metadata have been looked at just now: writes go by that for a moment."""
        self.looked_ns = zc_now_ns()

    def confirm(self, bint now=True) -> None:
        """Look whether several reads were of one array: if they may not have been, `is_stale` is true then.

        Not `now`: a look that was a moment ago will do.
        """
        self.looked_ns = 0 if now else self.looked_ns
        self.may_be_current()

    cdef int _transfer(self, where, cnp.ndarray memory, str name, threads, field, bint points, bint write,
                       bint write_empty=False, object token=None) except -1:
        """Read or write a region or points."""
        cdef zc_selection selection
        cdef zc_window window
        check_memory(memory, name, 1 if points else self.c.ndim, field_dtype(self.dtype, field, memory))
        if not write and not cnp.PyArray_ISWRITEABLE(memory):
            raise ValueError("out: is read-only")
        if points and not write and type(where) is MaskPoints and self._picks(where, memory, field):
            return self._read_picked(where, memory, thread_number(threads), field, token)
        _kept = (set_points if points else set_region)(&selection, &self.c, where, memory)
        _kept_fields = set_fields(&selection, &window, self.c.chain, self.dtype, field, memory, write)
        if cnp.PyArray_SIZE(memory):
            self.run(&selection, thread_number(threads), write, write_empty, NULL, False, token, NULL,
                     memory if write else None)
        return 0

    cdef bint _picks(self, MaskPoints points, cnp.ndarray out, field) except -1:
        """Can chunks be read by the mask itself, and does that pay?"""
        return (self.c.ndim > 0 and not isinstance(field, tuple) and cnp.PyArray_ISCONTIGUOUS(out)
                and cnp.PyArray_DIM(out, 0) == points.count
                and points.suits(self.shape, self.c.grid[self.c.ndim - 1].chunk, self.chain))

    cdef int _read_picked(self, MaskPoints points, cnp.ndarray out, int threads, field, object token) except -1:
        """The same where a mask of the array is true."""
        cdef zc_selection selection
        cdef zc_window window
        cdef zc_picked picked
        if field is None:
            _kept_fields = set_window(&window, self.c.chain, 0, self.dtype.itemsize)
        else:
            _kept_fields = set_fields(&selection, &window, self.c.chain, self.dtype, field, out, False)
        points.set_selection(&selection, &window, &picked, out)
        if points.count:
            self.run(&selection, threads, False, False, NULL, False, token)
        return 0

    def write_points(self, coords, cnp.ndarray value not None, threads=0, write_empty=False, field=None) -> None:
        """Write single elements, or fields of them; of several values for one element the last one stays."""
        self._transfer(coords, value, "value", threads, field, points=True, write=True, write_empty=write_empty)

    def check_objects(self, selected, value, *, points) -> None:
        """Do nothing: no item is an object."""

    def write_gathered(self, chunk, dict blocks not None, bint complete, threads=0, write_empty=False) -> None:
        """Write parts of one chunk that were gathered, at once: one read, one patch, one replacement.

        `chunk` is its place in the grid.  `blocks` are contiguous values of inner chunks, by their coordinates in the
        chunk; of a chunk without any, those of the chunk under a key of zeros.  Each is an array of the whole shape,
        with an array of booleans that marks which elements are given, or None if all of them are.  If they are
        `complete`, all elements of the array in the chunk, nothing is read.
        """
        cdef zc_selection selection
        cdef zc_window window
        cdef zc_given given
        if self.c.chain.sharded:
            _kept = set_blocks(&selection, &given, &self.c, self.chain, self.dtype, chunk, blocks)
            given.complete = complete
            self.run(&selection, thread_number(threads), True, write_empty, &given)
        else:
            _kept = set_chunk(&selection, &window, &self.c, self.dtype, chunk, blocks)
            self.run(&selection, thread_number(threads), True, write_empty)

    def get(self, key, threads=0):
        """Read a basic selection: integers, slices with any step, Ellipsis.

        NotImplemented is returned for every other kind of selection, for one that is out of bounds, and if the array
        `is_left` or `is_stale`.
        """
        cdef zc_selection selection
        cdef bint scalar = True
        cdef cnp.ndarray out = self.lay_out(&selection, key, None, &scalar)

        if out is None:
            return NotImplemented
        if cnp.PyArray_SIZE(out):
            try:
                self.run(&selection, thread_number(threads), False, False)
            except errors.ChunkError:
                if not self.is_other():
                    raise
        if self.is_other():
            return NotImplemented
        return out[()] if scalar else out

    cdef cnp.ndarray lay_out(self, zc_selection *selection, object key, cnp.ndarray given, bint *scalar):
        """Set a basic selection that is read into a new array, which is returned, or into the contiguous one given.

        None is returned for every other kind of selection, one that is out of bounds, and if the array does not fit.
        """
        cdef cnp.npy_intp shape[64]
        cdef int axis_of[64]
        cdef int ndim = 0, d
        cdef cnp.ndarray out = given
        cdef tuple entries = key if type(key) is tuple else (key,)

        if not set_basic(selection, &self.c, entries, shape, axis_of, &ndim, scalar):
            return None
        if given is None:
            out = new_result(self.dtype, ndim, shape)
        elif not (self.fits(given, ndim, shape) and cnp.PyArray_ISCARRAY(given)):
            return None
        if cnp.PyArray_SIZE(out):
            selection.memory = <char *>cnp.PyArray_DATA(out)
            for d in range(self.c.ndim):
                if axis_of[d] >= 0:
                    set_axis(selection, d, selection.axis[d].start, selection.axis[d].step, selection.axis[d].count,
                             cnp.PyArray_STRIDE(out, axis_of[d]))
        return out

    cdef bint fits(self, cnp.ndarray array, int ndim, const cnp.npy_intp *shape) except -1:
        """Whether an array has this shape, and the data type of the items."""
        cdef int d
        if cnp.PyArray_NDIM(array) != ndim or not (array.dtype is self.dtype or array.dtype == self.dtype):
            return False
        for d in range(ndim):
            if cnp.PyArray_DIM(array, d) != shape[d]:
                return False
        return True

    def put(self, key, value, bint write_empty=False, threads=0) -> bool:
        """Write to a basic selection what needs neither a cast nor a broadcast: an array, or a Python number.

        False is returned, and nothing was written, for every other selection and value, and where others have
        replaced the metadata: the array `is_stale` then.
        """
        cdef zc_selection selection
        cdef cnp.npy_intp shape[64]
        cdef int axis_of[64]
        cdef int ndim = 0, d
        cdef bint scalar = True, given = cnp.PyArray_CheckExact(value)
        cdef int64_t number = 0, size = 1
        cdef cnp.ndarray array = None
        cdef tuple entries = key if type(key) is tuple else (key,)

        if not given and not set_number(&number, self.dtype, value):
            return False
        if not set_basic(&selection, &self.c, entries, shape, axis_of, &ndim, &scalar):
            return False
        if given:
            array = value
            if not self.fits(array, ndim, shape):
                return False
        selection.memory = <char *>cnp.PyArray_DATA(array) if given else <char *>&number
        for d in range(self.c.ndim):
            size = min(size, selection.axis[d].count)
            if axis_of[d] >= 0:
                set_axis(&selection, d, selection.axis[d].start, selection.axis[d].step, selection.axis[d].count,
                         cnp.PyArray_STRIDE(array, axis_of[d]) if given else 0)
        if size:
            if not self.may_be_current():
                return False
            self.run(&selection, thread_number(threads), True, write_empty, NULL, False, None, NULL, array)
        return True
