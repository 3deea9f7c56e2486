/* SPDX-License-Identifier: MIT
 *
 * The cache of decoded chunks, over a store whose values the test sets.
 */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "engine/cache.h"
#include "threads.h"

enum { NBYTES = 1000 };

static int held;

static void hold(const void *token) { (void)token; __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST); }
static void drop(const void *token) { (void)token; __atomic_sub_fetch(&held, 1, __ATOMIC_SEQ_CST); }

static const zc_store in_memory = {.values_in_memory = true, .hold = hold, .drop = drop};
static const zc_store unproved;
static zc_place place;

static zc_key key_of(const char *name)
{
    zc_key key;

    zc_key_set(&key, &place, name);
    return key;
}

static zc_origin origin_of(zc_cache *cache, const zc_store *store, const char *name, const void *token)
{
    const zc_value value = {.token = (void *)token};
    const zc_key key = key_of(name);
    zc_origin origin;

    zc_origin_of_key(cache, 1, store, &key, name, zc_key_generation(&key), &origin);
    zc_origin_stamp(&origin, &value);
    return origin;
}

static void change(const char *name)
{
    const zc_key key = key_of(name);

    zc_change_end(zc_change_begin(&key));
}

static void add(const zc_origin *origin, uint64_t offset, char content)
{
    zc_cached *entry = zc_cached_new(origin, offset, NBYTES);

    memset(zc_cached_data(entry), content, NBYTES);
    zc_cache_add(origin, entry);
    zc_cached_let_go(entry);
}

/* The content of the chunk; 0 if it is not there. */
static char look(const zc_origin *origin, uint64_t offset)
{
    zc_cached *entry = zc_cache_find(origin, offset);

    if (entry == NULL) {
        return 0;
    }
    const char content = *(char *)zc_cached_data(entry);
    zc_cached_let_go(entry);
    return content;
}

static void finds_what_is_valid(void)
{
    zc_cache *cache = zc_cache_new(100 * NBYTES);
    zc_cache_stats stats;
    int first = 1, second = 2;
    const zc_origin a = origin_of(cache, &in_memory, "c/0", &first);
    zc_origin unknown = a;
    const zc_value copy = {.token = &first, .copied = true};
    const zc_origin b = origin_of(cache, &in_memory, "c/1", &second);

    CHECK(zc_origin_stamp(&unknown, &(zc_value){.token = &first}) && !zc_origin_stamp(&unknown, &copy));
    CHECK(look(&a, 0) == 0);
    add(&a, 0, 'a');
    add(&a, 64, 'b');
    add(&b, 0, 'c');
    CHECK(look(&a, 0) == 'a' && look(&a, 64) == 'b' && look(&b, 0) == 'c' && look(&b, 64) == 0);
    CHECK(held == 3);
    const zc_origin replaced = origin_of(cache, &in_memory, "c/0", &second);
    CHECK(look(&replaced, 0) == 0 && look(&a, 0) == 0 && look(&a, 64) == 'b');
    CHECK(held == 2);
    change("c/1");                           /* the same object still has the same value */
    const zc_origin again = origin_of(cache, &in_memory, "c/1", &second);
    CHECK(zc_cache_has(&again, 0));
    zc_cache_stats_get(cache, &stats);
    CHECK(stats.n_chunks == 2 && stats.hits == 4 && stats.misses == 4);
    zc_cache_free(cache);
    CHECK(held == 0);
}

static void keeps_the_limit(void)
{
    zc_cache *cache = zc_cache_new(10 * NBYTES);
    zc_cache_stats stats;
    const zc_origin origin = origin_of(cache, &unproved, "c/0", NULL);

    add(&origin, 0, 'x');
    zc_cached *pinned = zc_cache_find(&origin, 0);
    for (uint64_t offset = 1; offset < 2000; offset++) {
        add(&origin, offset, 'y');
        zc_cache_stats_get(cache, &stats);
        CHECK(stats.n_bytes <= stats.max_bytes);
    }
    CHECK(stats.n_chunks >= 7 && look(&origin, 1999) == 'y' && look(&origin, 1) == 0);
    CHECK(*(char *)zc_cached_data(pinned) == 'x');   /* in use, and so still there */
    zc_cached_let_go(pinned);
    CHECK(zc_cache_takes(cache, 10 * NBYTES) && !zc_cache_takes(cache, 10 * NBYTES + 1));
    const uint64_t misses = stats.misses;
    zc_cache_count_miss(cache);
    zc_cache_clear(cache);
    zc_cache_stats_get(cache, &stats);
    CHECK(stats.n_chunks == 0 && stats.n_bytes == 0 && stats.misses == misses + 2);  /* one of look() */
    zc_cache_free(cache);
}

/* A store without stamps has the new value before its set() returns: what is read meanwhile may be of either version. */
static void keeps_nothing_while_a_key_changes(void)
{
    zc_cache *cache = zc_cache_new(100 * NBYTES);
    const zc_key key = key_of("c/0");
    const zc_origin before = origin_of(cache, &unproved, "c/0", NULL);

    add(&before, 0, 'a');
    CHECK(look(&before, 0) == 'a');
    const zc_change writing = zc_change_begin(&key);
    const zc_origin during = origin_of(cache, &unproved, "c/0", NULL);
    CHECK(!zc_origin_stamp((zc_origin *)&during, &(zc_value){0}));
    CHECK(look(&before, 0) == 0 && look(&during, 0) == 0);
    add(&before, 0, 'a');
    add(&during, 0, 'b');
    zc_change_end(writing);
    const zc_origin after = origin_of(cache, &unproved, "c/0", NULL);
    CHECK(look(&before, 0) == 0 && look(&during, 0) == 0 && look(&after, 0) == 0);
    add(&after, 0, 'c');
    CHECK(look(&after, 0) == 'c');
    change("");                              /* all of the array */
    CHECK(look(&after, 0) == 0);
    zc_cache_free(cache);
}

static zc_origin index_of(zc_cache *cache, const zc_file *file, uint64_t nbytes, size_t n)
{
    zc_origin origin;

    zc_origin_of_index(cache, cache, file, nbytes, n, &origin);
    return origin;
}

/* An index is known by the version of its file, and by what it is an index of. */
static void tells_indexes_apart(void)
{
    const zc_file file = {.size = 1000, .mtime_ns = 1000000000, .inode = 5, .device = 1};
    zc_file others[5] = {file, file, file, file, file};
    zc_cache *cache = zc_cache_new(100 * NBYTES);
    const zc_origin index = index_of(cache, &file, 1000, 2);

    others[0].mtime_ns++, others[1].size++, others[2].device++, others[3].inode++, others[4].ctime_ns++;
    for (int i = 0; i < 9; i++) {
        const zc_origin other = i < 5 ? index_of(cache, &others[i], 1000, 2)
                                      : index_of(cache, &file, 1000 - (i == 5), 2 + (i == 6));
        add(&index, 0, 'i');
        CHECK(look(&index, 0) == 'i');
        CHECK((look(&other, i == 7) == 'i') == (i == 8));
    }
    zc_cache_free(cache);
    zc_cache_free(NULL);
}

static zc_origin seen_file(zc_cache *cache, const char *name, const zc_file *file)
{
    static const zc_store local = {.is_local = true};
    const zc_value value = {.file = *file};
    const zc_key key = key_of(name);
    zc_origin origin;

    zc_origin_of_key(cache, 1, &local, &key, name, 0, &origin);
    origin.sight = zc_sight_of(&key);
    zc_origin_stamp(&origin, &value);
    return origin;
}

/* The same as look(), but without a look at the file, so long after the last one. */
static char trust(zc_cache *cache, const char *name, int64_t later_ns)
{
    const zc_key key = key_of(name);
    zc_sight sight = zc_sight_of(&key);

    sight.at_ns += sight.at_ns != 0 ? later_ns : 0;
    zc_cached *entry = zc_cache_find_trusted(cache, 1, &key, name, &sight);
    const char content = entry != NULL ? *(char *)zc_cached_data(entry) : 0;
    if (entry != NULL) {
        zc_cached_let_go(entry);
    }
    return content;
}

/* A file is not looked at again for a while, unless this process has changed it. */
static void trusts_files_for_a_while(void)
{
    const int64_t second = 1000000000, hour = 3600 * second;
    const zc_file old = {.size = 10, .mtime_ns = second, .inode = 5, .device = 1};
    zc_file new = old;
    zc_cache *cache = zc_cache_new(100 * NBYTES);

    new.mtime_ns = (int64_t)time(NULL) * second;
    zc_cache_trust(cache, hour);
    const zc_origin settled = seen_file(cache, "c/0", &old);
    CHECK(trust(cache, "c/0", 0) == 0);
    add(&settled, 0, 'a');
    CHECK(trust(cache, "c/0", 0) == 'a' && trust(cache, "c/0", hour + second) == 0 && look(&settled, 0) == 'a');
    CHECK(trust(cache, "c/1", 0) == 0);
    change("c/0");
    CHECK(trust(cache, "c/0", 0) == 0);
    const zc_origin again = seen_file(cache, "c/0", &old);
    CHECK(look(&again, 0) == 'a' && trust(cache, "c/0", 0) == 'a');     /* it has been looked at */
    const zc_key key = key_of("c/0");
    const zc_change writing = zc_change_begin(&key);
    CHECK(trust(cache, "c/0", 0) == 0);
    zc_change_end(writing);

    /* What was written this very moment proves nothing when it is looked at. */
    const zc_origin fresh = seen_file(cache, "c/2", &new);
    CHECK(fresh.unsettled);
    add(&fresh, 0, 'b');
    CHECK(trust(cache, "c/2", 0) == 'b' && look(&fresh, 0) == 0 && trust(cache, "c/2", 0) == 0);
    zc_cache_free(cache);
}

static void shrinks_to_a_new_limit(void)
{
    zc_cache *cache = zc_cache_new(100 * NBYTES);
    zc_cache_stats stats;
    const zc_origin origin = origin_of(cache, &unproved, "c/0", NULL);

    for (uint64_t offset = 0; offset < 20; offset++) {
        add(&origin, offset, 'x');
    }
    zc_cache_limit(cache, 10 * NBYTES);
    zc_cache_stats_get(cache, &stats);
    CHECK(stats.max_bytes == 10 * NBYTES && stats.n_bytes <= stats.max_bytes && stats.n_chunks > 5);
    CHECK(look(&origin, 19) == 'x' && look(&origin, 0) == 0);
    zc_cache_limit(cache, 0);
    zc_cache_stats_get(cache, &stats);
    CHECK(stats.n_chunks == 0 && stats.n_bytes == 0 && !zc_cache_takes(cache, 1));
    zc_cache_free(cache);
}

static zc_cache *shared;
static int wrong;

static void *hammer(void *arg)
{
    unsigned seed = *(unsigned *)arg;
    char key[16];

    for (int i = 0; i < 20000; i++) {
        seed = seed * 1103515245 + 12345;
        const int number = (int)(seed >> 16) % 50;
        snprintf(key, sizeof key, "c/%d", number % 5);
        const zc_origin origin = origin_of(shared, &in_memory, key, &held);
        const char found = look(&origin, (uint64_t)number);
        if (found != 0 && found != 'A' + number) {
            __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
        }
        if (found == 0) {
            add(&origin, (uint64_t)number, (char)('A' + number));
        }
        if (i % 500 == 0) {
            change(key);
        }
    }
    return NULL;
}

static void serves_many_threads(void)
{
    test_thread threads[4];
    unsigned seeds[4] = {1, 2, 3, 4};

    shared = zc_cache_new(30 * NBYTES);
    for (int i = 0; i < 4; i++) {
        CHECK(thread_start(&threads[i], hammer, &seeds[i]));
    }
    for (int i = 0; i < 4; i++) {
        thread_join(&threads[i]);
    }
    zc_cache_free(shared);
    CHECK(held == 0 && wrong == 0);
}

int main(void)
{
    zc_place_set(&place, "store/array/");
    RUN(finds_what_is_valid);
    RUN(keeps_nothing_while_a_key_changes);
    RUN(tells_indexes_apart);
    RUN(keeps_the_limit);
    RUN(trusts_files_for_a_while);
    RUN(shrinks_to_a_new_limit);
    RUN(serves_many_threads);
    return check_report("cache");
}
