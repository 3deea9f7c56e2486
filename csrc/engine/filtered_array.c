/* SPDX-License-Identifier: MIT
 *
 * Filters before an array of its own: all of the chunk is decoded, or encoded, at once.
 */
#include "engine/filtered_array.h"

/* What lies inside has a fill value of its own, and none of it is the caller's. */
static zc_scope inside_of(const zc_scope *scope, const void *fill)
{
    zc_scope inside = *scope;

    inside.fill = fill;
    inside.blocks = NULL;
    inside.keeps_beyond = false;
    return inside;
}

/* The shape of the body, and its bytes. */
static zc_status measure(const zc_chain *chain, int ndim, const int64_t *stored, int64_t *shape, size_t *size,
                         zc_error *err)
{
    const zc_body *body = chain->body;
    const zc_status status = zc_body_shape(chain, ndim, stored, shape, err);

    if (status == ZC_OK && !zc_chain_decoded_size(body->chain, body->ndim, shape, size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    return status;
}

zc_status zc_body_decode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                         const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                         zc_workspace *ws, zc_error *err)
{
    const zc_body *body = chain->body;
    const zc_scope inside = inside_of(scope, body->fill);
    zc_value unknown = *value;
    int64_t shape[ZC_MAX_DIMS];
    size_t made_size;
    zc_selection selection;
    zc_status status = measure(chain, ndim, stored, shape, &made_size, err);

    if (status != ZC_OK) {
        return status;
    }
    uint8_t *const made = chain->n_stages > 0 ? zc_scratch_push(ws, made_size, err) : dst;
    if (made == NULL) {
        return ZC_ERR_MEMORY;
    }
    unknown.origin = NULL;           /* a cache keeps what is before the filters */
    zc_selection_whole(body->ndim, shape, body->chain->item.size, made, &selection);
    status = inside.ops->read(&inside, body->chain, shape, &selection, &unknown, offset, nbytes, ws, err);
    if (status == ZC_OK && chain->n_stages > 0) {
        status = zc_chain_unstage_into(chain, made, made_size, dst, size, ws, err);
    }
    zc_pop(ws, chain->n_stages > 0);
    return status;
}

/* Encode all of the body.  A chunk that is not empty is stored, also where all that filters make of it is. */
static zc_status encode_whole(const zc_scope *scope, const zc_chain *chain, const int64_t *shape,
                              const zc_selection *selection, uint8_t *dst, size_t cap, size_t *written,
                              zc_workspace *ws, zc_error *err)
{
    zc_call call = *scope->call;
    zc_scope inside = inside_of(scope, chain->body->fill);
    const zc_chain *body = chain->body->chain;
    zc_status status = inside.ops->write(&inside, body, shape, shape, selection, NULL, dst, cap, written, ws, err);

    if (status == ZC_OK && *written == 0) {
        call.write_empty = true;
        inside.call = &call;
        status = inside.ops->write(&inside, body, shape, shape, selection, NULL, dst, cap, written, ws, err);
    }
    return status;
}

zc_status zc_body_encode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                         const uint8_t *elements, size_t size, uint8_t *dst, size_t cap, size_t *written,
                         zc_workspace *ws, zc_error *err)
{
    const zc_body *body = chain->body;
    const uint8_t *made = elements;
    int64_t shape[ZC_MAX_DIMS];
    size_t made_size, n = size;
    zc_selection selection;
    zc_status status = measure(chain, ndim, stored, shape, &made_size, err);

    if (status == ZC_OK && chain->n_stages > 0) {
        uint8_t *const room = zc_scratch_push(ws, made_size, err);
        if (room == NULL) {
            return ZC_ERR_MEMORY;
        }
        status = zc_chain_stage_into(chain, elements, size, room, made_size, &n, ws, err);
        made = room;
    }
    if (status == ZC_OK) {
        zc_selection_whole(body->ndim, shape, body->chain->item.size, (void *)made, &selection);
        status = encode_whole(scope, chain, shape, &selection, dst, cap, written, ws, err);
    }
    zc_pop(ws, made != elements);
    return status;
}
