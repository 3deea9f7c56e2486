/* SPDX-License-Identifier: MIT
 *
 * Compressed Morton codes: the order in which inner chunks are written into a shard by several
 * implementations.  A dimension of length n takes part with as many bits as n - 1 has, and no more.
 */
#ifndef ZC_KERNELS_MORTON_H
#define ZC_KERNELS_MORTON_H

#include <stdint.h>

#include "base/status.h"
#include "kernels/region.h"

/* A grid of positions, prepared once. */
typedef struct zc_morton {
    int ndim;
    uint32_t bits;                       /* of a code, at most 63 */
    int64_t shape[ZC_MAX_DIMS];
    uint64_t mask[ZC_MAX_DIMS];          /* the bits of a code that belong to a dimension */
} zc_morton;

/*
 * ZC_ERR_ARGUMENT if a length is less than 1, there are more than ZC_MAX_DIMS, or codes would need more than
 * 63 bits.
 */
zc_status zc_morton_make(zc_morton *morton, int ndim, const int64_t *shape, zc_error *err);

/* The code of a position; ZC_ERR_RANGE if it lies outside of the grid. */
zc_status zc_morton_encode(const zc_morton *morton, const int64_t *position, int64_t *code, zc_error *err);

/*
 * The position of a code; ZC_ERR_RANGE if the code has too many bits.  Where a length is not a power of two,
 * some codes belong to positions outside of the grid: they are given as they are.
 * No shared state: any number of threads may call these functions at once.
 */
zc_status zc_morton_decode(const zc_morton *morton, int64_t code, int64_t *position, zc_error *err);

#endif
