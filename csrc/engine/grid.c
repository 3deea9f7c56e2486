/* SPDX-License-Identifier: MIT */
#include "engine/grid.h"

#include <stdbool.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"

int64_t zc_grid_find(const zc_grid_axis *g, int64_t index)
{
    zc_assert(index >= 0 && index < g->length);
    if (g->edges == NULL) {
        return index / g->chunk;
    }
    int64_t low = 0, high = g->n_edges;  /* the last chunk that starts at or before index */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (g->edges[middle] <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- chunks along one axis ------------------------------------------------------------------ */

static int64_t axis_index(const zc_axis *axis, int64_t k)
{
    return axis->index != NULL ? axis->start + axis->index[k] : axis->start + k * axis->step;
}

/* Is there no formula for the chunks that hold elements? */
static bool needs_list(const zc_axis *axis, const zc_grid_axis *grid)
{
    return axis->count > 0 && (axis->index != NULL || (grid->edges != NULL && axis->step != 1));
}

/* The number of chunks from the one of the first element to that of the last. */
static int64_t chunks_between(const zc_axis *axis, const zc_grid_axis *grid)
{
    return zc_grid_find(grid, axis_index(axis, axis->count - 1)) - zc_grid_find(grid, axis_index(axis, 0)) + 1;
}

/* As many chunks at most hold an element. */
static uint64_t list_bound(const zc_axis *axis, const zc_grid_axis *grid)
{
    const int64_t between = chunks_between(axis, grid);

    return (uint64_t)(between < axis->count ? between : axis->count);
}

/* Jump from chunk to chunk and note each one that contains an element. */
static void list_chunks(const zc_axis *axis, const zc_grid_axis *grid, int64_t *list, zc_span *out)
{
    zc_axis rest = *axis;
    int64_t shift;
    bool more = true;

    out->list = list;
    while (more) {
        const int64_t chunk = zc_grid_find(grid, axis_index(&rest, 0));
        const int64_t end = zc_grid_end(grid, chunk);
        const zc_axis here = rest;
        list[out->n++] = chunk;
        more = zc_axis_clip(&here, end, INT64_MAX, &rest, &shift);
        rest.start += more ? end : 0;        /* clipping made it relative to `end` */
    }
}

static void compute_chunks(const zc_axis *axis, const zc_grid_axis *grid, zc_span *out)
{
    if (axis->count > 0 && (axis->step == 1 || axis->step <= grid->chunk)) {
        out->first = zc_grid_find(grid, axis->start);
        out->n = chunks_between(axis, grid);
    } else if (axis->count > 0) {
        out->n = axis->count;
        out->start = axis->start;
        out->step = axis->step;
    }
}

zc_status zc_spans_make(int ndim, const zc_axis *axis, const zc_grid_axis *grid, zc_span *out, zc_workspace *ws,
                        zc_error *err)
{
    int64_t *list = NULL;
    uint64_t total = 0;              /* of lists that fit into memory already, or of chunks between their edges */

    for (int d = 0; d < ndim; d++) {
        out[d] = (zc_span){.grid = &grid[d]};
        if (needs_list(&axis[d], &grid[d])) {
            total += list_bound(&axis[d], &grid[d]);
        } else {
            compute_chunks(&axis[d], &grid[d], &out[d]);
        }
    }
    if (total > 0 && (list = zc_scratch_array(ws, total, sizeof *list, err)) == NULL) {
        return ZC_ERR_MEMORY;
    }
    for (int d = 0; d < ndim; d++) {
        if (needs_list(&axis[d], &grid[d])) {
            list_chunks(&axis[d], &grid[d], list, &out[d]);
            list += out[d].n;
        }
    }
    return ZC_OK;
}

int64_t zc_span_chunk(const zc_span *span, int64_t j)
{
    zc_assert(j >= 0 && j < span->n);
    if (span->list != NULL) {
        return span->list[j];
    }
    if (span->step > 0) {
        return (span->start + j * span->step) / span->grid->chunk;
    }
    return span->first + j;
}

zc_status zc_span_count(int ndim, const zc_span *spans, size_t *out, zc_error *err)
{
    size_t n = 1;

    for (int d = 0; d < ndim; d++) {
        if (!zc_mul_size(n, (uint64_t)spans[d].n, &n)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "the selection touches more chunks than can be counted");
        }
    }
    *out = n;
    return ZC_OK;
}

void zc_span_item(int ndim, const zc_span *spans, size_t item, int64_t *chunk)
{
    for (int d = ndim - 1; d >= 0; d--) {
        const size_t n = (size_t)spans[d].n;
        chunk[d] = zc_span_chunk(&spans[d], (int64_t)(item % n));
        item /= n;
    }
}

/* ---- points ---------------------------------------------------------------------------------- */

typedef struct keyed {
    uint64_t key;
    int64_t point;
} keyed;

/* Stable radix sort by key, eight bits at a time; passes in which all keys agree are left out. */
static keyed *sort_keyed(keyed *a, keyed *b, size_t n, uint64_t largest)
{
    for (int shift = 0; shift < 64 && largest >> shift != 0; shift += 8) {
        size_t at[256] = {0};
        for (size_t i = 0; i < n; i++) {
            at[(a[i].key >> shift) & 255]++;
        }
        if (at[(a[0].key >> shift) & 255] == n) {
            continue;
        }
        size_t sum = 0;
        for (int digit = 0; digit < 256; digit++) {
            const size_t count = at[digit];
            at[digit] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            b[at[(a[i].key >> shift) & 255]++] = a[i];
        }
        keyed *const swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Number of chunks along each dimension, as weights of their coordinates in C order; *total is their product. */
static zc_status chunk_weights(const zc_grid_axis *grid, int ndim, size_t *weight, size_t *total, zc_error *err)
{
    *total = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        const int64_t chunks = grid[d].length > 0 ? zc_grid_find(&grid[d], grid[d].length - 1) + 1 : 1;
        weight[d] = *total;
        if (!zc_mul_size(*total, (uint64_t)chunks, total)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "the array has too many chunks to number them");
        }
    }
    return ZC_OK;
}

/* Add the coordinate along dimension d, times its weight, to the key of each point. */
static void add_coordinates(const zc_selection *selection, int d, const zc_grid_axis *grid, size_t weight, keyed *out)
{
    const zc_axis *axis = &selection->axis[d];

    if (grid->edges == NULL && grid->chunk == 1) {
        for (size_t p = 0; p < selection->n_points; p++) {
            out[p].key += (uint64_t)(axis->start + axis->index[out[p].point]) * weight;
        }
    } else if (grid->edges == NULL && (grid->chunk & (grid->chunk - 1)) == 0) {
        int shift = 0;           /* a division takes longer than all the rest */
        while (grid->chunk >> shift != 1) {
            shift++;
        }
        for (size_t p = 0; p < selection->n_points; p++) {
            out[p].key += (uint64_t)((axis->start + axis->index[out[p].point]) >> shift) * weight;
        }
    } else {
        for (size_t p = 0; p < selection->n_points; p++) {
            out[p].key += (uint64_t)zc_grid_find(grid, axis->start + axis->index[out[p].point]) * weight;
        }
    }
}

/* Give each point the number of its chunk, in C order of the grid. */
static zc_status number_points(const zc_selection *selection, const zc_grid_axis *grid, keyed *out, uint64_t *largest,
                               zc_error *err)
{
    size_t weight[ZC_MAX_DIMS], total;
    const zc_status status = chunk_weights(grid, selection->ndim, weight, &total, err);

    if (status != ZC_OK) {
        return status;
    }
    *largest = total - 1;
    for (size_t p = 0; p < selection->n_points; p++) {
        out[p] = (keyed){0, selection->points[p]};
    }
    for (int d = 0; d < selection->ndim; d++) {
        if ((d > 0 ? weight[d - 1] : total) > weight[d]) {       /* else there is one chunk along it */
            add_coordinates(selection, d, &grid[d], weight[d], out);
        }
    }
    return ZC_OK;
}

static bool is_ascending(const keyed *pairs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (pairs[i].key < pairs[i - 1].key) {
            return false;
        }
    }
    return true;
}

zc_status zc_points_group(const zc_selection *selection, const zc_grid_axis *grid, zc_point_groups *out,
                          zc_workspace *ws, zc_error *err)
{
    const size_t n = selection->n_points;
    size_t *const begin = zc_scratch_array(ws, (uint64_t)n + 1, sizeof *begin, err);
    int64_t *const order = begin != NULL ? zc_scratch_array(ws, n, sizeof *order, err) : NULL;
    keyed *const pairs = order != NULL ? zc_scratch_array(ws, n, 2 * sizeof *pairs, err) : NULL;
    uint64_t largest;

    out->n = 0;
    if (pairs == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_status status = number_points(selection, grid, pairs, &largest, err);
    if (status == ZC_OK && n > 0) {
        const keyed *sorted = is_ascending(pairs, n) ? pairs : sort_keyed(pairs, pairs + n, n, largest);
        for (size_t p = 0; p < n; p++) {
            if (p == 0 || sorted[p].key != sorted[p - 1].key) {
                begin[out->n++] = p;
            }
            order[p] = sorted[p].point;
        }
    }
    begin[out->n] = n;
    zc_scratch_pop(ws);              /* pairs */
    out->begin = begin;
    out->order = order;
    return status;
}
