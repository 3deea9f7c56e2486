/* SPDX-License-Identifier: MIT
 *
 * One block of a blosc buffer: its streams decompressed, its items put together again.  The two steps are
 * apart so that a reader of some items undoes the shuffle of those alone.
 */
#pragma once

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

/* Shuffle a block of nbytes to dst; false, with nothing done, if its bytes stay as they are. */
bool zc_blosc_shuffle_block(const zc_blosc_header *h, const uint8_t *src, size_t nbytes, uint8_t *dst);

/* ZC_ERR_MEMORY if there is no room for what the library allocates for blocks of that size. */
zc_status zc_blosc_check_room(size_t blocksize, zc_error *err);
