/* SPDX-License-Identifier: MIT
 *
 * Numbers rounded to multiples of a step (numcodecs "fixedscaleoffset" and "quantize").
 *
 * All arithmetic is that of the floating-point type which numpy would compute in, one operation after the other, so
 * that the same bits come out.
 */
#include <float.h>
#include <math.h>

#include "base/cpu.h"
#include "codecs/numbers.h"

/*
 * To the nearest integer, ties to even, as rint() does: beyond 2 ** 52 (23) every float is an integer, and
 * adding that number pushes the fraction out.  Unlike a call of rint this vectorises everywhere.
 */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
#define STAMP_ROUND(NAME, TYPE, FABS, COPYSIGN, RINT, LARGE)                                     \
    ZC_INLINE TYPE round_##NAME(TYPE x)                                                          \
    {                                                                                            \
        const TYPE size = FABS(x);                                                               \
        const TYPE rounded = COPYSIGN((size + LARGE) - LARGE, x);                                \
        return size < LARGE ? rounded : x;                                                       \
    }
#else
#define STAMP_ROUND(NAME, TYPE, FABS, COPYSIGN, RINT, LARGE)                                     \
    ZC_INLINE TYPE round_##NAME(TYPE x) { return RINT(x); }
#endif

STAMP_ROUND(f32, float, fabsf, copysignf, rintf, 0x1p23f)
STAMP_ROUND(f64, double, fabs, copysign, rint, 0x1p52)

#define STAMP_MAP(NAME, TYPE, WHAT, EXPRESSION)                                                  \
    static void WHAT##_##NAME(const zc_codec *codec, void *tile, size_t n)                       \
    {                                                                                            \
        TYPE *const x = tile;                                                                    \
        const TYPE offset = (TYPE)codec->offset, scale = (TYPE)codec->scale;                     \
        (void)offset;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            x[i] = EXPRESSION;                                                                   \
        }                                                                                        \
    }

STAMP_MAP(f32, float, scale, round_f32((x[i] - offset) * scale))
STAMP_MAP(f64, double, scale, round_f64((x[i] - offset) * scale))
STAMP_MAP(f32, float, unscale, x[i] / scale + offset)
STAMP_MAP(f64, double, unscale, x[i] / scale + offset)
STAMP_MAP(f32, float, quantize, round_f32(scale * x[i]) / scale)
STAMP_MAP(f64, double, quantize, round_f64(scale * x[i]) / scale)

/* ---- fixedscaleoffset ------------------------------------------------------------------------- */

static zc_status scale_check(const zc_codec *codec, zc_error *err)
{
    if (!zc_number_is_float(codec->decoded)) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "dtype: expected float32 or float64");
    }
    return ZC_OK;
}

static zc_status scale_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                              uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const bool single = codec->decoded.kind == ZC_NUMBER_F32;
    const zc_number_map map = {codec->decoded, codec->decoded.kind, single ? scale_f32 : scale_f64,
                               codec->encoded};
    const zc_status status = scale_check(codec, err);

    return status == ZC_OK ? zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err) : status;
}

static zc_status scale_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                              uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const bool single = codec->encoded.kind == ZC_NUMBER_F32;      /* integers are divided as float64 */
    const zc_number_map map = {codec->encoded, single ? ZC_NUMBER_F32 : ZC_NUMBER_F64,
                               single ? unscale_f32 : unscale_f64, codec->decoded};

    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

#define FLOAT64 {.kind = ZC_NUMBER_F64}

const zc_codec_class zc_codec_fixedscaleoffset = {
    .name = "fixedscaleoffset",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .bound = zc_numbers_bound,
    .encode = scale_encode,
    .decode = scale_decode,
    .check = scale_check,
    .defaults = {.decoded = FLOAT64, .encoded = FLOAT64, .scale = 1},
};

/* ---- quantize --------------------------------------------------------------------------------- */

static zc_status quantize_check(const zc_codec *codec, zc_error *err)
{
    if (!zc_number_is_float(codec->decoded) || !zc_number_is_float(codec->encoded)) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "dtype, astype: expected float32 or float64");
    }
    return ZC_OK;
}

static zc_status quantize_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const bool single = codec->decoded.kind == ZC_NUMBER_F32;
    const zc_number_map map = {codec->decoded, codec->decoded.kind, single ? quantize_f32 : quantize_f64,
                               codec->encoded};
    const zc_status status = quantize_check(codec, err);

    return status == ZC_OK ? zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err) : status;
}

static zc_status quantize_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_number_map map = {codec->encoded, codec->decoded.kind, NULL, codec->decoded};

    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

const zc_codec_class zc_codec_quantize = {
    .name = "quantize",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .bound = zc_numbers_bound,
    .encode = quantize_encode,
    .decode = quantize_decode,
    .check = quantize_check,
    .defaults = {.decoded = FLOAT64, .encoded = FLOAT64, .scale = 1},
};
