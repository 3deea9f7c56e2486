/* SPDX-License-Identifier: MIT
 *
 * The documents as wholes.
 */
#include "document/document.h"

#include <stdlib.h>
#include <string.h>

void *zc_document_alloc(zc_document *doc, size_t size)
{
    zc_block *const block = calloc(1, sizeof *block + size);

    if (block == NULL) {
        return NULL;
    }
    block->next = doc->blocks;
    doc->blocks = block;
    return block->data;
}

void zc_document_free(zc_document *doc)
{
    zc_cache_free(doc->array.indexes);
    doc->array.indexes = NULL;
    zc_dtype_free(&doc->dtype);
    while (doc->blocks != NULL) {
        zc_block *const block = doc->blocks;
        doc->blocks = block->next;
        free(block);
    }
}

/* Everything is known: are the chunks of a size that can be worked with? */
static zc_status finish(zc_document *doc, const zc_node *root)
{
    int64_t shape[ZC_MAX_DIMS];
    size_t bound;
    zc_error err;

    zc_grid_longest(doc, shape);
    zc_error_clear(&err);
    if (zc_chain_bound(doc->array.chain, doc->array.ndim, shape, &bound, &err) != ZC_OK) {
        return zc_node_fail(root, "%s%s%s", err.codec, err.codec[0] != '\0' ? ": " : "", err.message);
    }
    return ZC_OK;
}

/* Data type and fill value. */
static zc_status set_dtype(zc_document *doc, const zc_node *dtype, const zc_node *fill, int format)
{
    zc_status status = zc_dtype_parse(dtype, format, &doc->dtype);

    if (status != ZC_OK) {
        return status;
    }
    uint8_t *const item = zc_document_alloc(doc, doc->dtype.size);
    if (item == NULL) {
        return zc_document_no_memory(dtype);
    }
    doc->array.fill = item;
    return zc_fill_value(fill, dtype, &doc->dtype, format, item);
}

/* Writers left null in the place of members that need not be there. */
static bool is_given(const zc_node *member)
{
    return member->value != NULL && !zc_node_is_null(member);
}

static zc_chain *set_chain(zc_document *doc)
{
    zc_chain *const chain = zc_document_alloc(doc, sizeof *chain);

    doc->array.chain = chain;
    return chain;
}

/* ---- format 3 ----------------------------------------------------------------------------------- */

zc_status zc_extension(const zc_node *node, const char **name, zc_node *configuration, bool *optional)
{
    static const char *const members[] = {"name", "configuration", "must_understand", NULL};
    const zc_node named = zc_node_member(node, "name");
    bool must_understand = true;

    *configuration = zc_node_member(node, "configuration");
    *optional = false;
    if (zc_node_is_string(node)) {
        return zc_node_string(node, name);
    }
    zc_status status = zc_node_object(node);
    if (status == ZC_OK) {
        status = zc_node_members(node, members, false);
    }
    if (status == ZC_OK) {
        status = zc_node_string(&named, name);
    }
    if (status == ZC_OK && configuration->value != NULL) {
        status = zc_node_object(configuration);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_bool(node, "must_understand", &must_understand);
    }
    *optional = !must_understand;
    return status;
}

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
    zc_status status = zc_extension(&grid, &name, &configuration, &optional);
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
    zc_status status = zc_extension(&encoding, &name, &configuration, &optional);
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
    zc_chain *const chain = set_chain(doc);
    zc_status status = chain != NULL ? begin_v3(root) : zc_document_no_memory(root);

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
        status = zc_codecs_v3(doc, &codecs, chain);
    }
    if (status == ZC_OK) {
        status = rest_v3(doc, root);
    }
    return status == ZC_OK ? finish(doc, root) : status;
}

/* ---- format 2 ----------------------------------------------------------------------------------- */

/* C order, or F order as a transposition. */
static zc_status order_v2(const zc_node *root, int ndim, zc_chain *chain)
{
    static const char *const orders[] = {"C", "F", NULL};
    const zc_node order = zc_node_member(root, "order");
    int which = 0;
    const zc_status status = zc_node_choice(&order, orders, &which);

    if (which == 1 && ndim > 1) {
        chain->order_ndim = ndim;
        for (int d = 0; d < ndim; d++) {
            chain->order[d] = ndim - 1 - d;
        }
    }
    return status;
}

/* A filter or the compressor. */
static zc_status add_codec_v2(const zc_document *doc, const zc_node *node, zc_flow *flow, zc_chain *chain)
{
    const zc_node id = zc_node_member(node, "id");
    const char *name;
    bool known = false;
    zc_status status = zc_node_object(node);

    if (status == ZC_OK) {
        status = zc_node_string(&id, &name);
    }
    if (status == ZC_OK && chain->n_stages == ZC_MAX_STAGES) {
        status = zc_node_fail(node, "more than %d codecs", ZC_MAX_STAGES);
    }
    if (status == ZC_OK) {
        status = zc_stage_numcodecs(node, name, node, doc->dtype.size, flow, &chain->stages[chain->n_stages],
                                    &known);
    }
    if (status == ZC_OK && !known) {
        status = zc_node_fail(&id, "the codec \"%.60s\" is not supported", name);
    }
    chain->n_stages++;
    return status;
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

static zc_status codecs_v2(zc_document *doc, const zc_node *root, zc_chain *chain)
{
    const zc_node filters = zc_node_member(root, "filters");
    const zc_node compressor = zc_node_member(root, "compressor");
    zc_flow flow = zc_flow_of(&doc->dtype, &chain->item);
    zc_status status = ZC_OK;

    if (is_given(&filters)) {
        size_t n;
        status = zc_node_array(&filters, &n);
        ZC_EACH(filter, &filters, status) {
            status = add_codec_v2(doc, &filter, &flow, chain);
        }
    }
    if (status == ZC_OK && is_given(&compressor) && !is_raw_of_n5(&compressor)) {
        status = add_codec_v2(doc, &compressor, &flow, chain);
    }
    return status;
}

static zc_status stored_v2(zc_document *doc, const zc_node *root, zc_chain *chain)
{
    const zc_node dtype = zc_node_member(root, "dtype");
    const zc_node fill = zc_node_member(root, "fill_value");
    zc_status status = set_dtype(doc, &dtype, &fill, 2);

    if (status == ZC_OK) {
        status = zc_dtype_item(doc, &dtype, &chain->item);
    }
    if (status == ZC_OK) {
        status = codecs_v2(doc, root, chain);
    }
    return status == ZC_OK ? order_v2(root, doc->array.ndim, chain) : status;
}

zc_status zc_document_v2(zc_document *doc, const zc_node *root)
{
    const zc_node format = zc_node_member(root, "zarr_format");
    const zc_node shape = zc_node_member(root, "shape");
    const zc_node chunks = zc_node_member(root, "chunks");
    const zc_node separator_node = zc_node_member(root, "dimension_separator");
    zc_chain *const chain = set_chain(doc);
    int64_t number;
    zc_status status = chain != NULL ? zc_node_object(root) : zc_document_no_memory(root);

    doc->array.keys = (zc_key_encoding){.v2 = true, .separator = '.'};
    if (status == ZC_OK) {
        status = zc_node_int(&format, 2, 2, &number);
    }
    if (status == ZC_OK) {
        status = zc_grid_regular(doc, &shape, &chunks);
    }
    if (status == ZC_OK) {
        status = separator(&separator_node, &doc->array.keys.separator);
    }
    if (status == ZC_OK) {
        status = stored_v2(doc, root, chain);
    }
    return status == ZC_OK ? finish(doc, root) : status;
}
