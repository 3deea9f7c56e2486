/* SPDX-License-Identifier: MIT */
#include "engine/chain.h"

#include <string.h>

#include "base/arith.h"

bool zc_chain_decoded_size(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out)
{
    size_t size = chain->item.size;

    for (int d = 0; d < ndim; d++) {
        if (!zc_mul_size(size, (uint64_t)shape[d], &size)) {
            return false;
        }
    }
    *out = size;
    return true;
}

void zc_chain_stored_shape(const zc_chain *chain, int ndim, const int64_t *shape, int64_t *out)
{
    for (int d = 0; d < ndim; d++) {
        out[d] = shape[chain->order_ndim ? chain->order[d] : d];
    }
}

/* Twice the data plus room for headers is more than any compressor's stored form, with checksums, needs. */
static size_t roomy(size_t n)
{
    return zc_mul_size(n, 2, &n) && zc_add_size(n, 65536, &n) ? n : ZC_SIZE_MAX;
}

/* Most bytes that the value between stage s-1 and stage s can have in an honest chunk. */
static size_t stage_capacity(const zc_chain *chain, int s, size_t decoded)
{
    size_t n = decoded;

    for (int i = 0; i < s; i++) {
        const zc_codec *codec = &chain->stages[i];
        if (!codec->cls->fixed_size) {
            n = roomy(n);
        } else if (!codec->cls->bound(codec, n, &n)) {
            return ZC_SIZE_MAX;
        }
    }
    return n;
}

size_t zc_chain_plausible_size(const zc_chain *chain, size_t decoded)
{
    /* Without stages only the exact size is right; some filters make large numbers of small ones. */
    if (chain->n_stages == 0 && !chain->sharded) {
        return decoded;
    }
    const size_t staged = stage_capacity(chain, chain->n_stages, decoded);
    return staged > roomy(decoded) ? staged : roomy(decoded);
}

bool zc_chain_inner_grid(const zc_chain *chain, int ndim, const int64_t *stored_shape, int64_t *grid,
                         size_t *n)
{
    size_t count = 1;

    for (int d = 0; d < ndim; d++) {
        if (stored_shape[d] % chain->inner_shape[d] != 0) {
            return false;
        }
        grid[d] = stored_shape[d] / chain->inner_shape[d];
        if (!zc_mul_size(count, (uint64_t)grid[d], &count)) {
            return false;
        }
    }
    *n = count;
    return true;
}

/* ---- sizes of encoded values ---------------------------------------------------------------- */

static zc_status stages_bound(const zc_chain *chain, size_t n, size_t *out, zc_error *err)
{
    for (int s = 0; s < chain->n_stages; s++) {
        const zc_codec *codec = &chain->stages[s];
        if (n > codec->cls->max_decoded || !codec->cls->bound(codec, n, &n)) {
            zc_error_set_codec(err, codec->cls->name);
            return zc_fail(err, ZC_ERR_OVERFLOW, "cannot encode %zu bytes at once", n);
        }
    }
    *out = n;
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
    return stages_bound(index, size, out, err);
}

static zc_status shard_bound(const zc_chain *chain, int ndim, const int64_t *stored_shape, size_t *out,
                             zc_error *err)
{
    int64_t grid[ZC_MAX_DIMS];
    size_t n, index, inner;

    if (!zc_chain_inner_grid(chain, ndim, stored_shape, grid, &n)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the shard's shape is no multiple of the inner chunk's");
    }
    zc_status status = zc_chain_index_size(chain, n, &index, err);
    if (status == ZC_OK) {
        status = zc_chain_bound(chain->inner, ndim, chain->inner_shape, &inner, err);
    }
    if (status != ZC_OK) {
        return status;
    }
    if (!zc_mul_size(inner, n, &inner) || !zc_add_size(inner, index, out)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "a shard of %zu inner chunks does not fit into memory", n);
    }
    return ZC_OK;
}

zc_status zc_chain_bound(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out, zc_error *err)
{
    size_t size;

    if (!zc_chain_decoded_size(chain, ndim, shape, &size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    if (chain->sharded) {
        int64_t stored[ZC_MAX_DIMS];
        zc_chain_stored_shape(chain, ndim, shape, stored);
        const zc_status status = shard_bound(chain, ndim, stored, &size, err);
        if (status != ZC_OK) {
            return status;
        }
    }
    return stages_bound(chain, size, out, err);
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* Undo one stage: in place where the codec can, else into a new scratch buffer. */
static zc_status unstage_one(const zc_codec *codec, const uint8_t **data, size_t *n, size_t cap,
                             zc_workspace *ws, int *pushed, zc_error *err)
{
    if (codec->cls->strip != NULL) {
        return codec->cls->strip(codec, *data, *n, data, n, err);
    }
    uint8_t *dst = zc_scratch_push(ws, cap, err);
    if (dst == NULL) {
        return ZC_ERR_MEMORY;
    }
    ++*pushed;
    const zc_status status = codec->cls->decode(codec, ws, *data, *n, dst, cap, n, err);
    *data = dst;
    return status;
}

zc_status zc_chain_unstage(const zc_chain *chain, int first_stage, const uint8_t *src, size_t n,
                           size_t decoded, zc_workspace *ws, const uint8_t **out, size_t *out_n,
                           int *pushed, zc_error *err)
{
    *pushed = 0;
    for (int s = chain->n_stages - 1; s >= first_stage; s--) {
        const zc_codec *codec = &chain->stages[s];
        const zc_status status = unstage_one(codec, &src, &n, stage_capacity(chain, s, decoded), ws,
                                             pushed, err);
        if (status != ZC_OK) {
            zc_error_set_codec(err, codec->cls->name);
            zc_pop(ws, *pushed);
            *pushed = 0;
            return status;
        }
    }
    *out = src;
    *out_n = n;
    return ZC_OK;
}

zc_status zc_chain_unstage_into(const zc_chain *chain, const uint8_t *src, size_t n, uint8_t *dst,
                                size_t decoded, zc_workspace *ws, zc_error *err)
{
    int pushed;
    zc_status status;

    /* Only the innermost stage that really decodes writes to dst. */
    status = zc_chain_unstage(chain, chain->n_stages > 0 ? 1 : 0, src, n, decoded, ws, &src, &n, &pushed, err);
    if (status != ZC_OK) {
        return status;
    }
    if (chain->n_stages > 0 && chain->stages[0].cls->strip == NULL) {
        status = zc_codec_decode_exact(&chain->stages[0], ws, src, n, dst, decoded, err);
    } else {
        if (chain->n_stages > 0) {
            status = chain->stages[0].cls->strip(&chain->stages[0], src, n, &src, &n, err);
            if (status != ZC_OK) {
                zc_error_set_codec(err, chain->stages[0].cls->name);
            }
        }
        if (status == ZC_OK) {
            status = zc_chain_check_size(n, decoded, err);
        }
        if (status == ZC_OK) {
            memcpy(dst, src, decoded);
        }
    }
    zc_pop(ws, pushed);
    return status;
}

zc_status zc_chain_check_size(uint64_t n, size_t decoded, zc_error *err)
{
    if (n != decoded) {
        zc_error_set_codec(err, "bytes");
        return zc_fail(err, ZC_ERR_SIZE, "%llu bytes, but the chunk's shape and data type demand %zu",
                       (unsigned long long)n, decoded);
    }
    return ZC_OK;
}

/* ---- encoding ------------------------------------------------------------------------------- */

zc_status zc_chain_stage_into(const zc_chain *chain, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                              size_t *written, zc_workspace *ws, zc_error *err)
{
    int pushed = 0;
    zc_status status = ZC_OK;

    if (chain->n_stages == 0) {
        memcpy(dst, src, n);
        *written = n;
        return ZC_OK;
    }
    for (int s = 0; s < chain->n_stages && status == ZC_OK; s++) {
        const zc_codec *codec = &chain->stages[s];
        const bool last = s + 1 == chain->n_stages;
        uint8_t *target = dst;
        size_t room = cap;

        if (!last) {
            if (!codec->cls->bound(codec, n, &room)) {
                status = zc_fail(err, ZC_ERR_OVERFLOW, "cannot encode %zu bytes at once", n);
            } else if ((target = zc_scratch_push(ws, room, err)) == NULL) {
                status = ZC_ERR_MEMORY;
            } else {
                pushed++;
            }
        }
        if (status == ZC_OK) {
            status = codec->cls->encode(codec, ws, src, n, target, room, &n, err);
            src = target;
        }
        if (status != ZC_OK) {
            zc_error_set_codec(err, codec->cls->name);
        }
    }
    *written = n;
    zc_pop(ws, pushed);
    return status;
}
