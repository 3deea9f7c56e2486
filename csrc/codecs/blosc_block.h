/* SPDX-License-Identifier: MIT
 *
 * One block of a blosc buffer: its streams decompressed, its items put together again.  The two steps are
 * apart so that a reader of some items undoes the shuffle of those alone.
 */
#ifndef ZC_CODECS_BLOSC_BLOCK_H
#define ZC_CODECS_BLOSC_BLOCK_H

#include "codecs/blosc_format.h"

/*
 * Decompress block `index`, whose bytes begin at src (n bytes are there, others may follow it), to
 * dst[0 .. its nbytes).  *shuffle says what is still to be undone.
 */
zc_status zc_blosc_decompress(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                              size_t index, uint8_t *dst, zc_blosc_shuffle *shuffle, zc_error *err);

/* Of a decompressed block of nbytes, put bytes [from, to) of its items to dst. */
void zc_blosc_unshuffle(const zc_blosc_header *h, zc_blosc_shuffle shuffle, const uint8_t *src, size_t nbytes,
                        size_t from, size_t to, uint8_t *dst);

/* Both steps at once for a whole block, from its bytes to dst; `plain` is room for the block. */
zc_status zc_blosc_decode_block(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                                size_t index, uint8_t *plain, uint8_t *dst, zc_error *err);

/* The library does not look whether it got its temporary buffer of two blocks: is there room for them? */
bool zc_blosc_library_has_room(size_t blocksize);

#endif
