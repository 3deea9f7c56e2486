/* SPDX-License-Identifier: MIT
 *
 * Codecs of format 3 that hold others (Zarr extensions: conditional, n5_default).
 */
#include <string.h>

#include "document/codecs.h"

/* ---- conditional -------------------------------------------------------------------------------- */

enum { HEADER_BITS_MAX = 1 << 16 };

static zc_status nested_stage(zc_codecs *c, const zc_node *codec, zc_codec *out)
{
    const char *name;
    zc_node configuration;
    bool optional, known = false;
    zc_status status = zc_extension(codec, &name, &configuration, &optional);

    if (status == ZC_OK && strncmp(name, "numcodecs.", 10) == 0 && zc_numcodecs_is_filter(name + 10)) {
        return zc_node_fail(codec, "expected a codec of bytes, got \"%.60s\"", name);
    }
    if (status == ZC_OK) {
        status = zc_codecs_stage(c, codec, name, &configuration, out, &known);
    }
    return status == ZC_OK && !known ? zc_node_fail(codec, "the codec \"%.60s\" is not supported", name) : status;
}

static zc_status conditional(zc_codecs *c, const zc_node *codec, const zc_node *configuration, zc_codec *out)
{
    static const char *const members[] = {"codecs", "header_bits", NULL};
    const zc_node list = zc_node_member(configuration, "codecs");
    const zc_node header_bits = zc_node_member(configuration, "header_bits");
    int64_t bits;
    size_t n = 0;
    zc_status status = zc_node_members(configuration, members, false);

    status = status == ZC_OK ? zc_node_array(&list, &n) : status;
    if (status == ZC_OK && c->depth == ZC_DEPTH_MAX) {
        status = zc_codecs_too_deep(&list);
    }
    if (status == ZC_OK && n >= ZC_MAX_STAGES) {
        status = zc_node_fail(&list, "more than %d codecs of bytes", ZC_MAX_STAGES);
    }
    zc_codec *const nested = status == ZC_OK ? zc_document_alloc(c->doc, (n + 1) * sizeof *nested) : NULL;
    if (status == ZC_OK && nested == NULL) {
        status = zc_document_no_memory(&list);
    }
    c->depth++;
    ZC_EACH(item, &list, status) {
        status = nested_stage(c, &item, &nested[item.index]);
    }
    c->depth--;
    bits = 8 * (((int64_t)n + 7) / 8);
    if (status == ZC_OK && header_bits.value != NULL && !zc_node_is_null(&header_bits)) {
        status = zc_node_int(&header_bits, 0, HEADER_BITS_MAX, &bits);
        if (status == ZC_OK && (bits % 8 != 0 || bits < (int64_t)n)) {
            status = zc_node_fail(&header_bits, "expected a multiple of 8 of at least %zu", n);
        }
    }
    if (status != ZC_OK) {
        return status;
    }
    zc_codec_init(out, "conditional");
    out->nested.codecs = nested;
    out->nested.n = (int)n;
    out->nested.header = (size_t)bits / 8;
    return zc_stage_check(codec, out);
}

/* ---- one codec of bytes -------------------------------------------------------------------------- */

zc_status zc_codecs_stage(zc_codecs *c, const zc_node *codec, const char *name, const zc_node *configuration,
                          zc_codec *out, bool *known)
{
    const size_t item_size = c->is_index ? 8 : c->is_filtered ? c->flow.size : c->doc->dtype.size;

    *known = true;
    if (strcmp(name, "conditional") == 0) {
        return conditional(c, codec, configuration, out);
    }
    if (strncmp(name, "numcodecs.", 10) == 0) {
        return zc_stage_numcodecs(codec, name + 10, configuration, item_size, &c->flow, out, known);
    }
    return zc_stage_v3(codec, name, configuration, item_size, out, known);
}

/* ---- n5_default ---------------------------------------------------------------------------------- */

/* A transposition, bytes, and perhaps a codec of bytes. */
static zc_status check_names(const zc_node *list)
{
    const char *name;
    zc_node configuration;
    bool optional;
    size_t n = 0;
    zc_status status = zc_node_array(list, &n);

    if (status == ZC_OK && (n < 2 || n > 3)) {
        return zc_node_fail(list, "expected transpose, bytes and at most one more codec");
    }
    ZC_EACH(codec, list, status) {
        status = zc_extension(&codec, &name, &configuration, &optional);
        if (status == ZC_OK && codec.index < 2 && strcmp(name, codec.index == 0 ? "transpose" : "bytes") != 0) {
            status = zc_node_fail(&codec, "expected %s", codec.index == 0 ? "transpose" : "bytes");
        }
    }
    return status;
}

/* The numbers that N5 has, first dimension first and big-endian. */
static zc_status check_block(const zc_codecs *c, const zc_node *codec, const zc_chain *block)
{
    const bool swapped = block->item.word != 0;

    for (int d = 0; d < c->ndim; d++) {
        if (block->order[d] != c->ndim - 1 - d) {
            return zc_node_fail(codec, "expected a transposition that reverses the dimensions");
        }
        if (c->stored[d] > UINT32_MAX) {
            return zc_node_fail(codec, "a chunk's lengths do not fit into the header of a block");
        }
    }
    if (strchr("iuf", c->flow.kind) == NULL || (c->flow.kind == 'f' && c->flow.size < 4)) {
        return zc_node_fail(codec, "N5 has no such data type");
    }
    return c->flow.size == 1 || swapped != zc_big_endian() ? ZC_OK : zc_node_fail(codec, "expected the big byte order");
}

zc_status zc_codecs_block(zc_codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"codecs", NULL};
    const zc_node list = zc_node_member(configuration, "codecs");
    zc_codecs inside;
    zc_status status = zc_node_members(configuration, members, false);

    status = status == ZC_OK ? check_names(&list) : status;
    if (status == ZC_OK && (c->is_flat || c->chain->n_stages > 0)) {
        status = zc_codecs_start_body(c, codec);
    }
    status = status == ZC_OK ? zc_codecs_inside(c, codec, &inside) : status;
    status = status == ZC_OK ? zc_codecs_parse(&inside, &list, c->stored) : status;
    status = status == ZC_OK ? check_block(c, codec, inside.chain) : status;
    if (status == ZC_OK) {
        c->chain->block = inside.chain;
        c->chain->item = inside.chain->item;
    }
    return status;
}
