/* SPDX-License-Identifier: MIT
 *
 * Filters before shards, blocks and transpositions: what they make becomes an array with a chain of its own, and
 * their fill value that of the array.
 */
#include <string.h>

#include "document/codecs.h"

zc_status zc_codecs_inside(const zc_codecs *c, const zc_node *node, zc_codecs *out)
{
    *out = (zc_codecs){.doc = c->doc, .ndim = c->ndim, .depth = c->depth + 1, .bodies = c->bodies, .flow = c->flow,
                       .is_filtered = c->is_filtered, .item_size = c->flow.size, .fill = c->fill};
    memcpy(out->axes, c->axes, sizeof out->axes);
    for (int d = 0; d < c->ndim; d++) {
        out->lengths[d].axes = (uint64_t)1 << d;
    }
    out->chain = zc_document_alloc(c->doc, sizeof *out->chain);
    return out->chain != NULL ? ZC_OK : zc_document_no_memory(node);
}

/* Compute one item after the chain's filter number s from `before`, the item before it. */
static zc_status filtered_fill(const zc_codecs *c, int s, const uint8_t *before, size_t n, uint8_t *out, size_t cap,
                               size_t *written, zc_workspace *ws, zc_error *err)
{
    const zc_codec *const stage = &c->chain->stages[s];
    zc_status status = zc_stages_bound(stage, 1, n, written, err);

    if (status == ZC_OK && *written > cap) {
        status = zc_fail(err, ZC_ERR_ARGUMENT, "a filter makes items of %zu bytes, more than the %zu supported here",
                         *written, cap);
    }
    if (status != ZC_OK) {
        return status;
    }
    switch (c->fills[s]) {
    case ZC_FILL_ENCODED:
        return zc_codec_encode(stage, ws, before, n, out, cap, written, err);
    case ZC_FILL_ZERO:
        *written = strcmp(stage->cls->name, "packbits") == 0 ? 1 : *written;
        memset(out, 0, *written);
        return ZC_OK;
    default:
        memcpy(out, before, n);
        *written = n;
        return ZC_OK;
    }
}

enum { NUMBER_MAX = 32 };    /* bytes of an item that filters take or make, and more */

/* The fill value behind all filters; filters only take items that are numbers. */
static zc_status final_fill(const zc_codecs *c, uint8_t *out, size_t *n, zc_workspace *ws, zc_error *err)
{
    uint8_t before[NUMBER_MAX];
    zc_status status = ZC_OK;

    memcpy(out, c->fill, c->item_size);
    *n = c->item_size;
    for (int s = 0; s < c->chain->n_stages && status == ZC_OK; s++) {
        const size_t size = *n;
        memcpy(before, out, size);
        status = filtered_fill(c, s, before, size, out, NUMBER_MAX, n, ws, err);
    }
    return status;
}

/* The same in memory of the document; without filters, that of the array. */
static zc_status make_fill(const zc_codecs *c, const zc_node *codec, const uint8_t **out)
{
    uint8_t fill[NUMBER_MAX];
    size_t n = 0;
    zc_error err;

    *out = c->fill;
    if (c->chain->n_stages == 0) {
        return ZC_OK;
    }
    if (c->item_size > NUMBER_MAX) {
        return zc_node_fail(codec, "filters of items of %zu bytes are not supported here", c->item_size);
    }
    zc_error_clear(&err);
    zc_workspace *const ws = zc_pool_borrow(&err);
    zc_status status = ws != NULL ? final_fill(c, fill, &n, ws, &err) : ZC_ERR_MEMORY;
    if (ws != NULL) {
        zc_pool_release(ws);
    }
    if (status == ZC_OK && n != c->flow.size) {
        return zc_node_fail(codec, "the filters before it do not take items of the data type");
    }
    if (status != ZC_OK) {
        return zc_node_fail(codec, "the fill value cannot be encoded: %s", err.message);
    }
    uint8_t *const kept = zc_document_alloc(c->doc, n);
    if (kept == NULL) {
        return zc_document_no_memory(codec);
    }
    *out = memcpy(kept, fill, n);
    return ZC_OK;
}

zc_status zc_codecs_keep_fill(const zc_codecs *c, const zc_node *codec, bool *out)
{
    const zc_chain *const chain = c->chain;
    const uint8_t *made;
    uint8_t bytes[NUMBER_MAX];
    size_t n = 0;
    zc_error err;
    zc_status status = make_fill(c, codec, &made);

    *out = false;
    if (status != ZC_OK) {
        return status;
    }
    zc_error_clear(&err);
    zc_workspace *const ws = zc_pool_borrow(&err);
    if (ws == NULL) {
        return zc_document_no_memory(codec);
    }
    status = zc_stages_encode(chain->stages, chain->n_stages, c->fill, c->item_size, bytes, sizeof bytes, &n, ws, &err);
    bool keeps = status == ZC_OK && n == c->flow.size && memcmp(bytes, made, n) == 0;
    if (keeps) {
        status = zc_stages_decode(chain->stages, chain->n_stages, made, n, bytes, c->item_size, &n, ws, &err);
        keeps = status == ZC_OK && n == c->item_size && memcmp(bytes, c->fill, n) == 0;
    }
    zc_pool_release(ws);
    *out = keeps;
    return ZC_OK;
}

zc_status zc_codecs_start_body(zc_codecs *c, const zc_node *codec)
{
    zc_body *const body = zc_document_alloc(c->doc, sizeof *body);
    zc_codecs behind;
    const uint8_t *fill = NULL;

    if (body == NULL) {
        return zc_document_no_memory(codec);
    }
    if (c->bodies == ZC_CODECS_BODIES_MAX) {
        return zc_node_fail(codec, "more filters and transpositions in turn than are supported");
    }
    zc_status status = make_fill(c, codec, &fill);
    status = status == ZC_OK ? zc_codecs_inside(c, codec, &behind) : status;
    if (status != ZC_OK) {
        return status;
    }
    *body = (zc_body){.chain = behind.chain, .ndim = c->ndim, .fill = fill};
    memcpy(body->lengths, c->lengths, sizeof c->lengths);
    c->chain->item = (zc_item){.size = c->item_size};
    c->chain->body = body;
    behind.depth = c->depth;
    behind.bodies = c->bodies + 1;
    behind.fill = fill;
    behind.has_array_bytes = c->has_array_bytes;
    memcpy(behind.stored, c->stored, sizeof behind.stored);
    *c = behind;
    return ZC_OK;
}
