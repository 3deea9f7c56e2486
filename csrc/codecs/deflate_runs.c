/* SPDX-License-Identifier: MIT */
#include "codecs/deflate_runs.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "codecs/deflate_block.h"
#include "kernels/byte_order.h"

int zc_deflate_runs_in_64(const uint8_t *src, size_t n)
{
    enum { PLACES = 64, PERIOD = 8, LENGTH = 2 * PERIOD, LEAST = 256 };
    int runs = 0;

    for (size_t i = 0; i < PLACES && n >= LEAST; i++) {
        const uint8_t *const at = src + (n - LENGTH) / PLACES * i;

        runs += memcmp(at, at + PERIOD, PERIOD) == 0;
    }
    return runs;
}

enum {
    TOKENS = 16384,          /* of a block */
    TABLE_BITS = 14, WORD = 4,       /* matches are found by their first bytes */
    ITEM = 16,               /* runs of longer ones are not looked for */
    NEAR = 256,              /* the shortest matches from farther away take more bits than their bytes */
    SHORT = 8                /* matches than which one a byte later may be better, as than those from far away */
};

typedef struct search {
    const uint8_t *src;
    size_t n;
    int shift;               /* from a hash to a place in the table */
    size_t last;             /* how far back the last match was, if it can be that of a run */
    size_t n_tokens;
    bool full;               /* there was no room for a block */
    zc_deflate_bits bits;
    uint32_t table[1 << TABLE_BITS];         /* where such bytes were last seen */
    zc_deflate_token tokens[TOKENS];
} search;

static void add_token(search *s, zc_deflate_token token)
{
    if (s->n_tokens == TOKENS) {
        s->full = s->full || !zc_deflate_block(&s->bits, s->tokens, TOKENS, false);
        s->n_tokens = 0;
    }
    s->tokens[s->n_tokens++] = token;
}

static void add_match(search *s, size_t length, size_t back)
{
    while (length > 0) {
        size_t some = length < ZC_DEFLATE_LONGEST ? length : ZC_DEFLATE_LONGEST;

        if (length > some && length - some < ZC_DEFLATE_SHORTEST) {
            some = length - ZC_DEFLATE_SHORTEST;             /* the rest would be too short */
        }
        add_token(s, zc_deflate_match(some, back));
        length -= some;
    }
}

/* The place in the table of the four bytes at `at`; what it held, which is that of `at` now. */
ZC_INLINE size_t enter(search *s, size_t at)
{
    uint32_t *const place = &s->table[zc_load_le32(s->src + at) * 2654435761u >> s->shift];
    const size_t before = *place;

    *place = (uint32_t)at;
    return before;
}

/* How many bytes at `at` are those that lie `back` before. */
ZC_INLINE size_t length_at(const search *s, size_t at, size_t back)
{
    const uint8_t *const src = s->src;
    size_t i = at;

    for (; i + 8 <= s->n; i += 8) {
        const uint64_t differ = zc_load_le64(src + i) ^ zc_load_le64(src + i - back);
        if (differ != 0) {
            return i - at + (size_t)(63 - zc_leading_zeros(differ & (0 - differ))) / 8;
        }
    }
    while (i < s->n && src[i] == src[i - back]) {
        i++;
    }
    return i - at;
}

ZC_INLINE size_t length_of_last(const search *s, size_t at)
{
    const size_t last = s->last;

    return last > 0 && zc_load_le32(s->src + at) == zc_load_le32(s->src + at - last) ? length_at(s, at, last) : 0;
}

/* The match at `at`, where five bytes are left at least: its length, and how far back; 0: there is none. */
ZC_INLINE size_t find(search *s, size_t at, size_t *back)
{
    const size_t before = enter(s, at), distance = at - before;
    size_t length = length_of_last(s, at);

    *back = s->last;
    if (length > 0) {
        return length;
    }
    if (before < at && distance <= ZC_DEFLATE_REACH && zc_load_le32(s->src + at) == zc_load_le32(s->src + before)) {
        length = length_at(s, at, distance);
        *back = distance;
    }
    const bool is_far = *back > ITEM;
    const size_t after = is_far || length < SHORT ? length_of_last(s, at + 1) : 0;
    const bool is_better_later = is_far && after > SHORT ? after + 1 >= length : after > length;
    return is_better_later || (length == WORD && *back > NEAR) ? 0 : length;
}

static void find_all(search *s)
{
    size_t at = 0;

    while (at + WORD < s->n && !s->full) {
        size_t back = 0;
        const size_t length = find(s, at, &back);

        if (length == 0) {
            add_token(s, s->src[at++]);
            continue;
        }
        add_match(s, length, back);
        if (length < 4 * SHORT) {
            for (size_t i = at + 1; i < at + length && i + WORD <= s->n; i++) {
                enter(s, i);
            }
        } else if (at + length + WORD <= s->n) {
            enter(s, at + length - 1);
            enter(s, at + length - 2);
        }
        s->last = back <= ITEM || s->last == 0 || s->last > ITEM ? back : s->last;
        at += length;
    }
    while (at < s->n) {
        add_token(s, s->src[at++]);
    }
}

size_t zc_deflate_runs(zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst, size_t room)
{
    search *const s = zc_scratch_push(ws, sizeof *s, NULL);
    int bits = 8;

    if (s == NULL) {
        return 0;
    }
    while (bits < TABLE_BITS && (size_t)1 << bits < n / 4) {
        bits++;
    }
    memset(s, 0, offsetof(search, table) + (sizeof *s->table << bits));
    s->src = src;
    s->n = n;
    s->shift = 32 - bits;
    s->bits = (zc_deflate_bits){.to = dst, .end = dst + room};
    find_all(s);
    const bool done = !s->full && zc_deflate_block(&s->bits, s->tokens, s->n_tokens, true);
    const size_t size = done ? (size_t)(s->bits.to - dst) : 0;
    zc_scratch_pop(ws);
    return size;
}
