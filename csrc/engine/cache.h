/* SPDX-License-Identifier: MIT
 *
 * Decoded chunks, kept for later reads: a table with a limit in bytes that many arrays and threads share.
 *
 * What is kept of a chunk are its elements as they are stored (byte order and order of dimensions included), so that a
 * hit costs the same single pass into the caller's memory as decoding does.  The least recently used go first.
 *
 * An entry is used only while it is true.  A write by this process makes the entries of its key invalid, whatever
 * cache they are in.  What else may have happened to the value shows in its stamp: size, time of change and inode of a
 * file, the identity of an object in memory.  A store that has neither is trusted to be written by this process alone.
 */
#ifndef ZC_ENGINE_CACHE_H
#define ZC_ENGINE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/store.h"

typedef struct zc_cache zc_cache;
typedef struct zc_cached zc_cached;

typedef struct zc_cache_stats {
    uint64_t hits, misses;
    size_t n_chunks, n_bytes, max_bytes;
} zc_cache_stats;

/* Which value a chunk is decoded from.  The key belongs to somebody else. */
struct zc_origin {
    zc_cache *cache;
    const zc_store *store;
    const char *key;
    uint64_t array;          /* tells the arrays of this process apart, see zc_cache_array */
    uint64_t epoch;          /* before the value was opened, see zc_cache_epoch */
    uint64_t hash;
    uint64_t stamp[4];
    const void *token;       /* an object that the entry must keep alive for its identity to mean something */
};

/* NULL when out of memory.  A child of fork() finds all caches empty. */
zc_cache *zc_cache_new(size_t max_bytes);

/* Nobody may be using it any more. */
void zc_cache_free(zc_cache *cache);

void zc_cache_clear(zc_cache *cache);
void zc_cache_stats_get(zc_cache *cache, zc_cache_stats *out);

/* A number for an array that no other array of this process has. */
uint64_t zc_cache_array(void);

/* Grows with every write of this process. */
uint64_t zc_cache_epoch(void);

/* The value of a key has been replaced or removed. */
void zc_cache_forget(const zc_store *store, const char *key);

/* The origin of a key's value, as far as the key tells it; epoch: from before the value was opened. */
void zc_origin_of_key(zc_cache *cache, uint64_t array, const zc_store *store, const char *key, uint64_t epoch,
                      zc_origin *out);

/* Take the stamp of the value.  False if it proves nothing (a file that was changed this very moment, a copy that was
 * made for this call): such a value is neither kept nor found. */
bool zc_origin_stamp(zc_origin *origin, const zc_value *value);

/* Would a chunk of that size be kept? */
bool zc_cache_takes(const zc_cache *cache, size_t size);

/* Is the chunk at offset of the value there?  Counts as nothing. */
bool zc_cache_has(const zc_origin *origin, uint64_t offset);

/* The chunk at offset of the value, or NULL; stays valid until it is let go. */
zc_cached *zc_cache_find(const zc_origin *origin, uint64_t offset);

/* Memory for a chunk that is not there yet; to be filled, and added or just let go.  NULL when out of memory. */
zc_cached *zc_cached_new(const zc_origin *origin, uint64_t offset, size_t size);
void zc_cache_add(zc_cached *entry);

void *zc_cached_data(zc_cached *entry);
void zc_cached_let_go(zc_cached *entry);

#endif
