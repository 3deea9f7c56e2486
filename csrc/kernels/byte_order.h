/* SPDX-License-Identifier: MIT
 *
 * Private to kernels/: unaligned loads and stores of machine words, byte swaps inside registers, and a vector
 * of 16 bytes where the machine has one.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cpu.h"

/* 16 bytes moved at once; the compiler takes vector registers for it. */
typedef struct zc_pair {
    uint64_t a;
    uint64_t b;
} zc_pair;

#if defined(__GNUC__) || defined(__clang__)
#define ZC_BSWAP16 __builtin_bswap16
#define ZC_BSWAP32 __builtin_bswap32
#define ZC_BSWAP64 __builtin_bswap64
#else
#define ZC_BSWAP16 _byteswap_ushort
#define ZC_BSWAP32 _byteswap_ulong
#define ZC_BSWAP64 _byteswap_uint64
#endif

/* Bits above the highest one of x, which is not 0. */
ZC_INLINE int zc_leading_zeros(uint64_t x)
{
    zc_assert(x != 0);
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_clzll(x);
#else
    int n = 0;
    for (; (x & UINT64_C(1) << 63) == 0; x <<= 1) {
        n++;
    }
    return n;
#endif
}

/* zc_swap<item bits>_<word bytes>: reverse every word of an item.  The same on hosts of either byte order. */
ZC_INLINE uint8_t zc_swap8_0(uint8_t x) { return x; }
ZC_INLINE uint16_t zc_swap16_0(uint16_t x) { return x; }
ZC_INLINE uint16_t zc_swap16_2(uint16_t x) { return ZC_BSWAP16(x); }
ZC_INLINE uint32_t zc_swap32_0(uint32_t x) { return x; }
ZC_INLINE uint32_t zc_swap32_4(uint32_t x) { return ZC_BSWAP32(x); }
ZC_INLINE uint64_t zc_swap64_0(uint64_t x) { return x; }
ZC_INLINE uint64_t zc_swap64_8(uint64_t x) { return ZC_BSWAP64(x); }

ZC_INLINE uint32_t zc_swap32_2(uint32_t x)
{
    return (x & UINT32_C(0x00ff00ff)) << 8 | (x >> 8 & UINT32_C(0x00ff00ff));
}

ZC_INLINE uint64_t zc_swap64_4(uint64_t x)
{
    const uint64_t all = ZC_BSWAP64(x);
    return all << 32 | all >> 32;
}

ZC_INLINE uint64_t zc_swap64_2(uint64_t x)
{
    const uint64_t low = UINT64_C(0x00ff00ff00ff00ff);
    return (x & low) << 8 | (x >> 8 & low);
}

ZC_INLINE zc_pair zc_swap128_0(zc_pair x) { return x; }
ZC_INLINE zc_pair zc_swap128_2(zc_pair x) { return (zc_pair){zc_swap64_2(x.a), zc_swap64_2(x.b)}; }
ZC_INLINE zc_pair zc_swap128_4(zc_pair x) { return (zc_pair){zc_swap64_4(x.a), zc_swap64_4(x.b)}; }
ZC_INLINE zc_pair zc_swap128_8(zc_pair x) { return (zc_pair){zc_swap64_8(x.a), zc_swap64_8(x.b)}; }

/*
 * zc_v16, where ZC_HAVE_V16 is defined: load, store, the byte permutation that swaps words (0x80 in its
 * order results in zero), add items of 1, 2 or 4 bytes, and zip = interleave the items of the lower (lo) or
 * upper (hi) halves of two vectors, first item from a.
 * Functions that use it carry ZC_V16 and run only if zc_cpu_features() has the bit ZC_V16_CPU.
 */
#if defined(ZC_X86) && (defined(__SSE2__) || defined(_MSC_VER))

#include <tmmintrin.h>

#define ZC_HAVE_V16 1
#define ZC_V16 ZC_TARGET("ssse3")
#define ZC_V16_CPU ZC_CPU_SSSE3
typedef __m128i zc_v16;

ZC_V16 static inline zc_v16 zc_v16_load(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
ZC_V16 static inline void zc_v16_store(void *p, zc_v16 v) { _mm_storeu_si128((__m128i *)p, v); }
ZC_V16 static inline zc_v16 zc_v16_permute(zc_v16 v, zc_v16 order) { return _mm_shuffle_epi8(v, order); }
ZC_V16 static inline zc_v16 zc_v16_zero(void) { return _mm_setzero_si128(); }
ZC_V16 static inline zc_v16 zc_add1(zc_v16 a, zc_v16 b) { return _mm_add_epi8(a, b); }
ZC_V16 static inline zc_v16 zc_add2(zc_v16 a, zc_v16 b) { return _mm_add_epi16(a, b); }
ZC_V16 static inline zc_v16 zc_add4(zc_v16 a, zc_v16 b) { return _mm_add_epi32(a, b); }
ZC_V16 static inline zc_v16 zc_zip1_lo(zc_v16 a, zc_v16 b) { return _mm_unpacklo_epi8(a, b); }
ZC_V16 static inline zc_v16 zc_zip1_hi(zc_v16 a, zc_v16 b) { return _mm_unpackhi_epi8(a, b); }
ZC_V16 static inline zc_v16 zc_zip2_lo(zc_v16 a, zc_v16 b) { return _mm_unpacklo_epi16(a, b); }
ZC_V16 static inline zc_v16 zc_zip2_hi(zc_v16 a, zc_v16 b) { return _mm_unpackhi_epi16(a, b); }
ZC_V16 static inline zc_v16 zc_zip4_lo(zc_v16 a, zc_v16 b) { return _mm_unpacklo_epi32(a, b); }
ZC_V16 static inline zc_v16 zc_zip4_hi(zc_v16 a, zc_v16 b) { return _mm_unpackhi_epi32(a, b); }
ZC_V16 static inline zc_v16 zc_zip8_lo(zc_v16 a, zc_v16 b) { return _mm_unpacklo_epi64(a, b); }
ZC_V16 static inline zc_v16 zc_zip8_hi(zc_v16 a, zc_v16 b) { return _mm_unpackhi_epi64(a, b); }

/* Wider vectors: functions that use them carry the target and run only if the CPU has ZC_CPU_AVX2 or _AVX512. */
#include <immintrin.h>

#define ZC_HAVE_AVX 1
#define ZC_AVX2 ZC_TARGET("avx2")
#define ZC_AVX512 ZC_TARGET("avx512f,avx512bw,avx512dq,avx512vl")

#elif defined(ZC_ARM64)

#include <arm_neon.h>

#define ZC_HAVE_V16 1
#define ZC_V16
#define ZC_V16_CPU ZC_CPU_NEON
typedef uint8x16_t zc_v16;

#define ZC_AS16 vreinterpretq_u16_u8
#define ZC_AS32 vreinterpretq_u32_u8
#define ZC_AS64 vreinterpretq_u64_u8

static inline zc_v16 zc_v16_load(const void *p) { return vld1q_u8(p); }
static inline void zc_v16_store(void *p, zc_v16 v) { vst1q_u8(p, v); }
static inline zc_v16 zc_v16_permute(zc_v16 v, zc_v16 order) { return vqtbl1q_u8(v, order); }
static inline zc_v16 zc_v16_zero(void) { return vdupq_n_u8(0); }
static inline zc_v16 zc_add1(zc_v16 a, zc_v16 b) { return vaddq_u8(a, b); }
static inline zc_v16 zc_add2(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u16(vaddq_u16(ZC_AS16(a), ZC_AS16(b)));
}
static inline zc_v16 zc_add4(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u32(vaddq_u32(ZC_AS32(a), ZC_AS32(b)));
}
static inline zc_v16 zc_zip1_lo(zc_v16 a, zc_v16 b) { return vzip1q_u8(a, b); }
static inline zc_v16 zc_zip1_hi(zc_v16 a, zc_v16 b) { return vzip2q_u8(a, b); }
static inline zc_v16 zc_zip2_lo(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u16(vzip1q_u16(ZC_AS16(a), ZC_AS16(b)));
}
static inline zc_v16 zc_zip2_hi(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u16(vzip2q_u16(ZC_AS16(a), ZC_AS16(b)));
}
static inline zc_v16 zc_zip4_lo(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u32(vzip1q_u32(ZC_AS32(a), ZC_AS32(b)));
}
static inline zc_v16 zc_zip4_hi(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u32(vzip2q_u32(ZC_AS32(a), ZC_AS32(b)));
}
static inline zc_v16 zc_zip8_lo(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u64(vzip1q_u64(ZC_AS64(a), ZC_AS64(b)));
}
static inline zc_v16 zc_zip8_hi(zc_v16 a, zc_v16 b)
{
    return vreinterpretq_u8_u64(vzip2q_u64(ZC_AS64(a), ZC_AS64(b)));
}

#endif

/* The permutation of 16 bytes that reverses every word of that size (0: none). */
ZC_INLINE void zc_swap_order(uint8_t order[16], uint32_t word)
{
    for (uint32_t i = 0; i < 16; i++) {
        order[i] = (uint8_t)(word > 1 ? i ^ (word - 1) : i);
    }
}
