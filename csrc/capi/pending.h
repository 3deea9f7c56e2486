/* SPDX-License-Identifier: MIT
 *
 * Values on their way to an array: what has been given of chunks that are not stored yet, and the table of them.
 * docs/architecture.md has the place of its locks in the order of all.
 */
#pragma once

#include <stdatomic.h>

#include "base/os_thread.h"
#include "engine/engine.h"

#define ZC_PENDING_BUCKETS 256

/* One chunk: the part of it that lies in the array, and which of its elements were given. */
typedef struct zc_pending {
    struct zc_pending *next, **bucket;
    struct zc_pending *newer, *older;
    int users;
    zc_key key;                              /* to lock; what follows is used under this lock alone */
    bool linked;                             /* not stored yet: whoever waited for the lock may need a new one */
    bool write_empty;
    size_t size, item_size;                  /* bytes of memory; of an element */
    size_t n_given, n_elements;
    int ndim;
    const int64_t *chunk, *start, *shape;
    char *values;                            /* C-contiguous, and one byte of mask for each element */
    uint8_t *mask;
} zc_pending;

typedef struct zc_buffer {
    zc_mutex lock;                           /* of all below but the atomic ones */
    zc_pending *buckets[ZC_PENDING_BUCKETS];
    zc_pending *newest, *oldest;
    size_t nbytes;
    atomic_size_t limit, n;                  /* bytes; chunks that are pending */
    atomic_uint forks;
    zc_place place;                          /* of the locks */
} zc_buffer;

void zc_buffer_begin(zc_buffer *buffer, uint64_t number);

/* Nobody may be using it any more; what is pending is lost. */
void zc_buffer_end(zc_buffer *buffer);

/* In a child of fork() a buffer is empty: what is pending is the parent's.  To be called before anything else. */
void zc_buffer_follow_fork(zc_buffer *buffer);

/* Bytes of memory for a chunk; false if it does not fit into the address space. */
bool zc_pending_size(const zc_array *array, const int64_t *chunk, size_t *out);

/* What is pending of a chunk, or NULL.  zc_pending_let_go must follow. */
zc_pending *zc_pending_find(zc_buffer *buffer, const zc_array *array, const int64_t *chunk);

/* The same, made if it is missing.  NULL when out of memory. */
zc_pending *zc_pending_take(zc_buffer *buffer, const zc_array *array, const int64_t *chunk);
void zc_pending_let_go(zc_buffer *buffer, zc_pending *pending);

/* The one that was not given values for longest, if all together have more bytes than that, or NULL. */
zc_pending *zc_pending_oldest(zc_buffer *buffer, size_t most);

/* All chunks with elements of a region, or (NULL) all.  *out is an array to be freed, each of which to be let go. */
zc_status zc_pending_touched(zc_buffer *buffer, const zc_selection *region, zc_pending ***out, size_t *n, zc_error *err);

/* It has been stored; called under its lock. */
void zc_pending_unlink(zc_buffer *buffer, zc_pending *pending);

/* ---- under the lock of the chunk ---- */

/* Take over what a region of the array, in memory, has of the chunk. */
void zc_pending_put(zc_pending *pending, const zc_selection *region);

/* Lay what was given over what was read. */
void zc_pending_overlay(const zc_pending *pending, const zc_selection *region);

/* What is to be written, all or only what was given. */
void zc_pending_selection(const zc_pending *pending, zc_selection *out, zc_window *window);
