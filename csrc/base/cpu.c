/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"

#include <stdatomic.h>

#if defined(ZC_X86) && defined(_MSC_VER)
#include <intrin.h>
#elif defined(ZC_X86)
#include <cpuid.h>
#endif
#if defined(ZC_ARM64) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(ZC_ARM64) && defined(_WIN32)
#include <windows.h>
#endif

#if defined(ZC_X86)

/* The instruction itself and not __builtin_cpu_supports, whose tables some tool chains leave empty. */
static void ask(uint32_t leaf, uint32_t regs[4])          /* eax, ebx, ecx, edx */
{
#if defined(_MSC_VER)
    __cpuidex((int *)regs, (int)leaf, 0);
#else
    __cpuid_count(leaf, 0, regs[0], regs[1], regs[2], regs[3]);
#endif
}

/* Which registers the operating system saves; only where OSXSAVE is set. */
static uint64_t saved_registers(void)
{
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
#endif
}

static uint32_t detect(void)
{
    const uint64_t wide = 6;                              /* the halves of a 32-byte register */
    const uint64_t widest = 0xe6;                         /* also masks, 64-byte registers, 16 more of them */
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    uint32_t regs[4];
    uint32_t found = 0;

    ask(0, regs);
    const uint32_t max_leaf = regs[0];
    if (max_leaf < 1) {
        return 0;
    }
    ask(1, regs);
    const uint32_t ecx = regs[2];
    found |= (ecx >> 9 & 1) ? ZC_CPU_SSSE3 : 0u;
    found |= (ecx >> 20 & 1) ? ZC_CPU_SSE42 : 0u;
    found |= (ecx >> 1 & 1) ? ZC_CPU_PCLMUL : 0u;
    if (max_leaf >= 7 && (ecx >> 27 & 1) && (saved_registers() & wide) == wide) {
        ask(7, regs);
        found |= (regs[1] >> 5 & 1) ? ZC_CPU_AVX2 : 0u;
        found |= (regs[2] >> 8 & 1) ? ZC_CPU_GFNI : 0u;
        if ((regs[1] & avx512) == avx512 && (saved_registers() & widest) == widest) {
            found |= ZC_CPU_AVX512;
        }
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
