/* SPDX-License-Identifier: MIT
 *
 * From a description of codecs to the chain that the engine runs (chain.h).
 *
 * Whoever reads metadata, in Python or in C, translates each codec by itself into one or two links.  How the codecs
 * combine is decided here: which filters go with the chunk, with each inner chunk, or make an array with a
 * chain of its own; what becomes of the fill value; where bytes are swapped; how transpositions are composed; and all
 * limits.
 */
#pragma once

#include "base/arena.h"
#include "engine/chain.h"

#define ZC_FILTERED_ARRAYS_MAX 4     /* arrays that filters make, one within the other: each keeps memory open */
#define ZC_FILTER_ITEM_MAX 32        /* bytes of an item that a filter before another array takes or makes */

typedef enum zc_link_kind {
    ZC_LINK_TRANSPOSE,       /* array -> array */
    ZC_LINK_RESHAPE,         /* the same items in the same order */
    ZC_LINK_FILTER,          /* other items, made by a codec that zc_codec_class.filter describes */
    ZC_LINK_BYTES,           /* array -> bytes: the items, with words swapped */
    ZC_LINK_SHARDS,
    ZC_LINK_N5_BLOCK,
    ZC_LINK_STAGE            /* bytes -> bytes */
} zc_link_kind;

/* What a filter makes of the fill value, for inner chunks that shards after it lack. */
typedef enum zc_fill_rule {
    ZC_FILL_KEPT,            /* the same bytes */
    ZC_FILL_ENCODED,         /* what the filter makes of it */
    ZC_FILL_ZERO,
    ZC_FILL_GIVEN            /* zc_link.fill */
} zc_fill_rule;

typedef struct zc_link zc_link;

typedef struct zc_links {
    const zc_link *at;
    size_t n;
} zc_links;

struct zc_link {
    zc_link_kind kind;
    const char *where;               /* place of the codec in its document, for messages; NULL: without one */
    zc_codec codec;                  /* filters and stages; what it points to must outlive the chain */
    zc_fill_rule fill_rule;          /* filters */
    const void *fill;                /* ZC_FILL_GIVEN: fill_size bytes */
    size_t fill_size;
    zc_item item;                    /* ZC_LINK_BYTES: `word` or `fields` to swap; the size is not used */
    int n;                           /* dimensions that the members below list */
    const int64_t *order;            /* ZC_LINK_TRANSPOSE: stored dimension i is dimension order[i]; NULL: reversed */
    const zc_length *lengths;        /* ZC_LINK_RESHAPE, in terms of the dimensions before it */
    const int64_t *inner_shape;      /* ZC_LINK_SHARDS */
    bool index_at_start;
    zc_links inner, index;           /* ZC_LINK_SHARDS; a block of N5 has `inner` alone */
};

/* The codecs of an array. */
typedef struct zc_chain_description {
    zc_links links;
    size_t item_size;                /* bytes of an element in memory */
    const void *fill;                /* an element; NULL: zero bytes */
    int ndim;                        /* of a chunk; -1: as many as the links say */
    const int64_t *shape;            /* of the longest chunk; NULL: then lengths are checked by zc_chain_bound only */
} zc_chain_description;

/*
 * Compile a description into memory of the arena.  The description itself is not needed afterwards; what its codecs
 * point to is.
 *
 * ZC_ERR_ARGUMENT for codecs that cannot be together, ZC_ERR_UNSUPPORTED for those that exceed what the engine takes.
 */
zc_status zc_chain_compile(const zc_chain_description *description, zc_arena *arena, const zc_chain **out,
                           zc_error *err);
