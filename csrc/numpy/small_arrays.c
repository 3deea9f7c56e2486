/* SPDX-License-Identifier: MIT */
#include "numpy/small_arrays.h"

#include <math.h>

#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include "base/arith.h"
#include "kernels/bit_packing.h"
#include "kernels/chunk_grid.h"
#include "kernels/region.h"
#include "kernels/shuffle.h"

enum { GIL_MIN_NBYTES = 4096 };

int zc_quick_init(void)
{
    import_array1(-1);
    return 0;
}

/* Run a statement, without the GIL if it moves enough. */
#define RUN(nbytes, statement)                                                                   \
    do {                                                                                         \
        if ((nbytes) < GIL_MIN_NBYTES) {                                                         \
            statement;                                                                           \
        } else {                                                                                 \
            Py_BEGIN_ALLOW_THREADS                                                               \
            statement;                                                                           \
            Py_END_ALLOW_THREADS                                                                 \
        }                                                                                        \
    } while (0)

/* ---- what is plain --------------------------------------------------------------------------- */

/* An ndarray of NumPy's own numbers, whose words have 8 bytes at most; NULL for anything else. */
static PyArrayObject *plain(PyObject *x)
{
    if (!PyArray_CheckExact(x)) {
        return NULL;
    }
    PyArrayObject *const array = (PyArrayObject *)x;
    const int type = PyArray_TYPE(array);
    const bool number = PyTypeNum_ISBOOL(type) || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISDATETIME(type) ||
                        type == NPY_HALF || type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT ||
                        type == NPY_CDOUBLE;
    return number && PyArray_NBYTES(array) < ZC_QUICK_NBYTES ? array : NULL;
}

static PyArrayObject *plain_dense(PyObject *x)
{
    PyArrayObject *const array = plain(x);

    return array != NULL && PyArray_IS_C_CONTIGUOUS(array) ? array : NULL;
}

static bool same_type(PyArrayObject *a, PyArrayObject *b)
{
    return PyArray_DESCR(a) == PyArray_DESCR(b) ||
           (PyArray_TYPE(a) == PyArray_TYPE(b) && !PyTypeNum_ISDATETIME(PyArray_TYPE(a)) &&
            PyArray_ISNOTSWAPPED(a) == PyArray_ISNOTSWAPPED(b));
}

static bool same_shape(PyArrayObject *a, PyArrayObject *b)
{
    return PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

/* From the first byte to after the last one. */
static void extent(PyArrayObject *a, char **first, char **end)
{
    *first = PyArray_BYTES(a);
    *end = *first + PyArray_ITEMSIZE(a);
    for (int d = 0; d < PyArray_NDIM(a); d++) {
        const npy_intp length = (PyArray_DIM(a, d) - 1) * PyArray_STRIDE(a, d);
        *first += length < 0 ? length : 0;
        *end += length > 0 ? length : 0;
    }
}

static bool are_apart(PyArrayObject *a, PyArrayObject *b)
{
    char *first[2], *end[2];

    if (PyArray_SIZE(a) == 0 || PyArray_SIZE(b) == 0) {
        return true;
    }
    extent(a, &first[0], &end[0]);
    extent(b, &first[1], &end[1]);
    return end[0] <= first[1] || end[1] <= first[0];
}

/* Room for a result in one dimension: a new array, or `out` if it is of exactly that type and length and lies elsewhere.
 * A new reference; NULL without an exception where `out` is something else. */
static PyArrayObject *flat_room(PyObject *out, PyArrayObject *x, int type, npy_intp length)
{
    if (out == Py_None) {
        return (PyArrayObject *)PyArray_SimpleNew(1, &length, type);
    }
    PyArrayObject *const room = plain_dense(out);
    if (room == NULL || PyArray_TYPE(room) != type || PyArray_NDIM(room) != 1 || PyArray_SIZE(room) != length ||
        !PyArray_ISWRITEABLE(room) || !are_apart(room, x)) {
        return NULL;
    }
    return (PyArrayObject *)Py_NewRef(out);
}

static PyObject *result_or_none(PyArrayObject *result)
{
    if (result == NULL && !PyErr_Occurred()) {
        Py_RETURN_NONE;
    }
    return (PyObject *)result;
}

/* Bytes that a change of byte order reverses together; 0 for single bytes. */
static uint32_t word_of(PyArrayObject *x)
{
    const npy_intp size = PyArray_ITEMSIZE(x) / (PyTypeNum_ISCOMPLEX(PyArray_TYPE(x)) ? 2 : 1);

    return size > 1 ? (uint32_t)size : 0;
}

static void copy_region(PyArrayObject *dst, PyArrayObject *src, const npy_intp *src_strides)
{
    int64_t shape[NPY_MAXDIMS], to[NPY_MAXDIMS], from[NPY_MAXDIMS];
    const zc_item item = {.size = (size_t)PyArray_ITEMSIZE(dst)};
    const int ndim = PyArray_NDIM(dst);

    for (int d = 0; d < ndim; d++) {
        shape[d] = PyArray_DIM(dst, d);
        to[d] = PyArray_STRIDE(dst, d);
        from[d] = src_strides[d];
    }
    RUN(PyArray_NBYTES(dst),
        zc_region_copy(ndim, shape, PyArray_BYTES(dst), to, PyArray_BYTES(src), from, &item));
}

/* ---- byte order and transposition ------------------------------------------------------------ */

PyObject *zc_quick_byteswap(PyObject *x, PyObject *out)
{
    PyArrayObject *const src = plain_dense(x);
    PyArrayObject *dst;

    if (src == NULL) {
        Py_RETURN_NONE;
    }
    if (out == Py_None) {
        dst = (PyArrayObject *)PyArray_NewLikeArray(src, NPY_KEEPORDER, NULL, 0);
    } else {
        dst = plain_dense(out);
        const bool fits = dst != NULL && same_type(dst, src) && same_shape(dst, src) && PyArray_ISWRITEABLE(dst) &&
                          (PyArray_BYTES(dst) == PyArray_BYTES(src) || are_apart(dst, src));
        dst = fits ? (PyArrayObject *)Py_NewRef(out) : NULL;
    }
    if (dst != NULL) {
        const size_t n = (size_t)PyArray_SIZE(src);
        const zc_item item = {.size = (size_t)PyArray_ITEMSIZE(src), .word = word_of(src)};
        RUN(PyArray_NBYTES(src), zc_items_copy(n, PyArray_BYTES(dst), PyArray_BYTES(src), &item));
    }
    return result_or_none(dst);
}

PyObject *zc_quick_copy(PyObject *dst, PyObject *src)
{
    PyArrayObject *const to = plain(dst), *const from = plain(src);

    if (to == NULL || from == NULL || !same_type(to, from) || !same_shape(to, from) || !PyArray_ISWRITEABLE(to) ||
        !are_apart(to, from)) {
        Py_RETURN_NONE;
    }
    copy_region(to, from, PyArray_STRIDES(from));
    Py_RETURN_TRUE;
}

/* Axes from a tuple; false if it is not one of ints that names each axis once. */
static bool read_order(PyObject *order, int ndim, int *axes)
{
    uint64_t seen = 0;

    if (!PyTuple_CheckExact(order) || PyTuple_GET_SIZE(order) != ndim) {
        return false;
    }
    for (int d = 0; d < ndim; d++) {
        PyObject *const axis = PyTuple_GET_ITEM(order, d);
        int overflow = 0;
        const long value = PyLong_CheckExact(axis) ? PyLong_AsLongAndOverflow(axis, &overflow) : -1;
        if (value < 0 || value >= ndim || (seen >> value & 1)) {
            return false;
        }
        seen |= UINT64_C(1) << value;
        axes[d] = (int)value;
    }
    return true;
}

PyObject *zc_quick_transpose(PyObject *x, PyObject *order, PyObject *out)
{
    PyArrayObject *const src = plain(x);
    PyArrayObject *dst = out == Py_None ? NULL : plain(out);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int axes[NPY_MAXDIMS];

    if (src == NULL || (out != Py_None && dst == NULL) || !read_order(order, PyArray_NDIM(src), axes)) {
        Py_RETURN_NONE;
    }
    for (int d = 0; d < PyArray_NDIM(src); d++) {
        shape[d] = PyArray_DIM(src, axes[d]);
        strides[d] = PyArray_STRIDE(src, axes[d]);
    }
    if (dst == NULL) {
        dst = (PyArrayObject *)PyArray_Empty(PyArray_NDIM(src), shape, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(src)),
                                             0);
    } else {
        const bool fits = same_type(dst, src) && PyArray_NDIM(dst) == PyArray_NDIM(src) &&
                          PyArray_CompareLists(PyArray_DIMS(dst), shape, PyArray_NDIM(src)) &&
                          PyArray_ISWRITEABLE(dst) && are_apart(dst, src);
        dst = fits ? (PyArrayObject *)Py_NewRef(out) : NULL;
    }
    if (dst != NULL) {
        copy_region(dst, src, strides);
    }
    return result_or_none(dst);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

PyObject *zc_quick_chunk_index(PyObject *index, PyObject *length)
{
    PyArrayObject *const src = plain_dense(index);
    int overflow = 0;

    if (src == NULL || PyArray_TYPE(src) != NPY_INT64 || !PyArray_ISBEHAVED_RO(src) || PyArray_NDIM(src) == 0 ||
        !PyLong_CheckExact(length)) {
        Py_RETURN_NONE;
    }
    int64_t step = PyLong_AsLongLongAndOverflow(length, &overflow);
    if (overflow != 0 || step < 1) {
        Py_RETURN_NONE;
    }
    PyObject *const chunk = PyArray_SimpleNew(PyArray_NDIM(src), PyArray_DIMS(src), NPY_INT64);
    PyObject *const offset = PyArray_SimpleNew(PyArray_NDIM(src), PyArray_DIMS(src), NPY_INT64);
    PyObject *const both = chunk != NULL && offset != NULL ? PyTuple_Pack(2, chunk, offset) : NULL;
    if (both != NULL) {
        const zc_column columns[] = {{PyArray_BYTES(src), 8},
                                     {(char *)&step, 0},
                                     {PyArray_BYTES((PyArrayObject *)chunk), 8},
                                     {PyArray_BYTES((PyArrayObject *)offset), 8}};
        const size_t n = (size_t)PyArray_SIZE(src);
        RUN(PyArray_NBYTES(src), zc_chunk_index_i64(n, columns[0], columns[1], columns[2], columns[3]));
    }
    Py_XDECREF(chunk);
    Py_XDECREF(offset);
    return both;
}

/* A row of lengths or offsets in the machine's byte order; NULL for anything else. */
static PyArrayObject *plain_words(PyObject *x)
{
    PyArrayObject *const array = plain_dense(x);
    const bool fits = array != NULL && PyArray_NDIM(array) == 1 && PyArray_ISUNSIGNED(array) &&
                      PyArray_ITEMSIZE(array) == 8 && PyArray_ISNOTSWAPPED(array);

    return fits ? array : NULL;
}

static void pack_index(char *dst, const char *offsets, const char *nbytes, size_t n)
{
    uint64_t pair[2];

    for (size_t i = 0; i < n; i++) {
        memcpy(&pair[0], offsets + 8 * i, 8);
        memcpy(&pair[1], nbytes + 8 * i, 8);
        zc_store_le64((uint8_t *)dst + 16 * i, pair[0]);
        zc_store_le64((uint8_t *)dst + 16 * i + 8, pair[1]);
    }
}

PyObject *zc_quick_shard_index_pack(PyObject *offsets, PyObject *nbytes)
{
    PyArrayObject *const first = plain_words(offsets), *const second = plain_words(nbytes);

    if (first == NULL || second == NULL || PyArray_SIZE(first) != PyArray_SIZE(second)) {
        Py_RETURN_NONE;
    }
    const npy_intp n = PyArray_SIZE(first), size = 16 * n;
    PyArrayObject *const out = (PyArrayObject *)PyArray_SimpleNew(1, &size, NPY_UBYTE);
    if (out != NULL) {
        RUN(size, pack_index(PyArray_BYTES(out), PyArray_BYTES(first), PyArray_BYTES(second), (size_t)n));
    }
    return (PyObject *)out;
}

/* ---- filters --------------------------------------------------------------------------------- */

PyObject *zc_quick_shuffle(PyObject *x, PyObject *itemsize, PyObject *out, bool inverse)
{
    PyArrayObject *const src = plain_dense(x);
    int overflow = 0;

    if (src == NULL || PyArray_NDIM(src) != 1 || !(itemsize == Py_None || PyLong_CheckExact(itemsize))) {
        Py_RETURN_NONE;
    }
    const npy_intp nbytes = PyArray_NBYTES(src);
    const long size = itemsize == Py_None ? (long)PyArray_ITEMSIZE(src)
                                          : PyLong_AsLongAndOverflow(itemsize, &overflow);
    if (size < 1 || nbytes % size != 0) {
        Py_RETURN_NONE;
    }
    PyArrayObject *const dst = flat_room(out, src, NPY_UBYTE, nbytes);
    if (dst != NULL && nbytes > 0) {
        const size_t n = (size_t)(nbytes / size);
        if (inverse) {
            RUN(nbytes, zc_unshuffle(PyArray_BYTES(dst), PyArray_BYTES(src), n, (size_t)size));
        } else {
            RUN(nbytes, zc_shuffle(PyArray_BYTES(dst), PyArray_BYTES(src), n, (size_t)size));
        }
    }
    return result_or_none(dst);
}

PyObject *zc_quick_pack_flags(PyObject *x, PyObject *out, bool high_first)
{
    PyArrayObject *const src = plain_dense(x);

    if (src == NULL || !PyArray_ISBOOL(src)) {
        Py_RETURN_NONE;
    }
    const npy_intp n = PyArray_SIZE(src);
    PyArrayObject *const dst = flat_room(out, src, NPY_UBYTE, n / 8 + (n % 8 != 0));
    if (dst != NULL) {
        RUN(n, zc_pack_flags((uint8_t *)PyArray_BYTES(dst), (const uint8_t *)PyArray_BYTES(src), (size_t)n, high_first));
    }
    return result_or_none(dst);
}

PyObject *zc_quick_unpack_flags(PyObject *packed, PyObject *count, PyObject *out, bool high_first)
{
    PyArrayObject *const src = plain_dense(packed);
    int overflow = 0;

    if (src == NULL || PyArray_TYPE(src) != NPY_UBYTE || !PyLong_CheckExact(count)) {
        Py_RETURN_NONE;
    }
    const long long n = PyLong_AsLongLongAndOverflow(count, &overflow);
    if (overflow != 0 || n < 0 || PyArray_SIZE(src) != n / 8 + (n % 8 != 0)) {
        Py_RETURN_NONE;
    }
    PyArrayObject *const dst = flat_room(out, src, NPY_BOOL, (npy_intp)n);
    if (dst != NULL) {
        RUN(n, zc_unpack_flags((uint8_t *)PyArray_BYTES(dst), (const uint8_t *)PyArray_BYTES(src), (size_t)n,
                               high_first));
    }
    return result_or_none(dst);
}

/* ---- fill values ----------------------------------------------------------------------------- */

/* A float as an item, if that is what NumPy would make of it without a word. */
static bool float_item(double value, int type, char item[16])
{
    const float single = (float)value;

    if (type == NPY_DOUBLE) {
        memcpy(item, &value, sizeof value);
        return true;
    }
    if (type != NPY_FLOAT || (isinf(single) && !isinf(value))) {
        return false;
    }
    memcpy(item, &single, sizeof single);
    return true;
}

static bool integer_item(PyObject *value, PyArrayObject *like, char item[16])
{
    const int type = PyArray_TYPE(like), bits = 8 * (int)PyArray_ITEMSIZE(like);
    int overflow = 0;
    const long long x = PyLong_AsLongLongAndOverflow(value, &overflow);

    if (overflow != 0) {
        return false;
    }
    if (PyTypeNum_ISFLOAT(type)) {
        return x > -(1 << 24) && x < 1 << 24 && float_item((double)x, type, item);
    }
    if (!PyTypeNum_ISINTEGER(type)) {
        return false;
    }
    const long long most = bits == 64 ? LLONG_MAX : (1LL << (bits - (PyTypeNum_ISSIGNED(type) ? 1 : 0))) - 1;
    if (x > most || x < (PyTypeNum_ISSIGNED(type) ? -most - 1 : 0)) {
        return false;
    }
    switch (bits) {
    case 8: memcpy(item, &(int8_t){(int8_t)x}, 1); break;
    case 16: memcpy(item, &(int16_t){(int16_t)x}, 2); break;
    case 32: memcpy(item, &(int32_t){(int32_t)x}, 4); break;
    default: memcpy(item, &(int64_t){(int64_t)x}, 8); break;
    }
    return true;
}

/* A value as an item of an array in the machine's byte order. */
static bool item_of(PyObject *value, PyArrayObject *like, char item[16])
{
    const int type = PyArray_TYPE(like);

    if (PyTypeNum_ISDATETIME(type) || !PyArray_ISNOTSWAPPED(like)) {
        return false;
    }
    if (PyFloat_CheckExact(value)) {
        return float_item(PyFloat_AS_DOUBLE(value), type, item);
    }
    if (PyLong_CheckExact(value)) {
        return integer_item(value, like, item);
    }
    if (PyBool_Check(value) && type == NPY_BOOL) {
        item[0] = value == Py_True;
        return true;
    }
    if ((PyObject *)Py_TYPE(value) != (PyObject *)PyArray_DESCR(like)->typeobj) {
        return false;
    }
    PyArray_ScalarAsCtype(value, item);
    return true;
}

PyObject *zc_quick_fill(PyObject *out, PyObject *value)
{
    PyArrayObject *const dst = plain_dense(out);
    char item[16];

    if (dst == NULL || !PyArray_ISWRITEABLE(dst) || !item_of(value, dst, item)) {
        Py_RETURN_NONE;
    }
    const int64_t n = PyArray_SIZE(dst), stride = PyArray_ITEMSIZE(dst);
    RUN(PyArray_NBYTES(dst), zc_region_fill(1, &n, PyArray_BYTES(dst), &stride, (size_t)stride, item));
    Py_RETURN_TRUE;
}

PyObject *zc_quick_equals_fill(PyObject *x, PyObject *value, bool by_value)
{
    PyArrayObject *const src = plain_dense(x);
    char item[16];
    bool equal;

    if (src == NULL || !item_of(value, src, item)) {
        Py_RETURN_NONE;
    }
    const size_t n = (size_t)PyArray_SIZE(src), size = (size_t)PyArray_ITEMSIZE(src);
    const size_t parts = PyTypeNum_ISCOMPLEX(PyArray_TYPE(src)) ? 2 : 1;
    if (by_value && (parts == 2 || PyTypeNum_ISFLOAT(PyArray_TYPE(src)))) {
        const zc_float_kind kind = (zc_float_kind)(size / parts);
        RUN(n * size, equal = zc_equals_fill_float(PyArray_BYTES(src), n * parts, kind, item, parts));
    } else {
        RUN(n * size, equal = zc_equals_fill(PyArray_BYTES(src), n, size, item));
    }
    return PyBool_FromLong(equal);
}
