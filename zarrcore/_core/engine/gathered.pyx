# SPDX-License-Identifier: MIT
"""Gathered writes: many values of one chunk as a single read, patch and replacement.

What the functions return has to stay alive as long as what they set is used.
"""

cimport numpy as cnp
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.selections cimport check_memory, set_axis

from math import prod

import numpy as np

from zarrcore import errors

cnp.import_array()


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


cdef tuple _chunk_extent(const zc_array *array, int d, int64_t chunk):
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
        start, length = _chunk_extent(array, d, chunk[d])
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
