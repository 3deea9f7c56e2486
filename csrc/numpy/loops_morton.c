/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "kernels/morton.h"
#include "numpy/loops.h"

/* Tools that find out what a function returns call it with zeros alone: a grid of zeros has one position. */
static void replace_zeros(int n, int64_t *shape)
{
    for (int d = 0; d < n; d++) {
        if (shape[d] != 0) {
            return;
        }
    }
    for (int d = 0; d < n; d++) {
        shape[d] = 1;
    }
}

static zc_status make_grid(zc_morton *grid, const char *shape, intptr_t ndim, intptr_t stride, zc_error *err)
{
    const int most = ndim > ZC_MAX_DIMS ? ZC_MAX_DIMS + 1 : (int)ndim;
    int64_t row[ZC_MAX_DIMS + 1];

    for (int d = 0; d < most; d++) {
        memcpy(&row[d], shape + d * stride, sizeof row[d]);
    }
    replace_zeros(most, row);
    return zc_morton_make(grid, most, row, err);
}

/* All outer steps at once where they share a grid, which is the usual case, else one by one. */
static intptr_t steps_at_once(const intptr_t *dims, intptr_t grid_stride)
{
    return grid_stride == 0 || dims[0] == 0 ? dims[0] : 1;
}

/* Positions become codes, or `back`: operands are what is read, the shape of the grid, and what is written. */
static zc_status convert(bool back, char *const *data, const intptr_t *dims, const intptr_t *strides, zc_error *err)
{
    const intptr_t step = steps_at_once(dims, strides[1]);
    const int place = back ? 2 : 0, code = back ? 0 : 2;
    const intptr_t axis = strides[back ? 4 : 3], length = strides[back ? 3 : 4];
    zc_morton grid;
    zc_status status = ZC_OK;

    for (intptr_t i = 0; status == ZC_OK && i < dims[0]; i += step) {
        const zc_positions positions = {data[place] + i * strides[place], strides[place], axis};
        char *const codes = data[code] + i * strides[code];

        status = make_grid(&grid, data[1] + i * strides[1], dims[1], length, err);
        if (status == ZC_OK) {
            status = back ? zc_morton_decode(&grid, (size_t)step, codes, strides[code], positions, err)
                          : zc_morton_encode(&grid, (size_t)step, positions, codes, strides[code], err);
        }
    }
    return status;
}

zc_status zc_loop_morton_encode(char *const *data, const intptr_t *dims, const intptr_t *strides,
                                const zc_item *item, zc_error *err)
{
    (void)item;
    return convert(false, data, dims, strides, err);
}

zc_status zc_loop_morton_decode(char *const *data, const intptr_t *dims, const intptr_t *strides,
                                const zc_item *item, zc_error *err)
{
    (void)item;
    return convert(true, data, dims, strides, err);
}
