/* SPDX-License-Identifier: MIT
 *
 * Compressors and filters by their ids and configurations in numcodecs: those of format 2, and the codecs
 * numcodecs.* of format 3.
 */
#include <math.h>
#include <string.h>

#include "document/document.h"

#define BLOSC_TYPESIZE_MAX 255       /* blosc shuffles larger items as if they were bytes */

/* Format 2: no member is taken from what comes in. */
static bool says_all(const zc_source *from)
{
    return from->codec == from->configuration;
}

/* ---- types of numbers --------------------------------------------------------------------------- */

static bool number_of(char kind, size_t size, bool swapped, zc_number *out)
{
    const zc_named_dtype *const type = zc_numpy_type(kind, size);

    if (type != NULL) {
        *out = (zc_number){.kind = type->number, .swapped = swapped && size > 1};
    }
    return type != NULL;
}

/* "<f4", "f4" or "float32", as numpy takes them. */
static bool parse_number(const char *text, zc_flow *out)
{
    const zc_named_dtype *const named = zc_numpy_name(text);
    zc_typestr type;

    if (named != NULL) {
        *out = (zc_flow){.kind = named->kind, .size = named->size};
        return true;
    }
    if (!zc_typestr_of_numpy(text, '=', &type) || type.unit[0] != '\0') {
        return false;
    }
    *out = (zc_flow){.kind = type.kind, .size = type.size,
                     .swapped = type.size > 1 && type.order == (ZC_BIG_ENDIAN ? '<' : '>')};
    return true;
}

/* The numbers that an optional member names; standard where it is absent or null. */
static zc_flow read_number(const zc_source *from, const char *member, const zc_flow *standard, zc_number *out)
{
    const zc_node node = zc_node_member(from->configuration, member);
    zc_flow flow = standard != NULL ? *standard : (zc_flow){0};

    if (!zc_node_is_null(&node) && (node.value != NULL || standard == NULL)) {
        const char *const text = zc_node_string(&node);
        if (!parse_number(text, &flow)) {
            zc_node_fail(&node, "\"%.40s\" is no type of numbers that is supported", text);
        }
    }
    if (!number_of(flow.kind, flow.size, flow.swapped, out)) {
        zc_node_fail(node.value != NULL ? &node : from->codec,
                     "only Booleans, integers, floats and complex numbers are supported");
    }
    return flow;
}

/* dtype and astype; what goes out are numbers of the latter.  In format 3, dtype is by default that of what comes in. */
static void set_numbers(const zc_source *from, const char *decoded, const char *encoded, bool encoded_required,
                        zc_codec *out)
{
    const zc_flow *const known = from->flow->kind != 0 && !says_all(from) ? from->flow : NULL;
    const zc_flow in = read_number(from, decoded, known, &out->decoded);

    if (known != NULL && in.size != known->size) {
        zc_node_fail(from->codec, "takes items of %zu bytes (%s), but those before it have %zu", in.size, decoded,
                     known->size);
    }
    *from->flow = read_number(from, encoded, encoded_required ? NULL : &in, &out->encoded);
}

/* ---- codecs ------------------------------------------------------------------------------------- */

static int64_t option(const zc_source *from, const char *name, int64_t low, int64_t high, int64_t standard)
{
    return zc_node_optional_int(from->configuration, name, low, high, standard);
}

void zc_blosc_options(const zc_source *from, int compressor, size_t typesize, int shuffle, zc_codec *out)
{
    const zc_node cname = zc_node_member(from->configuration, "cname");
    const int64_t stated = option(from, "typesize", 1, INT32_MAX, (int64_t)typesize);

    out->level = (int)option(from, "clevel", 0, 9, 5);
    out->blosc.compressor = (zc_blosc_compressor)ZC_CHOICE_OR(&cname, compressor, "blosclz", "lz4", "lz4hc", "snappy",
                                                              "zlib", "zstd");
    out->blosc.shuffle = shuffle >= 0 ? (zc_blosc_shuffle)shuffle
                         : stated == 1 ? ZC_BLOSC_BITSHUFFLE
                                       : ZC_BLOSC_BYTESHUFFLE;
    out->blosc.typesize = stated <= BLOSC_TYPESIZE_MAX ? (size_t)stated : 1;
    out->blosc.blocksize = (size_t)option(from, "blocksize", 0, INT32_MAX, 0);
}

static void blosc(const zc_source *from, zc_codec *out)
{
    zc_blosc_options(from, ZC_BLOSC_LZ4, from->flow->size, (int)option(from, "shuffle", -1, 2, ZC_BLOSC_BYTESHUFFLE),
                     out);
}

static void deflate(const zc_source *from, zc_codec *out)
{
    const int64_t level = option(from, "level", -1, 9, 1);

    out->level = level < 0 ? 6 : (int)level;         /* zlib's own default */
}

void zc_zstd_options(const zc_source *from, zc_codec *out)
{
    out->level = (int)option(from, "level", -131072, 22, 0);
    out->checksum = zc_node_optional_bool(from->configuration, "checksum", out->checksum);
}

static void lz4(const zc_source *from, zc_codec *out)
{
    const int64_t acceleration = option(from, "acceleration", INT32_MIN, INT32_MAX, 1);

    out->level = acceleration < 1 ? 1 : (int)acceleration;   /* as liblz4 takes it */
}

static void checksum(const zc_source *from, zc_codec *out)
{
    const zc_node location = zc_node_given(from->configuration, "location");

    out->at_start = ZC_CHOICE_OR(&location, out->at_start, "end", "start") == 1;
}

/* The bytes that a prefix would be have no form in a document. */
static void jenkins_lookup3(const zc_source *from, zc_codec *out)
{
    const zc_node prefix = zc_node_given(from->configuration, "prefix");

    if (prefix.value != NULL) {
        zc_node_expected(&prefix, "null");
    }
    out->lookup3.initial = (uint32_t)option(from, "initval", 0, UINT32_MAX, 0);
}

static void shuffle(const zc_source *from, zc_codec *out)
{
    const int64_t element = option(from, "elementsize", 0, INT32_MAX, 4);

    out->element = element > 0 ? (size_t)element : from->item_size;  /* NCZarr writes 0 for the item size */
}

static void delta(const zc_source *from, zc_codec *out)
{
    set_numbers(from, "dtype", "astype", false, out);
}

static void astype(const zc_source *from, zc_codec *out)
{
    set_numbers(from, "decode_dtype", "encode_dtype", true, out);
}

static double required_real(const zc_source *from, const char *name)
{
    const zc_node node = zc_node_member(from->configuration, name);
    const double real = zc_node_real(&node);

    if (!isfinite(real)) {
        zc_node_fail(&node, "expected a finite number");
    }
    return real;
}

/* What is written as an integer is one for numpy too. */
static bool is_whole(const zc_source *from, const char *name, int64_t *whole)
{
    const zc_node node = zc_node_member(from->configuration, name);
    bool negative;

    if (!zc_node_is_integer(&node)) {
        return false;
    }
    const uint64_t size = zc_node_integer(&node, &negative);
    *whole = (int64_t)(negative ? 0 - size : size);
    return true;
}

static void fixedscaleoffset(const zc_source *from, zc_codec *out)
{
    out->offset = required_real(from, "offset");
    out->scale = required_real(from, "scale");
    out->whole.has_offset = is_whole(from, "offset", &out->whole.offset);
    out->whole.has_scale = is_whole(from, "scale", &out->whole.scale);
    if (out->scale == 0) {
        zc_node_fail(from->codec, "scale: expected a number that is not 0");
    }
    set_numbers(from, "dtype", "astype", false, out);
}

/* The power of two whose reciprocal is not more than the last digit that is kept, as numcodecs finds it. */
static double quantize_scale(double digits)
{
    const double exponent = log10(pow(10.0, -digits));

    return pow(2.0, ceil(log2(pow(10.0, -(exponent < 0 ? floor(exponent) : ceil(exponent))))));
}

static void quantize(const zc_source *from, zc_codec *out)
{
    const double digits = required_real(from, "digits");

    out->scale = quantize_scale(digits);
    if (!isfinite(out->scale) || out->scale == 0) {
        zc_node_fail(from->codec, "digits: %g are too many", digits);
    }
    set_numbers(from, "dtype", "astype", false, out);
}

static void bitround(const zc_source *from, zc_codec *out)
{
    const zc_node node = zc_node_member(from->configuration, "keepbits");
    const zc_flow *const flow = from->flow;

    out->level = (int)zc_node_int(&node, 0, 52);
    if (flow->kind != 'f') {
        zc_node_fail(from->codec, "bitround needs floating-point numbers");
    }
    out->decoded = (zc_number){ZC_NUMBER_F16, flow->swapped};
    number_of('f', flow->size, flow->swapped, &out->decoded);
    out->encoded = out->decoded;
}

static void packbits(const zc_source *from, zc_codec *out)
{
    (void)out;
    if (says_all(from) ? from->flow->kind != 0 && from->flow->size != 1 : from->flow->kind != 'b') {
        zc_node_fail(from->codec, "packbits needs Boolean items");
    }
    *from->flow = (zc_flow){.kind = 'u', .size = 1};
}

/* ---- all of them -------------------------------------------------------------------------------- */

const zc_known_codec *zc_find_known(const zc_known_codec *codecs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(codecs[i].name, name) == 0) {
            return &codecs[i];
        }
    }
    return NULL;
}

const zc_known_codec *zc_find_numcodecs(const char *id)
{
    static const zc_known_codec codecs[] = {
        {"blosc", blosc, {"id", "cname", "clevel", "shuffle", "typesize", "blocksize"}, false, true},
        {"zlib", deflate, {"id", "level"}, false, true},
        {"gzip", deflate, {"id", "level"}, false, true},
        {"zstd", zc_zstd_options, {"id", "level", "checksum"}, false, true},
        {"lz4", lz4, {"id", "acceleration"}, false, true},
        {"crc32c", checksum, {"id", "location"}, false, false},
        {"crc32", checksum, {"id", "location"}, false, false},
        {"adler32", checksum, {"id", "location"}, false, false},
        {"fletcher32", NULL, {"id"}, false, false},
        {"jenkins_lookup3", jenkins_lookup3, {"id", "initval", "prefix"}, false, false},
        {"shuffle", shuffle, {"id", "elementsize"}, false, false},
        {"delta", delta, {"id", "dtype", "astype"}, true, false},
        {"astype", astype, {"id", "encode_dtype", "decode_dtype"}, true, false},
        {"fixedscaleoffset", fixedscaleoffset, {"id", "offset", "scale", "dtype", "astype"}, true, false},
        {"quantize", quantize, {"id", "digits", "dtype", "astype"}, true, false},
        {"bitround", bitround, {"id", "keepbits"}, true, false},
        {"packbits", packbits, {"id"}, true, false},
    };

    return zc_find_known(codecs, sizeof codecs / sizeof codecs[0], id);
}

zc_flow zc_flow_of(const zc_dtype *dtype, const zc_item *item)
{
    return (zc_flow){dtype->kind, dtype->size, item->word != 0, dtype->has_number, dtype->number};
}

void zc_stage_check(const zc_node *codec, const zc_codec *stage)
{
    zc_error err;

    zc_error_clear(&err);
    if (zc_node_ok(codec) && zc_codec_check(stage, &err) != ZC_OK) {
        zc_node_fail(codec, "%s", err.message);
        if (err.status == ZC_ERR_UNSUPPORTED) {      /* valid, but not with this build */
            codec->json->err->status = ZC_ERR_UNSUPPORTED;
        }
    }
}

void zc_configure(const zc_known_codec *known, const zc_source *from, zc_codec *out)
{
    if (!zc_node_ok(from->codec)) {
        return;
    }
    zc_node_members(from->configuration, known->members, ZC_OTHERS_REFUSED);
    zc_codec_init(out, known->name);
    if (known->configure != NULL) {
        known->configure(from, out);
    }
    if (!zc_node_ok(from->codec) && known->is_self_describing && says_all(from)) {
        /* Format 2: such members serve encoding alone, which has defaults. */
        const zc_node none = {.json = from->codec->json};
        const zc_source bare = {from->arena, from->codec, &none, from->item_size, from->flow};
        zc_error_clear(from->codec->json->err);
        zc_codec_init(out, known->name);
        known->configure(&bare, out);
    }
    zc_stage_check(from->codec, out);
}
