/* SPDX-License-Identifier: MIT
 *
 * See pool.h.  While a job (job.h) wants helpers it stands in the pool's list; workers join the listed job with the fewest
 * helpers.  The caller takes it off the list and returns once nothing is left and no helper is inside.
 *
 * Locks: the pool's guards the list and who helps whom; a job's guards its first failure.  None is held while another is taken or while foreign code runs.
 */
#include "base/features.h"
#include "base/job.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/counts.h"

#define SLOW_UNIT_NS (INT64_C(20) * 1000000)   /* a caller busy for longer leaves the work to others */
#define WAKE_AT_ONCE 2                       /* each one woken wakes two more: a tree, not a queue */

static struct {
    zc_mutex lock;
    zc_cond work;
    zc_cond ended;               /* the last worker has */
    int closing;                 /* calls of zc_pool_shutdown that wait: workers end, and none begins */
    zc_job *jobs;
    int workers;
    int sleeping;
    int wanted;                  /* sum over the jobs */
    _Atomic int poorest;         /* fewest helpers of any job that wants more; INT_MAX if none does */
} pool = {.lock = ZC_MUTEX_INIT, .work = ZC_COND_INIT, .ended = ZC_COND_INIT, .poorest = INT_MAX};

_Atomic size_t zc_counts[ZC_COUNT_KINDS];

static _Atomic int watches_forks;

/* ---- fork ---- */

/* The jobs that the forking thread itself is in the middle of have lost their helpers. */
static void orphan_jobs(void)
{
    for (zc_job *j = zc_current_job; j != NULL; j = j->outer) {
        if (j->order.threads == 1 && j->run->most <= 1) {
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

/* ---- workers: the functions named *_locked are called under the pool's lock ---- */

static zc_job *poorest_job_locked(void)
{
    zc_job *poorest = NULL;

    for (zc_job *j = pool.jobs; j != NULL; j = j->next) {
        if (j->wanted > 0 && (poorest == NULL || j->helpers < poorest->helpers)) {
            poorest = j;
        }
    }
    return poorest;
}

static void update_poorest_locked(void)
{
    const zc_job *j = poorest_job_locked();

    atomic_store(&pool.poorest, j != NULL ? j->helpers : INT_MAX);
}

static void want_locked(zc_job *j, int wanted)
{
    pool.wanted += wanted - j->wanted;
    j->wanted = wanted;
    update_poorest_locked();
}

static zc_job *outermost(zc_job *j)
{
    while (j->outer != NULL) {
        j = j->outer;
    }
    return j;
}

/* The job inside of another one to which a thread of that one is lent: of those that have something left the one with the fewest
 * helpers.  NULL: there is none. */
static zc_job *borrower_locked(const zc_job *top)
{
    zc_job *found = NULL;

    for (zc_job *j = pool.jobs; j != NULL; j = j->next) {
        const int helpers = j->helpers + j->wanted;
        if (j->run->lent && outermost(j) == top && helpers < j->order.threads - 1 && !zc_job_nothing_left(j) &&
            (found == NULL || helpers < found->helpers + found->wanted)) {
            found = j;
        }
    }
    return found;
}

/* Lend what threads are to spare. */
static void lend_locked(zc_job *top)
{
    for (zc_job *j; top->spare > 0 && (j = borrower_locked(top)) != NULL; top->spare--) {
        zc_count_add(ZC_COUNT_HELPERS, 1);
        want_locked(j, j->wanted + 1);
    }
}

/* The job wants no more helpers: these, and n threads that have left it, are to spare. */
static void spare_locked(zc_job *j, int n)
{
    zc_job *const top = outermost(j);

    top->spare += j->wanted + n;
    want_locked(j, 0);
    lend_locked(top);
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
static bool needed_elsewhere(const zc_job *j)
{
    return atomic_load_explicit(&pool.poorest, memory_order_relaxed)
           < atomic_load_explicit(&j->helpers, memory_order_relaxed) - 1;
}

/* ---- items that turn out to be slow ---- */

#define SLOW_TIMES 8         /* as long as was thought */

static void grow(int n);

/* Are they, at turn t?  Looked at rarely. */
static bool is_slow(const zc_job *j, uint64_t t)
{
    if (t < 8 || (t & (t - 1)) != 0) {
        return false;
    }
    const double each = (double)(zc_exact_ns() - j->since_ns) * j->order.threads / (double)t;
    return each > SLOW_TIMES * j->run->item_ns * (double)j->order.grain;
}

/* Take on more threads if a job waits for a slow file system: these are not in each other's way. */
static void widen_if_slow(zc_job *j)
{
    if (!is_slow(j, atomic_load_explicit(&j->turns, memory_order_relaxed)) || !atomic_exchange(&j->waits_for_slow, false)) {
        return;
    }
    const int more = (j->run->most < ZC_MAX_THREADS ? j->run->most : ZC_MAX_THREADS) - j->order.threads;
    zc_count_add(ZC_COUNT_HELPERS, (size_t)more);
    zc_mutex_lock(&pool.lock);
    want_locked(j, j->wanted + more);
    const int n_wake = to_wake_locked();
    zc_mutex_unlock(&pool.lock);

    wake(n_wake);
    grow(j->run->most - 1);
}

static bool run_unit(zc_job *j, zc_workspace *ws, zc_error *err)
{
    if (atomic_load_explicit(&j->waits_for_slow, memory_order_relaxed)) {
        widen_if_slow(j);
    }
    return zc_job_run_unit(j, ws, err);
}

/* Work on a job until nothing is left (false) or another job needs this worker more (true). */
static bool help(zc_job *j)
{
    bool moving = false;
    zc_error err;
    zc_workspace *ws = zc_pool_borrow(NULL);

    if (ws == NULL) {
        return false;                        /* the caller does it without this worker */
    }
    zc_error_clear(&err);
    zc_job_watch(j, ws);
    zc_current_job = j;
    while (!moving && run_unit(j, ws, &err)) {
        moving = needed_elsewhere(j);
    }
    zc_current_job = NULL;
    zc_pool_release(ws);
    return moving;
}

static void leave_locked(zc_job *j, bool moving)
{
    const int left = atomic_fetch_sub(&j->helpers, 1) - 1;

    if (moving) {
        want_locked(j, j->wanted + 1);
    } else {
        spare_locked(j, 1);
    }
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
        zc_is_worker = true;
    }
    zc_mutex_lock(&pool.lock);
    while (ready && pool.closing == 0) {
        zc_job *j = poorest_job_locked();

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
    int missing = pool.closing > 0 ? 0 : (n < ZC_MAX_THREADS ? n : ZC_MAX_THREADS) - pool.workers;
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

static void post(zc_job *j)
{
    const int helpers = j->run->lent ? 0 : j->order.threads - 1;

    zc_count_add(ZC_COUNT_HELPERS, (size_t)helpers);
    zc_mutex_lock(&pool.lock);
    zc_job **last = &pool.jobs;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = j;
    want_locked(j, helpers);
    lend_locked(outermost(j));
    const bool lent = j->run->lent && j->wanted > 0;
    const int n_wake = to_wake_locked();
    zc_mutex_unlock(&pool.lock);

    wake(n_wake);
    grow(lent ? outermost(j)->order.threads : helpers);      /* one in place of a caller who waits */
}

static void withdraw_locked(zc_job *j)
{
    want_locked(j, 0);
    for (zc_job **at = &pool.jobs; *at != NULL; at = &(*at)->next) {
        if (*at == j) {
            *at = j->next;
            return;
        }
    }
}

/* Ask for a worker in place of the caller, who is to watch and leaves its workspace to that one.  False if the caller had
 * better go on: nobody else is at work, and the workers may be waiting for a lock of this very thread. */
static bool relieve_caller(zc_job *j, zc_workspace **ws)
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
static void work_as_caller(zc_job *j, zc_workspace **ws, zc_error *err)
{
    for (;;) {
        const int64_t start = j->poll != NULL ? zc_now_ns() : 0;

        if (*ws == NULL && (*ws = zc_pool_borrow(err)) == NULL) {
            zc_job_fail(j, ZC_ERR_MEMORY, SIZE_MAX, err);
            return;
        }
        zc_job_watch(j, *ws);
        if (!run_unit(j, *ws, err)) {
            return;
        }
        if (j->poll != NULL && zc_now_ns() - start > SLOW_UNIT_NS && relieve_caller(j, ws)) {
            return;
        }
    }
}

static void wait_for_helper_locked(zc_job *j)
{
    if (j->poll == NULL && j->outer == NULL) {
        zc_cond_wait(&j->idle, &pool.lock);
        return;
    }
    zc_cond_wait_for(&j->idle, &pool.lock, ZC_POLL_NS);
    zc_mutex_unlock(&pool.lock);
    zc_job_poll(j);
    zc_mutex_lock(&pool.lock);
}

/* Nothing is left to do: lend those that have not come, and the place of the outermost caller, who waits.  How many workers there have
 * to be for that. */
static int lend_rest_locked(zc_job *j)
{
    const int others = pool.wanted - j->wanted;

    spare_locked(j, j->outer == NULL && !j->relieved && j->helpers > 0);
    return pool.wanted > others ? outermost(j)->order.threads : 0;
}

/* Wait until no helper is inside.  True (and the job is off the list) if nothing is left to do. */
static bool await_helpers(zc_job *j)
{
    zc_mutex_lock(&pool.lock);
    const int workers = zc_job_nothing_left(j) ? lend_rest_locked(j) : 0;
    if (workers > 0) {
        const int n_wake = to_wake_locked();
        zc_mutex_unlock(&pool.lock);
        wake(n_wake);
        grow(workers);
        zc_mutex_lock(&pool.lock);
    }
    while (atomic_load(&j->helpers) > 0) {
        wait_for_helper_locked(j);
    }
    const bool finished = zc_job_nothing_left(j);
    if (finished) {
        withdraw_locked(j);
    }
    zc_mutex_unlock(&pool.lock);
    return finished;
}

static void run_shared(zc_job *j, zc_workspace **ws)
{
    zc_error err = {0};

    zc_cond_init(&j->idle);
    if (j->run->most > j->order.threads) {
        j->since_ns = zc_exact_ns();
        atomic_store_explicit(&j->waits_for_slow, true, memory_order_relaxed);
    }
    post(j);
    do {
        work_as_caller(j, ws, &err);
    } while (!await_helpers(j));
    zc_cond_destroy(&j->idle);
}

zc_status zc_pool_run(const zc_run *run, size_t *failed_item, zc_error *err)
{
    zc_job j = {.run = run, .outer = zc_current_job, .failed_item = SIZE_MAX, .error = err};
    zc_workspace *ws = run->n_items > 0 ? zc_pool_borrow(err) : NULL;

    zc_at_fork_once(&watches_forks, after_fork);
    if (failed_item != NULL) {
        *failed_item = SIZE_MAX;
    }
    if (ws == NULL) {
        return run->n_items > 0 ? ZC_ERR_MEMORY : ZC_OK;
    }
    if (!zc_is_worker) {
        const bool inherit = run->poll == NULL && j.outer != NULL;

        j.poll = inherit ? j.outer->poll : run->poll;
        j.poll_arg = inherit ? j.outer->poll_arg : run->poll_arg;
    }
    j.watch = zc_job_watch_around();
    zc_mutex_init(&j.lock);
    zc_pool_order(run, &j.order);
    zc_job_schedule_poll(&j);
    zc_job_watch(&j, ws);
    zc_current_job = &j;
    if (j.order.threads == 1 && run->most <= 1) {
        zc_job_run_items(&j, 0, run->n_items, ws, &(zc_error){0});
    } else {
        zc_job_share(&j);
        run_shared(&j, &ws);
    }
    zc_current_job = j.outer;
    zc_mutex_destroy(&j.lock);
    zc_pool_release(ws);
    if (failed_item != NULL) {
        *failed_item = j.failed_item;
    }
    return j.status;
}
