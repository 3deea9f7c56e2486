/* SPDX-License-Identifier: MIT
 *
 * Floats rounded to some bits of their mantissa ("bitround").  They are seen as the unsigned integers of their width.
 * To numcodecs nothing is special about NaN and infinity; the codec of the Zarr extensions keeps them.
 */
#include <string.h>

#include "codecs/numbers.h"
#include "kernels/long_copy.h"
#include "kernels/words.h"

/* The bits of the mantissa, or -1 for a type that is no float's word. */
static int mantissa_bits(const zc_codec *codec)
{
    switch (codec->decoded.kind) {
    case ZC_NUMBER_U16: return 10;
    case ZC_NUMBER_U32: return 23;
    case ZC_NUMBER_U64: return 52;
    default: return -1;
    }
}

/* Ties go to the even neighbour; the carry may go into the exponent.  Words with all bits of `special` set stay. */
#define STAMP_LOOP(NAME, BITS, TARGET)                                                           \
    TARGET static void NAME##_##BITS(char *restrict dst, const char *restrict src, size_t n, int drop, \
                                     uint64_t special)                                           \
    {                                                                                            \
        const uint##BITS##_t half = (uint##BITS##_t)((UINT64_C(1) << (drop - 1)) - 1);           \
        const uint##BITS##_t mask = (uint##BITS##_t)(UINT64_MAX << drop);                        \
        const uint##BITS##_t kept = (uint##BITS##_t)special;                                     \
        for (size_t i = 0; i < n; i++) {                                                         \
            uint##BITS##_t x;                                                                    \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const uint##BITS##_t rounded = (uint##BITS##_t)(x + (x >> drop & 1) + half) & mask;  \
            x = kept != 0 && (x & kept) == kept ? x : rounded;                                   \
            memcpy(dst + i * sizeof x, &x, sizeof x);                                            \
        }                                                                                        \
    }

#ifdef ZC_HAVE_AVX
#define STAMP_WIDE(BITS) STAMP_LOOP(round_avx2, BITS, ZC_AVX2)
#define ROUND(BITS, ...)                                                                         \
    (zc_cpu_features() & ZC_CPU_AVX2 ? round_avx2_##BITS(__VA_ARGS__) : round_any_##BITS(__VA_ARGS__))
#else
#define STAMP_WIDE(BITS)
#define ROUND(BITS, ...) round_any_##BITS(__VA_ARGS__)
#endif

#define STAMP_MAP(BITS)                                                                          \
    STAMP_LOOP(round_any, BITS, )                                                                \
    STAMP_WIDE(BITS)                                                                             \
    static void round_##BITS(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        const uint64_t exponent = (UINT64_C(1) << (BITS - 1)) - (UINT64_C(1) << mantissa_bits(codec)); \
        ROUND(BITS, dst, src, n, mantissa_bits(codec) - codec->level, codec->keep_special ? exponent : 0); \
    }

STAMP_MAP(16)
STAMP_MAP(32)
STAMP_MAP(64)

static zc_status bitround_check(const zc_codec *codec, zc_error *err)
{
    const int most = mantissa_bits(codec);

    if (most < 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "dtype: expected the word of a float of 2, 4 or 8 bytes");
    }
    if (codec->level < 0 || codec->level > most) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "keepbits: expected 0 to %d, got %d", most, codec->level);
    }
    return ZC_OK;
}

static zc_status bitround_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_status status = bitround_check(codec, err);
    zc_number_map map = {codec->decoded, codec->decoded.kind, NULL, codec->decoded.kind, codec->decoded};

    if (status != ZC_OK) {
        return status;
    }
    if (codec->level < mantissa_bits(codec)) {
        map.map = codec->decoded.kind == ZC_NUMBER_U16   ? round_16
                  : codec->decoded.kind == ZC_NUMBER_U32 ? round_32
                                                         : round_64;
    }
    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

/* What was rounded away is lost: the stored floats are the floats. */
static zc_status bitround_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    (void)codec;
    (void)ws;
    if (n > cap) {
        return zc_fail(err, ZC_ERR_SIZE, "decodes to %zu bytes, at most %zu expected", n, cap);
    }
    zc_long_copy(dst, src, n);
    *written = n;
    return ZC_OK;
}

static bool bitround_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    *out = n;
    return true;
}

const zc_codec_class zc_codec_bitround = {
    .name = "bitround",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .bound = bitround_bound,
    .encode = bitround_encode,
    .decode = bitround_decode,
    .check = bitround_check,
    .defaults = {.decoded = {.kind = ZC_NUMBER_U32}, .encoded = {.kind = ZC_NUMBER_U32}, .level = 23},
};
