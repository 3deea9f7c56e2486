/* SPDX-License-Identifier: MIT
 *
 * Once for the machine that the program was built for, once for AVX2.
 */
#include "kernels/cast_rounded.h"

#include <string.h>

#include "kernels/stamped.h"
#include "kernels/byte_order.h"

#define MANTISSA64 52
#define HIDDEN64 (UINT64_C(1) << MANTISSA64)
#define SIZE64 INT64_C(0x7fffffffffffffff)
#define INFINITE64 INT64_C(0x7ff0000000000000)
#define BIAS64 1023

/* ---- whole numbers to integers ---------------------------------------------------------------- */

#define STAMP_WORDS(SET, TARGET, NAME)                                                           \
    TARGET static bool NAME##_##SET(uint64_t *restrict dst, const double *restrict src, size_t n, \
                                    const zc_whole_limits *given)                                \
    {                                                                                            \
        const zc_whole_limits limits = *given;                                                   \
        int64_t bad = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                         \
            const double x = src[i];                                                             \
            int64_t bits;                                                                        \
            memcpy(&bits, &x, sizeof bits);                                                      \
            const int64_t size = bits & SIZE64, field = (int64_t)((uint64_t)size >> MANTISSA64); \
            const int64_t exponent = field - BIAS64 - MANTISSA64;                                \
            const uint64_t fraction = (uint64_t)size & (HIDDEN64 - 1), digits = size > 0 ? fraction | HIDDEN64 : 0; \
            /* Of what is no less than 1, no more than the fraction's bits go. */                \
            const uint64_t left = digits << (exponent & 63), right = digits >> (-exponent & 63); \
            const uint64_t word = exponent < 0 ? right : exponent < 64 ? left : 0;               \
            const uint64_t made = bits < 0 ? 0 - word : word;                                    \
            const uint64_t above = x > limits.high ? limits.most : made;                         \
            dst[i] = x < limits.low ? limits.least : above;                                      \
            bad |= INFINITE64 - 1 - size;                                                        \
        }                                                                                        \
        return bad >= 0;                                                                         \
    }

STAMP_BOTH(STAMP_WORDS, words)

bool zc_whole_to_words(uint64_t *dst, const double *src, size_t n, const zc_whole_limits *limits)
{
    return RUN(words, dst, src, n, limits);
}

/* ---- integers to doubles ---------------------------------------------------------------------- */

#define EXTRA 11             /* bits of an integer that a double has no room for */
#define REST ((UINT64_C(1) << EXTRA) - 1)

/* Of what has no more than the bits of a double: the halves of the word as parts of doubles, less what that adds. */
ZC_INLINE double exact_double(uint64_t x)
{
    const uint64_t high_bits = x >> 32 | UINT64_C(0x4530000000000000);                   /* 2 ** 84 + high * 2 ** 32 */
    const uint64_t low_bits = (x & UINT32_MAX) | UINT64_C(0x4330000000000000);           /* 2 ** 52 + low */
    double high, low;

    memcpy(&high, &high_bits, sizeof high);
    memcpy(&low, &low_bits, sizeof low);
    return (high - (0x1p84 + 0x1p52)) + low;
}

#define STAMP_INTEGERS_TO_ODD(SET, TARGET, NAME, SIGNED)                                         \
    TARGET static void NAME##_##SET(double *restrict dst, const char *restrict src, size_t n)    \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            uint64_t x;                                                                          \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const uint64_t sign = SIGNED ? x >> 63 : 0, size = (x ^ (0 - sign)) + sign;          \
            const uint64_t odd = (size | ((size & REST) + REST)) & ~REST;                        \
            const double made = exact_double(size >> (MANTISSA64 + 1) ? odd : size);             \
            dst[i] = sign ? -made : made;                                                        \
        }                                                                                        \
    }

STAMP_BOTH(STAMP_INTEGERS_TO_ODD, odd_i64, true)
STAMP_BOTH(STAMP_INTEGERS_TO_ODD, odd_u64, false)

void zc_integers_to_odd(double *dst, const void *src, zc_number_kind from, size_t n)
{
    if (from == ZC_NUMBER_I64) {
        RUN(odd_i64, dst, src, n);
    } else {
        RUN(odd_u64, dst, src, n);
    }
}

/* Return whether the rule adds 1 to a number from which `rest` has been cut off; `half` is half a unit of it. */
ZC_INLINE uint64_t step(zc_rounding rounding, uint64_t rest, uint64_t half, uint64_t last, bool negative)
{
    switch (rounding) {
    case ZC_ROUND_NEAREST_EVEN: return rest + last > half;
    case ZC_ROUND_NEAREST_AWAY: return rest >= half;
    case ZC_ROUND_TOWARDS_ZERO: return 0;
    case ZC_ROUND_TOWARDS_POSITIVE: return rest > 0 && !negative;
    default: return rest > 0 && negative;
    }
}

ZC_INLINE uint64_t double_of(uint64_t size, bool negative, zc_rounding rounding)
{
    if (size == 0) {
        return 0;
    }
    const int zeros = zc_leading_zeros(size);
    const uint64_t digits = size << zeros, kept = digits >> EXTRA;
    /* The hidden bit adds the one that is missing here, and a carry out of the rounding another one. */
    const uint64_t exponent = (uint64_t)(BIAS64 + 63 - zeros - 1) << MANTISSA64;
    const uint64_t up = step(rounding, digits & REST, (REST >> 1) + 1, kept & 1, negative);

    return (exponent + kept + up) | (uint64_t)negative << 63;
}

void zc_integers_to_doubles(void *dst, const void *src, zc_number_kind from, size_t n, zc_rounding rounding)
{
    const bool is_signed = from == ZC_NUMBER_I64;

    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        memcpy(&x, (const char *)src + i * sizeof x, sizeof x);
        const bool negative = is_signed && x >> 63;
        const uint64_t made = double_of(negative ? 0 - x : x, negative, rounding);
        memcpy((char *)dst + i * sizeof made, &made, sizeof made);
    }
}

/* ---- doubles to powers of two ----------------------------------------------------------------- */

#define POWER_BIAS 127
#define LARGEST_POWER 0xfe
#define NAN_POWER 0xff
#define SMALLEST_POWER ((int64_t)(BIAS64 - POWER_BIAS) << MANTISSA64)        /* as a double: 2 ** -127 */

/* What is added to the fraction, so that a carry makes the next power. */
#define ADD_EVEN(CODE) (HIDDEN64 / 2 - 1 + ((CODE) & 1))
#define ADD_AWAY(CODE) (HIDDEN64 / 2 + ((CODE) & 0))
#define ADD_NOTHING(CODE) ((CODE) & 0)
#define ADD_MOST(CODE) (HIDDEN64 - 1 + ((CODE) & 0))

#define STAMP_POWERS(SET, TARGET, NAME, ADD)                                                     \
    TARGET static bool NAME##_##SET(uint8_t *restrict dst, const char *restrict src, size_t n, int64_t no_range) \
    {                                                                                            \
        int64_t bad = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                         \
            int64_t x;                                                                           \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const int64_t size = x & SIZE64;                                                     \
            const uint64_t from_least = (uint64_t)(size - SMALLEST_POWER);                       \
            const uint64_t code = from_least >> MANTISSA64;      /* the power below, or this one */ \
            const int64_t rounded = (int64_t)((from_least + ADD(code)) >> MANTISSA64);           \
            const int64_t low = x < SMALLEST_POWER ? 0 : rounded;        /* all below zero among them */ \
            const int64_t made = low > LARGEST_POWER ? LARGEST_POWER : low;                      \
            const int64_t missed = x < SMALLEST_POWER || rounded > LARGEST_POWER ? no_range : 0; \
            bad |= size > INFINITE64 ? 0 : size == INFINITE64 ? 1 : missed;                      \
            dst[i] = (uint8_t)(size > INFINITE64 ? NAN_POWER : made);                            \
        }                                                                                        \
        return bad == 0;                                                                         \
    }

STAMP_BOTH(STAMP_POWERS, even, ADD_EVEN)
STAMP_BOTH(STAMP_POWERS, away, ADD_AWAY)
STAMP_BOTH(STAMP_POWERS, down, ADD_NOTHING)
STAMP_BOTH(STAMP_POWERS, up, ADD_MOST)

bool zc_doubles_to_powers(void *dst, const void *src, size_t n, zc_rounding rounding, bool clamps)
{
    const int64_t no_range = clamps ? 0 : 1;

    switch (rounding) {
    case ZC_ROUND_NEAREST_EVEN: return RUN(even, dst, src, n, no_range);
    case ZC_ROUND_NEAREST_AWAY: return RUN(away, dst, src, n, no_range);
    case ZC_ROUND_TOWARDS_POSITIVE: return RUN(up, dst, src, n, no_range);
    default: return RUN(down, dst, src, n, no_range);        /* there is nothing below zero */
    }
}
