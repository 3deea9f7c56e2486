/* SPDX-License-Identifier: MIT */
#include "base/job.h"

#include "base/memory.h"

_Thread_local zc_job *zc_current_job;
_Thread_local bool zc_is_worker;

static _Thread_local int64_t next_poll_ns;
static _Thread_local zc_watch *own_watch;
static _Thread_local uint64_t jobs_begun;    /* its address is the name of the thread */

/* ---- failure and interrupt ---- */

void zc_job_fail(zc_job *j, zc_status status, size_t item, const zc_error *err)
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

static void cancel_job(zc_job *j)
{
    zc_error err;

    zc_error_clear(&err);
    zc_job_fail(j, zc_fail(&err, ZC_ERR_CANCELLED, "interrupted"), SIZE_MAX, &err);
}

static bool outer_stopped(const zc_job *j)
{
    for (const zc_job *outer = j->outer; outer != NULL; outer = outer->outer) {
        if (atomic_load_explicit(&outer->stop, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

bool zc_job_poll(void *watch)
{
    zc_job *j = watch;

    if (atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        return true;
    }
    if (outer_stopped(j) || zc_watch_cancelled(j->watch)) {
        cancel_job(j);
        return true;
    }
    if (j->poll == NULL || zc_is_worker || zc_now_ns() < next_poll_ns) {
        return false;
    }
    const int asked = j->poll(j->poll_arg);
    next_poll_ns = zc_now_ns() + ZC_POLL_NS;
    if (asked) {
        cancel_job(j);
    }
    return asked;
}

void zc_job_watch(zc_job *j, zc_workspace *ws)
{
    ws->cancelled = &j->stop;
    ws->poll = j->outer != NULL || j->watch != NULL || (j->poll != NULL && !zc_is_worker) ? zc_job_poll : NULL;
    ws->watch = j;
}

void zc_job_schedule_poll(const zc_job *j)
{
    if (j->poll != NULL && j->outer == NULL) {
        const int64_t now = zc_now_ns();

        if (now - next_poll_ns > ZC_POLL_NS) {
            next_poll_ns = now + ZC_POLL_NS;
        }
    }
}

void *zc_pool_caller(const zc_workspace *ws, zc_poll poll)
{
    /* As the run has it: a job that a worker begins, in a callback, does not poll, and is another call than the one around. */
    for (const zc_job *j = ws->watch; j != NULL; j = j->outer) {
        if (j->run->poll == poll) {
            return j->run->poll_arg;
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

zc_watch *zc_job_watch_around(void)
{
    return zc_current_job != NULL ? zc_current_job->watch : own_watch;
}

const zc_watch *zc_pool_watched(void)
{
    return zc_job_watch_around();
}

zc_moment zc_pool_moment(void)
{
    return (zc_moment){&jobs_begun, jobs_begun};
}

void zc_job_share(zc_job *j)
{
    jobs_begun++;
    j->begun = zc_pool_moment();
}

bool zc_pool_waits_for_me(zc_moment since)
{
    for (const zc_job *j = zc_current_job; j != NULL; j = j->outer) {
        if (j->begun.thread == since.thread && j->begun.jobs > since.jobs) {
            return true;
        }
    }
    return false;
}

bool zc_pool_is_outside(void)
{
    return !zc_is_worker && zc_current_job == NULL && zc_foreign == 0;
}

bool zc_pool_is_ending(void)
{
    const zc_job *const j = zc_current_job;

    return j != NULL && (atomic_load_explicit(&j->stop, memory_order_relaxed) || outer_stopped(j));
}

void zc_pool_expect(size_t n)
{
    zc_watch *const watch = zc_job_watch_around();

    if (watch != NULL) {
        atomic_fetch_add_explicit(&watch->expected, n, memory_order_relaxed);
    }
}

void zc_pool_note_done(void)
{
    zc_watch *const watch = zc_job_watch_around();

    if (watch != NULL) {
        atomic_fetch_add_explicit(&watch->done, 1, memory_order_relaxed);
    }
}

/* ---- taking items ---- */

bool zc_job_run_items(zc_job *j, size_t begin, size_t end, zc_workspace *ws, zc_error *err)
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
            zc_job_fail(j, status, item, err);
            return false;
        }
    }
    return true;
}

/* Has every unit had its turn? */
static bool is_used_up(const zc_job *j)
{
    return atomic_load(&j->turns) >= zc_order_turns(&j->order);
}

static bool next_unit(zc_job *j, size_t *unit)
{
    while (!is_used_up(j)) {
        *unit = zc_order_unit(&j->order, atomic_fetch_add(&j->turns, 1));
        if (*unit < j->order.n_units) {
            return true;
        }
    }
    return false;
}

bool zc_job_run_unit(zc_job *j, zc_workspace *ws, zc_error *err)
{
    size_t unit, begin, end;

    if (atomic_load_explicit(&j->stop, memory_order_relaxed) || !next_unit(j, &unit)) {
        return false;
    }
    zc_order_items(&j->order, unit, &begin, &end);
    return zc_job_run_items(j, begin, end, ws, err);
}

bool zc_job_nothing_left(const zc_job *j)
{
    return atomic_load(&j->stop) || is_used_up(j);
}

bool zc_pool_may_lend(void)
{
    const zc_job *const j = zc_current_job;

    if (j == NULL || j->order.threads == 1) {
        return false;
    }
    const uint64_t turns = zc_order_turns(&j->order), threads = (uint64_t)j->order.threads;
    uint64_t turn = atomic_load_explicit(&j->turns, memory_order_relaxed), left = 0;

    if (turn + 2 * threads < turns) {        /* of each round no more than one turn is without a unit, but for the last */
        return false;
    }
    for (; turn < turns && left < threads; turn++) {
        left += zc_order_unit(&j->order, turn) < j->order.n_units;
    }
    return left < threads;
}

void zc_pool_order(const zc_run *run, zc_order *out)
{
    const int threads = run->n_items == 1 || run->threads == 1 ? 1
                        : run->threads > 0                     ? run->threads
                                                               : zc_pool_threads();

    out->n_items = run->n_items;
    out->grain = run->grain > 0 ? run->grain : 1;
    out->n_units = run->n_items / out->grain + (run->n_items % out->grain != 0);
    out->threads = threads < ZC_MAX_THREADS ? threads : ZC_MAX_THREADS;
    if (out->n_units < (size_t)out->threads) {
        out->threads = (int)out->n_units;
    }
    out->stretch = out->n_units / (size_t)out->threads + (out->n_units % (size_t)out->threads != 0);
}
