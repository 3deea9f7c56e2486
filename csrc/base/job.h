/* SPDX-License-Identifier: MIT
 *
 * A job is one call of zc_pool_run, and lies on the stack of the thread that made it.  Here is what each thread that works on one does:
 * take items, note the first failure, ask whether to go on.  Which threads do is the pool's business (pool.c).
 */
#pragma once

#include "base/os_thread.h"
#include "base/pool.h"

#define ZC_POLL_NS (INT64_C(50) * 1000000)

typedef struct zc_job {
    const zc_run *run;
    struct zc_job *outer;        /* the job whose task called for this one */
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
    struct zc_job *next;
    zc_cond idle;                /* the last helper has left */
    _Atomic int helpers;
    int wanted;                  /* more helpers that would be of use */
    bool relieved;               /* a worker has been asked in place of the caller */
    int spare;                   /* of the outermost job: threads that may work for it and have nothing to do */

    _Atomic bool waits_for_slow; /* items may turn out to be slow (zc_run.most), and have not yet */
    int64_t since_ns;            /* when the job was begun, where they may */

    _Alignas(64) _Atomic uint64_t turns;     /* that were taken; on a cache line of its own */
} zc_job;

extern _Thread_local zc_job *zc_current_job;     /* innermost job that this thread works on */
extern _Thread_local bool zc_is_worker;

/* Keep a failure, if it is the first one; item: SIZE_MAX where it happened in none. */
void zc_job_fail(zc_job *j, zc_status status, size_t item, const zc_error *err);

/* zc_workspace.poll: for the thread that called for the job, and for helpers of a job inside of another or with a watch. */
bool zc_job_poll(void *job);

/* Let zc_workspace_cancelled answer for this job. */
void zc_job_watch(zc_job *j, zc_workspace *ws);

/*
 * The time of the next poll belongs to the thread, not to the job: a caller of many short jobs in a row is
 * asked too.  A time long past means that the thread did something else meanwhile.
 */
void zc_job_schedule_poll(const zc_job *j);

/* The watch of a job that this thread begins. */
zc_watch *zc_job_watch_around(void);

/* The thread begins a job that it shares with others. */
void zc_job_share(zc_job *j);

/* Run some items; false if the job is to stop. */
bool zc_job_run_items(zc_job *j, size_t begin, size_t end, zc_workspace *ws, zc_error *err);

/* Run the next unit; false if nothing is left or the job is to stop. */
bool zc_job_run_unit(zc_job *j, zc_workspace *ws, zc_error *err);

bool zc_job_nothing_left(const zc_job *j);
