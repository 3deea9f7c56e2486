/* SPDX-License-Identifier: MIT
 *
 * One chunk length for all indices is the usual case: the division then is a multiplication by an inverse
 * (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).  With
 * 2^(l-1) < d <= 2^l, an inverse m = floor(2^(N+l) / d) + 1 gives floor(x / d) = floor(m * x / 2^(N+l)) for
 * all x < 2^N.  For N = 63 m fits into 64 bits; for N = 64 its highest bit, 2^64, is added apart.
 */
#include "kernels/chunk_grid.h"

#include "base/cpu.h"

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

#define divisor_i64(d) ((divisor){.d = (d)})
#define divisor_u64(d) ((divisor){.d = (d)})
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
    /* The floor of x / d by the machine's own division. */                                      \
    ZC_INLINE TYPE plain_floor_##KIND(TYPE x, TYPE d)                                            \
    {                                                                                            \
        const TYPE toward_zero = x / d;                                                          \
        return toward_zero - (x % d != 0 && !(x > 0) ? 1 : 0);                                   \
    }                                                                                            \
                                                                                                 \
    bool zc_chunk_index_##KIND(size_t n, zc_column x, zc_column length, zc_column chunk,         \
                               zc_column offset)                                                 \
    {                                                                                            \
        if (n > 1 && length.stride == 0 && *AT(TYPE, length, 0) > 1) {                           \
            const divisor by = divisor_##KIND((uint64_t)*AT(TYPE, length, 0));                   \
            if (x.stride == 8 && chunk.stride == 8 && offset.stride == 8) {                      \
                index_##KIND(n, (zc_column){x.data, 8}, by, (zc_column){chunk.data, 8},          \
                             (zc_column){offset.data, 8});                                       \
            } else {                                                                             \
                index_##KIND(n, x, by, chunk, offset);                                           \
            }                                                                                    \
            return true;                                                                         \
        }                                                                                        \
        bool good = true;                                                                        \
        for (size_t k = 0; k < n; k++) {                                                         \
            const TYPE d = *AT(TYPE, length, k);                                                 \
            const TYPE value = d > 0 ? *AT(TYPE, x, k) : 0;                                      \
            const TYPE number = d > 0 ? plain_floor_##KIND(value, d) : 0;                        \
            *AT(TYPE, chunk, k) = number;                                                        \
            *AT(TYPE, offset, k) = OFFSET(TYPE, value, number, d);                               \
            good = good && d > 0;                                                                \
        }                                                                                        \
        return good;                                                                             \
    }                                                                                            \
                                                                                                 \
    bool zc_chunk_count_##KIND(size_t n, zc_column x, zc_column length, zc_column count)         \
    {                                                                                            \
        if (n > 1 && length.stride == 0 && *AT(TYPE, length, 0) > 1) {                           \
            const divisor by = divisor_##KIND((uint64_t)*AT(TYPE, length, 0));                   \
            if (x.stride == 8 && count.stride == 8) {                                            \
                count_##KIND(n, (zc_column){x.data, 8}, by, (zc_column){count.data, 8});         \
            } else {                                                                             \
                count_##KIND(n, x, by, count);                                                   \
            }                                                                                    \
            return true;                                                                         \
        }                                                                                        \
        bool good = true;                                                                        \
        for (size_t k = 0; k < n; k++) {                                                         \
            const TYPE d = *AT(TYPE, length, k);                                                 \
            const TYPE value = d > 0 ? *AT(TYPE, x, k) : 0;                                      \
            const TYPE number = d > 0 ? plain_floor_##KIND(value, d) : 0;                        \
            *AT(TYPE, count, k) = number + (OFFSET(TYPE, value, number, d) != 0);                \
            good = good && d > 0;                                                                \
        }                                                                                        \
        return good;                                                                             \
    }

STAMP_KERNELS(i64, int64_t)
STAMP_KERNELS(u64, uint64_t)
