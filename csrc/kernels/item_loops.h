/* SPDX-License-Identifier: MIT
 *
 * Private to kernels/: one loop over items, by stride or by table of byte offsets, for every kind of item.
 */
#pragma once

#include <stdint.h>

#include "kernels/region.h"

/* dst[k * dst_stride] = src[k * src_stride] for k < n. */
typedef void (*zc_strided_copy)(int64_t n, char *dst, int64_t dst_stride, const char *src,
                                int64_t src_stride, const zc_item *item);

/* The same where the offset of k is table[k] on a side that has a table. */
typedef void (*zc_indexed_copy)(int64_t n, char *dst, int64_t dst_stride, const int64_t *dst_table,
                                const char *src, int64_t src_stride, const int64_t *src_table,
                                const zc_item *item);

typedef struct zc_item_ops {
    zc_strided_copy strided;
    zc_indexed_copy indexed;
} zc_item_ops;

/* The fastest loops for that item.  Valid for ever. */
const zc_item_ops *zc_item_ops_for(const zc_item *item);

/* Reverse all words of `word` bytes (2, 4, 8) of src[0..nbytes); dst == src is allowed. */
void zc_swap_words(char *dst, const char *src, size_t nbytes, uint32_t word);

/* Every implementation of the vector part that this CPU can run, by name, ending with {NULL, NULL}: for
 * tests.  It swaps from the start as many bytes as fill whole vectors, and returns their number. */
typedef struct zc_swap_variant {
    const char *name;
    size_t (*swap)(char *dst, const char *src, size_t nbytes, uint32_t word);
} zc_swap_variant;

const zc_swap_variant *zc_swap_variants(void);

/* dst[0..size) holds one item: repeat it up to n items. */
void zc_replicate(char *dst, size_t size, size_t n);
