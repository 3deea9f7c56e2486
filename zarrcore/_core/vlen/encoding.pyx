# SPDX-License-Identifier: MIT
"""From the items of any length of a chunk to its value."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from zarrcore._core.vlen.items cimport *

import numpy as np

from zarrcore import errors

cnp.import_array()

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
            if found != 0 or text.size > MAX_LENGTH:
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
            zc_short_copy(dst + 4, text.buf, text.size)
            dst += 4 + text.size
        NpyString_release_allocator(allocator)
    if dst != end:
        raise errors.ChunkEncodeError("the items were changed while they were encoded", codec=codec)
    return out


def first_missing(cnp.ndarray items not None):
    """Return the number, in C order, of the first missing string of an array of ``StringDType``; -1 without one."""
    if items.dtype.kind != "T":
        raise TypeError(f"expected an array of StringDType, got one of {items.dtype}")
    items = np.ascontiguousarray(items)
    cdef const PyArray_StringDTypeObject *dtype = <const PyArray_StringDTypeObject *>cnp.PyArray_DESCR(items)
    cdef const char *packed = <const char *>cnp.PyArray_DATA(items)
    cdef size_t width = cnp.PyArray_ITEMSIZE(items), count = cnp.PyArray_SIZE(items), i
    cdef npy_string_allocator *allocator
    cdef npy_static_string text
    cdef Py_ssize_t missing = -1
    with nogil:
        allocator = NpyString_acquire_allocator(dtype)
        for i in range(count):
            if NpyString_load(allocator, <const npy_packed_static_string *>(packed + i * width), &text) > 0:
                missing = i
                break
        NpyString_release_allocator(allocator)
    return missing


@cython.final
cdef class _Growing:
    """Bytes that grow at their end."""

    cdef PyObject *out
    cdef uint8_t *at           # where the next byte goes
    cdef uint8_t *end

    def __cinit__(self, size_t count, size_t room):
        """Begin with the number of items."""
        self.out = NewBytes(NULL, 4 + room)
        if self.out == NULL:
            raise MemoryError
        zc_store_le32(BytesData(self.out), <uint32_t>count)
        self.at = <uint8_t *>BytesData(self.out) + 4
        self.end = self.at + room

    def __dealloc__(self):
        Py_XDECREF(self.out)

    cdef inline int need(self, size_t more) except -1:
        """Make room for so many bytes at least."""
        if <size_t>(self.end - self.at) < more:
            self.grow(more)
        return 0

    cdef int grow(self, size_t more) except -1:
        cdef size_t size = self.at - <uint8_t *>BytesData(self.out)
        cdef size_t room = BytesSize(self.out)
        _PyBytes_Resize(&self.out, max(size + more, room + room // 2))
        self.at = <uint8_t *>BytesData(self.out) + size
        self.end = <uint8_t *>BytesData(self.out) + BytesSize(self.out)
        return 0

    cdef bytes finish(self):
        cdef bytes out
        _PyBytes_Resize(&self.out, self.at - <uint8_t *>BytesData(self.out))
        out = <bytes>self.out
        Py_XDECREF(self.out)
        self.out = NULL
        return out


cdef inline int _add_item(_Growing out, const void *item, size_t length) except -1:
    """An item after its length."""
    out.need(4 + length)
    zc_store_le32(out.at, <uint32_t>length)
    zc_short_copy(out.at + 4, item, length)
    out.at += 4 + length
    return 0


cdef bint _add_text(_Growing out, PyObject *item) except -1:
    """A str; False where it is none, has no UTF-8 or is too long."""
    cdef size_t n, length = 0
    cdef int width
    if item == NULL or not PyUnicode_CheckExact(item) or not PyUnicode_IS_COMPACT(item):
        return False
    n = PyUnicode_GET_LENGTH(item)
    if n > MAX_LENGTH:
        return False
    if PyUnicode_IS_COMPACT_ASCII(item):
        _add_item(out, PyUnicode_DATA(item), n)
        return True
    width = PyUnicode_KIND(item)
    out.need(4 + n * ZC_UTF8_MOST(width))
    if not zc_utf8_encode(out.at + 4, PyUnicode_DATA(item), width, n, &length) or length > MAX_LENGTH:
        return False
    zc_store_le32(out.at, <uint32_t>length)
    out.at += 4 + length
    return True


cdef inline bint _add_bytes(_Growing out, PyObject *item) except -1:
    """A bytes; False where it is none or is too long."""
    if item == NULL or not IsBytes(item) or <size_t>BytesSize(item) > MAX_LENGTH:
        return False
    _add_item(out, BytesData(item), BytesSize(item))
    return True


cdef enum:
    _AHEAD = 12               # items between asking for one and using it


cdef inline void _fetch(PyObject **slots, size_t i, size_t count) noexcept:
    """Have an item that comes soon brought into the cache: objects lie anywhere."""
    if i + _AHEAD < count:
        ZC_PREFETCH(slots[i + _AHEAD])
        ZC_PREFETCH(<const char *>slots[i + _AHEAD] + 64)


cdef inline bint _is_text(PyObject *item) noexcept:
    """A str itself, of no derived class, that has UTF-8?"""
    if item == NULL or not PyUnicode_CheckExact(item) or not PyUnicode_IS_COMPACT(item):
        return False
    return PyUnicode_IS_COMPACT_ASCII(item) or not zc_has_no_utf8(
        PyUnicode_DATA(item), PyUnicode_KIND(item), PyUnicode_GET_LENGTH(item))


def all_text(cnp.ndarray items not None):
    """Return whether all strings of an array have UTF-8, so that :func:`encode` takes them as they are.

    They are objects, each a str itself, or of fixed length; in C order and in the machine's byte order.
    """
    if items.dtype.kind not in "OU" or not cnp.PyArray_ISCARRAY_RO(items):
        return False
    if items.dtype.kind == "U":
        return not zc_has_no_utf8(cnp.PyArray_DATA(items), 4, cnp.PyArray_NBYTES(items) // 4)
    cdef PyObject **slots = <PyObject **>cnp.PyArray_DATA(items)
    cdef size_t count = cnp.PyArray_SIZE(items), i
    cdef PyObject *item
    cdef bint sound
    for i in range(count):
        _fetch(slots, i, count)
        item = zc_take(slots + i)
        sound = _is_text(item)
        zc_let_go(item)
        if not sound:
            return False
    return True


cdef bytes _encoded(object item, size_t i, str codec, object to_item, bint utf8):
    """The bytes of an item that is neither str nor bytes, has no UTF-8 or is too long."""
    cdef bytes encoded
    try:
        encoded = PyUnicode_AsUTF8String(item) if utf8 and type(item) is str else to_item(item)
    except (TypeError, UnicodeError) as error:
        raise errors.ChunkEncodeError(f"item {i}: {error}", codec=codec) from error
    if <size_t>PyBytes_GET_SIZE(encoded) > MAX_LENGTH:
        raise _encode_error(TOO_LONG, i, PyBytes_GET_SIZE(encoded), codec)
    return encoded


cdef int _add_other(_Growing out, object item, size_t i, str codec, object to_item, bint utf8) except -1:
    cdef bytes encoded = _encoded(item, i, codec, to_item, utf8)
    return _add_item(out, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))


cdef bytes _encode_objects(cnp.ndarray items, str codec, object to_item, bint utf8):
    cdef PyObject **slots = <PyObject **>cnp.PyArray_DATA(items)
    cdef size_t count = cnp.PyArray_SIZE(items), i
    cdef _Growing out = _Growing(count, 20 * count)
    cdef PyObject *item
    for i in range(count):
        _fetch(slots, i, count)
        item = zc_take(slots + i)
        try:
            if not (_add_text(out, item) if utf8 else _add_bytes(out, item)):
                _add_other(out, <object>item if item != NULL else None, i, codec, to_item, utf8)
        finally:
            zc_let_go(item)
    return out.finish()


cdef bytes _encode_fixed(cnp.ndarray items, str codec):
    """Items of fixed length, four bytes for each code point and zeros after the last."""
    cdef const uint32_t *points = <const uint32_t *>cnp.PyArray_DATA(items)
    cdef size_t width = cnp.PyArray_ITEMSIZE(items) // 4, count = cnp.PyArray_SIZE(items), i, n, length = 0
    cdef _Growing out = _Growing(count, (4 + width) * count)
    for i in range(count):
        n = width
        while n > 0 and points[n - 1] == 0:
            n -= 1
        if n > MAX_LENGTH // 4:
            raise _encode_error(TOO_LONG, i, n, codec)
        out.need(4 + 4 * n)
        if not zc_utf8_encode(out.at + 4, points, 4, n, &length):
            bad = next(points[k] for k in range(n) if zc_has_no_utf8(&points[k], 4, 1))
            raise errors.ChunkEncodeError(f"item {i}: U+{bad:04X} has no UTF-8", codec=codec)
        zc_store_le32(out.at, <uint32_t>length)
        out.at += 4 + length
        points += width
    return out.finish()


def check(cnp.ndarray items not None, str codec not None, to_item not None, *, bint utf8):
    """Raise the ChunkEncodeError that :func:`encode` would raise for an item that is an object."""
    items = np.ascontiguousarray(items, object)
    cdef PyObject **slots = <PyObject **>cnp.PyArray_DATA(items)
    cdef size_t count = cnp.PyArray_SIZE(items), i
    cdef PyObject *item
    cdef bint fits
    for i in range(count):
        if i + _AHEAD < count:
            ZC_PREFETCH(slots[i + _AHEAD])       # what is checked of most items lies at their beginning
        item = zc_take(slots + i)
        try:
            if utf8:
                fits = _is_text(item)
            else:
                fits = item != NULL and IsBytes(item) and <size_t>BytesSize(item) <= MAX_LENGTH
            if not fits:
                _encoded(<object>item if item != NULL else None, i, codec, to_item, utf8)
        finally:
            zc_let_go(item)


def encode(cnp.ndarray items not None, str codec not None, to_item not None, *, bint utf8) -> bytes:
    """Encode the items of a chunk in C order.

    They are strings (with `utf8`) of ``StringDType``, of fixed length or objects, or bytes.  ``to_item(item)`` makes
    bytes of what is neither str nor bytes, or raises TypeError.  ChunkEncodeError is raised if an item has no encoding.
    """
    items = np.ascontiguousarray(items)
    if <size_t>cnp.PyArray_SIZE(items) > MAX_LENGTH:
        raise errors.ChunkEncodeError(f"{items.size} items, at most 2**32-1 fit", codec=codec)
    if items.dtype.kind == "T" and utf8 and not hasattr(items.dtype, "na_object"):
        return _encode_strings(items, codec)
    if items.dtype.kind == "U" and utf8 and cnp.PyArray_ISCARRAY_RO(items):
        return _encode_fixed(items, codec)
    return _encode_objects(items.astype(object, copy=False), codec, to_item, utf8)


def separated(const uint8_t[::1] value not None, size_t count):
    """Return where each of `count` encoded items begins, and the last one ends, and the items without their lengths."""
    cdef size_t size = value.shape[0], at = 4, total = 0, length, i
    cdef uint64_t[::1] begins = np.zeros(count + 1, np.uint64)
    if size < 4 or (size - 4) // 4 < count:
        raise ValueError(f"{size} bytes cannot hold {count} lengths")
    cdef bytes items = PyBytes_FromStringAndSize(NULL, size - 4 - 4 * count)
    cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(items)
    with nogil:
        for i in range(count):
            length = zc_load_le32(&value[at]) if size - at >= 4 else MAX_LENGTH
            if length > size - 4 - 4 * count - total:
                break
            zc_short_copy(out + total, &value[at] + 4, length)
            at += 4 + length
            total += length
            begins[i + 1] = total
    if at != size:
        raise ValueError(f"the lengths of the items end at {at} of {size} bytes")
    return np.asarray(begins), items
