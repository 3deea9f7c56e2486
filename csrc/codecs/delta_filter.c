/* SPDX-License-Identifier: MIT
 *
 * Differences of neighbours, perhaps stored as another type (numcodecs "delta").
 */
#include "kernels/delta.h"

#include <string.h>

#include "codecs/numbers.h"
#include "kernels/delta_numpy.h"

static const zc_delta_kind kinds[ZC_NUMBER_KINDS] = {
    ZC_DELTA_INT8,  ZC_DELTA_INT16, ZC_DELTA_INT32, ZC_DELTA_INT64,   ZC_DELTA_INT8,
    ZC_DELTA_INT16, ZC_DELTA_INT32, ZC_DELTA_INT64, ZC_DELTA_FLOAT32, ZC_DELTA_FLOAT64,
};

/* Numbers of one type in the machine's byte order, to differences of that type. */
static void make_differences(void *dst, const void *src, size_t n, zc_number_kind kind)
{
    if (kind < ZC_NUMBER_KINDS) {
        zc_delta_encode(dst, src, n, kinds[kind]);
    } else {
        zc_delta_encode_numpy(dst, src, n, kind);
    }
}

/* And back. */
static void add_up(void *dst, const void *src, size_t n, zc_number_kind kind)
{
    if (kind < ZC_NUMBER_KINDS) {
        zc_delta_decode(dst, src, n, kinds[kind]);
    } else {
        zc_delta_decode_numpy(dst, src, n, kind);
    }
}

static bool both_integers(const zc_codec *codec)
{
    return zc_number_is_integer(codec->decoded) && zc_number_is_integer(codec->encoded);
}

/* Nothing but the differences is to be made. */
static bool plain(const zc_codec *codec)
{
    return codec->decoded.kind == codec->encoded.kind && !codec->decoded.swapped && !codec->encoded.swapped;
}

/* Integers are stored as smaller ones: one pass makes the differences and cuts them, or widens and adds them up. */
static bool narrows(const zc_codec *codec)
{
    return both_integers(codec) && !codec->decoded.swapped && !codec->encoded.swapped &&
           zc_number_size(codec->encoded.kind) < zc_number_size(codec->decoded.kind);
}

/* A tile of differences; but for the first tile a number lies before src. */
static void encode_tile(const zc_codec *codec, const uint8_t *src, uint8_t *dst, size_t n, bool first)
{
    const zc_number native = {codec->decoded.kind, false};
    const size_t size = zc_number_size(native.kind);
    uint64_t numbers[ZC_TILE_WORDS + 2], made[ZC_TILE_WORDS + 2];
    const size_t before = first ? 0 : 1;
    const void *from = src - before * size;

    if (codec->decoded.swapped) {
        zc_numbers_swap(numbers, from, &codec->decoded, n + before);
        from = numbers;
    }
    make_differences(made, from, n + before, native.kind);
    zc_numbers_convert(dst, &codec->encoded, (const char *)made + before * size, &native, n);
}

/* Which of the floats of 2, 4 and 8 bytes numpy takes for what a number is. */
static int precision(zc_number_kind kind)
{
    const zc_number_kind part = zc_number_part(kind);

    return part == ZC_NUMBER_F32 || (part != ZC_NUMBER_F16 && zc_number_size(part) == 2) ? 1
           : zc_number_size(part) <= 2                                                   ? 0
                                                                                         : 2;
}

/*
 * Integers are added up modulo 2 ** bits of the data's type; floats, as numpy does it, in a type for both.  Booleans come
 * back as they were, which numpy.cumsum does not bring about.
 */
static zc_number_kind sum_kind(const zc_codec *codec)
{
    static const zc_number_kind reals[] = {ZC_NUMBER_F16, ZC_NUMBER_F32, ZC_NUMBER_F64};
    static const zc_number_kind complexes[] = {ZC_NUMBER_C64, ZC_NUMBER_C64, ZC_NUMBER_C128};
    const zc_number_kind pair[2] = {codec->decoded.kind, codec->encoded.kind};
    const int in = precision(pair[0]), out = precision(pair[1]), most = in > out ? in : out;

    if (pair[0] == ZC_NUMBER_BOOL || both_integers(codec) ||
        (zc_number_is_integer(codec->decoded) && pair[1] == ZC_NUMBER_BOOL)) {
        return pair[0];
    }
    return (zc_number_part(pair[0]) != pair[0] || zc_number_part(pair[1]) != pair[1] ? complexes : reals)[most];
}

/* One step of the sum: the first number itself, since 0.0 + -0.0 would be 0.0. */
static void add_last(void *difference, const void *last, zc_number_kind kind)
{
    uint64_t pair[4] = {0}, sums[4];
    const size_t size = zc_number_size(kind);

    memcpy(pair, last, size);
    memcpy((char *)pair + size, difference, size);
    add_up(sums, pair, 2, kind);
    memcpy(difference, (char *)sums + size, size);
}

/* `last` is the sum before the tile, and then the last one of it. */
static void decode_tile(const zc_codec *codec, const zc_number *sum, const uint8_t *src, uint8_t *dst, size_t n,
                        bool first, void *last)
{
    const size_t size = zc_number_size(sum->kind);
    const bool final = sum->kind == codec->decoded.kind && !codec->decoded.swapped;
    uint64_t differences[ZC_TILE_WORDS], sums[ZC_TILE_WORDS];
    char *const made = final ? (char *)dst : (char *)sums;

    zc_numbers_convert(differences, sum, src, &codec->encoded, n);
    if (!first) {
        add_last(differences, last, sum->kind);
    }
    add_up(made, differences, n, sum->kind);
    memcpy(last, made + (n - 1) * size, size);
    if (!final) {
        zc_numbers_convert(dst, &codec->decoded, made, sum, n);
    }
}

/*
 * The first number is stored itself, and no difference can make up for what it loses.  Floats may be stored
 * rounded.
 */
static zc_status check_first(const zc_codec *codec, const uint8_t *src, size_t n, zc_error *err)
{
    uint64_t stored = 0, back = 0;

    if (n == 0 || !both_integers(codec)) {
        return ZC_OK;
    }
    zc_numbers_convert(&stored, &codec->encoded, src, &codec->decoded, 1);
    zc_numbers_convert(&back, &codec->decoded, &stored, &codec->encoded, 1);
    if (memcmp(&back, src, zc_number_size(codec->decoded.kind)) != 0) {
        return zc_fail(err, ZC_ERR_ENCODE, "item 0 does not fit into the %zu bytes of astype",
                       zc_number_size(codec->encoded.kind));
    }
    return ZC_OK;
}

/* Encodes, or decodes if it goes `back`. */
static zc_status run(const zc_coding *c, size_t *written, bool back)
{
    const zc_codec *const codec = c->codec;
    const zc_number_kind read = (back ? codec->encoded : codec->decoded).kind;
    const zc_number_kind made = (back ? codec->decoded : codec->encoded).kind;
    const size_t in = zc_number_size(read), out = zc_number_size(made);
    const size_t most = narrows(codec) ? ZC_CODEC_PIECE : ZC_TILE;
    const zc_number sum = {sum_kind(codec), false};
    uint64_t last[2] = {0};
    size_t count;
    zc_status status = zc_numbers_count(c, read, made, &count, written);

    if (status == ZC_OK && !back) {
        status = check_first(codec, c->src, count, c->err);
    }
    if (status == ZC_OK && plain(codec)) {
        (back ? add_up : make_differences)(c->dst, c->src, count, codec->decoded.kind);
        return ZC_OK;
    }
    for (size_t at = 0; at < count && status == ZC_OK; at += most) {
        const size_t n = count - at < most ? count - at : most;
        const uint8_t *const src = c->src + at * in;
        uint8_t *const dst = c->dst + at * out;

        if (narrows(codec) && back) {
            zc_delta_decode_narrow(dst, out, src, in, read < ZC_NUMBER_U8, n, at == 0);
        } else if (narrows(codec)) {
            zc_delta_encode_narrow(dst, out, src, in, n, at == 0);
        } else if (back) {
            decode_tile(codec, &sum, src, dst, n, at == 0, last);
        } else {
            encode_tile(codec, src, dst, n, at == 0);
        }
        status = zc_codec_poll(c->ws, c->err);
    }
    return status;
}

static zc_status delta_encode(const zc_coding *c, size_t *written)
{
    return run(c, written, false);
}

static zc_status delta_decode(const zc_coding *c, size_t *written)
{
    return run(c, written, true);
}

const zc_codec_class zc_codec_delta = {
    .name = "delta",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_IN_ORDER,
    .numbers = ZC_NUMBERS_OF_NUMPY,
    .bound = zc_numbers_bound,
    .encode = delta_encode,
    .decode = delta_decode,
};
