/* SPDX-License-Identifier: MIT
 *
 * The region copy: canonical loops first (loop_nest.c), then the cheapest inner kernel for the pattern that is
 * left.
 */
#include <string.h>

#include "base/assert.h"
#include "kernels/plan.h"

static const zc_axis once = {1, 0, 0};

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* dst and src differ in their fast axis, or the region is contiguous in neither. */
static void copy_strided(const zc_copy_plan *plan, char *dst, const char *src)
{
    for (int64_t k = 0; k < plan->b.n; k++) {
        plan->ops->strided(plan->a.n, dst, plan->a.dst, src, plan->a.src, &plan->item);
        dst += plan->b.dst;
        src += plan->b.src;
    }
}

/* Every row of dst, contiguous, repeats one item of src. */
static void copy_repeated(const zc_copy_plan *plan, char *dst, const char *src)
{
    for (int64_t k = 0; k < plan->b.n; k++) {
        plan->ops->strided(1, dst, 0, src, 0, &plan->item);
        zc_replicate(dst, plan->item.size, (size_t)plan->a.n);
        dst += plan->b.dst;
        src += plan->b.src;
    }
}

/* Nothing but one row. */
static void copy_block(const zc_copy_plan *plan, char *dst, const char *src)
{
    memcpy(dst, src, plan->item.size);
}

/* A contiguous innermost loop becomes part of the item.  (Fields have their places in single items.) */
static void fold_rows(zc_nest *nest, zc_item *item)
{
    const int64_t size = (int64_t)item->size;

    if (nest->ndim > 0 && item->n_fields == 0) {
        const zc_axis a = nest->axis[nest->ndim - 1];

        if (a.dst == size && a.src == size) {
            item->size *= (size_t)a.n;
            nest->ndim--;
        }
    }
}

/* The fast axis of src, if that is not the innermost one: the place of the smallest src stride. */
static int fast_source_axis(const zc_nest *nest)
{
    int fast = nest->ndim - 1;

    for (int d = nest->ndim - 1; d >= 0; d--) {
        const int64_t stride = magnitude(nest->axis[d].src);

        if (stride != 0 && stride < magnitude(nest->axis[fast].src)) {
            fast = d;
        }
    }
    return fast;
}

static zc_axis take_axis(zc_nest *nest, int at)
{
    const zc_axis axis = nest->axis[at];

    memmove(&nest->axis[at], &nest->axis[at + 1], (size_t)(nest->ndim - 1 - at) * sizeof axis);
    nest->ndim--;
    return axis;
}

/* Let the fast axis of src run forwards on that side. */
static void forward_source(zc_copy_plan *plan)
{
    zc_axis *const b = &plan->b;

    if (b->src < 0) {
        plan->outer.dst += (b->n - 1) * b->dst;
        plan->outer.src += (b->n - 1) * b->src;
        b->dst = -b->dst;
        b->src = -b->src;
    }
}

bool zc_copy_plan_make(zc_copy_plan *plan, int ndim, const int64_t *shape, const int64_t *dst_strides,
                       const int64_t *src_strides, const zc_item *item)
{
    const size_t line = 64;

    if (!zc_nest_make(&plan->outer, ndim, shape, dst_strides, src_strides)) {
        return false;
    }
    zc_nest *const outer = &plan->outer;
    plan->item = *item;
    fold_rows(outer, &plan->item);
    plan->ops = zc_item_ops_for(&plan->item);
    plan->inner = copy_strided;
    plan->a = plan->b = once;
    if (outer->ndim == 0) {
        if (plan->item.word < 2 && plan->item.n_fields == 0) {
            plan->inner = copy_block;
        }
        return true;
    }

    const int fast = fast_source_axis(outer);
    const bool transposed = fast != outer->ndim - 1 && plan->item.size < line;
    plan->a = take_axis(outer, outer->ndim - 1);
    if (outer->ndim > 0) {
        plan->b = take_axis(outer, transposed ? fast : outer->ndim - 1);
    }
    if (plan->a.src == 0 && plan->a.dst == (int64_t)plan->item.size) {
        plan->inner = copy_repeated;
    } else if (transposed) {
        plan->inner = zc_copy_transposed;
        forward_source(plan);
    }
    return true;
}

void zc_copy_plan_run(const zc_copy_plan *plan, char *dst, const char *src)
{
    if (plan->outer.ndim == 0) {
        plan->inner(plan, dst + plan->outer.dst, src + plan->outer.src);
        return;
    }
    zc_cursor at;
    zc_cursor_start(&at, &plan->outer);
    do {
        plan->inner(plan, dst + at.dst, src + at.src);
    } while (zc_cursor_next(&at, &plan->outer));
}

void zc_region_copy(int ndim, const int64_t *shape, void *dst, const int64_t *dst_strides,
                    const void *src, const int64_t *src_strides, const zc_item *item)
{
    zc_assert(zc_is_region(ndim));
    zc_assert(zc_item_is_valid(item));

    zc_copy_plan plan;

    for (uint32_t i = 0; i < item->n_pieces; i++) {
        const zc_piece *const piece = &item->pieces[i];
        zc_region_copy(ndim, shape, (char *)dst + piece->to, dst_strides, (const char *)src + piece->from, src_strides,
                       &piece->item);
    }
    if (item->n_pieces == 0 && zc_copy_plan_make(&plan, ndim, shape, dst_strides, src_strides, item)) {
        zc_copy_plan_run(&plan, dst, src);
    }
}
