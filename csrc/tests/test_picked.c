/* SPDX-License-Identifier: MIT
 *
 * Elements where a mask is true, out of boxes of an array that lies in memory in any order of its dimensions, against
 * a walk over all of them.
 */
#include "engine/selection.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec_cases.h"
#include "kernels/mask.h"
#include "tests/every_cpu.h"

#define MOST_DIMS 4

static uint64_t state = 7;

static int64_t below(int64_t n)
{
    return (int64_t)(case_random(&state) % (uint64_t)n);
}

typedef struct selection {
    int ndim;
    int64_t shape[MOST_DIMS], size;
    uint8_t *mask;
    uint64_t *bits;
    int64_t *before;
    size_t count;
} selection;

static void make(selection *s, unsigned one_in)
{
    s->ndim = 1 + (int)below(MOST_DIMS);
    s->size = 1;
    for (int d = 0; d < s->ndim; d++) {
        s->shape[d] = 1 + below(d + 1 == s->ndim ? 150 : 7);
        s->size *= s->shape[d];
    }
    s->mask = case_exact(NULL, (size_t)s->size);
    for (int64_t i = 0; i < s->size; i++) {
        s->mask[i] = below(one_in) == 0;
    }
    const size_t words = (size_t)(s->size + 63) / 64;
    s->bits = (uint64_t *)(void *)case_exact(NULL, words * sizeof *s->bits);
    s->before = (int64_t *)(void *)case_exact(NULL, words * sizeof *s->before);
    s->count = zc_mask_pack(s->mask, (size_t)s->size, s->bits, s->before);
}

static void drop(selection *s)
{
    free(s->mask);
    free(s->bits);
    free(s->before);
}

/* Strides of the dimensions in an order of their own, and a box. */
static void arrange(const selection *s, int64_t size, int *order, int64_t *stride, int64_t *lo, int64_t *hi)
{
    for (int d = 0; d < s->ndim; d++) {
        const int other = (int)below(d + 1);
        order[d] = order[other];
        order[other] = d;
        lo[d] = below(s->shape[d]);
        hi[d] = lo[d] + 1 + below(s->shape[d] - lo[d]);
    }
    for (int i = s->ndim - 1; i >= 0; i--) {
        stride[order[i]] = size;
        size *= s->shape[order[i]];
    }
}

static void check_box(const selection *s, const zc_item *item)
{
    const size_t size = item->size;
    int64_t stride[MOST_DIMS], lo[MOST_DIMS], hi[MOST_DIMS], index[MOST_DIMS] = {0}, mask_stride = 1;
    int order[MOST_DIMS] = {0};
    uint8_t *array = case_exact(NULL, (size_t)s->size * size), *got = case_exact(NULL, s->count * size + 1);
    uint8_t *want = case_exact(NULL, s->count * size + 1);
    size_t rank = 0, wanted = 0;
    zc_selection all = {.ndim = s->ndim, .memory = (char *)s->mask}, box;
    const zc_picked picked = {(const char *)s->mask, s->bits, s->before, s->count, (char *)got};
    const zc_window window = {.item = *item, .picked = &picked};

    arrange(s, (int64_t)size, order, stride, lo, hi);
    for (size_t i = 0; i < (size_t)s->size * size; i++) {
        array[i] = (uint8_t)case_random(&state);
    }
    memset(got, 0xee, s->count * size + 1);
    memset(want, 0xee, s->count * size + 1);
    all.kind = ZC_SELECT_PICKED;
    all.window = &window;
    for (int d = s->ndim - 1; d >= 0; d--) {
        all.axis[d] = (zc_axis){.count = s->shape[d], .step = 1, .stride = mask_stride};
        mask_stride *= s->shape[d];
    }
    const uint8_t *first = array;
    for (int d = 0; d < s->ndim; d++) {
        first += lo[d] * stride[d];
    }
    for (int64_t i = 0; i < s->size; i++) {
        const uint8_t *from = array;
        bool inside = s->mask[i] != 0;
        for (int d = 0; d < s->ndim; d++) {
            inside = inside && index[d] >= lo[d] && index[d] < hi[d];
            from += index[d] * stride[d];
        }
        if (inside) {
            zc_items_copy(1, want + rank * size, from, item);
            wanted++;
        }
        rank += s->mask[i] != 0;
        for (int d = s->ndim - 1; d >= 0 && ++index[d] == s->shape[d]; d--) {
            index[d] = 0;
        }
    }
    CHECK(rank == s->count && zc_selection_count(&all) == s->count);
    CHECK(zc_selection_clip(&all, lo, hi, &box));
    CHECK(zc_selection_picks(&box) == wanted && zc_selection_picks_any(&box) == (wanted > 0));
    zc_selection_place_picked(&box, (const char *)first, stride, item);
    CHECK(memcmp(got, want, s->count * size + 1) == 0);
    free(array);
    free(got);
    free(want);
}

static void boxes(void)
{
    static const zc_item items[] = {{.size = 1}, {.size = 2}, {.size = 3}, {.size = 4}, {.size = 8}, {.size = 16},
                                    {.size = 2, .word = 2}, {.size = 16, .word = 8}};
    static const unsigned one_in[] = {1, 2, 20, 300};

    for (int round = 0; round < 300; round++) {
        selection s;
        make(&s, one_in[round % 4]);
        check_box(&s, &items[(size_t)below(sizeof items / sizeof *items)]);
        drop(&s);
    }
}

int main(void)
{
    RUN_ON_EVERY_CPU(boxes);
    return check_report("picked");
}
