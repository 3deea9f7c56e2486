/* SPDX-License-Identifier: MIT
 *
 * Shapes and chunk grids: "regular" (zarr v3 specification, "Regular grids") and "rectilinear" (zarr
 * extensions).
 */
#include "document/document.h"

#define CHUNKS_MAX 1000000        /* in all dimensions together: run lengths must not take all memory */

static void set_shape(zc_document *doc, const zc_node *shape)
{
    int64_t lengths[ZC_MAX_DIMS];
    const size_t ndim = zc_node_array(shape);

    if (ndim > ZC_MAX_DIMS) {
        zc_node_fail(shape, "%zu dimensions, at most %d are supported", ndim, ZC_MAX_DIMS);
        return;
    }
    zc_node_lengths(shape, ndim, lengths);
    for (size_t d = 0; d < ndim; d++) {
        doc->array.grid[d] = (zc_grid_axis){.length = lengths[d], .chunk = 1};
    }
    doc->array.ndim = (int)ndim;
}

void zc_grid_regular(zc_document *doc, const zc_node *shape, const zc_node *chunks)
{
    int64_t lengths[ZC_MAX_DIMS];

    set_shape(doc, shape);
    zc_node_lengths(chunks, (size_t)doc->array.ndim, lengths);
    for (int d = 0; d < doc->array.ndim; d++) {
        if (lengths[d] == 0 && doc->array.grid[d].length != 0) {
            zc_node_fail(chunks, "a chunk length of 0 along a dimension of %lld",
                         (long long)doc->array.grid[d].length);
        }
        /* There is no chunk to find along a dimension of length 0. */
        doc->array.grid[d].chunk = lengths[d] > 0 ? lengths[d] : 1;
    }
}

/* ---- rectilinear -------------------------------------------------------------------------------- */

/* Chunks of one length after the other. */
typedef struct run {
    int64_t length, count;
} run;

/* A length, or [length, count]. */
static run read_run(const zc_node *item)
{
    int64_t pair[2] = {0, 1};

    if (zc_node_is_array(item)) {
        zc_node_ints(item, 2, 1, INT64_MAX, pair);
    } else {
        pair[0] = zc_node_int(item, 1, INT64_MAX);
    }
    return (run){pair[0], pair[1]};
}

/* `room`: how many more chunks the dimensions may list; their number is taken off it. */
static int64_t count_chunks(const zc_node *runs, int64_t *room)
{
    int64_t n = 0;

    if (zc_node_array(runs) == 0) {
        zc_node_fail(runs, "expected at least one chunk");
    }
    ZC_EACH(item, runs) {
        const int64_t count = read_run(&item).count;
        if (count > *room - n) {
            zc_node_fail(runs, "more than %d chunks in all dimensions together", CHUNKS_MAX);
        } else {
            n += count;
        }
    }
    *room -= n;
    return n;
}

/* The edges of a dimension, from runs that count_chunks has seen. */
static void put_edges(const zc_node *runs, int64_t *edges)
{
    ZC_EACH(item, runs) {
        const run chunks = read_run(&item);
        for (int64_t i = 0; i < chunks.count && zc_node_ok(runs); i++, edges++) {
            if (chunks.length > INT64_MAX - edges[0]) {
                zc_node_fail(runs, "chunks of more than 2**63 elements together");
            } else {
                edges[1] = edges[0] + chunks.length;
            }
        }
    }
}

static void set_runs(zc_document *doc, const zc_node *runs, int64_t *room, zc_grid_axis *axis)
{
    const int64_t n = count_chunks(runs, room);
    int64_t *const edges = zc_node_alloc(runs, &doc->arena, (size_t)n + 1, sizeof edges[0]);

    if (edges == NULL) {
        return;
    }
    put_edges(runs, edges);
    if (edges[n] < axis->length) {
        zc_node_fail(runs, "chunks of %lld elements do not cover the array's %lld", (long long)edges[n],
                     (long long)axis->length);
    }
    axis->edges = edges;
    axis->n_edges = n;
}

void zc_grid_rectilinear(zc_document *doc, const zc_node *shape, const zc_node *chunk_shapes)
{
    int64_t room = CHUNKS_MAX;

    set_shape(doc, shape);
    const size_t n = zc_node_array(chunk_shapes);
    if (n != (size_t)doc->array.ndim) {
        zc_node_fail(chunk_shapes, "expected %d entries, got %zu", doc->array.ndim, n);
    }
    ZC_EACH(runs, chunk_shapes) {
        zc_grid_axis *const axis = &doc->array.grid[runs.index];
        if (zc_node_is_array(&runs)) {
            set_runs(doc, &runs, &room, axis);
        } else {
            axis->chunk = zc_node_int(&runs, 1, INT64_MAX);
        }
    }
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
