/* SPDX-License-Identifier: MIT
 *
 * The layout of a blosc buffer (format version 2): read it, check it, cut one block out of it.
 * Nothing is decompressed here.
 */
#ifndef ZC_CODECS_BLOSC_FORMAT_H
#define ZC_CODECS_BLOSC_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { ZC_BLOSC_HEADER = 16 };

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
    bool stored;             /* the decoded bytes follow the header as they are */
} zc_blosc_header;

typedef struct zc_extent_in_buffer {
    size_t offset;
    size_t nbytes;
} zc_extent_in_buffer;

/* Read the header of src[0..n) and check all that it says by itself; ZC_ERR_CORRUPT if something is wrong. */
zc_status zc_blosc_read_header(const uint8_t *src, size_t n, zc_blosc_header *h, zc_error *err);

/* Can the linked library decode such blocks?  ZC_ERR_UNSUPPORTED for a known compressor that it lacks. */
zc_status zc_blosc_check_compressor(const zc_blosc_header *h, zc_error *err);

/* Decoded size of a block: blocksize, or what is left for the last one. */
size_t zc_blosc_block_nbytes(const zc_blosc_header *h, size_t index);

/*
 * Follow the lengths inside a block; ZC_ERR_CORRUPT if one leads out of the buffer or is longer than
 * a compressor can make it.  *at is where the block lies.
 */
zc_status zc_blosc_check_block(const zc_blosc_header *h, const uint8_t *src, size_t index,
                               zc_extent_in_buffer *at, zc_error *err);

/* Write a buffer that holds this block alone to dst (at.nbytes + 20 bytes); returns its size. */
size_t zc_blosc_single_block(const zc_blosc_header *h, const uint8_t *src, size_t index,
                             zc_extent_in_buffer at, uint8_t *dst);

#endif
