/* SPDX-License-Identifier: MIT
 *
 * Shapes and chunk grids: "regular" (zarr v3 specification, "Regular grids") and "rectilinear" (zarr
 * extensions).
 */
#include "base/arith.h"
#include "document/document.h"

#define CHUNKS_MAX 1000000        /* in all dimensions together: run lengths must not take all memory */

static zc_status set_shape(zc_document *doc, const zc_node *shape)
{
    int64_t lengths[ZC_MAX_DIMS];
    size_t ndim = 0;
    zc_status status = zc_node_array(shape, &ndim);

    if (status == ZC_OK && ndim > ZC_MAX_DIMS) {
        status = zc_node_fail(shape, "%zu dimensions, at most %d are supported", ndim, ZC_MAX_DIMS);
    }
    if (status == ZC_OK) {
        status = zc_node_ints(shape, ndim, 0, INT64_MAX, lengths);
    }
    for (size_t d = 0; d < ndim && status == ZC_OK; d++) {
        doc->array.grid[d] = (zc_grid_axis){.length = lengths[d], .chunk = 1};
    }
    doc->array.ndim = (int)ndim;
    return status;
}

zc_status zc_grid_regular(zc_document *doc, const zc_node *shape, const zc_node *chunks)
{
    int64_t lengths[ZC_MAX_DIMS];
    zc_status status = set_shape(doc, shape);

    if (status == ZC_OK) {
        status = zc_node_ints(chunks, (size_t)doc->array.ndim, 0, INT64_MAX, lengths);
    }
    for (int d = 0; d < doc->array.ndim && status == ZC_OK; d++) {
        if (lengths[d] == 0 && doc->array.grid[d].length != 0) {
            status = zc_node_fail(chunks, "a chunk length of 0 along a dimension of %lld",
                                  (long long)doc->array.grid[d].length);
        }
        /* There is no chunk to find along a dimension of length 0. */
        doc->array.grid[d].chunk = lengths[d] > 0 ? lengths[d] : 1;
    }
    return status;
}

/* ---- rectilinear -------------------------------------------------------------------------------- */

/* A length, or [length, count]. */
static zc_status read_run(const zc_node *item, int64_t *length, int64_t *count)
{
    int64_t run[2] = {0, 1};
    zc_status status;

    if (zc_node_is_array(item)) {
        status = zc_node_ints(item, 2, 1, INT64_MAX, run);
    } else {
        status = zc_node_int(item, 1, INT64_MAX, &run[0]);
    }
    *length = run[0];
    *count = run[1];
    return status;
}

/* `room`: how many more chunks the dimensions may list; their number is taken off it. */
static zc_status count_chunks(const zc_node *runs, int64_t *room, int64_t *out)
{
    int64_t length, count;
    size_t n = 0;
    zc_status status = zc_node_array(runs, &n);

    *out = 0;
    if (status == ZC_OK && n == 0) {
        status = zc_node_fail(runs, "expected at least one chunk");
    }
    ZC_EACH(item, runs, status) {
        status = read_run(&item, &length, &count);
        if (status == ZC_OK && count > *room - *out) {
            status = zc_node_fail(runs, "more than %d chunks in all dimensions together", CHUNKS_MAX);
        }
        *out += status == ZC_OK ? count : 0;
    }
    *room -= *out;
    return status;
}

/* The edges of a dimension, from runs that count_chunks has seen. */
static zc_status put_edges(const zc_node *runs, int64_t *edges)
{
    int64_t length, count;
    zc_status status = ZC_OK;

    ZC_EACH(item, runs, status) {
        status = read_run(&item, &length, &count);
        for (int64_t i = 0; i < count && status == ZC_OK; i++, edges++) {
            if (length > INT64_MAX - edges[0]) {
                status = zc_node_fail(runs, "chunks of more than 2**63 elements together");
            } else {
                edges[1] = edges[0] + length;
            }
        }
    }
    return status;
}

static zc_status set_runs(zc_document *doc, const zc_node *runs, int64_t *room, zc_grid_axis *axis)
{
    int64_t n;
    zc_status status = count_chunks(runs, room, &n);

    if (status != ZC_OK) {
        return status;
    }
    int64_t *const edges = zc_arena_alloc(&doc->arena, (size_t)(n + 1) * sizeof edges[0]);
    if (edges == NULL) {
        return zc_node_no_memory(runs);
    }
    status = put_edges(runs, edges);
    if (status == ZC_OK && edges[n] < axis->length) {
        status = zc_node_fail(runs, "chunks of %lld elements do not cover the array's %lld",
                              (long long)edges[n], (long long)axis->length);
    }
    axis->edges = edges;
    axis->n_edges = n;
    return status;
}

zc_status zc_grid_rectilinear(zc_document *doc, const zc_node *shape, const zc_node *chunk_shapes)
{
    size_t n = 0;
    int64_t room = CHUNKS_MAX;
    zc_status status = set_shape(doc, shape);

    if (status == ZC_OK) {
        status = zc_node_array(chunk_shapes, &n);
    }
    if (status == ZC_OK && n != (size_t)doc->array.ndim) {
        status = zc_node_fail(chunk_shapes, "expected %d entries, got %zu", doc->array.ndim, n);
    }
    ZC_EACH(runs, chunk_shapes, status) {
        zc_grid_axis *const axis = &doc->array.grid[runs.index];
        status = zc_node_is_array(&runs) ? set_runs(doc, &runs, &room, axis)
                                         : zc_node_int(&runs, 1, INT64_MAX, &axis->chunk);
    }
    return status;
}

void zc_grid_longest(const zc_document *doc, int64_t *out)
{
    for (int d = 0; d < doc->array.ndim; d++) {
        const zc_grid_axis *const axis = &doc->array.grid[d];
        out[d] = axis->edges != NULL ? 1 : axis->chunk;
        for (int64_t c = 0; axis->edges != NULL && c < axis->n_edges; c++) {
            const int64_t length = axis->edges[c + 1] - axis->edges[c];
            out[d] = length > out[d] ? length : out[d];
        }
    }
}
