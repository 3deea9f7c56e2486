/* SPDX-License-Identifier: MIT
 *
 * n-dimensional strided memory: copy (byte swap x transposition x strides, in one pass), fill,
 * compare with a fill value.  Nothing allocates, nothing fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZC_MAX_DIMS 64

/* Inside one item: `count` words of `word` bytes (2, 4, 8), from byte `offset` on, to be reversed each. */
typedef struct zc_swap_field {
    uint32_t offset;
    uint32_t word;
    uint32_t count;
} zc_swap_field;

/* One array element. */
typedef struct zc_item {
    size_t size;                 /* bytes, any number >= 1 */
    uint32_t word;               /* 0: as it is; 2, 4, 8: swap all words of that size (it divides size) */
    uint32_t n_fields;           /* > 0: swap these fields instead (structured data) */
    const zc_swap_field *fields;
    uint32_t n_pieces;           /* > 0: copying moves nothing but these pieces, each as an item of its own */
    const struct zc_piece *pieces;
} zc_item;

/* Some fields of a record that become a record: the bytes at offset `from` of an item of src go to
 * offset `to` of the item of dst. */
typedef struct zc_piece {
    size_t from;
    size_t to;
    zc_item item;                /* has no pieces */
} zc_piece;

/* Is it described as above?  For assertions. */
static inline bool zc_item_is_valid(const zc_item *item)
{
    return item->size >= 1 &&
           (item->word == 0 || ((item->word == 2 || item->word == 4 || item->word == 8) && item->size % item->word == 0));
}

/* The same of a number of dimensions. */
static inline bool zc_is_region(int ndim)
{
    return ndim >= 0 && ndim <= ZC_MAX_DIMS;
}

/* Does copying an item change it? */
static inline bool zc_item_swaps(const zc_item *item)
{
    return item->word != 0 || item->n_fields != 0;
}

/*
 * dst[i] = src[i] for all index tuples i of shape, each item byte-swapped according to `item`.
 * Strides are in bytes and may be negative, zero (src only) or unaligned.  dst and src do not
 * overlap, but swapping in place works: dst == src with the same strides and an item that has something
 * to swap (not so with pieces).  ndim from 0 to ZC_MAX_DIMS; an empty shape copies nothing.
 * No shared state: any number of threads may call these functions at once.
 */
void zc_region_copy(int ndim, const int64_t *shape, void *dst, const int64_t *dst_strides,
                    const void *src, const int64_t *src_strides, const zc_item *item);

/* Where the elements of a region lie: position k of dimension d is table[d][k] bytes further than the first one if there
 * is such a table (NULL: there is none), else k * strides[d]. */
typedef struct zc_side {
    char *at;
    const int64_t *strides, *const *table;
} zc_side;

/* The same where dimensions go through tables. */
void zc_region_gather(int ndim, const int64_t *shape, const zc_side *dst, const zc_side *src, const zc_item *item);

/* dst + dst_offset[k] = src + src_offset[k] for k < n (single items). */
void zc_points_copy(size_t n, void *dst, const int64_t *dst_offset, const void *src,
                    const int64_t *src_offset, const zc_item *item);

/* Copy n contiguous items with byte swapping; dst == src is allowed, other overlap is not.  No pieces. */
void zc_items_copy(size_t n, void *dst, const void *src, const zc_item *item);

/* Set all items of a region to the item at `fill` (no byte swapping). */
void zc_region_fill(int ndim, const int64_t *shape, void *dst, const int64_t *dst_strides,
                    size_t itemsize, const void *fill);

/* Are n contiguous items all equal to the item at `fill`, bit for bit?  Early exit. */
bool zc_equals_fill(const void *src, size_t n, size_t itemsize, const void *fill);

/* The same for a strided region. */
bool zc_region_equals_fill(int ndim, const int64_t *shape, const void *src, const int64_t *strides,
                           size_t itemsize, const void *fill);

typedef enum zc_float_kind { ZC_FLOAT16 = 2, ZC_FLOAT32 = 4, ZC_FLOAT64 = 8 } zc_float_kind;

/* As zc_equals_fill, but by value: any NaN equals any NaN and -0.0 equals 0.0.  n counts floats
 * (a complex number is two), fill points to n_fill floats, 1 or 2, that repeat; n is a multiple of
 * n_fill.  All are in the machine's byte order. */
bool zc_equals_fill_float(const void *src, size_t n, zc_float_kind kind, const void *fill, size_t n_fill);
