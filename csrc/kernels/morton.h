/* SPDX-License-Identifier: MIT
 *
 * Compressed Morton codes: the order in which inner chunks are written into a shard by several
 * implementations.  A dimension of length n takes part with as many bits as n - 1 has, and no more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/region.h"

/* The bits of a code that belong to one dimension, and how they come there from its low bits. */
typedef struct zc_morton_axis {
    int64_t length;
    uint64_t mask;
    uint64_t moves[6];                   /* the bits that move by 1, 2, 4, ... places */
} zc_morton_axis;

/* A grid of positions, prepared once. */
typedef struct zc_morton {
    int ndim;
    uint32_t bits;                       /* of a code, at most 63 */
    int n_moves;                         /* 3, 4 or 6; later moves are empty for all axes */
    zc_morton_axis axis[ZC_MAX_DIMS];
} zc_morton;

/*
 * ZC_ERR_ARGUMENT if a length is less than 1, there are more than ZC_MAX_DIMS, or codes would need more than
 * 63 bits.
 */
zc_status zc_morton_make(zc_morton *morton, int ndim, const int64_t *shape, zc_error *err);

/* n positions: the k-th has its d-th number at data + k * stride + d * axis_stride.  Any alignment. */
typedef struct zc_positions {
    char *data;
    int64_t stride;
    int64_t axis_stride;
} zc_positions;

/*
 * The codes of n positions, `stride` bytes apart; ZC_ERR_RANGE if one lies outside of the grid, codes are
 * then partly written.
 */
zc_status zc_morton_encode(const zc_morton *morton, size_t n, zc_positions positions, char *codes,
                           int64_t stride, zc_error *err);

/*
 * The positions of n codes; ZC_ERR_RANGE if a code has too many bits, positions are then partly written.
 * Where a length is not a power of two, some codes belong to positions outside of the grid: they are given as
 * they are.  No shared state: any number of threads may call these functions at once.
 */
zc_status zc_morton_decode(const zc_morton *morton, size_t n, const char *codes, int64_t stride,
                           zc_positions positions, zc_error *err);
