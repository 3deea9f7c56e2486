/* SPDX-License-Identifier: MIT
 *
 * Codecs of format 3 that see numbers in the items (Zarr extensions: bitround, scale_offset, cast_value, packbits).
 */
#include <string.h>

#include "document/document.h"

enum { FORMAT = 3, MOST_KEEPBITS = 64 };

/* The numbers in the items that flow: the parts of complex ones, the integers that times are. */
static bool words_of(const zc_flow *flow, zc_number *out)
{
    static const zc_number_kind integers[] = {ZC_NUMBER_I8, ZC_NUMBER_I16, ZC_NUMBER_I32, ZC_NUMBER_I64};
    const size_t size = flow->kind == 'c' ? flow->size / 2 : flow->size;

    *out = (zc_number){flow->number, flow->swapped};
    switch (flow->kind) {
    case 'V': return flow->has_number;
    case 'c':
    case 'f': out->kind = size == 2 ? ZC_NUMBER_F16 : size == 4 ? ZC_NUMBER_F32 : ZC_NUMBER_F64; return true;
    case 'M':
    case 'm': out->kind = ZC_NUMBER_I64; return true;
    case 'i':
    case 'u':
        for (int i = 0; i < 4; i++) {
            if (size == (size_t)1 << i) {
                out->kind = (zc_number_kind)(integers[i] + (flow->kind == 'u' ? ZC_NUMBER_U8 : 0));
                return true;
            }
        }
    }
    return false;
}

/* Items that are one real number each. */
static zc_status real_of(const zc_node *codec, const zc_flow *flow, zc_number *out)
{
    return words_of(flow, out) && strchr("cMm", flow->kind) == NULL
               ? ZC_OK
               : zc_node_fail(codec, "expected items that are real numbers");
}

/* The bits of a number that is spelled like a fill value. */
static zc_status scalar_of(const zc_node *node, zc_number_kind kind, uint64_t *out)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    const bool small = kind == ZC_NUMBER_BF16 || kind >= ZC_NUMBER_I2;
    const char letter = small ? 'V' : type->is_float ? 'f' : type->is_signed ? 'i' : 'u';
    uint8_t bytes[8] = {0};
    if (!type->is_float && zc_node_is_number(node) && !zc_node_is_integer(node)) {
        return zc_node_expected(node, "an integer");     /* an extension is read to the letter */
    }
    const zc_status status = zc_fill_number(node, type->name, letter, zc_number_size(kind), FORMAT, bytes);

    *out = zc_real_fetch(bytes, kind);
    return status;
}

/* ---- bitround --------------------------------------------------------------------------------- */

static zc_status bitround(const zc_node *codec, const zc_node *configuration, zc_document *doc, zc_flow *flow,
                          zc_codec *out)
{
    const zc_node node = zc_node_member(configuration, "keepbits");
    int64_t keepbits = 0;
    const zc_status status = zc_node_int(&node, 0, MOST_KEEPBITS, &keepbits);

    (void)doc;
    if (status != ZC_OK) {
        return status;
    }
    if (!words_of(flow, &out->decoded)) {
        return zc_node_fail(codec, "bitround needs numbers");
    }
    const zc_real_type *const type = zc_real_type_of(out->decoded.kind);
    out->encoded = out->decoded;
    out->keep_special = type->is_float || flow->kind == 'M' || flow->kind == 'm';
    out->level = type->is_float && keepbits > type->mantissa ? type->mantissa : (int)keepbits;
    return ZC_OK;
}

/* ---- scale_offset ----------------------------------------------------------------------------- */

static zc_status scale_member(const zc_node *configuration, const char *name, zc_number_kind kind, int64_t *whole,
                              double *real)
{
    const zc_node node = zc_node_member(configuration, name);
    uint64_t bits = 0;

    if (node.value == NULL) {
        return ZC_OK;
    }
    const zc_status status = scalar_of(&node, kind, &bits);
    const zc_real number = zc_real_load(zc_real_type_of(kind), bits);
    *whole = (int64_t)(number.negative ? 0 - number.size : number.size);
    *real = zc_real_to_double(&number);
    return status;
}

static zc_status scale_offset(const zc_node *codec, const zc_node *configuration, zc_document *doc, zc_flow *flow,
                              zc_codec *out)
{
    zc_status status = real_of(codec, flow, &out->decoded);

    (void)doc;
    out->encoded = out->decoded;
    if (status == ZC_OK) {
        status = scale_member(configuration, "offset", out->decoded.kind, &out->whole.offset, &out->offset);
    }
    if (status == ZC_OK) {
        status = scale_member(configuration, "scale", out->decoded.kind, &out->whole.scale, &out->scale);
    }
    if (status == ZC_OK && out->scale == 0) {
        return zc_node_fail(codec, "scale: expected a number that is not 0");
    }
    return status;
}

/* ---- cast_value ------------------------------------------------------------------------------- */

static zc_status read_pair(const zc_node *node, zc_number_kind from, zc_number_kind to, zc_number_pair *out)
{
    size_t n = 0;
    zc_status status = zc_node_array(node, &n);

    if (status == ZC_OK && n != 2) {
        return zc_node_expected(node, "a pair of numbers");
    }
    ZC_EACH(scalar, node, status) {
        status = scalar.index == 0 ? scalar_of(&scalar, from, &out->from) : scalar_of(&scalar, to, &out->to);
    }
    return status;
}

static zc_status read_pairs(const zc_node *map, const char *name, zc_number_kind from, zc_number_kind to,
                            zc_document *doc, zc_number_pairs *out)
{
    const zc_node node = zc_node_member(map, name);
    size_t n = 0;
    zc_status status = node.value == NULL ? ZC_OK : zc_node_array(&node, &n);

    if (status != ZC_OK || n == 0) {
        return status;
    }
    zc_number_pair *const pairs = zc_arena_alloc(&doc->arena, n * sizeof pairs[0]);
    if (pairs == NULL) {
        return zc_node_no_memory(&node);
    }
    ZC_EACH(pair, &node, status) {
        status = read_pair(&pair, from, to, &pairs[pair.index]);
    }
    *out = (zc_number_pairs){pairs, n};
    return status;
}

static zc_status scalar_map(const zc_node *configuration, zc_document *doc, zc_codec *out)
{
    static const char *const members[] = {"encode", "decode", NULL};
    const zc_node map = zc_node_member(configuration, "scalar_map");
    const zc_number_kind decoded = out->decoded.kind, encoded = out->encoded.kind;

    if (map.value == NULL || zc_node_is_null(&map)) {
        return ZC_OK;
    }
    zc_status status = zc_node_object(&map);
    if (status == ZC_OK) {
        status = zc_node_members(&map, members, false);
    }
    if (status == ZC_OK) {
        status = read_pairs(&map, "encode", decoded, encoded, doc, &out->cast.encode);
    }
    return status == ZC_OK ? read_pairs(&map, "decode", encoded, decoded, doc, &out->cast.decode) : status;
}

/* The stored data type, which the next codec takes. */
static zc_status stored_type(const zc_node *configuration, zc_flow *flow, zc_number *out)
{
    const zc_node node = zc_node_member(configuration, "data_type");
    zc_dtype dtype = {0};
    const zc_item native = {0};
    const zc_status status = zc_dtype_parse(&node, FORMAT, &dtype);

    *flow = zc_flow_of(&dtype, &native);
    zc_dtype_free(&dtype);
    return status == ZC_OK ? real_of(&node, flow, out) : status;
}

static zc_status cast_value(const zc_node *codec, const zc_node *configuration, zc_document *doc, zc_flow *flow,
                            zc_codec *out)
{
    static const char *const roundings[] = {"nearest-even",     "nearest-away",     "towards-zero",
                                            "towards-positive", "towards-negative", NULL};
    static const char *const rules[] = {"clamp", "wrap", NULL};
    const zc_node rounding = zc_node_member(configuration, "rounding");
    const zc_node rule = zc_node_member(configuration, "out_of_range");
    int which = 0, out_of_range = ZC_RANGE_ERROR - 1;
    zc_status status = real_of(codec, flow, &out->decoded);

    if (status == ZC_OK) {
        status = stored_type(configuration, flow, &out->encoded);
    }
    if (status == ZC_OK && rounding.value != NULL) {
        status = zc_node_choice(&rounding, roundings, &which);
    }
    if (status == ZC_OK && rule.value != NULL && !zc_node_is_null(&rule)) {
        status = zc_node_choice(&rule, rules, &out_of_range);
    }
    out->cast.rounding = (zc_rounding)which;
    out->cast.out_of_range = (zc_out_of_range)(out_of_range + 1);
    return status == ZC_OK ? scalar_map(configuration, doc, out) : status;
}

/* ---- packbits --------------------------------------------------------------------------------- */

static zc_status optional_bit(const zc_node *configuration, const char *name, int64_t *inout)
{
    const zc_node node = zc_node_member(configuration, name);

    return node.value == NULL || zc_node_is_null(&node) ? ZC_OK : zc_node_int(&node, 0, 63, inout);
}

static zc_status packbits(const zc_node *codec, const zc_node *configuration, zc_document *doc, zc_flow *flow,
                          zc_codec *out)
{
    static const char *const paddings[] = {"none", "first_byte", "last_byte", NULL};
    const zc_node padding = zc_node_member(configuration, "padding_encoding");
    const bool flags = flow->kind == 'b';
    int64_t first = 0, last = 0;
    int which = 0;
    zc_status status = ZC_OK;

    (void)doc;
    if (!flags && (!words_of(flow, &out->decoded) || strchr("Mm", flow->kind) != NULL)) {
        return zc_node_fail(codec, "packbits needs items that are numbers");
    }
    const int bits = flags ? 1 : zc_real_type_of(out->decoded.kind)->bits;
    last = bits - 1;
    if (padding.value != NULL) {
        status = zc_node_choice(&padding, paddings, &which);
    }
    if (status == ZC_OK) {
        status = optional_bit(configuration, "first_bit", &first);
    }
    if (status == ZC_OK) {
        status = optional_bit(configuration, "last_bit", &last);
    }
    if (status == ZC_OK && (first > last || last >= bits)) {
        status = zc_node_fail(configuration, "expected first_bit <= last_bit < %d, got %d and %d", bits, (int)first,
                              (int)last);
    }
    out->bits.padding = (zc_padding)(ZC_PADDING_NONE + which);
    out->bits.first = (uint32_t)first;
    out->bits.width = flags ? 0 : (uint32_t)(last - first + 1);
    *flow = (zc_flow){.size = 1};
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    zc_status (*configure)(const zc_node *codec, const zc_node *configuration, zc_document *doc, zc_flow *flow,
                           zc_codec *out);
    const char *members[5];
} filters[] = {
    {"bitround", bitround, {"keepbits"}},
    {"scale_offset", scale_offset, {"offset", "scale"}},
    {"cast_value", cast_value, {"data_type", "rounding", "out_of_range", "scalar_map"}},
    {"packbits", packbits, {"padding_encoding", "first_bit", "last_bit"}},
};

enum { N_FILTERS = sizeof filters / sizeof filters[0] };

bool zc_filter_known(const char *name)
{
    for (int i = 0; i < N_FILTERS; i++) {
        if (strcmp(filters[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

zc_status zc_filter_v3(const zc_node *codec, const char *name, const zc_node *configuration, zc_document *doc,
                       zc_flow *flow, zc_codec *out)
{
    int which = 0;

    while (strcmp(filters[which].name, name) != 0) {
        which++;
    }
    zc_status status = zc_node_members(configuration, filters[which].members, false);
    if (status != ZC_OK) {
        return status;
    }
    zc_codec_init(out, name);
    status = filters[which].configure(codec, configuration, doc, flow, out);
    return status == ZC_OK ? zc_stage_check(codec, out) : status;
}
