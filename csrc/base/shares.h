/* SPDX-License-Identifier: MIT
 *
 * How the participants of a job divide its items: each has a contiguous share of the units (a unit is
 * a few items) and takes from its front; one that has nothing left moves half of the fullest share
 * to its own.
 */
#ifndef ZC_BASE_SHARES_H
#define ZC_BASE_SHARES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The units [begin, end) as begin << 32 | end, on a cache line of its own. */
typedef struct zc_share {
    _Alignas(64) _Atomic uint64_t units;
} zc_share;

static inline uint64_t zc_units(uint32_t begin, uint32_t end)
{
    return (uint64_t)begin << 32 | end;
}

static inline uint32_t zc_units_count(uint64_t units)
{
    return (uint32_t)units - (uint32_t)(units >> 32);
}

/* Divide n units evenly. */
static inline void zc_shares_split(zc_share *shares, int n_shares, uint32_t n)
{
    for (int i = 0; i < n_shares; i++) {
        const uint32_t begin = (uint32_t)((uint64_t)n * (uint64_t)i / (uint64_t)n_shares);
        const uint32_t end = (uint32_t)((uint64_t)n * ((uint64_t)i + 1) / (uint64_t)n_shares);

        atomic_init(&shares[i].units, zc_units(begin, end));
    }
}

/* Take the first unit of a share.  Any thread, at any time. */
static inline bool zc_share_take(zc_share *share, uint32_t *unit)
{
    uint64_t units = atomic_load_explicit(&share->units, memory_order_acquire);

    while (zc_units_count(units) != 0) {
        const uint32_t begin = (uint32_t)(units >> 32);

        if (atomic_compare_exchange_weak(&share->units, &units, zc_units(begin + 1, (uint32_t)units))) {
            *unit = begin;
            return true;
        }
    }
    return false;
}

static inline bool zc_shares_left(zc_share *shares, int n_shares)
{
    for (int i = 0; i < n_shares; i++) {
        if (zc_units_count(atomic_load(&shares[i].units)) != 0) {
            return true;
        }
    }
    return false;
}

/* NULL if all are empty. */
static inline zc_share *zc_shares_fullest(zc_share *shares, int n_shares)
{
    zc_share *fullest = NULL;
    uint32_t most = 0;

    for (int i = 0; i < n_shares; i++) {
        const uint32_t n = zc_units_count(atomic_load_explicit(&shares[i].units, memory_order_relaxed));

        if (n > most) {
            most = n;
            fullest = &shares[i];
        }
    }
    return fullest;
}

/*
 * Take a unit for the owner of an empty share: the rear half of the fullest one moves here.
 * False if all shares are empty.  The caller holds the job's lock, so that nobody looks while units
 * are on their way from one share to another.
 */
static inline bool zc_shares_steal(zc_share *shares, int n_shares, zc_share *own, uint32_t *unit)
{
    if (zc_share_take(own, unit)) {         /* another thread with the same share filled it meanwhile */
        return true;
    }
    zc_share *victim;
    while ((victim = zc_shares_fullest(shares, n_shares)) != NULL) {
        uint64_t units = atomic_load(&victim->units);
        const uint32_t begin = (uint32_t)(units >> 32), end = (uint32_t)units;
        const uint32_t middle = begin + zc_units_count(units) / 2;
        const uint64_t front = zc_units(begin, middle);

        if (middle != end && atomic_compare_exchange_strong(&victim->units, &units, front)) {
            *unit = middle;
            atomic_store(&own->units, zc_units(middle + 1, end));
            return true;
        }
    }
    return false;
}

#endif
