/* SPDX-License-Identifier: MIT
 *
 * Reading and writing regions of an array: the place where plan, store, codec chain and threads meet.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"
#include "engine/cache.h"
#include "engine/chain.h"
#include "engine/grid.h"
#include "engine/keys.h"
#include "engine/selection.h"
#include "engine/store.h"

/* How chunk coordinates become keys: "c/1/2" (default), "1.2" (v2), or "2/1" (v2, reversed: that of N5). */
typedef struct zc_key_encoding {
    bool v2;
    bool reversed;
    char separator;
} zc_key_encoding;

/* What one array is: fixed once it has been opened. */
typedef struct zc_array {
    int ndim;
    zc_grid_axis grid[ZC_MAX_DIMS];
    const zc_chain *chain;
    const void *fill;        /* one item as it lies in the caller's memory */
    bool missing_is_error;   /* a chunk that is absent is a failure (ZC_ERR_MISSING), not the fill value */
    zc_key_encoding keys;
    const char *prefix;      /* of all keys, "" or "foo/bar/" */
    size_t prefix_len;
    const zc_place *place;   /* where the directory of the prefix really is: locks and generations know keys by that */
    zc_cache *indexes;       /* of its shards; NULL: none are kept */
    zc_cache *cache;         /* of its decoded chunks; NULL: there is none */
    uint64_t number;         /* of the array in the cache, see zc_cache_array */
} zc_array;

/* Values gathered for one chunk, by inner chunk: C-contiguous memory of the inner chunk's whole shape.  `values` is NULL
 * for one that is not written to; mask has a byte for each element that is not 0 where it is given, NULL: all are. */
typedef struct zc_given_block {
    const char *values;
    const uint8_t *mask;
} zc_given_block;

typedef struct zc_given {
    const zc_given_block *at;        /* one for each inner chunk of the shard, in stored order */
    int64_t stride[ZC_MAX_DIMS];     /* bytes, of each stored dimension of a block's memory */
    bool complete;                   /* every element of the array in the shard is given */
} zc_given;

/* A chunk whose lock another process had when a call wanted it; is_set: there was one.  The first that is found. */
typedef struct zc_met {
    atomic_bool is_set;
    int64_t chunk[ZC_MAX_DIMS];
} zc_met;

/* Chunks that are read whole and decoded, each into memory that is used again for the next one, to find out whether they can
 * be.  One that cannot is noted, and ends nothing. */
typedef struct zc_trial {
    const int64_t *chunks;           /* their places in the grid, ndim numbers each */
    size_t n;
    int64_t *sizes;                  /* out: bytes of each value (0 where the store does not tell), or one of these */
    uint8_t *parts;                  /* NULL, or out (local stores): nothing is decoded, but of each value so many bytes are */
    size_t part_nbytes;              /*   read, its first ones or its last ones; one without as many counts as damaged */
    bool last;
} zc_trial;

#define ZC_CHUNK_ABSENT (-1)
#define ZC_CHUNK_DAMAGED (-2)

/* One call. */
typedef struct zc_call {
    const zc_array *array;
    const zc_store *store;
    const zc_selection *selection;   /* of the whole array */
    int threads;                     /* 0: the default */
    bool write_empty;                /* store chunks that hold nothing but the fill value */
    bool prefetch;                   /* zc_read: decode chunks into the array's cache, and copy nothing to memory */
    const zc_given *blocks;          /* writing: the values, if not in the selection's memory; NULL: there */
    zc_met *met;                     /* writing: where to note it; NULL: nowhere */
    const zc_trial *trial;           /* zc_read: decode these, in place of a selection, which is as large; or NULL */
    bool (*is_pending)(const void *pending, const int64_t *chunk);   /* zc_read: a chunk that is absent because it is */
    const void *pending;             /*   still to be stored is no failure, even where missing_is_error; or NULL */
    zc_poll poll;
    void *poll_arg;
} zc_call;

/* Where a call failed. */
typedef struct zc_fault {
    bool in_chunk;                   /* chunk is known */
    int64_t chunk[ZC_MAX_DIMS];
    size_t call;                     /* zc_read_many: the number of the call; SIZE_MAX if it is none of them */
} zc_fault;

/* the selection's memory <- array. */
zc_status zc_read(const zc_call *call, zc_fault *fault, zc_error *err);

/* array <- the selection's memory. */
zc_status zc_write(const zc_call *call, zc_fault *fault, zc_error *err);

/*
 * n reads as one job, on that many threads (0: the default); threads and poll of the calls mean nothing.  Calls on one
 * array share its zc_array and its store.
 */
zc_status zc_read_many(const zc_call *calls, size_t n, int threads, zc_poll poll, void *poll_arg, zc_fault *fault,
                       zc_error *err);

/* How many threads something is worth: see `most` and `item_ns` of zc_run. */
typedef struct zc_threads {
    int n, most;
    double item_ns;
    bool split;              /* fewer items than threads: several may share one */
} zc_threads;

/* Of the reads of n chunks, or the write of them; threads: what the caller said, 0 the default. */
zc_threads zc_read_threads(const zc_call *calls, size_t n_calls, size_t n, int threads);
zc_threads zc_write_threads(const zc_call *call, size_t n);

/* Is a read that finds its values in memory over at once, on one thread?  Then it waits for nothing that another thread holds for
 * longer than a moment: no lock of a key, no cache. */
bool zc_read_is_short(const zc_call *call);

/* ---- the plan of a call: its work, chunk by chunk ---- */

typedef struct zc_plan {
    const zc_call *call;
    zc_span span[ZC_MAX_DIMS];
    zc_point_groups groups;          /* for points */
    const size_t *list;              /* where a mask leaves chunks out: the numbers of the others; NULL: all */
    size_t n_items;
    bool held;                       /* the store has begun a call, which zc_plan_close ends */
    zc_workspace *ws;                /* holds the lists, until zc_plan_close */
} zc_plan;

zc_status zc_plan_open(const zc_call *call, zc_plan *plan, zc_error *err);
void zc_plan_close(zc_plan *plan);

/* Announce to the store that the plan's chunks will be opened one by one, if there are enough of them to pay. */
zc_status zc_plan_hold(zc_plan *plan, zc_error *err);

/* The chunk of an item, its shape, and what is selected of it. */
void zc_plan_chunk(const zc_plan *plan, size_t item, int64_t *chunk);
bool zc_plan_selection(const zc_plan *plan, size_t item, const int64_t *chunk, int64_t *shape, zc_selection *out);

/* Write the key of a chunk to dst (zc_chunk_key_size bytes are enough). */
void zc_chunk_key(const zc_array *array, const int64_t *chunk, char *dst);

/* The same key as locks and generations know it. */
static inline void zc_array_key(const zc_array *array, const char *name, zc_key *out)
{
    zc_key_set(out, array->place, name + array->prefix_len);
}

size_t zc_chunk_key_size(const zc_array *array);

#define ZC_INDEX_CACHE_BYTES ((size_t)8 << 20)       /* for the indexes of an array */
