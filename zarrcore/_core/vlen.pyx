# Items of any length as one value: the number of items, then for each item its length in bytes and its bytes, all
# numbers unsigned 32-bit little-endian (codecs "vlen-utf8" and "vlen-bytes").
"""Encoding and decoding of items of any length."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from zarrcore import errors

cnp.import_array()

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(object)
    bint PyUnicode_IS_COMPACT_ASCII(object)
    const void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    int _PyBytes_Resize(PyObject **bytes, Py_ssize_t size) except -1
    PyObject *PyUnicode_FromUTF8 "PyUnicode_DecodeUTF8"(const char *, Py_ssize_t, const char *)
    PyObject *PyBytes_FromMemory "PyBytes_FromStringAndSize"(const char *, Py_ssize_t)
    PyObject *NewBytes "PyBytes_FromStringAndSize"(const char *, Py_ssize_t)

cdef extern from "base/arith.h" nogil:
    uint32_t zc_load_le32(const void *p)
    void zc_store_le32(void *p, uint32_t v)

cdef extern from "kernels/utf8.h" nogil:
    size_t zc_utf8_valid(const uint8_t *src, size_t n)

cdef extern from "numpy/arrayobject.h" nogil:
    ctypedef struct npy_string_allocator:
        pass
    ctypedef struct npy_packed_static_string:
        pass
    ctypedef struct npy_static_string:
        size_t size
        const char *buf
    ctypedef struct PyArray_StringDTypeObject:
        pass
    npy_string_allocator *NpyString_acquire_allocator(const PyArray_StringDTypeObject *dtype)
    void NpyString_release_allocator(npy_string_allocator *allocator)
    int NpyString_pack(npy_string_allocator *allocator, npy_packed_static_string *packed, const char *text, size_t n)
    int NpyString_load(npy_string_allocator *allocator, const npy_packed_static_string *packed,
                       npy_static_string *text)

cdef size_t _MAX_LENGTH = 0xffffffff

# What can be wrong with a value.
cdef enum Trouble:
    NOTHING
    ENDS_BEFORE        # the value ends before the length of an item
    REACHES_BEYOND     # an item is longer than what is left
    NOT_UTF8
    NO_MEMORY
    NOT_GIVEN          # an array's item is missing
    TOO_LONG

cdef struct Reader:
    const uint8_t *data
    size_t size
    size_t at
    size_t item        # its number
    const char *text
    size_t length
    Trouble trouble


cdef inline bint _next(Reader *reader, bint utf8) noexcept nogil:
    """Step to the next item; every length is checked before it is used."""
    cdef size_t left = reader.size - reader.at
    if left < 4:
        reader.trouble = ENDS_BEFORE
        return False
    reader.length = zc_load_le32(reader.data + reader.at)
    if reader.length > left - 4:
        reader.trouble = REACHES_BEYOND
        return False
    reader.text = <const char *>reader.data + reader.at + 4
    if utf8 and zc_utf8_valid(<const uint8_t *>reader.text, reader.length) != reader.length:
        reader.trouble = NOT_UTF8
        return False
    reader.at += 4 + reader.length
    return True


cdef object _decode_error(const Reader *reader, size_t count, str codec):
    """The exception for a value that is not sound."""
    cdef size_t bad
    at = reader.at + 4
    if reader.trouble == NO_MEMORY:
        return MemoryError(f"{codec}: no memory for item {reader.item}")
    if reader.trouble == ENDS_BEFORE:
        reason = f"the chunk ends before item {reader.item} of {count}"
    elif reader.trouble == REACHES_BEYOND:
        reason = f"item {reader.item} has {reader.length} bytes at {at}, the chunk ends at {reader.size}"
    else:
        bad = zc_utf8_valid(<const uint8_t *>reader.text, reader.length)
        reason = (f"item {reader.item} is not UTF-8: byte {<uint8_t>reader.text[bad]:#04x} at {bad} "
                  f"of its {reader.length} bytes")
    return errors.ChunkDecodeError(reason, codec=codec)


cdef int _read_strings(Reader *reader, size_t count, cnp.ndarray out) except -1:
    """Items into an array of numpy's StringDType."""
    cdef npy_string_allocator *allocator
    cdef char *packed = <char *>cnp.PyArray_DATA(out)
    cdef size_t width = cnp.PyArray_ITEMSIZE(out)
    cdef const PyArray_StringDTypeObject *dtype = <const PyArray_StringDTypeObject *>cnp.PyArray_DESCR(out)
    with nogil:
        allocator = NpyString_acquire_allocator(dtype)
        for reader.item in range(count):
            if not _next(reader, True):
                break
            if NpyString_pack(allocator, <npy_packed_static_string *>(packed + reader.item * width), reader.text,
                              reader.length) < 0:
                reader.trouble = NO_MEMORY
                break
        NpyString_release_allocator(allocator)
    return 0


cdef int _read_objects(Reader *reader, size_t count, cnp.ndarray out, bint utf8) except -1:
    """Items into an array of str or bytes."""
    cdef PyObject **slot = <PyObject **>cnp.PyArray_DATA(out)
    cdef PyObject *item
    for reader.item in range(count):
        if not _next(reader, False):
            break
        if utf8:
            item = PyUnicode_FromUTF8(reader.text, reader.length, NULL)
        else:
            item = PyBytes_FromMemory(reader.text, reader.length)
        if item == NULL:
            reader.trouble = NOT_UTF8 if PyErr_ExceptionMatches(UnicodeDecodeError) else NO_MEMORY
            PyErr_Clear()
            break
        Py_XDECREF(slot[reader.item])
        slot[reader.item] = item
    return 0


def decode(data not None, Py_ssize_t count, dtype not None, str codec not None, *, bint utf8):
    """Decode the items of a chunk.

    Parameters
    ----------
    data : bytes-like
        The value.
    count : int
        How many items the chunk has.
    dtype : numpy.dtype
        ``StringDType`` (for UTF-8 only) or ``object``.
    codec : str
        Its name, for messages.
    utf8 : bool
        Whether items are strings, which must be UTF-8, or bytes.

    Returns
    -------
    numpy.ndarray
        One-dimensional, of `dtype`.

    Raises
    ------
    ChunkDecodeError
        If the value does not hold exactly `count` sound items.
    """
    cdef const uint8_t[::1] view = memoryview(data).cast("B")
    cdef Reader reader
    cdef cnp.ndarray out
    reader.size = view.shape[0]
    reader.trouble = NOTHING
    if reader.size < 4:
        raise errors.ChunkDecodeError(f"expected the number of items, got {reader.size} bytes", codec=codec)
    reader.data = &view[0]
    reader.at = 4
    found = zc_load_le32(reader.data)
    if found != count:
        raise errors.ChunkDecodeError(f"expected {count} items, the chunk says {found}", codec=codec)
    if reader.size - 4 < 4 * <size_t>count:
        raise errors.ChunkDecodeError(f"{reader.size} bytes cannot hold {count} items", codec=codec)
    out = np.empty(count, dtype)
    if out.dtype.kind == "T":
        _read_strings(&reader, count, out)
    else:
        _read_objects(&reader, count, out, utf8)
    if reader.trouble != NOTHING:
        raise _decode_error(&reader, count, codec)
    if reader.at != reader.size:
        raise errors.ChunkDecodeError(f"{reader.size - reader.at} bytes follow the last item", codec=codec)
    return out


cdef object _encode_error(Trouble trouble, size_t item, size_t length, str codec):
    if trouble == NO_MEMORY:
        return MemoryError(f"{codec}: no memory for item {item}")
    if trouble == NOT_GIVEN:
        return errors.ChunkEncodeError(f"item {item} is missing, and has no encoding", codec=codec)
    return errors.ChunkEncodeError(f"item {item} has {length} bytes, at most 2**32-1 fit", codec=codec)


cdef bytes _encode_strings(cnp.ndarray items, str codec):
    """Items of numpy's StringDType: measured first, then written."""
    cdef const PyArray_StringDTypeObject *dtype = <const PyArray_StringDTypeObject *>cnp.PyArray_DESCR(items)
    cdef const char *packed = <const char *>cnp.PyArray_DATA(items)
    cdef size_t width = cnp.PyArray_ITEMSIZE(items), count = cnp.PyArray_SIZE(items), i = 0, size = 4
    cdef npy_string_allocator *allocator
    cdef npy_static_string text
    cdef Trouble trouble = NOTHING
    cdef int found
    cdef bytes out
    cdef uint8_t *dst
    cdef uint8_t *end
    text.size = 0
    with nogil:
        allocator = NpyString_acquire_allocator(dtype)
        for i in range(count):
            found = NpyString_load(allocator, <const npy_packed_static_string *>(packed + i * width), &text)
            if found != 0 or text.size > _MAX_LENGTH:
                trouble = NO_MEMORY if found < 0 else NOT_GIVEN if found > 0 else TOO_LONG
                break
            size += 4 + text.size
        NpyString_release_allocator(allocator)
    if trouble != NOTHING:
        raise _encode_error(trouble, i, text.size, codec)
    out = PyBytes_FromStringAndSize(NULL, size)
    dst = <uint8_t *>PyBytes_AS_STRING(out)
    end = dst + size
    zc_store_le32(dst, <uint32_t>count)
    dst += 4
    with nogil:
        allocator = NpyString_acquire_allocator(dtype)
        for i in range(count):
            found = NpyString_load(allocator, <const npy_packed_static_string *>(packed + i * width), &text)
            if found != 0 or <size_t>(end - dst) < 4 or text.size > <size_t>(end - dst) - 4:
                break
            zc_store_le32(dst, <uint32_t>text.size)
            memcpy(dst + 4, text.buf, text.size)
            dst += 4 + text.size
        NpyString_release_allocator(allocator)
    if dst != end:
        raise errors.ChunkEncodeError("the items were changed while they were encoded", codec=codec)
    return out


cdef class _Growing:
    """Bytes that grow at their end."""

    cdef PyObject *out
    cdef size_t size

    def __cinit__(self, size_t room):
        self.out = NewBytes(NULL, room)
        if self.out == NULL:
            raise MemoryError
        self.size = 0

    def __dealloc__(self):
        Py_XDECREF(self.out)

    cdef int add(self, const void *item, size_t length) except -1:
        """One item behind its length."""
        cdef size_t room = PyBytes_GET_SIZE(<object>self.out)
        cdef size_t needed = self.size + 4 + length
        cdef char *dst
        if needed > room:
            _PyBytes_Resize(&self.out, max(needed, room + room // 2))
        dst = PyBytes_AS_STRING(<object>self.out) + self.size
        zc_store_le32(dst, <uint32_t>length)
        if length:
            memcpy(dst + 4, item, length)
        self.size = needed
        return 0

    cdef bytes finish(self):
        cdef bytes out
        _PyBytes_Resize(&self.out, self.size)
        out = <bytes>self.out
        Py_XDECREF(self.out)
        self.out = NULL
        return out


cdef bytes _encode_objects(cnp.ndarray items, str codec, object to_item, bint utf8):
    cdef PyObject **slots = <PyObject **>cnp.PyArray_DATA(items)
    cdef size_t count = cnp.PyArray_SIZE(items), i
    cdef _Growing out = _Growing(4 + 20 * count)
    cdef object item
    cdef bytes encoded
    zc_store_le32(PyBytes_AS_STRING(<object>out.out), <uint32_t>count)
    out.size = 4
    for i in range(count):
        item = <object>slots[i] if slots[i] != NULL else None
        if utf8 and PyUnicode_CheckExact(item) and PyUnicode_IS_COMPACT_ASCII(item) \
                and <size_t>PyUnicode_GET_LENGTH(item) <= _MAX_LENGTH:
            out.add(PyUnicode_DATA(item), PyUnicode_GET_LENGTH(item))
            continue
        if not utf8 and PyBytes_CheckExact(item):
            encoded = item
        else:
            try:
                encoded = PyUnicode_AsUTF8String(item) if utf8 and PyUnicode_CheckExact(item) else to_item(item)
            except (TypeError, UnicodeError) as error:
                raise errors.ChunkEncodeError(f"item {i}: {error}", codec=codec) from error
        if <size_t>PyBytes_GET_SIZE(encoded) > _MAX_LENGTH:
            raise _encode_error(TOO_LONG, i, PyBytes_GET_SIZE(encoded), codec)
        out.add(PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))
    return out.finish()


def encode(cnp.ndarray items not None, str codec not None, to_item not None, *, bint utf8) -> bytes:
    """Encode the items of a chunk.

    Parameters
    ----------
    items : numpy.ndarray
        Of ``StringDType`` (for UTF-8 only) or ``object``; in C order.
    codec : str
        Its name, for messages.
    to_item : callable
        Turns what is neither str (with `utf8`) nor bytes (without) into bytes, or raises TypeError.
    utf8 : bool
        Whether items are strings or bytes.

    Raises
    ------
    ChunkEncodeError
        If an item has no encoding.
    """
    items = np.ascontiguousarray(items)
    if <size_t>cnp.PyArray_SIZE(items) > _MAX_LENGTH:
        raise errors.ChunkEncodeError(f"{items.size} items, at most 2**32-1 fit", codec=codec)
    if items.dtype.kind == "T" and utf8 and not hasattr(items.dtype, "na_object"):
        return _encode_strings(items, codec)
    return _encode_objects(items.astype(object, copy=False), codec, to_item, utf8)
