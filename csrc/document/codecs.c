/* SPDX-License-Identifier: MIT
 *
 * The codecs of format 3: transpose, bytes or sharding_indexed, then bytes -> bytes codecs
 * (zarr v3 specification, "Codecs"; "Sharding codec").
 */
#include <string.h>

#include "document/document.h"

#define DEPTH_MAX 8          /* shards inside of shards */

/* What is being parsed. */
typedef struct codecs {
    zc_document *doc;
    const zc_dtype *dtype;
    int ndim;
    int depth;
    int64_t stored[ZC_MAX_DIMS];     /* shape after the transpositions so far */
    zc_chain *chain;
    bool has_array_bytes;
} codecs;

static zc_status parse(codecs *c, const zc_node *node, const int64_t *shape);

static zc_status add_transpose(codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"order", NULL};
    const zc_node order = zc_node_member(configuration, "order");
    int64_t step[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    int composed[ZC_MAX_DIMS];
    uint64_t seen = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && c->has_array_bytes) {
        status = zc_node_fail(codec, "\"transpose\" cannot follow a codec that makes bytes");
    }
    if (status == ZC_OK) {
        status = zc_node_ints(&order, c->ndim, 0, c->ndim - 1, step);
    }
    if (status != ZC_OK) {
        return status;
    }
    memcpy(shape, c->stored, sizeof shape);
    for (int d = 0; d < c->ndim; d++) {
        if (seen & (uint64_t)1 << step[d]) {
            return zc_node_fail(&order, "expected a permutation");
        }
        seen |= (uint64_t)1 << step[d];
        composed[d] = c->chain->order_ndim > 0 ? c->chain->order[step[d]] : (int)step[d];
        c->stored[d] = shape[step[d]];
    }
    memcpy(c->chain->order, composed, (size_t)c->ndim * sizeof composed[0]);
    c->chain->order_ndim = c->ndim;
    return ZC_OK;
}

static zc_status add_bytes(codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"endian", NULL};
    static const char *const orders[] = {"little", "big", NULL};
    const zc_node endian = zc_node_member(configuration, "endian");
    int which = zc_big_endian();
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && endian.value != NULL) {
        status = zc_node_choice(&endian, orders, &which);
    } else if (status == ZC_OK && c->dtype->word != 0) {
        status = zc_node_fail(codec, "configuration.endian is required for items of more than one byte");
    }
    c->chain->item = zc_dtype_item(c->dtype, which == 1);
    return status;
}

static zc_status parse_index(codecs *c, const zc_node *node)
{
    static const zc_dtype uint64 = {.kind = 'u', .size = 8, .word = 8};
    codecs index = {.doc = c->doc, .dtype = &uint64, .ndim = 1, .depth = DEPTH_MAX};
    const int64_t shape[1] = {2};
    size_t size;
    zc_error err;

    index.chain = zc_document_chain(c->doc);
    if (index.chain == NULL) {
        return zc_fail(node->json->err, ZC_ERR_MEMORY, "out of memory");
    }
    zc_status status = parse(&index, node, shape);
    if (status != ZC_OK) {
        return status;
    }
    if (index.chain->order_ndim > 0) {
        return zc_node_fail(node, "a transposed shard index is not supported");
    }
    /* The engine takes a word here as "big-endian", whatever the machine is. */
    index.chain->item.word = (index.chain->item.word != 0) != zc_big_endian() ? 8 : 0;
    c->chain->index = index.chain;
    zc_error_clear(&err);
    status = zc_chain_index_size(c->chain, 1, &size, &err);
    return status == ZC_OK ? ZC_OK : zc_node_fail(node, "%s", err.message);
}

static zc_status add_shards(codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};
    static const char *const locations[] = {"end", "start", NULL};
    const zc_node chunk_shape = zc_node_member(configuration, "chunk_shape");
    const zc_node inner_codecs = zc_node_member(configuration, "codecs");
    const zc_node index_codecs = zc_node_member(configuration, "index_codecs");
    const zc_node location = zc_node_member(configuration, "index_location");
    zc_chain *const chain = c->chain;
    int where = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && c->depth >= DEPTH_MAX) {
        status = zc_node_fail(codec, "shards cannot be here");
    }
    if (status == ZC_OK) {
        status = zc_node_ints(&chunk_shape, c->ndim, 1, INT64_MAX, chain->inner_shape);
    }
    for (int d = 0; d < c->ndim && status == ZC_OK; d++) {
        if (c->stored[d] % chain->inner_shape[d] != 0) {
            status = zc_node_fail(&chunk_shape, "%lld does not divide the shard's %lld",
                                  (long long)chain->inner_shape[d], (long long)c->stored[d]);
        }
    }
    if (status == ZC_OK && location.value != NULL) {
        status = zc_node_choice(&location, locations, &where);
    }
    if (status != ZC_OK) {
        return status;
    }
    chain->item.size = c->dtype->size;
    chain->sharded = true;
    chain->shard_ndim = c->ndim;
    chain->index_at_start = where == 1;
    codecs inner = {.doc = c->doc, .dtype = c->dtype, .ndim = c->ndim, .depth = c->depth + 1};
    inner.chain = zc_document_chain(c->doc);
    if (inner.chain == NULL) {
        return zc_fail(codec->json->err, ZC_ERR_MEMORY, "out of memory");
    }
    chain->inner = inner.chain;
    status = parse(&inner, &inner_codecs, chain->inner_shape);
    return status == ZC_OK ? parse_index(c, &index_codecs) : status;
}

static zc_status add_stage(codecs *c, const zc_node *codec, const char *name, const zc_node *configuration)
{
    bool known;

    if (c->chain->n_stages == ZC_MAX_STAGES) {
        return zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    const zc_status status = zc_stage_v3(codec, name, configuration, c->dtype,
                                         &c->chain->stages[c->chain->n_stages], &known);
    if (status == ZC_OK && !known) {
        return zc_node_fail(codec, "the codec \"%.60s\" is not supported", name);
    }
    if (status == ZC_OK && !c->has_array_bytes) {
        return zc_node_fail(codec, "\"%.60s\" needs a codec before it that makes bytes", name);
    }
    c->chain->n_stages++;
    return status;
}

static zc_status add_codec(codecs *c, const zc_node *codec)
{
    static const char *const members[] = {"name", "configuration", "must_understand", NULL};
    static const cJSON nothing = {.type = cJSON_Object};
    const zc_node named = zc_node_member(codec, "name");
    zc_node configuration = zc_node_member(codec, "configuration");
    const bool shorthand = zc_node_is_string(codec);
    const char *name;
    zc_status status = shorthand ? ZC_OK : zc_node_object(codec);

    if (status == ZC_OK && !shorthand) {
        status = zc_node_members(codec, members, false);
    }
    if (status == ZC_OK) {
        status = zc_node_string(shorthand ? codec : &named, &name);
    }
    if (status == ZC_OK && configuration.value != NULL) {
        status = zc_node_object(&configuration);
    }
    if (status != ZC_OK) {
        return status;
    }
    if (configuration.value == NULL) {
        configuration.value = &nothing;
    }
    const bool is_bytes = strcmp(name, "bytes") == 0, is_shards = strcmp(name, "sharding_indexed") == 0;
    if (strcmp(name, "transpose") == 0) {
        return add_transpose(c, codec, &configuration);
    }
    if ((is_bytes || is_shards) && c->has_array_bytes) {
        return zc_node_fail(codec, "a second codec that makes bytes of an array");
    }
    c->has_array_bytes |= is_bytes || is_shards;
    if (is_bytes) {
        return add_bytes(c, codec, &configuration);
    }
    return is_shards ? add_shards(c, codec, &configuration) : add_stage(c, codec, name, &configuration);
}

static zc_status parse(codecs *c, const zc_node *node, const int64_t *shape)
{
    int n;
    zc_status status = zc_node_array(node, &n);

    memcpy(c->stored, shape, (size_t)c->ndim * sizeof shape[0]);
    for (int i = 0; i < n && status == ZC_OK; i++) {
        const zc_node codec = zc_node_item(node, i);
        status = add_codec(c, &codec);
    }
    if (status == ZC_OK && !c->has_array_bytes) {
        status = zc_node_fail(node, "expected a codec that makes bytes of an array");
    }
    return status;
}

zc_status zc_codecs_v3(zc_document *doc, const zc_node *node, const zc_dtype *dtype, int ndim,
                       const int64_t *shape, zc_chain *out)
{
    codecs c = {.doc = doc, .dtype = dtype, .ndim = ndim, .chain = out};

    return parse(&c, node, shape);
}
