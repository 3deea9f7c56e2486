/* SPDX-License-Identifier: MIT */
#include "codecs/scale_numpy.h"

#include <math.h>
#include <string.h>

#include "kernels/float16.h"
#include "kernels/stamped.h"

/* ---- half precision --------------------------------------------------------------------------- */

static void round_halves(float *numbers, size_t n)
{
    uint16_t halves[ZC_TILE];

    zc_floats_to_halves(halves, ZC_NUMBER_F16, numbers, n);
    zc_halves_to_floats(numbers, halves, ZC_NUMBER_F16, n);
}

static float half_of(double x)
{
    uint16_t half;
    float made;

    zc_cast_numpy(&half, ZC_NUMBER_F16, &x, ZC_NUMBER_F64, 1);
    zc_halves_to_floats(&made, &half, ZC_NUMBER_F16, 1);
    return made;
}

#define STAMP_STEP(SET, TARGET, NAME, EXPRESSION)                                                \
    TARGET static void NAME##_##SET(float *numbers, size_t n, float y)                           \
    {                                                                                            \
        (void)y;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                         \
            const float x = numbers[i];                                                          \
            numbers[i] = EXPRESSION;                                                             \
        }                                                                                        \
    }

STAMP_BOTH(STAMP_STEP, subtract, x - y)
STAMP_BOTH(STAMP_STEP, add, x + y)
STAMP_BOTH(STAMP_STEP, multiply, x * y)
STAMP_BOTH(STAMP_STEP, divide, x / y)
STAMP_BOTH(STAMP_STEP, whole, rintf(x))

/* One operation on floats that are halves, rounded to halves again; whole halves are halves. */
#define STEP(WHAT, numbers, n, y)                                                                \
    do {                                                                                         \
        RUN(WHAT, numbers, n, y);                                                                \
        round_halves(numbers, n);                                                                \
    } while (0)

void zc_scale_halves(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    float numbers[ZC_TILE];

    memcpy(numbers, src, n * sizeof numbers[0]);
    STEP(subtract, numbers, n, half_of(codec->offset));
    STEP(multiply, numbers, n, half_of(codec->scale));
    RUN(whole, numbers, n, 0);
    memcpy(dst, numbers, n * sizeof numbers[0]);
}

void zc_unscale_halves(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    float numbers[ZC_TILE];

    memcpy(numbers, src, n * sizeof numbers[0]);
    STEP(divide, numbers, n, half_of(codec->scale));
    STEP(add, numbers, n, half_of(codec->offset));
    memcpy(dst, numbers, n * sizeof numbers[0]);
}

void zc_quantize_halves(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    const float scale = half_of(codec->scale);
    float numbers[ZC_TILE];

    memcpy(numbers, src, n * sizeof numbers[0]);
    STEP(multiply, numbers, n, scale);
    RUN(whole, numbers, n, 0);
    STEP(divide, numbers, n, scale);
    memcpy(dst, numbers, n * sizeof numbers[0]);
}

/* ---- complex numbers -------------------------------------------------------------------------- */

/* Real numbers as complex ones: their imaginary part, zero, takes part in products and sums. */
#define STAMP_SCALE(SET, TARGET, NAME, TYPE, RINT)                                               \
    TARGET static void scale_##NAME##_##SET(char *restrict dst, const char *restrict src, size_t n, TYPE offset, \
                                            TYPE scale)                                          \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE re, im;                                                                         \
            memcpy(&re, src + 2 * i * sizeof re, sizeof re);                                     \
            memcpy(&im, src + (2 * i + 1) * sizeof im, sizeof im);                               \
            re -= offset;                                                                        \
            const TYPE made_re = RINT(re * scale - im * 0), made_im = RINT(re * 0 + im * scale); \
            memcpy(dst + 2 * i * sizeof re, &made_re, sizeof re);                                \
            memcpy(dst + (2 * i + 1) * sizeof im, &made_im, sizeof im);                          \
        }                                                                                        \
    }

/* Division as numpy does it, by the larger part of the divisor (Smith, "Algorithm 116: Complex division", 1962). */
#define STAMP_UNSCALE(SET, TARGET, NAME, TYPE)                                                   \
    TARGET static void unscale_##NAME##_##SET(char *restrict dst, const char *restrict src, size_t n, TYPE offset, \
                                              TYPE scale)                                        \
    {                                                                                            \
        const TYPE ratio = 0 / scale, factor = 1 / (scale + 0 * ratio);                          \
        for (size_t i = 0; i < n; i++) {                                                         \
            TYPE re, im;                                                                         \
            memcpy(&re, src + 2 * i * sizeof re, sizeof re);                                     \
            memcpy(&im, src + (2 * i + 1) * sizeof im, sizeof im);                               \
            const TYPE made_re = (re + im * ratio) * factor + offset, made_im = (im - re * ratio) * factor + 0; \
            memcpy(dst + 2 * i * sizeof re, &made_re, sizeof re);                                \
            memcpy(dst + (2 * i + 1) * sizeof im, &made_im, sizeof im);                          \
        }                                                                                        \
    }

#define STAMP_COMPLEX(NAME, TYPE, RINT)                                                          \
    STAMP_BOTH(STAMP_SCALE, NAME, TYPE, RINT)                                                    \
    STAMP_BOTH(STAMP_UNSCALE, NAME, TYPE)                                                        \
                                                                                                 \
    void zc_scale_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        RUN(scale_##NAME, dst, src, n, (TYPE)codec->offset, (TYPE)codec->scale);                 \
    }                                                                                            \
                                                                                                 \
    void zc_unscale_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n) \
    {                                                                                            \
        RUN(unscale_##NAME, dst, src, n, (TYPE)codec->offset, (TYPE)codec->scale);               \
    }

STAMP_COMPLEX(c64, float, rintf)
STAMP_COMPLEX(c128, double, rint)

/* ---- integers --------------------------------------------------------------------------------- */

/* WIDE is a type that C does not turn into a signed one. */
#define STAMP_WHOLE(SET, TARGET, NAME, WORD, WIDE)                                               \
    STAMP_EACH(SET, TARGET, NAME, WORD, WORD, (WORD)(((WIDE)x - (WIDE)offset) * (WIDE)scale), uint64_t offset, \
               uint64_t scale)

STAMP_BOTH(STAMP_WHOLE, whole8, uint8_t, uint32_t)
STAMP_BOTH(STAMP_WHOLE, whole16, uint16_t, uint32_t)
STAMP_BOTH(STAMP_WHOLE, whole32, uint32_t, uint32_t)
STAMP_BOTH(STAMP_WHOLE, whole64, uint64_t, uint64_t)

static void scale_words(const zc_codec *codec, void *dst, const void *src, size_t n, uint64_t scale)
{
    const uint64_t offset = (uint64_t)codec->whole.offset;

    switch (zc_number_size(zc_whole_kind(codec))) {
    case 1: RUN(whole8, dst, src, n, offset, scale); return;
    case 2: RUN(whole16, dst, src, n, offset, scale); return;
    case 4: RUN(whole32, dst, src, n, offset, scale); return;
    default: RUN(whole64, dst, src, n, offset, scale);
    }
}

void zc_subtract_whole(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    scale_words(codec, dst, src, n, 1);
}

void zc_scale_whole(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    scale_words(codec, dst, src, n, (uint64_t)codec->whole.scale);
}

zc_number_kind zc_whole_kind(const zc_codec *codec)
{
    return codec->decoded.kind == ZC_NUMBER_BOOL ? ZC_NUMBER_I64 : codec->decoded.kind;
}

/* Has the type an integer of these bits?  The sign is kept next to them, since those of uint64 need all bits. */
static bool fits(zc_number_kind kind, int64_t bits, bool negative)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    const zc_real real = {.negative = negative, .size = negative ? 0 - (uint64_t)bits : (uint64_t)bits};
    uint64_t stored;

    return zc_real_store(type, &real, ZC_ROUND_NEAREST_EVEN, &stored) == ZC_REAL_FITS;
}

zc_status zc_whole_check(const zc_codec *codec, zc_error *err)
{
    const zc_number_kind kind = zc_whole_kind(codec);

    if (!fits(kind, codec->whole.offset, codec->offset < 0)) {
        return zc_fail(err, ZC_ERR_ENCODE, "offset: %.17g is no %s", codec->offset, zc_real_type_of(kind)->name);
    }
    if (codec->whole.has_scale && !fits(kind, codec->whole.scale, codec->scale < 0)) {
        return zc_fail(err, ZC_ERR_ENCODE, "scale: %.17g is no %s", codec->scale, zc_real_type_of(kind)->name);
    }
    return ZC_OK;
}
