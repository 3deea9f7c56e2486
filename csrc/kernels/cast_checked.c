/* SPDX-License-Identifier: MIT
 *
 * One pass that looks whether all numbers are plain, and one that converts them: each a loop that compilers vectorise,
 * for the machine that the program was built for and for AVX2.  What is out of range or has no room goes through those
 * of cast_rounded.c.  Conversions that round do so in the default state of the floating-point unit; where that is not
 * the case they are left to zc_real_store.
 */
#include "kernels/cast_checked.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cast_rounded.h"
#include "kernels/float16.h"
#include "kernels/float_to_small.h"
#include "kernels/stamped.h"

/* ---- integers --------------------------------------------------------------------------------- */

/* The integers from low to high, the range that a type can represent exactly. */
typedef struct limits {
    int64_t low;
    uint64_t high;
} limits;

static limits limits_of(zc_number_kind kind)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    const int bits = type->is_float ? type->mantissa + 1 : type->bits - (type->is_signed ? 1 : 0);

    if (type->is_float) {
        return (limits){-(INT64_C(1) << bits), UINT64_C(1) << bits};
    }
    return (limits){type->is_signed ? -(int64_t)(UINT64_MAX >> (64 - bits)) - 1 : 0, UINT64_MAX >> (64 - bits)};
}

/* What two ranges have in common. */
static limits both(limits a, limits b)
{
    return (limits){a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

/* Are all integers within the limits?  And all of them, moved there. */
#define STAMP_LIMITED(SET, TARGET, NAME, TYPE)                                                   \
    TARGET static bool within_##NAME##_##SET(const char *src, size_t n, limits most)             \
    {                                                                                            \
        const TYPE low = (TYPE)most.low, high = (TYPE)most.high;                                 \
        TYPE bad = 0;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            bad |= (TYPE)(x < low ? 1 : 0) | (TYPE)(x > high ? 1 : 0);                           \
        }                                                                                        \
        return bad == 0;                                                                         \
    }                                                                                            \
                                                                                                 \
    STAMP_EACH(SET, TARGET, clamp_##NAME, TYPE, TYPE,                                            \
               x < (TYPE)most.low ? (TYPE)most.low : x > (TYPE)most.high ? (TYPE)most.high : x, limits most)

#define STAMP_BOTH_LIMITED(NAME, TYPE) STAMP_BOTH(STAMP_LIMITED, NAME, TYPE)
STAMP_INTEGERS(STAMP_BOTH_LIMITED)

typedef bool (*within_fn)(const char *src, size_t n, limits most);
typedef void (*clamp_fn)(void *restrict dst, const void *restrict src, size_t n, limits most);

#define STAMP_TABLE(SET, TARGET, FN, WHAT) static const FN WHAT##_##SET[] = INTEGERS(WHAT, _##SET);
STAMP_BOTH(STAMP_TABLE, within_fn, within)
STAMP_BOTH(STAMP_TABLE, clamp_fn, clamp)

static bool all_within(zc_number_kind kind, const void *src, size_t n, limits most)
{
    const limits own = limits_of(kind), wanted = both(own, most);

    return (wanted.low == own.low && wanted.high == own.high) || FOR_CPU(within)[kind](src, n, wanted);
}

/* Integers of fewer than 8 bits are the low bits of a byte. */
static void cast_to_integers(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n)
{
    const zc_real_type *const type = zc_real_type_of(to);
    uint8_t *const bytes = dst;

    if (type->bits >= 8) {
        zc_cast(dst, to, src, from, n);
        return;
    }
    zc_cast(dst, type->is_signed ? ZC_NUMBER_I8 : ZC_NUMBER_U8, src, from, n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] &= (uint8_t)((1U << type->bits) - 1);
    }
}

static bool integers_to_integers(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                                 const zc_cast_rules *rules)
{
    const limits most = limits_of(to);
    uint64_t clamped[ZC_CAST_MAX];

    if (!rules->wraps && !all_within(from, src, n, most)) {
        if (!rules->clamps) {
            return false;
        }
        FOR_CPU(clamp)[from](clamped, src, n, both(limits_of(from), most));
        src = clamped;
    }
    cast_to_integers(dst, to, src, from, n);
    return true;
}

/* ---- floats to whole numbers ------------------------------------------------------------------ */

ZC_INLINE double away_f64(double x)
{
    const double whole = trunc(x);           /* not floor(x + 0.5), which may round itself */

    return fabs(x - whole) >= 0.5 ? whole + copysign(1.0, x) : whole;
}

ZC_INLINE float away_f32(float x)
{
    const float whole = truncf(x);

    return fabsf(x - whole) >= 0.5f ? whole + copysignf(1.0f, x) : whole;
}

/* Round, and return whether all whole numbers are in low..high, which NaN never is. */
#define STAMP_ROUND(SET, TARGET, NAME, TYPE, WORD, ROUND)                                        \
    TARGET static bool NAME##_##SET(char *restrict dst, const char *restrict src, size_t n, double lowest, \
                                    double highest)                                              \
    {                                                                                            \
        const TYPE low = (TYPE)lowest, high = (TYPE)highest;                                     \
        WORD bad = 0;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const TYPE whole = ROUND(x);                                                         \
            bad |= (WORD)(whole >= low ? 0 : 1) | (WORD)(whole <= high ? 0 : 1);                 \
            memcpy(dst + i * sizeof x, &whole, sizeof whole);                                    \
        }                                                                                        \
        return bad == 0;                                                                         \
    }

#define STAMP_ROUNDS(SET, TARGET, NAME, F64, F32)                                                \
    STAMP_ROUND(SET, TARGET, NAME##64, double, int64_t, F64)                                     \
    STAMP_ROUND(SET, TARGET, NAME##32, float, int32_t, F32)

STAMP_BOTH(STAMP_ROUNDS, even, rint, rintf)
STAMP_BOTH(STAMP_ROUNDS, away, away_f64, away_f32)
STAMP_BOTH(STAMP_ROUNDS, zero, trunc, truncf)
STAMP_BOTH(STAMP_ROUNDS, up, ceil, ceilf)
STAMP_BOTH(STAMP_ROUNDS, down, floor, floorf)

typedef bool (*round_fn)(char *restrict dst, const char *restrict src, size_t n, double lowest, double highest);

/* As zc_rounding counts. */
#define STAMP_ROUNDINGS(SET, TARGET, NAME, BITS)                                                 \
    static const round_fn NAME##_##SET[] = {even##BITS##_##SET, away##BITS##_##SET, zero##BITS##_##SET, \
                                            up##BITS##_##SET, down##BITS##_##SET};
STAMP_BOTH(STAMP_ROUNDINGS, round_f64, 64)
STAMP_BOTH(STAMP_ROUNDINGS, round_f32, 32)

/* The largest number of `digits` bits that is no more than an integer of that many bits. */
static double last_below(int bits, int digits)
{
    return ldexp(1, bits) - ldexp(1, bits > digits ? bits - digits : 0);
}

/* Numbers that are out of range by their low bits, or as the last integer on their side. */
static bool beyond_integers(void *dst, zc_number_kind to, const void *whole, zc_number_kind from, size_t n,
                            const zc_whole_limits *limits)
{
    double doubles[ZC_CAST_MAX];
    uint64_t words[ZC_CAST_MAX];

    zc_cast(doubles, ZC_NUMBER_F64, whole, from, n);
    if (!zc_whole_to_words(words, doubles, n, limits)) {
        return false;
    }
    cast_to_integers(dst, to, words, ZC_NUMBER_U64, n);
    return true;
}

static bool floats_to_integers(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                               const zc_cast_rules *rules)
{
    const zc_real_type *const type = zc_real_type_of(to);
    const int bits = type->bits - (type->is_signed ? 1 : 0);
    const int digits = from == ZC_NUMBER_F64 ? DBL_MANT_DIG : FLT_MANT_DIG;
    const double low = type->is_signed ? -ldexp(1, bits) : 0, high = last_below(bits, digits);
    const limits last = limits_of(to);
    const zc_whole_limits all = {-INFINITY, INFINITY, 0, 0}, some = {low, high, (uint64_t)last.low, last.high};
    const round_fn round = (from == ZC_NUMBER_F64 ? FOR_CPU(round_f64) : FOR_CPU(round_f32))[rules->rounding];
    uint64_t whole[ZC_CAST_MAX];

    if (!round((char *)whole, src, n, low, high)) {
        return (rules->wraps || rules->clamps) &&
               beyond_integers(dst, to, whole, from, n, rules->wraps ? &all : &some);
    }
    cast_to_integers(dst, to, whole, from, n);
    return true;
}

/* ---- floats to floats ------------------------------------------------------------------------- */

/* Has none of the words of `size` bytes this size of number: infinity, made by what is too large? */
#define STAMP_LACKS(SET, TARGET, NAME, WORD, MASK)                                               \
    TARGET static bool NAME##_##SET(const char *src, size_t n, WORD code)                        \
    {                                                                                            \
        WORD bad = 0;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            WORD x;                                                                              \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            bad |= (WORD)((x & MASK) == code ? 1 : 0);                                           \
        }                                                                                        \
        return bad == 0;                                                                         \
    }

STAMP_BOTH(STAMP_LACKS, lacks16, uint16_t, 0x7fff)
STAMP_BOTH(STAMP_LACKS, lacks32, uint32_t, UINT32_C(0x7fffffff))

static bool is_half(zc_number_kind kind)
{
    return kind == ZC_NUMBER_F16 || kind == ZC_NUMBER_BF16;
}

/* Is no double so large that it becomes infinite, without being so? */
#define STAMP_WITHIN_FLOATS(SET, TARGET, NAME)                                                   \
    TARGET static bool NAME##_##SET(const char *src, size_t n)                                   \
    {                                                                                            \
        const double most = 0x1.ffffffp127;      /* between the largest float and the next power of two */ \
        int64_t bad = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                         \
            double x;                                                                            \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            bad |= (int64_t)(fabs(x) >= most ? 1 : 0) & (int64_t)(fabs(x) <= DBL_MAX ? 1 : 0);   \
        }                                                                                        \
        return bad == 0;                                                                         \
    }

STAMP_BOTH(STAMP_WITHIN_FLOATS, within_floats)

/* Numbers as doubles that rounding them to fewer bits takes for the numbers themselves. */
static const double *odd_doubles(double *room, const void *src, zc_number_kind from, size_t n)
{
    if (from == ZC_NUMBER_I64 || from == ZC_NUMBER_U64) {
        zc_integers_to_odd(room, src, from, n);
    } else {
        zc_cast(room, ZC_NUMBER_F64, src, from, n);
    }
    return room;
}

/* Floats of 16 and fewer bits that have a sign. */
static bool to_small(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                     const zc_cast_rules *rules)
{
    float floats[ZC_CAST_MAX];
    double doubles[ZC_CAST_MAX];

    if (from == ZC_NUMBER_F64) {
        if (!zc_doubles_to_odd(floats, src, to, n)) {
            return false;
        }
    } else if (from != ZC_NUMBER_F32 && !all_within(from, src, n, limits_of(ZC_NUMBER_F32))) {
        zc_doubles_to_odd(floats, odd_doubles(doubles, src, from, n), to, n);
    } else {
        zc_cast(floats, ZC_NUMBER_F32, src, from, n);
    }
    if (to == ZC_NUMBER_BF16 && rules->rounding == ZC_ROUND_NEAREST_EVEN) {
        zc_floats_to_halves(dst, to, floats, n);
        if (RUN(lacks16, dst, n, (uint16_t)zc_real_type_of(to)->infinity)) {
            return true;
        }
    }
    return zc_narrow(dst, to, floats, n, rules->rounding, rules->clamps);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static bool has_loop(zc_number_kind from)
{
    return from < ZC_NUMBER_KINDS || is_half(from);
}

/* To floats of 32 and 64 bits. */
static bool integers_to_floats(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                               zc_rounding rounding)
{
    double doubles[ZC_CAST_MAX];

    if (rounding == ZC_ROUND_NEAREST_EVEN || all_within(from, src, n, limits_of(to))) {
        zc_cast(dst, to, src, from, n);
        return true;
    }
    if (to == ZC_NUMBER_F32) {
        return zc_doubles_to_floats(dst, odd_doubles(doubles, src, from, n), n, rounding);
    }
    zc_integers_to_doubles(dst, src, from, n, rounding);
    return true;
}

static bool to_powers(void *dst, const void *src, zc_number_kind from, size_t n, const zc_cast_rules *rules)
{
    double doubles[ZC_CAST_MAX];
    const void *const numbers = from == ZC_NUMBER_F64 ? src : odd_doubles(doubles, src, from, n);

    return zc_doubles_to_powers(dst, numbers, n, rules->rounding, rules->clamps);
}

/* From a kind that C has. */
static bool cast_plain(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                       const zc_cast_rules *rules)
{
    const bool from_float = zc_real_type_of(from)->is_float;

    if (!zc_real_type_of(to)->is_float) {
        return from_float ? floats_to_integers(dst, to, src, from, n, rules)
                          : integers_to_integers(dst, to, src, from, n, rules);
    }
    if (to == ZC_NUMBER_F8_E8M0FNU) {
        return to_powers(dst, src, from, n, rules);
    }
    if (to >= ZC_NUMBER_KINDS) {
        return to_small(dst, to, src, from, n, rules);
    }
    if (!from_float) {
        return integers_to_floats(dst, to, src, from, n, rules->rounding);
    }
    if (from == ZC_NUMBER_F32 && to == ZC_NUMBER_F64) {
        zc_cast(dst, to, src, from, n);
        return true;
    }
    if (rules->rounding != ZC_ROUND_NEAREST_EVEN) {
        return zc_doubles_to_floats(dst, src, n, rules->rounding);
    }
    zc_cast(dst, to, src, from, n);
    return rules->clamps || RUN(lacks32, dst, n, UINT32_C(0x7f800000)) || RUN(within_floats, src, n);
}

bool zc_cast_checked(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                     const zc_cast_rules *rules)
{
    float floats[ZC_CAST_MAX];

    if (from == to) {
        memcpy(dst, src, n * zc_number_size(to));
        return true;
    }
    if (!has_loop(from) || fegetround() != FE_TONEAREST) {
        return false;
    }
    if (is_half(from)) {
        zc_halves_to_floats(floats, src, from, n);
        from = ZC_NUMBER_F32;
        src = floats;
        if (to == ZC_NUMBER_F32) {
            memcpy(dst, floats, n * sizeof floats[0]);
            return true;
        }
    }
    return cast_plain(dst, to, src, from, n, rules);
}

/* ---- numbers to leave out --------------------------------------------------------------------- */

/* NaN alone does not equal itself. */
#define STAMP_BLANK(SET, TARGET, NAME, TYPE)                                                     \
    TARGET static void blank_##NAME##_##SET(char *numbers, size_t n, const void *key, uint8_t mark, uint8_t *marks) \
    {                                                                                            \
        TYPE sought;                                                                             \
        memcpy(&sought, key, sizeof sought);                                                     \
        const bool nan = sought != sought;                                                       \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, numbers + i * sizeof x, sizeof x);                                        \
            const bool found = (marks[i] == 0) & ((x == sought) | (nan & (x != x)));             \
            x = found ? 0 : x;                                                                   \
            memcpy(numbers + i * sizeof x, &x, sizeof x);                                        \
            marks[i] = found ? mark : marks[i];                                                  \
        }                                                                                        \
    }

STAMP_BOTH(STAMP_BLANK, i8, int8_t)
STAMP_BOTH(STAMP_BLANK, i16, int16_t)
STAMP_BOTH(STAMP_BLANK, i32, int32_t)
STAMP_BOTH(STAMP_BLANK, i64, int64_t)
STAMP_BOTH(STAMP_BLANK, f32, float)
STAMP_BOTH(STAMP_BLANK, f64, double)

void zc_numbers_blank(void *numbers, zc_number_kind kind, size_t n, const void *key, uint8_t mark, uint8_t *marks)
{
    switch (kind) {
    case ZC_NUMBER_I8: case ZC_NUMBER_U8: RUN(blank_i8, numbers, n, key, mark, marks); break;
    case ZC_NUMBER_I16: case ZC_NUMBER_U16: RUN(blank_i16, numbers, n, key, mark, marks); break;
    case ZC_NUMBER_I32: case ZC_NUMBER_U32: RUN(blank_i32, numbers, n, key, mark, marks); break;
    case ZC_NUMBER_F32: RUN(blank_f32, numbers, n, key, mark, marks); break;
    case ZC_NUMBER_F64: RUN(blank_f64, numbers, n, key, mark, marks); break;
    default: RUN(blank_i64, numbers, n, key, mark, marks);
    }
}
