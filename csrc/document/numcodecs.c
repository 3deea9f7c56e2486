/* SPDX-License-Identifier: MIT
 *
 * Compressors and filters by their ids and configurations in numcodecs: those of format 2, and the codecs
 * numcodecs.* of format 3.
 */
#include <math.h>
#include <string.h>

#include "document/document.h"

#define BLOSC_TYPESIZE_MAX 255       /* blosc shuffles larger items as if they were bytes */

/* What one codec is configured from. */
typedef struct source {
    const zc_node *codec;
    const zc_node *configuration;
    size_t item_size;        /* of the data type */
    zc_flow *flow;           /* what comes in, and then what goes out */
    bool says_all;           /* format 2: no member is taken from what comes in */
} source;

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
static zc_status read_number(const source *from, const char *member, const zc_flow *standard, zc_flow *flow,
                             zc_number *out)
{
    const zc_node node = zc_node_member(from->configuration, member);
    const char *text = "";
    zc_status status = ZC_OK;

    *flow = standard != NULL ? *standard : (zc_flow){0};
    if ((node.value == NULL && standard == NULL) || (node.value != NULL && !zc_node_is_null(&node))) {
        status = zc_node_string(&node, &text);
        if (status == ZC_OK && !parse_number(text, flow)) {
            status = zc_node_fail(&node, "\"%.40s\" is no type of numbers that is supported", text);
        }
    }
    if (status == ZC_OK && !number_of(flow->kind, flow->size, flow->swapped, out)) {
        status = zc_node_fail(node.value != NULL ? &node : from->codec,
                              "only Booleans, integers, floats and complex numbers are supported");
    }
    return status;
}

/* dtype and astype; what goes out are numbers of the latter.  In format 3, dtype is by default that of what comes in. */
static zc_status set_numbers(const source *from, const char *decoded, const char *encoded,
                             bool encoded_required, zc_codec *out)
{
    zc_flow in, made;
    const zc_flow *const known = from->flow->kind != 0 && !from->says_all ? from->flow : NULL;
    zc_status status = read_number(from, decoded, known, &in, &out->decoded);

    if (status == ZC_OK && known != NULL && in.size != known->size) {
        status = zc_node_fail(from->codec, "takes items of %zu bytes (%s), but those before it have %zu", in.size,
                              decoded, known->size);
    }
    if (status == ZC_OK) {
        status = read_number(from, encoded, encoded_required ? NULL : &in, &made, &out->encoded);
        *from->flow = made;
    }
    return status;
}

/* ---- codecs ------------------------------------------------------------------------------------- */

static zc_status no_options(const source *from, zc_codec *out)
{
    (void)from, (void)out;
    return ZC_OK;
}

static zc_status blosc(const source *from, zc_codec *out)
{
    static const char *const compressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", NULL};
    const zc_node cname = zc_node_member(from->configuration, "cname");
    int64_t typesize = (int64_t)from->flow->size, blocksize = 0, shuffle = ZC_BLOSC_BYTESHUFFLE, level = 5;
    int compressor = ZC_BLOSC_LZ4;
    zc_status status = cname.value != NULL ? zc_node_choice(&cname, compressors, &compressor) : ZC_OK;

    if (status == ZC_OK) {
        status = zc_node_optional_int(from->configuration, "clevel", 0, 9, &level);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_int(from->configuration, "shuffle", -1, 2, &shuffle);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_int(from->configuration, "typesize", 1, INT32_MAX, &typesize);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_int(from->configuration, "blocksize", 0, INT32_MAX, &blocksize);
    }
    if (shuffle < 0) {
        shuffle = typesize == 1 ? ZC_BLOSC_BITSHUFFLE : ZC_BLOSC_BYTESHUFFLE;
    }
    out->level = (int)level;
    out->blosc.compressor = (zc_blosc_compressor)compressor;
    out->blosc.shuffle = (zc_blosc_shuffle)shuffle;
    out->blosc.typesize = typesize <= BLOSC_TYPESIZE_MAX ? (size_t)typesize : 1;
    out->blosc.blocksize = (size_t)blocksize;
    return status;
}

static zc_status deflate(const source *from, zc_codec *out)
{
    int64_t level = 1;
    const zc_status status = zc_node_optional_int(from->configuration, "level", -1, 9, &level);

    out->level = level < 0 ? 6 : (int)level;         /* zlib's own default */
    return status;
}

static zc_status zstd(const source *from, zc_codec *out)
{
    int64_t level = 0;
    const zc_status status = zc_node_optional_int(from->configuration, "level", -131072, 22, &level);

    out->level = (int)level;
    return status == ZC_OK ? zc_node_optional_bool(from->configuration, "checksum", &out->checksum) : status;
}

static zc_status lz4(const source *from, zc_codec *out)
{
    int64_t acceleration = 1;
    const zc_status status =
        zc_node_optional_int(from->configuration, "acceleration", INT32_MIN, INT32_MAX, &acceleration);

    out->level = acceleration < 1 ? 1 : (int)acceleration;   /* as liblz4 takes it */
    return status;
}

static zc_status checksum(const source *from, zc_codec *out)
{
    static const char *const locations[] = {"end", "start", NULL};
    const zc_node location = zc_node_member(from->configuration, "location");
    int which = out->at_start;
    zc_status status = ZC_OK;

    if (location.value != NULL && !zc_node_is_null(&location)) {
        status = zc_node_choice(&location, locations, &which);
    }
    out->at_start = which == 1;
    return status;
}

/* The bytes that a prefix would be have no form in a document. */
static zc_status jenkins_lookup3(const source *from, zc_codec *out)
{
    const zc_node prefix = zc_node_member(from->configuration, "prefix");
    int64_t initial = 0;

    if (prefix.value != NULL && !zc_node_is_null(&prefix)) {
        return zc_node_expected(&prefix, "null");
    }
    const zc_status status = zc_node_optional_int(from->configuration, "initval", 0, UINT32_MAX, &initial);
    out->lookup3.initial = (uint32_t)initial;
    return status;
}

static zc_status shuffle(const source *from, zc_codec *out)
{
    int64_t element = 4;
    const zc_status status = zc_node_optional_int(from->configuration, "elementsize", 0, INT32_MAX, &element);

    out->element = element > 0 ? (size_t)element : from->item_size;  /* NCZarr writes 0 for the item size */
    return status;
}

static zc_status delta(const source *from, zc_codec *out)
{
    return set_numbers(from, "dtype", "astype", false, out);
}

static zc_status astype(const source *from, zc_codec *out)
{
    return set_numbers(from, "decode_dtype", "encode_dtype", true, out);
}

static zc_status required_real(const source *from, const char *name, double *out)
{
    const zc_node node = zc_node_member(from->configuration, name);
    zc_status status = zc_node_real(&node, out);

    if (status == ZC_OK && !isfinite(*out)) {
        status = zc_node_fail(&node, "expected a finite number");
    }
    return status;
}

/* The same; what is written as an integer is one for numpy too. */
static zc_status required_constant(const source *from, const char *name, double *out, int64_t *whole, bool *has_whole)
{
    const zc_node node = zc_node_member(from->configuration, name);
    bool negative = false;
    uint64_t size = 0;
    const zc_status status = required_real(from, name, out);

    if (status == ZC_OK && zc_node_is_integer(&node) && zc_node_integer(&node, &negative, &size) == ZC_OK) {
        *whole = (int64_t)(negative ? 0 - size : size);
        *has_whole = true;
    }
    return status;
}

static zc_status fixedscaleoffset(const source *from, zc_codec *out)
{
    zc_status status =
        required_constant(from, "offset", &out->offset, &out->whole.offset, &out->whole.has_offset);

    if (status == ZC_OK) {
        status = required_constant(from, "scale", &out->scale, &out->whole.scale, &out->whole.has_scale);
    }
    if (status == ZC_OK && out->scale == 0) {
        return zc_node_fail(from->codec, "scale: expected a number that is not 0");
    }
    return status == ZC_OK ? set_numbers(from, "dtype", "astype", false, out) : status;
}

/* The power of two whose reciprocal is not more than the last digit that is kept, as numcodecs finds it. */
static double quantize_scale(double digits)
{
    const double exponent = log10(pow(10.0, -digits));

    return pow(2.0, ceil(log2(pow(10.0, -(exponent < 0 ? floor(exponent) : ceil(exponent))))));
}

static zc_status quantize(const source *from, zc_codec *out)
{
    double digits = 0;
    zc_status status = required_real(from, "digits", &digits);

    out->scale = quantize_scale(digits);
    if (status == ZC_OK && (!isfinite(out->scale) || out->scale == 0)) {
        status = zc_node_fail(from->codec, "digits: %g are too many", digits);
    }
    return status == ZC_OK ? set_numbers(from, "dtype", "astype", false, out) : status;
}

static zc_status bitround(const source *from, zc_codec *out)
{
    const zc_node node = zc_node_member(from->configuration, "keepbits");
    const zc_flow *const flow = from->flow;
    int64_t keepbits = 0;
    const zc_status status = zc_node_int(&node, 0, 52, &keepbits);

    if (status == ZC_OK && flow->kind != 'f') {
        return zc_node_fail(from->codec, "bitround needs floating-point numbers");
    }
    out->decoded = (zc_number){ZC_NUMBER_F16, flow->swapped};
    number_of('f', flow->size, flow->swapped, &out->decoded);
    out->encoded = out->decoded;
    out->level = (int)keepbits;
    return status;
}

static zc_status packbits(const source *from, zc_codec *out)
{
    (void)out;
    if (from->says_all ? from->flow->kind != 0 && from->flow->size != 1 : from->flow->kind != 'b') {
        return zc_node_fail(from->codec, "packbits needs Boolean items");
    }
    *from->flow = (zc_flow){.kind = 'u', .size = 1};
    return ZC_OK;
}

/* ---- all of them -------------------------------------------------------------------------------- */

typedef struct known_codec {
    const char *id;
    bool is_filter;          /* takes and makes numbers */
    zc_status (*configure)(const source *from, zc_codec *out);
    const char *members[6];  /* other than "id", ending with NULL */
    bool is_self_describing; /* no member is needed to decode */
} known_codec;

static const known_codec codecs[] = {
    {"blosc", false, blosc, {"cname", "clevel", "shuffle", "typesize", "blocksize"}, true},
    {"zlib", false, deflate, {"level"}, true},
    {"gzip", false, deflate, {"level"}, true},
    {"zstd", false, zstd, {"level", "checksum"}, true},
    {"lz4", false, lz4, {"acceleration"}, true},
    {"crc32c", false, checksum, {"location"}, false},
    {"crc32", false, checksum, {"location"}, false},
    {"adler32", false, checksum, {"location"}, false},
    {"fletcher32", false, no_options, {NULL}, false},
    {"jenkins_lookup3", false, jenkins_lookup3, {"initval", "prefix"}, false},
    {"shuffle", false, shuffle, {"elementsize"}, false},
    {"delta", true, delta, {"dtype", "astype"}, false},
    {"astype", true, astype, {"encode_dtype", "decode_dtype"}, false},
    {"fixedscaleoffset", true, fixedscaleoffset, {"offset", "scale", "dtype", "astype"}, false},
    {"quantize", true, quantize, {"digits", "dtype", "astype"}, false},
    {"bitround", true, bitround, {"keepbits"}, false},
    {"packbits", true, packbits, {NULL}, false},
};

static const known_codec *find(const char *id)
{
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (strcmp(codecs[i].id, id) == 0) {
            return &codecs[i];
        }
    }
    return NULL;
}

bool zc_numcodecs_is_filter(const char *id)
{
    const known_codec *const found = find(id);

    return found != NULL && found->is_filter;
}

zc_flow zc_flow_of(const zc_dtype *dtype, const zc_item *item)
{
    return (zc_flow){dtype->kind, dtype->size, item->word != 0, dtype->has_number, dtype->number};
}

/* Configure a codec without its members. */
static zc_status configure_by_default(const known_codec *codec, const source *from, zc_codec *out)
{
    const zc_node none = {.json = from->codec->json};
    const source bare = {from->codec, &none, from->item_size, from->flow, from->says_all};

    return codec->configure(&bare, out);
}

zc_status zc_stage_numcodecs(const zc_node *codec, const char *id, const zc_node *configuration,
                             size_t item_size, zc_flow *flow, zc_codec *out, bool *known)
{
    const known_codec *const found = find(id);
    const source from = {codec, configuration, item_size, flow, codec == configuration};
    const char *members[8] = {"id"};

    *known = found != NULL;
    if (found == NULL) {
        return ZC_OK;
    }
    for (int i = 0; i < 6 && found->members[i] != NULL; i++) {
        members[i + 1] = found->members[i];
    }
    zc_status status = zc_node_members(configuration, members, false);
    zc_codec_init(out, id);
    if (status == ZC_OK) {
        status = found->configure(&from, out);
    }
    if (status != ZC_OK && found->is_self_describing && from.says_all) {
        zc_error_clear(codec->json->err);    /* format 2: such members serve encoding alone, which has defaults */
        zc_codec_init(out, id);
        status = configure_by_default(found, &from, out);
    }
    if (status != ZC_OK) {
        return status;
    }
    if (!found->is_filter) {
        *flow = (zc_flow){.size = 1};
    }
    return zc_stage_check(codec, out);
}
