/* SPDX-License-Identifier: MIT */
#include "codecs/deflate_block.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "kernels/byte_order.h"

enum {
    LITERALS = 288, DISTANCES = 30, LENGTHS = 19,           /* symbols of the three alphabets */
    END = 256, FIRST_MATCH = 257, LONGEST_MATCH = 285,
    LONGEST_CODE = 15, LONGEST_LENGTH_CODE = 7
};

/* ---- codes ------------------------------------------------------------------------------------------ */

typedef struct alphabet {
    int n, longest;          /* symbols, and bits of a code */
    uint32_t times[LITERALS];        /* each symbol occurs */
    uint8_t length[LITERALS];        /* of its code; 0: none */
    uint16_t code[LITERALS];         /* its lowest bit goes first */
} alphabet;

/* Symbols that occur, the rarest first, each with how often above its nine bits; returns how many. */
static int sort(const alphabet *a, uint32_t *sorted)
{
    static const int gaps[] = {132, 57, 23, 10, 4, 1};
    int n = 0;

    for (int s = 0; s < a->n; s++) {
        if (a->times[s] > 0) {
            sorted[n++] = a->times[s] << 9 | (uint32_t)s;
        }
    }
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        for (int i = gaps[g]; i < n; i++) {
            const uint32_t one = sorted[i];
            int at = i;
            for (; at >= gaps[g] && sorted[at - gaps[g]] > one; at -= gaps[g]) {
                sorted[at] = sorted[at - gaps[g]];
            }
            sorted[at] = one;
        }
    }
    return n;
}

/*
 * How deep the leaves of Huffman's tree lie, in their order; n is 2 at least.  Pairs are made in ascending order of
 * their weights, so that the lightest of all is the next leaf or the next pair.
 */
static void make_depths(const uint32_t *sorted, int n, uint8_t *depth)
{
    uint32_t pair[LITERALS];
    uint16_t above_leaf[LITERALS], above_pair[LITERALS];
    uint8_t pair_depth[LITERALS];
    int leaf = 0, next = 0;

    for (int made = 0; made < n - 1; made++) {
        pair[made] = 0;
        for (int side = 0; side < 2; side++) {
            if (next == made || (leaf < n && sorted[leaf] >> 9 <= pair[next])) {
                pair[made] += sorted[leaf] >> 9;
                above_leaf[leaf++] = (uint16_t)made;
            } else {
                pair[made] += pair[next];
                above_pair[next++] = (uint16_t)made;
            }
        }
    }
    pair_depth[n - 2] = 0;
    for (int i = n - 3; i >= 0; i--) {
        pair_depth[i] = pair_depth[above_pair[i]] + 1;
    }
    for (int i = 0; i < n; i++) {
        depth[i] = pair_depth[above_leaf[i]] + 1;
    }
}

/* Shorten codes that are too long, at the cost of the longest of those that are not. */
static void limit(int *count, int longest)
{
    uint32_t used = 0;       /* of all codes of the longest length */

    for (int l = 1; l <= longest; l++) {
        used += (uint32_t)count[l] << (longest - l);
    }
    for (; used > 1u << longest; used--) {
        int l = longest - 1;
        while (count[l] == 0) {
            l--;
        }
        count[l]--;
        count[l + 1] += 2;
        count[longest]--;
    }
}

static void make_codes(alphabet *a)
{
    uint32_t count[LONGEST_CODE + 1] = {0}, next[LONGEST_CODE + 1], first = 0;

    for (int s = 0; s < a->n; s++) {
        count[a->length[s]]++;
    }
    count[0] = 0;
    for (int l = 1; l <= LONGEST_CODE; l++) {
        next[l] = first = (first + count[l - 1]) << 1;
    }
    for (int s = 0; s < a->n; s++) {
        const int l = a->length[s];
        if (l > 0) {
            const uint32_t code = next[l]++;
            uint32_t turned = 0;
            for (int bit = 0; bit < l; bit++) {
                turned |= (code >> bit & 1) << (l - 1 - bit);
            }
            a->code[s] = (uint16_t)turned;
        }
    }
}

/* Codes of the least bits.  Two symbols have one at least: readers refuse codes that leave anything open. */
static void fit(alphabet *a)
{
    uint32_t sorted[LITERALS];
    uint8_t depth[LITERALS];
    int count[LITERALS] = {0};
    int n = sort(a, sorted);         /* of one, the second is put after it, whatever its weight */

    for (int s = 0; n < 2; s++) {
        if (a->times[s] == 0) {
            sorted[n++] = 1 << 9 | (uint32_t)s;
        }
    }
    make_depths(sorted, n, depth);
    for (int i = 0; i < n; i++) {
        count[depth[i] < a->longest ? depth[i] : a->longest]++;
    }
    limit(count, a->longest);
    memset(a->length, 0, sizeof a->length);
    for (int i = 0, l = a->longest; i < n; i++) {
        while (count[l] == 0) {
            l--;
        }
        count[l]--;
        a->length[sorted[i] & 511] = (uint8_t)l;
    }
    make_codes(a);
}

/* The lengths of RFC 1951, 3.2.6. */
static void set_fixed(alphabet *literals, alphabet *distances)
{
    memset(literals->length, 8, 144);
    memset(literals->length + 144, 9, 112);
    memset(literals->length + 256, 7, 24);
    memset(literals->length + 280, 8, 8);
    literals->n = LITERALS;
    memset(distances->length, 5, DISTANCES);
    distances->n = DISTANCES;
}

/* ---- symbols (RFC 1951, 3.2.5) ------------------------------------------------------------------------ */

/* The first numbers have symbols of their own; then each group of symbols stands for twice as many as the last. */
typedef struct spread {
    int symbol, bits;
    uint32_t extra;
} spread;

ZC_INLINE spread spread_of(uint32_t above, int group_bits)
{
    if (above >> (group_bits + 1) == 0) {
        return (spread){(int)above, 0, 0};
    }
    const int bits = 63 - zc_leading_zeros(above) - group_bits;
    return (spread){(bits << group_bits) + (int)(above >> bits), bits, above & ((1u << bits) - 1)};
}

ZC_INLINE spread length_of(zc_deflate_token token)
{
    const uint32_t length = token >> 16;
    spread s = spread_of(length - ZC_DEFLATE_SHORTEST, 2);

    s.symbol += FIRST_MATCH;
    return length == ZC_DEFLATE_LONGEST ? (spread){LONGEST_MATCH, 0, 0} : s;
}

ZC_INLINE spread distance_of(zc_deflate_token token)
{
    return spread_of((token & 0xffff) - 1, 1);
}

/* How often each symbol occurs, the end included; returns the bits after the codes. */
static uint64_t count_symbols(const zc_deflate_token *tokens, size_t n, alphabet *literals, alphabet *distances)
{
    uint64_t extra = 0;

    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 256) {
            literals->times[tokens[i]]++;
        } else {
            const spread length = length_of(tokens[i]), distance = distance_of(tokens[i]);
            literals->times[length.symbol]++;
            distances->times[distance.symbol]++;
            extra += (uint64_t)(length.bits + distance.bits);
        }
    }
    literals->times[END]++;
    return extra;
}

static uint64_t bits_of(const alphabet *a, const alphabet *times)
{
    uint64_t bits = 0;

    for (int s = 0; s < times->n; s++) {
        bits += (uint64_t)times->times[s] * a->length[s];
    }
    return bits;
}

/* ---- lengths of codes (RFC 1951, 3.2.7) ----------------------------------------------------------------- */

enum { AGAIN = 16, ZEROS = 17, MANY_ZEROS = 18 };
static const uint8_t length_order[LENGTHS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

typedef struct lengths {
    int literals, distances, order;          /* how many are given of each */
    int n;
    uint8_t symbol[LITERALS + DISTANCES], extra[LITERALS + DISTANCES];
    alphabet codes;
} lengths;

static int extra_bits(int symbol)
{
    return symbol == AGAIN ? 2 : symbol == ZEROS ? 3 : symbol == MANY_ZEROS ? 7 : 0;
}

static void add_length(lengths *l, int symbol, int extra)
{
    l->symbol[l->n] = (uint8_t)symbol;
    l->extra[l->n++] = (uint8_t)extra;
    l->codes.times[symbol]++;
}

/* A length that occurs so many times in a row. */
static void add_run(lengths *l, int length, int times)
{
    int most = length == 0 ? 138 : 6;

    if (length != 0) {
        add_length(l, length, 0);
        times--;
    }
    while (times >= 3) {
        const int some = times < most ? times : most;
        if (length != 0) {
            add_length(l, AGAIN, some - 3);
        } else {
            add_length(l, some > 10 ? MANY_ZEROS : ZEROS, some - (some > 10 ? 11 : 3));
        }
        times -= some;
    }
    for (; times > 0; times--) {
        add_length(l, length, 0);
    }
}

static int used(const uint8_t *of, int n, int least)
{
    while (n > least && of[n - 1] == 0) {
        n--;
    }
    return n;
}

/* Returns the bits that they take. */
static uint64_t describe(lengths *l, const alphabet *literals, const alphabet *distances)
{
    uint8_t all[LITERALS + DISTANCES];
    uint64_t bits = 14;

    l->literals = used(literals->length, literals->n, FIRST_MATCH);
    l->distances = used(distances->length, distances->n, 1);
    memcpy(all, literals->length, (size_t)l->literals);
    memcpy(all + l->literals, distances->length, (size_t)l->distances);
    for (int i = 0, end; i < l->literals + l->distances; i = end) {
        for (end = i + 1; end < l->literals + l->distances && all[end] == all[i]; end++) {
        }
        add_run(l, all[i], end - i);
    }
    l->codes.n = LENGTHS;
    l->codes.longest = LONGEST_LENGTH_CODE;
    fit(&l->codes);
    l->order = LENGTHS;
    while (l->order > 4 && l->codes.length[length_order[l->order - 1]] == 0) {
        l->order--;
    }
    for (int i = 0; i < l->n; i++) {
        bits += (uint64_t)(l->codes.length[l->symbol[i]] + extra_bits(l->symbol[i]));
    }
    return bits + 3 * (uint64_t)l->order;
}

/* ---- the stream ------------------------------------------------------------------------------------------- */

/* Up to 56 bits; what is held is stored each time, so that there must be room for eight bytes. */
ZC_INLINE void put(zc_deflate_bits *b, uint64_t bits, int count)
{
    zc_assert(count <= 56 && b->end - b->to >= 8);
    b->held |= bits << b->count;
    b->count += count;
    zc_store_le64(b->to, b->held);
    b->to += b->count >> 3;
    b->held >>= b->count & ~7;
    b->count &= 7;
}

static void put_lengths(zc_deflate_bits *b, const lengths *l)
{
    put(b, (uint64_t)(l->literals - 257), 5);
    put(b, (uint64_t)(l->distances - 1), 5);
    put(b, (uint64_t)(l->order - 4), 4);
    for (int i = 0; i < l->order; i++) {
        put(b, l->codes.length[length_order[i]], 3);
    }
    for (int i = 0; i < l->n; i++) {
        const int symbol = l->symbol[i];
        put(b, l->codes.code[symbol], l->codes.length[symbol]);
        put(b, l->extra[i], extra_bits(symbol));
    }
}

ZC_INLINE void add(uint64_t *bits, int *count, uint64_t more, int n)
{
    *bits |= more << *count;
    *count += n;
}

static void put_tokens(zc_deflate_bits *b, const zc_deflate_token *tokens, size_t n, const alphabet *literals,
                       const alphabet *distances)
{
    for (size_t i = 0; i < n; i++) {
        const zc_deflate_token token = tokens[i];
        if (token < 256) {
            put(b, literals->code[token], literals->length[token]);
            continue;
        }
        const spread length = length_of(token), distance = distance_of(token);
        uint64_t bits = 0;
        int count = 0;
        add(&bits, &count, literals->code[length.symbol], literals->length[length.symbol]);
        add(&bits, &count, length.extra, length.bits);
        add(&bits, &count, distances->code[distance.symbol], distances->length[distance.symbol]);
        add(&bits, &count, distance.extra, distance.bits);
        put(b, bits, count);
    }
    put(b, literals->code[END], literals->length[END]);
}

bool zc_deflate_block(zc_deflate_bits *b, const zc_deflate_token *tokens, size_t n, bool last)
{
    alphabet own = {.n = LONGEST_MATCH + 1, .longest = LONGEST_CODE};
    alphabet own_distances = {.n = DISTANCES, .longest = LONGEST_CODE};
    alphabet fixed, fixed_distances;
    lengths l = {.n = 0};
    const uint64_t extra = count_symbols(tokens, n, &own, &own_distances);

    zc_assert(n <= (size_t)1 << 22);
    fit(&own);
    fit(&own_distances);
    set_fixed(&fixed, &fixed_distances);
    const uint64_t by_own =
        describe(&l, &own, &own_distances) + bits_of(&own, &own) + bits_of(&own_distances, &own_distances);
    const uint64_t by_fixed = bits_of(&fixed, &own) + bits_of(&fixed_distances, &own_distances);
    const bool is_fixed = by_fixed <= by_own;
    const uint64_t size = ((is_fixed ? by_fixed : by_own) + extra + 3 + (uint64_t)b->count + 7) / 8;

    if ((uint64_t)(b->end - b->to) < size + 8) {
        return false;
    }
    put(b, last, 1);
    put(b, is_fixed ? 1 : 2, 2);
    if (is_fixed) {
        make_codes(&fixed);
        make_codes(&fixed_distances);
        put_tokens(b, tokens, n, &fixed, &fixed_distances);
    } else {
        put_lengths(b, &l);
        put_tokens(b, tokens, n, &own, &own_distances);
    }
    if (last && b->count > 0) {
        put(b, 0, 8 - b->count);
    }
    return true;
}
