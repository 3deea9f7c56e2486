/* SPDX-License-Identifier: MIT
 *
 * Compiling chains: all links, and chains within chains.
 */
#include "engine/chain_compile.h"

#include <string.h>

#include "base/cpu.h"
#include "engine/chain_build.h"

static zc_status compile_links(zc_build *b, const zc_links *links);

/* ---- shards ---------------------------------------------------------------------------------------- */

static zc_status check_divides(const zc_build *b, const zc_link *link)
{
    for (int d = 0; d < b->ndim; d++) {
        const int64_t inner = link->inner_shape[d];
        if (inner < 1) {
            return zc_refuse(b, link, ZC_ERR_ARGUMENT, "chunk_shape[%d]: expected 1 or more, got %lld", d,
                             (long long)inner);
        }
        if (b->has_shape && b->shape[d] % inner != 0) {
            return zc_refuse(b, link, ZC_ERR_ARGUMENT, "chunk_shape: %lld does not divide the shard's %lld",
                             (long long)inner, (long long)b->shape[d]);
        }
    }
    return ZC_OK;
}

static zc_status compile_index(zc_build *b, const zc_link *link)
{
    zc_build index = {.arena = b->arena, .err = b->err, .depth = b->depth + 1, .is_index = true, .ndim = 1,
                   .item_size = 8, .made_size = 8};
    size_t size;
    zc_error err;

    index.chain = zc_arena_alloc(b->arena, sizeof *index.chain);
    if (index.chain == NULL) {
        return zc_no_memory(b);
    }
    const zc_status status = compile_links(&index, &link->index);
    if (status != ZC_OK) {
        return status;
    }
    b->chain->index = index.chain;
    zc_error_clear(&err);
    return zc_chain_index_size(b->chain, 1, &size, &err) == ZC_OK
               ? ZC_OK
               : zc_refuse(b, link, ZC_ERR_ARGUMENT, "index_codecs: %s", err.message);
}

static zc_status compile_inner(zc_build *b, const zc_link *link)
{
    zc_chain *const chain = b->chain;
    zc_build inner;
    const zc_status status = zc_build_inside(b, &inner);

    if (status != ZC_OK) {
        return status;
    }
    memcpy(inner.chain->stages, chain->stages, sizeof chain->stages);
    memcpy(inner.filters, b->filters, sizeof b->filters);
    inner.chain->n_stages = chain->n_stages;
    inner.item_size = b->item_size;
    chain->n_stages = 0;
    chain->inner = inner.chain;
    memcpy(inner.shape, chain->inner_shape, sizeof inner.shape);
    inner.has_shape = true;
    return compile_links(&inner, &link->inner);
}

static zc_status add_shards(zc_build *b, const zc_link *link)
{
    zc_status status = b->is_index ? zc_refuse(b, link, ZC_ERR_ARGUMENT, "shards cannot be here")
                                   : zc_build_place_filters(b, link);

    status = status == ZC_OK ? zc_build_check_ndim(b, link, "chunk_shape") : status;
    status = status == ZC_OK ? check_divides(b, link) : status;
    if (status != ZC_OK) {
        return status;
    }
    if (b->ndim > 0) {
        memcpy(b->chain->inner_shape, link->inner_shape, (size_t)b->ndim * sizeof link->inner_shape[0]);
    }
    b->chain->item.size = b->item_size;
    b->chain->sharded = true;
    b->chain->shard_ndim = b->ndim;
    b->chain->index_at_start = link->index_at_start;
    status = compile_inner(b, link);
    return status == ZC_OK ? compile_index(b, link) : status;
}

/* Big-endian numbers, first dimension first. */
static zc_status check_block(const zc_build *b, const zc_link *link, const zc_chain *block)
{
    const bool is_big = b->made_size == 1 || (block->item.word != 0) != ZC_BIG_ENDIAN;
    const bool is_reversed = b->ndim < 2 || block->order_ndim == b->ndim;

    for (int d = 0; d < b->ndim; d++) {
        if (!is_reversed || (b->ndim > 1 && block->order[d] != b->ndim - 1 - d)) {
            return zc_refuse(b, link, ZC_ERR_ARGUMENT, "expected a transposition that reverses the dimensions");
        }
        if (b->has_shape && b->shape[d] > UINT32_MAX) {
            return zc_refuse(b, link, ZC_ERR_ARGUMENT, "a chunk's lengths do not fit into the header of a block");
        }
    }
    return is_big ? ZC_OK : zc_refuse(b, link, ZC_ERR_ARGUMENT, "expected the big byte order");
}

static zc_status add_block(zc_build *b, const zc_link *link)
{
    const zc_links *const links = &link->inner;
    const bool is_known = links->n >= 2 && links->n <= 3 && links->at[0].kind == ZC_LINK_TRANSPOSE &&
                          links->at[1].kind == ZC_LINK_BYTES && (links->n == 2 || links->at[2].kind == ZC_LINK_STAGE);
    zc_build inside;
    zc_status status = is_known && !b->is_index
                           ? ZC_OK
                           : zc_refuse(b, link, ZC_ERR_ARGUMENT,
                                       "expected transpose, bytes and at most one more codec");

    if (status == ZC_OK && (b->is_flat || b->chain->n_stages > 0)) {
        status = zc_build_filtered_array(b, link);
    }
    status = status == ZC_OK ? zc_build_inside(b, &inside) : status;
    status = status == ZC_OK ? compile_links(&inside, links) : status;
    if (status == ZC_OK) {
        b->ndim = b->ndim < 0 ? inside.ndim : b->ndim;
        status = check_block(b, link, inside.chain);
        b->chain->block = inside.chain;
        b->chain->item = inside.chain->item;
    }
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------- */

static zc_status add_array_array(zc_build *b, const zc_link *link)
{
    if (b->has_bytes) {
        return zc_refuse(b, link, ZC_ERR_ARGUMENT, "\"%s\" cannot follow a codec that makes bytes", zc_link_name(link));
    }
    if (b->is_index) {
        return zc_refuse(b, link, ZC_ERR_UNSUPPORTED, "\"%s\" is not supported for a shard index", zc_link_name(link));
    }
    switch (link->kind) {
    case ZC_LINK_TRANSPOSE: return zc_build_transposition(b, link);
    case ZC_LINK_RESHAPE: return zc_build_reshaping(b, link);
    default: return zc_build_filter(b, link);
    }
}

static zc_status add_array_bytes(zc_build *b, const zc_link *link)
{
    zc_status status;

    if (b->has_bytes) {
        return zc_refuse(b, link, ZC_ERR_ARGUMENT, "a second codec that makes bytes of an array");
    }
    switch (link->kind) {
    case ZC_LINK_BYTES: status = zc_build_items(b, link); break;
    case ZC_LINK_SHARDS: status = add_shards(b, link); break;
    default: status = add_block(b, link);
    }
    b->has_bytes = true;             /* of the array that filters made, if add_... began one */
    return status;
}

static zc_status compile_links(zc_build *b, const zc_links *links)
{
    zc_status status = ZC_OK;

    if (b->depth > ZC_DEPTH_MAX) {
        return zc_refuse(b, links->n > 0 ? links->at : NULL, ZC_ERR_ARGUMENT,
                         "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    for (size_t i = 0; i < links->n && status == ZC_OK; i++) {
        const zc_link *const link = &links->at[i];
        if (link->kind < ZC_LINK_BYTES) {
            status = add_array_array(b, link);
        } else if (link->kind < ZC_LINK_STAGE) {
            status = add_array_bytes(b, link);
        } else if (!b->has_bytes) {
            status = zc_refuse(b, link, ZC_ERR_ARGUMENT, "\"%s\" needs a codec before it that makes bytes",
                               zc_link_name(link));
        } else {
            status = zc_build_add_stage(b, link, &link->codec);
        }
    }
    if (status == ZC_OK && !b->has_bytes) {
        status = zc_refuse(b, links->n > 0 ? links->at : NULL, ZC_ERR_ARGUMENT,
                           "expected a codec that makes bytes of an array");
    }
    return status != ZC_OK || zc_chain_choose_kind(b->chain, b->arena) ? status : zc_no_memory(b);
}

zc_status zc_chain_compile(const zc_chain_description *description, zc_arena *arena, const zc_chain **out,
                           zc_error *err)
{
    const size_t size = description->item_size;
    zc_build outside = {.arena = arena, .err = err, .ndim = description->ndim, .made_size = size,
                     .has_shape = description->shape != NULL && description->ndim >= 0};
    zc_build b;

    *out = NULL;
    if (size < 1 || description->ndim > ZC_MAX_DIMS) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "itemsize: expected 1 or more, and up to %d dimensions, got %zu and %d",
                       ZC_MAX_DIMS, size, description->ndim);
    }
    uint8_t *const fill = zc_arena_alloc(arena, size);
    if (fill == NULL) {
        return zc_no_memory(&outside);
    }
    outside.fill = description->fill != NULL ? memcpy(fill, description->fill, size) : fill;
    zc_status status = zc_build_inside(&outside, &b);
    if (status == ZC_OK && outside.has_shape) {
        memcpy(b.shape, description->shape, (size_t)description->ndim * sizeof b.shape[0]);
    }
    const zc_chain *const chain = b.chain;
    status = status == ZC_OK ? compile_links(&b, &description->links) : status;
    *out = status == ZC_OK ? chain : NULL;
    return status;
}
