/* SPDX-License-Identifier: MIT
 *
 * Private to kernels/: a loop nest over two strided regions of one shape, and its simplest equivalent form.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/region.h"

/* One loop: n steps, byte strides on both sides. */
typedef struct zc_axis {
    int64_t n;
    int64_t dst;
    int64_t src;
} zc_axis;

/* Loops from the outermost to the innermost, which start at these byte offsets. */
typedef struct zc_nest {
    int ndim;
    int64_t dst;
    int64_t src;
    zc_axis axis[ZC_MAX_DIMS];
} zc_nest;

/*
 * Bring the loops into canonical form; false if the region is empty.
 *
 * Afterwards no axis has length 1, all dst strides are >= 0 and fall from the outermost to the innermost
 * axis, and neighbours that can run as one loop do.  The pairs (dst offset, src offset) visited stay the
 * same, the order in which they are visited does not.
 */
bool zc_nest_make(zc_nest *nest, int ndim, const int64_t *shape, const int64_t *dst_strides,
                  const int64_t *src_strides);

/* Where a walk over the first axes of a nest stands. */
typedef struct zc_cursor {
    int64_t dst;
    int64_t src;
    int64_t index[ZC_MAX_DIMS];
} zc_cursor;

static inline void zc_cursor_start(zc_cursor *at, const zc_nest *nest)
{
    at->dst = nest->dst;
    at->src = nest->src;
    for (int d = 0; d < nest->ndim; d++) {
        at->index[d] = 0;
    }
}

/* Step to the next position in C order; false when all have been visited. */
static inline bool zc_cursor_next(zc_cursor *at, const zc_nest *nest)
{
    for (int d = nest->ndim - 1; d >= 0; d--) {
        const zc_axis *const axis = &nest->axis[d];

        if (++at->index[d] < axis->n) {
            at->dst += axis->dst;
            at->src += axis->src;
            return true;
        }
        at->index[d] = 0;
        at->dst -= (axis->n - 1) * axis->dst;
        at->src -= (axis->n - 1) * axis->src;
    }
    return false;
}
