/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for the arithmetic of selections: grids of any size, slices, index lists, points and masks, up to the
 * limits of int64.  The target keeps what the engine demands of its callers (indices in bounds, ascending edges and
 * lists) and takes everything else from the input.
 *
 * Nothing is read.  Every item of a plan must name a chunk of the grid and a selection inside of it, and all together
 * must be the selection.
 */
#include "base/arith.h"
#include "engine/chain_build.h"
#include "engine/engine.h"
#include "fuzz/fuzz.h"

enum { MOST_DIMS = 6, MOST_EDGES = 12, MOST_INDICES = 24, MOST_ITEMS = 4096, MOST_BITS = 4096 };

typedef enum kind { SLICES, LISTS, POINTS, MASK } kind;

/* A call with all that it points to. */
typedef struct selection {
    zc_chain chain;
    zc_array array;
    zc_selection selection;
    zc_store store;
    zc_window window;
    zc_picked picked;
    int64_t edges[MOST_DIMS][MOST_EDGES + 1];
    int64_t index[MOST_DIMS][MOST_INDICES], place[MOST_INDICES];
    uint64_t bits[MOST_BITS / 64 + 1];
    int64_t before[MOST_BITS / 64 + 1];
} selection;

/* ---- from the input --------------------------------------------------------------------------- */

static zc_grid_axis parse_grid(fuzz_input *in, int64_t most, int64_t *edges)
{
    zc_grid_axis axis = {.length = fuzz_length(in, most)};
    const uint8_t n = fuzz_byte(in);

    if (n % 3 != 0) {
        axis.chunk = fuzz_length(in, INT64_MAX - 1) + 1;
        return axis;
    }
    axis.edges = edges;
    axis.n_edges = 1 + n / 3 % MOST_EDGES;
    edges[0] = 0;
    for (int64_t i = 1; i <= axis.n_edges; i++) {
        edges[i] = edges[i - 1] + fuzz_length(in, (INT64_MAX - 1 - edges[i - 1]) / 2) + 1;
    }
    if (edges[axis.n_edges] < axis.length) {
        axis.length = edges[axis.n_edges];
    }
    return axis;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Indices of an axis that is not empty. */
static void parse_indices(fuzz_input *in, int64_t length, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = fuzz_length(in, length - 1);
    }
}

static zc_axis parse_slice(fuzz_input *in, int64_t length)
{
    zc_axis axis = {.step = 1};

    if (length == 0) {
        return axis;
    }
    axis.start = fuzz_length(in, length - 1);
    axis.step = fuzz_length(in, INT64_MAX - 1) + 1;
    axis.count = fuzz_length(in, (length - 1 - axis.start) / axis.step + 1);
    if (axis.count <= 1) {
        axis.step = 1;
    }
    return axis;
}

static zc_axis parse_list(fuzz_input *in, selection *s, int d)
{
    const int64_t length = s->array.grid[d].length, n = length > 0 ? fuzz_byte(in) % (MOST_INDICES + 1) : 0;

    if (n == 0) {
        return parse_slice(in, length);
    }
    parse_indices(in, length, n, s->index[d]);
    qsort(s->index[d], (size_t)n, sizeof *s->index[d], compare);
    return (zc_axis){.count = n, .index = s->index[d], .place = s->place};
}

static bool parse_points(fuzz_input *in, selection *s)
{
    s->selection.n_points = fuzz_byte(in) % (MOST_INDICES + 1);
    s->selection.kind = ZC_SELECT_POINTS;
    s->selection.points = s->place;
    s->selection.point_stride = 1;
    for (int d = 0; d < s->selection.ndim; d++) {
        if (s->array.grid[d].length == 0) {
            return false;
        }
        parse_indices(in, s->array.grid[d].length, (int64_t)s->selection.n_points, s->index[d]);
        s->selection.axis[d] = (zc_axis){.count = (int64_t)s->selection.n_points, .index = s->index[d],
                                         .place = s->place};
    }
    return true;
}

/* A mask of a small array; its memory is never touched, so that any address serves. */
static bool parse_mask(fuzz_input *in, selection *s)
{
    int64_t n = 1;

    for (int d = s->selection.ndim - 1; d >= 0; d--) {
        const int64_t length = s->array.grid[d].length;
        s->selection.axis[d] = (zc_axis){.count = length, .step = 1, .stride = n};
        if (length == 0 || length > MOST_BITS / n) {
            return false;
        }
        n *= length;
    }
    for (int64_t i = 0; i <= (n - 1) / 64; i++) {
        const int64_t rest = n - 64 * i;
        s->bits[i] = fuzz_word(in, 8) & (rest >= 64 ? UINT64_MAX : ((uint64_t)1 << rest) - 1);
        s->before[i] = (int64_t)s->picked.count;
        s->picked.count += (size_t)__builtin_popcountll(s->bits[i]);
    }
    s->picked.base = s->selection.memory;
    s->picked.bits = s->bits;
    s->picked.before = s->before;
    s->window = (zc_window){.item = {.size = 1}, .picked = &s->picked};
    s->selection.window = &s->window;
    s->selection.kind = ZC_SELECT_PICKED;
    return true;
}

/* False if the input is no selection. */
static bool parse(fuzz_input *in, selection *s)
{
    static char memory[MOST_BITS];
    const uint8_t choice = fuzz_byte(in);
    const kind k = (kind)(choice % 4);

    memset(s, 0, sizeof *s);
    s->chain.item.size = 1;
    (void)zc_chain_choose_kind(&s->chain, NULL);          /* plain: needs no memory */
    s->array = (zc_array){.ndim = 1 + choice / 4 % MOST_DIMS, .chain = &s->chain, .fill = "", .prefix = "",
                          .keys = {.separator = '/'}};
    s->selection.ndim = s->array.ndim;
    s->selection.memory = memory;
    for (int64_t i = 0; i < MOST_INDICES; i++) {
        s->place[i] = i;
    }
    for (int d = 0; d < s->array.ndim; d++) {
        s->array.grid[d] = parse_grid(in, k == MASK ? 64 : INT64_MAX, s->edges[d]);
    }
    if (k == POINTS) {
        return parse_points(in, s);
    }
    if (k == MASK) {
        return parse_mask(in, s);
    }
    for (int d = 0; d < s->array.ndim; d++) {
        s->selection.axis[d] = k == LISTS ? parse_list(in, s, d) : parse_slice(in, s->array.grid[d].length);
    }
    return true;
}

/* ---- what must hold --------------------------------------------------------------------------- */

/* The elements of the selection, in order, as long as they are inside of the chunk. */
static void check_axis(const zc_axis *axis, int64_t length)
{
    if (axis->index != NULL) {
        for (int64_t k = 0; k < axis->count; k++) {
            const int64_t at = axis->start + axis->index[k];
            FUZZ_REQUIRE(at >= 0 && at < length, "an index outside of its chunk");
        }
        return;
    }
    FUZZ_REQUIRE(axis->start >= 0 && axis->start < length, "a selection that starts outside of its chunk");
    FUZZ_REQUIRE(axis->count - 1 <= (length - 1 - axis->start) / axis->step,
                 "a selection that ends outside of its chunk");
}

static void check_points(const zc_selection *selection, const int64_t *shape)
{
    for (size_t p = 0; p < selection->n_points; p++) {
        for (int d = 0; d < selection->ndim; d++) {
            const int64_t at = selection->axis[d].start + selection->axis[d].index[selection->points[p]];
            FUZZ_REQUIRE(at >= 0 && at < shape[d], "a point outside of its chunk");
        }
    }
}

/* How many elements the item is for. */
static size_t check_item(const zc_plan *plan, size_t item)
{
    const zc_array *array = plan->call->array;
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    char key[512];
    zc_selection selection;

    zc_plan_chunk(plan, item, chunk);
    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *grid = &array->grid[d];
        FUZZ_REQUIRE(chunk[d] >= 0 && (grid->edges != NULL ? chunk[d] < grid->n_edges
                                                           : chunk[d] <= (grid->length - 1) / grid->chunk),
                     "a chunk outside of the grid");
    }
    FUZZ_REQUIRE(zc_chunk_key_size(plan->call->array) <= sizeof key, "a long key");
    zc_chunk_key(array, chunk, key);
    FUZZ_REQUIRE(strlen(key) < zc_chunk_key_size(plan->call->array), "a key that is longer than was said");
    if (!zc_plan_selection(plan, item, chunk, shape, &selection)) {
        FUZZ_REQUIRE(false, "an item without elements");
    }
    if (selection.kind == ZC_SELECT_POINTS) {
        check_points(&selection, shape);
        return selection.n_points;
    }
    for (int d = 0; d < selection.ndim; d++) {
        check_axis(&selection.axis[d], shape[d]);
    }
    return zc_selection_count(&selection);
}

/* The number of selected elements; false if it is too large to be counted. */
static bool count_selected(const zc_selection *selection, size_t *out)
{
    *out = 1;
    if (selection->kind == ZC_SELECT_POINTS) {
        *out = selection->n_points;
        return true;
    }
    if (selection->kind == ZC_SELECT_PICKED) {
        *out = selection->window->picked->count;
        return true;
    }
    for (int d = 0; d < selection->ndim; d++) {
        if (!zc_mul_size(*out, (uint64_t)selection->axis[d].count, out)) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static selection s;
    fuzz_input in = {data, n};
    const zc_call call = {.array = &s.array, .store = &s.store, .selection = &s.selection, .threads = 1};
    zc_plan plan;
    zc_error err;

    zc_error_clear(&err);
    if (!parse(&in, &s)) {
        return 0;
    }
    const zc_status status = zc_plan_open(&call, &plan, &err);
    if (status != ZC_OK) {
        FUZZ_REQUIRE(status == ZC_ERR_OVERFLOW || status == ZC_ERR_MEMORY, "an unexpected status");
        return 0;
    }
    size_t found = 0, selected = 0;
    if (plan.n_items <= MOST_ITEMS) {
        for (size_t item = 0; item < plan.n_items; item++) {
            found += check_item(&plan, item);
        }
        FUZZ_REQUIRE(!count_selected(&s.selection, &selected) || found == selected, "elements were lost or added");
    } else {
        for (size_t i = 0; i < 64; i++) {
            (void)check_item(&plan, i);
            (void)check_item(&plan, plan.n_items - 1 - i);
            (void)check_item(&plan, (size_t)(fuzz_word(&in, 8) % plan.n_items));
        }
    }
    zc_plan_close(&plan);
    return 0;
}
