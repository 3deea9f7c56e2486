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

void zc_part_gather_masked(const zc_part *part, const int64_t *shape, char *chunk, const zc_item *item)
{
    const int last = part->ndim - 1;
    const int64_t size = (int64_t)item->size;
    int64_t at[ZC_MAX_DIMS] = {0};

    for (;;) {
        const char *memory = part->memory;
        int64_t flat = 0;
        for (int d = 0; d <= last; d++) {
            flat = flat * shape[d] + part->axis[d].start + at[d];
            memory += at[d] * part->axis[d].stride;
        }
        const uint8_t *const mask = part->window->mask + (memory - part->window->first) / size;
        place_row(mask, memory, chunk + flat * size, last < 0 ? 1 : part->axis[last].count,
                  last < 0 ? size : part->axis[last].stride, item);
        int d = last - 1;
        while (d >= 0 && ++at[d] == part->axis[d].count) {
            at[d--] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}
