/* SPDX-License-Identifier: MIT
 *
 * Decoded chunks and indexes of shards, kept for later reads: a table with a limit in bytes that many arrays and
 * threads share.  The least recently used go first.
 *
 * What is kept of a chunk are its elements as they are stored (byte order and order of dimensions included), so that a
 * hit costs the same single pass into the caller's memory as decoding does.
 *
 * An entry is used only while it is valid: as long as the value has the same stamp (size, time of change and inode of a
 * file, the identity of an object in memory).  Of a store whose values have none: as long as the key has the generation
 * (engine/keys.h) from before its value was opened; such a store is trusted to be written by this process alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/keys.h"
#include "engine/store.h"
#include "io/file.h"

typedef struct zc_cache zc_cache;
typedef struct zc_cached zc_cached;

typedef struct zc_cache_stats {
    uint64_t hits, misses;
    size_t n_chunks, n_bytes, max_bytes;
} zc_cache_stats;

/* One version of one value, or of an index in it. */
typedef struct zc_stamp {
    uint64_t array;          /* differs between the arrays of this process, see zc_cache_array */
    uint64_t key;            /* hash */
    uint64_t generation;     /* of the key, from before the value was opened */
    uint64_t words[6];
    const void *token;       /* an object that the entry must keep alive for its identity to mean something */
} zc_stamp;

/* When a file was looked at, and the generation of its key before that. */
typedef struct zc_sight {
    int64_t at_ns;           /* 0: never */
    uint64_t generation;
} zc_sight;

/* Which value a chunk is decoded from.  The name belongs to somebody else. */
struct zc_origin {
    zc_cache *cache;
    const zc_store *store;
    const char *name;
    zc_key key;              /* without a place where the stamp is proof enough */
    zc_stamp stamp;
    zc_sight sight;          /* never, unless the cache trusts files */
    bool unsettled;          /* the stamp proves nothing: good until the file is looked at again */
};

/* NULL when out of memory.  A child of fork() finds all caches empty. */
zc_cache *zc_cache_new(size_t max_bytes);

/* Drop what exceeds a new limit.  Thread-safe. */
void zc_cache_limit(zc_cache *cache, size_t max_bytes);

/*
 * Look at a file again only after that time (0, as caches begin: at each read), as long as this process changes nothing: what
 * another process writes is seen that much later.  Thread-safe.
 */
void zc_cache_trust(zc_cache *cache, int64_t ns);
bool zc_cache_trusts(const zc_cache *cache);

/* NULL is no cache.  Nobody may be using it any more. */
void zc_cache_free(zc_cache *cache);

void zc_cache_clear(zc_cache *cache);
void zc_cache_stats_get(zc_cache *cache, zc_cache_stats *out);

/* A number for an array that no other array of this process has. */
uint64_t zc_cache_array(void);

/* The generation that the origin of a key's value needs; to be asked before the value is opened. */
uint64_t zc_origin_generation(const zc_store *store, const zc_key *key);

/* The origin of a key's value, as far as the key determines it. */
void zc_origin_of_key(zc_cache *cache, uint64_t array, const zc_store *store, const zc_key *key, const char *name,
                      uint64_t generation, zc_origin *out);

/* Take the stamp of the value.  False if it proves nothing (the key is being changed, a file was changed this very moment,
 * a copy was made for this call): such a value is neither kept nor found. */
bool zc_origin_stamp(zc_origin *origin, const zc_value *value);

/* The origin of the index, with n entries, of a shard of nbytes in a file, as `chain` decodes it. */
void zc_origin_of_index(zc_cache *cache, const void *chain, const zc_file *file, uint64_t nbytes, size_t n,
                        zc_origin *out);

/* Count a chunk (or all chunks of a shard, once) that is read past the cache. */
void zc_cache_count_miss(zc_cache *cache);

/* Would a chunk of that size be kept? */
bool zc_cache_takes(const zc_cache *cache, size_t size);

/* Is the chunk at offset of the value there?  Counts as nothing. */
bool zc_cache_has(const zc_origin *origin, uint64_t offset);

/* The chunk at offset of the value, or NULL; stays valid until it is let go. */
zc_cached *zc_cache_find(const zc_origin *origin, uint64_t offset);

/* The chunk at the beginning of the value of a key, if the file was looked at so short a time before `sight` that the cache
 * trusts in it, or NULL. */
zc_cached *zc_cache_find_trusted(zc_cache *cache, uint64_t array, const zc_key *key, const char *name,
                                 const zc_sight *sight);

/*
 * Note that this thread decodes the chunk of a key.  False: another one does, and it is better to do something else first.  That is advice:
 * there is room for a few only, and whoever has no time to wait decodes it too.  zc_cache_unclaim follows what was true.
 */
bool zc_cache_claim(zc_cache *cache, const zc_key *key);
void zc_cache_unclaim(zc_cache *cache, const zc_key *key);

/* Wait until nobody decodes the chunk, for a moment at most: who decodes it may need what this thread has. */
void zc_cache_await(zc_cache *cache, const zc_key *key);

/* What zc_cache_find_trusted needs, now. */
zc_sight zc_sight_of(const zc_key *key);

/* Memory for a chunk that is not there yet; to be filled, and added or just let go.  NULL when out of memory. */
zc_cached *zc_cached_new(const zc_origin *origin, uint64_t offset, size_t size);
void zc_cache_add(const zc_origin *origin, zc_cached *entry);

void *zc_cached_data(zc_cached *entry);
void zc_cached_let_go(zc_cached *entry);         /* NULL: nothing */
