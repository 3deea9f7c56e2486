/* SPDX-License-Identifier: MIT
 *
 * Row by row: the indices of the true elements along the last dimension come from the mask, 64 bytes at a time;
 * those along the others are the same for the whole row.
 */
#include "kernels/mask.h"

#include <string.h>

#include "kernels/region.h"
#include "kernels/words.h"

ZC_INLINE uint64_t load_8(const uint8_t *p)
{
    uint64_t w;

    memcpy(&w, p, 8);
    return ZC_BIG_ENDIAN ? ZC_BSWAP64(w) : w;
}

/* Bit i: is byte i true? */
ZC_INLINE uint64_t true_of_8(uint64_t w)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);

    w = (((w & low) + low) | w) >> 7 & UINT64_C(0x0101010101010101);
    return w * UINT64_C(0x0102040810204080) >> 56;
}

ZC_INLINE uint64_t true_of_64(const uint8_t *row)
{
    uint64_t bits = 0;

    for (int i = 0; i < 64; i += 8) {
        const uint64_t w = load_8(row + i);
        if (w != 0) {
            bits |= true_of_8(w) << i;
        }
    }
    return bits;
}

ZC_INLINE int lowest_bit(uint64_t w)
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

/* Indices of the true elements of a row, at most `room`, to out; returns how many. */
static size_t row_points(const uint8_t *row, int64_t n, int64_t *out, size_t room)
{
    size_t found = 0;
    int64_t i = 0;

    for (; i + 64 <= n; i += 64) {
        for (uint64_t bits = true_of_64(row + i); bits != 0 && found < room; bits &= bits - 1) {
            out[found++] = i + lowest_bit(bits);
        }
    }
    for (; i < n && found < room; i++) {
        if (row[i] != 0) {
            out[found++] = i;
        }
    }
    return found;
}

/* The indices of row number n along all dimensions but the last. */
static void row_indices(int ndim, const int64_t *shape, int64_t n, int64_t *row)
{
    for (int d = ndim - 2; d >= 0; d--) {
        row[d] = n % shape[d];
        n /= shape[d];
    }
}

static void next_row(int ndim, const int64_t *shape, int64_t *row)
{
    for (int d = ndim - 2; d >= 0 && ++row[d] == shape[d]; d--) {
        row[d] = 0;
    }
}

size_t zc_mask_points(const uint8_t *mask, int ndim, const int64_t *shape, int64_t first, int64_t n,
                      int64_t *const *out, size_t room)
{
    const int last = ndim - 1;
    int64_t row[ZC_MAX_DIMS];
    size_t at = 0;

    if (n > 0) {
        row_indices(ndim, shape, first, row);
    }
    for (int64_t i = first; i < first + n; i++, next_row(ndim, shape, row)) {
        const size_t found = row_points(mask + i * shape[last], shape[last], out[last] + at, room - at);
        for (int d = 0; d < last; d++) {
            for (size_t k = 0; k < found; k++) {
                out[d][at + k] = row[d];
            }
        }
        at += found;
    }
    return at;
}
