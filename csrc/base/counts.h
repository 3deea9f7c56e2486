/* SPDX-License-Identifier: MIT
 *
 * How much was done since the last zc_counts_reset, by all threads: tests compare it with what a call needs.  Counted
 * where assertions are on; elsewhere all counts are 0, and counting costs nothing.
 */
#pragma once

#include <stdatomic.h>

#include "base/assert.h"

typedef enum zc_count {
    ZC_COUNT_BLOCKS,         /* blosc blocks decompressed */
    ZC_COUNT_DECODED,        /* bytes decompressed by codecs without blocks */
    ZC_COUNT_HELPERS,        /* threads of the pool that jobs asked for, beside the calling one */
    ZC_COUNT_PAGES,          /* pages of large scratch buffers taken from the system: huge ones where it has them */
    ZC_COUNT_ANNOUNCED,      /* bytes of files that the system was asked to bring into memory */
    ZC_COUNT_PARENTS,        /* directories opened to write to them */
    ZC_COUNT_KINDS
} zc_count;

extern _Atomic size_t zc_counts[ZC_COUNT_KINDS];         /* pool.c */

static inline void zc_count_add(zc_count kind, size_t n)
{
    if (ZC_ASSERTIONS) {
        atomic_fetch_add_explicit(&zc_counts[kind], n, memory_order_relaxed);
    }
}

static inline size_t zc_counted(zc_count kind)
{
    return atomic_load(&zc_counts[kind]);
}

static inline void zc_counts_reset(void)
{
    for (int kind = 0; kind < ZC_COUNT_KINDS; kind++) {
        atomic_store(&zc_counts[kind], 0);
    }
}
