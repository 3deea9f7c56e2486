/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/assert.h"
#include "engine/chunk.h"

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

zc_status zc_chain_bound(const zc_chain *chain, int ndim, const int64_t *shape, size_t *out, zc_error *err)
{
    zc_assert(chain->ops != NULL && (chain->order_ndim == 0 || chain->order_ndim == ndim));

    int64_t stored[ZC_MAX_DIMS];
    size_t decoded;

    if (!zc_chain_decoded_size(chain, ndim, shape, &decoded)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    zc_chain_stored_shape(chain, ndim, shape, stored);
    return chain->ops->bound(chain, ndim, stored, decoded, out, err);
}

size_t zc_chain_most(const zc_chain *chain, int ndim, const int64_t *shape)
{
    size_t decoded;

    return zc_chain_decoded_size(chain, ndim, shape, &decoded) ? chain->ops->plausible(chain, decoded) : ZC_SIZE_MAX;
}

zc_status zc_chain_check_plausible(const zc_chain *chain, uint64_t nbytes, size_t decoded, zc_error *err)
{
    if (nbytes > chain->ops->plausible(chain, decoded)) {
        return zc_fail(err, ZC_ERR_SIZE, "%llu bytes are more than an encoding of %zu bytes can have",
                       (unsigned long long)nbytes, decoded);
    }
    return ZC_OK;
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

zc_status zc_chain_unstage_into(const zc_chain *chain, zc_bytes src, uint8_t *dst, size_t decoded, zc_workspace *ws,
                                zc_error *err)
{
    zc_assert(zc_is_apart(dst, decoded, src.data, src.n));

    zc_output out = {dst, decoded, 0};

    if (chain->n_stages == 0) {
        const zc_status status = zc_chain_check_size(src.n, decoded, err);
        if (status == ZC_OK) {
            memcpy(dst, src.data, decoded);
        }
        return status;
    }
    zc_status status = zc_stages_decode(chain->stages, chain->n_stages, src, &out, ws, err);
    if (status == ZC_OK && out.written != decoded) {
        zc_error_set_codec(err, chain->stages[0].cls->name);
        status = zc_fail(err, ZC_ERR_SIZE, "decoded to %zu bytes, the metadata demand %zu", out.written, decoded);
    }
    return status;
}
