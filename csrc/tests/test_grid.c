/* SPDX-License-Identifier: MIT
 *
 * Selections and grids against brute force: every element of a selection must be found in exactly the chunk
 * that holds it, and no other chunk may be visited.
 */
#include <stdlib.h>

#include "check.h"
#include "engine/grid.h"
#include "engine/selection.h"

static zc_workspace *ws;

static int64_t random_below(int64_t n)
{
    return n > 0 ? (int64_t)(rand() % n) : 0;
}

/* The chunks that a span lists must be those of the elements, each once, in order. */
static void check_span(const zc_axis *axis, const zc_grid_axis *grid)
{
    zc_error err = {0};
    zc_span span;
    const int mark = zc_scratch_mark(ws);
    int64_t j = -1, last = -1;

    CHECK(zc_spans_make(1, axis, grid, &span, ws, &err) == ZC_OK);
    for (int64_t k = 0; k < axis->count; k++) {
        const int64_t at = axis->start + (axis->index != NULL ? axis->index[k] : k * axis->step);
        const int64_t chunk = zc_grid_find(grid, at);
        CHECK(zc_grid_start(grid, chunk) <= at);
        CHECK(at < zc_grid_end(grid, chunk));
        if (chunk != last) {
            j++;
            last = chunk;
        }
        CHECK(j < span.n && zc_span_chunk(&span, j) == chunk);
    }
    CHECK(span.n == j + 1);
    zc_scratch_release(ws, mark);
}

static zc_axis random_slice(int64_t length)
{
    zc_axis axis = {.step = 1 + random_below(9), .stride = 4};

    axis.start = random_below(length);
    axis.count = 1 + random_below((length - 1 - axis.start) / axis.step + 1);
    return axis;
}

static void spans_of_slices(void)
{
    for (int i = 0; i < 2000; i++) {
        const zc_grid_axis grid = {.length = 1 + random_below(60), .chunk = 1 + random_below(12)};
        const zc_axis axis = random_slice(grid.length);
        if (axis.step <= grid.chunk || axis.count == 1) {
            check_span(&axis, &grid);
        } else {                     /* one element a chunk, or a chunk that holds several was left out twice */
            zc_span span;
            zc_error err;
            const int mark = zc_scratch_mark(ws);
            CHECK(zc_spans_make(1, &axis, &grid, &span, ws, &err) == ZC_OK);
            CHECK(span.n == axis.count && zc_scratch_mark(ws) == mark);
            for (int64_t j = 0; j < span.n; j++) {
                CHECK(zc_span_chunk(&span, j) == (axis.start + j * axis.step) / grid.chunk);
            }
        }
    }
}

static void spans_of_rectilinear_grids(void)
{
    for (int i = 0; i < 1000; i++) {
        int64_t edges[21] = {0};
        const int64_t n = 1 + random_below(20);
        for (int64_t c = 0; c < n; c++) {
            edges[c + 1] = edges[c] + 1 + random_below(5);
        }
        const zc_grid_axis grid = {.length = edges[n], .chunk = 1, .edges = edges, .n_edges = n};
        const zc_axis axis = random_slice(grid.length);
        check_span(&axis, &grid);
    }
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void spans_of_index_lists(void)
{
    for (int i = 0; i < 1000; i++) {
        const zc_grid_axis grid = {.length = 1 + random_below(90), .chunk = 1 + random_below(12)};
        int64_t index[40], place[40];
        const zc_axis axis = {.count = 1 + random_below(40), .step = 1, .stride = 4, .index = index, .place = place};
        for (int64_t k = 0; k < axis.count; k++) {
            index[k] = random_below(grid.length);
            place[k] = k;
        }
        qsort(index, (size_t)axis.count, sizeof *index, ascending);
        check_span(&axis, &grid);
    }
}

/* A span over a grid of 10^12 chunks costs nothing. */
static void spans_do_not_enumerate(void)
{
    const zc_grid_axis grid = {.length = INT64_MAX / 2, .chunk = 3};
    const zc_axis axis = {.count = 5, .start = 7, .step = INT64_MAX / 16, .stride = 1};

    check_span(&axis, &grid);
}

/* A list has room for the chunks that there are, not for as many as there are elements. */
static void lists_have_room_for_chunks_not_elements(void)
{
    const int64_t edges[3] = {0, (int64_t)1 << 61, (int64_t)1 << 62}, index[4] = {0, 1, 2, INT64_MAX / 2};
    const zc_grid_axis grid = {.length = edges[2], .chunk = 1, .edges = edges, .n_edges = 2};
    const zc_axis slices = {.count = (int64_t)1 << 61, .step = 2}, list = {.count = 4, .index = index, .place = index};
    const zc_axis axes[2] = {slices, list};
    const zc_grid_axis grids[2] = {grid, grid};
    zc_error err;
    zc_span span[2];
    const int mark = zc_scratch_mark(ws);

    CHECK(zc_spans_make(2, axes, grids, span, ws, &err) == ZC_OK && zc_scratch_mark(ws) == mark + 1);
    for (int d = 0; d < 2 && zc_scratch_mark(ws) == mark + 1; d++) {
        CHECK(span[d].n == 2 && zc_span_chunk(&span[d], 0) == 0 && zc_span_chunk(&span[d], 1) == 1);
    }
    zc_scratch_release(ws, mark);
}

/* One list for all dimensions: a buffer each would be more than a workspace has. */
static void lists_in_all_dimensions(void)
{
    const int64_t index[2] = {0, 4};
    zc_grid_axis grids[ZC_MAX_DIMS];
    zc_axis axes[ZC_MAX_DIMS];
    zc_span span[ZC_MAX_DIMS];
    zc_error err;
    const int mark = zc_scratch_mark(ws);

    for (int d = 0; d < ZC_MAX_DIMS; d++) {
        grids[d] = (zc_grid_axis){.length = 5, .chunk = 1 + d % 3};
        axes[d] = (zc_axis){.count = 2, .step = 1, .index = index, .place = index};
    }
    CHECK(zc_spans_make(ZC_MAX_DIMS, axes, grids, span, ws, &err) == ZC_OK && zc_scratch_mark(ws) == mark + 1);
    for (int d = 0; d < ZC_MAX_DIMS && zc_scratch_mark(ws) == mark + 1; d++) {
        CHECK(span[d].n == 2 && zc_span_chunk(&span[d], 1) == 4 / (1 + d % 3));
    }
    zc_scratch_release(ws, mark);
}

/* The last chunk ends after the largest int64. */
static void the_end_of_the_numbers(void)
{
    const zc_grid_axis grid = {.length = INT64_MAX, .chunk = 10};
    const zc_axis axis = {.count = 3, .start = INT64_MAX - 3, .step = 1, .stride = 1};
    const int64_t chunk = zc_grid_find(&grid, INT64_MAX - 1);
    const int64_t lo = zc_grid_start(&grid, chunk), hi = zc_grid_end(&grid, chunk);
    zc_axis inside;
    int64_t shift;

    check_span(&axis, &grid);
    CHECK(zc_axis_clip(&axis, lo, hi, &inside, &shift) && inside.count == 3);
}

static void clipping_keeps_every_element_once(void)
{
    for (int i = 0; i < 2000; i++) {
        const int64_t length = 1 + random_below(60), chunk = 1 + random_below(12);
        const zc_axis axis = random_slice(length);
        int64_t seen = 0;
        for (int64_t lo = 0; lo < length; lo += chunk) {
            zc_axis inside;
            int64_t shift;
            if (!zc_axis_clip(&axis, lo, lo + chunk, &inside, &shift)) {
                continue;
            }
            for (int64_t k = 0; k < inside.count; k++) {
                const int64_t at = lo + inside.start + k * inside.step;
                CHECK(at == axis.start + seen * axis.step);
                CHECK(shift + k * inside.stride == seen * axis.stride);
                CHECK(at >= lo && at < lo + chunk);
                seen++;
            }
        }
        CHECK(seen == axis.count);
    }
}

static void points_are_grouped_and_stay_in_order(void)
{
    enum { N = 500 };
    const zc_grid_axis grid[2] = {{.length = 50, .chunk = 7}, {.length = 300, .chunk = 1}};
    int64_t index[2][N], points[N];
    zc_selection selection = {.kind = ZC_SELECT_POINTS, .ndim = 2, .points = points, .n_points = N};
    zc_point_groups groups;
    zc_error err = {0};
    const int mark = zc_scratch_mark(ws);
    char seen[N] = {0};

    for (int p = 0; p < N; p++) {
        points[p] = p;
        index[0][p] = random_below(50);
        index[1][p] = random_below(300);
    }
    selection.axis[0].index = index[0];
    selection.axis[1].index = index[1];
    CHECK(zc_points_group(&selection, grid, &groups, ws, &err) == ZC_OK);
    CHECK(groups.begin[groups.n] == N);
    int64_t last = -1;
    for (size_t g = 0; g < groups.n; g++) {
        for (size_t p = groups.begin[g]; p < groups.begin[g + 1]; p++) {
            const int64_t point = groups.order[p];
            const int64_t chunk = index[0][point] / 7 * 300 + index[1][point];
            CHECK(p == groups.begin[g] ? chunk > last : chunk == last && point > groups.order[p - 1]);
            CHECK(!seen[point]);
            seen[point] = 1;
            last = chunk;
        }
    }
    zc_scratch_release(ws, mark);
}

static void too_many_chunks_to_number(void)
{
    const zc_grid_axis grid[2] = {{.length = INT64_MAX, .chunk = 1}, {.length = INT64_MAX, .chunk = 1}};
    int64_t index[1] = {5}, points[1] = {0};
    zc_selection selection = {.kind = ZC_SELECT_POINTS, .ndim = 2, .points = points, .n_points = 1};
    zc_point_groups groups;
    zc_error err = {0};
    const int mark = zc_scratch_mark(ws);

    selection.axis[0].index = selection.axis[1].index = index;
    CHECK(zc_points_group(&selection, grid, &groups, ws, &err) == ZC_ERR_OVERFLOW);
    zc_scratch_release(ws, mark);
}

/* Scattering a chunk piece by piece must equal scattering it at once. */
static void pieces_make_the_whole(void)
{
    const zc_item item = {.size = 2};

    for (int i = 0; i < 500; i++) {
        int64_t shape[3], total = 1;
        zc_selection selection = {.ndim = 3};
        uint16_t chunk[1000], whole[1000] = {0}, pieces[1000] = {0};
        zc_error err = {0};
        int64_t stride = 2;
        for (int d = 2; d >= 0; d--) {
            shape[d] = 1 + random_below(10);
            total *= shape[d];
            selection.axis[d] = random_slice(shape[d]);
            selection.axis[d].stride = stride;
            stride *= selection.axis[d].count;
        }
        for (int e = 0; e < 1000; e++) {
            chunk[e] = (uint16_t)(e + 1);
        }
        selection.memory = (char *)whole;
        const zc_elements all = {shape, &item, 0, total, (char *)chunk};
        CHECK(zc_selection_scatter(&selection, &all, ws, &err) == ZC_OK);
        selection.memory = (char *)pieces;
        for (int64_t at = 0; at < total;) {
            int64_t n = 1 + random_below(40);
            n = n < total - at ? n : total - at;
            uint16_t before[1000];
            memcpy(before, pieces, sizeof before);
            const zc_elements part = {shape, &item, at, n, (char *)(chunk + at)};
            CHECK(zc_selection_scatter(&selection, &part, ws, &err) == ZC_OK);
            if (!zc_selection_touches(&selection, shape, at, n)) {
                CHECK(memcmp(before, pieces, sizeof before) == 0);
            }
            at += n;
        }
        CHECK(memcmp(whole, pieces, sizeof whole) == 0);
    }
}

int main(void)
{
    ws = zc_workspace_new();
    srand(7);
    RUN(spans_of_slices);
    RUN(spans_of_rectilinear_grids);
    RUN(spans_of_index_lists);
    RUN(spans_do_not_enumerate);
    RUN(lists_have_room_for_chunks_not_elements);
    RUN(lists_in_all_dimensions);
    RUN(the_end_of_the_numbers);
    RUN(clipping_keeps_every_element_once);
    RUN(points_are_grouped_and_stay_in_order);
    RUN(too_many_chunks_to_number);
    RUN(pieces_make_the_whole);
    zc_workspace_free(ws);
    return check_report("grid");
}
