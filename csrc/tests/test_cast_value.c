/* SPDX-License-Identifier: MIT
 *
 * cast_value: the loops over tiles against kernels/exact_number.c number by number, and what must be refused.
 */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "codec_cases.h"
#include "kernels/float16.h"
#include "kernels/exact_number.h"
#include "tests/every_cpu.h"

enum { N = 1500 };

static uint64_t state = 88172645463325252u;

static uint64_t any_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static zc_codec caster(zc_number_kind decoded, zc_number_kind encoded, bool swapped)
{
    zc_codec codec;

    CHECK(zc_codec_init(&codec, "cast_value"));
    codec.decoded = (zc_number){decoded, swapped && zc_number_size(decoded) > 1};
    codec.encoded = (zc_number){encoded, swapped && zc_number_size(encoded) > 1};
    return codec;
}

static uint64_t to_order(uint64_t bits, const zc_number *number)
{
    uint64_t out = 0;

    if (!number->swapped) {
        return bits;
    }
    for (size_t i = 0; i < zc_number_size(number->kind); i++) {
        out = out << 8 | (bits >> 8 * i & 0xff);
    }
    return out;
}

/* What the rules make of one number; false if they refuse it. */
static bool expected(const zc_codec *codec, uint64_t bits, uint64_t *out)
{
    const zc_real_type *const from = zc_real_type_of(codec->decoded.kind), *const to = zc_real_type_of(codec->encoded.kind);
    const zc_real real = zc_real_load(from, bits);

    *out = bits;
    const zc_real_fit fit = from == to ? ZC_REAL_FITS : zc_real_store(to, &real, codec->cast.rounding, out);
    if (fit == ZC_REAL_OUT_OF_RANGE && codec->cast.out_of_range == ZC_RANGE_CLAMP) {
        *out = zc_real_limit(to, &real);
        return true;
    }
    return fit == ZC_REAL_FITS || (fit == ZC_REAL_OUT_OF_RANGE && codec->cast.out_of_range == ZC_RANGE_WRAP);
}

/* A number that the rules take: of those that are usual, or of all. */
static uint64_t some_number(const zc_codec *codec, bool usual)
{
    const zc_real_type *const from = zc_real_type_of(codec->decoded.kind);
    uint64_t made, bits;
    int tries = 0;

    do {
        bits = any_bits();
        usual |= tries++ > 20;       /* few integers of 64 bits fit into 2 */
        if (usual && from->is_float && from->bits > 8) {
            const zc_real small = {ZC_REAL_FINITE, bits >> 63, bits >> 40, -20};
            zc_real_store(from, &small, ZC_ROUND_TOWARDS_ZERO, &bits);
        } else if (usual) {
            bits &= 1;
        }
        bits &= UINT64_MAX >> (64 - from->bits);
    } while (!expected(codec, bits, &made));
    return bits;
}

static void check_numbers(const zc_codec *codec, bool usual, size_t n)
{
    const size_t in = zc_number_size(codec->decoded.kind), out = zc_number_size(codec->encoded.kind);
    uint8_t *src = case_exact(NULL, n * in), *dst;
    zc_workspace *ws = zc_workspace_new();
    zc_error err;
    size_t size = 0;

    zc_error_clear(&err);
    for (size_t i = 0; i < n; i++) {
        zc_real_put(src + i * in, codec->decoded.kind, to_order(some_number(codec, usual), &codec->decoded));
    }
    dst = case_encode(codec, ws, src, n * in, &size, &err);
    CHECK(dst != NULL && size == n * out);
    for (size_t i = 0; i < n && dst != NULL; i++) {
        const uint64_t word = to_order(zc_real_fetch(src + i * in, codec->decoded.kind), &codec->decoded);
        uint64_t right = 0;
        CHECK(expected(codec, word, &right));
        CHECK(to_order(zc_real_fetch(dst + i * out, codec->encoded.kind), &codec->encoded) == right);
    }
    free(src);
    free(dst);
    zc_workspace_free(ws);
}

/* Is there no number that the rules take? */
static bool hopeless(zc_number_kind from, zc_number_kind to)
{
    return from == ZC_NUMBER_F8_E8M0FNU && !zc_real_type_of(to)->is_float;
}

static void check_pair(zc_number_kind from, zc_number_kind to)
{
    for (int rule = 0; rule < ZC_ROUNDINGS * 3; rule++) {
        zc_codec codec = caster(from, to, rule & 1);
        codec.cast.rounding = (zc_rounding)(rule / 3);
        codec.cast.out_of_range = (zc_out_of_range)(rule % 3);
        if (codec.cast.out_of_range == ZC_RANGE_WRAP && zc_real_type_of(to)->is_float) {
            continue;
        }
        check_numbers(&codec, true, rule == 0 ? N : 70);
        check_numbers(&codec, false, 70);
    }
}

static void tiles_are_as_single_numbers(void)
{
    for (int from = 0; from < ZC_REAL_KINDS; from++) {
        for (int to = 0; to < ZC_REAL_KINDS; to++) {
            if (!hopeless((zc_number_kind)from, (zc_number_kind)to)) {
                check_pair((zc_number_kind)from, (zc_number_kind)to);
            }
        }
    }
}

/* The state of the floating-point unit changes nothing. */
static void in_other_states(void)
{
    static const int states[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        CHECK(fesetround(states[i]) == 0);
        check_pair(ZC_NUMBER_F64, ZC_NUMBER_F32);
        check_pair(ZC_NUMBER_F32, ZC_NUMBER_F16);
        check_pair(ZC_NUMBER_F64, ZC_NUMBER_I16);
        check_pair(ZC_NUMBER_I64, ZC_NUMBER_F64);
        CHECK(fesetround(FE_TONEAREST) == 0);
    }
}

/* ---- numbers next to those of small types --------------------------------------------------------- */

enum { BESIDE = 8 };

/* Words of a wide type at, next to and between two numbers that follow each other in a small one. */
static void words_beside(zc_number_kind small, zc_number_kind wide, uint64_t code, uint64_t words[BESIDE])
{
    uint64_t two[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        const zc_real real = zc_real_load(zc_real_type_of(small), code + (uint64_t)i);
        zc_real_store(zc_real_type_of(wide), &real, ZC_ROUND_NEAREST_EVEN, &two[i]);
    }
    const uint64_t middle = two[0] / 2 + two[1] / 2;
    const uint64_t made[BESIDE] = {two[0], two[0] + 1, two[0] - (two[0] > 0), middle - (middle > 0),
                                   middle, middle + 1, two[0] / 2 + middle / 2, two[1] / 2 + middle / 2};
    for (int i = 0; i < BESIDE; i++) {
        words[i] = made[i] & UINT64_MAX >> (64 - zc_real_type_of(wide)->bits);
    }
}

/* As number by number: the same codes, or a refusal where one of them has no place. */
static void check_beside(const zc_codec *codec, zc_workspace *ws, const uint64_t *words, size_t n)
{
    const size_t in = zc_number_size(codec->decoded.kind), out = zc_number_size(codec->encoded.kind);
    uint8_t src[8 * BESIDE], dst[8 * BESIDE];
    uint64_t right[BESIDE];
    bool fits = true;
    zc_error err;
    size_t size = 0;

    zc_error_clear(&err);
    for (size_t i = 0; i < n; i++) {
        fits &= expected(codec, words[i], &right[i]);
        zc_real_put(src + i * in, codec->decoded.kind, words[i]);
    }
    const zc_status status = zc_codec_encode(codec, ws, src, n * in, dst, n * out, &size, &err);
    CHECK(status == (fits ? ZC_OK : ZC_ERR_ENCODE));
    for (size_t i = 0; i < n && fits; i++) {
        CHECK(zc_real_fetch(dst + i * out, codec->encoded.kind) == right[i]);
    }
}

/* Of so many numbers one is tried: valgrind is slow, and looks at memory, which is the same for all. */
static uint64_t one_of(void)
{
    return check_emulated() ? 13 : 1;
}

static void check_all_beside(zc_number_kind from, zc_number_kind to, zc_rounding rounding, zc_out_of_range out_of_range)
{
    const zc_real_type *const type = zc_real_type_of(to);
    const uint64_t sign = UINT64_C(1) << (zc_real_type_of(from)->bits - 1);
    const uint64_t step = one_of() * (type->bits > 16 ? 67108859 : type->bits > 8 ? 251 : 1);
    zc_codec codec = caster(from, to, false);
    zc_workspace *ws = zc_workspace_new();
    uint64_t words[BESIDE];

    codec.cast.rounding = rounding;
    codec.cast.out_of_range = out_of_range;
    for (uint64_t code = 0; code >> (type->bits - (type->is_float ? 1 : 0)) == 0; code += step) {
        words_beside(to, from, code, words);
        check_beside(&codec, ws, words, BESIDE);
        for (int i = 0; i < BESIDE; i++) {
            words[i] |= sign;
            check_beside(&codec, ws, words + i, 1);
        }
    }
    zc_workspace_free(ws);
}

static void numbers_beside_those_of_small_types(void)
{
    static const zc_number_kind kinds[] = {
        ZC_NUMBER_F16,           ZC_NUMBER_BF16,        ZC_NUMBER_F32,           ZC_NUMBER_F8_E3M4,
        ZC_NUMBER_F8_E4M3,       ZC_NUMBER_F8_E4M3FN,   ZC_NUMBER_F8_E4M3FNUZ,   ZC_NUMBER_F8_E4M3B11FNUZ,
        ZC_NUMBER_F8_E5M2,       ZC_NUMBER_F8_E5M2FNUZ, ZC_NUMBER_F8_E8M0FNU,    ZC_NUMBER_F6_E2M3FN,
        ZC_NUMBER_F6_E3M2FN,     ZC_NUMBER_F4_E2M1FN,
    };

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int rounding = 0; rounding < ZC_ROUNDINGS; rounding++) {
            for (int range = ZC_RANGE_ERROR; range <= ZC_RANGE_CLAMP; range++) {
                check_all_beside(ZC_NUMBER_F32, kinds[k], (zc_rounding)rounding, (zc_out_of_range)range);
                check_all_beside(ZC_NUMBER_F64, kinds[k], (zc_rounding)rounding, (zc_out_of_range)range);
            }
        }
    }
}

static void numbers_beside_integers(void)
{
    static const zc_number_kind kinds[] = {ZC_NUMBER_I2,  ZC_NUMBER_I4,  ZC_NUMBER_U2,  ZC_NUMBER_U4,  ZC_NUMBER_I8,
                                           ZC_NUMBER_U8,  ZC_NUMBER_I16, ZC_NUMBER_U16, ZC_NUMBER_I32, ZC_NUMBER_U32};
    static const zc_number_kind sources[] = {ZC_NUMBER_F16, ZC_NUMBER_F32, ZC_NUMBER_F64, ZC_NUMBER_I16,
                                             ZC_NUMBER_U16, ZC_NUMBER_I32, ZC_NUMBER_U32, ZC_NUMBER_I64,
                                             ZC_NUMBER_U64};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
            for (int range = ZC_RANGE_ERROR; range <= ZC_RANGE_WRAP; range++) {
                for (int rounding = 0; rounding < ZC_ROUNDINGS; rounding++) {
                    check_all_beside(sources[s], kinds[k], (zc_rounding)rounding, (zc_out_of_range)range);
                }
            }
        }
    }
}

/* ---- integers that floats have no room for, and the other way round ---------------------------- */

/* Each word and its opposite, by all rules. */
static void check_words(zc_number_kind from, zc_number_kind to, const uint64_t *words, size_t n)
{
    const zc_real_type *const type = zc_real_type_of(from);
    zc_codec codec = caster(from, to, false);
    zc_workspace *ws = zc_workspace_new();

    for (int rule = 0; rule < ZC_ROUNDINGS * 3; rule++) {
        codec.cast.rounding = (zc_rounding)(rule / 3);
        codec.cast.out_of_range = (zc_out_of_range)(rule % 3);
        if (codec.cast.out_of_range == ZC_RANGE_WRAP && zc_real_type_of(to)->is_float) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            const uint64_t negative = type->is_float ? words[i] | UINT64_C(1) << (type->bits - 1) : 0 - words[i];
            const uint64_t both[2] = {words[i], negative & UINT64_MAX >> (64 - type->bits)};
            check_beside(&codec, ws, both, 1);
            check_beside(&codec, ws, both + 1, 1);
        }
        check_beside(&codec, ws, words, n);
    }
    zc_workspace_free(ws);
}

/* Integers of any size at, next to and between floats. */
static void integers_between_floats(void)
{
    static const zc_number_kind kinds[] = {ZC_NUMBER_F32, ZC_NUMBER_F64, ZC_NUMBER_F16, ZC_NUMBER_BF16,
                                           ZC_NUMBER_F8_E8M0FNU, ZC_NUMBER_F8_E5M2};
    static const zc_number_kind sources[] = {ZC_NUMBER_I32, ZC_NUMBER_U32, ZC_NUMBER_I64, ZC_NUMBER_U64};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const int mantissa = zc_real_type_of(kinds[k])->mantissa;
        for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
            const int bits = zc_real_type_of(sources[s])->bits;
            for (int top = 0; top < bits; top++) {
                const uint64_t one = UINT64_C(1) << top, half = one >> mantissa >> 1, all = 2 * one - 1;
                const uint64_t bit = half > 0;
                const uint64_t words[BESIDE] = {one, one | half, one + half - bit, one | half | 1,
                                                all, all - half, all - half + bit, one | (3 * half & all)};
                check_words(sources[s], kinds[k], words, BESIDE);
            }
        }
    }
}

/* Floats of any size as integers: their low bits, or the last integer. */
static void floats_beyond_integers(void)
{
    static const zc_number_kind kinds[] = {ZC_NUMBER_I64, ZC_NUMBER_U64, ZC_NUMBER_I32, ZC_NUMBER_U32,
                                           ZC_NUMBER_I16, ZC_NUMBER_U8,  ZC_NUMBER_I4,  ZC_NUMBER_U2};
    static const zc_number_kind sources[] = {ZC_NUMBER_F64, ZC_NUMBER_F32, ZC_NUMBER_F16, ZC_NUMBER_BF16};

    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        const zc_real_type *const type = zc_real_type_of(sources[s]);
        for (uint64_t field = 0; field << type->mantissa <= type->infinity; field += one_of()) {
            const uint64_t power = field << type->mantissa, all = (UINT64_C(1) << type->mantissa) - 1;
            const uint64_t half = all >> 1, any = any_bits() & all;
            const uint64_t words[BESIDE] = {power,       power | 1,          power | all, power | half,
                                            power | any, power | (half + 1), power | (any >> 1), power};
            const int exponent = (int)field - type->bias;
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds && exponent > -3 && exponent < 130; k++) {
                check_words(sources[s], kinds[k], words, field << type->mantissa < type->infinity ? BESIDE : 1);
            }
        }
    }
}

/* Every half is itself again, and every float becomes the half that exact arithmetic says. */
static void halves_come_back(void)
{
    for (int bf16 = 0; bf16 < 2; bf16++) {
        const zc_number_kind kind = bf16 ? ZC_NUMBER_BF16 : ZC_NUMBER_F16;
        const zc_real_type *const type = zc_real_type_of(kind);
        for (uint32_t code = 0; code < 65536; code += (uint32_t)one_of()) {
            const uint16_t half = (uint16_t)code;
            uint16_t back;
            float wide;
            zc_halves_to_floats(&wide, &half, kind, 1);
            zc_floats_to_halves(&back, kind, &wide, 1);
            const zc_real real = zc_real_load(type, code);
            CHECK(real.cls == ZC_REAL_NAN ? isnan(wide) : (double)wide == zc_real_to_double(&real));
            CHECK(real.cls == ZC_REAL_NAN ? (back | type->nan) == back : back == half);
        }
    }
}

static zc_status attempt(const zc_codec *codec, bool decode, const void *src, size_t n, void *dst, size_t cap, zc_error *err)
{
    zc_workspace *ws = zc_workspace_new();
    size_t written;

    zc_error_clear(err);
    const zc_status status = decode ? zc_codec_decode(codec, ws, src, n, dst, cap, &written, err)
                                    : zc_codec_encode(codec, ws, src, n, dst, cap, &written, err);
    zc_workspace_free(ws);
    return status;
}

static void exchanged_numbers(void)
{
    const zc_number_pair encode[] = {{UINT64_C(0x7ff8000000000000), 200}, {0, 7}, {UINT64_C(0x8000000000000000), 8}};
    const zc_number_pair decode[] = {{200, UINT64_C(0x7ff8000000000001)}};
    double numbers[N], back[N];
    uint8_t made[N];
    zc_error err;
    zc_codec codec = caster(ZC_NUMBER_F64, ZC_NUMBER_U8, false);

    codec.cast.encode = (zc_number_pairs){encode, 3};
    codec.cast.decode = (zc_number_pairs){decode, 1};
    for (int i = 0; i < N; i++) {
        numbers[i] = i % 3 == 0 ? NAN : i % 5 == 0 ? -0.0 : i % 100 + 1;
    }
    CHECK(attempt(&codec, false, numbers, sizeof numbers, made, sizeof made, &err) == ZC_OK);
    CHECK(attempt(&codec, true, made, sizeof made, back, sizeof back, &err) == ZC_OK);
    for (int i = 0; i < N; i++) {
        CHECK(made[i] == (i % 3 == 0 ? 200 : i % 5 == 0 ? 7 : i % 100 + 1));
        CHECK(isnan(back[i]) == (i % 3 == 0));
    }
    numbers[N - 1] = 1e300;
    CHECK(attempt(&codec, false, numbers, sizeof numbers, made, sizeof made, &err) == ZC_ERR_ENCODE);
    CHECK(strstr(err.message, "1e+300") != NULL && strstr(err.message, "uint8") != NULL);
}

static void refusals(void)
{
    const float numbers[3] = {1.5f, 70000.1f, -INFINITY};
    uint8_t dst[64];
    zc_error err;
    zc_codec codec = caster(ZC_NUMBER_F32, ZC_NUMBER_F16, false);

    CHECK(attempt(&codec, false, numbers, 4, dst, 2, &err) == ZC_OK);
    CHECK(attempt(&codec, false, numbers, 8, dst, 4, &err) == ZC_ERR_ENCODE);
    CHECK(strcmp(err.message, "the item 70000.1 does not fit into float16") == 0);
    CHECK(attempt(&codec, false, numbers, 7, dst, sizeof dst, &err) == ZC_ERR_SIZE);
    CHECK(attempt(&codec, false, numbers, 8, dst, 3, &err) == ZC_ERR_SIZE);
    CHECK(attempt(&codec, true, numbers, 3, dst, sizeof dst, &err) == ZC_ERR_SIZE);
    CHECK(attempt(&codec, true, numbers, 12, dst, 23, &err) == ZC_ERR_SIZE);
    CHECK(attempt(&codec, true, numbers, 0, dst, 0, &err) == ZC_OK);
    codec = caster(ZC_NUMBER_I8, ZC_NUMBER_F32, false);
    CHECK(attempt(&codec, true, numbers, 12, dst, sizeof dst, &err) == ZC_ERR_CORRUPT);
    codec = caster(ZC_NUMBER_F32, ZC_NUMBER_I4, false);
    CHECK(attempt(&codec, false, numbers + 2, 4, dst, sizeof dst, &err) == ZC_ERR_ENCODE);
    CHECK(strcmp(err.message, "the item -inf has no value in int4") == 0);
    codec = caster(ZC_NUMBER_I8, ZC_NUMBER_F32, false);
    codec.cast.out_of_range = ZC_RANGE_WRAP;
    CHECK(zc_codec_check(&codec, &err) == ZC_ERR_ARGUMENT);
}

int main(void)
{
    RUN_ON_EVERY_CPU(tiles_are_as_single_numbers);
    RUN_ON_EVERY_CPU(numbers_beside_those_of_small_types);
    RUN_ON_EVERY_CPU(numbers_beside_integers);
    if (!check_emulated()) {
        RUN_ON_EVERY_CPU(integers_between_floats);
    }
    RUN_ON_EVERY_CPU(floats_beyond_integers);
    RUN_ON_EVERY_CPU(in_other_states);
    RUN_ON_EVERY_CPU(halves_come_back);
    RUN_ON_EVERY_CPU(exchanged_numbers);
    RUN(refusals);
    return check_report("cast_value");
}
