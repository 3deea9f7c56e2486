/* SPDX-License-Identifier: MIT */
#include "codecs/deflate_repeat.h"

#include <string.h>

#include "kernels/repeats.h"

enum {
    MATCH = 258,             /* the longest match, which has a symbol of its own */
    END_SYMBOL = 256, FIRST_LENGTH = 257, MATCH_SYMBOL = 285,
    SYMBOLS = 286,
    HEADER_ROOM = 512        /* more than the header, the first bytes and the last match take */
};

/* ---- bits, from the lowest of each byte on -------------------------------------------------------- */

typedef struct bit_writer {
    uint8_t *to;
    uint64_t held;
    int count;
} bit_writer;

static void put(bit_writer *w, unsigned bits, int count)
{
    w->held |= (uint64_t)bits << w->count;
    for (w->count += count; w->count >= 8; w->count -= 8) {
        *w->to++ = (uint8_t)w->held;
        w->held >>= 8;
    }
}

/* Codes of symbols go from their highest bit on. */
static void put_code(bit_writer *w, unsigned code, int length)
{
    while (length-- > 0) {
        put(w, code >> length & 1, 1);
    }
}

/* ---- how far back matches reach -------------------------------------------------------------------- */

typedef struct distance {
    size_t bytes;
    int symbol, extra_bits;
    unsigned extra;
} distance;

/* Farther than the period may be: readers copy matches that overlap themselves in steps of the distance. */
static distance distance_of(const uint8_t *src)
{
    return memcmp(src, src + 1, ZC_REPEAT_PERIOD) == 0 ? (distance){1, 0, 0, 0} : (distance){ZC_REPEAT_PERIOD, 7, 2, 3};
}

/* ---- codes of literals and lengths ------------------------------------------------------------------ */

typedef struct codes {
    uint8_t length[SYMBOLS];
    uint16_t code[SYMBOLS];
} codes;

/* The symbol and the extra bits of a match of 3 to 257 bytes (RFC 1951, 3.2.5). */
static int length_symbol(size_t n, int *extra_bits, unsigned *extra)
{
    const unsigned above = (unsigned)n - 3;
    int bits = 0;

    while (above >> bits >= 8) {
        bits++;
    }
    *extra_bits = bits;
    *extra = above & ((1u << bits) - 1);
    return FIRST_LENGTH + 4 * bits + (int)(above >> bits);
}

/* One bit for the longest match; the other symbols that are used share the rest. */
static void make_codes(codes *c)
{
    unsigned code = 0;
    int used = 0, bits = 0, shorter;

    for (int s = 0; s < MATCH_SYMBOL; s++) {
        used += c->length[s] > 0;
    }
    while (1 << bits < used) {
        bits++;
    }
    shorter = (1 << bits) - used;
    for (int s = 0; s < MATCH_SYMBOL; s++) {
        if (c->length[s] > 0) {
            c->length[s] = (uint8_t)(shorter-- > 0 ? bits : bits + 1);
        }
    }
    c->length[MATCH_SYMBOL] = 1;
    for (int length = 1; length <= bits + 1; length++, code <<= 1) {
        for (int s = 0; s < SYMBOLS; s++) {
            if (c->length[s] == length) {
                c->code[s] = (uint16_t)code++;
            }
        }
    }
}

static void put_symbol(bit_writer *w, const codes *c, int symbol)
{
    put_code(w, c->code[symbol], c->length[symbol]);
}

/* ---- the header: lengths of codes, themselves in a code (RFC 1951, 3.2.7) ----------------------------- */

enum { SHORT_ZEROS = 17, LONG_ZEROS = 18 };

/* That code is always the same: lengths 0 to 4 and runs of zeros have three bits, 5 and 6 four. */
static const uint8_t code_lengths[19] = {3, 3, 3, 3, 3, 4, 4, [SHORT_ZEROS] = 3, [LONG_ZEROS] = 3};
static const uint8_t code_codes[19] = {0, 1, 2, 3, 4, 14, 15, [SHORT_ZEROS] = 5, [LONG_ZEROS] = 6};
static const uint8_t code_order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1};

static void put_length(bit_writer *w, int symbol)
{
    put_code(w, code_codes[symbol], code_lengths[symbol]);
}

static void put_zeros(bit_writer *w, int n)
{
    for (; n > 138; n -= 138) {
        put_length(w, LONG_ZEROS);
        put(w, 138 - 11, 7);
    }
    if (n >= 11) {
        put_length(w, LONG_ZEROS);
        put(w, (unsigned)n - 11, 7);
    } else if (n >= 3) {
        put_length(w, SHORT_ZEROS);
        put(w, (unsigned)n - 3, 3);
    } else {
        for (; n > 0; n--) {
            put_length(w, 0);
        }
    }
}

static void put_lengths(bit_writer *w, const uint8_t *lengths, int n)
{
    int zeros = 0;

    for (int i = 0; i < n; i++) {
        if (lengths[i] == 0) {
            zeros++;
            continue;
        }
        put_zeros(w, zeros);
        put_length(w, lengths[i]);
        zeros = 0;
    }
}

static void put_header(bit_writer *w, const codes *c, const distance *back)
{
    uint8_t distances[8] = {0};

    distances[back->symbol] = 1;
    put(w, 1, 1);                                            /* the last block */
    put(w, 2, 2);                                            /* with codes of its own */
    put(w, SYMBOLS - 257, 5);
    put(w, (unsigned)back->symbol, 5);
    put(w, sizeof code_order - 4, 4);
    for (size_t i = 0; i < sizeof code_order; i++) {
        put(w, code_lengths[code_order[i]], 3);
    }
    put_lengths(w, c->length, SYMBOLS);
    put_lengths(w, distances, back->symbol + 1);
}

/* ---- the stream ------------------------------------------------------------------------------------- */

static void put_distance(bit_writer *w, const distance *back)
{
    put(w, 0, 1);                                            /* the only code */
    put(w, back->extra, back->extra_bits);
}

size_t zc_deflate_repeat(const uint8_t *src, size_t n, uint8_t *dst, size_t room)
{
    const distance back = distance_of(src);
    const size_t matches = (n - back.bytes) / MATCH, left = (n - back.bytes) % MATCH;
    const size_t rest = left < 3 ? 0 : left;                 /* two bytes are too short for a match */
    const size_t first = back.bytes + left - rest;
    int last = 0, extra_bits = 0;
    unsigned extra = 0;
    bit_writer w = {.to = dst};
    codes codes = {.length = {[END_SYMBOL] = 1}};

    if (room < matches / 2 + HEADER_ROOM) {
        return 0;
    }
    for (size_t i = 0; i < first; i++) {
        codes.length[src[i]] = 1;
    }
    if (rest > 0) {
        last = length_symbol(rest, &extra_bits, &extra);
        codes.length[last] = 1;
    }
    make_codes(&codes);
    put_header(&w, &codes, &back);
    for (size_t i = 0; i < first; i++) {
        put_symbol(&w, &codes, src[i]);
    }
    for (size_t i = 0; i < matches; i++) {
        put_symbol(&w, &codes, MATCH_SYMBOL);
        put_distance(&w, &back);
    }
    if (rest > 0) {
        put_symbol(&w, &codes, last);
        put(&w, extra, extra_bits);
        put_distance(&w, &back);
    }
    put_symbol(&w, &codes, END_SYMBOL);
    put(&w, 0, (8 - w.count) % 8);
    return (size_t)(w.to - dst);
}
