/* SPDX-License-Identifier: MIT
 *
 * Indexes of shards: fetching them, and taking them from the array's cache.
 */
#include <string.h>

#include "base/arith.h"
#include "engine/engine.h"

static zc_status index_bytes(const zc_chain *chain, size_t index_size, const zc_value *value,
                             uint64_t offset, uint64_t nbytes, const uint8_t **out, zc_workspace *ws,
                             int *pushed, zc_error *err)
{
    if (nbytes == ZC_SIZE_UNKNOWN && !chain->index_at_start) {
        uint8_t *dst = zc_scratch_push(ws, index_size, err);
        if (dst == NULL) {
            return ZC_ERR_MEMORY;
        }
        ++*pushed;
        *out = dst;
        return value->store->read_tail(value, dst, index_size, err);
    }
    if (!chain->index_at_start) {
        offset += nbytes - index_size;
    }
    return zc_value_view(value, offset, index_size, ws, out, pushed, err);
}

static zc_status index_decode(const zc_chain *chain, size_t n, const uint8_t *data, size_t index_size,
                              uint64_t nbytes, zc_extent *out, zc_workspace *ws, zc_error *err)
{
    size_t decoded;
    int pushed;
    zc_status status = zc_chain_unstage(chain->index, 0, data, index_size, 16 * n, ws, &data, &decoded,
                                        &pushed, err);
    if (status != ZC_OK) {
        return status;
    }
    status = zc_chain_check_size(decoded, 16 * n, err);
    if (status == ZC_OK) {
        status = zc_shard_index_unpack(data, n, chain->index->item.word == 8, nbytes, out, err);
    }
    zc_pop(ws, pushed);
    return status;
}

zc_status zc_shard_index_read(const zc_chain *chain, size_t n, const zc_value *value, uint64_t offset,
                              uint64_t nbytes, const zc_extent **out, zc_workspace *ws, int *pushed,
                              zc_error *err)
{
    const uint8_t *data;
    size_t index_size;
    int viewed = 0;
    zc_extent *extents;
    zc_status status = zc_chain_index_size(chain, n, &index_size, err);

    if (status == ZC_OK && nbytes != ZC_SIZE_UNKNOWN && nbytes < index_size) {
        status = zc_fail(err, ZC_ERR_CORRUPT, "a shard of %llu bytes cannot hold its index of %zu bytes",
                         (unsigned long long)nbytes, index_size);
    }
    if (status == ZC_OK) {
        extents = zc_scratch_array(ws, n, sizeof *extents, err);
        if (extents == NULL) {
            return ZC_ERR_MEMORY;
        }
        ++*pushed;
        status = index_bytes(chain, index_size, value, offset, nbytes, &data, ws, &viewed, err);
        if (status == ZC_OK) {
            status = index_decode(chain, n, data, index_size, nbytes, extents, ws, err);
        }
        zc_pop(ws, viewed);
        *out = extents;
    }
    if (status != ZC_OK && status != ZC_ERR_MISSING && status != ZC_ERR_PENDING) {
        zc_error_set_codec(err, "sharding_indexed");
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

zc_status zc_shard_index_find(const zc_scope *scope, const zc_chain *chain, size_t n, const zc_value *value,
                              uint64_t offset, uint64_t nbytes, const zc_extent **out, zc_cached **pin, zc_workspace *ws,
                              int *pushed, zc_error *err)
{
    zc_cache *cache = value->data == NULL && value->store->is_local ? scope->call->array->indexes : NULL;
    zc_origin origin;

    *pin = NULL;
    if (cache != NULL && value->file.inode != 0) {
        zc_origin_of_index(cache, chain, &value->file, nbytes, n, &origin);
        *pin = zc_cache_find(&origin, offset);
    }
    if (*pin != NULL) {
        *out = zc_cached_data(*pin);
        return ZC_OK;
    }
    const zc_status status = zc_shard_index_read(chain, n, value, offset, nbytes, out, ws, pushed, err);
    if (status == ZC_OK && cache != NULL && value->file.inode != 0 && zc_file_is_settled(&value->file)) {
        keep_index(&origin, offset, *out, n);
    }
    return status;
}
