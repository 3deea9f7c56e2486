/* SPDX-License-Identifier: MIT */
#include "kernels/utf8.h"

#include <string.h>

#include "base/assert.h"
#include "base/cpu.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

ZC_INLINE uint64_t load_word(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

bool zc_is_ascii(const uint8_t *src, size_t n)
{
    uint64_t seen = 0;
    size_t i = 0;

    if (n >= 8) {
        for (; i + 8 <= n; i += 8) {
            seen |= load_word(src + i);
        }
        return ((seen | load_word(src + n - 8)) & HIGH_BITS) == 0;
    }
    for (; i < n; i++) {
        seen |= src[i];
    }
    return (seen & 0x80) == 0;
}

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes of the character that begins with a byte of 0x80 or more; 0 if it is none. */
static size_t character(const uint8_t *p, size_t n)
{
    const uint8_t lead = p[0];

    if (n >= 2 && lead >= 0xc2 && lead <= 0xdf && is_tail(p[1])) {
        return 2;
    }
    if (n >= 3 && lead >= 0xe0 && lead <= 0xef && is_tail(p[1]) && is_tail(p[2])) {
        const bool overlong = lead == 0xe0 && p[1] < 0xa0;
        const bool surrogate = lead == 0xed && p[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (n >= 4 && lead >= 0xf0 && lead <= 0xf4 && is_tail(p[1]) && is_tail(p[2]) && is_tail(p[3])) {
        const bool overlong = lead == 0xf0 && p[1] < 0x90;
        const bool beyond = lead == 0xf4 && p[1] >= 0x90;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

/* Walk to the end or to the first byte that is wrong: where that is, and the highest lead byte on the way. */
ZC_INLINE size_t walk(const uint8_t *src, size_t n, size_t *count, uint8_t *highest)
{
    size_t i = 0, characters = 0;
    uint8_t most = 0;

    while (i < n) {
        if (n - i >= 8 && (load_word(src + i) & HIGH_BITS) == 0) {
            i += 8;
            characters += 8;
            continue;
        }
        const uint8_t lead = src[i];
        const size_t length = lead < 0x80 ? 1 : character(src + i, n - i);
        if (length == 0) {
            break;
        }
        most = lead > most ? lead : most;
        i += length;
        characters++;
    }
    *count = characters;
    *highest = most;
    return i;
}

size_t zc_utf8_valid(const uint8_t *src, size_t n)
{
    size_t count;
    uint8_t highest;

    return zc_is_ascii(src, n) ? n : walk(src, n, &count, &highest);
}

bool zc_utf8_measure(const uint8_t *src, size_t n, zc_utf8_text *text)
{
    uint8_t highest;

    if (walk(src, n, &text->count, &highest) != n) {
        return false;
    }
    text->bound = highest < 0x80 ? 0x7f : highest <= 0xc3 ? 0xff : highest <= 0xef ? 0xffff : 0x10ffff;
    return true;
}

/* The code point at *p, which is moved after it. */
ZC_INLINE uint32_t next_point(const uint8_t **p)
{
    const uint8_t *const b = *p;
    const uint32_t lead = b[0];

    if (lead < 0x80) {
        *p += 1;
        return lead;
    }
    if (lead < 0xe0) {
        *p += 2;
        return (lead & 0x1f) << 6 | (b[1] & 0x3f);
    }
    if (lead < 0xf0) {
        *p += 3;
        return (lead & 0x0f) << 12 | (uint32_t)(b[1] & 0x3f) << 6 | (b[2] & 0x3f);
    }
    *p += 4;
    return (lead & 0x07) << 18 | (uint32_t)(b[1] & 0x3f) << 12 | (uint32_t)(b[2] & 0x3f) << 6 | (b[3] & 0x3f);
}

/* The code point x at dst: what follows it. */
ZC_INLINE uint8_t *put_point(uint8_t *dst, uint32_t x)
{
    if (x < 0x80) {
        dst[0] = (uint8_t)x;
        return dst + 1;
    }
    if (x < 0x800) {
        dst[0] = (uint8_t)(0xc0 | x >> 6);
        dst[1] = (uint8_t)(0x80 | (x & 0x3f));
        return dst + 2;
    }
    if (x < 0x10000) {
        dst[0] = (uint8_t)(0xe0 | x >> 12);
        dst[1] = (uint8_t)(0x80 | (x >> 6 & 0x3f));
        dst[2] = (uint8_t)(0x80 | (x & 0x3f));
        return dst + 3;
    }
    dst[0] = (uint8_t)(0xf0 | x >> 18);
    dst[1] = (uint8_t)(0x80 | (x >> 12 & 0x3f));
    dst[2] = (uint8_t)(0x80 | (x >> 6 & 0x3f));
    dst[3] = (uint8_t)(0x80 | (x & 0x3f));
    return dst + 4;
}

/* Is it a surrogate, or after the last code point? */
ZC_INLINE bool is_none(uint32_t x)
{
    return (x & UINT32_C(0xfffff800)) == 0xd800 || x > 0x10ffff;
}

#define STAMP(BITS)                                                                              \
    static void decode_##BITS(uint##BITS##_t *dst, const uint8_t *src, size_t n)                 \
    {                                                                                            \
        const uint8_t *const end = src + n;                                                      \
        while (src < end) {                                                                      \
            *dst++ = (uint##BITS##_t)next_point(&src);                                           \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static bool encode_##BITS(uint8_t *dst, const uint##BITS##_t *src, size_t n, size_t *size)   \
    {                                                                                            \
        const uint64_t not_ascii = UINT64_MAX / UINT##BITS##_MAX * (UINT##BITS##_MAX ^ 0x7f);    \
        const size_t step = 64 / BITS;                                                           \
        uint8_t *at = dst;                                                                       \
        bool none = false;                                                                       \
        size_t i = 0;                                                                            \
        while (i < n) {                                                                          \
            if (n - i >= step && (load_word((const uint8_t *)(src + i)) & not_ascii) == 0) {     \
                for (size_t k = 0; k < step; k++) {                                              \
                    at[k] = (uint8_t)src[i + k];                                                 \
                }                                                                                \
                at += step;                                                                      \
                i += step;                                                                       \
                continue;                                                                        \
            }                                                                                    \
            none = none || is_none(src[i]);                                                      \
            at = put_point(at, src[i]);                                                          \
            i++;                                                                                 \
        }                                                                                        \
        *size = (size_t)(at - dst);                                                              \
        return !none;                                                                            \
    }

STAMP(8)
STAMP(16)
STAMP(32)

#define STAMP_NONE(BITS)                                                                         \
    static bool has_none_##BITS(const uint##BITS##_t *src, size_t n)                            \
    {                                                                                            \
        unsigned found = 0;                                                                      \
        for (size_t i = 0; i < n; i++) {                                                         \
            found |= is_none(src[i]);                                                            \
        }                                                                                        \
        return found != 0;                                                                       \
    }

STAMP_NONE(16)
STAMP_NONE(32)

bool zc_has_no_utf8(const void *src, int width, size_t n)
{
    zc_assert(width == 1 || width == 2 || width == 4);
    return width == 1 ? false : width == 2 ? has_none_16(src, n) : has_none_32(src, n);
}

void zc_utf8_decode(void *dst, int width, const uint8_t *src, size_t n)
{
    zc_assert(width == 1 || width == 2 || width == 4);
    switch (width) {
    case 1: decode_8(dst, src, n); break;
    case 2: decode_16(dst, src, n); break;
    default: decode_32(dst, src, n); break;
    }
}

bool zc_utf8_encode(uint8_t *dst, const void *src, int width, size_t n, size_t *size)
{
    zc_assert(width == 1 || width == 2 || width == 4);
    switch (width) {
    case 1: return encode_8(dst, src, n, size);
    case 2: return encode_16(dst, src, n, size);
    default: return encode_32(dst, src, n, size);
    }
}
