/* SPDX-License-Identifier: MIT */
#include "kernels/loop_nest.h"

#include "base/assert.h"

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* outer == inner * n, where a product that does not fit is equal to nothing. */
static bool spans(int64_t outer, int64_t inner, int64_t n)
{
    if (inner == 0 || outer == 0) {
        return inner == outer;
    }
    return outer % inner == 0 && outer / inner == n;
}

/* Run the axis backwards on both sides where that makes its dst stride positive. */
static zc_axis forward(zc_axis axis, zc_nest *nest)
{
    if (axis.dst < 0) {
        nest->dst += (axis.n - 1) * axis.dst;
        nest->src += (axis.n - 1) * axis.src;
        axis.dst = -axis.dst;
        axis.src = -axis.src;
    }
    return axis;
}

static bool runs_outside(const zc_axis *a, const zc_axis *b)
{
    return a->dst != b->dst ? a->dst > b->dst : magnitude(a->src) > magnitude(b->src);
}

/* Insertion keeps axes of equal strides in the order given; ndim is small. */
static void insert(zc_nest *nest, zc_axis axis)
{
    int d = nest->ndim++;

    for (; d > 0 && runs_outside(&axis, &nest->axis[d - 1]); d--) {
        nest->axis[d] = nest->axis[d - 1];
    }
    nest->axis[d] = axis;
}

static void merge(zc_nest *nest)
{
    int kept = 0;

    for (int d = 1; d < nest->ndim; d++) {
        zc_axis *const outer = &nest->axis[kept];
        const zc_axis inner = nest->axis[d];

        if (spans(outer->dst, inner.dst, inner.n) && spans(outer->src, inner.src, inner.n)) {
            *outer = (zc_axis){outer->n * inner.n, inner.dst, inner.src};
        } else {
            nest->axis[++kept] = inner;
        }
    }
    nest->ndim = nest->ndim > 0 ? kept + 1 : 0;
}

bool zc_nest_make(zc_nest *nest, int ndim, const int64_t *shape, const int64_t *dst_strides,
                  const int64_t *src_strides)
{
    zc_assert(zc_is_region(ndim));
    nest->ndim = 0;
    nest->dst = 0;
    nest->src = 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] <= 0) {
            return false;
        }
    }
    for (int d = 0; d < ndim; d++) {
        /* A loop that moves on neither side repeats itself: once is enough. */
        if (shape[d] > 1 && (dst_strides[d] != 0 || src_strides[d] != 0)) {
            insert(nest, forward((zc_axis){shape[d], dst_strides[d], src_strides[d]}, nest));
        }
    }
    merge(nest);
    return true;
}
