/* SPDX-License-Identifier: MIT
 *
 * Encoding: the conversion to int32 rounds to the nearest even integer by itself, and has the lowest int32 for what is
 * out of range, as a conversion of the rounded number has.
 *
 * Decoding divides without a division, which takes several times as long.  Let r be the float nearest to 1 / s and t the
 * one nearest to 1 / s - r.  Then x * r + x * t, the second product rounded and the rest fused, is what one gets by
 * rounding a number that is x / s but for 2^-105 of it, provided that nothing overflows or underflows: |x| < 2^32 and the
 * range of s see to that.
 *
 * If s has at most 50 significant bits (hundredths and the like), that is the quotient as division rounds it.  Where
 * x / s is a float, it is the nearest one.  Else rounding could only go wrong if a number m of 54 bits, half-way between
 * two floats, lay as near to x / s; but x differs from m * s by at least one unit in the last place of that product, of
 * 104 bits at most, and m * s = x would take an x of 54 bits.
 *
 * Any other s needs one step more: a q that is off by less than a unit in its last place becomes the rounded quotient as
 * q + (x - q * s) * r (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).
 */
#include "codecs/scale_integers.h"

#include <math.h>
#include <string.h>

#include "kernels/byte_order.h"

#ifdef ZC_HAVE_AVX

#define FUSED ZC_TARGET("avx2,fma")
#define AVX512 ZC_TARGET("avx512f,avx512bw,avx512dq,avx512vl")

/* Numbers that int32 stands for, apart from its own range perhaps: those that wrap like it. */
static bool is_small_integer(zc_number number)
{
    return zc_number_is_integer(number) && zc_number_size(number.kind) <= 4 && number.kind != ZC_NUMBER_U32;
}

static bool have(uint32_t features)
{
    return (zc_cpu_features() & features) == features;
}

/* Numbers after the last whole vector go through one that is filled up. */
#define STAMP_ENCODE(NAME, TYPE, LANES, TARGET)                                                  \
    TARGET static void to_integers_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, \
                                          size_t n)                                              \
    {                                                                                            \
        const TYPE offset = (TYPE)codec->offset, scale = (TYPE)codec->scale;                     \
        const char *const from = src;                                                            \
        char *const to = dst;                                                                    \
        const size_t whole = n - n % LANES;                                                      \
        for (size_t i = 0; i < whole; i += LANES) {                                              \
            round_##NAME(to + i * 4, from + i * sizeof(TYPE), offset, scale);                    \
        }                                                                                        \
        if (whole < n) {                                                                         \
            TYPE rest[LANES] = {0};                                                              \
            int32_t made[LANES];                                                                 \
            memcpy(rest, from + whole * sizeof(TYPE), (n - whole) * sizeof(TYPE));               \
            round_##NAME((char *)made, (const char *)rest, offset, scale);                       \
            memcpy(to + whole * 4, made, (n - whole) * 4);                                       \
        }                                                                                        \
    }

ZC_AVX2 static inline void round_f64(char *to, const char *from, double offset, double scale)
{
    const __m256d x = _mm256_loadu_pd((const double *)(const void *)from);
    const __m256d scaled = _mm256_mul_pd(_mm256_sub_pd(x, _mm256_set1_pd(offset)), _mm256_set1_pd(scale));

    _mm_storeu_si128((__m128i *)(void *)to, _mm256_cvtpd_epi32(scaled));
}

ZC_AVX2 static inline void round_f32(char *to, const char *from, float offset, float scale)
{
    const __m256 x = _mm256_loadu_ps((const float *)(const void *)from);
    const __m256 scaled = _mm256_mul_ps(_mm256_sub_ps(x, _mm256_set1_ps(offset)), _mm256_set1_ps(scale));

    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtps_epi32(scaled));
}

AVX512 static inline void round_f64_wide(char *to, const char *from, double offset, double scale)
{
    const __m512d x = _mm512_loadu_pd((const void *)from);
    const __m512d scaled = _mm512_mul_pd(_mm512_sub_pd(x, _mm512_set1_pd(offset)), _mm512_set1_pd(scale));

    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtpd_epi32(scaled));
}

AVX512 static inline void round_f32_wide(char *to, const char *from, float offset, float scale)
{
    const __m512 x = _mm512_loadu_ps((const void *)from);
    const __m512 scaled = _mm512_mul_ps(_mm512_sub_ps(x, _mm512_set1_ps(offset)), _mm512_set1_ps(scale));

    _mm512_storeu_si512((void *)to, _mm512_cvtps_epi32(scaled));
}

STAMP_ENCODE(f64, double, 4, ZC_AVX2)
STAMP_ENCODE(f32, float, 8, ZC_AVX2)
STAMP_ENCODE(f64_wide, double, 8, AVX512)
STAMP_ENCODE(f32_wide, float, 16, AVX512)

/* ---- decode ------------------------------------------------------------------------------------- */

typedef struct divisor {
    double s, r, t;          /* 1 / s is r + t */
    double offset;           /* added to the quotient */
} divisor;

/* t without the functions of the mathematical library: 1 - s * r is a float, and the fused step computes it. */
FUSED static divisor divisor_of(const zc_codec *codec)
{
    const double s = codec->scale, r = 1 / s;
    const __m128d left = _mm_fnmadd_sd(_mm_set_sd(s), _mm_set_sd(r), _mm_set_sd(1));

    return (divisor){s, r, _mm_cvtsd_f64(left) / s, codec->offset};
}

static bool has_50_bits(double s)
{
    uint64_t bits;

    memcpy(&bits, &s, sizeof bits);
    return (bits & 7) == 0;
}

/* Sizes of integers in bytes, negative for signed ones. */
enum { U1 = 1, U2 = 2, I1 = -1, I2 = -2, I4 = -4 };

FUSED ZC_INLINE __m128i read_4(const char *p, const int kind)
{
    int32_t four;

    switch (kind) {
    case I4: return _mm_loadu_si128((const __m128i *)(const void *)p);
    case I2: return _mm_cvtepi16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    case U2: return _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    default: memcpy(&four, p, sizeof four);
    }
    return kind == I1 ? _mm_cvtepi8_epi32(_mm_cvtsi32_si128(four)) : _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
}

FUSED ZC_INLINE void unscale_4(char *to, const char *from, const divisor *d, int kind, bool single,
                                               bool exact)
{
    const __m256d x = _mm256_cvtepi32_pd(read_4(from, kind)), r = _mm256_set1_pd(d->r);
    __m256d q = _mm256_fmadd_pd(x, r, _mm256_mul_pd(x, _mm256_set1_pd(d->t)));

    if (!exact) {
        q = _mm256_fmadd_pd(_mm256_fnmadd_pd(q, _mm256_set1_pd(d->s), x), r, q);
    }
    q = _mm256_add_pd(q, _mm256_set1_pd(d->offset));
    if (single) {
        _mm_storeu_ps((float *)(void *)to, _mm256_cvtpd_ps(q));
    } else {
        _mm256_storeu_pd((double *)(void *)to, q);
    }
}

AVX512 ZC_INLINE __m256i read_8(const char *p, const int kind)
{
    switch (kind) {
    case I4: return _mm256_loadu_si256((const __m256i *)(const void *)p);
    case I2: return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    case U2: return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    case I1: return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    default: return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    }
}

AVX512 ZC_INLINE void unscale_8(char *to, const char *from, const divisor *d, int kind, bool single, bool exact)
{
    const __m512d x = _mm512_cvtepi32_pd(read_8(from, kind)), r = _mm512_set1_pd(d->r);
    __m512d q = _mm512_fmadd_pd(x, r, _mm512_mul_pd(x, _mm512_set1_pd(d->t)));

    if (!exact) {
        q = _mm512_fmadd_pd(_mm512_fnmadd_pd(q, _mm512_set1_pd(d->s), x), r, q);
    }
    q = _mm512_add_pd(q, _mm512_set1_pd(d->offset));
    if (single) {
        _mm256_storeu_ps((float *)(void *)to, _mm512_cvtpd_ps(q));
    } else {
        _mm512_storeu_pd((void *)to, q);
    }
}

/* The last few numbers go through a vector that is filled up. */
#define STAMP_LOOP(LANES, TARGET)                                                                \
    TARGET ZC_INLINE void unscale_all_##LANES(char *to, const char *from, size_t n, const divisor *d, int kind, \
                                              bool single, bool exact)                           \
    {                                                                                            \
        const size_t in = (size_t)(kind < 0 ? -kind : kind), out = single ? 4 : 8;               \
        const size_t whole = n - n % LANES;                                                      \
        char rest[LANES * 4] = {0}, made[LANES * 8];                                             \
        for (size_t i = 0; i < whole; i += LANES) {                                              \
            unscale_##LANES(to + i * out, from + i * in, d, kind, single, exact);                \
        }                                                                                        \
        if (whole < n) {                                                                         \
            memcpy(rest, from + whole * in, (n - whole) * in);                                   \
            unscale_##LANES(made, rest, d, kind, single, exact);                                 \
            memcpy(to + whole * out, made, (n - whole) * out);                                   \
        }                                                                                        \
    }

STAMP_LOOP(4, FUSED)
STAMP_LOOP(8, AVX512)

#define STAMP_DECODE(KIND, NAME, SINGLE, LANES, TARGET)                                          \
    TARGET static void decode_##KIND##_##NAME##_##LANES(const zc_codec *codec, void *restrict dst, \
                                                        const void *restrict src, size_t n)      \
    {                                                                                            \
        const divisor d = divisor_of(codec);                                                     \
        if (has_50_bits(d.s)) {                                                                  \
            unscale_all_##LANES(dst, src, n, &d, KIND, SINGLE, true);                            \
        } else {                                                                                 \
            unscale_all_##LANES(dst, src, n, &d, KIND, SINGLE, false);                           \
        }                                                                                        \
    }

#define STAMP_DECODES(LANES, TARGET)                                                             \
    STAMP_KIND(I1, LANES, TARGET)                                                                \
    STAMP_KIND(I2, LANES, TARGET)                                                                \
    STAMP_KIND(I4, LANES, TARGET)                                                                \
    STAMP_KIND(U1, LANES, TARGET)                                                                \
    STAMP_KIND(U2, LANES, TARGET)                                                                \
    static const map_fn decoders_##LANES[ZC_NUMBER_KINDS][2] = {                                 \
        [ZC_NUMBER_I8] = BOTH(I1, LANES),                                                        \
        [ZC_NUMBER_I16] = BOTH(I2, LANES),                                                       \
        [ZC_NUMBER_I32] = BOTH(I4, LANES),                                                       \
        [ZC_NUMBER_U8] = BOTH(U1, LANES),                                                        \
        [ZC_NUMBER_U16] = BOTH(U2, LANES),                                                       \
    };

#define STAMP_KIND(KIND, LANES, TARGET)                                                          \
    STAMP_DECODE(KIND, f64, false, LANES, TARGET)                                                \
    STAMP_DECODE(KIND, f32, true, LANES, TARGET)

#define BOTH(KIND, LANES) {decode_##KIND##_f64_##LANES, decode_##KIND##_f32_##LANES}

typedef void (*map_fn)(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

STAMP_DECODES(4, FUSED)
STAMP_DECODES(8, AVX512)

void zc_scale_to_integers(const zc_codec *codec, zc_number_map *map)
{
    const bool single = codec->decoded.kind == ZC_NUMBER_F32;

    if (have(ZC_CPU_AVX2) && is_small_integer(codec->encoded)) {
        map->map = have(ZC_CPU_AVX512) ? (single ? to_integers_f32_wide : to_integers_f64_wide)
                                       : (single ? to_integers_f32 : to_integers_f64);
        map->to = ZC_NUMBER_I32;
    }
}

void zc_scale_from_integers(const zc_codec *codec, zc_number_map *map)
{
    const double size = fabs(codec->scale);
    const bool keeps_zero = codec->scale > 0 || codec->offset != 0;     /* else 0 / s may be -0 */
    const bool single = codec->decoded.kind == ZC_NUMBER_F32;

    if (have(ZC_CPU_AVX2 | ZC_CPU_FMA) && is_small_integer(codec->encoded) && keeps_zero && size > 0x1p-100 &&
        size < 0x1p100) {
        map->from = codec->encoded.kind;
        map->map = (have(ZC_CPU_AVX512) ? decoders_8 : decoders_4)[codec->encoded.kind][single];
        map->to = single ? ZC_NUMBER_F32 : ZC_NUMBER_F64;
    }
}

#else

void zc_scale_to_integers(const zc_codec *codec, zc_number_map *map)
{
    (void)codec, (void)map;
}

void zc_scale_from_integers(const zc_codec *codec, zc_number_map *map)
{
    (void)codec, (void)map;
}

#endif
