/* SPDX-License-Identifier: MIT
 *
 * Reading one chunk: all that the calls of a job want of it.
 */
#pragma once

#include <stdatomic.h>

#include "engine/ahead.h"
#include "engine/fetch_ranges.h"
#include "engine/wants.h"

typedef struct zc_read_job {
    zc_wants wants;
    int threads;
    zc_threads worth;                /* where chunks are opened by their keys */
    bool split;
    zc_cache *shared;                /* for chunks that several calls want; NULL: none is */
    atomic_bool *absent;             /* for each call: a chunk was */
    zc_poll poll;
    void *poll_arg;
    size_t first;                    /* the items being read now begin here ... */
    zc_fetched *fetched;             /* ... and this has been fetched of them; NULL: each is opened */
    zc_value *lent;                  /* or these are their values, in memory; of those that are absent without data */
    const size_t *order;             /* which of them are read now; NULL: all */
    size_t *later;                   /* room for those that another thread decodes into the cache now; NULL: they are waited for */
    atomic_size_t n_later;
    zc_ahead *ahead;                 /* where reading ahead may pay; NULL: it does not */
} zc_read_job;

/* Read an item of the job, which is the task of a run: of those from job->first on, or of job->order. */
zc_status zc_read_item(void *job, size_t item, zc_workspace *ws, zc_error *err);

/* zc_announce: have the system bring the value of an item into memory. */
bool zc_read_announce(void *job, size_t item, uint64_t *size);

/* The key of an item, counted from job->first; there is room for it at `key`. */
void zc_read_key(const zc_read_job *job, size_t item, char *key);

/* Prepare an item, counted from job->first, of a batch that is fetched together, whose key has room at `key`; returns roughly
 * how many bytes of memory it takes. */
size_t zc_read_prepare(zc_read_job *job, size_t item, char *key, zc_fetched *out);

/* The first pass of zc_fetch_open: list what all calls want of a value. */
zc_status zc_read_list(void *job, const zc_fetched *item, const zc_value *value, bool *more, zc_error *err);
