/* SPDX-License-Identifier: MIT
 *
 * Blocks of DEFLATE (RFC 1951) from literals and matches that somebody has found.
 */
#ifndef ZC_CODECS_DEFLATE_BLOCK_H
#define ZC_CODECS_DEFLATE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZC_DEFLATE_SHORTEST = 3, ZC_DEFLATE_LONGEST = 258, ZC_DEFLATE_REACH = 32768 };

/* A byte as it is, or a match of `length` bytes that lie `back` before it, both within the limits above. */
typedef uint32_t zc_deflate_token;

static inline zc_deflate_token zc_deflate_match(size_t length, size_t back)
{
    return (zc_deflate_token)(length << 16 | back);
}

/* Where a stream goes, from its lowest bits on. */
typedef struct zc_deflate_bits {
    uint8_t *to, *end;
    uint64_t held;
    int count;               /* bits that are held, below 8 between blocks */
} zc_deflate_bits;

/* One block of up to 1 << 22 tokens, with codes of its own or the fixed ones, whichever is smaller.  False, with
 * nothing written, if it or the eight bytes after it have no room.  The last one fills its last byte. */
bool zc_deflate_block(zc_deflate_bits *bits, const zc_deflate_token *tokens, size_t n, bool last);

#endif
