/* SPDX-License-Identifier: MIT
 *
 * What a shard consists of: how many inner chunks, and their index, fetched or taken from the array's cache.
 */
#include <string.h>

#include "base/assert.h"
#include "engine/chunk.h"

void zc_inner_axes(const zc_chain *chain, int ndim, const int64_t *stored, zc_grid_axis *out)
{
    zc_assert(chain->sharded && chain->shard_ndim == ndim);
    for (int d = 0; d < ndim; d++) {
        out[d] = (zc_grid_axis){.length = stored[d], .chunk = chain->inner_shape[d]};
    }
}

zc_status zc_chain_inner_grid(const zc_chain *chain, int ndim, const int64_t *stored, int64_t *grid, size_t *n,
                              zc_error *err)
{
    zc_assert(chain->sharded && chain->shard_ndim == ndim);

    *n = 1;
    for (int d = 0; d < ndim; d++) {
        if (stored[d] % chain->inner_shape[d] != 0) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "chunk_shape: %lld does not divide the shard's %lld",
                           (long long)chain->inner_shape[d], (long long)stored[d]);
        }
        grid[d] = stored[d] / chain->inner_shape[d];
        if (!zc_mul_size(*n, (uint64_t)grid[d], n)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "a shard has too many inner chunks");
        }
    }
    return ZC_OK;
}

zc_status zc_chain_index_size(const zc_chain *chain, size_t n, size_t *out, zc_error *err)
{
    const zc_chain *index = chain->index;
    size_t size;

    for (int s = 0; s < index->n_stages; s++) {
        if (!index->stages[s].cls->fixed_size) {
            zc_error_set_codec(err, index->stages[s].cls->name);
            return zc_fail(err, ZC_ERR_ARGUMENT, "the index of a shard needs codecs of fixed size");
        }
    }
    if (!zc_mul_size(n, 16, &size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "a shard index of %zu entries does not fit into memory", n);
    }
    return zc_stages_bound(index->stages, index->n_stages, size, out, err);
}

/* ---- reading the index ------------------------------------------------------------------------------ */

zc_status zc_shard_index_place(const zc_chain *chain, size_t n, const zc_value *from, zc_extent *out, zc_error *err)
{
    const bool at_end = !chain->index_at_start, known = from->size != ZC_SIZE_UNKNOWN;
    size_t size = 0;
    const zc_status status = zc_chain_index_size(chain, n, &size, err);

    if (known && from->size < size) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a shard of %llu bytes cannot hold its index of %zu bytes",
                       (unsigned long long)from->size, size);
    }
    *out = (zc_extent){!at_end ? 0 : known ? from->size - size : ZC_SIZE_UNKNOWN, size};
    return status;
}

static zc_status index_bytes(const zc_context *ctx, zc_extent at, const zc_value *from, zc_bytes *out)
{
    out->n = (size_t)at.nbytes;
    if (at.offset == ZC_SIZE_UNKNOWN) {
        uint8_t *const dst = zc_scratch_push(ctx->ws, out->n, ctx->err);
        out->data = dst;
        return dst != NULL ? from->store->read_tail(from, dst, out->n, ctx->err) : ZC_ERR_MEMORY;
    }
    return zc_value_view(from, at.offset, at.nbytes, ctx->ws, &out->data, ctx->err);
}

/* Fetch and decode the index to out. */
static zc_status read_extents(const zc_context *ctx, const zc_chain *chain, size_t n, zc_extent at,
                              const zc_value *from, zc_extent *out)
{
    zc_bytes bytes;
    zc_status status = index_bytes(ctx, at, from, &bytes);

    if (status == ZC_OK) {
        status = zc_stages_undo(chain->index->stages, chain->index->n_stages, 0, &bytes, 16 * n, ctx->ws, ctx->err);
    }
    if (status == ZC_OK) {
        status = zc_chain_check_size(bytes.n, 16 * n, ctx->err);
    }
    return status == ZC_OK
               ? zc_shard_index_unpack(bytes.data, n, chain->index->item.word == 8, from->size, out, ctx->err)
               : status;
}

zc_status zc_shard_index_read(const zc_context *ctx, const zc_chain *chain, size_t n, const zc_value *from,
                              const zc_extent **out)
{
    zc_assert(chain->sharded && chain->index != NULL);

    zc_extent at = {0, 0};
    zc_status status = zc_shard_index_place(chain, n, from, &at, ctx->err);

    if (status == ZC_OK) {
        zc_extent *const extents = zc_scratch_array(ctx->ws, n, sizeof *extents, ctx->err);
        if (extents == NULL) {
            return ZC_ERR_MEMORY;
        }
        const int mark = zc_scratch_mark(ctx->ws);
        status = read_extents(ctx, chain, n, at, from, extents);
        zc_scratch_release(ctx->ws, mark);
        *out = extents;
    }
    if (status != ZC_OK && status != ZC_ERR_MISSING) {
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

zc_status zc_shard_index_find(const zc_context *ctx, const zc_chain *chain, size_t n, const zc_value *from,
                              const zc_extent **out, zc_cached **pin)
{
    zc_cache *cache = from->data == NULL && from->store->is_local ? ctx->call->array->indexes : NULL;
    zc_origin origin;

    *pin = NULL;
    if (cache != NULL && from->file.inode != 0) {
        zc_origin_of_index(cache, chain, &from->file, from->size, n, &origin);
        *pin = zc_cache_find(&origin, from->base);
    }
    if (*pin != NULL) {
        *out = zc_cached_data(*pin);
        return ZC_OK;
    }
    const zc_status status = zc_shard_index_read(ctx, chain, n, from, out);
    if (status == ZC_OK && cache != NULL && from->file.inode != 0 && zc_file_is_settled(&from->file)) {
        keep_index(&origin, from->base, *out, n);
    }
    return status;
}
