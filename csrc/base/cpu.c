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

#define WIDE 0x06                        /* saved_registers: the halves of a 32-byte register */
#define WIDEST 0xe6                      /* ... and the masks and halves of the 32 registers of 64 bytes */
#define AVX512_BITS (UINT32_C(1) << 16 | UINT32_C(1) << 17 | UINT32_C(1) << 30 | UINT32_C(1) << 31)

static uint32_t detect(void)
{
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
    const uint64_t saved = (ecx >> 27 & 1) ? saved_registers() : 0;
    if (max_leaf < 7 || (saved & WIDE) != WIDE) {
        return found;
    }
    ask(7, regs);
    found |= (regs[1] >> 5 & 1) ? ZC_CPU_AVX2 : 0u;
    found |= (ecx >> 12 & 1) ? ZC_CPU_FMA : 0u;
    found |= (ecx >> 29 & 1) ? ZC_CPU_F16C : 0u;
    found |= (regs[2] >> 8 & 1) ? ZC_CPU_GFNI : 0u;
    found |= (regs[2] >> 10 & 1) ? ZC_CPU_VPCLMUL : 0u;
    found |= (regs[2] >> 6 & 1) ? ZC_CPU_VBMI2 : 0u;
    if ((saved & WIDEST) == WIDEST && (regs[1] & AVX512_BITS) == AVX512_BITS) {
        found |= ZC_CPU_AVX512;
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

#define ASKED (UINT32_C(1) << 31)

static _Atomic uint32_t known;            /* threads that race here all store the same value */

uint32_t zc_cpu_features(void)
{
    uint32_t found = atomic_load_explicit(&known, memory_order_relaxed);

    if (found == 0) {
        found = detect() | ASKED;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return found & ~ASKED;
}

void zc_cpu_limit(uint32_t most)
{
    atomic_store_explicit(&known, (detect() & most) | ASKED, memory_order_relaxed);
}
