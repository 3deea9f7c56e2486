/* SPDX-License-Identifier: MIT */
#include "base/counts.h"

#if ZC_ASSERTIONS

#include <stdatomic.h>

static _Atomic size_t counts[ZC_COUNT_KINDS];

void zc_count_add(zc_count kind, size_t n)
{
    atomic_fetch_add_explicit(&counts[kind], n, memory_order_relaxed);
}

size_t zc_counted(zc_count kind)
{
    return atomic_load(&counts[kind]);
}

void zc_counts_reset(void)
{
    for (int kind = 0; kind < ZC_COUNT_KINDS; kind++) {
        atomic_store(&counts[kind], 0);
    }
}

#else

typedef int zc_no_counts;            /* a file is never empty in C */

#endif
