/* SPDX-License-Identifier: MIT
 *
 * Chunk grids, and which of their chunks a selection touches, without enumerating the others.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/workspace.h"
#include "engine/selection.h"

/* One dimension of a chunk grid. */
typedef struct zc_grid_axis {
    int64_t length;          /* of the array */
    int64_t chunk;           /* chunk length of a regular grid */
    const int64_t *edges;    /* rectilinear: chunk c is edges[c] .. edges[c + 1]; else NULL */
    int64_t n_edges;         /* number of chunks of a rectilinear dimension */
} zc_grid_axis;

static inline int64_t zc_grid_start(const zc_grid_axis *g, int64_t chunk)
{
    return g->edges != NULL ? g->edges[chunk] : chunk * g->chunk;
}

static inline int64_t zc_grid_chunk_length(const zc_grid_axis *g, int64_t chunk)
{
    return g->edges != NULL ? g->edges[chunk + 1] - g->edges[chunk] : g->chunk;
}

/* Where a chunk ends; the last one may end beyond what an int64 can hold, but no array does. */
static inline int64_t zc_grid_end(const zc_grid_axis *g, int64_t chunk)
{
    const int64_t start = zc_grid_start(g, chunk), length = zc_grid_chunk_length(g, chunk);

    return length <= INT64_MAX - start ? start + length : INT64_MAX;
}

/* The chunk that contains an index. */
int64_t zc_grid_find(const zc_grid_axis *g, int64_t index);

/* The chunks that hold elements of one axis of a selection, in ascending order. */
typedef struct zc_span {
    int64_t n;
    int64_t first;           /* chunk first + j ... */
    const int64_t *list;     /* ... or list[j] ... */
    int64_t start, step;     /* ... or, where each element has a chunk of its own (step > 0), that of start + j * step */
    const zc_grid_axis *grid;
} zc_span;

/* The spans of the axes of a selection.  Their lists are in scratch memory. */
zc_status zc_spans_make(int ndim, const zc_axis *axis, const zc_grid_axis *grid, zc_span *out, zc_workspace *ws,
                        zc_error *err);

int64_t zc_span_chunk(const zc_span *span, int64_t j);

/* The number of chunk combinations of ndim spans; ZC_ERR_OVERFLOW if they cannot be counted. */
zc_status zc_span_count(int ndim, const zc_span *spans, size_t *out, zc_error *err);

/* The chunk of combination number `item` (C order), one number a dimension. */
void zc_span_item(int ndim, const zc_span *spans, size_t item, int64_t *chunk);

/*
 * Sort points by chunk: order[0 .. n) becomes the points (members of `points`), grouped; group g is
 * order[begin[g]] .. order[begin[g+1]].  Points of one chunk keep their order.  All in scratch memory.
 */
typedef struct zc_point_groups {
    size_t n;
    const size_t *begin;
    const int64_t *order;
} zc_point_groups;

zc_status zc_points_group(const zc_selection *selection, const zc_grid_axis *grid, zc_point_groups *out,
                          zc_workspace *ws, zc_error *err);
