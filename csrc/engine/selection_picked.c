/* SPDX-License-Identifier: MIT
 *
 * Elements where a mask is true: walked in the order of the mask, whatever the order of the chunk, so that those of
 * one row lie one after the other in the memory.
 */
#include <string.h>

#include "engine/selection.h"
#include "kernels/mask.h"

/* A selection in the order of its mask. */
typedef struct walk {
    int ndim;
    int64_t count[ZC_MAX_DIMS];
    int64_t step[ZC_MAX_DIMS];       /* elements of the mask; 1 in the last dimension */
    int64_t stride[ZC_MAX_DIMS];     /* bytes of the chunk */
    int64_t at[ZC_MAX_DIMS];
    int64_t element;                 /* of the mask: the first of a row ... */
    int64_t offset;                  /* ... and where that lies in the chunk */
} walk;

/* chunk_stride is in bytes; NULL: nothing is moved. */
static void walk_begin(const zc_selection *selection, const int64_t *chunk_stride, walk *w)
{
    w->ndim = selection->ndim;
    w->element = selection->memory - selection->window->picked->base;
    w->offset = 0;
    for (int d = 0; d < selection->ndim; d++) {
        const zc_axis *axis = &selection->axis[d];
        const int64_t stride = chunk_stride != NULL ? chunk_stride[d] : 0;
        int to = d;
        for (; to > 0 && w->step[to - 1] < axis->stride; to--) {     /* few dimensions: sorted by insertion */
            w->count[to] = w->count[to - 1];
            w->step[to] = w->step[to - 1];
            w->stride[to] = w->stride[to - 1];
        }
        w->count[to] = axis->count;
        w->step[to] = axis->stride;
        w->stride[to] = stride;
        w->at[d] = 0;
        w->offset += axis->start * stride;
    }
}

/* To the next row but those of the last two dimensions, through which callers go themselves. */
static bool walk_next(walk *w)
{
    for (int d = w->ndim - 3; d >= 0; d--) {
        w->element += w->step[d];
        w->offset += w->stride[d];
        if (++w->at[d] < w->count[d]) {
            return true;
        }
        w->element -= w->step[d] * w->count[d];
        w->offset -= w->stride[d] * w->count[d];
        w->at[d] = 0;
    }
    return false;
}

static int64_t rows_of(const walk *w)
{
    return w->ndim > 1 ? w->count[w->ndim - 2] : 1;
}

ZC_INLINE int64_t at_most_64(int64_t n)
{
    return n < 64 ? n : 64;
}

/* How many elements are wanted; counting may end once there are `enough`. */
ZC_INLINE size_t count_picks(const zc_selection *selection, size_t enough)
{
    const zc_picked *picked = selection->window->picked;
    size_t found = 0;
    walk w;

    walk_begin(selection, NULL, &w);
    const int64_t n = w.count[w.ndim - 1], rows = rows_of(&w), step = w.ndim > 1 ? w.step[w.ndim - 2] : 0;
    do {
        for (int64_t row = 0, first = w.element; row < rows && found < enough; row++, first += step) {
            for (int64_t i = 0; i < n && found < enough; i += 64) {
                found += (size_t)zc_count_bits(zc_mask_bits(picked->bits, first + i, at_most_64(n - i)));
            }
        }
    } while (found < enough && walk_next(&w));
    return found;
}

bool zc_selection_picks_any(const zc_selection *selection)
{
    return count_picks(selection, 1) > 0;
}

size_t zc_selection_picks(const zc_selection *selection)
{
    return count_picks(selection, SIZE_MAX);
}

/* Copy the elements of some bits from the chunk to the memory in turn; size is that of the item, or 0 for any. */
ZC_INLINE void place_bits(uint64_t bits, char *memory, const char *chunk, int64_t stride, size_t size,
                          const zc_item *item)
{
    const int64_t nowhere = 0;

    for (; bits != 0; bits &= bits - 1) {
        const char *const from = chunk + zc_lowest_bit(bits) * stride;
        if (size > 0) {
            memcpy(memory, from, size);
            memory += size;
        } else {
            zc_points_copy(1, memory, &nowhere, from, &nowhere, item);
            memory += item->size;
        }
    }
}

ZC_INLINE void place_rows(const walk *w, const zc_picked *picked, const char *chunk, size_t size,
                          const zc_item *item)
{
    const int last = w->ndim - 1;
    const int64_t n = w->count[last], stride = w->stride[last], rows = rows_of(w);
    const int64_t step = last > 0 ? w->step[last - 1] : 0, row_stride = last > 0 ? w->stride[last - 1] : 0;

    chunk += w->offset;
    for (int64_t row = 0, first = w->element; row < rows; row++, first += step, chunk += row_stride) {
        for (int64_t i = 0; i < n; i += 64) {
            const uint64_t bits = zc_mask_bits(picked->bits, first + i, at_most_64(n - i));
            if (bits != 0) {
                const int64_t rank = zc_mask_rank(picked->bits, picked->before, first + i);
                place_bits(bits, picked->memory + rank * (int64_t)item->size, chunk + i * stride, stride, size, item);
            }
        }
    }
}

/* By vectors; false where there are none for items of that size. */
static bool copy_rows(const walk *w, const zc_picked *picked, const char *chunk, size_t size)
{
    const int last = w->ndim - 1;
    const zc_mask_rows rows = {
        .bits = picked->bits, .before = picked->before, .first = w->element, .n = w->count[last], .rows = rows_of(w),
        .step = last > 0 ? w->step[last - 1] : 0, .src = chunk + w->offset,
        .stride = last > 0 ? w->stride[last - 1] : 0, .dst = picked->memory,
    };

    return zc_mask_copy_rows(&rows, size);
}

void zc_selection_place_picked(const zc_selection *selection, const char *chunk, const int64_t *chunk_stride,
                               const zc_item *item)
{
    const zc_picked *picked = selection->window->picked;
    const size_t plain = zc_item_swaps(item) ? 0 : item->size;
    const int last = selection->ndim - 1;
    walk w;

    walk_begin(selection, chunk_stride, &w);
    do {
        if (plain > 0 && w.stride[last] == (int64_t)plain && copy_rows(&w, picked, chunk, plain)) {
            continue;
        }
        switch (plain) {
        case 1:
            place_rows(&w, picked, chunk, 1, item);
            break;
        case 2:
            place_rows(&w, picked, chunk, 2, item);
            break;
        case 4:
            place_rows(&w, picked, chunk, 4, item);
            break;
        case 8:
            place_rows(&w, picked, chunk, 8, item);
            break;
        default:
            place_rows(&w, picked, chunk, 0, item);
        }
    } while (walk_next(&w));
}
