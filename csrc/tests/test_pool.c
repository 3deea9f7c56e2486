/* SPDX-License-Identifier: MIT
 *
 * The thread pool.  Times are generous: the machine may be busy.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#ifdef _WIN32

int main(void)
{
    return check_report("pool (POSIX only)");
}

#else

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/counts.h"
#include "base/pool.h"

#define MS INT64_C(1000000)

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* So many milliseconds, or more where whoever runs this says that programs answer late. */
static int64_t soon(int64_t ms)
{
    const char *const patience = getenv("ZC_TEST_PATIENCE");

    return ms * MS * (patience != NULL ? atoi(patience) : 1);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS}, NULL);
}

/* ---- workers that cannot start ---- */

static atomic_int refusals;
static pthread_t caller;

static bool refuse(void)
{
    atomic_fetch_add(&refusals, 1);
    return false;
}

static zc_status by_the_caller(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    atomic_int *const strangers = job;

    (void)item, (void)ws, (void)err;
    atomic_fetch_add(strangers, !pthread_equal(pthread_self(), caller));
    sleep_ms(1);
    return ZC_OK;
}

/* As where there is no memory for what they need: the caller does all of the job. */
static void workers_that_cannot_start(void)
{
    atomic_int strangers = 0;
    const zc_run run = {.task = by_the_caller, .job = &strangers, .n_items = 50, .threads = 4};
    zc_error err;

    caller = pthread_self();
    zc_pool_on_start(refuse);
    CHECK(zc_pool_run(&run, NULL, &err) == ZC_OK);
    CHECK(atomic_load(&strangers) == 0);
    for (int64_t end = now_ns() + soon(10000); atomic_load(&refusals) < 3 && now_ns() < end;) {
        sleep_ms(1);
    }
    zc_pool_on_start(NULL);
    CHECK(atomic_load(&refusals) == 3);
}

/* ---- shutdown ---- */

/* Calls of zc_pool_shutdown by other threads than that of the test, and what they wait for before they begin. */
static atomic_int shutting_down;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *shut_down(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    zc_pool_shutdown();
    atomic_fetch_sub(&shutting_down, 1);
    return NULL;
}

static bool start_shutdown(void)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, shut_down, NULL) == 0 && pthread_detach(thread) == 0;
}

static zc_status do_nothing(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    (void)job, (void)item, (void)ws, (void)err;
    return ZC_OK;
}

/* Does the last of them return, while these jobs go on (NULL: none do)? */
static bool shutdowns_end(const zc_run *jobs)
{
    const int64_t end = now_ns() + soon(10000);

    while (atomic_load(&shutting_down) > 0 && now_ns() < end) {
        if (jobs != NULL) {
            zc_pool_run(jobs, NULL, NULL);
        } else {
            sleep_ms(1);
        }
    }
    return atomic_load(&shutting_down) == 0;
}

/* The first one to return must not leave the others waiting for threads that begin after it. */
static void shutdowns_at_once_beside_jobs(void)
{
    enum { N = 32, ROUNDS = 50 };
    const zc_run run = {.task = do_nothing, .n_items = 64, .threads = 4};
    bool good = true;

    for (int round = 0; round < ROUNDS && good; round++) {
        atomic_store(&shutting_down, N);
        pthread_mutex_lock(&gate);
        for (int i = 0; i < N && good; i++) {
            good = start_shutdown();
        }
        pthread_mutex_unlock(&gate);
        CHECK(good);
        good = good && shutdowns_end(&run);
    }
    CHECK(good);
}

#ifdef ZC_WRAPPED_THREADS

static bool refuses_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg);

/* A system that refuses a thread, after somebody has begun to wait for its end. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg)
{
    if (!refuses_threads) {
        return __real_pthread_create(thread, attr, main, arg);
    }
    refuses_threads = false;
    CHECK(start_shutdown());
    sleep_ms(20);
    return EAGAIN;
}

static void shutdown_beside_a_thread_that_is_refused(void)
{
    const zc_run run = {.task = do_nothing, .n_items = 64, .threads = 2};

    CHECK(zc_pool_shutdown());
    atomic_store(&shutting_down, 1);
    refuses_threads = true;
    CHECK(zc_pool_run(&run, NULL, NULL) == ZC_OK);
    CHECK(!refuses_threads && shutdowns_end(NULL));
}

#endif

/* ---- items that turn out to be slow ---- */

typedef struct slowness {
    pthread_t self;
    int ms;
    atomic_int by_others;
} slowness;

static zc_status sleep_or_not(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    slowness *const s = job;

    (void)item, (void)ws, (void)err;
    if (s->ms > 0) {
        sleep_ms(s->ms);
    }
    atomic_fetch_add(&s->by_others, !pthread_equal(pthread_self(), s->self));
    return ZC_OK;
}

/* Few threads are enough for quick items, which wait for each other; a file system that answers slowly is asked by all. */
static void slow_items_get_more_threads(void)
{
    for (int threads = 1; threads < 3; threads++) {
        for (int ms = 0; ms < 3; ms++) {
            slowness s = {.self = pthread_self(), .ms = ms};
            const zc_run run = {.task = sleep_or_not, .job = &s, .n_items = 200, .threads = threads, .most = 8, .item_ns = 5e3};
            zc_counts_reset();
            CHECK(zc_pool_run(&run, NULL, NULL) == ZC_OK);
            CHECK(!ZC_ASSERTIONS || ms == 0 || zc_counted(ZC_COUNT_HELPERS) == 7);
            CHECK(ms == 0 || atomic_load(&s.by_others) > 100);
        }
    }
}

/* ---- every item once ---- */

static zc_status count_item(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    atomic_fetch_add(&((atomic_int *)job)[item], 1);
    return zc_scratch_push(ws, 100, err) != NULL ? (zc_scratch_pop(ws), ZC_OK) : ZC_ERR_MEMORY;
}

static bool runs_each_once(size_t n, int threads, size_t grain)
{
    atomic_int *counts = calloc(n + 1, sizeof *counts);
    const zc_run run = {.task = count_item, .job = counts, .n_items = n, .threads = threads, .grain = grain};
    size_t failed = 7;
    zc_error err;
    bool good = zc_pool_run(&run, &failed, &err) == ZC_OK && failed == SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        good = good && counts[i] == 1;
    }
    good = good && counts[n] == 0;
    free(counts);
    return good;
}

static void every_item_runs_once(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 20011};
    static const int threads[] = {0, 1, 2, 3, 4, 9};
    static const size_t grains[] = {0, 1, 2, 64, 5000, SIZE_MAX / 2};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
                CHECK(runs_each_once(sizes[s], threads[t], grains[g]));
            }
        }
    }
}

static void more_threads_than_the_cap(void)
{
    CHECK(runs_each_once(3000, 100000, 1));
}

/* ---- failures ---- */

typedef struct failing {
    size_t bad;
    atomic_int done;
} failing;

static zc_status fail_at(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    failing *f = job;

    (void)ws;
    if (item >= f->bad) {
        zc_error_set_codec(err, "zstd");
        return zc_fail(err, ZC_ERR_CORRUPT, "item %zu is bad", item);
    }
    atomic_fetch_add(&f->done, 1);
    return ZC_OK;
}

static void first_failure_wins(void)
{
    for (int threads = 1; threads <= 4; threads++) {
        failing f = {.bad = 500};
        const zc_run run = {.task = fail_at, .job = &f, .n_items = 1000, .threads = threads};
        size_t failed = 0;
        zc_error err;
        char expected[64];

        CHECK(zc_pool_run(&run, &failed, &err) == ZC_ERR_CORRUPT);
        CHECK(failed >= 500 && failed < 1000);
        CHECK(err.status == ZC_ERR_CORRUPT);
        CHECK(strcmp(err.codec, "zstd") == 0);
        snprintf(expected, sizeof expected, "item %zu is bad", failed);
        CHECK(strcmp(err.message, expected) == 0);
        CHECK(f.done <= 500);
        CHECK(zc_pool_run(&run, NULL, NULL) == ZC_ERR_CORRUPT);
    }
}

/* Far too many to go through: the failure of the first one has to end it. */
static void rest_is_skipped(void)
{
    for (int threads = 1; threads <= 2; threads++) {
        failing f = {.bad = 0};
        const zc_run run = {.task = fail_at, .job = &f, .n_items = SIZE_MAX / 4, .threads = threads};

        CHECK(zc_pool_run(&run, NULL, NULL) == ZC_ERR_CORRUPT);
        CHECK(f.done == 0);
    }
}

/* A failure that an item swallows does not count for a later one. */
static zc_status swallow(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    (void)job;
    (void)ws;
    if (item == 0) {
        zc_error_set_codec(err, "blosc");
        zc_fail(err, ZC_ERR_MISSING, "no such chunk");
        return ZC_OK;
    }
    return zc_fail(err, ZC_ERR_IO, "disk gone");
}

static void swallowed_failure_leaves_no_trace(void)
{
    const zc_run run = {.task = swallow, .n_items = 2, .threads = 1};
    size_t failed;
    zc_error err;

    CHECK(zc_pool_run(&run, &failed, &err) == ZC_ERR_IO);
    CHECK(failed == 1);
    CHECK(strcmp(err.codec, "") == 0);
    CHECK(strcmp(err.message, "disk gone") == 0);
}

/* ---- interrupts ---- */

typedef struct polled {
    int64_t cancel_at;           /* 0: never */
    int64_t asked_at;            /* when poll said so */
    int64_t last;
    int64_t longest_gap;
    pthread_t caller;
    bool foreign;                /* called from another thread */
    atomic_int done;
    long item_ms;
} polled;

static polled polled_for(long item_ms, int64_t cancel_after)
{
    const int64_t now = now_ns();
    polled p = {.cancel_at = cancel_after > 0 ? now + cancel_after : 0, .last = now};

    p.caller = pthread_self();
    p.item_ms = item_ms;
    return p;
}

static int poll_note(void *arg)
{
    polled *p = arg;
    const int64_t now = now_ns();

    p->foreign = p->foreign || !pthread_equal(p->caller, pthread_self());
    p->longest_gap = now - p->last > p->longest_gap ? now - p->last : p->longest_gap;
    p->last = now;
    if (p->cancel_at != 0 && now >= p->cancel_at && p->asked_at == 0) {
        p->asked_at = now;
    }
    return p->asked_at != 0;
}

static zc_status long_item(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    polled *p = job;
    const int64_t end = now_ns() + p->item_ms * MS;

    (void)item;
    while (now_ns() < end) {
        if (zc_workspace_cancelled(ws)) {
            return zc_fail(err, ZC_ERR_CANCELLED, "interrupted");
        }
        sleep_ms(1);
    }
    atomic_fetch_add(&p->done, 1);
    return ZC_OK;
}

static zc_status deaf_item(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    polled *p = job;

    (void)item;
    (void)ws;
    (void)err;
    sleep_ms(p->item_ms);
    atomic_fetch_add(&p->done, 1);
    return ZC_OK;
}

static void interrupt_is_answered_in_long_items(void)
{
    for (int threads = 1; threads <= 4; threads += threads) {
        for (size_t n = 1; n <= 9; n += 8) {
            polled p = polled_for(20000, 120 * MS);
            const zc_run run = {.task = long_item, .job = &p, .n_items = n, .threads = threads, .grain = 1, .poll = poll_note, .poll_arg = &p};
            size_t failed = 0;
            zc_error err;

            CHECK(zc_pool_run(&run, &failed, &err) == ZC_ERR_CANCELLED);
            CHECK(p.asked_at != 0 && now_ns() - p.asked_at < soon(200));
            CHECK(p.asked_at - p.cancel_at < soon(200));
            CHECK(p.longest_gap < soon(200));
            CHECK(!p.foreign);
            CHECK(p.done == 0);
            CHECK(failed == SIZE_MAX);
            CHECK(err.status == ZC_ERR_CANCELLED);
        }
    }
}

/* Items that never ask: the caller leaves them to a worker after the first one and watches. */
static void slow_items_relieve_the_caller(void)
{
    polled p = polled_for(300, 0);
    const zc_run run = {.task = deaf_item, .job = &p, .n_items = 6, .threads = 2, .grain = 1, .poll = poll_note, .poll_arg = &p};
    const int64_t start = now_ns();

    CHECK(zc_pool_run(&run, NULL, NULL) == ZC_OK);
    CHECK(p.done == 6);
    CHECK(p.longest_gap < soon(550));         /* one item, and no more than one */
    CHECK(now_ns() - start < soon(1700));     /* two at a time: 900 ms, one alone 1800 ms */

    p = polled_for(300, 400 * MS);
    const zc_run cancelled = {.task = deaf_item, .job = &p, .n_items = 1000, .threads = 2, .grain = 1, .poll = poll_note, .poll_arg = &p};
    CHECK(zc_pool_run(&cancelled, NULL, NULL) == ZC_ERR_CANCELLED);
    CHECK(p.asked_at - p.cancel_at < soon(200));
    CHECK(p.done <= 6);
}

static zc_status run_short_job(polled *p)
{
    const zc_run run = {.task = deaf_item, .job = p, .n_items = 2, .threads = 1, .grain = 1, .poll = poll_note, .poll_arg = p};

    return zc_pool_run(&run, NULL, NULL);
}

/* Each of them ends before its first poll would be due. */
static void many_short_jobs_are_polled(void)
{
    polled p = polled_for(5, 120 * MS);
    zc_status status = ZC_OK;

    for (int i = 0; i < 100 && status == ZC_OK; i++) {
        status = run_short_job(&p);
    }
    CHECK(status == ZC_ERR_CANCELLED);
}

/* ---- jobs inside of jobs ---- */

typedef struct nesting {
    int levels, threads;
    size_t width;
    atomic_int *leaves;
    polled *polled;
} nesting;

static zc_status nest(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const nesting *outer = job;

    (void)item;
    if (outer->levels == 0) {
        atomic_fetch_add(outer->leaves, 1);
        return outer->polled != NULL ? long_item(outer->polled, item, ws, err) : ZC_OK;
    }
    nesting inner = *outer;
    inner.levels--;
    const zc_run run = {.task = nest, .job = &inner, .n_items = inner.width, .threads = inner.threads};
    return zc_pool_run(&run, NULL, err);
}

static void nested_jobs_end(void)
{
    for (int threads = 1; threads <= 5; threads++) {
        atomic_int leaves = 0;
        nesting top = {.levels = 4, .threads = threads, .width = 7, .leaves = &leaves};

        CHECK(nest(&top, 0, NULL, NULL) == ZC_OK);
        CHECK(leaves == 7 * 7 * 7 * 7);
    }
}

static void interrupt_reaches_nested_jobs(void)
{
    for (int threads = 1; threads <= 4; threads++) {
        atomic_int leaves = 0;
        polled p = polled_for(20000, 100 * MS);
        nesting top = {.levels = 2, .threads = threads, .width = 3, .leaves = &leaves, .polled = &p};
        const zc_run run = {.task = nest, .job = &top, .n_items = 3, .threads = threads, .grain = 1, .poll = poll_note, .poll_arg = &p};

        CHECK(zc_pool_run(&run, NULL, NULL) == ZC_ERR_CANCELLED);
        CHECK(now_ns() - p.asked_at < soon(200));
        CHECK(!p.foreign);
        CHECK(p.done == 0);
    }
}

/* ---- many callers ---- */

static void *submit_many(void *arg)
{
    const int threads = *(const int *)arg;
    bool good = true;

    for (int i = 0; i < 60; i++) {
        good = runs_each_once((size_t)(1 + i * 7), threads, (size_t)(i % 3)) && good;
    }
    return good ? arg : NULL;
}

static void many_threads_submit_at_once(void)
{
    enum { N = 8 };
    pthread_t callers[N];
    int threads[N];

    for (int i = 0; i < N; i++) {
        threads[i] = 1 + i % 4;
        pthread_create(&callers[i], NULL, submit_many, &threads[i]);
    }
    for (int i = 0; i < N; i++) {
        void *good = NULL;

        pthread_join(callers[i], &good);
        CHECK(good != NULL);
    }
}

static void *run_deaf(void *arg)
{
    polled *p = arg;
    const zc_run run = {.task = deaf_item, .job = p, .n_items = 400, .threads = 4};

    zc_pool_run(&run, NULL, NULL);
    return NULL;
}

typedef struct observed {
    pthread_t caller;
    atomic_int by_helpers;
} observed;

static zc_status observe(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    observed *o = job;

    (void)item;
    (void)ws;
    (void)err;
    if (!pthread_equal(pthread_self(), o->caller)) {
        atomic_fetch_add(&o->by_helpers, 1);
    }
    sleep_ms(2);
    return ZC_OK;
}

/* A long job holds all workers; one that comes later gets its share of them. */
static void workers_go_where_they_are_needed(void)
{
    polled p = polled_for(5, 0);
    pthread_t other;
    observed o = {.caller = pthread_self()};
    const zc_run run = {.task = observe, .job = &o, .n_items = 100, .threads = 4};

    pthread_create(&other, NULL, run_deaf, &p);
    while (p.done < 8) {
        sleep_ms(1);
    }
    CHECK(zc_pool_run(&run, NULL, NULL) == ZC_OK);
    CHECK(p.done < 400);
    CHECK(o.by_helpers > 10);
    pthread_join(other, NULL);
    CHECK(p.done == 400);
}

/* ---- threads that are lent ---- */

typedef struct uneven {
    bool long_by_caller;             /* else by the worker */
    atomic_int begun, inside, most, met, units, lending;
} uneven;

/* Waits until another thread works on the same. */
static zc_status meet(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    uneven *const u = job;
    const int64_t ends = now_ns() + soon(10000);
    const int inside = atomic_fetch_add(&u->inside, 1) + 1;

    (void)item, (void)ws, (void)err;
    if (inside > u->most) {
        u->most = inside;
    }
    for (u->met += inside > 1; u->met == 0 && now_ns() < ends;) {
        sleep_ms(1);
    }
    atomic_fetch_sub(&u->inside, 1);
    atomic_fetch_add(&u->units, 1);
    return ZC_OK;
}

/* Of two items one is over at once, the other one has parts. */
static zc_status uneven_item(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    uneven *const u = job;
    const zc_run parts = {.task = meet, .job = u, .n_items = 40, .threads = 4, .lent = true};

    (void)item, (void)ws;
    for (atomic_fetch_add(&u->begun, 1); u->begun < 2;) {
        sleep_ms(1);
    }
    atomic_fetch_add(&u->lending, zc_pool_may_lend());
    return pthread_equal(pthread_self(), caller) == u->long_by_caller ? zc_pool_run(&parts, NULL, err) : ZC_OK;
}

/* The thread whose item is over helps with the parts of the other one, and no other thread does. */
static void an_idle_thread_is_lent(void)
{
    caller = pthread_self();
    for (int i = 0; i < 4; i++) {
        uneven u = {.long_by_caller = i % 2 == 0};
        const zc_run run = {.task = uneven_item, .job = &u, .n_items = 2, .threads = 2};
        zc_counts_reset();
        CHECK(zc_pool_run(&run, NULL, NULL) == ZC_OK);
        CHECK(u.units == 40 && u.met > 0 && u.most == 2 && u.lending == 2);
        CHECK(!ZC_ASSERTIONS || zc_counted(ZC_COUNT_HELPERS) == 2);
    }
    CHECK(!zc_pool_may_lend());
}

/* ---- workers ---- */

static zc_status look_at_mask(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const observed *o = job;
    sigset_t mask;

    (void)item;
    (void)ws;
    sleep_ms(1);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    const bool helper = !pthread_equal(pthread_self(), o->caller);
    if (sigismember(&mask, SIGINT) != helper || sigismember(&mask, SIGSEGV)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "wrong mask");
    }
    return ZC_OK;
}

static void workers_take_no_signals(void)
{
    observed o = {.caller = pthread_self()};
    const zc_run run = {.task = look_at_mask, .job = &o, .n_items = 20, .threads = 4};

    CHECK(zc_pool_run(&run, NULL, NULL) == ZC_OK);
}

static zc_status leave_open(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    (void)job;
    (void)item;
    if (ws->cancelled == NULL || zc_scratch_push(ws, (size_t)64 << 20, err) == NULL) {
        return ZC_ERR_ARGUMENT;
    }
    return zc_fail(err, ZC_ERR_CORRUPT, "left in a hurry");
}

static void workspaces_are_reused(void)
{
    const zc_run run = {.task = leave_open, .n_items = 1};

    CHECK(zc_pool_run(&run, NULL, NULL) == ZC_ERR_CORRUPT);
    zc_workspace *ws = zc_pool_borrow(NULL);
    CHECK(ws != NULL && ws->depth == 0 && ws->cancelled == NULL && ws->poll == NULL);
    CHECK(ws->scratch[0].capacity == 0);                    /* too much to be kept */
    CHECK(zc_scratch_push(ws, 1000, NULL) != NULL);
    zc_pool_release(ws);
    zc_workspace *again = zc_pool_borrow(NULL);
    CHECK(again == ws);
    CHECK(again->depth == 0 && again->scratch[0].capacity >= 1000);
    zc_pool_release(again);
    zc_pool_release(NULL);
}

/* ---- fork ---- */

/* A child that hangs is killed after 20 s, or what takes their place where programs answer late. */
static void begin_child(void)
{
    check_forked();
    alarm((unsigned)(soon(20000) / (1000 * MS)));
}

/* Run child in a child process: its exit status, or -1 if it had to be killed. */
static int in_child(bool (*child)(void))
{
    int status = 0;
    const pid_t pid = fork();

    if (pid == 0) {
        begin_child();
        _exit(child() ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool work_in_child(void)
{
    bool good = true;

    for (int threads = 1; threads <= 4; threads++) {
        good = runs_each_once(500, threads, 1) && good;
    }
    return good;
}

static bool work_in_grandchild(void)
{
    return work_in_child() && in_child(work_in_child) == 0;
}

static void child_has_its_own_pool(void)
{
    CHECK(runs_each_once(100, 4, 1));
    CHECK(in_child(work_in_grandchild) == 0);
    CHECK(runs_each_once(100, 4, 1));
}

static void fork_beside_a_running_job(void)
{
    polled p = polled_for(1, 0);
    pthread_t other;

    pthread_create(&other, NULL, run_deaf, &p);
    for (int i = 0; i < 5; i++) {
        CHECK(in_child(work_in_child) == 0);
    }
    pthread_join(other, NULL);
    CHECK(p.done == 400);
}

typedef struct forking {
    pid_t child;
    bool forked;
} forking;

static int fork_once(void *arg)
{
    forking *f = arg;

    if (!f->forked) {
        f->forked = true;
        f->child = fork();
        if (f->child == 0) {
            begin_child();
        }
    }
    return 0;
}

static void fork_inside_of_poll(void)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        polled p = polled_for(60, 0);
        forking f = {.child = -1};
        const zc_run run = {.task = deaf_item, .job = &p, .n_items = 8, .threads = threads, .grain = 1, .poll = fork_once, .poll_arg = &f};
        zc_error err;
        const zc_status status = zc_pool_run(&run, NULL, &err);
        int child_status = 0;

        if (f.child == 0) {
            const zc_status expected = threads == 1 ? ZC_OK : ZC_ERR_CANCELLED;
            _exit(status == expected && work_in_child() ? 0 : 1);
        }
        CHECK(status == ZC_OK);
        CHECK(p.done == 8);
        CHECK(waitpid(f.child, &child_status, 0) == f.child);
        CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0);
    }
}

int main(void)
{
    RUN(workers_that_cannot_start);
    RUN(shutdowns_at_once_beside_jobs);
#ifdef ZC_WRAPPED_THREADS
    RUN(shutdown_beside_a_thread_that_is_refused);
#endif
    RUN(slow_items_get_more_threads);
    RUN(every_item_runs_once);
    RUN(first_failure_wins);
    RUN(rest_is_skipped);
    RUN(swallowed_failure_leaves_no_trace);
    RUN(interrupt_is_answered_in_long_items);
    RUN(slow_items_relieve_the_caller);
    RUN(many_short_jobs_are_polled);
    RUN(nested_jobs_end);
    RUN(interrupt_reaches_nested_jobs);
    RUN(many_threads_submit_at_once);
    RUN(workers_go_where_they_are_needed);
    RUN(an_idle_thread_is_lent);
    RUN(workers_take_no_signals);
    RUN(workspaces_are_reused);
    RUN(child_has_its_own_pool);
    RUN(fork_beside_a_running_job);
    RUN(fork_inside_of_poll);
    RUN(more_threads_than_the_cap);
    return check_report("pool");
}

#endif
