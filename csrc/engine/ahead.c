/* SPDX-License-Identifier: MIT */
#include "engine/ahead.h"

#define TRUST 16             /* files in memory, one after the other */
#define TRUST_CLOCK 2        /* the same, where nothing but the clock has shown that one was not */
#define AT_ONCE 8            /* turns announced before a thread goes on decoding */
#define ITEMS_AHEAD 256

void zc_ahead_begin(zc_ahead *ahead, const zc_run *run, zc_announce announce)
{
    ahead->announce = announce;
    ahead->job = run->job;
    zc_pool_order(run, &ahead->order);
    atomic_init(&ahead->trust, 0);
    atomic_init(&ahead->next, 0);
    atomic_init(&ahead->size, 0);
}

/* How many turns after the one that is begun are announced: at least one for each thread. */
static uint64_t turns_ahead(zc_ahead *ahead)
{
    const uint64_t size = atomic_load_explicit(&ahead->size, memory_order_relaxed);
    const uint64_t fitting = size > ZC_AHEAD_BYTES / ITEMS_AHEAD ? ZC_AHEAD_BYTES / size : ITEMS_AHEAD;
    const uint64_t turns = fitting / ahead->order.grain, least = (uint64_t)ahead->order.threads;

    return turns > least ? turns : least;
}

static void announce_turn(zc_ahead *ahead, uint64_t turn)
{
    const size_t unit = zc_order_unit(&ahead->order, turn);
    size_t item, end;

    if (unit >= ahead->order.n_units) {
        return;
    }
    for (zc_order_items(&ahead->order, unit, &item, &end); item < end; item++) {
        uint64_t size = atomic_load_explicit(&ahead->size, memory_order_relaxed);
        const bool cold = ahead->announce(ahead->job, item, &size);
        atomic_store_explicit(&ahead->size, size, memory_order_relaxed);
        if (cold) {
            atomic_store_explicit(&ahead->trust, TRUST, memory_order_relaxed);
        } else if (atomic_fetch_sub_explicit(&ahead->trust, 1, memory_order_relaxed) <= 1) {
            return;
        }
    }
}

void zc_ahead_go(zc_ahead *ahead, size_t item)
{
    const uint64_t turn = zc_order_turn(&ahead->order, item), turns = zc_order_turns(&ahead->order);
    uint64_t next = atomic_load_explicit(&ahead->next, memory_order_relaxed);

    for (int n = 0; n < AT_ONCE && atomic_load_explicit(&ahead->trust, memory_order_relaxed) > 0;) {
        const uint64_t at = next > turn ? next : turn + 1, end = turn + 1 + turns_ahead(ahead);
        if (at >= (end < turns ? end : turns)) {
            return;
        }
        if (atomic_compare_exchange_weak(&ahead->next, &next, at + 1)) {
            announce_turn(ahead, at);
            next = at + 1;
            n++;
        }
    }
}

void zc_ahead_wait(zc_ahead *ahead, size_t item, bool by_clock)
{
    int trust = atomic_load_explicit(&ahead->trust, memory_order_relaxed);
    const int least = by_clock ? TRUST_CLOCK : TRUST;

    while (trust < least && !atomic_compare_exchange_weak(&ahead->trust, &trust, least)) {
    }
    zc_ahead_go(ahead, item);
}
