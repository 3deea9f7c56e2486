/* SPDX-License-Identifier: MIT
 *
 * Loops that the compiler makes vectors of are written once, as STAMP(SET, TARGET, ...), and stamped for every CPU and
 * for those with AVX2; RUN calls the one for this CPU.
 */
#ifndef ZC_KERNELS_STAMPED_H
#define ZC_KERNELS_STAMPED_H

#include "kernels/byte_order.h"

#ifdef ZC_HAVE_AVX
#define STAMP_BOTH(STAMP, ...) STAMP(any, , __VA_ARGS__) STAMP(avx2, ZC_AVX2, __VA_ARGS__)
#define RUN(WHAT, ...) (zc_cpu_features() & ZC_CPU_AVX2 ? WHAT##_avx2(__VA_ARGS__) : WHAT##_any(__VA_ARGS__))
#else
#define STAMP_BOTH(STAMP, ...) STAMP(any, , __VA_ARGS__)
#define RUN(WHAT, ...) WHAT##_any(__VA_ARGS__)
#endif

#endif
