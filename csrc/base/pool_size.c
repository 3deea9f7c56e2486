/* SPDX-License-Identifier: MIT
 *
 * The default number of threads of a job, see pool.h.
 */
#include "base/pool.h"

#include <stdatomic.h>

#include "base/cpu_count.h"

static _Atomic int chosen_threads;           /* 0: one for each usable CPU */
static _Atomic int quota_cpus;               /* read once: a dozen files; 0: not yet */

int zc_pool_cpus(void)
{
    const int affinity = zc_cpus_affinity();
    int quota = atomic_load_explicit(&quota_cpus, memory_order_relaxed);

    if (quota == 0) {
        quota = zc_cpus_quota("");
        atomic_store_explicit(&quota_cpus, quota, memory_order_relaxed);
    }
    return affinity < quota ? affinity : quota;
}

int zc_pool_threads(void)
{
    const int chosen = atomic_load_explicit(&chosen_threads, memory_order_relaxed);

    return chosen > 0 ? chosen : zc_pool_cpus();
}

void zc_pool_set_threads(int threads)
{
    atomic_store_explicit(&chosen_threads, threads > 0 ? threads : 0, memory_order_relaxed);
}
