/* SPDX-License-Identifier: MIT
 *
 * Writes of this process that are under way, and losses: arrays that it has made smaller, replaced or removed.
 * docs/architecture.md, "Shrinking", has the protocol.
 */
#pragma once

#include <stdatomic.h>

#include "engine/keys.h"

/* A write under way; it stays where it is until zc_writing_end. */
typedef struct zc_writing {
    const zc_place *array;           /* NULL: none has begun */
    const void *owner;               /* a thread */
    struct zc_writing *next;
    uint64_t number;
    unsigned forks;
} zc_writing;

/* Enclose a write to an array, from before it looks at zc_losses until its last chunk is stored. */
void zc_writing_begin(const zc_place *array, zc_writing *out);
void zc_writing_end(zc_writing *writing);

/*
 * Wait for the writes that other threads have under way at a place or below it; those that begin later have seen the loss
 * that was noted before this call.  ZC_ERR_CANCELLED as of zc_key_lock.  *waited: there were any.
 */
zc_status zc_wait_for_writes(const zc_place *place, const zc_workspace *ws, bool *waited);

/* How many losses there have been; one more. */
uint64_t zc_losses(void);
void zc_note_loss(void);

/* A number of losses that threads share. */
typedef struct zc_known_losses {
    _Atomic uint64_t n;
} zc_known_losses;

static inline uint64_t zc_known_losses_get(const zc_known_losses *known) { return atomic_load(&known->n); }
static inline void zc_known_losses_set(zc_known_losses *known, uint64_t n) { atomic_store(&known->n, n); }
