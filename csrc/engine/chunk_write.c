/* SPDX-License-Identifier: MIT
 *
 * Writing one chunk: the caller's memory -> elements -> encoded value.
 */
#include <string.h>

#include "engine/filtered_array.h"

/* Uncompressed chunks are gathered and written in pieces of this size, which stay in the L2 cache meanwhile. */
#define PIECE ((size_t)256 << 10)

/* The stored elements of a chunk, to out: old value (NULL: fill value), patched with the selection. */
static zc_status compose(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                         const zc_selection *selection, const zc_value *old, const void *stored_fill, size_t size,
                         uint8_t *out, zc_workspace *ws, zc_error *err)
{
    const size_t itemsize = chain->item.size;
    zc_status status = ZC_OK;

    if (old != NULL) {
        status = zc_chunk_decode(scope, chain, selection->ndim, stored, old, 0, old->size, out, size, ws, err);
    } else if (!zc_selection_covers(selection, stored)) {
        const int64_t n = (int64_t)(size / itemsize), stride = (int64_t)itemsize;
        zc_region_fill(1, &n, out, &stride, itemsize, stored_fill);
    }
    if (status == ZC_OK && zc_selection_is_masked(selection)) {
        zc_selection_gather_masked(selection, stored, (char *)out, &chain->item);
    } else if (status == ZC_OK) {
        status = zc_selection_gather(selection, stored, out, 0, (int64_t)(size / itemsize), &chain->item, ws, err);
    }
    return status;
}

/* Encode all elements of a chunk, in stored order and form. */
static zc_status encode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                        const uint8_t *elements, size_t size, uint8_t *dst, size_t cap, size_t *written,
                        zc_workspace *ws, zc_error *err)
{
    if (chain->body != NULL) {
        return zc_body_encode(scope, chain, ndim, stored, elements, size, dst, cap, written, ws, err);
    }
    if (chain->block != NULL) {
        return zc_block_encode(scope, chain, ndim, stored, elements, dst, cap, written, ws, err);
    }
    return zc_chain_stage_into(chain, elements, size, dst, cap, written, ws, err);
}

static zc_status write_elements(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                             const int64_t *bounds, const zc_selection *selection, const zc_value *old, uint8_t *dst,
                             size_t cap, size_t *written, zc_workspace *ws, zc_error *err)
{
    const size_t itemsize = chain->item.size;
    size_t size;
    zc_status status;

    if (!zc_chain_decoded_size(chain, selection->ndim, stored, &size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    const bool image = !zc_item_swaps(&chain->item) && zc_selection_is_chunk_image(selection, stored, itemsize);
    const bool all = zc_scope_covers(scope, selection, stored, bounds);
    if (!scope->call->write_empty && all &&
        zc_selection_equals_fill(selection, itemsize, scope->fill)) {
        *written = 0;
        return ZC_OK;
    }
    if (chain->block != NULL && (all || old == NULL)) {
        return zc_block_write(scope, chain, stored, bounds, selection, dst, cap, written, ws, err);
    }
    if (image) {
        const uint8_t *const elements = (const uint8_t *)selection->memory;
        return encode(scope, chain, selection->ndim, stored, elements, size, dst, cap, written, ws, err);
    }
    const bool in_place = zc_chain_is_plain(chain) && cap >= size;       /* the elements are what is stored */
    uint8_t *const room = zc_scratch_push(ws, in_place ? itemsize : size + itemsize, err);
    if (room == NULL) {
        return ZC_ERR_MEMORY;
    }
    uint8_t *const elements = in_place ? dst : room;
    uint8_t *const stored_fill = in_place ? room : room + size;
    zc_items_copy(1, stored_fill, scope->fill, &chain->item);
    status = compose(scope, chain, stored, selection, all ? NULL : old, stored_fill, size, elements, ws, err);
    if (status == ZC_OK && !scope->call->write_empty && !all &&
        zc_equals_fill(elements, size / itemsize, itemsize, stored_fill)) {
        *written = 0;
    } else if (status == ZC_OK && in_place) {
        *written = size;
    } else if (status == ZC_OK) {
        status = encode(scope, chain, selection->ndim, stored, elements, size, dst, cap, written, ws, err);
    }
    zc_scratch_pop(ws);
    return status;
}

zc_status zc_chunk_write(const zc_scope *scope, const zc_chain *chain, const int64_t *shape,
                         const int64_t *bounds, const zc_selection *selection, const zc_value *old, uint8_t *dst,
                         size_t cap, size_t *written, zc_workspace *ws, zc_error *err)
{
    int64_t stored[ZC_MAX_DIMS], stored_bounds[ZC_MAX_DIMS];
    zc_selection permuted;

    zc_chain_stored_shape(chain, selection->ndim, shape, stored);
    zc_chain_stored_shape(chain, selection->ndim, bounds, stored_bounds);
    if (chain->order_ndim > 0) {
        permuted = *selection;
        zc_selection_permute(&permuted, chain->order);
        selection = &permuted;
    }
    return (chain->sharded ? zc_shard_write : write_elements)(scope, chain, stored, stored_bounds, selection, old, dst,
                                                              cap, written, ws, err);
}

/* ---- without codecs ------------------------------------------------------------------------------ */

bool zc_plain_open(const zc_scope *scope, const zc_chain *chain, const int64_t *shape, const int64_t *bounds,
                   const zc_selection *selection, zc_plain *out)
{
    out->scope = scope;
    out->chain = chain;
    out->selection = *selection;
    if (!zc_chain_is_plain(chain) || !zc_selection_covers(selection, bounds) ||
        !zc_chain_decoded_size(chain, selection->ndim, shape, &out->size)) {
        return false;
    }
    zc_chain_stored_shape(chain, selection->ndim, shape, out->stored);
    if (chain->order_ndim > 0) {
        zc_selection_permute(&out->selection, chain->order);
    }
    return zc_selection_keeps_rows(&out->selection);
}

bool zc_plain_is_empty(const zc_plain *plain)
{
    return !plain->scope->call->write_empty &&
           zc_selection_equals_fill(&plain->selection, plain->chain->item.size, plain->scope->fill);
}

/* The next piece of the chunk: of the memory itself if it has the chunk's layout, else gathered. */
static zc_status plain_piece(void *self, uint64_t offset, const void **data, size_t *n, zc_error *err)
{
    const zc_plain *plain = self;
    const zc_item *item = &plain->chain->item;
    const zc_selection *selection = &plain->selection;
    const size_t left = plain->size - (size_t)offset;
    const int64_t stride = (int64_t)item->size;

    if (zc_workspace_cancelled(plain->ws)) {
        return zc_fail(err, ZC_ERR_CANCELLED, "interrupted");
    }
    *n = left < plain->piece ? left : plain->piece;
    if (!zc_item_swaps(item) && zc_selection_is_chunk_image(selection, plain->stored, item->size)) {
        *data = selection->memory + offset;
        return ZC_OK;
    }
    *data = plain->buffer;
    const int64_t count = (int64_t)(*n / item->size);
    if (!zc_selection_covers(selection, plain->stored)) {
        uint8_t *const fill = plain->buffer + plain->piece;
        zc_items_copy(1, fill, plain->scope->fill, item);
        zc_region_fill(1, &count, plain->buffer, &stride, item->size, fill);
    }
    return zc_selection_gather(selection, plain->stored, plain->buffer, (int64_t)(offset / item->size), count, item,
                               plain->ws, err);
}

zc_status zc_plain_source(zc_plain *plain, zc_workspace *ws, zc_file_source *out, zc_error *err)
{
    const size_t itemsize = plain->chain->item.size;

    plain->ws = ws;
    plain->piece = itemsize < PIECE ? PIECE - PIECE % itemsize : itemsize;
    plain->piece = plain->piece < plain->size ? plain->piece : plain->size;
    plain->buffer = zc_scratch_push(ws, plain->piece + itemsize, err);
    *out = (zc_file_source){plain->size, plain_piece, plain};
    return plain->buffer != NULL ? ZC_OK : ZC_ERR_MEMORY;
}
