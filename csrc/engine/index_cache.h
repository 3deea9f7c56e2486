/* SPDX-License-Identifier: MIT
 *
 * The decoded indexes of an array's shards, kept from call to call, so that reading an inner chunk out of a
 * large shard does not read, check and decode the whole index each time.
 *
 * An index belongs to one version of one file, known by device, inode, size and time of modification.  Indexes are
 * kept only of files that have not changed for some seconds (zc_file_is_settled).
 */
#ifndef ZC_ENGINE_INDEX_CACHE_H
#define ZC_ENGINE_INDEX_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "io/file.h"
#include "kernels/shard_index.h"

typedef struct zc_index_cache zc_index_cache;

#define ZC_INDEX_CACHE_BYTES ((size_t)8 << 20)       /* for an array, unless there is a reason for more */

/* Which index: of a shard that takes nbytes at offset of a file, as `chain` decodes it. */
typedef struct zc_index_key {
    const zc_file *file;
    uint64_t offset, nbytes;
    const void *chain;
} zc_index_key;

/* A cache for at most that many bytes; NULL when out of memory. */
zc_index_cache *zc_index_cache_new(size_t max_bytes);

/* NULL is no cache.  Nothing may be pinned. */
void zc_index_cache_free(zc_index_cache *cache);

/* The extents of n inner chunks, or NULL.  *pin keeps them until zc_index_unpin. */
const zc_extent *zc_index_cache_get(zc_index_cache *cache, const zc_index_key *key, size_t n, void **pin);
void zc_index_unpin(void *pin);

/* Keep a copy, if the file is old enough and there is room. */
void zc_index_cache_put(zc_index_cache *cache, const zc_index_key *key, const zc_extent *extents, size_t n);

#endif
