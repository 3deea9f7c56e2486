/* SPDX-License-Identifier: MIT
 *
 * The keys of all stores, as this process uses them: a lock for each key in use, a generation for each key and each
 * prefix, and notes about arrays.  docs/architecture.md, "Locks, versions and caches", has the protocol.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"
#include "base/workspace.h"
#include "io/lock.h"

/* ---- names ---- */

#define ZC_PLACE_DEPTH 40        /* directories above the keys of an array, root included */
#define ZC_KEY_DEPTH 20          /* and in a key */

/*
 * Where the keys of an array are, as text that is the same for all handles of that array: of a directory its real
 * path.  Ends with a slash.
 */
typedef struct zc_place {
    uint64_t hash;
    uint16_t n;                      /* slots; more than ZC_PLACE_DEPTH: it lies too deep to have a generation */
    uint16_t slots[ZC_PLACE_DEPTH];  /* of the place and of each prefix above it */
    zc_lock_file locks;              /* for other processes; zc_place_set: none */
} zc_place;

/* A key below a place, or a prefix: "" or a name that ends with a slash. */
typedef struct zc_key {
    const zc_place *place;
    uint64_t hash;                   /* of the whole text, never 0; equal hashes are the same key */
    uint16_t n;
    uint16_t slots[ZC_KEY_DEPTH];
    uint64_t byte;                   /* of the place's lock file, if it has one; the same in every process */
} zc_key;

void zc_place_set(zc_place *out, const char *text);
void zc_key_set(zc_key *out, const zc_place *place, const char *name);

/* ---- locks ---- */

typedef struct zc_held {
    uint64_t hash;
    const void *owner;               /* a thread */
    zc_moment taken;
    struct zc_held *next;
    unsigned forks;
    zc_lock lock;                    /* that of other processes */
} zc_held;

/*
 * Take the lock of a key, waiting for the thread that has it.  `held` stays where it is until zc_key_unlock, which the
 * same thread calls.  A thread may hold the locks of several keys.  If the place of the key has a lock file, other processes
 * that lock the key are waited for too, after the threads of this one.
 *
 * ZC_ERR_CANCELLED when the job of the workspace is cancelled meanwhile.  ZC_ERR_LOCKED if waiting would never end: this
 * very thread has the lock, or works for the one that has it, because a signal handler, a store or a codec writes to the chunk
 * that is being written; or it has a lock that the other thread waits for.  ZC_ERR_IO: the lock file cannot be opened or locked.  A child of fork() starts with no lock held.
 */
zc_status zc_key_lock(const zc_key *key, zc_held *held, const zc_workspace *ws, zc_error *err);
void zc_key_unlock(zc_held *held);

/* ---- generations ---- */

#define ZC_CHANGING UINT64_MAX

typedef struct zc_change {
    uint16_t slot;
    uint16_t place;
    unsigned forks;
} zc_change;

/* The value of a key, or all values below a prefix, are going to be replaced or removed; zc_change_end: they have been, or
 * it failed.  Any number of changes may be under way. */
zc_change zc_change_begin(const zc_key *key);
void zc_change_end(zc_change change);

/*
 * The generation of a key.  It differs from what it was if a change of the key, or of a prefix of it, has begun or ended
 * since.  ZC_CHANGING while one is under way: then nothing is known.  Some other keys share it, so it may differ
 * without a change.
 */
uint64_t zc_key_generation(const zc_key *key);

/*
 * How many changes of keys of a place have begun or ended, and how many of the prefixes above it.  A change that was made
 * in the name of a place further up counts where zc_change_below told of it, too.
 */
uint64_t zc_changes_below(const zc_place *place);
void zc_change_below(const zc_key *key);

/*
 * Run a read that asks the store more than once for parts of one value, so that all of them are of one version as far as
 * this process writes it: without the lock if no change comes between, else once more under the lock.  (Values that
 * stay what they were when they were opened, as files do, need none of this.)  Other processes are not kept away.
 */
zc_status zc_key_read(const zc_key *key, zc_status (*read)(void *arg), void *arg, const zc_workspace *ws, zc_error *err);

/* Can a read end with this because the value changed while it was read? */
bool zc_may_be_torn(zc_status status);

/* ---- notes ---- */

/*
 * The shape that this process gave an array last.  A write that reaches the end of the array may replace the chunks
 * there as a whole, unless another handle has made the array grow since and written there.
 *
 * zc_shape_note comes before anything is written by the new shape.  If the array is new (is_new), its shape is noted only
 * in place of one that is known.
 */
void zc_shape_note(const zc_place *array, int ndim, const int64_t *lengths, bool is_new);

/* Has the array got another shape than this one?  "No" is certain, as far as this process changes shapes; where there are
 * locks for others it is never said. */
bool zc_shape_is_stale(const zc_place *array, int ndim, const int64_t *lengths);
