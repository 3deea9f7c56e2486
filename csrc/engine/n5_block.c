/* SPDX-License-Identifier: MIT
 *
 * Chunks that are blocks of N5 (extension "n5_default"): a header with the shape, then the elements.
 *
 * A block at the end of an array may be smaller than the chunk, or larger than what of it lies in the array.
 */
#include <string.h>

#include "base/arith.h"
#include "engine/filtered_array.h"

enum { MODE_DEFAULT, MODE_VARLENGTH, MODE_OBJECT };

#define HEADER_MAX (8 + 4 * ZC_MAX_DIMS)

typedef struct block {
    int64_t lengths[ZC_MAX_DIMS];
    size_t header;           /* bytes */
} block;

/* ---- headers ---------------------------------------------------------------------------------- */

static uint32_t load_be(const uint8_t *p, int n)
{
    uint32_t v = 0;

    for (int i = 0; i < n; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

static void store_be(uint8_t *p, uint32_t v, int n)
{
    for (int i = n - 1; i >= 0; i--, v >>= 8) {
        p[i] = (uint8_t)v;
    }
}

/* A block without items is none that anybody writes.  One that is much larger than the chunk is not sound either, and
 * would ask for as much memory. */
static zc_status parse_lengths(const uint8_t *header, int ndim, const int64_t *stored, block *out, zc_error *err)
{
    size_t items = 1, most = 4;

    for (int d = 0; d < ndim; d++) {
        out->lengths[d] = load_be(header + 4 + 4 * d, 4);
        if (out->lengths[d] == 0 || (out->lengths[d] + 1) / 2 > stored[d]) {
            return zc_fail(err, ZC_ERR_CORRUPT,
                           "a block of length %lld along dimension %d does not belong to a chunk of %lld",
                           (long long)out->lengths[d], d, (long long)stored[d]);
        }
        if (!zc_mul_size(items, (uint64_t)out->lengths[d], &items) || !zc_mul_size(most, (uint64_t)stored[d], &most)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "a block has more items than can be counted");
        }
    }
    if (items > most) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a block of %zu items does not belong to a chunk of %zu", items, most / 4);
    }
    if (load_be(header, 2) == MODE_VARLENGTH && load_be(header + 4 + 4 * ndim, 4) != items) {
        return zc_fail(err, ZC_ERR_CORRUPT, "expected a block of %zu items, got one of %u", items,
                       (unsigned)load_be(header + 4 + 4 * ndim, 4));
    }
    return ZC_OK;
}

static zc_status parse_header(const uint8_t *header, size_t n, int ndim, const int64_t *stored, block *out,
                              zc_error *err)
{
    const uint32_t mode = n >= 2 ? load_be(header, 2) : MODE_DEFAULT;

    if (mode == MODE_OBJECT) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a block of objects cannot be read");
    }
    if (mode > MODE_OBJECT) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a block of the unknown mode %u cannot be read", (unsigned)mode);
    }
    if (n >= 4 && load_be(header + 2, 2) != (uint32_t)ndim) {
        return zc_fail(err, ZC_ERR_CORRUPT, "expected a block of %d dimensions, got one of %u", ndim,
                       (unsigned)load_be(header + 2, 2));
    }
    out->header = zc_block_header_size(ndim) + (mode == MODE_VARLENGTH ? 4 : 0);
    if (n < out->header) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%zu bytes cannot hold the header of a block", n);
    }
    return parse_lengths(header, ndim, stored, out, err);
}

static zc_status read_header(const zc_value *value, uint64_t offset, uint64_t nbytes, int ndim, const int64_t *stored,
                             block *out, zc_error *err)
{
    const size_t most = zc_block_header_size(ndim) + 4, n = nbytes < most ? (size_t)nbytes : most;
    uint8_t header[HEADER_MAX];
    zc_status status = zc_value_read(value, offset, header, n, err);

    if (status == ZC_OK) {
        status = parse_header(header, n, ndim, stored, out, err);
        if (status != ZC_OK) {
            zc_error_set_codec(err, "n5_default");
        }
    }
    return status;
}

static zc_status write_header(int ndim, const int64_t *stored, uint8_t *dst, zc_error *err)
{
    store_be(dst, MODE_DEFAULT, 2);
    store_be(dst + 2, (uint32_t)ndim, 2);
    for (int d = 0; d < ndim; d++) {
        if (stored[d] > UINT32_MAX) {
            return zc_fail(err, ZC_ERR_UNSUPPORTED, "the header of a block cannot hold the length %lld",
                           (long long)stored[d]);
        }
        store_be(dst + 4 + 4 * d, (uint32_t)stored[d], 4);
    }
    return ZC_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* The chain of the elements as the block stores them: in their byte order. */
static zc_chain unswapped(const zc_chain *chain)
{
    zc_chain elements = *chain->block;

    elements.item = (zc_item){.size = chain->item.size};
    return elements;
}

static zc_status fill_elements(const zc_scope *scope, const zc_chain *chain, uint8_t *dst, size_t size,
                               zc_workspace *ws, zc_error *err)
{
    const int64_t n = (int64_t)(size / chain->item.size), stride = (int64_t)chain->item.size;
    uint8_t *const fill = zc_scratch_push(ws, chain->item.size, err);

    if (fill == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_items_copy(1, fill, scope->fill, &chain->item);
    zc_region_fill(1, &n, dst, &stride, chain->item.size, fill);
    zc_scratch_pop(ws);
    return ZC_OK;
}

static zc_status decode_bare(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                             const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                             zc_workspace *ws, zc_error *err)
{
    const zc_chain elements = unswapped(chain);
    const int64_t lo[ZC_MAX_DIMS] = {0};
    zc_value unknown = *value;
    zc_selection all, selection;
    block b;
    zc_status status = read_header(value, offset, nbytes, ndim, stored, &b, err);

    if (status == ZC_OK && memcmp(b.lengths, stored, (size_t)ndim * sizeof *stored) != 0) {
        status = fill_elements(scope, chain, dst, size, ws, err);
    }
    zc_selection_whole(ndim, stored, chain->item.size, dst, &all);
    unknown.origin = NULL;           /* a cache keeps whole chunks */
    if (status == ZC_OK && zc_selection_clip(&all, lo, b.lengths, &selection)) {
        status = scope->ops->read(scope, &elements, b.lengths, &selection, &unknown, offset + b.header,
                                  nbytes - b.header, ws, err);
    }
    return status;
}

zc_status zc_block_decode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                          const zc_value *value, uint64_t offset, uint64_t nbytes, uint8_t *dst, size_t size,
                          zc_workspace *ws, zc_error *err)
{
    zc_chain bare;
    zc_value inside;
    int pushed = 0;

    if (chain->n_stages == 0) {
        return decode_bare(scope, chain, ndim, stored, value, offset, nbytes, dst, size, ws, err);
    }
    zc_status status = zc_unwrap(chain, ndim, stored, value, offset, nbytes, &bare, &inside, &pushed, ws, err);
    if (status == ZC_OK) {
        status = decode_bare(scope, &bare, ndim, stored, &inside, 0, inside.size, dst, size, ws, err);
    }
    zc_pop(ws, pushed);
    return status;
}

/* Decode all of a block that has another shape than the chunk, and place the selection. */
static zc_status read_other(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                            const zc_selection *selection, const zc_value *value, uint64_t offset, uint64_t nbytes,
                            zc_workspace *ws, zc_error *err)
{
    size_t size;

    if (!zc_chain_decoded_size(chain, selection->ndim, stored, &size)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    uint8_t *const elements = zc_scratch_push(ws, size, err);
    if (elements == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = decode_bare(scope, chain, selection->ndim, stored, value, offset, nbytes, elements, size, ws,
                                   err);
    if (status == ZC_OK) {
        status = zc_selection_scatter(selection, stored, elements, 0, (int64_t)(size / chain->item.size), &chain->item,
                                      ws, err);
    }
    zc_scratch_pop(ws);
    return status;
}

static zc_status read_bare(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                           const zc_selection *selection, const zc_value *value, uint64_t offset, uint64_t nbytes,
                           zc_workspace *ws, zc_error *err)
{
    zc_value unknown = *value;
    block b;
    const zc_status status = read_header(value, offset, nbytes, selection->ndim, stored, &b, err);

    if (status != ZC_OK) {
        return status;
    }
    if (memcmp(b.lengths, stored, (size_t)selection->ndim * sizeof *stored) != 0) {
        return read_other(scope, chain, stored, selection, value, offset, nbytes, ws, err);
    }
    unknown.origin = NULL;
    return scope->ops->read(scope, chain->block, stored, selection, &unknown, offset + b.header, nbytes - b.header, ws,
                            err);
}

zc_status zc_block_read(const zc_scope *scope, const zc_chain *chain, const int64_t *stored,
                        const zc_selection *selection, const zc_value *value, uint64_t offset, uint64_t nbytes,
                        zc_workspace *ws, zc_error *err)
{
    zc_chain bare;
    zc_value inside;
    int pushed = 0;

    if (chain->n_stages == 0) {
        return read_bare(scope, chain, stored, selection, value, offset, nbytes, ws, err);
    }
    zc_status status = zc_unwrap(chain, selection->ndim, stored, value, offset, nbytes, &bare, &inside, &pushed, ws,
                                 err);
    if (status == ZC_OK) {
        status = read_bare(scope, &bare, stored, selection, &inside, 0, inside.size, ws, err);
    }
    zc_pop(ws, pushed);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* A block without codecs after it. */
static zc_status write_bare(const zc_scope *scope, const zc_chain *elements, const int64_t *stored,
                            const int64_t *bounds, const zc_selection *selection, uint8_t *dst, size_t cap,
                            size_t *written, zc_workspace *ws, zc_error *err)
{
    const size_t header = zc_block_header_size(selection->ndim);

    zc_status status = write_header(selection->ndim, stored, dst, err);

    if (status == ZC_OK) {
        status = scope->ops->write(scope, elements, stored, bounds, selection, NULL, dst + header, cap - header,
                                   written, ws, err);
    }
    if (status == ZC_OK && *written > 0) {
        *written += header;
    }
    return status;
}

static zc_status write_elements(const zc_scope *scope, const zc_chain *chain, const zc_chain *elements,
                                const int64_t *stored, const int64_t *bounds, const zc_selection *selection,
                                uint8_t *dst, size_t cap, size_t *written, zc_workspace *ws, zc_error *err)
{
    zc_chain bare = *chain;
    size_t size;

    if (chain->n_stages == 0) {
        return write_bare(scope, elements, stored, bounds, selection, dst, cap, written, ws, err);
    }
    bare.n_stages = 0;
    bare.order_ndim = 0;
    zc_status status = zc_chain_bound(&bare, selection->ndim, stored, &size, err);
    uint8_t *const plain = status == ZC_OK ? zc_scratch_push(ws, size, err) : NULL;
    if (plain == NULL) {
        return status == ZC_OK ? ZC_ERR_MEMORY : status;
    }
    status = write_bare(scope, elements, stored, bounds, selection, plain, size, written, ws, err);
    if (status == ZC_OK && *written > 0) {
        status = zc_chain_stage_into(chain, plain, *written, dst, cap, written, ws, err);
    }
    zc_scratch_pop(ws);
    return status;
}

zc_status zc_block_write(const zc_scope *scope, const zc_chain *chain, const int64_t *stored, const int64_t *bounds,
                         const zc_selection *selection, uint8_t *dst, size_t cap, size_t *written, zc_workspace *ws,
                         zc_error *err)
{
    return write_elements(scope, chain, chain->block, stored, bounds, selection, dst, cap, written, ws, err);
}

zc_status zc_block_encode(const zc_scope *scope, const zc_chain *chain, int ndim, const int64_t *stored,
                          const uint8_t *elements, uint8_t *dst, size_t cap, size_t *written, zc_workspace *ws,
                          zc_error *err)
{
    const zc_chain stored_order = unswapped(chain);
    zc_call call = *scope->call;
    zc_scope inside = *scope;
    zc_selection selection;

    call.write_empty = true;         /* whether it is empty has been looked at */
    inside.call = &call;
    zc_selection_whole(ndim, stored, chain->item.size, (void *)elements, &selection);
    return write_elements(&inside, chain, &stored_order, stored, stored, &selection, dst, cap, written, ws, err);
}
