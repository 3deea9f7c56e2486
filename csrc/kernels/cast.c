/* SPDX-License-Identifier: MIT
 *
 * One loop for each pair of types, which compilers vectorise: once for the machine that the program was built for, once
 * for AVX2.
 */
#include "kernels/cast.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "kernels/stamped.h"

/* ---- floats to integers ----------------------------------------------------------------------- */

/* What is out of range is replaced before the conversion, which is undefined for it. */
ZC_INLINE int32_t to_int32(double x)
{
    const double y = x > -2147483649.0 && x < 2147483648.0 ? x : -2147483648.0;

    return (int32_t)y;
}

ZC_INLINE int64_t to_int64(double x)
{
    const double y = x >= -0x1p63 && x < 0x1p63 ? x : -0x1p63;

    return (int64_t)y;
}

/* The same for single precision, without the way through double. */
ZC_INLINE int32_t to_int32f(float x)
{
    const float y = x >= -0x1p31f && x < 0x1p31f ? x : -0x1p31f;

    return (int32_t)y;
}

ZC_INLINE uint32_t to_uint32(double x)
{
    return (uint32_t)(uint64_t)to_int64(x);
}

ZC_INLINE uint64_t to_uint64(double x)
{
    return x >= 0x1p63 ? (uint64_t)to_int64(x - 0x1p63) ^ UINT64_C(1) << 63 : (uint64_t)to_int64(x);
}

/* ---- the loops -------------------------------------------------------------------------------- */

#define CAST_FROM(SET, TARGET, FROM, F, INT32, INT64, UINT32, UINT64)                            \
    STAMP_EACH(SET, TARGET, FROM##_i8, F, int8_t, (int8_t)INT32(x))                              \
    STAMP_EACH(SET, TARGET, FROM##_i16, F, int16_t, (int16_t)INT32(x))                           \
    STAMP_EACH(SET, TARGET, FROM##_i32, F, int32_t, (int32_t)INT32(x))                           \
    STAMP_EACH(SET, TARGET, FROM##_i64, F, int64_t, (int64_t)INT64(x))                           \
    STAMP_EACH(SET, TARGET, FROM##_u8, F, uint8_t, (uint8_t)INT32(x))                            \
    STAMP_EACH(SET, TARGET, FROM##_u16, F, uint16_t, (uint16_t)INT32(x))                         \
    STAMP_EACH(SET, TARGET, FROM##_u32, F, uint32_t, (uint32_t)UINT32(x))                        \
    STAMP_EACH(SET, TARGET, FROM##_u64, F, uint64_t, (uint64_t)UINT64(x))                        \
    STAMP_EACH(SET, TARGET, FROM##_f32, F, float, (float)x)                                      \
    STAMP_EACH(SET, TARGET, FROM##_f64, F, double, (double)x)

#define ROW(SET, FROM)                                                                           \
    {FROM##_i8_##SET,  FROM##_i16_##SET, FROM##_i32_##SET, FROM##_i64_##SET, FROM##_u8_##SET,    \
     FROM##_u16_##SET, FROM##_u32_##SET, FROM##_u64_##SET, FROM##_f32_##SET, FROM##_f64_##SET}

typedef void (*cast_fn)(void *restrict dst, const void *restrict src, size_t n);

#define CAST_SET(SET, TARGET, NAME)                                                              \
    CAST_FROM(SET, TARGET, i8, int8_t, , , , )                                                   \
    CAST_FROM(SET, TARGET, i16, int16_t, , , , )                                                 \
    CAST_FROM(SET, TARGET, i32, int32_t, , , , )                                                 \
    CAST_FROM(SET, TARGET, i64, int64_t, , , , )                                                 \
    CAST_FROM(SET, TARGET, u8, uint8_t, , , , )                                                  \
    CAST_FROM(SET, TARGET, u16, uint16_t, , , , )                                                \
    CAST_FROM(SET, TARGET, u32, uint32_t, , , , )                                                \
    CAST_FROM(SET, TARGET, u64, uint64_t, , , , )                                                \
    CAST_FROM(SET, TARGET, f32, float, to_int32f, to_int64, to_uint32, to_uint64)                \
    CAST_FROM(SET, TARGET, f64, double, to_int32, to_int64, to_uint32, to_uint64)                \
                                                                                                 \
    static const cast_fn NAME##_##SET[ZC_NUMBER_KINDS][ZC_NUMBER_KINDS] = {                      \
        ROW(SET, i8),  ROW(SET, i16), ROW(SET, i32), ROW(SET, i64), ROW(SET, u8),                \
        ROW(SET, u16), ROW(SET, u32), ROW(SET, u64), ROW(SET, f32), ROW(SET, f64),               \
    };

STAMP_BOTH(CAST_SET, casts)

#ifdef ZC_HAVE_AVX

/* The instruction returns the lowest number for values out of range: nothing has to be replaced. */
ZC_AVX2 static void cut_avx2(int32_t *restrict dst, const char *restrict src, size_t n)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        const double *const four = (const double *)(const void *)(src + i * sizeof(double));
        _mm_storeu_si128((__m128i *)(void *)(dst + i), _mm256_cvttpd_epi32(_mm256_loadu_pd(four)));
    }
    for (; i < n; i++) {
        double x;
        memcpy(&x, src + i * sizeof x, sizeof x);
        dst[i] = _mm_cvttsd_si32(_mm_set_sd(x));
    }
}

/* Doubles to integers of at most 32 bits: through int32, piece by piece. */
static void cut_doubles(char *dst, zc_number_kind to, const char *src, size_t n)
{
    const size_t size = zc_number_size(to);
    int32_t piece[256];

    for (size_t i = 0; i < n; i += 256) {
        const size_t part = n - i < 256 ? n - i : 256;
        cut_avx2(piece, src + i * sizeof(double), part);
        zc_cast(dst + i * size, to, piece, ZC_NUMBER_I32, part);
    }
}

static bool cuts(zc_number_kind to, zc_number_kind from)
{
    return from == ZC_NUMBER_F64 && to != ZC_NUMBER_U32 && zc_number_size(to) <= 4 && to != ZC_NUMBER_F32;
}

#endif

/* ---- by kind ---------------------------------------------------------------------------------- */

size_t zc_number_size(zc_number_kind kind)
{
    static const size_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2};
    const bool is_small = kind >= ZC_NUMBER_I2 && kind < ZC_REAL_KINDS;

    return is_small || kind == ZC_NUMBER_BOOL ? 1 : kind == ZC_NUMBER_C64 ? 8 : kind == ZC_NUMBER_C128 ? 16 : sizes[kind];
}

void zc_cast(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n)
{
    zc_assert(to < ZC_NUMBER_KINDS && from < ZC_NUMBER_KINDS);
    zc_assert(zc_is_apart(dst, n * zc_number_size(to), src, n * zc_number_size(from)));
    if (to == from) {
        memcpy(dst, src, n * zc_number_size(to));
        return;
    }
#ifdef ZC_HAVE_AVX
    if (cuts(to, from) && (zc_cpu_features() & ZC_CPU_AVX2)) {
        cut_doubles(dst, to, src, n);
        return;
    }
#endif
    FOR_CPU(casts)[from][to](dst, src, n);
}
