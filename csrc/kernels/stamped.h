/* SPDX-License-Identifier: MIT
 *
 * Loops that the compiler makes vectors of are written once, as STAMP(SET, TARGET, ...), and stamped for every CPU and
 * for those with AVX2; RUN calls the one for this CPU.
 */
#pragma once

#include "kernels/byte_order.h"

#include <string.h>

#ifdef ZC_HAVE_AVX
#define STAMP_BOTH(STAMP, ...) STAMP(any, , __VA_ARGS__) STAMP(avx2, ZC_AVX2, __VA_ARGS__)
#define RUN(WHAT, ...) (zc_cpu_features() & ZC_CPU_AVX2 ? WHAT##_avx2(__VA_ARGS__) : WHAT##_any(__VA_ARGS__))
#define FOR_CPU(TABLE) (zc_cpu_features() & ZC_CPU_AVX2 ? TABLE##_avx2 : TABLE##_any)
#else
#define STAMP_BOTH(STAMP, ...) STAMP(any, , __VA_ARGS__)
#define RUN(WHAT, ...) WHAT##_any(__VA_ARGS__)
#define FOR_CPU(TABLE) TABLE##_any
#endif

/* STAMP(NAME, TYPE) for each type of integers, and a table of what PREFIX_NAME and SUFFIX name, as zc_number_kind counts. */
#define STAMP_INTEGERS(STAMP)                                                                    \
    STAMP(i8, int8_t) STAMP(i16, int16_t) STAMP(i32, int32_t) STAMP(i64, int64_t)                \
    STAMP(u8, uint8_t) STAMP(u16, uint16_t) STAMP(u32, uint32_t) STAMP(u64, uint64_t)
#define INTEGERS(PREFIX, SUFFIX)                                                                 \
    {PREFIX##_i8##SUFFIX, PREFIX##_i16##SUFFIX, PREFIX##_i32##SUFFIX, PREFIX##_i64##SUFFIX,      \
     PREFIX##_u8##SUFFIX, PREFIX##_u16##SUFFIX, PREFIX##_u32##SUFFIX, PREFIX##_u64##SUFFIX}

/* The commonest loop: dst[i] becomes an expression of x, which is src[i], for n numbers of any alignment.  Parameters of
 * the function that the expression needs may follow. */
#define STAMP_EACH(SET, TARGET, NAME, FROM, TO, EXPRESSION, ...)                                 \
    TARGET static void NAME##_##SET(void *restrict dst, const void *restrict src, size_t n, ##__VA_ARGS__) \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            FROM x;                                                                              \
            memcpy(&x, (const char *)src + i * sizeof x, sizeof x);                              \
            const TO y = EXPRESSION;                                                             \
            memcpy((char *)dst + i * sizeof y, &y, sizeof y);                                    \
        }                                                                                        \
    }
