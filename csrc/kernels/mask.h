/* SPDX-License-Identifier: MIT
 *
 * Boolean arrays as selections.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/cpu.h"

/*
 * Where the rows first to first + n - 1 of a mask are true: out[d] receives the index along dimension d of each such
 * element, in C order.  The mask is C-contiguous, one byte for each element, and its rows are counted over all
 * dimensions but the last; ndim >= 1.  Every out[d] has room for `room` indices, and no more are written.  Returns how
 * many were.
 */
size_t zc_mask_points(const uint8_t *mask, int ndim, const int64_t *shape, int64_t first, int64_t n,
                      int64_t *const *out, size_t room);

/*
 * A mask of n elements, packed: bit j of bits[i] is set if element 64 * i + j is true, before[i] how many of the
 * elements before 64 * i are.  Returns how many are true.  Both have room for (n + 63) / 64.
 */
size_t zc_mask_pack(const uint8_t *mask, size_t n, uint64_t *bits, int64_t *before);

/* Which bit is the lowest?  w is not 0. */
ZC_INLINE int zc_lowest_bit(uint64_t w)
{
    zc_assert(w != 0);
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(w);
#else
    int bit = 0;
    while (!(w >> bit & 1)) {
        bit++;
    }
    return bit;
#endif
}

/* How many bits are set?  Without the instruction, which not every CPU of the architecture has. */
ZC_INLINE int zc_count_bits(uint64_t w)
{
    w -= w >> 1 & UINT64_C(0x5555555555555555);
    w = (w & UINT64_C(0x3333333333333333)) + (w >> 2 & UINT64_C(0x3333333333333333));
    w = (w + (w >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int)(w * UINT64_C(0x0101010101010101) >> 56);
}

/* The bits of n elements of a packed mask, 1 to 64, from `first` on; the lowest is that of the first. */
ZC_INLINE uint64_t zc_mask_bits(const uint64_t *bits, int64_t first, int64_t n)
{
    zc_assert(n >= 1 && n <= 64 && first >= 0);

    const uint64_t *word = &bits[first >> 6];
    const int shift = (int)(first & 63);
    uint64_t found = word[0] >> shift;

    if (shift + n > 64) {
        found |= word[1] << (64 - shift);
    }
    return n < 64 ? found & ~(UINT64_MAX << n) : found;
}

/* How many elements of a packed mask before that one are true. */
ZC_INLINE int64_t zc_mask_rank(const uint64_t *bits, const int64_t *before, int64_t element)
{
    zc_assert(element >= 0);

    const int64_t word = element >> 6;

    return before[word] + zc_count_bits(bits[word] & ~(UINT64_MAX << (element & 63)));
}

/* Consecutive rows of items; those where a packed mask is true are wanted. */
typedef struct zc_mask_rows {
    const uint64_t *bits;
    const int64_t *before;
    int64_t first, n;        /* elements of the mask: those of the first row */
    int64_t rows, step;      /* how many rows, and from one to the next in the mask ... */
    const char *src;         /* ... and, in bytes, in the items */
    int64_t stride;
    char *dst;               /* where element 0 of all wanted ones goes */
} zc_mask_rows;

/* Copy them.  False, and nothing is copied, where the CPU has no instructions for items of that size. */
bool zc_mask_copy_rows(const zc_mask_rows *rows, size_t size);
