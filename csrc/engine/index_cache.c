/* SPDX-License-Identifier: MIT
 *
 * A table with one place for each hash: what comes later replaces what was there.  Whoever finds the table
 * locked for longer than a moment goes on without it, so that nobody waits, and a child that was forked
 * while another thread held the lock works as well.
 */
#include "engine/index_cache.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 256
#define PATIENCE 200                 /* turns to wait for the lock */

typedef struct entry {
    _Atomic int pins;
    uint64_t device, inode, size, offset, nbytes;
    int64_t mtime_ns;
    const void *chain;
    size_t n;
    zc_extent extents[];
} entry;

struct zc_index_cache {
    atomic_flag lock;
    size_t bytes, max_bytes;
    size_t hand;                     /* the next place to be cleared when room is wanted */
    entry *places[PLACES];
};

zc_index_cache *zc_index_cache_new(size_t max_bytes)
{
    zc_index_cache *cache = calloc(1, sizeof *cache);

    if (cache != NULL) {
        atomic_flag_clear(&cache->lock);
        cache->max_bytes = max_bytes;
    }
    return cache;
}

void zc_index_cache_free(zc_index_cache *cache)
{
    for (size_t i = 0; cache != NULL && i < PLACES; i++) {
        free(cache->places[i]);
    }
    free(cache);
}

static bool lock(zc_index_cache *cache)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (!atomic_flag_test_and_set_explicit(&cache->lock, memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

static void unlock(zc_index_cache *cache)
{
    atomic_flag_clear_explicit(&cache->lock, memory_order_release);
}

static size_t place_of(const zc_index_key *key)
{
    uint64_t x = key->file->inode * UINT64_C(0x9e3779b97f4a7c15) ^ key->offset;

    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(x >> 32) % PLACES;
}

static bool matches(const entry *e, const zc_index_key *key, size_t n)
{
    const zc_file *file = key->file;

    return e->inode == file->inode && e->device == file->device && e->size == file->size &&
           e->mtime_ns == file->mtime_ns && e->offset == key->offset && e->nbytes == key->nbytes &&
           e->chain == key->chain && e->n == n;
}

static size_t bytes_of(size_t n)
{
    return sizeof(entry) + n * sizeof(zc_extent);
}

/* Clear a place, unless somebody reads what is there. */
static bool clear(zc_index_cache *cache, size_t place)
{
    entry *e = cache->places[place];

    if (e == NULL) {
        return true;
    }
    if (atomic_load_explicit(&e->pins, memory_order_acquire) > 0) {
        return false;
    }
    cache->bytes -= bytes_of(e->n);
    cache->places[place] = NULL;
    free(e);
    return true;
}

static bool make_room(zc_index_cache *cache, size_t bytes)
{
    for (size_t i = 0; i < PLACES && cache->bytes + bytes > cache->max_bytes; i++) {
        (void)clear(cache, cache->hand++ % PLACES);
    }
    return cache->bytes + bytes <= cache->max_bytes;
}

const zc_extent *zc_index_cache_get(zc_index_cache *cache, const zc_index_key *key, size_t n, void **pin)
{
    entry *found = NULL;

    *pin = NULL;
    if (cache == NULL || !lock(cache)) {
        return NULL;
    }
    entry *e = cache->places[place_of(key)];
    if (e != NULL && matches(e, key, n)) {
        atomic_fetch_add_explicit(&e->pins, 1, memory_order_relaxed);
        found = e;
    }
    unlock(cache);
    *pin = found;
    return found != NULL ? found->extents : NULL;
}

void zc_index_unpin(void *pin)
{
    entry *e = pin;

    if (e != NULL) {
        atomic_fetch_sub_explicit(&e->pins, 1, memory_order_release);
    }
}

void zc_index_cache_put(zc_index_cache *cache, const zc_index_key *key, const zc_extent *extents, size_t n)
{
    const zc_file *file = key->file;
    const size_t bytes = bytes_of(n);

    if (cache == NULL || bytes > cache->max_bytes / 2 || file->inode == 0 || !zc_file_is_settled(file)) {
        return;
    }
    entry *e = malloc(bytes);
    if (e == NULL || !lock(cache)) {         /* a cache that cannot keep something is no failure */
        free(e);
        return;
    }
    atomic_init(&e->pins, 0);
    e->device = file->device;
    e->inode = file->inode;
    e->size = file->size;
    e->mtime_ns = file->mtime_ns;
    e->offset = key->offset;
    e->nbytes = key->nbytes;
    e->chain = key->chain;
    e->n = n;
    memcpy(e->extents, extents, n * sizeof *extents);
    const size_t place = place_of(key);
    if (clear(cache, place) && make_room(cache, bytes)) {
        cache->places[place] = e;
        cache->bytes += bytes;
        e = NULL;
    }
    unlock(cache);
    free(e);
}
