/* SPDX-License-Identifier: MIT
 *
 * Private to kernels/: a region copy prepared once, run for any number of base addresses.
 */
#pragma once

#include "kernels/item_loops.h"
#include "kernels/loop_nest.h"

typedef struct zc_copy_plan zc_copy_plan;

struct zc_copy_plan {
    zc_nest outer;               /* the loops around the two innermost ones */
    zc_axis b;                   /* the second innermost loop; n == 1 where there is none */
    zc_axis a;                   /* the innermost loop, the fast one of dst */
    zc_item item;                /* what the innermost loop moves: a whole row where rows are contiguous */
    const zc_item_ops *ops;
    void (*inner)(const zc_copy_plan *plan, char *dst, const char *src);
};

/* False if there is nothing to copy. */
bool zc_copy_plan_make(zc_copy_plan *plan, int ndim, const int64_t *shape, const int64_t *dst_strides,
                       const int64_t *src_strides, const zc_item *item);

void zc_copy_plan_run(const zc_copy_plan *plan, char *dst, const char *src);

/* Does the plan move one single item, that is, was the whole region contiguous? */
static inline bool zc_copy_plan_single(const zc_copy_plan *plan)
{
    return plan->outer.ndim == 0 && plan->a.n == 1 && plan->b.n == 1;
}

/* A plan's inner function for the case that the fast axes of dst (a) and of src (b) differ: works in blocks
 * of cache lines, so that each line is fetched once on either side. */
void zc_copy_transposed(const zc_copy_plan *plan, char *dst, const char *src);
