/* SPDX-License-Identifier: MIT
 *
 * Reading and writing regions of an array: the place where plan, store, codec chain and threads meet.
 */
#ifndef ZC_ENGINE_ENGINE_H
#define ZC_ENGINE_ENGINE_H

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
#include "kernels/shard_index.h"

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

/* One call. */
typedef struct zc_call {
    const zc_array *array;
    const zc_store *store;
    const zc_selection *selection;   /* of the whole array */
    int threads;                     /* 0: the default */
    bool write_empty;                /* store chunks that hold nothing but the fill value */
    const zc_given *blocks;          /* writing: the values, if not in the selection's memory; NULL: there */
    zc_poll poll;
    void *poll_arg;
} zc_call;

/* Where a call failed. */
typedef struct zc_fault {
    bool in_chunk;                   /* chunk is known */
    int64_t chunk[ZC_MAX_DIMS];
} zc_fault;

/* the selection's memory <- array. */
zc_status zc_read(const zc_call *call, zc_fault *fault, zc_error *err);

/* array <- the selection's memory. */
zc_status zc_write(const zc_call *call, zc_fault *fault, zc_error *err);

/*
 * n reads as one job, on that many threads (0: the default); threads and poll of the calls mean nothing.  Calls on one
 * array share its zc_array and its store.  *failed_call is the number of the one that failed, SIZE_MAX if it is none.
 */
zc_status zc_read_many(const zc_call *calls, size_t n, int threads, zc_poll poll, void *poll_arg,
                       size_t *failed_call, zc_fault *fault, zc_error *err);

/* Read what is selected of a chunk that is absent: the fill value, or a failure where the array wants that. */
zc_status zc_read_absent(const zc_array *array, const zc_selection *selection, zc_workspace *ws, zc_error *err);

/* ---- the plan of a call: its work, chunk by chunk ---- */

typedef struct zc_plan {
    const zc_call *call;
    zc_span span[ZC_MAX_DIMS];
    zc_point_groups groups;          /* for points */
    const size_t *list;              /* where a mask leaves chunks out: the numbers of the others; NULL: all */
    size_t n_items;
    size_t key_size;                 /* bytes that any key needs, with its terminator */
    bool held;                       /* the store has begun a call, which zc_plan_close ends */
    zc_workspace *ws;                /* holds the lists, until zc_plan_close */
    int pushed;
} zc_plan;

zc_status zc_plan_open(const zc_call *call, zc_plan *plan, zc_error *err);
void zc_plan_close(zc_plan *plan);

/* Tell the store that the plan's chunks are going to be opened one by one, where there are so many that it pays. */
zc_status zc_plan_hold(zc_plan *plan, zc_error *err);

/* Set fault to the chunk of a failed item; to no chunk if the item's number is out of range. */
void zc_plan_blame(const zc_plan *plan, size_t item, zc_fault *fault);

/* The chunk of an item, its shape, and what is selected of it. */
void zc_plan_chunk(const zc_plan *plan, size_t item, int64_t *chunk);
bool zc_plan_selection(const zc_plan *plan, size_t item, const int64_t *chunk, int64_t *shape, zc_selection *out);

/* Write the key of a chunk to dst (plan->key_size bytes are enough). */
void zc_chunk_key(const zc_array *array, const int64_t *chunk, char *dst);

/* The same key as locks and generations know it. */
static inline void zc_array_key(const zc_array *array, const char *name, zc_key *out)
{
    zc_key_set(out, array->place, name + array->prefix_len);
}

size_t zc_chunk_key_size(const zc_array *array);

#define ZC_INDEX_CACHE_BYTES ((size_t)8 << 20)       /* for the indexes of an array */

/* ---- chunks (chunk_read.c, chunk_write.c, shard_read.c, index_read.c, shard_write.c) ---- */

typedef struct zc_scope zc_scope;

/* The functions for any chunk, declared below.  The files of shards, blocks and filtered arrays, whose inner chunks are
 * chunks again, reach them by this table: nothing calls the file that calls it. */
typedef struct zc_chunk_ops {
    zc_status (*read)(const zc_scope *scope, const zc_chain *chain, const int64_t *shape, const zc_selection *selection,
                      const zc_value *value, uint64_t offset, uint64_t nbytes, zc_workspace *ws, zc_error *err);
    zc_status (*decode)(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                        const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                        zc_workspace *ws, zc_error *err);
    zc_status (*write)(const zc_scope *scope, const zc_chain *chain, const int64_t *shape, const int64_t *bounds,
                       const zc_selection *selection, const zc_value *old, uint8_t *dst, size_t cap, size_t *written,
                       zc_workspace *ws, zc_error *err);
} zc_chunk_ops;

extern const zc_chunk_ops zc_any_chunk;

/* What stays the same from a chunk down to the inner chunks of its shards. */
struct zc_scope {
    const zc_call *call;
    const zc_chunk_ops *ops; /* &zc_any_chunk */
    const void *fill;
    bool split;              /* too few chunks for the threads: work on inner chunks in parallel */
    const zc_given *blocks;  /* the call's, down to the level of shards that they are for */
    bool collects;           /* dry run: nothing is decoded, what the value lacks is noted, see fetch_ranges.h */
    bool keeps_beyond;       /* what lies beyond the array, as the call knows it, may have been written by others */
};

/* Is the selection all that a chunk has to hold, so that nothing stays of an old one?  bounds: the extent of the array
 * in it. */
static inline bool zc_scope_covers(const zc_scope *scope, const zc_selection *selection, const int64_t *stored,
                                   const int64_t *bounds)
{
    return zc_selection_covers(selection, scope->keeps_beyond ? stored : bounds);
}

/* Can ranges of an encoded chunk be asked for?  Only of a shard that no codec wraps. */
static inline bool zc_has_ranges(const zc_chain *chain)
{
    return chain->sharded && chain->n_stages == 0;
}

/* Are so many of a shard's decoded bytes wanted that a remote store should send all of it at once? */
static inline bool zc_is_most(size_t wanted, size_t size)
{
    return wanted >= size / 2;
}

/*
 * Decode the elements of `selection` out of the encoded chunk at value[offset .. offset + nbytes).
 * shape is the chunk's, in memory order.  nbytes may be ZC_SIZE_UNKNOWN for a whole value of unknown
 * size.
 */
zc_status zc_chunk_read(const zc_scope *scope, const zc_chain *chain, const int64_t *shape,
                        const zc_selection *selection, const zc_value *value, uint64_t offset, uint64_t nbytes,
                        zc_workspace *ws, zc_error *err);

/* Is the chunk, decoded, to be looked for and kept in a cache? */
bool zc_chunk_is_cached(const zc_value *value, size_t decoded);

/*
 * All elements of a chunk that is no shard to dst[0..size), as its chain stores them: in stored order, not swapped.
 * stored is its shape.
 */
zc_status zc_chunk_decode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                          const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                          zc_workspace *ws, zc_error *err);

/* zc_chunk_read of a chunk for which zc_chunk_is_cached is true and whose chain is not sharded; its shape and the
 * selection are in stored order. */
zc_status zc_chunk_read_cached(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                               const zc_selection *selection, size_t decoded, const zc_value *value, uint64_t offset,
                               uint64_t nbytes, zc_workspace *ws, zc_error *err);

/* Place what is selected of a chunk of that shape, whose chain is not sharded, that a cache has. */
zc_status zc_cached_place(const zc_chain *chain, const int64_t *shape, const zc_selection *selection, zc_cached *entry,
                          zc_workspace *ws, zc_error *err);

/*
 * Undo the stages after a shard or a block at value[offset .. offset + nbytes): *bare is the chain without them and
 * its transposition, *out what it stands for, in memory.  *pushed scratch buffers more are open if that succeeds.
 */
zc_status zc_unwrap(const zc_chain *chain, int ndim, const int64_t *stored, const zc_value *value, uint64_t offset,
                    uint64_t nbytes, zc_chain *bare, zc_value *out, int *pushed, zc_workspace *ws, zc_error *err);

/* zc_chunk_read of a shard; its shape and the selection are in stored order. */
zc_status zc_shard_read(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                        const zc_selection *selection, const zc_value *value, uint64_t offset, uint64_t nbytes,
                        zc_workspace *ws, zc_error *err);

/*
 * Encode a chunk: the elements of `selection` from the caller's memory, all others from the old chunk
 * (old[0 .. old->size), NULL: the fill value).  bounds: the extent of the array inside the chunk (what lies
 * beyond is the fill value, unless the scope keeps it).  dst has the chain's bound of room.  *written is 0 if
 * nothing needs to be stored, because all elements equal the fill value and write_empty is off.
 */
zc_status zc_chunk_write(const zc_scope *scope, const zc_chain *chain, const int64_t *shape,
                         const int64_t *bounds, const zc_selection *selection, const zc_value *old, uint8_t *dst,
                         size_t cap, size_t *written, zc_workspace *ws, zc_error *err);

/*
 * A chunk that is given whole and whose stored bytes are its elements and nothing else, so that it can be stored
 * piece by piece.  zc_plain_open is false for others, and where pieces do not pay.
 */
typedef struct zc_plain {
    const zc_scope *scope;
    const zc_chain *chain;
    zc_selection selection;          /* in stored order */
    int64_t stored[ZC_MAX_DIMS];
    size_t size;                     /* bytes */
    zc_workspace *ws;
    uint8_t *buffer;                 /* of one piece and one item */
    size_t piece;
} zc_plain;

bool zc_plain_open(const zc_scope *scope, const zc_chain *chain, const int64_t *shape, const int64_t *bounds,
                   const zc_selection *selection, zc_plain *out);

/* Nothing but fill values, which the call does not want to store? */
bool zc_plain_is_empty(const zc_plain *plain);

/* Its bytes.  One scratch buffer is pushed if this succeeds. */
zc_status zc_plain_source(zc_plain *plain, zc_workspace *ws, zc_file_source *out, zc_error *err);

zc_status zc_shard_write(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                         const int64_t *bounds, const zc_selection *selection, const zc_value *old, uint8_t *dst,
                         size_t cap, size_t *written, zc_workspace *ws, zc_error *err);

/* Read and check the index of a shard that lies at value[offset .. offset + nbytes).  *out is in scratch
 * memory (*pushed grows) and has one extent for each inner chunk, relative to offset. */
zc_status zc_shard_index_read(const zc_chain *chain, size_t n, const zc_value *value, uint64_t offset,
                              uint64_t nbytes, const zc_extent **out, zc_workspace *ws, int *pushed,
                              zc_error *err);

/* The same from the array's cache, if it is there; *pin, where it is not NULL, is for zc_cached_let_go then. */
zc_status zc_shard_index_find(const zc_scope *scope, const zc_chain *chain, size_t n, const zc_value *value,
                              uint64_t offset, uint64_t nbytes, const zc_extent **out, zc_cached **pin, zc_workspace *ws,
                              int *pushed, zc_error *err);

/* Grid of the inner chunks of a shard as grid axes. */
void zc_inner_axes(const zc_chain *chain, int ndim, const int64_t *stored, zc_grid_axis *out);

#endif
