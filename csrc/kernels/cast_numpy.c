/* SPDX-License-Identifier: MIT
 *
 * Steps from type to type, over pieces that stay in the nearest cache, until zc_cast has both.
 */
#include "kernels/cast_numpy.h"

#include <stdint.h>
#include <string.h>

#include "kernels/float16.h"
#include "kernels/float_to_small.h"
#include "kernels/stamped.h"

enum { PIECE = 512 };        /* numbers */

bool zc_number_of_numpy(zc_number_kind kind)
{
    return kind < ZC_NUMBER_KINDS || kind == ZC_NUMBER_F16 || kind == ZC_NUMBER_BOOL || kind == ZC_NUMBER_C64 ||
           kind == ZC_NUMBER_C128;
}

zc_number_kind zc_number_part(zc_number_kind kind)
{
    return kind == ZC_NUMBER_C64 ? ZC_NUMBER_F32 : kind == ZC_NUMBER_C128 ? ZC_NUMBER_F64 : kind;
}

static bool is_complex(zc_number_kind kind)
{
    return zc_number_part(kind) != kind;
}

/* ---- truth ------------------------------------------------------------------------------------ */

/* Which words have a bit set other than the sign of a float: NaN is true, and -0.0 is not. */
STAMP_BOTH(STAMP_EACH, words8, uint8_t, uint8_t, x != 0)
STAMP_BOTH(STAMP_EACH, words16, uint16_t, uint8_t, x != 0)
STAMP_BOTH(STAMP_EACH, words32, uint32_t, uint8_t, x != 0)
STAMP_BOTH(STAMP_EACH, words64, uint64_t, uint8_t, x != 0)
STAMP_BOTH(STAMP_EACH, halves, uint16_t, uint8_t, (x & INT16_MAX) != 0)
STAMP_BOTH(STAMP_EACH, floats, uint32_t, uint8_t, (x & INT32_MAX) != 0)
STAMP_BOTH(STAMP_EACH, doubles, uint64_t, uint8_t, (x & INT64_MAX) != 0)
STAMP_BOTH(STAMP_EACH, pairs32, uint64_t, uint8_t, (x & UINT64_C(0x7fffffff7fffffff)) != 0)
STAMP_BOTH(STAMP_EACH, pairs64, zc_pair, uint8_t, ((x.a | x.b) & INT64_MAX) != 0)

static void truth(uint8_t *dst, const char *src, zc_number_kind from, size_t n)
{
    switch (from) {
    case ZC_NUMBER_F16: RUN(halves, dst, src, n); return;
    case ZC_NUMBER_F32: RUN(floats, dst, src, n); return;
    case ZC_NUMBER_F64: RUN(doubles, dst, src, n); return;
    case ZC_NUMBER_C64: RUN(pairs32, dst, src, n); return;
    case ZC_NUMBER_C128: RUN(pairs64, dst, src, n); return;
    default: break;
    }
    switch (zc_number_size(from)) {
    case 1: RUN(words8, dst, src, n); return;
    case 2: RUN(words16, dst, src, n); return;
    case 4: RUN(words32, dst, src, n); return;
    default: RUN(words64, dst, src, n);
    }
}

/* ---- parts of complex numbers ----------------------------------------------------------------- */

/* Two floats as one word: the first of them, and one with zero after it. */
#define FIRST(x) ((uint32_t)(ZC_BIG_ENDIAN ? (x) >> 32 : (x)))
#define PAIR(x) (ZC_BIG_ENDIAN ? (uint64_t)(x) << 32 : (x))

STAMP_BOTH(STAMP_EACH, real_32, uint64_t, uint32_t, FIRST(x))
STAMP_BOTH(STAMP_EACH, pair_32, uint32_t, uint64_t, PAIR(x))
STAMP_BOTH(STAMP_EACH, real_64, zc_pair, uint64_t, x.a)
STAMP_BOTH(STAMP_EACH, pair_64, uint64_t, zc_pair, ((zc_pair){x, 0}))

/* Complex numbers to their real parts, and back. */
static void real_parts(void *dst, const void *src, zc_number_kind from, size_t n)
{
    if (from == ZC_NUMBER_C64) {
        RUN(real_32, dst, src, n);
    } else {
        RUN(real_64, dst, src, n);
    }
}

static void with_zeros(void *dst, zc_number_kind to, const void *src, size_t n)
{
    if (to == ZC_NUMBER_C64) {
        RUN(pair_32, dst, src, n);
    } else {
        RUN(pair_64, dst, src, n);
    }
}

/* ---- one piece -------------------------------------------------------------------------------- */

/* C's own numbers; integers beyond the range of floats' whole numbers are far beyond that of halves. */
static void to_halves(void *dst, const void *src, zc_number_kind from, size_t n)
{
    float floats[PIECE];

    if (from == ZC_NUMBER_F64) {
        zc_doubles_to_odd(floats, src, ZC_NUMBER_F16, n);
    } else {
        zc_cast(floats, ZC_NUMBER_F32, src, from, n);
    }
    zc_floats_to_halves(dst, ZC_NUMBER_F16, floats, n);
}

/* Two different types. */
static void cast_piece(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n)
{
    uint64_t made[PIECE];

    if (to == ZC_NUMBER_BOOL) {
        truth(dst, src, from, n);
    } else if (from == ZC_NUMBER_BOOL) {
        truth((uint8_t *)made, src, from, n);
        cast_piece(dst, to, made, ZC_NUMBER_U8, n);
    } else if (is_complex(from)) {
        real_parts(made, src, from, n);
        cast_piece(dst, to, made, zc_number_part(from), n);
    } else if (is_complex(to)) {
        cast_piece(made, zc_number_part(to), src, from, n);
        with_zeros(dst, to, made, n);
    } else if (from == ZC_NUMBER_F16 && to == ZC_NUMBER_F32) {
        zc_halves_to_floats(dst, src, from, n);
    } else if (from == ZC_NUMBER_F16) {
        zc_halves_to_floats((float *)made, src, from, n);
        zc_cast(dst, to, made, ZC_NUMBER_F32, n);
    } else if (to == ZC_NUMBER_F16) {
        to_halves(dst, src, from, n);
    } else {
        zc_cast(dst, to, src, from, n);
    }
}

void zc_cast_numpy(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n)
{
    const size_t in = zc_number_size(from), out = zc_number_size(to);

    if (to == from) {
        memcpy(dst, src, n * out);
    } else if (to < ZC_NUMBER_KINDS && from < ZC_NUMBER_KINDS) {
        zc_cast(dst, to, src, from, n);
    } else if (is_complex(to) && is_complex(from)) {
        zc_cast(dst, zc_number_part(to), src, zc_number_part(from), 2 * n);
    } else if (is_complex(from) && to == zc_number_part(from)) {
        real_parts(dst, src, from, n);
    } else if (is_complex(to) && from == zc_number_part(to)) {
        with_zeros(dst, to, src, n);
    } else {
        for (size_t at = 0; at < n; at += PIECE) {
            const size_t part = n - at < PIECE ? n - at : PIECE;
            cast_piece((char *)dst + at * out, to, (const char *)src + at * in, from, part);
        }
    }
}
