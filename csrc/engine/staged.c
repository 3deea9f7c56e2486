/* SPDX-License-Identifier: MIT
 *
 * Chunks that are elements and nothing else, stored as they are (plain) or after bytes -> bytes codecs (staged):
 * their kinds of chains, and writing plain ones piece by piece.
 */
#include "base/assert.h"
#include "codecs/blosc_shared.h"
#include "codecs/classes.h"
#include "engine/chunk.h"

/* Uncompressed chunks are gathered and written in pieces of this size, which stay in the L2 cache meanwhile. */
#define PIECE ((size_t)256 << 10)

/* ---- kinds ----------------------------------------------------------------------------------------- */

static zc_status plain_decode(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst)
{
    const zc_status status = zc_chain_check_size(from->size, chunk->size, ctx->err);

    return status == ZC_OK ? zc_value_read(from, 0, dst, chunk->size, ctx->err) : status;
}

static zc_status encode(const zc_context *ctx, const zc_chunk *chunk, const uint8_t *elements, zc_output *out)
{
    const zc_chain *chain = chunk->chain;

    if (ctx->split && chain->n_stages == 1 && chain->stages[0].cls == &zc_codec_blosc) {
        const zc_sharing sharing = {ctx->call->threads, ctx->call->poll, ctx->call->poll_arg};
        const zc_status status = zc_blosc_encode_shared(&chain->stages[0], &sharing, elements, chunk->size, out->data,
                                                        out->cap, &out->written, ctx->err);
        if (status != ZC_OK) {
            zc_error_set_codec(ctx->err, chain->stages[0].cls->name);
        }
        return status;
    }
    return zc_stages_encode(chain->stages, chain->n_stages, (zc_bytes){elements, chunk->size}, out, ctx->ws, ctx->err);
}

static zc_status bound(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, size_t *out,
                       zc_error *err)
{
    (void)ndim, (void)stored;
    return zc_stages_bound(chain->stages, chain->n_stages, decoded, out, err);
}

/* Without stages only the exact size is right. */
static size_t plain_plausible(const zc_chain *chain, size_t decoded)
{
    (void)chain;
    return decoded;
}

/* Some filters make large numbers of small ones. */
static size_t staged_plausible(const zc_chain *chain, size_t decoded)
{
    const size_t staged = zc_stages_capacity(chain->stages, chain->n_stages, decoded), roomy = zc_roomy(decoded);

    return staged > roomy ? staged : roomy;
}

const zc_chain_ops zc_plain_ops = {
    .read = zc_plain_read,
    .decode = plain_decode,
    .write = zc_elements_write,
    .encode = encode,
    .bound = bound,
    .plausible = plain_plausible,
    .is_plain = true,
};

const zc_chain_ops zc_staged_ops = {
    .read = zc_staged_read,
    .decode = zc_staged_decode,
    .write = zc_elements_write,
    .encode = encode,
    .bound = bound,
    .plausible = staged_plausible,
};

/* ---- plain chunks piece by piece ------------------------------------------------------------------- */

bool zc_plain_open(const zc_context *ctx, const zc_chunk *chunk, zc_plain *out)
{
    const zc_chain *chain = chunk->chain;

    out->ctx = ctx;
    out->chunk = *chunk;
    out->selection = *chunk->selection;
    if (!chain->ops->is_plain || !zc_selection_covers(chunk->selection, chunk->bounds) ||
        !zc_chain_decoded_size(chain, chunk->ndim, chunk->shape, &out->chunk.size)) {
        return false;
    }
    zc_chain_stored_shape(chain, chunk->ndim, chunk->shape, out->stored);
    out->chunk.shape = out->stored;
    if (chain->order_ndim > 0) {
        zc_selection_permute(&out->selection, chain->order);
    }
    return zc_selection_keeps_rows(&out->selection);
}

/* The next piece of the chunk: of the memory itself if it has the chunk's layout, else gathered. */
static zc_status plain_piece(void *self, uint64_t offset, const void **data, size_t *n, zc_error *err)
{
    const zc_plain *plain = self;
    const zc_context *ctx = plain->ctx;
    const zc_item *item = &plain->chunk.chain->item;
    const zc_selection *selection = &plain->selection;
    const size_t left = plain->chunk.size - (size_t)offset;
    zc_status status = ZC_OK;

    if (zc_workspace_cancelled(ctx->ws)) {
        return zc_fail(err, ZC_ERR_CANCELLED, "interrupted");
    }
    *n = left < plain->piece ? left : plain->piece;
    if (!zc_item_swaps(item) && zc_selection_is_chunk_image(selection, plain->stored, item->size)) {
        *data = selection->memory + offset;
        return ZC_OK;
    }
    *data = plain->buffer;
    if (!zc_selection_covers(selection, plain->stored)) {
        status = zc_elements_fill(ctx, plain->chunk.chain, plain->buffer, *n);
    }
    const zc_elements piece = {plain->stored, item, (int64_t)(offset / item->size), (int64_t)(*n / item->size),
                               (char *)plain->buffer};
    return status == ZC_OK ? zc_selection_gather(selection, &piece, ctx->ws, err) : status;
}

zc_status zc_plain_source(zc_plain *plain, zc_file_source *out, bool *empty)
{
    zc_assert(plain->chunk.chain->ops->is_plain);

    const zc_context *ctx = plain->ctx;
    const size_t itemsize = plain->chunk.chain->item.size;

    *empty = !ctx->call->write_empty && zc_selection_equals_fill(&plain->selection, itemsize, ctx->fill);
    plain->piece = itemsize < PIECE ? PIECE - PIECE % itemsize : itemsize;
    plain->piece = plain->piece < plain->chunk.size ? plain->piece : plain->chunk.size;
    plain->buffer = zc_scratch_push(ctx->ws, plain->piece, ctx->err);
    *out = (zc_file_source){.total = plain->chunk.size, .piece = plain_piece, .self = plain};
    return plain->buffer != NULL ? ZC_OK : ZC_ERR_MEMORY;
}
