/* SPDX-License-Identifier: MIT */
#include "kernels/morton.h"
#include "numpy/loops.h"

#include <string.h>

/* A row of d integers, as far as the grid can have dimensions. */
static void load_row(int64_t *row, const char *src, intptr_t d, intptr_t stride)
{
    for (intptr_t i = 0; i < d && i < ZC_MAX_DIMS; i++) {
        memcpy(&row[i], src + i * stride, sizeof row[i]);
    }
}

static void store_row(char *dst, const int64_t *row, intptr_t d, intptr_t stride)
{
    for (intptr_t i = 0; i < d; i++) {
        memcpy(dst + i * stride, &row[i], sizeof row[i]);
    }
}

/* The grid of the next step; the usual case is that all steps share one. */
static zc_status next_grid(zc_morton *grid, intptr_t step, const char *shape, intptr_t outer, intptr_t d,
                           intptr_t core, zc_error *err)
{
    int64_t row[ZC_MAX_DIMS];

    if (step > 0 && outer == 0) {
        return ZC_OK;
    }
    load_row(row, shape + step * outer, d, core);
    return zc_morton_make(grid, d > ZC_MAX_DIMS ? ZC_MAX_DIMS + 1 : (int)d, row, err);
}

zc_status zc_loop_morton_encode(char *const *data, const intptr_t *dims, const intptr_t *strides,
                                const zc_item *item, zc_error *err)
{
    zc_morton grid;
    zc_status status = ZC_OK;

    (void)item;
    for (intptr_t i = 0; status == ZC_OK && i < dims[0]; i++) {
        int64_t position[ZC_MAX_DIMS];
        int64_t code = 0;

        status = next_grid(&grid, i, data[1], strides[1], dims[1], strides[4], err);
        if (status == ZC_OK) {
            load_row(position, data[0] + i * strides[0], dims[1], strides[3]);
            status = zc_morton_encode(&grid, position, &code, err);
        }
        memcpy(data[2] + i * strides[2], &code, sizeof code);
    }
    return status;
}

zc_status zc_loop_morton_decode(char *const *data, const intptr_t *dims, const intptr_t *strides,
                                const zc_item *item, zc_error *err)
{
    zc_morton grid;
    zc_status status = ZC_OK;

    (void)item;
    for (intptr_t i = 0; status == ZC_OK && i < dims[0]; i++) {
        int64_t position[ZC_MAX_DIMS] = {0};
        int64_t code;

        status = next_grid(&grid, i, data[1], strides[1], dims[1], strides[3], err);
        if (status == ZC_OK) {
            memcpy(&code, data[0] + i * strides[0], sizeof code);
            status = zc_morton_decode(&grid, code, position, err);
        }
        if (status == ZC_OK) {
            store_row(data[2] + i * strides[2], position, dims[1], strides[4]);
        }
    }
    return status;
}
