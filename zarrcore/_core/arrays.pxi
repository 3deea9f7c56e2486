# Arrays: selections in, calls of the engine, exceptions out.

cdef cnp.ndarray _int64(object values):
    # A copy of its own: the engine reads it after the check, when other threads may write to the caller's array.
    values = np.array(values)
    if values.dtype.kind not in "iu" and values.size:
        raise TypeError(f"indices must be integers, got {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.int64)


@cython.final
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
        ``("default", separator)``, ``("v2", separator)`` or ``("n5", separator)``, which is v2 with the last
        coordinate first.
    chain : Chain
        How chunks are encoded.
    dtype : numpy.dtype
        Of the elements in memory; its item size is the chain's.
    fill : bytes or None
        One element, for chunks that are absent.  None: zero bytes.
    path : str
        The array's path, for messages.
    missing_is_error : bool
        Reading a chunk that is absent raises ChunkNotFoundError.
    cache : ChunkCache, optional
        Where decoded chunks are kept.
    scope : callable, optional
        Returns the scope of the array's :class:`Place`; asked once, when it is needed.  Default: the source's own.

    Notes
    -----
    Immutable; any number of threads may use it at once.  All methods release the GIL while they work.
    """

    cdef zc_array c
    is_native = True

    cdef readonly object source
    cdef readonly Chain chain
    cdef readonly cnp.dtype dtype
    cdef readonly ChunkCache cache
    cdef readonly tuple shape
    cdef readonly str path
    cdef bytes prefix
    cdef bytes fill
    cdef list edges
    cdef object scope
    cdef Place place

    def __init__(self, source, prefix, *, shape, chunks, key_encoding=("default", "/"), Chain chain not None, dtype,
                 fill=None, path="", missing_is_error=False, ChunkCache cache=None, scope=None):
        cdef Py_ssize_t d
        cdef const char *separator
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
        if chain.shard is not None and self.c.indexes == NULL:
            self.c.indexes = zc_cache_new(ZC_INDEX_CACHE_BYTES)

    def __dealloc__(self):
        zc_cache_free(self.c.indexes)

    cdef int _find_place(self) except -1:
        """Have the array know its place; reads that need neither lock nor generation do without."""
        cdef Place place
        if self.place is None:
            scope = self.scope() if self.scope is not None else f"{_own_scope(self.source)}{self.prefix.decode()}"
            place = Place(scope if scope.endswith("/") else f"{scope}/")
            with cython.critical_section(self):
                if self.place is None:
                    self.place = place
                    self.c.place = &place.c
        return 0

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

    cdef int _run(self, zc_selection *selection, int threads, bint write, bint write_empty,
                  const zc_given *blocks=NULL, object token=None) except -1:
        """Run one call of the engine and raise what went wrong; it may be cancelled by `token`."""
        cdef zc_call call
        cdef zc_store store
        cdef zc_local local
        cdef zc_fault fault
        cdef zc_error err
        cdef zc_status status
        cdef _Session session = _Session.__new__(_Session)

        session.source = self.source
        session.token = token
        _open_store(session, &local, &store)
        if self.place is None and (write or self.cache is not None or type(self.source) is StoreSource):
            self._find_place()
        if write and type(self.source) is StoreSource and (<StoreSource>self.source).waits is not None:
            store.waits = (<StoreSource>self.source).waits()
        call.array = &self.c
        call.store = &store
        call.selection = selection
        call.threads = threads
        call.write_empty = write_empty
        call.blocks = blocks
        call.poll = _poll
        call.poll_arg = <void *>session
        zc_error_clear(&err)
        with nogil:
            if write:
                status = zc_write(&call, &fault, &err)
            else:
                status = zc_read(&call, &fault, &err)
        if status != ZC_OK:
            if session.interrupted:
                raise session.error
            if status == ZC_ERR_CANCELLED and token is not None and token.cancelled:
                return 0
            self._raise(status, &fault, &err, session.error, write)
        elif session.error is not None:
            raise session.error
        return 0

    cdef int _raise(self, zc_status status, const zc_fault *fault, const zc_error *err, object cause,
                    bint write, str prefix="") except -1:
        """Turn a failure into the exception that names its place; `prefix` goes before the reason."""
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
        reason = prefix + (<bytes>err.message).decode("utf-8", "replace")
        if status == ZC_ERR_MISSING:
            raise errors.ChunkNotFoundError(str(errors.ChunkError(reason, **place)))
        if cause is not None:
            raise errors.ChunkIOError(f"{prefix}{type(cause).__name__}: {cause}", **place) from cause
        if status == ZC_ERR_IO:
            error = errors.ChunkIOError(reason, **place)
            error.errno = err.sys_errno
            raise error
        if status == ZC_ERR_CHECKSUM:
            raise errors.ChecksumError(reason, **place)
        if status == ZC_ERR_MEMORY:
            raise errors.ChunkMemoryError(reason or "out of memory", **place)
        if status == ZC_ERR_LOCKED:
            raise errors.ChunkLockError(reason, **place)
        if status == ZC_ERR_ENCODE or (write and status in (ZC_ERR_ARGUMENT, ZC_ERR_OVERFLOW, ZC_ERR_UNSUPPORTED)):
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
        return thread_number(threads)

    cdef int _check_memory(self, cnp.ndarray array, str name, Py_ssize_t ndim, expected=None) except -1:
        if cnp.PyArray_NDIM(array) != ndim:
            raise ValueError(f"{name}: expected {ndim} dimensions, got {array.ndim}")
        dtype = array.dtype
        if expected is None:
            expected = self.dtype
        if dtype is not expected and dtype != expected:
            raise ValueError(f"{name}: expected dtype {expected}, got {dtype}")
        return 0

    cdef object _set_window(self, zc_window *window, size_t offset, size_t size):
        """Describe some bytes of every element; returns what must stay alive."""
        cdef const zc_chain *chain = self.chain.c
        cdef const zc_swap_field *field
        cdef size_t begin, end, i
        cdef uint32_t n = 0
        cdef bytes kept
        cdef zc_swap_field *fields
        while chain.sharded:                  # the innermost chain is the one that swaps
            chain = chain.inner
        window.patches = False
        window.mask = NULL
        window.picked = NULL
        window.offset = offset
        window.item.size = size
        window.item.word = chain.item.word
        kept = PyBytes_FromStringAndSize(NULL, chain.item.n_fields * sizeof(zc_swap_field))
        fields = <zc_swap_field *>PyBytes_AS_STRING(kept)
        for i in range(chain.item.n_fields):
            field = &chain.item.fields[i]
            begin = max(<size_t>field.offset, offset)
            end = min(<size_t>field.offset + field.word * field.count, offset + size)
            if begin < end:
                fields[n].offset = <uint32_t>(begin - offset)
                fields[n].word = field.word
                fields[n].count = <uint32_t>((end - begin) // field.word)
                n += 1
        window.item.fields = fields
        window.item.n_fields = n
        window.item.n_pieces = 0
        return kept

    cdef list _set_pieces(self, zc_window *window, list runs, size_t size):
        """Describe several pieces of every element, which make up items of `size` bytes; as _set_window."""
        cdef bytes held = PyBytes_FromStringAndSize(NULL, len(runs) * sizeof(zc_piece))
        cdef zc_piece *pieces = <zc_piece *>PyBytes_AS_STRING(held)
        cdef list kept = [held]
        cdef zc_window one
        cdef Py_ssize_t i
        for i in range(len(runs)):
            pieces[i].from_, pieces[i].to, length = runs[i]
            kept.append(self._set_window(&one, runs[i][0], length))
            pieces[i].item = one.item
        self._set_window(window, 0, size)
        window.item.word = 0
        window.item.n_fields = 0
        window.item.n_pieces = <uint32_t>len(runs)
        window.item.pieces = pieces
        return kept

    cdef object _set_fields(self, zc_selection *selection, zc_window *window, field, cnp.ndarray out):
        """Have a selection read one field, or several; returns what must stay alive."""
        if field is None:
            return None
        selection.window = window
        if isinstance(field, str):
            dtype, offset = _field(self.dtype, field)
            return self._set_window(window, offset, dtype.itemsize)
        return self._set_pieces(window, _runs(self.dtype, field, out.dtype), out.dtype.itemsize)

    cdef object _set_written(self, zc_selection *selection, zc_window *window, field, cnp.ndarray value):
        """Have a selection write one field, or several; returns what must stay alive."""
        if field is None:
            return None
        selection.window = window
        if isinstance(field, str):
            dtype, offset = _field(self.dtype, field)
            kept = self._set_window(window, offset, dtype.itemsize)
        else:
            runs = _runs(self.dtype, field, value.dtype)
            kept = self._set_pieces(window, runs, self.dtype.itemsize)
            for i in range(len(runs)):            # the way is the other one: from the memory to the record
                (<zc_piece *>window.item.pieces)[i].from_ = runs[i][1]
                (<zc_piece *>window.item.pieces)[i].to = runs[i][0]
        window.patches = True
        return kept

    cdef object _expected(self, field, cnp.ndarray out):
        """The data type that memory for a field has to have; that for several fields is looked at later."""
        if field is None:
            return None
        return _field(self.dtype, field)[0] if isinstance(field, str) else out.dtype

    cdef list _set_region(self, zc_selection *selection, dims, cnp.ndarray array):
        """Describe the selection `dims` of this array and its place in `array`; returns what must stay alive."""
        cdef list kept = []
        cdef int d
        cdef int64_t start, step, count, length, stride
        cdef cnp.ndarray index, place

        if len(dims) != self.c.ndim:
            raise ValueError(f"dims: expected {self.c.ndim} entries, got {len(dims)}")
        selection.ndim = self.c.ndim
        selection.points = NULL
        selection.window = NULL
        selection.memory = <char *>cnp.PyArray_DATA(array)
        for d in range(self.c.ndim):
            entry = dims[d]
            length = self.c.grid[d].length
            stride = cnp.PyArray_STRIDE(array, d)
            if isinstance(entry, tuple):
                start, step, count = entry
                if count != cnp.PyArray_DIM(array, d):
                    raise ValueError(f"dims[{d}] selects {count} elements, the memory has {array.shape[d]}")
                if step == 0 and count > 1:
                    raise ValueError(f"dims[{d}]: {entry} has a step of 0")
                if count > 0 and not (0 <= start < length and 0 <= start + (count - 1) * step < length):
                    raise errors.BoundsCheckError(f"dims[{d}]: {entry} leaves the {length} elements of the dimension")
                _set_axis_slice(selection, d, start, step, count, stride)
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
            selection.axis[d].start = 0
            selection.axis[d].step = 1
            selection.axis[d].count = count
            selection.axis[d].stride = stride
            selection.axis[d].index = <const int64_t *>cnp.PyArray_DATA(index)
            selection.axis[d].place = <const int64_t *>cnp.PyArray_DATA(place)
        return kept

    def read(self, dims, cnp.ndarray out not None, threads=0, field=None) -> None:
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
        field : str or tuple of str, optional
            The field of each record that is wanted; `out` has its dtype, or is of void items of its size if the
            field is an array itself.  Several fields make up the records of `out`, in any layout.

        Raises
        ------
        ChunkError
            If a chunk that is present could not be read.
        """
        cdef zc_selection selection
        cdef zc_window window
        self._check_memory(out, "out", self.c.ndim, self._expected(field, out))
        if not cnp.PyArray_ISWRITEABLE(out):
            raise ValueError("out: is read-only")
        kept = self._set_region(&selection, dims, out)
        described = self._set_fields(&selection, &window, field, out)
        if cnp.PyArray_SIZE(out):
            self._run(&selection, self._threads(threads), False, False)

    def write(self, dims, cnp.ndarray value not None, threads=0, write_empty=False, field=None) -> None:
        """Write `value` to a region; parameters as of :meth:`read`.

        Parameters
        ----------
        write_empty : bool
            Store chunks that hold nothing but the fill value, instead of removing them.
        field : str or tuple of str, optional
            The fields of each record that are written, of the dtype that :meth:`read` asks for; the others keep
            their values, also if another thread writes them meanwhile.
        """
        cdef zc_selection selection
        cdef zc_window window
        self._check_memory(value, "value", self.c.ndim, self._expected(field, value))
        kept = self._set_region(&selection, dims, value)
        described = self._set_written(&selection, &window, field, value)
        if cnp.PyArray_SIZE(value):
            self._run(&selection, self._threads(threads), True, write_empty)

    cdef list _set_points(self, zc_selection *selection, coords, cnp.ndarray array):
        cdef list kept = []
        cdef int d
        cdef cnp.ndarray index, points
        cdef int64_t n = cnp.PyArray_DIM(array, 0)

        if len(coords) != self.c.ndim or self.c.ndim == 0:
            raise ValueError(f"coords: expected {max(self.c.ndim, 1)} arrays, got {len(coords)}")
        selection.ndim = self.c.ndim
        selection.window = NULL
        selection.memory = <char *>cnp.PyArray_DATA(array)
        selection.point_stride = cnp.PyArray_STRIDE(array, 0)
        for d in range(self.c.ndim):
            index = _int64(coords[d])
            if cnp.PyArray_NDIM(index) != 1 or cnp.PyArray_DIM(index, 0) != n:
                raise ValueError(f"coords[{d}]: expected {n} indices, got {index.size}")
            if n and not (0 <= index.min() and index.max() < self.c.grid[d].length):
                raise errors.BoundsCheckError(
                    f"coords[{d}]: indices leave the {self.c.grid[d].length} elements of the dimension")
            kept.append(index)
            selection.axis[d].start = 0
            selection.axis[d].step = 1
            selection.axis[d].count = n
            selection.axis[d].stride = 0
            selection.axis[d].index = <const int64_t *>cnp.PyArray_DATA(index)
            selection.axis[d].place = NULL
        points = np.arange(n, dtype=np.int64)
        kept.append(points)
        selection.points = <const int64_t *>cnp.PyArray_DATA(points)
        selection.n_points = n
        return kept

    def read_points(self, coords, cnp.ndarray out not None, threads=0, field=None) -> None:
        """Read single elements.

        Parameters
        ----------
        coords : sequence of numpy.ndarray
            For each dimension the int64 indices of all n elements.
        out : numpy.ndarray
            Of this dtype, shape (n,).
        threads : int
            Most threads to use; 0: the default.
        field : str or tuple of str, optional
            As of :meth:`read`.
        """
        cdef zc_selection selection
        cdef zc_window window
        self._check_memory(out, "out", 1, self._expected(field, out))
        if not cnp.PyArray_ISWRITEABLE(out):
            raise ValueError("out: is read-only")
        if type(coords) is MaskPoints and self._picks(coords, out, field):
            self._read_picked(coords, out, self._threads(threads), field)
            return
        kept = self._set_points(&selection, coords, out)
        described = self._set_fields(&selection, &window, field, out)
        if selection.n_points:
            self._run(&selection, self._threads(threads), False, False)

    cdef bint _picks(self, MaskPoints points, cnp.ndarray out, field) except -1:
        """Can chunks be read by the mask itself, and does that pay?"""
        return (self.c.ndim > 0 and not isinstance(field, tuple) and cnp.PyArray_ISCONTIGUOUS(out)
                and cnp.PyArray_DIM(out, 0) == points.count
                and points.suits(self.shape, self.c.grid[self.c.ndim - 1].chunk, self.chain))

    cdef int _read_picked(self, MaskPoints points, cnp.ndarray out, int threads, field) except -1:
        """The same where a mask of the array is true."""
        cdef zc_selection selection
        cdef zc_window window
        cdef zc_picked picked
        if field is None:
            described = self._set_window(&window, 0, self.dtype.itemsize)
        else:
            described = self._set_fields(&selection, &window, field, out)
        points.set_selection(&selection, &window, &picked, out)
        if points.count:
            self._run(&selection, threads, False, False)
        return 0

    def write_points(self, coords, cnp.ndarray value not None, threads=0, write_empty=False, field=None) -> None:
        """Write single elements, or fields of them; of several values for one element the last one stays."""
        cdef zc_selection selection
        cdef zc_window window
        self._check_memory(value, "value", 1, self._expected(field, value))
        kept = self._set_points(&selection, coords, value)
        described = self._set_written(&selection, &window, field, value)
        if selection.n_points:
            self._run(&selection, self._threads(threads), True, write_empty)

    def write_gathered(self, chunk, dict blocks not None, bint complete, threads=0, write_empty=False) -> None:
        """Write parts of one chunk that were gathered, at once: one read, one patch, one replacement.

        Parameters
        ----------
        chunk : sequence of int
            The chunk's place in the grid.
        blocks : dict
            Contiguous values of inner chunks, by their coordinates in the chunk; of a chunk without any, those of the
            chunk under a key of zeros.  Each is an array of the whole shape, with an array of booleans that marks which
            elements are given, or None if all of them are.
        complete : bool
            The blocks hold all elements of the array in the chunk, so that nothing is read.
        threads, write_empty
            As of :meth:`write`.
        """
        _write_gathered(self, chunk, blocks, complete, threads, write_empty)

    def get(self, key, threads=0):
        """Read a basic selection: integers, slices with any step, Ellipsis.

        Returns
        -------
        numpy.ndarray, scalar or NotImplemented
            NotImplemented for every other kind of selection, and for one that is out of bounds.
        """
        cdef zc_selection selection
        cdef cnp.npy_intp shape[64]
        cdef int axis_of[64]
        cdef int result_ndim = 0, d
        cdef bint scalar = True
        cdef cnp.ndarray out
        cdef tuple entries = key if type(key) is tuple else (key,)

        if not self._parse(entries, &selection, shape, axis_of, &result_ndim, &scalar):
            return NotImplemented
        Py_INCREF(self.dtype)                 # the new array takes over one reference
        out = PyArray_NewFromDescr(cnp.ndarray, self.dtype, result_ndim, shape, NULL, NULL, 0, None)
        if cnp.PyArray_SIZE(out):
            selection.memory = <char *>cnp.PyArray_DATA(out)
            for d in range(self.c.ndim):
                if axis_of[d] >= 0:
                    _set_axis_slice(&selection, d, selection.axis[d].start, selection.axis[d].step,
                                    selection.axis[d].count, cnp.PyArray_STRIDE(out, axis_of[d]))
            self._run(&selection, self._threads(threads), False, False)
        return out[()] if scalar else out

    cdef bint _parse(self, tuple entries, zc_selection *selection, cnp.npy_intp *shape, int *axis_of, int *result_ndim,
                     bint *scalar) except -1:
        """Take a basic selection apart; False if it is none.  Axes keep the signs of their steps."""
        cdef Py_ssize_t start, stop, step, length, n = len(entries), i
        cdef int d = 0, skipped
        cdef bint ellipsis = False

        selection.ndim = self.c.ndim
        selection.points = NULL
        selection.window = NULL
        for i in range(n):
            entry = entries[i]
            if entry is Ellipsis:
                if ellipsis:
                    return False
                ellipsis = True
                skipped = self.c.ndim - <int>(n - 1)
                if skipped < 0:
                    return False
                while skipped > 0:
                    self._whole_axis(selection, shape, axis_of, result_ndim, d)
                    d += 1
                    skipped -= 1
                continue
            if d >= self.c.ndim:
                return False
            length = self.c.grid[d].length
            if PySlice_Check(entry):
                PySlice_Unpack(entry, &start, &stop, &step)
                selection.axis[d].count = PySlice_AdjustIndices(length, &start, &stop, step)
                selection.axis[d].start = start
                selection.axis[d].step = step
                axis_of[d] = result_ndim[0]
                shape[result_ndim[0]] = selection.axis[d].count
                result_ndim[0] += 1
            elif PyLong_CheckExact(entry) or isinstance(entry, np.integer):
                start = PyNumber_AsSsize_t(entry, IndexError)
                if start < 0:
                    start += length
                if start < 0 or start >= length:
                    return False
                _set_axis_slice(selection, d, start, 1, 1, 0)
                axis_of[d] = -1
            else:
                return False
            d += 1
        while d < self.c.ndim:
            self._whole_axis(selection, shape, axis_of, result_ndim, d)
            d += 1
        if result_ndim[0] > 0:
            scalar[0] = False
        return True

    cdef void _whole_axis(self, zc_selection *selection, cnp.npy_intp *shape, int *axis_of, int *result_ndim,
                          int d) noexcept:
        selection.axis[d].start = 0
        selection.axis[d].step = 1
        selection.axis[d].count = self.c.grid[d].length
        axis_of[d] = result_ndim[0]
        shape[result_ndim[0]] = self.c.grid[d].length
        result_ndim[0] += 1


cdef void _set_axis_slice(zc_selection *selection, int d, int64_t start, int64_t step, int64_t count,
                          int64_t stride) noexcept:
    """Set one axis; a negative step is turned round, for the engine counts upwards."""
    if step < 0 and count > 0:
        start += (count - 1) * step
        selection.memory += (count - 1) * stride
        stride = -stride
        step = -step
    selection.axis[d].index = NULL
    selection.axis[d].place = NULL
    selection.axis[d].start = start
    selection.axis[d].step = step if count > 1 else 1
    selection.axis[d].count = count
    selection.axis[d].stride = stride
