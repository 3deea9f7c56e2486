/* SPDX-License-Identifier: MIT
 *
 * Runs a test case once for each kind of CPU that this one can stand for.
 */
#pragma once

#include "base/cpu.h"
#include "tests/check.h"

static const uint32_t lesser_cpus[] = {
    ~(uint32_t)(ZC_CPU_AVX512 | ZC_CPU_F16C),
    ~(uint32_t)(ZC_CPU_AVX512 | ZC_CPU_F16C | ZC_CPU_AVX2 | ZC_CPU_FMA | ZC_CPU_GFNI | ZC_CPU_VPCLMUL),
    0,
};

/* As RUN of check.h. */
#define RUN_ON_EVERY_CPU(test)                                                                   \
    do {                                                                                         \
        RUN(test);                                                                               \
        for (size_t kind = 0; kind < sizeof lesser_cpus / sizeof lesser_cpus[0]; kind++) {       \
            zc_cpu_limit(lesser_cpus[kind]);                                                     \
            test();                                                                              \
        }                                                                                        \
        zc_cpu_limit(UINT32_MAX);                                                                \
    } while (0)
