/* SPDX-License-Identifier: MIT
 *
 * blosc's own decoder creates contexts and buffers for every call and undoes the shuffle of whole blocks.
 * Here the compressors that blosc wraps are called directly, with the contexts and buffers that the workspace
 * keeps.  snappy, which cannot be called so, is left to blosc.
 */
#include "codecs/blosc_block.h"

#include <stdlib.h>
#include <string.h>

#include "codecs/abi.h"
#include "codecs/blosclz.h"
#include "codecs/classes.h"
#include "kernels/bitshuffle.h"
#include "kernels/shuffle.h"

/* ---- by the library ----------------------------------------------------------------------------- */

/* The library does not look whether it got its temporary buffer of two blocks: is there room for them? */
zc_status zc_blosc_check_room(size_t blocksize, zc_error *err)
{
    void *volatile trial = malloc(2 * blocksize + 8192);     /* volatile: not to be optimised away */
    const bool ok = trial != NULL;

    free(trial);
    return ok ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for two blocks of %zu bytes", blocksize);
}

/* Decode a buffer of one block, all of whose numbers have been checked. */
static zc_status decode_single(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes, zc_error *err)
{
    size_t stated;
    const zc_status status = zc_blosc_check_room(nbytes, err);

    if (status != ZC_OK) {
        return status;
    }
    if (blosc_cbuffer_validate(src, n, &stated) != 0 || stated != nbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "blosc refuses the header");
    }
    if (blosc_decompress_ctx(src, dst, nbytes, 1) != (int)nbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "malformed block data");
    }
    return ZC_OK;
}

static zc_status decode_by_library(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                                   size_t index, uint8_t *dst, zc_error *err)
{
    const size_t streams = zc_blosc_block_streams(h, index);
    uint8_t *const one = zc_scratch_push(ws, ZC_BLOSC_HEADER + 4 + n, err), *const block = one + ZC_BLOSC_HEADER + 4;
    size_t length, used = 0;
    zc_status status = ZC_OK;

    if (one == NULL) {
        return ZC_ERR_MEMORY;
    }
    memcpy(block, src, n);           /* before it is checked: others may change src */
    for (size_t i = 0; i < streams && status == ZC_OK; i++) {
        status = zc_blosc_stream(h, block, n, index, used, &length, err);
        used += 4 + length;
    }
    if (status == ZC_OK) {
        const size_t total = zc_blosc_single_block(h, used, index, one);
        status = decode_single(one, total, dst, zc_blosc_block_nbytes(h, index), err);
    }
    zc_scratch_pop(ws);
    return status;
}

/* ---- stream by stream ------------------------------------------------------------------------------ */

static bool stream_is_callable(const zc_blosc_header *h)
{
    return h->compressor != ZC_BLOSC_IS_SNAPPY;
}

static const zc_codec_class *codec_of_stream(const zc_blosc_header *h)
{
    return h->compressor == ZC_BLOSC_IS_ZLIB ? &zc_codec_zlib : &zc_codec_zstd;
}

/* One stream that stands for exactly nbytes. */
static zc_status decode_stream(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                               uint8_t *dst, size_t nbytes, zc_error *err)
{
    size_t size = 0;
    int made;

    if (n == nbytes) {
        memcpy(dst, src, n);
        return ZC_OK;
    }
    switch (h->compressor) {
    case ZC_BLOSC_IS_BLOSCLZ:
        made = zc_blosclz_decode(src, n, dst, nbytes) ? (int)nbytes : -1;
        break;
    case ZC_BLOSC_IS_LZ4:
        made = LZ4_decompress_safe((const char *)src, (char *)dst, (int)n, (int)nbytes);
        break;
    default: {
        const zc_codec codec = {.cls = codec_of_stream(h)};
        const zc_coding c = {&codec, true, ws, src, n, dst, nbytes, err};
        const zc_status status = codec.cls->decode(&c, &size);
        if (status == ZC_ERR_MEMORY || status == ZC_ERR_CANCELLED) {
            return status;
        }
        made = status == ZC_OK ? (int)size : -1;
    }
    }
    return made == (int)nbytes ? ZC_OK : zc_fail(err, ZC_ERR_CORRUPT, "malformed block data");
}

zc_status zc_blosc_decompress(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                              size_t index, uint8_t *dst, zc_blosc_shuffle *shuffle, zc_error *err)
{
    const size_t streams = zc_blosc_block_streams(h, index);
    const size_t each = zc_blosc_block_nbytes(h, index) / streams;
    zc_status status = ZC_OK;
    size_t length, pos = 0;

    if (!stream_is_callable(h)) {
        *shuffle = ZC_BLOSC_NOSHUFFLE;
        return decode_by_library(h, ws, src, n, index, dst, err);
    }
    *shuffle = h->shuffle;
    for (size_t i = 0; i < streams && status == ZC_OK; i++) {
        status = zc_blosc_stream(h, src, n, index, pos, &length, err);
        if (status == ZC_OK) {
            status = decode_stream(h, ws, src + pos + 4, length, dst + i * each, each, err);
            pos += 4 + length;
        }
    }
    return status;
}

/* ---- over the encoded bytes ------------------------------------------------------------------------------ */

size_t zc_blosc_slack(const zc_blosc_header *h, size_t index, size_t n)
{
    /* Literals need a byte more for each 32, the quick copies of the decoder some bytes beyond them. */
    const size_t slack = n / 32 + 1024;

    return h->compressor == ZC_BLOSC_IS_BLOSCLZ && n <= zc_blosc_block_nbytes(h, index) + slack &&
                   slack <= zc_blosc_block_bound(h, index)
               ? slack
               : 0;
}

bool zc_blosc_decompress_over(const zc_blosc_header *h, const uint8_t *src, size_t n, size_t index, uint8_t *dst)
{
    const size_t streams = zc_blosc_block_streams(h, index);
    const size_t each = zc_blosc_block_nbytes(h, index) / streams;
    size_t length, pos = 0;
    bool done = true;

    for (size_t i = 0; i < streams && done; i++) {
        done = zc_blosc_stream(h, src, n, index, pos, &length, NULL) == ZC_OK;
        if (!done) {
            break;
        }
        const uint8_t *const from = src + pos + 4;
        uint8_t *const to = dst + i * each;
        if (length == each) {
            done = to <= from;
            memmove(to, from, done ? each : 0);
        } else {
            done = zc_blosclz_decode_over(from, length, to, each);
        }
        pos += 4 + length;
    }
    return done;
}

/* ---- items ------------------------------------------------------------------------------------------ */

/* Items [first, first + count) of n; multiples of 8 where bits were shuffled. */
static void unshuffle_items(zc_blosc_shuffle shuffle, const uint8_t *src, size_t n, size_t size, size_t first,
                            size_t count, uint8_t *dst)
{
    if (shuffle == ZC_BLOSC_BITSHUFFLE) {
        zc_bitunshuffle(dst, src, n, size, first, count);
    } else {
        zc_unshuffle_some(dst, src, n, size, first, count);
    }
}

enum { GROUP = 8 };          /* items whose bits lie in the same bytes */

/* Bytes [from, to) of n shuffled items, where the first or the last group may be cut. */
static void unshuffle_bytes(zc_blosc_shuffle shuffle, const uint8_t *src, size_t n, size_t size, size_t from,
                            size_t to, uint8_t *dst)
{
    const size_t group = GROUP * size;
    uint8_t cut[GROUP * 255];

    while (from < to) {
        const size_t first = from / group * GROUP;
        const size_t left = n - first;
        const bool whole = from % group == 0 && (to - from >= group || to == n * size);
        size_t count = left < GROUP ? left : GROUP;
        if (whole) {
            count = to == n * size ? left : (to - from) / group * GROUP;
            unshuffle_items(shuffle, src, n, size, first, count, dst);
        } else {
            unshuffle_items(shuffle, src, n, size, first, count, cut);
        }
        const size_t end = (first + count) * size < to ? (first + count) * size : to;
        if (!whole) {
            memcpy(dst, cut + (from - first * size), end - from);
        }
        dst += end - from;
        from = end;
    }
}

/* Return how many items of a block were shuffled; the bytes after them were not. */
static size_t shuffled_items(const zc_blosc_header *h, zc_blosc_shuffle shuffle, size_t nbytes)
{
    const size_t n = nbytes / h->typesize;

    switch (shuffle) {
    case ZC_BLOSC_BYTESHUFFLE:
        return h->typesize > 1 ? n : 0;
    case ZC_BLOSC_BITSHUFFLE:
        return n % GROUP == 0 ? n : 0;
    default:
        return 0;
    }
}

void zc_blosc_unshuffle(const zc_blosc_header *h, zc_blosc_shuffle shuffle, const uint8_t *src, size_t nbytes,
                        size_t from, size_t to, uint8_t *dst)
{
    const size_t n = shuffled_items(h, shuffle, nbytes);
    const size_t end = n * h->typesize < to ? n * h->typesize : to;

    if (from < end) {
        unshuffle_bytes(shuffle, src, n, h->typesize, from, end, dst);
        dst += end - from;
        from = end;
    }
    memcpy(dst, src + from, to - from);
}

bool zc_blosc_shuffle_block(const zc_blosc_header *h, const uint8_t *src, size_t nbytes, uint8_t *dst)
{
    const size_t n = shuffled_items(h, h->shuffle, nbytes), end = n * h->typesize;

    if (n == 0) {
        return false;
    }
    (h->shuffle == ZC_BLOSC_BITSHUFFLE ? zc_bitshuffle : zc_shuffle)(dst, src, n, h->typesize);
    memcpy(dst + end, src + end, nbytes - end);
    return true;
}

/* ---- whole blocks ------------------------------------------------------------------------------------ */

/* Is each stream of the block one plane of the shuffled items? */
static bool streams_are_planes(const zc_blosc_header *h, size_t index)
{
    const size_t streams = zc_blosc_block_streams(h, index);

    return h->shuffle == ZC_BLOSC_BYTESHUFFLE && stream_is_callable(h) && streams == h->typesize && streams > 1 &&
           streams <= ZC_BLOSC_MOST_STREAMS && zc_blosc_block_nbytes(h, index) % streams == 0;
}

/* Planes that did not get smaller are stored as they are, and need not be copied before they are joined with the others. */
static zc_status decode_planes(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n, size_t index,
                               uint8_t *plain, uint8_t *dst, zc_error *err)
{
    const size_t count = h->typesize, each = zc_blosc_block_nbytes(h, index) / count;
    const void *planes[ZC_BLOSC_MOST_STREAMS];
    size_t length, pos = 0;

    for (size_t i = 0; i < count; i++) {
        zc_status status = zc_blosc_stream(h, src, n, index, pos, &length, err);
        if (status != ZC_OK) {
            return status;
        }
        planes[i] = src + pos + 4;
        if (length != each) {
            status = decode_stream(h, ws, src + pos + 4, length, plain + i * each, each, err);
            planes[i] = plain + i * each;
        }
        if (status != ZC_OK) {
            return status;
        }
        pos += 4 + length;
    }
    if (!zc_unshuffle_planes(dst, planes, each, count)) {
        for (size_t i = 0; i < count; i++) {
            if (planes[i] != plain + i * each) {
                memcpy(plain + i * each, planes[i], each);
            }
        }
        zc_unshuffle(dst, plain, each, count);
    }
    return ZC_OK;
}

zc_status zc_blosc_decode_block(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                                size_t index, uint8_t *plain, uint8_t *dst, zc_error *err)
{
    const size_t nbytes = zc_blosc_block_nbytes(h, index);
    zc_blosc_shuffle shuffle;

    if (h->shuffle == ZC_BLOSC_NOSHUFFLE) {
        return zc_blosc_decompress(h, ws, src, n, index, dst, &shuffle, err);
    }
    if (streams_are_planes(h, index)) {
        return decode_planes(h, ws, src, n, index, plain, dst, err);
    }
    const zc_status status = zc_blosc_decompress(h, ws, src, n, index, plain, &shuffle, err);
    if (status == ZC_OK) {
        zc_blosc_unshuffle(h, shuffle, plain, nbytes, 0, nbytes, dst);
    }
    return status;
}
