/* SPDX-License-Identifier: MIT
 *
 * Locks by key, which make read-patch-write of a chunk atomic within this process.
 */
#ifndef ZC_ENGINE_LOCKS_H
#define ZC_ENGINE_LOCKS_H

#include <stdint.h>

#include "engine/store.h"

/* Hash text after what has been hashed already (0 at the start): FNV-1a, 64 bits. */
uint64_t zc_key_hash(uint64_t hash, const char *text);

/* Different keys may share a lock, so a thread must not hold two.  A child of fork() starts with all of them
 * open. */
void zc_key_lock(const zc_store *store, const char *key);
void zc_key_unlock(const zc_store *store, const char *key);

#endif
