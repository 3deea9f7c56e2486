/* SPDX-License-Identifier: MIT
 *
 * Chunks that are blocks of N5 (extension "n5_default"): a header with the shape, then the elements.
 *
 * A block at the end of an array may be smaller than the chunk, or larger than what of it lies in the array.
 */
#include <string.h>

#include "engine/chunk.h"

enum { MODE_DEFAULT, MODE_VARLENGTH, MODE_OBJECT };

#define HEADER_MAX (8 + 4 * ZC_MAX_DIMS)

typedef struct header {
    int64_t lengths[ZC_MAX_DIMS];
    size_t nbytes;
} header;

/* ---- headers ---------------------------------------------------------------------------------- */

/* Bytes of a header as it is written here. */
static size_t header_size(int ndim)
{
    return 4 + 4 * (size_t)ndim;
}

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

/* No writer makes blocks without items.  One that is much larger than the chunk is not sound either, and
 * would ask for as much memory. */
static zc_status parse_lengths(const uint8_t *bytes, int ndim, const int64_t *stored, header *out, zc_error *err)
{
    size_t items = 1, most = 4;

    for (int d = 0; d < ndim; d++) {
        out->lengths[d] = load_be(bytes + 4 + 4 * d, 4);
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
    if (load_be(bytes, 2) == MODE_VARLENGTH && load_be(bytes + 4 + 4 * ndim, 4) != items) {
        return zc_fail(err, ZC_ERR_CORRUPT, "expected a block of %zu items, got one of %u", items,
                       (unsigned)load_be(bytes + 4 + 4 * ndim, 4));
    }
    return ZC_OK;
}

static zc_status parse_header(const uint8_t *bytes, size_t n, int ndim, const int64_t *stored, header *out,
                              zc_error *err)
{
    const uint32_t mode = n >= 2 ? load_be(bytes, 2) : MODE_DEFAULT;

    if (mode == MODE_OBJECT) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a block of objects cannot be read");
    }
    if (mode > MODE_OBJECT) {
        return zc_fail(err, ZC_ERR_CORRUPT, "a block of the unknown mode %u cannot be read", (unsigned)mode);
    }
    if (n >= 4 && load_be(bytes + 2, 2) != (uint32_t)ndim) {
        return zc_fail(err, ZC_ERR_CORRUPT, "expected a block of %d dimensions, got one of %u", ndim,
                       (unsigned)load_be(bytes + 2, 2));
    }
    out->nbytes = header_size(ndim) + (mode == MODE_VARLENGTH ? 4 : 0);
    if (n < out->nbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%zu bytes cannot hold the header of a block", n);
    }
    return parse_lengths(bytes, ndim, stored, out, err);
}

/* The header of a block, which lies in a chunk of that shape; all of the block is of a plausible size. */
static zc_status read_header(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, header *out)
{
    const size_t most = header_size(chunk->ndim) + 4, n = from->size < most ? (size_t)from->size : most;
    uint8_t bytes[HEADER_MAX];
    zc_status status = zc_chain_check_plausible(chunk->chain, from->size, chunk->size, ctx->err);

    if (status == ZC_OK) {
        status = zc_value_read(from, 0, bytes, n, ctx->err);
    }
    if (status != ZC_OK) {
        return status;
    }
    status = parse_header(bytes, n, chunk->ndim, chunk->shape, out, ctx->err);
    if (status != ZC_OK) {
        zc_error_set_codec(ctx->err, "n5_default");
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

static bool fills_chunk(const header *h, const zc_chunk *chunk)
{
    return memcmp(h->lengths, chunk->shape, (size_t)chunk->ndim * sizeof h->lengths[0]) == 0;
}

/* The chain of the elements as the block stores them: in their byte order. */
static zc_chain unswapped(const zc_chain *chain)
{
    zc_chain elements = *chain->block;

    elements.item = (zc_item){.size = chain->item.size};
    return elements;
}

/* Read the elements after the header; a cache keeps whole chunks, not these. */
static zc_status read_elements(const zc_context *ctx, const zc_chain *elements, const header *h, const zc_value *from,
                               const zc_selection *selection)
{
    const zc_chunk chunk = {.chain = elements, .ndim = selection->ndim, .shape = h->lengths, .selection = selection};
    zc_value unknown = zc_value_part(from, h->nbytes, from->size - h->nbytes);

    unknown.origin = NULL;
    return zc_chunk_read(ctx, &chunk, &unknown);
}

/* All elements; those that the block lacks are the fill value. */
static zc_status decode(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst)
{
    const zc_chain elements = unswapped(chunk->chain);
    const int64_t lo[ZC_MAX_DIMS] = {0};
    zc_selection all, inside;
    header h;
    zc_status status = read_header(ctx, chunk, from, &h);

    if (status == ZC_OK && !fills_chunk(&h, chunk)) {
        status = zc_elements_fill(ctx, chunk->chain, dst, chunk->size);
    }
    zc_selection_whole(chunk->ndim, chunk->shape, chunk->chain->item.size, dst, &all);
    return status == ZC_OK && zc_selection_clip(&all, lo, h.lengths, &inside)
               ? read_elements(ctx, &elements, &h, from, &inside)
               : status;
}

/* No more than is wanted, as far as its codecs allow. */
static zc_status read_block(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    header h;
    const zc_status status = read_header(ctx, chunk, from, &h);

    if (status != ZC_OK) {
        return status;
    }
    return fills_chunk(&h, chunk) ? read_elements(ctx, chunk->chain->block, &h, from, chunk->selection)
                                  : zc_elements_read(ctx, chunk, from);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static zc_status write_elements(const zc_context *ctx, const zc_chunk *chunk, const zc_chain *elements, zc_output *out)
{
    const size_t size = header_size(chunk->ndim);
    zc_chunk inside = *chunk;
    zc_output rest = {out->data + size, out->cap - size, 0};
    zc_status status = write_header(chunk->ndim, chunk->shape, out->data, ctx->err);

    inside.chain = elements;
    if (status == ZC_OK) {
        status = zc_chunk_write(ctx, &inside, NULL, &rest);
    }
    out->written = rest.written > 0 ? rest.written + size : 0;
    return status;
}

static zc_status encode(const zc_context *ctx, const zc_chunk *chunk, const uint8_t *elements, zc_output *out)
{
    const zc_chain stored_order = unswapped(chunk->chain);
    zc_call call = *ctx->call;
    zc_context inside = *ctx;
    zc_chunk whole = *chunk;
    zc_selection all;

    call.write_empty = true;         /* whether it is empty has been looked at */
    inside.call = &call;
    whole.bounds = chunk->shape;
    whole.selection = &all;
    zc_selection_whole(chunk->ndim, chunk->shape, chunk->chain->item.size, (void *)elements, &all);
    return write_elements(&inside, &whole, &stored_order, out);
}

static zc_status write_block(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out)
{
    return old == NULL || zc_chunk_is_covered(ctx, chunk) ? write_elements(ctx, chunk, chunk->chain->block, out)
                                                          : zc_elements_write(ctx, chunk, old, out);
}

/* ---- the kind --------------------------------------------------------------------------------- */

static zc_status bound(const zc_chain *chain, int ndim, const int64_t *stored, size_t decoded, size_t *out,
                       zc_error *err)
{
    const zc_status status = zc_chain_bound(chain->block, ndim, stored, out, err);

    (void)decoded;
    return status == ZC_OK && !zc_add_size(*out, header_size(ndim), out)
               ? zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory")
               : status;
}

/* A block of another shape may be larger than one that is made here. */
static size_t plausible(const zc_chain *chain, size_t decoded)
{
    (void)chain;
    return zc_roomy(decoded);
}

const zc_chain_ops zc_n5_block_ops = {
    .read = read_block,
    .decode = decode,
    .holds_chunk = true,
    .write = write_block,
    .encode = encode,
    .bound = bound,
    .plausible = plausible,
};
