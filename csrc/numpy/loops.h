/* SPDX-License-Identifier: MIT
 *
 * The inner loops of the ufuncs: adapters from NumPy's calling convention to the flat kernels.  They need no
 * header of NumPy: npy_intp is intptr_t.
 *
 * data[k] is the first item of operand k (inputs, then outputs), dims[0] the number of outer steps, dims[1]
 * and dims[2] the core dimensions of a gufunc.  strides holds one outer stride for each operand, then one for
 * each core dimension of each operand.  `item` describes operand 0.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "kernels/region.h"

typedef zc_status zc_loop(char *const *data, const intptr_t *dims, const intptr_t *strides,
                          const zc_item *item, zc_error *err);

/* Element by element; they never fail. */
zc_loop zc_loop_byteswap;            /* x -> x */

/* As PyUFuncGenericFunction: (index, length) -> (chunk, offset), (extent, length) -> count.  A length below
 * 1 raises the floating-point exception "divide by zero". */
void zc_loop_chunk_index_i64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
void zc_loop_chunk_index_u64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
void zc_loop_chunk_count_i64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
void zc_loop_chunk_count_u64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
/* An index or extent of the one kind, a length of the other. */
void zc_loop_chunk_index_i64_u64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
void zc_loop_chunk_index_u64_i64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
void zc_loop_chunk_count_i64_u64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);
void zc_loop_chunk_count_u64_i64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused);

/* Block by block; the caller releases the GIL. */
zc_loop zc_loop_crc32c;              /* (n),()->()  items, initial value -> checksum */
zc_loop zc_loop_equals_bits;         /* (n),()->()  items, fill value -> bool */
zc_loop zc_loop_equals_floats;       /* (n),()->() */
zc_loop zc_loop_delta_encode_ints;   /* (n)->(n) */
zc_loop zc_loop_delta_encode_floats;
zc_loop zc_loop_delta_decode_ints;
zc_loop zc_loop_delta_decode_floats;
zc_loop zc_loop_shuffle;             /* (n),()->(n)  bytes, item size -> bytes */
zc_loop zc_loop_unshuffle;
zc_loop zc_loop_bitshuffle;
zc_loop zc_loop_bitunshuffle;

/* 64-bit integers. */
zc_loop zc_loop_morton_encode;       /* (d),(d)->()  position, grid shape -> code */
zc_loop zc_loop_morton_decode;       /* (),(d)->(d)  code, grid shape -> position */
