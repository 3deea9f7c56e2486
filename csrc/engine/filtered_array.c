/* SPDX-License-Identifier: MIT
 *
 * Chunks that filters turn into an array with a chain of its own: all of it is decoded, or encoded, at once.
 */
#include "engine/chunk.h"

/* ---- the array that filters make ---------------------------------------------------------------- */

/* Of a chunk of `decoded` bytes: its shape to shape, its bytes to *size. */
static zc_status measure(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, int64_t *shape,
                         size_t *size, zc_error *err)
{
    const zc_filtered_array *array = chain->filtered;
    const size_t item = array->chain->item.size;
    const zc_status status = zc_stages_bound(chain->stages, chain->n_stages, decoded, size, err);

    if (status != ZC_OK) {
        return status;
    }
    return *size % item == 0 && zc_lengths_make(array->lengths, array->ndim, ndim, stored, (int64_t)(*size / item), shape,
                                                NULL) == ZC_OK
               ? ZC_OK
               : zc_fail(err, ZC_ERR_ARGUMENT, "the %zu bytes that filters make are no array of the shape wanted", *size);
}

static zc_status bound(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, size_t *out,
                       zc_error *err)
{
    int64_t shape[ZC_MAX_DIMS];
    size_t size;
    const zc_status status = measure(chain, ndim, stored, decoded, shape, &size, err);

    return status == ZC_OK ? zc_chain_bound(chain->filtered->chain, chain->filtered->ndim, shape, out, err) : status;
}

static size_t plausible(const zc_chain *chain, size_t decoded)
{
    const size_t made = zc_stages_capacity(chain->stages, chain->n_stages, decoded);
    const size_t staged = chain->filtered->chain->ops->plausible(chain->filtered->chain, made);

    return staged > zc_roomy(decoded) ? staged : zc_roomy(decoded);
}

/* ---- reading and writing ------------------------------------------------------------------------ */

/* What lies inside has a fill value of its own, and none of it is the caller's. */
static zc_context inside_of(const zc_context *ctx, const zc_chain *chain)
{
    zc_context inside = *ctx;

    inside.fill = chain->filtered->fill;
    inside.blocks = NULL;
    inside.keeps_beyond = false;
    inside.tries = false;            /* the filters look at it */
    return inside;
}

static zc_status decode(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst)
{
    const zc_chain *chain = chunk->chain;
    const zc_filtered_array *array = chain->filtered;
    const zc_context inside = inside_of(ctx, chain);
    zc_value unknown = *from;
    int64_t shape[ZC_MAX_DIMS];
    size_t size;
    zc_selection all;
    zc_status status = measure(chain, chunk->ndim, chunk->shape, chunk->size, shape, &size, ctx->err);

    if (status != ZC_OK) {
        return status;
    }
    uint8_t *const made = chain->n_stages > 0 ? zc_scratch_push(ctx->ws, size, ctx->err) : dst;
    if (made == NULL) {
        return ZC_ERR_MEMORY;
    }
    unknown.origin = NULL;           /* a cache keeps what is before the filters */
    zc_selection_whole(array->ndim, shape, array->chain->item.size, made, &all);
    const zc_chunk made_chunk = {.chain = array->chain, .ndim = array->ndim, .shape = shape, .selection = &all};
    status = zc_chunk_read(&inside, &made_chunk, &unknown);
    if (status == ZC_OK && chain->n_stages > 0) {
        status = zc_chain_unstage_into(chain, (zc_bytes){made, size}, dst, chunk->size, ctx->ws, ctx->err);
    }
    zc_pop(ctx->ws, chain->n_stages > 0);
    return status;
}

/* Encode all of the array.  A chunk that is not empty is stored, even if all that filters make of it is the fill value. */
static zc_status encode_made(const zc_context *ctx, const zc_chunk *chunk, const int64_t *shape, const uint8_t *made,
                             zc_output *out)
{
    const zc_filtered_array *array = chunk->chain->filtered;
    zc_selection all;
    const zc_chunk made_chunk = {.chain = array->chain, .ndim = array->ndim, .shape = shape, .bounds = shape,
                                 .selection = &all};
    zc_context inside = inside_of(ctx, chunk->chain);
    zc_call call = *ctx->call;

    zc_selection_whole(array->ndim, shape, array->chain->item.size, (void *)made, &all);
    zc_status status = zc_chunk_write(&inside, &made_chunk, NULL, out);
    if (status == ZC_OK && out->written == 0) {
        call.write_empty = true;
        inside.call = &call;
        status = zc_chunk_write(&inside, &made_chunk, NULL, out);
    }
    return status;
}

static zc_status encode(const zc_context *ctx, const zc_chunk *chunk, const uint8_t *elements, zc_output *out)
{
    const zc_chain *chain = chunk->chain;
    const uint8_t *made = elements;
    int64_t shape[ZC_MAX_DIMS];
    size_t size;
    zc_status status = measure(chain, chunk->ndim, chunk->shape, chunk->size, shape, &size, ctx->err);

    if (status == ZC_OK && chain->n_stages > 0) {
        zc_output room = {zc_scratch_push(ctx->ws, size, ctx->err), size, 0};
        if (room.data == NULL) {
            return ZC_ERR_MEMORY;
        }
        status = zc_stages_encode(chain->stages, chain->n_stages, (zc_bytes){elements, chunk->size}, &room, ctx->ws,
                                  ctx->err);
        made = room.data;
    }
    if (status == ZC_OK) {
        status = encode_made(ctx, chunk, shape, made, out);
    }
    zc_pop(ctx->ws, made != elements);
    return status;
}

const zc_chain_ops zc_filtered_ops = {
    .read = zc_elements_read,
    .decode = decode,
    .holds_chunk = true,
    .write = zc_elements_write,
    .encode = encode,
    .bound = bound,
    .plausible = plausible,
};
