/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                      /* madvise */
#endif

#include "base/workspace.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "base/arith.h"
#include "base/counts.h"
#include "base/memory.h"
#include "check.h"
#include "codecs/contexts.h"
#include "threads.h"

static zc_error err;

#ifdef __SANITIZE_ADDRESS__
static const bool is_watched = true;         /* all memory is from its own allocator */
#else
static const bool is_watched = false;
#endif

static bool aligned(const void *p)
{
    return p != NULL && (uintptr_t)p % 64 == 0;
}

static void push_and_pop(void)
{
    zc_workspace *ws = zc_workspace_new();
    uint8_t *a = zc_scratch_push(ws, 1000, &err);
    uint8_t *b = zc_scratch_push(ws, 0, &err);
    uint8_t *c = zc_scratch_push(ws, 7, &err);

    CHECK(aligned(a) && aligned(b) && aligned(c) && ws->depth == 3);
    CHECK(a != b && b != c);
    memset(a, 1, 1000);
    memset(c, 2, 7);
    CHECK(a[999] == 1 && c[0] == 2);
    zc_scratch_pop(ws);
    zc_scratch_pop(ws);
    CHECK(zc_scratch_push(ws, 1, &err) == b);            /* kept */
    zc_scratch_pop(ws);
    zc_scratch_pop(ws);
    CHECK(ws->depth == 0);
    CHECK(zc_scratch_push(ws, 1000, &err) == a);
    zc_workspace_free(ws);
}

static void a_little_more_is_kept(void)
{
    zc_workspace *ws = zc_workspace_new();
    const void *a = zc_scratch_push(ws, 100000, &err);

    zc_scratch_pop(ws);
    CHECK(zc_scratch_push(ws, 105000, &err) == a);
    zc_workspace_free(ws);
}

static void refusals(void)
{
    zc_workspace *ws = zc_workspace_new();

    zc_error_clear(&err);
    CHECK(zc_scratch_push(ws, SIZE_MAX, &err) == NULL && err.status == ZC_ERR_MEMORY);
    zc_error_clear(&err);
    CHECK(zc_scratch_array(ws, (uint64_t)1 << 61, 8, &err) == NULL && err.status == ZC_ERR_MEMORY);
    CHECK(zc_realloc_array(NULL, (uint64_t)1 << 61, 8) == NULL && zc_alloc_array(UINT64_MAX, SIZE_MAX) == NULL);
    CHECK(zc_scratch_push(ws, ZC_SIZE_MAX, &err) == NULL && ws->depth == 0);
    CHECK(zc_scratch_push(ws, 10, &err) != NULL);
    zc_scratch_pop(ws);
    zc_scratch_pop(ws);                                  /* one too many does no harm */
    CHECK(ws->depth == 0);
    for (int i = 0; i < ZC_SCRATCH_DEPTH; i++) {
        CHECK(zc_scratch_push(ws, 1, &err) != NULL);
    }
    CHECK(zc_scratch_push(ws, 1, &err) == NULL);
    zc_workspace_free(ws);
    zc_workspace_free(NULL);
}

static size_t kept(const zc_workspace *ws)
{
    size_t total = 0;

    for (int i = 0; i < ZC_SCRATCH_DEPTH; i++) {
        total += ws->scratch[i].capacity;
    }
    return total;
}

enum { MIB = 1 << 20, MANY = 6 };

/* A job with so many workspaces, each with one buffer of n bytes and a small one, which a failed task leaves open. */
static void job(int number, size_t n)
{
    zc_workspace *held[MANY];

    for (int i = 0; i < number; i++) {
        held[i] = zc_pool_borrow(NULL);
        CHECK(zc_scratch_push(held[i], n, &err) != NULL);
        CHECK(zc_scratch_push(held[i], 1000, &err) != NULL);
    }
    for (int i = 0; i < number; i++) {
        zc_pool_release(held[i]);
    }
}

/* Bytes of all spare workspaces, at most MANY, which stay in the order in which they were kept. */
static size_t held_by_spares(void)
{
    zc_workspace *held[MANY];
    size_t total = 0;

    for (int i = 0; i < MANY; i++) {
        held[i] = zc_pool_borrow(NULL);
        CHECK(held[i]->depth == 0);
        total += kept(held[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        zc_pool_release(held[i]);
    }
    return total;
}

static void drop_spares(void)
{
    for (int i = 0; i < MANY; i++) {
        zc_workspace_free(zc_pool_borrow(NULL));
    }
}

/* Of buffers of two shards, all is kept; of those of many threads only so much for each. */
static void spares(void)
{
    job(2, 14 * MIB);
    CHECK(held_by_spares() >= 28 * (size_t)MIB);
    job(MANY, 14 * MIB);
    const size_t total = held_by_spares();
    CHECK(total >= 40 * (size_t)MIB && total <= 60 * (size_t)MIB);
    drop_spares();
}

/* The next one that a job had: not one with little, which may lie on the shelf of this thread. */
static zc_workspace *borrow_used(void)
{
    zc_workspace *small[MANY], *ws;
    int n = 0;

    while (kept(ws = zc_pool_borrow(NULL)) <= 256 << 10 && n < MANY) {
        small[n++] = ws;
    }
    while (n > 0) {
        zc_pool_release(small[--n]);
    }
    return ws;
}

/* What the last jobs needed stays where an earlier one left much, in the same workspace or in others. */
static void what_is_not_needed_goes_first(void)
{
    zc_workspace *a, *b;

    job(MANY, 9 * MIB);
    for (int round = 0; round < 3; round++) {
        a = borrow_used();
        b = borrow_used();
        zc_scratch *const large = &a->scratch[2];
        CHECK(round == 0 || (large->capacity >= 15 * (size_t)MIB && b->scratch[2].capacity >= 15 * (size_t)MIB));
        for (int i = 0; i < 3; i++) {
            CHECK(zc_scratch_push(a, i == 2 ? 15 * MIB : 1, &err) != NULL);
            CHECK(zc_scratch_push(b, i == 2 ? 15 * MIB : 1, &err) != NULL);
        }
        zc_pool_release(b);
        zc_pool_release(a);
        CHECK(held_by_spares() <= 60 * (size_t)MIB);
    }
    drop_spares();
}

static void *borrow_small(void *arg)
{
    zc_workspace **const out = arg;

    for (int i = 0; i < 2; i++) {
        zc_workspace *const ws = zc_pool_borrow(NULL);
        CHECK(zc_scratch_push(ws, 1000, &err) != NULL);
        CHECK(i == 0 || ws == *out);
        *out = ws;
        zc_pool_release(ws);
    }
    return NULL;
}

/* A thread takes the small workspace again that it has handed back, whatever others do meanwhile; a large one, and that of a thread
 * which does nothing, is for everybody. */
static void small_ones_stay_with_their_thread(void)
{
    test_thread thread;
    zc_workspace *own, *others = NULL, *ws;

    zc_pool_free_spares();
    own = zc_pool_borrow(NULL);
    thread_start(&thread, borrow_small, &others);
    thread_join(&thread);
    CHECK(others != own);
    zc_pool_release(own);
    ws = zc_pool_borrow(NULL);
    CHECK(ws == own);
    CHECK(zc_scratch_push(ws, MIB, &err) != NULL);
    zc_pool_release(ws);
    thread_start(&thread, borrow_small, &others);
    thread_join(&thread);
    CHECK(others == own);
    zc_pool_free_spares();
    thread_start(&thread, borrow_small, &others);
    thread_join(&thread);
    ws = zc_pool_borrow(NULL);
    CHECK(ws == others);                 /* of a thread that has ended: no other is made for each */
    zc_pool_release(ws);
    zc_pool_free_spares();
}

/* Large buffers come in huge pages, where there are such, and those that fit stay between jobs. */
static void large_buffers_take_few_pages(void)
{
    FILE *const huge = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    static const struct { size_t n, pages, again; } buffers[] = {
        {50 * MIB, 28, 28}, {33 * MIB, 18, 0}, {18 * MIB, 10, 0}, {3 * MIB, 1000, 0}, {1000, 0, 0},
    };

    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        drop_spares();
        for (int round = 0; round < 2; round++) {
            zc_counts_reset();
            zc_workspace *ws = zc_pool_borrow(NULL);
            uint8_t *data = zc_scratch_push(ws, buffers[i].n, &err);
            CHECK(aligned(data));
            data[0] = data[buffers[i].n - 1] = 1;
            zc_pool_release(ws);
            const size_t pages = zc_counted(ZC_COUNT_PAGES), most = round == 0 ? buffers[i].pages : buffers[i].again;
            CHECK(pages <= (huge != NULL || most == 0 ? most : buffers[i].n / 3000));
            CHECK(!ZC_ASSERTIONS || is_watched || (pages > 0) == (most > 0));
        }
    }
    drop_spares();
    if (huge != NULL) {
        fclose(huge);
    }
}

#ifdef __linux__
/* Does the system use huge pages where `inside` is? */
static bool may_be_huge(const void *inside)
{
    FILE *const maps = fopen("/proc/self/smaps", "r");
    unsigned long long begin, end;
    char line[400];
    bool here = false, found = false;

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2) {
            here = (uintptr_t)inside >= begin && (uintptr_t)inside < end;
        }
        found |= here && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static void large_values_are_in_huge_pages(void)
{
    uint8_t *const large = zc_memory_new(8 * MIB), *const small = zc_memory_new(MIB);
    uint8_t *const pages = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(large != NULL && small != NULL && pages != MAP_FAILED);
    madvise(pages, 8 * MIB, MADV_HUGEPAGE);
    CHECK(may_be_huge(large + 4 * MIB) == may_be_huge(pages));           /* some systems have none, or do not say */
    CHECK(is_watched || !may_be_huge(small));
    munmap(pages, 8 * MIB);
    zc_memory_delete(large);
    zc_memory_delete(small);
}
#endif

static int destroyed;
static int a_context;

static void *make(void)
{
    return &a_context;
}

static void *make_nothing(void)
{
    return NULL;
}

static void destroy(void *context)
{
    CHECK(context == &a_context);
    destroyed++;
}

static void contexts(void)
{
    zc_workspace *ws = zc_workspace_new();

    CHECK(zc_context_get(ws, ZC_CONTEXT_INFLATE, make_nothing, destroy, &err) == NULL);
    CHECK(err.status == ZC_ERR_MEMORY);
    CHECK(zc_context_get(ws, ZC_CONTEXT_INFLATE, make, destroy, &err) == &a_context);
    CHECK(zc_context_get(ws, ZC_CONTEXT_INFLATE, make_nothing, destroy, &err) == &a_context);
    CHECK(zc_context_get(ws, ZC_CONTEXT_DEFLATE, make, destroy, &err) == &a_context);
    zc_context_drop(ws, ZC_CONTEXT_DEFLATE);
    zc_context_drop(ws, ZC_CONTEXT_DEFLATE);
    CHECK(destroyed == 1);
    zc_workspace_free(ws);
    CHECK(destroyed == 2);
}

static void cancelled(void)
{
    zc_workspace *ws = zc_workspace_new();
    _Atomic int flag = 0;

    CHECK(!zc_workspace_cancelled(ws));
    ws->cancelled = &flag;
    CHECK(!zc_workspace_cancelled(ws));
    flag = 1;
    CHECK(zc_workspace_cancelled(ws));
    zc_workspace_free(ws);
}

int main(void)
{
    RUN(push_and_pop);
    RUN(a_little_more_is_kept);
    RUN(refusals);
    RUN(spares);
    RUN(what_is_not_needed_goes_first);
    RUN(small_ones_stay_with_their_thread);
    RUN(large_buffers_take_few_pages);
#ifdef __linux__
    RUN(large_values_are_in_huge_pages);
#endif
    RUN(contexts);
    RUN(cancelled);
    return check_report("workspace");
}
