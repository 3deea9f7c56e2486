/* SPDX-License-Identifier: MIT
 *
 * Encoding reads each number once: its predecessors are the vector itself, moved up by one number, with the last number
 * of the vector before put in.  Every read that is not aligned may touch two cache lines, and there would be two of them.
 *
 * Decoding adds up the numbers within each half of a vector (1 before, 2 before, 4 before ...), then the sum of the lower
 * half to the upper half.  What is left of the chain of additions is one for each vector.  Stored integers that are
 * smaller are widened as they are read.
 */
#include "kernels/delta_vectors.h"

#include "kernels/byte_order.h"

#ifdef ZC_HAVE_AVX

enum { VECTOR = 32 };

typedef __m256i vector;

ZC_AVX2 static inline vector load(const char *p)
{
    return _mm256_loadu_si256((const vector *)(const void *)p);
}

ZC_AVX2 static inline void store(char *p, vector x)
{
    _mm256_storeu_si256((vector *)(void *)p, x);
}

/* ---- integers cut to their lower half ----------------------------------------------------------- */

/* The instructions join the halves of both vectors; this puts these in order. */
#define IN_ORDER(x) _mm256_permute4x64_epi64(x, 0xd8)

ZC_AVX2 static inline vector halves_of_64(vector a, vector b)
{
    const __m256 joined = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88);

    return IN_ORDER(_mm256_castps_si256(joined));
}

ZC_AVX2 static inline vector halves_of_32(vector a, vector b)
{
    const vector low = _mm256_set1_epi32(0xffff);

    return IN_ORDER(_mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low)));
}

ZC_AVX2 static inline vector halves_of_16(vector a, vector b)
{
    const vector low = _mm256_set1_epi16(0xff);

    return IN_ORDER(_mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low)));
}

#define READ_CUT(FROM, TO, HALVES, READ, SPAN)                                                   \
    ZC_AVX2 static inline vector read_##FROM##_as_##TO(const char *p)                            \
    {                                                                                            \
        return HALVES(READ(p), READ(p + (SPAN)));                                                \
    }

READ_CUT(8, 4, halves_of_64, load, VECTOR)
READ_CUT(4, 2, halves_of_32, load, VECTOR)
READ_CUT(2, 1, halves_of_16, load, VECTOR)
READ_CUT(8, 2, halves_of_32, read_8_as_4, 2 * VECTOR)
READ_CUT(4, 1, halves_of_16, read_4_as_2, 2 * VECTOR)
READ_CUT(8, 1, halves_of_16, read_8_as_2, 4 * VECTOR)

/* ---- integers widened ----------------------------------------------------------------------------- */

ZC_AVX2 static inline __m128i load_16(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

ZC_AVX2 static inline __m128i load_8(const char *p)
{
    return _mm_loadl_epi64((const __m128i *)(const void *)p);
}

ZC_AVX2 static inline __m128i load_4(const char *p)
{
    int32_t x;

    memcpy(&x, p, sizeof x);
    return _mm_cvtsi32_si128(x);
}

#define READ_WIDE(NAME, WIDEN, LOAD)                                                             \
    ZC_AVX2 static inline vector read_##NAME(const char *p)                                      \
    {                                                                                            \
        return WIDEN(LOAD(p));                                                                   \
    }

READ_WIDE(i1_as_2, _mm256_cvtepi8_epi16, load_16)
READ_WIDE(u1_as_2, _mm256_cvtepu8_epi16, load_16)
READ_WIDE(i1_as_4, _mm256_cvtepi8_epi32, load_8)
READ_WIDE(u1_as_4, _mm256_cvtepu8_epi32, load_8)
READ_WIDE(i1_as_8, _mm256_cvtepi8_epi64, load_4)
READ_WIDE(u1_as_8, _mm256_cvtepu8_epi64, load_4)
READ_WIDE(i2_as_4, _mm256_cvtepi16_epi32, load_16)
READ_WIDE(u2_as_4, _mm256_cvtepu16_epi32, load_16)
READ_WIDE(i2_as_8, _mm256_cvtepi16_epi64, load_8)
READ_WIDE(u2_as_8, _mm256_cvtepu16_epi64, load_8)
READ_WIDE(i4_as_8, _mm256_cvtepi32_epi64, load_16)
READ_WIDE(u4_as_8, _mm256_cvtepu32_epi64, load_16)

/* ---- encode --------------------------------------------------------------------------------------- */

#define SUB_1 _mm256_sub_epi8
#define SUB_2 _mm256_sub_epi16
#define SUB_4 _mm256_sub_epi32
#define SUB_8 _mm256_sub_epi64

ZC_AVX2 static inline vector sub_floats(vector a, vector b)
{
    return _mm256_castps_si256(_mm256_sub_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}

ZC_AVX2 static inline vector sub_doubles(vector a, vector b)
{
    return _mm256_castpd_si256(_mm256_sub_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b)));
}

#define ENCODE(NAME, FROM, READ, TO, SUB)                                                        \
    ZC_AVX2 static size_t encode_##NAME(char *dst, const char *src, size_t n)                    \
    {                                                                                            \
        uint64_t before = 0;                                                                     \
        size_t i = 0;                                                                            \
        memcpy(&before, src - FROM, FROM);                                                       \
        vector last = _mm256_set1_epi64x((long long)(before << (64 - 8 * TO)));                  \
        for (; i + VECTOR / TO <= n; i += VECTOR / TO) {                                         \
            const vector x = READ(src + i * FROM);                                               \
            const vector halves_before = _mm256_permute2x128_si256(last, x, 0x21);               \
            store(dst + i * TO, SUB(x, _mm256_alignr_epi8(x, halves_before, 16 - TO)));          \
            last = x;                                                                            \
        }                                                                                        \
        return i;                                                                                \
    }

ENCODE(1, 1, load, 1, SUB_1)
ENCODE(2, 2, load, 2, SUB_2)
ENCODE(4, 4, load, 4, SUB_4)
ENCODE(8, 8, load, 8, SUB_8)
ENCODE(floats, 4, load, 4, sub_floats)
ENCODE(doubles, 8, load, 8, sub_doubles)
ENCODE(2_as_1, 2, read_2_as_1, 1, SUB_1)
ENCODE(4_as_1, 4, read_4_as_1, 1, SUB_1)
ENCODE(4_as_2, 4, read_4_as_2, 2, SUB_2)
ENCODE(8_as_1, 8, read_8_as_1, 1, SUB_1)
ENCODE(8_as_2, 8, read_8_as_2, 2, SUB_2)
ENCODE(8_as_4, 8, read_8_as_4, 4, SUB_4)

size_t zc_delta_encode_vectors(void *dst, const void *src, size_t n, zc_delta_kind kind)
{
    static size_t (*const loops[])(char *, const char *, size_t) = {
        [ZC_DELTA_INT8] = encode_1,  [ZC_DELTA_INT16] = encode_2,        [ZC_DELTA_INT32] = encode_4,
        [ZC_DELTA_INT64] = encode_8, [ZC_DELTA_FLOAT32] = encode_floats, [ZC_DELTA_FLOAT64] = encode_doubles,
    };

    return zc_cpu_features() & ZC_CPU_AVX2 ? loops[kind](dst, src, n) : 0;
}

/* Two sizes as one number. */
#define PAIR(from, to) ((from) * 16 + (to))

size_t zc_delta_narrow_vectors(void *dst, size_t to, const void *src, size_t from, size_t n)
{
    if (!(zc_cpu_features() & ZC_CPU_AVX2)) {
        return 0;
    }
    switch (PAIR(from, to)) {
    case PAIR(2, 1): return encode_2_as_1(dst, src, n);
    case PAIR(4, 1): return encode_4_as_1(dst, src, n);
    case PAIR(4, 2): return encode_4_as_2(dst, src, n);
    case PAIR(8, 1): return encode_8_as_1(dst, src, n);
    case PAIR(8, 2): return encode_8_as_2(dst, src, n);
    case PAIR(8, 4): return encode_8_as_4(dst, src, n);
    default: return 0;
    }
}

/* ---- decode --------------------------------------------------------------------------------------- */

/* Add every number to the one that lies so many bytes after it in the same half. */
#define ADD_BEHIND(ADD, x, bytes) ADD(x, _mm256_slli_si256(x, bytes))

/* sums_N: sums within halves.  ends_N: the last number of each half in all of its places. */
ZC_AVX2 static inline vector sums_8(vector x)
{
    return ADD_BEHIND(_mm256_add_epi64, x, 8);
}

ZC_AVX2 static inline vector sums_4(vector x)
{
    x = ADD_BEHIND(_mm256_add_epi32, x, 4);
    return ADD_BEHIND(_mm256_add_epi32, x, 8);
}

ZC_AVX2 static inline vector sums_2(vector x)
{
    x = ADD_BEHIND(_mm256_add_epi16, x, 2);
    x = ADD_BEHIND(_mm256_add_epi16, x, 4);
    return ADD_BEHIND(_mm256_add_epi16, x, 8);
}

ZC_AVX2 static inline vector sums_1(vector x)
{
    x = ADD_BEHIND(_mm256_add_epi8, x, 1);
    x = ADD_BEHIND(_mm256_add_epi8, x, 2);
    x = ADD_BEHIND(_mm256_add_epi8, x, 4);
    return ADD_BEHIND(_mm256_add_epi8, x, 8);
}

#define ends_8(x) _mm256_shuffle_epi32(x, 0xee)
#define ends_4(x) _mm256_shuffle_epi32(x, 0xff)
#define ends_2(x) _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0f0e))
#define ends_1(x) _mm256_shuffle_epi8(x, _mm256_set1_epi8(0x0f))

/* Compute the sums of a vector; all places of `sum` contain the last sum before it, and then the last one of these. */
#define STAMP_NEXT(SIZE, ADD)                                                                    \
    ZC_AVX2 static inline vector next_##SIZE(vector numbers, vector *sum)                        \
    {                                                                                            \
        const vector upper = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1);                      \
        const vector x = sums_##SIZE(numbers), ends = ends_##SIZE(x);                            \
        const vector other = _mm256_permute2x128_si256(ends, ends, 0x01);                        \
        const vector made = ADD(ADD(x, _mm256_and_si256(other, upper)), *sum);                   \
        *sum = ADD(*sum, ADD(ends, other));                                                      \
        return made;                                                                             \
    }

STAMP_NEXT(1, _mm256_add_epi8)
STAMP_NEXT(2, _mm256_add_epi16)
STAMP_NEXT(4, _mm256_add_epi32)
STAMP_NEXT(8, _mm256_add_epi64)

/* Two vectors are read before the first is written: reads that lie just after a write, but for a multiple of the size of
 * a page, wait for it. */
#define DECODE(NAME, FROM, READ, TO, BROADCAST)                                                  \
    ZC_AVX2 static size_t decode_##NAME(char *dst, const char *src, size_t n, uint64_t start)    \
    {                                                                                            \
        enum { EACH = VECTOR / TO };                                                             \
        vector sum = BROADCAST;                                                                  \
        size_t i = 0;                                                                            \
        for (; i + 2 * EACH <= n; i += 2 * EACH) {                                               \
            const vector a = READ(src + i * FROM), b = READ(src + (i + EACH) * FROM);            \
            const vector first = next_##TO(a, &sum), second = next_##TO(b, &sum);                \
            store(dst + i * TO, first);                                                          \
            store(dst + (i + EACH) * TO, second);                                                \
        }                                                                                        \
        if (i + EACH <= n) {                                                                     \
            store(dst + i * TO, next_##TO(READ(src + i * FROM), &sum));                          \
            i += EACH;                                                                           \
        }                                                                                        \
        return i;                                                                                \
    }

#define DECODE_TO_1(NAME, FROM, READ) DECODE(NAME, FROM, READ, 1, _mm256_set1_epi8((char)start))
#define DECODE_TO_2(NAME, FROM, READ) DECODE(NAME, FROM, READ, 2, _mm256_set1_epi16((short)start))
#define DECODE_TO_4(NAME, FROM, READ) DECODE(NAME, FROM, READ, 4, _mm256_set1_epi32((int)start))
#define DECODE_TO_8(NAME, FROM, READ) DECODE(NAME, FROM, READ, 8, _mm256_set1_epi64x((long long)start))

DECODE_TO_1(1, 1, load)
DECODE_TO_2(2, 2, load)
DECODE_TO_4(4, 4, load)
DECODE_TO_8(8, 8, load)
DECODE_TO_2(i1_as_2, 1, read_i1_as_2)
DECODE_TO_2(u1_as_2, 1, read_u1_as_2)
DECODE_TO_4(i1_as_4, 1, read_i1_as_4)
DECODE_TO_4(u1_as_4, 1, read_u1_as_4)
DECODE_TO_4(i2_as_4, 2, read_i2_as_4)
DECODE_TO_4(u2_as_4, 2, read_u2_as_4)
DECODE_TO_8(i1_as_8, 1, read_i1_as_8)
DECODE_TO_8(u1_as_8, 1, read_u1_as_8)
DECODE_TO_8(i2_as_8, 2, read_i2_as_8)
DECODE_TO_8(u2_as_8, 2, read_u2_as_8)
DECODE_TO_8(i4_as_8, 4, read_i4_as_8)
DECODE_TO_8(u4_as_8, 4, read_u4_as_8)

size_t zc_delta_decode_vectors(void *dst, size_t to, const void *src, size_t from, bool is_signed, size_t n,
                               uint64_t sum)
{
    if (!(zc_cpu_features() & ZC_CPU_AVX2)) {
        return 0;
    }
    switch (PAIR(from, to)) {
    case PAIR(1, 1): return decode_1(dst, src, n, sum);
    case PAIR(2, 2): return decode_2(dst, src, n, sum);
    case PAIR(4, 4): return decode_4(dst, src, n, sum);
    case PAIR(8, 8): return decode_8(dst, src, n, sum);
    case PAIR(1, 2): return is_signed ? decode_i1_as_2(dst, src, n, sum) : decode_u1_as_2(dst, src, n, sum);
    case PAIR(1, 4): return is_signed ? decode_i1_as_4(dst, src, n, sum) : decode_u1_as_4(dst, src, n, sum);
    case PAIR(1, 8): return is_signed ? decode_i1_as_8(dst, src, n, sum) : decode_u1_as_8(dst, src, n, sum);
    case PAIR(2, 4): return is_signed ? decode_i2_as_4(dst, src, n, sum) : decode_u2_as_4(dst, src, n, sum);
    case PAIR(2, 8): return is_signed ? decode_i2_as_8(dst, src, n, sum) : decode_u2_as_8(dst, src, n, sum);
    case PAIR(4, 8): return is_signed ? decode_i4_as_8(dst, src, n, sum) : decode_u4_as_8(dst, src, n, sum);
    default: return 0;
    }
}

#else

size_t zc_delta_encode_vectors(void *dst, const void *src, size_t n, zc_delta_kind kind)
{
    (void)dst, (void)src, (void)n, (void)kind;
    return 0;
}

size_t zc_delta_narrow_vectors(void *dst, size_t to, const void *src, size_t from, size_t n)
{
    (void)dst, (void)to, (void)src, (void)from, (void)n;
    return 0;
}

size_t zc_delta_decode_vectors(void *dst, size_t to, const void *src, size_t from, bool is_signed, size_t n,
                               uint64_t sum)
{
    (void)dst, (void)to, (void)src, (void)from, (void)is_signed, (void)n, (void)sum;
    return 0;
}

#endif
