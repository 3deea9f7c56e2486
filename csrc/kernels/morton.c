/* SPDX-License-Identifier: MIT */
#include "kernels/morton.h"

#include <inttypes.h>

/* Bits that positions 0 .. length - 1 need. */
static uint32_t bits_of(int64_t length)
{
    uint32_t bits = 0;

    for (uint64_t last = (uint64_t)length - 1; last > 0; last >>= 1) {
        bits++;
    }
    return bits;
}

static zc_status check_shape(int ndim, const int64_t *shape, uint32_t *bits, zc_error *err)
{
    *bits = 0;
    if (ndim > ZC_MAX_DIMS) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shape: expected at most %d dimensions, got %d", ZC_MAX_DIMS, ndim);
    }
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 1) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "shape: expected lengths of 1 or more, got %" PRId64, shape[d]);
        }
        *bits += bits_of(shape[d]);
    }
    if (*bits > 63) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shape: positions need %" PRIu32 " bits, at most 63 fit", *bits);
    }
    return ZC_OK;
}

zc_status zc_morton_make(zc_morton *morton, int ndim, const int64_t *shape, zc_error *err)
{
    const zc_status status = check_shape(ndim, shape, &morton->bits, err);
    uint32_t at = 0;

    if (status != ZC_OK) {
        return status;
    }
    morton->ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        morton->shape[d] = shape[d];
        morton->mask[d] = 0;
    }
    for (uint32_t bit = 0; at < morton->bits; bit++) {
        for (int d = 0; d < ndim; d++) {
            if ((uint64_t)(shape[d] - 1) >> bit != 0) {
                morton->mask[d] |= UINT64_C(1) << at++;
            }
        }
    }
    return ZC_OK;
}

/* The low bits of x, one to each bit of the mask. */
static uint64_t deposit(uint64_t x, uint64_t mask)
{
    uint64_t out = 0;

    for (; mask != 0; mask &= mask - 1) {
        out |= mask & (~mask + 1) & (~(x & 1) + 1);
        x >>= 1;
    }
    return out;
}

/* The bits of x under the mask, side by side. */
static uint64_t extract(uint64_t x, uint64_t mask)
{
    uint64_t out = 0;

    for (uint32_t bit = 0; mask != 0; mask &= mask - 1) {
        out |= (uint64_t)((x & mask & (~mask + 1)) != 0) << bit++;
    }
    return out;
}

zc_status zc_morton_encode(const zc_morton *morton, const int64_t *position, int64_t *code, zc_error *err)
{
    uint64_t out = 0;

    for (int d = 0; d < morton->ndim; d++) {
        if ((uint64_t)position[d] >= (uint64_t)morton->shape[d]) {
            return zc_fail(err, ZC_ERR_RANGE, "position %" PRId64 " lies outside of a dimension of length %" PRId64,
                           position[d], morton->shape[d]);
        }
        out |= deposit((uint64_t)position[d], morton->mask[d]);
    }
    *code = (int64_t)out;
    return ZC_OK;
}

zc_status zc_morton_decode(const zc_morton *morton, int64_t code, int64_t *position, zc_error *err)
{
    if ((uint64_t)code >> morton->bits != 0) {
        return zc_fail(err, ZC_ERR_RANGE, "code %" PRId64 " has more than the %" PRIu32 " bits of this grid", code,
                       morton->bits);
    }
    for (int d = 0; d < morton->ndim; d++) {
        position[d] = (int64_t)extract((uint64_t)code, morton->mask[d]);
    }
    return ZC_OK;
}
