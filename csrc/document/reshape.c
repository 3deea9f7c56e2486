/* SPDX-License-Identifier: MIT
 *
 * The codec "reshape" (Zarr extensions): the same items in the same order, as an array of another shape.
 */
#include <string.h>

#include "base/arith.h"
#include "document/codecs.h"

static bool multiply(int64_t *product, int64_t by)
{
    size_t made;

    if (!zc_mul_size((size_t)*product, (uint64_t)by, &made) || made > INT64_MAX) {
        return false;
    }
    *product = (int64_t)made;
    return true;
}

static bool count_items(int ndim, const int64_t *shape, int64_t *out)
{
    *out = 1;
    for (int d = 0; d < ndim; d++) {
        if (!multiply(out, shape[d])) {
            return false;
        }
    }
    return true;
}

/* One length of a reshaped array: a number, -1 for what is left over, or of the product of dimensions in order. */
static zc_status reshaped_length(const zc_codecs *c, const zc_node *part, int64_t *next, int64_t *out, zc_length *rule)
{
    zc_status status = ZC_OK;

    if (!zc_node_is_array(part)) {
        status = zc_node_int(part, -1, INT64_MAX, out);
        *rule = (zc_length){.fixed = *out};
        return status == ZC_OK && *out == 0 ? zc_node_expected(part, "a positive length, or -1") : status;
    }
    *out = 1;
    *rule = (zc_length){0};
    ZC_EACH(axis, part, status) {
        int64_t d = 0;
        status = zc_node_int(&axis, *next, c->ndim - 1, &d);
        *next = d + 1;
        rule->axes |= (uint64_t)1 << d;
        if (status == ZC_OK && !multiply(out, c->stored[d])) {
            status = zc_node_fail(&axis, "a chunk has too many items");
        }
    }
    return status;
}

/* The length that -1 stands for; there is at most one. */
static bool fill_in(int ndim, int64_t *lengths, int64_t items)
{
    int64_t given = 1, *open = NULL;

    for (int d = 0; d < ndim; d++) {
        if (lengths[d] < 0 ? open != NULL : !multiply(&given, lengths[d])) {
            return false;
        }
        open = lengths[d] < 0 ? &lengths[d] : open;
    }
    if (open != NULL) {
        *open = given > 0 ? items / given : 0;
        return multiply(&given, *open) && given == items;
    }
    return given == items;
}

/* A length that is made of dimensions has as many items before it as these. */
static zc_status check_aligned(const zc_codecs *c, const zc_node *shape, const int64_t *lengths)
{
    zc_status status = ZC_OK;

    ZC_EACH(part, shape, status) {
        const zc_node first = zc_node_first(&part);
        int64_t axis = 0, before = 1, found = 1;
        if (first.value == NULL) {
            continue;
        }
        status = zc_node_int(&first, 0, c->ndim - 1, &axis);
        count_items((int)axis, c->stored, &before);
        count_items((int)part.index, lengths, &found);
        if (status == ZC_OK && before != found) {
            status = zc_node_fail(&part, "expected %lld items before it, got %lld", (long long)before,
                                  (long long)found);
        }
    }
    return status;
}

zc_status zc_codecs_reshape(zc_codecs *c, const zc_node *codec, const zc_node *configuration)
{
    static const char *const members[] = {"shape", NULL};
    const zc_node shape = zc_node_member(configuration, "shape");
    int64_t lengths[ZC_MAX_DIMS], items, next = 0;
    zc_length rules[ZC_MAX_DIMS];
    size_t n = 0;
    zc_status status = zc_node_members(configuration, members, false);

    if (status == ZC_OK && (c->has_array_bytes || c->is_index)) {
        status = zc_node_fail(codec, "\"reshape\" cannot follow a codec that makes bytes");
    }
    if (status == ZC_OK && c->is_reshaped) {
        status = zc_codecs_start_body(c, codec);
    }
    status = status == ZC_OK ? zc_node_array(&shape, &n) : status;
    if (status == ZC_OK && n > ZC_MAX_DIMS) {
        status = zc_node_fail(&shape, "more than %d dimensions", ZC_MAX_DIMS);
    }
    ZC_EACH(part, &shape, status) {
        status = reshaped_length(c, &part, &next, &lengths[part.index], &rules[part.index]);
    }
    if (status == ZC_OK && (!count_items(c->ndim, c->stored, &items) || !fill_in((int)n, lengths, items))) {
        status = zc_node_fail(&shape, "expected lengths for the items of a chunk");
    }
    status = status == ZC_OK ? check_aligned(c, &shape, lengths) : status;
    if (status == ZC_OK) {
        memcpy(c->stored, lengths, n * sizeof lengths[0]);
        memcpy(c->lengths, rules, n * sizeof rules[0]);
        memset(c->axes, -1, sizeof c->axes);
        c->ndim = (int)n;
        c->is_flat = c->is_reshaped = true;
    }
    return status;
}
