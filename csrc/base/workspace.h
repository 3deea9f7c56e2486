/* SPDX-License-Identifier: MIT
 *
 * What one thread keeps between chunks: a stack of scratch buffers and the decompression
 * contexts of the linked libraries.  A workspace is used by one thread at a time.
 */
#ifndef ZC_BASE_WORKSPACE_H
#define ZC_BASE_WORKSPACE_H

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

/* The same for a while: one that was kept, or a new one.  What is kept holds on to its
 * scratch, as long as all spare ones together do not hold too much.  Any thread. */
zc_workspace *zc_workspace_take(void);
void zc_workspace_keep(zc_workspace *ws);

/* In a child process, where another thread of the parent may have been in the middle of taking one. */
void zc_workspace_forget_spares(void);

/* Open a buffer of at least n bytes (64-byte aligned, contents undefined).  It stays valid until
 * the matching pop; buffers are kept and reused.  NULL (with err filled) when out of memory. */
void *zc_scratch_push(zc_workspace *ws, size_t n, zc_error *err);
void zc_scratch_pop(zc_workspace *ws);

/* The same for `count` items of `size` bytes each, however many that are. */
void *zc_scratch_array(zc_workspace *ws, uint64_t count, size_t size, zc_error *err);

/* The last n buffers. */
static inline void zc_pop(zc_workspace *ws, int n)
{
    while (n-- > 0) {
        zc_scratch_pop(ws);
    }
}

/* Enlarge the buffer opened last to n bytes and keep its first `used` bytes.  May move it. */
void *zc_scratch_grow(zc_workspace *ws, size_t used, size_t n, zc_error *err);

/*
 * True once the job that runs in this workspace was cancelled: long loops ask between pieces, each of some
 * milliseconds.  On the thread that called for the job this also asks the caller's poll when that is due, so
 * that an interrupt is answered in the middle of a long item.
 */
static inline bool zc_workspace_cancelled(const zc_workspace *ws)
{
    return (ws->cancelled != NULL && *ws->cancelled) || (ws->poll != NULL && ws->poll(ws->watch));
}

#endif
