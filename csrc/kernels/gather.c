/* SPDX-License-Identifier: MIT
 *
 * Copies through index tables: the trailing dimensions without a table are one planned region copy, the
 * others are walked.  Where little is left for the innermost loop, the dimensions around it are folded into
 * its table, so that what a step of the walk costs is shared by many items.
 */
#include <string.h>

#include "base/assert.h"
#include "kernels/plan.h"

/* Byte offsets of the positions in one dimension, on one side. */
typedef struct zc_path {
    const int64_t *table;        /* NULL: k * stride */
    int64_t base;                /* added to every position */
    int64_t stride;
} zc_path;

static inline int64_t path_at(const zc_path *path, int64_t k)
{
    return path->table != NULL ? path->table[k] : path->base + k * path->stride;
}

/* A table of equal steps is a stride in disguise. */
static zc_path make_path(int64_t n, const int64_t *table, int64_t stride)
{
    if (table == NULL) {
        return (zc_path){NULL, 0, stride};
    }
    const int64_t step = n > 1 ? table[1] - table[0] : 0;
    for (int64_t k = 2; k < n; k++) {
        if (table[k] - table[k - 1] != step) {
            return (zc_path){table, 0, 0};
        }
    }
    return (zc_path){NULL, table[0], step};
}

enum {
    FEW = 32,                            /* items for which a step of the walk costs as much as they do */
    MOST = 512,                          /* entries of a folded table, which stays in the first-level cache */
};

typedef struct zc_gather {
    int ndim;                            /* dimensions to walk */
    int64_t shape[ZC_MAX_DIMS];
    zc_path dst[ZC_MAX_DIMS];
    zc_path src[ZC_MAX_DIMS];
    int64_t n_points;                    /* the last table as the inner loop, or 0: run the plan instead */
    zc_path dst_points;
    zc_path src_points;
    zc_copy_plan plan;
    int64_t dst_folded[MOST], src_folded[MOST];
} zc_gather;

static void gather_inner(const zc_gather *g, char *dst, const char *src)
{
    if (g->n_points == 0) {
        zc_copy_plan_run(&g->plan, dst, src);
        return;
    }
    const zc_path *const to = &g->dst_points;
    const zc_path *const from = &g->src_points;
    g->plan.ops->indexed(g->n_points, dst + to->base, to->stride, to->table, src + from->base, from->stride,
                         from->table, &g->plan.item);
}

static void gather_walk(const zc_gather *g, char *dst, const char *src)
{
    int64_t index[ZC_MAX_DIMS];
    int64_t dst_at[ZC_MAX_DIMS + 1];     /* offset of the position in dimensions 0..d-1 */
    int64_t src_at[ZC_MAX_DIMS + 1];
    int d = 0;

    dst_at[0] = src_at[0] = 0;
    index[0] = 0;
    for (;;) {
        for (; d < g->ndim; d++) {
            dst_at[d + 1] = dst_at[d] + path_at(&g->dst[d], index[d]);
            src_at[d + 1] = src_at[d] + path_at(&g->src[d], index[d]);
            if (d + 1 < g->ndim) {
                index[d + 1] = 0;
            }
        }
        gather_inner(g, dst + dst_at[g->ndim], src + src_at[g->ndim]);
        for (d = g->ndim - 1; d >= 0 && ++index[d] == g->shape[d]; d--) {
        }
        if (d < 0) {
            return;
        }
    }
}

/* Plan dimensions first..ndim-1, which have no table. */
static bool plan_tail(zc_gather *g, int first, int ndim, const int64_t *shape, const zc_item *item)
{
    int64_t dst_strides[ZC_MAX_DIMS];
    int64_t src_strides[ZC_MAX_DIMS];
    int64_t dst_base = 0;
    int64_t src_base = 0;

    for (int d = first; d < ndim; d++) {
        dst_strides[d - first] = g->dst[d].stride;
        src_strides[d - first] = g->src[d].stride;
        dst_base += g->dst[d].base;
        src_base += g->src[d].base;
    }
    if (!zc_copy_plan_make(&g->plan, ndim - first, shape + first, dst_strides, src_strides, item)) {
        return false;
    }
    g->plan.outer.dst += dst_base;
    g->plan.outer.src += src_base;
    return true;
}

/* The points of n rows, which lie along `rows`, as one path.  Backwards, as `folded` may hold the points already. */
static zc_path fold_path(const zc_path *rows, int64_t n, const zc_path *points, int64_t n_points, int64_t *folded)
{
    for (int64_t k = n - 1; k >= 0; k--) {
        const int64_t at = path_at(rows, k);
        for (int64_t i = n_points - 1; i >= 0; i--) {
            folded[k * n_points + i] = at + path_at(points, i);
        }
    }
    return make_path(n * n_points, folded, 0);
}

/* Of the innermost dimension of the walk, n rows become part of the inner loop. */
static void fold_rows(zc_gather *g, int64_t n)
{
    const int d = g->ndim - 1;

    g->dst_points = fold_path(&g->dst[d], n, &g->dst_points, g->n_points, g->dst_folded);
    g->src_points = fold_path(&g->src[d], n, &g->src_points, g->n_points, g->src_folded);
    g->n_points *= n;
}

/* Walk with an inner loop of points. */
static void gather_points(zc_gather *g, char *dst, const char *src)
{
    while (g->n_points < FEW && g->ndim > 0 && g->shape[g->ndim - 1] <= MOST / g->n_points) {
        fold_rows(g, g->shape[g->ndim - 1]);
        g->ndim--;
    }
    const int d = g->ndim - 1;
    if (g->n_points >= FEW || d < 0 || g->dst[d].table != NULL || g->src[d].table != NULL) {
        gather_walk(g, dst, src);
        return;
    }
    /* More rows than fit: blocks of them, and those that are left. */
    const int64_t rows = g->shape[d], block = MOST / g->n_points, left = rows % block, points = g->n_points;
    const int64_t to = g->dst[d].stride, from = g->src[d].stride;
    fold_rows(g, block);                 /* what the first row begins with is part of the table now */
    g->shape[d] = rows / block;
    g->dst[d] = (zc_path){NULL, 0, to * block};
    g->src[d] = (zc_path){NULL, 0, from * block};
    gather_walk(g, dst, src);
    if (left > 0) {
        g->shape[d] = 1;
        g->n_points = left * points;
        gather_walk(g, dst + (rows - left) * to, src + (rows - left) * from);
    }
}

/* Dimensions first..ndim-1, which have no table: so few elements that no plan of their own pays? */
static bool is_short(const int64_t *shape, int first, int ndim)
{
    int64_t n = 1;

    for (int d = first; d < ndim && n < FEW; d++) {
        n = shape[d] < FEW ? n * shape[d] : FEW;
    }
    return n < FEW;
}

/* The dimension that becomes the inner loop of points. */
static void take_points(zc_gather *g, int d)
{
    g->ndim = d;
    g->n_points = g->shape[d];
    g->dst_points = g->dst[d];
    g->src_points = g->src[d];
}

static zc_path path_of(const zc_side *side, int d, int64_t n)
{
    return make_path(n, side->table != NULL ? side->table[d] : NULL, side->strides[d]);
}

void zc_region_gather(int ndim, const int64_t *shape, const zc_side *dst, const zc_side *src, const zc_item *item)
{
    zc_assert(zc_is_region(ndim));
    zc_assert(zc_item_is_valid(item));

    zc_gather g;
    int first = 0;                       /* of the trailing dimensions without a table */

    for (uint32_t i = 0; i < item->n_pieces; i++) {
        const zc_piece *const piece = &item->pieces[i];
        const zc_side to = {dst->at + piece->to, dst->strides, dst->table};
        const zc_side from = {src->at + piece->from, src->strides, src->table};
        zc_region_gather(ndim, shape, &to, &from, &piece->item);
    }
    if (item->n_pieces > 0) {
        return;
    }
    for (int d = 0; d < ndim; d++) {
        if (shape[d] <= 0) {
            return;
        }
        g.shape[d] = shape[d];
        g.dst[d] = path_of(dst, d, shape[d]);
        g.src[d] = path_of(src, d, shape[d]);
        if (g.dst[d].table != NULL || g.src[d].table != NULL) {
            first = d + 1;
        }
    }
    if (!plan_tail(&g, first, ndim, shape, item)) {
        return;
    }
    if (first > 0 && zc_copy_plan_single(&g.plan)) {
        take_points(&g, first - 1);
        gather_points(&g, dst->at + g.plan.outer.dst, src->at + g.plan.outer.src);
    } else if (first > 0 && is_short(shape, first, ndim)) {
        take_points(&g, ndim - 1);
        g.plan.item = *item;
        g.plan.ops = zc_item_ops_for(item);
        gather_points(&g, dst->at, src->at);
    } else {
        g.ndim = first;
        g.n_points = 0;
        gather_walk(&g, dst->at, src->at);
    }
}

void zc_points_copy(size_t n, void *dst, const int64_t *dst_offset, const void *src,
                    const int64_t *src_offset, const zc_item *item)
{
    zc_assert(zc_item_is_valid(item));
    for (uint32_t i = 0; i < item->n_pieces; i++) {
        const zc_piece *const piece = &item->pieces[i];
        zc_points_copy(n, (char *)dst + piece->to, dst_offset, (const char *)src + piece->from, src_offset,
                       &piece->item);
    }
    if (item->n_pieces == 0) {
        zc_item_ops_for(item)->indexed((int64_t)n, dst, 0, dst_offset, src, 0, src_offset, item);
    }
}
