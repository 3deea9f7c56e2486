/* SPDX-License-Identifier: MIT
 *
 * Any chunk: calls the functions of its chain; and reads and writes whole chunks for kinds that cannot do less.
 */
#include "base/assert.h"
#include "engine/chunk.h"

/* A chunk in stored order. */
typedef struct stored_chunk {
    zc_chunk chunk;
    zc_selection permuted;
    int64_t shape[ZC_MAX_DIMS], bounds[ZC_MAX_DIMS];
} stored_chunk;

static zc_status store_order(const zc_chunk *chunk, stored_chunk *out, zc_error *err)
{
    const zc_chain *chain = chunk->chain;

    out->chunk = *chunk;
    out->chunk.shape = out->shape;
    if (!zc_chain_decoded_size(chain, chunk->ndim, chunk->shape, &out->chunk.size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    zc_chain_stored_shape(chain, chunk->ndim, chunk->shape, out->shape);
    if (chunk->bounds != NULL) {
        zc_chain_stored_shape(chain, chunk->ndim, chunk->bounds, out->bounds);
        out->chunk.bounds = out->bounds;
    }
    if (chain->order_ndim > 0) {
        out->permuted = *chunk->selection;
        zc_selection_permute(&out->permuted, chain->order);
        out->chunk.selection = &out->permuted;
    }
    return ZC_OK;
}

/* For assertions. */
static inline bool is_valid(const zc_context *ctx, const zc_chunk *chunk)
{
    const zc_chain *chain = chunk->chain;

    return ctx->ws != NULL && chain->ops != NULL && chunk->selection->ndim == chunk->ndim &&
           (chain->order_ndim == 0 || chain->order_ndim == chunk->ndim);
}

/* ---- through a cache: decode all of it once, and place it from there --------------------------------- */

/* Decode the chunk into memory that the cache keeps. */
static zc_status decode_kept(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, zc_cached **out)
{
    zc_cached *entry = zc_cached_new(from->origin, from->base, chunk->size);

    if (entry == NULL) {
        return zc_fail(ctx->err, ZC_ERR_MEMORY, "no memory for a chunk of %zu bytes", chunk->size);
    }
    zc_chunks_count(chunk->chain->ops, 1);
    const zc_status status = chunk->chain->ops->decode(ctx, chunk, from, zc_cached_data(entry));
    if (status != ZC_OK) {
        zc_cached_let_go(entry);
        return status;
    }
    zc_cache_add(from->origin, entry);
    *out = entry;
    return ZC_OK;
}

static zc_status read_cached(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    zc_cached *entry = zc_cache_find(from->origin, from->base);
    zc_context decoding = *ctx;
    zc_status status = ZC_OK;

    if (entry == NULL) {
        decoding.prefetch = decoding.tries = false;  /* of what lies inside, the elements are wanted */
        status = decode_kept(&decoding, chunk, from, &entry);
    }
    if (status == ZC_OK) {
        status = ctx->prefetch ? ZC_OK : zc_elements_place(ctx, chunk, zc_cached_data(entry));
        zc_cached_let_go(entry);
    }
    return status;
}

/* ---- any chunk ------------------------------------------------------------------------------------ */

zc_status zc_chunk_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    zc_assert(is_valid(ctx, chunk));

    const zc_chain_ops *ops = chunk->chain->ops;
    const zc_origin *origin = from->origin;
    stored_chunk stored;
    const zc_status status = store_order(chunk, &stored, ctx->err);

    if (status != ZC_OK || (ctx->prefetch && origin == NULL)) {
        return status;               /* no cache would keep it */
    }
    if (origin != NULL && ops->decode != NULL) {
        if (zc_cache_takes(origin->cache, stored.chunk.size)) {
            return read_cached(ctx, &stored.chunk, from);
        }
        if (ctx->prefetch) {
            return ZC_OK;
        }
        zc_cache_count_miss(origin->cache);
    }
    zc_chunks_count(ops, 1);
    return ops->read(ctx, &stored.chunk, from);
}

zc_status zc_chunk_list(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, bool *more)
{
    zc_assert(is_valid(ctx, chunk) && chunk->chain->ops->list != NULL);
    stored_chunk stored;
    const zc_status status = store_order(chunk, &stored, ctx->err);

    return status == ZC_OK ? chunk->chain->ops->list(ctx, &stored.chunk, from, more) : status;
}

zc_status zc_chunk_place(const zc_context *ctx, const zc_chunk *chunk, const void *data)
{
    stored_chunk stored;
    const zc_status status = store_order(chunk, &stored, ctx->err);

    return status == ZC_OK ? zc_elements_place(ctx, &stored.chunk, data) : status;
}

zc_status zc_chunk_write(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out)
{
    zc_assert(is_valid(ctx, chunk) && chunk->bounds != NULL);
    zc_assert(ctx->blocks != NULL || chunk->selection->memory != NULL);
    stored_chunk stored;
    zc_status status = store_order(chunk, &stored, ctx->err);

    if (status == ZC_OK) {
        status = chunk->chain->ops->write(ctx, &stored.chunk, old, out);
    }
    zc_assert(status != ZC_OK || out->written <= out->cap);
    return status;
}

/* ---- all elements -------------------------------------------------------------------------------- */

zc_status zc_elements_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    const zc_item *item = &chunk->chain->item;
    const bool image = !zc_item_swaps(item) && zc_selection_is_chunk_image(chunk->selection, chunk->shape, item->size);
    uint8_t *const dst = image ? (uint8_t *)chunk->selection->memory : zc_scratch_push(ctx->ws, chunk->size, ctx->err);

    if (dst == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = chunk->chain->ops->decode(ctx, chunk, from, dst);
    if (!image) {
        status = status == ZC_OK ? zc_elements_place(ctx, chunk, dst) : status;
        zc_scratch_pop(ctx->ws);
    }
    return status;
}

/* The fill value as the chain stores it, in a scratch buffer; NULL without memory. */
static const uint8_t *push_fill(const zc_context *ctx, const zc_item *item)
{
    uint8_t *const fill = zc_scratch_push(ctx->ws, item->size, ctx->err);

    if (fill != NULL) {
        zc_items_copy(1, fill, ctx->fill, item);
    }
    return fill;
}

zc_status zc_elements_fill(const zc_context *ctx, const zc_chain *chain, uint8_t *dst, size_t size)
{
    const int64_t n = (int64_t)(size / chain->item.size), stride = (int64_t)chain->item.size;
    const uint8_t *const fill = push_fill(ctx, &chain->item);

    if (fill == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_region_fill(1, &n, dst, &stride, chain->item.size, fill);
    zc_scratch_pop(ctx->ws);
    return ZC_OK;
}

/* All elements, as they are stored, to out: the old value (NULL: the fill value), patched with the selection. */
static zc_status compose(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, uint8_t *out)
{
    const zc_selection *selection = chunk->selection;
    const zc_item *item = &chunk->chain->item;
    zc_status status = ZC_OK;

    if (old != NULL) {
        status = chunk->chain->ops->decode(ctx, chunk, old, out);
    } else if (!zc_selection_covers(selection, chunk->shape)) {
        status = zc_elements_fill(ctx, chunk->chain, out, chunk->size);
    }
    if (status == ZC_OK && selection->kind == ZC_SELECT_GIVEN) {
        zc_selection_gather_masked(selection, chunk->shape, (char *)out, item);
    } else if (status == ZC_OK) {
        const zc_elements all = zc_elements_all(chunk, out);
        status = zc_selection_gather(selection, &all, ctx->ws, ctx->err);
    }
    return status;
}

/* Is every one of the elements, as they are stored, the fill value? */
static zc_status find_empty(const zc_context *ctx, const zc_chunk *chunk, const uint8_t *elements, bool *out)
{
    const zc_item *item = &chunk->chain->item;
    const uint8_t *const fill = push_fill(ctx, item);

    if (fill == NULL) {
        return ZC_ERR_MEMORY;
    }
    *out = zc_equals_fill(elements, chunk->size / item->size, item->size, fill);
    zc_scratch_pop(ctx->ws);
    return ZC_OK;
}

zc_status zc_elements_write(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out)
{
    const zc_chain *chain = chunk->chain;
    const zc_selection *selection = chunk->selection;
    const bool all = zc_chunk_is_covered(ctx, chunk), omits_empty = !ctx->call->write_empty;
    bool empty = omits_empty && all && zc_selection_equals_fill(selection, chain->item.size, ctx->fill);

    if (empty) {
        out->written = 0;
        return ZC_OK;
    }
    if (!zc_item_swaps(&chain->item) && zc_selection_is_chunk_image(selection, chunk->shape, chain->item.size)) {
        return chain->ops->encode(ctx, chunk, (const uint8_t *)selection->memory, out);
    }
    const bool in_place = chain->ops->is_plain && out->cap >= chunk->size;
    uint8_t *const elements = in_place ? out->data : zc_scratch_push(ctx->ws, chunk->size, ctx->err);
    if (elements == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = compose(ctx, chunk, all ? NULL : old, elements);
    if (status == ZC_OK && omits_empty && !all) {
        status = find_empty(ctx, chunk, elements, &empty);
    }
    if (status == ZC_OK && (empty || in_place)) {
        out->written = empty ? 0 : chunk->size;
    } else if (status == ZC_OK) {
        status = chain->ops->encode(ctx, chunk, elements, out);
    }
    zc_pop(ctx->ws, !in_place);
    return status;
}
