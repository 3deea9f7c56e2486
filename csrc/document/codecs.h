/* SPDX-License-Identifier: MIT
 *
 * The parser of the codecs of format 3: what it knows of the chunk behind the codecs that it has read.
 */
#ifndef ZC_DOCUMENT_CODECS_H
#define ZC_DOCUMENT_CODECS_H

#include "document/document.h"

#define ZC_CODECS_BODIES_MAX 4       /* arrays inside of arrays; the engine keeps memory open for each */

/* What a filter makes of the fill value, where shards lack inner chunks behind it. */
typedef enum zc_filtered_fill { ZC_FILL_STAYS, ZC_FILL_ENCODED, ZC_FILL_ZERO } zc_filtered_fill;

typedef struct zc_codecs {
    zc_document *doc;
    int ndim;
    int depth;                       /* lists of codecs around this one, and itself */
    int bodies;
    bool is_index;                   /* of a shard: items are unsigned integers of 8 bytes */
    int64_t stored[ZC_MAX_DIMS];     /* shape behind the codecs so far */
    int axes[ZC_MAX_DIMS];           /* the array's dimension that each of it is, or -1 */
    zc_chain *chain;
    size_t item_size;                /* bytes of an item that the chain begins with, in memory */
    const uint8_t *fill;             /* such an item, for what is not stored; NULL for the index */
    zc_flow flow;                    /* the items behind the codecs so far */
    bool is_filtered;                /* filters have made other items of those of the data type, or looked into them */
    bool has_array_bytes;
    bool is_flat;                    /* of the chain's dimensions only the order of the items is left */
    bool is_reshaped;
    zc_length lengths[ZC_MAX_DIMS];  /* what `stored` is, in terms of the chain's stored dimensions */
    zc_filtered_fill fills[ZC_MAX_STAGES];   /* what each stage of the chain, all of them filters so far, does */
} zc_codecs;

/* Parse a list of codecs for chunks of that shape. */
zc_status zc_codecs_parse(zc_codecs *c, const zc_node *node, const int64_t *shape);

/* Complain of a list of codecs inside of too many others. */
zc_status zc_codecs_too_deep(const zc_node *node);

/* A parser for what lies inside of a chunk or behind it, which begins where c has come to; its chain is new. */
zc_status zc_codecs_inside(const zc_codecs *c, const zc_node *node, zc_codecs *out);

/* ---- reshape (reshape.c) ---- */

zc_status zc_codecs_reshape(zc_codecs *c, const zc_node *codec, const zc_node *configuration);

/* ---- arrays of their own (bodies.c) ---- */

/* From here on the codecs are those of what the filters so far have made. */
zc_status zc_codecs_start_body(zc_codecs *c, const zc_node *codec);

/* Do the chain's filters bring the fill value back, so that each inner chunk of a shard may go through them alone? */
zc_status zc_codecs_keep_fill(const zc_codecs *c, const zc_node *codec, bool *out);

/* ---- codecs that hold others (nested.c) ---- */

zc_status zc_codecs_block(zc_codecs *c, const zc_node *codec, const zc_node *configuration);

/* One codec of bytes, of numcodecs too; *known as for zc_stage_v3. */
zc_status zc_codecs_stage(zc_codecs *c, const zc_node *codec, const char *name, const zc_node *configuration,
                          zc_codec *out, bool *known);

#endif
