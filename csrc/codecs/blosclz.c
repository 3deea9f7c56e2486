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

enum {
    SPARE = 32,              /* bytes that a quick copy may write beyond its end */
    LONGEST_LITERALS = 32,
    SHORT_DISTANCES = 8192,  /* distances below this take one byte */
};

typedef struct stream {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end;
    const uint8_t *begin;    /* of the decoded bytes */
    bool over;
} stream;

/* Bytes that may be written: to the end, and not over what is still to be read. */
static inline size_t room_of(const stream *s)
{
    const uint8_t *const end = s->over && s->in < s->out_end ? s->in : s->out_end;

    return end > s->out ? (size_t)(end - s->out) : 0;
}

static inline void copy16(uint8_t *to, const uint8_t *from)
{
    uint8_t bytes[16];

    memcpy(bytes, from, sizeof bytes);
    memcpy(to, bytes, sizeof bytes);
}

static inline bool take_literals(stream *s, size_t n)
{
    const size_t left = (size_t)(s->in_end - s->in), room = room_of(s);

    if (left >= LONGEST_LITERALS && room >= LONGEST_LITERALS) {
        copy16(s->out, s->in);
        copy16(s->out + 16, s->in + 16);
    } else if (n <= left && n <= room) {
        memmove(s->out, s->in, n);
    }
    s->in += n <= left ? n : left;
    s->out += n <= room ? n : 0;
    return n <= left && n <= room;
}

/* n bytes that repeat the last ones, fewer than 16. */
static inline void repeat(uint8_t *to, size_t distance, size_t n)
{
    uint8_t pattern[16];
    const size_t whole = sizeof pattern / distance * distance;

    memcpy(pattern, to - distance, distance);
    for (size_t i = distance; i < sizeof pattern; i++) {
        pattern[i] = pattern[i - distance];
    }
    for (size_t i = 0; i < n; i += whole) {
        memcpy(to + i, pattern, sizeof pattern);
    }
}

/* room: at least n */
static inline void copy_match(uint8_t *to, size_t distance, size_t n, size_t room)
{
    const uint8_t *from = to - distance;

    if (distance == 1) {
        memset(to, *from, n);
    } else if (room < n + SPARE) {
        for (size_t i = 0; i < n; i++) {
            to[i] = from[i];
        }
    } else if (distance < 16) {
        repeat(to, distance, n);
    } else {
        for (size_t i = 0; i < n; i += 16) {
            copy16(to + i, from + i);
        }
    }
}

/* The length of a match whose token is followed by more of it; 0 if it is longer than `most`. */
static inline size_t long_match(stream *s, size_t length, size_t most)
{
    uint8_t more = 255;

    while (more == 255) {
        if (s->in == s->in_end || length > most) {
            return 0;
        }
        more = *s->in++;
        length += more;
    }
    return length;
}

static inline bool take_match(stream *s, uint8_t token)
{
    size_t length = (size_t)(token >> 5) + 2;
    size_t distance = (size_t)(token & 31) << 8;
    const size_t room = room_of(s);

    if (token >> 5 == 7) {
        length = long_match(s, length, room);
    }
    if (s->in == s->in_end || length == 0 || length > room) {
        return false;
    }
    const uint8_t low = *s->in++;
    if (low == 255 && distance == 31 << 8) {
        if (s->in_end - s->in < 2) {
            return false;
        }
        distance = SHORT_DISTANCES + ((size_t)s->in[0] << 8 | s->in[1]);
        s->in += 2;
    } else {
        distance += low + 1u;
    }
    if (distance > (size_t)(s->out - s->begin)) {
        return false;
    }
    copy_match(s->out, distance, length, room);
    s->out += length;
    return true;
}

static inline bool decode(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes, bool over)
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
