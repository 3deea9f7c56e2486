/* SPDX-License-Identifier: MIT
 *
 * The codecs of format 3 (zarr v3 specification, "Codecs", "Sharding codec"; Zarr extensions).
 */
#include <string.h>

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

static zc_links parse_list(codec_list *c, const zc_node *node);

/* The codecs within another one: for the items that `c` has reached, or for the index of a shard. */
static zc_links parse_inside(const codec_list *c, const zc_node *node, bool is_index)
{
    static const zc_flow entries = {.kind = 'u', .size = 8};
    codec_list inside = {.doc = c->doc, .depth = c->depth + 1, .is_index = is_index,
                         .is_filtered = c->is_filtered && !is_index, .flow = is_index ? entries : c->flow};

    return parse_list(&inside, node);
}

/* A new link; `node` is its codec. */
static zc_link *add_link(codec_list *c, const zc_node *node, zc_link_kind kind)
{
    zc_link *const link = &c->links[c->n_links++];

    link->kind = kind;
    link->where = zc_node_keep_place(node, &c->doc->arena);
    return link;
}

/* ---- array -> array ------------------------------------------------------------------------------- */

static void add_transposition(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    const zc_node order = zc_node_member(configuration, "order");
    const bool is_named = zc_node_is_string(&order);     /* in an earlier text of the specification */

    ZC_MEMBERS(configuration, "order");
    if (is_named && ZC_CHOICE(&order, "C", "F") == 0) {
        return;
    }
    zc_link *const link = add_link(c, codec, ZC_LINK_TRANSPOSE);
    if (!is_named) {         /* without an order, the link reverses the dimensions */
        link->order = zc_node_keep_ints(&order, &c->doc->arena, ZC_MAX_DIMS, 0, ZC_MAX_DIMS - 1, &link->n);
    }
}

/* One length of a reshaped array: a number, -1 for what is left over, or dimensions whose lengths are multiplied. */
static void read_length(const zc_node *part, int64_t *next, zc_length *out)
{
    if (!zc_node_is_array(part)) {
        out->fixed = zc_node_int(part, -1, INT64_MAX);
        if (out->fixed == 0) {
            zc_node_expected(part, "a positive length, or -1");
        }
    }
    ZC_EACH(axis, part) {
        const int64_t d = zc_node_int(&axis, *next, ZC_MAX_DIMS - 1);
        if (zc_node_ok(part)) {
            *next = d + 1;
            out->axes |= (uint64_t)1 << d;
        }
    }
}

static void add_reshaping(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    const zc_node shape = zc_node_member(configuration, "shape");
    int64_t next = 0;

    ZC_MEMBERS(configuration, "shape");
    const size_t n = zc_node_array(&shape);
    if (n > ZC_MAX_DIMS) {
        zc_node_fail(&shape, "more than %d dimensions", ZC_MAX_DIMS);
    }
    zc_link *const link = add_link(c, codec, ZC_LINK_RESHAPE);
    zc_length *const lengths = zc_node_alloc(&shape, &c->doc->arena, n, sizeof lengths[0]);
    ZC_EACH(part, &shape) {
        read_length(&part, &next, &lengths[part.index]);
    }
    link->n = (int)n;
    link->lengths = lengths;
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

static zc_item swapped_item(const codec_list *c, const zc_node *codec, bool big_endian)
{
    const size_t word = word_of(c);

    if (!c->is_index && !c->is_filtered) {
        return zc_dtype_item_as(c->doc, codec, big_endian);
    }
    if (big_endian == ZC_BIG_ENDIAN || word < 2) {
        return (zc_item){0};
    }
    if (word != 2 && word != 4 && word != 8) {
        zc_node_fail(codec, "filters and another byte order than the machine's are not supported here");
    }
    return (zc_item){.word = (uint32_t)word};
}

/* The unused bits of floating-point numbers of fewer than 8 bits are read as zeros. */
static void add_low_bits(codec_list *c, const zc_node *codec)
{
    const zc_real_type *const type = c->flow.has_number ? zc_real_type_of(c->flow.number) : NULL;

    if (type != NULL && type->is_float && type->bits < 8) {
        zc_link *const link = add_link(c, codec, ZC_LINK_STAGE);
        zc_codec_init(&link->codec, "low_bits");
        link->codec.level = type->bits;
    }
}

static void add_items(codec_list *c, const zc_node *codec, bool big_endian)
{
    zc_link *const link = add_link(c, codec, ZC_LINK_BYTES);

    link->item = swapped_item(c, codec, big_endian);
    add_low_bits(c, codec);
}

static void add_bytes(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    const zc_node endian = zc_node_member(configuration, "endian");
    const bool is_struct = strncmp(c->doc->dtype.typestr, "|V", 2) == 0;     /* writers left the order out: little */

    ZC_MEMBERS(configuration, "endian");
    const int order = ZC_CHOICE_OR(&endian, 0, "little", "big");
    if (endian.value == NULL && has_words(c) && (c->is_index || !is_struct)) {
        zc_node_fail(codec, "configuration.endian is required for items of more than one byte");
    }
    add_items(c, codec, order == 1);
}

/* ---- conditional -------------------------------------------------------------------------------- */

enum { HEADER_BITS_MAX = 1 << 16 };

static bool configure(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration,
                      zc_codec *out);

static bool is_numcodecs(const char *name)
{
    return strncmp(name, "numcodecs.", 10) == 0;
}

/* A codec by its name in format 3; NULL if the engine has none. */
static const zc_known_codec *find(const char *name)
{
    return is_numcodecs(name) ? zc_find_numcodecs(name + 10) : zc_find_v3(name);
}

static void nested_stage(codec_list *c, const zc_node *codec, zc_codec *out)
{
    zc_node configuration;
    const char *const name = zc_node_extension(codec, &configuration);
    const zc_known_codec *const known = find(name);

    if (known != NULL && known->is_filter) {
        zc_node_fail(codec, "expected a codec of bytes, got \"%.60s\"", name);
    }
    if (!configure(c, codec, name, &configuration, out)) {
        zc_node_unsupported(codec, "the codec", name);
    }
}

static size_t header_of(const zc_node *configuration, size_t n)
{
    const zc_node node = zc_node_given(configuration, "header_bits");

    if (node.value == NULL) {
        return (n + 7) / 8;
    }
    const int64_t bits = zc_node_int(&node, 0, HEADER_BITS_MAX);
    if (bits % 8 != 0 || bits < (int64_t)n) {
        zc_node_fail(&node, "expected a multiple of 8 of at least %zu", n);
    }
    return (size_t)bits / 8;
}

static void conditional(codec_list *c, const zc_node *codec, const zc_node *configuration, zc_codec *out)
{
    const zc_node list = zc_node_member(configuration, "codecs");

    ZC_MEMBERS(configuration, "codecs", "header_bits");
    const size_t n = zc_node_array(&list);
    if (c->depth == ZC_DEPTH_MAX) {
        zc_node_fail(&list, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    if (n >= ZC_MAX_STAGES) {
        zc_node_too_many(&list, ZC_MAX_STAGES, "codecs of bytes");
    }
    zc_codec *const nested = zc_node_alloc(&list, &c->doc->arena, n, sizeof *nested);
    c->depth++;
    ZC_EACH(item, &list) {
        nested_stage(c, &item, &nested[item.index]);
    }
    c->depth--;
    zc_codec_init(out, "conditional");
    out->nested.codecs = nested;
    out->nested.n = (int)n;
    out->nested.header = header_of(configuration, n);
    zc_stage_check(codec, out);
}

/* ---- codecs of the engine -------------------------------------------------------------------------- */

/* Returns false if the engine has no codec of that name. */
static bool configure(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration,
                      zc_codec *out)
{
    const zc_known_codec *const known = find(name);
    const size_t item_size = c->is_filtered ? c->flow.size : c->is_index ? 8 : c->doc->dtype.size;
    const zc_source from = {&c->doc->arena, codec, configuration, item_size, &c->flow};

    if (strcmp(name, "conditional") == 0) {
        conditional(c, codec, configuration, out);
        return true;
    }
    if (known != NULL) {
        zc_configure(known, &from, out);
        c->flow = is_numcodecs(name) && !known->is_filter ? (zc_flow){.size = 1} : c->flow;
    }
    return known != NULL;
}

/* What one of numcodecs' filters makes of the fill value, as zarr-python has it: zero where it makes another type. */
static zc_fill_rule fill_rule_of(const char *id, const zc_node *configuration)
{
    const zc_node astype = zc_node_given(configuration, strcmp(id, "astype") == 0 ? "encode_dtype" : "astype");
    const bool casts = astype.value != NULL && strcmp(id, "quantize") != 0;

    return casts || strcmp(id, "packbits") == 0 ? ZC_FILL_ZERO : ZC_FILL_KEPT;
}

/* A filter of the extensions; packbits makes bytes at once. */
static void add_filter(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration)
{
    const bool packs = strcmp(name, "packbits") == 0;
    const bool casts = strcmp(name, "cast_value") == 0 || strcmp(name, "scale_offset") == 0;

    c->is_filtered = true;
    if (packs) {
        add_link(c, codec, ZC_LINK_BYTES);
    }
    zc_link *const link = add_link(c, codec, packs ? ZC_LINK_STAGE : ZC_LINK_FILTER);
    link->fill_rule = casts ? ZC_FILL_ENCODED : ZC_FILL_KEPT;
    configure(c, codec, name, configuration, &link->codec);
}

/* A codec of bytes that is one stage of the engine, or a filter of numcodecs. */
static void add_stage(codec_list *c, const zc_node *codec, const char *name, const zc_node *configuration)
{
    const zc_known_codec *const known = find(name);
    const bool is_filter = known != NULL && known->is_filter;
    zc_link *const link = add_link(c, codec, is_filter ? ZC_LINK_FILTER : ZC_LINK_STAGE);

    if (configure(c, codec, name, configuration, &link->codec)) {
        link->fill_rule = is_filter ? fill_rule_of(known->name, configuration) : ZC_FILL_KEPT;
        c->is_filtered |= is_filter;
        return;
    }
    c->n_links--;
    if (zc_node_optional_bool(codec, "must_understand", true)) {
        zc_node_unsupported(codec, "the codec", name);
    }
}

/* ---- sharding_indexed ---------------------------------------------------------------------------- */

static void add_shards(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    const zc_node shape = zc_node_member(configuration, "chunk_shape");
    const zc_node inner = zc_node_member(configuration, "codecs");
    const zc_node index = zc_node_member(configuration, "index_codecs");
    const zc_node location = zc_node_member(configuration, "index_location");
    zc_link *const link = add_link(c, codec, ZC_LINK_SHARDS);

    ZC_MEMBERS(configuration, "chunk_shape", "codecs", "index_codecs", "index_location");
    link->inner_shape = zc_node_keep_ints(&shape, &c->doc->arena, ZC_MAX_DIMS, 1, INT64_MAX, &link->n);
    link->index_at_start = ZC_CHOICE_OR(&location, 0, "end", "start") == 1;
    link->inner = parse_inside(c, &inner, false);
    link->index = parse_inside(c, &index, true);
}

/* ---- n5_default ---------------------------------------------------------------------------------- */

static void add_n5_block(codec_list *c, const zc_node *codec, const zc_node *configuration)
{
    const zc_node list = zc_node_member(configuration, "codecs");

    ZC_MEMBERS(configuration, "codecs");
    if (c->flow.kind != 'i' && c->flow.kind != 'u' && (c->flow.kind != 'f' || c->flow.size < 4)) {
        zc_node_fail(codec, "N5 has no such data type");
    }
    zc_link *const link = add_link(c, codec, ZC_LINK_N5_BLOCK);
    link->inner = parse_inside(c, &list, false);
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static void add_codec(codec_list *c, const zc_node *codec)
{
    static const struct {
        const char *name;
        void (*add)(codec_list *c, const zc_node *codec, const zc_node *configuration);
    } known[] = {{"transpose", add_transposition}, {"reshape", add_reshaping},
                 {"bytes", add_bytes},             {"endian", add_bytes},    /* before ZEP 1 */
                 {"sharding_indexed", add_shards}, {"n5_default", add_n5_block}};
    zc_node configuration;
    const char *const name = zc_node_extension(codec, &configuration);
    const zc_known_codec *const of_v3 = zc_find_v3(name);

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            known[i].add(c, codec, &configuration);
            return;
        }
    }
    (of_v3 != NULL && of_v3->is_filter ? add_filter : add_stage)(c, codec, name, &configuration);
}

static zc_links parse_list(codec_list *c, const zc_node *node)
{
    const size_t n = zc_node_array(node);

    if (c->depth > ZC_DEPTH_MAX) {
        zc_node_fail(node, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    if (n == 0) {
        zc_node_fail(node, "expected a codec that makes bytes of an array");
    }
    c->links = zc_node_alloc(node, &c->doc->arena, n, 2 * sizeof c->links[0]);
    ZC_EACH(codec, node) {
        add_codec(c, &codec);
    }
    return (zc_links){c->links, c->n_links};
}

zc_links zc_codecs_v3(zc_document *doc, const zc_node *node)
{
    const zc_item native = {.size = doc->dtype.size};
    codec_list c = {.doc = doc, .depth = 1, .flow = zc_flow_of(&doc->dtype, &native)};

    if (!zc_node_is_array(node) || zc_node_array(node) > 0) {
        return parse_list(&c, node);
    }
    c.links = zc_node_alloc(node, &doc->arena, 1, 2 * sizeof c.links[0]);
    if (c.links != NULL) {
        add_items(&c, node, false);      /* what zarrita.js means by no codecs: little-endian items */
    }
    return (zc_links){c.links, c.n_links};
}
