/* SPDX-License-Identifier: MIT
 *
 * The order in which the tables of the engine are locked (docs/architecture.md), checked in builds with assertions.
 */
#pragma once

#include "base/assert.h"
#include "base/os_thread.h"

/* A thread takes only locks that come later, and none of these while code of a store or codec runs. */
typedef enum zc_rank { ZC_RANK_WAITS = 1, ZC_RANK_BUCKET = 2, ZC_RANK_CACHES = 4, ZC_RANK_CACHE = 8 } zc_rank;

extern _Thread_local unsigned zc_ranks_held;     /* keys.c; only where assertions are on */

static inline void zc_rank_lock(zc_mutex *m, zc_rank rank)
{
    zc_assert(zc_ranks_held < (unsigned)rank && "locks are taken out of order");
    zc_mutex_lock(m);
    if (ZC_ASSERTIONS) {
        zc_ranks_held |= (unsigned)rank;
    }
}

static inline void zc_rank_unlock(zc_mutex *m, zc_rank rank)
{
    if (ZC_ASSERTIONS) {
        zc_ranks_held &= ~(unsigned)rank;
    }
    zc_mutex_unlock(m);
}

/* Before code of a store or codec, and before waiting. */
static inline void zc_assert_no_rank(void)
{
    zc_assert(zc_ranks_held == 0 && "a table is locked while other code runs");
}
