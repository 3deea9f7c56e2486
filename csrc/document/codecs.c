/* SPDX-License-Identifier: MIT
 *
 * The codecs of format 3: transpose and filters, bytes or sharding_indexed, then bytes -> bytes codecs
 * (zarr v3 specification, "Codecs"; "Sharding codec").
 */
#include <string.h>

#include "base/arith.h"
#include "document/codecs.h"

/* The order of a transposition: a permutation, or as an earlier text of the specification had it "C" or "F". */
static zc_status transposed_axes(const zc_codecs *c, const zc_node *order, int64_t *out)
{
    static const char *const orders[] = {"C", "F", NULL};
    int which = 0;

    if (!zc_node_is_string(order)) {
        return zc_node_ints(order, (size_t)c->ndim, 0, c->ndim - 1, out);
    }
    for (int d = 0; d < c->ndim; d++) {
        out[d] = d;
    }
    const zc_status status = zc_node_choice(order, orders, &which);
    for (int d = 0; d < c->ndim && which == 1; d++) {
        out[d] = c->ndim - 1 - d;
    }
    return status;
}

static zc_status add_transpose(zc_codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"order", NULL};
    const zc_node order = zc_node_member(configuration, "order");
    int64_t step[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    int composed[ZC_MAX_DIMS], axes[ZC_MAX_DIMS];
    uint64_t seen = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && c->has_array_bytes) {
        status = zc_node_fail(codec, "\"transpose\" cannot follow a codec that makes bytes");
    }
    if (status == ZC_OK && c->is_flat) {
        status = zc_codecs_start_body(c, codec);
    }
    if (status == ZC_OK) {
        status = transposed_axes(c, &order, step);
    }
    if (status != ZC_OK) {
        return status;
    }
    memcpy(shape, c->stored, sizeof shape);
    memcpy(axes, c->axes, sizeof axes);
    for (int d = 0; d < c->ndim; d++) {
        if (seen & (uint64_t)1 << step[d]) {
            return zc_node_fail(&order, "expected a permutation");
        }
        seen |= (uint64_t)1 << step[d];
        composed[d] = c->chain->order_ndim > 0 ? c->chain->order[step[d]] : (int)step[d];
        c->stored[d] = shape[step[d]];
        c->axes[d] = axes[step[d]];
    }
    memcpy(c->chain->order, composed, (size_t)c->ndim * sizeof composed[0]);
    c->chain->order_ndim = c->ndim;
    return ZC_OK;
}

/* Bytes of the words in what comes out of filters. */
static size_t filtered_word(const zc_codecs *c)
{
    return c->flow.kind == 'c' ? c->flow.size / 2 : c->flow.size;
}

/* Has an item words with a byte order? */
static bool has_words(const zc_codecs *c)
{
    return c->is_index || (c->is_filtered ? filtered_word(c) > 1 : c->doc->dtype.n_words > 0);
}

/* The byte order of what filters make, as a stage of its own. */
static zc_status add_swap(zc_codecs *c, const zc_node *codec)
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

/* Items that filters have made, which must come before all stages. */
static zc_status set_filtered_item(zc_codecs *c, const zc_node *codec, bool swapped)
{
    const size_t word = filtered_word(c);

    c->chain->item = (zc_item){.size = c->item_size};
    if (!swapped || word < 2) {
        return ZC_OK;
    }
    if (c->chain->n_stages > 0) {
        return add_swap(c, codec);
    }
    c->chain->item.word = (uint32_t)word;
    return ZC_OK;
}

static zc_status set_item(zc_codecs *c, const zc_node *codec, bool big_endian)
{
    const bool swapped = big_endian != zc_big_endian();

    if (c->is_index) {
        c->chain->item = (zc_item){.size = 8, .word = swapped ? 8 : 0};
        return ZC_OK;
    }
    if (c->is_filtered) {
        return set_filtered_item(c, codec, swapped);
    }
    return zc_dtype_item_as(c->doc, codec, big_endian, &c->chain->item);
}

/* Of floating-point numbers of fewer than 8 bits, those above are read as zeros. */
static zc_status add_low_bits(zc_codecs *c, const zc_node *codec)
{
    const zc_real_type *const type = c->flow.has_number ? zc_real_type_of(c->flow.number) : NULL;

    if (c->is_index || type == NULL || !type->is_float || type->bits >= 8) {
        return ZC_OK;
    }
    if (c->chain->n_stages == ZC_MAX_STAGES) {
        return zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    zc_codec *const stage = &c->chain->stages[c->chain->n_stages++];
    zc_codec_init(stage, "low_bits");
    stage->level = type->bits;
    return ZC_OK;
}

static zc_status add_bytes(zc_codecs *c, const zc_node *codec, const zc_node *configuration)
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
    status = status == ZC_OK ? set_item(c, codec, which == 1) : status;
    return status == ZC_OK ? add_low_bits(c, codec) : status;
}

/* What zarrita.js means by no codecs: little-endian items. */
static zc_status add_missing_bytes(zc_codecs *c, const zc_node *node)
{
    c->has_array_bytes = true;
    const zc_status status = set_item(c, node, false);
    return status == ZC_OK ? add_low_bits(c, node) : status;
}

static zc_status parse_index(zc_codecs *c, const zc_node *node)
{
    zc_codecs index = {.doc = c->doc, .ndim = 1, .depth = c->depth + 1, .is_index = true, .item_size = 8};
    const int64_t shape[1] = {2};
    size_t size;
    zc_error err;

    index.chain = zc_document_alloc(c->doc, sizeof *index.chain);
    if (index.chain == NULL) {
        return zc_document_no_memory(node);
    }
    zc_status status = zc_codecs_parse(&index, node, shape);
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
static zc_status check_divides(const zc_codecs *c, const zc_node *node, int d)
{
    const int64_t inner = c->chain->inner_shape[d];
    const zc_grid_axis *const axis = c->axes[d] >= 0 ? &c->doc->array.grid[c->axes[d]] : NULL;
    const bool has_edges = c->depth == 1 && axis != NULL && axis->edges != NULL;
    int64_t bad = c->stored[d] % inner != 0 ? c->stored[d] : 0;

    for (int64_t i = 0; has_edges && bad == 0 && i < axis->n_edges; i++) {
        const int64_t length = axis->edges[i + 1] - axis->edges[i];
        bad = length % inner != 0 ? length : 0;
    }
    return bad == 0 ? ZC_OK
                    : zc_node_fail(node, "%lld does not divide the shard's %lld", (long long)inner,
                                   (long long)bad);
}

/* Filters go with each inner chunk, where that comes to the same. */
static void hand_down(zc_codecs *c, zc_codecs *inner)
{
    zc_chain *const chain = c->chain;

    memcpy(inner->chain->stages, chain->stages, sizeof chain->stages);
    memcpy(inner->fills, c->fills, sizeof c->fills);
    inner->chain->n_stages = chain->n_stages;
    inner->item_size = c->item_size;
    inner->fill = c->fill;
    chain->n_stages = 0;
}

/* The chains inside of a shard. */
static zc_status parse_inner(zc_codecs *c, const zc_node *configuration)
{
    const zc_node inner_codecs = zc_node_member(configuration, "codecs");
    const zc_node index_codecs = zc_node_member(configuration, "index_codecs");
    zc_codecs inner;
    zc_status status = zc_codecs_inside(c, configuration, &inner);

    if (status != ZC_OK) {
        return status;
    }
    hand_down(c, &inner);
    c->chain->inner = inner.chain;
    status = zc_codecs_parse(&inner, &inner_codecs, c->chain->inner_shape);
    return status == ZC_OK ? parse_index(c, &index_codecs) : status;
}

/* Filters that do not keep the fill value, or look at more than single items, are for all of a shard. */
static zc_status begin_shards(zc_codecs *c, const zc_node *codec)
{
    bool keeps = true;
    zc_status status = ZC_OK;

    if (c->is_index) {
        return zc_node_fail(codec, "shards cannot be here");
    }
    if (!c->is_flat && c->chain->n_stages > 0) {
        status = zc_codecs_keep_fill(c, codec, &keeps);
    }
    return status == ZC_OK && (c->is_flat || !keeps) ? zc_codecs_start_body(c, codec) : status;
}

static zc_status add_shards(zc_codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};
    static const char *const locations[] = {"end", "start", NULL};
    const zc_node chunk_shape = zc_node_member(configuration, "chunk_shape");
    const zc_node location = zc_node_member(configuration, "index_location");
    int where = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK) {
        status = begin_shards(c, codec);
    }
    if (status == ZC_OK) {
        status = zc_node_ints(&chunk_shape, (size_t)c->ndim, 1, INT64_MAX, c->chain->inner_shape);
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
    c->chain->item.size = c->item_size;
    c->chain->sharded = true;
    c->chain->shard_ndim = c->ndim;
    c->chain->index_at_start = where == 1;
    return parse_inner(c, configuration);
}

/* ---- extensions ------------------------------------------------------------------------------- */

/* A filter of the extensions; packbits makes bytes at once. */
static zc_status add_filter(zc_codecs *c, const zc_node *codec, const char *name, const zc_node *configuration)
{
    const bool casts = strcmp(name, "cast_value") == 0 || strcmp(name, "scale_offset") == 0;

    if (c->has_array_bytes || c->is_index) {
        return zc_node_fail(codec, "\"%.60s\" cannot follow a codec that makes bytes", name);
    }
    if (c->chain->n_stages == ZC_MAX_STAGES) {
        return zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    c->has_array_bytes = strcmp(name, "packbits") == 0;
    c->is_filtered = true;
    c->chain->item = (zc_item){.size = c->item_size};
    c->fills[c->chain->n_stages] = casts ? ZC_FILL_ENCODED : ZC_FILL_STAYS;
    return zc_filter_v3(codec, name, configuration, c->doc, &c->flow, &c->chain->stages[c->chain->n_stages++]);
}

/* One of numcodecs' filters has been added: what becomes of shape and fill value. */
static zc_status note_numcodecs(zc_codecs *c, const zc_node *codec, const char *id, const zc_node *configuration)
{
    const bool packs = strcmp(id, "packbits") == 0, delta = strcmp(id, "delta") == 0;
    const zc_node astype = zc_node_member(configuration, strcmp(id, "astype") == 0 ? "encode_dtype" : "astype");
    const bool casts = packs || (astype.value != NULL && !zc_node_is_null(&astype) && strcmp(id, "quantize") != 0);
    size_t items = 1;

    c->fills[c->chain->n_stages] = casts ? ZC_FILL_ZERO : ZC_FILL_STAYS;
    c->is_filtered = true;
    c->is_flat |= packs || delta;
    if (!packs) {
        return ZC_OK;
    }
    for (int d = 0; d < c->ndim; d++) {
        if (!zc_mul_size(items, (uint64_t)c->stored[d], &items)) {
            return zc_node_fail(codec, "a chunk has too many items");
        }
    }
    c->stored[0] = 1 + (int64_t)(items / 8 + (items % 8 != 0));
    c->axes[0] = -1;
    c->lengths[0] = (zc_length){.fixed = -1};
    c->ndim = 1;
    c->is_reshaped = true;
    return ZC_OK;
}

/* A codec that is one stage of the engine. */
static zc_status add_stage(zc_codecs *c, const zc_node *codec, const char *name, const zc_node *configuration,
                           bool optional)
{
    const char *const id = strncmp(name, "numcodecs.", 10) == 0 ? name + 10 : "";
    const bool is_filter = zc_numcodecs_is_filter(id);
    bool known;
    zc_status status = ZC_OK;

    if (is_filter && c->is_reshaped && strcmp(id, "packbits") == 0) {
        status = zc_codecs_start_body(c, codec);
    }
    if (status == ZC_OK && c->chain->n_stages == ZC_MAX_STAGES) {
        status = zc_node_fail(codec, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    if (status != ZC_OK) {
        return status;
    }
    status = zc_codecs_stage(c, codec, name, configuration, &c->chain->stages[c->chain->n_stages], &known);
    if (status == ZC_OK && !known) {
        return optional ? ZC_OK : zc_node_fail(codec, "the codec \"%.60s\" is not supported", name);
    }
    if (status == ZC_OK && is_filter && (c->has_array_bytes || c->is_index)) {
        return zc_node_fail(codec, "\"%.60s\" cannot follow a codec that makes bytes", name);
    }
    if (status == ZC_OK && !is_filter && !c->has_array_bytes) {
        return zc_node_fail(codec, "\"%.60s\" needs a codec before it that makes bytes", name);
    }
    if (status == ZC_OK && is_filter) {
        status = note_numcodecs(c, codec, id, configuration);
    }
    c->chain->n_stages++;
    if (status == ZC_OK && zc_stages_count(c->chain->stages, c->chain->n_stages) > ZC_MAX_STAGES) {
        status = zc_node_fail(codec, "more than %d codecs of bytes, with those that they hold", ZC_MAX_STAGES);
    }
    return status;
}

static zc_status add_codec(zc_codecs *c, const zc_node *codec)
{
    const char *name;
    zc_node configuration;
    bool optional;
    const zc_status status = zc_extension(codec, &name, &configuration, &optional);

    if (status != ZC_OK) {
        return status;
    }
    const bool is_bytes = strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0;   /* before ZEP 1 */
    const bool is_shards = strcmp(name, "sharding_indexed") == 0;
    const bool is_block = strcmp(name, "n5_default") == 0;
    if (strcmp(name, "transpose") == 0) {
        return add_transpose(c, codec, &configuration);
    }
    if (strcmp(name, "reshape") == 0) {
        return zc_codecs_reshape(c, codec, &configuration);
    }
    if (zc_filter_known(name)) {
        return add_filter(c, codec, name, &configuration);
    }
    if ((is_bytes || is_shards || is_block) && c->has_array_bytes) {
        return zc_node_fail(codec, "a second codec that makes bytes of an array");
    }
    c->has_array_bytes |= is_bytes || is_shards || is_block;
    if (is_bytes) {
        return add_bytes(c, codec, &configuration);
    }
    if (is_block) {
        return zc_codecs_block(c, codec, &configuration);
    }
    return is_shards ? add_shards(c, codec, &configuration)
                     : add_stage(c, codec, name, &configuration, optional);
}

zc_status zc_codecs_too_deep(const zc_node *node)
{
    return zc_node_fail(node, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
}

zc_status zc_codecs_parse(zc_codecs *c, const zc_node *node, const int64_t *shape)
{
    size_t n = 0;
    zc_status status = c->depth <= ZC_DEPTH_MAX ? zc_node_array(node, &n) : zc_codecs_too_deep(node);

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
    zc_codecs c = {.doc = doc, .depth = 1, .ndim = doc->array.ndim, .chain = out, .item_size = doc->dtype.size,
                   .fill = doc->array.fill, .flow = zc_flow_of(&doc->dtype, &native)};
    int64_t shape[ZC_MAX_DIMS];
    size_t n = 0;

    if (zc_node_array(node, &n) == ZC_OK && n == 0) {
        return add_missing_bytes(&c, node);
    }
    for (int d = 0; d < c.ndim; d++) {
        c.axes[d] = d;
        c.lengths[d].axes = (uint64_t)1 << d;
    }
    zc_grid_longest(doc, shape);
    return zc_codecs_parse(&c, node, shape);
}
