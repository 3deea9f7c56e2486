/* SPDX-License-Identifier: MIT
 *
 * The library makes contexts and buffers for every call, and deflates by zlib.  Here streams of lz4, zlib and zstd are made
 * with what the workspace keeps, and by libdeflate; blosclz, lz4hc and snappy are left to the library.
 */
#include "codecs/blosc_encode.h"

#include <string.h>

#include "base/arith.h"
#include "codecs/abi.h"
#include "codecs/blosc_block.h"
#include "codecs/classes.h"
#include "kernels/long_copy.h"

/* The library makes no larger blocks when it is left to it (block size 0). */
#define AUTOMATIC_MAX ((size_t)1 << 20)

/* ---- by the library ----------------------------------------------------------------------------- */

static zc_status compress_by_library(const zc_codec *codec, zc_blosc_shuffle shuffle, const uint8_t *src, size_t n,
                                     uint8_t *dst, size_t room, int *size, zc_error *err)
{
    const size_t most = codec->blosc.blocksize > 0 ? codec->blosc.blocksize : AUTOMATIC_MAX;
    const zc_status status = zc_blosc_check_room(n < most ? n : most, err);

    *size = 0;
    if (status == ZC_OK) {
        *size = blosc_compress_ctx(codec->level, (int)shuffle, codec->blosc.typesize, n, n > 0 ? src : dst, dst, room,
                                   zc_blosc_compressor_name(codec->blosc.compressor),
                                   codec->blosc.blocksize < n ? codec->blosc.blocksize : n, 1);
    }
    return status;
}

/* The library writes a header before it finds that there is no room for anything else. */
bool zc_blosc_plan(const zc_codec *codec, const uint8_t *src, size_t n, uint8_t *header, zc_blosc_header *h)
{
    static const uint8_t flags[] = {0, ZC_BLOSC_FLAG_SHUFFLE, ZC_BLOSC_FLAG_BITSHUFFLE};
    uint8_t bytes[ZC_BLOSC_HEADER + 64] = {0};
    int size;

    if (n == 0 || compress_by_library(codec, ZC_BLOSC_NOSHUFFLE, src, n, bytes, ZC_BLOSC_HEADER, &size, NULL) != ZC_OK ||
        size > 0 || zc_load_le32(bytes + 4) != n) {
        return false;
    }
    bytes[2] |= flags[codec->blosc.shuffle];
    zc_store_le32(bytes + 12, (uint32_t)(n + ZC_BLOSC_HEADER));
    memcpy(header, bytes, ZC_BLOSC_HEADER);
    return zc_blosc_read_header(header, n + ZC_BLOSC_HEADER, h, NULL) == ZC_OK && !h->stored;
}

/* ---- stream by stream ------------------------------------------------------------------------------ */

typedef struct encoding {
    zc_codec codec;          /* of a stream; without a class: lz4 */
    zc_workspace *ws;
    uint8_t *shuffled, *packed;      /* room for a block, and for a stream however long it gets */
    size_t most;             /* bytes that a stream can take */
    zc_error *err;
} encoding;

/* The codec of the streams, with the level that the library would give it; false if they are left to it. */
static bool codec_of_streams(const zc_codec *codec, zc_codec *out)
{
    const int level = codec->level;

    *out = (zc_codec){0};
    switch (codec->blosc.compressor) {
    case ZC_BLOSC_LZ4:
        out->level = 10 - level;
        break;
    case ZC_BLOSC_ZLIB:
        *out = (zc_codec){.cls = &zc_codec_zlib, .level = level};
        break;
    case ZC_BLOSC_ZSTD:
        *out = (zc_codec){.cls = &zc_codec_zstd, .level = level < 9 ? 2 * level - 1 : ZSTD_maxCLevel()};
        break;
    default:
        return false;
    }
    return level > 0;
}

/* A stream and its length; *used is 0 if `room` is too little for it. */
static zc_status encode_stream(const encoding *e, const uint8_t *src, size_t n, uint8_t *dst, size_t room, size_t *used)
{
    const size_t most = e->codec.cls == NULL ? n : e->most;      /* lz4 gives up where it cannot make it smaller */
    uint8_t *const to = room >= 4 + most ? dst + 4 : e->packed;
    const zc_coding c = {&e->codec, false, e->ws, src, n, to, most, e->err};
    size_t size = 0;
    zc_status status = ZC_OK;

    if (e->codec.cls != NULL) {
        status = e->codec.cls->encode(&c, &size);
    } else {
        size = (size_t)LZ4_compress_fast((const char *)src, (char *)to, (int)n, (int)most, e->codec.level);
    }
    const bool smaller = size > 0 && size < n;
    size = smaller ? size : n;
    *used = status == ZC_OK && size + 4 <= room ? size + 4 : 0;
    if (*used > 0) {
        zc_store_le32(dst, (uint32_t)size);
        if (!smaller || to != dst + 4) {
            memcpy(dst + 4, smaller ? to : src, size);
        }
    }
    return status;
}

static zc_status encode_block(const encoding *e, const zc_blosc_header *h, const uint8_t *src, size_t index, uint8_t *dst,
                              size_t room, size_t *used)
{
    const size_t nbytes = zc_blosc_block_nbytes(h, index), streams = zc_blosc_block_streams(h, index);
    const size_t each = nbytes / streams;
    const uint8_t *const from = zc_blosc_shuffle_block(h, src, nbytes, e->shuffled) ? e->shuffled : src;
    zc_status status = zc_codec_poll(e->ws, e->err);
    size_t part = 1;

    *used = 0;
    for (size_t i = 0; i < streams && part > 0 && status == ZC_OK; i++) {
        status = encode_stream(e, from + i * each, each, dst + *used, room - *used, &part);
        *used = part > 0 ? *used + part : 0;
    }
    return status;
}

/* All blocks after the header, which h has been read from; *size is 0 if there is too little room. */
static zc_status encode_blocks(const encoding *e, const zc_blosc_header *h, const uint8_t *src, uint8_t *dst, size_t room,
                               size_t *size)
{
    size_t at = ZC_BLOSC_HEADER + 4 * h->nblocks, used = 1;
    zc_status status = ZC_OK;

    for (size_t i = 0; i < h->nblocks && used > 0 && status == ZC_OK; i++) {
        zc_store_le32(dst + ZC_BLOSC_HEADER + 4 * i, (uint32_t)at);
        status = encode_block(e, h, src + i * h->blocksize, i, dst + at, room - at, &used);
        at += used;
    }
    *size = used > 0 ? at : 0;
    return status;
}

zc_status zc_blosc_compress(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                            size_t room, int *size, zc_error *err)
{
    encoding e = {.ws = ws, .err = err};
    zc_blosc_header h;
    size_t made;

    if (!codec_of_streams(codec, &e.codec) || room < ZC_BLOSC_HEADER || !zc_blosc_plan(codec, src, n, dst, &h) ||
        room < ZC_BLOSC_HEADER + 4 * h.nblocks) {
        return compress_by_library(codec, codec->blosc.shuffle, src, n, dst, room, size, err);
    }
    e.most = h.blocksize;
    if (e.codec.cls != NULL && !e.codec.cls->bound(&e.codec, h.blocksize, &e.most)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "blocks of %zu bytes are too large", h.blocksize);
    }
    e.shuffled = zc_scratch_push(ws, h.blocksize + e.most, err);
    if (e.shuffled == NULL) {
        return ZC_ERR_MEMORY;
    }
    e.packed = e.shuffled + h.blocksize;
    const zc_status status = encode_blocks(&e, &h, src, dst, room, &made);
    zc_scratch_pop(ws);
    if (made == 0 && room >= n + ZC_BLOSC_HEADER) {
        dst[2] |= ZC_BLOSC_FLAG_STORED;
        made = n + ZC_BLOSC_HEADER;
        zc_long_copy(dst + ZC_BLOSC_HEADER, src, n);
    }
    zc_store_le32(dst + 12, (uint32_t)made);
    *size = (int)made;
    return status;
}
