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
static void check_bound(const zc_document *doc, const zc_node *root, const int64_t *shape)
{
    size_t bound;
    zc_error err;

    zc_error_clear(&err);
    if (zc_chain_bound(doc->array.chain, doc->array.ndim, shape, &bound, &err) != ZC_OK) {
        zc_node_fail(root, "%s%s%s", err.codec, err.codec[0] != '\0' ? ": " : "", err.message);
    }
}

/* The chain of the links; everything else is known. */
static zc_status finish(zc_document *doc, const zc_node *root, zc_links links)
{
    const zc_array *const array = &doc->array;
    int64_t shape[ZC_MAX_DIMS];
    const zc_chain_description description = {
        .links = links, .item_size = doc->dtype.size, .fill = array->fill, .ndim = array->ndim, .shape = shape};
    zc_error *const err = root->json->err;

    if (err->status != ZC_OK) {
        return err->status;
    }
    zc_grid_longest(doc, shape);
    if (zc_chain_compile(&description, &doc->arena, &doc->array.chain, err) != ZC_OK) {
        const bool is_told = err->status == ZC_ERR_MEMORY || err->status == ZC_ERR_UNSUPPORTED;
        err->status = is_told ? err->status : ZC_ERR_METADATA;
        return err->status;
    }
    check_bound(doc, root, shape);
    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *const axis = &array->grid[d];
        const int64_t longest = shape[d];
        for (int64_t i = 0; axis->edges != NULL && i < axis->n_edges && zc_node_ok(root); i++) {
            const int64_t length = axis->edges[i + 1] - axis->edges[i];
            if (length != shape[d]) {
                shape[d] = length;
                check_bound(doc, root, shape);
            }
        }
        shape[d] = longest;
    }
    return err->status;
}

/* Data type and fill value. */
static void set_dtype(zc_document *doc, const zc_node *dtype, const zc_node *fill, int format)
{
    zc_dtype_parse(dtype, format, &doc->dtype);
    uint8_t *const item = zc_node_alloc(dtype, &doc->arena, doc->dtype.size, 1);
    if (item != NULL) {
        doc->array.fill = item;
        zc_fill_value(fill, dtype, &doc->dtype, format, item);
    }
}

/* ---- format 3 ----------------------------------------------------------------------------------- */

static void grid_v3(zc_document *doc, const zc_node *root)
{
    const zc_node grid = zc_node_member(root, "chunk_grid");
    const zc_node shape = zc_node_member(root, "shape");
    zc_node configuration;
    const char *const name = zc_node_extension(&grid, &configuration);
    const zc_node chunk_shape = zc_node_member(&configuration, "chunk_shape");
    const zc_node chunk_shapes = zc_node_member(&configuration, "chunk_shapes");
    const zc_node kind = zc_node_member(&configuration, "kind");

    if (strcmp(name, "regular") == 0) {
        zc_node_object(&configuration);
        ZC_MEMBERS(&configuration, "chunk_shape");
        zc_grid_regular(doc, &shape, &chunk_shape);
    } else if (strcmp(name, "rectilinear") == 0) {
        zc_node_object(&configuration);
        ZC_MEMBERS(&configuration, "kind", "chunk_shapes");
        ZC_CHOICE(&kind, "inline");
        zc_grid_rectilinear(doc, &shape, &chunk_shapes);
    } else {
        zc_node_unsupported(&grid, "the chunk grid", name);
    }
}

static char separator(const zc_node *object, const char *name, char standard)
{
    const zc_node node = zc_node_given(object, name);

    return node.value == NULL ? standard : ZC_CHOICE(&node, "/", ".") == 0 ? '/' : '.';
}

/* Return the name of the encoding.  {"name": ..., "separator": ...} is read as if the separator were in a configuration. */
static const char *keys_extension(const zc_node *encoding, zc_node *configuration)
{
    const zc_node name = zc_node_member(encoding, "name");
    size_t n = 0;

    for (zc_node member = zc_node_first_member(encoding); member.value != NULL; member = zc_node_next_member(&member)) {
        n++;
    }
    if (n != 2 || name.value == NULL || zc_node_member(encoding, "separator").value == NULL) {
        return zc_node_extension(encoding, configuration);
    }
    *configuration = *encoding;
    return zc_node_string(&name);
}

static void keys_v3(zc_document *doc, const zc_node *root)
{
    const zc_node encoding = zc_node_member(root, "chunk_key_encoding");
    zc_node configuration;
    const char *const name = keys_extension(&encoding, &configuration);
    const bool v2 = strcmp(name, "v2") == 0;

    if (!v2 && strcmp(name, "default") != 0) {
        zc_node_unsupported(&encoding, "the chunk key encoding", name);
    }
    if (configuration.value != encoding.value) {
        ZC_MEMBERS(&configuration, "separator");
    }
    doc->array.keys = (zc_key_encoding){.v2 = v2, .separator = separator(&configuration, "separator", v2 ? '.' : '/')};
}

/* What has no bearing on the chunks but must be right all the same. */
static void rest_v3(const zc_document *doc, const zc_node *root)
{
    const zc_node attributes = zc_node_given(root, "attributes");
    const zc_node names = zc_node_given(root, "dimension_names");
    const zc_node transformers = zc_node_given(root, "storage_transformers");

    if (attributes.value != NULL) {
        zc_node_object(&attributes);
    }
    if (transformers.value != NULL && zc_node_array(&transformers) > 0) {
        zc_node_unsupported(&transformers, "the member", "storage_transformers");
    }
    const size_t n = names.value != NULL ? zc_node_array(&names) : (size_t)doc->array.ndim;
    if (n != (size_t)doc->array.ndim) {
        zc_node_fail(&names, "expected %d entries, got %zu", doc->array.ndim, n);
    }
    ZC_EACH(name, &names) {
        if (!zc_node_is_string(&name) && !zc_node_is_null(&name)) {
            zc_node_fail(&name, "expected a string or null");
        }
    }
}

zc_status zc_document_v3(zc_document *doc, const zc_node *root)
{
    static const char *const members[] = {
        "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value",
        "codecs", "attributes", "dimension_names", "storage_transformers", NULL};
    const zc_node format = zc_node_member(root, "zarr_format");
    const zc_node type = zc_node_member(root, "node_type");
    const zc_node data_type = zc_node_member(root, "data_type");
    const zc_node fill = zc_node_member(root, "fill_value");
    const zc_node codecs = zc_node_member(root, "codecs");

    zc_node_object(root);
    zc_node_int(&format, 3, 3);
    if (ZC_CHOICE(&type, "array", "group") == 1) {
        zc_node_unsupported(&type, "the node type", "group");
    }
    zc_node_members(root, members, ZC_OTHERS_OPTIONAL);
    grid_v3(doc, root);
    keys_v3(doc, root);
    set_dtype(doc, &data_type, &fill, 3);
    const zc_links links = zc_codecs_v3(doc, &codecs);
    rest_v3(doc, root);
    return finish(doc, root, links);
}

/* ---- format 2 ----------------------------------------------------------------------------------- */

/* Links of format 2: a transposition where the order is F, the items, then filters and compressor. */
typedef struct links_v2 {
    zc_link at[3 + ZC_MAX_STAGES];
    size_t n;
} links_v2;

/* A filter or the compressor. */
static void add_codec_v2(zc_document *doc, const zc_node *node, zc_flow *flow, links_v2 *links)
{
    const zc_node id = zc_node_member(node, "id");
    const zc_source from = {&doc->arena, node, node, doc->dtype.size, flow};

    zc_node_object(node);
    const char *const name = zc_node_string(&id);
    const zc_known_codec *const known = zc_find_numcodecs(name);
    if (links->n == sizeof links->at / sizeof links->at[0]) {
        zc_node_too_many(node, ZC_MAX_STAGES, "codecs of bytes");
    } else if (known == NULL) {
        zc_node_unsupported(&id, "the codec", name);
    } else {
        zc_link *const link = &links->at[links->n++];
        *link = (zc_link){.kind = ZC_LINK_STAGE, .where = zc_node_keep_place(node, &doc->arena)};
        zc_configure(known, &from, &link->codec);
        *flow = known->is_filter ? *flow : (zc_flow){.size = 1};
    }
}

/* What n5-zarr wrote for no compressor before 2020: {"type": "raw"}. */
static bool is_raw_of_n5(const zc_node *compressor)
{
    const zc_node type = zc_node_first_member(compressor);

    return type.value != NULL && strcmp(type.member, "type") == 0 && zc_node_is_string(&type) &&
           strcmp(zc_node_string(&type), "raw") == 0 && zc_node_next_member(&type).value == NULL;
}

zc_status zc_document_v2(zc_document *doc, const zc_node *root)
{
    static const char *const members[] = {"zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order",
                                          "filters", "dimension_separator", NULL};
    const zc_node format = zc_node_member(root, "zarr_format");
    const zc_node shape = zc_node_member(root, "shape");
    const zc_node chunks = zc_node_member(root, "chunks");
    const zc_node dtype = zc_node_member(root, "dtype");
    const zc_node fill = zc_node_member(root, "fill_value");
    const zc_node order = zc_node_member(root, "order");
    const zc_node filters = zc_node_given(root, "filters");
    const zc_node compressor = zc_node_given(root, "compressor");
    links_v2 links = {.n = 0};

    zc_node_object(root);
    zc_node_members(root, members, ZC_OTHERS_ALLOWED);
    zc_node_int(&format, 2, 2);
    zc_grid_regular(doc, &shape, &chunks);
    doc->array.keys = (zc_key_encoding){.v2 = true, .separator = separator(root, "dimension_separator", '.')};
    set_dtype(doc, &dtype, &fill, 2);
    if (ZC_CHOICE(&order, "C", "F") == 1) {
        links.at[links.n++].kind = ZC_LINK_TRANSPOSE;
    }
    zc_link *const items = &links.at[links.n++];
    items->kind = ZC_LINK_BYTES;
    items->item = zc_dtype_item(doc, &dtype);
    zc_flow flow = zc_flow_of(&doc->dtype, &items->item);
    if (filters.value != NULL) {
        zc_node_array(&filters);
    }
    ZC_EACH(filter, &filters) {
        add_codec_v2(doc, &filter, &flow, &links);
    }
    if (compressor.value != NULL && !is_raw_of_n5(&compressor)) {
        add_codec_v2(doc, &compressor, &flow, &links);
    }
    return finish(doc, root, (zc_links){links.at, links.n});
}
