/* SPDX-License-Identifier: MIT
 *
 * Reading ahead: while chunks are decoded, the system brings the files of the next ones into memory.  Nothing is asked of it
 * before a thread had to wait for a disk, so that files in memory cost nothing.
 */
#pragma once

#include "base/pool.h"
#include "engine/store.h"

/* Most bytes of files that are brought into memory before they are read: of a larger one, as many at a time. */
#define ZC_AHEAD_BYTES ((uint64_t)64 << 20)

/* Have at most ZC_AHEAD_BYTES of an item brought into memory; *size: how many it has, unchanged where that is not known.
 * False: they are there. */
typedef bool (*zc_announce)(void *job, size_t item, uint64_t *size);

typedef struct zc_ahead {
    zc_announce announce;
    void *job;
    zc_order order;
    _Atomic int trust;       /* how many files in memory it takes to believe that all are; 0: they are */
    _Atomic uint64_t next;   /* the turn whose items are announced next */
    _Atomic uint64_t size;   /* of the item announced last */
} zc_ahead;

void zc_ahead_begin(zc_ahead *ahead, const zc_run *run, zc_announce announce);

/* A disk is waited for while this item is read; by_clock: or a CPU was. */
void zc_ahead_wait(zc_ahead *ahead, size_t item, bool by_clock);

void zc_ahead_go(zc_ahead *ahead, size_t item);

/* An item is begun. */
static inline void zc_ahead_item(zc_ahead *ahead, size_t item)
{
    if (atomic_load_explicit(&ahead->trust, memory_order_relaxed) > 0) {
        zc_ahead_go(ahead, item);
    }
}

/* Has this item been announced? */
static inline bool zc_ahead_has(zc_ahead *ahead, size_t item)
{
    return zc_order_turn(&ahead->order, item) < atomic_load_explicit(&ahead->next, memory_order_relaxed);
}
