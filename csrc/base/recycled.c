/* SPDX-License-Identifier: MIT */
#include "base/recycled.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arith.h"
#include "base/memory.h"
#include "base/os_thread.h"

#define WAITING_MAX 16

/* Before the memory of a piece. */
typedef struct head {
    size_t size;                 /* of all, a multiple of ZC_HUGE_PAGE */
    unsigned forks;              /* there had been when it was made */
} head;

typedef struct waiting {
    void *piece;
    size_t size;
    int64_t since;
} waiting;

static struct {
    zc_mutex lock;
    zc_cond never;               /* what the thread that releases them waits for, as long as that may take */
    waiting pieces[WAITING_MAX]; /* the oldest first */
    size_t n, bytes, most;
    bool ready;
    bool releasing;            /* there is a thread that does */
} pool = {.lock = ZC_MUTEX_INIT};

static _Atomic unsigned forks;

/* Remove the piece at i from those that wait.  Under the lock. */
static waiting take_out(size_t i)
{
    const waiting taken = pool.pieces[i];

    pool.n--;
    pool.bytes -= taken.size;
    for (; i < pool.n; i++) {
        pool.pieces[i] = pool.pieces[i + 1];
    }
    return taken;
}

/* Release the oldest ones until no more than `most` bytes wait, and of those that do, none since before `since`. */
static void release(size_t most, int64_t since)
{
    waiting out[WAITING_MAX];
    size_t n = 0;

    zc_mutex_lock(&pool.lock);
    while (pool.n > 0 && (pool.bytes > most || pool.pieces[0].since < since)) {
        out[n++] = take_out(0);
    }
    zc_mutex_unlock(&pool.lock);
    for (size_t i = 0; i < n; i++) {
        zc_pages_delete(out[i].piece, out[i].size);
    }
}

static void release_later(void)
{
    bool more = true;

    while (more) {
        zc_mutex_lock(&pool.lock);
        zc_cond_wait_for(&pool.never, &pool.lock, ZC_RECYCLED_NS);
        zc_mutex_unlock(&pool.lock);
        release(SIZE_MAX, zc_now_ns() - ZC_RECYCLED_NS);
        zc_mutex_lock(&pool.lock);
        more = pool.releasing = pool.n > 0;
        zc_mutex_unlock(&pool.lock);
    }
}

/* In a child of fork() pages are shared with the parent: to write to them costs more than new ones.  Whatever thread held the lock is
 * gone; pieces that it was moving are in the list, once or twice, or nobody's. */
static void forget(void)
{
    const size_t n = pool.n;

    atomic_fetch_add(&forks, 1);
    zc_mutex_init(&pool.lock);
    zc_cond_init(&pool.never);
    pool.n = pool.bytes = 0;
    pool.releasing = false;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || pool.pieces[i].piece != pool.pieces[i - 1].piece) {
            zc_pages_delete(pool.pieces[i].piece, pool.pieces[i].size);
        }
    }
}

void zc_recycled_limit(size_t most)
{
    static _Atomic int watches_forks;

    zc_at_fork_once(&watches_forks, forget);
    zc_mutex_lock(&pool.lock);
    if (!pool.ready) {
        zc_cond_init(&pool.never);
        pool.ready = true;
    }
    pool.most = most;
    zc_mutex_unlock(&pool.lock);
    release(most, INT64_MIN);
}

size_t zc_recycled_waiting(void)
{
    zc_mutex_lock(&pool.lock);
    const size_t bytes = pool.bytes;
    zc_mutex_unlock(&pool.lock);
    return bytes;
}

/* Take the smallest piece that waits of *size, or of up to a quarter more, and set *size to what it has; NULL: none. */
static void *take_waiting(size_t *size)
{
    size_t best = SIZE_MAX;
    waiting taken = {.piece = NULL, .size = *size};

    zc_mutex_lock(&pool.lock);
    for (size_t i = 0; i < pool.n; i++) {
        const size_t one = pool.pieces[i].size;
        if (one >= *size && one - *size <= *size / 4 && (best == SIZE_MAX || one < pool.pieces[best].size)) {
            best = i;
        }
    }
    if (best != SIZE_MAX) {
        taken = take_out(best);
    }
    zc_mutex_unlock(&pool.lock);
    *size = taken.size;
    return taken.piece;
}

void *zc_recycled_new(size_t n)
{
    size_t size;

    if (!zc_add_size(n, ZC_ALIGNMENT + ZC_HUGE_PAGE - 1, &size)) {
        return NULL;
    }
    size -= size % ZC_HUGE_PAGE;
    size = size > ZC_HUGE_FROM ? size : ZC_HUGE_FROM;
    head *piece = take_waiting(&size);
    if (piece == NULL && (piece = zc_pages_new(size)) == NULL) {
        return NULL;
    }
    *piece = (head){.size = size, .forks = atomic_load(&forks)};     /* again: the system may have taken the page */
    return (uint8_t *)piece + ZC_ALIGNMENT;
}

static head *head_of(const void *memory)
{
    return (head *)(uintptr_t)((const uint8_t *)memory - ZC_ALIGNMENT);
}

size_t zc_recycled_room(const void *memory)
{
    return head_of(memory)->size - ZC_ALIGNMENT;
}

/* Is there a thread that releases what waits?  It is started where there is none.  Under the lock. */
static bool will_be_released(void)
{
    pool.releasing = pool.releasing || zc_thread_start(release_later);
    return pool.releasing;
}

void zc_recycled_delete(void *memory)
{
    if (memory == NULL) {
        return;
    }
    head *const piece = head_of(memory);
    const size_t size = piece->size;
    const bool is_own = piece->forks == atomic_load(&forks);

    zc_mutex_lock(&pool.lock);
    const size_t most = pool.most;
    zc_mutex_unlock(&pool.lock);
    if (!is_own || size > most || !zc_pages_rest(piece, size)) {
        zc_pages_delete(piece, size);
        return;
    }
    release(most - size, INT64_MIN);       /* room for it */
    zc_mutex_lock(&pool.lock);
    const bool waits = pool.n < WAITING_MAX && pool.bytes + size <= pool.most && will_be_released();
    if (waits) {
        pool.pieces[pool.n++] = (waiting){piece, size, zc_now_ns()};
        pool.bytes += size;
    }
    zc_mutex_unlock(&pool.lock);
    if (!waits) {
        zc_pages_delete(piece, size);
    }
}
