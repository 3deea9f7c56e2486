# Gathered writes: many parts of one chunk as a single read, patch and replacement.

cdef list _gathered(NativeArray array, cnp.ndarray values, mask, shape):
    """Check the memory of gathered values; returns what must stay alive while it is used."""
    cdef int d
    array._check_memory(values, "values", array.c.ndim)
    for d in range(array.c.ndim):
        if cnp.PyArray_DIM(values, d) != shape[d]:
            raise ValueError(f"values: expected shape {tuple(shape)}, got {np.shape(values)}")
    if mask is not None and not (
        mask.dtype == np.bool_ and np.shape(mask) == np.shape(values) and mask.flags.c_contiguous
    ):
        raise ValueError(f"mask: expected contiguous booleans of shape {np.shape(values)}")
    if not values.flags.c_contiguous:
        raise ValueError("values: are not contiguous")
    return [values, mask]


cdef int _write_gathered(NativeArray array, chunk, dict blocks, bint complete, threads, bint write_empty) except -1:
    """Write blocks of one chunk, see :meth:`NativeArray.write_gathered`."""
    cdef zc_selection selection
    cdef zc_window window
    cdef zc_given given
    cdef int64_t start, length
    cdef int d
    cdef list kept = []
    lengths = []
    selection.ndim = array.c.ndim
    selection.points = NULL
    selection.window = NULL
    selection.memory = NULL
    for d in range(array.c.ndim):
        start, length = _chunk_extent(array, d, chunk[d])
        lengths.append(length)
        _set_axis_slice(&selection, d, start, 1, min(length, array.c.grid[d].length - start), 0)
    if array.c.chain.sharded:
        _set_blocks(array, &given, blocks, lengths, kept)
        given.complete = complete
        return array._run(&selection, array._threads(threads), True, write_empty, &given)
    (values, mask), = blocks.values()
    kept = _gathered(array, values, mask, lengths)
    selection.memory = <char *>cnp.PyArray_DATA(values)
    for d in range(array.c.ndim):
        selection.axis[d].stride = cnp.PyArray_STRIDE(values, d)
    if mask is not None:
        memset(&window, 0, sizeof(window))
        window.mask = <const uint8_t *>cnp.PyArray_DATA(mask)
        window.first = selection.memory
        selection.window = &window
    return array._run(&selection, array._threads(threads), True, write_empty)


cdef tuple _chunk_extent(NativeArray array, int d, int64_t chunk):
    """Where a chunk begins along a dimension, and its length."""
    cdef const zc_grid_axis *axis = &array.c.grid[d]
    cdef int64_t n = axis.n_edges if axis.edges != NULL else (axis.length + axis.chunk - 1) // axis.chunk
    if not 0 <= chunk < n:
        raise errors.BoundsCheckError(f"chunk {chunk} is not one of the {n} of dimension {d}")
    if axis.edges == NULL:
        return chunk * axis.chunk, axis.chunk
    return axis.edges[chunk], axis.edges[chunk + 1] - axis.edges[chunk]


cdef int _set_blocks(NativeArray array, zc_given *given, dict blocks, list lengths, list kept) except -1:
    """Set up the table of the inner chunks of a shard, whose memory goes to `kept`."""
    cdef zc_given_block *table
    cdef int d
    cdef cnp.ndarray values
    order = array.chain.order or tuple(range(array.c.ndim))
    stored = array.chain.shard.inner_shape
    grid = [lengths[axis] // stored[d] for d, axis in enumerate(order)]
    shape = [0] * array.c.ndim
    for d, axis in enumerate(order):
        shape[axis] = stored[d]
    memory = bytearray(max(1, int(np.prod(grid, dtype=np.int64))) * sizeof(zc_given_block))
    kept.append(memory)
    table = <zc_given_block *>PyByteArray_AS_STRING(memory)
    for place, (values, mask) in blocks.items():
        number = 0
        for d, axis in enumerate(order):
            if not 0 <= place[axis] < grid[d]:
                raise errors.BoundsCheckError(f"inner chunk {place} is not one of the shard")
            number = number * grid[d] + place[axis]
        kept.append(_gathered(array, values, mask, shape))
        table[<size_t>number].values = <const char *>cnp.PyArray_DATA(values)
        if mask is not None:
            table[<size_t>number].mask = <const uint8_t *>cnp.PyArray_DATA(mask)
    stride = array.dtype.itemsize
    strides = [0] * array.c.ndim
    for d in reversed(range(array.c.ndim)):
        strides[d] = stride
        stride *= shape[d]
    for d, axis in enumerate(order):
        given.stride[d] = strides[axis]
    given.at = table
    return 0
