/* SPDX-License-Identifier: MIT
 *
 * Row by row: the indices of the true elements along the last dimension come from the mask, eight bytes at a time;
 * those along the others are the same for the whole row.
 */
#include "kernels/mask.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/region.h"
#include "kernels/words.h"

/* The highest bit of each byte that is not 0, the first byte lowest. */
ZC_INLINE uint64_t true_bytes(const uint8_t *eight)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t w;

    memcpy(&w, eight, 8);
    w = (((w & low) + low) | w) & ~low;
    return ZC_BIG_ENDIAN ? ZC_BSWAP64(w) : w;
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

ZC_INLINE bool all_false(const uint8_t *row)
{
    uint64_t w[4];

    memcpy(w, row, sizeof w);
    return (w[0] | w[1] | w[2] | w[3]) == 0;
}

/* Indices of the true elements of a row, at most `room`, to out; returns how many. */
static size_t row_points(const uint8_t *row, int64_t n, int64_t *out, size_t room)
{
    size_t found = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8) {
        while (i + 40 <= n && all_false(row + i)) {
            i += 32;
        }
        for (uint64_t w = true_bytes(row + i); w != 0 && found < room; w &= w - 1) {
            out[found++] = i + lowest_bit(w) / 8;
        }
    }
    for (; i < n && found < room; i++) {
        if (row[i] != 0) {
            out[found++] = i;
        }
    }
    return found;
}

/* The next row; false after the last one. */
static bool next_row(int ndim, const int64_t *shape, int64_t *row)
{
    for (int d = ndim - 2; d >= 0; d--) {
        if (++row[d] < shape[d]) {
            return true;
        }
        row[d] = 0;
    }
    return false;
}

size_t zc_mask_points(const uint8_t *mask, int ndim, const int64_t *shape, int64_t *const *out, size_t room)
{
    const int last = ndim - 1;
    int64_t row[ZC_MAX_DIMS] = {0};
    size_t at = 0;

    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) {
            return 0;
        }
    }
    do {
        const size_t found = row_points(mask, shape[last], out[last] + at, room - at);
        for (int d = 0; d < last; d++) {
            for (size_t i = 0; i < found; i++) {
                out[d][at + i] = row[d];
            }
        }
        at += found;
        mask += shape[last];
    } while (next_row(ndim, shape, row));
    return at;
}
