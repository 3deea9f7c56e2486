/* SPDX-License-Identifier: MIT
 *
 * The codecs of format 3: transpose and filters, bytes or sharding_indexed, then bytes -> bytes codecs
 * (zarr v3 specification, "Codecs"; "Sharding codec").
 */
#include <string.h>

#include "base/arith.h"
#include "document/document.h"

#define DEPTH_MAX 8          /* shards inside of shards */

/* What is being parsed. */
typedef struct codecs {
    zc_document *doc;
    int ndim;
    int depth;
    bool is_index;                   /* of a shard: items are unsigned integers of 8 bytes */
    int64_t stored[ZC_MAX_DIMS];     /* shape after the transpositions so far */
    zc_chain *chain;
    zc_flow flow;                    /* after the codecs so far */
    bool has_array_bytes;
    bool is_flat;                    /* only the order of the items is left of the chunk's dimensions */
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
    if (status == ZC_OK && (c->chain->n_stages > 0 || c->is_flat)) {
        status = zc_node_fail(codec, "\"transpose\" behind a filter is not supported");
    }
    if (status == ZC_OK) {
        status = zc_node_ints(&order, (size_t)c->ndim, 0, c->ndim - 1, step);
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

/* Have filters made other items of those of the data type, or looked into them? */
static bool is_filtered(const codecs *c)
{
    return c->chain->n_stages > 0;
}

/* Bytes of the words in what comes out of filters. */
static size_t filtered_word(const codecs *c)
{
    return c->flow.kind == 'c' ? c->flow.size / 2 : c->flow.size;
}

/* Has an item words with a byte order? */
static bool has_words(const codecs *c)
{
    return c->is_index || (is_filtered(c) ? filtered_word(c) > 1 : c->doc->dtype.n_words > 0);
}

/* The byte order of what filters make, as a stage of its own. */
static zc_status add_swap(codecs *c, const zc_node *codec)
{
    const size_t word = filtered_word(c);
    const zc_number_kind kind = word == 2 ? ZC_NUMBER_U16 : word == 4 ? ZC_NUMBER_U32 : ZC_NUMBER_U64;

    if (c->chain->n_stages == ZC_MAX_STAGES) {
        return zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    if (word != zc_number_size(kind)) {
        return zc_node_fail(codec, "filters and another byte order than the machine's are not supported here");
    }
    zc_codec *const stage = &c->chain->stages[c->chain->n_stages++];
    zc_codec_init(stage, "astype");
    stage->decoded = (zc_number){kind, false};
    stage->encoded = (zc_number){kind, true};
    return ZC_OK;
}

static zc_status set_item(codecs *c, const zc_node *codec, bool big_endian)
{
    zc_chain *const chain = c->chain;

    if (c->is_index) {
        chain->item = (zc_item){.size = 8, .word = big_endian != zc_big_endian() ? 8 : 0};
        return ZC_OK;
    }
    if (is_filtered(c)) {
        chain->item = (zc_item){.size = c->doc->dtype.size};
        return has_words(c) && big_endian != zc_big_endian() ? add_swap(c, codec) : ZC_OK;
    }
    return zc_dtype_item_as(c->doc, codec, big_endian, &chain->item);
}

static zc_status add_bytes(codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"endian", NULL};
    static const char *const orders[] = {"little", "big", NULL};
    const zc_node endian = zc_node_member(configuration, "endian");
    const bool is_struct = strncmp(c->doc->dtype.typestr, "|V", 2) == 0;
    int which = 0;           /* what writers of structures without a byte order meant */
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && endian.value != NULL) {
        status = zc_node_choice(&endian, orders, &which);
    } else if (status == ZC_OK && has_words(c) && (c->is_index || !is_struct)) {
        status = zc_node_fail(codec, "configuration.endian is required for items of more than one byte");
    }
    return status == ZC_OK ? set_item(c, codec, which == 1) : status;
}

static zc_status parse_index(codecs *c, const zc_node *node)
{
    codecs index = {.doc = c->doc, .ndim = 1, .depth = DEPTH_MAX, .is_index = true};
    const int64_t shape[1] = {2};
    size_t size;
    zc_error err;

    index.chain = zc_document_alloc(c->doc, sizeof *index.chain);
    if (index.chain == NULL) {
        return zc_document_no_memory(node);
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

/* Does the inner length divide that of every shard along a stored dimension? */
static zc_status check_divides(const codecs *c, const zc_node *node, int d)
{
    const int64_t inner = c->chain->inner_shape[d];
    const int axis_number = c->chain->order_ndim > 0 ? c->chain->order[d] : d;
    const zc_grid_axis *const axis = &c->doc->array.grid[axis_number];
    int64_t bad = c->stored[d] % inner != 0 ? c->stored[d] : 0;

    for (int64_t i = 0; c->depth == 0 && axis->edges != NULL && bad == 0 && i < axis->n_edges; i++) {
        const int64_t length = axis->edges[i + 1] - axis->edges[i];
        bad = length % inner != 0 ? length : 0;
    }
    return bad == 0 ? ZC_OK
                    : zc_node_fail(node, "%lld does not divide the shard's %lld", (long long)inner,
                                   (long long)bad);
}

/* The chains inside of a shard. */
static zc_status parse_inner(codecs *c, const zc_node *configuration)
{
    const zc_node inner_codecs = zc_node_member(configuration, "codecs");
    const zc_node index_codecs = zc_node_member(configuration, "index_codecs");
    codecs inner = {.doc = c->doc, .ndim = c->ndim, .depth = c->depth + 1, .flow = c->flow};

    inner.chain = zc_document_alloc(c->doc, sizeof *inner.chain);
    if (inner.chain == NULL) {
        return zc_document_no_memory(configuration);
    }
    c->chain->inner = inner.chain;
    const zc_status status = parse(&inner, &inner_codecs, c->chain->inner_shape);
    return status == ZC_OK ? parse_index(c, &index_codecs) : status;
}

static zc_status add_shards(codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};
    static const char *const locations[] = {"end", "start", NULL};
    const zc_node chunk_shape = zc_node_member(configuration, "chunk_shape");
    const zc_node location = zc_node_member(configuration, "index_location");
    zc_chain *const chain = c->chain;
    int where = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && c->depth >= DEPTH_MAX) {
        status = zc_node_fail(codec, "shards cannot be here");
    }
    if (status == ZC_OK && (chain->n_stages > 0 || c->is_flat)) {
        status = zc_node_fail(codec, "filters before shards are not supported");
    }
    if (status == ZC_OK) {
        status = zc_node_ints(&chunk_shape, (size_t)c->ndim, 1, INT64_MAX, chain->inner_shape);
    }
    for (int d = 0; d < c->ndim && status == ZC_OK; d++) {
        status = check_divides(c, &chunk_shape, d);
    }
    if (status == ZC_OK && location.value != NULL) {
        status = zc_node_choice(&location, locations, &where);
    }
    if (status != ZC_OK) {
        return status;
    }
    chain->item.size = c->doc->dtype.size;
    chain->sharded = true;
    chain->shard_ndim = c->ndim;
    chain->index_at_start = where == 1;
    return parse_inner(c, configuration);
}

/* ---- extensions ------------------------------------------------------------------------------- */

static bool multiply(int64_t *product, int64_t by)
{
    size_t made;

    if (!zc_mul_size((size_t)*product, (uint64_t)by, &made) || made > INT64_MAX) {
        return false;
    }
    *product = (int64_t)made;
    return true;
}

static bool count_items(int ndim, const int64_t *shape, int64_t *out)
{
    *out = 1;
    for (int d = 0; d < ndim; d++) {
        if (!multiply(out, shape[d])) {
            return false;
        }
    }
    return true;
}

/* One length of a reshaped array: a number, -1 for what is left over, or of the product of dimensions in order. */
static zc_status reshaped_length(const codecs *c, const zc_node *part, int64_t *next, int64_t *out)
{
    zc_status status = ZC_OK;

    if (!zc_node_is_array(part)) {
        status = zc_node_int(part, -1, INT64_MAX, out);
        return status == ZC_OK && *out == 0 ? zc_node_expected(part, "a positive length, or -1") : status;
    }
    *out = 1;
    ZC_EACH(axis, part, status) {
        int64_t d = 0;
        status = zc_node_int(&axis, *next, c->ndim - 1, &d);
        *next = d + 1;
        if (status == ZC_OK && !multiply(out, c->stored[d])) {
            status = zc_node_fail(&axis, "a chunk has too many items");
        }
    }
    return status;
}

/* What is left over for the length -1, of which there is at most one. */
static bool fill_in(int ndim, int64_t *lengths, int64_t items)
{
    int64_t given = 1, *open = NULL;

    for (int d = 0; d < ndim; d++) {
        if (lengths[d] < 0 ? open != NULL : !multiply(&given, lengths[d])) {
            return false;
        }
        open = lengths[d] < 0 ? &lengths[d] : open;
    }
    if (open != NULL) {
        *open = given > 0 ? items / given : 0;
        return multiply(&given, *open) && given == items;
    }
    return given == items;
}

/* A length that is made of dimensions has as many items before it as these. */
static zc_status check_aligned(const codecs *c, const zc_node *shape, const int64_t *lengths)
{
    zc_status status = ZC_OK;

    ZC_EACH(part, shape, status) {
        const zc_node first = zc_node_first(&part);
        int64_t axis = 0, before = 1, found = 1;
        if (first.value == NULL) {
            continue;
        }
        status = zc_node_int(&first, 0, c->ndim - 1, &axis);
        count_items((int)axis, c->stored, &before);
        count_items((int)part.index, lengths, &found);
        if (status == ZC_OK && before != found) {
            status = zc_node_fail(&part, "expected %lld items before it, got %lld", (long long)before, (long long)found);
        }
    }
    return status;
}

/* To the engine only the order of the items counts, which stays. */
static zc_status add_reshape(codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"shape", NULL};
    const zc_node shape = zc_node_member(configuration, "shape");
    int64_t lengths[ZC_MAX_DIMS], items, next = 0;
    size_t n = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && (c->has_array_bytes || c->is_index)) {
        status = zc_node_fail(codec, "\"reshape\" cannot follow a codec that makes bytes");
    }
    status = status == ZC_OK ? zc_node_array(&shape, &n) : status;
    if (status == ZC_OK && n > ZC_MAX_DIMS) {
        status = zc_node_fail(&shape, "more than %d dimensions", ZC_MAX_DIMS);
    }
    ZC_EACH(part, &shape, status) {
        status = reshaped_length(c, &part, &next, &lengths[part.index]);
    }
    if (status == ZC_OK && (!count_items(c->ndim, c->stored, &items) || !fill_in((int)n, lengths, items))) {
        status = zc_node_fail(&shape, "expected lengths for the items of a chunk");
    }
    status = status == ZC_OK ? check_aligned(c, &shape, lengths) : status;
    if (status == ZC_OK) {
        memcpy(c->stored, lengths, n * sizeof lengths[0]);
        c->ndim = (int)n;
        c->is_flat = true;
    }
    return status;
}

/* A filter of the extensions; packbits makes bytes at once. */
static zc_status add_filter(codecs *c, const zc_node *codec, const char *name, const zc_node *configuration)
{
    if (c->has_array_bytes || c->is_index) {
        return zc_node_fail(codec, "\"%.60s\" cannot follow a codec that makes bytes", name);
    }
    if (c->chain->n_stages == ZC_MAX_STAGES) {
        return zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    c->has_array_bytes = strcmp(name, "packbits") == 0;
    c->chain->item = (zc_item){.size = c->doc->dtype.size};
    return zc_filter_v3(codec, name, configuration, c->doc, &c->flow, &c->chain->stages[c->chain->n_stages++]);
}

/* A codec that is one stage of the engine. */
static zc_status add_stage(codecs *c, const zc_node *codec, const char *name, const zc_node *configuration,
                           bool optional)
{
    static const char prefix[] = "numcodecs.";
    const bool foreign = strncmp(name, prefix, sizeof prefix - 1) == 0;
    const char *const id = foreign ? name + sizeof prefix - 1 : name;
    const bool is_filter = foreign && zc_numcodecs_is_filter(id);
    bool known;

    if (c->chain->n_stages == ZC_MAX_STAGES) {
        return zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    zc_codec *const stage = &c->chain->stages[c->chain->n_stages];
    const size_t item_size = c->is_index ? 8 : is_filtered(c) ? c->flow.size : c->doc->dtype.size;
    const zc_status status =
        foreign ? zc_stage_numcodecs(codec, id, configuration, item_size, &c->flow, stage, &known)
                : zc_stage_v3(codec, name, configuration, item_size, stage, &known);
    if (status == ZC_OK && !known) {
        return optional ? ZC_OK : zc_node_fail(codec, "the codec \"%.60s\" is not supported", name);
    }
    if (status == ZC_OK && is_filter && (c->has_array_bytes || c->is_index)) {
        return zc_node_fail(codec, "\"%.60s\" cannot follow a codec that makes bytes", name);
    }
    if (status == ZC_OK && !is_filter && !c->has_array_bytes) {
        return zc_node_fail(codec, "\"%.60s\" needs a codec before it that makes bytes", name);
    }
    c->chain->n_stages++;
    return status;
}

static zc_status add_codec(codecs *c, const zc_node *codec)
{
    const char *name;
    zc_node configuration;
    bool optional;
    const zc_status status = zc_extension(codec, &name, &configuration, &optional);

    if (status != ZC_OK) {
        return status;
    }
    const bool is_bytes = strcmp(name, "bytes") == 0, is_shards = strcmp(name, "sharding_indexed") == 0;
    if (strcmp(name, "transpose") == 0) {
        return add_transpose(c, codec, &configuration);
    }
    if (strcmp(name, "reshape") == 0) {
        return add_reshape(c, codec, &configuration);
    }
    if (zc_filter_known(name)) {
        return add_filter(c, codec, name, &configuration);
    }
    if ((is_bytes || is_shards) && c->has_array_bytes) {
        return zc_node_fail(codec, "a second codec that makes bytes of an array");
    }
    c->has_array_bytes |= is_bytes || is_shards;
    if (is_bytes) {
        return add_bytes(c, codec, &configuration);
    }
    return is_shards ? add_shards(c, codec, &configuration)
                     : add_stage(c, codec, name, &configuration, optional);
}

static zc_status parse(codecs *c, const zc_node *node, const int64_t *shape)
{
    size_t n = 0;
    zc_status status = zc_node_array(node, &n);

    memcpy(c->stored, shape, (size_t)c->ndim * sizeof shape[0]);
    ZC_EACH(codec, node, status) {
        status = add_codec(c, &codec);
    }
    if (status == ZC_OK && !c->has_array_bytes) {
        status = zc_node_fail(node, "expected a codec that makes bytes of an array");
    }
    return status;
}

zc_status zc_codecs_v3(zc_document *doc, const zc_node *node, zc_chain *out)
{
    const zc_item native = {.size = doc->dtype.size};
    codecs c = {.doc = doc, .ndim = doc->array.ndim, .chain = out, .flow = zc_flow_of(&doc->dtype, &native)};
    int64_t shape[ZC_MAX_DIMS];

    zc_grid_longest(doc, shape);
    return parse(&c, node, shape);
}
