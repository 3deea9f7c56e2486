/* SPDX-License-Identifier: MIT
 *
 * Numbers stored as another type (numcodecs "astype").
 */
#include <string.h>

#include "codecs/numbers.h"
#include "kernels/byte_order.h"

#ifdef ZC_HAVE_AVX

/* Doubles to floats, the commonest pair.  Whole vectors are stored where they are aligned: what memory takes counts. */
ZC_AVX2 static void shorten(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n)
{
    const char *const from = src;
    char *const to = dst;
    const size_t until_aligned = (32 - (uintptr_t)dst % 32) % 32 / sizeof(float);
    size_t i = until_aligned < n ? until_aligned : n;

    (void)codec;
    zc_cast(to, ZC_NUMBER_F32, from, ZC_NUMBER_F64, i);
    for (; i + 8 <= n; i += 8) {
        const double *const eight = (const double *)(const void *)(from + i * sizeof(double));
        const __m128 low = _mm256_cvtpd_ps(_mm256_loadu_pd(eight)), high = _mm256_cvtpd_ps(_mm256_loadu_pd(eight + 4));
        _mm256_storeu_ps((float *)(void *)(to + i * sizeof(float)),
                         _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1));
    }
    zc_cast(to + i * sizeof(float), ZC_NUMBER_F32, from + i * sizeof(double), ZC_NUMBER_F64, n - i);
}

static bool shortens(const zc_number_map *map)
{
    return map->in.kind == ZC_NUMBER_F64 && map->out.kind == ZC_NUMBER_F32 && (zc_cpu_features() & ZC_CPU_AVX2);
}

#else

#define shorten NULL
#define shortens(map) ((void)(map), false)

#endif

static zc_status astype_run(const zc_codec *codec, zc_number in, zc_number out, zc_workspace *ws, const uint8_t *src,
                            size_t n, uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    zc_number_map map = {in, out.kind, NULL, out.kind, out};

    if (shortens(&map)) {
        map.from = in.kind;
        map.map = shorten;
    }
    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

static zc_status astype_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                               uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    return astype_run(codec, codec->decoded, codec->encoded, ws, src, n, dst, cap, written, err);
}

static zc_status astype_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                               uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    return astype_run(codec, codec->encoded, codec->decoded, ws, src, n, dst, cap, written, err);
}

const zc_codec_class zc_codec_astype = {
    .name = "astype",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .numbers = ZC_NUMBERS_OF_NUMPY,
    .bound = zc_numbers_bound,
    .encode = astype_encode,
    .decode = astype_decode,
};
