/* SPDX-License-Identifier: MIT
 *
 * What the compiler and the CPU offer.  Compiler facts are macros; CPU facts are asked at run time, so
 * that one binary runs everywhere and uses what it finds.
 */
#pragma once

#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(_M_IX86)
#define ZC_X86 1
#endif

#if (defined(__aarch64__) && !defined(__AARCH64EB__)) || defined(_M_ARM64)
#define ZC_ARM64 1
#endif

#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define ZC_BIG_ENDIAN 1
#else
#define ZC_BIG_ENDIAN 0
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ZC_INLINE static inline __attribute__((always_inline))
#define ZC_TARGET(features) __attribute__((target(features)))
#define ZC_PREFETCH(p) __builtin_prefetch(p)
#elif defined(_MSC_VER)
#define ZC_INLINE static __forceinline
#define ZC_TARGET(features)
#define ZC_PREFETCH(p) ((void)(p))
#else
#define ZC_INLINE static inline
#define ZC_TARGET(features)
#define ZC_PREFETCH(p) ((void)(p))
#endif

/* Bits of zc_cpu_features. */
enum {
    ZC_CPU_SSSE3 = 1 << 0,
    ZC_CPU_SSE42 = 1 << 1,
    ZC_CPU_PCLMUL = 1 << 2,
    ZC_CPU_AVX2 = 1 << 3,
    ZC_CPU_NEON = 1 << 4,
    ZC_CPU_ARM_CRC32 = 1 << 5,
    ZC_CPU_AVX512 = 1 << 6,              /* foundation, VL, BW and DQ */
    ZC_CPU_GFNI = 1 << 7,                /* the instructions on 64-byte registers too, if ZC_CPU_AVX512 */
    ZC_CPU_FMA = 1 << 8,
    ZC_CPU_VPCLMUL = 1 << 9,             /* carry-less products in all lanes of a vector */
    ZC_CPU_VBMI2 = 1 << 10,              /* small items of a 64-byte register compressed by a mask, if ZC_CPU_AVX512 */
    ZC_CPU_F16C = 1 << 11                /* floats of 16 bits to floats of 32 and back */
};

/*
 * The features that this CPU has and that the operating system lets programs use; 0 on an unknown CPU.
 * Cheap after the first call.  Thread-safe.
 */
uint32_t zc_cpu_features(void);

/* Use only the features in `most` from now on, so that tests reach the code for older CPUs. */
void zc_cpu_limit(uint32_t most);
