# SPDX-License-Identifier: MIT
"""The flat kernels of csrc/kernels, on buffers and ndarrays whose types zarrcore.kernels has checked.

Every function releases the GIL from GIL_MIN_NBYTES on and keeps no state: any number of threads may call it.
The ufuncs of csrc/numpy are in this module under their names.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.number cimport PyNumber_Index

from zarrcore._core.engine.csrc cimport (
    ZC_MAX_DIMS, ZC_OK, message, zc_error, zc_error_clear, zc_item, zc_status, zc_swap_field
)

import warnings
from functools import update_wrapper

cnp.import_array()


cdef extern from "Python.h":
    int64_t PyLong_AsLongLongAndOverflow(object, int *overflow) except? -1
    void *PyEval_SaveThread()
    void PyEval_RestoreThread(void *state)

cdef extern from "kernels/region.h" nogil:
    ctypedef enum zc_float_kind:
        pass
    void zc_region_copy(int ndim, const int64_t *shape, void *dst, const int64_t *dst_strides,
                        const void *src, const int64_t *src_strides, const zc_item *item)
    void zc_region_fill(int ndim, const int64_t *shape, void *dst, const int64_t *dst_strides,
                        size_t itemsize, const void *fill)
    bint zc_region_equals_fill(int ndim, const int64_t *shape, const void *src, const int64_t *strides,
                               size_t itemsize, const void *fill)
    bint zc_equals_fill_float(const void *src, size_t n, zc_float_kind kind, const void *fill, size_t n_fill)

cdef extern from "kernels/crc32c.h" nogil:
    uint32_t zc_crc32c(uint32_t value, const void *data, size_t n)

cdef extern from "kernels/shard_index.h" nogil:
    ctypedef struct zc_extent:
        uint64_t offset, nbytes
    zc_status zc_shard_index_unpack(const uint8_t *src, size_t n, bint big_endian, uint64_t shard_nbytes,
                                    zc_extent *out, zc_error *err)
    void zc_shard_index_pack(const zc_extent *src, size_t n, bint big_endian, uint8_t *out)


cdef extern from "kernels/bit_packing.h" nogil:
    ctypedef struct zc_bit_field:
        uint32_t size, first, width, bits
        bint is_signed
    void zc_pack_flags(uint8_t *dst, const uint8_t *src, size_t n, bint high_first)
    void zc_unpack_flags(uint8_t *dst, const uint8_t *src, size_t n, bint high_first)
    void zc_pack_bits(uint8_t *dst, const void *src, size_t n, const zc_bit_field *field)
    void zc_unpack_bits(void *dst, const uint8_t *src, size_t n, const zc_bit_field *field)

cdef extern from "numpy/register.h":
    int zc_register_ufuncs(object names) except -1

cdef extern from "numpy/small_arrays.h":
    int zc_quick_init() except -1
    object zc_quick_byteswap(object x, object out)
    object zc_quick_transpose(object x, object order, object out)
    object zc_quick_shuffle(object x, object itemsize, object out, bint inverse)
    object zc_quick_pack_flags(object x, object out, bint high_first)
    object zc_quick_unpack_flags(object packed, object count, object out, bint high_first)
    object zc_quick_copy(object dst, object src)
    object zc_quick_fill(object out, object value)
    object zc_quick_equals_fill(object x, object value, bint by_value)
    object zc_quick_shard_index_pack(object offsets, object nbytes)

cdef extern from "numpy/ufunc_vectorcall.h":
    int zc_calls_init() except -1
    void zc_calls_share_by(object share)

zc_calls_init()
zc_register_ufuncs(globals())
zc_quick_init()


def share_calls(function):
    """Let function(ufunc, args, options) do calls of ufuncs with large arrays, or with `threads`."""
    zc_calls_share_by(function)


cdef enum:
    GIL_MIN_NBYTES = 4096       # a smaller call ends before another thread could profit


cdef inline void *leave_gil(size_t nbytes) noexcept:
    """Release the GIL for work on so many bytes, if that is worth it; what follows must not touch Python objects."""
    return PyEval_SaveThread() if nbytes >= GIL_MIN_NBYTES else NULL


cdef inline void enter_gil(void *state) noexcept:
    if state != NULL:
        PyEval_RestoreThread(state)


# ---- checksums -------------------------------------------------------------------------------------


cdef object whole_crc32c(data, value):
    """CRC-32C of a buffer or ndarray in one piece, continuing from ``value``."""
    cdef Py_buffer view
    cdef uint32_t start = checksum(value)
    cdef cnp.ndarray array
    if type(data) is bytes:
        return update_crc32c(start, PyBytes_AS_STRING(data), <size_t>PyBytes_GET_SIZE(data))
    if isinstance(data, cnp.ndarray):
        array = data
        if not cnp.PyArray_ISNUMBER(array) and (array.dtype.hasobject or array.dtype.kind == "T"):
            raise TypeError(f"data: items of {array.dtype} are references, not bytes")
        if not cnp.PyArray_IS_C_CONTIGUOUS(array):
            array = cnp.PyArray_GETCONTIGUOUS(array)
        return update_crc32c(start, cnp.PyArray_BYTES(array), <size_t>cnp.PyArray_NBYTES(array))
    try:
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    except TypeError:
        raise TypeError(f"data: expected a bytes-like object, got {type(data).__name__}") from None
    except BufferError:                 # there are gaps between its bytes
        return whole_crc32c(memoryview(data).tobytes(), value)
    try:
        return update_crc32c(start, view.buf, <size_t>view.len)
    finally:
        PyBuffer_Release(&view)


def crc32c_whole_first(function):
    """Return the function `function`, whose usual call, one checksum of all bytes, does not go through it."""
    def crc32c(data, value=0, *, axis=None, out=None, threads=None):
        if axis is None and out is None:
            return whole_crc32c(data, value)
        return function(data, value, axis=axis, out=out, threads=threads)
    return update_wrapper(crc32c, function)


cdef uint32_t checksum(value) except? 0:
    cdef int overflow = 0
    cdef int64_t integer
    if type(value) is int:
        integer = PyLong_AsLongLongAndOverflow(value, &overflow)
    else:
        try:
            value = PyNumber_Index(value)
        except TypeError:
            raise TypeError(f"value: expected an integer, got {value!r}") from None
        integer = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or not 0 <= integer <= 0xFFFFFFFF:
        raise ValueError(f"value: expected an integer 0..2**32 - 1, got {value}")
    return <uint32_t>integer


cdef uint32_t update_crc32c(uint32_t value, const void *data, size_t n) noexcept:
    cdef void *state = leave_gil(n)
    value = zc_crc32c(value, data, n)
    enter_gil(state)
    return value


# ---- regions ---------------------------------------------------------------------------------------


cdef struct Region:
    int ndim
    int64_t shape[64]
    int64_t strides[64]
    char *data
    size_t itemsize


cdef int describe(cnp.ndarray array, Region *region) except -1:
    """Shape and strides of an ndarray as the kernels take them."""
    cdef int d
    region.ndim = cnp.PyArray_NDIM(array)
    if region.ndim > ZC_MAX_DIMS:
        raise ValueError(f"expected at most {ZC_MAX_DIMS} dimensions, got {region.ndim}")
    for d in range(region.ndim):
        region.shape[d] = cnp.PyArray_DIM(array, d)
        region.strides[d] = cnp.PyArray_STRIDE(array, d)
    region.data = cnp.PyArray_BYTES(array)
    region.itemsize = <size_t>cnp.PyArray_ITEMSIZE(array)
    return 0


cdef int require_writeable(cnp.ndarray array, str name) except -1:
    if not cnp.PyArray_ISWRITEABLE(array):
        raise ValueError(f"{name} is read-only")
    return 0


cdef int require_same_shape(const Region *a, const Region *b) except -1:
    cdef int d
    cdef bint same = a.ndim == b.ndim and a.itemsize == b.itemsize
    for d in range(a.ndim):
        same = same and a.shape[d] == b.shape[d]
    if not same:
        raise ValueError("arrays differ in shape or item size")
    return 0


def copy(cnp.ndarray dst not None, cnp.ndarray src not None, uint32_t word=0,
         const uint32_t[:, ::1] fields=None):
    """dst[...] = src byte by byte, with words (or the (offset, word, count) fields) of each item swapped."""
    cdef Region to, source
    cdef zc_item item
    cdef void *state
    describe(dst, &to)
    describe(src, &source)
    require_same_shape(&to, &source)
    require_writeable(dst, "dst")
    if to.itemsize == 0:
        return
    item.size = to.itemsize
    item.word = word
    item.n_fields = 0
    item.n_pieces = 0
    item.fields = NULL
    if fields is not None and fields.shape[0] > 0:
        if fields.shape[1] != 3:
            raise ValueError("fields has other columns than offset, word, count")
        item.n_fields = <uint32_t>fields.shape[0]
        item.fields = <const zc_swap_field *>&fields[0, 0]
    state = leave_gil(cnp.PyArray_NBYTES(dst))
    zc_region_copy(to.ndim, to.shape, to.data, to.strides, source.data, source.strides, &item)
    enter_gil(state)


def fill(cnp.ndarray dst not None, cnp.ndarray value not None):
    """Set every item of dst to the single item of value."""
    cdef Region to
    cdef const char *item = cnp.PyArray_BYTES(value)
    cdef void *state
    describe(dst, &to)
    require_writeable(dst, "out")
    if value.dtype.itemsize != to.itemsize or cnp.PyArray_SIZE(value) != 1:
        raise ValueError("value is not one item of that size")
    if to.itemsize == 0:
        return
    state = leave_gil(cnp.PyArray_NBYTES(dst))
    zc_region_fill(to.ndim, to.shape, to.data, to.strides, to.itemsize, item)
    enter_gil(state)


def equals_fill(cnp.ndarray x not None, cnp.ndarray value not None):
    """Has every item of x the bits of the single item of value?"""
    cdef Region source
    cdef const char *item = cnp.PyArray_BYTES(value)
    cdef bint equal
    cdef void *state
    describe(x, &source)
    if value.dtype.itemsize != source.itemsize or cnp.PyArray_SIZE(value) != 1:
        raise ValueError("value is not one item of that size")
    if source.itemsize == 0:
        return True
    state = leave_gil(cnp.PyArray_NBYTES(x))
    equal = zc_region_equals_fill(source.ndim, source.shape, source.data, source.strides, source.itemsize, item)
    enter_gil(state)
    return equal


def equals_fill_float(const uint8_t[::1] x, int kind, const uint8_t[::1] value):
    """Are the floats in x, of `kind` bytes each, equal to those in value, repeated, by value?"""
    cdef size_t n = <size_t>(x.shape[0] // kind)
    cdef size_t n_fill = <size_t>(value.shape[0] // kind)
    cdef bint equal
    cdef void *state
    if kind not in (2, 4, 8) or n_fill not in (1, 2):
        raise ValueError(f"expected one or two floats of 2, 4 or 8 bytes, got {n_fill} of {kind}")
    if n == 0:
        return True
    cdef const uint8_t *data = &x[0]
    cdef const uint8_t *item = &value[0]
    state = leave_gil(<size_t>x.shape[0])
    equal = zc_equals_fill_float(data, n, <zc_float_kind>kind, item, n_fill)
    enter_gil(state)
    return equal


# ---- shard index -----------------------------------------------------------------------------------


def shard_index_pack(const uint64_t[:, ::1] entries, bint big_endian, uint8_t[::1] out):
    """Pack (n, 2) offsets and lengths into 16 * n bytes."""
    cdef size_t n = <size_t>entries.shape[0]
    if entries.shape[1] != 2 or out.shape[0] != 16 * entries.shape[0]:
        raise ValueError("out is not 16 bytes for each entry")
    if n == 0:
        return
    cdef const zc_extent *source = <const zc_extent *>&entries[0, 0]
    cdef uint8_t *to = &out[0]
    cdef void *state = leave_gil(<size_t>out.shape[0])
    zc_shard_index_pack(source, n, big_endian, to)
    enter_gil(state)


def shard_index_unpack(const uint8_t[::1] data, bint big_endian, uint64_t shard_nbytes, uint64_t[:, ::1] out):
    """Unpack 16 * n bytes into (n, 2) offsets and lengths."""
    cdef Py_ssize_t n = out.shape[0]
    cdef zc_status status
    cdef zc_error error
    if out.shape[1] != 2 or data.shape[0] != 16 * n:
        raise ValueError(f"expected 16 bytes for each entry, got {data.shape[0]} bytes")
    if n == 0:
        return
    zc_error_clear(&error)
    with nogil:
        status = zc_shard_index_unpack(&data[0], <size_t>n, big_endian, shard_nbytes,
                                       <zc_extent *>&out[0, 0], &error)
    if status != ZC_OK:
        raise ValueError(message(&error))


# ---- bits ------------------------------------------------------------------------------------------


cdef size_t packed_integers(const zc_bit_field *field, size_t integers, size_t packed) except? 0:
    """Return how many integers make up these bytes; checks that their packed form has the other size."""
    cdef size_t n
    if field.size not in (1, 2, 4, 8) or field.width < 1 or field.width > 64 or field.first > 63:
        raise ValueError("no such bits")
    if field.first + field.width > 8 * field.size or integers % field.size:
        raise ValueError("no such bits in integers of that size")
    n = integers // field.size
    if packed != n // 8 * field.width + (n % 8 * field.width + 7) // 8:
        raise ValueError("the packed bits have another size")
    return n


def pack_bits(const uint8_t[::1] src, uint8_t[::1] dst, uint32_t size, uint32_t first, uint32_t width, bint flags,
              bint high):
    """Bits first to first + width - 1 of the integers in src, of `size` bytes each, without gaps.

    With `flags` one bit for each byte of src, set unless it is 0; `high` if the first one is the highest.
    """
    cdef zc_bit_field field = zc_bit_field(size=size, first=first, width=width, bits=8 * size, is_signed=False)
    cdef size_t n = packed_integers(&field, <size_t>src.shape[0], <size_t>dst.shape[0])
    if n == 0:
        return
    with nogil:
        if flags:
            zc_pack_flags(&dst[0], &src[0], n, high)
        else:
            zc_pack_bits(&dst[0], &src[0], n, &field)


def unpack_bits(const uint8_t[::1] src, uint8_t[::1] dst, uint32_t size, uint32_t first, uint32_t width, bint flags,
                bint high, bint is_signed):
    """The inverse; the other bits are 0, or above repeat the highest one where is_signed."""
    cdef zc_bit_field field = zc_bit_field(size=size, first=first, width=width, bits=8 * size, is_signed=is_signed)
    cdef size_t n = packed_integers(&field, <size_t>dst.shape[0], <size_t>src.shape[0])
    if n == 0:
        return
    with nogil:
        if flags:
            zc_unpack_flags(&dst[0], &src[0], n, high)
        else:
            zc_unpack_bits(&dst[0], &src[0], n, &field)


# ---- plain cases -----------------------------------------------------------------------------------

# See csrc/numpy/small_arrays.h: None where a call is not plain.  X_quick_first(function) stands in for `function`,
# the whole of kernel X: plain calls do not go through it, which would cost as much as the work on a few bytes.


_not_given = object()


def byteswap_quick_first(function):
    def byteswap(x, /, out=_not_given, *, where=True, casting="no", dtype=None, threads=None):
        given = out is not _not_given
        if not given:
            out = None
        if where is True and threads is None and dtype is None:
            swapped = zc_quick_byteswap(x, out)
            if swapped is not None:
                return swapped
        swapped = function(x, out, where=where, casting=casting, dtype=dtype, threads=threads)
        if not given and where is not True:
            warn_of_where(1)
        return swapped
    return update_wrapper(byteswap, function)


def warn_of_where(stacklevel):
    """Warn as NumPy does: what is not selected has no value."""
    warnings.warn("'where' used without 'out', expect uninitialized memory in output. "
                  "If this is intentional, use out=None.", UserWarning, stacklevel=stacklevel)


def transpose_quick_first(function):
    def transpose(x, /, order=None, out=None, *, threads=None):
        if threads is None:
            turned = zc_quick_transpose(x, order, out)
            if turned is not None:
                return turned
        return function(x, order, out, threads=threads)
    return update_wrapper(transpose, function)


def copy_region_quick_first(function):
    def copy_region(dst, src, /, *, threads=None):
        if threads is None and zc_quick_copy(dst, src) is not None:
            return
        function(dst, src, threads=threads)
    return update_wrapper(copy_region, function)


def fill_quick_first(function):
    def fill(out, /, value, *, threads=None):
        if threads is not None or zc_quick_fill(out, value) is None:
            function(out, value, threads=threads)
    return update_wrapper(fill, function)


def quick_shuffle(x, itemsize, out, bint inverse):
    return zc_quick_shuffle(x, itemsize, out, inverse)


def quick_pack_flags(x, out, bint high_first):
    return zc_quick_pack_flags(x, out, high_first)


def quick_unpack_flags(packed, count, out, bint high_first):
    return zc_quick_unpack_flags(packed, count, out, high_first)


def quick_equals_fill(x, value, bint by_value):
    return zc_quick_equals_fill(x, value, by_value)


def quick_shard_index_pack(offsets, nbytes):
    return zc_quick_shard_index_pack(offsets, nbytes)
