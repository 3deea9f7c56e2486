/* SPDX-License-Identifier: MIT
 *
 * Comparison of floats with a fill value, on their bits: no floating-point unit is asked, so that float16 and
 * signalling NaNs need no care.  With the sign bit dropped, zero is 0 and exactly the NaNs lie above
 * infinity: adding what takes the first of them to the sign bit sets that bit for NaNs alone.  No such sum
 * leaves the bits of its float, so that 8 bytes of floats of any size are added at once.
 */
#include <string.h>

#include "base/assert.h"
#include "kernels/item_loops.h"
#include "kernels/byte_order.h"

#define GROUP 16                         /* bytes that are asked at once: two words, or up to 8 floats */
#define BLOCK 512                        /* bytes between two looks at the result */

/* What is asked of each word x of a group: that (x & kept) + above is `want` where `asked` has ones. */
typedef struct question {
    uint64_t kept[2], above[2], want[2], asked[2];
} question;

static bool holds_plain(const char *src, size_t nbytes, const question *q)
{
    for (size_t at = 0; at < nbytes; at += BLOCK) {
        const size_t end = nbytes - at < BLOCK ? nbytes : at + BLOCK;
        uint64_t differ[2] = {0, 0};

        for (size_t i = at; i < end; i += GROUP) {
            uint64_t x[2];
            memcpy(x, src + i, GROUP);
            differ[0] |= ((x[0] & q->kept[0]) + q->above[0]) ^ q->want[0];
            differ[1] |= ((x[1] & q->kept[1]) + q->above[1]) ^ q->want[1];
        }
        if (((differ[0] & q->asked[0]) | (differ[1] & q->asked[1])) != 0) {
            return false;
        }
    }
    return true;
}

#ifdef ZC_HAVE_AVX

ZC_AVX2 static inline __m256i twice(const uint64_t words[2])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)words));
}

/* Four vectors between two looks. */
ZC_AVX2 static bool holds_avx2(const char *src, size_t nbytes, const question *q)
{
    const __m256i kept = twice(q->kept), above = twice(q->above);
    const __m256i want = twice(q->want), asked = twice(q->asked);
    size_t i = 0;

    for (; i + 128 <= nbytes; i += 128) {
        __m256i differ[4];
        for (int k = 0; k < 4; k++) {
            const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(src + i + 32 * k));
            const __m256i sum = _mm256_add_epi64(_mm256_and_si256(x, kept), above);
            differ[k] = _mm256_xor_si256(sum, want);
        }
        const __m256i low = _mm256_or_si256(differ[0], differ[1]);
        const __m256i high = _mm256_or_si256(differ[2], differ[3]);
        if (!_mm256_testz_si256(_mm256_or_si256(low, high), asked)) {
            return false;
        }
    }
    return holds_plain(src + i, nbytes - i, q);
}

ZC_AVX512 static inline __m512i four_times(const uint64_t words[2])
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)words));
}

/* Four of the wide ones. */
ZC_AVX512 static bool holds_avx512(const char *src, size_t nbytes, const question *q)
{
    const __m512i kept = four_times(q->kept), above = four_times(q->above);
    const __m512i want = four_times(q->want), asked = four_times(q->asked);
    size_t i = 0;

    for (; i + 256 <= nbytes; i += 256) {
        __m512i differ[4];
        for (int k = 0; k < 4; k++) {
            const __m512i x = _mm512_loadu_si512(src + i + 64 * k);
            differ[k] = _mm512_xor_si512(_mm512_add_epi64(_mm512_and_si512(x, kept), above), want);
        }
        const __m512i low = _mm512_or_si512(differ[0], differ[1]);
        const __m512i high = _mm512_or_si512(differ[2], differ[3]);
        if (_mm512_test_epi64_mask(_mm512_or_si512(low, high), asked) != 0) {
            return false;
        }
    }
    return holds_plain(src + i, nbytes - i, q);
}

#endif

/* Is it so for every group of src[0..nbytes)? */
static bool holds(const char *src, size_t nbytes, const question *q)
{
#ifdef ZC_HAVE_AVX
    if (zc_cpu_features() & ZC_CPU_AVX512) {
        return holds_avx512(src, nbytes, q);
    }
    if (zc_cpu_features() & ZC_CPU_AVX2) {
        return holds_avx2(src, nbytes, q);
    }
#endif
    return holds_plain(src, nbytes, q);
}

static uint64_t load_float(const char *src, zc_float_kind kind)
{
    uint64_t bits;
    uint32_t bits32;
    uint16_t bits16;

    switch (kind) {
    case ZC_FLOAT16: memcpy(&bits16, src, 2); return bits16;
    case ZC_FLOAT32: memcpy(&bits32, src, 4); return bits32;
    default: memcpy(&bits, src, 8); return bits;
    }
}

static void store_float(uint64_t group[2], size_t at, zc_float_kind kind, uint64_t bits)
{
    char *const dst = (char *)group + at;
    const uint32_t bits32 = (uint32_t)bits;
    const uint16_t bits16 = (uint16_t)bits;

    switch (kind) {
    case ZC_FLOAT16: memcpy(dst, &bits16, 2); break;
    case ZC_FLOAT32: memcpy(dst, &bits32, 4); break;
    default: memcpy(dst, &bits, 8); break;
    }
}

/* Ask whether the float at byte `at` of each group equals `fill`.  Is that more than comparing bits? */
static bool ask(question *q, size_t at, zc_float_kind kind, uint64_t fill)
{
    const int bits = 8 * (int)kind, fraction = kind == ZC_FLOAT16 ? 10 : kind == ZC_FLOAT32 ? 23 : 52;
    const uint64_t sign = UINT64_C(1) << (bits - 1), size = sign - 1;
    const uint64_t above_infinity = (UINT64_C(1) << fraction) - 1;        /* what takes the least NaN to `sign` */
    const bool zero = (fill & size) == 0, nan = (fill & size) + above_infinity >= sign;

    store_float(q->kept, at, kind, zero || nan ? size : UINT64_MAX);
    store_float(q->above, at, kind, nan ? above_infinity : 0);
    store_float(q->want, at, kind, nan ? sign : zero ? 0 : fill);
    store_float(q->asked, at, kind, nan ? sign : UINT64_MAX);
    return zero || nan;
}

bool zc_equals_fill_float(const void *src, size_t n, zc_float_kind kind, const void *fill, size_t n_fill)
{
    zc_assert((n_fill == 1 || n_fill == 2) && n % n_fill == 0);

    const size_t size = (size_t)kind, nbytes = n * size, whole = nbytes - nbytes % GROUP;
    char rest[GROUP];
    question q;
    bool by_value = false;

    for (size_t at = 0; at < GROUP; at += size) {
        const char *const one = (const char *)fill + at % (n_fill * size);
        by_value |= ask(&q, at, kind, load_float(one, kind));
        memcpy(rest + at, one, size);
    }
    if (!by_value) {
        return zc_equals_fill(src, n / n_fill, size * n_fill, fill);
    }
    if (!holds(src, whole, &q)) {
        return false;
    }
    memcpy(rest, (const char *)src + whole, nbytes - whole);        /* and fill values after it */
    return holds_plain(rest, GROUP, &q);
}
