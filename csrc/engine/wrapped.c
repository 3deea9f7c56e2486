/* SPDX-License-Identifier: MIT
 *
 * Shards and N5 blocks whose bytes went through stages: undo these, then use the functions of the bare chain.
 */
#include "engine/chunk.h"

/* The same chunk without the stages. */
static zc_chunk bare_of(const zc_chunk *chunk)
{
    zc_chunk bare = *chunk;

    bare.chain = chunk->chain->bare;
    return bare;
}

/* Undo the stages.  *out is in memory; *pushed scratch buffers more are open if that succeeds. */
static zc_status unwrap(const zc_context *ctx, const zc_chunk *chunk, const zc_slice *from, zc_value *out, int *pushed)
{
    const zc_chain *chain = chunk->chain;
    const size_t most = zc_chain_plausible_size(chain->bare, chunk->size);
    const uint8_t *data = NULL;
    size_t n = 0;
    int viewed = 0, undone = 0;
    zc_status status = zc_chain_check_plausible(chain, from->nbytes, chunk->size, ctx->err);

    if (status == ZC_OK) {
        status = zc_slice_view(ctx, from, &data, &viewed);
    }
    if (status == ZC_OK) {
        status = zc_chain_unstage(chain, 0, data, (size_t)from->nbytes, most, ctx->ws, &data, &n, &undone, ctx->err);
    }
    if (status != ZC_OK) {
        zc_pop(ctx->ws, viewed);
        return status;
    }
    *out = zc_value_of_memory(data, n);
    *pushed += viewed + undone;
    return ZC_OK;
}

static zc_status read_bare(const zc_context *ctx, const zc_chunk *chunk, const zc_selection *selection,
                           const zc_slice *from)
{
    const zc_chunk bare = bare_of(chunk);
    zc_value inside;
    int pushed = 0;

    if (zc_selection_is_prefetch(selection)) {
        return ZC_OK;                /* no cache keeps what lies before further codecs */
    }
    zc_status status = unwrap(ctx, chunk, from, &inside, &pushed);
    if (status == ZC_OK) {
        status = bare.chain->ops->read(ctx, &bare, selection, &(zc_slice){&inside, 0, inside.size});
    }
    zc_pop(ctx->ws, pushed);
    return status;
}

static zc_status decode(const zc_context *ctx, const zc_chunk *chunk, const zc_slice *from, uint8_t *dst)
{
    const zc_chunk bare = bare_of(chunk);
    zc_value inside;
    int pushed = 0;
    zc_status status = unwrap(ctx, chunk, from, &inside, &pushed);

    if (status == ZC_OK) {
        status = bare.chain->ops->decode(ctx, &bare, &(zc_slice){&inside, 0, inside.size}, dst);
    }
    zc_pop(ctx->ws, pushed);
    return status;
}

static zc_status stage(const zc_context *ctx, const zc_chain *chain, const zc_output *made, zc_output *out)
{
    out->written = 0;
    return made->written == 0 ? ZC_OK : zc_chain_stage_into(chain, made->data, made->written, out->data, out->cap,
                                                            &out->written, ctx->ws, ctx->err);
}

static zc_status write_bare(const zc_context *ctx, const zc_chunk *chunk, const zc_selection *selection,
                            const zc_slice *old, zc_output *out)
{
    const zc_chunk bare = bare_of(chunk);
    zc_output made = {0};
    zc_value inside;
    zc_slice slice = {&inside, 0, 0};
    int pushed = 0;
    zc_status status = old != NULL ? unwrap(ctx, chunk, old, &inside, &pushed) : ZC_OK;

    if (status == ZC_OK) {
        status = zc_chain_bound(bare.chain, chunk->ndim, chunk->shape, &made.cap, ctx->err);
    }
    if (status == ZC_OK) {
        made.data = zc_scratch_push(ctx->ws, made.cap, ctx->err);
        pushed += made.data != NULL;
        status = made.data != NULL ? ZC_OK : ZC_ERR_MEMORY;
    }
    if (status == ZC_OK) {
        slice.nbytes = old != NULL ? inside.size : 0;
        status = bare.chain->ops->write(ctx, &bare, selection, old != NULL ? &slice : NULL, &made);
    }
    if (status == ZC_OK) {
        status = stage(ctx, chunk->chain, &made, out);
    }
    zc_pop(ctx->ws, pushed);
    return status;
}

static zc_status bound(const zc_chain *chain, int ndim, const int64_t *stored, size_t *out, zc_error *err)
{
    size_t size;
    const zc_status status = zc_chain_bound(chain->bare, ndim, stored, &size, err);

    return status == ZC_OK ? zc_stages_bound(chain->stages, chain->n_stages, size, out, err) : status;
}

static size_t plausible(const zc_chain *chain, size_t decoded)
{
    return zc_stages_capacity(chain->stages, chain->n_stages, zc_chain_plausible_size(chain->bare, decoded));
}

const zc_chain_ops zc_wrapped_ops = {
    .read = read_bare,
    .decode = decode,
    .write = write_bare,
    .bound = bound,
    .plausible = plausible,
};

const zc_chain_ops zc_wrapped_shard_ops = {
    .read = read_bare,
    .write = write_bare,
    .bound = bound,
    .plausible = plausible,
};
