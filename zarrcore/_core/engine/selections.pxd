# Selections as the engine takes them.
cimport numpy as cnp
from libc.stdint cimport int64_t

from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport zc_array, zc_chain, zc_given, zc_selection, zc_window


cdef inline void set_axis(zc_selection *selection, int d, int64_t start, int64_t step, int64_t count,
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


cdef bint set_number(int64_t *item, cnp.dtype dtype, object value) except -1
cdef cnp.ndarray int64_array(object values)
cdef int check_memory(cnp.ndarray array, str name, Py_ssize_t ndim, cnp.dtype expected) except -1

cdef bint set_basic(zc_selection *selection, const zc_array *array, tuple entries, cnp.npy_intp *shape, int *axis_of,
                    int *result_ndim, bint *scalar) except -1
cdef list set_region(zc_selection *selection, const zc_array *array, dims, cnp.ndarray memory)
cdef list set_points(zc_selection *selection, const zc_array *array, coords, cnp.ndarray memory)

cdef cnp.dtype field_dtype(cnp.dtype record, field, cnp.ndarray memory)
cdef object set_window(zc_window *window, const zc_chain *chain, size_t offset, size_t size)
cdef object set_fields(zc_selection *selection, zc_window *window, const zc_chain *chain, cnp.dtype record, field,
                       cnp.ndarray memory, bint write)

cdef tuple chunk_extent(const zc_array *array, int d, int64_t chunk)
cdef list set_chunk(zc_selection *selection, zc_window *window, const zc_array *array, cnp.dtype dtype, chunk,
                    dict blocks)
cdef list set_blocks(zc_selection *selection, zc_given *given, const zc_array *array, Chain chain, cnp.dtype dtype,
                     chunk, dict blocks)
