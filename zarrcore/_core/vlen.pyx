# Items of any length as one value: the number of items, then for each item its length in bytes and its bytes, all
# numbers unsigned 32-bit little-endian (codecs "vlen-utf8" and "vlen-bytes").
"""Encoding and decoding of items of any length."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from zarrcore import errors

cnp.import_array()

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(PyObject *)
    bint PyUnicode_IS_COMPACT(PyObject *)
    bint PyUnicode_IS_COMPACT_ASCII(PyObject *)
    int PyUnicode_KIND(PyObject *)
    void *PyUnicode_DATA(PyObject *)
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject *)
    bint IsBytes "PyBytes_CheckExact"(PyObject *)
    char *BytesData "PyBytes_AS_STRING"(PyObject *)
    Py_ssize_t BytesSize "PyBytes_GET_SIZE"(PyObject *)
    int _PyBytes_Resize(PyObject **bytes, Py_ssize_t size) except -1
    PyObject *PyUnicode_FromUTF8 "PyUnicode_DecodeUTF8"(const char *, Py_ssize_t, const char *)
    PyObject *PyUnicode_New(Py_ssize_t length, uint32_t bound)
    PyObject *NewBytes "PyBytes_FromStringAndSize"(const char *, Py_ssize_t)
    void Py_INCREF(PyObject *)

cdef extern from "base/arith.h" nogil:
    uint32_t zc_load_le32(const void *p)
    uint64_t zc_load_le64(const void *p)
    void zc_store_le32(void *p, uint32_t v)

cdef extern from "base/cpu.h" nogil:
    void ZC_PREFETCH(const void *p)

cdef extern from "kernels/short_copy.h" nogil:
    void zc_short_copy(void *dst, const void *src, size_t n)

cdef extern from "kernels/utf8.h" nogil:
    ctypedef struct zc_utf8_text:
        size_t count
        uint32_t bound
    bint zc_is_ascii(const uint8_t *src, size_t n)
    size_t zc_utf8_valid(const uint8_t *src, size_t n)
    bint zc_utf8_measure(const uint8_t *src, size_t n, zc_utf8_text *text)
    void zc_utf8_decode(void *dst, int width, const uint8_t *src, size_t n)
    size_t ZC_UTF8_MOST(int width)
    bint zc_has_no_utf8(const void *src, int width, size_t n)
    bint zc_utf8_encode(uint8_t *dst, const void *src, int width, size_t n, size_t *size)

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
    void NextRow "PyArray_ITER_NEXT"(PyObject *rows)
    char *RowData "PyArray_ITER_DATA"(PyObject *rows)
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
    bint ascii         # no byte is 0x80 or more, lengths included: no item needs a look of its own
    Trouble trouble

# Where the items go: along the last axis of an array, row after row.
cdef struct Places:
    PyObject *rows     # numpy's iterator
    char *next
    size_t left        # in this row
    size_t length      # of a row
    Py_ssize_t step


cdef inline char *_place(Places *places) noexcept nogil:
    """The place of the next item; there must be one."""
    cdef char *place
    if places.left == 0:
        NextRow(places.rows)
        places.next = RowData(places.rows)
        places.left = places.length
    place = places.next
    places.next += places.step
    places.left -= 1
    return place


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
    if utf8 and not reader.ascii and zc_utf8_valid(<const uint8_t *>reader.text, reader.length) != reader.length:
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


cdef int _read_strings(Reader *reader, size_t count, Places *places, cnp.ndarray out) except -1:
    """Items into an array of numpy's StringDType."""
    cdef npy_string_allocator *allocator
    cdef npy_packed_static_string *packed
    cdef const PyArray_StringDTypeObject *dtype = <const PyArray_StringDTypeObject *>cnp.PyArray_DESCR(out)
    with nogil:
        allocator = NpyString_acquire_allocator(dtype)
        for reader.item in range(count):
            if not _next(reader, True):
                break
            packed = <npy_packed_static_string *>_place(places)
            if NpyString_pack(allocator, packed, reader.text, reader.length) < 0:
                reader.trouble = NO_MEMORY
                break
        NpyString_release_allocator(allocator)
    return 0


cdef inline PyObject *_new_text(const uint8_t *src, size_t n, bint ascii) noexcept:
    """A new str; NULL where it is not UTF-8, and with an exception where there is no memory."""
    cdef zc_utf8_text text
    cdef PyObject *item
    if n < 2:                     # strings of which Python keeps one each
        return PyUnicode_FromUTF8(<const char *>src, n, NULL) if zc_is_ascii(src, n) else NULL
    if ascii or zc_is_ascii(src, n):
        item = PyUnicode_New(n, 0x7f)
        if item != NULL:
            memcpy(PyUnicode_DATA(item), src, n)
        return item
    if not zc_utf8_measure(src, n, &text):
        return NULL
    if text.count == 1:
        return PyUnicode_FromUTF8(<const char *>src, n, NULL)
    item = PyUnicode_New(text.count, text.bound)
    if item != NULL:
        zc_utf8_decode(PyUnicode_DATA(item), PyUnicode_KIND(item), src, n)
    return item


# Items that were made lately, by a mark of their bytes.  Columns of strings hold the same few again and again, and to
# take one that is there costs a fraction of making it.  Where they do not, no more than a sample is looked up.
cdef enum:
    _RECENT = 4096            # a power of two
    _SAMPLE = 1024            # items after which looking up must have paid
    _PAUSE = 32768            # items that are then not looked up, the next time twice as many
    _AHEAD = 12               # items between asking for one and using it

cdef struct Recent:
    PyObject *item            # a reference of its own: what an array holds is the user's to replace
    uint64_t first            # its first eight bytes, or fewer
    uint64_t last
    uint32_t length
    uint32_t at               # where in the value it was read

cdef struct Memory:
    Recent *recent            # NULL: nothing is looked up
    size_t looked_up
    size_t found
    size_t resume             # the next item to look up
    size_t pause


cdef inline Recent _described(const Reader *reader) noexcept:
    """What the item read last is known by."""
    cdef Recent seen
    cdef const uint8_t *text = <const uint8_t *>reader.text
    cdef uint64_t mask = ~<uint64_t>0
    cdef size_t tail = 0
    cdef uint8_t[8] rest
    if reader.length >= 8:
        tail = reader.length - 8
    else:
        mask = (<uint64_t>1 << 8 * reader.length) - 1
    seen.item = NULL
    seen.length = <uint32_t>reader.length
    seen.at = <uint32_t>(text - reader.data)
    if seen.at + <size_t>8 <= reader.size:
        seen.first = zc_load_le64(text) & mask
        seen.last = zc_load_le64(text + tail) & mask
    else:
        memset(rest, 0, 8)
        memcpy(rest, text, min(reader.length, 7))      # at the very end
        seen.first = seen.last = zc_load_le64(rest)
    return seen


cdef inline size_t _mark(const Recent *seen) noexcept:
    """The first of the two places where it may be."""
    cdef uint64_t mixed = (seen.first ^ seen.length) * <uint64_t>0x9e3779b97f4a7c15
    return <size_t>(((mixed ^ (mixed >> 32) ^ seen.last) * <uint64_t>0xd6e8feb86659fd93) >> 53) << 1


cdef inline bint _is_same(const Recent *entry, const Recent *seen, const uint8_t *data) noexcept:
    return (entry.first == seen.first and entry.last == seen.last and entry.length == seen.length
            and entry.item != NULL
            and (seen.length <= 16 or memcmp(data + entry.at + 8, data + seen.at + 8, seen.length - 16) == 0))


cdef inline PyObject *_new_item(const Reader *reader, bint utf8) noexcept:
    """A new str or bytes; NULL where it is not UTF-8, and with an exception where there is no memory."""
    if utf8:
        return _new_text(<const uint8_t *>reader.text, reader.length, reader.ascii)
    return NewBytes(reader.text, reader.length)


cdef PyObject *_remembered_item(const Reader *reader, Memory *memory, bint utf8) noexcept:
    """The same, taken from the items made lately if it is there; of two places the newer one first."""
    cdef Recent seen = _described(reader)
    cdef Recent *entry = &memory.recent[_mark(&seen)]
    cdef Recent *older = entry + 1
    memory.looked_up += 1
    if _is_same(entry, &seen, reader.data):
        memory.found += 1
    elif _is_same(older, &seen, reader.data):
        memory.found += 1
        entry = older
    else:
        seen.item = _new_item(reader, utf8)
        if seen.item == NULL:
            return NULL
        Py_XDECREF(older.item)
        older[0] = entry[0]
        entry[0] = seen
    if memory.looked_up == _SAMPLE:
        if memory.found < _SAMPLE // 8:
            memory.resume = reader.item + memory.pause
            memory.pause *= 2
        memory.looked_up = memory.found = 0
    Py_INCREF(entry.item)
    return entry.item


cdef int _read_objects(Reader *reader, size_t count, Places *places, bint utf8) except -1:
    """Items into an array of str or bytes."""
    cdef PyObject **slot
    cdef PyObject *item
    cdef PyObject *old
    cdef size_t i
    cdef Memory memory = Memory(NULL, 0, 0, 0, _PAUSE)
    if count >= _SAMPLE and reader.size <= _MAX_LENGTH:
        memory.recent = <Recent *>calloc(_RECENT, sizeof(Recent))
    for reader.item in range(count):
        if not _next(reader, False):
            break
        if memory.recent != NULL and reader.item >= memory.resume:
            item = _remembered_item(reader, &memory, utf8)
        else:
            item = _new_item(reader, utf8)
        if item == NULL:
            reader.trouble = NO_MEMORY if PyErr_Occurred() else NOT_UTF8
            PyErr_Clear()
            break
        slot = <PyObject **>_place(places)
        old = slot[0]
        slot[0] = item
        Py_XDECREF(old)
    if memory.recent != NULL:
        for i in range(_RECENT):
            Py_XDECREF(memory.recent[i].item)
        free(memory.recent)
    return 0


cdef int _start(Reader *reader, const uint8_t[::1] view, size_t count, str codec) except -1:
    """A reader of a value, which may hold as many items as it should; before anything is made for them."""
    reader.size = view.shape[0]
    reader.at = 4
    reader.trouble = NOTHING
    if reader.size < 4:
        raise errors.ChunkDecodeError(f"expected the number of items, got {reader.size} bytes", codec=codec)
    reader.data = &view[0]
    found = zc_load_le32(reader.data)
    if found != count:
        raise errors.ChunkDecodeError(f"expected {count} items, the chunk says {found}", codec=codec)
    if reader.size - 4 < 4 * count:
        raise errors.ChunkDecodeError(f"{reader.size} bytes cannot hold {count} items", codec=codec)
    return 0


cdef int _read(Reader *reader, cnp.ndarray out, str codec, bint utf8) except -1:
    """All items of a value that was started."""
    cdef Places places
    cdef size_t count = cnp.PyArray_SIZE(out)
    cdef int axis
    if count > 0:
        if cnp.PyArray_IS_C_CONTIGUOUS(out):
            out = out.reshape(-1)
        axis = cnp.PyArray_NDIM(out) - 1
        rows = cnp.PyArray_IterAllButAxis(out, &axis)
        places.rows = <PyObject *>rows
        places.next = RowData(places.rows)
        places.left = places.length = cnp.PyArray_DIM(out, axis)
        places.step = cnp.PyArray_STRIDE(out, axis)
        reader.ascii = utf8 and zc_is_ascii(reader.data, reader.size)
        if out.dtype.kind == "T":
            _read_strings(reader, count, &places, out)
        else:
            _read_objects(reader, count, &places, utf8)
    if reader.trouble != NOTHING:
        raise _decode_error(reader, count, codec)
    if reader.at != reader.size:
        raise errors.ChunkDecodeError(f"{reader.size - reader.at} bytes follow the last item", codec=codec)
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
    _start(&reader, view, count, codec)
    out = np.empty(count, dtype)
    _read(&reader, out, codec, utf8)
    return out


def decode_into(data not None, cnp.ndarray out not None, str codec not None, *, bint utf8):
    """As :func:`decode`, in C order into an array that has a place for each item, whatever its strides.

    After a failure some of the places may hold new items.
    """
    cdef const uint8_t[::1] view = memoryview(data).cast("B")
    cdef Reader reader
    if not cnp.PyArray_ISALIGNED(out):
        raise ValueError("out: the items are not aligned")
    _start(&reader, view, cnp.PyArray_SIZE(out), codec)
    _read(&reader, out, codec, utf8)


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
            zc_short_copy(dst + 4, text.buf, text.size)
            dst += 4 + text.size
        NpyString_release_allocator(allocator)
    if dst != end:
        raise errors.ChunkEncodeError("the items were changed while they were encoded", codec=codec)
    return out


def first_missing(cnp.ndarray items not None):
    """The number, in C order, of the first missing string of an array of ``StringDType``; -1 without one."""
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


cdef class _Growing:
    """Bytes that grow at their end."""

    cdef PyObject *out
    cdef uint8_t *at           # where the next byte goes
    cdef uint8_t *end

    def __cinit__(self, size_t room):
        self.out = NewBytes(NULL, room)
        if self.out == NULL:
            raise MemoryError
        self.at = <uint8_t *>BytesData(self.out)
        self.end = self.at + room

    def __dealloc__(self):
        Py_XDECREF(self.out)

    cdef int grow(self, size_t more) except -1:
        """Make room for so many bytes at least."""
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
    """An item behind its length."""
    if <size_t>(out.end - out.at) < 4 + length:
        out.grow(4 + length)
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
    if n > _MAX_LENGTH:
        return False
    if PyUnicode_IS_COMPACT_ASCII(item):
        _add_item(out, PyUnicode_DATA(item), n)
        return True
    width = PyUnicode_KIND(item)
    if <size_t>(out.end - out.at) < 4 + n * ZC_UTF8_MOST(width):
        out.grow(4 + n * ZC_UTF8_MOST(width))
    if not zc_utf8_encode(out.at + 4, PyUnicode_DATA(item), width, n, &length) or length > _MAX_LENGTH:
        return False
    zc_store_le32(out.at, <uint32_t>length)
    out.at += 4 + length
    return True


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
    """Whether all strings of an array have UTF-8, so that :func:`encode` takes them as they are.

    They are objects, each a str itself, or of fixed length; in C order and in the machine's byte order.
    """
    if items.dtype.kind not in "OU" or not cnp.PyArray_ISCARRAY_RO(items):
        return False
    if items.dtype.kind == "U":
        return not zc_has_no_utf8(cnp.PyArray_DATA(items), 4, cnp.PyArray_NBYTES(items) // 4)
    cdef PyObject **slots = <PyObject **>cnp.PyArray_DATA(items)
    cdef size_t count = cnp.PyArray_SIZE(items), i
    for i in range(count):
        _fetch(slots, i, count)
        if not _is_text(slots[i]):
            return False
    return True


cdef bytes _encoded(object item, size_t i, str codec, object to_item, bint utf8):
    """What is neither str nor bytes, or has no UTF-8."""
    try:
        return PyUnicode_AsUTF8String(item) if utf8 and type(item) is str else to_item(item)
    except (TypeError, UnicodeError) as error:
        raise errors.ChunkEncodeError(f"item {i}: {error}", codec=codec) from error


cdef bytes _encode_objects(cnp.ndarray items, str codec, object to_item, bint utf8):
    cdef PyObject **slots = <PyObject **>cnp.PyArray_DATA(items)
    cdef size_t count = cnp.PyArray_SIZE(items), i
    cdef _Growing out = _Growing(4 + 20 * count)
    cdef bytes encoded
    zc_store_le32(out.at, <uint32_t>count)
    out.at += 4
    for i in range(count):
        _fetch(slots, i, count)
        if utf8 and _add_text(out, slots[i]):
            continue
        if not utf8 and slots[i] != NULL and IsBytes(slots[i]) and <size_t>BytesSize(slots[i]) <= _MAX_LENGTH:
            _add_item(out, BytesData(slots[i]), BytesSize(slots[i]))
        else:
            encoded = _encoded(<object>slots[i] if slots[i] != NULL else None, i, codec, to_item, utf8)
            if <size_t>PyBytes_GET_SIZE(encoded) > _MAX_LENGTH:
                raise _encode_error(TOO_LONG, i, PyBytes_GET_SIZE(encoded), codec)
            _add_item(out, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))
    return out.finish()


cdef bytes _encode_fixed(cnp.ndarray items, str codec):
    """Items of fixed length, four bytes for each code point and zeros behind the last."""
    cdef const uint32_t *points = <const uint32_t *>cnp.PyArray_DATA(items)
    cdef size_t width = cnp.PyArray_ITEMSIZE(items) // 4, count = cnp.PyArray_SIZE(items), i, n, length = 0
    cdef _Growing out = _Growing(4 + (4 + width) * count)
    zc_store_le32(out.at, <uint32_t>count)
    out.at += 4
    for i in range(count):
        n = width
        while n > 0 and points[n - 1] == 0:
            n -= 1
        if n > _MAX_LENGTH // 4:
            raise _encode_error(TOO_LONG, i, n, codec)
        if <size_t>(out.end - out.at) < 4 + 4 * n:
            out.grow(4 + 4 * n)
        if not zc_utf8_encode(out.at + 4, points, 4, n, &length):
            bad = next(points[k] for k in range(n) if zc_has_no_utf8(&points[k], 4, 1))
            raise errors.ChunkEncodeError(f"item {i}: U+{bad:04X} has no UTF-8", codec=codec)
        zc_store_le32(out.at, <uint32_t>length)
        out.at += 4 + length
        points += width
    return out.finish()


def encode(cnp.ndarray items not None, str codec not None, to_item not None, *, bint utf8) -> bytes:
    """Encode the items of a chunk.

    Parameters
    ----------
    items : numpy.ndarray
        Of ``StringDType`` or of fixed length (``U``, both for UTF-8 only), or ``object``; in C order.
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
    if items.dtype.kind == "U" and utf8 and cnp.PyArray_ISCARRAY_RO(items):
        return _encode_fixed(items, codec)
    return _encode_objects(items.astype(object, copy=False), codec, to_item, utf8)
