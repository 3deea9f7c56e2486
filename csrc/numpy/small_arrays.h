/* SPDX-License-Identifier: MIT
 *
 * Kernels on little data, where the checks of arguments in Python would take longer than the work.  Each function does
 * the plain case: ndarrays and nothing derived from them, of NumPy's own numbers, less than ZC_QUICK_NBYTES of them.
 * For every other it returns None, having done nothing, and the caller goes the long way, which refuses what is wrong.
 */
#pragma once

#include <Python.h>
#include <stdbool.h>

enum { ZC_QUICK_NBYTES = 32 << 20 };       /* where the long way begins to share the work among threads */

/* To be called once, before the others. */
int zc_quick_init(void);

/* New references: `out`, a new array, or None.  `out` may be None. */
PyObject *zc_quick_byteswap(PyObject *x, PyObject *out);
PyObject *zc_quick_transpose(PyObject *x, PyObject *order, PyObject *out);
PyObject *zc_quick_shuffle(PyObject *x, PyObject *itemsize, PyObject *out, bool inverse);
PyObject *zc_quick_pack_flags(PyObject *x, PyObject *out, bool high_first);
PyObject *zc_quick_unpack_flags(PyObject *packed, PyObject *count, PyObject *out, bool high_first);

/* Offsets and lengths, interleaved, in little-endian order. */
PyObject *zc_quick_shard_index_pack(PyObject *offsets, PyObject *nbytes);

/* A pair of arrays, chunks and offsets, for any array of int64 and a chunk length that is an int. */
PyObject *zc_quick_chunk_index(PyObject *index, PyObject *length);

/* True when it is done, or None. */
PyObject *zc_quick_copy(PyObject *dst, PyObject *src);
PyObject *zc_quick_fill(PyObject *out, PyObject *value);

/* True, False, or None. */
PyObject *zc_quick_equals_fill(PyObject *x, PyObject *value, bool by_value);
