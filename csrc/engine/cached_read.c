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
static zc_status decode(const zc_chain *chain, size_t decoded, const zc_value *value, uint64_t offset,
                        uint64_t nbytes, zc_cached **out, zc_workspace *ws, zc_error *err)
{
    const uint8_t *data;
    int viewed = 0;

    if (nbytes > zc_chain_plausible_size(chain, decoded)) {
        return zc_fail(err, ZC_ERR_SIZE, "%llu bytes are more than an encoding of %zu bytes can have",
                       (unsigned long long)nbytes, decoded);
    }
    zc_cached *entry = zc_cached_new(value->origin, value->base + offset, decoded);
    if (entry == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for a chunk of %zu bytes", decoded);
    }
    zc_status status = zc_value_view(value, offset, nbytes, ws, &data, &viewed, err);
    if (status == ZC_OK) {
        status = zc_chain_unstage_into(chain, data, (size_t)nbytes, zc_cached_data(entry), decoded, ws, err);
    }
    zc_pop(ws, viewed);
    if (status != ZC_OK) {
        zc_cached_let_go(entry);
        return status;
    }
    zc_cache_add(entry);
    *out = entry;
    return ZC_OK;
}

/* Place the part, in stored order, of a chunk of the shape `stored`. */
static zc_status place(const zc_chain *chain, const int64_t *stored, const zc_part *part, zc_cached *entry,
                       zc_workspace *ws, zc_error *err)
{
    int64_t n = 1;

    for (int d = 0; d < part->ndim; d++) {
        n *= stored[d];
    }
    return zc_part_scatter(part, stored, zc_cached_data(entry), 0, n, &chain->item, ws, err);
}

zc_status zc_cached_place(const zc_chain *chain, const int64_t *shape, const zc_part *part, zc_cached *entry,
                          zc_workspace *ws, zc_error *err)
{
    int64_t stored[ZC_MAX_DIMS];
    zc_part permuted = *part;

    zc_chain_stored_shape(chain, part->ndim, shape, stored);
    if (chain->order_ndim > 0) {
        zc_part_permute(&permuted, chain->order);
    }
    return place(chain, stored, &permuted, entry, ws, err);
}

zc_status zc_chunk_read_cached(const zc_chain *chain, const int64_t *stored, const zc_part *part, size_t decoded,
                               const zc_value *value, uint64_t offset, uint64_t nbytes, zc_workspace *ws,
                               zc_error *err)
{
    zc_cached *entry = zc_cache_find(value->origin, value->base + offset);
    zc_status status = ZC_OK;

    if (entry == NULL) {
        status = decode(chain, decoded, value, offset, nbytes, &entry, ws, err);
    }
    if (status == ZC_OK) {
        status = place(chain, stored, part, entry, ws, err);
        zc_cached_let_go(entry);
    }
    return status;
}
