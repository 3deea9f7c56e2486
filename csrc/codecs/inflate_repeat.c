/* SPDX-License-Identifier: MIT */
#include "codecs/inflate_repeat.h"

#include <string.h>

enum {
    MAX_BITS = 15,           /* of a code */
    END_SYMBOL = 256, FIRST_LENGTH = 257,
    LENGTHS = 286, DISTANCES = 30,       /* symbols that stand for something */
    FIXED_SYMBOLS = 288, CODE_SYMBOLS = 19,
    STRIDE_MAX = 16384       /* bytes that are copied at once: they stay in the nearest cache */
};

/* ---- bits, from the lowest of each byte on ---------------------------------------------------------- */

typedef struct bits {
    const uint8_t *next, *end;
    uint64_t held;
    int count;
    bool over;               /* more were asked for than there are */
} bits;

static uint32_t take(bits *b, int count)
{
    while (b->count < count) {
        if (b->next == b->end) {
            b->over = true;
            return 0;
        }
        b->held |= (uint64_t)*b->next++ << b->count;
        b->count += 8;
    }
    const uint32_t value = (uint32_t)(b->held & ((UINT64_C(1) << count) - 1));
    b->held >>= count;
    b->count -= count;
    return value;
}

/* ---- codes ------------------------------------------------------------------------------------------ */

/* A canonical code: how many symbols have so many bits, and the symbols in the order of their codes. */
typedef struct code {
    uint16_t count[MAX_BITS + 1];
    uint16_t symbol[FIXED_SYMBOLS];
} code;

/* Of n lengths.  False where zlib refuses them: more codes than there is room for, or fewer, unless it is one of a single bit. */
static bool make_code(code *c, const uint8_t *lengths, int n, bool may_be_short)
{
    uint16_t next[MAX_BITS + 1];
    int32_t left = 1;
    int longest = 0;

    memset(c->count, 0, sizeof c->count);
    for (int s = 0; s < n; s++) {
        c->count[lengths[s]]++;
    }
    next[1] = 0;
    for (int length = 1; length <= MAX_BITS; length++) {
        left = 2 * left - c->count[length];
        if (left < 0) {
            return false;
        }
        longest = c->count[length] > 0 ? length : longest;
        if (length < MAX_BITS) {
            next[length + 1] = (uint16_t)(next[length] + c->count[length]);
        }
    }
    for (int s = 0; s < n; s++) {
        if (lengths[s] > 0) {
            c->symbol[next[lengths[s]]++] = (uint16_t)s;
        }
    }
    return left == 0 || (may_be_short && longest <= 1);
}

/* The next symbol; -1: none has that code. */
static int take_symbol(bits *b, const code *c)
{
    int32_t value = 0, first = 0, place = 0;     /* of the codes of a length: the first, and the place of its symbol */

    for (int length = 1; length <= MAX_BITS && !b->over; length++) {
        value = 2 * value + (int32_t)take(b, 1);
        if (value - first < c->count[length]) {
            return c->symbol[place + value - first];
        }
        place += c->count[length];
        first = 2 * (first + c->count[length]);
    }
    return -1;
}

/* ---- the header of a block (RFC 1951, 3.2.6 and 3.2.7) ------------------------------------------------ */

static bool fixed_codes(code *literals, code *distances)
{
    uint8_t lengths[FIXED_SYMBOLS];

    for (int s = 0; s < FIXED_SYMBOLS; s++) {
        lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
    }
    if (!make_code(literals, lengths, FIXED_SYMBOLS, false)) {
        return false;
    }
    memset(lengths, 5, 32);
    return make_code(distances, lengths, 32, false);
}

/* The lengths of n codes, themselves in a code; some of its symbols repeat a length. */
static bool take_lengths(bits *b, const code *c, uint8_t *lengths, int n)
{
    for (int i = 0; i < n;) {
        const int symbol = take_symbol(b, c);
        int times = 1;
        uint8_t length = 0;

        if (symbol < 0 || (symbol == 16 && i == 0)) {
            return false;
        }
        if (symbol < 16) {
            length = (uint8_t)symbol;
        } else if (symbol == 16) {
            length = lengths[i - 1];
            times = 3 + (int)take(b, 2);
        } else {
            times = symbol == 17 ? 3 + (int)take(b, 3) : 11 + (int)take(b, 7);
        }
        if (times > n - i) {
            return false;
        }
        memset(lengths + i, length, (size_t)times);
        i += times;
    }
    return !b->over;
}

static bool take_codes(bits *b, code *literals, code *distances)
{
    static const uint8_t order[CODE_SYMBOLS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LENGTHS + DISTANCES] = {0};
    const int n_literals = FIRST_LENGTH + (int)take(b, 5), n_distances = 1 + (int)take(b, 5), n = 4 + (int)take(b, 4);

    if (n_literals > LENGTHS || n_distances > DISTANCES) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        lengths[order[i]] = (uint8_t)take(b, 3);
    }
    code *const own = literals;                              /* until the others are known */
    if (b->over || !make_code(own, lengths, CODE_SYMBOLS, false) ||
        !take_lengths(b, own, lengths, n_literals + n_distances) || lengths[END_SYMBOL] == 0) {
        return false;
    }
    return make_code(literals, lengths, n_literals, true) && make_code(distances, lengths + n_literals, n_distances, true);
}

/* ---- what the symbols stand for ----------------------------------------------------------------------- */

typedef struct output {
    uint8_t *dst;
    size_t made, cap;
    size_t distance, repeated;       /* bytes that are still to be made: a repetition of the last `distance` ones */
} output;

/* Make what is still to be made. */
static void repeat(output *o)
{
    const uint8_t *const from = o->dst + o->made - o->distance;
    size_t have = o->distance;               /* a multiple of the distance, or the end has come */

    while (o->repeated > 0) {
        const size_t n = o->repeated < have ? o->repeated : have;

        memcpy(o->dst + o->made, from, n);
        o->made += n;
        o->repeated -= n;
        have += have <= STRIDE_MAX / 2 ? n : 0;
    }
}

static bool put_literal(output *o, int literal)
{
    repeat(o);
    if (o->made == o->cap) {
        return false;
    }
    o->dst[o->made++] = (uint8_t)literal;
    return true;
}

/* Matches that follow each other at the same distance are one. */
static bool put_match(output *o, size_t length, size_t distance)
{
    if (length > o->cap - o->made - o->repeated || distance > o->made + o->repeated) {
        return false;
    }
    if (distance != o->distance) {
        repeat(o);
        o->distance = distance;
    }
    o->repeated += length;
    return true;
}

/* The length of the match that a symbol begins; 0: of none. */
static size_t take_length(bits *b, int symbol)
{
    const int at = symbol - FIRST_LENGTH, extra = at < 8 ? 0 : at / 4 - 1;

    if (symbol >= LENGTHS) {
        return 0;
    }
    return at < 8 ? 3 + (size_t)at : at == 28 ? 258 : 3 + ((size_t)(4 + at % 4) << extra) + take(b, extra);
}

/* How far back a match begins; 0: no such code. */
static size_t take_distance(bits *b, const code *distances)
{
    const int at = take_symbol(b, distances), extra = at < 4 ? 0 : at / 2 - 1;

    if (at < 0 || at >= DISTANCES) {
        return 0;
    }
    return at < 4 ? 1 + (size_t)at : 1 + ((size_t)(2 + at % 2) << extra) + take(b, extra);
}

/* All of a block but its header. */
static bool take_block(bits *b, const code *literals, const code *distances, output *o)
{
    for (;;) {
        const int symbol = take_symbol(b, literals);

        if (b->over || symbol < 0) {
            return false;
        }
        if (symbol == END_SYMBOL) {
            return true;
        }
        if (symbol < END_SYMBOL) {
            if (!put_literal(o, symbol)) {
                return false;
            }
            continue;
        }
        const size_t length = take_length(b, symbol), distance = take_distance(b, distances);
        if (b->over || length == 0 || distance == 0 || !put_match(o, length, distance)) {
            return false;
        }
    }
}

bool zc_inflate_repeat(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *taken, size_t *made)
{
    bits b = {.next = src, .end = src + n};
    output o = {.dst = dst, .cap = cap};
    code literals, distances;
    bool last = false;

    while (!last) {
        last = take(&b, 1) != 0;
        const uint32_t kind = take(&b, 2);
        const bool known = kind == 1 ? fixed_codes(&literals, &distances) : kind == 2 && take_codes(&b, &literals, &distances);

        if (b.over || !known || !take_block(&b, &literals, &distances, &o)) {
            return false;
        }
    }
    repeat(&o);
    *taken = (size_t)(b.next - src) - (size_t)b.count / 8;
    *made = o.made;
    return true;
}
