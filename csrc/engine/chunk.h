/* SPDX-License-Identifier: MIT
 *
 * Single chunks: the functions that each kind of chain has, and what they work on.
 */
#pragma once

#include "base/arith.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "kernels/shard_index.h"

/* What a call on a chunk needs besides the chunk, down to the inner chunks of its shards.  Each thread has its own. */
typedef struct zc_context {
    const zc_call *call;
    const void *fill;
    bool split;              /* too few chunks for the threads: work on inner chunks in parallel; else with threads that are lent */
    bool prefetch;           /* decode into the cache, and place nothing */
    bool tries;              /* find out whether the chunk can be decoded: nobody looks at what is placed */
    bool keeps_beyond;       /* what lies beyond the array, as the call knows it, may have been written by others */
    const zc_given *blocks;  /* the call's, down to the level of shards that they are for */
    zc_workspace *ws;
    zc_error *err;
} zc_context;

/* The same for the work of one thread. */
static inline zc_context zc_context_on(const zc_context *ctx, zc_workspace *ws, zc_error *err)
{
    zc_context own = *ctx;

    own.ws = ws;
    own.err = err;
    return own;
}

/* The bytes of a value in memory: its own, or a copy in scratch memory. */
static inline zc_status zc_bytes_of(const zc_context *ctx, const zc_value *from, zc_bytes *out)
{
    out->n = (size_t)from->size;
    return zc_value_view(from, 0, from->size, ctx->ws, &out->data, ctx->err);
}

/* A chunk, or an inner chunk. */
typedef struct zc_chunk {
    const zc_chain *chain;
    int ndim;
    const int64_t *shape;    /* in memory order for zc_chunk_read and zc_chunk_write, in stored order for ops */
    const int64_t *bounds;   /* writing: the extent of the array in the chunk, in the same order */
    const zc_selection *selection;   /* what is read or written of it, in the same order */
    size_t size;             /* decoded bytes; set for ops */
} zc_chunk;

/*
 * What a kind of chain does.  Shapes, bounds and selections are in stored order.  A kind that decodes and encodes whole
 * chunks has zc_elements_read and zc_elements_write as `read` and `write`.
 */
struct zc_chain_ops {
    /* Decode the elements of the selection to its memory.  The chunk is not in a cache. */
    zc_status (*read)(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from);

    /* List (zc_fetch_wants) which ranges of a value `read` will ask for.  If they follow from an index that has not been
     * fetched yet, list that, and set *more: there is more to list once it is there.  NULL: all of the value. */
    zc_status (*list)(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, bool *more);

    /* All elements to dst[0 .. chunk->size), as the chain stores them: not swapped.  NULL: chunks are read, and kept in
     * caches, by their inner chunks. */
    zc_status (*decode)(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst);

    /* Encode the elements of the selection from its memory, all others from the old chunk (NULL: the fill value).  What
     * lies beyond the bounds is the fill value, unless the context keeps it.  out->cap is the chain's bound at least. */
    zc_status (*write)(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out);

    /* Encode all elements, as the chain stores them.  NULL where `write` does not need it. */
    zc_status (*encode)(const zc_context *ctx, const zc_chunk *chunk, const uint8_t *elements, zc_output *out);

    /* zc_chain_bound of a chunk of `decoded` bytes; upper bound of a plausible encoded size, however badly its writer
     * compressed. */
    zc_status (*bound)(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, size_t *out,
                       zc_error *err);
    size_t (*plausible)(const zc_chain *chain, size_t decoded);

    bool is_plain;           /* the stored bytes are the elements */
    bool holds_chunk;        /* a chunk of another chain is decoded for each */
};

extern const zc_chain_ops zc_plain_ops, zc_staged_ops, zc_shard_ops, zc_n5_block_ops, zc_filtered_ops, zc_wrapped_ops,
    zc_wrapped_shard_ops;

/* n chunks are decoded, unless others that lie in them are. */
static inline void zc_chunks_count(const zc_chain_ops *ops, int64_t n)
{
    if (ops->decode != NULL && !ops->holds_chunk) {
        zc_metric_add(ZC_METRIC_CHUNKS, (uint64_t)n);
    }
}

/* Does the selection cover all that the chunk has to hold, so that nothing of an old one stays? */
static inline bool zc_chunk_is_covered(const zc_context *ctx, const zc_chunk *chunk)
{
    return zc_selection_covers(chunk->selection, ctx->keeps_beyond ? chunk->shape : chunk->bounds);
}

/* How many threads n parts of a chunk, nbytes in all, are worth, be there more or fewer, to decode or encode; 1: the others are all
 * busy, too.  chain: of each of them. */
int zc_part_threads(const zc_context *ctx, const zc_chain *chain, size_t n, size_t nbytes, bool encode);

/* Are the elements of a call so few that to copy them is not worth several threads? */
bool zc_copies_alone(const zc_call *call);

/* Decode the elements of the selection out of a value, or a part of one, through the cache that the value's origin names. */
zc_status zc_chunk_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from);

/* A chunk in the call's cache, if that trusts in it without a look at its file (read_kept.c); *sight is set where it may. */
zc_cached *zc_find_kept(const zc_call *call, const zc_key *key, const char *name, zc_sight *sight);

/* Read a region that lies in such chunks.  False: there is more to do, and its memory may be partly filled. */
bool zc_read_kept(const zc_call *call, zc_status *status, zc_error *err);

/* ops->list for a chunk in memory order. */
zc_status zc_chunk_list(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, bool *more);

/*
 * Encode a chunk: the elements of the selection from the caller's memory, all others from the old chunk (NULL: the fill
 * value).  out->cap is the chain's bound at least.  out->written is 0 if nothing needs to be stored, because all
 * elements equal the fill value and write_empty is off.
 */
zc_status zc_chunk_write(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out);

/* Place the selected elements of a chunk all of which lie at data, as its chain stores them. */
zc_status zc_chunk_place(const zc_context *ctx, const zc_chunk *chunk, const void *data);

/* ops->read and ops->write by ops->decode and ops->encode of all of the chunk. */
zc_status zc_elements_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from);
zc_status zc_elements_write(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out);

/* All elements of a chunk in stored order. */
static inline zc_elements zc_elements_all(const zc_chunk *chunk, const void *data)
{
    const zc_item *item = &chunk->chain->item;

    return (zc_elements){chunk->shape, item, 0, (int64_t)(chunk->size / item->size), (char *)data};
}

/* zc_chunk_place for shape and selection in stored order. */
static inline zc_status zc_elements_place(const zc_context *ctx, const zc_chunk *chunk, const void *data)
{
    const zc_elements all = zc_elements_all(chunk, data);

    return zc_selection_scatter(chunk->selection, &all, ctx->ws, ctx->err);
}

/* Set elements at dst[0..size) to the fill value, as the chain stores it. */
zc_status zc_elements_fill(const zc_context *ctx, const zc_chain *chain, uint8_t *dst, size_t size);

/* ---- kinds of chains (staged_read.c, shard_read.c, shard_write.c; the tables: each kind's file) ---- */

zc_status zc_plain_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from);
zc_status zc_staged_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from);

/* Where decoding a chunk can stop, because nothing after it is selected: at its size where that is not worth it, or its codec
 * cannot; and a read of it up to there.  *done stays false if the value has to be decoded as a whole (read_start.c). */
size_t zc_decoding_end(const zc_context *ctx, const zc_chunk *chunk);
zc_status zc_chunk_read_start(const zc_context *ctx, const zc_chunk *chunk, const zc_encoded *encoded, bool *done);
zc_status zc_staged_decode(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst);
zc_status zc_shard_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from);
zc_status zc_shard_list(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, bool *more);
zc_status zc_shard_write(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out);

/*
 * A chunk that is given whole and whose stored bytes are its elements and nothing else, so that it can be stored
 * piece by piece.  zc_plain_open is false for others, and where pieces do not pay.
 */
typedef struct zc_plain {
    const zc_context *ctx;
    zc_chunk chunk;                  /* in stored order */
    zc_selection selection;          /* in stored order */
    int64_t stored[ZC_MAX_DIMS];
    uint8_t *buffer;                 /* of one piece and one item */
    size_t piece;
} zc_plain;

bool zc_plain_open(const zc_context *ctx, const zc_chunk *chunk, zc_plain *out);

/* Its bytes; *empty: nothing but fill values, which the call does not want to store.  One scratch buffer is pushed if this
 * succeeds. */
zc_status zc_plain_source(zc_plain *plain, zc_file_source *out, bool *empty);

/* ---- indexes of shards (shard_layout.c) ---- */

/* Where the index of n inner chunks lies; its offset is ZC_SIZE_UNKNOWN if it is the end of a value of unknown size. */
zc_status zc_shard_index_place(const zc_chain *chain, size_t n, const zc_value *from, zc_extent *out, zc_error *err);

/* Read and check the index of a shard.  *out is in scratch memory and has one extent for each of n inner chunks, relative
 * to the value. */
zc_status zc_shard_index_read(const zc_context *ctx, const zc_chain *chain, size_t n, const zc_value *from,
                              const zc_extent **out);

/* The same from the array's cache, if it is there; *pin, where it is not NULL, is for zc_cached_let_go then. */
zc_status zc_shard_index_find(const zc_context *ctx, const zc_chain *chain, size_t n, const zc_value *from,
                              const zc_extent **out, zc_cached **pin);

/* Say in which inner chunk a fault lies; the outermost level of nested shards has the last word. */
static inline zc_status zc_blame_inner(zc_status status, size_t number, zc_error *err)
{
    if (status != ZC_OK && err != NULL) {
        err->in_shard = true;
        err->inner_chunk = number;
    }
    return status;
}

/* Grid of the inner chunks of a shard as grid axes. */
void zc_inner_axes(const zc_chain *chain, int ndim, const int64_t *stored, zc_grid_axis *out);
