/* SPDX-License-Identifier: MIT
 *
 * Between the second cache and the memory the plainest loop is the fastest: whole vectors, stored where they are
 * aligned, and nothing fetched ahead, which the CPU does by itself.  The C library fetches ahead, and takes up to a
 * quarter longer where the two places lie differently in their pages.
 */
#include "kernels/long_copy.h"

#include <stdint.h>
#include <string.h>

#include "kernels/byte_order.h"

#ifdef ZC_HAVE_AVX

#define LEAST ((size_t)64 << 10)       /* below, all copies are alike */
#define MOST ((size_t)32 << 20)        /* beyond, the C library may go round the caches */

enum { VECTOR = 32, STEP = 4 * VECTOR };

ZC_AVX2 static void copy_avx2(char *dst, const char *src, size_t n)
{
    const size_t head = (VECTOR - (uintptr_t)dst % VECTOR) % VECTOR;
    size_t i = head;

    memcpy(dst, src, head);
    for (; i + STEP <= n; i += STEP) {
        const __m256i *const from = (const __m256i *)(const void *)(src + i);
        __m256i *const to = (__m256i *)(void *)(dst + i);
        const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
        const __m256i c = _mm256_loadu_si256(from + 2), d = _mm256_loadu_si256(from + 3);
        _mm256_store_si256(to, a);
        _mm256_store_si256(to + 1, b);
        _mm256_store_si256(to + 2, c);
        _mm256_store_si256(to + 3, d);
    }
    memcpy(dst + i, src + i, n - i);
}

void zc_long_copy(void *dst, const void *src, size_t n)
{
    if (n >= LEAST && n <= MOST && (zc_cpu_features() & ZC_CPU_AVX2)) {
        copy_avx2(dst, src, n);
    } else if (n > 0) {
        memcpy(dst, src, n);
    }
}

#else

void zc_long_copy(void *dst, const void *src, size_t n)
{
    if (n > 0) {
        memcpy(dst, src, n);
    }
}

#endif
