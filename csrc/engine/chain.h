/* SPDX-License-Identifier: MIT
 *
 * A codec chain, compiled: how the bytes of one chunk become its elements.
 *
 *     memory --(transpose, byte swap: one fused pass)--> stored elements --stages--> stored bytes
 *
 * or, for a sharded array, the sharding codec in the place of the stored elements, with a chain of
 * its own for inner chunks and one for the index (zarr v3 spec, "sharding_indexed").
 */
#ifndef ZC_ENGINE_CHAIN_H
#define ZC_ENGINE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codecs/codec.h"
#include "kernels/region.h"

#define ZC_MAX_STAGES 16

typedef struct zc_chain zc_chain;

struct zc_chain {
    zc_item item;                    /* fields point into swap_fields */
    const zc_swap_field *swap_fields;
    int order_ndim;                  /* 0: C order */
    int order[ZC_MAX_DIMS];          /* stored dimension i is memory dimension order[i] */
    int n_stages;
    zc_codec stages[ZC_MAX_STAGES];  /* in the order of encoding */

    bool sharded;
    int shard_ndim;
    int64_t inner_shape[ZC_MAX_DIMS];/* stored order, when sharded */
    const zc_chain *inner;
    const zc_chain *index;
    bool index_at_start;
};

/* Bytes of a chunk of that shape when decoded; false on overflow. */
bool zc_chain_decoded_size(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out);

/* Most bytes that the chain can make of a chunk of that shape. */
zc_status zc_chain_bound(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out, zc_error *err);

/* Bytes behind which an encoded value cannot be honest, however badly its writer compressed; values
 * beyond are refused before memory is taken for them. */
size_t zc_chain_plausible_size(const zc_chain *chain, size_t decoded);

/* Elements of a shape in stored order: out[i] = shape[order[i]]. */
void zc_chain_stored_shape(const zc_chain *chain, int ndim, const int64_t *shape, int64_t *out);

/* Bytes of the encoded index of n inner chunks; ZC_ERR_ARGUMENT if the index chain's size is not fixed. */
zc_status zc_chain_index_size(const zc_chain *chain, size_t n, size_t *out, zc_error *err);

/* Number of inner chunks in a shard of that stored shape; false on overflow or if it is not a multiple. */
bool zc_chain_inner_grid(const zc_chain *chain, int ndim, const int64_t *stored_shape, int64_t *grid,
                         size_t *n);

/*
 * Undo stages n_stages-1 down to first_stage of src.  *out is the result: inside of src where nothing had
 * to be decoded, else in one of *pushed scratch buffers that the caller pops (none after a failure).
 * `decoded` is the chunk's size.
 */
zc_status zc_chain_unstage(const zc_chain *chain, int first_stage, const uint8_t *src, size_t n,
                           size_t decoded, zc_workspace *ws, const uint8_t **out, size_t *out_n,
                           int *pushed, zc_error *err);

/* Undo all stages of src into dst[0..decoded), which must come out full. */
zc_status zc_chain_unstage_into(const zc_chain *chain, const uint8_t *src, size_t n, uint8_t *dst,
                                size_t decoded, zc_workspace *ws, zc_error *err);

/* ZC_ERR_SIZE unless n is the size that the chunk must have. */
zc_status zc_chain_check_size(uint64_t n, size_t decoded, zc_error *err);

/* Apply all stages to src[0..n) and put the result at dst[0..cap); cap >= the chain's bound. */
zc_status zc_chain_stage_into(const zc_chain *chain, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                              size_t *written, zc_workspace *ws, zc_error *err);

#endif
