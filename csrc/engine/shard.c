/* SPDX-License-Identifier: MIT
 *
 * Shards (zarr v3 spec, codec "sharding_indexed"): their kind of chain.
 */
#include "engine/chunk.h"

/* Most bytes of n inner chunks and their index, as they are encoded here. */
static zc_status bound_of(const zc_chain *chain, size_t n, size_t *out, zc_error *err)
{
    size_t index, inner;
    zc_status status = zc_chain_index_size(chain, n, &index, err);

    if (status == ZC_OK) {
        status = zc_chain_bound(chain->inner, chain->shard_ndim, chain->inner_shape, &inner, err);
    }
    if (status == ZC_OK && (!zc_mul_size(inner, n, &inner) || !zc_add_size(inner, index, out))) {
        status = zc_fail(err, ZC_ERR_OVERFLOW, "a shard of %zu inner chunks does not fit into memory", n);
    }
    return status;
}

static zc_status bound(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, size_t *out,
                       zc_error *err)
{
    int64_t grid[ZC_MAX_DIMS];
    size_t n;
    const zc_status status = zc_chain_inner_grid(chain, ndim, stored, grid, &n, err);

    (void)decoded;
    return status == ZC_OK ? bound_of(chain, n, out, err) : status;
}

/* Where inner chunks are small, the index is most of a shard. */
static size_t plausible(const zc_chain *chain, size_t decoded)
{
    const size_t one = chain->inner_size;
    size_t most = 0;

    if (one == 0 || chain->inner->ops->plausible(chain->inner, one) == ZC_SIZE_MAX ||
        bound_of(chain, decoded / one, &most, NULL) != ZC_OK) {
        return ZC_SIZE_MAX;
    }
    return zc_roomy(most > decoded ? most : decoded);
}

const zc_chain_ops zc_shard_ops = {
    .read = zc_shard_read,
    .list = zc_shard_list,
    .write = zc_shard_write,
    .bound = bound,
    .plausible = plausible,
};
