/* SPDX-License-Identifier: MIT
 *
 * What a shard consists of: how many inner chunks, and how long an index.
 */
#include "base/assert.h"
#include "engine/chunk.h"

void zc_inner_axes(const zc_chain *chain, int ndim, const int64_t *stored, zc_grid_axis *out)
{
    zc_assert(chain->sharded && chain->shard_ndim == ndim);
    for (int d = 0; d < ndim; d++) {
        out[d] = (zc_grid_axis){.length = stored[d], .chunk = chain->inner_shape[d]};
    }
}

bool zc_chain_inner_grid(const zc_chain *chain, int ndim, const int64_t *stored_shape, int64_t *grid,
                         size_t *n)
{
    zc_assert(chain->sharded && chain->shard_ndim == ndim);

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
