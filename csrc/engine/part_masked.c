/* SPDX-License-Identifier: MIT
 *
 * Placing those elements of a region that are given, run by run along the last dimension.
 */
#include "engine/part.h"

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
    const zc_part *part;
    int64_t at[ZC_MAX_DIMS];
} rows;

static const char *row_memory(const rows *r)
{
    const char *memory = r->part->memory;

    for (int d = 0; d < r->part->ndim; d++) {
        memory += r->at[d] * r->part->axis[d].stride;
    }
    return memory;
}

static bool next_row(rows *r)
{
    int d = r->part->ndim - 2;

    while (d >= 0 && ++r->at[d] == r->part->axis[d].count) {
        r->at[d--] = 0;
    }
    return d >= 0;
}

static const uint8_t *mask_at(const zc_part *part, const char *memory, int64_t size)
{
    return part->window->mask + (memory - part->window->first) / size;
}

void zc_part_gather_masked(const zc_part *part, const int64_t *shape, char *chunk, const zc_item *item)
{
    const int last = part->ndim - 1;
    const int64_t size = (int64_t)item->size;
    rows r = {.part = part};

    do {
        const char *memory = row_memory(&r);
        int64_t flat = 0;
        for (int d = 0; d <= last; d++) {
            flat = flat * shape[d] + part->axis[d].start + r.at[d];
        }
        place_row(mask_at(part, memory, size), memory, chunk + flat * size, last < 0 ? 1 : part->axis[last].count,
                  last < 0 ? size : part->axis[last].stride, item);
    } while (next_row(&r));
}

bool zc_part_masks_all(const zc_part *part, size_t itemsize)
{
    const int last = part->ndim - 1;
    const int64_t size = (int64_t)itemsize;
    const int64_t n = last < 0 ? 1 : part->axis[last].count, step = last < 0 ? 1 : part->axis[last].stride / size;
    rows r = {.part = part};

    do {
        const uint8_t *mask = mask_at(part, row_memory(&r), size);
        for (int64_t k = 0; k < n; k++) {
            if (mask[k * step] != 0) {
                return false;
            }
        }
    } while (next_row(&r));
    return true;
}
