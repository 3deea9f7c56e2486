/* SPDX-License-Identifier: MIT
 *
 * Makes numpy.ufunc objects from the loops: the one file that sees Python.h and NumPy's headers.
 *
 * Loops that treat items as bytes are registered once for each data type class and take any instance of it
 * (byte order, unit, length) as it is; NumPy converts nothing for them.  Loops over blocks release the GIL
 * themselves: NumPy's own rule counts the items of outputs, and a checksum has only one.
 */
#include "numpy/register.h"

#include <stdbool.h>

#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#include "numpy/ufunc_vectorcall.h"
#include "numpy/docs.h"
#include "numpy/loops.h"
#include "numpy/small_arrays.h"

enum { GIL_MIN_NBYTES = 4096, MAX_OPERANDS = 3, MAX_DTYPES = 26 };

/* ---- running a loop -------------------------------------------------------------------------- */

/* Bytes that a change of byte order reverses together; 0 where it changes nothing. */
static uint32_t word_of(const PyArray_Descr *descr)
{
    const npy_intp size = PyDataType_ELSIZE(descr);
    npy_intp word = size;

    if (descr->kind == 'b' || descr->kind == 'S' || descr->kind == 'V') {
        return 0;
    }
    if (descr->kind == 'U') {
        word = size > 0 ? 4 : 0;
    } else if (descr->kind == 'c') {
        word = size / 2;
    }
    return word > 1 ? (uint32_t)word : 0;
}

static zc_item item_of(const PyArray_Descr *descr)
{
    return (zc_item){.size = (size_t)PyDataType_ELSIZE(descr), .word = word_of(descr)};
}

/* Run a loop over blocks, without the GIL if that is worth while. */
static int run_blocks(zc_loop *loop, const PyArrayMethod_Context *context, char *const *data,
                      const npy_intp *dims, const npy_intp *strides)
{
    const zc_item item = item_of(context->descriptors[0]);
    const double nbytes = (double)dims[0] * (double)dims[1] * (double)item.size;
    zc_error err;
    zc_status status;

    zc_error_clear(&err);
    if (nbytes < GIL_MIN_NBYTES) {
        status = loop(data, dims, strides, &item, &err);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = loop(data, dims, strides, &item, &err);
        Py_END_ALLOW_THREADS
    }
    if (status == ZC_OK) {
        return 0;
    }
    PyErr_SetString(status == ZC_ERR_MEMORY ? PyExc_MemoryError : PyExc_ValueError, err.message);
    return -1;
}

/*
 * The same for loops which must not work in place.  NumPy copies operands that overlap, but takes for granted
 * that an output which is the input itself does no harm.
 */
static int run_apart(zc_loop *loop, const PyArrayMethod_Context *context, char *const *data,
                     const npy_intp *dims, const npy_intp *strides, int out)
{
    const zc_item item = item_of(context->descriptors[0]);
    const int64_t shape[2] = {dims[0], dims[1]};
    const int64_t row = dims[1] * (int64_t)item.size;
    const int64_t packed[2] = {row, (int64_t)item.size};
    const int64_t given[2] = {strides[0], strides[out + 1]};
    char *operands[MAX_OPERANDS] = {NULL, data[1], data[out]};
    npy_intp steps[MAX_OPERANDS + 2];

    if (data[0] != data[out]) {
        return run_blocks(loop, context, data, dims, strides);
    }
    operands[0] = PyMem_RawMalloc((size_t)(dims[0] * row));
    if (operands[0] == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    zc_region_copy(2, shape, operands[0], packed, data[0], given, &(zc_item){.size = item.size});
    memcpy(steps, strides, (size_t)(out + 3) * sizeof steps[0]);
    steps[0] = row;
    steps[out + 1] = (npy_intp)item.size;
    const int status = run_blocks(loop, context, operands, dims, steps);
    PyMem_RawFree(operands[0]);
    return status;
}

#define STAMP_BLOCKS(NAME)                                                                       \
    static int blocks_##NAME(PyArrayMethod_Context *context, char *const *data,                  \
                             const npy_intp *dims, const npy_intp *strides, NpyAuxData *unused)  \
    {                                                                                            \
        (void)unused;                                                                            \
        return run_blocks(zc_loop_##NAME, context, data, dims, strides);                         \
    }

STAMP_BLOCKS(crc32c)
STAMP_BLOCKS(equals_bits)
STAMP_BLOCKS(equals_floats)
STAMP_BLOCKS(delta_decode_ints)
STAMP_BLOCKS(delta_decode_floats)
STAMP_BLOCKS(morton_encode)
STAMP_BLOCKS(morton_decode)

/* OUT: the number of the output operand; the strides along blocks follow it. */
#define STAMP_APART(NAME, OUT)                                                                   \
    static int blocks_##NAME(PyArrayMethod_Context *context, char *const *data,                  \
                             const npy_intp *dims, const npy_intp *strides, NpyAuxData *unused)  \
    {                                                                                            \
        (void)unused;                                                                            \
        return run_apart(zc_loop_##NAME, context, data, dims, strides, OUT);                     \
    }

STAMP_APART(delta_encode_ints, 1)
STAMP_APART(delta_encode_floats, 1)
STAMP_APART(shuffle, 2)
STAMP_APART(unshuffle, 2)
STAMP_APART(bitshuffle, 2)
STAMP_APART(bitunshuffle, 2)

/* Element-wise: NumPy has released the GIL where that is worth while. */
static int elements_byteswap(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims,
                             const npy_intp *strides, NpyAuxData *unused)
{
    const zc_item item = item_of(context->descriptors[0]);

    (void)unused;
    return item.size > 0 ? (int)zc_loop_byteswap(data, dims, strides, &item, NULL) : 0;
}

/* ---- data types of operands ------------------------------------------------------------------ */

static PyArray_Descr *new_ref(PyArray_Descr *descr)
{
    Py_INCREF(descr);
    return descr;
}

static bool holds_references(PyArray_Descr *descr)
{
    if (!PyDataType_REFCHK(descr)) {
        return false;
    }
    PyErr_Format(PyExc_TypeError, "items of %R are references, not bytes", (PyObject *)descr);
    return true;
}

/* x -> the same type, in its own byte order. */
static NPY_CASTING resolve_byteswap(struct PyArrayMethodObject_tag *method, PyArray_DTypeMeta *const *dtypes,
                                    PyArray_Descr *const *given, PyArray_Descr **loop, npy_intp *view_offset)
{
    (void)method, (void)dtypes, (void)view_offset;
    if (holds_references(given[0])) {
        return (NPY_CASTING)-1;
    }
    if (PyDataType_HASFIELDS(given[0]) || PyDataType_HASSUBARRAY(given[0])) {
        PyErr_SetString(PyExc_TypeError, "this ufunc swaps plain items; fields are swapped by "
                                         "zarrcore.kernels.byteswap");
        return (NPY_CASTING)-1;
    }
    loop[0] = new_ref(given[0]);
    loop[1] = new_ref(given[0]);
    return NPY_NO_CASTING;
}

/* (any type, uint32) -> uint32. */
static NPY_CASTING resolve_crc32c(struct PyArrayMethodObject_tag *method, PyArray_DTypeMeta *const *dtypes,
                                  PyArray_Descr *const *given, PyArray_Descr **loop, npy_intp *view_offset)
{
    (void)method, (void)dtypes, (void)view_offset;
    if (holds_references(given[0])) {
        return (NPY_CASTING)-1;
    }
    loop[0] = new_ref(given[0]);
    loop[1] = PyArray_DescrFromType(NPY_UINT32);
    loop[2] = PyArray_DescrFromType(NPY_UINT32);
    return NPY_NO_CASTING;
}

/* (any type, the same type in the same byte order) -> bool. */
static NPY_CASTING resolve_equals(struct PyArrayMethodObject_tag *method, PyArray_DTypeMeta *const *dtypes,
                                  PyArray_Descr *const *given, PyArray_Descr **loop, npy_intp *view_offset)
{
    (void)method, (void)dtypes, (void)view_offset;
    if (holds_references(given[0])) {
        return (NPY_CASTING)-1;
    }
    if (word_of(given[0]) > 8) {
        PyErr_Format(PyExc_TypeError, "not all bits of %R mean something", (PyObject *)given[0]);
        return (NPY_CASTING)-1;
    }
    loop[0] = new_ref(given[0]);
    loop[1] = new_ref(given[0]);
    loop[2] = PyArray_DescrFromType(NPY_BOOL);
    return NPY_NO_CASTING;
}

/* Loops over integers take smaller ones too, Python's included: all unsigned, or else all signed. */
static int promote_integers(PyObject *ufunc, PyArray_DTypeMeta *const op[],
                            PyArray_DTypeMeta *const signature[], PyArray_DTypeMeta *promoted[])
{
    const PyUFuncObject *const self = (const PyUFuncObject *)ufunc;
    bool all_unsigned = true;

    for (int i = 0; i < self->nin; i++) {
        all_unsigned = all_unsigned && op[i] != NULL && PyTypeNum_ISUNSIGNED(op[i]->type_num);
    }
    for (int i = 0; i < self->nargs; i++) {
        PyArray_DTypeMeta *const chosen = signature[i] != NULL ? signature[i]
                                          : all_unsigned      ? &PyArray_UInt64DType
                                                              : &PyArray_Int64DType;
        Py_INCREF(chosen);
        promoted[i] = chosen;
    }
    return 0;
}

static int promote_to(PyArray_DTypeMeta *const chosen[3], PyArray_DTypeMeta *promoted[])
{
    for (int i = 0; i < 3; i++) {
        Py_INCREF(chosen[i]);
        promoted[i] = chosen[i];
    }
    return 0;
}

/* The initial value may be any integer that fits. */
static int promote_crc32c(PyObject *ufunc, PyArray_DTypeMeta *const op[],
                          PyArray_DTypeMeta *const signature[], PyArray_DTypeMeta *promoted[])
{
    PyArray_DTypeMeta *const u4 = &PyArray_UInt32DType;

    (void)ufunc, (void)signature;
    if (op[1] == u4) {
        PyErr_Format(PyExc_TypeError, "no checksum of items of %R", (PyObject *)op[0]);
        return -1;
    }
    return promote_to((PyArray_DTypeMeta *const[]){op[0], u4, u4}, promoted);
}

/* So may the item size. */
static int promote_shuffle(PyObject *ufunc, PyArray_DTypeMeta *const op[],
                           PyArray_DTypeMeta *const signature[], PyArray_DTypeMeta *promoted[])
{
    PyArray_DTypeMeta *const byte = &PyArray_UByteDType;

    (void)ufunc, (void)op, (void)signature;
    return promote_to((PyArray_DTypeMeta *const[]){byte, &PyArray_IntpDType, byte}, promoted);
}

/* ---- registration ---------------------------------------------------------------------------- */

/* A ufunc without loops as yet; signature NULL: element-wise. */
static PyObject *new_ufunc(PyObject *names, const char *name, const char *doc, int nin, int nout,
                           const char *signature)
{
    PyObject *const ufunc = PyUFunc_FromFuncAndDataAndSignature(NULL, NULL, NULL, 0, nin, nout, PyUFunc_None,
                                                                name, doc, 0, signature);

    if (ufunc == NULL || PyDict_SetItemString(names, name, ufunc) < 0) {
        Py_XDECREF(ufunc);
        return NULL;
    }
    zc_calls_first(ufunc);
    Py_DECREF(ufunc);                    /* the dict keeps it */
    return ufunc;
}

/* One loop of a ufunc. */
typedef struct method {
    PyArrayMethod_StridedLoop *loop;
    PyArrayMethod_ResolveDescriptors *resolve;   /* NULL: NumPy's own, machine byte order */
    bool any_alignment;
    bool elements;                               /* NumPy releases the GIL */
} method;

static int add_loop(PyObject *ufunc, const method *m, PyArray_DTypeMeta **dtypes)
{
    const PyUFuncObject *const self = (const PyUFuncObject *)ufunc;
    PyType_Slot slots[4] = {{0, NULL}};
    int n = 0;

    slots[n++] = (PyType_Slot){NPY_METH_strided_loop, (void *)m->loop};
    if (m->any_alignment) {
        slots[n++] = (PyType_Slot){NPY_METH_unaligned_strided_loop, (void *)m->loop};
    }
    if (m->resolve != NULL) {
        slots[n++] = (PyType_Slot){NPY_METH_resolve_descriptors, (void *)m->resolve};
    }
    slots[n] = (PyType_Slot){0, NULL};
    const int flags = NPY_METH_NO_FLOATINGPOINT_ERRORS | (m->elements ? 0 : NPY_METH_REQUIRES_PYAPI) |
                      (m->any_alignment ? NPY_METH_SUPPORTS_UNALIGNED : 0);
    PyArrayMethod_Spec spec = {
        .name = self->name,
        .nin = self->nin,
        .nout = self->nout,
        .casting = NPY_NO_CASTING,
        .flags = (NPY_ARRAYMETHOD_FLAGS)flags,
        .dtypes = dtypes,
        .slots = slots,
    };
    return PyUFunc_AddLoopFromSpec(ufunc, &spec);
}

/* Which operands have the type of the first one; the others' types are fixed. */
typedef struct operands {
    PyArray_DTypeMeta *fixed[MAX_OPERANDS];      /* NULL: as the first */
} operands;

/* The same loop for each of the types, up to NULL. */
static int add_loops(PyObject *ufunc, const method *m, PyArray_DTypeMeta *const *types, operands others)
{
    for (; *types != NULL; types++) {
        PyArray_DTypeMeta *dtypes[MAX_OPERANDS];

        for (int i = 0; i < MAX_OPERANDS; i++) {
            dtypes[i] = others.fixed[i] != NULL ? others.fixed[i] : *types;
        }
        if (add_loop(ufunc, m, dtypes) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Numbers by kind; the rest of what has a fixed size.  Each list ends with NULL. */
typedef struct type_lists {
    PyArray_DTypeMeta *ints[12];
    PyArray_DTypeMeta *delta_floats[3];
    PyArray_DTypeMeta *floats[6];
    PyArray_DTypeMeta *all[MAX_DTYPES];
    PyArray_DTypeMeta *int64s[3];
} type_lists;

static void fill_type_lists(type_lists *t)
{
    PyArray_DTypeMeta *const ints[] = {
        &PyArray_ByteDType, &PyArray_UByteDType, &PyArray_ShortDType, &PyArray_UShortDType,
        &PyArray_IntDType, &PyArray_UIntDType, &PyArray_LongDType, &PyArray_ULongDType,
        &PyArray_LongLongDType, &PyArray_ULongLongDType,
    };
    PyArray_DTypeMeta *const floats[] = {
        &PyArray_HalfDType, &PyArray_FloatDType, &PyArray_DoubleDType, &PyArray_CFloatDType,
        &PyArray_CDoubleDType,
    };
    PyArray_DTypeMeta *const others[] = {
        &PyArray_BoolDType, &PyArray_DatetimeDType, &PyArray_TimedeltaDType, &PyArray_BytesDType,
        &PyArray_UnicodeDType, &PyArray_VoidDType, &PyArray_LongDoubleDType, &PyArray_CLongDoubleDType,
    };
    const size_t n_ints = sizeof ints / sizeof ints[0];
    const size_t n_floats = sizeof floats / sizeof floats[0];

    memset(t, 0, sizeof *t);
    memcpy(t->ints, ints, sizeof ints);
    memcpy(t->floats, floats, sizeof floats);
    memcpy(t->all, ints, sizeof ints);
    memcpy(t->all + n_ints, floats, sizeof floats);
    memcpy(t->all + n_ints + n_floats, others, sizeof others);
    t->delta_floats[0] = &PyArray_FloatDType;
    t->delta_floats[1] = &PyArray_DoubleDType;
    t->int64s[0] = &PyArray_Int64DType;
    t->int64s[1] = &PyArray_UInt64DType;
}

/* Ask `promote` where the first input is of that type (&PyArrayDescr_Type: any) and the second an integer. */
static int add_promoter(PyObject *ufunc, void *first, PyArrayMethod_PromoterFunction *promote)
{
    PyObject *const capsule = PyCapsule_New((void *)promote, "numpy._ufunc_promoter", NULL);
    PyObject *const integer = (PyObject *)&PyArray_IntAbstractDType;
    PyObject *const pattern = PyTuple_Pack(3, (PyObject *)first, integer, Py_None);
    int status = -1;

    if (capsule != NULL && pattern != NULL) {
        status = PyUFunc_AddPromoter(ufunc, pattern, capsule);
    }
    Py_XDECREF(pattern);
    Py_XDECREF(capsule);
    return status;
}

static int register_bytes(PyObject *names, const type_lists *t)
{
    const method swap = {elements_byteswap, resolve_byteswap, true, true};
    const method crc = {blocks_crc32c, resolve_crc32c, true, false};
    const method equals = {blocks_equals_bits, resolve_equals, true, false};
    const method equal_floats = {blocks_equals_floats, NULL, false, false};
    PyArray_DTypeMeta *const u4 = &PyArray_UInt32DType;
    PyArray_DTypeMeta *const flag = &PyArray_BoolDType;

    PyObject *const byteswap = new_ufunc(names, "byteswap", "The bytes of each word reversed.", 1, 1, NULL);
    PyObject *const checksum = new_ufunc(names, "crc32c_blocks",
                                         "CRC-32C of the bytes of a block, continuing from a value.", 2, 1,
                                         "(n),()->()");
    PyObject *const bits = new_ufunc(names, "equals_fill_blocks",
                                     "Whether all items of a block have the bits of a fill value.", 2, 1,
                                     "(n),()->()");
    PyObject *const values = new_ufunc(names, "equals_fill_blocks_nan_equal",
                                       "Whether all numbers of a block equal a fill value, NaN included.", 2,
                                       1, "(n),()->()");

    return byteswap == NULL || checksum == NULL || bits == NULL || values == NULL ||
           add_loops(byteswap, &swap, t->all, (operands){{NULL}}) < 0 ||
           add_loops(checksum, &crc, t->all, (operands){{NULL, u4, u4}}) < 0 ||
           add_promoter(checksum, &PyArrayDescr_Type, promote_crc32c) < 0 ||
           add_loops(bits, &equals, t->all, (operands){{NULL, NULL, flag}}) < 0 ||
           add_loops(values, &equal_floats, t->floats, (operands){{NULL, NULL, flag}}) < 0 ? -1 : 0;
}

/* (bytes, item size) -> bytes. */
static int add_shuffle(PyObject *names, const char *name, const char *doc, PyArrayMethod_StridedLoop *loop)
{
    const method m = {loop, NULL, true, false};
    PyArray_DTypeMeta *bytes[] = {&PyArray_UByteDType, &PyArray_IntpDType, &PyArray_UByteDType};
    PyObject *const ufunc = new_ufunc(names, name, doc, 2, 1, "(n),()->(n)");

    return ufunc == NULL || add_loop(ufunc, &m, bytes) < 0 ||
           add_promoter(ufunc, &PyArray_UByteDType, promote_shuffle) < 0 ? -1 : 0;
}

static int register_filters(PyObject *names, const type_lists *t)
{
    const method encode_ints = {blocks_delta_encode_ints, NULL, true, false};
    const method encode_floats = {blocks_delta_encode_floats, NULL, true, false};
    const method decode_ints = {blocks_delta_decode_ints, NULL, true, false};
    const method decode_floats = {blocks_delta_decode_floats, NULL, true, false};

    PyObject *const encode = new_ufunc(names, "delta_encode", "Differences of neighbours.", 1, 1, "(n)->(n)");
    PyObject *const decode = new_ufunc(names, "delta_decode", "Running sums.", 1, 1, "(n)->(n)");

    return encode == NULL || decode == NULL ||
           add_loops(encode, &encode_ints, t->ints, (operands){{NULL}}) < 0 ||
           add_loops(encode, &encode_floats, t->delta_floats, (operands){{NULL}}) < 0 ||
           add_loops(decode, &decode_ints, t->ints, (operands){{NULL}}) < 0 ||
           add_loops(decode, &decode_floats, t->delta_floats, (operands){{NULL}}) < 0 ||
           add_shuffle(names, "shuffle", "Bytes of items, sorted by their place in the item.", blocks_shuffle) < 0 ||
           add_shuffle(names, "unshuffle", "The inverse of shuffle.", blocks_unshuffle) < 0 ||
           add_shuffle(names, "bitshuffle", "Bits of items, sorted by their place in the item.", blocks_bitshuffle) < 0 ||
           add_shuffle(names, "bitunshuffle", "The inverse of bitshuffle.", blocks_bitunshuffle) < 0 ? -1 : 0;
}

static int register_morton(PyObject *names, const type_lists *t)
{
    const method to_code = {blocks_morton_encode, NULL, true, false};
    const method to_position = {blocks_morton_decode, NULL, true, false};

    PyObject *const encode = new_ufunc(names, "morton_encode", DOC_MORTON_ENCODE, 2, 1,
                                       "(d),(d)->()");
    PyObject *const decode = new_ufunc(names, "morton_decode", DOC_MORTON_DECODE, 2, 1,
                                       "(),(d)->(d)");

    return encode == NULL || decode == NULL ||
           add_loops(encode, &to_code, t->int64s, (operands){{NULL}}) < 0 ||
           add_loops(decode, &to_position, t->int64s, (operands){{NULL}}) < 0 ||
           add_promoter(encode, &PyArray_IntAbstractDType, promote_integers) < 0 ||
           add_promoter(decode, &PyArray_IntAbstractDType, promote_integers) < 0 ? -1 : 0;
}

/* Loops for int64 and uint64, alike and mixed, with NumPy's usual conversion of arguments. */
static int register_grid(PyObject *names)
{
    /* NumPy keeps pointers to these and never writes; its types do not say so. */
    static PyUFuncGenericFunction index_loops[] = {zc_loop_chunk_index_i64, zc_loop_chunk_index_u64,
                                                   zc_loop_chunk_index_i64_u64, zc_loop_chunk_index_u64_i64};
    static PyUFuncGenericFunction count_loops[] = {zc_loop_chunk_count_i64, zc_loop_chunk_count_u64,
                                                   zc_loop_chunk_count_i64_u64, zc_loop_chunk_count_u64_i64};
    static const char index_types[] = {NPY_INT64, NPY_INT64, NPY_INT64, NPY_INT64,
                                       NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64,
                                       NPY_INT64, NPY_UINT64, NPY_INT64, NPY_UINT64,
                                       NPY_UINT64, NPY_INT64, NPY_UINT64, NPY_INT64};
    static const char count_types[] = {NPY_INT64, NPY_INT64, NPY_INT64, NPY_UINT64, NPY_UINT64, NPY_UINT64,
                                       NPY_INT64, NPY_UINT64, NPY_INT64, NPY_UINT64, NPY_INT64, NPY_UINT64};
    static void *const no_data[] = {NULL, NULL, NULL, NULL};

    PyObject *const index = PyUFunc_FromFuncAndData(index_loops, no_data, index_types, 4, 2, 2, PyUFunc_None,
                                                    "chunk_index", DOC_CHUNK_INDEX, 0);
    PyObject *const count = PyUFunc_FromFuncAndData(count_loops, no_data, count_types, 4, 2, 1, PyUFunc_None,
                                                    "chunk_count", DOC_CHUNK_COUNT, 0);
    const bool failed = index == NULL || count == NULL ||
                        PyDict_SetItemString(names, "chunk_index", index) < 0 ||
                        PyDict_SetItemString(names, "chunk_count", count) < 0;

    if (!failed) {
        zc_calls_quick_first(index, zc_quick_chunk_index);
        zc_calls_first(count);
    }
    Py_XDECREF(index);
    Py_XDECREF(count);
    return failed ? -1 : 0;
}

int zc_register_ufuncs(PyObject *names)
{
    type_lists types;

    import_array1(-1);
    import_umath1(-1);
    fill_type_lists(&types);
    if (register_bytes(names, &types) < 0 || register_filters(names, &types) < 0 ||
        register_morton(names, &types) < 0 || register_grid(names) < 0) {
        return -1;
    }
    return 0;
}
