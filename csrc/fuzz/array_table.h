/* SPDX-License-Identifier: MIT
 *
 * Small arrays of uint16 with chains of every kind, over a store that has one value for all keys.
 */
#pragma once

#include "engine/engine.h"
#include "fuzz/codec_table.h"
#include "fuzz/fuzz.h"
#include "tests/chain_kinds.h"

enum { NDIM = 2, ROWS = 37, COLUMNS = 29, CHUNK_ROWS = 12, CHUNK_COLUMNS = 16, ITEM = 2, PIXELS = ROWS * COLUMNS };

typedef enum fuzz_layout {
    FUZZ_PLAIN, FUZZ_TRANSPOSED, FUZZ_SHARDS, FUZZ_SHARDS_TRANSPOSED, FUZZ_NESTED_SHARDS, FUZZ_WRAPPED_SHARDS, FUZZ_BLOCK,
    FUZZ_BLOCKS_IN_SHARDS, FUZZ_FILTERED_SHARDS, FUZZ_FILTERED_TRANSPOSED, FUZZ_LAYOUTS
} fuzz_layout;

/* Codecs of the chunk, or of its inner chunks; the numbers are those of fuzz_codec_at, -1: none. */
static const struct { fuzz_layout layout; int codecs[2]; bool index_at_start, plain_index; } fuzz_arrays[] = {
    {FUZZ_PLAIN, {-1, -1}, false, false},
    {FUZZ_PLAIN, {17, -1}, false, false},            /* zstd */
    {FUZZ_PLAIN, {21, 28}, false, false},            /* gzip, crc32c */
    {FUZZ_PLAIN, {1, -1}, false, false},             /* blosc: blosclz, shuffle */
    {FUZZ_PLAIN, {4, -1}, false, false},             /* lz4 */
    {FUZZ_PLAIN, {14, -1}, false, false},            /* zstd, bits */
    {FUZZ_PLAIN, {36, -1}, false, false},            /* conditional */
    {FUZZ_TRANSPOSED, {26, -1}, false, false},       /* lz4 */
    {FUZZ_TRANSPOSED, {4, -1}, false, false},
    {FUZZ_SHARDS, {-1, -1}, false, false},
    {FUZZ_SHARDS, {-1, -1}, false, true},
    {FUZZ_SHARDS, {17, -1}, true, false},
    {FUZZ_SHARDS, {4, 28}, true, true},
    {FUZZ_SHARDS_TRANSPOSED, {24, -1}, false, true}, /* zlib */
    {FUZZ_NESTED_SHARDS, {17, -1}, false, true},
    {FUZZ_WRAPPED_SHARDS, {17, -1}, false, true},
    {FUZZ_BLOCK, {-1, -1}, false, false},
    {FUZZ_BLOCK, {21, -1}, false, false},
    {FUZZ_BLOCK, {4, -1}, false, false},
    {FUZZ_BLOCKS_IN_SHARDS, {17, -1}, false, true},
    {FUZZ_FILTERED_SHARDS, {17, -1}, false, true},
    {FUZZ_FILTERED_TRANSPOSED, {17, -1}, false, false},
};

enum { FUZZ_ARRAYS = sizeof fuzz_arrays / sizeof *fuzz_arrays };

/* An array with all that it points to. */
typedef struct fuzz_array {
    zc_chain chain, inner, innermost, index, after;
    zc_filtered_array made;
    zc_arena arena;          /* of chains without their stages */
    zc_array array;
    zc_place place;
    zc_store store;
    uint16_t fill;

    /* The value of every key. */
    const uint8_t *value;
    size_t n;
    bool ranges;             /* is read by ranges */
    bool unknown;            /* its size is not known, unless it is opened as a whole */
    uint8_t *stored;         /* what a write has stored, or NULL */
    size_t n_stored;
} fuzz_array;

/* ---- the store -------------------------------------------------------------------------------- */

static zc_status fuzz_open(const zc_store *store, const char *key, bool whole, zc_value *out, zc_error *err)
{
    const fuzz_array *a = store->self;

    (void)key;
    if (a->value == NULL) {
        return zc_fail(err, ZC_ERR_MISSING, "absent");
    }
    *out = (zc_value){.data = a->ranges ? NULL : a->value, .size = a->unknown && !whole ? ZC_SIZE_UNKNOWN : a->n,
                      .token = (void *)a->value, .store = store};
    return ZC_OK;
}

static void fuzz_close(zc_value *value)
{
    (void)value;
}

static zc_status fuzz_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const fuzz_array *a = value->store->self;

    if (offset > a->n || n > a->n - offset) {
        return zc_fail(err, ZC_ERR_CORRUPT, "beyond the end");
    }
    if (n > 0) {
        memcpy(dst, a->value + offset, n);
    }
    return ZC_OK;
}

static zc_status fuzz_read_tail(const zc_value *value, void *dst, size_t n, zc_error *err)
{
    const fuzz_array *a = value->store->self;

    return n > a->n ? zc_fail(err, ZC_ERR_CORRUPT, "too short") : fuzz_read(value, a->n - n, dst, n, err);
}

static zc_status fuzz_replace(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err)
{
    fuzz_array *a = store->self;

    (void)key;
    (void)err;
    free(a->stored);
    a->stored = case_exact(data, n);
    a->n_stored = n;
    return ZC_OK;
}

static zc_status fuzz_remove(const zc_store *store, const char *key, zc_error *err)
{
    (void)store;
    (void)key;
    (void)err;
    return ZC_OK;
}

static void fuzz_hold(const void *token)
{
    (void)token;
}

/* ---- chains ----------------------------------------------------------------------------------- */

static inline void fuzz_transpose(zc_chain *chain)
{
    chain->order_ndim = NDIM;
    chain->order[0] = 1;
    chain->order[1] = 0;
}

static inline void fuzz_add_codecs(zc_chain *chain, const int *codecs)
{
    for (int i = 0; i < 2; i++) {
        if (codecs[i] >= 0) {
            chain->stages[chain->n_stages++] = fuzz_codec_at(codecs[i]);
        }
    }
}

static inline void fuzz_add_shards(fuzz_array *a, zc_chain *chain, const zc_chain *inner, int64_t rows, int64_t columns,
                                   bool at_start)
{
    chain->item.size = ITEM;
    chain->sharded = true;
    chain->shard_ndim = NDIM;
    chain->inner_shape[0] = rows;
    chain->inner_shape[1] = columns;
    chain->inner = inner;
    chain->index = &a->index;
    chain->index_at_start = at_start;
}

/* `chain` comes after differences of neighbours. */
static inline void fuzz_add_filter(fuzz_array *a)
{
    a->chain = (zc_chain){.item = {.size = ITEM}};
    a->chain.stages[a->chain.n_stages++] = fuzz_codec_at(CASE_CODECS + 3);
    a->made = (zc_filtered_array){.chain = &a->after, .ndim = NDIM, .lengths = {{.axes = 1}, {.axes = 2}}, .fill = &a->fill};
    a->chain.filtered = &a->made;
}

static inline void fuzz_make_chain(fuzz_array *a, int number)
{
    const fuzz_layout layout = fuzz_arrays[number].layout;
    const int *codecs = fuzz_arrays[number].codecs;
    const bool at_start = fuzz_arrays[number].index_at_start;

    a->chain.item = a->inner.item = a->innermost.item = a->after.item = (zc_item){.size = ITEM};
    a->index.item.size = 8;
    if (!fuzz_arrays[number].plain_index) {
        zc_codec_init(&a->index.stages[a->index.n_stages++], "crc32c");
    }
    switch (layout) {
    case FUZZ_TRANSPOSED:
        fuzz_transpose(&a->chain);
        /* fall through */
    case FUZZ_PLAIN:
        a->chain.item.word = 2;
        fuzz_add_codecs(&a->chain, codecs);
        break;
    case FUZZ_SHARDS_TRANSPOSED:
        fuzz_transpose(&a->inner);
        /* fall through */
    case FUZZ_SHARDS:
    case FUZZ_WRAPPED_SHARDS:
        fuzz_add_codecs(&a->inner, codecs);
        fuzz_add_shards(a, &a->chain, &a->inner, 3, 4, at_start);
        if (layout == FUZZ_WRAPPED_SHARDS) {
            zc_codec_init(&a->chain.stages[a->chain.n_stages++], "gzip");
        }
        break;
    case FUZZ_NESTED_SHARDS:
        fuzz_add_codecs(&a->innermost, codecs);
        fuzz_add_shards(a, &a->inner, &a->innermost, 3, 4, at_start);
        fuzz_add_shards(a, &a->chain, &a->inner, 6, 8, at_start);
        break;
    case FUZZ_BLOCK:
        fuzz_add_codecs(&a->inner, codecs);
        a->chain.item.word = a->inner.item.word = 2;
        a->chain.block = &a->inner;
        break;
    case FUZZ_BLOCKS_IN_SHARDS:
        fuzz_add_codecs(&a->innermost, codecs);
        a->innermost.item.word = a->inner.item.word = 2;
        a->inner.block = &a->innermost;
        fuzz_add_shards(a, &a->chain, &a->inner, 3, 4, at_start);
        break;
    case FUZZ_FILTERED_SHARDS:
        fuzz_add_codecs(&a->inner, codecs);
        fuzz_add_shards(a, &a->after, &a->inner, 3, 4, at_start);
        fuzz_add_filter(a);
        break;
    default:
        fuzz_transpose(&a->after);
        fuzz_add_codecs(&a->after, codecs);
        fuzz_add_filter(a);
        break;
    }
}

/* One of FUZZ_ARRAYS arrays, in which every chunk has the same value (NULL: absent). */
static inline void fuzz_array_open(fuzz_array *a, int number, const uint8_t *value, size_t n)
{
    memset(a, 0, sizeof *a);
    a->fill = 7;
    a->value = value;
    a->n = n;
    fuzz_make_chain(a, number);
    choose_kinds(&a->chain, &a->arena);
    a->store = (zc_store){.self = a, .open = fuzz_open, .close = fuzz_close, .read = fuzz_read,
                          .read_tail = fuzz_read_tail, .replace = fuzz_replace, .remove = fuzz_remove,
                          .hold = fuzz_hold, .drop = fuzz_hold, .values_in_memory = true, .gap = 16, .most = 4096};
    a->array = (zc_array){.ndim = NDIM, .chain = &a->chain, .fill = &a->fill, .prefix = "",
                          .place = &a->place, .keys = {.separator = '/'}};
    zc_place_set(&a->place, "fuzz/");
    a->array.grid[0] = (zc_grid_axis){.length = ROWS, .chunk = CHUNK_ROWS};
    a->array.grid[1] = (zc_grid_axis){.length = COLUMNS, .chunk = CHUNK_COLUMNS};
}

static inline void fuzz_array_close(fuzz_array *a)
{
    free(a->stored);
    zc_arena_free(&a->arena);
}
