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

/* Bytes of a shard of that many decoded ones, its index included: where inner chunks are small, that is most of them. */
static size_t shard_capacity(const zc_chain *chain, size_t decoded)
{
    size_t one, each, index, total;

    if (!zc_chain_decoded_size(chain->inner, chain->shard_ndim, chain->inner_shape, &one) || one == 0 ||
        zc_chain_bound(chain->inner, chain->shard_ndim, chain->inner_shape, &each, NULL) != ZC_OK ||
        zc_chain_index_size(chain, decoded / one, &index, NULL) != ZC_OK ||
        !zc_mul_size(decoded / one, each, &total) || !zc_add_size(total, index, &total)) {
        return ZC_SIZE_MAX;
    }
    return total;
}

size_t zc_chain_plausible_size(const zc_chain *chain, size_t decoded)
{
    /* Without stages only the exact size is right; some filters make large numbers of small ones. */
    if (zc_chain_is_plain(chain)) {
        return decoded;
    }
    if (chain->sharded) {
        const size_t capacity = shard_capacity(chain, decoded);
        decoded = capacity > decoded ? capacity : decoded;
    }
    size_t staged = zc_stages_capacity(chain->stages, chain->n_stages, decoded);
    if (chain->body != NULL) {
        staged = zc_chain_plausible_size(chain->body->chain, staged);
    }
    return staged > zc_roomy(decoded) ? staged : zc_roomy(decoded);
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

/* Lengths of the body as far as they are known; *open is the dimension of the other one, or -1. */
static bool known_lengths(const zc_body *body, const int64_t *stored, int64_t *out, size_t *known, int *open)
{
    *known = 1;
    *open = -1;
    for (int d = 0; d < body->ndim; d++) {
        const zc_length *length = &body->lengths[d];
        size_t n = length->fixed > 0 ? (size_t)length->fixed : 1;
        for (int axis = 0; length->fixed == 0 && axis < ZC_MAX_DIMS; axis++) {
            if ((length->axes >> axis & 1) && !zc_mul_size(n, (uint64_t)stored[axis], &n)) {
                return false;
            }
        }
        if (length->fixed < 0) {
            *open = d;
        }
        out[d] = (int64_t)n;
        if (!zc_mul_size(*known, n, known)) {
            return false;
        }
    }
    return *known > 0;
}

zc_status zc_body_shape(const zc_chain *chain, int ndim, const int64_t *stored, int64_t *out, zc_error *err)
{
    const size_t item = chain->body->chain->item.size;
    size_t size = chain->item.size, known;
    int open;

    for (int d = 0; d < ndim; d++) {
        if (!zc_mul_size(size, (uint64_t)stored[d], &size)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
        }
    }
    const zc_status status = zc_stages_bound(chain->stages, chain->n_stages, size, &size, err);
    if (status != ZC_OK) {
        return status;
    }
    if (!known_lengths(chain->body, stored, out, &known, &open) || size % item != 0 || size / item % known != 0 ||
        (open < 0 && size / item != known)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the %zu bytes that filters make are no array of the shape wanted", size);
    }
    if (open >= 0) {
        out[open] = (int64_t)(size / item / known);
    }
    return ZC_OK;
}

/* ---- sizes of encoded values ---------------------------------------------------------------- */

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

static zc_status shard_bound(const zc_chain *chain, int ndim, const int64_t *stored_shape, size_t *out,
                             zc_error *err)
{
    int64_t grid[ZC_MAX_DIMS];
    size_t n, index, inner;

    for (int d = 0; d < ndim; d++) {
        if (stored_shape[d] % chain->inner_shape[d] != 0) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "chunk_shape: %lld does not divide the shard's %lld",
                           (long long)chain->inner_shape[d], (long long)stored_shape[d]);
        }
    }
    if (!zc_chain_inner_grid(chain, ndim, stored_shape, grid, &n)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "a shard has too many inner chunks");
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
    int64_t stored[ZC_MAX_DIMS], inside[ZC_MAX_DIMS];
    zc_status status = ZC_OK;

    if (!zc_chain_decoded_size(chain, ndim, shape, &size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    zc_chain_stored_shape(chain, ndim, shape, stored);
    if (chain->body != NULL) {
        status = zc_body_shape(chain, ndim, stored, inside, err);
        return status == ZC_OK ? zc_chain_bound(chain->body->chain, chain->body->ndim, inside, out, err) : status;
    }
    if (chain->sharded) {
        status = shard_bound(chain, ndim, stored, &size, err);
    } else if (chain->block != NULL) {
        status = zc_chain_bound(chain->block, ndim, stored, &size, err);
        if (status == ZC_OK && !zc_add_size(size, zc_block_header_size(ndim), &size)) {
            status = zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
        }
    }
    return status != ZC_OK ? status : zc_stages_bound(chain->stages, chain->n_stages, size, out, err);
}

/* ---- decoding ------------------------------------------------------------------------------- */

zc_status zc_chain_unstage_into(const zc_chain *chain, const uint8_t *src, size_t n, uint8_t *dst,
                                size_t decoded, zc_workspace *ws, zc_error *err)
{
    size_t written = 0;

    if (chain->n_stages == 0) {
        const zc_status status = zc_chain_check_size(n, decoded, err);
        if (status == ZC_OK) {
            memcpy(dst, src, decoded);
        }
        return status;
    }
    zc_status status = zc_stages_decode(chain->stages, chain->n_stages, src, n, dst, decoded, &written, ws, err);
    if (status == ZC_OK && written != decoded) {
        zc_error_set_codec(err, chain->stages[0].cls->name);
        status = zc_fail(err, ZC_ERR_SIZE, "decoded to %zu bytes, the metadata demand %zu", written, decoded);
    }
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
