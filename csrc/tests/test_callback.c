/* SPDX-License-Identifier: MIT
 *
 * Stages that are functions of their user: lengths that nobody knows beforehand, and failures.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/os_thread.h"
#include "base/pool.h"
#include "codecs/callback.h"
#include "engine_fixture.h"

enum { TIMES = 37 };                 /* the encoding is so many times as long */

static atomic_int calls;
static int failing;
static const zc_callback *meanwhile;     /* what another thread finds out about, as it were */
static bool fails_to_encode;

static zc_status repeat(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                        size_t cap, size_t *written, zc_error *err)
{
    (void)ws;
    calls++;
    *written = n * TIMES;
    if (fails_to_encode) {
        return zc_fail(err, ZC_ERR_ENCODE, "as the test wants it");
    }
    if (*written > cap) {
        zc_callback_grow(callback, n, *written);
        return zc_fail(err, ZC_ERR_ROOM, "no room");
    }
    for (size_t i = 0; i < *written; i++) {
        dst[i] = src[i % n];
    }
    if (meanwhile != NULL && callback != meanwhile) {
        zc_callback_grow(meanwhile, 1, 1000000);
    }
    return ZC_OK;
}

static zc_status take_first(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                            size_t cap, size_t most, size_t *written, zc_error *err)
{
    (void)callback;
    (void)ws;
    *written = n / TIMES;
    if (failing > 0) {
        failing--;
        return zc_fail(err, ZC_ERR_CORRUPT, "as the test wants it");
    }
    if (*written > cap || *written > most) {
        return zc_fail(err, ZC_ERR_SIZE, "no room");
    }
    memcpy(dst, src, *written);
    return ZC_OK;
}

static zc_callback callbacks[2];

static void add_callback(zc_chain *chain, int which)
{
    callbacks[which] = (zc_callback){.encode = repeat, .decode = take_first};
    zc_callback_stage(&callbacks[which], which == 0 ? "one" : "other", &chain->stages[chain->n_stages++]);
}

static void check_all(fixture *f, int threads)
{
    static uint16_t values[ROWS * COLUMNS], found[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;

    for (int i = 0; i < ROWS * COLUMNS; i++) {
        values[i] = (uint16_t)(i * 7);
    }
    CHECK(transfer(f, true, 0, ROWS, 0, COLUMNS, values, threads, &fault, &err) == ZC_OK);
    CHECK(transfer(f, true, 3, 1, 4, 1, values, threads, &fault, &err) == ZC_OK);
    CHECK(transfer(f, false, 0, ROWS, 0, COLUMNS, found, threads, &fault, &err) == ZC_OK);
    values[3 * COLUMNS + 4] = values[0];
    CHECK(memcmp(values, found, sizeof values) == 0);
}

static void encodings_of_any_length(void)
{
    fixture f;

    for (int threads = 1; threads < 4; threads += 2) {
        open_fixture(&f, "single/", 5, 7);
        add_callback(&f.chain, 0);
        calls = 0;
        check_all(&f, threads);
        CHECK(threads > 1 || calls == 8 * 5 + 1 + 1);    /* each chunk once, the first one twice, one patched */
        open_fixture(&f, "several/", 5, 7);
        add_callback(&f.chain, 0);
        add_stage(&f.chain, "zstd");
        add_callback(&f.chain, 1);
        add_stage(&f.chain, "crc32c");
        check_all(&f, threads);
        open_fixture(&f, "shards/", 12, 12);
        make_sharded(&f, 4, 3, false);
        f.inner.n_stages = 0;
        add_callback(&f.inner, 0);
        check_all(&f, threads);
    }
}

/* Another thread notes a longer encoding when this one has made room by what was known before: that is no fault. */
static void lengths_are_learnt_at_any_time(void)
{
    fixture f;

    open_fixture(&f, "meanwhile/", 5, 7);
    add_callback(&f.chain, 0);
    add_callback(&f.chain, 1);
    meanwhile = &callbacks[1];
    check_all(&f, 1);
    meanwhile = NULL;
}

static void failures_name_the_codec(void)
{
    static uint16_t values[ROWS * COLUMNS];
    fixture f;
    zc_fault fault;
    zc_error err;

    open_fixture(&f, "failing/", 5, 7);
    add_callback(&f.chain, 1);
    memset(values, 1, sizeof values);
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_OK);
    failing = 2;                     /* a small file is read once more */
    CHECK(transfer(&f, false, 11, 2, 15, 1, values, 1, &fault, &err) == ZC_ERR_CORRUPT);
    CHECK(strcmp(err.codec, "other") == 0);
    CHECK(fault.in_chunk && fault.chunk[0] == 2 && fault.chunk[1] == 2);
    fails_to_encode = true;
    CHECK(transfer(&f, true, 11, 2, 15, 1, values, 1, &fault, &err) == ZC_ERR_ENCODE);
    CHECK(strcmp(err.codec, "other") == 0);
    fails_to_encode = false;
    f.chain.n_stages = 0;
    add_stage(&f.chain, "zstd");
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_OK);
    f.chain.n_stages = 0;
    add_callback(&f.chain, 1);       /* zstd's bytes are too few */
    CHECK(transfer(&f, false, 0, 1, 0, 1, values, 1, &fault, &err) == ZC_ERR_SIZE);
    CHECK(strcmp(err.codec, "other") == 0);
}

static zc_mutex counts_lock = ZC_MUTEX_INIT;
static zc_cond counted;
static int encoding, most_encoding, sending, most_sending, patience;

static void count(int *n, int *most, int until, int rounds)
{
    zc_mutex_lock(&counts_lock);
    *most = ++*n > *most ? *n : *most;
    zc_cond_broadcast(&counted);
    for (int i = 0; i < rounds && *most < until; i++) {
        zc_cond_wait_for(&counted, &counts_lock, INT64_C(10) * 1000000);
    }
    --*n;
    zc_mutex_unlock(&counts_lock);
}

/* It goes on when three are at it, or after a while. */
static zc_status encode_slowly(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                               size_t cap, size_t *written, zc_error *err)
{
    (void)callback;
    (void)ws;
    (void)cap;
    (void)err;
    count(&encoding, &most_encoding, 3, patience);
    memcpy(dst, src, n);
    *written = n;
    return ZC_OK;
}

static zc_status (*really_replace)(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err);

static int senders = 4;

/* No value is stored before so many are on their way, or for a long time. */
static zc_status replace_together(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err)
{
    count(&sending, &most_sending, senders, 1000);
    return really_replace(store, key, data, n, err);
}

static void write_in_turns(fixture *f, int64_t rows, int64_t columns)
{
    static uint16_t values[ROWS * COLUMNS], found[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;

    callbacks[0] = (zc_callback){.encode = encode_slowly};
    zc_callback_stage(&callbacks[0], "slow", &f->chain.stages[f->chain.n_stages++]);
    really_replace = f->store.replace;
    f->store.replace = replace_together;
    f->store.replace_from = NULL;
    f->store.waits = 16;
    f->store.window = 1 << 20;
    zc_cond_init(&counted);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        values[i] = (uint16_t)(i * 5);
    }
    most_encoding = most_sending = 0;
    zc_pool_set_threads(2);
    CHECK(transfer(f, true, 0, rows, 0, columns, values, 0, &fault, &err) == ZC_OK);
    zc_pool_set_threads(0);
    zc_cond_destroy(&counted);
    f->chain.n_stages = 0;
    CHECK(transfer(f, false, 0, rows, 0, columns, found, 1, &fault, &err) == ZC_OK);
    CHECK(memcmp(values, found, (size_t)(rows * columns) * sizeof *values) == 0);
}

/* Many threads wait for a slow store, and no more of them encode at a time than there are CPUs for. */
static void few_encode_while_many_send(void)
{
    fixture f;

    open_fixture(&f, "turns/", 5, 7);
    patience = 1;
    write_in_turns(&f, ROWS, COLUMNS);
    CHECK(most_encoding <= 2 && most_sending >= 4);
}

/* Three chunks on two CPUs take the time of one and a half, not of two. */
static void what_is_less_than_a_round_is_encoded_beside_the_last(void)
{
    fixture f;

    open_fixture(&f, "rest/", 5, 7);
    patience = 1000;
    senders = 3;
    write_in_turns(&f, 15, 7);
    CHECK(most_encoding == 3);
}

static void no_job_has_no_caller(void)
{
    zc_workspace *const ws = zc_pool_borrow(NULL);

    CHECK(zc_pool_caller(ws, NULL) == NULL);
    zc_pool_release(ws);
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    RUN(encodings_of_any_length);
    RUN(lengths_are_learnt_at_any_time);
    RUN(failures_name_the_codec);
    RUN(few_encode_while_many_send);
    RUN(what_is_less_than_a_round_is_encoded_beside_the_last);
    RUN(no_job_has_no_caller);
    return check_report("callback") | !close_root();
}
