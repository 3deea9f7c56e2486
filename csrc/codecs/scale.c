/* SPDX-License-Identifier: MIT
 *
 * Numbers rounded to multiples of a step (numcodecs "fixedscaleoffset" and "quantize").
 *
 * All arithmetic is that of the floating-point type which numpy would compute in, one operation after the other, so
 * that the same bits come out.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "codecs/scale_integers.h"
#include "codecs/scale_numpy.h"
#include "kernels/stamped.h"

/*
 * To the nearest integer, ties to even, as rint() does: beyond 2 ** 52 (23) every float is an integer, and adding
 * that number pushes the fraction out.  For machines without an instruction for it, where rint is a call.
 */
#define STAMP_ROUND(NAME, TYPE, FABS, COPYSIGN, LARGE)                                           \
    ZC_INLINE TYPE NAME(TYPE x)                                                                  \
    {                                                                                            \
        const TYPE size = FABS(x);                                                               \
        const TYPE rounded = COPYSIGN((size + LARGE) - LARGE, x);                                \
        return size < LARGE ? rounded : x;                                                       \
    }

#if defined(ZC_X86) && FLT_EVAL_METHOD == 0
STAMP_ROUND(round_f32_any, float, fabsf, copysignf, 0x1p23f)
STAMP_ROUND(round_f64_any, double, fabs, copysign, 0x1p52)
#else
#define round_f32_any rintf
#define round_f64_any rint
#endif
#define round_f32_avx2 rintf
#define round_f64_avx2 rint

/* Division by a power of two is multiplication by another one: the same bits, many times as fast. */
static bool divides_exactly(double scale, double *reciprocal)
{
    int exponent;

    *reciprocal = 1 / scale;
    return frexp(fabs(scale), &exponent) == 0.5 && exponent > -100 && exponent < 100;
}

/* AVX2 without FMA, which rounds once. */
#define STAMP_LOOPS(SET, TARGET, NAME, TYPE)                                                     \
    STAMP_EACH(SET, TARGET, scale_loop_##NAME, TYPE, TYPE, round_##NAME##_##SET((x - offset) * scale), TYPE offset, \
               TYPE scale)                                                                       \
    STAMP_EACH(SET, TARGET, unscale_loop_##NAME, TYPE, TYPE, x / scale + offset, TYPE offset, TYPE scale) \
    STAMP_EACH(SET, TARGET, quantize_loop_##NAME, TYPE, TYPE, round_##NAME##_##SET(x * scale) / scale, TYPE scale) \
    STAMP_EACH(SET, TARGET, quantize_times_loop_##NAME, TYPE, TYPE, round_##NAME##_##SET(x * scale) * reciprocal, \
               TYPE scale, TYPE reciprocal)

#define STAMP_MAPS(NAME, TYPE)                                                                   \
    STAMP_BOTH(STAMP_LOOPS, NAME, TYPE)                                                          \
                                                                                                 \
    static void scale_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        RUN(scale_loop_##NAME, dst, src, n, (TYPE)codec->offset, (TYPE)codec->scale);            \
    }                                                                                            \
                                                                                                 \
    static void unscale_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        RUN(unscale_loop_##NAME, dst, src, n, (TYPE)codec->offset, (TYPE)codec->scale);          \
    }                                                                                            \
                                                                                                 \
    static void quantize_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        double reciprocal;                                                                       \
        if (divides_exactly(codec->scale, &reciprocal)) {                                        \
            RUN(quantize_times_loop_##NAME, dst, src, n, (TYPE)codec->scale, (TYPE)reciprocal);  \
        } else {                                                                                 \
            RUN(quantize_loop_##NAME, dst, src, n, (TYPE)codec->scale);                          \
        }                                                                                        \
    }

STAMP_MAPS(f32, float)
STAMP_MAPS(f64, double)

/* ---- fixedscaleoffset ------------------------------------------------------------------------- */

static bool is_flag_or_integer(zc_number number)
{
    return zc_number_is_integer(number) || number.kind == ZC_NUMBER_BOOL;
}

/* An integer is subtracted among integers, then numpy goes on in doubles. */
static void scale_differences(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    const zc_number_kind kind = zc_whole_kind(codec);
    uint64_t words[ZC_TILE];
    double numbers[ZC_TILE];

    for (size_t at = 0; at < n; at += ZC_TILE) {
        const size_t part = n - at < ZC_TILE ? n - at : ZC_TILE;
        zc_subtract_whole(codec, words, (const char *)src + at * zc_number_size(kind), part);
        zc_cast(numbers, ZC_NUMBER_F64, words, kind, part);
        RUN(scale_loop_f64, (char *)dst + at * sizeof(double), numbers, part, 0, codec->scale);
    }
}

/* Integers and Booleans: in integers as long as the constants are some, in doubles from the first that is none on. */
static zc_number_map scale_integers_map(const zc_codec *codec)
{
    const zc_number_kind kind = zc_whole_kind(codec);
    zc_number_map map = {codec->decoded, ZC_NUMBER_F64, scale_f64, ZC_NUMBER_F64, codec->encoded};

    if (codec->whole.has_offset && codec->whole.has_scale) {
        return (zc_number_map){codec->decoded, kind, zc_scale_whole, kind, codec->encoded};
    }
    if (codec->whole.has_offset && codec->whole.offset != 0) {
        return (zc_number_map){codec->decoded, kind, scale_differences, ZC_NUMBER_F64, codec->encoded};
    }
    zc_scale_to_integers(codec, &map);
    return map;
}

static zc_number_map scale_map(const zc_codec *codec)
{
    const zc_number in = codec->decoded, out = codec->encoded;
    zc_number_map map = {in, in.kind, in.kind == ZC_NUMBER_F32 ? scale_f32 : scale_f64, in.kind, out};

    switch (in.kind) {
    case ZC_NUMBER_F16: return (zc_number_map){in, ZC_NUMBER_F32, zc_scale_halves, ZC_NUMBER_F32, out};
    case ZC_NUMBER_C64: return (zc_number_map){in, in.kind, zc_scale_c64, in.kind, out};
    case ZC_NUMBER_C128: return (zc_number_map){in, in.kind, zc_scale_c128, in.kind, out};
    default: break;
    }
    if (is_flag_or_integer(in)) {
        return scale_integers_map(codec);
    }
    zc_scale_to_integers(codec, &map);
    return map;
}

/* Integers and Booleans are divided as doubles. */
static zc_number_map unscale_map(const zc_codec *codec)
{
    const zc_number in = codec->encoded, out = codec->decoded;
    zc_number_map map = {in, ZC_NUMBER_F64, unscale_f64, ZC_NUMBER_F64, out};

    switch (in.kind) {
    case ZC_NUMBER_F16: return (zc_number_map){in, ZC_NUMBER_F32, zc_unscale_halves, ZC_NUMBER_F32, out};
    case ZC_NUMBER_F32: return (zc_number_map){in, in.kind, unscale_f32, in.kind, out};
    case ZC_NUMBER_C64: return (zc_number_map){in, in.kind, zc_unscale_c64, in.kind, out};
    case ZC_NUMBER_C128: return (zc_number_map){in, in.kind, zc_unscale_c128, in.kind, out};
    default: break;
    }
    zc_scale_from_integers(codec, &map);
    return map;
}

static zc_status scale_encode(const zc_coding *c, size_t *written)
{
    const bool is_whole = c->codec->whole.has_offset && is_flag_or_integer(c->codec->decoded);
    const zc_status status = is_whole ? zc_whole_check(c->codec, c->err) : ZC_OK;
    const zc_number_map map = scale_map(c->codec);

    return status == ZC_OK ? zc_numbers_run(c, &map, written) : status;
}

static zc_status scale_decode(const zc_coding *c, size_t *written)
{
    const zc_number_map map = unscale_map(c->codec);

    return zc_numbers_run(c, &map, written);
}

#define FLOAT64 {.kind = ZC_NUMBER_F64}

const zc_codec_class zc_codec_fixedscaleoffset = {
    .name = "fixedscaleoffset",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .bound = zc_numbers_bound,
    .encode = scale_encode,
    .decode = scale_decode,
    .numbers = ZC_NUMBERS_OF_NUMPY,
    .defaults = {.decoded = FLOAT64, .encoded = FLOAT64, .scale = 1},
};

/* ---- quantize --------------------------------------------------------------------------------- */

static bool is_any_float(zc_number number)
{
    return zc_number_is_float(number) || number.kind == ZC_NUMBER_F16;
}

static zc_status quantize_check(const zc_codec *codec, zc_error *err)
{
    if (!is_any_float(codec->decoded) || !is_any_float(codec->encoded)) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "dtype, astype: expected float16, float32 or float64");
    }
    return ZC_OK;
}

static zc_status quantize_encode(const zc_coding *c, size_t *written)
{
    const zc_number in = c->codec->decoded, out = c->codec->encoded;
    zc_number_map map = {in, in.kind, in.kind == ZC_NUMBER_F32 ? quantize_f32 : quantize_f64, in.kind, out};

    if (in.kind == ZC_NUMBER_F16) {
        map = (zc_number_map){in, ZC_NUMBER_F32, zc_quantize_halves, ZC_NUMBER_F32, out};
    }
    return zc_numbers_run(c, &map, written);
}

static zc_status quantize_decode(const zc_coding *c, size_t *written)
{
    const zc_number in = c->codec->encoded, out = c->codec->decoded;
    const zc_number_map map = {in, out.kind, NULL, out.kind, out};

    return zc_numbers_run(c, &map, written);
}

const zc_codec_class zc_codec_quantize = {
    .name = "quantize",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .bound = zc_numbers_bound,
    .encode = quantize_encode,
    .decode = quantize_decode,
    .numbers = ZC_NUMBERS_OF_NUMPY,
    .check = quantize_check,
    .defaults = {.decoded = FLOAT64, .encoded = FLOAT64, .scale = 1},
};
