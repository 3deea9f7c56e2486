/* SPDX-License-Identifier: MIT
 *
 * The documents as wholes.
 */
#include "document/document.h"

#include <stdlib.h>
#include <string.h>

zc_chain *zc_document_chain(zc_document *doc)
{
    zc_chain_cell *const cell = calloc(1, sizeof *cell);

    if (cell == NULL) {
        return NULL;
    }
    cell->next = doc->cells;
    doc->cells = cell;
    return &cell->chain;
}

void zc_document_free(zc_document *doc)
{
    zc_index_cache_free(doc->array.indexes);
    doc->array.indexes = NULL;
    while (doc->cells != NULL) {
        zc_chain_cell *const cell = doc->cells;
        doc->cells = cell->next;
        free(cell);
    }
}

zc_status zc_document_grid(zc_document *doc, const zc_node *shape, const zc_node *chunks)
{
    int64_t lengths[ZC_MAX_DIMS], chunk[ZC_MAX_DIMS];
    int ndim;
    zc_status status = zc_node_array(shape, &ndim);

    if (status == ZC_OK && ndim > ZC_MAX_DIMS) {
        status = zc_node_fail(shape, "%d dimensions, at most %d are supported", ndim, ZC_MAX_DIMS);
    }
    if (status == ZC_OK) {
        status = zc_node_ints(shape, ndim, 0, INT64_MAX, lengths);
    }
    if (status == ZC_OK) {
        status = zc_node_ints(chunks, ndim, 1, INT64_MAX, chunk);
    }
    for (int d = 0; d < ndim && status == ZC_OK; d++) {
        doc->array.grid[d] = (zc_grid_axis){.length = lengths[d], .chunk = chunk[d]};
    }
    doc->array.ndim = ndim;
    return status;
}

static void chunk_shape(const zc_document *doc, int64_t *out)
{
    for (int d = 0; d < doc->array.ndim; d++) {
        out[d] = doc->array.grid[d].chunk;
    }
}

/* Everything is known: are the chunks of a size that can be worked with? */
static zc_status finish(zc_document *doc, const zc_node *root)
{
    int64_t shape[ZC_MAX_DIMS];
    size_t bound;
    zc_error err;

    doc->array.fill = doc->fill;
    chunk_shape(doc, shape);
    zc_error_clear(&err);
    if (zc_chain_bound(doc->array.chain, doc->array.ndim, shape, &bound, &err) != ZC_OK) {
        return zc_node_fail(root, "%s%s%s", err.codec, err.codec[0] != '\0' ? ": " : "", err.message);
    }
    return ZC_OK;
}

static zc_status out_of_memory(const zc_node *node)
{
    return zc_fail(node->json->err, ZC_ERR_MEMORY, "out of memory");
}

/* ---- format 3 ----------------------------------------------------------------------------------- */

/* The configuration of an extension of that name; *out has a NULL value if it has none. */
static zc_status extension(const zc_node *node, const char *const *names, int *which, zc_node *out)
{
    static const char *const members[] = {"name", "configuration", "must_understand", NULL};
    const zc_node named = zc_node_member(node, "name");

    *out = zc_node_member(node, "configuration");
    if (zc_node_is_string(node)) {
        return zc_node_choice(node, names, which);
    }
    zc_status status = zc_node_object(node);
    if (status == ZC_OK) {
        status = zc_node_members(node, members, false);
    }
    if (status == ZC_OK) {
        status = zc_node_choice(&named, names, which);
    }
    if (status == ZC_OK && out->value != NULL) {
        status = zc_node_object(out);
    }
    return status;
}

static zc_status grid_v3(zc_document *doc, const zc_node *root)
{
    static const char *const names[] = {"regular", NULL};
    static const char *const members[] = {"chunk_shape", NULL};
    const zc_node grid = zc_node_member(root, "chunk_grid");
    const zc_node shape = zc_node_member(root, "shape");
    zc_node configuration;
    int which;
    zc_status status = extension(&grid, names, &which, &configuration);

    if (status == ZC_OK) {
        status = zc_node_object(&configuration);
    }
    if (status == ZC_OK) {
        status = zc_node_members(&configuration, members, false);
    }
    const zc_node chunks = zc_node_member(&configuration, "chunk_shape");
    return status == ZC_OK ? zc_document_grid(doc, &shape, &chunks) : status;
}

static zc_status separator(const zc_node *node, char *inout)
{
    static const char *const separators[] = {"/", ".", NULL};
    int which = 0;
    const zc_status status = node->value != NULL ? zc_node_choice(node, separators, &which) : ZC_OK;

    if (node->value != NULL) {
        *inout = separators[which][0];
    }
    return status;
}

static zc_status keys_v3(zc_document *doc, const zc_node *root)
{
    static const char *const names[] = {"default", "v2", NULL};
    static const char *const members[] = {"separator", NULL};
    const zc_node encoding = zc_node_member(root, "chunk_key_encoding");
    zc_node configuration;
    int which = 0;
    zc_status status = extension(&encoding, names, &which, &configuration);

    doc->array.keys = (zc_key_encoding){.v2 = which == 1, .separator = which == 1 ? '.' : '/'};
    if (status == ZC_OK && configuration.value != NULL) {
        const zc_node node = zc_node_member(&configuration, "separator");
        status = zc_node_members(&configuration, members, false);
        status = status == ZC_OK ? separator(&node, &doc->array.keys.separator) : status;
    }
    return status;
}

/* What has no bearing on the chunks but must be right all the same. */
static zc_status rest_v3(const zc_document *doc, const zc_node *root)
{
    const zc_node attributes = zc_node_member(root, "attributes");
    const zc_node names = zc_node_member(root, "dimension_names");
    const zc_node transformers = zc_node_member(root, "storage_transformers");
    int n = 0;
    zc_status status = attributes.value != NULL ? zc_node_object(&attributes) : ZC_OK;

    if (status == ZC_OK && transformers.value != NULL) {
        status = zc_node_array(&transformers, &n);
        status = status == ZC_OK && n > 0 ? zc_node_fail(&transformers, "are not supported") : status;
    }
    if (status == ZC_OK && names.value != NULL && !cJSON_IsNull(names.value)) {
        status = zc_node_array(&names, &n);
        if (status == ZC_OK && n != doc->array.ndim) {
            status = zc_node_fail(&names, "expected %d entries, got %d", doc->array.ndim, n);
        }
        for (int i = 0; i < n && status == ZC_OK; i++) {
            const zc_node name = zc_node_item(&names, i);
            if (!zc_node_is_string(&name) && !cJSON_IsNull(name.value)) {
                status = zc_node_fail(&name, "expected a string or null");
            }
        }
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
    int64_t shape[ZC_MAX_DIMS];
    zc_chain *const chain = zc_document_chain(doc);
    zc_status status = chain != NULL ? begin_v3(root) : out_of_memory(root);

    doc->array.chain = chain;
    if (status == ZC_OK) {
        status = grid_v3(doc, root);
    }
    if (status == ZC_OK) {
        status = keys_v3(doc, root);
    }
    if (status == ZC_OK) {
        status = zc_dtype_v3(&data_type, &doc->dtype);
    }
    if (status == ZC_OK) {
        status = zc_fill_value(&fill, &doc->dtype, false, doc->fill);
    }
    if (status == ZC_OK) {
        chunk_shape(doc, shape);
        status = zc_codecs_v3(doc, &codecs, &doc->dtype, doc->array.ndim, shape, chain);
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

static zc_status filters_v2(const zc_node *root)
{
    const zc_node filters = zc_node_member(root, "filters");
    const char *id = "?";
    int n = 0;

    if (filters.value == NULL || cJSON_IsNull(filters.value)) {
        return ZC_OK;
    }
    const zc_status status = zc_node_array(&filters, &n);
    if (status == ZC_OK && n > 0) {
        const zc_node filter = zc_node_item(&filters, 0);
        const zc_node named = zc_node_member(&filter, "id");
        if (zc_node_is_string(&named)) {
            id = named.value->valuestring;
        }
        return zc_node_fail(&filter, "the filter \"%.60s\" is not supported", id);
    }
    return status;
}

static zc_status stored_v2(zc_document *doc, const zc_node *root, zc_chain *chain)
{
    const zc_node dtype = zc_node_member(root, "dtype");
    const zc_node fill = zc_node_member(root, "fill_value");
    const zc_node compressor = zc_node_member(root, "compressor");
    char byte_order = '|';
    zc_status status = zc_dtype_v2(&dtype, &doc->dtype, &byte_order);

    if (status == ZC_OK) {
        chain->item = zc_dtype_item(&doc->dtype, byte_order == '>');
        status = zc_fill_value(&fill, &doc->dtype, true, doc->fill);
    }
    if (status == ZC_OK) {
        status = filters_v2(root);
    }
    if (status == ZC_OK) {
        status = zc_compressor_v2(&compressor, &doc->dtype, chain);
    }
    return status == ZC_OK ? order_v2(root, doc->array.ndim, chain) : status;
}

zc_status zc_document_v2(zc_document *doc, const zc_node *root)
{
    const zc_node format = zc_node_member(root, "zarr_format");
    const zc_node shape = zc_node_member(root, "shape");
    const zc_node chunks = zc_node_member(root, "chunks");
    const zc_node separator_node = zc_node_member(root, "dimension_separator");
    zc_chain *const chain = zc_document_chain(doc);
    int64_t number;
    zc_status status = chain != NULL ? zc_node_object(root) : out_of_memory(root);

    doc->array.chain = chain;
    doc->array.keys = (zc_key_encoding){.v2 = true, .separator = '.'};
    if (status == ZC_OK) {
        status = zc_node_int(&format, 2, 2, &number);
    }
    if (status == ZC_OK) {
        status = zc_document_grid(doc, &shape, &chunks);
    }
    if (status == ZC_OK) {
        status = separator(&separator_node, &doc->array.keys.separator);
    }
    if (status == ZC_OK) {
        status = stored_v2(doc, root, chain);
    }
    return status == ZC_OK ? finish(doc, root) : status;
}
