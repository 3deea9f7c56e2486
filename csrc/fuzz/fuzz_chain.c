/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for zc_chain_compile: the input describes a chunk and links, nested ones included; what compiles is
 * written and read.
 */
#include "engine/chain_compile.h"
#include "fuzz/one_chunk.h"

enum { LINKS_MAX = 6, DEPTH_MAX = ZC_DEPTH_MAX + 2, DIMS_MAX = 4 };

static zc_links make_links(fuzz_input *in, zc_arena *arena, int depth);

static zc_codec make_stage(fuzz_input *in, zc_arena *arena, int depth)
{
    const uint8_t choice = fuzz_byte(in);
    zc_codec codec;

    if (choice < 200 || depth == DEPTH_MAX) {
        return fuzz_codec_at(choice % CASE_CODECS);
    }
    zc_codec *const nested = zc_arena_alloc(arena, 3 * sizeof nested[0]);
    FUZZ_REQUIRE(nested != NULL && zc_codec_init(&codec, "conditional"), "out of memory");
    codec.nested.codecs = nested;
    codec.nested.n = fuzz_byte(in) % 3;
    codec.nested.header = 1;
    for (int i = 0; i < codec.nested.n; i++) {
        nested[i] = make_stage(in, arena, depth + 1);
    }
    return codec;
}

static int64_t *make_numbers(fuzz_input *in, zc_arena *arena, int n)
{
    int64_t *const numbers = zc_arena_alloc(arena, (size_t)n * sizeof numbers[0]);

    FUZZ_REQUIRE(numbers != NULL, "out of memory");
    for (int d = 0; d < n; d++) {
        numbers[d] = fuzz_length(in, INT64_MAX);
    }
    return numbers;
}

static const zc_length *make_lengths(fuzz_input *in, zc_arena *arena, int n)
{
    zc_length *const lengths = zc_arena_alloc(arena, (size_t)n * sizeof lengths[0]);

    FUZZ_REQUIRE(lengths != NULL, "out of memory");
    for (int d = 0; d < n; d++) {
        lengths[d].fixed = fuzz_length(in, 64) - 1;
        lengths[d].axes = lengths[d].fixed == 0 ? fuzz_word(in, 1) : 0;
    }
    return lengths;
}

static void make_filter(fuzz_input *in, zc_arena *arena, zc_link *link)
{
    link->codec = fuzz_codec_at(CASE_CODECS + fuzz_byte(in) % FUZZ_FILTERS);
    link->fill_rule = (zc_fill_rule)(fuzz_byte(in) % 4);
    if (link->fill_rule == ZC_FILL_GIVEN) {
        link->fill_size = fuzz_byte(in) % (2 * ZC_FILTER_ITEM_MAX);
        link->fill = zc_arena_alloc(arena, link->fill_size);
    }
}

static void make_link(fuzz_input *in, zc_arena *arena, int depth, zc_link *link)
{
    static const uint32_t words[] = {0, 2, 4, 8, 3};

    link->kind = (zc_link_kind)(fuzz_byte(in) % (ZC_LINK_STAGE + 1));
    link->n = fuzz_byte(in) % 8 == 7 ? (int)fuzz_word(in, 4) : fuzz_byte(in) % (DIMS_MAX + 1);
    const int n = link->n < 0 || link->n > ZC_MAX_DIMS ? 0 : link->n;
    switch (link->kind) {
    case ZC_LINK_TRANSPOSE: link->order = fuzz_byte(in) % 4 > 0 ? make_numbers(in, arena, n) : NULL; break;
    case ZC_LINK_RESHAPE: link->lengths = make_lengths(in, arena, n); break;
    case ZC_LINK_FILTER: make_filter(in, arena, link); break;
    case ZC_LINK_BYTES: link->item.word = words[fuzz_byte(in) % 5]; break;
    case ZC_LINK_SHARDS:
        link->inner_shape = make_numbers(in, arena, n);
        link->index_at_start = fuzz_byte(in) % 2;
        link->inner = make_links(in, arena, depth + 1);
        link->index = make_links(in, arena, depth + 1);
        break;
    case ZC_LINK_N5_BLOCK: link->inner = make_links(in, arena, depth + 1); break;
    default: link->codec = make_stage(in, arena, depth);
    }
}

static zc_links make_links(fuzz_input *in, zc_arena *arena, int depth)
{
    const size_t n = depth == DEPTH_MAX || in->n == 0 ? 0 : fuzz_byte(in) % (LINKS_MAX + 1);
    zc_link *const links = zc_arena_alloc(arena, n * sizeof links[0]);

    FUZZ_REQUIRE(links != NULL, "out of memory");
    for (size_t i = 0; i < n; i++) {
        make_link(in, arena, depth, &links[i]);
    }
    return (zc_links){links, n};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16, 3, 32, 40};
    fuzz_input in = {data, n};
    zc_array array = {.keys = {.separator = '/'}};
    zc_arena description_arena = {NULL}, arena = {NULL};
    int64_t shape[DIMS_MAX];
    zc_error err;
    zc_chain_description description = {.item_size = sizes[fuzz_byte(&in) % 8], .shape = shape};

    description.ndim = array.ndim = fuzz_byte(&in) % (DIMS_MAX + 1);
    for (int d = 0; d < array.ndim; d++) {
        shape[d] = 1 + fuzz_length(&in, INT64_MAX - 1);
        array.grid[d] = (zc_grid_axis){.length = shape[d], .chunk = shape[d]};
    }
    array.fill = description.fill = zc_arena_alloc(&description_arena, description.item_size);
    description.links = make_links(&in, &description_arena, 1);
    if (fuzz_byte(&in) % 4 == 0) {           /* lengths are checked by zc_chain_bound alone */
        description.shape = NULL;
    }
    zc_error_clear(&err);
    const zc_status status = zc_chain_compile(&description, &arena, &array.chain, &err);
    FUZZ_REQUIRE((status == ZC_OK) == (array.chain != NULL), "a chain without success, or success without one");
    FUZZ_REQUIRE(status == ZC_OK || (status == err.status && err.message[0] != '\0'), "no reason is given");
    if (status == ZC_OK) {
        one_chunk_try(&array, &in);
    }
    zc_arena_free(&arena);
    zc_arena_free(&description_arena);
    return 0;
}
