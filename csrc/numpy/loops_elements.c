/* SPDX-License-Identifier: MIT */
#include <fenv.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/chunk_grid.h"
#include "numpy/loops.h"

/* Might n items at a and n items at b have bytes in common? */
static bool may_overlap(const char *a, int64_t a_stride, const char *b, int64_t b_stride, int64_t n, size_t size)
{
    const int64_t a_end = (n - 1) * a_stride;
    const int64_t b_end = (n - 1) * b_stride;
    const uintptr_t a_low = (uintptr_t)a + (uintptr_t)(a_end < 0 ? a_end : 0);
    const uintptr_t b_low = (uintptr_t)b + (uintptr_t)(b_end < 0 ? b_end : 0);
    const uintptr_t a_high = (uintptr_t)a + (uintptr_t)(a_end > 0 ? a_end : 0) + size;
    const uintptr_t b_high = (uintptr_t)b + (uintptr_t)(b_end > 0 ? b_end : 0) + size;

    return a_low < b_high && b_low < a_high;
}

static void reverse(char *bytes, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const char byte = bytes[i];
        bytes[i] = bytes[n - 1 - i];
        bytes[n - 1 - i] = byte;
    }
}

/* NumPy lets operands overlap where no item is written before it has been read, first items first; it takes an item
 * for something that is read as a whole. */
static void swap_one_by_one(int64_t n, char *dst, int64_t to, const char *src, int64_t from, const zc_item *item)
{
    for (int64_t k = 0; k < n; k++) {
        char *const here = dst + k * to;

        memmove(here, src + k * from, item->size);
        if (item->word <= 8) {
            zc_items_copy(1, here, here, item);
            continue;
        }
        for (size_t i = 0; i < item->size; i += item->word) {
            reverse(here + i, item->word);
        }
    }
}

zc_status zc_loop_byteswap(char *const *data, const intptr_t *dims, const intptr_t *strides,
                           const zc_item *item, zc_error *err)
{
    const int64_t n = dims[0];
    const int64_t to = strides[1];
    const int64_t from = strides[0];

    (void)err;
    const bool in_place = data[0] == data[1] && to == from;

    if (n < 1 || (in_place && item->word == 0)) {
        return ZC_OK;
    }
    if (item->word > 8 || (!in_place && may_overlap(data[0], from, data[1], to, n, item->size))) {
        swap_one_by_one(n, data[1], to, data[0], from, item);
    } else if (to == from && from == (int64_t)item->size) {
        zc_items_copy((size_t)n, data[1], data[0], item);
    } else {
        zc_region_copy(1, &n, data[1], &to, data[0], &from, item);
    }
    return ZC_OK;
}

#define COLUMN(k) ((zc_column){data[k], strides[k]})

#define STAMP(KIND)                                                                              \
    void zc_loop_chunk_index_##KIND(char **data, const intptr_t *dims, const intptr_t *strides,  \
                                    void *unused)                                                \
    {                                                                                            \
        (void)unused;                                                                            \
        if (!zc_chunk_index_##KIND((size_t)dims[0], COLUMN(0), COLUMN(1), COLUMN(2), COLUMN(3))) { \
            feraiseexcept(FE_DIVBYZERO);                                                         \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    void zc_loop_chunk_count_##KIND(char **data, const intptr_t *dims, const intptr_t *strides,  \
                                    void *unused)                                                \
    {                                                                                            \
        (void)unused;                                                                            \
        if (!zc_chunk_count_##KIND((size_t)dims[0], COLUMN(0), COLUMN(1), COLUMN(2))) {          \
            feraiseexcept(FE_DIVBYZERO);                                                         \
        }                                                                                        \
    }

STAMP(i64)
STAMP(u64)

/* Signed and unsigned: what comes of the first has its type, what is left that of the length. */
static bool index_signed(int64_t x, uint64_t length, int64_t *chunk, uint64_t *offset)
{
    const uint64_t from_end = ~(uint64_t)x;               /* -1 - x of what is negative */

    *chunk = 0;
    *offset = 0;
    if (length == 0) {
        return false;
    }
    *chunk = x >= 0 ? (int64_t)((uint64_t)x / length) : -1 - (int64_t)(from_end / length);
    *offset = x >= 0 ? (uint64_t)x % length : length - 1 - from_end % length;
    return true;
}

static bool index_unsigned(uint64_t x, int64_t length, uint64_t *chunk, int64_t *offset)
{
    *chunk = length < 1 ? 0 : x / (uint64_t)length;
    *offset = length < 1 ? 0 : (int64_t)(x % (uint64_t)length);
    return length >= 1;
}

static bool count_signed(int64_t x, uint64_t length, int64_t *count)
{
    uint64_t rest;

    if (length == 0 || x <= 0) {
        *count = length == 0 ? 0 : (int64_t)(0 - (0 - (uint64_t)x) / length);
        return length != 0;
    }
    return index_signed(x - 1, length, count, &rest) && ++*count > 0;
}

static bool count_unsigned(uint64_t x, int64_t length, uint64_t *count)
{
    *count = length < 1 || x == 0 ? 0 : (x - 1) / (uint64_t)length + 1;
    return length >= 1;
}

#define ITEM(TYPE, k) (TYPE *)(void *)(data[k] + i * strides[k])

#define EACH(CALL)                                                                               \
    do {                                                                                         \
        bool ok = true;                                                                          \
        for (intptr_t i = 0; i < dims[0]; i++) {                                                 \
            ok = CALL && ok;                                                                     \
        }                                                                                        \
        if (!ok) {                                                                               \
            feraiseexcept(FE_DIVBYZERO);                                                         \
        }                                                                                        \
    } while (0)

void zc_loop_chunk_index_i64_u64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused)
{
    (void)unused;
    EACH(index_signed(*ITEM(int64_t, 0), *ITEM(uint64_t, 1), ITEM(int64_t, 2), ITEM(uint64_t, 3)));
}

void zc_loop_chunk_index_u64_i64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused)
{
    (void)unused;
    EACH(index_unsigned(*ITEM(uint64_t, 0), *ITEM(int64_t, 1), ITEM(uint64_t, 2), ITEM(int64_t, 3)));
}

void zc_loop_chunk_count_i64_u64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused)
{
    (void)unused;
    EACH(count_signed(*ITEM(int64_t, 0), *ITEM(uint64_t, 1), ITEM(int64_t, 2)));
}

void zc_loop_chunk_count_u64_i64(char **data, const intptr_t *dims, const intptr_t *strides, void *unused)
{
    (void)unused;
    EACH(count_unsigned(*ITEM(uint64_t, 0), *ITEM(int64_t, 1), ITEM(uint64_t, 2)));
}
