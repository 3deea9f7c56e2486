/* SPDX-License-Identifier: MIT
 *
 * DEFLATE (RFC 1951) streams that stand for far more bytes than they have: a few bytes over and over, as zlib writes a chunk of
 * one value.  Decoders look at every match of 258 bytes, and copy it in steps of the few bytes; here all that repeat the same
 * are filled in at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are n bytes that stand for `decoded` ones mostly matches of 258 bytes, of two bits each?  Here any other symbol takes longer than
 * where a table has been made first. */
static inline bool zc_inflate_repeat_pays(size_t n, size_t decoded)
{
    return decoded >= 4096 && n < 40 + decoded / 512;
}

/* Decode the stream that begins at src[0], into at most cap bytes; how many bytes it takes, and makes.  False: a fault, or one
 * that has bytes which are stored as they are; dst may have been written to. */
bool zc_inflate_repeat(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *taken, size_t *made);
