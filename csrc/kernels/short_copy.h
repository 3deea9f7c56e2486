/* SPDX-License-Identifier: MIT
 *
 * Some bytes, mostly few: a call of memcpy costs more than the copy.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/cpu.h"

/* memcpy(dst, src, n): up to 32 bytes as two pieces of one size, which may overlap. */
ZC_INLINE void zc_short_copy(void *dst, const void *src, size_t n)
{
    char *const to = dst;
    const char *const from = src;

#define TWO_OF(SIZE)                                                                             \
    do {                                                                                         \
        char first[SIZE], last[SIZE];                                                            \
        memcpy(first, from, SIZE);                                                               \
        memcpy(last, from + n - SIZE, SIZE);                                                     \
        memcpy(to, first, SIZE);                                                                 \
        memcpy(to + n - SIZE, last, SIZE);                                                       \
    } while (0)

    if (n > 32) {
        memcpy(dst, src, n);
    } else if (n >= 16) {
        TWO_OF(16);
    } else if (n >= 8) {
        TWO_OF(8);
    } else if (n >= 4) {
        TWO_OF(4);
    } else if (n >= 2) {
        TWO_OF(2);
    } else if (n == 1) {
        *to = *from;
    }
#undef TWO_OF
}
