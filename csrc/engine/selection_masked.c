/* SPDX-License-Identifier: MIT
 *
 * Placing those elements of a region that are given, run by run along the last dimension.
 */
#include "engine/selection.h"

/* Place the given ones of n elements in a row; mask and memory advance by one element and by stride bytes. */
static void place_row(const uint8_t *mask, const char *memory, char *chunk, int64_t n, int64_t stride,
                      const zc_item *item)
{
    const int64_t size = (int64_t)item->size, mask_stride = stride / size;

    for (int64_t k = 0; k < n;) {
        int64_t end = k;
        while (end < n && mask[end * mask_stride] != 0) {
            end++;
        }
        const int64_t count = end - k;
        if (count > 0) {
            zc_region_copy(1, &count, chunk + k * size, &size, memory + k * stride, &stride, item);
        }
        k = end + 1;                 /* the element at `end` is not given */
    }
}

/* Where one stands in a region that is walked row by row. */
typedef struct rows {
    const zc_selection *selection;
    int64_t at[ZC_MAX_DIMS];
} rows;

static const char *row_memory(const rows *r)
{
    const char *memory = r->selection->memory;

    for (int d = 0; d < r->selection->ndim; d++) {
        memory += r->at[d] * r->selection->axis[d].stride;
    }
    return memory;
}

static bool next_row(rows *r)
{
    int d = r->selection->ndim - 2;

    while (d >= 0 && ++r->at[d] == r->selection->axis[d].count) {
        r->at[d--] = 0;
    }
    return d >= 0;
}

static const uint8_t *mask_at(const zc_selection *selection, const char *memory, int64_t size)
{
    return selection->window->mask + (memory - selection->window->first) / size;
}

void zc_selection_gather_masked(const zc_selection *selection, const int64_t *shape, char *chunk, const zc_item *item)
{
    const int last = selection->ndim - 1;
    const int64_t size = (int64_t)item->size;
    rows r = {.selection = selection};

    do {
        const char *memory = row_memory(&r);
        int64_t flat = 0;
        for (int d = 0; d <= last; d++) {
            flat = flat * shape[d] + selection->axis[d].start + r.at[d];
        }
        place_row(mask_at(selection, memory, size), memory, chunk + flat * size,
                  last < 0 ? 1 : selection->axis[last].count, last < 0 ? size : selection->axis[last].stride, item);
    } while (next_row(&r));
}

bool zc_selection_masks_all(const zc_selection *selection, size_t itemsize)
{
    const int last = selection->ndim - 1;
    const int64_t size = (int64_t)itemsize;
    const int64_t n = last < 0 ? 1 : selection->axis[last].count;
    const int64_t step = last < 0 ? 1 : selection->axis[last].stride / size;
    rows r = {.selection = selection};

    do {
        const uint8_t *mask = mask_at(selection, row_memory(&r), size);
        for (int64_t k = 0; k < n; k++) {
            if (mask[k * step] != 0) {
                return false;
            }
        }
    } while (next_row(&r));
    return true;
}
