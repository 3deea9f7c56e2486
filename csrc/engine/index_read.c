/* SPDX-License-Identifier: MIT
 *
 * Indexes of shards: fetching them, and taking them from the array's cache.
 */
#include <string.h>

#include "base/assert.h"
#include "engine/chunk.h"

static zc_status index_bytes(const zc_context *ctx, const zc_chain *chain, size_t index_size, const zc_slice *from,
                             const uint8_t **out, int *pushed)
{
    zc_slice index = {from->value, from->offset, index_size};

    if (from->nbytes == ZC_SIZE_UNKNOWN && !chain->index_at_start) {
        uint8_t *dst = zc_scratch_push(ctx->ws, index_size, ctx->err);
        if (dst == NULL) {
            return ZC_ERR_MEMORY;
        }
        ++*pushed;
        *out = dst;
        return from->value->store->read_tail(from->value, dst, index_size, ctx->err);
    }
    if (!chain->index_at_start) {
        index.offset += from->nbytes - index_size;
    }
    return zc_slice_view(ctx, &index, out, pushed);
}

static zc_status index_decode(const zc_context *ctx, const zc_chain *chain, size_t n, const uint8_t *data,
                              size_t index_size, uint64_t shard_size, zc_extent *out)
{
    size_t decoded;
    int pushed;
    zc_status status = zc_chain_unstage(chain->index, 0, data, index_size, 16 * n, ctx->ws, &data, &decoded, &pushed,
                                        ctx->err);

    if (status != ZC_OK) {
        return status;
    }
    status = zc_chain_check_size(decoded, 16 * n, ctx->err);
    if (status == ZC_OK) {
        status = zc_shard_index_unpack(data, n, chain->index->item.word == 8, shard_size, out, ctx->err);
    }
    zc_pop(ctx->ws, pushed);
    return status;
}

zc_status zc_shard_index_read(const zc_context *ctx, const zc_chain *chain, size_t n, const zc_slice *from,
                              const zc_extent **out, int *pushed)
{
    zc_assert(chain->sharded && chain->index != NULL);

    const uint8_t *data;
    size_t index_size;
    int viewed = 0;
    zc_extent *extents;
    zc_status status = zc_chain_index_size(chain, n, &index_size, ctx->err);

    if (status == ZC_OK && from->nbytes != ZC_SIZE_UNKNOWN && from->nbytes < index_size) {
        status = zc_fail(ctx->err, ZC_ERR_CORRUPT, "a shard of %llu bytes cannot hold its index of %zu bytes",
                         (unsigned long long)from->nbytes, index_size);
    }
    if (status == ZC_OK) {
        extents = zc_scratch_array(ctx->ws, n, sizeof *extents, ctx->err);
        if (extents == NULL) {
            return ZC_ERR_MEMORY;
        }
        ++*pushed;
        status = index_bytes(ctx, chain, index_size, from, &data, &viewed);
        if (status == ZC_OK) {
            status = index_decode(ctx, chain, n, data, index_size, from->nbytes, extents);
        }
        zc_pop(ctx->ws, viewed);
        *out = extents;
    }
    if (status != ZC_OK && status != ZC_ERR_MISSING && status != ZC_ERR_PENDING) {
        zc_error_set_codec(ctx->err, "sharding_indexed");
    }
    return status;
}

/* A cache that cannot keep something is no failure. */
static void keep_index(const zc_origin *origin, uint64_t offset, const zc_extent *extents, size_t n)
{
    const size_t size = n * sizeof *extents;
    zc_cached *entry = size <= ZC_INDEX_CACHE_BYTES / 2 ? zc_cached_new(origin, offset, size) : NULL;

    if (entry != NULL) {
        memcpy(zc_cached_data(entry), extents, size);
        zc_cache_add(origin, entry);
        zc_cached_let_go(entry);
    }
}

zc_status zc_shard_index_find(const zc_context *ctx, const zc_chain *chain, size_t n, const zc_slice *from,
                              const zc_extent **out, zc_cached **pin, int *pushed)
{
    const zc_value *value = from->value;
    zc_cache *cache = value->data == NULL && value->store->is_local ? ctx->call->array->indexes : NULL;
    zc_origin origin;

    *pin = NULL;
    if (cache != NULL && value->file.inode != 0) {
        zc_origin_of_index(cache, chain, &value->file, from->nbytes, n, &origin);
        *pin = zc_cache_find(&origin, from->offset);
    }
    if (*pin != NULL) {
        *out = zc_cached_data(*pin);
        return ZC_OK;
    }
    const zc_status status = zc_shard_index_read(ctx, chain, n, from, out, pushed);
    if (status == ZC_OK && cache != NULL && value->file.inode != 0 && zc_file_is_settled(&value->file)) {
        keep_index(&origin, from->offset, *out, n);
    }
    return status;
}
