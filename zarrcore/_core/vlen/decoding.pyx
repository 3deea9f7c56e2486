# SPDX-License-Identifier: MIT
"""From the value of a chunk to its items of any length."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from zarrcore._core.vlen.items cimport *

import numpy as np

from zarrcore import errors

cnp.import_array()

cdef extern from *:
    """
    /* Python's allocator returns memory to the system, 1 MiB at a time, once nothing is left in it, and has to ask for
     * it again, page by page, when the next chunk is read: that takes longer than decoding.  An item that was made
     * lately in each of them keeps at most 48 MiB with the process. */
    #define ZC_ARENA_STEP ((size_t)768 << 10)
    #define ZC_ARENA_ITEM 512                /* larger ones come from elsewhere */

    static inline void zc_keep_arena(PyObject *item)
    {
    #ifndef Py_GIL_DISABLED
        static PyObject *kept[48];
        static unsigned turn;
        Py_XSETREF(kept[turn++ % 48], Py_NewRef(item));
    #else
        (void)item;
    #endif
    }
    """
    size_t ZC_ARENA_STEP, ZC_ARENA_ITEM
    void zc_keep_arena(PyObject *item)


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
    """Return the place of the next item; there must be one."""
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
    """Return the exception for a value that is not sound."""
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
    """Return a new str; NULL where it is not UTF-8, and with an exception where there is no memory."""
    cdef zc_utf8_text text
    cdef PyObject *item
    if n < 2:                     # strings that Python keeps once
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

cdef struct Recent:
    PyObject *item            # a reference of its own: the user may replace the items of an array
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
    """Return the first of the two places where it may be."""
    cdef uint64_t mixed = (seen.first ^ seen.length) * <uint64_t>0x9e3779b97f4a7c15
    return <size_t>(((mixed ^ (mixed >> 32) ^ seen.last) * <uint64_t>0xd6e8feb86659fd93) >> 53) << 1


cdef inline bint _is_same(const Recent *entry, const Recent *seen, const uint8_t *data) noexcept:
    return (entry.first == seen.first and entry.last == seen.last and entry.length == seen.length
            and entry.item != NULL
            and (seen.length <= 16 or memcmp(data + entry.at + 8, data + seen.at + 8, seen.length - 16) == 0))


cdef inline PyObject *_new_item(const Reader *reader, bint utf8) noexcept:
    """Return a new str or bytes; NULL where it is not UTF-8, and with an exception where there is no memory."""
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
    cdef PyObject *item
    cdef size_t i, made = 0
    cdef Memory memory = Memory(NULL, 0, 0, 0, _PAUSE)
    if count >= _SAMPLE and reader.size <= MAX_LENGTH:
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
        zc_replace(<PyObject **>_place(places), item)
        if reader.length < ZC_ARENA_ITEM:
            made += reader.length + 48
            if made >= ZC_ARENA_STEP:
                zc_keep_arena(item)
                made = 0
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
        raise errors.ChunkDecodeError(f"expected {count} items, the chunk states {found}", codec=codec)
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


def unchanging(data not None):
    """Return the bytes of a value in memory that nobody can change: a copy, if they do not lie in ``bytes``.

    Lengths are checked and used, strings measured and decoded: a mapped file, or the memory of another thread, must
    not change in between.
    """
    owner = data.obj if type(data) is memoryview else data
    return data if type(owner) is bytes else bytes(data)


def decode(data not None, Py_ssize_t count, dtype not None, str codec not None, *, bint utf8):
    """Decode the items of a chunk to an array of one dimension.

    `dtype` is ``StringDType`` (with `utf8` only) or ``object``; items are strings, with `utf8`, or bytes.
    ChunkDecodeError is raised if the value does not hold exactly `count` sound items.
    """
    cdef const uint8_t[::1] view = memoryview(unchanging(data)).cast("B")
    cdef Reader reader
    _start(&reader, view, count, codec)
    out = np.empty(count, dtype)
    _read(&reader, out, codec, utf8)
    return out


def decode_into(data not None, cnp.ndarray out not None, str codec not None, *, bint utf8):
    """As :func:`decode`, in C order into an array that has a place for each item, whatever its strides.

    After a failure some of the places may hold new items.
    """
    cdef const uint8_t[::1] view = memoryview(unchanging(data)).cast("B")
    cdef Reader reader
    if not cnp.PyArray_ISALIGNED(out):
        raise ValueError("out: the items are not aligned")
    _start(&reader, view, cnp.PyArray_SIZE(out), codec)
    _read(&reader, out, codec, utf8)


def interleaved(const uint64_t[::1] begins not None, const uint8_t[::1] items not None) -> bytes:
    """Return items, whose beginnings and last end are given, in the form that :func:`decode` takes.

    ValueError is raised if the beginnings do not ascend, or do not lie within the items, or if one is too long.
    """
    cdef size_t count = begins.shape[0] - 1, size = items.shape[0], first, length, i
    if begins.shape[0] == 0 or count > MAX_LENGTH or begins[0] > begins[count] or begins[count] > size:
        raise ValueError("the beginnings do not lie within the items")
    first = begins[0]
    cdef bytes value = PyBytes_FromStringAndSize(NULL, 4 + 4 * count + (begins[count] - first))
    cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(value)
    cdef bint sound = True
    zc_store_le32(out, <uint32_t>count)
    out += 4
    with nogil:
        for i in range(count):
            length = begins[i + 1] - begins[i]
            sound = begins[i] <= begins[i + 1] <= begins[count] and length <= MAX_LENGTH
            if not sound:
                break
            zc_store_le32(out, <uint32_t>length)
            if length > 0:
                zc_short_copy(out + 4, &items[begins[i]], length)
            out += 4 + length
    if not sound:
        raise ValueError(f"the beginnings of items {i} and {i + 1} do not ascend, or lie too far apart")
    return value
