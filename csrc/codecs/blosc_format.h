/* SPDX-License-Identifier: MIT
 *
 * The layout of a blosc buffer (format version 2): read it, check it, wrap one block as a buffer of its own.
 * Nothing is decompressed here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "codecs/codec.h"

enum { ZC_BLOSC_HEADER = 16, ZC_BLOSC_MOST_STREAMS = 16 };

/* Of the byte at 2, whose upper three bits are the compressor. */
enum {
    ZC_BLOSC_FLAG_SHUFFLE = 0x01,
    ZC_BLOSC_FLAG_STORED = 0x02,
    ZC_BLOSC_FLAG_BITSHUFFLE = 0x04,
    ZC_BLOSC_FLAG_WHOLE = 0x10       /* blocks are not split */
};

typedef struct zc_blosc_header {
    size_t nbytes;           /* decoded size, 0 to INT32_MAX - 16 */
    size_t cbytes;           /* encoded size: the length of the whole buffer */
    size_t blocksize;        /* 1 to nbytes; unspecified if nbytes is 0 */
    size_t nblocks;
    size_t typesize;         /* 1 to 255 */
    size_t streams;          /* of a whole block: 1, or typesize if blocks are split */
    uint8_t flags;
    uint8_t compressor;      /* the format's number, not ZC_BLOSC_* */
    uint8_t compressor_version;
    zc_blosc_shuffle shuffle;
    bool stored;             /* the decoded bytes follow the header as they are */
} zc_blosc_header;

/* Numbers of the compressors in the format. */
enum { ZC_BLOSC_IS_BLOSCLZ = 0, ZC_BLOSC_IS_LZ4 = 1, ZC_BLOSC_IS_SNAPPY = 2, ZC_BLOSC_IS_ZLIB = 3, ZC_BLOSC_IS_ZSTD = 4 };

/* The library's name of a compressor, NULL for an unknown one. */
const char *zc_blosc_compressor_name(zc_blosc_compressor compressor);

/* Read the header of a buffer of n bytes, header[0..16), and check all that can be checked in it alone; ZC_ERR_CORRUPT if
 * something is wrong. */
zc_status zc_blosc_read_header(const uint8_t *header, size_t n, zc_blosc_header *h, zc_error *err);

/* Can the linked library decode such blocks?  ZC_ERR_UNSUPPORTED for a known compressor that it lacks. */
zc_status zc_blosc_check_compressor(const zc_blosc_header *h, zc_error *err);

/* Decoded size of a block: blocksize, or what is left for the last one. */
size_t zc_blosc_block_nbytes(const zc_blosc_header *h, size_t index);

/* How many streams a block has, and most bytes that it can take, their lengths included. */
size_t zc_blosc_block_streams(const zc_blosc_header *h, size_t index);
size_t zc_blosc_block_bound(const zc_blosc_header *h, size_t index);

/* Where block `index` begins, by the table of starts; ZC_ERR_CORRUPT if no block can begin there. */
zc_status zc_blosc_block_start(const zc_blosc_header *h, const uint8_t *starts, size_t index, size_t *start,
                               zc_error *err);

/*
 * The next stream of block `index`, whose bytes from the start of the block on are src[0..n): it has *length
 * bytes at src + *pos + 4.  ZC_ERR_CORRUPT if it leads out of the bytes or is longer than a compressor can
 * make it.
 */
zc_status zc_blosc_stream(const zc_blosc_header *h, const uint8_t *src, size_t n, size_t index, size_t pos,
                          size_t *length, zc_error *err);

/* Write what comes before the n bytes of block `index` in a buffer that holds it alone: 20 bytes to dst, after which the
 * block lies.  Returns the size of all. */
size_t zc_blosc_single_block(const zc_blosc_header *h, size_t n, size_t index, uint8_t *dst);
