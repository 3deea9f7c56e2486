/* SPDX-License-Identifier: MIT */
#include "engine/part.h"

#include "base/arith.h"

#include <string.h>

/* ---- restricting a part ------------------------------------------------------------------- */

static void copy_header(const zc_part *part, zc_part *out)
{
    out->ndim = part->ndim;
    out->memory = part->memory;
    out->window = part->window;
    out->points = part->points;
    out->n_points = part->n_points;
    out->point_stride = part->point_stride;
}

/* First k with start + index[k] >= bound. */
static int64_t lower_bound(const zc_axis *axis, int64_t bound)
{
    int64_t low = 0, high = axis->count;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (axis->start + axis->index[middle] < bound) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* First k >= 0 with start + k * step >= bound; step >= 1. */
static int64_t first_at_least(const zc_axis *axis, int64_t bound)
{
    if (bound <= axis->start) {
        return 0;
    }
    return (bound - axis->start - 1) / axis->step + 1;
}

bool zc_axis_clip(const zc_axis *axis, int64_t lo, int64_t hi, zc_axis *out, int64_t *memory_shift)
{
    int64_t begin, end;

    *out = *axis;
    if (axis->index != NULL) {
        begin = lower_bound(axis, lo);
        end = lower_bound(axis, hi);
        out->index += begin;
        out->place += begin;
        out->start -= lo;
        *memory_shift = 0;
    } else {
        begin = first_at_least(axis, lo);
        end = first_at_least(axis, hi);
        if (end > axis->count) {
            end = axis->count;
        }
        if (begin >= end) {
            return false;
        }
        out->start = axis->start + begin * axis->step - lo;
        *memory_shift = begin * axis->stride;
    }
    out->count = end - begin;
    return out->count > 0;
}

bool zc_part_clip(const zc_part *part, const int64_t *lo, const int64_t *hi, zc_part *out)
{
    int64_t total = 0;

    copy_header(part, out);
    for (int d = 0; d < part->ndim; d++) {
        int64_t shift;
        if (!zc_axis_clip(&part->axis[d], lo[d], hi[d], &out->axis[d], &shift)) {
            return false;
        }
        total += shift;
    }
    out->memory = zc_part_is_prefetch(part) ? NULL : part->memory + total;
    return true;
}

void zc_part_permute(zc_part *part, const int *order)
{
    zc_axis axis[ZC_MAX_DIMS];

    memcpy(axis, part->axis, (size_t)part->ndim * sizeof *axis);
    for (int d = 0; d < part->ndim; d++) {
        part->axis[d] = axis[order[d]];
    }
}

/* ---- questions about a part --------------------------------------------------------------- */

size_t zc_part_count(const zc_part *part)
{
    size_t count = 1;

    if (part->points != NULL) {
        return part->n_points;
    }
    if (zc_part_is_picked(part)) {
        return zc_part_picks(part);
    }
    for (int d = 0; d < part->ndim; d++) {
        count *= (size_t)part->axis[d].count;
    }
    return count;
}

bool zc_part_whole(int ndim, const int64_t *shape, size_t itemsize, void *memory, zc_part *out)
{
    size_t stride = itemsize;

    out->ndim = ndim;
    out->memory = memory;
    out->points = NULL;
    out->window = NULL;
    for (int d = ndim - 1; d >= 0; d--) {
        out->axis[d] = (zc_axis){.count = shape[d], .step = 1, .stride = (int64_t)stride};
        if (!zc_mul_size(stride, (uint64_t)shape[d], &stride)) {
            return false;
        }
    }
    return true;
}

bool zc_part_covers(const zc_part *part, const int64_t *shape)
{
    if (part->points != NULL || (part->window != NULL && part->window->patches) || zc_part_is_masked(part) ||
        zc_part_is_picked(part)) {
        return false;
    }
    for (int d = 0; d < part->ndim; d++) {
        const zc_axis *axis = &part->axis[d];
        /* An index list may repeat an element, so its length proves nothing. */
        if (axis->index != NULL || axis->start != 0 || axis->count != shape[d] ||
            (axis->step != 1 && axis->count > 1)) {
            return false;
        }
    }
    return true;
}

bool zc_part_is_chunk_image(const zc_part *part, const int64_t *shape, size_t itemsize)
{
    int64_t stride = (int64_t)itemsize;

    if (zc_part_is_prefetch(part) || part->window != NULL || !zc_part_covers(part, shape)) {
        return false;
    }
    for (int d = part->ndim - 1; d >= 0; d--) {
        if (shape[d] != 1 && part->axis[d].stride != stride) {
            return false;
        }
        stride *= shape[d];
    }
    return true;
}

int64_t zc_part_point_flat(const zc_part *part, const int64_t *shape, int64_t point)
{
    int64_t flat = 0;

    for (int d = 0; d < part->ndim; d++) {
        flat = flat * shape[d] + part->axis[d].start + part->axis[d].index[point];
    }
    return flat;
}

/* ---- flat ranges of a chunk as boxes ------------------------------------------------------- */

typedef struct box_walk {
    int ndim;
    const int64_t *shape;
    int64_t stride[ZC_MAX_DIMS];     /* elements, C order */
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];
    /* returns false to stop */
    bool (*visit)(struct box_walk *walk);
    void *context;
} box_walk;

static void c_strides(int ndim, const int64_t *shape, int64_t *stride)
{
    int64_t n = 1;

    for (int d = ndim - 1; d >= 0; d--) {
        stride[d] = n;
        n *= shape[d];
    }
}

/* Visit the boxes that make up n flat elements from `first` on, counted within dimensions d and up. */
static bool walk_range(box_walk *walk, int d, int64_t first, int64_t n)
{
    if (d == walk->ndim) {
        return walk->visit(walk);
    }
    const int64_t stride = walk->stride[d];
    int64_t at = first / stride;
    const int64_t skipped = first % stride;

    if (skipped != 0) {              /* the rest of a row that began earlier */
        const int64_t rest = stride - skipped < n ? stride - skipped : n;
        walk->lo[d] = at;
        walk->hi[d] = at + 1;
        if (!walk_range(walk, d + 1, skipped, rest)) {
            return false;
        }
        at++;
        n -= rest;
    }
    if (n >= stride) {               /* whole rows */
        const int64_t rows = n / stride;
        walk->lo[d] = at;
        walk->hi[d] = at + rows;
        for (int e = d + 1; e < walk->ndim; e++) {
            walk->lo[e] = 0;
            walk->hi[e] = walk->shape[e];
        }
        if (!walk->visit(walk)) {
            return false;
        }
        at += rows;
        n -= rows * stride;
    }
    if (n > 0) {                     /* the beginning of one more row */
        walk->lo[d] = at;
        walk->hi[d] = at + 1;
        return walk_range(walk, d + 1, 0, n);
    }
    return true;
}

static void walk_begin(box_walk *walk, int ndim, const int64_t *shape)
{
    walk->ndim = ndim;
    walk->shape = shape;
    c_strides(ndim, shape, walk->stride);
}

/* ---- moving elements ----------------------------------------------------------------------- */

/* Offsets in bytes of all elements of the indexed dimensions, in scratch memory. */
typedef struct tables {
    const int64_t *chunk[ZC_MAX_DIMS];
    const int64_t *memory[ZC_MAX_DIMS];
    bool pushed;
} tables;

static zc_status tables_open(const zc_part *part, const int64_t *chunk_stride, tables *t, zc_workspace *ws,
                             zc_error *err)
{
    size_t total = 0;
    int64_t *at;

    for (int d = 0; d < part->ndim; d++) {
        t->chunk[d] = t->memory[d] = NULL;
        if (part->axis[d].index != NULL) {
            total += (size_t)part->axis[d].count;
        }
    }
    t->pushed = total > 0;
    if (!t->pushed) {
        return ZC_OK;
    }
    at = zc_scratch_array(ws, total, 2 * sizeof *at, err);
    if (at == NULL) {
        return ZC_ERR_MEMORY;
    }
    for (int d = 0; d < part->ndim; d++) {
        const zc_axis *axis = &part->axis[d];
        if (axis->index == NULL) {
            continue;
        }
        for (int64_t k = 0; k < axis->count; k++) {
            at[k] = (axis->start + axis->index[k]) * chunk_stride[d];
            at[axis->count + k] = axis->place[k] * axis->stride;
        }
        t->chunk[d] = at;
        t->memory[d] = at + axis->count;
        at += 2 * axis->count;
    }
    return ZC_OK;
}

static void tables_close(tables *t, zc_workspace *ws)
{
    if (t->pushed) {
        zc_scratch_pop(ws);
    }
}

typedef enum direction { TO_MEMORY, TO_CHUNK } direction;

/* Move all elements of a region; chunk points to its element (0, 0, ...), stride in elements. */
static zc_status move_region(const zc_part *part, char *chunk, const int64_t *stride, direction way,
                             const zc_item *item, zc_workspace *ws, zc_error *err)
{
    int64_t shape[ZC_MAX_DIMS], memory_stride[ZC_MAX_DIMS], chunk_stride[ZC_MAX_DIMS];
    tables t;

    chunk += zc_part_offset(part);
    if (zc_part_is_picked(part)) {
        for (int d = 0; d < part->ndim; d++) {
            chunk_stride[d] = stride[d] * (int64_t)item->size;
        }
        zc_part_place_picked(part, chunk, chunk_stride, &part->window->item);
        return ZC_OK;
    }
    for (int d = 0; d < part->ndim; d++) {
        const zc_axis *axis = &part->axis[d];
        const int64_t bytes = stride[d] * (int64_t)item->size;
        shape[d] = axis->count;
        memory_stride[d] = axis->stride;
        chunk_stride[d] = axis->index == NULL ? bytes * axis->step : bytes;
        if (axis->index == NULL) {
            chunk += axis->start * bytes;
        }
    }
    const zc_status status = tables_open(part, chunk_stride, &t, ws, err);
    if (status != ZC_OK) {
        return status;
    }
    item = zc_part_item(part, item);
    if (!t.pushed) {
        if (way == TO_MEMORY) {
            zc_region_copy(part->ndim, shape, part->memory, memory_stride, chunk, chunk_stride, item);
        } else {
            zc_region_copy(part->ndim, shape, chunk, chunk_stride, part->memory, memory_stride, item);
        }
    } else if (way == TO_MEMORY) {
        zc_region_gather(part->ndim, shape, part->memory, memory_stride, t.memory, chunk, chunk_stride,
                         t.chunk, item);
    } else {
        zc_region_gather(part->ndim, shape, chunk, chunk_stride, t.chunk, part->memory, memory_stride,
                         t.memory, item);
    }
    tables_close(&t, ws);
    return ZC_OK;
}

#define POINTS_AT_ONCE 512

/* Move the points among the flat elements first .. first + n; chunk points to element `first`. */
static void move_points(const zc_part *part, char *chunk, const int64_t *shape, int64_t first, int64_t n,
                        direction way, const zc_item *item)
{
    const zc_item *const moved = zc_part_item(part, item);
    int64_t in_chunk[POINTS_AT_ONCE], in_memory[POINTS_AT_ONCE];
    size_t held = 0;

    chunk += zc_part_offset(part);
    for (size_t p = 0; p < part->n_points; p++) {
        const int64_t flat = zc_part_point_flat(part, shape, part->points[p]) - first;
        if (flat >= 0 && flat < n) {
            in_chunk[held] = flat * (int64_t)item->size;
            in_memory[held] = part->points[p] * part->point_stride;
            held++;
        }
        if (held == POINTS_AT_ONCE || p + 1 == part->n_points) {
            if (way == TO_MEMORY) {
                zc_points_copy(held, part->memory, in_memory, chunk, in_chunk, moved);
            } else {
                zc_points_copy(held, chunk, in_chunk, part->memory, in_memory, moved);
            }
            held = 0;
        }
    }
}

/* ---- chunk <-> memory ---------------------------------------------------------------------- */

typedef struct mover {
    const zc_part *part;
    char *chunk;                     /* element `first` */
    int64_t first;
    direction way;
    const zc_item *item;
    zc_workspace *ws;
    zc_error *err;
    zc_status status;
} mover;

static bool move_box(box_walk *walk)
{
    mover *m = walk->context;
    zc_part inside;
    int64_t at = -m->first;

    if (!zc_part_clip(m->part, walk->lo, walk->hi, &inside)) {
        return true;
    }
    for (int d = 0; d < walk->ndim; d++) {
        at += walk->lo[d] * walk->stride[d];
    }
    m->status = move_region(&inside, m->chunk + at * (int64_t)m->item->size, walk->stride, m->way, m->item, m->ws,
                            m->err);
    return m->status == ZC_OK;
}

/* Move what lies among the flat elements m->first .. m->first + n. */
static zc_status move_range(mover *m, const int64_t *shape, int64_t n)
{
    const zc_part *part = m->part;
    box_walk walk;

    if (zc_part_is_prefetch(part)) {
        return ZC_OK;
    }
    if (part->points != NULL) {
        move_points(part, m->chunk, shape, m->first, n, m->way, m->item);
        return ZC_OK;
    }
    walk_begin(&walk, part->ndim, shape);
    if (m->first == 0 && (part->ndim == 0 || n == shape[0] * walk.stride[0])) {
        return move_region(part, m->chunk, walk.stride, m->way, m->item, m->ws, m->err);
    }
    walk.visit = move_box;
    walk.context = m;
    walk_range(&walk, 0, m->first, n);
    return m->status;
}

zc_status zc_part_scatter(const zc_part *part, const int64_t *shape, const void *chunk, int64_t first,
                          int64_t n, const zc_item *item, zc_workspace *ws, zc_error *err)
{
    mover m = {part, (char *)chunk, first, TO_MEMORY, item, ws, err, ZC_OK};

    return move_range(&m, shape, n);
}

zc_status zc_part_gather(const zc_part *part, const int64_t *shape, void *chunk, int64_t first, int64_t n,
                         const zc_item *item, zc_workspace *ws, zc_error *err)
{
    mover m = {part, chunk, first, TO_CHUNK, item, ws, err, ZC_OK};

    return move_range(&m, shape, n);
}

bool zc_part_keeps_rows(const zc_part *part)
{
    int64_t row = INT64_MAX, least = INT64_MAX;

    for (int d = 0; d < part->ndim && part->points == NULL; d++) {
        const int64_t stride = part->axis[d].stride < 0 ? -part->axis[d].stride : part->axis[d].stride;
        if (part->axis[d].count > 1) {
            row = stride;            /* of the last dimension that has a length */
            least = stride < least ? stride : least;
        }
    }
    return row <= least;
}

/* ---- intersection -------------------------------------------------------------------------- */

typedef struct touch {
    const zc_part *part;
    bool found;
} touch;

static bool touch_box(box_walk *walk)
{
    touch *t = walk->context;
    zc_part inside;

    t->found = zc_part_clip(t->part, walk->lo, walk->hi, &inside) &&
               (!zc_part_is_picked(&inside) || zc_part_picks_any(&inside));
    return !t->found;
}

bool zc_part_touches(const zc_part *part, const int64_t *shape, int64_t first, int64_t n)
{
    touch t = {part, false};
    box_walk walk;

    walk_begin(&walk, part->ndim, shape);
    for (size_t p = 0; p < part->n_points && part->points != NULL; p++) {
        const int64_t flat = zc_part_point_flat(part, shape, part->points[p]);
        if (flat >= first && flat - first < n) {
            return true;
        }
    }
    if (part->points != NULL) {
        return false;
    }
    walk.visit = touch_box;
    walk.context = &t;
    walk_range(&walk, 0, first, n);
    return t.found;
}

/* ---- fill values --------------------------------------------------------------------------- */

static bool is_indexed(const zc_part *part)
{
    for (int d = 0; d < part->ndim; d++) {
        if (part->axis[d].index != NULL) {
            return true;
        }
    }
    return false;
}

/* Each piece as a window of its own. */
static zc_status fill_pieces(const zc_part *part, size_t itemsize, const void *fill, zc_workspace *ws, zc_error *err)
{
    const zc_item *const item = &part->window->item;
    zc_status status = ZC_OK;

    for (uint32_t i = 0; i < item->n_pieces && status == ZC_OK; i++) {
        const zc_window window = {.offset = part->window->offset + item->pieces[i].from,
                                  .item = {.size = item->pieces[i].item.size}};
        zc_part piece = *part;
        piece.memory += item->pieces[i].to;
        piece.window = &window;
        status = zc_part_fill(&piece, itemsize, fill, ws, err);
    }
    return status;
}

zc_status zc_part_fill(const zc_part *part, size_t itemsize, const void *fill, zc_workspace *ws,
                       zc_error *err)
{
    if (zc_part_is_prefetch(part)) {
        return ZC_OK;
    }
    if (part->window != NULL && part->window->item.n_pieces > 0) {
        return fill_pieces(part, itemsize, fill, ws, err);
    }
    const zc_item item = {.size = part->window != NULL ? part->window->item.size : itemsize};
    int64_t shape[ZC_MAX_DIMS], stride[ZC_MAX_DIMS];

    fill = (const char *)fill + zc_part_offset(part);
    for (int d = 0; d < part->ndim; d++) {
        stride[d] = 0;
    }
    if (zc_part_is_picked(part)) {
        zc_part_place_picked(part, fill, stride, &item);         /* every element comes from the one at `fill` */
        return ZC_OK;
    }
    if (part->points != NULL) {
        for (size_t p = 0; p < part->n_points; p++) {
            memcpy(part->memory + part->points[p] * part->point_stride, fill, item.size);
        }
        return ZC_OK;
    }
    if (is_indexed(part)) {
        zc_part from_one = *part;    /* every element comes from the one at `fill` */
        from_one.window = NULL;
        for (int d = 0; d < part->ndim; d++) {
            if (from_one.axis[d].index == NULL) {
                from_one.axis[d].start = 0;
            }
        }
        return move_region(&from_one, (char *)fill, stride, TO_MEMORY, &item, ws, err);
    }
    for (int d = 0; d < part->ndim; d++) {
        shape[d] = part->axis[d].count;
        stride[d] = part->axis[d].stride;
    }
    zc_region_fill(part->ndim, shape, part->memory, stride, item.size, fill);
    return ZC_OK;
}

bool zc_part_equals_fill(const zc_part *part, size_t itemsize, const void *fill)
{
    int64_t shape[ZC_MAX_DIMS], stride[ZC_MAX_DIMS];

    for (int d = 0; d < part->ndim; d++) {
        shape[d] = part->axis[d].count;
        stride[d] = part->axis[d].stride;
    }
    return zc_region_equals_fill(part->ndim, shape, part->memory, stride, itemsize, fill);
}
