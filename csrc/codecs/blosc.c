/* SPDX-License-Identifier: MIT
 *
 * blosc, format version 2 (c-blosc 1.x; README_CHUNK_FORMAT.rst there).
 *
 *     byte 0    format version           4..7    nbytes, the decoded size
 *          1    compressor's version     8..11   blocksize
 *          2    flags                   12..15   cbytes, the size of all of this
 *          3    typesize                16..     where each block starts, one int32 per block
 *
 * A block is one or, if it is split, typesize streams, each behind its length.  The library trusts parts of
 * this; here every number is checked before the library sees it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "codecs/abi.h"
#include "codecs/blosc_format.h"
#include "codecs/classes.h"

/* Longer values are decoded block by block, so that a cancelled job ends soon. */
#define BLOCKWISE_FROM ((size_t)32 << 20)

#define MAX_DECODED ((size_t)INT32_MAX - ZC_BLOSC_HEADER)        /* BLOSC_MAX_BUFFERSIZE */

/* The library does not look whether it got its temporary buffer of two blocks.  Ask before it does,
 * where that is much. */
static bool library_has_room(size_t blocksize)
{
    if (blocksize < ((size_t)1 << 20)) {
        return true;
    }
    void *volatile trial = malloc(2 * blocksize + 4096);     /* volatile: not to be optimised away */
    const bool ok = trial != NULL;
    free(trial);
    return ok;
}

/* ---- decode --------------------------------------------------------------------------------- */

/* Decode a buffer that has been checked, of exactly nbytes in blocks of blocksize. */
static zc_status decompress(const uint8_t *src, size_t n, size_t blocksize, uint8_t *dst, size_t nbytes,
                            zc_error *err)
{
    size_t stated;

    if (!library_has_room(blocksize)) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for two blocks of %zu bytes", blocksize);
    }
    if (blosc_cbuffer_validate(src, n, &stated) != 0 || stated != nbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "blosc refuses the header");
    }
    const int size = blosc_decompress_ctx(src, dst, nbytes, 1);
    if (size < 0) {
        return zc_fail(err, ZC_ERR_CORRUPT, "malformed block data");
    }
    if ((size_t)size != nbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "the blocks hold %d bytes, the header states %zu", size, nbytes);
    }
    return ZC_OK;
}

/*
 * Decode block `index` whole to dst.  It is handed to the library as a buffer of one block: the library's
 * own call for parts of a buffer (blosc_getitem) counts in items only and decodes to a temporary buffer in
 * any case.
 */
static zc_status decode_block(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t index,
                              uint8_t *dst, zc_error *err)
{
    zc_extent_in_buffer at;
    zc_status status = zc_blosc_check_block(h, src, index, &at, err);

    if (status != ZC_OK) {
        return status;
    }
    uint8_t *one = zc_scratch_push(ws, ZC_BLOSC_HEADER + 4 + at.nbytes, err);
    if (one == NULL) {
        return ZC_ERR_MEMORY;
    }
    const size_t n = zc_blosc_single_block(h, src, index, at, one);
    const size_t nbytes = zc_blosc_block_nbytes(h, index);
    status = decompress(one, n, nbytes, dst, nbytes, err);
    zc_scratch_pop(ws);
    return status;
}

/* Decode bytes [from, to) of block `index`. */
static zc_status decode_block_part(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src,
                                   size_t index, size_t from, size_t to, uint8_t *dst, zc_error *err)
{
    const size_t nbytes = zc_blosc_block_nbytes(h, index);

    if (from == 0 && to == nbytes) {
        return decode_block(h, ws, src, index, dst, err);
    }
    uint8_t *whole = zc_scratch_push(ws, nbytes, err);
    if (whole == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_status status = decode_block(h, ws, src, index, whole, err);
    if (status == ZC_OK) {
        memcpy(dst, whole + from, to - from);
    }
    zc_scratch_pop(ws);
    return status;
}

static zc_status decode_blocks(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t offset,
                               size_t nbytes, uint8_t *dst, zc_error *err)
{
    const size_t stop = offset + nbytes;
    zc_status status = zc_blosc_check_compressor(h, err);

    while (status == ZC_OK && offset < stop) {
        const size_t index = offset / h->blocksize;
        const size_t start = index * h->blocksize;
        const size_t end = start + zc_blosc_block_nbytes(h, index);
        const size_t to = stop < end ? stop : end;

        status = decode_block_part(h, ws, src, index, offset - start, to - start, dst, err);
        dst += to - offset;
        offset = to;
        if (status == ZC_OK) {
            status = zc_codec_poll(ws, err);
        }
    }
    return status;
}

static zc_status decode_whole(const zc_blosc_header *h, const uint8_t *src, size_t n, uint8_t *dst,
                              zc_error *err)
{
    zc_status status = zc_blosc_check_compressor(h, err);

    for (size_t i = 0; status == ZC_OK && i < h->nblocks; i++) {
        zc_extent_in_buffer at;
        status = zc_blosc_check_block(h, src, i, &at, err);
    }
    return status != ZC_OK ? status : decompress(src, n, h->blocksize, dst, h->nbytes, err);
}

static zc_status blosc_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                              uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    zc_blosc_header h;
    zc_status status = zc_blosc_read_header(src, n, &h, err);

    (void)codec;
    if (status != ZC_OK) {
        return status;
    }
    if (h.nbytes > cap) {
        return zc_fail(err, ZC_ERR_SIZE, "the header states %zu bytes, at most %zu expected", h.nbytes, cap);
    }
    if (h.nbytes > 0) {
        if (h.stored) {
            memcpy(dst, src + ZC_BLOSC_HEADER, h.nbytes);
        } else if (h.nbytes < BLOCKWISE_FROM) {
            status = decode_whole(&h, src, n, dst, err);
        } else {
            status = decode_blocks(&h, ws, src, 0, h.nbytes, dst, err);
        }
    }
    *written = h.nbytes;
    return status;
}

static zc_status blosc_open_blocks(const zc_codec *codec, const uint8_t *src, size_t n, size_t decoded,
                                   size_t *block, zc_error *err)
{
    zc_blosc_header h;
    const zc_status status = zc_blosc_read_header(src, n, &h, err);

    (void)codec;
    if (status != ZC_OK) {
        return status;
    }
    if (h.nbytes != decoded) {
        return zc_fail(err, ZC_ERR_SIZE, "the header states %zu bytes, the metadata demand %zu", h.nbytes,
                       decoded);
    }
    *block = h.nbytes > 0 ? h.blocksize : 1;
    return h.stored ? ZC_OK : zc_blosc_check_compressor(&h, err);
}

static zc_status blosc_decode_range(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                    size_t offset, size_t nbytes, uint8_t *dst, zc_error *err)
{
    zc_blosc_header h;
    const zc_status status = zc_blosc_read_header(src, n, &h, err);

    (void)codec;
    if (status != ZC_OK) {
        return status;
    }
    if (offset > h.nbytes || nbytes > h.nbytes - offset) {
        return zc_fail(err, ZC_ERR_RANGE, "bytes %zu to %zu of a value of %zu bytes", offset, offset + nbytes,
                       h.nbytes);
    }
    if (nbytes == 0) {
        return ZC_OK;
    }
    if (h.stored) {
        memcpy(dst, src + ZC_BLOSC_HEADER + offset, nbytes);
        return ZC_OK;
    }
    if (nbytes == h.nbytes && nbytes < BLOCKWISE_FROM) {
        return decode_whole(&h, src, n, dst, err);
    }
    return decode_blocks(&h, ws, src, offset, nbytes, dst, err);
}

/* ---- encode --------------------------------------------------------------------------------- */

static bool blosc_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    if (n > MAX_DECODED) {
        return false;
    }
    *out = n + ZC_BLOSC_HEADER;
    return true;
}

static const char *compressor_name(zc_blosc_compressor compressor)
{
    static const char *const names[] = {
        [ZC_BLOSC_BLOSCLZ] = BLOSC_BLOSCLZ_COMPNAME, [ZC_BLOSC_LZ4] = BLOSC_LZ4_COMPNAME,
        [ZC_BLOSC_LZ4HC] = BLOSC_LZ4HC_COMPNAME,     [ZC_BLOSC_SNAPPY] = BLOSC_SNAPPY_COMPNAME,
        [ZC_BLOSC_ZLIB] = BLOSC_ZLIB_COMPNAME,       [ZC_BLOSC_ZSTD] = BLOSC_ZSTD_COMPNAME,
    };
    return (size_t)compressor < sizeof names / sizeof *names ? names[compressor] : NULL;
}

static zc_status blosc_check(const zc_codec *codec, zc_error *err)
{
    const char *name = compressor_name(codec->blosc.compressor);

    if (name == NULL) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "unknown blosc compressor %d", (int)codec->blosc.compressor);
    }
    if (blosc_compname_to_compcode(name) < 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "this build of blosc lacks the compressor %s", name);
    }
    if (codec->level < 0 || codec->level > 9) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "clevel: expected 0 to 9, got %d", codec->level);
    }
    if ((unsigned)codec->blosc.shuffle > ZC_BLOSC_BITSHUFFLE) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "shuffle: expected 0 to 2, got %d", (int)codec->blosc.shuffle);
    }
    if (codec->blosc.typesize < 1 || codec->blosc.typesize > BLOSC_MAX_TYPESIZE) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "typesize: expected 1 to %d, got %zu", BLOSC_MAX_TYPESIZE,
                       codec->blosc.typesize);
    }
    return ZC_OK;
}

static zc_status blosc_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                              uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_status status = blosc_check(codec, err);

    (void)ws;
    if (status != ZC_OK) {
        return status;
    }
    if (n > MAX_DECODED) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "cannot encode %zu bytes, blosc's limit is %zu", n, MAX_DECODED);
    }
    const size_t room = n + ZC_BLOSC_HEADER;
    if (cap < room) {        /* with less the library writes the first block's start beyond the end */
        return zc_fail(err, ZC_ERR_ARGUMENT, "%zu bytes are not enough room to encode %zu", cap, n);
    }
    const size_t blocksize = codec->blosc.blocksize < n ? codec->blosc.blocksize : n;
    if (!library_has_room(blocksize)) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for two blocks of %zu bytes", blocksize);
    }
    const int size = blosc_compress_ctx(codec->level, (int)codec->blosc.shuffle, codec->blosc.typesize, n,
                                        n > 0 ? src : dst, dst, room,
                                        compressor_name(codec->blosc.compressor), blocksize, 1);
    if (size <= 0) {
        return zc_fail(err, ZC_ERR_ENCODE, "blosc failed (%d) for %zu bytes into %zu", size, n, cap);
    }
    *written = (size_t)size;
    return ZC_OK;
}

const zc_codec_class zc_codec_blosc = {
    .name = "blosc",
    .max_decoded = MAX_DECODED,
    .bound = blosc_bound,
    .encode = blosc_encode,
    .decode = blosc_decode,
    .open_blocks = blosc_open_blocks,
    .decode_range = blosc_decode_range,
    .check = blosc_check,
    .defaults = {
        .level = 5,
        .blosc = {.compressor = ZC_BLOSC_LZ4, .shuffle = ZC_BLOSC_BYTESHUFFLE, .typesize = 1},
    },
};
