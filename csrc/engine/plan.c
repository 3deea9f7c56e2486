/* SPDX-License-Identifier: MIT
 *
 * The plan of a call: which chunks, and what is selected of each.
 */
#include <string.h>

#include "base/assert.h"
#include "engine/engine.h"

#define DIGITS_MAX 20        /* of an int64 */
#define HOLD_MIN 8           /* chunks for which it pays to tell the store of them */

/* ---- keys ------------------------------------------------------------------------------------ */

static char *put_number(char *at, int64_t number)
{
    char digits[DIGITS_MAX];
    int n = 0;

    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

void zc_chunk_key(const zc_array *array, const int64_t *chunk, char *dst)
{
    memcpy(dst, array->prefix, array->prefix_len);
    dst += array->prefix_len;
    if (!array->keys.v2) {
        *dst++ = 'c';
    } else if (array->ndim == 0) {
        *dst++ = '0';
    }
    for (int d = 0; d < array->ndim; d++) {
        if (d > 0 || !array->keys.v2) {
            *dst++ = array->keys.separator;
        }
        dst = put_number(dst, chunk[array->keys.reversed ? array->ndim - 1 - d : d]);
    }
    *dst = '\0';
}

size_t zc_chunk_key_size(const zc_array *array)
{
    return array->prefix_len + (size_t)array->ndim * (DIGITS_MAX + 1) + 3;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Leave out the chunks in which the mask is true nowhere. */
static zc_status list_picked(zc_plan *plan, zc_error *err)
{
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    size_t n = 0;
    zc_selection selection;
    size_t *list = zc_scratch_array(plan->ws, plan->n_items, sizeof *list, err);

    if (list == NULL) {
        return ZC_ERR_MEMORY;
    }
    for (size_t item = 0; item < plan->n_items; item++) {
        zc_plan_chunk(plan, item, chunk);
        if (zc_plan_selection(plan, item, chunk, shape, &selection) && zc_selection_picks_any(&selection)) {
            list[n++] = item;
        }
    }
    plan->list = list;
    plan->n_items = n;
    return ZC_OK;
}

static zc_status plan_region(zc_plan *plan, zc_error *err)
{
    const zc_array *array = plan->call->array;
    const zc_selection *selection = plan->call->selection;

    zc_status status = zc_spans_make(array->ndim, selection->axis, array->grid, plan->span, plan->ws, err);

    if (status == ZC_OK) {
        status = zc_span_count(array->ndim, plan->span, &plan->n_items, err);
    }
    return status == ZC_OK && selection->kind == ZC_SELECT_PICKED ? list_picked(plan, err) : status;
}

zc_status zc_plan_open(const zc_call *call, zc_plan *plan, zc_error *err)
{
    zc_status status;

    plan->call = call;
    plan->held = false;
    plan->list = NULL;
    plan->n_items = 0;
    plan->ws = zc_pool_borrow(err);
    if (plan->ws == NULL) {
        return ZC_ERR_MEMORY;
    }
    if (call->trial != NULL) {
        plan->n_items = call->trial->n;
        return ZC_OK;
    }
    if (call->selection->kind != ZC_SELECT_POINTS) {
        status = plan_region(plan, err);
    } else {
        status = zc_points_group(call->selection, call->array->grid, &plan->groups, plan->ws, err);
        plan->n_items = plan->groups.n;
    }
    if (status != ZC_OK) {
        zc_plan_close(plan);
    }
    return status;
}

void zc_plan_close(zc_plan *plan)
{
    if (plan->held) {
        plan->call->store->end(plan->call->store);
    }
    zc_pool_release(plan->ws);
    plan->ws = NULL;
}

zc_status zc_plan_hold(zc_plan *plan, zc_error *err)
{
    const zc_store *store = plan->call->store;
    const zc_array *array = plan->call->array;

    if (store->begin == NULL || plan->n_items < HOLD_MIN) {
        return ZC_OK;
    }
    const zc_status status = store->begin(store, array->prefix, array->prefix_len, err);
    plan->held = status == ZC_OK;
    return status;
}

void zc_plan_chunk(const zc_plan *plan, size_t item, int64_t *chunk)
{
    zc_assert(item < plan->n_items);

    const zc_array *array = plan->call->array;
    const zc_selection *selection = plan->call->selection;

    if (plan->call->trial != NULL) {
        memcpy(chunk, plan->call->trial->chunks + item * (size_t)array->ndim, (size_t)array->ndim * sizeof *chunk);
        return;
    }
    if (selection->kind != ZC_SELECT_POINTS) {
        zc_span_item(array->ndim, plan->span, plan->list != NULL ? plan->list[item] : item, chunk);
        return;
    }
    const int64_t point = plan->groups.order[plan->groups.begin[item]];
    for (int d = 0; d < array->ndim; d++) {
        chunk[d] = zc_grid_find(&array->grid[d], selection->axis[d].start + selection->axis[d].index[point]);
    }
}

static bool is_in_grid(const zc_array *array, const int64_t *chunk)
{
    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *axis = &array->grid[d];
        const int64_t n = axis->edges != NULL ? axis->n_edges
                                              : axis->length / axis->chunk + (axis->length % axis->chunk != 0);
        if (chunk[d] < 0 || chunk[d] >= n) {
            return false;
        }
    }
    return true;
}

bool zc_plan_selection(const zc_plan *plan, size_t item, const int64_t *chunk, int64_t *shape, zc_selection *out)
{
    const zc_array *array = plan->call->array;
    const zc_selection *selection = plan->call->selection;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];

    if (plan->call->trial != NULL && !is_in_grid(array, chunk)) {
        memset(shape, 0, (size_t)array->ndim * sizeof *shape);
        return false;
    }
    for (int d = 0; d < array->ndim; d++) {
        lo[d] = zc_grid_start(&array->grid[d], chunk[d]);
        shape[d] = zc_grid_chunk_length(&array->grid[d], chunk[d]);
        hi[d] = zc_grid_end(&array->grid[d], chunk[d]);
    }
    if (plan->call->trial != NULL) {
        return zc_selection_whole(array->ndim, shape, array->chain->item.size, NULL, out);
    }
    if (selection->kind != ZC_SELECT_POINTS) {
        return zc_selection_clip(selection, lo, hi, out);
    }
    const size_t *const begin = &plan->groups.begin[item];
    zc_selection_take_points(selection, plan->groups.order + begin[0], begin[1] - begin[0], lo, out);
    return true;
}
