/* SPDX-License-Identifier: MIT */
#include "engine/index_cache.h"

#include <stdlib.h>

#include "check.h"

static const int chain_a, chain_b;

static zc_file file_of(uint64_t inode)
{
    return (zc_file){.size = 1000, .mtime_ns = 1000000000, .inode = inode, .device = 1};
}

static bool has(zc_index_cache *cache, const zc_index_key *key, size_t n, uint64_t first)
{
    void *pin;
    const zc_extent *extents = zc_index_cache_get(cache, key, n, &pin);
    const bool found = extents != NULL && extents[0].offset == first;

    CHECK((extents != NULL) == (pin != NULL));
    zc_index_unpin(pin);
    return found;
}

static void versions(void)
{
    zc_index_cache *cache = zc_index_cache_new(1 << 20);
    const zc_extent extents[2] = {{7, 1}, {8, 2}};
    zc_file file = file_of(5), other = file;
    const zc_index_key key = {&file, 0, 1000, &chain_a};
    zc_index_key near = key;

    CHECK(!has(cache, &key, 2, 7));
    zc_index_cache_put(cache, &key, extents, 2);
    CHECK(has(cache, &key, 2, 7) && !has(cache, &key, 1, 7));
    near.file = &other;
    CHECK(has(cache, &near, 2, 7));
    other.mtime_ns++;
    CHECK(!has(cache, &near, 2, 7));
    other = file, other.size++;
    CHECK(!has(cache, &near, 2, 7));
    other = file, other.device++;
    CHECK(!has(cache, &near, 2, 7));
    other = file, other.inode++;
    CHECK(!has(cache, &near, 2, 7));
    near = key, near.offset++;
    CHECK(!has(cache, &near, 2, 7));
    near = key, near.nbytes--;
    CHECK(!has(cache, &near, 2, 7));
    near = key, near.chain = &chain_b;
    CHECK(!has(cache, &near, 2, 7));
    zc_index_cache_free(cache);
}

static void without(void)
{
    zc_file file = file_of(5);
    const zc_index_key key = {&file, 0, 1000, &chain_a};
    const zc_extent extents[1] = {{7, 1}};
    zc_index_cache *cache = zc_index_cache_new(1 << 20);

    CHECK(!has(NULL, &key, 1, 7));
    zc_index_cache_put(NULL, &key, extents, 1);
    zc_index_cache_free(NULL);
    file.mtime_ns = INT64_MAX;                   /* from the future: who knows when it changes again */
    zc_index_cache_put(cache, &key, extents, 1);
    CHECK(!has(cache, &key, 1, 7));
    file = file_of(0);                           /* no identity */
    zc_index_cache_put(cache, &key, extents, 1);
    CHECK(!has(cache, &key, 1, 7));
    zc_index_cache_free(cache);
}

/* More than fits: old ones go, pinned ones stay valid. */
static void room(void)
{
    enum { N = 64, BYTES = 16 * N * 20 };
    zc_index_cache *cache = zc_index_cache_new(BYTES);
    zc_extent extents[N] = {{0, 0}};
    zc_file files[300];
    void *pin = NULL;
    const zc_extent *held = NULL;
    size_t there = 0;

    for (uint64_t i = 0; i < 300; i++) {
        files[i] = file_of(i + 1);
        const zc_index_key key = {&files[i], 0, 1000, &chain_a};
        extents[0].offset = i;
        zc_index_cache_put(cache, &key, extents, N);
        if (i == 3) {
            held = zc_index_cache_get(cache, &key, N, &pin);
        }
    }
    for (uint64_t i = 0; i < 300; i++) {
        const zc_index_key key = {&files[i], 0, 1000, &chain_a};
        there += has(cache, &key, N, i);
    }
    CHECK(there > 5 && there <= 20);
    CHECK(held != NULL && held[0].offset == 3 && held[N - 1].offset == 0);
    zc_index_unpin(pin);
    zc_index_cache_free(cache);

    zc_extent *many = calloc(1000, sizeof *many);
    cache = zc_index_cache_new(1000);
    const zc_index_key key = {&files[0], 0, 1000, &chain_a};
    zc_index_cache_put(cache, &key, many, 1000);         /* larger than all of the cache */
    CHECK(!has(cache, &key, 1000, 0));
    zc_index_cache_free(cache);
    free(many);
}

int main(void)
{
    RUN(versions);
    RUN(without);
    RUN(room);
    return check_report("index_cache");
}
