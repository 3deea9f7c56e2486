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

static zc_status astype_run(const zc_coding *c, size_t *written)
{
    const zc_number in = c->decode ? c->codec->encoded : c->codec->decoded;
    const zc_number out = c->decode ? c->codec->decoded : c->codec->encoded;
    zc_number_map map = {in, out.kind, NULL, out.kind, out};

    if (shortens(&map)) {
        map.from = in.kind;
        map.map = shorten;
    }
    return zc_numbers_run(c, &map, written);
}

const zc_codec_class zc_codec_astype = {
    .name = "astype",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .filter = ZC_FILTER_BY_ITEM,
    .numbers = ZC_NUMBERS_OF_NUMPY,
    .bound = zc_numbers_bound,
    .encode = astype_run,
    .decode = astype_run,
};
