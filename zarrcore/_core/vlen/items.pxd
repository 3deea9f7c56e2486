# Items of any length as one value: the number of items, then for each item its length in bytes and its bytes, all
# numbers unsigned 32-bit little-endian (codecs "vlen-utf8" and "vlen-bytes").
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t, uint64_t

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

cdef extern from *:
    """
    /* Places of objects in an array, which without a GIL another thread may fill at the same time: what is looked at is
     * held, what is replaced is let go of once.  The moment between finding an object and holding it remains, and NumPy
     * has it too: whoever writes to an array takes no lock. */
    #ifdef Py_GIL_DISABLED
    #include <stdatomic.h>
    typedef _Atomic(PyObject *) zc_place;

    static inline PyObject *zc_take(PyObject **place)
    {
        return Py_XNewRef(atomic_load_explicit((zc_place *)place, memory_order_acquire));
    }

    static inline void zc_let_go(PyObject *item) { Py_XDECREF(item); }

    static inline void zc_replace(PyObject **place, PyObject *item)
    {
        Py_XDECREF(atomic_exchange_explicit((zc_place *)place, item, memory_order_acq_rel));
    }
    #else
    static inline PyObject *zc_take(PyObject **place) { return *place; }

    static inline void zc_let_go(PyObject *item) { (void)item; }

    static inline void zc_replace(PyObject **place, PyObject *item) { Py_XSETREF(*place, item); }
    #endif
    """
    PyObject *zc_take(PyObject **place)
    void zc_let_go(PyObject *item)
    void zc_replace(PyObject **place, PyObject *item)

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

cdef extern from "stdint.h":
    const size_t MAX_LENGTH "UINT32_MAX"     # of an item, and the most items

# What can be wrong with a value.
cdef enum Trouble:
    NOTHING
    ENDS_BEFORE        # the value ends before the length of an item
    REACHES_BEYOND     # an item is longer than what is left
    NOT_UTF8
    NO_MEMORY
    NOT_GIVEN          # an array's item is missing
    TOO_LONG
