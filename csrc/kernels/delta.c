/* SPDX-License-Identifier: MIT
 *
 * Encoding is a loop that compilers vectorise.  Decoding is a chain of additions; for integers it is shortened by sums
 * within vectors, after which only one addition for each vector is left in the chain.  What delta_vectors.c does not do,
 * because the CPU has no such vectors or the numbers do not fill one, is done here.
 */
#include "kernels/delta.h"

#include <string.h>

#include "base/assert.h"
#include "kernels/delta_vectors.h"
#include "kernels/byte_order.h"

/* ---- any stride ------------------------------------------------------------------------------ */

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
    /* A number lies before src. */                                                              \
    ZC_INLINE void differences_##NAME(char *restrict dst, int64_t ds, const char *restrict src, int64_t ss, \
                                      int64_t n)                                                 \
    {                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                        \
            const char *const p = src + i * ss;                                                  \
            store_##NAME(dst + i * ds, (TYPE)(load_##NAME(p) - load_##NAME(p - ss)));            \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_INLINE void decode_##NAME(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n,  \
                                 TYPE sum)                                                       \
    {                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                        \
            sum = (TYPE)(sum + load_##NAME(src + i * ss));                                       \
            store_##NAME(dst + i * ds, sum);                                                     \
        }                                                                                        \
    }

STAMP(8, uint8_t)
STAMP(16, uint16_t)
STAMP(32, uint32_t)
STAMP(64, uint64_t)
STAMP(f32, float)
STAMP(f64, double)

/* Numbers up to the first one at a multiple of a vector's size, at most n; vectors are best stored there. */
static int64_t until_aligned(const void *p, int64_t size, int64_t n)
{
    const int64_t count = (int64_t)((32 - (uintptr_t)p % 32) % 32) / size;

    return count < n ? count : n;
}

#define STAMP_ENCODE(NAME, TYPE, KIND)                                                           \
    static void encode_strided_##NAME(char *dst, int64_t ds, const char *src, int64_t ss,        \
                                      int64_t n)                                                 \
    {                                                                                            \
        const int64_t size = sizeof(TYPE);                                                       \
        store_##NAME(dst, load_##NAME(src));                                                     \
        if (ds != size || ss != size) {                                                          \
            differences_##NAME(dst + ds, ds, src + ss, ss, n - 1);                               \
            return;                                                                              \
        }                                                                                        \
        int64_t done = 1 + until_aligned(dst + size, size, n - 1);                               \
        differences_##NAME(dst + size, size, src + size, size, done - 1);                        \
        done += (int64_t)zc_delta_encode_vectors(dst + done * size, src + done * size, (size_t)(n - done), KIND); \
        differences_##NAME(dst + done * size, size, src + done * size, size, n - done);          \
    }

STAMP_ENCODE(8, uint8_t, ZC_DELTA_INT8)
STAMP_ENCODE(16, uint16_t, ZC_DELTA_INT16)
STAMP_ENCODE(32, uint32_t, ZC_DELTA_INT32)
STAMP_ENCODE(64, uint64_t, ZC_DELTA_INT64)
STAMP_ENCODE(f32, float, ZC_DELTA_FLOAT32)
STAMP_ENCODE(f64, double, ZC_DELTA_FLOAT64)

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

/* Decode whole vectors and return the number of decoded numbers.  The last sum is stored before what follows. */
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

/* Whole vectors of a CPU that has no larger ones; how many numbers these were. */
static size_t decode_short_vectors(char *dst, const char *src, size_t n, int bits)
{
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

/* The last of the sums that end before p, if any have been made. */
#define LAST(BITS, p, done) ((done) > 0 ? load_##BITS((p) - BITS / 8) : 0)

#define STAMP_INT_DECODE(BITS, TYPE)                                                             \
    static void decode_dense_##BITS(char *dst, const char *src, int64_t n)                       \
    {                                                                                            \
        const int64_t size = sizeof(TYPE);                                                       \
        int64_t done = until_aligned(dst, size, n);                                              \
        decode_##BITS(dst, size, src, size, done, 0);                                            \
        done += (int64_t)zc_delta_decode_vectors(dst + done * size, size, src + done * size, size, false, \
                                                 (size_t)(n - done), LAST(BITS, dst + done * size, done)); \
        decode_##BITS(dst + done * size, size, src + done * size, size, n - done,                \
                      LAST(BITS, dst + done * size, done));                                      \
    }                                                                                            \
                                                                                                 \
    static void decode_strided_##BITS(char *dst, int64_t ds, const char *src, int64_t ss,        \
                                      int64_t n)                                                 \
    {                                                                                            \
        const int64_t size = sizeof(TYPE);                                                       \
        const bool dense = ds == size && ss == size;                                             \
        if (dense && (zc_cpu_features() & ZC_CPU_AVX2)) {                                        \
            decode_dense_##BITS(dst, src, n);                                                    \
            return;                                                                              \
        }                                                                                        \
        const int64_t done = dense ? (int64_t)decode_short_vectors(dst, src, (size_t)n, BITS) : 0; \
        decode_##BITS(dst + done * ds, ds, src + done * ss, ss, n - done, LAST(BITS, dst + done * ds, done)); \
    }

STAMP_INT_DECODE(8, uint8_t)
STAMP_INT_DECODE(16, uint16_t)
STAMP_INT_DECODE(32, uint32_t)
STAMP_INT_DECODE(64, uint64_t)

/* ---- integers stored as smaller ones --------------------------------------------------------- */

#define STAMP_NARROW(BITS, TO)                                                                   \
    static void narrow_##BITS##_##TO(char *restrict dst, const char *restrict src, size_t n)     \
    {                                                                                            \
        const size_t from = BITS / 8, to = TO / 8;                                               \
        for (size_t i = 0; i < n; i++) {                                                         \
            const char *const p = src + i * from;                                                \
            store_##TO(dst + i * to, (uint##TO##_t)(load_##BITS(p) - load_##BITS(p - from)));    \
        }                                                                                        \
    }

#define STAMP_WIDEN(BITS, TO)                                                                    \
    static void widen_##BITS##_##TO(char *restrict dst, const char *restrict src, size_t n, bool is_signed, \
                                    uint64_t sum)                                                \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            const uint##BITS##_t x = load_##BITS(src + i * (BITS / 8));                          \
            sum += is_signed ? (uint64_t)(int##BITS##_t)x : x;                                   \
            store_##TO(dst + i * (TO / 8), (uint##TO##_t)sum);                                   \
        }                                                                                        \
    }

#define STAMP_PAIR(BITS, TO)                                                                     \
    STAMP_NARROW(TO, BITS)                                                                       \
    STAMP_WIDEN(BITS, TO)

STAMP_PAIR(8, 16)
STAMP_PAIR(8, 32)
STAMP_PAIR(8, 64)
STAMP_PAIR(16, 32)
STAMP_PAIR(16, 64)
STAMP_PAIR(32, 64)

typedef void (*narrow_fn)(char *restrict dst, const char *restrict src, size_t n);
typedef void (*widen_fn)(char *restrict dst, const char *restrict src, size_t n, bool is_signed, uint64_t sum);

static size_t log_of(size_t size)
{
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

/* A number in the machine's byte order, cut or filled up with zeros. */
static uint64_t load_any(const char *p, size_t size)
{
    return size == 1 ? load_8(p) : size == 2 ? load_16(p) : size == 4 ? load_32(p) : load_64(p);
}

/* For assertions. */
static inline bool is_word(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

void zc_delta_encode_narrow(void *dst, size_t to, const void *src, size_t from, size_t n, bool first)
{
    zc_assert(is_word(to) && is_word(from) && zc_is_apart(dst, n * to, src, n * from));

    static const narrow_fn loops[4][4] = {           /* [log2 of from][log2 of to] */
        {NULL},
        {narrow_16_8},
        {narrow_32_8, narrow_32_16},
        {narrow_64_8, narrow_64_16, narrow_64_32},
    };
    const narrow_fn narrow = loops[log_of(from)][log_of(to)];
    const char *const numbers = src;
    char *const made = dst;
    size_t done = 0;

    if (n == 0) {
        return;
    }
    if (first) {
        char pair[16] = {0};
        memcpy(pair + from, numbers, from);
        narrow(made, pair + from, 1);
        done = 1;
    }
    const size_t unaligned = (size_t)until_aligned(numbers + done * from, (int64_t)from, (int64_t)(n - done));
    narrow(made + done * to, numbers + done * from, unaligned);
    done += unaligned;
    done += zc_delta_narrow_vectors(made + done * to, to, numbers + done * from, from, n - done);
    narrow(made + done * to, numbers + done * from, n - done);
}

void zc_delta_decode_narrow(void *dst, size_t to, const void *src, size_t from, bool is_signed, size_t n, bool first)
{
    zc_assert(is_word(to) && is_word(from) && zc_is_apart(dst, n * to, src, n * from));

    static const widen_fn loops[4][4] = {
        {NULL, widen_8_16, widen_8_32, widen_8_64},
        {NULL, NULL, widen_16_32, widen_16_64},
        {NULL, NULL, NULL, widen_32_64},
        {NULL},
    };
    const widen_fn widen = loops[log_of(from)][log_of(to)];
    const char *const differences = src;
    char *const sums = dst;
    uint64_t sum = first ? 0 : load_any(sums - to, to);
    size_t done = (size_t)until_aligned(sums, (int64_t)to, (int64_t)n);

    widen(sums, differences, done, is_signed, sum);
    sum = done > 0 ? load_any(sums + (done - 1) * to, to) : sum;
    done += zc_delta_decode_vectors(sums + done * to, to, differences + done * from, from, is_signed, n - done, sum);
    sum = done > 0 ? load_any(sums + (done - 1) * to, to) : sum;
    widen(sums + done * to, differences + done * from, n - done, is_signed, sum);
}

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
