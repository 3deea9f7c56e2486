/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"

#include <stdatomic.h>

#if defined(ZC_X86) && defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif
#if defined(ZC_ARM64) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(ZC_ARM64) && defined(_WIN32)
#include <windows.h>
#endif

#if defined(ZC_X86) && (defined(__GNUC__) || defined(__clang__))

static uint32_t detect(void)
{
    uint32_t found = 0;

    __builtin_cpu_init();
    found |= __builtin_cpu_supports("ssse3") ? ZC_CPU_SSSE3 : 0u;
    found |= __builtin_cpu_supports("sse4.2") ? ZC_CPU_SSE42 : 0u;
    found |= __builtin_cpu_supports("pclmul") ? ZC_CPU_PCLMUL : 0u;
    found |= __builtin_cpu_supports("avx2") ? ZC_CPU_AVX2 : 0u;
    return found;
}

#elif defined(ZC_X86) && defined(_MSC_VER)

static uint32_t detect(void)
{
    int regs[4];                        /* eax, ebx, ecx, edx */
    uint32_t found = 0;

    __cpuid(regs, 0);
    const int max_leaf = regs[0];
    __cpuid(regs, 1);
    const uint32_t ecx = (uint32_t)regs[2];
    found |= (ecx >> 9 & 1) ? ZC_CPU_SSSE3 : 0u;
    found |= (ecx >> 20 & 1) ? ZC_CPU_SSE42 : 0u;
    found |= (ecx >> 1 & 1) ? ZC_CPU_PCLMUL : 0u;

    /* AVX2 counts only if the system saves the wide registers: OSXSAVE, then XCR0 bits 1 and 2. */
    if (max_leaf >= 7 && (ecx >> 27 & 1) && (_xgetbv(0) & 6) == 6) {
        __cpuidex(regs, 7, 0);
        found |= ((uint32_t)regs[1] >> 5 & 1) ? ZC_CPU_AVX2 : 0u;
    }
    return found;
}

#elif defined(ZC_ARM64)

static uint32_t detect(void)
{
    uint32_t found = ZC_CPU_NEON;       /* part of the base architecture */
#if defined(__linux__)
    found |= (getauxval(AT_HWCAP) >> 7 & 1) ? ZC_CPU_ARM_CRC32 : 0u;
#elif defined(__APPLE__)
    found |= ZC_CPU_ARM_CRC32;          /* every 64-bit Mac has it */
#elif defined(_WIN32)
    found |= IsProcessorFeaturePresent(PF_ARM_V8_CRC32_INSTRUCTIONS_AVAILABLE) ? ZC_CPU_ARM_CRC32 : 0u;
#endif
    return found;
}

#else

static uint32_t detect(void)
{
    return 0;
}

#endif

uint32_t zc_cpu_features(void)
{
    /* Threads that race here all store the same value. */
    static _Atomic uint32_t known;
    const uint32_t asked = UINT32_C(1) << 31;
    uint32_t found = atomic_load_explicit(&known, memory_order_relaxed);

    if (found == 0) {
        found = detect() | asked;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return found & ~asked;
}
