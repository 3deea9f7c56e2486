/* SPDX-License-Identifier: MIT
 *
 * Whether data are a few bytes over and over: a chunk of one value, as masked regions have.  Compressors look for matches at
 * every byte of such data; codecs that know can do with less.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ZC_REPEAT_PERIOD = 16, ZC_REPEAT_MIN = 1024 };        /* 1, 2, 4 and 8 divide the period */

/* src[0..n) repeats its first 16 bytes, or fewer, to the end.  False for short ones, with which all compressors are quick. */
static inline bool zc_repeats(const uint8_t *src, size_t n)
{
    return n >= ZC_REPEAT_MIN && memcmp(src, src + ZC_REPEAT_PERIOD, n - ZC_REPEAT_PERIOD) == 0;
}
