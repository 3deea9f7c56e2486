/* SPDX-License-Identifier: MIT
 *
 * Reading one chunk through a cache: decode all of it once, and place it from there.
 */
#include "engine/engine.h"

bool zc_chunk_is_cached(const zc_value *value, size_t decoded)
{
    return value->origin != NULL && zc_cache_takes(value->origin->cache, decoded);
}

/* Decode the chunk into memory that the cache keeps. */
static zc_status decode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded,
                        const zc_value *value, uint64_t offset, uint64_t nbytes, zc_cached **out, zc_workspace *ws,
                        zc_error *err)
{
    zc_cached *entry = zc_cached_new(value->origin, value->base + offset, decoded);
    if (entry == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for a chunk of %zu bytes", decoded);
    }
    const zc_status status = scope->ops->decode(scope, chain, ndim, stored, value, offset, nbytes, zc_cached_data(entry),
                                                decoded, ws, err);
    if (status != ZC_OK) {
        zc_cached_let_go(entry);
        return status;
    }
    zc_cache_add(value->origin, entry);
    *out = entry;
    return ZC_OK;
}

/* Place the selection, in stored order, of a chunk of the shape `stored`. */
static zc_status place(const zc_chain *chain, const int64_t *stored, const zc_selection *selection, zc_cached *entry,
                       zc_workspace *ws, zc_error *err)
{
    int64_t n = 1;

    for (int d = 0; d < selection->ndim; d++) {
        n *= stored[d];
    }
    return zc_selection_scatter(selection, stored, zc_cached_data(entry), 0, n, &chain->item, ws, err);
}

zc_status zc_cached_place(const zc_chain *chain, const int64_t *shape, const zc_selection *selection, zc_cached *entry,
                          zc_workspace *ws, zc_error *err)
{
    int64_t stored[ZC_MAX_DIMS];
    zc_selection permuted = *selection;

    zc_chain_stored_shape(chain, selection->ndim, shape, stored);
    if (chain->order_ndim > 0) {
        zc_selection_permute(&permuted, chain->order);
    }
    return place(chain, stored, &permuted, entry, ws, err);
}

zc_status zc_chunk_read_cached(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                               const zc_selection *selection, size_t decoded, const zc_value *value, uint64_t offset,
                               uint64_t nbytes, zc_workspace *ws, zc_error *err)
{
    zc_cached *entry = zc_cache_find(value->origin, value->base + offset);
    zc_status status = ZC_OK;

    if (entry == NULL) {
        status = decode(scope, chain, selection->ndim, stored, decoded, value, offset, nbytes, &entry, ws, err);
    }
    if (status == ZC_OK) {
        status = place(chain, stored, selection, entry, ws, err);
        zc_cached_let_go(entry);
    }
    return status;
}
