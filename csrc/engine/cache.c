/* SPDX-License-Identifier: MIT */
#include "engine/cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/lock_order.h"
#include "base/metrics.h"

#define MIN_BUCKETS 256
#define CLAIMS 32                    /* chunks that are known to be decoded at one time */
#define AWAIT_NS INT64_C(20000000)

struct zc_cached {
    zc_cache *cache;
    zc_cached *next;                 /* of the bucket; of a list of entries to be freed */
    zc_cached *newer, *older;
    zc_stamp stamp;
    const char *name;                /* of the key; a copy after this struct */
    uint64_t offset;
    size_t size;                     /* all memory of the entry */
    void *data;
    int users;
    bool linked;
    bool unsettled;
    zc_sight sight;
    void (*drop)(const void *token);
};

struct zc_cache {
    zc_mutex lock;
    zc_cached **buckets;             /* NULL: nothing was ever added */
    size_t n_buckets;
    zc_cached *newest, *oldest;
    zc_cache_stats stats;            /* but for max_bytes */
    atomic_size_t max_bytes;
    _Atomic int64_t trust_ns;
    uint64_t claims[CLAIMS];         /* hashes of keys; 0: free */
    int awaiting;
    zc_cond unclaimed;
    zc_cache *next, **before;        /* of all caches */
};

/* ---- origins ----------------------------------------------------------------------------------------- */

static atomic_uint_fast64_t last_array;

uint64_t zc_cache_array(void)
{
    return atomic_fetch_add(&last_array, 1) + 1;
}

static bool has_stamps(const zc_store *store)
{
    return store->is_local || store->values_in_memory;
}

uint64_t zc_origin_generation(const zc_store *store, const zc_key *key)
{
    return has_stamps(store) ? 0 : zc_key_generation(key);
}

void zc_origin_of_key(zc_cache *cache, uint64_t array, const zc_store *store, const zc_key *key, const char *name,
                      uint64_t generation, zc_origin *out)
{
    *out = (zc_origin){.cache = cache, .store = store, .name = name,
                       .stamp = {.array = array, .key = key->hash}};
    if (!has_stamps(store)) {
        out->key = *key;
        out->stamp.generation = generation;
    }
}

static void stamp_file(zc_stamp *stamp, const zc_file *file)
{
    stamp->words[0] = file->size;
    stamp->words[1] = (uint64_t)file->mtime_ns + (uint64_t)file->ctime_ns * UINT64_C(0x9e3779b97f4a7c15);
    stamp->words[2] = file->inode;
    stamp->words[3] = file->device;
}

bool zc_origin_stamp(zc_origin *origin, const zc_value *value)
{
    if (origin->store->is_local) {
        stamp_file(&origin->stamp, &value->file);
        origin->unsettled = !zc_file_is_settled(&value->file);
        return value->file.inode != 0 && (!origin->unsettled || origin->sight.at_ns != 0);
    }
    if (origin->store->values_in_memory) {
        origin->stamp.token = value->token;
        return value->token != NULL && !value->copied;
    }
    return origin->stamp.generation != ZC_CHANGING;
}

void zc_origin_of_index(zc_cache *cache, const void *chain, const zc_file *file, uint64_t nbytes, size_t n,
                        zc_origin *out)
{
    *out = (zc_origin){.cache = cache, .name = "", .stamp = {.array = (uintptr_t)chain, .key = file->inode}};
    stamp_file(&out->stamp, file);
    out->stamp.words[4] = nbytes;
    out->stamp.words[5] = n;
}

static bool is_current(const zc_origin *origin)
{
    return origin->key.place == NULL || (origin->stamp.generation != ZC_CHANGING &&
                                         origin->stamp.generation == zc_key_generation(&origin->key));
}

static bool same_place(const zc_cached *entry, const zc_origin *origin, uint64_t offset)
{
    return entry->stamp.array == origin->stamp.array && entry->stamp.key == origin->stamp.key &&
           entry->offset == offset && strcmp(entry->name, origin->name) == 0;
}

static bool is_valid(const zc_cached *entry, const zc_origin *origin)
{
    return !entry->unsettled && memcmp(&entry->stamp, &origin->stamp, sizeof origin->stamp) == 0 && is_current(origin);
}

/* ---- the table --------------------------------------------------------------------------------------- */

static zc_mutex all_lock = ZC_MUTEX_INIT;
static zc_cache *all;
static _Atomic int watches_forks;

static void start_empty(zc_cache *cache)
{
    zc_mutex_init(&cache->lock);
    zc_cond_init(&cache->unclaimed);
    memset(cache->claims, 0, sizeof cache->claims);
    cache->awaiting = 0;
    cache->buckets = NULL;
    cache->n_buckets = 0;
    cache->newest = cache->oldest = NULL;
    cache->stats = (zc_cache_stats){0};
}

/* Another thread may have been at work when the process was copied: what it left is not looked at. */
static void start_child(void)
{
    zc_mutex_init(&all_lock);
    for (zc_cache *cache = all; cache != NULL; cache = cache->next) {
        start_empty(cache);
    }
}

zc_cache *zc_cache_new(size_t max_bytes)
{
    zc_cache *cache = calloc(1, sizeof *cache);

    if (cache == NULL) {
        return NULL;
    }
    atomic_init(&cache->max_bytes, max_bytes);
    start_empty(cache);
    zc_at_fork_once(&watches_forks, start_child);
    zc_rank_lock(&all_lock, ZC_RANK_CACHES);
    cache->next = all;
    cache->before = &all;
    if (all != NULL) {
        all->before = &cache->next;
    }
    all = cache;
    zc_rank_unlock(&all_lock, ZC_RANK_CACHES);
    return cache;
}

static size_t bucket_of(const zc_cache *cache, const zc_stamp *stamp, uint64_t offset)
{
    uint64_t mixed = (stamp->key ^ offset * UINT64_C(0x9e3779b97f4a7c15)) + stamp->array * UINT64_C(0xff51afd7ed558ccd);

    mixed ^= mixed >> 33;
    return (size_t)(mixed * UINT64_C(0xc4ceb9fe1a85ec53) >> 20) & (cache->n_buckets - 1);
}

static size_t bucket_of_entry(const zc_cached *entry)
{
    return bucket_of(entry->cache, &entry->stamp, entry->offset);
}

static void unlink_used(zc_cached *entry)
{
    zc_cache *cache = entry->cache;

    *(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_used(zc_cached *entry)
{
    zc_cache *cache = entry->cache;

    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

/* Take an entry out of the table; it goes to the list of those to be freed unless somebody uses it. */
static void take_out(zc_cached *entry, zc_cached **dead)
{
    zc_cache *cache = entry->cache;
    zc_cached **at = &cache->buckets[bucket_of_entry(entry)];

    while (*at != entry) {
        at = &(*at)->next;
    }
    *at = entry->next;
    unlink_used(entry);
    entry->linked = false;
    cache->stats.n_chunks--;
    cache->stats.n_bytes -= entry->size;
    if (entry->users == 0) {
        entry->next = *dead;
        *dead = entry;
    }
}

/* Never under the lock: dropping a token may wait for whoever waits for the lock. */
static void free_all(zc_cached *dead)
{
    zc_assert_no_rank();
    while (dead != NULL) {
        zc_cached *next = dead->next;
        if (dead->drop != NULL) {
            dead->drop(dead->stamp.token);
        }
        zc_memory_delete(dead);
        dead = next;
    }
}

void zc_cache_clear(zc_cache *cache)
{
    zc_cached *dead = NULL;

    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    while (cache->oldest != NULL) {
        take_out(cache->oldest, &dead);
    }
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
    free_all(dead);
}

void zc_cache_free(zc_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    zc_rank_lock(&all_lock, ZC_RANK_CACHES);
    *cache->before = cache->next;
    if (cache->next != NULL) {
        cache->next->before = cache->before;
    }
    zc_rank_unlock(&all_lock, ZC_RANK_CACHES);
    zc_cache_clear(cache);
    free(cache->buckets);
    zc_cond_destroy(&cache->unclaimed);
    zc_mutex_destroy(&cache->lock);
    free(cache);
}

void zc_cache_stats_get(zc_cache *cache, zc_cache_stats *out)
{
    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    *out = cache->stats;
    out->max_bytes = atomic_load(&cache->max_bytes);
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
}

/* ---- finding ------------------------------------------------------------------------------------------- */

/* Under the lock: the entry of that place, if it is valid.  A stale one goes to *dead. */
static zc_cached *look_up(zc_cache *cache, const zc_origin *origin, uint64_t offset, zc_cached **dead)
{
    if (cache->n_buckets == 0) {
        return NULL;
    }
    zc_cached *entry = cache->buckets[bucket_of(cache, &origin->stamp, offset)];
    while (entry != NULL && !same_place(entry, origin, offset)) {
        entry = entry->next;
    }
    if (entry != NULL && !is_valid(entry, origin)) {
        take_out(entry, dead);
        entry = NULL;
    }
    return entry;
}

/* Under the lock: it was found. */
static void use(zc_cached *entry)
{
    entry->users++;
    unlink_used(entry);
    link_used(entry);
    entry->cache->stats.hits++;
    zc_metric_add(ZC_METRIC_HITS, 1);
}

bool zc_cache_has(const zc_origin *origin, uint64_t offset)
{
    zc_cached *dead = NULL;

    zc_rank_lock(&origin->cache->lock, ZC_RANK_CACHE);
    const bool found = look_up(origin->cache, origin, offset, &dead) != NULL;
    zc_rank_unlock(&origin->cache->lock, ZC_RANK_CACHE);
    free_all(dead);
    return found;
}

zc_cached *zc_cache_find(const zc_origin *origin, uint64_t offset)
{
    zc_assert(origin->cache != NULL);

    zc_cache *cache = origin->cache;
    zc_cached *dead = NULL;

    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    zc_cached *entry = look_up(cache, origin, offset, &dead);
    if (entry != NULL) {
        entry->sight = origin->sight;
        use(entry);
    } else {
        cache->stats.misses++;
        zc_metric_add(ZC_METRIC_MISSES, 1);
    }
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
    free_all(dead);
    return entry;
}

zc_sight zc_sight_of(const zc_key *key)
{
    const uint64_t generation = zc_key_generation(key);

    return (zc_sight){.at_ns = generation != ZC_CHANGING ? zc_now_ns() : 0, .generation = generation};
}

zc_cached *zc_cache_find_trusted(zc_cache *cache, uint64_t array, const zc_key *key, const char *name,
                                 const zc_sight *sight)
{
    const zc_origin origin = {.cache = cache, .name = name, .stamp = {.array = array, .key = key->hash}};
    zc_cached *entry = NULL;

    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    if (cache->n_buckets > 0 && sight->at_ns != 0) {
        entry = cache->buckets[bucket_of(cache, &origin.stamp, 0)];
        while (entry != NULL && !same_place(entry, &origin, 0)) {
            entry = entry->next;
        }
    }
    if (entry != NULL && entry->sight.at_ns != 0 && entry->sight.generation == sight->generation &&
        sight->at_ns - entry->sight.at_ns < atomic_load(&cache->trust_ns)) {
        use(entry);
    } else {
        entry = NULL;                /* to be looked at, and then counted */
    }
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
    return entry;
}

void zc_cache_count_miss(zc_cache *cache)
{
    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    cache->stats.misses++;
    zc_metric_add(ZC_METRIC_MISSES, 1);
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
}

/* ---- who decodes what ---------------------------------------------------------------------------------- */

/* Under the lock: where a hash is noted, or where there is room (0); NULL: nowhere. */
static uint64_t *find_claim(zc_cache *cache, uint64_t hash)
{
    for (int i = 0; i < CLAIMS; i++) {
        if (cache->claims[i] == hash) {
            return &cache->claims[i];
        }
    }
    return NULL;
}

bool zc_cache_claim(zc_cache *cache, const zc_key *key)
{
    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    const bool free = find_claim(cache, key->hash) == NULL;
    uint64_t *const room = free ? find_claim(cache, 0) : NULL;
    if (room != NULL) {
        *room = key->hash;
    }
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
    return free;
}

void zc_cache_unclaim(zc_cache *cache, const zc_key *key)
{
    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    uint64_t *const claim = find_claim(cache, key->hash);
    if (claim != NULL) {
        *claim = 0;
    }
    if (cache->awaiting > 0) {
        zc_cond_broadcast(&cache->unclaimed);
    }
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
}

void zc_cache_await(zc_cache *cache, const zc_key *key)
{
    const int64_t end = zc_exact_ns() + AWAIT_NS;

    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    cache->awaiting++;
    for (int64_t left = AWAIT_NS; left > 0 && find_claim(cache, key->hash) != NULL; left = end - zc_exact_ns()) {
        zc_cond_wait_for(&cache->unclaimed, &cache->lock, left);
    }
    cache->awaiting--;
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
}

/* ---- adding -------------------------------------------------------------------------------------------- */

bool zc_cache_takes(const zc_cache *cache, size_t size)
{
    return size <= atomic_load_explicit(&cache->max_bytes, memory_order_relaxed);
}

/* Under the lock: take out the oldest until as many bytes are free. */
static void make_room(zc_cache *cache, size_t max_bytes, size_t size, zc_cached **dead)
{
    while (cache->oldest != NULL && cache->stats.n_bytes > max_bytes - size) {
        take_out(cache->oldest, dead);
    }
}

void zc_cache_limit(zc_cache *cache, size_t max_bytes)
{
    zc_cached *dead = NULL;

    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    atomic_store(&cache->max_bytes, max_bytes);
    make_room(cache, max_bytes, 0, &dead);
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
    free_all(dead);
}

void zc_cache_trust(zc_cache *cache, int64_t ns)
{
    atomic_store(&cache->trust_ns, ns);
}

bool zc_cache_trusts(const zc_cache *cache)
{
    return atomic_load_explicit(&cache->trust_ns, memory_order_relaxed) > 0;
}

zc_cached *zc_cached_new(const zc_origin *origin, uint64_t offset, size_t size)
{
    const size_t name_size = strlen(origin->name) + 1;
    const size_t head = (sizeof(zc_cached) + name_size + 63) / 64 * 64;

    if (size > SIZE_MAX - head - 64) {
        return NULL;
    }
    zc_cached *entry = zc_memory_new(head + size + 64);
    if (entry == NULL) {
        return NULL;
    }
    *entry = (zc_cached){.cache = origin->cache, .stamp = origin->stamp, .sight = origin->sight,
                         .unsettled = origin->unsettled, .name = (char *)(entry + 1), .offset = offset,
                         .size = head + size + 64, .data = (char *)entry + head, .users = 1};
    entry->data = (char *)entry->data + (64 - (uintptr_t)entry->data % 64) % 64;
    memcpy(entry + 1, origin->name, name_size);
    return entry;
}

/* Twice as many buckets once there are as many entries; without memory for them the old ones do. */
static void make_buckets(zc_cache *cache)
{
    if (cache->stats.n_chunks < cache->n_buckets) {
        return;
    }
    const size_t n = cache->n_buckets == 0 ? MIN_BUCKETS : 2 * cache->n_buckets;
    zc_cached **buckets = calloc(n, sizeof(zc_cached *));
    if (buckets == NULL) {
        return;
    }
    free(cache->buckets);
    cache->buckets = buckets;
    cache->n_buckets = n;
    for (zc_cached *entry = cache->newest; entry != NULL; entry = entry->older) {
        zc_cached **bucket = &buckets[bucket_of_entry(entry)];
        entry->next = *bucket;
        *bucket = entry;
    }
}

void zc_cache_add(const zc_origin *origin, zc_cached *entry)
{
    zc_assert(origin->cache != NULL);

    zc_cache *cache = entry->cache;
    const zc_store *store = origin->store;
    zc_cached *dead = NULL;

    if (origin->stamp.token != NULL && store->hold != NULL) {
        store->hold(origin->stamp.token);
        entry->drop = store->drop;
    }
    zc_rank_lock(&cache->lock, ZC_RANK_CACHE);
    make_buckets(cache);
    const size_t max_bytes = atomic_load(&cache->max_bytes);
    if (cache->n_buckets > 0 && entry->size <= max_bytes && is_current(origin) &&
        look_up(cache, origin, entry->offset, &dead) == NULL) {
        make_room(cache, max_bytes, entry->size, &dead);
        zc_cached **bucket = &cache->buckets[bucket_of_entry(entry)];
        entry->next = *bucket;
        *bucket = entry;
        link_used(entry);
        entry->linked = true;
        cache->stats.n_chunks++;
        cache->stats.n_bytes += entry->size;
    }
    zc_rank_unlock(&cache->lock, ZC_RANK_CACHE);
    free_all(dead);
}

void *zc_cached_data(zc_cached *entry)
{
    return entry->data;
}

void zc_cached_let_go(zc_cached *entry)
{
    if (entry == NULL) {
        return;
    }
    zc_rank_lock(&entry->cache->lock, ZC_RANK_CACHE);
    const bool last = --entry->users == 0 && !entry->linked;
    zc_rank_unlock(&entry->cache->lock, ZC_RANK_CACHE);
    if (last) {
        entry->next = NULL;
        free_all(entry);
    }
}
