/* SPDX-License-Identifier: MIT
 *
 * How much was done since the last zc_counts_reset, by all threads: tests compare it with what a call needs.  Counted
 * where assertions are on; elsewhere all counts are 0, and counting costs nothing.
 */
#ifndef ZC_BASE_COUNTS_H
#define ZC_BASE_COUNTS_H

#include <stddef.h>

#include "base/assert.h"

typedef enum zc_count {
    ZC_COUNT_BLOCKS,         /* blosc blocks decompressed */
    ZC_COUNT_WAKES,          /* threads of the pool started, or woken */
    ZC_COUNT_KINDS
} zc_count;

#if ZC_ASSERTIONS

void zc_count_add(zc_count kind, size_t n);
size_t zc_counted(zc_count kind);
void zc_counts_reset(void);

#else

static inline void zc_count_add(zc_count kind, size_t n)
{
    (void)kind, (void)n;
}

static inline size_t zc_counted(zc_count kind)
{
    (void)kind;
    return 0;
}

static inline void zc_counts_reset(void)
{
}

#endif
#endif
