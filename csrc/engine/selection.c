/* SPDX-License-Identifier: MIT */
#include "engine/selection.h"

#include "base/arith.h"
#include "base/assert.h"

#include <string.h>

/* ---- restricting a selection ------------------------------------------------------------------- */

static void copy_header(const zc_selection *selection, zc_selection *out)
{
    out->kind = selection->kind;
    out->ndim = selection->ndim;
    out->memory = selection->memory;
    out->window = selection->window;
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

bool zc_selection_clip(const zc_selection *selection, const int64_t *lo, const int64_t *hi, zc_selection *out)
{
    zc_assert(selection->kind != ZC_SELECT_POINTS);

    int64_t total = 0;

    copy_header(selection, out);
    for (int d = 0; d < selection->ndim; d++) {
        int64_t shift;
        if (!zc_axis_clip(&selection->axis[d], lo[d], hi[d], &out->axis[d], &shift)) {
            return false;
        }
        total += shift;
    }
    out->memory = selection->memory != NULL ? selection->memory + total : NULL;
    return true;
}

void zc_selection_take_points(const zc_selection *selection, const int64_t *points, size_t n, const int64_t *lo,
                              zc_selection *out)
{
    copy_header(selection, out);
    out->points = points;
    out->n_points = n;
    out->point_stride = selection->point_stride;
    for (int d = 0; d < selection->ndim; d++) {
        out->axis[d] = selection->axis[d];
        out->axis[d].start -= lo[d];
    }
}

void zc_selection_permute(zc_selection *selection, const int *order)
{
    zc_axis axis[ZC_MAX_DIMS];

    memcpy(axis, selection->axis, (size_t)selection->ndim * sizeof *axis);
    for (int d = 0; d < selection->ndim; d++) {
        selection->axis[d] = axis[order[d]];
    }
}

/* ---- questions about a selection --------------------------------------------------------------- */

size_t zc_selection_count(const zc_selection *selection)
{
    size_t count = 1;

    if (selection->kind == ZC_SELECT_POINTS) {
        return selection->n_points;
    }
    if (selection->kind == ZC_SELECT_PICKED) {
        return zc_selection_picks(selection);
    }
    for (int d = 0; d < selection->ndim; d++) {
        count *= (size_t)selection->axis[d].count;
    }
    return count;
}

bool zc_selection_whole(int ndim, const int64_t *shape, size_t itemsize, void *memory, zc_selection *out)
{
    size_t stride = itemsize;

    out->ndim = ndim;
    out->memory = memory;
    out->kind = ZC_SELECT_REGION;
    out->window = NULL;
    for (int d = ndim - 1; d >= 0; d--) {
        out->axis[d] = (zc_axis){.count = shape[d], .step = 1, .stride = (int64_t)stride};
        if (!zc_mul_size(stride, (uint64_t)shape[d], &stride)) {
            return false;
        }
    }
    return true;
}

bool zc_selection_covers(const zc_selection *selection, const int64_t *shape)
{
    if (selection->kind != ZC_SELECT_REGION || (selection->window != NULL && selection->window->patches)) {
        return false;
    }
    for (int d = 0; d < selection->ndim; d++) {
        const zc_axis *axis = &selection->axis[d];
        /* An index list may repeat an element, so its length proves nothing. */
        if (axis->index != NULL || axis->start != 0 || axis->count != shape[d] ||
            (axis->step != 1 && axis->count > 1)) {
            return false;
        }
    }
    return true;
}

bool zc_selection_is_chunk_image(const zc_selection *selection, const int64_t *shape, size_t itemsize)
{
    int64_t stride = (int64_t)itemsize;

    if (selection->window != NULL || !zc_selection_covers(selection, shape)) {
        return false;
    }
    for (int d = selection->ndim - 1; d >= 0; d--) {
        if (shape[d] != 1 && selection->axis[d].stride != stride) {
            return false;
        }
        stride *= shape[d];
    }
    return true;
}

void zc_selection_extent(const zc_selection *selection, const int64_t *shape, int64_t *first, int64_t *last)
{
    int64_t stride = 1;

    *first = *last = 0;
    for (int d = selection->ndim - 1; d >= 0; d--) {
        const zc_axis *axis = &selection->axis[d];
        const int64_t low = axis->start + (axis->index != NULL ? axis->index[0] : 0);
        const int64_t high = axis->start + (axis->index != NULL ? axis->index[axis->count - 1]
                                                                : (axis->count - 1) * axis->step);
        *first += low * stride;
        *last += high * stride;
        stride *= shape[d];
    }
}

int64_t zc_selection_point_flat(const zc_selection *selection, const int64_t *shape, int64_t point)
{
    zc_assert(selection->kind == ZC_SELECT_POINTS);

    int64_t flat = 0;

    for (int d = 0; d < selection->ndim; d++) {
        flat = flat * shape[d] + selection->axis[d].start + selection->axis[d].index[point];
    }
    return flat;
}

/* ---- flat ranges of a chunk as boxes ------------------------------------------------------- */

/* A walk through the boxes that make up a flat range of a chunk. */
typedef struct box_walk {
    const zc_selection *selection;
    const int64_t *shape;
    int64_t stride[ZC_MAX_DIMS];     /* elements, C order */
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];
    /* What the selection has in a box; false to stop. */
    bool (*visit)(struct box_walk *walk, const zc_selection *inside);
    void *context;
} box_walk;

static bool visit_box(box_walk *walk)
{
    zc_selection inside;

    return !zc_selection_clip(walk->selection, walk->lo, walk->hi, &inside) || walk->visit(walk, &inside);
}

/* Visit the boxes that make up n flat elements from `first` on, counted within dimensions d and up; false: stopped. */
static bool walk_range(box_walk *walk, int d, int64_t first, int64_t n)
{
    if (d == walk->selection->ndim) {
        return visit_box(walk);
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
        for (int e = d + 1; e < walk->selection->ndim; e++) {
            walk->lo[e] = 0;
            walk->hi[e] = walk->shape[e];
        }
        if (!visit_box(walk)) {
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

static void walk_begin(box_walk *walk, const zc_selection *selection, const int64_t *shape)
{
    int64_t n = 1;

    walk->selection = selection;
    walk->shape = shape;
    for (int d = selection->ndim - 1; d >= 0; d--) {
        walk->stride[d] = n;
        n *= shape[d];
    }
}

/* ---- moving elements ----------------------------------------------------------------------- */

/* Offsets in bytes of all elements of the indexed dimensions, in scratch memory. */
typedef struct tables {
    const int64_t *chunk[ZC_MAX_DIMS];
    const int64_t *memory[ZC_MAX_DIMS];
    bool pushed;
} tables;

static zc_status tables_open(const zc_selection *selection, const int64_t *chunk_stride, tables *t, zc_workspace *ws,
                             zc_error *err)
{
    size_t total = 0;
    int64_t *at;

    for (int d = 0; d < selection->ndim; d++) {
        t->chunk[d] = t->memory[d] = NULL;
        if (selection->axis[d].index != NULL) {
            total += (size_t)selection->axis[d].count;
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
    for (int d = 0; d < selection->ndim; d++) {
        const zc_axis *axis = &selection->axis[d];
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

typedef enum direction { TO_MEMORY, TO_CHUNK } direction;

/* Move all elements of a region; chunk points to its element (0, 0, ...), stride in elements. */
static zc_status move_region(const zc_selection *selection, char *chunk, const int64_t *stride, direction way,
                             const zc_item *item, zc_workspace *ws, zc_error *err)
{
    int64_t shape[ZC_MAX_DIMS], memory_stride[ZC_MAX_DIMS], chunk_stride[ZC_MAX_DIMS];
    tables t;

    chunk += zc_selection_offset(selection);
    if (selection->kind == ZC_SELECT_PICKED) {
        for (int d = 0; d < selection->ndim; d++) {
            chunk_stride[d] = stride[d] * (int64_t)item->size;
        }
        zc_selection_place_picked(selection, chunk, chunk_stride, &selection->window->item);
        return ZC_OK;
    }
    for (int d = 0; d < selection->ndim; d++) {
        const zc_axis *axis = &selection->axis[d];
        const int64_t bytes = stride[d] * (int64_t)item->size;
        shape[d] = axis->count;
        memory_stride[d] = axis->stride;
        chunk_stride[d] = axis->index == NULL ? bytes * axis->step : bytes;
        if (axis->index == NULL) {
            chunk += axis->start * bytes;
        }
    }
    const zc_status status = tables_open(selection, chunk_stride, &t, ws, err);
    if (status != ZC_OK) {
        return status;
    }
    item = zc_selection_item(selection, item);
    const zc_side sides[] = {{selection->memory, memory_stride, t.memory}, {chunk, chunk_stride, t.chunk}};
    const zc_side *const to = &sides[way == TO_CHUNK], *const from = &sides[way == TO_MEMORY];
    if (t.pushed) {
        zc_region_gather(selection->ndim, shape, to, from, item);
    } else {
        zc_region_copy(selection->ndim, shape, to->at, to->strides, from->at, from->strides, item);
    }
    zc_pop(ws, t.pushed);
    return ZC_OK;
}

#define POINTS_AT_ONCE 512

/* Move the points among the elements. */
static void move_points(const zc_selection *selection, const zc_elements *elements, direction way)
{
    const zc_item *const moved = zc_selection_item(selection, elements->item);
    char *const chunk = elements->data + zc_selection_offset(selection);
    int64_t in_chunk[POINTS_AT_ONCE], in_memory[POINTS_AT_ONCE];
    size_t held = 0;

    for (size_t p = 0; p < selection->n_points; p++) {
        const int64_t flat = zc_selection_point_flat(selection, elements->shape, selection->points[p]) - elements->first;
        if (flat >= 0 && flat < elements->n) {
            in_chunk[held] = flat * (int64_t)elements->item->size;
            in_memory[held] = selection->points[p] * selection->point_stride;
            held++;
        }
        if (held < POINTS_AT_ONCE && p + 1 < selection->n_points) {
            continue;
        }
        if (way == TO_MEMORY) {
            zc_points_copy(held, selection->memory, in_memory, chunk, in_chunk, moved);
        } else {
            zc_points_copy(held, chunk, in_chunk, selection->memory, in_memory, moved);
        }
        held = 0;
    }
}

/* ---- chunk <-> memory ---------------------------------------------------------------------- */

typedef struct mover {
    const zc_elements *elements;
    direction way;
    zc_workspace *ws;
    zc_error *err;
    zc_status status;
} mover;

static bool move_box(box_walk *walk, const zc_selection *inside)
{
    mover *m = walk->context;
    const zc_elements *elements = m->elements;
    int64_t at = -elements->first;

    for (int d = 0; d < inside->ndim; d++) {
        at += walk->lo[d] * walk->stride[d];
    }
    m->status = move_region(inside, elements->data + at * (int64_t)elements->item->size, walk->stride, m->way,
                            elements->item, m->ws, m->err);
    return m->status == ZC_OK;
}

static zc_status move_elements(const zc_selection *selection, const zc_elements *elements, direction way,
                               zc_workspace *ws, zc_error *err)
{
    zc_assert(selection->memory != NULL);

    mover m = {elements, way, ws, err, ZC_OK};
    box_walk walk;

    if (selection->kind == ZC_SELECT_POINTS) {
        move_points(selection, elements, way);
        return ZC_OK;
    }
    walk_begin(&walk, selection, elements->shape);
    if (elements->first == 0 && (selection->ndim == 0 || elements->n == elements->shape[0] * walk.stride[0])) {
        return move_region(selection, elements->data, walk.stride, way, elements->item, ws, err);
    }
    walk.visit = move_box;
    walk.context = &m;
    walk_range(&walk, 0, elements->first, elements->n);
    return m.status;
}

zc_status zc_selection_scatter(const zc_selection *selection, const zc_elements *from, zc_workspace *ws, zc_error *err)
{
    return move_elements(selection, from, TO_MEMORY, ws, err);
}

zc_status zc_selection_gather(const zc_selection *selection, const zc_elements *to, zc_workspace *ws, zc_error *err)
{
    return move_elements(selection, to, TO_CHUNK, ws, err);
}

bool zc_selection_keeps_rows(const zc_selection *selection)
{
    int64_t row = INT64_MAX, least = INT64_MAX;

    for (int d = 0; d < selection->ndim && selection->kind != ZC_SELECT_POINTS; d++) {
        const int64_t stride = selection->axis[d].stride < 0 ? -selection->axis[d].stride : selection->axis[d].stride;
        if (selection->axis[d].count > 1) {
            row = stride;            /* of the last dimension that has a length */
            least = stride < least ? stride : least;
        }
    }
    return row <= least;
}

/* ---- intersection -------------------------------------------------------------------------- */

static bool goes_on(box_walk *walk, const zc_selection *inside)
{
    (void)walk;
    return inside->kind == ZC_SELECT_PICKED && !zc_selection_picks_any(inside);
}

bool zc_selection_touches(const zc_selection *selection, const int64_t *shape, int64_t first, int64_t n)
{
    zc_assert(selection->kind != ZC_SELECT_POINTS);

    box_walk walk;

    walk_begin(&walk, selection, shape);
    walk.visit = goes_on;
    return !walk_range(&walk, 0, first, n);
}

/* ---- fill values --------------------------------------------------------------------------- */

/* Each piece as a window of its own. */
static zc_status fill_pieces(const zc_selection *selection, size_t itemsize, const void *fill, zc_workspace *ws,
                             zc_error *err)
{
    const zc_item *const item = &selection->window->item;
    zc_status status = ZC_OK;

    for (uint32_t i = 0; i < item->n_pieces && status == ZC_OK; i++) {
        const zc_window window = {.offset = selection->window->offset + item->pieces[i].from,
                                  .item = {.size = item->pieces[i].item.size}};
        zc_selection piece = *selection;
        piece.memory += item->pieces[i].to;
        piece.window = &window;
        status = zc_selection_fill(&piece, itemsize, fill, ws, err);
    }
    return status;
}

zc_status zc_selection_fill(const zc_selection *selection, size_t itemsize, const void *fill, zc_workspace *ws,
                            zc_error *err)
{
    if (selection->window != NULL && selection->window->item.n_pieces > 0) {
        return fill_pieces(selection, itemsize, fill, ws, err);
    }
    const zc_item item = {.size = selection->window != NULL ? selection->window->item.size : itemsize};
    static const int64_t nowhere[ZC_MAX_DIMS];       /* strides: every element comes from the one at `fill` */
    int64_t shape[ZC_MAX_DIMS], stride[ZC_MAX_DIMS];
    zc_selection from_one;
    bool indexed = false;

    fill = (const char *)fill + zc_selection_offset(selection);
    if (selection->kind == ZC_SELECT_PICKED) {
        zc_selection_place_picked(selection, fill, nowhere, &item);
        return ZC_OK;
    }
    if (selection->kind == ZC_SELECT_POINTS) {
        for (size_t p = 0; p < selection->n_points; p++) {
            memcpy(selection->memory + selection->points[p] * selection->point_stride, fill, item.size);
        }
        return ZC_OK;
    }
    for (int d = 0; d < selection->ndim; d++) {
        shape[d] = selection->axis[d].count;
        stride[d] = selection->axis[d].stride;
        indexed |= selection->axis[d].index != NULL;
    }
    if (!indexed) {
        zc_region_fill(selection->ndim, shape, selection->memory, stride, item.size, fill);
        return ZC_OK;
    }
    from_one = *selection;
    from_one.window = NULL;
    return move_region(&from_one, (char *)fill, nowhere, TO_MEMORY, &item, ws, err);
}

bool zc_selection_equals_fill(const zc_selection *selection, size_t itemsize, const void *fill)
{
    int64_t shape[ZC_MAX_DIMS], stride[ZC_MAX_DIMS];

    for (int d = 0; d < selection->ndim; d++) {
        shape[d] = selection->axis[d].count;
        stride[d] = selection->axis[d].stride;
    }
    return zc_region_equals_fill(selection->ndim, shape, selection->memory, stride, itemsize, fill);
}
