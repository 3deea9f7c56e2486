/* SPDX-License-Identifier: MIT
 *
 * Encoding: the conversion to int32 rounds to the nearest even integer by itself, and has the lowest int32 for what is
 * out of range, as a conversion of the rounded number has.
 *
 * Decoding divides without a division, which takes several times as long.  With r the float nearest to 1 / s, q = x * r
 * is off by less than two units in its last place, q + (x - q * s) * r by less than one, and the same step once more
 * gives the quotient as division rounds it (Markstein, "Computation of elementary functions on the IBM RISC
 * System/6000 processor", 1990), provided that nothing overflows or underflows: |x| < 2^32 and the range of s see to
 * that.
 */
#include "codecs/scale_integers.h"

#include <math.h>

#include "kernels/words.h"

#ifdef ZC_HAVE_AVX

#define FUSED ZC_TARGET("avx2,fma")

/* Numbers that int32 stands for, apart from its own range perhaps: those that wrap like it. */
static bool is_small_integer(zc_number number)
{
    return !zc_number_is_float(number) && zc_number_size(number.kind) <= 4 && number.kind != ZC_NUMBER_U32;
}

static bool have(uint32_t features)
{
    return (zc_cpu_features() & features) == features;
}

/* Numbers behind the last whole vector go through one that is filled up. */
#define STAMP_ENCODE(NAME, TYPE, LANES)                                                          \
    ZC_AVX2 static void to_integers_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, \
                                           size_t n)                                             \
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

STAMP_ENCODE(f64, double, 4)
STAMP_ENCODE(f32, float, 8)

FUSED static inline __m256d next_quotient(__m256d q, __m256d x, __m256d s, __m256d r)
{
    return _mm256_fmadd_pd(_mm256_fnmadd_pd(q, s, x), r, q);
}

/* Four integers divided, and the offset added. */
FUSED static inline __m256d unscale(const void *from, __m256d s, __m256d r, __m256d offset)
{
    const __m256d x = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)from));
    const __m256d q = next_quotient(_mm256_mul_pd(x, r), x, s, r);

    return _mm256_add_pd(next_quotient(q, x, s, r), offset);
}

FUSED static inline void store_f64(void *to, __m256d x)
{
    _mm256_storeu_pd(to, x);
}

FUSED static inline void store_f32(void *to, __m256d x)
{
    _mm_storeu_ps(to, _mm256_cvtpd_ps(x));
}

#define STAMP_DECODE(NAME, TYPE)                                                                 \
    FUSED static void from_integers_##NAME(const zc_codec *codec, void *restrict dst, const void *restrict src, \
                                           size_t n)                                             \
    {                                                                                            \
        const __m256d s = _mm256_set1_pd(codec->scale), r = _mm256_set1_pd(1 / codec->scale);    \
        const __m256d offset = _mm256_set1_pd(codec->offset);                                    \
        const char *const from = src;                                                            \
        char *const to = dst;                                                                    \
        const size_t whole = n - n % 4;                                                          \
        for (size_t i = 0; i < whole; i += 4) {                                                  \
            store_##NAME(to + i * sizeof(TYPE), unscale(from + i * 4, s, r, offset));            \
        }                                                                                        \
        if (whole < n) {                                                                         \
            int32_t rest[4] = {0};                                                               \
            TYPE made[4];                                                                        \
            memcpy(rest, from + whole * 4, (n - whole) * 4);                                     \
            store_##NAME(made, unscale(rest, s, r, offset));                                     \
            memcpy(to + whole * sizeof(TYPE), made, (n - whole) * sizeof(TYPE));                 \
        }                                                                                        \
    }

STAMP_DECODE(f64, double)
STAMP_DECODE(f32, float)

void zc_scale_to_integers(const zc_codec *codec, zc_number_map *map)
{
    if (have(ZC_CPU_AVX2) && is_small_integer(codec->encoded)) {
        map->map = codec->decoded.kind == ZC_NUMBER_F32 ? to_integers_f32 : to_integers_f64;
        map->to = ZC_NUMBER_I32;
    }
}

void zc_scale_from_integers(const zc_codec *codec, zc_number_map *map)
{
    const double size = fabs(codec->scale);

    if (have(ZC_CPU_AVX2 | ZC_CPU_FMA) && is_small_integer(codec->encoded) && size > 0x1p-100 && size < 0x1p100) {
        map->from = ZC_NUMBER_I32;
        map->map = codec->decoded.kind == ZC_NUMBER_F32 ? from_integers_f32 : from_integers_f64;
        map->to = codec->decoded.kind == ZC_NUMBER_F32 ? ZC_NUMBER_F32 : ZC_NUMBER_F64;
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
