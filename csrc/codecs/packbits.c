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

static zc_status packbits_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const bool at_end = codec->bits.padding == ZC_PADDING_LAST;
    const zc_bit_field field = field_of(codec);
    size_t bits = 0, size = 0;
    const zc_status status = packbits_check(codec, err);

    (void)ws;
    if (status != ZC_OK) {
        return status;
    }
    if (!count_bits(codec, n, &bits) || !packbits_bound(codec, n, &size) || size > cap) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the bits of %zu bytes do not fit into %zu bytes", n, cap);
    }
    if (padding_size(codec) > 0) {
        dst[at_end ? size - 1 : 0] = (uint8_t)((8 - bits % 8) % 8);
    }
    dst += at_end ? 0 : padding_size(codec);
    if (as_numcodecs(codec) || field.width == 0) {
        zc_pack_flags(dst, src, n, as_numcodecs(codec));
    } else {
        zc_pack_bits(dst, src, n / field.size, &field);
    }
    *written = size;
    return ZC_OK;
}

/* The padding determines the number of items. */
static zc_status decode_numcodecs(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *written,
                                  zc_error *err)
{
    const volatile uint8_t *const header = src;      /* read once: others may change it */
    const int unused = n > 0 ? *header : -1;
    size_t bits;

    if (unused < 0 || unused > 7 || (n == 1 && unused > 0)) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%zu bytes that state %d unused bits", n, unused);
    }
    if (!zc_mul_size(n - 1, 8, &bits) || bits - (size_t)unused > cap) {
        return zc_fail(err, ZC_ERR_SIZE, "%zu bytes of bits, at most %zu items expected", n - 1, cap);
    }
    *written = bits - (size_t)unused;
    zc_unpack_flags(dst, src + 1, *written, true);
    return ZC_OK;
}

/* Format 3: without padding only the expected size determines the number of items. */
static zc_status packbits_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const bool at_end = codec->bits.padding == ZC_PADDING_LAST;
    const zc_bit_field field = field_of(codec);
    size_t bits = 0, size = 0;
    zc_status status;

    (void)ws;
    if (as_numcodecs(codec)) {
        return decode_numcodecs(src, n, dst, cap, written, err);
    }
    status = packbits_check(codec, err);
    if (status != ZC_OK) {
        return status;
    }
    if (!count_bits(codec, cap, &bits) || !packbits_bound(codec, cap, &size) || n != size) {
        return zc_fail(err, ZC_ERR_SIZE, "expected %zu bytes, got %zu", size, n);
    }
    if (padding_size(codec) > 0 && src[at_end ? n - 1 : 0] != (8 - bits % 8) % 8) {
        return zc_fail(err, ZC_ERR_CORRUPT, "expected %d bits of padding, got %d", (int)((8 - bits % 8) % 8),
                       src[at_end ? n - 1 : 0]);
    }
    src += at_end ? 0 : padding_size(codec);
    if (field.width == 0) {
        zc_unpack_flags(dst, src, cap, false);
    } else {
        zc_unpack_bits(dst, src, cap / field.size, &field);
    }
    *written = cap;
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
