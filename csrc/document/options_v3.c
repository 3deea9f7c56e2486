/* SPDX-License-Identifier: MIT
 *
 * Codecs of format 3 that are one codec of the engine: those that see numbers in the items (Zarr extensions: bitround,
 * scale_offset, cast_value, packbits), then those of bytes.
 */
#include <string.h>

#include "document/document.h"

enum { FORMAT = 3, MOST_KEEPBITS = 64 };

/* The numbers in the items that flow: the parts of complex ones, the integers that times are. */
static bool words_of(const zc_flow *flow, zc_number *out)
{
    const bool is_time = flow->kind == 'M' || flow->kind == 'm', is_complex = flow->kind == 'c';
    const zc_named_dtype *const type = zc_numpy_type(is_time ? 'i' : is_complex ? 'f' : flow->kind,
                                                     is_complex ? flow->size / 2 : flow->size);

    *out = (zc_number){type != NULL ? type->number : flow->number, flow->swapped};
    return flow->kind == 'V' ? flow->has_number : type != NULL && flow->kind != 'b';
}

/* Items that are one real number each. */
static zc_number real_of(const zc_node *codec, const zc_flow *flow)
{
    zc_number number;

    if (!words_of(flow, &number) || strchr("cMm", flow->kind) != NULL) {
        zc_node_fail(codec, "expected items that are real numbers");
    }
    return number;
}

/* The bits of a number that is spelled like a fill value. */
static uint64_t scalar_of(const zc_node *node, zc_number_kind kind)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    const bool small = kind == ZC_NUMBER_BF16 || kind >= ZC_NUMBER_I2;
    const char letter = small ? 'V' : type->is_float ? 'f' : type->is_signed ? 'i' : 'u';
    uint8_t bytes[8] = {0};

    if (!type->is_float && zc_node_is_number(node) && !zc_node_is_integer(node)) {
        zc_node_expected(node, "an integer");        /* an extension is read to the letter */
    }
    zc_fill_number(node, type->name, letter, zc_number_size(kind), FORMAT, bytes);
    return zc_real_fetch(bytes, kind);
}

/* ---- bitround --------------------------------------------------------------------------------- */

static void bitround(const zc_source *from, zc_codec *out)
{
    const zc_node node = zc_node_member(from->configuration, "keepbits");
    const int64_t keepbits = zc_node_int(&node, 0, MOST_KEEPBITS);
    const bool is_time = from->flow->kind == 'M' || from->flow->kind == 'm';

    if (!words_of(from->flow, &out->decoded)) {
        zc_node_fail(from->codec, "bitround needs numbers");
        return;
    }
    const zc_real_type *const type = zc_real_type_of(out->decoded.kind);
    out->encoded = out->decoded;
    out->keep_special = type->is_float || is_time;
    out->level = type->is_float && keepbits > type->mantissa ? type->mantissa : (int)keepbits;
}

/* ---- scale_offset ----------------------------------------------------------------------------- */

static void scale_member(const zc_source *from, const char *name, zc_number_kind kind, int64_t *whole, double *real)
{
    const zc_node node = zc_node_member(from->configuration, name);

    if (node.value != NULL) {
        const zc_real number = zc_real_load(zc_real_type_of(kind), scalar_of(&node, kind));
        *whole = (int64_t)(number.negative ? 0 - number.size : number.size);
        *real = zc_real_to_double(&number);
    }
}

static void scale_offset(const zc_source *from, zc_codec *out)
{
    out->decoded = out->encoded = real_of(from->codec, from->flow);
    scale_member(from, "offset", out->decoded.kind, &out->whole.offset, &out->offset);
    scale_member(from, "scale", out->decoded.kind, &out->whole.scale, &out->scale);
    if (out->scale == 0) {
        zc_node_fail(from->codec, "scale: expected a number that is not 0");
    }
}

/* ---- cast_value ------------------------------------------------------------------------------- */

static zc_number_pairs read_pairs(const zc_source *from, const zc_node *map, const char *name, zc_number_kind in,
                                  zc_number_kind out)
{
    const zc_node node = zc_node_member(map, name);
    const size_t n = node.value == NULL ? 0 : zc_node_array(&node);
    zc_number_pair *const pairs = n > 0 ? zc_node_alloc(&node, from->arena, n, sizeof pairs[0]) : NULL;

    ZC_EACH(pair, &node) {
        if (zc_node_array(&pair) != 2) {
            zc_node_expected(&pair, "a pair of numbers");
        }
        ZC_EACH(scalar, &pair) {
            if (scalar.index == 0) {
                pairs[pair.index].from = scalar_of(&scalar, in);
            } else {
                pairs[pair.index].to = scalar_of(&scalar, out);
            }
        }
    }
    return (zc_number_pairs){pairs, pairs != NULL ? n : 0};
}

/* The stored data type, which the next codec takes. */
static zc_number stored_type(const zc_source *from)
{
    const zc_node node = zc_node_member(from->configuration, "data_type");
    const zc_item native = {0};
    zc_dtype dtype;

    zc_dtype_parse(&node, FORMAT, &dtype);
    *from->flow = zc_flow_of(&dtype, &native);
    zc_dtype_free(&dtype);
    return real_of(&node, from->flow);
}

static void cast_value(const zc_source *from, zc_codec *out)
{
    const zc_node rounding = zc_node_member(from->configuration, "rounding");
    const zc_node rule = zc_node_given(from->configuration, "out_of_range");
    const zc_node map = zc_node_given(from->configuration, "scalar_map");

    out->decoded = real_of(from->codec, from->flow);
    out->encoded = stored_type(from);
    out->cast.rounding = (zc_rounding)ZC_CHOICE_OR(&rounding, ZC_ROUND_NEAREST_EVEN, "nearest-even", "nearest-away",
                                                   "towards-zero", "towards-positive", "towards-negative");
    out->cast.out_of_range = rule.value == NULL
                                 ? ZC_RANGE_ERROR
                                 : (zc_out_of_range)(ZC_RANGE_CLAMP + ZC_CHOICE(&rule, "clamp", "wrap"));
    if (map.value != NULL && zc_node_ok(&map)) {
        zc_node_object(&map);
        ZC_MEMBERS(&map, "encode", "decode");
        out->cast.encode = read_pairs(from, &map, "encode", out->decoded.kind, out->encoded.kind);
        out->cast.decode = read_pairs(from, &map, "decode", out->encoded.kind, out->decoded.kind);
    }
}

/* ---- packbits --------------------------------------------------------------------------------- */

static int optional_bit(const zc_source *from, const char *name, int standard)
{
    const zc_node node = zc_node_given(from->configuration, name);

    return node.value == NULL ? standard : (int)zc_node_int(&node, 0, 63);
}

static void packbits(const zc_source *from, zc_codec *out)
{
    const zc_node padding = zc_node_member(from->configuration, "padding_encoding");
    const bool flags = from->flow->kind == 'b';

    if (!flags && (!words_of(from->flow, &out->decoded) || strchr("Mm", from->flow->kind) != NULL)) {
        zc_node_fail(from->codec, "packbits needs items that are numbers");
        return;
    }
    const int bits = flags ? 1 : zc_real_type_of(out->decoded.kind)->bits;
    const int which = ZC_CHOICE_OR(&padding, 0, "none", "first_byte", "last_byte");
    const int first = optional_bit(from, "first_bit", 0), last = optional_bit(from, "last_bit", bits - 1);
    if (first > last || last >= bits) {
        zc_node_fail(from->configuration, "expected first_bit <= last_bit < %d, got %d and %d", bits, first, last);
    }
    out->bits.padding = (zc_padding)(ZC_PADDING_NONE + which);
    out->bits.first = (uint32_t)first;
    out->bits.width = flags ? 0 : (uint32_t)(last - first + 1);
    *from->flow = (zc_flow){.size = 1};
}

/* ---- bytes ------------------------------------------------------------------------------------ */

static void blosc(const zc_source *from, zc_codec *out)
{
    const zc_node shuffle = zc_node_member(from->configuration, "shuffle");

    zc_blosc_options(from, ZC_BLOSC_ZSTD, from->item_size,
                     ZC_CHOICE_OR(&shuffle, -1, "noshuffle", "shuffle", "bitshuffle"), out);
}

static void gzip(const zc_source *from, zc_codec *out)
{
    out->level = (int)zc_node_optional_int(from->configuration, "level", 0, 9, out->level);
}

/* ---- all of them ------------------------------------------------------------------------------ */

const zc_known_codec *zc_find_v3(const char *name)
{
    static const zc_known_codec codecs[] = {
        {"bitround", bitround, {"keepbits"}, true, false},
        {"scale_offset", scale_offset, {"offset", "scale"}, true, false},
        {"cast_value", cast_value, {"data_type", "rounding", "out_of_range", "scalar_map"}, true, false},
        {"packbits", packbits, {"padding_encoding", "first_bit", "last_bit"}, true, false},
        {"blosc", blosc, {"cname", "clevel", "shuffle", "typesize", "blocksize"}, false, false},
        {"gzip", gzip, {"level"}, false, false},
        {"zstd", zc_zstd_options, {"level", "checksum"}, false, false},
        {"crc32c", NULL, {NULL}, false, false},
    };

    return zc_find_known(codecs, sizeof codecs / sizeof codecs[0], name);
}
