/* SPDX-License-Identifier: MIT */
#include "kernels/delta_numpy.h"

#include <stdint.h>
#include <string.h>

#include "kernels/delta.h"
#include "kernels/float16.h"
#include "kernels/stamped.h"

enum { PIECE = 512 };        /* numbers */

/* ---- Booleans --------------------------------------------------------------------------------- */

STAMP_BOTH(STAMP_EACH, flags, uint8_t, uint8_t, x != 0)
STAMP_BOTH(STAMP_EACH, odd, uint8_t, uint8_t, x & 1)

#define STAMP_DIFFER(SET, TARGET, NAME)                                                          \
    TARGET static void NAME##_##SET(uint8_t *restrict dst, const uint8_t *restrict src, size_t n) \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            dst[i] = (src[i] != 0) != (src[i + 1] != 0);                                         \
        }                                                                                        \
    }

STAMP_BOTH(STAMP_DIFFER, differ)

static void encode_flags(uint8_t *dst, const uint8_t *src, size_t n)
{
    dst[0] = src[0];
    RUN(differ, dst + 1, src, n - 1);
}

/* How many of the flags so far are set, and whether that is odd. */
static void decode_flags(uint8_t *dst, const uint8_t *src, size_t n)
{
    uint8_t set[PIECE], sums[PIECE], last = 0;

    for (size_t at = 0; at < n; at += PIECE) {
        const size_t part = n - at < PIECE ? n - at : PIECE;
        RUN(flags, set, src + at, part);
        set[0] = (uint8_t)(set[0] + last);
        zc_delta_decode(sums, set, part, ZC_DELTA_INT8);
        RUN(odd, dst + at, sums, part);
        last = dst[at + part - 1];
    }
}

/* ---- half precision --------------------------------------------------------------------------- */

#define INFINITE INT32_C(0x7f800000)
#define BEYOND INT32_C(0x47800000)       /* 65536 */
#define CUT UINT32_C(0x1fff)             /* bits of a float that a half has not */

#define STAMP_HALVES(SET, TARGET, NAME)                                                          \
    TARGET static void NAME##_##SET(float *restrict dst, const float *restrict src, size_t n)    \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            dst[i] = src[i + 1] - src[i];                                                        \
        }                                                                                        \
    }

STAMP_BOTH(STAMP_HALVES, subtract)

static void encode_halves(char *dst, const char *src, size_t n)
{
    float numbers[PIECE + 1], differences[PIECE];

    memcpy(dst, src, 2);
    for (size_t at = 1; at < n; at += PIECE) {
        const size_t part = n - at < PIECE ? n - at : PIECE;
        zc_halves_to_floats(numbers, src + 2 * (at - 1), ZC_NUMBER_F16, part + 1);
        RUN(subtract, differences, numbers, part);
        zc_floats_to_halves(dst + 2 * at, ZC_NUMBER_F16, differences, part);
    }
}

/*
 * Running sums, each as the nearest half, in the range of halves.  Those that halves have fewer bits for are multiples of
 * the smallest half, so that nothing is cut off.
 */
#ifdef ZC_HAVE_AVX

/* All steps in vector registers: to move the sum to others and back takes longer than the steps. */
static void add_halves(float *restrict dst, const float *restrict src, size_t n, float before)
{
    const __m128i one = _mm_set1_epi32(1), half = _mm_set1_epi32((int)(CUT >> 1)), kept = _mm_set1_epi32((int)~CUT);
    __m128 sum = _mm_set_ss(before);

    for (size_t i = 0; i < n; i++) {
        const __m128i bits = _mm_castps_si128(_mm_add_ss(sum, _mm_load_ss(src + i)));
        const __m128i last = _mm_and_si128(_mm_srli_epi32(bits, 13), one);
        const __m128i rounded = _mm_add_epi32(_mm_add_epi32(bits, half), last);
        sum = _mm_castsi128_ps(_mm_and_si128(rounded, kept));
        _mm_store_ss(dst + i, sum);
    }
}

#else

static void add_halves(float *restrict dst, const float *restrict src, size_t n, float sum)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        sum += src[i];
        memcpy(&bits, &sum, sizeof bits);
        bits = (bits + (CUT >> 1) + (bits >> 13 & 1)) & ~CUT;
        memcpy(&sum, &bits, sizeof sum);
        dst[i] = sum;
    }
}

#endif

/* The same; false, with dst undefined, if a sum is beyond that range. */
static bool add_up(float *restrict dst, const float *restrict src, size_t n, float sum)
{
    int32_t beyond = 0;

    add_halves(dst, src, n, sum);
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, dst + i, sizeof bits);
        const int32_t size = bits & INT32_MAX;
        beyond |= size >= BEYOND && size < INFINITE;
    }
    return !beyond;
}

/* Any sums. */
static void add_up_any(float *restrict dst, const float *restrict src, size_t n, float sum)
{
    uint16_t half;

    for (size_t i = 0; i < n; i++) {
        sum += src[i];
        zc_floats_to_halves(&half, ZC_NUMBER_F16, &sum, 1);
        zc_halves_to_floats(&sum, &half, ZC_NUMBER_F16, 1);
        dst[i] = sum;
    }
}

static void decode_halves(char *dst, const char *src, size_t n)
{
    float differences[PIECE], sums[PIECE], last;

    memcpy(dst, src, 2);                 /* 0.0 + -0.0 would be 0.0 */
    zc_halves_to_floats(&last, src, ZC_NUMBER_F16, 1);
    for (size_t at = 1; at < n; at += PIECE) {
        const size_t part = n - at < PIECE ? n - at : PIECE;
        zc_halves_to_floats(differences, src + 2 * at, ZC_NUMBER_F16, part);
        if (!add_up(sums, differences, part, last)) {
            add_up_any(sums, differences, part, last);
        }
        zc_floats_to_halves(dst + 2 * at, ZC_NUMBER_F16, sums, part);
        last = sums[part - 1];
    }
}

/* ---- complex numbers -------------------------------------------------------------------------- */

#define STAMP_DIFFERENCES(SET, TARGET, NAME, TYPE)                                               \
    TARGET static void NAME##_##SET(char *restrict dst, const char *restrict src, size_t n)      \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x, before;                                                                      \
            memcpy(&x, src + (i + 2) * sizeof x, sizeof x);                                      \
            memcpy(&before, src + i * sizeof x, sizeof x);                                       \
            x -= before;                                                                         \
            memcpy(dst + i * sizeof x, &x, sizeof x);                                            \
        }                                                                                        \
    }

#define STAMP_PAIRS(NAME, TYPE)                                                                  \
    STAMP_BOTH(STAMP_DIFFERENCES, differences_##NAME, TYPE)                                      \
                                                                                                 \
    static void encode_##NAME(char *dst, const char *src, size_t n)                              \
    {                                                                                            \
        memcpy(dst, src, 2 * sizeof(TYPE));                                                      \
        RUN(differences_##NAME, dst + 2 * sizeof(TYPE), src, 2 * (n - 1));                       \
    }                                                                                            \
                                                                                                 \
    static void decode_##NAME(char *restrict dst, const char *restrict src, size_t n)            \
    {                                                                                            \
        TYPE sum[2], x[2];                                                                       \
        memcpy(sum, src, sizeof sum);                                                            \
        memcpy(dst, sum, sizeof sum);                                                            \
        for (size_t i = 1; i < n; i++) {                                                         \
            memcpy(x, src + i * sizeof x, sizeof x);                                             \
            sum[0] += x[0];                                                                      \
            sum[1] += x[1];                                                                      \
            memcpy(dst + i * sizeof sum, sum, sizeof sum);                                       \
        }                                                                                        \
    }

STAMP_PAIRS(c64, float)
STAMP_PAIRS(c128, double)

/* ---- by kind ---------------------------------------------------------------------------------- */

void zc_delta_encode_numpy(void *dst, const void *src, size_t n, zc_number_kind kind)
{
    if (n == 0) {
        return;
    }
    switch (kind) {
    case ZC_NUMBER_BOOL: encode_flags(dst, src, n); return;
    case ZC_NUMBER_F16: encode_halves(dst, src, n); return;
    case ZC_NUMBER_C64: encode_c64(dst, src, n); return;
    default: encode_c128(dst, src, n);
    }
}

void zc_delta_decode_numpy(void *dst, const void *src, size_t n, zc_number_kind kind)
{
    if (n == 0) {
        return;
    }
    switch (kind) {
    case ZC_NUMBER_BOOL: decode_flags(dst, src, n); return;
    case ZC_NUMBER_F16: decode_halves(dst, src, n); return;
    case ZC_NUMBER_C64: decode_c64(dst, src, n); return;
    default: decode_c128(dst, src, n);
    }
}
