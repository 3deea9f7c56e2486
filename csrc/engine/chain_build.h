/* SPDX-License-Identifier: MIT
 *
 * What is known of a chain while its links are compiled one after the other.
 *
 * chain_compile.c goes through the links and makes chains within chains (shards, N5 blocks); compile_stages.c adds codecs,
 * keeps their limits and chooses the kind of the chain; compile_filters.c follows what filters and reshaping make of the chunk and of the fill value.
 */
#pragma once

#include "engine/chain_compile.h"

/* What is known of the chunk after the links so far. */
typedef struct zc_build {
    zc_arena *arena;
    zc_error *err;
    zc_chain *chain;
    int depth;                       /* lists of links around this one, and itself */
    int n_arrays;                    /* arrays that filters have made */
    bool is_index;                   /* of a shard: one dimension of unsigned integers of 8 bytes */
    int ndim;                        /* -1: not known */
    bool has_shape;
    int64_t shape[ZC_MAX_DIMS];
    size_t item_size;                /* of the chain's items in memory */
    size_t made_size;                /* of the items that its filters make */
    const uint8_t *fill;             /* item_size bytes in memory of the arena */
    const zc_link *filters[ZC_MAX_STAGES];   /* those in chain->stages, as long as there is nothing else */
    zc_length lengths[ZC_MAX_DIMS];  /* `shape` in terms of the chain's stored dimensions */
    bool has_bytes;
    bool is_flat;                    /* only the order of the items is left of the chain's dimensions */
    bool is_reshaped;
} zc_build;

/* ---- compile_stages.c ---- */

/* Fail with a message that names the place of the link (NULL: none) in its document. */
ZC_PRINTF(4, 5)
zc_status zc_refuse(const zc_build *b, const zc_link *link, zc_status status, const char *format, ...);

zc_status zc_no_memory(const zc_build *b);
const char *zc_link_name(const zc_link *link);

/* Check the number of dimensions that a link lists; `what` names the list. */
zc_status zc_build_check_ndim(zc_build *b, const zc_link *link, const char *what);

/* Begin a chain of its own for what lies inside of the chunk, or comes after it. */
zc_status zc_build_inside(const zc_build *b, zc_build *out);

/* Add a codec to the chain, within the limits of depth and number. */
zc_status zc_build_add_stage(zc_build *b, const zc_link *link, const zc_codec *codec);

/* Add the codec that makes bytes of the items, and swaps their words. */
zc_status zc_build_items(zc_build *b, const zc_link *link);

/* Set `ops` of a chain whose other members are set, and `bare` where it needs one, in memory of the arena; false without
 * memory.  The one place that asks which kind a chain is. */
bool zc_chain_choose_kind(zc_chain *chain, zc_arena *arena);

/* ---- compile_filters.c ---- */

/* Array -> array codecs. */
zc_status zc_build_transposition(zc_build *b, const zc_link *link);
zc_status zc_build_reshaping(zc_build *b, const zc_link *link);
zc_status zc_build_filter(zc_build *b, const zc_link *link);

/* From here on the links are those of the array that the filters so far make. */
zc_status zc_build_filtered_array(zc_build *b, const zc_link *link);

/* Before shards: leave the filters to each inner chunk where they take item by item and keep the fill value; else they make
 * an array. */
zc_status zc_build_place_filters(zc_build *b, const zc_link *link);
