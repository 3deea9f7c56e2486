/* SPDX-License-Identifier: MIT
 *
 * The codecs of format 3 (zarr v3 specification, "Codecs", "Sharding codec"; Zarr extensions).
 */
#include <string.h>

#include "base/arith.h"
#include "document/document.h"

/* A list of codecs that is being translated to links of a chain (engine/chain_compile.h): each codec by itself, with
 * the type of the items that the codecs before it make. */
typedef struct codec_list {
    zc_document *doc;
    int depth;                       /* lists of codecs around this one, and itself */
    bool is_index;                   /* of a shard: items are unsigned integers of 8 bytes */
    bool is_filtered;                /* filters have made other items of those of the data type, or looked into them */
    zc_flow flow;                    /* the items after the codecs so far */
    zc_link *links;                  /* with room for two for each codec */
    size_t n_links;
} codec_list;

static zc_status parse_list(codec_list *c, const zc_node *node, zc_links *out);

/* The codecs within another one: for the items that `c` has reached, or for the index of a shard. */
static zc_status parse_inside(const codec_list *c, const zc_node *node, bool is_index, zc_links *out)
{
    static const zc_flow entries = {.kind = 'u', .size = 8};
    codec_list inside = {.doc = c->doc, .depth = c->depth + 1, .is_index = is_index,
                         .is_filtered = c->is_filtered && !is_index, .flow = is_index ? entries : c->flow};

    return parse_list(&inside, node, out);
}

/* A new link; `node` is its codec. */
static zc_status add_link(codec_list *c, const zc_node *node, zc_link_kind kind, zc_link **out)
{
    zc_link *const link = &c->links[c->n_links++];

    *out = link;
    link->kind = kind;
    link->where = zc_node_keep_place(&c->doc->arena, node);
    return link->where != NULL ? ZC_OK : zc_node_no_memory(node);
}

/* ---- array -> array ------------------------------------------------------------------------------- */

static zc_status add_transposition(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"order", NULL};
    static const char *const orders[] = {"C", "F", NULL};    /* of an earlier text of the specification */
    const zc_node order = zc_node_member(configuration, "order");
    const bool is_named = zc_node_is_string(&order);
    zc_link *link;
    int which = 1;
    zc_status status = zc_node_members(configuration, members, false);

    status = status == ZC_OK && is_named ? zc_node_choice(&order, orders, &which) : status;
    if (status == ZC_OK && which == 1) {
        status = add_link(c, codec, ZC_LINK_TRANSPOSE, &link);
    }
    if (status != ZC_OK || is_named) {
        return status;       /* without an order, the link reverses the dimensions */
    }
    return zc_node_keep_ints(&c->doc->arena, &order, ZC_MAX_DIMS, 0, ZC_MAX_DIMS - 1, &link->order, &link->n);
}

/* One length of a reshaped array: a number, -1 for what is left over, or dimensions whose lengths are multiplied. */
static zc_status read_length(const zc_node *part, int64_t *next, zc_length *out)
{
    zc_status status = ZC_OK;

    if (!zc_node_is_array(part)) {
        status = zc_node_int(part, -1, INT64_MAX, &out->fixed);
        return status == ZC_OK && out->fixed == 0 ? zc_node_expected(part, "a positive length, or -1") : status;
    }
    ZC_EACH(axis, part, status) {
        int64_t d = 0;
        status = zc_node_int(&axis, *next, ZC_MAX_DIMS - 1, &d);
        *next = d + 1;
        out->axes |= (uint64_t)1 << d;
    }
    return status;
}

static zc_status add_reshaping(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"shape", NULL};
    const zc_node shape = zc_node_member(configuration, "shape");
    zc_link *link;
    int64_t next = 0;
    size_t n = 0;
    zc_status status = zc_node_members(configuration, members, false);

    status = status == ZC_OK ? zc_node_array(&shape, &n) : status;
    if (status == ZC_OK && n > ZC_MAX_DIMS) {
        status = zc_node_fail(&shape, "more than %d dimensions", ZC_MAX_DIMS);
    }
    status = status == ZC_OK ? add_link(c, codec, ZC_LINK_RESHAPE, &link) : status;
    zc_length *const lengths = status == ZC_OK ? zc_arena_alloc(&c->doc->arena, n * sizeof lengths[0]) : NULL;
    if (lengths == NULL) {
        return status == ZC_OK ? zc_node_no_memory(&shape) : status;
    }
    ZC_EACH(part, &shape, status) {
        status = read_length(&part, &next, &lengths[part.index]);
    }
    link->n = (int)n;
    link->lengths = lengths;
    return status;
}

/* A filter of the extensions; packbits makes bytes at once. */
static zc_status add_filter(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration)
{
    const bool packs = strcmp(name, "packbits") == 0;
    const bool casts = strcmp(name, "cast_value") == 0 || strcmp(name, "scale_offset") == 0;
    zc_link *link;
    zc_status status = packs ? add_link(c, codec, ZC_LINK_BYTES, &link) : ZC_OK;

    c->is_filtered = true;
    if (status == ZC_OK) {
        status = add_link(c, codec, packs ? ZC_LINK_STAGE : ZC_LINK_FILTER, &link);
    }
    if (status != ZC_OK) {
        return status;
    }
    link->fill_rule = casts ? ZC_FILL_ENCODED : ZC_FILL_KEPT;
    return zc_filter_v3(codec, name, configuration, c->doc, &c->flow, &link->codec);
}

/* ---- bytes ---------------------------------------------------------------------------------------- */

/* Bytes of the words in what comes out of filters, or in the index of a shard. */
static size_t word_of(const codec_list *c)
{
    return c->flow.kind == 'c' ? c->flow.size / 2 : c->flow.size;
}

static bool has_words(const codec_list *c)
{
    return c->is_index || c->is_filtered ? word_of(c) > 1 : c->doc->dtype.n_words > 0;
}

static zc_status swapped_item(const codec_list *c, const zc_node *codec, bool big_endian, zc_item *out)
{
    const size_t word = word_of(c);

    if (!c->is_index && !c->is_filtered) {
        return zc_dtype_item_as(c->doc, codec, big_endian, out);
    }
    if (big_endian == ZC_BIG_ENDIAN || word < 2) {
        return ZC_OK;
    }
    if (word != 2 && word != 4 && word != 8) {
        return zc_node_fail(codec, "filters and another byte order than the machine's are not supported here");
    }
    out->word = (uint32_t)word;
    return ZC_OK;
}

/* The unused bits of floating-point numbers of fewer than 8 bits are read as zeros. */
static zc_status add_low_bits(codec_list *c, const zc_node *codec)
{
    const zc_real_type *const type = c->flow.has_number ? zc_real_type_of(c->flow.number) : NULL;
    zc_link *link;

    if (type == NULL || !type->is_float || type->bits >= 8) {
        return ZC_OK;
    }
    const zc_status status = add_link(c, codec, ZC_LINK_STAGE, &link);
    zc_codec_init(&link->codec, "low_bits");
    link->codec.level = type->bits;
    return status;
}

static zc_status add_bytes(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"endian", NULL};
    static const char *const orders[] = {"little", "big", NULL};
    const zc_node endian = zc_node_member(configuration, "endian");
    const bool is_struct = strncmp(c->doc->dtype.typestr, "|V", 2) == 0;
    int which = 0;           /* what writers of structures without a byte order meant */
    zc_link *link;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && endian.value != NULL) {
        status = zc_node_choice(&endian, orders, &which);
    } else if (status == ZC_OK && has_words(c) && (c->is_index || !is_struct)) {
        status = zc_node_fail(codec, "configuration.endian is required for items of more than one byte");
    }
    status = status == ZC_OK ? add_link(c, codec, ZC_LINK_BYTES, &link) : status;
    status = status == ZC_OK ? swapped_item(c, codec, which == 1, &link->item) : status;
    return status == ZC_OK ? add_low_bits(c, codec) : status;
}

/* ---- conditional -------------------------------------------------------------------------------- */

enum { HEADER_BITS_MAX = 1 << 16 };

static zc_status configure_stage(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration,
                                 zc_codec *out, bool *known);

static zc_status nested_stage(codec_list *c, const zc_node *codec, zc_codec *out)
{
    const char *name;
    zc_node configuration;
    bool optional, known = false;
    zc_status status = zc_node_extension(codec, &name, &configuration, &optional);

    if (status == ZC_OK && strncmp(name, "numcodecs.", 10) == 0 && zc_numcodecs_is_filter(name + 10)) {
        return zc_node_fail(codec, "expected a codec of bytes, got \"%.60s\"", name);
    }
    if (status == ZC_OK) {
        status = configure_stage(c, codec, name, &configuration, out, &known);
    }
    return status == ZC_OK && !known ? zc_node_fail(codec, "the codec \"%.60s\" is not supported", name) : status;
}

static zc_status header_of(const zc_node *configuration, size_t n, size_t *out)
{
    const zc_node node = zc_node_member(configuration, "header_bits");
    int64_t bits = 8 * (((int64_t)n + 7) / 8);
    zc_status status = ZC_OK;

    if (node.value != NULL && !zc_node_is_null(&node)) {
        status = zc_node_int(&node, 0, HEADER_BITS_MAX, &bits);
        if (status == ZC_OK && (bits % 8 != 0 || bits < (int64_t)n)) {
            status = zc_node_fail(&node, "expected a multiple of 8 of at least %zu", n);
        }
    }
    *out = (size_t)bits / 8;
    return status;
}

static zc_status conditional(codec_list *c, const zc_node *codec, const zc_node *configuration, zc_codec *out)
{
    static const char *const members[] = {"codecs", "header_bits", NULL};
    const zc_node list = zc_node_member(configuration, "codecs");
    size_t n = 0;
    zc_status status = zc_node_members(configuration, members, false);

    status = status == ZC_OK ? zc_node_array(&list, &n) : status;
    if (status == ZC_OK && c->depth == ZC_DEPTH_MAX) {
        status = zc_node_fail(&list, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    if (status == ZC_OK && n >= ZC_MAX_STAGES) {
        status = zc_node_fail(&list, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    zc_codec *const nested = status == ZC_OK ? zc_arena_alloc(&c->doc->arena, (n + 1) * sizeof *nested) : NULL;
    if (status == ZC_OK && nested == NULL) {
        status = zc_node_no_memory(&list);
    }
    c->depth++;
    ZC_EACH(item, &list, status) {
        status = nested_stage(c, &item, &nested[item.index]);
    }
    c->depth--;
    zc_codec_init(out, "conditional");
    out->nested.codecs = nested;
    out->nested.n = (int)n;
    status = status == ZC_OK ? header_of(configuration, n, &out->nested.header) : status;
    return status == ZC_OK ? zc_stage_check(codec, out) : status;
}

/* ---- bytes -> bytes, and the filters of numcodecs ------------------------------------------------- */

/* A codec of bytes, or a filter of numcodecs; *known as for zc_stage_v3. */
static zc_status configure_stage(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration,
                                 zc_codec *out, bool *known)
{
    const size_t item_size = c->is_filtered ? c->flow.size : c->is_index ? 8 : c->doc->dtype.size;

    *known = true;
    if (strcmp(name, "conditional") == 0) {
        return conditional(c, codec, configuration, out);
    }
    if (strncmp(name, "numcodecs.", 10) == 0) {
        return zc_stage_numcodecs(codec, name + 10, configuration, item_size, &c->flow, out, known);
    }
    return zc_stage_v3(codec, name, configuration, item_size, out, known);
}

/* What one of numcodecs' filters makes of the fill value, as zarr-python has it: zero where it makes another type. */
static zc_fill_rule fill_rule_of(const char *id, const zc_node *configuration)
{
    const zc_node astype = zc_node_member(configuration, strcmp(id, "astype") == 0 ? "encode_dtype" : "astype");
    const bool casts = astype.value != NULL && !zc_node_is_null(&astype) && strcmp(id, "quantize") != 0;

    return casts || strcmp(id, "packbits") == 0 ? ZC_FILL_ZERO : ZC_FILL_KEPT;
}

/* A codec that is one stage of the engine, or a filter of numcodecs. */
static zc_status add_stage(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration,
                           bool optional)
{
    const char *const id = strncmp(name, "numcodecs.", 10) == 0 ? name + 10 : "";
    const bool is_filter = zc_numcodecs_is_filter(id);
    zc_link *link;
    bool known;
    zc_status status = add_link(c, codec, is_filter ? ZC_LINK_FILTER : ZC_LINK_STAGE, &link);

    if (status == ZC_OK) {
        status = configure_stage(c, codec, name, configuration, &link->codec, &known);
    }
    if (status == ZC_OK && !known) {
        c->n_links--;
        return optional ? ZC_OK : zc_node_fail(codec, "the codec \"%.60s\" is not supported", name);
    }
    link->fill_rule = fill_rule_of(id, configuration);
    c->is_filtered |= is_filter;
    return status;
}

/* ---- sharding_indexed ---------------------------------------------------------------------------- */

static zc_status add_shards(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};
    static const char *const locations[] = {"end", "start", NULL};
    const zc_node inner = zc_node_member(configuration, "codecs");
    const zc_node index = zc_node_member(configuration, "index_codecs");
    const zc_node location = zc_node_member(configuration, "index_location");
    zc_link *link;
    int where = 0;
    zc_status status = zc_node_members(configuration, members, false);

    status = status == ZC_OK ? add_link(c, codec, ZC_LINK_SHARDS, &link) : status;
    if (status == ZC_OK) {
        const zc_node shape = zc_node_member(configuration, "chunk_shape");
        status = zc_node_keep_ints(&c->doc->arena, &shape, ZC_MAX_DIMS, 1, INT64_MAX, &link->inner_shape, &link->n);
    }
    if (status == ZC_OK && location.value != NULL) {
        status = zc_node_choice(&location, locations, &where);
        link->index_at_start = where == 1;
    }
    status = status == ZC_OK ? parse_inside(c, &inner, false, &link->inner) : status;
    return status == ZC_OK ? parse_inside(c, &index, true, &link->index) : status;
}

/* ---- n5_default ---------------------------------------------------------------------------------- */

static zc_status add_n5_block(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"codecs", NULL};
    const zc_node list = zc_node_member(configuration, "codecs");
    zc_link *link;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && (strchr("iuf", c->flow.kind) == NULL || (c->flow.kind == 'f' && c->flow.size < 4))) {
        status = zc_node_fail(codec, "N5 has no such data type");
    }
    status = status == ZC_OK ? add_link(c, codec, ZC_LINK_N5_BLOCK, &link) : status;
    return status == ZC_OK ? parse_inside(c, &list, false, &link->inner) : status;
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static zc_status add_codec(codec_list *c, const zc_node *codec)
{
    static const struct {
        const char *name;
        zc_status (*add)(codec_list *c, const zc_node *codec, const zc_node *configuration);
    } known[] = {{"transpose", add_transposition},       {"reshape", add_reshaping},
                 {"bytes", add_bytes},                   {"endian", add_bytes},   /* before ZEP 1 */
                
                 {"sharding_indexed", add_shards}, {"n5_default", add_n5_block}};
    const char *name;
    zc_node configuration;
    bool optional;
    const zc_status status = zc_node_extension(codec, &name, &configuration, &optional);

    if (status != ZC_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            return known[i].add(c, codec, &configuration);
        }
    }
    return zc_filter_known(name) ? add_filter(c, codec, name, &configuration)
                                 : add_stage(c, codec, name, &configuration, optional);
}

static zc_status parse_list(codec_list *c, const zc_node *node, zc_links *out)
{
    size_t n = 0, size;
    zc_status status = zc_node_array(node, &n);

    if (status == ZC_OK && c->depth > ZC_DEPTH_MAX) {
        status = zc_node_fail(node, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    if (status == ZC_OK && n == 0) {
        status = zc_node_fail(node, "expected a codec that makes bytes of an array");
    }
    if (status == ZC_OK && !zc_mul_size(2 * n, sizeof c->links[0], &size)) {
        return zc_node_no_memory(node);
    }
    if (status != ZC_OK) {
        return status;
    }
    c->n_links = 0;
    c->links = zc_arena_alloc(&c->doc->arena, size);
    if (c->links == NULL) {
        return zc_node_no_memory(node);
    }
    ZC_EACH(codec, node, status) {
        status = add_codec(c, &codec);
    }
    *out = (zc_links){c->links, c->n_links};
    return status;
}

/* What zarrita.js means by no codecs: little-endian items. */
static zc_status add_missing_bytes(codec_list *c, const zc_node *node, zc_links *out)
{
    zc_link *link;

    c->links = zc_arena_alloc(&c->doc->arena, 2 * sizeof c->links[0]);
    zc_status status = c->links != NULL ? add_link(c, node, ZC_LINK_BYTES, &link) : zc_node_no_memory(node);
    status = status == ZC_OK ? swapped_item(c, node, false, &link->item) : status;
    status = status == ZC_OK ? add_low_bits(c, node) : status;
    *out = (zc_links){c->links, c->n_links};
    return status;
}

zc_status zc_codecs_v3(zc_document *doc, const zc_node *node, zc_links *out)
{
    const zc_item native = {.size = doc->dtype.size};
    codec_list c = {.doc = doc, .depth = 1, .flow = zc_flow_of(&doc->dtype, &native)};
    size_t n = 1;

    return zc_node_array(node, &n) == ZC_OK && n == 0 ? add_missing_bytes(&c, node, out) : parse_list(&c, node, out);
}
