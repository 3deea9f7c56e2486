/* SPDX-License-Identifier: MIT
 *
 * Locks by key, which make read-patch-write of a chunk atomic within this process.
 */
#ifndef ZC_ENGINE_LOCKS_H
#define ZC_ENGINE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/workspace.h"
#include "engine/store.h"

/* Hash text after what has been hashed already (0 at the start): FNV-1a, 64 bits. */
uint64_t zc_key_hash(uint64_t hash, const char *text);

/*
 * Take the lock of a key, waiting for the thread that has it.  ZC_ERR_CANCELLED when the job is
 * cancelled meanwhile; ZC_ERR_UNSUPPORTED if this very thread has it, because a signal handler or a store's
 * callback writes to the array that is being written.  Different keys may share a lock.  A child of fork()
 * starts with all of them open.
 */
zc_status zc_key_lock(const zc_store *store, const char *key, zc_workspace *ws, zc_error *err);
void zc_key_unlock(const zc_store *store, const char *key);

/*
 * Run a read that asks the store more than once for parts of one value, so that all of them are of the same version as
 * far as this process writes it: without the lock if nobody has it meanwhile, else once more with it.  (Values
 * that stay what they were when they were opened, as files do, need none of this.)  Other processes are not kept
 * away.
 */
zc_status zc_key_read(const zc_store *store, const char *key, zc_status (*read)(void *arg), void *arg,
                      zc_workspace *ws, zc_error *err);

/* Is this what a read can find if the value changes under it? */
bool zc_may_be_torn(zc_status status);

/* What changes whenever this process may have written to a key; zc_key_is_version: nobody has since, or is about to. */
uint64_t zc_key_version(const zc_store *store, const char *key);
bool zc_key_is_version(const zc_store *store, const char *key, uint64_t version);

#endif
