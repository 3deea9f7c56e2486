/* SPDX-License-Identifier: MIT
 *
 * Three words of state take in blocks of twelve bytes; each block is mixed into all of them before the next one:
 * nothing can be done in parallel.
 */
#include "kernels/lookup3.h"

#include <string.h>

#include "base/arith.h"
#include "base/cpu.h"

#define START UINT32_C(0xdeadbeef)

enum { BLOCK = 12 };

typedef struct state {
    uint32_t a, b, c;
} state;

ZC_INLINE uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* One step of the mixing: y is subtracted from x and its rotated bits are added by XOR; z is added to y. */
#define MIX(x, y, z, by) ((x) -= (y), (x) ^= rotate((y), (by)), (y) += (z))

/* One step at the end: x is stirred with the bits of y. */
#define STIR(x, y, by) ((x) ^= (y), (x) -= rotate((y), (by)))

ZC_INLINE void add(state *s, const uint8_t *block)
{
    s->a += zc_load_le32(block);
    s->b += zc_load_le32(block + 4);
    s->c += zc_load_le32(block + 8);
}

ZC_INLINE void mix(state *s)
{
    MIX(s->a, s->c, s->b, 4);
    MIX(s->b, s->a, s->c, 6);
    MIX(s->c, s->b, s->a, 8);
    MIX(s->a, s->c, s->b, 16);
    MIX(s->b, s->a, s->c, 19);
    MIX(s->c, s->b, s->a, 4);
}

ZC_INLINE void finish(state *s)
{
    STIR(s->c, s->b, 14);
    STIR(s->a, s->c, 11);
    STIR(s->b, s->a, 25);
    STIR(s->c, s->b, 16);
    STIR(s->a, s->c, 4);
    STIR(s->b, s->a, 14);
    STIR(s->c, s->b, 24);
}

/* Mix in blocks as long as something follows them; how many bytes these were. */
static size_t mix_blocks(state *all, const uint8_t *data, size_t n, bool is_last)
{
    state s = *all;
    size_t done = 0;

    for (; n - done > BLOCK || (!is_last && n - done == BLOCK); done += BLOCK) {
        add(&s, data + done);
        mix(&s);
    }
    *all = s;
    return done;
}

uint32_t zc_lookup3(uint32_t initial, const uint8_t *prefix, size_t n_prefix, const uint8_t *data, size_t n)
{
    const uint32_t first = START + (uint32_t)(n_prefix + n) + initial;
    state s = {first, first, first};
    uint8_t block[BLOCK] = {0};
    size_t held = n_prefix, done = 0;        /* bytes in block; bytes of data that have been taken */

    if (n_prefix + n == 0) {
        return s.c;
    }
    if (n_prefix > 0) {
        const size_t whole = mix_blocks(&s, prefix, n_prefix, n == 0);
        held = n_prefix - whole;
        memcpy(block, prefix + whole, held);
        done = n < BLOCK - held ? n : BLOCK - held;
        if (done > 0) {
            memcpy(block + held, data, done);
            held += done;
        }
        if (done < n) {
            add(&s, block);
            mix(&s);
            held = 0;
        }
    }
    if (done < n) {
        done += mix_blocks(&s, data + done, n - done, true);
        held = n - done;
        memset(block, 0, sizeof block);
        memcpy(block, data + done, held);
    }
    add(&s, block);
    finish(&s);
    return s.c;
}
