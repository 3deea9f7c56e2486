/* SPDX-License-Identifier: MIT
 *
 * Bit shuffle: all lowest bits of n items, then all second bits, and so on, as blosc and the HDF5 filter
 * "bitshuffle" do before they compress.
 *
 * Of n items, a multiple of 8, bit k of byte b of item i is bit i % 8 of byte i / 8 of row 8 * b + k; a row has
 * n / 8 bytes.
 */
#pragma once

#include <stddef.h>

/* Shuffle the bits of n items of `size` >= 1 bytes; n is a multiple of 8, dst and src do not overlap. */
void zc_bitshuffle(void *dst, const void *src, size_t n, size_t size);

/*
 * Undo the bit shuffle of items first to first + count - 1, of n in all, each of `size` >= 1 bytes, to dst;
 * first, count and n are multiples of 8.  dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_bitunshuffle(void *dst, const void *src, size_t n, size_t size, size_t first, size_t count);
