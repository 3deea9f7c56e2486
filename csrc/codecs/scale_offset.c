/* SPDX-License-Identifier: MIT
 *
 * Numbers less an offset, times a scale, in their own type ("scale_offset" of the Zarr extensions).
 *
 * Floats are worked on as numpy does, one operation after the other.  Integers are exact: what does not fit is an
 * error, and so is a stored integer that the scale does not divide.
 */
#include <string.h>

#include "codecs/numbers.h"
#include "codecs/scale_table.h"
#include "kernels/float16.h"
#include "kernels/stamped.h"

/* ---- floats ----------------------------------------------------------------------------------- */

#define STAMP_MAP(NAME, TYPE, EXPRESSION)                                                        \
    STAMP_BOTH(STAMP_EACH, NAME, TYPE, TYPE, EXPRESSION, TYPE offset, TYPE scale)                \
    static void NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        RUN(NAME, dst, src, n, (TYPE)codec->offset, (TYPE)codec->scale);                         \
    }

STAMP_MAP(encode_f32, float, (x - offset) * scale)
STAMP_MAP(encode_f64, double, (x - offset) * scale)
STAMP_MAP(decode_f32, float, x / scale + offset)
STAMP_MAP(decode_f64, double, x / scale + offset)

/* ---- integers --------------------------------------------------------------------------------- */

/* Numbers are a sign and a size; 64 bits are enough for the difference of any two numbers. */
typedef struct whole_map {
    uint64_t offset;
    uint64_t size;           /* of the scale */
    bool negative;           /* is the scale */
    uint64_t most[2];        /* largest size that can be encoded further: of positive and of negative numbers */
    uint64_t room[2];        /* from the offset to the largest and to the lowest number of the type */
} whole_map;

static whole_map map_of(const zc_codec *codec)
{
    const int bits = 8 * (int)zc_number_size(codec->decoded.kind);
    const bool is_signed = codec->decoded.kind < ZC_NUMBER_U8;
    const uint64_t high = (is_signed ? UINT64_C(1) << (bits - 1) : UINT64_MAX >> (64 - bits)) - (is_signed ? 1 : 0);
    const uint64_t low = is_signed ? high + 1 : 0;      /* the size of the lowest number */
    whole_map map = {(uint64_t)codec->whole.offset, (uint64_t)codec->whole.scale, false, {0, 0}, {0, 0}};

    if (is_signed && codec->whole.scale < 0) {
        map.negative = true;
        map.size = 0 - map.size;
    }
    map.most[0] = high / map.size;
    map.most[1] = low / map.size;
    map.room[0] = high - map.offset;
    map.room[1] = low + map.offset;
    return map;
}

#define STAMP_WHOLE(NAME, TYPE)                                                                  \
    static int encode_##NAME(void *restrict dst, const void *restrict src, size_t n, const whole_map *map) \
    {                                                                                            \
        const TYPE offset = (TYPE)map->offset;                                                   \
        bool bad = false;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, (const char *)src + i * sizeof x, sizeof x);                              \
            const bool below = x < offset, negative = below != map->negative;                    \
            const uint64_t apart = (uint64_t)x - map->offset, size = below ? 0 - apart : apart;  \
            const uint64_t product = size * map->size;                                           \
            bad |= size > map->most[negative];                                                   \
            x = (TYPE)(negative ? 0 - product : product);                                        \
            memcpy((char *)dst + i * sizeof x, &x, sizeof x);                                    \
        }                                                                                        \
        return bad ? ZC_SCALE_TOO_LARGE : ZC_SCALE_FITS;                                         \
    }                                                                                            \
                                                                                                 \
    static int decode_##NAME(void *restrict dst, const void *restrict src, size_t n, const whole_map *map) \
    {                                                                                            \
        const TYPE zero = 0;                                                                     \
        bool bad = false, rest = false;                                                          \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, (const char *)src + i * sizeof x, sizeof x);                              \
            const bool below = x < zero, negative = below != map->negative;                      \
            const uint64_t size = below ? 0 - (uint64_t)x : (uint64_t)x;                         \
            const uint64_t quotient = map->size == 1 ? size : size / map->size;                  \
            rest |= quotient * map->size != size;                                                \
            bad |= quotient > map->room[negative];                                               \
            x = (TYPE)(map->offset + (negative ? 0 - quotient : quotient));                      \
            memcpy((char *)dst + i * sizeof x, &x, sizeof x);                                    \
        }                                                                                        \
        return (bad ? ZC_SCALE_TOO_LARGE : ZC_SCALE_FITS) | (rest ? ZC_SCALE_NO_MULTIPLE : ZC_SCALE_FITS); \
    }

STAMP_INTEGERS(STAMP_WHOLE)

typedef int (*whole_fn)(void *restrict dst, const void *restrict src, size_t n, const whole_map *map);

static const whole_fn encoders[] = INTEGERS(encode, ), decoders[] = INTEGERS(decode, );

/* ---- floats of 16 bits ------------------------------------------------------------------------ */

/* One operation as numpy and ml_dtypes do it: in single precision, and back. */
static void scale_halves(const zc_codec *codec, bool decode, void *dst, const void *src, size_t n)
{
    const zc_number_kind kind = codec->decoded.kind;
    const float offset = (float)codec->offset, scale = (float)codec->scale;
    float floats[ZC_TILE];

    zc_halves_to_floats(floats, src, kind, n);
    for (size_t i = 0; i < n; i++) {
        floats[i] = decode ? floats[i] / scale : floats[i] - offset;
    }
    zc_floats_to_halves(dst, kind, floats, n);
    zc_halves_to_floats(floats, dst, kind, n);
    for (size_t i = 0; i < n; i++) {
        floats[i] = decode ? floats[i] + offset : floats[i] * scale;
    }
    zc_floats_to_halves(dst, kind, floats, n);
}

/* ---- all types -------------------------------------------------------------------------------- */

/* One of the two directions. */
typedef struct scaler {
    const zc_codec *codec;
    bool decode;
    whole_map whole;         /* integers of C */
    zc_scale_table table;    /* types of less than 16 bits that C has not */
} scaler;

static bool is_whole(zc_number_kind kind)
{
    return kind < ZC_NUMBER_F32;
}

static void set_up(scaler *s, const zc_codec *codec, bool decode)
{
    s->codec = codec;
    s->decode = decode;
    if (is_whole(codec->decoded.kind)) {
        s->whole = map_of(codec);
    } else if (zc_number_size(codec->decoded.kind) == 1) {
        zc_scale_table_fill(&s->table, codec, decode);
    }
}

/* What was wrong with any of the numbers. */
static int scale_tile(const scaler *s, void *dst, const void *src, size_t n)
{
    const zc_number_kind kind = s->codec->decoded.kind;

    if (is_whole(kind)) {
        return (s->decode ? decoders : encoders)[kind](dst, src, n, &s->whole);
    }
    if (zc_number_size(kind) == 1) {
        return zc_scale_table_run(&s->table, dst, src, n);
    }
    scale_halves(s->codec, s->decode, dst, src, n);
    return ZC_SCALE_FITS;
}

static zc_status complain(const scaler *s, const void *src, size_t n, zc_error *err)
{
    const zc_number_kind kind = s->codec->decoded.kind;
    const size_t size = zc_number_size(kind);
    const char *item = src;
    int faults = ZC_SCALE_FITS;
    uint64_t made;
    char text[64];

    for (; n > 0 && (faults = scale_tile(s, &made, item, 1)) == ZC_SCALE_FITS; n--) {
        item += size;
    }
    zc_real_print(kind, zc_real_fetch(item, kind), text, sizeof text);
    if (faults & ZC_SCALE_NO_MULTIPLE) {
        return zc_fail(err, ZC_ERR_CORRUPT, "the item %s is no multiple of the scale", text);
    }
    return zc_fail(err, s->decode ? ZC_ERR_CORRUPT : ZC_ERR_ENCODE, "the item %s does not fit into %s", text,
                   zc_real_type_of(kind)->name);
}

static zc_status scale_tiles(const scaler *s, const zc_coding *c, size_t *written)
{
    const zc_number *const number = &s->codec->decoded;
    const size_t size = zc_number_size(number->kind);
    uint64_t before[ZC_TILE], after[ZC_TILE];
    size_t count;
    zc_status status = zc_numbers_count(c, number->kind, number->kind, &count, written);

    for (size_t at = 0; at < count && status == ZC_OK; at += ZC_TILE) {
        const size_t length = count - at < ZC_TILE ? count - at : ZC_TILE;
        zc_numbers_swap(before, c->src + at * size, number, length);
        if (scale_tile(s, after, before, length) != ZC_SCALE_FITS) {
            return complain(s, before, length, c->err);
        }
        zc_numbers_swap(c->dst + at * size, after, number, length);
        if (at * size % ZC_CODEC_PIECE == 0) {
            status = zc_codec_poll(c->ws, c->err);
        }
    }
    return status;
}

/* ---- the codec -------------------------------------------------------------------------------- */

static zc_status scale_offset_check(const zc_codec *codec, zc_error *err)
{
    const zc_real_type *const type = zc_real_type_of(codec->decoded.kind);
    const int64_t offset = codec->whole.offset, scale = codec->whole.scale;

    if (!type->is_float && scale == 0) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "scale: expected an integer that is not 0");
    }
    if (!type->is_float && type->bits < 8 && (offset != (int8_t)offset || scale != (int8_t)scale)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "offset, scale: expected integers of type %s", type->name);
    }
    return ZC_OK;
}

typedef void (*float_fn)(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

static zc_status scale_offset_run(const zc_coding *c, size_t *written)
{
    static const float_fn floats[2][2] = {{encode_f32, encode_f64}, {decode_f32, decode_f64}};
    const zc_number number = c->codec->decoded;
    const zc_status status = scale_offset_check(c->codec, c->err);
    scaler s;

    if (status != ZC_OK) {
        return status;
    }
    if (zc_number_is_float(number)) {
        const float_fn run = floats[c->decode][number.kind == ZC_NUMBER_F64];
        return zc_numbers_run(c, &(zc_number_map){number, number.kind, run, number.kind, number}, written);
    }
    set_up(&s, c->codec, c->decode);
    return scale_tiles(&s, c, written);
}

const zc_codec_class zc_codec_scale_offset = {
    .name = "scale_offset",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .numbers = ZC_NUMBERS_REAL,
    .bound = zc_numbers_bound,
    .encode = scale_offset_run,
    .decode = scale_offset_run,
    .check = scale_offset_check,
    .defaults = {.decoded = {.kind = ZC_NUMBER_F64}, .encoded = {.kind = ZC_NUMBER_F64}, .scale = 1,
                 .whole = {.scale = 1}},
};
