/* SPDX-License-Identifier: MIT
 *
 * Bits of 32-bit words, in loops that compilers vectorise: once for the machine that the program was built for, once
 * for AVX2.  Subnormal halves are made by one addition or subtraction of floats, whose last place is theirs.  CPUs with
 * instructions for IEEE 754 halves have the same results of them, NaN included.
 */
#include "kernels/float16.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/stamped.h"

#define INFINITE32 UINT32_C(0x7f800000)
#define QUIET32 UINT32_C(0x00400000)

ZC_INLINE float as_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

ZC_INLINE uint32_t as_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ZC_INLINE uint32_t widen_f16(uint16_t half)
{
    const uint32_t shifted = (uint32_t)(half & 0x7fff) << 13, exponent = shifted & UINT32_C(0x0f800000);
    const uint32_t normal = shifted + (UINT32_C(112) << 23);
    const uint32_t special = shifted | INFINITE32 | (shifted > UINT32_C(0x0f800000) ? QUIET32 : 0);
    const uint32_t small = as_bits(as_float(shifted + (UINT32_C(113) << 23)) - as_float(UINT32_C(113) << 23));
    const uint32_t size = exponent == UINT32_C(0x0f800000) ? special : exponent == 0 ? small : normal;

    return size | (uint32_t)(half & 0x8000) << 16;
}

ZC_INLINE uint16_t narrow_f16(uint32_t x)
{
    const uint32_t size = x & UINT32_C(0x7fffffff);
    const uint32_t rounded = (size + 0xfff + (size >> 13 & 1) - (UINT32_C(112) << 23)) >> 13;
    const uint32_t normal = size >= UINT32_C(0x47800000) ? 0x7c00 : rounded;
    const uint32_t small = as_bits(as_float(size) + 0.5f) - as_bits(0.5f);
    const uint32_t nan = 0x7e00 | (size >> 13 & 0x1ff);
    const uint32_t half = size > INFINITE32 ? nan : size < UINT32_C(0x38800000) ? small : normal;

    return (uint16_t)(half | (x >> 16 & 0x8000));
}

ZC_INLINE uint32_t widen_bf16(uint16_t half)
{
    const uint32_t x = (uint32_t)half << 16;

    return (x & UINT32_C(0x7fffffff)) > INFINITE32 ? x | QUIET32 : x;
}

ZC_INLINE uint16_t narrow_bf16(uint32_t x)
{
    const bool is_nan = (x & UINT32_C(0x7fffffff)) > INFINITE32;

    return (uint16_t)((is_nan ? x | QUIET32 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}

STAMP_BOTH(STAMP_EACH, widened_f16, uint16_t, uint32_t, widen_f16(x))
STAMP_BOTH(STAMP_EACH, widened_bf16, uint16_t, uint32_t, widen_bf16(x))
STAMP_BOTH(STAMP_EACH, narrowed_f16, uint32_t, uint16_t, narrow_f16(x))
STAMP_BOTH(STAMP_EACH, narrowed_bf16, uint32_t, uint16_t, narrow_bf16(x))

#ifdef ZC_HAVE_AVX

#define ZC_F16C ZC_TARGET("avx,f16c")

ZC_F16C static void widen_by_eights(char *restrict dst, const char *restrict src, size_t n)
{
    const size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8) {
        const __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)(src + 2 * i));
        _mm256_storeu_ps((float *)(void *)(dst + 4 * i), _mm256_cvtph_ps(eight));
    }
    widened_f16_any(dst + 4 * whole, src + 2 * whole, n - whole);
}

ZC_F16C static void narrow_by_eights(char *restrict dst, const char *restrict src, size_t n)
{
    const size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8) {
        const __m256 eight = _mm256_loadu_ps((const float *)(const void *)(src + 4 * i));
        _mm_storeu_si128((__m128i *)(void *)(dst + 2 * i), _mm256_cvtps_ph(eight, _MM_FROUND_TO_NEAREST_INT));
    }
    narrowed_f16_any(dst + 2 * whole, src + 4 * whole, n - whole);
}

#endif

void zc_halves_to_floats(float *dst, const void *src, zc_number_kind kind, size_t n)
{
#ifdef ZC_HAVE_AVX
    if (kind == ZC_NUMBER_F16 && (zc_cpu_features() & ZC_CPU_F16C)) {
        widen_by_eights((char *)dst, src, n);
        return;
    }
#endif
    if (kind == ZC_NUMBER_F16) {
        RUN(widened_f16, dst, src, n);
    } else {
        RUN(widened_bf16, dst, src, n);
    }
}

void zc_floats_to_halves(void *dst, zc_number_kind kind, const float *src, size_t n)
{
#ifdef ZC_HAVE_AVX
    if (kind == ZC_NUMBER_F16 && (zc_cpu_features() & ZC_CPU_F16C)) {
        narrow_by_eights(dst, (const char *)src, n);
        return;
    }
#endif
    if (kind == ZC_NUMBER_F16) {
        RUN(narrowed_f16, dst, src, n);
    } else {
        RUN(narrowed_bf16, dst, src, n);
    }
}
