/* SPDX-License-Identifier: MIT */
#include "codecs/zstd_repeat.h"

#include <stdbool.h>
#include <string.h>

#include "base/arith.h"
#include "kernels/repeats.h"

#define BLOCK_MAX ((size_t)128 << 10)

enum {
    HEADER_MAX = 4 + 1 + 1 + 4,          /* magic number, descriptor, window, size */
    BLOCK_HEADER = 3,
    RAW_BELOW = 256,                     /* a last block of fewer bytes is stored as it is */
    SEQUENCE_MAX = 1 + ZC_REPEAT_PERIOD + 2 + 3 + 4
};

/* The header of the frame; its size (3.1.1.1). */
static size_t put_header(uint8_t *to, size_t n)
{
    enum { ONE_SEGMENT = 0x20, SIZE_OF_2 = 0x40, SIZE_OF_4 = 0x80, LESS = 256, WINDOW_OF_A_BLOCK = 7 << 3 };
    const bool one = n <= BLOCK_MAX, is_short = one && n - LESS <= UINT16_MAX;
    uint8_t *at = to + 5;

    memcpy(to, (const uint8_t[]){0x28, 0xb5, 0x2f, 0xfd}, 4);
    to[4] = (uint8_t)((one ? ONE_SEGMENT : 0) | (is_short ? SIZE_OF_2 : SIZE_OF_4));
    if (!one) {
        *at++ = WINDOW_OF_A_BLOCK;       /* all that a match reaches back */
    }
    if (is_short) {
        *at++ = (uint8_t)(n - LESS);
        *at++ = (uint8_t)((n - LESS) >> 8);
        return (size_t)(at - to);
    }
    zc_store_le32(at, (uint32_t)n);
    return (size_t)(at - to) + 4;
}

/* The least number of bytes that repeat, of 1, 2, 4, 8 and 16. */
static size_t period_of(const uint8_t *src)
{
    size_t period = 1;

    while (period < ZC_REPEAT_PERIOD && memcmp(src, src + period, ZC_REPEAT_PERIOD) != 0) {
        period *= 2;
    }
    return period;
}

/* The highest bit of a number that is not 0. */
static int highest_bit(size_t number)
{
    int bit = 0;

    while (number >> (bit + 1) > 0) {
        bit++;
    }
    return bit;
}

/* Literals, and one sequence: all of these, then a match to the end of the block, a period back (3.1.1.3). */
static size_t put_sequence(uint8_t *to, const uint8_t *literals, size_t n_literals, size_t period, size_t match)
{
    /* Each kind of symbol is a single one, so that the sequence itself is nothing but the extra bits of the three. */
    enum { NUMBER = 1, SINGLE_SYMBOLS = 0x54, LENGTH_CODE = 36, LEAST_MATCH = 3, OFFSETS_BEFORE = 3, FIRST_WITH_EXTRA = 16 };
    const size_t length = match - LEAST_MATCH, offset = period + OFFSETS_BEFORE;     /* 1 to 3 stand for those that came before */
    const int length_bits = highest_bit(length), offset_bits = highest_bit(offset);
    uint8_t *at = to;
    int count = n_literals == FIRST_WITH_EXTRA;      /* one extra bit, which is 0 */
    uint32_t bits = (uint32_t)(length - ((size_t)1 << length_bits)) << count;

    count += length_bits;
    bits |= (uint32_t)offset << count;               /* its highest bit is where they end */
    count += offset_bits + 1;
    *at++ = (uint8_t)(n_literals << 3);              /* raw */
    memcpy(at, literals, n_literals);
    at += n_literals;
    *at++ = NUMBER;
    *at++ = SINGLE_SYMBOLS;
    *at++ = (uint8_t)n_literals;                     /* up to 16 the code of their number */
    *at++ = (uint8_t)offset_bits;
    *at++ = (uint8_t)(LENGTH_CODE + length_bits);
    for (; count > 0; count -= 8, bits >>= 8) {
        *at++ = (uint8_t)bits;
    }
    return (size_t)(at - to);
}

/* A block of n bytes; its size.  Only the first one has literals. */
static size_t put_block(uint8_t *to, const uint8_t *src, size_t n, size_t period, bool first, bool last)
{
    enum { RAW, ONE_BYTE, COMPRESSED };
    const size_t literals = first ? period : 0;
    const uint32_t kind = !first && period == 1 ? ONE_BYTE : n < RAW_BELOW ? RAW : COMPRESSED;
    uint8_t *const content = to + BLOCK_HEADER;
    const size_t own = kind == COMPRESSED ? put_sequence(content, src, literals, period, n - literals) : kind == RAW ? n : 1;
    const uint32_t header = (uint32_t)(kind == COMPRESSED ? own : n) << 3 | kind << 1 | last;

    if (kind != COMPRESSED) {
        memcpy(content, src, own);
    }
    for (int i = 0; i < BLOCK_HEADER; i++) {
        to[i] = (uint8_t)(header >> 8 * i);
    }
    return BLOCK_HEADER + own;
}

size_t zc_zstd_repeat(const uint8_t *src, size_t n, uint8_t *dst, size_t room)
{
    const size_t blocks = n / BLOCK_MAX + 1;

    if (n > UINT32_MAX || room < HEADER_MAX + blocks * (BLOCK_HEADER + SEQUENCE_MAX) + RAW_BELOW) {
        return 0;
    }
    const size_t period = period_of(src);
    size_t size = put_header(dst, n);
    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < BLOCK_MAX ? n - done : BLOCK_MAX;
        size += put_block(dst + size, src + done, piece, period, done == 0, done + piece == n);
    }
    return size;
}
