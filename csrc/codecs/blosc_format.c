/* SPDX-License-Identifier: MIT */
#include "codecs/blosc_format.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "codecs/abi.h"

enum { FORMAT_VERSION = 2, STREAM_VERSION = 1 };
enum { FLAG_RESERVED = 0x08 };
enum { MIN_STREAM_NBYTES = 128 };        /* blosc splits blocks within these limits */

_Static_assert((int)ZC_BLOSC_IS_BLOSCLZ == BLOSC_BLOSCLZ_FORMAT && (int)ZC_BLOSC_IS_LZ4 == BLOSC_LZ4_FORMAT &&
               (int)ZC_BLOSC_IS_SNAPPY == BLOSC_SNAPPY_FORMAT && (int)ZC_BLOSC_IS_ZLIB == BLOSC_ZLIB_FORMAT &&
               (int)ZC_BLOSC_IS_ZSTD == BLOSC_ZSTD_FORMAT, "blosc has other numbers");

/* blosclz adds up a match length in an int, at most 255 per byte: shorter streams do not overflow it. */
enum { BLOSCLZ_CHECK_FROM = INT32_MAX / 256 };

static size_t streams_of(const zc_blosc_header *h)
{
    const bool split = !(h->flags & ZC_BLOSC_FLAG_WHOLE) && h->typesize <= ZC_BLOSC_MOST_STREAMS &&
                       h->blocksize / h->typesize >= MIN_STREAM_NBYTES;
    return split ? h->typesize : 1;
}

/* The blocks as the header describes them; nbytes > 0. */
static zc_status check_layout(const zc_blosc_header *h, zc_error *err)
{
    const size_t after_starts = ZC_BLOSC_HEADER + 4 * h->nblocks;

    if (h->stored) {
        if (h->cbytes != h->nbytes + ZC_BLOSC_HEADER) {
            return zc_fail(err, ZC_ERR_CORRUPT, "%zu bytes cannot store %zu as they are", h->cbytes,
                           h->nbytes);
        }
        return ZC_OK;
    }
    if (after_starts > h->cbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%zu bytes cannot hold the starts of %zu blocks", h->cbytes,
                       h->nblocks);
    }
    if (h->blocksize % h->streams != 0) {
        return zc_fail(err, ZC_ERR_CORRUPT, "blocks of %zu bytes cannot be split into %zu", h->blocksize,
                       h->streams);
    }
    return ZC_OK;
}

static zc_status check_fields(const uint8_t *src, size_t n, zc_error *err)
{
    const uint8_t both = ZC_BLOSC_FLAG_SHUFFLE | ZC_BLOSC_FLAG_BITSHUFFLE;

    if (n < ZC_BLOSC_HEADER) {
        return zc_fail(err, ZC_ERR_CORRUPT, "truncated: %zu bytes, a blosc header has %d", n,
                       (int)ZC_BLOSC_HEADER);
    }
    if (src[0] != FORMAT_VERSION) {
        return zc_fail(err, ZC_ERR_CORRUPT, "blosc format version %d is not %d", src[0], (int)FORMAT_VERSION);
    }
    if ((src[2] & FLAG_RESERVED) != 0 || (src[2] & both) == both) {
        return zc_fail(err, ZC_ERR_CORRUPT, "unknown combination of blosc flags 0x%02x", src[2]);
    }
    if (src[3] == 0) {
        return zc_fail(err, ZC_ERR_CORRUPT, "typesize 0");
    }
    if (zc_load_le32(src + 12) != n || n > INT32_MAX) {
        return zc_fail(err, ZC_ERR_CORRUPT, "the header states %lu encoded bytes, there are %zu",
                       (unsigned long)zc_load_le32(src + 12), n);
    }
    return ZC_OK;
}

zc_status zc_blosc_read_header(const uint8_t *header, size_t n, zc_blosc_header *h, zc_error *err)
{
    uint8_t src[ZC_BLOSC_HEADER];    /* a copy: others may change the header between its checks and its use */

    memcpy(src, header, n < sizeof src ? n : sizeof src);
    const zc_status status = check_fields(src, n, err);
    if (status != ZC_OK) {
        return status;
    }
    *h = (zc_blosc_header){
        .nbytes = zc_load_le32(src + 4),
        .cbytes = n,
        .blocksize = zc_load_le32(src + 8),
        .typesize = src[3],
        .flags = src[2],
        .compressor = src[2] >> 5,
        .compressor_version = src[1],
        .shuffle = src[2] & ZC_BLOSC_FLAG_BITSHUFFLE ? ZC_BLOSC_BITSHUFFLE
                 : src[2] & ZC_BLOSC_FLAG_SHUFFLE && src[3] > 1 ? ZC_BLOSC_BYTESHUFFLE
                                            : ZC_BLOSC_NOSHUFFLE,
        .stored = (src[2] & ZC_BLOSC_FLAG_STORED) != 0,
    };
    if (h->nbytes == 0 && n == ZC_BLOSC_HEADER) {
        return ZC_OK;
    }
    if (h->nbytes == 0 || h->nbytes > (size_t)INT32_MAX - ZC_BLOSC_HEADER) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%zu encoded bytes cannot stand for %zu", n, h->nbytes);
    }
    if (h->blocksize == 0 || h->blocksize > h->nbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "blocksize %zu for %zu bytes", h->blocksize, h->nbytes);
    }
    h->nblocks = (h->nbytes - 1) / h->blocksize + 1;
    h->streams = streams_of(h);
    return check_layout(h, err);
}

const char *zc_blosc_compressor_name(zc_blosc_compressor compressor)
{
    static const char *const names[] = {
        [ZC_BLOSC_BLOSCLZ] = BLOSC_BLOSCLZ_COMPNAME, [ZC_BLOSC_LZ4] = BLOSC_LZ4_COMPNAME,
        [ZC_BLOSC_LZ4HC] = BLOSC_LZ4HC_COMPNAME,     [ZC_BLOSC_SNAPPY] = BLOSC_SNAPPY_COMPNAME,
        [ZC_BLOSC_ZLIB] = BLOSC_ZLIB_COMPNAME,       [ZC_BLOSC_ZSTD] = BLOSC_ZSTD_COMPNAME,
    };
    return (size_t)compressor < sizeof names / sizeof *names ? names[compressor] : NULL;
}

zc_status zc_blosc_check_compressor(const zc_blosc_header *h, zc_error *err)
{
    static const char *const names[] = {
        [BLOSC_BLOSCLZ_FORMAT] = BLOSC_BLOSCLZ_COMPNAME, [BLOSC_LZ4_FORMAT] = BLOSC_LZ4_COMPNAME,
        [BLOSC_SNAPPY_FORMAT] = BLOSC_SNAPPY_COMPNAME,   [BLOSC_ZLIB_FORMAT] = BLOSC_ZLIB_COMPNAME,
        [BLOSC_ZSTD_FORMAT] = BLOSC_ZSTD_COMPNAME,
    };
    if (h->compressor >= sizeof names / sizeof *names) {
        return zc_fail(err, ZC_ERR_CORRUPT, "unknown blosc compressor number %d", h->compressor);
    }
    if (h->compressor_version != STREAM_VERSION) {
        return zc_fail(err, ZC_ERR_CORRUPT, "version %d of blosc's %s streams is not %d",
                       h->compressor_version, names[h->compressor], (int)STREAM_VERSION);
    }
    if (h->compressor != ZC_BLOSC_IS_BLOSCLZ && blosc_compname_to_compcode(names[h->compressor]) < 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "this build of blosc lacks the compressor %s",
                       names[h->compressor]);
    }
    return ZC_OK;
}

size_t zc_blosc_block_nbytes(const zc_blosc_header *h, size_t index)
{
    zc_assert(index < h->nblocks);

    const size_t left = h->nbytes - index * h->blocksize;

    return left < h->blocksize ? left : h->blocksize;
}

/* Can a blosclz stream of n bytes, made of at most `decoded` bytes, have so long a run of 255? */
static bool blosclz_run_is_plausible(const uint8_t *stream, size_t n, size_t decoded)
{
    const size_t limit = decoded / 255 + 64;         /* one match's length, literals and offsets around it */
    size_t run = 0;

    for (size_t i = 0; i < n; i++) {
        run = stream[i] == 255 ? run + 1 : 0;
        if (run > limit) {
            return false;
        }
    }
    return true;
}

size_t zc_blosc_block_streams(const zc_blosc_header *h, size_t index)
{
    return zc_blosc_block_nbytes(h, index) == h->blocksize ? h->streams : 1;     /* a short last block is not split */
}

size_t zc_blosc_block_bound(const zc_blosc_header *h, size_t index)
{
    const size_t nbytes = zc_blosc_block_nbytes(h, index);
    const size_t stretched = h->compressor == ZC_BLOSC_IS_SNAPPY ? nbytes / 6 + 32 : 0;
    const size_t streams = zc_blosc_block_streams(h, index);

    return nbytes + streams * (4 + stretched);
}

zc_status zc_blosc_block_start(const zc_blosc_header *h, const uint8_t *starts, size_t index, size_t *start,
                               zc_error *err)
{
    zc_assert(index < h->nblocks);
    *start = zc_load_le32(starts + 4 * index);
    if (*start < ZC_BLOSC_HEADER + 4 * h->nblocks) {
        return zc_fail(err, ZC_ERR_CORRUPT, "block %zu starts at byte %zu, inside the header", index, *start);
    }
    if (*start > h->cbytes) {
        return zc_fail(err, ZC_ERR_CORRUPT, "block %zu starts at byte %zu of %zu", index, *start, h->cbytes);
    }
    return ZC_OK;
}

zc_status zc_blosc_stream(const zc_blosc_header *h, const uint8_t *src, size_t n, size_t index, size_t pos,
                          size_t *length, zc_error *err)
{
    zc_assert(index < h->nblocks && pos <= n);

    const size_t nbytes = zc_blosc_block_nbytes(h, index) / zc_blosc_block_streams(h, index);

    if (n - pos < 4) {
        return zc_fail(err, ZC_ERR_CORRUPT, "block %zu: a stream at byte %zu of the block's %zu", index, pos, n);
    }
    *length = zc_load_le32(src + pos);
    if (*length > n - pos - 4) {
        return zc_fail(err, ZC_ERR_CORRUPT, "block %zu ends beyond the %zu encoded bytes", index, h->cbytes);
    }
    if (*length == 0 || (*length > nbytes && h->compressor != ZC_BLOSC_IS_SNAPPY)) {
        return zc_fail(err, ZC_ERR_CORRUPT, "block %zu: %zu bytes cannot stand for %zu", index, *length, nbytes);
    }
    if (h->compressor == ZC_BLOSC_IS_BLOSCLZ && *length >= BLOSCLZ_CHECK_FROM && *length != nbytes &&
        !blosclz_run_is_plausible(src + pos + 4, *length, nbytes)) {
        return zc_fail(err, ZC_ERR_CORRUPT, "block %zu: a match is longer than the block", index);
    }
    return ZC_OK;
}

size_t zc_blosc_single_block(const zc_blosc_header *h, size_t n, size_t index, uint8_t *dst)
{
    zc_assert(index < h->nblocks);

    const size_t nbytes = zc_blosc_block_nbytes(h, index), total = ZC_BLOSC_HEADER + 4 + n;

    dst[0] = FORMAT_VERSION;
    dst[1] = h->compressor_version;
    dst[2] = h->flags;
    if (zc_blosc_block_streams(h, index) == 1) {
        dst[2] |= ZC_BLOSC_FLAG_WHOLE;
    }
    dst[3] = (uint8_t)h->typesize;
    zc_store_le32(dst + 4, (uint32_t)nbytes);
    zc_store_le32(dst + 8, (uint32_t)nbytes);
    zc_store_le32(dst + 12, (uint32_t)total);
    zc_store_le32(dst + ZC_BLOSC_HEADER, ZC_BLOSC_HEADER + 4);
    return total;
}
