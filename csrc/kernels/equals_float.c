/* SPDX-License-Identifier: MIT
 *
 * Comparison of floats with a fill value, on their bits: no floating-point unit is asked, so that float16 and
 * signalling NaNs need no care.  With the sign bit dropped, zero is 0 and exactly the NaNs lie above
 * infinity.
 */
#include <string.h>

#include "kernels/items.h"
#include "kernels/words.h"

#define BLOCK 256                        /* floats between two looks at the result */

typedef enum fill_class { FILL_BITS, FILL_ZERO, FILL_NAN } fill_class;

/* Are n floats NaN?  Once for the machine that the program was built for, once for AVX2. */
#define STAMP_ALL_NAN(NAME, BITS, INFINITY_BITS, TARGET)                                         \
    TARGET static bool NAME##_##BITS(const char *src, size_t n)                                  \
    {                                                                                            \
        for (size_t at = 0; at < n; at += BLOCK) {                                               \
            const size_t end = n - at < BLOCK ? n : at + BLOCK;                                  \
            uint##BITS##_t least = UINT##BITS##_MAX;                                             \
            for (size_t k = at; k < end; k++) {                                                  \
                uint##BITS##_t x;                                                                \
                memcpy(&x, src + k * sizeof x, sizeof x);                                        \
                x &= (uint##BITS##_t)(UINT##BITS##_MAX >> 1);                                    \
                least = x < least ? x : least;                                                   \
            }                                                                                    \
            if (least <= INFINITY_BITS) {                                                        \
                return false;                                                                    \
            }                                                                                    \
        }                                                                                        \
        return true;                                                                             \
    }

#ifdef ZC_HAVE_AVX
#define STAMP_ALL_NAN_WIDE(BITS, INFINITY_BITS) STAMP_ALL_NAN(all_nan_avx2, BITS, INFINITY_BITS, ZC_AVX2)
#define ALL_NAN(BITS, src, n)                                                                    \
    (zc_cpu_features() & ZC_CPU_AVX2 ? all_nan_avx2_##BITS(src, n) : all_nan_##BITS(src, n))
#else
#define STAMP_ALL_NAN_WIDE(BITS, INFINITY_BITS)
#define ALL_NAN(BITS, src, n) all_nan_##BITS(src, n)
#endif

/*
 * For one word type: the class of a fill value, whether n floats `step` apart are all equal to it, and whether n
 * neighbours are all zero or all NaN.
 */
#define STAMP_FLOAT(BITS, INFINITY_BITS)                                                         \
    STAMP_ALL_NAN(all_nan, BITS, INFINITY_BITS, )                                                \
    STAMP_ALL_NAN_WIDE(BITS, INFINITY_BITS)                                                      \
                                                                                                 \
    static fill_class classify_##BITS(const char *fill_at)                                       \
    {                                                                                            \
        uint##BITS##_t fill;                                                                     \
        memcpy(&fill, fill_at, sizeof fill);                                                     \
        const uint##BITS##_t size = fill & (uint##BITS##_t)(UINT##BITS##_MAX >> 1);              \
        return size == 0 ? FILL_ZERO : size > INFINITY_BITS ? FILL_NAN : FILL_BITS;              \
    }                                                                                            \
                                                                                                 \
    ZC_INLINE unsigned differs_##BITS(uint##BITS##_t x, uint##BITS##_t fill, fill_class c)       \
    {                                                                                            \
        const uint##BITS##_t size = x & (uint##BITS##_t)(UINT##BITS##_MAX >> 1);                 \
        return c == FILL_ZERO ? size != 0 : c == FILL_NAN ? size <= INFINITY_BITS : x != fill;   \
    }                                                                                            \
                                                                                                 \
    static bool equals_##BITS(const char *src, size_t n, size_t step, const char *fill_at)       \
    {                                                                                            \
        const fill_class c = classify_##BITS(fill_at);                                           \
        uint##BITS##_t fill;                                                                     \
        memcpy(&fill, fill_at, sizeof fill);                                                     \
        for (size_t at = 0; at < n; at += BLOCK) {                                               \
            const size_t end = n - at < BLOCK ? n : at + BLOCK;                                  \
            unsigned differ = 0;                                                                 \
            for (size_t k = at; k < end; k++) {                                                  \
                uint##BITS##_t x;                                                                \
                memcpy(&x, src + k * step * sizeof x, sizeof x);                                 \
                differ |= differs_##BITS(x, fill, c);                                            \
            }                                                                                    \
            if (differ) {                                                                        \
                return false;                                                                    \
            }                                                                                    \
        }                                                                                        \
        return true;                                                                             \
    }                                                                                            \
                                                                                                 \
    static bool all_##BITS(const char *src, size_t n, const char *fill)                          \
    {                                                                                            \
        const size_t words = n - n % (64 / BITS);                                                \
        const uint64_t mask = UINT64_MAX / UINT##BITS##_MAX * (UINT##BITS##_MAX >> 1);           \
        if (classify_##BITS(fill) == FILL_NAN) {                                                 \
            return ALL_NAN(BITS, src, n);                                                        \
        }                                                                                        \
        return zc_equals_masked(src, words * (BITS / 8), 0, mask) &&                             \
               equals_##BITS(src + words * (BITS / 8), n - words, 1, fill);                      \
    }

STAMP_FLOAT(16, UINT16_C(0x7c00))
STAMP_FLOAT(32, UINT32_C(0x7f800000))
STAMP_FLOAT(64, UINT64_C(0x7ff0000000000000))

static fill_class classify(const char *fill, zc_float_kind kind)
{
    switch (kind) {
    case ZC_FLOAT16: return classify_16(fill);
    case ZC_FLOAT32: return classify_32(fill);
    default: return classify_64(fill);
    }
}

static bool equals_every(const char *src, size_t n, size_t step, zc_float_kind kind, const char *fill)
{
    switch (kind) {
    case ZC_FLOAT16: return equals_16(src, n, step, fill);
    case ZC_FLOAT32: return equals_32(src, n, step, fill);
    default: return equals_64(src, n, step, fill);
    }
}

static bool all_alike(const char *src, size_t n, zc_float_kind kind, const char *fill)
{
    switch (kind) {
    case ZC_FLOAT16: return all_16(src, n, fill);
    case ZC_FLOAT32: return all_32(src, n, fill);
    default: return all_64(src, n, fill);
    }
}

bool zc_equals_fill_float(const void *src, size_t n, zc_float_kind kind, const void *fill, size_t n_fill)
{
    const size_t size = (size_t)kind;
    const char *const fills = fill;
    const fill_class first = classify(fills, kind);
    bool alike = true, bitwise = n % n_fill == 0;

    for (size_t f = 0; f < n_fill; f++) {
        const fill_class c = classify(fills + f * size, kind);
        bitwise = bitwise && c == FILL_BITS;
        alike = alike && c == first && c != FILL_BITS;
    }
    if (bitwise) {
        return zc_equals_fill(src, n / n_fill, size * n_fill, fill);
    }
    if (alike) {
        return all_alike(src, n, kind, fills);
    }
    for (size_t f = 0; f < n_fill && f < n; f++) {
        const size_t count = (n - f + n_fill - 1) / n_fill;
        if (!equals_every((const char *)src + f * size, count, n_fill, kind, fills + f * size)) {
            return false;
        }
    }
    return true;
}
