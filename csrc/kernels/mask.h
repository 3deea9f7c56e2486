/* SPDX-License-Identifier: MIT
 *
 * Boolean arrays as selections.
 */
#ifndef ZC_KERNELS_MASK_H
#define ZC_KERNELS_MASK_H

#include <stddef.h>
#include <stdint.h>

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
 * A mask of n elements, packed: bit j of bits[i] says whether element 64 * i + j is true, before[i] how many of the
 * elements before 64 * i are.  Returns how many are true.  Both have room for (n + 63) / 64.
 */
size_t zc_mask_pack(const uint8_t *mask, size_t n, uint64_t *bits, int64_t *before);

/* Which bit is the lowest?  w is not 0. */
ZC_INLINE int zc_lowest_bit(uint64_t w)
{
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

#endif
