/* SPDX-License-Identifier: MIT
 *
 * A number is its significand, with the hidden bit, shifted to the place of the last bit that the other type has, and
 * the exponent above it: a carry out of the rounding then makes the next exponent, and subnormal numbers are those
 * whose shift is larger.  Once for the machine that the program was built for, once for AVX2.
 */
#include "kernels/float_to_small.h"

#include <string.h>

#include "kernels/stamped.h"
#include "kernels/byte_order.h"

/* ---- floats to smaller floats ----------------------------------------------------------------- */

#define MANTISSA32 23
#define HIDDEN32 (UINT32_C(1) << MANTISSA32)
#define INFINITE32 UINT32_C(0x7f800000)
#define SHIFT_MAX 25         /* the significand is less than half of what that shift makes 1 of */

/* The type that is made, and what stands for what it lacks. */
typedef struct small {
    uint32_t mantissa, drop;         /* bits that stay and that go */
    uint32_t lowest;                 /* exponent of the smallest normal number, as floats have it */
    uint32_t largest, beyond;        /* codes of the largest number, and of what is out of range or infinite */
    uint32_t nan, payload;           /* code, and bits of the payload that it keeps */
    uint32_t sign;                   /* bit */
    uint32_t special_sign;           /* all bits, or none where zero and NaN have no sign */
    uint32_t no_range, no_infinity, no_nan;      /* 1: such numbers have no place */
    uint32_t above, below;           /* rounding of positive and negative numbers: all bits if upwards in size */
} small;

static small small_of(zc_number_kind kind, zc_rounding rounding, bool clamps)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    const bool has_infinity = type->infinity != ZC_REAL_NO_CODE, has_nan = type->nan != ZC_REAL_NO_CODE;
    const uint32_t sign = UINT32_C(1) << (type->bits - 1);

    return (small){
        .mantissa = type->mantissa,
        .drop = MANTISSA32 - type->mantissa,
        .lowest = (uint32_t)(128 - type->bias),
        .largest = (uint32_t)type->largest,
        .beyond = (uint32_t)(has_infinity ? type->infinity : type->largest),
        .nan = has_nan ? (uint32_t)type->nan : 0,
        .payload = has_infinity ? (UINT32_C(1) << type->mantissa) - 1 : 0,
        .sign = sign,
        .special_sign = has_nan && type->nan == sign ? 0 : UINT32_MAX,
        .no_range = clamps ? 0 : 1,
        .no_infinity = has_infinity ? 0 : 1,
        .no_nan = has_nan ? 0 : 1,
        .above = rounding == ZC_ROUND_TOWARDS_POSITIVE ? UINT32_MAX : 0,
        .below = rounding == ZC_ROUND_TOWARDS_NEGATIVE ? UINT32_MAX : 0,
    };
}

/* What is added below the last bit before the rest is cut off. */
#define ADD_EVEN(LAST, HALF, NEGATIVE, TO) ((HALF)-1 + (LAST))
#define ADD_AWAY(LAST, HALF, NEGATIVE, TO) ((HALF) | ((LAST)&0))
#define ADD_DIRECTED(LAST, HALF, NEGATIVE, TO) \
    ((2 * (HALF) - 1 + ((LAST)&0)) & ((NEGATIVE) ? (TO)->below : (TO)->above))

#define STAMP_NARROW(SET, TARGET, NAME, CODE, ADD)                                               \
    TARGET static bool NAME##_##SET(char *restrict dst, const float *restrict src, size_t n, const small *given) \
    {                                                                                            \
        const small to = *given;                                                                 \
        uint32_t bad = 0;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                         \
            uint32_t x;                                                                          \
            memcpy(&x, src + i, sizeof x);                                                       \
            const uint32_t size = x & UINT32_C(0x7fffffff), field = size >> MANTISSA32;          \
            const uint32_t exponent = field > 1 ? field : 1;                                     \
            const uint32_t significand = (size & (HIDDEN32 - 1)) | (field > 0 ? HIDDEN32 : 0);   \
            const uint32_t top = exponent > to.lowest ? exponent : to.lowest;                    \
            const uint32_t wide = to.drop + top - exponent, shift = wide < SHIFT_MAX ? wide : SHIFT_MAX; \
            const uint32_t half = UINT32_C(1) << (shift - 1), last = significand >> shift & 1;   \
            const uint32_t rounded = (significand + ADD(last, half, x >> 31, &to)) >> shift;     \
            const uint32_t code = ((top - to.lowest) << to.mantissa) + rounded;                  \
            const uint32_t nan = to.nan | (significand >> to.drop & to.payload);                 \
            const uint32_t beyond = size > INFINITE32 ? nan : to.beyond;                         \
            const uint32_t fault = size > INFINITE32 ? to.no_nan : size == INFINITE32 ? to.no_infinity : to.no_range; \
            const uint32_t made = code > to.largest ? beyond : code;                             \
            const uint32_t sign = x >> 31 ? to.sign : 0, special = sign & to.special_sign;       \
            const uint32_t its_sign = size > INFINITE32 ? special : made == 0 ? special : sign;  \
            bad |= code > to.largest ? fault : 0;                                                \
            const CODE y = (CODE)(made | its_sign);                                              \
            memcpy(dst + i * sizeof y, &y, sizeof y);                                            \
        }                                                                                        \
        return bad == 0;                                                                         \
    }

STAMP_BOTH(STAMP_NARROW, even8, uint8_t, ADD_EVEN)
STAMP_BOTH(STAMP_NARROW, away8, uint8_t, ADD_AWAY)
STAMP_BOTH(STAMP_NARROW, directed8, uint8_t, ADD_DIRECTED)
STAMP_BOTH(STAMP_NARROW, even16, uint16_t, ADD_EVEN)
STAMP_BOTH(STAMP_NARROW, away16, uint16_t, ADD_AWAY)
STAMP_BOTH(STAMP_NARROW, directed16, uint16_t, ADD_DIRECTED)

bool zc_narrow(void *dst, zc_number_kind to, const float *src, size_t n, zc_rounding rounding, bool clamps)
{
    const small given = small_of(to, rounding, clamps);
    const bool is_byte = zc_number_size(to) == 1;

    switch (rounding) {
    case ZC_ROUND_NEAREST_EVEN:
        return is_byte ? RUN(even8, dst, src, n, &given) : RUN(even16, dst, src, n, &given);
    case ZC_ROUND_NEAREST_AWAY:
        return is_byte ? RUN(away8, dst, src, n, &given) : RUN(away16, dst, src, n, &given);
    default:
        return is_byte ? RUN(directed8, dst, src, n, &given) : RUN(directed16, dst, src, n, &given);
    }
}

/* ---- doubles to floats ------------------------------------------------------------------------ */

#define CUT INT64_C(0x1fffffff)                      /* the bits of a double that a float has not */
#define SIZE64 INT64_C(0x7fffffffffffffff)
#define QUIET64 INT64_C(0x0008000000000000)
#define INFINITE64 INT64_C(0x7ff0000000000000)
#define BEYOND32 INT64_C(0x47f0000000000000)         /* 2 ** 128 */
#define LARGEST32 INT64_C(0x47efffffe0000000)        /* the largest float */
#define SMALLEST32 INT64_C(0x3810000000000000)       /* the smallest normal float, 2 ** -126 */

/* Below zero for the size of what is too small for a normal float, but not zero; of what is too large, but finite. */
ZC_INLINE int64_t too_small(int64_t size)
{
    return (size - SMALLEST32) & -size;
}

ZC_INLINE int64_t too_large(int64_t size)
{
    return (BEYOND32 - 1 - size) & (size - INFINITE64);
}

ZC_INLINE float float_of(int64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return (float)x;
}

#define STAMP_ODD(SET, TARGET, NAME)                                                             \
    TARGET static bool NAME##_##SET(float *restrict dst, const char *restrict src, size_t n)     \
    {                                                                                            \
        int64_t bad = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                         \
            int64_t x;                                                                           \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const int64_t size = x & SIZE64;                                                     \
            const int64_t odd = (size | ((size & CUT) + CUT)) & ~CUT;                            \
            const int64_t high = ((size < INFINITE64) & (odd > LARGEST32)) ? LARGEST32 : odd;    \
            const int64_t made = ((size > 0) & (high < SMALLEST32)) ? SMALLEST32 : high;         \
            bad |= too_small(size) | too_large(size);                                            \
            dst[i] = float_of(made | (x & ~SIZE64));                                             \
        }                                                                                        \
        return bad >= 0;                                                                         \
    }

STAMP_BOTH(STAMP_ODD, odd)

bool zc_doubles_to_odd(float *dst, const void *src, zc_number_kind to, size_t n)
{
    const zc_real_type *const type = zc_real_type_of(to);
    const bool in_range = RUN(odd, dst, src, n);

    /* A type with the exponents of floats rounds in the very places that are cut off. */
    return in_range || type->bias < 64;
}

/* The bit that is added to what the bits that are cut off leave. */
#define STEP_AWAY(X, REST) ((X) >> 28 & (REST))
#define STEP_ZERO(X, REST) ((REST) & 0)
#define STEP_UP(X, REST) ((REST) & ~((X) >> 63))
#define STEP_DOWN(X, REST) ((REST) & (X) >> 63)

#define STAMP_DIRECTED(SET, TARGET, NAME, STEP)                                                  \
    TARGET static bool NAME##_##SET(char *restrict dst, const char *restrict src, size_t n)      \
    {                                                                                            \
        int64_t bad = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                         \
            int64_t x;                                                                           \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const int64_t size = x & SIZE64;                                                     \
            const int64_t cut = size > INFINITE64 ? 0 : size & CUT;                              \
            const uint64_t rest = (uint64_t)(cut + CUT) >> 29;                                   \
            const int64_t made = (size & ~CUT) + (int64_t)((STEP((uint64_t)x, rest)) << 29);     \
            const int64_t quiet = size > INFINITE64 ? made | QUIET64 : made;                     \
            const int64_t last = size < INFINITE64 ? LARGEST32 : INT64_MAX;                      \
            bad |= too_small(size) | (last - made);                                              \
            const float y = float_of(quiet | (x & ~SIZE64));                                     \
            memcpy(dst + i * sizeof y, &y, sizeof y);                                            \
        }                                                                                        \
        return bad >= 0;                                                                         \
    }

STAMP_BOTH(STAMP_DIRECTED, away, STEP_AWAY)
STAMP_BOTH(STAMP_DIRECTED, zero, STEP_ZERO)
STAMP_BOTH(STAMP_DIRECTED, up, STEP_UP)
STAMP_BOTH(STAMP_DIRECTED, down, STEP_DOWN)

bool zc_doubles_to_floats(void *dst, const void *src, size_t n, zc_rounding rounding)
{
    switch (rounding) {
    case ZC_ROUND_NEAREST_AWAY: return RUN(away, dst, src, n);
    case ZC_ROUND_TOWARDS_ZERO: return RUN(zero, dst, src, n);
    case ZC_ROUND_TOWARDS_POSITIVE: return RUN(up, dst, src, n);
    default: return RUN(down, dst, src, n);
    }
}
