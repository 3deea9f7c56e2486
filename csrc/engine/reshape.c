/* SPDX-License-Identifier: MIT
 *
 * The lengths of the arrays that filters and the codec "reshape" (Zarr extensions) make of a chunk.
 */
#include "base/arith.h"
#include "engine/chain.h"

static bool multiply(int64_t *product, int64_t by)
{
    size_t made;

    if (!zc_mul_size((size_t)*product, (uint64_t)by, &made) || made > INT64_MAX) {
        return false;
    }
    *product = (int64_t)made;
    return true;
}

bool zc_lengths_count(const int64_t *shape, int ndim, int64_t *out)
{
    *out = 1;
    for (int d = 0; d < ndim; d++) {
        if (!multiply(out, shape[d])) {
            return false;
        }
    }
    return true;
}

/* The product of the dimensions that a rule names, all of them at or after *next. */
static zc_status multiply_axes(const zc_length *rule, int d, int ndim, const int64_t *shape, int *next, int64_t *out,
                               zc_error *err)
{
    for (int axis = 0; axis < ZC_MAX_DIMS; axis++) {
        if (!(rule->axes >> axis & 1)) {
            continue;
        }
        if (axis < *next || (ndim >= 0 && axis >= ndim)) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "shape[%d]: expected dimensions of the chunk, in order", d);
        }
        *next = axis + 1;
        if (shape != NULL && !multiply(out, shape[axis])) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "a chunk has too many items");
        }
    }
    return ZC_OK;
}

/* All lengths but the one that is left over, whose dimension goes to *open, or -1. */
static zc_status known_lengths(const zc_length *rules, int n, int ndim, const int64_t *shape, int64_t *out, int *open,
                               zc_error *err)
{
    int next = 0;                    /* dimension of the chunk that has not been named yet */
    zc_status status = ZC_OK;

    *open = -1;
    for (int d = 0; d < n && status == ZC_OK; d++) {
        if (rules[d].fixed < -1 || (rules[d].fixed == -1 && *open >= 0)) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "shape: expected positive lengths, and -1 at most once");
        }
        *open = rules[d].fixed < 0 ? d : *open;
        out[d] = rules[d].fixed > 0 ? rules[d].fixed : 1;
        if (rules[d].fixed == 0) {
            status = multiply_axes(&rules[d], d, ndim, shape, &next, &out[d], err);
        }
    }
    return status;
}

zc_status zc_lengths_make(const zc_length *rules, int n, int ndim, const int64_t *shape, int64_t items, int64_t *out,
                          zc_error *err)
{
    int64_t given;
    int open;
    const zc_status status = known_lengths(rules, n, ndim, shape, out, &open, err);

    if (status != ZC_OK || shape == NULL) {
        return status;
    }
    const bool counted = zc_lengths_count(out, n, &given);
    if (counted && open >= 0 && given > 0) {
        out[open] = items / given;
        given *= out[open];
    }
    return counted && given == items ? ZC_OK
                                     : zc_fail(err, ZC_ERR_ARGUMENT, "shape: expected lengths for the items of a chunk");
}

/* A length that is made of dimensions has as many items before it as these. */
static zc_status check_aligned(const zc_length *rules, int n, const int64_t *shape, const int64_t *lengths,
                               zc_error *err)
{
    for (int d = 0; d < n; d++) {
        int64_t before = 1, found = 1;
        int first = 0;
        if (rules[d].fixed != 0 || rules[d].axes == 0) {
            continue;
        }
        while (!(rules[d].axes >> first & 1)) {
            first++;
        }
        if (!zc_lengths_count(shape, first, &before) || !zc_lengths_count(lengths, d, &found) || before != found) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "shape[%d]: expected %lld items before it, got %lld", d,
                           (long long)before, (long long)found);
        }
    }
    return ZC_OK;
}

zc_status zc_reshape_lengths(const zc_length *rules, int n, int ndim, const int64_t *shape, int64_t *out,
                             zc_error *err)
{
    int64_t items = 0;

    if (n < 0 || n > ZC_MAX_DIMS) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shape: more than %d dimensions", ZC_MAX_DIMS);
    }
    if (shape != NULL && !zc_lengths_count(shape, ndim, &items)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "a chunk has too many items");
    }
    const zc_status status = zc_lengths_make(rules, n, ndim, shape, items, out, err);
    return status == ZC_OK && shape != NULL ? check_aligned(rules, n, shape, out, err) : status;
}
