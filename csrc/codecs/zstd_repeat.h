/* SPDX-License-Identifier: MIT
 *
 * zstd (RFC 8878) of data that repeat a few bytes (kernels/repeats.h): the frame is written down, with no search and no tables to
 * be cleared first.  The quickest levels of the library make thousands of matches of eight bytes over and over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One frame, which declares its size and has no checksum, of n bytes for which zc_repeats() holds: its size, or 0 if room is too little
 * or n is beyond 32 bits. */
size_t zc_zstd_repeat(const uint8_t *src, size_t n, uint8_t *dst, size_t room);
