/* SPDX-License-Identifier: MIT
 *
 * Boolean arrays as selections.
 */
#ifndef ZC_KERNELS_MASK_H
#define ZC_KERNELS_MASK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where a mask is true: out[d] receives the index along dimension d of each such element, in C order.  The mask is
 * C-contiguous, one byte for each element; every out[d] has room for `room` indices, and no more are written.  Returns how
 * many were.  ndim >= 1.
 */
size_t zc_mask_points(const uint8_t *mask, int ndim, const int64_t *shape, int64_t *const *out, size_t room);

#endif
