/* SPDX-License-Identifier: MIT
 *
 * UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).  Nothing fails; no shared state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there no byte of 0x80 or more in src[0..n)? */
bool zc_is_ascii(const uint8_t *src, size_t n);

/* Bytes of the longest beginning of src[0..n) that is well-formed; n if all of it is. */
size_t zc_utf8_valid(const uint8_t *src, size_t n);

/* The contents of UTF-8: the number of code points, and the lowest of 0x7f, 0xff, 0xffff and 0x10ffff that bounds them. */
typedef struct zc_utf8_text {
    size_t count;
    uint32_t bound;
} zc_utf8_text;

/* False if src[0..n) is not well-formed. */
bool zc_utf8_measure(const uint8_t *src, size_t n, zc_utf8_text *text);

/* Code points of well-formed UTF-8 as integers of `width` bytes (1, 2, 4), which are wide enough. */
void zc_utf8_decode(void *dst, int width, const uint8_t *src, size_t n);

/* Most bytes of UTF-8 for a code point that fits into `width` bytes. */
#define ZC_UTF8_MOST(width) ((size_t)((width) < 4 ? (width) + 1 : 4))

/* Is there one among n integers of `width` bytes (1, 2, 4) that has no UTF-8: a surrogate (U+D800 to U+DFFF), or what
 * lies after the last code point? */
bool zc_has_no_utf8(const void *src, int width, size_t n);

/* n code points in UTF-8, into room for n * ZC_UTF8_MOST(width) bytes; false if one among them has none. */
bool zc_utf8_encode(uint8_t *dst, const void *src, int width, size_t n, size_t *size);
