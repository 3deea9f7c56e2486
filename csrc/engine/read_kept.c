/* SPDX-License-Identifier: MIT
 *
 * Reading out of a cache that trusts in its files: nothing is opened, and for one chunk no job is made.
 */
#include "engine/chunk.h"

#define KEY_ROOM 512

zc_cached *zc_find_kept(const zc_call *call, const zc_key *key, const char *name, zc_sight *sight)
{
    const zc_array *array = call->array;

    if (array->cache == NULL || !call->store->is_local || array->chain->ops->decode == NULL ||
        !zc_cache_trusts(array->cache)) {
        return NULL;
    }
    *sight = zc_sight_of(key);
    return zc_cache_find_trusted(array->cache, array->number, key, name, sight);
}

/* The chunk that all of a region lies in; false if there is none. */
static bool find_chunk(const zc_call *call, int64_t *chunk, int64_t *shape, zc_selection *out)
{
    const zc_array *array = call->array;
    const zc_selection *selection = call->selection;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];

    for (int d = 0; d < array->ndim; d++) {
        const zc_axis *axis = &selection->axis[d];
        const zc_grid_axis *grid = &array->grid[d];
        chunk[d] = zc_grid_find(grid, axis->start);
        lo[d] = zc_grid_start(grid, chunk[d]);
        hi[d] = zc_grid_end(grid, chunk[d]);
        shape[d] = zc_grid_chunk_length(grid, chunk[d]);
        if (axis->index != NULL || axis->start + (axis->count - 1) * axis->step >= hi[d]) {
            return false;
        }
    }
    return zc_selection_clip(selection, lo, hi, out);
}

bool zc_read_kept(const zc_call *call, zc_status *status, zc_error *err)
{
    const zc_array *array = call->array;
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    char name[KEY_ROOM];
    zc_selection selection;
    zc_sight sight;
    zc_key key;

    if (array->cache == NULL || call->prefetch || call->selection->kind != ZC_SELECT_REGION ||
        zc_chunk_key_size(array) > sizeof name || !find_chunk(call, chunk, shape, &selection)) {
        return false;
    }
    zc_chunk_key(array, chunk, name);
    zc_array_key(array, name, &key);
    zc_cached *const cached = zc_find_kept(call, &key, name, &sight);
    if (cached == NULL) {
        return false;
    }
    const zc_context ctx = {.call = call, .fill = array->fill, .ws = zc_pool_borrow(err), .err = err};
    const zc_chunk of = {.chain = array->chain, .ndim = array->ndim, .shape = shape, .selection = &selection};
    *status = ctx.ws != NULL ? zc_chunk_place(&ctx, &of, zc_cached_data(cached)) : ZC_ERR_MEMORY;
    zc_pool_release(ctx.ws);
    zc_cached_let_go(cached);
    return true;
}
