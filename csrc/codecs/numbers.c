/* SPDX-License-Identifier: MIT */
#include "codecs/numbers.h"

#include <string.h>

#include "base/assert.h"
#include "kernels/long_copy.h"
#include "kernels/region.h"

/* Numbers at once where no step waits for another one: as many as make starting the loops not count. */
#define STRAIGHT_TILE ((size_t)64 << 10)

void zc_numbers_swap(void *dst, const void *src, const zc_number *number, size_t n)
{
    const size_t word = zc_number_size(zc_number_part(number->kind));
    const zc_item item = {.size = zc_number_size(number->kind),
                          .word = number->swapped && word > 1 ? (uint32_t)word : 0};

    zc_items_copy(n, dst, src, &item);
}

zc_status zc_numbers_count(const zc_coding *c, zc_number_kind in, zc_number_kind out, size_t *count, size_t *written)
{
    const size_t size = zc_number_size(in);

    *count = *written = 0;
    if (c->n % size != 0) {
        return zc_fail(c->err, ZC_ERR_SIZE, "%zu bytes are no whole number of items of %zu bytes", c->n, size);
    }
    if (!zc_mul_size(c->n / size, zc_number_size(out), written) || *written > c->cap) {
        return zc_fail(c->err, ZC_ERR_SIZE, "%zu items of %zu bytes, at most %zu bytes expected", c->n / size,
                       zc_number_size(out), c->cap);
    }
    *count = c->n / size;
    return ZC_OK;
}

bool zc_numbers_bound(const zc_codec *codec, size_t n, size_t *out)
{
    /* Bytes of no whole number are refused by encode, which can report it. */
    return zc_mul_size(n / zc_number_size(codec->decoded.kind), zc_number_size(codec->encoded.kind), out);
}

void zc_numbers_convert(void *dst, const zc_number *out, const void *src, const zc_number *in, size_t n)
{
    zc_assert(n <= ZC_TILE || in->kind == out->kind || (!in->swapped && !out->swapped));

    uint64_t native[ZC_TILE_WORDS], cast[ZC_TILE_WORDS];
    const void *from = src;

    if (in->kind == out->kind) {
        const zc_number swap = {in->kind, in->swapped != out->swapped};
        zc_numbers_swap(dst, src, &swap, n);
        return;
    }
    if (in->swapped) {
        zc_numbers_swap(native, src, in, n);
        from = native;
    }
    if (out->swapped) {
        zc_cast_numpy(cast, out->kind, from, in->kind, n);
        zc_numbers_swap(dst, cast, out, n);
    } else {
        zc_cast_numpy(dst, out->kind, from, in->kind, n);
    }
}

/* One tile: straight from src to dst where the map can read the one and write the other. */
static void run_tile(const zc_codec *codec, const zc_number_map *map, const uint8_t *src, uint8_t *dst, size_t n)
{
    const zc_number from = {map->from, false}, to = {map->to, false};
    const bool ready = map->in.kind == map->from && !map->in.swapped;
    const bool final = map->out.kind == map->to && !map->out.swapped;
    uint64_t before[ZC_TILE_WORDS], after[ZC_TILE_WORDS];

    if (map->map == NULL) {
        zc_numbers_convert(dst, &map->out, src, &map->in, n);
        return;
    }
    if (!ready) {
        zc_numbers_convert(before, &from, src, &map->in, n);
    }
    map->map(codec, final ? (void *)dst : after, ready ? (const void *)src : before, n);
    if (!final) {
        zc_numbers_convert(dst, &map->out, after, &to, n);
    }
}

/* No step needs room for a tile: the map, or the conversion, reads from src and writes to dst. */
static bool is_straight(const zc_number_map *map)
{
    const bool native = !map->in.swapped && !map->out.swapped;

    return native && (map->map == NULL || (map->in.kind == map->from && map->out.kind == map->to));
}

/* Numbers up to the first one at a multiple of a vector's size: most reads, or writes, then touch one cache line each. */
static size_t until_aligned(const void *p, size_t size)
{
    return (32 - (uintptr_t)p % 32) % 32 / size;
}

/* Nothing is to be done to the numbers. */
static bool copies(const zc_number_map *map)
{
    return map->map == NULL && map->in.kind == map->out.kind && map->in.swapped == map->out.swapped;
}

zc_status zc_numbers_run(const zc_coding *c, const zc_number_map *map, size_t *written)
{
    const size_t in = zc_number_size(map->in.kind), out = zc_number_size(map->out.kind);
    const size_t tile = is_straight(map) ? STRAIGHT_TILE : ZC_TILE;
    size_t count;
    zc_status status = zc_numbers_count(c, map->in.kind, map->out.kind, &count, written);

    if (status == ZC_OK && copies(map)) {
        zc_long_copy(c->dst, c->src, *written);
        return ZC_OK;
    }
    size_t length = until_aligned(in < out ? c->dst : c->src, in < out ? out : in);
    for (size_t at = 0, asked = 0; at < count && status == ZC_OK; at += length, length = tile) {
        length = count - at < length ? count - at : length;
        run_tile(c->codec, map, c->src + at * in, c->dst + at * out, length);
        if ((at - asked) * in >= ZC_CODEC_PIECE) {
            status = zc_codec_poll(c->ws, c->err);
            asked = at;
        }
    }
    return status;
}
