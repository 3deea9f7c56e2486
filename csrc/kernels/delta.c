/* SPDX-License-Identifier: MIT
 *
 * Encoding is a loop that compilers vectorise.  Decoding is a chain of additions; for small integers it is
 * shortened by sums within a vector of 16 bytes, after which only one addition for each vector is left in
 * the chain.
 */
#include "kernels/delta.h"

#include <string.h>

#include "kernels/words.h"

/* ---- any stride ------------------------------------------------------------------------------ */

#define ENCODE(NAME, TYPE)                                                                       \
    ZC_INLINE void encode_##NAME(char *restrict dst, int64_t ds, const char *restrict src, int64_t ss, \
                                 int64_t n)                                                      \
    {                                                                                            \
        store_##NAME(dst, load_##NAME(src));                                                     \
        for (int64_t i = 1; i < n; i++) {                                                        \
            const char *const p = src + i * ss;                                                  \
            store_##NAME(dst + i * ds, (TYPE)(load_##NAME(p) - load_##NAME(p - ss)));            \
        }                                                                                        \
    }

/* Neighbours, for AVX2 where the CPU has it. */
#ifdef ZC_HAVE_AVX
#define ENCODE_WIDE(NAME, TYPE)                                                                  \
    ZC_AVX2 static void encode_avx2_##NAME(char *restrict dst, const char *restrict src, int64_t n) \
    {                                                                                            \
        store_##NAME(dst, load_##NAME(src));                                                     \
        for (int64_t i = 1; i < n; i++) {                                                        \
            const char *const p = src + i * (int64_t)sizeof(TYPE);                               \
            const TYPE x = (TYPE)(load_##NAME(p) - load_##NAME(p - sizeof(TYPE)));               \
            store_##NAME(dst + i * (int64_t)sizeof(TYPE), x);                                    \
        }                                                                                        \
    }
#define ENCODE_DENSE(NAME, dst, src, n, size)                                                    \
    (zc_cpu_features() & ZC_CPU_AVX2 ? encode_avx2_##NAME(dst, src, n)                           \
                                     : encode_##NAME(dst, size, src, size, n))
#else
#define ENCODE_WIDE(NAME, TYPE)
#define ENCODE_DENSE(NAME, dst, src, n, size) encode_##NAME(dst, size, src, size, n)
#endif

#define STAMP(NAME, TYPE)                                                                        \
    ZC_INLINE TYPE load_##NAME(const char *p)                                                    \
    {                                                                                            \
        TYPE x;                                                                                  \
        memcpy(&x, p, sizeof x);                                                                 \
        return x;                                                                                \
    }                                                                                            \
                                                                                                 \
    ZC_INLINE void store_##NAME(char *p, TYPE x)                                                 \
    {                                                                                            \
        memcpy(p, &x, sizeof x);                                                                 \
    }                                                                                            \
                                                                                                 \
    ENCODE(NAME, TYPE)                                                                           \
    ENCODE_WIDE(NAME, TYPE)                                                                      \
                                                                                                 \
    ZC_INLINE void decode_##NAME(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n,  \
                                 TYPE sum)                                                       \
    {                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                        \
            sum = (TYPE)(sum + load_##NAME(src + i * ss));                                       \
            store_##NAME(dst + i * ds, sum);                                                     \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static void encode_strided_##NAME(char *dst, int64_t ds, const char *src, int64_t ss,        \
                                      int64_t n)                                                 \
    {                                                                                            \
        if (ds == (int64_t)sizeof(TYPE) && ss == (int64_t)sizeof(TYPE)) {                        \
            ENCODE_DENSE(NAME, dst, src, n, sizeof(TYPE));                                       \
        } else {                                                                                 \
            encode_##NAME(dst, ds, src, ss, n);                                                  \
        }                                                                                        \
    }

STAMP(8, uint8_t)
STAMP(16, uint16_t)
STAMP(32, uint32_t)
STAMP(64, uint64_t)
STAMP(f32, float)
STAMP(f64, double)

/* Floats start from the first one itself: 0.0 + -0.0 would be 0.0. */
#define STAMP_FLOAT_DECODE(NAME, TYPE)                                                           \
    static void decode_strided_##NAME(char *dst, int64_t ds, const char *src, int64_t ss,        \
                                      int64_t n)                                                 \
    {                                                                                            \
        const TYPE first = load_##NAME(src);                                                     \
        store_##NAME(dst, first);                                                                \
        decode_##NAME(dst + ds, ds, src + ss, ss, n - 1, first);                                 \
    }

STAMP_FLOAT_DECODE(f32, float)
STAMP_FLOAT_DECODE(f64, double)

/* ---- sums within vectors --------------------------------------------------------------------- */

#ifdef ZC_HAVE_V16

#define OUTSIDE 0x80                    /* in a permutation: zero */

/* Byte i of the result is byte i - by, or zero. */
ZC_V16 static inline zc_v16 shift_order(int by)
{
    uint8_t order[16];

    for (int i = 0; i < 16; i++) {
        order[i] = (uint8_t)(i < by ? OUTSIDE : i - by);
    }
    return zc_v16_load(order);
}

/* The last `size` bytes everywhere. */
ZC_V16 static inline zc_v16 last_order(int size)
{
    uint8_t order[16];

    for (int i = 0; i < 16; i++) {
        order[i] = (uint8_t)(16 - size + i % size);
    }
    return zc_v16_load(order);
}

/* Decode whole vectors; how many numbers these were.  The last sum stands in front of what follows. */
#define STAMP_VECTORS(BITS, SIZE)                                                                \
    ZC_V16 static size_t decode_vectors_##BITS(char *dst, const char *src, size_t n)             \
    {                                                                                            \
        const size_t nbytes = n * SIZE - n * SIZE % 16;                                          \
        const zc_v16 by1 = shift_order(1), by2 = shift_order(2), by4 = shift_order(4);           \
        const zc_v16 by8 = shift_order(8), last = last_order(SIZE);                              \
        zc_v16 sum = zc_v16_zero();                                                              \
        for (size_t i = 0; i < nbytes; i += 16) {                                                \
            zc_v16 x = zc_v16_load(src + i);                                                     \
            if (SIZE <= 1) {                                                                     \
                x = zc_add##SIZE(x, zc_v16_permute(x, by1));                                     \
            }                                                                                    \
            if (SIZE <= 2) {                                                                     \
                x = zc_add##SIZE(x, zc_v16_permute(x, by2));                                     \
            }                                                                                    \
            x = zc_add##SIZE(x, zc_v16_permute(x, by4));                                         \
            x = zc_add##SIZE(x, zc_v16_permute(x, by8));                                         \
            zc_v16_store(dst + i, zc_add##SIZE(x, sum));                                         \
            sum = zc_add##SIZE(sum, zc_v16_permute(x, last));                                    \
        }                                                                                        \
        return nbytes / SIZE;                                                                    \
    }

STAMP_VECTORS(8, 1)
STAMP_VECTORS(16, 2)
STAMP_VECTORS(32, 4)

#endif

/* The same in vectors of 64 bytes, for large numbers: what lies `by` numbers before is added, for 1, 2, 4 ... */
#ifdef ZC_HAVE_AVX

#define SHIFT_AND_ADD(BITS, x, by)                                                               \
    _mm512_add_epi##BITS(x, _mm512_alignr_epi##BITS(x, _mm512_setzero_si512(), 512 / BITS - (by)))

#define STAMP_WIDE_VECTORS(BITS)                                                                 \
    ZC_AVX512 static size_t decode_avx512_##BITS(char *dst, const char *src, size_t n)           \
    {                                                                                            \
        const size_t whole = n - n % (512 / BITS);                                               \
        const __m512i last = _mm512_set1_epi##BITS(512 / BITS - 1);                              \
        __m512i sum = _mm512_setzero_si512();                                                    \
        for (size_t i = 0; i < whole * BITS / 8; i += 64) {                                      \
            __m512i x = _mm512_loadu_si512((const void *)(src + i));                             \
            x = SHIFT_AND_ADD(BITS, x, 1);                                                       \
            x = SHIFT_AND_ADD(BITS, x, 2);                                                       \
            x = SHIFT_AND_ADD(BITS, x, 4);                                                       \
            if (BITS == 32) {                                                                    \
                x = SHIFT_AND_ADD(BITS, x, 256 / BITS);                                          \
            }                                                                                    \
            _mm512_storeu_si512((void *)(dst + i), _mm512_add_epi##BITS(x, sum));                \
            sum = _mm512_add_epi##BITS(sum, _mm512_permutexvar_epi##BITS(last, x));              \
        }                                                                                        \
        return whole;                                                                            \
    }

STAMP_WIDE_VECTORS(32)
STAMP_WIDE_VECTORS(64)

#endif

static size_t decode_vectors(char *dst, const char *src, size_t n, int bits)
{
#ifdef ZC_HAVE_AVX
    if (bits >= 32 && (zc_cpu_features() & ZC_CPU_AVX512)) {
        return bits == 32 ? decode_avx512_32(dst, src, n) : decode_avx512_64(dst, src, n);
    }
#endif
#ifdef ZC_HAVE_V16
    if (!ZC_BIG_ENDIAN && (zc_cpu_features() & ZC_V16_CPU)) {
        switch (bits) {
        case 8: return decode_vectors_8(dst, src, n);
        case 16: return decode_vectors_16(dst, src, n);
        case 32: return decode_vectors_32(dst, src, n);
        default: return 0;
        }
    }
#endif
    (void)dst, (void)src, (void)n, (void)bits;
    return 0;
}

#define STAMP_INT_DECODE(BITS, TYPE)                                                             \
    static void decode_strided_##BITS(char *dst, int64_t ds, const char *src, int64_t ss,        \
                                      int64_t n)                                                 \
    {                                                                                            \
        const int64_t size = sizeof(TYPE);                                                       \
        int64_t done = 0;                                                                        \
        if (ds == size && ss == size) {                                                          \
            done = (int64_t)decode_vectors(dst, src, (size_t)n, BITS);                           \
        }                                                                                        \
        const TYPE sum = done > 0 ? load_##BITS(dst + (done - 1) * size) : (TYPE)0;              \
        decode_##BITS(dst + done * ds, ds, src + done * ss, ss, n - done, sum);                  \
    }

STAMP_INT_DECODE(8, uint8_t)
STAMP_INT_DECODE(16, uint16_t)
STAMP_INT_DECODE(32, uint32_t)
STAMP_INT_DECODE(64, uint64_t)

/* ---- by kind --------------------------------------------------------------------------------- */

typedef void (*delta_fn)(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n);

static const struct {
    int64_t size;
    delta_fn encode;
    delta_fn decode;
} kinds[] = {
    [ZC_DELTA_INT8] = {1, encode_strided_8, decode_strided_8},
    [ZC_DELTA_INT16] = {2, encode_strided_16, decode_strided_16},
    [ZC_DELTA_INT32] = {4, encode_strided_32, decode_strided_32},
    [ZC_DELTA_INT64] = {8, encode_strided_64, decode_strided_64},
    [ZC_DELTA_FLOAT32] = {4, encode_strided_f32, decode_strided_f32},
    [ZC_DELTA_FLOAT64] = {8, encode_strided_f64, decode_strided_f64},
};

void zc_delta_encode_strided(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n,
                             zc_delta_kind kind)
{
    if (n > 0) {
        kinds[kind].encode(dst, dst_stride, src, src_stride, (int64_t)n);
    }
}

void zc_delta_decode_strided(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n,
                             zc_delta_kind kind)
{
    if (n > 0) {
        kinds[kind].decode(dst, dst_stride, src, src_stride, (int64_t)n);
    }
}

void zc_delta_encode(void *dst, const void *src, size_t n, zc_delta_kind kind)
{
    zc_delta_encode_strided(dst, kinds[kind].size, src, kinds[kind].size, n, kind);
}

void zc_delta_decode(void *dst, const void *src, size_t n, zc_delta_kind kind)
{
    zc_delta_decode_strided(dst, kinds[kind].size, src, kinds[kind].size, n, kind);
}
