/* SPDX-License-Identifier: MIT
 *
 * See pool.h.  A job lives on the stack of the thread that called for it.  While it wants helpers it stands
 * in the pool's list; workers join the listed job with the fewest helpers.  The caller takes it off the
 * list and returns once nothing is left and no helper is inside.
 *
 * Locks: the pool's guards the list and who helps whom; a job's guards its first failure.  None is held while another is taken or while foreign code runs.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/pool.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/counts.h"
#include "base/memory.h"
#include "base/os_thread.h"

#define MAX_THREADS ZC_MAX_THREADS           /* per job, and workers in all */
#define POLL_NS (INT64_C(50) * 1000000)
#define SLOW_UNIT_NS (INT64_C(20) * 1000000)   /* a caller busy for longer leaves the work to others */
#define WAKE_AT_ONCE 2                       /* each one woken wakes two more: a tree, not a queue */

typedef struct job {
    const zc_run *run;
    struct job *outer;           /* the job whose task called for this one */
    zc_moment begun;
    zc_poll poll;
    void *poll_arg;
    zc_watch *watch;
    _Atomic int stop;            /* failed or cancelled: begin no further item */

    zc_mutex lock;
    zc_status status;            /* the first failure */
    size_t failed_item;
    zc_error *error;

    zc_order order;

    /* Under the pool's lock. */
    struct job *next;
    zc_cond idle;                /* the last helper has left */
    _Atomic int helpers;
    int wanted;                  /* more helpers that would be of use */
    bool relieved;               /* a worker has been asked in place of the caller */

    _Alignas(64) _Atomic uint64_t turns;     /* that were taken; on a cache line of its own */
} job;

static struct {
    zc_mutex lock;
    zc_cond work;
    zc_cond ended;               /* the last worker has */
    int closing;                 /* calls of zc_pool_shutdown that wait: workers end, and none begins */
    job *jobs;
    int workers;
    int sleeping;
    int wanted;                  /* sum over the jobs */
    _Atomic int poorest;         /* fewest helpers of any job that wants more; INT_MAX if none does */
} pool = {.lock = ZC_MUTEX_INIT, .work = ZC_COND_INIT, .ended = ZC_COND_INIT, .poorest = INT_MAX};

_Atomic size_t zc_counts[ZC_COUNT_KINDS];

static _Atomic int watches_forks;

static _Thread_local job *current_job;       /* innermost job that this thread works on */
static _Thread_local bool is_worker;
static _Thread_local int64_t next_poll_ns;
static _Thread_local zc_watch *own_watch;
static _Thread_local uint64_t jobs_begun;    /* its address is the name of the thread */

/* ---- fork ---- */

/* The jobs that the forking thread itself is in the middle of have lost their helpers. */
static void orphan_jobs(void)
{
    for (job *j = current_job; j != NULL; j = j->outer) {
        if (j->order.threads == 1) {
            continue;
        }
        zc_mutex_init(&j->lock);
        zc_cond_init(&j->idle);
        j->next = NULL;
        j->wanted = 0;
        atomic_store(&j->helpers, 0);
        if (j->status == ZC_OK) {
            j->status = zc_fail(j->error, ZC_ERR_CANCELLED, "the process was forked in the middle");
        }
        atomic_store(&j->stop, 1);
    }
}

/* Locks may be held and lists half changed by threads that do not exist here: forget it all. */
static void after_fork(void)
{
    zc_mutex_init(&pool.lock);
    zc_cond_init(&pool.work);
    zc_cond_init(&pool.ended);
    pool.closing = 0;
    pool.jobs = NULL;
    pool.workers = pool.sleeping = pool.wanted = 0;
    atomic_store(&pool.poorest, INT_MAX);
    orphan_jobs();
}

/* ---- failure and interrupt ---- */

static void fail_job(job *j, zc_status status, size_t item, const zc_error *err)
{
    zc_mutex_lock(&j->lock);
    if (j->status == ZC_OK) {
        j->status = status;
        j->failed_item = item;
        if (j->error != NULL) {
            *j->error = *err;
            j->error->status = status;
        }
    }
    zc_mutex_unlock(&j->lock);
    atomic_store(&j->stop, 1);
}

static void cancel_job(job *j)
{
    zc_error err;

    zc_error_clear(&err);
    fail_job(j, zc_fail(&err, ZC_ERR_CANCELLED, "interrupted"), SIZE_MAX, &err);
}

static bool outer_stopped(const job *j)
{
    for (const job *outer = j->outer; outer != NULL; outer = outer->outer) {
        if (atomic_load_explicit(&outer->stop, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* zc_workspace.poll: for the thread that called for the job, and for helpers of a job inside of another or with a watch. */
static bool poll_job(void *watch)
{
    job *j = watch;

    if (atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        return true;
    }
    if (outer_stopped(j) || zc_watch_cancelled(j->watch)) {
        cancel_job(j);
        return true;
    }
    if (j->poll == NULL || is_worker || zc_now_ns() < next_poll_ns) {
        return false;
    }
    const int asked = j->poll(j->poll_arg);
    next_poll_ns = zc_now_ns() + POLL_NS;
    if (asked) {
        cancel_job(j);
    }
    return asked;
}

/* Let zc_workspace_cancelled answer for this job. */
static void watch_job(job *j, zc_workspace *ws)
{
    ws->cancelled = &j->stop;
    ws->poll = j->outer != NULL || j->watch != NULL || (j->poll != NULL && !is_worker) ? poll_job : NULL;
    ws->watch = j;
}

/*
 * The time of the next poll belongs to the thread, not to the job: a caller of many short jobs in a row is
 * asked too.  A time long past means that the thread did something else meanwhile.
 */
static void schedule_poll(const job *j)
{
    if (j->poll != NULL && j->outer == NULL) {
        const int64_t now = zc_now_ns();

        if (now - next_poll_ns > POLL_NS) {
            next_poll_ns = now + POLL_NS;
        }
    }
}

void *zc_pool_caller(const zc_workspace *ws, zc_poll poll)
{
    for (const job *j = ws->watch; j != NULL; j = j->outer) {
        if (j->poll == poll) {
            return j->poll_arg;
        }
    }
    return NULL;
}

/* ---- watches ---- */

zc_watch *zc_pool_watch(zc_watch *watch)
{
    zc_watch *const before = own_watch;

    own_watch = watch;
    return before;
}

static zc_watch *watch_around(void)
{
    return current_job != NULL ? current_job->watch : own_watch;
}

const zc_watch *zc_pool_watched(void)
{
    return watch_around();
}

zc_moment zc_pool_moment(void)
{
    return (zc_moment){&jobs_begun, jobs_begun};
}

bool zc_pool_waits_for_me(zc_moment since)
{
    for (const job *j = current_job; j != NULL; j = j->outer) {
        if (j->begun.thread == since.thread && j->begun.jobs > since.jobs) {
            return true;
        }
    }
    return false;
}

bool zc_pool_is_outside(void)
{
    return !is_worker && current_job == NULL && zc_foreign == 0;
}

void zc_pool_expect(size_t n)
{
    zc_watch *const watch = watch_around();

    if (watch != NULL) {
        atomic_fetch_add_explicit(&watch->expected, n, memory_order_relaxed);
    }
}

void zc_pool_note_done(void)
{
    zc_watch *const watch = watch_around();

    if (watch != NULL) {
        atomic_fetch_add_explicit(&watch->done, 1, memory_order_relaxed);
    }
}

/* ---- taking items ---- */

/* False if the job is to stop. */
static bool run_items(job *j, size_t begin, size_t end, zc_workspace *ws, zc_error *err)
{
    const zc_run *run = j->run;

    for (size_t item = begin; item < end; item++) {
        if (zc_workspace_cancelled(ws)) {
            return false;
        }
        if (err->status != ZC_OK) {
            zc_error_clear(err);             /* left by an item that got over its failure */
        }
        const zc_status status = run->task(run->job, item, ws, err);
        if (status != ZC_OK) {
            fail_job(j, status, item, err);
            return false;
        }
    }
    return true;
}

/* Has every unit had its turn? */
static bool is_used_up(const job *j)
{
    return atomic_load(&j->turns) >= zc_order_turns(&j->order);
}

static bool next_unit(job *j, size_t *unit)
{
    while (!is_used_up(j)) {
        *unit = zc_order_unit(&j->order, atomic_fetch_add(&j->turns, 1));
        if (*unit < j->order.n_units) {
            return true;
        }
    }
    return false;
}

/* Run the next unit; false if nothing is left or the job is to stop. */
static bool run_unit(job *j, zc_workspace *ws, zc_error *err)
{
    size_t unit, begin, end;

    if (atomic_load_explicit(&j->stop, memory_order_relaxed) || !next_unit(j, &unit)) {
        return false;
    }
    zc_order_items(&j->order, unit, &begin, &end);
    return run_items(j, begin, end, ws, err);
}

static bool nothing_left(const job *j)
{
    return atomic_load(&j->stop) || is_used_up(j);
}

/* ---- workers: the functions named *_locked are called under the pool's lock ---- */

static job *poorest_job_locked(void)
{
    job *poorest = NULL;

    for (job *j = pool.jobs; j != NULL; j = j->next) {
        if (j->wanted > 0 && (poorest == NULL || j->helpers < poorest->helpers)) {
            poorest = j;
        }
    }
    return poorest;
}

static void update_poorest_locked(void)
{
    const job *j = poorest_job_locked();

    atomic_store(&pool.poorest, j != NULL ? j->helpers : INT_MAX);
}

static void want_locked(job *j, int wanted)
{
    pool.wanted += wanted - j->wanted;
    j->wanted = wanted;
    update_poorest_locked();
}

static int to_wake_locked(void)
{
    const int n = pool.wanted < pool.sleeping ? pool.wanted : pool.sleeping;

    return n < WAKE_AT_ONCE ? n : WAKE_AT_ONCE;
}

static void wake(int n)
{
    for (int i = 0; i < n; i++) {
        zc_cond_signal(&pool.work);
    }
}

/* Another job that wants help has at least two helpers fewer: going there evens things out. */
static bool needed_elsewhere(const job *j)
{
    return atomic_load_explicit(&pool.poorest, memory_order_relaxed)
           < atomic_load_explicit(&j->helpers, memory_order_relaxed) - 1;
}

/* Work on a job until nothing is left (false) or another job needs this worker more (true). */
static bool help(job *j)
{
    bool moving = false;
    zc_error err;
    zc_workspace *ws = zc_pool_borrow(NULL);

    if (ws == NULL) {
        return false;                        /* the caller does it without this worker */
    }
    zc_error_clear(&err);
    watch_job(j, ws);
    current_job = j;
    while (!moving && run_unit(j, ws, &err)) {
        moving = needed_elsewhere(j);
    }
    current_job = NULL;
    zc_pool_release(ws);
    return moving;
}

static void leave_locked(job *j, bool moving)
{
    const int left = atomic_fetch_sub(&j->helpers, 1) - 1;

    want_locked(j, moving ? j->wanted + 1 : 0);
    if (left == 0) {
        zc_cond_signal(&j->idle);            /* under the lock: the job may be gone right after it */
    }
}

static _Atomic(zc_on_start) on_start;

void zc_pool_on_start(zc_on_start start)
{
    atomic_store(&on_start, start);
}

/* Where there is no memory for thread-local variables at their first use, some systems end the process. */
static bool has_memory(void)
{
    void *volatile trial = malloc(1 << 16);      /* volatile: not to be optimised away */
    const bool ok = trial != NULL;

    free(trial);
    return ok;
}

static void count_ended_locked(int n)
{
    pool.workers -= n;
    if (pool.workers == 0) {
        zc_cond_broadcast(&pool.ended);
    }
}

static void worker_main(void)
{
    const zc_on_start start = atomic_load(&on_start);
    const bool ready = has_memory() && (start == NULL || start());

    if (ready) {
        is_worker = true;
    }
    zc_mutex_lock(&pool.lock);
    while (ready && pool.closing == 0) {
        job *j = poorest_job_locked();

        if (j == NULL) {
            pool.sleeping++;
            zc_cond_wait(&pool.work, &pool.lock);
            pool.sleeping--;
            continue;
        }
        atomic_fetch_add(&j->helpers, 1);
        want_locked(j, j->wanted - 1);
        const int n_wake = to_wake_locked();
        zc_mutex_unlock(&pool.lock);

        wake(n_wake);
        const bool moving = help(j);
        zc_mutex_lock(&pool.lock);
        leave_locked(j, moving);
    }
    count_ended_locked(1);
    zc_mutex_unlock(&pool.lock);
}

bool zc_pool_shutdown(void)
{
    if (!zc_pool_is_outside()) {
        return false;
    }
    zc_mutex_lock(&pool.lock);
    pool.closing++;
    zc_cond_broadcast(&pool.work);
    while (pool.workers > 0) {
        zc_cond_wait(&pool.ended, &pool.lock);
    }
    pool.closing--;
    zc_mutex_unlock(&pool.lock);
    return true;
}

/* Have at least n workers, or as many as the system allows. */
static void grow(int n)
{
    zc_mutex_lock(&pool.lock);
    int missing = pool.closing > 0 ? 0 : (n < MAX_THREADS ? n : MAX_THREADS) - pool.workers;
    pool.workers += missing > 0 ? missing : 0;
    zc_mutex_unlock(&pool.lock);

    for (; missing > 0; missing--) {
        if (!zc_thread_start(worker_main)) {
            zc_mutex_lock(&pool.lock);
            count_ended_locked(missing);
            zc_mutex_unlock(&pool.lock);
            return;
        }
    }
}

/* ---- the caller's side ---- */

static void post(job *j)
{
    zc_count_add(ZC_COUNT_HELPERS, (size_t)j->order.threads - 1);
    zc_mutex_lock(&pool.lock);
    job **last = &pool.jobs;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = j;
    want_locked(j, j->order.threads - 1);
    const int n_wake = to_wake_locked();
    zc_mutex_unlock(&pool.lock);

    wake(n_wake);
    grow(j->order.threads - 1);
}

static void withdraw_locked(job *j)
{
    want_locked(j, 0);
    for (job **at = &pool.jobs; *at != NULL; at = &(*at)->next) {
        if (*at == j) {
            *at = j->next;
            return;
        }
    }
}

/* Ask for a worker in place of the caller, who is to watch and leaves its workspace to that one.  False if the caller had
 * better go on: nobody else is at work, and the workers may be waiting for a lock of this very thread. */
static bool relieve_caller(job *j, zc_workspace **ws)
{
    if (atomic_load(&j->helpers) == 0) {
        return false;
    }
    zc_pool_release(*ws);
    *ws = NULL;
    zc_mutex_lock(&pool.lock);
    const bool others = j->helpers > 0;
    const bool ask = others && !j->relieved;
    if (ask) {
        j->relieved = true;
        want_locked(j, j->wanted + 1);
    }
    const int n_wake = ask ? to_wake_locked() : 0;
    zc_mutex_unlock(&pool.lock);

    wake(n_wake);
    if (ask) {
        grow(j->order.threads);
    }
    return others;
}

/* *ws may be NULL, before and afterwards: the caller has given it away. */
static void work_as_caller(job *j, zc_workspace **ws, zc_error *err)
{
    for (;;) {
        const int64_t start = j->poll != NULL ? zc_now_ns() : 0;

        if (*ws == NULL && (*ws = zc_pool_borrow(err)) == NULL) {
            fail_job(j, ZC_ERR_MEMORY, SIZE_MAX, err);
            return;
        }
        watch_job(j, *ws);
        if (!run_unit(j, *ws, err)) {
            return;
        }
        if (j->poll != NULL && zc_now_ns() - start > SLOW_UNIT_NS && relieve_caller(j, ws)) {
            return;
        }
    }
}

static void wait_for_helper_locked(job *j)
{
    if (j->poll == NULL && j->outer == NULL) {
        zc_cond_wait(&j->idle, &pool.lock);
        return;
    }
    zc_cond_wait_for(&j->idle, &pool.lock, POLL_NS);
    zc_mutex_unlock(&pool.lock);
    poll_job(j);
    zc_mutex_lock(&pool.lock);
}

/* Wait until no helper is inside.  True (and the job is off the list) if nothing is left to do. */
static bool await_helpers(job *j)
{
    zc_mutex_lock(&pool.lock);
    if (nothing_left(j)) {
        want_locked(j, 0);
    }
    while (atomic_load(&j->helpers) > 0) {
        wait_for_helper_locked(j);
    }
    const bool finished = nothing_left(j);
    if (finished) {
        withdraw_locked(j);
    }
    zc_mutex_unlock(&pool.lock);
    return finished;
}

static void run_shared(job *j, zc_workspace **ws)
{
    zc_error err = {0};

    zc_cond_init(&j->idle);
    post(j);
    do {
        work_as_caller(j, ws, &err);
    } while (!await_helpers(j));
    zc_cond_destroy(&j->idle);
}

void zc_pool_order(const zc_run *run, zc_order *out)
{
    const int threads = run->n_items == 1 || run->threads == 1 ? 1
                        : run->threads > 0                     ? run->threads
                                                               : zc_pool_threads();

    out->n_items = run->n_items;
    out->grain = run->grain > 0 ? run->grain : 1;
    out->n_units = run->n_items / out->grain + (run->n_items % out->grain != 0);
    out->threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    if (out->n_units < (size_t)out->threads) {
        out->threads = (int)out->n_units;
    }
    out->stretch = out->n_units / (size_t)out->threads + (out->n_units % (size_t)out->threads != 0);
}

zc_status zc_pool_run(const zc_run *run, size_t *failed_item, zc_error *err)
{
    job j = {.run = run, .outer = current_job, .failed_item = SIZE_MAX, .error = err};
    zc_workspace *ws = run->n_items > 0 ? zc_pool_borrow(err) : NULL;

    zc_at_fork_once(&watches_forks, after_fork);
    if (failed_item != NULL) {
        *failed_item = SIZE_MAX;
    }
    if (ws == NULL) {
        return run->n_items > 0 ? ZC_ERR_MEMORY : ZC_OK;
    }
    if (!is_worker) {
        const bool inherit = run->poll == NULL && j.outer != NULL;

        j.poll = inherit ? j.outer->poll : run->poll;
        j.poll_arg = inherit ? j.outer->poll_arg : run->poll_arg;
    }
    j.watch = watch_around();
    zc_mutex_init(&j.lock);
    zc_pool_order(run, &j.order);
    schedule_poll(&j);
    watch_job(&j, ws);
    current_job = &j;
    if (j.order.threads == 1) {
        run_items(&j, 0, run->n_items, ws, &(zc_error){0});
    } else {
        jobs_begun++;
        j.begun = zc_pool_moment();
        run_shared(&j, &ws);
    }
    current_job = j.outer;
    zc_mutex_destroy(&j.lock);
    zc_pool_release(ws);
    if (failed_item != NULL) {
        *failed_item = j.failed_item;
    }
    return j.status;
}
