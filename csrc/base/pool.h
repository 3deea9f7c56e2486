/* SPDX-License-Identifier: MIT
 *
 * The process-wide thread pool.  Nothing runs and nothing is allocated before the first job that
 * is worth sharing.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "workspace.h"

/* Do item number `item` of a job.  A failure stops the job. */
typedef zc_status (*zc_task)(void *job, size_t item, zc_workspace *ws, zc_error *err);

/* Asked about every 50 ms by the calling thread, never by a worker; non-zero cancels the job.  May be NULL.
 * Runs while a task is on that thread's stack: it must not wait for a lock that a task holds. */
typedef int (*zc_poll)(void *arg);

#define ZC_MAX_THREADS 512           /* per job, and workers in all */

typedef struct zc_run {
    zc_task task;
    void *job;
    size_t n_items;
    int threads;             /* most threads to use, the caller included; 0: the pool's default */
    size_t grain;            /* items taken at a time; 0: one */
    zc_poll poll;            /* NULL in a job started by a task: that of the job around it */
    void *poll_arg;
    int most;                /* threads, once items turn out to take several times as long as item_ns; fewer than `threads`: no more */
    double item_ns;
    bool lent;               /* in a task: helped by none but threads that find nothing left to do in the jobs around it */
} zc_run;

/*
 * Run all items and return when none is running any more.
 *
 * The calling thread works too, so that a job never waits for another one to end, and a task may
 * itself start a job (which is cancelled with the one around it).  Items that run at the same time lie far from
 * each other (neighbours tend to share pages of the output).  The first failure is kept in err, the item it happened in in
 * *failed_item (may be NULL; SIZE_MAX where no item failed); the items not yet begun are then skipped.
 * ZC_ERR_CANCELLED when poll asked for it, even if all items are done.
 *
 * poll is called between items, inside of items that ask zc_workspace_cancelled, and while waiting for
 * others.  A caller whose items turn out to be slow leaves them to a worker and watches.  So poll is answered
 * within 0.1 s, except while the calling thread is inside of a long item that never asks.  Running items are
 * waited for: they write into the caller's memory.
 * Thread-safe.  A child process after fork() starts with an empty pool; a job whose own poll or task forks
 * ends in the child with ZC_ERR_CANCELLED.
 */
zc_status zc_pool_run(const zc_run *run, size_t *failed_item, zc_error *err);

/*
 * What a thread has to say to the jobs that it starts, and to all that these start, while they run.  Each thread that works for them
 * looks at the flag before each item and inside of items that ask zc_workspace_cancelled.
 */
typedef struct zc_watch {
    const volatile int *cancelled;       /* not 0: end with ZC_ERR_CANCELLED; set by any thread or a signal.  NULL: there is none */
    _Atomic uint64_t done, expected;     /* chunks that were read or written, and those of all calls that have begun */
} zc_watch;

static inline bool zc_watch_cancelled(const zc_watch *watch)
{
    return watch != NULL && watch->cancelled != NULL &&
           atomic_load_explicit((const volatile atomic_int *)watch->cancelled, memory_order_relaxed) != 0;
}

/* The watch of the calling thread from now on, and the one before; NULL is none.  Jobs that run keep theirs. */
zc_watch *zc_pool_watch(zc_watch *watch);

/* That of the job around, or of the thread. */
const zc_watch *zc_pool_watched(void);

/* Is this thread neither in a job nor a worker, nor in a function of the user's (zc_foreign)? */
bool zc_pool_is_outside(void);

/* Are so few items left of the job around that some of its threads will soon have nothing to do, and may be lent? */
bool zc_pool_may_lend(void);

/* Whether the call that this thread works for has failed or was cancelled, so that it ends as soon as its threads have. */
bool zc_pool_is_ending(void);

/* A moment in the life of a thread. */
typedef struct zc_moment {
    const void *thread;
    uint64_t jobs;           /* that it has begun by then and shares with others */
} zc_moment;

zc_moment zc_pool_moment(void);

/* Does the thread wait, in a job that it has begun since, for what this one does? */
bool zc_pool_waits_for_me(zc_moment since);

/* Count n more chunks as expected, and one as done, for the job around, or the thread. */
void zc_pool_expect(size_t n);
void zc_pool_note_done(void);

/*
 * In which order the items of a run are begun: in units of `grain` neighbours, which take turns.  Turns go round as many
 * stretches of the units as there are threads, so that units that are worked on at the same time lie far from each other:
 * neighbours tend to share pages of the output.
 */
typedef struct zc_order {
    int threads;             /* that could take part; 1: the caller works alone */
    size_t n_items, grain;
    size_t n_units, stretch; /* units that lie together */
} zc_order;

void zc_pool_order(const zc_run *run, zc_order *out);

/* How many turns there are; some may be without a unit. */
static inline uint64_t zc_order_turns(const zc_order *order)
{
    return (uint64_t)order->stretch * (uint64_t)order->threads;
}

/* The unit of a turn; n_units or more: there is none. */
static inline size_t zc_order_unit(const zc_order *order, uint64_t turn)
{
    const size_t stretch = (size_t)(turn % (unsigned)order->threads), place = (size_t)(turn / (unsigned)order->threads);

    return place < order->stretch ? stretch * order->stretch + place : order->n_units;
}

/* The turn of an item. */
static inline uint64_t zc_order_turn(const zc_order *order, size_t item)
{
    const size_t unit = item / order->grain;

    return (uint64_t)(unit % order->stretch) * (unsigned)order->threads + unit / order->stretch;
}

/* The items [*begin, *end) of a unit. */
static inline void zc_order_items(const zc_order *order, size_t unit, size_t *begin, size_t *end)
{
    *begin = unit * order->grain;
    *end = order->n_items - *begin < order->grain ? order->n_items : *begin + order->grain;
}

/* The poll_arg of the innermost job around this workspace that has this poll; NULL: none has. */
void *zc_pool_caller(const zc_workspace *ws, zc_poll poll);

/* What a worker does before anything else.  False: it does nothing else and ends, as if the system had refused a thread.
 * To be set before the first job. */
typedef bool (*zc_on_start)(void);
void zc_pool_on_start(zc_on_start start);

/* The default number of threads: that of zc_pool_set_threads, else the CPUs that affinity mask and
 * cgroup quota leave to this process (at least 1). */
int zc_pool_threads(void);
void zc_pool_set_threads(int threads);   /* 0: back to the machine's own number */
/* End all workers; those that have work end when it is done.  The next job makes new ones.  False: this thread is not outside. */
bool zc_pool_shutdown(void);
int zc_pool_cpus(void);                  /* affinity mask and cgroup quota, nothing else */
