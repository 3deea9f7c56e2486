/* SPDX-License-Identifier: MIT
 *
 * A codec chain, compiled: how the bytes of one chunk become its elements.
 *
 * Every chain is of one kind, chosen once by zc_chain_compile.  chain->ops are its functions, and nothing else asks
 * which kind it is:
 *
 *     plain      the stored bytes are the elements; transposing and swapping bytes are one pass
 *     staged     elements that went through bytes -> bytes codecs, the stages
 *     shard      inner chunks and their index, with a chain for each (zarr v3 spec, "sharding_indexed")
 *     n5_block   a header and the elements, with a chain of their own (extension "n5_default")
 *     filtered   the stages are filters, all of fixed size; what they make is an array with a chain of its own
 *     wrapped    a shard or an N5 block whose bytes went through stages
 *
 * Each kind is one file with a table of functions; a new kind is a new file, and a line in chain_compile.c that
 * chooses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codecs/stages.h"
#include "kernels/region.h"

/* Codecs within codecs, and data types within data types: the Python package has the same limit. */
#define ZC_DEPTH_MAX 16

typedef struct zc_chain zc_chain;
typedef struct zc_chain_ops zc_chain_ops;        /* engine/chunk.h */

/* A length of the array that filters make of a chunk. */
typedef struct zc_length {
    int64_t fixed;                   /* this; 0: the product of `axes`; -1: what is left over, once at most */
    uint64_t axes;                   /* stored dimensions of the chunk, a bit for each */
} zc_length;

/* That array. */
typedef struct zc_filtered_array {
    const zc_chain *chain;
    int ndim;
    zc_length lengths[ZC_MAX_DIMS];
    const void *fill;                /* one item, as it lies in memory: for inner chunks that its shards lack */
} zc_filtered_array;

struct zc_chain {
    const zc_chain_ops *ops;
    zc_item item;
    int order_ndim;                  /* 0: C order */
    int order[ZC_MAX_DIMS];          /* stored dimension i is memory dimension order[i] */
    int n_stages;
    zc_codec stages[ZC_MAX_STAGES];  /* in the order of encoding */
    const zc_codec *blocks;          /* staged: the innermost stage, if it has blocks that are decoded by themselves */

    bool sharded;                    /* a shard, wrapped or not, and so the members up to index_at_start are set (inner_size
                                      * by zc_chain_choose_kind) */
    int shard_ndim;
    int64_t inner_shape[ZC_MAX_DIMS];/* in stored order */
    size_t inner_size;               /* decoded bytes of an inner chunk; ZC_SIZE_MAX if they do not fit into memory */
    const zc_chain *inner;
    const zc_chain *index;
    bool index_at_start;

    const zc_chain *block;           /* N5 blocks: the chain of their elements, with the same item */
    const zc_filtered_array *filtered;
    const zc_chain *bare;            /* wrapped: the same chain without stages and transposition */
};

/* Bytes of a chunk of that shape when decoded; false on overflow. */
bool zc_chain_decoded_size(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out);

/* Elements of a shape in stored order: out[i] = shape[order[i]]. */
void zc_chain_stored_shape(const zc_chain *chain, int ndim, const int64_t *shape, int64_t *out);

/* Most bytes that the chain can make of a chunk of that shape. */
zc_status zc_chain_bound(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out, zc_error *err);

/* Most bytes that an encoding of a chunk of that shape can have, whoever made it; ZC_SIZE_MAX if nobody can say. */
size_t zc_chain_most(const zc_chain *chain, int ndim, const int64_t *shape);

/* Refuse what exceeds chain->ops->plausible, before memory is taken for it. */
zc_status zc_chain_check_plausible(const zc_chain *chain, uint64_t nbytes, size_t decoded, zc_error *err);

/* ZC_ERR_SIZE unless n is the size that the chunk must have. */
zc_status zc_chain_check_size(uint64_t n, size_t decoded, zc_error *err);

/* Undo all stages of src into dst[0..decoded), which must come out full. */
zc_status zc_chain_unstage_into(const zc_chain *chain, zc_bytes src, uint8_t *dst, size_t decoded, zc_workspace *ws,
                                zc_error *err);

/* ---- lengths (reshape.c) ---- */

/* Count the items of a chunk; false on overflow. */
bool zc_lengths_count(const int64_t *shape, int ndim, int64_t *out);

/* Compute n lengths, of `items` items in all, from those of a chunk.  ZC_ERR_ARGUMENT if the rules do not allow that.  Where
 * the shape is not known (NULL) only the rules are checked, and *out is not useful. */
zc_status zc_lengths_make(const zc_length *rules, int n, int ndim, const int64_t *shape, int64_t items, int64_t *out,
                          zc_error *err);

/* The same for a reshaped chunk, which has all items of the chunk in the same order. */
zc_status zc_reshape_lengths(const zc_length *rules, int n, int ndim, const int64_t *shape, int64_t *out,
                             zc_error *err);

/* ---- shards ---- */

/* Bytes of the encoded index of n inner chunks; ZC_ERR_ARGUMENT if the index chain's size is not fixed. */
zc_status zc_chain_index_size(const zc_chain *chain, size_t n, size_t *out, zc_error *err);

/* Number of inner chunks in a shard of that stored shape, along each dimension and in all. */
zc_status zc_chain_inner_grid(const zc_chain *chain, int ndim, const int64_t *stored, int64_t *grid, size_t *n,
                              zc_error *err);
