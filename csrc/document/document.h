/* SPDX-License-Identifier: MIT
 *
 * Metadata documents of arrays, zarr.json and .zarray, as what the engine needs to know.
 *
 * A subset of what the Python package reads: regular grids, the core data types of fixed size, the codecs
 * of the engine.  Everything else is refused by name.
 */
#ifndef ZC_DOCUMENT_DOCUMENT_H
#define ZC_DOCUMENT_DOCUMENT_H

#include "document/json.h"
#include "engine/engine.h"

#define ZC_ITEM_MAX 64       /* bytes of one element: r<N> up to 512 bits */

/* A data type of fixed size, in memory in the byte order of the machine. */
typedef struct zc_dtype {
    char kind;               /* b, i, u, f, c, V as numpy has them */
    size_t size;
    uint32_t word;           /* bytes of what has a byte order; 0: nothing has */
    char typestr[16];
} zc_dtype;

/* Chains are reached by pointers, so they must not move. */
typedef struct zc_chain_cell {
    zc_chain chain;
    struct zc_chain_cell *next;
} zc_chain_cell;

typedef struct zc_document {
    zc_array array;
    zc_dtype dtype;
    uint8_t fill[ZC_ITEM_MAX];
    zc_chain_cell *cells;    /* everything that zc_document_free frees */
} zc_document;

/* Parse a document into an empty (all zero) one.  After a failure too, zc_document_free gives memory back. */
zc_status zc_document_v3(zc_document *doc, const zc_node *root);
zc_status zc_document_v2(zc_document *doc, const zc_node *root);
void zc_document_free(zc_document *doc);

/* ---- parts -------------------------------------------------------------------------------------- */

/* Is this machine big-endian? */
static inline bool zc_big_endian(void)
{
    const uint16_t probe = 1;
    return *(const uint8_t *)&probe == 0;
}

/* A data type by its name in format 3, or by its string in format 2 (with its byte order, '|' where it
 * has none). */
zc_status zc_dtype_v3(const zc_node *node, zc_dtype *out);
zc_status zc_dtype_v2(const zc_node *node, zc_dtype *out, char *byte_order);

/* The item of an element that is stored in that byte order. */
zc_item zc_dtype_item(const zc_dtype *dtype, bool big_endian);

/* The fill value of an array as dtype->size bytes. lenient: the spellings of format 2, with null as
 * zeros. */
zc_status zc_fill_value(const zc_node *node, const zc_dtype *dtype, bool lenient, uint8_t *out);

/* A new chain, NULL when out of memory. */
zc_chain *zc_document_chain(zc_document *doc);

/* The codecs of format 3 for chunks of that shape; the compressor of format 2 as the only stage. */
zc_status zc_codecs_v3(zc_document *doc, const zc_node *node, const zc_dtype *dtype, int ndim,
                       const int64_t *shape, zc_chain *out);
zc_status zc_compressor_v2(const zc_node *node, const zc_dtype *dtype, zc_chain *out);

/* One bytes -> bytes codec; *known is false if there is none of that name, and nothing has been set then. */
zc_status zc_stage_v3(const zc_node *codec, const char *name, const zc_node *configuration,
                      const zc_dtype *dtype, zc_codec *out, bool *known);

/* Shape and chunk shape, with checks of what follows from both. */
zc_status zc_document_grid(zc_document *doc, const zc_node *shape, const zc_node *chunks);

#endif
