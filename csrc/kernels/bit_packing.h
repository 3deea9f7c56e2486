/* SPDX-License-Identifier: MIT
 *
 * Bits without gaps: flags as one bit each, and some bits of integers ("packbits").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Flag i is bit i % 8 of byte i / 8, counted from the lowest bit, or from the highest if high_first.  Packing
 * takes any byte but 0 as set and zeroes the unused bits of the last byte; unpacking returns 0 and 1.
 * n counts flags; ceil(n / 8) bytes are packed.  dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_pack_flags(uint8_t *dst, const uint8_t *src, size_t n, bool high_first);
void zc_unpack_flags(uint8_t *dst, const uint8_t *src, size_t n, bool high_first);

/* The bits that are kept of each integer: `width` (1 to 64) from bit `first` on. */
typedef struct zc_bit_field {
    uint32_t size;               /* bytes of one integer: 1, 2, 4 or 8 */
    uint32_t first;
    uint32_t width;
    uint32_t bits;               /* that an integer has in all: first + width <= bits <= 8 * size */
    bool is_signed;              /* unpacking repeats the highest kept bit above it, in the bits of the integer */
} zc_bit_field;

/*
 * Integer i takes bits i * width to (i + 1) * width - 1 of the packed bytes, the lowest bit first.  Bits that
 * were not kept come back as 0.  n integers in the machine's byte order, any alignment; ceil(n * width / 8)
 * bytes are packed.  dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_pack_bits(uint8_t *dst, const void *src, size_t n, const zc_bit_field *field);
void zc_unpack_bits(void *dst, const uint8_t *src, size_t n, const zc_bit_field *field);
