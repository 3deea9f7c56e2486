/* SPDX-License-Identifier: MIT
 *
 * Reading out of a cache that trusts in its files: nothing is opened, and where all chunks of a region are there, no job is
 * made and no thread woken.
 */
#include <string.h>

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

/* The first and the last chunk of a region along each dimension; false if its indices are listed. */
static bool find_chunks(const zc_call *call, int64_t *first, int64_t *last)
{
    for (int d = 0; d < call->array->ndim; d++) {
        const zc_axis *axis = &call->selection->axis[d];
        if (axis->index != NULL) {
            return false;
        }
        const zc_grid_axis *grid = &call->array->grid[d];
        const int64_t end = axis->start + (axis->count - 1) * axis->step;
        first[d] = zc_grid_find(grid, axis->start);
        last[d] = end < zc_grid_end(grid, first[d]) ? first[d] : zc_grid_find(grid, end);    /* divisions are slow */
    }
    return true;
}

/* The next chunk of a box in C order; false after the last one. */
static bool next_chunk(int ndim, const int64_t *first, const int64_t *last, int64_t *chunk)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (chunk[d]++ < last[d]) {
            return true;
        }
        chunk[d] = first[d];
    }
    return false;
}

/* Place what is wanted of a chunk; without lists of indices that takes no workspace.  False if it is not there. */
static bool place_kept(const zc_context *ctx, const int64_t *chunk, zc_status *status)
{
    const zc_array *array = ctx->call->array;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    char name[KEY_ROOM];
    zc_selection selection;
    zc_sight sight;
    zc_key key;

    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *grid = &array->grid[d];
        lo[d] = zc_grid_start(grid, chunk[d]);
        hi[d] = zc_grid_end(grid, chunk[d]);
        shape[d] = zc_grid_chunk_length(grid, chunk[d]);
    }
    if (!zc_selection_clip(ctx->call->selection, lo, hi, &selection)) {
        return true;                 /* a step goes over it */
    }
    zc_chunk_key(array, chunk, name);
    zc_array_key(array, name, &key);
    zc_cached *const cached = zc_find_kept(ctx->call, &key, name, &sight);
    if (cached == NULL) {
        return false;
    }
    const zc_chunk of = {.chain = array->chain, .ndim = array->ndim, .shape = shape, .selection = &selection};
    *status = zc_chunk_place(ctx, &of, zc_cached_data(cached));
    zc_cached_let_go(cached);
    return true;
}

bool zc_read_kept(const zc_call *call, zc_status *status, zc_error *err)
{
    const zc_array *array = call->array;
    const zc_context ctx = {.call = call, .fill = array->fill, .err = err};
    int64_t first[ZC_MAX_DIMS], last[ZC_MAX_DIMS], chunk[ZC_MAX_DIMS];
    bool kept;

    if (array->cache == NULL || !zc_cache_trusts(array->cache) || call->prefetch ||
        call->selection->kind != ZC_SELECT_REGION || zc_chunk_key_size(array) > KEY_ROOM || !zc_copies_alone(call) ||
        !find_chunks(call, first, last)) {
        return false;
    }
    memcpy(chunk, first, (size_t)array->ndim * sizeof *chunk);
    *status = ZC_OK;
    do {
        kept = place_kept(&ctx, chunk, status);
    } while (kept && *status == ZC_OK && next_chunk(array->ndim, first, last, chunk));
    if (kept) {
        zc_metrics_hand_over();
    }
    return kept;
}
