/* SPDX-License-Identifier: MIT
 *
 * Comparison with a fill value.  Blocks are compared without a branch inside, so that compilers take vectors
 * for them, and with one between them, so that the first differing block ends the work.
 */
#include <string.h>

#include "base/assert.h"
#include "kernels/loop_nest.h"
#include "kernels/byte_order.h"

#define BLOCK 512                        /* bytes between two looks at the result */

static bool equals_words_plain(const char *src, size_t nbytes, uint64_t pattern)
{
    for (size_t at = 0; at < nbytes; at += BLOCK) {
        const size_t end = nbytes - at < BLOCK ? nbytes : at + BLOCK;
        uint64_t differ = 0;

        for (size_t i = at; i < end; i += 8) {
            uint64_t word;
            memcpy(&word, src + i, 8);
            differ |= word ^ pattern;
        }
        if (differ != 0) {
            return false;
        }
    }
    return true;
}

#ifdef ZC_HAVE_AVX

/* Four vectors between two looks. */
ZC_AVX2 static bool equals_words_avx2(const char *src, size_t nbytes, uint64_t pattern)
{
    const __m256i want = _mm256_set1_epi64x((long long)pattern);
    size_t i = 0;

    for (; i + 128 <= nbytes; i += 128) {
        const __m256i *const p = (const __m256i *)(const void *)(src + i);
        const __m256i a = _mm256_xor_si256(_mm256_loadu_si256(p), want);
        const __m256i b = _mm256_xor_si256(_mm256_loadu_si256(p + 1), want);
        const __m256i c = _mm256_xor_si256(_mm256_loadu_si256(p + 2), want);
        const __m256i d = _mm256_xor_si256(_mm256_loadu_si256(p + 3), want);
        const __m256i differ = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        if (!_mm256_testz_si256(differ, differ)) {
            return false;
        }
    }
    return equals_words_plain(src + i, nbytes - i, pattern);
}

#endif

/* Are all words of 8 bytes in src[0..nbytes), a multiple of 8, that pattern? */
static bool equals_words(const char *src, size_t nbytes, uint64_t pattern)
{
#ifdef ZC_HAVE_AVX
    if (zc_cpu_features() & ZC_CPU_AVX2) {
        return equals_words_avx2(src, nbytes, pattern);
    }
#endif
    return equals_words_plain(src, nbytes, pattern);
}

bool zc_equals_fill(const void *src, size_t n, size_t itemsize, const void *fill)
{
    zc_assert(itemsize >= 1);

    const char *const p = src;
    size_t done = 0;

    if (n == 0) {
        return true;
    }
    if (memcmp(p, fill, itemsize) != 0) {
        return false;
    }
    if (itemsize <= 8 && 8 % itemsize == 0 && n * itemsize >= 8) {
        uint64_t pattern;

        for (size_t i = 0; i < 8; i += itemsize) {
            memcpy((char *)&pattern + i, fill, itemsize);
        }
        done = n * itemsize - n * itemsize % 8;
        if (!equals_words(p, done, pattern)) {
            return false;
        }
    }
    /* The first item is right; the rest is if each item equals the one before it. */
    const size_t from = done > itemsize ? done : itemsize;
    return memcmp(p + from, p + from - itemsize, n * itemsize - from) == 0;
}

#define STAMP_STRIDED_EQUALS(SIZE, T)                                                            \
    static bool strided_equals_##SIZE(const char *src, int64_t n, int64_t stride,                \
                                      const void *fill)                                          \
    {                                                                                            \
        T want;                                                                                  \
        memcpy(&want, fill, SIZE);                                                               \
        for (int64_t k = 0; k < n; k++) {                                                        \
            T value;                                                                             \
            memcpy(&value, src + k * stride, SIZE);                                              \
            if (value != want) {                                                                 \
                return false;                                                                    \
            }                                                                                    \
        }                                                                                        \
        return true;                                                                             \
    }

STAMP_STRIDED_EQUALS(1, uint8_t)
STAMP_STRIDED_EQUALS(2, uint16_t)
STAMP_STRIDED_EQUALS(4, uint32_t)
STAMP_STRIDED_EQUALS(8, uint64_t)

static bool strided_equals(const char *src, int64_t n, int64_t stride, size_t size, const void *fill)
{
    switch (size) {
    case 1: return strided_equals_1(src, n, stride, fill);
    case 2: return strided_equals_2(src, n, stride, fill);
    case 4: return strided_equals_4(src, n, stride, fill);
    case 8: return strided_equals_8(src, n, stride, fill);
    default: break;
    }
    for (int64_t k = 0; k < n; k++) {
        if (memcmp(src + k * stride, fill, size) != 0) {
            return false;
        }
    }
    return true;
}

bool zc_region_equals_fill(int ndim, const int64_t *shape, const void *src, const int64_t *strides,
                           size_t itemsize, const void *fill)
{
    zc_assert(zc_is_region(ndim) && itemsize >= 1);

    const int64_t nowhere[ZC_MAX_DIMS] = {0};
    zc_axis row = {1, 0, 0};
    zc_nest nest;
    zc_cursor at;

    /* The region is the first side of the nest, which decides the order of the loops. */
    if (!zc_nest_make(&nest, ndim, shape, strides, nowhere)) {
        return true;
    }
    if (nest.ndim > 0) {
        row = nest.axis[--nest.ndim];
    }
    const bool contiguous = row.n == 1 || row.dst == (int64_t)itemsize;

    zc_cursor_start(&at, &nest);
    do {
        const char *const p = (const char *)src + at.dst;
        if (contiguous ? !zc_equals_fill(p, (size_t)row.n, itemsize, fill)
                       : !strided_equals(p, row.n, row.dst, itemsize, fill)) {
            return false;
        }
    } while (zc_cursor_next(&at, &nest));
    return true;
}
