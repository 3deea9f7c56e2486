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

/* Undo the stages.  *out is in memory, which may be scratch memory. */
static zc_status unwrap(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, zc_value *out)
{
    const zc_chain *chain = chunk->chain;
    const size_t most = chain->bare->ops->plausible(chain->bare, chunk->size);
    zc_bytes bytes = {NULL, 0};
    zc_status status = zc_chain_check_plausible(chain, from->size, chunk->size, ctx->err);

    if (status == ZC_OK) {
        status = zc_bytes_of(ctx, from, &bytes);
    }
    if (status == ZC_OK) {
        status = zc_stages_undo(chain->stages, chain->n_stages, 0, &bytes, most, ctx->ws, ctx->err);
    }
    *out = zc_value_of_memory(bytes.data, bytes.n);
    return status;
}

static zc_status read_bare(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    const zc_chunk bare = bare_of(chunk);
    const int mark = zc_scratch_mark(ctx->ws);
    zc_value inside;

    if (ctx->prefetch) {
        return ZC_OK;                /* no cache keeps what lies before further codecs */
    }
    zc_status status = unwrap(ctx, chunk, from, &inside);
    if (status == ZC_OK) {
        status = bare.chain->ops->read(ctx, &bare, &inside);
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}

static zc_status decode(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst)
{
    const zc_chunk bare = bare_of(chunk);
    const int mark = zc_scratch_mark(ctx->ws);
    zc_value inside;
    zc_status status = unwrap(ctx, chunk, from, &inside);

    if (status == ZC_OK) {
        status = bare.chain->ops->decode(ctx, &bare, &inside, dst);
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}

/* Write the bare chunk to scratch memory. */
static zc_status make_bare(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out)
{
    const zc_chunk bare = bare_of(chunk);
    zc_value inside = {0};
    zc_status status = old != NULL ? unwrap(ctx, chunk, old, &inside) : ZC_OK;

    if (status == ZC_OK) {
        status = zc_chain_bound(bare.chain, chunk->ndim, chunk->shape, &out->cap, ctx->err);
    }
    if (status != ZC_OK) {
        return status;
    }
    out->data = zc_scratch_push(ctx->ws, out->cap, ctx->err);
    return out->data != NULL ? bare.chain->ops->write(ctx, &bare, old != NULL ? &inside : NULL, out) : ZC_ERR_MEMORY;
}

static zc_status write_bare(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out)
{
    const int mark = zc_scratch_mark(ctx->ws);
    zc_output made = {0};
    zc_status status = make_bare(ctx, chunk, old, &made);

    out->written = 0;
    if (status == ZC_OK && made.written > 0) {
        status = zc_stages_encode(chunk->chain->stages, chunk->chain->n_stages, (zc_bytes){made.data, made.written}, out,
                                  ctx->ws, ctx->err);
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}

static zc_status bound(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, size_t *out,
                       zc_error *err)
{
    size_t size;
    const zc_status status = chain->bare->ops->bound(chain->bare, ndim, stored, decoded, &size, err);

    return status == ZC_OK ? zc_stages_bound(chain->stages, chain->n_stages, size, out, err) : status;
}

static size_t plausible(const zc_chain *chain, size_t decoded)
{
    return zc_stages_capacity(chain->stages, chain->n_stages, chain->bare->ops->plausible(chain->bare, decoded));
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
