# SPDX-License-Identifier: MIT
"""Arrays of one dimension and any length as one value: the layout of items, each array by its bytes ("vlen-array")."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint8_t, uint32_t

from zarrcore._core.vlen.items cimport MAX_LENGTH, zc_load_le32, zc_short_copy, zc_store_le32

import numpy as np

from zarrcore import errors
from zarrcore._core.vlen.decoding import decode, unchanging

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_Empty(int ndim, const cnp.npy_intp *shape, cnp.dtype dtype, int fortran)


cdef int _require_plain(cnp.dtype dtype) except -1:
    """Refuse data types whose items are references: bytes from outside must not become some."""
    if (<object>dtype).hasobject:
        raise TypeError(f"dtype: expected one without references, got {dtype}")
    return 0


cdef bint _is_sound(const uint8_t[::1] value, size_t count, size_t item_size) noexcept:
    """Does a value hold so many arrays, each of whole items, and nothing else?"""
    cdef size_t size = value.shape[0], at = 4, length, _i
    if size < 4 or zc_load_le32(&value[0]) != count:
        return False
    for _i in range(count):
        if size - at < 4:
            return False
        length = zc_load_le32(&value[at])
        at += 4
        if length > size - at or (length > 0 and (item_size == 0 or length % item_size != 0)):
            return False
        at += length
    return at == size


def decode_arrays(data not None, Py_ssize_t count, cnp.dtype dtype not None, str codec not None):
    """Decode the arrays of a chunk, of a data type without references, to an array of objects.

    Each array has memory of its own.  ChunkDecodeError is raised if the value does not hold exactly `count` arrays of
    whole items.
    """
    cdef const uint8_t[::1] value = memoryview(unchanging(data)).cast("B")
    cdef size_t item_size = dtype.itemsize, at = 4, length
    cdef Py_ssize_t i
    cdef cnp.npy_intp shape
    cdef cnp.ndarray made
    _require_plain(dtype)
    if not _is_sound(value, count, item_size):
        for i, item in enumerate(decode(data, count, np.dtype(object), codec, utf8=False)):
            if len(item) % item_size if item_size else len(item):
                raise errors.ChunkDecodeError(
                    f"item {i}: {len(item)} bytes are no whole number of items of {dtype}", codec=codec)
    cdef object[::1] out = np.empty(count, object)
    for i in range(count):
        length = zc_load_le32(&value[at])
        at += 4
        shape = length // item_size if item_size else 0
        Py_INCREF(dtype)                                   # the new array takes it
        made = PyArray_Empty(1, &shape, dtype, 0)
        if length > 0:
            zc_short_copy(cnp.PyArray_DATA(made), &value[at], length)
        out[i] = <object>made
        at += length
    return np.asarray(out)


cdef inline bint _is_plain(object item, cnp.dtype dtype):
    """An array whose memory is what is to be written?"""
    if type(item) is not cnp.ndarray or cnp.PyArray_NDIM(item) != 1:
        return False
    return cnp.PyArray_IS_C_CONTIGUOUS(item) and (
        <cnp.dtype>cnp.PyArray_DESCR(item) is dtype or (<cnp.ndarray>item).dtype == dtype)


cdef cnp.ndarray _array(object item, Py_ssize_t i, cnp.dtype dtype, str codec, object to_array):
    """An item as an array whose memory is what is to be written."""
    if not _is_plain(item, dtype):
        try:
            item = to_array(item)
        except (TypeError, ValueError) as error:
            raise errors.ChunkEncodeError(f"item {i}: {error}", codec=codec) from error
    if <size_t>cnp.PyArray_NBYTES(item) > MAX_LENGTH:
        raise errors.ChunkEncodeError(
            f"item {i} has {item.nbytes} bytes, at most 2**32-1 fit", codec=codec)
    return item


def check_arrays(items not None, cnp.dtype dtype not None, str codec not None, to_array not None):
    """Raise the ChunkEncodeError that :func:`encode_arrays` would raise for an item."""
    cdef Py_ssize_t i
    for i, item in enumerate(items):
        _array(item, i, dtype, codec, to_array)


def encode_arrays(items not None, cnp.dtype dtype not None, str codec not None, to_array not None):
    """Encode the arrays of a chunk.

    ``to_array(item)`` makes a contiguous array of `dtype` with one dimension of what is none, or raises TypeError.
    ChunkEncodeError is raised if an item has no encoding.
    """
    cdef list arrays = []
    cdef cnp.ndarray array
    cdef size_t size = 4, length
    cdef Py_ssize_t i = 0
    cdef bytes out
    cdef uint8_t *dst
    cdef uint8_t *end
    _require_plain(dtype)
    for i, item in enumerate(items):
        array = _array(item, i, dtype, codec, to_array)
        arrays.append(array)
        size += 4 + cnp.PyArray_NBYTES(array)
    if <size_t>len(arrays) > MAX_LENGTH:
        raise errors.ChunkEncodeError(f"{len(arrays)} items, at most 2**32-1 fit", codec=codec)
    out = PyBytes_FromStringAndSize(NULL, size)
    dst = <uint8_t *>PyBytes_AS_STRING(out)
    end = dst + size
    zc_store_le32(dst, <uint32_t>len(arrays))
    dst += 4
    for array in arrays:
        length = cnp.PyArray_NBYTES(array)
        if <size_t>(end - dst) < 4 or length > <size_t>(end - dst) - 4:
            break
        zc_store_le32(dst, <uint32_t>length)
        zc_short_copy(dst + 4, cnp.PyArray_DATA(array), length)
        dst += 4 + length
    if dst != end:
        raise errors.ChunkEncodeError("the items were changed while they were encoded", codec=codec)
    return out
