/* SPDX-License-Identifier: MIT
 *
 * Compiling chains: codecs of bytes, their limits, and what else all links need.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "engine/chain_build.h"
#include "engine/chunk.h"

const char *zc_link_name(const zc_link *link)
{
    static const char *const names[] = {"transpose", "reshape", NULL, "bytes", "sharding_indexed", "n5_default", NULL};

    return names[link->kind] != NULL ? names[link->kind] : link->codec.cls->name;
}

zc_status zc_refuse(const zc_build *b, const zc_link *link, zc_status status, const char *format, ...)
{
    const char *const where = link != NULL ? link->where : NULL;
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return zc_fail(b->err, status, "%s%s%s", where != NULL ? where : "", where != NULL ? ": " : "", text);
}

zc_status zc_no_memory(const zc_build *b)
{
    return zc_fail(b->err, ZC_ERR_MEMORY, "out of memory");
}

zc_status zc_build_check_ndim(zc_build *b, const zc_link *link, const char *what)
{
    if (link->n < 0 || link->n > ZC_MAX_DIMS) {
        return zc_refuse(b, link, ZC_ERR_ARGUMENT, "%s: expected up to %d dimensions, got %d", what, ZC_MAX_DIMS,
                         link->n);
    }
    b->ndim = b->ndim < 0 ? link->n : b->ndim;
    return link->n == b->ndim ? ZC_OK
                              : zc_refuse(b, link, ZC_ERR_ARGUMENT, "%s: expected %d entries, got %d", what, b->ndim,
                                          link->n);
}

zc_status zc_build_inside(const zc_build *b, zc_build *out)
{
    *out = (zc_build){.arena = b->arena, .err = b->err, .depth = b->depth + 1, .n_arrays = b->n_arrays, .ndim = b->ndim,
                   .has_shape = b->has_shape, .item_size = b->made_size, .made_size = b->made_size, .fill = b->fill};
    memcpy(out->shape, b->shape, sizeof out->shape);
    for (int d = 0; d < ZC_MAX_DIMS; d++) {
        out->lengths[d].axes = (uint64_t)1 << d;
    }
    out->chain = zc_arena_alloc(b->arena, sizeof *out->chain);
    return out->chain != NULL ? ZC_OK : zc_no_memory(b);
}

/* ---- stages and limits ----------------------------------------------------------------------------------- */

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

zc_status zc_build_add_stage(zc_build *b, const zc_link *link, const zc_codec *codec)
{
    zc_chain *const chain = b->chain;

    if (b->depth + levels_of(codec, ZC_DEPTH_MAX) - 1 > ZC_DEPTH_MAX) {
        return zc_refuse(b, link, ZC_ERR_ARGUMENT, "codecs are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    if (zc_stages_count(chain->stages, chain->n_stages) + zc_stages_count(codec, 1) > ZC_MAX_STAGES) {
        return zc_refuse(b, link, ZC_ERR_UNSUPPORTED, "more than %d codecs of bytes, with those that they hold",
                         ZC_MAX_STAGES);
    }
    chain->stages[chain->n_stages++] = *codec;
    return ZC_OK;
}

/* ---- array -> bytes ------------------------------------------------------------------------------- */

/* Copy the words to swap, checked to lie in an item of `size` bytes. */
static zc_status copy_item(const zc_build *b, const zc_link *link, size_t size, zc_item *out)
{
    const zc_item *const item = &link->item;

    *out = (zc_item){.size = size, .word = item->word};
    if (item->word != 0 && ((item->word != 2 && item->word != 4 && item->word != 8) || size % item->word != 0)) {
        return zc_refuse(b, link, ZC_ERR_ARGUMENT,
                         "swap: expected 0, 2, 4 or 8 and a divisor of the item size %zu, got %u", size,
                         (unsigned)item->word);
    }
    if (item->n_fields == 0) {
        return ZC_OK;
    }
    zc_swap_field *const fields = zc_arena_alloc(b->arena, item->n_fields * sizeof fields[0]);
    if (fields == NULL) {
        return zc_no_memory(b);
    }
    for (uint32_t i = 0; i < item->n_fields; i++) {
        const zc_swap_field f = item->fields[i];
        if ((f.word != 2 && f.word != 4 && f.word != 8) || f.count < 1 || f.offset > size ||
            f.count > (size - f.offset) / f.word) {
            return zc_refuse(b, link, ZC_ERR_ARGUMENT, "swap[%u]: (%u, %u, %u) does not lie in an item of %zu bytes",
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
static zc_status add_swap(zc_build *b, const zc_link *link, const zc_item *made)
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
    return zc_build_add_stage(b, link, &swap);
}

zc_status zc_build_items(zc_build *b, const zc_link *link)
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

/* ---- kinds ---------------------------------------------------------------------------------------- */

/* The stages come after the bytes of a shard or of a block: a chain without them does the rest. */
static bool wrap(zc_chain *chain, zc_arena *arena)
{
    zc_chain *const bare = zc_arena_alloc(arena, sizeof *bare);

    if (bare == NULL) {
        return false;
    }
    *bare = *chain;
    bare->n_stages = 0;
    bare->order_ndim = 0;
    chain->bare = bare;
    chain->ops = bare->ops->decode != NULL ? &zc_wrapped_ops : &zc_wrapped_shard_ops;
    return true;
}

bool zc_chain_choose_kind(zc_chain *chain, zc_arena *arena)
{
    zc_assert(chain->n_stages >= 0 && chain->n_stages <= ZC_MAX_STAGES && chain->item.size >= 1);
    if (chain->filtered != NULL) {
        chain->ops = &zc_filtered_ops;
        return true;
    }
    if (chain->sharded &&
        !zc_chain_decoded_size(chain->inner, chain->shard_ndim, chain->inner_shape, &chain->inner_size)) {
        chain->inner_size = ZC_SIZE_MAX;
    }
    if (chain->sharded || chain->block != NULL) {
        chain->ops = chain->sharded ? &zc_shard_ops : &zc_n5_block_ops;
        return chain->n_stages == 0 || wrap(chain, arena);
    }
    chain->ops = chain->n_stages > 0 ? &zc_staged_ops : &zc_plain_ops;
    chain->blocks = chain->n_stages > 0 && chain->stages[0].cls->open_blocks != NULL ? &chain->stages[0] : NULL;
    return true;
}
