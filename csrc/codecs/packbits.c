/* SPDX-License-Identifier: MIT
 *
 * Booleans as bits, or some bits of each number ("packbits").
 *
 * As numcodecs packs booleans, the first one is the highest bit, after a byte that counts the unused bits of the last
 * byte; in format 3 the first bit is the lowest one, and that byte lies in front, at the end, or nowhere.
 */
#include "base/arith.h"
#include "codecs/classes.h"
#include "kernels/bit_packing.h"

static bool as_numcodecs(const zc_codec *codec)
{
    return codec->bits.padding == ZC_PADDING_NUMCODECS;
}

static size_t padding_size(const zc_codec *codec)
{
    return codec->bits.padding == ZC_PADDING_NONE ? 0 : 1;
}

/* Bits of n bytes of numbers; false if they are too many to count, or n bytes no whole number of them. */
static bool count_bits(const zc_codec *codec, size_t n, size_t *out)
{
    const size_t size = zc_number_size(codec->decoded.kind);

    if (as_numcodecs(codec) || codec->bits.width == 0) {
        *out = n;
        return true;
    }
    return n % size == 0 && zc_mul_size(n / size, codec->bits.width, out);
}

static zc_bit_field field_of(const zc_codec *codec)
{
    const zc_real_type *const type = zc_real_type_of(codec->decoded.kind);

    return (zc_bit_field){(uint32_t)zc_number_size(codec->decoded.kind), codec->bits.first, codec->bits.width,
                          type->bits, type->is_signed && !type->is_float};
}

static zc_status packbits_check(const zc_codec *codec, zc_error *err)
{
    const size_t bits = zc_real_type_of(codec->decoded.kind)->bits;

    if (codec->bits.width > bits || codec->bits.first > bits - codec->bits.width) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "expected some of %zu bits, got %u from bit %u on", bits,
                       (unsigned)codec->bits.width, (unsigned)codec->bits.first);
    }
    if (codec->decoded.swapped) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "dtype: expected numbers in the machine's byte order");
    }
    return ZC_OK;
}

static bool packbits_bound(const zc_codec *codec, size_t n, size_t *out)
{
    size_t bits;

    if (!count_bits(codec, n, &bits)) {
        return false;
    }
    *out = padding_size(codec) + bits / 8 + (bits % 8 != 0);
    return true;
}

static zc_status packbits_encode(const zc_coding *c, size_t *written)
{
    const zc_codec *const codec = c->codec;
    const bool at_end = codec->bits.padding == ZC_PADDING_LAST;
    const zc_bit_field field = field_of(codec);
    size_t bits, size;

    if (!count_bits(codec, c->n, &bits) || !packbits_bound(codec, c->n, &size) || size > c->cap) {
        return zc_fail(c->err, ZC_ERR_ARGUMENT, "the bits of %zu bytes do not fit into %zu bytes", c->n, c->cap);
    }
    if (padding_size(codec) > 0) {
        c->dst[at_end ? size - 1 : 0] = (uint8_t)((8 - bits % 8) % 8);
    }
    uint8_t *const dst = c->dst + (at_end ? 0 : padding_size(codec));
    if (as_numcodecs(codec) || field.width == 0) {
        zc_pack_flags(dst, c->src, c->n, as_numcodecs(codec));
    } else {
        zc_pack_bits(dst, c->src, c->n / field.size, &field);
    }
    *written = size;
    return ZC_OK;
}

/* The padding determines the number of items. */
static zc_status decode_numcodecs(const zc_coding *c, size_t *written)
{
    const volatile uint8_t *const header = c->src;       /* read once: others may change it */
    const int unused = c->n > 0 ? *header : -1;
    size_t bits;

    if (unused < 0 || unused > 7 || (c->n == 1 && unused > 0)) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "%zu bytes that state %d unused bits", c->n, unused);
    }
    if (!zc_mul_size(c->n - 1, 8, &bits) || bits - (size_t)unused > c->cap) {
        return zc_fail(c->err, ZC_ERR_SIZE, "%zu bytes of bits, at most %zu items expected", c->n - 1, c->cap);
    }
    *written = bits - (size_t)unused;
    zc_unpack_flags(c->dst, c->src + 1, *written, true);
    return ZC_OK;
}

/* Format 3: without padding only the expected size determines the number of items. */
static zc_status packbits_decode(const zc_coding *c, size_t *written)
{
    const zc_codec *const codec = c->codec;
    const bool at_end = codec->bits.padding == ZC_PADDING_LAST;
    const zc_bit_field field = field_of(codec);
    size_t bits = 0, size = 0;

    if (as_numcodecs(codec)) {
        return decode_numcodecs(c, written);
    }
    const zc_status status = packbits_check(codec, c->err);
    if (status != ZC_OK) {
        return status;
    }
    if (!count_bits(codec, c->cap, &bits) || !packbits_bound(codec, c->cap, &size) || c->n != size) {
        return zc_fail(c->err, ZC_ERR_SIZE, "expected %zu bytes, got %zu", size, c->n);
    }
    const int wanted = (int)((8 - bits % 8) % 8);
    const int stated = padding_size(codec) > 0 ? c->src[at_end ? size - 1 : 0] : wanted;
    const uint8_t *const src = c->src + (at_end ? 0 : padding_size(codec));
    if (stated != wanted) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "expected %d bits of padding, got %d", wanted, stated);
    }
    if (field.width == 0) {
        zc_unpack_flags(c->dst, src, c->cap, false);
    } else {
        zc_unpack_bits(c->dst, src, c->cap / field.size, &field);
    }
    *written = c->cap;
    return ZC_OK;
}

const zc_codec_class zc_codec_packbits = {
    .name = "packbits",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .filter = ZC_FILTER_PACKS,
    .numbers = ZC_NUMBERS_REAL,
    .bound = packbits_bound,
    .encode = packbits_encode,
    .decode = packbits_decode,
    .check = packbits_check,
    .defaults = {.decoded = {.kind = ZC_NUMBER_U8}, .encoded = {.kind = ZC_NUMBER_U8}},
};
