/* SPDX-License-Identifier: MIT
 *
 * Compiling chains: what filters, reshaping and transposing make of a chunk, and of the fill value.
 */
#include <string.h>

#include "engine/chain_build.h"

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
static zc_status both_fills(const zc_build *b, uint8_t *before, uint8_t *after, size_t *n, zc_workspace *ws)
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
static bool bring_back(const zc_build *b, const uint8_t *before, const uint8_t *after, size_t n, zc_workspace *ws)
{
    const zc_chain *const chain = b->chain;
    const zc_bytes given = {before, b->item_size}, wanted = {after, n};
    uint8_t item[ZC_FILTER_ITEM_MAX];
    zc_output made = {item, sizeof item, 0}, back = {item, b->item_size, 0};
    size_t most = 0;
    zc_error err;

    zc_error_clear(&err);
    return zc_stages_bound(chain->stages, chain->n_stages, given.n, &most, &err) == ZC_OK && most <= sizeof item &&
           zc_stages_encode(chain->stages, chain->n_stages, given, &made, ws, &err) == ZC_OK &&
           made.written == n && memcmp(item, after, n) == 0 &&
           zc_stages_decode(chain->stages, chain->n_stages, wanted, &back, ws, &err) == ZC_OK &&
           back.written == given.n && memcmp(item, before, given.n) == 0;
}

/* The fill value after the filters, in memory of the arena, and whether they bring it back. */
static zc_status follow_fill(const zc_build *b, const zc_link *link, const uint8_t **out, bool *kept)
{
    uint8_t before[ZC_FILTER_ITEM_MAX], after[ZC_FILTER_ITEM_MAX];
    size_t n = 0;

    *out = b->fill;
    *kept = true;
    if (b->chain->n_stages == 0) {
        return ZC_OK;
    }
    if (b->item_size > ZC_FILTER_ITEM_MAX) {
        return zc_refuse(b, link, ZC_ERR_UNSUPPORTED, "filters of items of %zu bytes are not supported here",
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
        status = zc_refuse(b, link, status, "the fill value cannot be encoded: %.160s", reason);
    }
    *kept = status == ZC_OK && bring_back(b, before, after, n, ws);
    zc_pool_release(ws);
    uint8_t *const item = status == ZC_OK ? zc_arena_alloc(b->arena, n) : NULL;
    if (item == NULL) {
        return status == ZC_OK ? zc_no_memory(b) : status;
    }
    *out = memcpy(item, after, n);
    return ZC_OK;
}

/* ---- arrays that filters make ---------------------------------------------------------------------- */

zc_status zc_build_filtered_array(zc_build *b, const zc_link *link)
{
    zc_build after;
    bool kept;
    zc_filtered_array *const array = zc_arena_alloc(b->arena, sizeof *array);
    zc_status status = array != NULL ? zc_build_inside(b, &after) : zc_no_memory(b);

    if (status == ZC_OK && b->n_arrays == ZC_FILTERED_ARRAYS_MAX) {
        status = zc_refuse(b, link, ZC_ERR_UNSUPPORTED, "more filters and transpositions in turn than are supported");
    }
    if (status == ZC_OK && b->ndim < 0) {
        status = zc_refuse(b, link, ZC_ERR_ARGUMENT, "how many dimensions chunks have is not known");
    }
    status = status == ZC_OK ? follow_fill(b, link, &after.fill, &kept) : status;
    if (status != ZC_OK) {
        return status;
    }
    *array = (zc_filtered_array){.chain = after.chain, .ndim = b->ndim, .fill = after.fill};
    memcpy(array->lengths, b->lengths, sizeof array->lengths);
    b->chain->item = (zc_item){.size = b->item_size};
    b->chain->filtered = array;
    if (!zc_chain_choose_kind(b->chain, b->arena)) {
        return zc_no_memory(b);
    }
    after.depth = b->depth;
    after.n_arrays = b->n_arrays + 1;
    *b = after;
    return ZC_OK;
}

zc_status zc_build_place_filters(zc_build *b, const zc_link *link)
{
    const uint8_t *fill;
    bool kept = true;
    zc_status status = b->is_flat || b->chain->n_stages == 0 ? ZC_OK : follow_fill(b, link, &fill, &kept);

    return status == ZC_OK && (b->is_flat || !kept) ? zc_build_filtered_array(b, link) : status;
}

/* ---- array -> array ------------------------------------------------------------------------------- */

zc_status zc_build_transposition(zc_build *b, const zc_link *link)
{
    int order[ZC_MAX_DIMS];
    int64_t shape[ZC_MAX_DIMS];
    uint64_t seen = 0;
    bool same = true;
    zc_status status = b->is_flat ? zc_build_filtered_array(b, link) : ZC_OK;

    if (status == ZC_OK && link->order != NULL) {
        status = zc_build_check_ndim(b, link, "order");
    }
    for (int d = 0; d < b->ndim && status == ZC_OK; d++) {
        const int64_t step = link->order != NULL ? link->order[d] : b->ndim - 1 - d;
        if (step < 0 || step >= b->ndim || (seen >> step & 1)) {
            return zc_refuse(b, link, ZC_ERR_ARGUMENT, "order: expected a permutation of %d dimensions", b->ndim);
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

zc_status zc_build_reshaping(zc_build *b, const zc_link *link)
{
    int64_t lengths[ZC_MAX_DIMS];
    zc_error err;
    zc_status status = b->is_reshaped ? zc_build_filtered_array(b, link) : ZC_OK;

    zc_error_clear(&err);
    if (status == ZC_OK && zc_reshape_lengths(link->lengths, link->n, b->ndim, b->has_shape ? b->shape : NULL, lengths,
                                              &err) != ZC_OK) {
        status = zc_refuse(b, link, err.status, "%s", err.message);
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
static zc_status pack_items(zc_build *b, const zc_link *link)
{
    int64_t items = 1;

    if (b->has_shape && !zc_lengths_count(b->shape, b->ndim, &items)) {
        return zc_refuse(b, link, ZC_ERR_ARGUMENT, "a chunk has too many items");
    }
    b->shape[0] = 1 + items / 8 + (items % 8 != 0);
    b->lengths[0] = (zc_length){.fixed = -1};
    b->ndim = 1;
    b->made_size = 1;
    b->is_reshaped = true;
    return ZC_OK;
}

zc_status zc_build_filter(zc_build *b, const zc_link *link)
{
    const zc_filter_kind kind = link->codec.cls->filter;
    zc_status status = ZC_OK;

    if (kind == ZC_FILTER_NONE) {
        return zc_refuse(b, link, ZC_ERR_UNSUPPORTED, "\"%s\" is no filter of the engine", link->codec.cls->name);
    }
    if (kind == ZC_FILTER_PACKS && b->is_reshaped) {
        status = zc_build_filtered_array(b, link);
    }
    status = status == ZC_OK ? zc_build_add_stage(b, link, &link->codec) : status;
    if (status == ZC_OK && kind != ZC_FILTER_PACKS &&
        (b->made_size % zc_number_size(link->codec.decoded.kind) != 0 ||
         zc_stages_bound(&link->codec, 1, b->made_size, &b->made_size, NULL) != ZC_OK)) {
        status = zc_refuse(b, link, ZC_ERR_ARGUMENT, "\"%s\" takes no items of %zu bytes", zc_link_name(link),
                           b->made_size);
    }
    if (status != ZC_OK) {
        return status;
    }
    b->filters[b->chain->n_stages - 1] = link;
    b->is_flat |= kind != ZC_FILTER_BY_ITEM;
    return kind == ZC_FILTER_PACKS ? pack_items(b, link) : ZC_OK;
}
