/* SPDX-License-Identifier: MIT
 *
 * One chunk length for all indices is the usual case: the division then is a multiplication by an inverse
 * (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994, figure 4.1).
 */
#include "kernels/chunk_grid.h"

#include "base/cpu.h"

typedef struct divisor {
    uint64_t d;
    uint64_t inverse;
    uint32_t shift1;
    uint32_t shift2;
} divisor;

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

static divisor divisor_of(uint64_t d)
{
    uint32_t log = 0;                    /* 2 ** log >= d */

    while (log < 64 && UINT64_C(1) << log < d) {
        log++;
    }
    const uint64_t rest = (log < 64 ? UINT64_C(1) << log : 0) - d;
    const uint64_t inverse = (uint64_t)(((wide)rest << 64) / d) + 1;

    return (divisor){d, inverse, log > 0, log > 0 ? log - 1 : 0};
}

ZC_INLINE uint64_t divide(uint64_t x, divisor by)
{
    const uint64_t high = (uint64_t)((wide)by.inverse * x >> 64);

    return (high + ((x - high) >> by.shift1)) >> by.shift2;
}

#else

static divisor divisor_of(uint64_t d)
{
    return (divisor){.d = d};
}

ZC_INLINE uint64_t divide(uint64_t x, divisor by)
{
    return x / by.d;
}

#endif

/* Floor of x / by for a signed x: the bits of x and of the quotient are inverted for x < 0. */
ZC_INLINE int64_t floor_divide_i64(int64_t x, divisor by)
{
    const uint64_t sign = x < 0 ? UINT64_MAX : 0;

    return (int64_t)(divide((uint64_t)x ^ sign, by) ^ sign);
}

ZC_INLINE uint64_t floor_divide_u64(uint64_t x, divisor by)
{
    return divide(x, by);
}

ZC_INLINE int64_t slow_divide_i64(int64_t x, int64_t d)
{
    return x < 0 ? -1 - (-1 - x) / d : x / d;
}

ZC_INLINE uint64_t slow_divide_u64(uint64_t x, uint64_t d)
{
    return x / d;
}

#define AT(TYPE, column, k) ((TYPE *)(void *)((column).data + (int64_t)(k) * (column).stride))

/* COUNT: whether `second` gets offsets, or `first` the number of chunks that are begun. */
#define STAMP_LOOPS(NAME, TYPE, COUNT)                                                           \
    ZC_INLINE void put_##NAME(TYPE x, TYPE length, TYPE chunk, TYPE *first, TYPE *second)        \
    {                                                                                            \
        /* unsigned: the start of the first chunk may lie below the smallest integer */          \
        const TYPE offset = (TYPE)((uint64_t)x - (uint64_t)chunk * (uint64_t)length);            \
        *first = COUNT ? chunk + (offset != 0) : chunk;                                          \
        if (!COUNT) {                                                                            \
            *second = offset;                                                                    \
        }                                                                                        \
    }

STAMP_LOOPS(index_i64, int64_t, 0)
STAMP_LOOPS(index_u64, uint64_t, 0)
STAMP_LOOPS(count_i64, int64_t, 1)
STAMP_LOOPS(count_u64, uint64_t, 1)

#define STAMP_KERNEL(NAME, KIND, TYPE)                                                           \
    ZC_INLINE void fixed_##NAME(size_t n, zc_column x, TYPE length, zc_column first,             \
                                zc_column second)                                                \
    {                                                                                            \
        const divisor by = divisor_of((uint64_t)length);                                         \
        for (size_t k = 0; k < n; k++) {                                                         \
            const TYPE value = *AT(TYPE, x, k);                                                  \
            put_##NAME(value, length, floor_divide_##KIND(value, by), AT(TYPE, first, k),        \
                       AT(TYPE, second, k));                                                     \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_INLINE bool each_##NAME(size_t n, zc_column x, zc_column length, zc_column first,         \
                               zc_column second)                                                 \
    {                                                                                            \
        bool good = true;                                                                        \
        for (size_t k = 0; k < n; k++) {                                                         \
            const TYPE given = *AT(TYPE, length, k);                                             \
            const TYPE d = given < 1 ? 1 : given;                                                \
            const TYPE value = given < 1 ? 0 : *AT(TYPE, x, k);                                  \
            put_##NAME(value, d, slow_divide_##KIND(value, d), AT(TYPE, first, k),               \
                       AT(TYPE, second, k));                                                     \
            good = good && given >= 1;                                                           \
        }                                                                                        \
        return good;                                                                             \
    }                                                                                            \
                                                                                                 \
    static bool run_##NAME(size_t n, zc_column x, zc_column length, zc_column first,             \
                           zc_column second)                                                     \
    {                                                                                            \
        const bool fixed = n > 1 && length.stride == 0 && *AT(TYPE, length, 0) >= 1;             \
        if (!fixed) {                                                                            \
            return each_##NAME(n, x, length, first, second);                                     \
        }                                                                                        \
        fixed_##NAME(n, x, *AT(TYPE, length, 0), first, second);                                 \
        return true;                                                                             \
    }

STAMP_KERNEL(index_i64, i64, int64_t)
STAMP_KERNEL(index_u64, u64, uint64_t)
STAMP_KERNEL(count_i64, i64, int64_t)
STAMP_KERNEL(count_u64, u64, uint64_t)

bool zc_chunk_index_i64(size_t n, zc_column index, zc_column length, zc_column chunk, zc_column offset)
{
    return run_index_i64(n, index, length, chunk, offset);
}

bool zc_chunk_index_u64(size_t n, zc_column index, zc_column length, zc_column chunk, zc_column offset)
{
    return run_index_u64(n, index, length, chunk, offset);
}

bool zc_chunk_count_i64(size_t n, zc_column extent, zc_column length, zc_column count)
{
    return run_count_i64(n, extent, length, count, count);
}

bool zc_chunk_count_u64(size_t n, zc_column extent, zc_column length, zc_column count)
{
    return run_count_u64(n, extent, length, count, count);
}
