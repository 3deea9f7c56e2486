/* SPDX-License-Identifier: MIT */
#include "base/workspace.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/os_thread.h"

static void scratch_delete(zc_scratch *scratch)
{
    zc_pages_delete(scratch->data, scratch->capacity);
    scratch->data = NULL;
    scratch->capacity = 0;
}

zc_workspace *zc_workspace_new(void)
{
    return calloc(1, sizeof(zc_workspace));
}

void zc_workspace_free(zc_workspace *ws)
{
    if (ws == NULL) {
        return;
    }
    for (int i = 0; i < ZC_SCRATCH_DEPTH; i++) {
        scratch_delete(&ws->scratch[i]);
    }
    for (int i = 0; i < ZC_CONTEXT_SLOTS; i++) {
        if (ws->contexts[i].context != NULL) {
            ws->contexts[i].destroy(ws->contexts[i].context);
        }
    }
    free(ws);
}

/*
 * How much to allocate for n bytes: an eighth more, so that chunks whose encoded sizes creep upwards do not
 * cause an allocation each.  False if that does not fit.
 */
static bool capacity_for(size_t n, size_t *out)
{
    size_t padded;

    if (!zc_add_size(n, n / 8, &padded) || !zc_add_size(padded, 2 * ZC_ALIGNMENT, &padded)) {
        return false;
    }
    *out = padded < ZC_HUGE_FROM ? padded / ZC_ALIGNMENT * ZC_ALIGNMENT : padded / ZC_HUGE_PAGE * ZC_HUGE_PAGE;
    return *out >= n || zc_add_size(*out, ZC_HUGE_PAGE, out);
}

void *zc_scratch_push(zc_workspace *ws, size_t n, zc_error *err)
{
    if (ws->depth == ZC_SCRATCH_DEPTH) {
        zc_fail(err, ZC_ERR_MEMORY, "codecs are nested so deep that %d buffers are open at once", ZC_SCRATCH_DEPTH);
        return NULL;
    }
    zc_scratch *const scratch = &ws->scratch[ws->depth];
    ws->deepest = ws->deepest > ws->depth ? ws->deepest : ws->depth + 1;
    scratch->wanted = scratch->wanted > n ? scratch->wanted : n;
    if (scratch->data == NULL || scratch->capacity < n) {
        size_t capacity = 0;
        scratch_delete(scratch);             /* first give back, then take: the peak is lower */
        scratch->data = capacity_for(n, &capacity) ? zc_pages_new(capacity) : NULL;
        if (scratch->data == NULL) {
            zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for %zu bytes of scratch", n);
            return NULL;
        }
        scratch->capacity = capacity;
    }
    ws->depth++;
    return scratch->data;
}

void *zc_scratch_array(zc_workspace *ws, uint64_t count, size_t size, zc_error *err)
{
    size_t n;

    if (!zc_mul_size(size, count, &n)) {
        zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for %llu times %zu bytes of scratch",
                (unsigned long long)count, size);
        return NULL;
    }
    return zc_scratch_push(ws, n, err);
}

void zc_scratch_pop(zc_workspace *ws)
{
    if (ws->depth > 0) {
        ws->depth--;
    }
}

/* ---- spare ones ---- */

/*
 * Scratch that spare workspaces may keep: for a chunk of 8 MiB each, and for two of 16 MiB in all.  Fresh pages for every shard
 * that is written cost a sixth of the time.  What has not been needed for longest goes first: large buffers of an earlier
 * job would take the room of those that every job needs.  A buffer beyond KEEP_IN_ALL is never kept.
 */
#define KEEP_EACH ((size_t)10 << 20)
#define KEEP_IN_ALL ((size_t)40 << 20)
#define SMALL ((size_t)64 << 10)         /* not worth giving back */

static zc_mutex spares_lock = ZC_MUTEX_INIT;
static zc_workspace *spares;
static size_t spares_number, spares_nbytes;
static uint64_t spares_turn;             /* counts workspaces that were kept */

static size_t scratch_nbytes(const zc_workspace *ws)
{
    size_t total = 0;

    for (int i = 0; i < ws->deepest; i++) {
        total += ws->scratch[i].capacity;
    }
    return total;
}

/*
 * Small ones lie on a shelf of their thread, out of the way of all others: with a list alone, 16 threads that read small chunks wait
 * for it, and for its cache lines, as long as they read.  Threads beyond the first SHELVES share them, but for the counts.
 */
enum { SHELVES = 128 };
#define SHELVED_MOST ((size_t)256 << 10)     /* bytes of scratch */

typedef struct shelf {
    _Alignas(128) _Atomic(zc_workspace *) spare;
    _Atomic uint64_t handed_over[ZC_METRIC_KINDS];       /* by its first thread */
} shelf;

static shelf shelves[SHELVES];

static _Thread_local shelf *own_shelf;
static _Thread_local bool is_first;

static shelf *find_shelf(void)
{
    static _Atomic size_t threads;

    if (own_shelf == NULL) {
        const size_t number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
        own_shelf = &shelves[number % SHELVES];
        is_first = number < SHELVES;
    }
    return own_shelf;
}

/* One from any shelf: its thread may have ended, or is doing nothing. */
static zc_workspace *take_from_shelves(void)
{
    zc_workspace *ws = NULL;

    for (int i = 0; i < SHELVES && ws == NULL; i++) {
        if (atomic_load_explicit(&shelves[i].spare, memory_order_relaxed) != NULL) {
            ws = atomic_exchange(&shelves[i].spare, NULL);
        }
    }
    return ws;
}

/* ---- metrics: here, because they are handed over with the workspaces ---- */

enum { TIMED_FROM = 16 << 10, ONE_IN = 16 };

_Thread_local zc_metrics zc_metrics_here;
static zc_metrics handed_over;

static void hand_over_locked(void)
{
    for (int kind = 0; kind < ZC_METRIC_KINDS; kind++) {
        handed_over.n[kind] += zc_metrics_here.n[kind];
        zc_metrics_here.n[kind] = 0;
    }
}

/* No other thread writes there: loads and stores are enough. */
static void hand_over_to(shelf *own)
{
    if (!is_first) {
        zc_mutex_lock(&spares_lock);
        hand_over_locked();
        zc_mutex_unlock(&spares_lock);
        return;
    }
    zc_metrics *const here = &zc_metrics_here;

    for (int kind = 0; kind < ZC_METRIC_KINDS; kind++) {
        if (here->n[kind] > 0) {
            const uint64_t n = atomic_load_explicit(&own->handed_over[kind], memory_order_relaxed);
            atomic_store_explicit(&own->handed_over[kind], n + here->n[kind], memory_order_relaxed);
            here->n[kind] = 0;
        }
    }
}

void zc_metrics_hand_over(void)
{
    hand_over_to(find_shelf());
}

void zc_metrics_get(zc_metrics *out)
{
    zc_mutex_lock(&spares_lock);
    hand_over_locked();
    *out = handed_over;
    zc_mutex_unlock(&spares_lock);
    for (int i = 0; i < SHELVES; i++) {
        for (int kind = 0; kind < ZC_METRIC_KINDS; kind++) {
            out->n[kind] += atomic_load_explicit(&shelves[i].handed_over[kind], memory_order_relaxed);
        }
    }
}

/* Of this thread: small things that were decoded, and how many decoders call each other. */
static _Thread_local struct watches { unsigned turn, depth; } watches;

zc_stopwatch zc_stopwatch_start(size_t n)
{
    zc_stopwatch watch = {0};

    if (watches.depth++ == 0) {
        watch.weight = n >= TIMED_FROM ? 1 : watches.turn++ % ONE_IN == 0 ? ONE_IN : 0;
        watch.start_ns = watch.weight > 0 ? zc_exact_ns() : 0;
    }
    return watch;
}

void zc_stopwatch_stop(zc_stopwatch watch)
{
    watches.depth--;
    if (watch.weight > 0) {
        zc_metric_add(ZC_METRIC_DECODE_NS, watch.weight * (uint64_t)(zc_exact_ns() - watch.start_ns));
    }
}

/* In a child process another thread of the parent may have been in the middle of taking one. */
static void forget_spares(void)
{
    zc_mutex_init(&spares_lock);
    spares = NULL;
    spares_number = 0;
    spares_nbytes = 0;
    handed_over = zc_metrics_here = (zc_metrics){0};
    memset(shelves, 0, sizeof shelves);
}

void zc_pool_free_spares(void)
{
    zc_mutex_lock(&spares_lock);
    zc_workspace *ws = spares;
    spares = NULL;
    spares_number = spares_nbytes = 0;
    zc_mutex_unlock(&spares_lock);
    for (int i = 0; i < SHELVES; i++) {
        zc_workspace_free(atomic_exchange(&shelves[i].spare, NULL));
    }
    while (ws != NULL) {
        zc_workspace *const next = ws->next;
        zc_workspace_free(ws);
        ws = next;
    }
}

zc_workspace *zc_pool_borrow(zc_error *err)
{
    static _Atomic int watches_forks;

    zc_at_fork_once(&watches_forks, forget_spares);
    zc_workspace *ws = atomic_exchange(&find_shelf()->spare, NULL);
    if (ws != NULL) {
        return ws;
    }
    zc_mutex_lock(&spares_lock);
    ws = spares;
    if (ws != NULL) {
        spares = ws->next;
        spares_number--;
        spares_nbytes -= scratch_nbytes(ws);
    }
    zc_mutex_unlock(&spares_lock);
    if (ws == NULL && (ws = take_from_shelves()) == NULL && (ws = zc_workspace_new()) == NULL) {
        zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for a workspace");
    }
    return ws;
}

/* The large buffer of the spare workspaces that has not been needed for longest; with the lock held. */
static zc_scratch *oldest_scratch(void)
{
    zc_scratch *oldest = NULL;

    for (zc_workspace *ws = spares; ws != NULL; ws = ws->next) {
        for (int i = 0; i < ws->deepest; i++) {
            zc_scratch *const scratch = &ws->scratch[i];
            if (scratch->capacity > SMALL && (oldest == NULL || scratch->turn < oldest->turn)) {
                oldest = scratch;
            }
        }
    }
    return oldest;
}

/* Give back what the spare workspaces hold too much; with the lock held. */
static void drop_surplus(void)
{
    const size_t each = spares_number * KEEP_EACH;
    zc_scratch *oldest;

    while (spares_nbytes > (each > KEEP_IN_ALL ? each : KEEP_IN_ALL) && (oldest = oldest_scratch()) != NULL) {
        spares_nbytes -= oldest->capacity;
        scratch_delete(oldest);
    }
}

/* A job is over: note which buffers it needed, and give huge ones back. */
static void stamp(zc_workspace *ws, uint64_t turn)
{
    for (int i = 0; i < ws->deepest; i++) {
        zc_scratch *const scratch = &ws->scratch[i];
        if (scratch->wanted >= scratch->capacity / 2) {
            scratch->turn = turn;
        }
        scratch->wanted = 0;
        if (scratch->capacity > KEEP_IN_ALL) {
            scratch_delete(scratch);
        }
    }
}

void zc_pool_release(zc_workspace *ws)
{
    if (ws == NULL) {
        return;
    }
    ws->depth = 0;                       /* a task that failed may have left buffers open */
    ws->cancelled = NULL;
    ws->poll = NULL;
    ws->watch = NULL;
    shelf *const own = find_shelf();
    zc_workspace *none = NULL;
    hand_over_to(own);
    if (scratch_nbytes(ws) <= SHELVED_MOST && atomic_compare_exchange_strong(&own->spare, &none, ws)) {
        return;
    }
    zc_mutex_lock(&spares_lock);
    stamp(ws, ++spares_turn);
    ws->next = spares;
    spares = ws;
    spares_number++;
    spares_nbytes += scratch_nbytes(ws);
    drop_surplus();
    zc_mutex_unlock(&spares_lock);
}
