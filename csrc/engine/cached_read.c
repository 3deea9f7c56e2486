/* SPDX-License-Identifier: MIT
 *
 * Reading one chunk through a cache: decode all of it once, and place it from there.
 */
#include "base/assert.h"
#include "engine/chunk.h"

/* Decode the chunk into memory that the cache keeps. */
static zc_status decode(const zc_context *ctx, const zc_chunk *chunk, const zc_slice *from, zc_cached **out)
{
    const zc_value *value = from->value;
    zc_cached *entry = zc_cached_new(value->origin, value->base + from->offset, chunk->size);

    if (entry == NULL) {
        return zc_fail(ctx->err, ZC_ERR_MEMORY, "no memory for a chunk of %zu bytes", chunk->size);
    }
    const zc_status status = chunk->chain->ops->decode(ctx, chunk, from, zc_cached_data(entry));
    if (status != ZC_OK) {
        zc_cached_let_go(entry);
        return status;
    }
    zc_cache_add(value->origin, entry);
    *out = entry;
    return ZC_OK;
}

zc_status zc_chunk_read_cached(const zc_context *ctx, const zc_chunk *chunk, const zc_selection *selection,
                               const zc_slice *from)
{
    zc_assert(chunk->chain->ops->decode != NULL && from->value->origin != NULL);

    zc_cached *entry = zc_cache_find(from->value->origin, from->value->base + from->offset);
    zc_status status = ZC_OK;

    if (entry == NULL) {
        status = decode(ctx, chunk, from, &entry);
    }
    if (status == ZC_OK) {
        status = zc_elements_place(ctx, chunk, selection, zc_cached_data(entry));
        zc_cached_let_go(entry);
    }
    return status;
}
