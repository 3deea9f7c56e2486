/* SPDX-License-Identifier: MIT */
#include <fenv.h>

#include "kernels/chunk_grid.h"
#include "numpy/loops.h"

zc_status zc_loop_byteswap(char *const *data, const intptr_t *dims, const intptr_t *strides,
                           const zc_item *item, zc_error *err)
{
    const int64_t n = dims[0];
    const int64_t to = strides[1];
    const int64_t from = strides[0];

    (void)err;
    if (item->word == 0 && data[0] == data[1] && to == from) {
        return ZC_OK;                    /* in place, with nothing to swap */
    }
    if (to == from && from == (int64_t)item->size) {
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
