/* SPDX-License-Identifier: MIT
 *
 * Writing one chunk: the caller's memory -> elements -> encoded value.
 */
#include <string.h>

#include "engine/engine.h"

/* The stored elements of a chunk, in a scratch buffer: old value or fill value, patched with the part. */
static zc_status compose(const zc_chain *chain, const int64_t *stored, const int64_t *bounds,
                         const zc_part *part, const zc_value *old, const void *stored_fill, size_t size,
                         uint8_t *out, zc_workspace *ws, zc_error *err)
{
    const size_t itemsize = chain->item.size;
    zc_status status = ZC_OK;

    if (!zc_part_covers(part, bounds) && old != NULL) {
        const uint8_t *data;
        int viewed = 0;
        if (old->size > zc_chain_plausible_size(chain, size)) {
            return zc_fail(err, ZC_ERR_SIZE, "%llu bytes are more than an encoding of %zu bytes can have",
                           (unsigned long long)old->size, size);
        }
        status = zc_value_view(old, 0, (size_t)old->size, ws, &data, &viewed, err);
        if (status == ZC_OK) {
            status = zc_chain_unstage_into(chain, data, (size_t)old->size, out, size, ws, err);
        }
        zc_pop(ws, viewed);
    } else if (!zc_part_covers(part, stored)) {
        const int64_t n = (int64_t)(size / itemsize), stride = (int64_t)itemsize;
        zc_region_fill(1, &n, out, &stride, itemsize, stored_fill);
    }
    if (status == ZC_OK) {
        status = zc_part_gather(part, stored, out, &chain->item, ws, err);
    }
    return status;
}

static zc_status write_plain(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                             const int64_t *bounds, const zc_part *part, const zc_value *old, uint8_t *dst,
                             size_t cap, size_t *written, zc_workspace *ws, zc_error *err)
{
    const size_t itemsize = chain->item.size;
    size_t size;
    zc_status status;

    if (!zc_chain_decoded_size(chain, part->ndim, stored, &size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    const bool image = !zc_item_swaps(&chain->item) && zc_part_is_chunk_image(part, stored, itemsize);
    if (!scope->call->write_empty && zc_part_covers(part, bounds) &&
        zc_part_equals_fill(part, itemsize, scope->fill)) {
        *written = 0;
        return ZC_OK;
    }
    if (image) {
        return zc_chain_stage_into(chain, (const uint8_t *)part->memory, size, dst, cap, written, ws, err);
    }
    uint8_t *elements = zc_scratch_push(ws, size + itemsize, err);
    if (elements == NULL) {
        return ZC_ERR_MEMORY;
    }
    uint8_t *const stored_fill = elements + size;
    zc_items_copy(1, stored_fill, scope->fill, &chain->item);
    status = compose(chain, stored, bounds, part, old, stored_fill, size, elements, ws, err);
    if (status == ZC_OK && !scope->call->write_empty && !zc_part_covers(part, bounds) &&
        zc_equals_fill(elements, size / itemsize, itemsize, stored_fill)) {
        *written = 0;
    } else if (status == ZC_OK) {
        status = zc_chain_stage_into(chain, elements, size, dst, cap, written, ws, err);
    }
    zc_scratch_pop(ws);
    return status;
}

zc_status zc_chunk_write(const zc_scope *scope, const zc_chain *chain, const int64_t *shape,
                         const int64_t *bounds, const zc_part *part, const zc_value *old, uint8_t *dst,
                         size_t cap, size_t *written, zc_workspace *ws, zc_error *err)
{
    int64_t stored[ZC_MAX_DIMS], stored_bounds[ZC_MAX_DIMS];
    zc_part permuted;

    zc_chain_stored_shape(chain, part->ndim, shape, stored);
    zc_chain_stored_shape(chain, part->ndim, bounds, stored_bounds);
    if (chain->order_ndim > 0) {
        permuted = *part;
        zc_part_permute(&permuted, chain->order);
        part = &permuted;
    }
    return (chain->sharded ? zc_shard_write : write_plain)(scope, chain, stored, stored_bounds, part, old, dst,
                                                           cap, written, ws, err);
}
