/* SPDX-License-Identifier: MIT */
#include "kernels/utf8.h"

#include <stdbool.h>
#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

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

size_t zc_utf8_valid(const uint8_t *src, size_t n)
{
    size_t i = 0;

    while (i < n) {
        uint64_t word;
        if (n - i >= sizeof word) {
            memcpy(&word, src + i, sizeof word);
            if ((word & HIGH_BITS) == 0) {
                i += sizeof word;
                continue;
            }
        }
        const size_t length = src[i] < 0x80 ? 1 : character(src + i, n - i);
        if (length == 0) {
            break;
        }
        i += length;
    }
    return i;
}
