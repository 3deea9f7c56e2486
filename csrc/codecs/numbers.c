/* SPDX-License-Identifier: MIT */
#include "codecs/numbers.h"

#include <string.h>

#include "kernels/region.h"

void zc_numbers_swap(void *dst, const void *src, const zc_number *number, size_t n)
{
    const size_t size = zc_number_size(number->kind);
    const zc_item item = {.size = size, .word = number->swapped && size > 1 ? (uint32_t)size : 0};

    zc_items_copy(n, dst, src, &item);
}

zc_status zc_numbers_count(const zc_number *in, const zc_number *out, size_t n, size_t cap, size_t *count,
                           zc_error *err)
{
    const size_t size = zc_number_size(in->kind);
    size_t nbytes;

    if (n % size != 0) {
        return zc_fail(err, ZC_ERR_SIZE, "%zu bytes are no whole number of items of %zu bytes", n, size);
    }
    *count = n / size;
    if (!zc_mul_size(*count, zc_number_size(out->kind), &nbytes) || nbytes > cap) {
        return zc_fail(err, ZC_ERR_SIZE, "%zu items of %zu bytes, at most %zu bytes expected", *count,
                       zc_number_size(out->kind), cap);
    }
    return ZC_OK;
}

bool zc_numbers_bound(const zc_codec *codec, size_t n, size_t *out)
{
    /* Bytes of no whole number are refused by encode, which can say so. */
    return zc_mul_size(n / zc_number_size(codec->decoded.kind), zc_number_size(codec->encoded.kind), out);
}

/* One tile through buffers in the machine's byte order, or past them where nothing is to be done. */
static void run_tile(const zc_codec *codec, const zc_number_map *map, const uint8_t *src, uint8_t *dst, size_t n)
{
    uint64_t swapped[ZC_TILE], work[ZC_TILE];
    const bool direct = map->map == NULL && map->out.kind == map->work && !map->out.swapped;
    void *const tile = direct ? (void *)dst : work;

    if (map->in.swapped) {
        zc_numbers_swap(swapped, src, &map->in, n);
    }
    zc_cast(tile, map->work, map->in.swapped ? (const void *)swapped : src, map->in.kind, n);
    if (map->map != NULL) {
        map->map(codec, tile, n);
    }
    if (direct) {
        return;
    }
    if (map->out.swapped) {
        zc_cast(swapped, map->out.kind, work, map->work, n);
        zc_numbers_swap(dst, swapped, &map->out, n);
    } else {
        zc_cast(dst, map->out.kind, work, map->work, n);
    }
}

zc_status zc_numbers_run(const zc_codec *codec, const zc_number_map *map, zc_workspace *ws, const uint8_t *src,
                         size_t n, uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const size_t in = zc_number_size(map->in.kind), out = zc_number_size(map->out.kind);
    size_t count = 0;
    zc_status status = zc_numbers_count(&map->in, &map->out, n, cap, &count, err);

    for (size_t at = 0; at < count && status == ZC_OK; at += ZC_TILE) {
        const size_t length = count - at < ZC_TILE ? count - at : ZC_TILE;
        run_tile(codec, map, src + at * in, dst + at * out, length);
        if (at * in % ZC_CODEC_PIECE == 0) {
            status = zc_codec_poll(ws, err);
        }
    }
    *written = count * out;
    return status;
}
