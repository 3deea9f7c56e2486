/* SPDX-License-Identifier: MIT
 *
 * Comparison of floats with a fill value, on their bits: no floating-point unit is asked, so that float16 and
 * signalling NaNs need no care.  With the sign bit dropped, zero is 0 and exactly the NaNs lie above
 * infinity.
 */
#include <string.h>

#include "kernels/region.h"

#define BLOCK 256                        /* floats between two looks at the result */

typedef enum fill_class { FILL_BITS, FILL_ZERO, FILL_NAN } fill_class;

/*
 * For one word type: the class of a fill value, and whether n floats `step` apart are all equal to it.
 */
#define STAMP_FLOAT(BITS, INFINITY_BITS)                                                         \
    static fill_class classify_##BITS(uint##BITS##_t fill)                                       \
    {                                                                                            \
        const uint##BITS##_t size = fill & (uint##BITS##_t)(UINT##BITS##_MAX >> 1);              \
        return size == 0 ? FILL_ZERO : size > INFINITY_BITS ? FILL_NAN : FILL_BITS;              \
    }                                                                                            \
                                                                                                 \
    static inline unsigned differs_##BITS(uint##BITS##_t x, uint##BITS##_t fill, fill_class c)   \
    {                                                                                            \
        const uint##BITS##_t size = x & (uint##BITS##_t)(UINT##BITS##_MAX >> 1);                 \
        return c == FILL_ZERO ? size != 0 : c == FILL_NAN ? size <= INFINITY_BITS : x != fill;   \
    }                                                                                            \
                                                                                                 \
    static bool equals_##BITS(const char *src, size_t n, size_t step, const char *fill_at)       \
    {                                                                                            \
        uint##BITS##_t fill;                                                                     \
        memcpy(&fill, fill_at, sizeof fill);                                                     \
        const fill_class c = classify_##BITS(fill);                                              \
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
    }

STAMP_FLOAT(16, UINT16_C(0x7c00))
STAMP_FLOAT(32, UINT32_C(0x7f800000))
STAMP_FLOAT(64, UINT64_C(0x7ff0000000000000))

static bool has_equals(const char *fill, zc_float_kind kind)
{
    uint16_t half;
    uint32_t single;
    uint64_t wide;

    switch (kind) {
    case ZC_FLOAT16:
        memcpy(&half, fill, sizeof half);
        return classify_16(half) != FILL_BITS;
    case ZC_FLOAT32:
        memcpy(&single, fill, sizeof single);
        return classify_32(single) != FILL_BITS;
    default:
        memcpy(&wide, fill, sizeof wide);
        return classify_64(wide) != FILL_BITS;
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

bool zc_equals_fill_float(const void *src, size_t n, zc_float_kind kind, const void *fill, size_t n_fill)
{
    const size_t size = (size_t)kind;
    const char *const fills = fill;
    bool bitwise = n % n_fill == 0;

    for (size_t f = 0; f < n_fill; f++) {
        bitwise = bitwise && !has_equals(fills + f * size, kind);
    }
    if (bitwise) {
        return zc_equals_fill(src, n / n_fill, size * n_fill, fill);
    }
    for (size_t f = 0; f < n_fill && f < n; f++) {
        const size_t count = (n - f + n_fill - 1) / n_fill;
        if (!equals_every((const char *)src + f * size, count, n_fill, kind, fills + f * size)) {
            return false;
        }
    }
    return true;
}
