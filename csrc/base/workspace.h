/* SPDX-License-Identifier: MIT
 *
 * What one thread keeps between chunks: a stack of scratch buffers and the decompression
 * contexts of the linked libraries.  A workspace is used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define ZC_SCRATCH_DEPTH 128     /* buffers that may be open at once: a nested shard opens a handful */
#define ZC_CONTEXT_SLOTS 8       /* library contexts kept, see codecs/contexts.h */

typedef struct zc_scratch {
    void *data;
    size_t capacity;
    size_t wanted;                   /* the most that was asked for since the workspace was taken */
    uint64_t turn;                   /* when it was needed last; see zc_workspace_keep */
} zc_scratch;

typedef struct zc_workspace {
    zc_scratch scratch[ZC_SCRATCH_DEPTH];
    int depth;                       /* buffers that are open */
    int deepest;                     /* and that ever were at once */
    struct { void *context; void (*destroy)(void *); } contexts[ZC_CONTEXT_SLOTS];
    const _Atomic int *cancelled;     /* set while a job runs; see zc_workspace_cancelled */
    bool (*poll)(void *watch);       /* set on the thread that called for the job: asks whether to go on */
    void *watch;
    struct zc_workspace *next;       /* spare ones */
} zc_workspace;

zc_workspace *zc_workspace_new(void);          /* NULL when out of memory */
void zc_workspace_free(zc_workspace *ws);

/* The same for a while: one that was kept, or a new one; zc_pool_release closes its buffers and keeps it (NULL is none).
 * What is kept holds on to its scratch, as long as all spare ones together do not hold too much.  Any thread; a child of
 * fork() begins without spare ones. */
zc_workspace *zc_pool_borrow(zc_error *err);
void zc_pool_release(zc_workspace *ws);

/* Free the spare ones. */
void zc_pool_free_spares(void);

/* Open a buffer of at least n bytes (64-byte aligned, contents undefined).  It stays valid until
 * the matching pop; buffers are kept and reused.  NULL (with err filled) when out of memory. */
void *zc_scratch_push(zc_workspace *ws, size_t n, zc_error *err);
void zc_scratch_pop(zc_workspace *ws);

/* The same for `count` items of `size` bytes each, however many that are. */
void *zc_scratch_array(zc_workspace *ws, uint64_t count, size_t size, zc_error *err);

/* How many are open.  zc_scratch_release closes all that were opened since. */
static inline int zc_scratch_mark(const zc_workspace *ws)
{
    return ws->depth;
}

static inline void zc_scratch_release(zc_workspace *ws, int mark)
{
    ws->depth = mark;
}

/* The last n buffers. */
static inline void zc_pop(zc_workspace *ws, int n)
{
    while (n-- > 0) {
        zc_scratch_pop(ws);
    }
}

/*
 * True once the job that runs in this workspace was cancelled: long loops ask between pieces, each of some
 * milliseconds.  On the thread that called for the job this also asks the caller's poll when that is due, so
 * that an interrupt is answered in the middle of a long item.
 */
static inline bool zc_workspace_cancelled(const zc_workspace *ws)
{
    return (ws->cancelled != NULL && *ws->cancelled) || (ws->poll != NULL && ws->poll(ws->watch));
}
