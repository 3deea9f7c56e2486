/* SPDX-License-Identifier: MIT
 *
 * Numbers rounded to some bits ("bitround"): floats to those of the mantissa, seen as the unsigned integers of their
 * width, integers to those from the highest that is set.  To numcodecs nothing is special about NaN and infinity, and
 * integers are no numbers; the codec of the Zarr extensions keeps NaN, infinity and, of times, NaT.
 */
#include <string.h>

#include "codecs/numbers.h"
#include "kernels/byte_order.h"

/* Most bits that may be kept; -1 for types that are not rounded. */
static int most_bits(const zc_codec *codec)
{
    const zc_real_type *const type = zc_real_type_of(codec->decoded.kind);

    if (type->is_float) {
        return type->bits >= 16 ? type->mantissa : -1;
    }
    return codec->decoded.kind < ZC_NUMBER_KINDS ? 64 : -1;
}

/* ---- floats ----------------------------------------------------------------------------------- */

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
        const uint64_t exponent = (UINT64_C(1) << (BITS - 1)) - (UINT64_C(1) << most_bits(codec)); \
        ROUND(BITS, dst, src, n, most_bits(codec) - codec->level, codec->keep_special ? exponent : 0); \
    }

STAMP_MAP(16)
STAMP_MAP(32)
STAMP_MAP(64)

/* ---- integers --------------------------------------------------------------------------------- */

static int bit_length(uint64_t x)
{
    int n = 0;

    for (int step = 32; step > 0; step /= 2) {
        if (x >> step != 0) {
            x >>= step;
            n += step;
        }
    }
    return n + (x != 0);
}

/* A size rounded to `kept` bits; to fewer where the larger neighbour is more than `most`. */
static uint64_t round_size(uint64_t size, int kept, uint64_t most)
{
    const int drop = bit_length(size) - kept;

    if (drop <= 0) {
        return size;
    }
    if (drop == 64) {
        return 0;            /* kept is 0, and the neighbour 2 ** 64 */
    }
    const uint64_t down = size >> drop << drop, rest = size - down, half = UINT64_C(1) << (drop - 1);
    const bool up = rest > half || (rest == half && (size >> drop & 1));
    const uint64_t step = UINT64_C(1) << drop;

    return up && most >= step && down <= most - step ? down + step : down;
}

#define STAMP_INTEGERS(NAME, TYPE, LOWEST, HIGHEST)                                              \
    static void round_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        const TYPE zero = 0;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, (const char *)src + i * sizeof x, sizeof x);                              \
            const bool negative = x < zero, keep = codec->keep_special && negative && x == LOWEST; \
            const uint64_t size = negative ? 0 - (uint64_t)x : (uint64_t)x;                      \
            const uint64_t most = (uint64_t)HIGHEST + (negative ? 1 : 0);                        \
            const uint64_t rounded = keep ? size : round_size(size, codec->level, most);         \
            x = (TYPE)(negative ? 0 - rounded : rounded);                                        \
            memcpy((char *)dst + i * sizeof x, &x, sizeof x);                                    \
        }                                                                                        \
    }

STAMP_INTEGERS(i8, int8_t, INT8_MIN, INT8_MAX)
STAMP_INTEGERS(i16, int16_t, INT16_MIN, INT16_MAX)
STAMP_INTEGERS(i32, int32_t, INT32_MIN, INT32_MAX)
STAMP_INTEGERS(i64, int64_t, INT64_MIN, INT64_MAX)
STAMP_INTEGERS(u8, uint8_t, 0, UINT8_MAX)
STAMP_INTEGERS(u16, uint16_t, 0, UINT16_MAX)
STAMP_INTEGERS(u32, uint32_t, 0, UINT32_MAX)
STAMP_INTEGERS(u64, uint64_t, 0, UINT64_MAX)

/* ---- the codec -------------------------------------------------------------------------------- */

typedef void (*round_fn)(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

/* As zc_number_kind counts, up to the last type that is rounded. */
static const round_fn loops[] = {round_i8,  round_i16, round_i32, round_i64, round_u8, round_u16,
                                 round_u32, round_u64, round_32,  round_64,  round_16, round_16};

static zc_status bitround_check(const zc_codec *codec, zc_error *err)
{
    const int most = most_bits(codec);

    if (most < 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "dtype: expected integers or floats of 8 to 64 bits");
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
    if (codec->level < most_bits(codec)) {
        map.map = loops[codec->decoded.kind];
    }
    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

const zc_codec_class zc_codec_bitround = {
    .name = "bitround",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .numbers = ZC_NUMBERS_REAL,
    .bound = zc_bound_same,
    .encode = bitround_encode,
    .decode = zc_codec_copy,         /* what was rounded away is lost: the stored numbers are the numbers */
    .check = bitround_check,
    .defaults = {.decoded = {.kind = ZC_NUMBER_F32}, .encoded = {.kind = ZC_NUMBER_F32}, .level = 23},
};
