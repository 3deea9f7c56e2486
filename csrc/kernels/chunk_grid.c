/* SPDX-License-Identifier: MIT
 *
 * One chunk length for all indices is the usual case: the division then is a multiplication by an inverse
 * (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).  With
 * 2^(l-1) < d <= 2^l and the inverse m = floor(2^(N+l) / d) + 1, floor(x / d) = floor(m * x / 2^(N+l)) for
 * all x < 2^N.  For N = 63 m fits into 64 bits; for N = 64 its highest bit, 2^64, is added apart.
 *
 * Where all numbers are less than 2^51, vectors of floats do: x times the float nearest to 1 / d, rounded to an
 * integer q, is off by less than one from x / d, and the sign of x - q * d, which is exact, shows by how much.
 */
#include "kernels/chunk_grid.h"

#include "kernels/byte_order.h"

typedef struct divisor {
    uint64_t d;                          /* 2 or more */
    uint64_t inverse;
    uint32_t shift;                      /* l - 1 */
} divisor;

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

static uint32_t log_of(uint64_t d)
{
    uint32_t log = 0;

    while (log < 64 && UINT64_C(1) << log < d) {
        log++;
    }
    return log;
}

ZC_INLINE uint64_t high_product(uint64_t a, uint64_t b)
{
    return (uint64_t)((wide)a * b >> 64);
}

static divisor divisor_i64(uint64_t d)
{
    const uint32_t log = log_of(d);

    return (divisor){d, (uint64_t)(((wide)1 << (63 + log)) / d) + 1, log - 1};
}

/* x <= 2^63; at 2^63 itself the error of the inverse is still too small to matter. */
ZC_INLINE uint64_t divide_i64(uint64_t x, divisor by)
{
    return high_product(by.inverse, x) >> by.shift;
}

static divisor divisor_u64(uint64_t d)
{
    const uint32_t log = log_of(d);
    const uint64_t rest = (log < 64 ? UINT64_C(1) << log : 0) - d;

    return (divisor){d, (uint64_t)(((wide)rest << 64) / d) + 1, log - 1};
}

ZC_INLINE uint64_t divide_u64(uint64_t x, divisor by)
{
    const uint64_t high = high_product(by.inverse, x);

    return (high + ((x - high) >> 1)) >> by.shift;
}

#else

#define divisor_i64(length) ((divisor){.d = (length)})
#define divisor_u64(length) ((divisor){.d = (length)})
#define divide_i64(x, by) ((x) / (by).d)
#define divide_u64(x, by) ((x) / (by).d)

#endif

/* All bits set if the condition holds. */
#define MASK_IF(condition) ((condition) ? UINT64_MAX : 0)

#define AT(TYPE, column, k) ((TYPE *)(void *)((column).data + (int64_t)(k) * (column).stride))

/* Floor and ceiling over all 64-bit integers.  For x < 0 the floor of x / d is that of ~x / d, inverted.  The
 * ceiling is one more than the floor of (x - 1) / d for x > 0, and else minus the floor of -x / d. */
#define STAMP_ROUNDING(KIND, TYPE)                                                               \
    ZC_INLINE TYPE floor_##KIND(TYPE x, divisor by)                                              \
    {                                                                                            \
        const uint64_t negative = MASK_IF(!(x > 0) && x != 0);                                   \
        return (TYPE)(divide_##KIND((uint64_t)x ^ negative, by) ^ negative);                     \
    }                                                                                            \
                                                                                                 \
    ZC_INLINE TYPE ceiling_##KIND(TYPE x, divisor by)                                            \
    {                                                                                            \
        const uint64_t rest = MASK_IF(!(x > 0));                                                 \
        return (TYPE)((divide_##KIND(((uint64_t)x - 1) ^ rest, by) ^ rest) + 1);                 \
    }

STAMP_ROUNDING(i64, int64_t)
STAMP_ROUNDING(u64, uint64_t)

/* Unsigned: the start of the first chunk may lie below the smallest integer. */
#define OFFSET(TYPE, x, chunk, d) ((TYPE)((uint64_t)(x) - (uint64_t)(chunk) * (uint64_t)(d)))

/* ---- vectors --------------------------------------------------------------------------------- */

/* Return how many of the first numbers were done; index and count stop before four if one of them is too large. */
#ifdef ZC_HAVE_AVX

#define FLOATS ZC_TARGET("avx2,fma")
#define TOO_LONG (UINT64_C(1) << 51)
#define SHIFTER 0x1.8p52                 /* added to a float less than 2^51, shows it as an integer in its low bits */

static bool have_floats(uint64_t d)
{
    const uint32_t wanted = ZC_CPU_AVX2 | ZC_CPU_FMA;

    return (zc_cpu_features() & wanted) == wanted && d < TOO_LONG;
}

FLOATS static inline __m256d to_floats(__m256i x)
{
    const __m256d shifter = _mm256_set1_pd(SHIFTER);

    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(x, _mm256_castpd_si256(shifter))), shifter);
}

FLOATS static inline __m256i to_integers(__m256d x)
{
    const __m256d shifter = _mm256_set1_pd(SHIFTER);

    return _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(x, shifter)), _mm256_castpd_si256(shifter));
}

/* Load four numbers; false if one is out of range.  Such a one is not converted: its bits may be those of a
 * signalling NaN, and NumPy would report the floating-point exception. */
FLOATS static inline bool load_floats(const char *p, bool has_sign, __m256d *x)
{
    const __m256i bias = _mm256_set1_epi64x(has_sign ? (long long)TOO_LONG : 0);
    const __m256i high = _mm256_set1_epi64x(-(long long)(has_sign ? 2 * TOO_LONG : TOO_LONG));
    const __m256i integers = _mm256_loadu_si256((const __m256i *)(const void *)p);

    if (!_mm256_testz_si256(_mm256_add_epi64(integers, bias), high)) {
        return false;
    }
    *x = to_floats(integers);
    return true;
}

/* The integer nearest to x / d (or one as near), and what x is more than it times d. */
FLOATS static inline __m256d nearest(__m256d x, __m256d d, __m256d inverse, __m256d *rest)
{
    const __m256d shifter = _mm256_set1_pd(SHIFTER);
    const __m256d q = _mm256_sub_pd(_mm256_add_pd(_mm256_mul_pd(x, inverse), shifter), shifter);

    *rest = _mm256_fnmadd_pd(q, d, x);
    return q;
}

FLOATS static size_t index_floats(size_t n, const char *from, uint64_t length, bool has_sign, char *chunk,
                                  char *offset)
{
    const __m256d d = _mm256_set1_pd((double)length), inverse = _mm256_set1_pd(1 / (double)length);
    const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1);
    size_t k = 0;
    __m256d x, rest;

    for (; k + 4 <= n && load_floats(from + 8 * k, has_sign, &x); k += 4) {
        const __m256d q = nearest(x, d, inverse, &rest);
        const __m256d above = _mm256_cmp_pd(rest, zero, _CMP_LT_OQ);
        const __m256d floor = _mm256_sub_pd(q, _mm256_and_pd(above, one));
        rest = _mm256_add_pd(rest, _mm256_and_pd(above, d));
        _mm256_storeu_si256((__m256i *)(void *)(chunk + 8 * k), to_integers(floor));
        _mm256_storeu_si256((__m256i *)(void *)(offset + 8 * k), to_integers(rest));
    }
    return k;
}

FLOATS static size_t count_floats(size_t n, const char *from, uint64_t length, bool has_sign, char *count)
{
    const __m256d d = _mm256_set1_pd((double)length), inverse = _mm256_set1_pd(1 / (double)length);
    const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1);
    size_t k = 0;
    __m256d x, rest;

    for (; k + 4 <= n && load_floats(from + 8 * k, has_sign, &x); k += 4) {
        const __m256d q = nearest(x, d, inverse, &rest);
        const __m256d below = _mm256_cmp_pd(rest, zero, _CMP_GT_OQ);
        _mm256_storeu_si256((__m256i *)(void *)(count + 8 * k),
                            to_integers(_mm256_add_pd(q, _mm256_and_pd(below, one))));
    }
    return k;
}

#else

#define have_floats(d) false
#define index_floats(...) ((size_t)0)
#define count_floats(...) ((size_t)0)

#endif

static size_t next_four(size_t n, size_t done)
{
    return n - done < 4 ? n - done : 4;
}

/* ---- columns --------------------------------------------------------------------------------- */

#define STAMP_KERNELS(KIND, TYPE)                                                                \
    ZC_INLINE void index_##KIND(size_t n, zc_column x, divisor by, zc_column chunk,              \
                                zc_column offset)                                                \
    {                                                                                            \
        for (size_t k = 0; k < n; k++) {                                                         \
            const TYPE value = *AT(TYPE, x, k);                                                  \
            const TYPE number = floor_##KIND(value, by);                                         \
            *AT(TYPE, chunk, k) = number;                                                        \
            *AT(TYPE, offset, k) = OFFSET(TYPE, value, number, by.d);                            \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_INLINE void count_##KIND(size_t n, zc_column x, divisor by, zc_column count)              \
    {                                                                                            \
        for (size_t k = 0; k < n; k++) {                                                         \
            *AT(TYPE, count, k) = ceiling_##KIND(*AT(TYPE, x, k), by);                           \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static void index_dense_##KIND(size_t n, char *x, divisor by, char *chunk, char *offset)     \
    {                                                                                            \
        const bool floats = have_floats(by.d);                                                   \
        for (size_t k = 0, part; k < n; k += part) {                                             \
            part = floats ? index_floats(n - k, x + 8 * k, by.d, (TYPE)-1 < 1, chunk + 8 * k,    \
                                         offset + 8 * k)                                         \
                          : 0;                                                                   \
            if (part == 0) {                                                                     \
                part = floats ? next_four(n, k) : n;                                             \
                index_##KIND(part, (zc_column){x + 8 * k, 8}, by, (zc_column){chunk + 8 * k, 8}, \
                             (zc_column){offset + 8 * k, 8});                                    \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static void count_dense_##KIND(size_t n, char *x, divisor by, char *count)                   \
    {                                                                                            \
        const bool floats = have_floats(by.d);                                                   \
        for (size_t k = 0, part; k < n; k += part) {                                             \
            part = floats ? count_floats(n - k, x + 8 * k, by.d, (TYPE)-1 < 1, count + 8 * k) : 0; \
            if (part == 0) {                                                                     \
                part = floats ? next_four(n, k) : n;                                             \
                count_##KIND(part, (zc_column){x + 8 * k, 8}, by, (zc_column){count + 8 * k, 8}); \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    /* The floor of x / d by the machine's own division. */                                      \
    ZC_INLINE TYPE plain_floor_##KIND(TYPE x, TYPE d)                                            \
    {                                                                                            \
        const TYPE toward_zero = x / d;                                                          \
        return toward_zero - (x % d != 0 && !(x > 0) ? 1 : 0);                                   \
    }                                                                                            \
                                                                                                 \
    /* Chunk and offset; both are 0, and *good is false, where the length is none. */             \
    ZC_INLINE TYPE divided_##KIND(TYPE x, TYPE d, TYPE *rest, bool *good)                        \
    {                                                                                            \
        const TYPE number = d > 0 ? plain_floor_##KIND(x, d) : 0;                                \
        *rest = d > 0 ? OFFSET(TYPE, x, number, d) : 0;                                          \
        *good = *good && d > 0;                                                                  \
        return number;                                                                           \
    }                                                                                            \
                                                                                                 \
    bool zc_chunk_index_##KIND(size_t n, zc_column x, zc_column length, zc_column chunk,         \
                               zc_column offset)                                                 \
    {                                                                                            \
        if (n > 1 && length.stride == 0 && *AT(TYPE, length, 0) > 1) {                           \
            const divisor by = divisor_##KIND((uint64_t)*AT(TYPE, length, 0));                   \
            if (x.stride == 8 && chunk.stride == 8 && offset.stride == 8) {                      \
                index_dense_##KIND(n, x.data, by, chunk.data, offset.data);                      \
            } else {                                                                             \
                index_##KIND(n, x, by, chunk, offset);                                           \
            }                                                                                    \
            return true;                                                                         \
        }                                                                                        \
        bool good = true;                                                                        \
        for (size_t k = 0; k < n; k++) {                                                         \
            TYPE rest;                                                                           \
            const TYPE number = divided_##KIND(*AT(TYPE, x, k), *AT(TYPE, length, k), &rest, &good); \
            *AT(TYPE, chunk, k) = number;                                                        \
            *AT(TYPE, offset, k) = rest;                                                         \
        }                                                                                        \
        return good;                                                                             \
    }                                                                                            \
                                                                                                 \
    bool zc_chunk_count_##KIND(size_t n, zc_column x, zc_column length, zc_column count)         \
    {                                                                                            \
        if (n > 1 && length.stride == 0 && *AT(TYPE, length, 0) > 1) {                           \
            const divisor by = divisor_##KIND((uint64_t)*AT(TYPE, length, 0));                   \
            if (x.stride == 8 && count.stride == 8) {                                            \
                count_dense_##KIND(n, x.data, by, count.data);                                   \
            } else {                                                                             \
                count_##KIND(n, x, by, count);                                                   \
            }                                                                                    \
            return true;                                                                         \
        }                                                                                        \
        bool good = true;                                                                        \
        for (size_t k = 0; k < n; k++) {                                                         \
            TYPE rest;                                                                           \
            const TYPE number = divided_##KIND(*AT(TYPE, x, k), *AT(TYPE, length, k), &rest, &good); \
            *AT(TYPE, count, k) = number + (rest != 0);                                          \
        }                                                                                        \
        return good;                                                                             \
    }

STAMP_KERNELS(i64, int64_t)
STAMP_KERNELS(u64, uint64_t)
