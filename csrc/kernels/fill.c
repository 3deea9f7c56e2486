/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/assert.h"
#include "kernels/plan.h"

#define PATTERN_BYTES 1024               /* rows up to this length are copied from a row on the stack */

static bool uniform(const char *item, size_t size)
{
    return memcmp(item, item + 1, size - 1) == 0;
}

/* Fill n contiguous items. */
static void fill_row(char *dst, size_t n, size_t size, const char *fill, bool same_bytes)
{
    if (same_bytes) {
        memset(dst, fill[0], n * size);
        return;
    }
    memcpy(dst, fill, size);
    zc_replicate(dst, size, n);
}

/* Rows of n contiguous items, one at each position of the nest. */
static void fill_rows(const zc_nest *rows, char *dst, size_t n, size_t size, const char *fill)
{
    const bool same_bytes = uniform(fill, size);
    zc_cursor at;

    zc_cursor_start(&at, rows);
    do {
        fill_row(dst + at.dst, n, size, fill, same_bytes);
    } while (zc_cursor_next(&at, rows));
}

/* Copy one item of that size to each position of the nest. */
static void copy_to_all(const zc_nest *nest, char *dst, size_t size, const char *item)
{
    int64_t shape[ZC_MAX_DIMS];
    int64_t strides[ZC_MAX_DIMS];
    const int64_t nowhere[ZC_MAX_DIMS] = {0};
    const zc_item plain = {.size = size};

    for (int d = 0; d < nest->ndim; d++) {
        shape[d] = nest->axis[d].n;
        strides[d] = nest->axis[d].dst;
    }
    zc_region_copy(nest->ndim, shape, dst + nest->dst, strides, item, nowhere, &plain);
}

void zc_region_fill(int ndim, const int64_t *shape, void *dst, const int64_t *dst_strides,
                    size_t itemsize, const void *fill)
{
    zc_assert(zc_is_region(ndim) && itemsize >= 1);

    const int64_t nowhere[ZC_MAX_DIMS] = {0};
    zc_nest nest;

    if (!zc_nest_make(&nest, ndim, shape, dst_strides, nowhere)) {
        return;
    }
    if (nest.ndim == 0 || nest.axis[nest.ndim - 1].dst != (int64_t)itemsize) {
        copy_to_all(&nest, dst, itemsize, fill);
        return;
    }
    const size_t n = (size_t)nest.axis[--nest.ndim].n;
    if (nest.ndim == 0 || n > PATTERN_BYTES / itemsize) {
        fill_rows(&nest, dst, n, itemsize, fill);
        return;
    }
    char row[PATTERN_BYTES];
    fill_row(row, n, itemsize, fill, false);
    copy_to_all(&nest, dst, n * itemsize, row);
}
