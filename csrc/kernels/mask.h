/* SPDX-License-Identifier: MIT
 *
 * Boolean arrays as selections.
 */
#ifndef ZC_KERNELS_MASK_H
#define ZC_KERNELS_MASK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where the rows first to first + n - 1 of a mask are true: out[d] receives the index along dimension d of each such
 * element, in C order.  The mask is C-contiguous, one byte for each element, and its rows are counted over all
 * dimensions but the last; ndim >= 1.  Every out[d] has room for `room` indices, and no more are written.  Returns how
 * many were.
 */
size_t zc_mask_points(const uint8_t *mask, int ndim, const int64_t *shape, int64_t first, int64_t n,
                      int64_t *const *out, size_t room);

#endif
