/* SPDX-License-Identifier: MIT
 *
 * A stream is a row of tokens; each begins with a byte.  The upper three bits of the first one have no meaning.
 *
 *     000LLLLL                      L + 1 bytes follow as they are
 *     NNNDDDDD [more] d             a match: length N + 2, distance 256 * D + d + 1.  If N is 7, bytes are added to the
 *                                   length up to the first that is not 255
 *     NNN11111 [more] 255 hi lo     the same for distances from 8192 on, less that
 *
 * Every token is checked before anything is copied for it.  Where there is room, 16 or 32 bytes are copied at once
 * however few are wanted: what comes next takes the place of the others.
 */
#include "codecs/blosclz.h"

#include <string.h>

#include "base/arith.h"
#include "base/cpu.h"

enum {
    SPARE = 32,              /* bytes that a quick copy may write beyond its end, and most literals of a token */
    LONG_MATCH = 512,        /* from here on the C library copies as fast */
    SHORT_DISTANCES = 8192,  /* distances below this take one byte */
};

typedef struct stream {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end;
    const uint8_t *begin;    /* of the decoded bytes */
    bool over;
} stream;

/* Bytes that may be written: to the end, and not over what is still to be read. */
ZC_INLINE size_t room_of(const stream *s)
{
    const uint8_t *const end = s->over && s->in < s->out_end ? s->in : s->out_end;

    return end > s->out ? (size_t)(end - s->out) : 0;
}

ZC_INLINE void copy8(uint8_t *to, const uint8_t *from)
{
    uint64_t bytes;

    memcpy(&bytes, from, sizeof bytes);
    memcpy(to, &bytes, sizeof bytes);
}

ZC_INLINE void copy16(uint8_t *to, const uint8_t *from)
{
    uint8_t bytes[16];

    memcpy(bytes, from, sizeof bytes);
    memcpy(to, bytes, sizeof bytes);
}

/* n bytes from before them, exactly: what there is to copy from grows with each copy. */
static void copy_long(uint8_t *to, size_t distance, size_t n)
{
    const uint8_t *from = to - distance;

    while (n > 0) {
        const size_t there = (size_t)(to - from), some = n < there ? n : there;

        memcpy(to, from, some);
        to += some;
        n -= some;
    }
}

/* n bytes that repeat fewer than 8, and some more: what is stored beyond a step is stored over by the next one. */
ZC_INLINE void repeat(uint8_t *to, size_t distance, size_t n)
{
    uint64_t pattern = zc_load_le64(to - distance) & (((uint64_t)1 << 8 * distance) - 1);
    uint8_t twice[16];

    for (; distance <= 4; distance *= 2) {
        pattern |= pattern << 8 * distance;
    }
    if (distance != 8) {
        for (size_t i = 0; i < n; i += distance) {
            zc_store_le64(to + i, pattern);
        }
        return;
    }
    zc_store_le64(twice, pattern);
    zc_store_le64(twice + 8, pattern);
    for (size_t i = 0; i < n; i += 32) {
        copy16(to + i, twice);
        copy16(to + i + 16, twice);
    }
}

/* The same with SPARE bytes of room after them. */
ZC_INLINE void copy_match(uint8_t *to, size_t distance, size_t n)
{
    if (distance < 8) {
        repeat(to, distance, n);
        return;
    }
    copy8(to, to - distance);
    copy8(to + 8, to + 8 - distance);
    if (n <= 16) {
        return;
    }
    if (distance < 16) {
        for (size_t i = 16; i < n; i += 8) {
            copy8(to + i, to + i - distance);
        }
        return;
    }
    for (size_t i = 16; i < n; i += 32) {
        copy16(to + i, to + i - distance);
        copy16(to + i + 16, to + i + 16 - distance);
    }
}

ZC_INLINE bool take_literals(stream *s, size_t n)
{
    const size_t left = (size_t)(s->in_end - s->in), room = room_of(s);

    if (left >= SPARE && room >= SPARE) {
        copy16(s->out, s->in);
        copy16(s->out + 16, s->in + 16);
    } else if (n <= left && n <= room) {
        memmove(s->out, s->in, n);
    } else {
        return false;
    }
    s->in += n;
    s->out += n;
    return true;
}

/* Add to the length of a match what follows its token; false if it gets longer than `most`. */
ZC_INLINE bool lengthen(stream *s, size_t *length, size_t most)
{
    uint8_t more = 255;

    while (more == 255) {
        if (s->in == s->in_end || *length > most) {
            return false;
        }
        more = *s->in++;
        *length += more;
    }
    return true;
}

ZC_INLINE bool take_match(stream *s, uint8_t token)
{
    size_t n = (size_t)(token >> 5) + 2, distance = (size_t)(token & 31) << 8;
    const size_t room = room_of(s);

    if ((token >> 5 == 7 && !lengthen(s, &n, room)) || s->in == s->in_end || n > room) {
        return false;
    }
    distance += *s->in++ + 1u;
    if (distance == SHORT_DISTANCES) {
        if (s->in_end - s->in < 2) {
            return false;
        }
        distance += (size_t)s->in[0] << 8 | s->in[1];
        s->in += 2;
    }
    if (distance > (size_t)(s->out - s->begin)) {
        return false;
    }
    if (distance == 1) {
        memset(s->out, s->out[-1], n);
    } else if (n > LONG_MATCH || room - n < SPARE) {
        copy_long(s->out, distance, n);
    } else {
        copy_match(s->out, distance, n);
    }
    s->out += n;
    return true;
}

ZC_INLINE bool decode(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes, bool over)
{
    if (n == 0) {
        return false;
    }
    stream s = {src + 1, src + n, dst, dst + nbytes, dst, over};
    bool fits = take_literals(&s, (size_t)(src[0] & 31) + 1);
    while (fits && s.in < s.in_end) {
        const uint8_t token = *s.in++;
        fits = token < 32 ? take_literals(&s, (size_t)token + 1) : take_match(&s, token);
    }
    return fits && s.out == s.out_end;
}

bool zc_blosclz_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes)
{
    return decode(src, n, dst, nbytes, false);
}

bool zc_blosclz_decode_over(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes)
{
    return decode(src, n, dst, nbytes, true);
}
