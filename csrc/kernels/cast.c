/* SPDX-License-Identifier: MIT
 *
 * One loop for each pair of types, which compilers vectorise.
 */
#include "kernels/cast.h"

#include <stdint.h>
#include <string.h>

#include "base/cpu.h"

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

ZC_INLINE uint32_t to_uint32(double x)
{
    return (uint32_t)(uint64_t)to_int64(x);
}

ZC_INLINE uint64_t to_uint64(double x)
{
    return x >= 0x1p63 ? (uint64_t)to_int64(x - 0x1p63) ^ UINT64_C(1) << 63 : (uint64_t)to_int64(x);
}

/* ---- the loops -------------------------------------------------------------------------------- */

#define CAST(FROM, F, TO, T, CONVERT)                                                            \
    static void cast_##FROM##_##TO(char *restrict dst, const char *restrict src, size_t n)       \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            F x;                                                                                 \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const T y = (T)CONVERT(x);                                                           \
            memcpy(dst + i * sizeof y, &y, sizeof y);                                            \
        }                                                                                        \
    }

#define CAST_FROM(FROM, F, INT32, INT64, UINT32, UINT64)                                         \
    CAST(FROM, F, i8, int8_t, INT32)                                                             \
    CAST(FROM, F, i16, int16_t, INT32)                                                           \
    CAST(FROM, F, i32, int32_t, INT32)                                                           \
    CAST(FROM, F, i64, int64_t, INT64)                                                           \
    CAST(FROM, F, u8, uint8_t, INT32)                                                            \
    CAST(FROM, F, u16, uint16_t, INT32)                                                          \
    CAST(FROM, F, u32, uint32_t, UINT32)                                                         \
    CAST(FROM, F, u64, uint64_t, UINT64)                                                         \
    CAST(FROM, F, f32, float, )                                                                  \
    CAST(FROM, F, f64, double, )

CAST_FROM(i8, int8_t, , , , )
CAST_FROM(i16, int16_t, , , , )
CAST_FROM(i32, int32_t, , , , )
CAST_FROM(i64, int64_t, , , , )
CAST_FROM(u8, uint8_t, , , , )
CAST_FROM(u16, uint16_t, , , , )
CAST_FROM(u32, uint32_t, , , , )
CAST_FROM(u64, uint64_t, , , , )
CAST_FROM(f32, float, to_int32, to_int64, to_uint32, to_uint64)
CAST_FROM(f64, double, to_int32, to_int64, to_uint32, to_uint64)

/* ---- by kind ---------------------------------------------------------------------------------- */

typedef void (*cast_fn)(char *restrict dst, const char *restrict src, size_t n);

#define ROW(FROM)                                                                                \
    {cast_##FROM##_i8, cast_##FROM##_i16, cast_##FROM##_i32, cast_##FROM##_i64, cast_##FROM##_u8, \
     cast_##FROM##_u16, cast_##FROM##_u32, cast_##FROM##_u64, cast_##FROM##_f32, cast_##FROM##_f64}

static const cast_fn casts[ZC_NUMBER_KINDS][ZC_NUMBER_KINDS] = {
    ROW(i8), ROW(i16), ROW(i32), ROW(i64), ROW(u8), ROW(u16), ROW(u32), ROW(u64), ROW(f32), ROW(f64),
};

size_t zc_number_size(zc_number_kind kind)
{
    static const size_t sizes[ZC_NUMBER_KINDS] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

    return sizes[kind];
}

void zc_cast(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n)
{
    if (to == from) {
        memcpy(dst, src, n * zc_number_size(to));
    } else {
        casts[from][to](dst, src, n);
    }
}
