# SPDX-License-Identifier: MIT
"""Selections of an array and their places in memory, as the engine takes them.

What the functions that set something return has to stay alive as long as that is used.
"""

cimport numpy as cnp
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Unpack
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport *

from math import prod

import numpy as np

from zarrcore import errors

cnp.import_array()

cdef extern from "Python.h":
    int PySlice_Check(object)
    int PyLong_CheckExact(object)
    int64_t PyLong_AsLongLongAndOverflow(object, int *) except? -1
    Py_ssize_t PyNumber_AsSsize_t(object, void *) except? -1

cdef extern from *:
    """
    /* Do some leave a dimension?  By signs, for which there are vectors: of a number below 0, or after the last. */
    static bool zc_leave(const int64_t *index, size_t n, int64_t length)
    {
        uint64_t bad = 0;
        for (size_t i = 0; i < n; i++) {
            bad |= (uint64_t)index[i] | ((uint64_t)length - 1 - (uint64_t)index[i]);
        }
        return bad >> 63;
    }

    /* Are some of those that do not less than the one before? */
    static bool zc_fall(const int64_t *index, size_t n)
    {
        uint64_t falls = 0;
        for (size_t i = 1; i < n; i++) {
            falls |= (uint64_t)index[i] - (uint64_t)index[i - 1];
        }
        return falls >> 63;
    }
    """
    bint zc_leave(const int64_t *index, size_t n, int64_t length) nogil
    bint zc_fall(const int64_t *index, size_t n) nogil


cdef bint _leave(cnp.ndarray index, int64_t length) noexcept:
    return zc_leave(<const int64_t *>cnp.PyArray_DATA(index), cnp.PyArray_SIZE(index), length)


def are_indices(array, int64_t length) -> bool:
    """Return whether an array is one of int64 whose items all lie in a dimension, as far as one look shows that."""
    return (type(array) is cnp.ndarray and cnp.PyArray_TYPE(array) == cnp.NPY_INT64 and cnp.PyArray_ISCARRAY_RO(array)
            and not _leave(array, length))


cdef cnp.ndarray int64_array(object values):
    """A copy of indices: the engine reads them after the check, when other threads may write to the caller's array."""
    values = np.array(values)
    if values.dtype.kind not in "iu" and values.size:
        raise TypeError(f"indices must be integers, got {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.int64)


cdef int check_memory(cnp.ndarray array, str name, Py_ssize_t ndim, cnp.dtype expected) except -1:
    """Check the memory that a selection is read to or written from."""
    if cnp.PyArray_NDIM(array) != ndim:
        raise ValueError(f"{name}: expected {ndim} dimensions, got {array.ndim}")
    dtype = array.dtype
    if dtype is not expected and dtype != expected:
        raise ValueError(f"{name}: expected dtype {expected}, got {dtype}")
    return 0


# ---- integers and slices -----------------------------------------------------------------------------------------

cdef bint set_basic(zc_selection *selection, const zc_array *array, tuple entries, cnp.npy_intp *shape, int *axis_of,
                    int *result_ndim, bint *scalar) except -1:
    """Take a basic selection apart; False if it is none.  Axes keep the signs of their steps."""
    cdef Py_ssize_t start, stop, step, length, n = len(entries), i
    cdef int d = 0, end
    cdef bint ellipsis = False

    selection.ndim = array.ndim
    selection.kind = ZC_SELECT_REGION
    selection.window = NULL
    for i in range(n):
        entry = entries[i]
        if entry is Ellipsis:
            end = array.ndim - <int>(n - 1 - i)
            if ellipsis or end < d:
                return False
            ellipsis = True
            d = _set_whole_axes(selection, array, shape, axis_of, result_ndim, d, end)
            continue
        if d >= array.ndim:
            return False
        length = array.grid[d].length
        if PySlice_Check(entry):
            PySlice_Unpack(entry, &start, &stop, &step)
            selection.axis[d].count = PySlice_AdjustIndices(length, &start, &stop, step)
            selection.axis[d].start = start
            selection.axis[d].step = step
            axis_of[d] = result_ndim[0]
            shape[result_ndim[0]] = selection.axis[d].count
            result_ndim[0] += 1
        elif PyLong_CheckExact(entry) or isinstance(entry, np.integer):
            start = PyNumber_AsSsize_t(entry, NULL)       # the nearest that there is of one too large, outside too
            if start < 0:
                start += length
            if start < 0 or start >= length:
                return False
            set_axis(selection, d, start, 1, 1, 0)
            axis_of[d] = -1
        else:
            return False
        d += 1
    _set_whole_axes(selection, array, shape, axis_of, result_ndim, d, array.ndim)
    if result_ndim[0] > 0:
        scalar[0] = False
    return True


cdef int _set_whole_axes(zc_selection *selection, const zc_array *array, cnp.npy_intp *shape, int *axis_of,
                         int *result_ndim, int d, int end) noexcept:
    """Select all of the dimensions from d to end; returns the next one."""
    while d < end:
        selection.axis[d].start = 0
        selection.axis[d].step = 1
        selection.axis[d].count = array.grid[d].length
        axis_of[d] = result_ndim[0]
        shape[result_ndim[0]] = array.grid[d].length
        result_ndim[0] += 1
        d += 1
    return d


def basic_dims(key, shape):
    """Return ``(dims, block, shape)`` as of :class:`zarrcore.indexing.Selection` for a basic selection.

    None is returned for every other kind of selection, and for one that is out of bounds.
    """
    cdef zc_selection selection
    cdef zc_array array
    cdef cnp.npy_intp counts[64]
    cdef int axis_of[64]
    cdef int ndim = 0, d
    cdef bint scalar = True
    cdef list dims = [], block = []
    cdef zc_axis *axis
    array.ndim = len(shape)
    if array.ndim > ZC_MAX_DIMS:
        return None
    for d in range(array.ndim):
        array.grid[d].length = shape[d]
    if not set_basic(&selection, &array, key if type(key) is tuple else (key,), counts, axis_of, &ndim, &scalar):
        return None
    for d in range(array.ndim):
        axis = &selection.axis[d]
        dims.append((axis.start if axis.count else 0, axis.step if axis.count > 1 else 1, axis.count))
        block.append(axis.count)
    return tuple(dims), tuple(block), tuple([counts[d] for d in range(ndim)])


cdef bint set_number(int64_t *item, cnp.dtype dtype, object value) except -1:
    """Make an item of a data type of a Python number; False if it is none that the data type has as it is."""
    cdef int overflow = 0
    cdef int64_t number
    cdef Py_ssize_t bits = 8 * dtype.itemsize
    cdef bint signed = dtype.kind == c"i"
    if dtype.byteorder != c"=" and dtype.byteorder != c"|":
        return False
    if dtype.type_num == cnp.NPY_DOUBLE and type(value) is float:
        (<double *>item)[0] = value
        return True
    if not cnp.NPY_BYTE <= dtype.type_num <= cnp.NPY_ULONGLONG or not PyLong_CheckExact(value):
        return False
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or (number < 0 and not signed):
        return False
    if bits < 64 and (number if number >= 0 else ~number) >> (bits - signed) != 0:
        return False
    if bits == 64:
        item[0] = number
    elif bits == 32:
        (<int32_t *>item)[0] = <int32_t>number
    elif bits == 16:
        (<int16_t *>item)[0] = <int16_t>number
    else:
        (<int8_t *>item)[0] = <int8_t>number
    return True


# ---- slices and indices, points ----------------------------------------------------------------------------------

cdef void _set_indices(zc_selection *selection, int d, cnp.ndarray index, int64_t stride) noexcept:
    selection.axis[d].start = 0
    selection.axis[d].step = 1
    selection.axis[d].count = cnp.PyArray_DIM(index, 0)
    selection.axis[d].stride = stride
    selection.axis[d].index = <const int64_t *>cnp.PyArray_DATA(index)
    selection.axis[d].place = NULL


cdef bint _is_inside(int64_t start, int64_t step, int64_t count, int64_t length) noexcept:
    """Return whether one or more elements lie within a dimension; nothing is computed that could overflow."""
    if not 0 <= start < length:
        return False
    return count == 1 or -(start // (count - 1)) <= step <= (length - 1 - start) // (count - 1)


cdef list set_region(zc_selection *selection, const zc_array *array, dims, cnp.ndarray memory):
    """Describe the selection `dims` of an array, see NativeArray.read, and its place in memory."""
    cdef list kept = []
    cdef int d
    cdef int64_t start, step, count, length, stride
    cdef cnp.ndarray index, place

    if len(dims) != array.ndim:
        raise ValueError(f"dims: expected {array.ndim} entries, got {len(dims)}")
    selection.ndim = array.ndim
    selection.kind = ZC_SELECT_REGION
    selection.window = NULL
    selection.memory = <char *>cnp.PyArray_DATA(memory)
    for d in range(array.ndim):
        entry = dims[d]
        length = array.grid[d].length
        stride = cnp.PyArray_STRIDE(memory, d)
        if isinstance(entry, tuple):
            start, step, count = entry
            if count != cnp.PyArray_DIM(memory, d):
                raise ValueError(f"dims[{d}] selects {count} elements, the memory has {memory.shape[d]}")
            if step == 0 and count > 1:
                raise ValueError(f"dims[{d}]: {entry} has a step of 0")
            if count > 0 and not _is_inside(start, step, count, length):
                raise errors.BoundsCheckError(f"dims[{d}]: {entry} leaves the {length} elements of the dimension")
            set_axis(selection, d, start, step, count, stride)
            continue
        index = int64_array(entry)
        if cnp.PyArray_NDIM(index) != 1 or cnp.PyArray_DIM(index, 0) != cnp.PyArray_DIM(memory, d):
            raise ValueError(f"dims[{d}] selects {index.size} elements, the memory has {memory.shape[d]}")
        count = cnp.PyArray_DIM(index, 0)
        if _leave(index, length):
            raise errors.BoundsCheckError(f"dims[{d}]: indices leave the {length} elements of the dimension")
        if zc_fall(<const int64_t *>cnp.PyArray_DATA(index), count):
            place = int64_array(np.argsort(index, kind="stable"))
            index = index[place]
        else:
            place = np.arange(count, dtype=np.int64)
        kept += [index, place]
        _set_indices(selection, d, index, stride)
        selection.axis[d].place = <const int64_t *>cnp.PyArray_DATA(place)
    return kept


cdef list set_points(zc_selection *selection, const zc_array *array, coords, cnp.ndarray memory):
    """Describe single elements of an array, see NativeArray.read_points, and their place in memory."""
    cdef list kept = []
    cdef int d
    cdef cnp.ndarray index, points
    cdef int64_t n = cnp.PyArray_DIM(memory, 0)

    if len(coords) != array.ndim or array.ndim == 0:
        raise ValueError(f"coords: expected {max(array.ndim, 1)} arrays, got {len(coords)}")
    selection.ndim = array.ndim
    selection.kind = ZC_SELECT_POINTS
    selection.window = NULL
    selection.memory = <char *>cnp.PyArray_DATA(memory)
    selection.point_stride = cnp.PyArray_STRIDE(memory, 0)
    for d in range(array.ndim):
        index = int64_array(coords[d])
        if cnp.PyArray_NDIM(index) != 1 or cnp.PyArray_DIM(index, 0) != n:
            raise ValueError(f"coords[{d}]: expected {n} indices, got {index.size}")
        if _leave(index, array.grid[d].length):
            raise errors.BoundsCheckError(
                f"coords[{d}]: indices leave the {array.grid[d].length} elements of the dimension")
        kept.append(index)
        _set_indices(selection, d, index, 0)
    points = np.arange(n, dtype=np.int64)
    kept.append(points)
    selection.points = <const int64_t *>cnp.PyArray_DATA(points)
    selection.n_points = n
    return kept


# ---- fields of records -------------------------------------------------------------------------------------------

cdef tuple _field(cnp.dtype record, str name):
    """Data type and offset of a field; memory for one that is an array itself is of void items."""
    dtype, offset = record.fields[name][:2]
    return np.dtype((np.void, dtype.itemsize)) if dtype.subdtype is not None else dtype, offset


cdef cnp.dtype field_dtype(cnp.dtype record, field, cnp.ndarray memory):
    """Return the data type that memory for a field must have; that for several fields is checked later."""
    if field is None:
        return record
    return _field(record, field)[0] if isinstance(field, str) else memory.dtype


cdef list _runs(cnp.dtype record, tuple names, cnp.dtype wanted):
    """Which bytes of a record make up those of `wanted`: (from, to, size), neighbours joined."""
    cdef list runs = []
    for name in names:
        dtype, begin = record.fields[name][:2]
        if wanted.fields is None or name not in wanted.fields or wanted.fields[name][0] != dtype:
            raise ValueError(f"out: expected the field {name!r} of {dtype}, got {wanted}")
        to = wanted.fields[name][1]
        if runs and runs[-1][0] + runs[-1][2] == begin and runs[-1][1] + runs[-1][2] == to:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + dtype.itemsize)
        elif dtype.itemsize:
            runs.append((begin, to, dtype.itemsize))
    return runs


cdef object set_window(zc_window *window, const zc_chain *chain, size_t offset, size_t size):
    """Describe some bytes of every element."""
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


cdef list _set_pieces(zc_window *window, const zc_chain *chain, list runs, size_t size, bint write):
    """Describe several pieces of every element, which make up items of `size` bytes; from memory, to write."""
    cdef bytes held = PyBytes_FromStringAndSize(NULL, len(runs) * sizeof(zc_piece))
    cdef zc_piece *pieces = <zc_piece *>PyBytes_AS_STRING(held)
    cdef list kept = [held]
    cdef zc_window one
    cdef Py_ssize_t i
    for i, (begin, to, length) in enumerate(runs):
        kept.append(set_window(&one, chain, begin, length))
        pieces[i].item = one.item
        pieces[i].from_, pieces[i].to = (to, begin) if write else (begin, to)
    set_window(window, chain, 0, size)
    window.item.word = 0
    window.item.n_fields = 0
    window.item.n_pieces = <uint32_t>len(runs)
    window.item.pieces = pieces
    return kept


cdef object set_fields(zc_selection *selection, zc_window *window, const zc_chain *chain, cnp.dtype record, field,
                       cnp.ndarray memory, bint write):
    """Have a selection read or write one field, or several, of each record."""
    if field is None:
        return None
    selection.window = window
    if isinstance(field, str):
        dtype, offset = _field(record, field)
        kept = set_window(window, chain, offset, dtype.itemsize)
    else:
        runs = _runs(record, field, memory.dtype)
        size = record.itemsize if write else memory.dtype.itemsize
        kept = _set_pieces(window, chain, runs, size, write)
    window.patches = write
    return kept


# ---- blocks of a chunk -------------------------------------------------------------------------------------------

cdef list _checked(cnp.ndarray values, mask, shape, cnp.dtype dtype):
    """Check the memory of gathered values."""
    cdef int d
    check_memory(values, "values", len(shape), dtype)
    for d in range(len(shape)):
        if cnp.PyArray_DIM(values, d) != shape[d]:
            raise ValueError(f"values: expected shape {tuple(shape)}, got {np.shape(values)}")
    if mask is not None and not (
        mask.dtype == np.bool_ and np.shape(mask) == np.shape(values) and mask.flags.c_contiguous
    ):
        raise ValueError(f"mask: expected contiguous booleans of shape {np.shape(values)}")
    if not values.flags.c_contiguous:
        raise ValueError("values: are not contiguous")
    return [values, mask]


cdef tuple chunk_extent(const zc_array *array, int d, int64_t chunk):
    """Where a chunk begins along a dimension, and its length."""
    cdef const zc_grid_axis *axis = &array.grid[d]
    cdef int64_t n = axis.n_edges if axis.edges != NULL else (axis.length - 1) // axis.chunk + 1
    if not 0 <= chunk < n:
        raise errors.BoundsCheckError(f"chunk {chunk} is not one of the {n} of dimension {d}")
    if axis.edges == NULL:
        return chunk * axis.chunk, axis.chunk
    return axis.edges[chunk], axis.edges[chunk + 1] - axis.edges[chunk]


cdef list _select(zc_selection *selection, const zc_array *array, chunk):
    """Select all elements of a chunk; returns its shape."""
    cdef int64_t start, length
    cdef int d
    cdef list lengths = []
    selection.ndim = array.ndim
    selection.kind = ZC_SELECT_REGION
    selection.window = NULL
    selection.memory = NULL
    for d in range(array.ndim):
        start, length = chunk_extent(array, d, chunk[d])
        lengths.append(length)
        set_axis(selection, d, start, 1, min(length, array.grid[d].length - start), 0)
    return lengths


cdef list set_chunk(zc_selection *selection, zc_window *window, const zc_array *array, cnp.dtype dtype, chunk,
                    dict blocks):
    """Describe the one block of a chunk that has no inner chunks; see NativeArray.write_gathered."""
    cdef int d
    cdef cnp.ndarray values
    lengths = _select(selection, array, chunk)
    (values, mask), = blocks.values()
    kept = _checked(values, mask, lengths, dtype)
    selection.memory = <char *>cnp.PyArray_DATA(values)
    for d in range(array.ndim):
        selection.axis[d].stride = cnp.PyArray_STRIDE(values, d)
    if mask is not None:
        memset(window, 0, sizeof(window[0]))
        window.mask = <const uint8_t *>cnp.PyArray_DATA(mask)
        window.first = selection.memory
        selection.window = window
        selection.kind = ZC_SELECT_GIVEN
    return kept


cdef list set_blocks(zc_selection *selection, zc_given *given, const zc_array *array, Chain chain, cnp.dtype dtype,
                     chunk, dict blocks):
    """Describe the blocks of a shard by a table of its inner chunks; see NativeArray.write_gathered."""
    cdef zc_given_block *table
    cdef int d
    cdef cnp.ndarray values
    cdef list kept = []
    lengths = _select(selection, array, chunk)
    order = chain.order or tuple(range(array.ndim))
    stored = chain.shard.inner_shape
    grid = [lengths[axis] // stored[d] for d, axis in enumerate(order)]
    shape = [0] * array.ndim
    for d, axis in enumerate(order):
        shape[axis] = stored[d]
    memory = bytearray(max(1, prod(grid)) * sizeof(zc_given_block))
    kept.append(memory)
    table = <zc_given_block *>PyByteArray_AS_STRING(memory)
    for place, (values, mask) in blocks.items():
        number = 0
        for d, axis in enumerate(order):
            if not 0 <= place[axis] < grid[d]:
                raise errors.BoundsCheckError(f"inner chunk {place} is not one of the shard")
            number = number * grid[d] + place[axis]
        kept.append(_checked(values, mask, shape, dtype))
        table[<size_t>number].values = <const char *>cnp.PyArray_DATA(values)
        if mask is not None:
            table[<size_t>number].mask = <const uint8_t *>cnp.PyArray_DATA(mask)
    stride = dtype.itemsize
    strides = [0] * array.ndim
    for d in reversed(range(array.ndim)):
        strides[d] = stride
        stride *= shape[d]
    for d, axis in enumerate(order):
        given.stride[d] = strides[axis]
    given.at = table
    return kept
