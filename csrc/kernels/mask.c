/* SPDX-License-Identifier: MIT
 *
 * Row by row: the indices of the true elements along the last dimension come from the mask, 64 bytes at a time;
 * those along the others are the same for the whole row.
 */
#include "kernels/mask.h"

#include <string.h>

#include "base/assert.h"
#include "kernels/region.h"
#include "kernels/byte_order.h"

#if defined(ZC_HAVE_AVX) && (defined(__SSE2__) || defined(_M_X64))

ZC_INLINE uint64_t false_of_16(const uint8_t *row)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)row);

    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
}

ZC_INLINE uint64_t true_of_64(const uint8_t *row)
{
    return ~(false_of_16(row) | false_of_16(row + 16) << 16 | false_of_16(row + 32) << 32 |
             false_of_16(row + 48) << 48);
}

#else

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

#endif

/* Indices of the true elements of a row, at most `room`, to out; returns how many. */
static size_t row_points(const uint8_t *row, int64_t n, int64_t *out, size_t room)
{
    size_t found = 0;
    int64_t i = 0;

    for (; i + 64 <= n; i += 64) {
        for (uint64_t bits = true_of_64(row + i); bits != 0 && found < room; bits &= bits - 1) {
            out[found++] = i + zc_lowest_bit(bits);
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
    zc_assert(ndim >= 1 && first >= 0 && n >= 0);

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

ZC_INLINE size_t pack_words(const uint8_t *mask, size_t n, uint64_t *bits, int64_t *before,
                            uint64_t (*word)(const uint8_t *))
{
    size_t found = 0, i = 0;

    for (; i + 64 <= n; i += 64) {
        const uint64_t w = word(mask + i);
        bits[i / 64] = w;
        before[i / 64] = (int64_t)found;
        found += (size_t)zc_count_bits(w);
    }
    if (i < n) {
        uint8_t rest[64] = {0};
        memcpy(rest, mask + i, n - i);
        bits[i / 64] = word(rest);
        before[i / 64] = (int64_t)found;
        found += (size_t)zc_count_bits(bits[i / 64]);
    }
    return found;
}

#ifdef ZC_HAVE_AVX

ZC_AVX2 static inline uint64_t true_of_64_avx2(const uint8_t *row)
{
    const __m256i *const p = (const __m256i *)(const void *)row;
    const __m256i zero = _mm256_setzero_si256();
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(p), zero));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(p + 1), zero));

    return ~(low | (uint64_t)high << 32);
}

ZC_AVX2 static size_t pack_avx2(const uint8_t *mask, size_t n, uint64_t *bits, int64_t *before)
{
    return pack_words(mask, n, bits, before, true_of_64_avx2);
}

#endif

size_t zc_mask_pack(const uint8_t *mask, size_t n, uint64_t *bits, int64_t *before)
{
#ifdef ZC_HAVE_AVX
    if (zc_cpu_features() & ZC_CPU_AVX2) {
        return pack_avx2(mask, n, bits, before);
    }
#endif
    return pack_words(mask, n, bits, before, true_of_64);
}
