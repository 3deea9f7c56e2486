/* SPDX-License-Identifier: MIT */
#include "engine/chain_compile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "engine/reshape.h"

/* What is known of the chunk after the links so far. */
typedef struct build {
    zc_arena *arena;
    zc_error *err;
    zc_chain *chain;
    int depth;                       /* lists of links around this one, and itself */
    int n_arrays;                    /* arrays that filters have made */
    bool is_index;                   /* of a shard: one dimension of unsigned integers of 8 bytes */
    int ndim;                        /* -1: not known */
    bool has_shape;
    int64_t shape[ZC_MAX_DIMS];
    size_t item_size;                /* of the chain's items in memory */
    size_t made_size;                /* of the items that its filters make */
    const uint8_t *fill;             /* item_size bytes in memory of the arena */
    const zc_link *filters[ZC_MAX_STAGES];   /* those in chain->stages, as long as there is nothing else */
    zc_length lengths[ZC_MAX_DIMS];  /* `shape` in terms of the chain's stored dimensions */
    bool has_bytes;
    bool is_flat;                    /* only the order of the items is left of the chain's dimensions */
    bool is_reshaped;
} build;

static zc_status compile_links(build *b, const zc_links *links);

static const char *name_of(const zc_link *link)
{
    static const char *const names[] = {"transpose", "reshape", NULL, "bytes", "sharding_indexed", "n5_default", NULL};

    return names[link->kind] != NULL ? names[link->kind] : link->codec.cls->name;
}

ZC_PRINTF(4, 5)
static zc_status refuse(const build *b, const zc_link *link, zc_status status, const char *format, ...)
{
    const char *const where = link != NULL ? link->where : NULL;
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return zc_fail(b->err, status, "%s%s%s", where != NULL ? where : "", where != NULL ? ": " : "", text);
}

static zc_status no_memory(const build *b)
{
    return zc_fail(b->err, ZC_ERR_MEMORY, "out of memory");
}

/* ---- limits ----------------------------------------------------------------------------------- */

/* Levels of codecs that hold others; stops counting beyond the limit. */
static int levels_of(const zc_codec *codec, int most)
{
    int deepest = 0;

    for (int i = 0; i < codec->nested.n && deepest < most; i++) {
        const int levels = levels_of(&codec->nested.codecs[i], most - 1);
        deepest = levels > deepest ? levels : deepest;
    }
    return 1 + deepest;
}

static zc_status add_stage(build *b, const zc_link *link, const zc_codec *codec)
{
    zc_chain *const chain = b->chain;

    if (b->depth + levels_of(codec, ZC_DEPTH_MAX) - 1 > ZC_DEPTH_MAX) {
        return refuse(b, link, ZC_ERR_ARGUMENT, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    if (zc_stages_count(chain->stages, chain->n_stages) + zc_stages_count(codec, 1) > ZC_MAX_STAGES) {
        return refuse(b, link, ZC_ERR_UNSUPPORTED, "more than %d codecs of bytes, with those that they hold",
                      ZC_MAX_STAGES);
    }
    chain->stages[chain->n_stages++] = *codec;
    return ZC_OK;
}

/* ---- the fill value after filters --------------------------------------------------------------- */

/* What one filter makes of an item that is the fill value. */
static zc_status filtered_fill(const zc_link *filter, const uint8_t *before, size_t n, uint8_t *out, size_t *made,
                               zc_workspace *ws, zc_error *err)
{
    const bool packs = filter->codec.cls->filter == ZC_FILTER_PACKS;
    zc_status status = packs ? ZC_OK : zc_stages_bound(&filter->codec, 1, n, made, err);

    *made = packs ? 1 : *made;
    if (status == ZC_OK && *made > ZC_FILTER_ITEM_MAX) {
        status = zc_fail(err, ZC_ERR_UNSUPPORTED, "filters that make items of %zu bytes are not supported here", *made);
    }
    if (status == ZC_OK && filter->fill_rule == ZC_FILL_GIVEN && filter->fill_size != *made) {
        status = zc_fail(err, ZC_ERR_UNSUPPORTED, "a filter makes items of %zu bytes, not of %zu", *made,
                         filter->fill_size);
    }
    if (status != ZC_OK) {
        return status;
    }
    switch (filter->fill_rule) {
    case ZC_FILL_ENCODED: return zc_codec_encode(&filter->codec, ws, before, n, out, ZC_FILTER_ITEM_MAX, made, err);
    case ZC_FILL_GIVEN: memcpy(out, filter->fill, *made); return ZC_OK;
    case ZC_FILL_ZERO: memset(out, 0, *made); return ZC_OK;
    default:
        if (*made != n) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "items of another size cannot keep the fill value");
        }
        memcpy(out, before, n);
        return ZC_OK;
    }
}

/* The fill value before the filters and after all of them; the size of the latter to *n. */
static zc_status both_fills(const build *b, uint8_t *before, uint8_t *after, size_t *n, zc_workspace *ws)
{
    uint8_t item[ZC_FILTER_ITEM_MAX];
    zc_status status = ZC_OK;

    memset(before, 0, ZC_FILTER_ITEM_MAX);
    memcpy(before, b->fill, b->item_size);
    memcpy(after, before, ZC_FILTER_ITEM_MAX);
    *n = b->item_size;
    for (int s = 0; s < b->chain->n_stages && status == ZC_OK; s++) {
        memcpy(item, after, sizeof item);
        status = filtered_fill(b->filters[s], item, *n, after, n, ws, b->err);
    }
    return status;
}

/* Do the filters bring the fill value back, so that each inner chunk of a shard may go through them by itself? */
static bool bring_back(const build *b, const uint8_t *before, const uint8_t *after, size_t n, zc_workspace *ws)
{
    const zc_chain *const chain = b->chain;
    uint8_t item[ZC_FILTER_ITEM_MAX];
    size_t made = 0;
    zc_error err;

    zc_error_clear(&err);
    return zc_stages_encode(chain->stages, chain->n_stages, before, b->item_size, item, sizeof item, &made, ws,
                            &err) == ZC_OK &&
           made == n && memcmp(item, after, n) == 0 &&
           zc_stages_decode(chain->stages, chain->n_stages, after, n, item, b->item_size, &made, ws, &err) == ZC_OK &&
           made == b->item_size && memcmp(item, before, made) == 0;
}

/* The fill value after the filters, in memory of the arena, and whether they bring it back. */
static zc_status follow_fill(const build *b, const zc_link *link, const uint8_t **out, bool *kept)
{
    uint8_t before[ZC_FILTER_ITEM_MAX], after[ZC_FILTER_ITEM_MAX];
    size_t n = 0;

    *out = b->fill;
    *kept = true;
    if (b->chain->n_stages == 0) {
        return ZC_OK;
    }
    if (b->item_size > ZC_FILTER_ITEM_MAX) {
        return refuse(b, link, ZC_ERR_UNSUPPORTED, "filters of items of %zu bytes are not supported here",
                      b->item_size);
    }
    zc_workspace *const ws = zc_pool_borrow(b->err);
    if (ws == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = both_fills(b, before, after, &n, ws);
    if (status != ZC_OK) {
        char reason[sizeof b->err->message];
        memcpy(reason, b->err->message, sizeof reason);
        status = refuse(b, link, status, "the fill value cannot be encoded: %.160s", reason);
    }
    *kept = status == ZC_OK && bring_back(b, before, after, n, ws);
    zc_pool_release(ws);
    uint8_t *const item = status == ZC_OK ? zc_arena_alloc(b->arena, n) : NULL;
    if (item == NULL) {
        return status == ZC_OK ? no_memory(b) : status;
    }
    *out = memcpy(item, after, n);
    return ZC_OK;
}

/* ---- chains within chains ------------------------------------------------------------------------ */

/* A build of what lies inside of the chunk, or comes after it, with a chain of its own. */
static zc_status begin_inside(const build *b, build *out)
{
    *out = (build){.arena = b->arena, .err = b->err, .depth = b->depth + 1, .n_arrays = b->n_arrays, .ndim = b->ndim,
                   .has_shape = b->has_shape, .item_size = b->made_size, .made_size = b->made_size, .fill = b->fill};
    memcpy(out->shape, b->shape, sizeof out->shape);
    for (int d = 0; d < ZC_MAX_DIMS; d++) {
        out->lengths[d].axes = (uint64_t)1 << d;
    }
    out->chain = zc_arena_alloc(b->arena, sizeof *out->chain);
    return out->chain != NULL ? ZC_OK : no_memory(b);
}

/* From here on the links are those of the array that the filters so far make. */
static zc_status begin_filtered_array(build *b, const zc_link *link)
{
    build after;
    bool kept;
    zc_body *const body = zc_arena_alloc(b->arena, sizeof *body);
    zc_status status = body != NULL ? begin_inside(b, &after) : no_memory(b);

    if (status == ZC_OK && b->n_arrays == ZC_FILTERED_ARRAYS_MAX) {
        status = refuse(b, link, ZC_ERR_UNSUPPORTED, "more filters and transpositions in turn than are supported");
    }
    if (status == ZC_OK && b->ndim < 0) {
        status = refuse(b, link, ZC_ERR_ARGUMENT, "how many dimensions chunks have is not known");
    }
    status = status == ZC_OK ? follow_fill(b, link, &after.fill, &kept) : status;
    if (status != ZC_OK) {
        return status;
    }
    *body = (zc_body){.chain = after.chain, .ndim = b->ndim, .fill = after.fill};
    memcpy(body->lengths, b->lengths, sizeof body->lengths);
    b->chain->item = (zc_item){.size = b->item_size};
    b->chain->body = body;
    after.depth = b->depth;
    after.n_arrays = b->n_arrays + 1;
    *b = after;
    return ZC_OK;
}

/* ---- array -> array ------------------------------------------------------------------------------- */

static zc_status check_ndim(build *b, const zc_link *link, const char *what)
{
    if (link->n < 0 || link->n > ZC_MAX_DIMS) {
        return refuse(b, link, ZC_ERR_ARGUMENT, "%s: expected up to %d dimensions, got %d", what, ZC_MAX_DIMS, link->n);
    }
    b->ndim = b->ndim < 0 ? link->n : b->ndim;
    return link->n == b->ndim ? ZC_OK
                              : refuse(b, link, ZC_ERR_ARGUMENT, "%s: expected %d entries, got %d", what, b->ndim,
                                       link->n);
}

static zc_status add_transposition(build *b, const zc_link *link)
{
    int order[ZC_MAX_DIMS];
    int64_t shape[ZC_MAX_DIMS];
    uint64_t seen = 0;
    bool same = true;
    zc_status status = b->is_flat ? begin_filtered_array(b, link) : ZC_OK;

    if (status == ZC_OK && link->order != NULL) {
        status = check_ndim(b, link, "order");
    }
    for (int d = 0; d < b->ndim && status == ZC_OK; d++) {
        const int64_t step = link->order != NULL ? link->order[d] : b->ndim - 1 - d;
        if (step < 0 || step >= b->ndim || (seen >> step & 1)) {
            return refuse(b, link, ZC_ERR_ARGUMENT, "order: expected a permutation of %d dimensions", b->ndim);
        }
        seen |= (uint64_t)1 << step;
        order[d] = b->chain->order_ndim > 0 ? b->chain->order[step] : (int)step;
        shape[d] = b->shape[step];
        same &= order[d] == d;
    }
    if (status == ZC_OK && b->ndim > 0) {
        memcpy(b->chain->order, order, (size_t)b->ndim * sizeof order[0]);
        memcpy(b->shape, shape, (size_t)b->ndim * sizeof shape[0]);
        b->chain->order_ndim = same ? 0 : b->ndim;
    }
    return status;
}

static zc_status add_reshaping(build *b, const zc_link *link)
{
    int64_t lengths[ZC_MAX_DIMS];
    zc_error err;
    zc_status status = b->is_reshaped ? begin_filtered_array(b, link) : ZC_OK;

    zc_error_clear(&err);
    if (status == ZC_OK && zc_reshape_lengths(link->lengths, link->n, b->ndim, b->has_shape ? b->shape : NULL, lengths,
                                              &err) != ZC_OK) {
        status = refuse(b, link, err.status, "%s", err.message);
    }
    if (status == ZC_OK) {
        memcpy(b->lengths, link->lengths, (size_t)link->n * sizeof b->lengths[0]);
        memcpy(b->shape, lengths, (size_t)link->n * sizeof lengths[0]);
        b->ndim = link->n;
        b->is_flat = b->is_reshaped = true;
    }
    return status;
}

/* Bits of all items, eight to a byte, after a byte that counts those left over. */
static zc_status pack_items(build *b, const zc_link *link)
{
    int64_t items = 1;

    if (b->has_shape && !zc_reshape_count(b->shape, b->ndim, &items)) {
        return refuse(b, link, ZC_ERR_ARGUMENT, "a chunk has too many items");
    }
    b->shape[0] = 1 + items / 8 + (items % 8 != 0);
    b->lengths[0] = (zc_length){.fixed = -1};
    b->ndim = 1;
    b->made_size = 1;
    b->is_reshaped = true;
    return ZC_OK;
}

static zc_status add_filter(build *b, const zc_link *link)
{
    const zc_filter_kind kind = link->codec.cls->filter;
    zc_status status = ZC_OK;

    if (kind == ZC_FILTER_NONE) {
        return refuse(b, link, ZC_ERR_UNSUPPORTED, "\"%s\" is no filter of the engine", link->codec.cls->name);
    }
    if (kind == ZC_FILTER_PACKS && b->is_reshaped) {
        status = begin_filtered_array(b, link);
    }
    status = status == ZC_OK ? add_stage(b, link, &link->codec) : status;
    if (status == ZC_OK && kind != ZC_FILTER_PACKS &&
        (b->made_size % zc_number_size(link->codec.decoded.kind) != 0 ||
         zc_stages_bound(&link->codec, 1, b->made_size, &b->made_size, NULL) != ZC_OK)) {
        status = refuse(b, link, ZC_ERR_ARGUMENT, "\"%s\" takes no items of %zu bytes", name_of(link), b->made_size);
    }
    if (status != ZC_OK) {
        return status;
    }
    b->filters[b->chain->n_stages - 1] = link;
    b->is_flat |= kind != ZC_FILTER_BY_ITEM;
    return kind == ZC_FILTER_PACKS ? pack_items(b, link) : ZC_OK;
}

/* ---- array -> bytes ------------------------------------------------------------------------------- */

/* Copy the words to swap, checked to lie in an item of `size` bytes. */
static zc_status copy_item(const build *b, const zc_link *link, size_t size, zc_item *out)
{
    const zc_item *const item = &link->item;

    *out = (zc_item){.size = size, .word = item->word};
    if (item->word != 0 && ((item->word != 2 && item->word != 4 && item->word != 8) || size % item->word != 0)) {
        return refuse(b, link, ZC_ERR_ARGUMENT,
                      "swap: expected 0, 2, 4 or 8 and a divisor of the item size %zu, got %u", size,
                      (unsigned)item->word);
    }
    if (item->n_fields == 0) {
        return ZC_OK;
    }
    zc_swap_field *const fields = zc_arena_alloc(b->arena, item->n_fields * sizeof fields[0]);
    if (fields == NULL) {
        return no_memory(b);
    }
    for (uint32_t i = 0; i < item->n_fields; i++) {
        const zc_swap_field f = item->fields[i];
        if ((f.word != 2 && f.word != 4 && f.word != 8) || f.count < 1 || f.offset > size ||
            f.count > (size - f.offset) / f.word) {
            return refuse(b, link, ZC_ERR_ARGUMENT, "swap[%u]: (%u, %u, %u) does not lie in an item of %zu bytes",
                          (unsigned)i, (unsigned)f.offset, (unsigned)f.word, (unsigned)f.count, size);
        }
        fields[i] = f;
    }
    if (item->n_fields == 1 && fields[0].offset == 0 && (size_t)fields[0].word * fields[0].count == size) {
        out->word = fields[0].word;
    } else {
        out->fields = fields;
        out->n_fields = item->n_fields;
    }
    return ZC_OK;
}

/* Filters take items in the order of memory: what they make is swapped by a stage of its own. */
static zc_status add_swap(build *b, const zc_link *link, const zc_item *made)
{
    const uint32_t word = made->word != 0 ? made->word : made->n_fields > 0 ? made->fields[0].word : 0;
    zc_codec swap;

    if (word == 0) {
        return ZC_OK;
    }
    const zc_number_kind kind = word == 2 ? ZC_NUMBER_U16 : word == 4 ? ZC_NUMBER_U32 : ZC_NUMBER_U64;
    zc_codec_init(&swap, "astype");
    swap.decoded = (zc_number){kind, false};
    swap.encoded = (zc_number){kind, true};
    return add_stage(b, link, &swap);
}

static zc_status add_items(build *b, const zc_link *link)
{
    zc_item made;
    zc_status status = copy_item(b, link, b->made_size, &made);

    if (status == ZC_OK && b->chain->n_stages > 0) {
        b->chain->item = (zc_item){.size = b->item_size};
        return add_swap(b, link, &made);
    }
    if (b->is_index) {               /* here a word means "big-endian", whatever the machine is */
        made.word = (made.word != 0) != ZC_BIG_ENDIAN ? 8 : 0;
    }
    b->chain->item = made;
    return status;
}

static zc_status check_divides(const build *b, const zc_link *link)
{
    for (int d = 0; d < b->ndim; d++) {
        const int64_t inner = link->inner_shape[d];
        if (inner < 1) {
            return refuse(b, link, ZC_ERR_ARGUMENT, "chunk_shape[%d]: expected 1 or more, got %lld", d,
                          (long long)inner);
        }
        if (b->has_shape && b->shape[d] % inner != 0) {
            return refuse(b, link, ZC_ERR_ARGUMENT, "chunk_shape: %lld does not divide the shard's %lld",
                          (long long)inner, (long long)b->shape[d]);
        }
    }
    return ZC_OK;
}

static zc_status compile_index(build *b, const zc_link *link)
{
    build index = {.arena = b->arena, .err = b->err, .depth = b->depth + 1, .is_index = true, .ndim = 1,
                   .item_size = 8, .made_size = 8};
    size_t size;
    zc_error err;

    index.chain = zc_arena_alloc(b->arena, sizeof *index.chain);
    if (index.chain == NULL) {
        return no_memory(b);
    }
    const zc_status status = compile_links(&index, &link->index);
    if (status != ZC_OK) {
        return status;
    }
    b->chain->index = index.chain;
    zc_error_clear(&err);
    return zc_chain_index_size(b->chain, 1, &size, &err) == ZC_OK
               ? ZC_OK
               : refuse(b, link, ZC_ERR_ARGUMENT, "index_codecs: %s", err.message);
}

/* Filters that take item by item and keep the fill value do the same to each inner chunk as to the shard. */
static zc_status place_filters(build *b, const zc_link *link)
{
    const uint8_t *fill;
    bool kept = true;
    zc_status status = b->is_flat || b->chain->n_stages == 0 ? ZC_OK : follow_fill(b, link, &fill, &kept);

    return status == ZC_OK && (b->is_flat || !kept) ? begin_filtered_array(b, link) : status;
}

static zc_status compile_inner(build *b, const zc_link *link)
{
    zc_chain *const chain = b->chain;
    build inner;
    const zc_status status = begin_inside(b, &inner);

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

static zc_status add_shards(build *b, const zc_link *link)
{
    zc_status status = b->is_index ? refuse(b, link, ZC_ERR_ARGUMENT, "shards cannot be here") : place_filters(b, link);

    status = status == ZC_OK ? check_ndim(b, link, "chunk_shape") : status;
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
static zc_status check_block(const build *b, const zc_link *link, const zc_chain *block)
{
    const bool is_big = b->made_size == 1 || (block->item.word != 0) != ZC_BIG_ENDIAN;
    const bool is_reversed = b->ndim < 2 || block->order_ndim == b->ndim;

    for (int d = 0; d < b->ndim; d++) {
        if (!is_reversed || (b->ndim > 1 && block->order[d] != b->ndim - 1 - d)) {
            return refuse(b, link, ZC_ERR_ARGUMENT, "expected a transposition that reverses the dimensions");
        }
        if (b->has_shape && b->shape[d] > UINT32_MAX) {
            return refuse(b, link, ZC_ERR_ARGUMENT, "a chunk's lengths do not fit into the header of a block");
        }
    }
    return is_big ? ZC_OK : refuse(b, link, ZC_ERR_ARGUMENT, "expected the big byte order");
}

static zc_status add_block(build *b, const zc_link *link)
{
    const zc_links *const links = &link->inner;
    const bool is_known = links->n >= 2 && links->n <= 3 && links->at[0].kind == ZC_LINK_TRANSPOSE &&
                          links->at[1].kind == ZC_LINK_BYTES && (links->n == 2 || links->at[2].kind == ZC_LINK_STAGE);
    build inside;
    zc_status status = is_known && !b->is_index
                           ? ZC_OK
                           : refuse(b, link, ZC_ERR_ARGUMENT, "expected transpose, bytes and at most one more codec");

    if (status == ZC_OK && (b->is_flat || b->chain->n_stages > 0)) {
        status = begin_filtered_array(b, link);
    }
    status = status == ZC_OK ? begin_inside(b, &inside) : status;
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

static zc_status add_array_array(build *b, const zc_link *link)
{
    if (b->has_bytes) {
        return refuse(b, link, ZC_ERR_ARGUMENT, "\"%s\" cannot follow a codec that makes bytes", name_of(link));
    }
    if (b->is_index) {
        return refuse(b, link, ZC_ERR_UNSUPPORTED, "\"%s\" is not supported for a shard index", name_of(link));
    }
    switch (link->kind) {
    case ZC_LINK_TRANSPOSE: return add_transposition(b, link);
    case ZC_LINK_RESHAPE: return add_reshaping(b, link);
    default: return add_filter(b, link);
    }
}

static zc_status add_array_bytes(build *b, const zc_link *link)
{
    zc_status status;

    if (b->has_bytes) {
        return refuse(b, link, ZC_ERR_ARGUMENT, "a second codec that makes bytes of an array");
    }
    switch (link->kind) {
    case ZC_LINK_BYTES: status = add_items(b, link); break;
    case ZC_LINK_SHARDS: status = add_shards(b, link); break;
    default: status = add_block(b, link);
    }
    b->has_bytes = true;             /* of the array that filters made, if add_... began one */
    return status;
}

static zc_status compile_links(build *b, const zc_links *links)
{
    zc_status status = ZC_OK;

    if (b->depth > ZC_DEPTH_MAX) {
        return refuse(b, links->n > 0 ? links->at : NULL, ZC_ERR_ARGUMENT,
                      "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    for (size_t i = 0; i < links->n && status == ZC_OK; i++) {
        const zc_link *const link = &links->at[i];
        if (link->kind < ZC_LINK_BYTES) {
            status = add_array_array(b, link);
        } else if (link->kind < ZC_LINK_STAGE) {
            status = add_array_bytes(b, link);
        } else if (!b->has_bytes) {
            status = refuse(b, link, ZC_ERR_ARGUMENT, "\"%s\" needs a codec before it that makes bytes", name_of(link));
        } else {
            status = add_stage(b, link, &link->codec);
        }
    }
    if (status == ZC_OK && !b->has_bytes) {
        status = refuse(b, links->n > 0 ? links->at : NULL, ZC_ERR_ARGUMENT,
                        "expected a codec that makes bytes of an array");
    }
    return status;
}

zc_status zc_chain_compile(const zc_chain_description *description, zc_arena *arena, const zc_chain **out,
                           zc_error *err)
{
    const size_t size = description->item_size;
    build outside = {.arena = arena, .err = err, .ndim = description->ndim, .made_size = size,
                     .has_shape = description->shape != NULL && description->ndim >= 0};
    build b;

    *out = NULL;
    if (size < 1 || description->ndim > ZC_MAX_DIMS) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "itemsize: expected 1 or more, and up to %d dimensions, got %zu and %d",
                       ZC_MAX_DIMS, size, description->ndim);
    }
    uint8_t *const fill = zc_arena_alloc(arena, size);
    if (fill == NULL) {
        return no_memory(&outside);
    }
    outside.fill = description->fill != NULL ? memcpy(fill, description->fill, size) : fill;
    zc_status status = begin_inside(&outside, &b);
    if (status == ZC_OK && outside.has_shape) {
        memcpy(b.shape, description->shape, (size_t)description->ndim * sizeof b.shape[0]);
    }
    const zc_chain *const chain = b.chain;
    status = status == ZC_OK ? compile_links(&b, &description->links) : status;
    *out = status == ZC_OK ? chain : NULL;
    return status;
}
