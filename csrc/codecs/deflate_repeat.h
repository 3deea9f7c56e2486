/* SPDX-License-Identifier: MIT
 *
 * DEFLATE (RFC 1951) of data that repeat a few bytes (kernels/repeats.h): the stream is written down, with no search.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One stream, without a container, of n bytes for which zc_repeats() holds: its size, or 0 if room is too little. */
size_t zc_deflate_repeat(const uint8_t *src, size_t n, uint8_t *dst, size_t room);
