/* SPDX-License-Identifier: MIT
 *
 * Shards and blocks after which further codecs follow: undo these first.
 */
#include "engine/engine.h"

zc_status zc_unwrap(const zc_chain *chain, int ndim, const int64_t *stored, const zc_value *value, uint64_t offset,
                    uint64_t nbytes, zc_chain *bare, zc_value *out, int *pushed, zc_workspace *ws, zc_error *err)
{
    const uint8_t *data = NULL;
    size_t n = 0, bound, decoded;
    int viewed = 0, undone = 0;

    *bare = *chain;
    bare->n_stages = 0;
    bare->order_ndim = 0;
    zc_status status = zc_chain_bound(bare, ndim, stored, &bound, err);
    if (status == ZC_OK && !zc_chain_decoded_size(bare, ndim, stored, &decoded)) {
        status = zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    if (status == ZC_OK && nbytes > zc_chain_plausible_size(chain, decoded)) {
        status = zc_fail(err, ZC_ERR_SIZE, "%llu bytes are more than its encoding can have",
                         (unsigned long long)nbytes);
    }
    if (status == ZC_OK) {
        status = zc_value_view(value, offset, nbytes, ws, &data, &viewed, err);
    }
    if (status == ZC_OK) {           /* a block of another shape may be larger than one that is made here */
        status = zc_chain_unstage(chain, 0, data, (size_t)nbytes, chain->block != NULL ? zc_roomy(bound) : bound, ws,
                                  &data, &n, &undone, err);
    }
    *out = zc_value_of_memory(data, n);
    if (status != ZC_OK) {
        zc_pop(ws, viewed);
        return status;
    }
    *pushed += viewed + undone;
    return ZC_OK;
}
