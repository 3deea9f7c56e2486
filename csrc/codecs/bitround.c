/* SPDX-License-Identifier: MIT
 *
 * Numbers rounded to some bits ("bitround"): floats to those of the mantissa, seen as the unsigned integers of their
 * width, integers to those from the highest that is set.  To numcodecs nothing is special about NaN and infinity, and
 * integers are no numbers; the codec of the Zarr extensions keeps NaN, infinity and, of times, NaT.
 */
#include <string.h>

#include "codecs/numbers.h"
#include "kernels/stamped.h"

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
#define STAMP_ROUND(BITS)                                                                        \
    ZC_INLINE uint##BITS##_t rounded_##BITS(uint##BITS##_t x, int drop, uint##BITS##_t special)  \
    {                                                                                            \
        const uint##BITS##_t half = (uint##BITS##_t)((UINT64_C(1) << (drop - 1)) - 1);           \
        const uint##BITS##_t mask = (uint##BITS##_t)(UINT64_MAX << drop);                        \
        const uint##BITS##_t rounded = (uint##BITS##_t)(x + (x >> drop & 1) + half) & mask;      \
        return special != 0 && (x & special) == special ? x : rounded;                           \
    }                                                                                            \
                                                                                                 \
    STAMP_BOTH(STAMP_EACH, round_loop_##BITS, uint##BITS##_t, uint##BITS##_t, rounded_##BITS(x, drop, special), \
               int drop, uint##BITS##_t special)                                                 \
                                                                                                 \
    static void round_##BITS(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        const uint64_t exponent = (UINT64_C(1) << (BITS - 1)) - (UINT64_C(1) << most_bits(codec)); \
        const uint##BITS##_t special = (uint##BITS##_t)(codec->keep_special ? exponent : 0);     \
        RUN(round_loop_##BITS, dst, src, n, most_bits(codec) - codec->level, special);           \
    }

STAMP_ROUND(16)
STAMP_ROUND(32)
STAMP_ROUND(64)

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

#define STAMP_INTEGER(NAME, TYPE)                                                                \
    static void round_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        const uint64_t highest = UINT64_MAX >> (64 - 8 * sizeof(TYPE) + ((TYPE)-1 < 1 ? 1 : 0)); \
        const TYPE zero = 0;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE x;                                                                              \
            memcpy(&x, (const char *)src + i * sizeof x, sizeof x);                              \
            const bool negative = x < zero;                                                      \
            const uint64_t size = negative ? 0 - (uint64_t)x : (uint64_t)x, most = highest + negative; \
            const bool is_nat = codec->keep_special && negative && size == most;                 \
            const uint64_t rounded = is_nat ? size : round_size(size, codec->level, most);       \
            x = (TYPE)(negative ? 0 - rounded : rounded);                                        \
            memcpy((char *)dst + i * sizeof x, &x, sizeof x);                                    \
        }                                                                                        \
    }

STAMP_INTEGERS(STAMP_INTEGER)

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

static zc_status bitround_encode(const zc_coding *c, size_t *written)
{
    const zc_number number = c->codec->decoded;
    const bool rounds = c->codec->level < most_bits(c->codec);
    const zc_number_map map = {number, number.kind, rounds ? loops[number.kind] : NULL, number.kind, number};

    return zc_numbers_run(c, &map, written);
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
