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
 * dst[0 .. its nbytes).  *shuffle is set to the shuffle that is still to be undone.
 */
zc_status zc_blosc_decompress(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                              size_t index, uint8_t *dst, zc_blosc_shuffle *shuffle, zc_error *err);

/*
 * The same where the block's bytes lie at the end of the memory at dst, which is that many bytes longer than the block
 * (zc_blosc_slack, 0: they have to lie apart; never more than zc_blosc_block_bound).  False, and src is overwritten, if
 * anything is wrong or more slack is needed.  The shuffle is still to be undone.
 */
size_t zc_blosc_slack(const zc_blosc_header *h, size_t index, size_t n);
bool zc_blosc_decompress_over(const zc_blosc_header *h, const uint8_t *src, size_t n, size_t index, uint8_t *dst);

/* Of a decompressed block of nbytes, put bytes [from, to) of its items to dst. */
void zc_blosc_unshuffle(const zc_blosc_header *h, zc_blosc_shuffle shuffle, const uint8_t *src, size_t nbytes,
                        size_t from, size_t to, uint8_t *dst);

/* Both steps at once for a whole block, from its bytes to dst; `plain` is room for the block. */
zc_status zc_blosc_decode_block(const zc_blosc_header *h, zc_workspace *ws, const uint8_t *src, size_t n,
                                size_t index, uint8_t *plain, uint8_t *dst, zc_error *err);

/* Compress n bytes into `room` bytes by the library; *size is what it returns, 0 or less if it fails. */
zc_status zc_blosc_compress(const zc_codec *codec, const uint8_t *src, size_t n, uint8_t *dst, size_t room, int *size,
                            zc_error *err);

#endif
