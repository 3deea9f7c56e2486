/* SPDX-License-Identifier: MIT */
#include "kernels/item_loops.h"

#include <string.h>

#include "kernels/byte_order.h"

/*
 * Both loops for one item type T and one in-register operation.  The three stride patterns with a constant
 * are those of plain reads, of plain writes and of a negative step.
 */
#define COPY_ONE(T, OP, to, from)                                                                \
    do {                                                                                         \
        T value_;                                                                                \
        memcpy(&value_, from, sizeof value_);                                                    \
        value_ = OP(value_);                                                                     \
        memcpy(to, &value_, sizeof value_);                                                      \
    } while (0)

#define STAMP_COPIES(NAME, T, OP)                                                                \
    static void strided_##NAME(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss,    \
                               const zc_item *item)                                              \
    {                                                                                            \
        const int64_t size = (int64_t)sizeof(T);                                                 \
        (void)item;                                                                              \
        if (ds == size && ss == -size) {                                                         \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + k * size, src - k * size);                                 \
            }                                                                                    \
        } else if (ds == size) {                                                                 \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + k * size, src + k * ss);                                   \
            }                                                                                    \
        } else if (ss == size) {                                                                 \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + k * ds, src + k * size);                                   \
            }                                                                                    \
        } else {                                                                                 \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + k * ds, src + k * ss);                                     \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static void indexed_##NAME(int64_t n, char *dst, int64_t ds, const int64_t *dt,              \
                               const char *src, int64_t ss, const int64_t *st,                   \
                               const zc_item *item)                                              \
    {                                                                                            \
        (void)item;                                                                              \
        if (dt != NULL && st != NULL) {                                                          \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + dt[k], src + st[k]);                                       \
            }                                                                                    \
        } else if (st != NULL) {                                                                 \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + k * ds, src + st[k]);                                      \
            }                                                                                    \
        } else if (dt != NULL) {                                                                 \
            for (int64_t k = 0; k < n; k++) {                                                    \
                COPY_ONE(T, OP, dst + dt[k], src + k * ss);                                      \
            }                                                                                    \
        } else {                                                                                 \
            strided_##NAME(n, dst, ds, src, ss, item);                                           \
        }                                                                                        \
    }

STAMP_COPIES(1, uint8_t, zc_swap8_0)
STAMP_COPIES(2, uint16_t, zc_swap16_0)
STAMP_COPIES(2_swap2, uint16_t, zc_swap16_2)
STAMP_COPIES(4, uint32_t, zc_swap32_0)
STAMP_COPIES(4_swap2, uint32_t, zc_swap32_2)
STAMP_COPIES(4_swap4, uint32_t, zc_swap32_4)
STAMP_COPIES(8, uint64_t, zc_swap64_0)
STAMP_COPIES(8_swap2, uint64_t, zc_swap64_2)
STAMP_COPIES(8_swap4, uint64_t, zc_swap64_4)
STAMP_COPIES(8_swap8, uint64_t, zc_swap64_8)
STAMP_COPIES(16, zc_pair, zc_swap128_0)
STAMP_COPIES(16_swap2, zc_pair, zc_swap128_2)
STAMP_COPIES(16_swap4, zc_pair, zc_swap128_4)
STAMP_COPIES(16_swap8, zc_pair, zc_swap128_8)

/*
 * Rows of no special size: two moves of a constant width which overlap in the middle cover every length from
 * that width to twice of it, without the call and the branches of memcpy on every row.
 */
#define STAMP_ROWS(WIDTH)                                                                        \
    static void rows_##WIDTH(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss,      \
                             size_t len)                                                         \
    {                                                                                            \
        const size_t tail = len - WIDTH;                                                         \
        for (int64_t k = 0; k < n; k++) {                                                        \
            memcpy(dst + k * ds, src + k * ss, WIDTH);                                           \
            memcpy(dst + k * ds + tail, src + k * ss + tail, WIDTH);                             \
        }                                                                                        \
    }

STAMP_ROWS(2)
STAMP_ROWS(4)
STAMP_ROWS(8)
STAMP_ROWS(16)
STAMP_ROWS(32)
STAMP_ROWS(64)

static void strided_rows(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss,
                         const zc_item *item)
{
    const size_t len = item->size;

    if (len > 128) {
        for (int64_t k = 0; k < n; k++) {
            memcpy(dst + k * ds, src + k * ss, len);
        }
    } else if (len > 64) {
        rows_64(n, dst, ds, src, ss, len);
    } else if (len > 32) {
        rows_32(n, dst, ds, src, ss, len);
    } else if (len > 16) {
        rows_16(n, dst, ds, src, ss, len);
    } else if (len > 8) {
        rows_8(n, dst, ds, src, ss, len);
    } else if (len > 4) {
        rows_4(n, dst, ds, src, ss, len);
    } else {
        rows_2(n, dst, ds, src, ss, len);       /* 3: sizes 1, 2 and 4 have loops of their own */
    }
}

static void strided_swapped_rows(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss,
                                 const zc_item *item)
{
    for (int64_t k = 0; k < n; k++) {
        zc_swap_words(dst + k * ds, src + k * ss, item->size, item->word);
    }
}

static void strided_fields(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss,
                           const zc_item *item)
{
    const int64_t size = (int64_t)item->size;

    if (ds == size && ss == size) {
        zc_items_copy((size_t)n, dst, src, item);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        zc_items_copy(1, dst + k * ds, src + k * ss, item);
    }
}

/* Items of any other size: the table look-up is the small part. */
#define STAMP_INDEXED(NAME, COPY)                                                                \
    static void indexed_##NAME(int64_t n, char *dst, int64_t ds, const int64_t *dt,              \
                               const char *src, int64_t ss, const int64_t *st,                   \
                               const zc_item *item)                                              \
    {                                                                                            \
        for (int64_t k = 0; k < n; k++) {                                                        \
            char *const to = dst + (dt != NULL ? dt[k] : k * ds);                                \
            const char *const from = src + (st != NULL ? st[k] : k * ss);                        \
            COPY;                                                                                \
        }                                                                                        \
    }

STAMP_INDEXED(rows, memcpy(to, from, item->size))
STAMP_INDEXED(swapped_rows, zc_swap_words(to, from, item->size, item->word))
STAMP_INDEXED(fields, zc_items_copy(1, to, from, item))

#define OPS(NAME) {strided_##NAME, indexed_##NAME}

const zc_item_ops *zc_item_ops_for(const zc_item *item)
{
    /* By size and word: log2 of the size, then 0, 2, 4, 8. */
    static const zc_item_ops fixed[5][4] = {
        {OPS(1), OPS(1), OPS(1), OPS(1)},
        {OPS(2), OPS(2_swap2), OPS(2), OPS(2)},
        {OPS(4), OPS(4_swap2), OPS(4_swap4), OPS(4)},
        {OPS(8), OPS(8_swap2), OPS(8_swap4), OPS(8_swap8)},
        {OPS(16), OPS(16_swap2), OPS(16_swap4), OPS(16_swap8)},
    };
    static const zc_item_ops rows = OPS(rows);
    static const zc_item_ops swapped_rows = OPS(swapped_rows);
    static const zc_item_ops fields = OPS(fields);
    const int swap = item->word == 2 ? 1 : item->word == 4 ? 2 : item->word == 8 ? 3 : 0;

    if (item->n_fields > 0) {
        return &fields;
    }
    switch (item->size) {
    case 1: return &fixed[0][swap];
    case 2: return &fixed[1][swap];
    case 4: return &fixed[2][swap];
    case 8: return &fixed[3][swap];
    case 16: return &fixed[4][swap];
    default: return swap ? &swapped_rows : &rows;
    }
}

void zc_replicate(char *dst, size_t size, size_t n)
{
    const size_t total = size * n;
    const size_t enough = 8192;         /* stays in the first-level cache while it is copied */
    const size_t most = size > enough ? size : enough - enough % size;
    size_t done = size;

    while (done < total) {
        const size_t block = done < most ? done : most;
        const size_t part = block < total - done ? block : total - done;

        memcpy(dst + done, dst, part);
        done += part;
    }
}
