/* SPDX-License-Identifier: MIT
 *
 * The documents as wholes.
 */
#include "document/document.h"

#include <stdlib.h>
#include <string.h>

void zc_document_free(zc_document *doc)
{
    zc_cache_free(doc->array.indexes);
    doc->array.indexes = NULL;
    zc_dtype_free(&doc->dtype);
    zc_arena_free(&doc->arena);
}

/* Can chunks of that shape be processed: is their size within limits, are shards multiples of inner chunks? */
static zc_status check_bound(const zc_document *doc, const zc_node *root, const int64_t *shape)
{
    size_t bound;
    zc_error err;

    zc_error_clear(&err);
    if (zc_chain_bound(doc->array.chain, doc->array.ndim, shape, &bound, &err) != ZC_OK) {
        return zc_node_fail(root, "%s%s%s", err.codec, err.codec[0] != '\0' ? ": " : "", err.message);
    }
    return ZC_OK;
}

/* The chain of the links; everything else is known. */
static zc_status finish(zc_document *doc, const zc_node *root, const zc_links *links)
{
    const zc_array *const array = &doc->array;
    int64_t shape[ZC_MAX_DIMS];
    const zc_chain_description description = {
        .links = *links, .item_size = doc->dtype.size, .fill = array->fill, .ndim = array->ndim, .shape = shape};
    zc_error *const err = root->json->err;

    zc_grid_longest(doc, shape);
    zc_status status = zc_chain_compile(&description, &doc->arena, &doc->array.chain, err);
    if (status != ZC_OK) {
        err->status = status == ZC_ERR_MEMORY ? status : ZC_ERR_METADATA;
        return err->status;
    }
    status = check_bound(doc, root, shape);
    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *const axis = &array->grid[d];
        const int64_t longest = shape[d];
        for (int64_t i = 0; axis->edges != NULL && i < axis->n_edges && status == ZC_OK; i++) {
            const int64_t length = axis->edges[i + 1] - axis->edges[i];
            const bool is_new = length != shape[d];
            shape[d] = length;
            status = is_new ? check_bound(doc, root, shape) : ZC_OK;
        }
        shape[d] = longest;
    }
    return status;
}

/* Data type and fill value. */
static zc_status set_dtype(zc_document *doc, const zc_node *dtype, const zc_node *fill, int format)
{
    zc_status status = zc_dtype_parse(dtype, format, &doc->dtype);

    if (status != ZC_OK) {
        return status;
    }
    uint8_t *const item = zc_arena_alloc(&doc->arena, doc->dtype.size);
    if (item == NULL) {
        return zc_node_no_memory(dtype);
    }
    doc->array.fill = item;
    return zc_fill_value(fill, dtype, &doc->dtype, format, item);
}

/* Writers left null in the place of members that need not be there. */
static bool is_given(const zc_node *member)
{
    return member->value != NULL && !zc_node_is_null(member);
}

/* ---- format 3 ----------------------------------------------------------------------------------- */

static zc_status grid_v3(zc_document *doc, const zc_node *root)
{
    static const char *const regular[] = {"chunk_shape", NULL};
    static const char *const rectilinear[] = {"kind", "chunk_shapes", NULL};
    static const char *const kinds[] = {"inline", NULL};
    const zc_node grid = zc_node_member(root, "chunk_grid");
    const zc_node shape = zc_node_member(root, "shape");
    zc_node configuration;
    const char *name = "";
    bool optional;
    int kind;
    zc_status status = zc_node_extension(&grid, &name, &configuration, &optional);
    const bool is_regular = strcmp(name, "regular") == 0;

    if (status == ZC_OK && !is_regular && strcmp(name, "rectilinear") != 0) {
        status = zc_node_fail(&grid, "the chunk grid \"%.60s\" is not supported", name);
    }
    if (status == ZC_OK) {
        status = zc_node_object(&configuration);
    }
    if (status == ZC_OK) {
        status = zc_node_members(&configuration, is_regular ? regular : rectilinear, false);
    }
    if (status != ZC_OK) {
        return status;
    }
    if (is_regular) {
        const zc_node chunks = zc_node_member(&configuration, "chunk_shape");
        return zc_grid_regular(doc, &shape, &chunks);
    }
    const zc_node kind_node = zc_node_member(&configuration, "kind");
    const zc_node chunks = zc_node_member(&configuration, "chunk_shapes");
    status = zc_node_choice(&kind_node, kinds, &kind);
    return status == ZC_OK ? zc_grid_rectilinear(doc, &shape, &chunks) : status;
}

static zc_status separator(const zc_node *node, char *inout)
{
    static const char *const separators[] = {"/", ".", NULL};
    int which = 0;
    const zc_status status = is_given(node) ? zc_node_choice(node, separators, &which) : ZC_OK;

    if (is_given(node)) {
        *inout = separators[which][0];
    }
    return status;
}

static zc_status keys_v3(zc_document *doc, const zc_node *root)
{
    static const char *const members[] = {"separator", NULL};
    const zc_node encoding = zc_node_member(root, "chunk_key_encoding");
    zc_node configuration;
    const char *name = "";
    bool optional;
    zc_status status = zc_node_extension(&encoding, &name, &configuration, &optional);
    const bool v2 = strcmp(name, "v2") == 0;

    doc->array.keys = (zc_key_encoding){.v2 = v2, .separator = v2 ? '.' : '/'};
    if (status == ZC_OK && !v2 && strcmp(name, "default") != 0) {
        status = zc_node_fail(&encoding, "the chunk key encoding \"%.60s\" is not supported", name);
    }
    if (status == ZC_OK && configuration.value != NULL) {
        const zc_node node = zc_node_member(&configuration, "separator");
        status = zc_node_members(&configuration, members, false);
        status = status == ZC_OK ? separator(&node, &doc->array.keys.separator) : status;
    }
    return status;
}

static zc_status dimension_names_v3(const zc_document *doc, const zc_node *names)
{
    size_t n = 0;
    zc_status status = zc_node_array(names, &n);

    if (status == ZC_OK && n != (size_t)doc->array.ndim) {
        status = zc_node_fail(names, "expected %d entries, got %zu", doc->array.ndim, n);
    }
    ZC_EACH(name, names, status) {
        if (!zc_node_is_string(&name) && !zc_node_is_null(&name)) {
            status = zc_node_fail(&name, "expected a string or null");
        }
    }
    return status;
}

/* What has no bearing on the chunks but must be right all the same. */
static zc_status rest_v3(const zc_document *doc, const zc_node *root)
{
    const zc_node attributes = zc_node_member(root, "attributes");
    const zc_node names = zc_node_member(root, "dimension_names");
    const zc_node transformers = zc_node_member(root, "storage_transformers");
    size_t n = 0;
    zc_status status = is_given(&attributes) ? zc_node_object(&attributes) : ZC_OK;

    if (status == ZC_OK && is_given(&transformers)) {
        status = zc_node_array(&transformers, &n);
        status = status == ZC_OK && n > 0 ? zc_node_fail(&transformers, "are not supported") : status;
    }
    if (status == ZC_OK && is_given(&names)) {
        status = dimension_names_v3(doc, &names);
    }
    return status;
}

static zc_status begin_v3(const zc_node *root)
{
    static const char *const members[] = {
        "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value",
        "codecs", "attributes", "dimension_names", "storage_transformers", NULL};
    static const char *const types[] = {"array", NULL};
    const zc_node format = zc_node_member(root, "zarr_format");
    const zc_node type = zc_node_member(root, "node_type");
    int64_t number;
    int which;
    zc_status status = zc_node_object(root);

    if (status == ZC_OK) {
        status = zc_node_int(&format, 3, 3, &number);
    }
    if (status == ZC_OK) {
        status = zc_node_choice(&type, types, &which);
    }
    return status == ZC_OK ? zc_node_members(root, members, true) : status;
}

zc_status zc_document_v3(zc_document *doc, const zc_node *root)
{
    const zc_node data_type = zc_node_member(root, "data_type");
    const zc_node fill = zc_node_member(root, "fill_value");
    const zc_node codecs = zc_node_member(root, "codecs");
    zc_links links;
    zc_status status = begin_v3(root);

    if (status == ZC_OK) {
        status = grid_v3(doc, root);
    }
    if (status == ZC_OK) {
        status = keys_v3(doc, root);
    }
    if (status == ZC_OK) {
        status = set_dtype(doc, &data_type, &fill, 3);
    }
    if (status == ZC_OK) {
        status = zc_codecs_v3(doc, &codecs, &links);
    }
    if (status == ZC_OK) {
        status = rest_v3(doc, root);
    }
    return status == ZC_OK ? finish(doc, root, &links) : status;
}

/* ---- format 2 ----------------------------------------------------------------------------------- */

/* Links of format 2: a transposition where the order is F, the items, then filters and compressor. */
typedef struct links_v2 {
    zc_link at[3 + ZC_MAX_STAGES];
    size_t n;
} links_v2;

static zc_status add_order(const zc_node *root, links_v2 *links)
{
    static const char *const orders[] = {"C", "F", NULL};
    const zc_node order = zc_node_member(root, "order");
    int which = 0;
    const zc_status status = zc_node_choice(&order, orders, &which);

    if (which == 1) {
        links->at[links->n++].kind = ZC_LINK_TRANSPOSE;
    }
    return status;
}

/* A filter or the compressor. */
static zc_status add_codec_v2(zc_document *doc, const zc_node *node, zc_flow *flow, links_v2 *links)
{
    const zc_node id = zc_node_member(node, "id");
    const char *name;
    bool known = false;
    zc_status status = zc_node_object(node);

    if (status == ZC_OK) {
        status = zc_node_string(&id, &name);
    }
    if (status == ZC_OK && links->n == sizeof links->at / sizeof links->at[0]) {
        status = zc_node_fail(node, "more than %d codecs", ZC_MAX_STAGES);
    }
    if (status != ZC_OK) {
        return status;
    }
    zc_link *const link = &links->at[links->n++];
    *link = (zc_link){.kind = ZC_LINK_STAGE, .where = zc_node_keep_place(&doc->arena, node)};
    status = zc_stage_numcodecs(node, name, node, doc->dtype.size, flow, &link->codec, &known);
    return status == ZC_OK && !known ? zc_node_fail(&id, "the codec \"%.60s\" is not supported", name) : status;
}

/* What n5-zarr wrote for no compressor before 2020: {"type": "raw"}. */
static bool is_raw_of_n5(const zc_node *compressor)
{
    static const char *const members[] = {"type", NULL};
    static const char *const types[] = {"raw", NULL};
    const zc_node type = zc_node_member(compressor, "type");
    int which;
    const bool is_raw = zc_node_is_object(compressor) && zc_node_is_string(&type) &&
                        zc_node_members(compressor, members, false) == ZC_OK &&
                        zc_node_choice(&type, types, &which) == ZC_OK;

    zc_error_clear(compressor->json->err);
    return is_raw;
}

static zc_status codecs_v2(zc_document *doc, const zc_node *root, links_v2 *links)
{
    const zc_node dtype = zc_node_member(root, "dtype");
    const zc_node filters = zc_node_member(root, "filters");
    const zc_node compressor = zc_node_member(root, "compressor");
    zc_link *const items = &links->at[links->n++];
    zc_status status = zc_dtype_item(doc, &dtype, &items->item);
    zc_flow flow = zc_flow_of(&doc->dtype, &items->item);

    items->kind = ZC_LINK_BYTES;
    if (status == ZC_OK && is_given(&filters)) {
        size_t n;
        status = zc_node_array(&filters, &n);
        ZC_EACH(filter, &filters, status) {
            status = add_codec_v2(doc, &filter, &flow, links);
        }
    }
    if (status == ZC_OK && is_given(&compressor) && !is_raw_of_n5(&compressor)) {
        status = add_codec_v2(doc, &compressor, &flow, links);
    }
    return status;
}

static zc_status stored_v2(zc_document *doc, const zc_node *root)
{
    const zc_node dtype = zc_node_member(root, "dtype");
    const zc_node fill = zc_node_member(root, "fill_value");
    links_v2 links = {.n = 0};
    zc_status status = set_dtype(doc, &dtype, &fill, 2);

    if (status == ZC_OK) {
        status = add_order(root, &links);
    }
    if (status == ZC_OK) {
        status = codecs_v2(doc, root, &links);
    }
    const zc_links all = {links.at, links.n};
    return status == ZC_OK ? finish(doc, root, &all) : status;
}

zc_status zc_document_v2(zc_document *doc, const zc_node *root)
{
    const zc_node format = zc_node_member(root, "zarr_format");
    const zc_node shape = zc_node_member(root, "shape");
    const zc_node chunks = zc_node_member(root, "chunks");
    const zc_node separator_node = zc_node_member(root, "dimension_separator");
    static const char *const members[] = {"zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order",
                                          "filters", "dimension_separator", NULL};
    int64_t number;
    zc_status status = zc_node_object(root);

    doc->array.keys = (zc_key_encoding){.v2 = true, .separator = '.'};
    if (status == ZC_OK) {
        status = zc_node_members_once(root, members);
    }
    if (status == ZC_OK) {
        status = zc_node_int(&format, 2, 2, &number);
    }
    if (status == ZC_OK) {
        status = zc_grid_regular(doc, &shape, &chunks);
    }
    if (status == ZC_OK) {
        status = separator(&separator_node, &doc->array.keys.separator);
    }
    return status == ZC_OK ? stored_v2(doc, root) : status;
}
